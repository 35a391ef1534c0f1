"""Base inertial parameters: the fewest combinations of masses and inertias that motion shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixfold.errors import OptionError, visible
from sixfold.evaluate import model_checked
from sixfold.identification.base_projection import (
    independent,
    refuse_many_bodies,
    stacked_regressor,
)
from sixfold.model import Model
from sixfold.model.grouping import PARAMETERS, grouped_inertias, movable
from sixfold.scalar import Zero
from sixfold.show import block, folded, plain, table
from sixfold.symbolic.polynomial import MAX_WORK, Polynomial
from sixfold.symbolic.shorthand import written
from sixfold.symbolic.simplify import nest
from sixfold.symbolic.symbolic_model import SymbolicModel, symbolic_model


@dataclass(frozen=True)
class BaseParameter:
    """One combination of inertial parameters that joint forces depend on."""

    body: str
    """Name of the body whose parameter it is named after."""
    name: str
    """Such as 'Jyy1R': parameter, number of the body from 1, and R if others act together with
    it."""
    formula: str
    """Which parameters of the original bodies it is made of."""
    value: float
    """In the model: mass [kg], first moment [kg m] or inertia [kg m^2], as the name says."""


@dataclass(frozen=True)
class BaseParameters:
    """The base parameters of a model and how they come about."""

    model: str
    """Name of the model."""
    parameters: tuple[BaseParameter, ...]
    """One for each combination, bodies in their order."""
    moves: tuple[str, ...]
    """In words, joint by joint: what moved to the parent."""
    without_effect: tuple[str, ...]
    """Parameters that no joint force depends on."""
    rank: int
    """How many there are for any masses and inertias on this kinematics."""
    total: int
    """Number of inertial parameters of all bodies."""

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
        return block(listed, folded("how they come about", moves) if moves else "")

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
        limit: terms of formulas that may be worked on in all; a million takes seconds.

    Returns:
        A `BaseParameters`: each combination with its formula and value, and in words what moved
        where.  Print it.

    Raises:
        OptionError: if limit makes no sense.
        NotApplicableError: if the formulas would be too long, or the model has too many bodies.

    Example:
        >>> import sixfold as sf
        >>> found = sf.base_parameters(sf.load("double_pendulum"))
        >>> found
        <4 base parameters of 'double_pendulum', which has 20>
        >>> for p in found.parameters:
        ...     print(p.name, "=", p.formula, "=", round(p.value, 3))
        hz1R = hz1 + m2 lz2 = -1.5
        Jyy1R = Jyy1 + m2 lz2^2 = 1.333
        hz2 = hz2 = -1.0
        Jyy2 = Jyy2 = 1.33
    """
    model_checked("base_parameters", model)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise OptionError("base_parameters", "limit", "a whole number >= 1", limit)
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
    whole = stacked_regressor(s.model)
    keep, weights, none = independent(whole[:, [10 * (i - 1) + k for i, k in left]])
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
                written(s.ring, nest(form)),
                float(form.evaluate(lambda v: _value(s, v))),
            )
        )
    return BaseParameters(
        model.name,
        tuple(found),
        tuple(_moves(s)),
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


def _moves(s: SymbolicModel) -> list[str]:
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
