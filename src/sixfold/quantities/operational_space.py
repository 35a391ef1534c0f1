"""Operational space: the dynamics of a body or frame as seen from a task (Khatib).

With J the rows of the frame's Jacobian that make the task, Lambda = (J M^-1 J^T)^-1 and

    Lambda a + mu + p = F,   mu = Lambda (J M^-1 (C - g) - dJ/dt v),   p = Lambda J M^-1 g

for the derivative a of J v, C = ID(q, v, 0) and gravity's part g of it.  M^-1 is never formed: with
the factor M = L^T D L of articulated bodies and Y = L^-T J^T, J M^-1 J^T is Y^T D^-1 Y.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial, wraps
from math import inf, nan
from typing import Any, NamedTuple, ParamSpec, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import MotionFrame
from sixfold.errors import NotApplicableError, OptionError, SingularPivotWarning, visible
from sixfold.model import Model
from sixfold.quantities.constraints import motion_at_rest
from sixfold.quantities.dynamics import bias_force, gravity_force
from sixfold.quantities.kinematics import body_and_placement, jacobian, jacobian_bias
from sixfold.runtime.public import PUBLIC_NAMES, complete_docstring, quantity
from sixfold.runtime.quantity import (
    InertiaOptions,
    Numbers,
    flat_numbers,
    full_signature,
    locate,
    refuse_constraints,
    refuse_idle_point,
)
from sixfold.scalar import ZERO, Scalar, dot, if_positive, precision
from sixfold.spatial import Column, ldl, ldl_solve

P = ParamSpec("P")
R = TypeVar("R")
Matrix = list[list[Scalar]]
Rows = str | tuple[int, ...]

ROWS: Mapping[str, tuple[int, ...]] = {
    "pose": (0, 1, 2, 3, 4, 5),
    "position": (3, 4, 5),
    "orientation": (0, 1, 2),
}
#: A pivot of J M^-1 J^T counts as zero where this share of it is lost when added to its diagonal
#: element: at 5e-13 of that for doubles, 2e-4 for single floats.  Rounding leaves 6e-14 and 4e-5
#: where the wrist of a puma560 is straight.
PIVOT_SHARE = 2.0**-12


def _task_quantity(*outputs: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a public function of arrays from one for one state, as `quantity` does, for each task.

    Args:
        outputs: sizes of the axes of each result for one state; k is the number of rows.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name, signature = function.__name__, full_signature(function, len(outputs))

        @lru_cache(maxsize=64)
        def call(rows: tuple[int, ...]) -> Callable[..., Any]:
            made = quantity(
                *(sizes.replace("k", str(len(rows))) for sizes in outputs),
                options={"rows": lambda caller, _, given: task_rows(caller, given)},
                registered=False,
                solves=True,
                refuses=partial(_refuse, len(rows)),
            )
            return made(function)

        @wraps(function)
        def public(model: Any, q: Any, *given: Any, rows: Any = "pose", **options: Any) -> Any:
            chosen = task_rows(name, rows)
            found = call(chosen)(model, q, *given, rows=chosen, **options)
            _warn_of_singular_states(name, model, q, found)
            return found

        public.__signature__ = signature  # type: ignore[attr-defined]
        public.__doc__ = complete_docstring(function, signature.parameters, len(outputs))
        PUBLIC_NAMES.add(name)
        return public

    return decorate


@_task_quantity("k k")
def operational_space_inertia(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    rows: Rows = "pose",
    frame: MotionFrame | str = "aligned",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return Lambda = (J M^-1 J^T)^-1, the inertia that a force at a frame feels.

    Returns:
        Symmetric matrices over the k rows of the task, shape (..., k, k) [kg m^2, kg m or kg].  At
        a singular configuration they are NaN, with one SingularPivotWarning;
        `operational_space_mobility` is finite there.

    Raises:
        NotApplicableError: if fewer joints move the frame than the task has rows, or for a model
            with constraints.

    Reference: Khatib, A Unified Approach for Motion and Force Control of Robot Manipulators, 1987.

    Example:
        >>> import sixfold as sf
        >>> cart = sf.load("cart_pendulum")  # 2 kg, and a bob of 0.5 kg that hangs from it
        >>> inertia = sf.control.operational_space_inertia(cart, [0.0, 0.0], "cart", rows=(3,))
        >>> print(inertia.round(3))  # the bob yields
        [[2.056]]
    """
    return _Task.of(model, q, name, point, frame, rows).inertia()


