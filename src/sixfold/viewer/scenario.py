"""What a window shows: a pose or a motion, and ghosts beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixfold.errors import ShapeError
from sixfold.model import Model
from sixfold.scene import Record, check_quaternions, finite
from sixfold.scene.triangles import Array

MAX_GHOSTS = 2000
"""Ghosts that are drawn of a batch; more are thinned out evenly."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """Checked arrays."""

    q: Array
    """Where the solid robot begins, (nq,)."""
    motion: Record | None
    """Its motion; the others of a batch are ghosts that move."""
    poses: Array
    """Ghosts at rest, (N, nq)."""

    def ghosts(self, time: float | None = None) -> Array:
        """Return the configurations of the ghosts, (n, nq), at a time or at the start."""
        if self.motion is None or len(self.motion.q) == 1:
            return self.poses[_spread(len(self.poses))]
        if time is None:
            return self.motion.q[1:, 0][_spread(len(self.motion.q) - 1)]
        return self.motion.positions(time)[1:][_spread(len(self.motion.q) - 1)]

    @property
    def ghosts_move(self) -> bool:
        """Whether the ghosts have motions of their own."""
        return self.motion is not None and len(self.motion.q) > 1

    def extremes(self) -> Array:
        """Return configurations (n, nq) that the picture should hold."""
        found = [self.q[None], self.poses[_spread(len(self.poses), 200)]]
        if self.motion is not None:
            some = self.motion.q[_spread(len(self.motion.q), 50)][:, self.motion.rows(40)]
            found.append(some.reshape(-1, some.shape[-1]))
        return np.concatenate(found)


def configurations(model: Model, q: object) -> Array:
    """Return one configuration or several as rows (N, nq), or say what is wrong with them."""
    array = finite("view", "q", q, f"({model.nq},) or (N, {model.nq})")
    if array.ndim not in (1, 2) or array.shape[-1] != model.nq or not len(array):
        expected = f"({model.nq},) or (N, {model.nq})"
        fix = f"pass configurations of '{model.name}', such as sixfold.neutral(model)"
        raise ShapeError("view", "q", expected, array.shape, fix)
    rows = array.reshape(-1, model.nq)
    check_quaternions("view", model, rows)
    return rows


def _spread(count: int, most: int = MAX_GHOSTS) -> Array:
    """Return at most so many of the numbers below count, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
