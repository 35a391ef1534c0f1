"""Base inertial parameters: the smallest set of combinations that joint forces depend on.

What a joint neither works on nor turns moves to the parent exactly (`model.grouping`).  Which of
the remaining columns depend on others for every motion is found from the regressor at random
states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sixfold.arrays import Array
from sixfold.choices import Backend
from sixfold.errors import NotApplicableError, visible, whole_number
from sixfold.identification.problem import independent
from sixfold.model import Model
from sixfold.model.grouping import PARAMETERS, grouped_inertias, movable
from sixfold.quantities import readings
from sixfold.quantities.configurations import random_state
from sixfold.quantities.readings import page
from sixfold.quantities.regressors import regressor
from sixfold.runtime import call_of, per_model, require_model
from sixfold.scalar import Scalar, Zero
from sixfold.show import block, fold, plain, table
from sixfold.symbolic.polynomial import MAX_WORK, Polynomial
from sixfold.symbolic.shorthand import sum_text
from sixfold.symbolic.simplify import nest
from sixfold.symbolic.symbolic_model import SymbolicModel, symbolic_model

MAX_BODIES = 100  # the regressor then has 1,000 columns


@dataclass(frozen=True, eq=False)
class BaseProjection:
    """The base parameters of a kinematics for any masses and inertias: tau = Y[:, columns] beta.

    `beta = matrix @ pi` with pi the ten parameters of each body, as in `regressor`.
    """

    #: Columns of the regressor that are independent: whole numbers, shape (n,).
    columns: NDArray[np.intp]
    #: Base parameters from all parameters, beta = matrix @ pi, shape (n, 10 nb), with pi in kg, kg
    #: m and kg m^2.
    matrix: NDArray[np.float64]
    names: tuple[str, ...]  #: A name for each: that of the column which stays, as in 'Izz link3'.

    def __len__(self) -> int:
        """Return how many there are: the rank of the regressor."""
        return len(self.columns)

    def __repr__(self) -> str:
        """Return the numbers of both kinds of parameters."""
        return f"BaseProjection({len(self)} of {self.matrix.shape[1]} inertial parameters)"


def base_projection(model: Model) -> BaseProjection:
    """Return which combinations of inertial parameters joint forces depend on, in numbers.

    For each model up to 100 bodies, without formulas: `base_parameters` has those for small ones.
    The result holds for the kinematics of the model, whatever its masses and inertias are.

    Args:
        model: the robot.

    Returns:
        A `BaseProjection` with n columns and matrix (n, 10 nb): Y pi = Y[..., columns] (matrix pi)
        for every state, in the units of the ten parameters: kg, kg m and kg m^2.

    Raises:
        NotApplicableError: if the model has too many bodies.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> base = sf.identification.base_projection(arm)
        >>> base
        BaseProjection(6 of 20 inertial parameters)
        >>> base.names
        ('hx upper', 'hz upper', 'Iyy upper', 'hx lower', 'hz lower', 'Iyy lower')
        >>> pi = np.concatenate([np.array(body.inertia.parameters(), float) for body in arm.bodies])
        >>> (base.matrix @ pi).round(3) + 0.0
        array([ 0.   , -1.5  ,  1.333,  0.   , -1.   ,  1.33 ])

    Reference: Gautier, Numerical Calculation of the Base Inertial Parameters of Robots, 1991.
    """
    require_model("base_projection", model)
    refuse_many_bodies("base_projection", model)
    return _projection(model)


def refuse_many_bodies(function: str, model: Model) -> None:
    """Refuse a model whose regressor would be too large."""
    if model.nb > MAX_BODIES:
        where = f"model '{model.name}' of {model.nb} bodies"
        fix = f"lock joints until at most {MAX_BODIES} move, or use sixfold.group_inertias instead"
        raise NotApplicableError(function, where, fix)


@per_model()
def _projection(model: Model) -> BaseProjection:
    n = 10 * model.nb
    # what moves to the parent, for each parameter in turn
    # the grouping is linear: applied to unit vectors it gives its matrix
    probe = model.tree.with_inertias(list(np.eye(n)))
    moved = [x for inertia in grouped_inertias(probe)[1:] for x in inertia.parameters()]
    left = [k for k, x in enumerate(moved) if not isinstance(x, Zero) and np.any(x)]
    G = np.array([np.broadcast_to(moved[k], n) for k in left], float).reshape(len(left), n)
    # what the grouping left may still depend on others, for special geometries
    keep, weights, _ = independent(stacked_regressor(model)[:, left])
    columns = np.array([left[k] for k in keep], np.intp)
    names = tuple(f"{PARAMETERS[k % 10]} {model.body_names[k // 10]}" for k in columns)
    return BaseProjection(columns, weights @ G, names)


def stacked_regressor(model: Model) -> Array:
    """Return the regressor at random states, one row after the other, shape (rows, 10 nb)."""
    count = 60 if model.nb <= 20 else 24  # a joint alone has ten columns, and a row in each state
    q, v = random_state(model, count, seed=0)
    a = np.random.default_rng(1).standard_normal((count, model.nv))
    # by NumPy: compiling takes longer than the few states
    return regressor(model, q, v, a, backend="numpy").reshape(-1, 10 * model.nb)


def base_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the columns of `regressor` that are independent: tau = Y beta, full rank.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
        out: array for the result, of its shape and dtype; by default a new one.
        backend: "numpy" for the reference reading; by default machine code where there is some.

    Returns:
        Array of shape (..., nv, n), with n and beta = matrix pi of `base_projection`.

    Raises:
        NotApplicableError: if the model has too many bodies.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, 5, seed=0)
        >>> Y = sf.identification.base_regressor(arm, q, v, np.ones((5, 2)))
        >>> Y.shape, int(np.linalg.matrix_rank(Y.reshape(10, 6)))
        ((5, 2, 6), 6)
        >>> pi = np.concatenate([np.array(body.inertia.parameters(), float) for body in arm.bodies])
        >>> beta = sf.identification.base_projection(arm).matrix @ pi
        >>> np.allclose(Y @ beta, sf.inverse_dynamics(arm, q, v, np.ones((5, 2))))
        True
    """
    require_model("base_regressor", model)
    refuse_many_bodies("base_regressor", model)
    return _base_call(model)(model, q, v, a, out=out, backend=backend)


