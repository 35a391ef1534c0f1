"""Memory of the sweeps of optimal control, used again in every iteration, with prepared calls.

One iteration of an arm takes a few hundred microseconds, of which new arrays and the checks of long
argument lists would be a third.
"""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.control.optimal.problem import Problem


class BackwardBuffers:
    """What `Sweeps` needs for a backward sweep in velocities of so many rows.

    Args:
        problem: whose sweep it is.
        rows: problems that are swept together.
        steps: of each.
        h: length of a step [s].
    """

    def __init__(self, problem: Problem, rows: int, steps: int, h: float) -> None:
        n = problem.model.nv
        triangle = n * (2 * n + 1)
        sizes = n * n, 2 * n * n, 2 * n, n, triangle, 2 * n * n, n * (n + 1) // 2
        self.nodes = tuple(np.empty((rows, steps, size)) for size in sizes)
        """T, B and the cost by x and w at all nodes."""
        self.end = np.empty(rows), np.empty((rows, 2 * n)), np.empty((rows, triangle))
        """The final cost, its gradient, half of its Hessian; the sweep overwrites the last two."""
        self.numbers = np.empty((rows, 2))
        """The gain, and the smallest pivot so far."""
        self.kept = tuple(np.empty((rows, steps, size)) for size in problem.kept_sizes)
        self.gains = (
            np.empty((rows, steps, n)),
            np.empty((rows, steps, 2 * n * n)),
            np.empty((rows, steps)),
        )
        """k and K of the controls, and how far inside their limits they are."""
        _, slope, bend = self.end
        carried = [slope, bend, *(x[:, 0] for x in self.kept), self.numbers]
        outputs = [last_only(x, steps) for x in (slope, bend, self.numbers)]
        outputs[2:2] = [x[:, ::-1] for x in self.kept]
        each = [x[:, ::-1] for x in self.nodes[2:]]
        arrays = [*carried, np.full((rows, 1), h), *each]
        self._sweep = problem.velocity_sweep(rows).prepared(arrays, outputs, steps, 1)

    def sweep(self) -> None:
        """Go backward from `end` through `nodes`."""
        self.numbers[:, 0], self.numbers[:, 1] = 0.0, np.inf
        self._sweep()


class SearchBuffers:
    """What `Sweeps` needs to try several step lengths on one problem.

    Args:
        problem: whose motion it is.
        motion: q, v, u, k and K of the problem, which may change between searches.
        parameters: of the costs.
        times: of the steps [s].
        h: length of a step [s].
        lengths: of the steps along k.
        limits: least and largest controls, if there are any.
    """

    def __init__(
        self,
        problem: Problem,
        motion: tuple[Array, Array, Array, Array, Array],
        parameters: Array,
        times: Array,
        h: float,
        lengths: Array,
        limits: tuple[Array, ...],
    ) -> None:
        q, v, u, k, K = motion
        count, steps, n, m = len(lengths), len(u), q.shape[-1], u.shape[-1]
        self.q, self.v = np.empty((count, steps + 1, n)), np.empty((count, steps + 1, n))
        self.u, self.spent = np.empty((count, steps, m)), np.zeros((count, 1))
        self.q[:, 0], self.v[:, 0] = q[0], v[0]
        self.parameters = np.repeat(parameters[None], count, 0)
        numbers = np.stack([np.full(count, h), lengths], -1)
        flat = K.reshape(steps, m * 2 * n)
        each = [shared(x, count) for x in (times[:, None], q[:-1], v[:-1], u, k, flat)]
        each += [everywhere(x, count, steps) for x in limits]
        carried = [self.q[:, 0], self.v[:, 0], self.u[:, 0], self.spent]
        outputs = [self.q[:, 1:], self.v[:, 1:], self.u, last_only(self.spent, steps)]
        kernel = problem.forward(bool(limits))
        self._run = kernel.prepared([*carried, numbers, self.parameters, *each], outputs, steps, 1)
        self._end = self.q[:, -1], self.v[:, -1], self.parameters
        self._last = problem.last()

    def motions(self) -> tuple[Array, Array, Array, Array]:
        """Return q, v, u and the cost for every length; the next search overwrites them."""
        self.spent[:] = 0.0
        self._run()
        return self.q, self.v, self.u, self.spent[:, 0] + self._last(*self._end)[0]


def shared(x: Array, count: int) -> Array:
    """Return rows that all read the same memory, with less overhead than `numpy.broadcast_to`."""
    return np.ndarray((count, *x.shape), x.dtype, x, 0, (0, *x.strides))


def everywhere(x: Array, count: int, steps: int) -> Array:
    """Return numbers (m,) as if they had axes of rows and steps."""
    return np.ndarray((count, steps, len(x)), x.dtype, x, 0, (0, 0, x.itemsize))


def last_only(x: Array, steps: int) -> Array:
    """Return rows as if they had an axis of steps: each step overwrites the one before."""
    shape, strides = (x.shape[0], steps, x.shape[1]), (x.strides[0], 0, x.strides[1])
    return np.ndarray(shape, x.dtype, x, 0, strides)
