"""The targets of one call together: checked, with their goals as one array."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.control.kinematics import rows
from sixfold.control.kinematics.targets import Pose, Target, Targets, Velocity
from sixfold.errors import ArgumentError, NotApplicableError, ShapeError, visible
from sixfold.evaluate.quantities.kinematics import at_point
from sixfold.evaluate.quantity import located
from sixfold.model import Model


@dataclass(frozen=True, eq=False)
class Task:
    """Targets of a model, checked, with their goals as one array."""

    model: Model
    targets: tuple[Target, ...]
    numbers: Array
    """Goals of all targets, one after the other, shape (..., m)."""
    key: Hashable
    """What the kernel depends on."""

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each part."""
        return tuple(f"{target.name} {kind}" for target in self.targets for kind in target.kinds)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each part is about."""
        return tuple(kind for target in self.targets for kind in target.kinds)

    @property
    def priorities(self) -> tuple[int, ...]:
        """The priority of each part."""
        return tuple(target.priority for target in self.targets for _ in target.kinds)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each part."""
        return tuple(weight for target in self.targets for weight in target.weights)

    def row_count(self) -> int:
        """Return how many numbers the targets fix, at most."""
        return sum(target.row_count(self.model) for target in self.targets)

    def parts(self, q: rows.Numbers, goals: rows.Numbers) -> list[rows.Part]:
        """Return all parts at a configuration."""
        known: dict[Any, rows.Frame] = {}

        def frames(name: str, point: Any) -> rows.Frame:
            if (name, point) not in known:
                k, placement = self.model.locate(name)
                placement = at_point(point, placement)
                known[name, point] = rows.Frame(self.model, q, k + 1, placement)
            return known[name, point]

        found: list[rows.Part] = []
        start = 0
        for target in self.targets:
            size = prod(target.shape(self.model))
            found += target.parts(self.model, frames, q, goals[start : start + size])
            start += size
        return found


def task_of(function: str, model: Model, targets: Targets, rates: bool = False) -> Task:
    """Return checked targets: a list of them, one, or goals by the names of frames.

    Args:
        function: the caller.
        model: the robot.
        targets: what the user gave.
        rates: whether goals may be velocities; those by name are then.
    """
    if not model.nv:
        where = f"model '{visible(model.name)}' without freedoms"
        raise NotApplicableError(function, where, "give a model with a joint that moves")
    kind = Velocity if rates else Pose
    if isinstance(targets, Target):
        given: list[Any] = [targets]
    elif isinstance(targets, Mapping):
        given = [kind(name, goal) for name, goal in targets.items()]
    else:
        given = list(targets) if isinstance(targets, (list, tuple)) else []
    if not given or not all(isinstance(each, Target) for each in given):
        fix = f"pass {{frame: {kind.__name__.lower()}}}, or a list of sixfold.targets"
        raise ArgumentError(f"{function}: argument 'targets'", "targets", targets, fix)
    arrays: list[Array] = []
    key: list[Hashable] = []
    for target in given:
        target.check(function)
        name = getattr(target, "frame", None)
        if hasattr(target, "frame"):
            located(function, model, name, "frame")
        if isinstance(target, Velocity) and not rates:
            fix = "use sixfold.differential_ik for velocities"
            raise ArgumentError(f"{function}: argument 'targets'", "goals of poses", target, fix)
        more = target.fixed(model)
        shape = target.shape(model)
        array = target.numbers(function, model)
        arrays.append(array.reshape((*array.shape[: array.ndim - len(shape)], prod(shape))))
        key.append((type(target).__name__, name, more, target.weights, target.priority))
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    except ValueError:
        got = [x.shape[:-1] for x in arrays]
        fix = "give all targets the same number of rows, or one"
        raise ShapeError(function, "targets", "leading axes that fit", got, fix) from None
    wide = [np.broadcast_to(x, (*lead, x.shape[-1])) for x in arrays]
    flat = wide[0] if len(wide) == 1 else np.concatenate(wide, -1)
    return Task(model, tuple(given), np.ascontiguousarray(flat), tuple(key))