@per_model()
def _base_call(model: Model) -> Callable[..., Array]:
    """Return the call that computes and stores base columns alone."""
    columns = _projection(model).columns.tolist()
    places = [r * 10 * model.nb + c for r in range(model.nv) for c in columns]

    @page()
    def base_page(*arguments: Any) -> list[Scalar]:
        found = readings.regressor(*arguments)
        return [found[k] for k in places]

    return call_of(base_page, f"nv {len(columns)}", part_of="base_regressor", arrays="q v a")


@dataclass(frozen=True)
class BaseParameter:
    """One combination of inertial parameters that joint forces depend on."""

    body: str  #: Name of the body whose parameter it is named after.
    #: Such as 'Jyy1R': parameter, number of the body from 1, and R if others act together with it.
    name: str
    formula: str  #: Which parameters of the original bodies it is made of.
    #: In the model: mass [kg], first moment [kg m] or inertia [kg m^2], as the name says.
    value: float


@dataclass(frozen=True)
class BaseParameters:
    """The base parameters of a model and how they come about."""

    model: str  #: Name of the model.
    parameters: tuple[BaseParameter, ...]  #: One for each combination, bodies in their order.
    moves: tuple[str, ...]  #: In words, joint by joint: what moved to the parent.
    without_effect: tuple[str, ...]  #: Parameters that no joint force depends on.
    rank: int  #: How many there are for any masses and inertias on this kinematics.
    total: int  #: Number of inertial parameters of all bodies.

    def __len__(self) -> int:
        """Return how many there are in this model, whose zeros are no parameters."""
        return len(self.parameters)

    def __repr__(self) -> str:
        """Say how many there are; print it for the explanation."""
        return f"<{len(self)} base parameters of '{visible(self.model)}', which has {self.total}>"

    def _repr_html_(self) -> str:
        """Return a table of the parameters, for notebooks."""
        rows = [(p.body, p.name, p.formula, p.value) for p in self.parameters]
        moves = "".join(f"<p>{plain(line)}</p>" for line in self.moves)
        listed = table(("body", "parameter", "formula", "value"), rows, repr(self)[1:-1])
        return block(listed, fold("how they come about", moves) if moves else "")

    def __str__(self) -> str:
        """Return the explanation."""
        width = max((len(p.name) for p in self.parameters), default=0)
        counted = f"{len(self)} base parameters ({self.rank} if no inertia were zero)"
        lines = [f"{visible(self.model)}: {counted} of {self.total} inertial parameters", ""]
        lines += [*self.moves, ""]
        lines += [f"  {p.name:<{width}} = {p.formula} = {p.value:.6g}" for p in self.parameters]
        if self.without_effect:
            lines += ["", "without effect: " + ", ".join(self.without_effect)]
        return "\n".join(lines)


