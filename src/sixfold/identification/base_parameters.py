"""Base inertial parameters: the fewest combinations of masses and inertias that motion shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.kinematics import no_forces
from sixfold.errors import NotApplicableError, OptionError, visible
from sixfold.evaluate import model_checked, random_state
from sixfold.model import Model
from sixfold.model.grouping import PARAMETERS, grouped_inertias, movable
from sixfold.scalar import ZERO, Zero
from sixfold.spatial import Column, Inertia
from sixfold.symbolic.polynomial import Polynomial
from sixfold.symbolic.ring import MAX_WORK
from sixfold.symbolic.shorthand import written
from sixfold.symbolic.simplify import nest
from sixfold.symbolic.symbolic_model import SymbolicModel, symbolic_model

MAX_BODIES = 100
"""The regressor of so many has 20,000 rows and 1,000 columns."""
MIN_RELATIVE_COLUMN = 1e-9
"""Relative size below which a column of the regressor is zero, or depends on the others."""


@dataclass(frozen=True)
class BaseParameter:
    """One combination of inertial parameters that joint forces depend on."""

    body: str
    name: str
    formula: str
    """Which parameters of the original bodies it is made of."""
    value: float


@dataclass(frozen=True)
class BaseParameters:
    """The base parameters of a model and how they come about."""

    model: str
    parameters: tuple[BaseParameter, ...]
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

    Raises:
        NotApplicableError: if the formulas would be too long, or the model has too many bodies.
    """
    model_checked("base_parameters", model)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise OptionError("base_parameters", "limit", "a whole number >= 1", limit)
    if model.nb > MAX_BODIES:
        where = f"model '{model.name}' of {model.nb} bodies"
        fix = f"lock joints until at most {MAX_BODIES} move, or use sixfold.grouped for its form"
        raise NotApplicableError("base_parameters", where, fix)
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
    whole = regressor(s.model)
    keep, groups, none = _independent(whole[:, [10 * (i - 1) + k for i, k in left]])
    forms = [_polynomial(s, inertias[i].parameters()[k]) for i, k in left]
    found = []
    for n in keep:
        i, k = left[n]
        form = forms[n]
        for other, weight in groups[n]:
            form = form + forms[other] * weight
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
        len(_independent(whole)[0]),
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


def regressor(model: Model, states: int = 0, seed: int = 0) -> NDArray[np.float64]:
    """Return Y with tau = Y phi, stacked over random states, phi ten parameters for each body.

    The book's own page is run once: each inertial parameter is an array with a one at its place.
    """
    count = states or max(60, 2 * model.nb)  # several times as many rows as columns
    q, v = random_state(model, count, seed=seed)
    a = np.random.default_rng(seed + 1).standard_normal((count, model.nv))
    unit = np.eye(10 * model.nb)
    tree = model.tree
    none = tuple(Column.zero(len(c)) for c in tree.armature)
    bodies = [Inertia.from_parameters(list(unit[10 * k : 10 * k + 10])) for k in range(model.nb)]
    probe = replace(tree, inertia=(Inertia.zero(), *bodies), armature=none)
    columns = [[x[:, None] for x in part.T] for part in (q, v, a)]
    tau, _ = rnea(
        probe,
        model.positions(columns[0]),
        model.velocities(columns[1]),
        model.velocities(columns[2]),
        no_forces(probe),
    )
    rows = [
        np.broadcast_to(0.0 if x is ZERO else x, (count, 10 * model.nb)) for x in model.gather(tau)
    ]
    return np.concatenate(rows)


def _independent(
    Y: NDArray[np.float64],
) -> tuple[list[int], dict[int, list[tuple[int, float]]], list[int]]:
    """Return columns that are independent, which others act through each of them, and zero ones.

    Columns are taken from the tips to the base, so that what depends moves towards the base.
    """
    sizes = np.linalg.norm(Y, axis=0)
    scale = sizes.max(initial=0.0)
    none = [k for k in range(Y.shape[1]) if sizes[k] <= MIN_RELATIVE_COLUMN * scale]
    keep: list[int] = []
    basis = np.zeros((Y.shape[0], 0))
    depends: list[int] = []
    for k in range(Y.shape[1]):
        if k in none:
            continue
        rest = Y[:, k] / sizes[k]
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > MIN_RELATIVE_COLUMN:
            keep.append(k)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
        else:
            depends.append(k)
    groups: dict[int, list[tuple[int, float]]] = {k: [] for k in keep}
    if depends:
        weights = np.linalg.lstsq(Y[:, keep], Y[:, depends], rcond=None)[0]
        for row, k in enumerate(keep):
            for column, other in enumerate(depends):
                weight = float(weights[row, column])
                if abs(weight) > 1e-8:
                    whole = round(weight)
                    exact = whole if abs(weight - whole) < 1e-8 else weight
                    groups[k].append((other, exact))
    return keep, groups, none
