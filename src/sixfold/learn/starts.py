"""Where the next episodes begin, drawn ahead for many environments at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.arrays import Array
from sixfold.errors import OptionError
from sixfold.learn.draws import uniforms
from sixfold.learn.task import Task
from sixfold.simulation import Stepper
from sixfold.simulation.live import PlainStates


class Starts:
    """The next episode of each environment; an episode depends on (seed, row, episode) alone.

    Environments end a few at a time.  Drawing for all those that have used up their next start
    costs a few array operations, whose price hardly depends on how many there are.

    Args:
        task: what is drawn.
        stepper: that the episodes begin in.
    """

    def __init__(self, task: Task, stepper: Stepper) -> None:
        self.task, self.stepper, self._states = task, stepper, PlainStates(stepper)
        rows, model, kind = stepper.rows, task.model, stepper.dtype
        self.episodes = np.zeros(rows, np.uint64)
        self.streams: Any = None
        self._fresh = np.zeros(rows, bool)
        # in one array, so that one look-up takes all of a row
        self._stock = np.zeros((rows, model.nq + model.nv), kind)
        self._drawn: dict[str, Array] = {}
        # parameters that are not drawn may be written to by the user, and change what is seen
        fixed = task.randomize is None or stepper.parameters is None
        self._seen = None
        shape = self._states.observed
        if shape is not None and (stepper.parameters is None or not fixed):
            self._seen = np.zeros((rows, *shape), kind)

    def seed(self, streams: NDArray[np.uint64] | None) -> None:
        """Begin with the first episodes of other streams; None goes on with those there are."""
        if streams is not None:
            self.streams = streams
            self.episodes[:] = 0
            self._fresh[:] = False

    def begin(self, rows: Array) -> Array | None:
        """Put some rows into their next episode; return what they see, None without observations.

        Args:
            rows: numbers of rows, shape (n,), n > 0.
        """
        stepper = self.stepper
        if not self._fresh[rows].all() and not self._draw_ahead(rows):
            return stepper.observation(rows)
        stock, nq = self._stock[rows], self.task.model.nq
        self._states.put(rows, stock[:, :nq], stock[:, nq:])
        for name, values in self._drawn.items():
            getattr(stepper, name)[rows] = values[rows]
        self._fresh[rows] = False
        self.episodes[rows] += np.uint64(1)
        return stepper.observation(rows) if self._seen is None else self._seen[rows]

    def _draw_ahead(self, rows: Array) -> bool:
        """Draw for all rows without a start; False if states need checks, and rows have begun."""
        stepper, task = self.stepper, self.task
        empty = np.flatnonzero(~self._fresh)
        q, v, drawn = self._draw(empty)
        if not self._states.fit(empty, q, v):
            self._begin_checked(rows)
            return False
        new = np.concatenate([q, v], -1, dtype=stepper.dtype)
        self._stock[empty] = new
        for name, values in drawn.items():
            self._drawn.setdefault(name, getattr(stepper, name).copy())[empty] = values
        if self._seen is not None:
            nq, zero = task.model.nq, np.zeros((len(empty), 1), stepper.dtype)
            more = [self._drawn["parameters"][empty]] if "parameters" in drawn else []
            seen = self._states.observation(zero, new[:, :nq], new[:, nq:], *more)
            self._seen[empty] = seen
        self._fresh[empty] = True
        return True

    def _begin_checked(self, rows: Array) -> None:
        q, v, drawn = self._draw(rows)
        for name, values in drawn.items():
            getattr(self.stepper, name)[rows] = values
        self.stepper.put(q, v, rows=rows)
        self.episodes[rows] += np.uint64(1)

    def _draw(self, rows: Array) -> tuple[Array, Array, Mapping[str, Array]]:
        """Return q, v and other numbers of the next episodes of some rows."""
        task = self.task
        u = uniforms(self.streams[rows], self.episodes[rows], task.draws)
        drawn = {} if task.randomize is None else task.randomize(u)
        for name in drawn:
            if name not in ("parameters", "inertias") or getattr(self.stepper, name) is None:
                words = "'parameters' or 'inertias', where the task has them"
                raise OptionError("Task", "randomize", words, name)
        q, v = task.start(u)
        return q, v, drawn