def base_parameters(model: Model, *, limit: int = MAX_WORK) -> BaseParameters:
    """Return the minimal set of inertial parameters of a model, with formulas and reasons.

    Parameters are m, h = m c (hx, hy, hz) and J about the joint's origin (Jxx, ... Jyz, elements of
    the matrix).  What a joint neither works on nor turns moves to the parent; what is left and has
    no effect, or acts only together with others, is found from the rank of the regressor.

    Args:
        model: the robot.
        limit: largest number of terms of all formulas; a million takes seconds.

    Returns:
        A `BaseParameters`: each combination with its formula and value, and in words what moved
        where.  Print it.

    Raises:
        OptionError: if limit makes no sense.
        NotApplicableError: if the formulas would be too long, or the model has too many bodies.

    Example:
        >>> import sixfold as sf
        >>> found = sf.identification.base_parameters(sf.load("double_pendulum"))
        >>> found
        <4 base parameters of 'double_pendulum', which has 20>
        >>> for p in found.parameters:
        ...     print(p.name, "=", p.formula, "=", round(p.value, 3))
        hz1R = hz1 + m2 lz2 = -1.5
        Jyy1R = Jyy1 + m2 lz2^2 = 1.333
        hz2 = hz2 = -1.0
        Jyy2 = Jyy2 = 1.33
    """
    require_model("base_parameters", model)
    whole_number("base_parameters", "limit", limit, 1)
    refuse_many_bodies("base_parameters", model)
    s = symbolic_model(
        model, symbols=True, inertias="origin", names={}, angle_tolerance=1e-12, limit=limit
    )
    tree = s.tree
    # what passes to a parent follows from joints in numbers, also where a pitch is a symbol
    numeric = (tree.joint[0], *(body.joint for body in s.model.bodies))
    inertias = grouped_inertias(replace(tree, joint=numeric))
    left = [
        (i, k)
        for i in tree.bodies
        for k, x in enumerate(inertias[i].parameters())
        if not isinstance(x, Zero) and x != 0
    ]
    # which of the remaining parameters act, and which only together with others
    whole = stacked_regressor(s.model)
    keep, weights, none = independent(whole[:, [10 * (i - 1) + k for i, k in left]])
    # the formulas of those that stay, with what others add to them
    forms = [_polynomial(s, inertias[i].parameters()[k]) for i, k in left]
    found = []
    for n, row in zip(keep, weights, strict=True):
        i, k = left[n]
        form = forms[n]
        for other in np.flatnonzero(row):
            if other != n:
                weight = float(row[other])
                form = form + forms[other] * (int(weight) if weight.is_integer() else weight)
        found.append(
            BaseParameter(
                s.model.body_names[i - 1],
                f"{_name(k)}{i}" + ("R" if len(form) > 1 else ""),
                sum_text(s.ring, nest(form)),
                float(form.evaluate(lambda v: _value(s, v))),
            )
        )
    return BaseParameters(
        model.name,
        tuple(found),
        tuple(_describe_moves(s)),
        tuple(f"{_name(left[n][1])}{left[n][0]}" for n in none),
        len(independent(whole)[0]),
        10 * model.nb,
    )


def _name(k: int) -> str:
    return PARAMETERS[k].replace("I", "J")


def _polynomial(s: SymbolicModel, x: Any) -> Polynomial:
    return x if isinstance(x, Polynomial) else Polynomial(s.ring, {}) + x


def _value(s: SymbolicModel, v: Any) -> float:
    if v.value is not None:
        return float(v.value)
    angle = s.ring.angles[v.angle]
    return float(np.cos(angle.value) if v is angle.cosine else np.sin(angle.value))


def _describe_moves(s: SymbolicModel) -> list[str]:
    lines = []
    for i, body in enumerate(s.model.bodies, 1):
        rule = movable(body.joint)
        parent = visible(s.model.body_names[body.parent]) if body.parent >= 0 else "the base"
        name, joint = visible(body.name), f"{visible(body.joint_name)} ({body.joint.kind})"
        names = [f"{_name(k)}{i}" for k in rule.zeroed]
        why = f"{joint} neither works on nor turns them"
        extra = [
            f"{_name(n)}{i} keeps {_name(n)}{i} - {_name(k)}{i}"
            for k, column in zip(rule.zeroed, rule.columns, strict=True)
            for n, weight in enumerate(column)
            if weight == 1 and n != k
        ]
        if names:
            text = f"{name}: {', '.join(names)} move to {parent}: {why}"
            lines.append(f"{text}; {', '.join(extra)}" if extra else text)
        else:
            lines.append(f"{name}: nothing moves: {joint}")
    return lines