@_task_quantity("k k")
def operational_space_mobility(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    rows: Rows = "pose",
    frame: MotionFrame | str = "aligned",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return J M^-1 J^T, how a frame accelerates under a force: the inverse of Lambda.

    Returns:
        Symmetric matrices over the k rows of the task, shape (..., k, k); finite at singular
        configurations too.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> rod, tip = sf.load("pendulum"), (0, -0.5, 0)  # M = 0.27 kg m^2
        >>> G = sf.control.operational_space_mobility(rod, [0.0], "bob", tip, rows="position")
        >>> np.allclose(np.diag(G), [0.5**2 / 0.27, 0, 0])  # it moves along x only
        True
    """
    return _Task.of(model, q, name, point, frame, rows).mobility


@_task_quantity("k k", "k", "k")
def operational_space_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    rows: Rows = "pose",
    frame: MotionFrame | str = "aligned",
    **options: Unpack[InertiaOptions[tuple[Array, Array, Array]]],
) -> tuple[Array, Array, Array]:
    """Return (Lambda, mu, p): J^T F with F = Lambda a + mu + p accelerates a frame by a.

    Returns:
        Lambda, shape (..., k, k) for k rows of the task; mu, shape (..., k), which has Coriolis and
        centrifugal forces, damping, friction and springs; and p, shape (..., k), of gravity [N m
        or N].  At a singular configuration they are NaN, with one SingularPivotWarning.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560").without(friction=True)
        >>> q, v = sf.random_state(arm, seed=1)
        >>> inertia, mu, p = sf.control.operational_space_dynamics(arm, q, v, "dh6")
        >>> J, bias = sf.jacobian(arm, q, "dh6"), sf.jacobian_bias(arm, q, v, "dh6")
        >>> F = inertia @ np.ones(6) + mu + p
        >>> np.allclose(J @ sf.forward_dynamics(arm, q, v, J.T @ F) + bias, 1)
        True
    """
    task = _Task.of(model, q, name, point, frame, rows)
    a, solve = task.accelerations(), task.solver()
    g = gravity_force(model, q)
    others = [c - x for c, x in zip(bias_force(model, q, v), g, strict=True)]
    turning = flat_numbers(jacobian_bias(model, q, v, name, point, frame=frame))
    mu = solve([dot(row, others) - turning[r] for row, r in zip(a, rows, strict=True)])
    return task.inertia(), list(mu), list(solve([dot(row, g) for row in a]))


@_task_quantity("nv k")
def dynamically_consistent_inverse(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    rows: Rows = "pose",
    frame: MotionFrame | str = "aligned",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return Jbar = M^-1 J^T Lambda, the inverse of J with the least kinetic energy.

    Returns:
        Matrices of shape (..., nv, k) for k rows of the task.  Times a velocity of the task they
        are joint velocities; joint forces times them are forces on the frame.  At a singular
        configuration they are NaN, with one SingularPivotWarning.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, _ = sf.random_state(arm, seed=1)
        >>> inverse = sf.control.dynamically_consistent_inverse(arm, q, "dh6", rows="position")
        >>> np.allclose(sf.jacobian(arm, q, "dh6")[3:] @ inverse, np.eye(3))
        True
    """
    return _Task.of(model, q, name, point, frame, rows).inverse()


@_task_quantity("nv nv")
def null_space_projector(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    rows: Rows = "pose",
    frame: MotionFrame | str = "aligned",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return N = 1 - J^T Jbar^T: joint forces N tau do not accelerate the frame.

    For velocities it is the transpose: N^T v does not move the frame.

    Returns:
        Matrices of shape (..., nv, nv).  At a singular configuration they are NaN, with one
        SingularPivotWarning.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> N = sf.control.null_space_projector(arm, q, "dh6", rows="position")
        >>> np.allclose(sf.frame_velocity(arm, q, N.T @ v, "dh6")[3:], 0)
        True
    """
    task = _Task.of(model, q, name, point, frame, rows)
    inverse = task.inverse()
    return [
        [(1.0 if i == j else ZERO) - dot(column, row) for j, row in enumerate(inverse)]
        for i, column in enumerate(zip(*task.J, strict=True))
    ]


# -- one state


class _Task(NamedTuple):
    """Rows of a frame's Jacobian, and the factor that they share."""

    J: Matrix
    motion: Any  #: Factor of the mass matrix and the way from it to all joints.
    scaled: Matrix  #: D^-1 Y, row by row.
    mobility: Matrix  #: G = Y^T D^-1 Y.

    @classmethod
    def of(cls, model: Any, q: Any, name: str, point: Any, frame: str, rows: Any) -> _Task:
        """Return the task at a state; only bodies that carry the frame are part of the factor."""
        whole: Any = jacobian(model, q, name, point, frame=frame)
        J = [list(whole[r]) for r in rows]
        motion = motion_at_rest(model, q, (body_and_placement(model, name)[0],))
        Y = [motion.factor.half(row) for row in J]
        scaled = [motion.factor.scaled(y) for y in Y]
        G: Matrix = [[ZERO] * len(J) for _ in J]
        for r in range(len(J)):
            for c in range(r + 1):
                G[r][c] = G[c][r] = dot(Y[r], scaled[c])
        return cls(J, motion, scaled, G)

    def solver(self) -> Callable[[Numbers], Column]:
        """Return the function b -> Lambda b; NaN where the task is singular."""
        L, pivots = ldl(self.mobility)
        diagonal = [row[k] for k, row in enumerate(self.mobility)]
        kept = [_nan_if_lost(d, size) for d, size in zip(pivots, diagonal, strict=True)]
        return lambda b: ldl_solve(L, kept, b)

    def inertia(self) -> Matrix:
        """Return Lambda: column by column, the rows behind the diagonal by symmetry."""
        solve, n = self.solver(), len(self.J)
        found: Matrix = [[ZERO] * n for _ in range(n)]
        for c in range(n):
            column = solve([1.0 if r == c else ZERO for r in range(n)])
            for r in range(c, n):
                found[r][c] = found[c][r] = column[r]
        return found

    def accelerations(self) -> Matrix:
        """Return M^-1 J^T, a row for each row of J."""
        return [self.motion.outward(y) for y in self.scaled]

    def inverse(self) -> Matrix:
        """Return Jbar = M^-1 J^T Lambda."""
        solve = self.solver()
        return [list(solve(column)) for column in zip(*self.accelerations(), strict=True)]


def _nan_if_lost(pivot: Scalar, size: Scalar) -> Scalar:
    """Return a pivot, or NaN where it is nothing but rounding of the diagonal element."""
    if precision(pivot) == inf:
        return pivot
    return if_positive((size + pivot * PIVOT_SHARE) - size, pivot, nan)


# -- calls


def task_rows(function: str, rows: Any) -> tuple[int, ...]:
    """Return the rows of the Jacobian that make a task, or say what is wrong with them."""
    if isinstance(rows, str) and rows in ROWS:
        return ROWS[rows]
    whole = isinstance(rows, tuple) and all(type(r) is int and 0 <= r < 6 for r in rows)
    if not whole or not rows or len(set(rows)) < len(rows):
        words = f"{', '.join(map(repr, ROWS))}, or a tuple of different rows from 0 to 5"
        raise OptionError(function, "rows", words, rows)
    return tuple(rows)


def _refuse(count: int, function: str, model: Model, given: Mapping[str, Any]) -> None:
    """Refuse constraints, and a frame that the joints cannot move along all rows."""
    refuse_constraints(function, model, "solve M a - J^T f = tau - C with the rows of both")
    refuse_idle_point(function, model, given)
    body = locate(function, model, given["name"], "name")["body"]
    freedoms = sum(model.tree.joint[i].nv for i in model.tree.support(body)) if body else 0
    if freedoms < (1 if function == "operational_space_mobility" else count):
        counted = f"{freedoms} degrees of freedom for {count} rows"
        where = f"'{given['name']}' of model '{model.name}': {counted}"
        raise NotApplicableError(function, where, "choose fewer rows, such as rows='position'")


def _warn_of_singular_states(function: str, model: Model, q: Any, found: Any) -> None:
    """Warn once where a result is NaN at a state that is finite itself."""
    first = found[0] if isinstance(found, tuple) else found
    if type(first) is not np.ndarray or first.dtype.kind != "f":
        return
    lost = np.isnan(first[..., 0, 0])
    if lost.any() and (lost & np.isfinite(np.asarray(q, float)).all(axis=-1)).any():
        text = f"{function}: {int(lost.sum())} of {lost.size} states of model "
        text += f"'{visible(model.name)}' are singular for the task; those rows are NaN"
        warnings.warn(text, SingularPivotWarning, stacklevel=3)
