"""Iterations of differential dynamic programming on many problems at once.

Rows are problems with their own start, controls and parameters.  Each iteration is a few calls of
kernels: the nodes of all rows, backward through the steps, forward with several step lengths.
Iterations share their memory and use prepared calls: one iteration of an arm takes a few hundred
microseconds, of which new arrays and the checks of long argument lists would be a third.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from threading import get_ident
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.control.ddp_kernels import DDPProblem
from sixfold.quantities.dynamics import mass_matrix
from sixfold.runtime import keep_last, share


@dataclass
class StateLimits:
    """Limits of states as an augmented Lagrangian, max(0, y + rho g)^2 / (2 rho) at each node."""

    low: Array  # shape (2 n,); -inf without a limit
    high: Array
    y: Array  # multipliers, upper limits first, shape (rows, steps + 1, 4 n)
    rho: Array  # shape (rows,)

    def over(self, q: Array, v: Array) -> Array:
        """Return g: how far states are beyond their limits, negative inside."""
        x = np.concatenate([q, v], -1)
        return np.concatenate([x - self.high, self.low - x], -1)

    def _pushes(self, q: Array, v: Array, rows: Array) -> tuple[Array, Array]:
        rho = self.rho[rows, None, None]
        return np.maximum(0.0, self.y[rows] + rho * self.over(q, v)), rho

    def cost(self, q: Array, v: Array, rows: Array) -> Array:
        """Return what the limits add to the cost."""
        push, rho = self._pushes(q, v, rows)
        return np.asarray(((push**2 - self.y[rows] ** 2) / (2 * rho)).sum((-1, -2)))

    def slopes(self, q: Array, v: Array, rows: Array) -> tuple[Array, Array]:
        """Return first and second derivatives of the cost, (rows, steps + 1, 2 n) each."""
        push, rho = self._pushes(q, v, rows)
        n2 = len(self.low)
        bend = rho * ((push[..., :n2] > 0) + 0.0 + (push[..., n2:] > 0))
        return push[..., :n2] - push[..., n2:], bend

    def add(self, found: list[Array], q: Array, v: Array, rows: Array) -> None:
        """Add derivatives to those of the costs."""
        slope, bend = self.slopes(q, v, rows)
        n2 = len(self.low)
        found[2] += slope[:, :-1]
        found[4][..., np.arange(n2) * (n2 + 1)] += bend[:, :-1]
        found[7] += slope[:, -1]
        found[8][..., diagonal(n2)] += bend[:, -1]

    def update(self, q: Array, v: Array, factor: float) -> None:
        """Move the multipliers, and weigh what is left more."""
        rows = np.arange(len(q))
        self.y = self._pushes(q, v, rows)[0]
        self.rho = self.rho * factor


@cache
def diagonal(n: int) -> Array:
    """Return the places of the diagonal in a lower triangle, row by row."""
    k = np.arange(n)
    return k * (k + 3) // 2


class BackwardBuffers:
    """What `Sweeps` needs for a backward sweep in velocities.

    Args:
        problem: whose sweep it is.
        rows: problems that are swept together.
        steps: of each.
        h: length of a step [s].
    """

    def __init__(self, problem: DDPProblem, rows: int, steps: int, h: float) -> None:
        n = problem.model.nv
        # symmetric 2 n x 2 n matrices travel as lower triangles
        triangle = n * (2 * n + 1)
        sizes = n * n, 2 * n * n, 2 * n, n, triangle, 2 * n * n, n * (n + 1) // 2
        # T, B and the derivatives of the cost with respect to x and w at all nodes
        self.nodes = tuple(np.empty((rows, steps, size)) for size in sizes)
        # the final cost, its gradient, half of its Hessian; the sweep overwrites the last two
        self.end = np.empty(rows), np.empty((rows, 2 * n)), np.empty((rows, triangle))
        self.numbers = np.empty((rows, 2))  # the gain, and the smallest pivot so far
        self.kept = tuple(np.empty((rows, steps, size)) for size in problem.kept_sizes)
        # k and K of the controls, and how far inside their limits they are
        self.gains = (
            np.empty((rows, steps, n)),
            np.empty((rows, steps, 2 * n * n)),
            np.empty((rows, steps)),
        )
        _, slope, bend = self.end
        carried = [slope, bend, *(x[:, 0] for x in self.kept), self.numbers]
        outputs = [keep_last(x, steps) for x in (slope, bend, self.numbers)]
        outputs[2:2] = [x[:, ::-1] for x in self.kept]
        # the sweep runs from the last step to the first: views are read backward
        each = [x[:, ::-1] for x in self.nodes[2:]]
        arrays = [*carried, np.full((rows, 1), h), *each]
        self._sweep = problem.velocity_sweep(rows).prepare(arrays, outputs, steps, 1)

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
        problem: DDPProblem,
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
        each = [repeat_rows(x, count) for x in (times[:, None], q[:-1], v[:-1], u, k, flat)]
        each += [repeat_everywhere(x, count, steps) for x in limits]
        # the kernel writes each state next to the one before, and its cost over the last
        carried = [self.q[:, 0], self.v[:, 0], self.u[:, 0], self.spent]
        outputs = [self.q[:, 1:], self.v[:, 1:], self.u, keep_last(self.spent, steps)]
        kernel = problem.forward(bool(limits))
        self._run = kernel.prepare([*carried, numbers, self.parameters, *each], outputs, steps, 1)
        self._end = self.q[:, -1], self.v[:, -1], self.parameters
        self._last = problem.last

    def motions(self) -> tuple[Array, Array, Array, Array]:
        """Return q, v, u and the cost for every length; the next search overwrites them."""
        self.spent[:] = 0.0
        self._run()
        return self.q, self.v, self.u, self.spent[:, 0] + self._last(*self._end)[0]


def repeat_rows(x: Array, count: int) -> Array:
    """Return rows that all read the same memory, with less overhead than `numpy.broadcast_to`."""
    return np.ndarray((count, *x.shape), x.dtype, x, 0, (0, *x.strides))


def repeat_everywhere(x: Array, count: int, steps: int) -> Array:
    """Return numbers (m,) as if they had axes of rows and steps."""
    return np.ndarray((count, steps, len(x)), x.dtype, x, 0, (0, 0, x.itemsize))


STEP_LENGTHS = 0.45 ** np.arange(8.0)  # of the line search, tried together for one problem
ENOUGH = 1e-4  # least part of the expected gain for which a step is taken
# problems of a chunk: all lanes are busy, and their nodes stay in a cache
CHUNK_ROWS = 8
LEAST_MU, MAX_MU, MU_FACTOR = 1e-8, 1e12, 8.0  # regularisation of Q_uu
PUSH = 1e-3  # motion [rad or m] of each joint by which a saddle point is left

# why a motion stopped, and the words of a summary
STATUSES = {
    "converged": "converged",
    "iterations": "used up their iterations",
    "saddle point": "stopped at a saddle point",
    "stalled": "found no step that costs less",
    "not finite": "began with a cost that is not finite",
    "state limits": "exceed state limits",
}


@dataclass
class DDPState:
    """Motions and their costs, one row for each problem."""

    q: Array  # shape (rows, steps + 1, n)
    v: Array
    u: Array  # shape (rows, steps, m)
    cost: Array  # shape (rows,)
    mu: Array
    k: Array
    K: Array
    expected: Array  # gain that the last backward sweep expected
    iterations: Array
    done: Array  # rows that no longer move
    status: Array  # why each row stopped, of `STATUSES`; "iterations" while it moves
    # cost where a row was pushed to see whether it was at a saddle point; NaN if it was not
    saddle: Array
    history: list[Array]  # costs after each iteration


@dataclass(frozen=True)
class Sweeps:
    """A problem with its numbers."""

    problem: DDPProblem
    h: float
    times: Array
    parameters: Array  # shape (rows, parameters), or one zero for each row where there are none
    low: Array | None  # least controls, shape (m,); None without limits
    high: Array | None
    second: bool  # whether second derivatives of the motion count
    bounds: StateLimits | None
    # memory that iterations use again, for each thread
    buffers: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def start(self, q0: Array, v0: Array, u: Array) -> DDPState:
        """Return the motion under given controls."""
        rows, steps, m = u.shape
        n = self.problem.model.nv
        q, v = np.zeros((rows, steps + 1, n)), np.zeros((rows, steps + 1, n))
        q[:, 0], v[:, 0] = q0, v0
        zero = np.zeros(rows)
        flags = np.zeros(rows, bool)
        state = DDPState(
            *(q, v, u, zero, zero.copy(), np.zeros((rows, steps, m))),
            np.zeros((rows, steps, m, 2 * n)),
            *(zero + np.inf, np.zeros(rows, int), flags),
            np.full(rows, "iterations", object),
            *(np.full(rows, np.nan), []),
        )
        state.q, state.v, state.u, state.cost = self.forward(state, np.arange(rows), np.ones(rows))
        state.done = ~np.isfinite(state.cost)
        state.status[state.done] = "not finite"
        state.history.append(state.cost.copy())
        return state

    def iterate(self, state: DDPState, tolerance: float) -> None:
        """Improve all rows that still move once."""
        live = np.flatnonzero(~state.done)
        if len(live) <= CHUNK_ROWS:
            self._improve(state, live, tolerance)
        else:
            # chunks run on threads of their own; rows do not depend on the chunk they are in
            parts = [(a, min(a + CHUNK_ROWS, len(live))) for a in range(0, len(live), CHUNK_ROWS)]
            share(lambda a, b: self._improve(state, live[a:b], tolerance), parts)
        state.history.append(state.cost.copy())

    def _improve(self, state: DDPState, live: Array, tolerance: float) -> None:
        """Improve some rows once."""
        good, convex = self._backward(state, live)
        rows = _at(live)
        # a row has ended when it cannot gain enough any more
        state.iterations[rows] += 1
        mu = state.mu[rows]
        enough = tolerance * (1.0 + np.abs(state.cost[rows]))
        ended = good & (mu <= 1.0) & (state.expected[rows] <= enough)
        convex &= mu == 0.0
        moving, better = good & ~ended, np.zeros(len(live), bool)
        if moving.any():
            better[moving] = self._search(state, live[moving])
        # less damping after a success, more after a failure
        less, more = mu / MU_FACTOR, np.maximum(mu * MU_FACTOR, LEAST_MU)
        less[less < LEAST_MU] = 0.0
        state.mu[rows] = mu = np.where(better, less, np.where(ended, mu, more))
        # without slope: at a minimum, if it is convex or a push did not help; or at a saddle point
        stuck = mu > MAX_MU
        flat = stuck & good & (state.expected[rows] * MAX_MU <= enough)
        least = ended & (convex | np.isfinite(state.saddle[rows]))
        status = state.status[rows]
        status[stuck] = "stalled"
        status[flat | (ended & ~least)] = "saddle point"
        status[least] = "converged"
        state.status[rows] = status
        state.done[rows] |= ended | stuck
        self._leave_saddle(state, live[status == "saddle point"])

    def _leave_saddle(self, state: DDPState, rows: Array) -> None:
        """Leave saddle points, once for each row: no step along the slope, which is zero, does."""
        rows = rows[np.isnan(state.saddle[rows])]
        if not len(rows):
            return
        n, (steps, m) = len(rows), state.u.shape[1:]
        # slow forces with which each joint alone would move by PUSH in the whole time
        model, s = self.problem.model, (np.arange(steps) + 0.5) / steps
        waves = np.cos(np.pi * np.arange(3)[:, None] * s)
        M = mass_matrix(model, state.q[rows, 0])
        heavy = M[:, list(self.problem.driven), list(self.problem.driven)]
        force = np.random.default_rng(0).standard_normal((m, 3)) @ waves
        state.k[rows] = (2 * PUSH / (steps * self.h) ** 2) * heavy[:, None] * force.T
        state.K[rows] = 0.0
        moved = self.forward(state, rows, np.ones(n))
        fine = np.isfinite(moved[3])
        at = rows[fine]
        state.saddle[at] = state.cost[at]
        state.q[at], state.v[at], state.u[at], state.cost[at] = (x[fine] for x in moved)
        state.done[at], state.mu[at] = False, 0.0
        state.status[at] = "iterations"

    def _backward(self, state: DDPState, live: Array) -> tuple[Array, Array]:
        """Find the changes of all controls; return which rows have one, and are convex."""
        # a motor at every joint: the sweep over next velocities inverts no linearised dynamics
        driven = self.problem.fully_driven
        if driven and not self.second:
            self._driven_nodes(state, live)
            good = self._sweep_efforts(state, live, *self._sweep_velocities(state, live))
            return good, good
        # linearise all nodes; second derivatives of the motion are added where they are wanted
        near = self._nodes(state, live)
        curved = self._add_curvature(state, live, near) if self.second else near
        good = self._sweep_rows(state, live, curved)
        convex = good.copy()
        if self.second and not good.all():  # without second derivatives where they fail
            left = np.flatnonzero(~good)
            good[left] = self._sweep_rows(state, live[left], [x[left] for x in near])
        return good, convex

    def _sweep_rows(self, state: DDPState, live: Array, near: list[Array]) -> Array:
        """Go backward through the steps; return which rows have positive definite Q_uu."""
        if not self.problem.fully_driven:
            return self._sweep_forces(state, live, near)
        *each, slope, bend = near
        own = self._buffers(len(live))
        self.problem.absorbed_nodes(*each, state.mu[_at(live), None, None], out=own.nodes)
        own.end[1][:], own.end[2][:] = slope, bend
        return self._sweep_efforts(state, live, *self._sweep_velocities(state, live), near)

    def _sweep_efforts(
        self,
        state: DDPState,
        live: Array,
        good: Array,
        limited: Array,
        near: list[Array] | None = None,
    ) -> Array:
        """Sweep rows that meet a limit of u in forces; return which rows are good."""
        # `velocity_step` knows no limits: these rows are swept again by `backward_step`
        if limited.any():
            left = np.flatnonzero(limited)
            at = live[left]
            each = self._nodes(state, at) if near is None else [x[left] for x in near]
            good[left] = self._sweep_forces(state, at, each)
        return good

    def _buffers(self, rows: int) -> BackwardBuffers:
        """Return this thread's memory for a backward sweep."""
        key = get_ident(), rows
        if key not in self.buffers:
            steps = len(self.times)
            self.buffers[key] = BackwardBuffers(self.problem, rows, steps, self.h)
        found: BackwardBuffers = self.buffers[key]
        return found

    def _driven_nodes(self, state: DDPState, live: Array) -> None:
        """Find T, B and the cost over (x, w) at all nodes, and what the final cost gives."""
        rows, n2, own = _at(live), 2 * self.problem.model.nv, self._buffers(len(live))
        q, v, u, p = state.q[rows], state.v[rows], state.u[rows], self.parameters[rows]
        slope, bend = _zeros(n2), _zeros(n2)
        if self.bounds is not None:
            slope, bend = self.bounds.slopes(q, v, live)
        t, h, mu = self.times[:, None], np.array([self.h]), state.mu[rows, None, None]
        each = (t, q[:, :-1], v[:, :-1], u, p[:, None], h, mu)
        self.problem.driven_nodes(*each, slope[..., :-1, :], bend[..., :-1, :], out=own.nodes)
        self.problem.last(q[:, -1], v[:, -1], p, out=own.end)
        if self.bounds is not None:
            own.end[1][:] += slope[:, -1]
            own.end[2][..., diagonal(n2)] += bend[:, -1]

    def _nodes(self, state: DDPState, live: Array) -> list[Array]:
        """Return F, G and the derivatives of the costs at all nodes; those of the end come last."""
        rows = _at(live)
        q, v, u, p = state.q[rows], state.v[rows], state.u[rows], self.parameters[rows]
        t, h = self.times[:, None], np.array([self.h])
        found = list(self.problem.nodes(t, q[:, :-1], v[:, :-1], u, p[:, None], h))
        _, slope, bend = self.problem.last(q[:, -1], v[:, -1], p)
        found += [slope, bend]
        if self.bounds is not None:
            self.bounds.add(found, q, v, live)
        return found

    def _sweep_velocities(self, state: DDPState, live: Array) -> tuple[Array, Array]:
        """Sweep by `velocity_step`; return which rows are good, and which meet a limit of u."""
        own, u = self._buffers(len(live)), state.u[_at(live)]
        own.sweep()
        wide = _wide(u.shape[-1])
        ends = (-wide, wide) if self.low is None or self.high is None else (self.low, self.high)
        # turn the gains of velocities into those of forces; limits that are met spoil a row
        kernel = self.problem.force_gains
        k, K, inside = kernel(*own.nodes[:2], *own.kept, u, *ends, out=own.gains)
        definite = (own.numbers[:, 1] > 0) & np.isfinite(own.numbers).all(-1)
        good = definite & (inside.min(1) >= 0)
        self._keep(state, live, good, k, K, own.numbers[:, 0] / 2)
        return good, definite & ~good

    def _keep(
        self, state: DDPState, live: Array, good: Array, k: Array, K: Array, gain: Array
    ) -> None:
        """Keep the change of the controls of some rows, and what it should gain."""
        at, shape = live[good], state.K.shape[1:]
        if not len(at):
            return
        if len(at) < len(live):
            k, K, gain = k[good], K[good], gain[good]
        rows = _at(at)
        state.k[rows], state.K[rows], state.expected[rows] = k, K.reshape(-1, *shape), gain

    def _sweep_forces(self, state: DDPState, live: Array, near: list[Array]) -> Array:
        """Sweep by `backward_step`; return which rows are good."""
        F, G, l_x, l_u, l_xx, l_ux, l_uu, slope, bend = near
        u = state.u[_at(live)]
        rows, steps, m = u.shape
        n = self.problem.model.nv
        # the sweep runs from the last step to the first: arrays are read backward
        carried = [slope.copy(), bend.copy(), np.zeros((rows, m)), np.zeros((rows, 2 * n * m))]
        carried += [np.zeros((rows, 2)), _infinite(rows)]
        numbers = np.stack([np.full(rows, self.h), state.mu[live]], -1)
        each = [F, G, l_x, l_u, l_xx, l_ux, l_uu]
        if self.low is not None and self.high is not None:
            each += [self.low - u, self.high - u]
        outputs = [keep_last(x, steps) for x in carried]
        k, K = np.empty((rows, steps, m)), np.empty((rows, steps, 2 * n * m))
        outputs[2], outputs[3] = k[:, ::-1], K[:, ::-1]
        kernel = self.problem.backward(self.low is not None, rows)
        kernel([*carried, numbers, *(x[:, ::-1] for x in each)], outputs, steps, 1)
        gain, pivot = outputs[4][:, 0], outputs[5][:, 0, 0]
        good = np.asarray((pivot > 0) & np.isfinite(pivot) & np.isfinite(gain).all(-1))
        self._keep(state, live, good, k, K, -(gain[:, 0] + gain[:, 1] / 2))
        return good

    def _add_curvature(self, state: DDPState, live: Array, near: list[Array]) -> list[Array]:
        """Add the second derivatives of the motion, weighted by the gradient of the cost to go.

        The gradient is that along the present motion, the costate: all nodes are one batch then,
        and at the solution it is that of the value.
        """
        F, G, l_x, l_u, l_xx, l_ux, l_uu, slope, bend = near
        n, h = self.problem.model.nv, self.h
        rows, steps = l_x.shape[:2]
        after = np.empty((rows, steps + 1, 2 * n))
        after[:, -1] = slope
        step = np.full((rows, 1), h)
        moving = [F[:, ::-1], l_x[:, ::-1]]
        self.problem.adjoint()([slope, step, *moving], [after[:, :-1][:, ::-1]], steps, 1)
        # a change of acceleration moves q by h^2 and v by h in the same step
        p = after[:, 1:]
        weights = h * (h * p[..., :n] + p[..., n:])
        at = _at(live)
        q, v = state.q[at, :-1], state.v[at, :-1]
        xx, ux = self.problem.curvature(q, v, state.u[at], weights)
        return [F, G, l_x, l_u, l_xx + xx, l_ux + ux, l_uu, slope, bend]

    def _search(self, state: DDPState, rows: Array) -> Array:
        """Take the step length that costs least, or the first that costs less; say where."""
        if len(rows) == 1:
            tried = self._try_lengths(state, int(rows[0]))
            best = int(np.argmin(tried[3]))
            it = slice(best, best + 1)
            return self._accept(state, rows, STEP_LENGTHS[it], tuple(x[it] for x in tried))
        # many rows: one step length after the other, for those that have not gained yet
        better = np.zeros(len(rows), bool)
        for length in STEP_LENGTHS:
            left = np.flatnonzero(~better)
            if not len(left):
                break
            lengths = np.full(len(left), length)
            tried = self.forward(state, rows[left], lengths)
            better[left] = self._accept(state, rows[left], lengths, tried)
        return better

    def _accept(
        self, state: DDPState, rows: Array, lengths: Array, tried: tuple[Array, ...]
    ) -> Array:
        """Take the motions that gain enough; return which."""
        # Armijo's rule, with the gain that the quadratic model expects
        gain = state.cost[rows] - tried[3]
        good = np.asarray(gain > ENOUGH * lengths * state.expected[rows])
        if good.all():
            at = _at(rows)
        else:
            at, tried = rows[good], tuple(x[good] for x in tried)
        state.q[at], state.v[at], state.u[at], state.cost[at] = tried
        return good

    def _try_lengths(self, state: DDPState, row: int) -> tuple[Array, ...]:
        """Return motions of one problem for all step lengths; the next search overwrites them."""
        key = get_ident(), "search", row
        if key not in self.buffers:
            motion = state.q[row], state.v[row], state.u[row], state.k[row], state.K[row]
            limits = () if self.low is None or self.high is None else (self.low, self.high)
            given = self.parameters[row], self.times, self.h, STEP_LENGTHS, limits
            self.buffers[key] = SearchBuffers(self.problem, motion, *given)
        found: SearchBuffers = self.buffers[key]
        q, v, u, cost = found.motions()
        if self.bounds is not None:
            cost = cost + self.bounds.cost(q, v, np.full(len(q), row))
        return q, v, u, np.where(np.isfinite(cost), cost, np.inf)

    def forward(self, state: DDPState, rows: Array, lengths: Array) -> tuple[Array, ...]:
        """Return q, v, u and the cost of motions with some part of the change of the controls."""
        count, (_, steps, m) = len(rows), state.u.shape
        n, at = self.problem.model.nv, _at(rows)
        q, v = np.empty((count, steps + 1, n)), np.empty((count, steps + 1, n))
        q[:, 0], v[:, 0] = state.q[at, 0], state.v[at, 0]
        u, spent = np.empty((count, steps, m)), np.zeros((count, 1))
        p = np.ascontiguousarray(self.parameters[at])
        numbers = np.stack([np.full(count, self.h), lengths], -1)
        K = state.K[at].reshape(count, steps, m * 2 * n)
        each = [repeat_rows(self.times[:, None], count), state.q[at, :-1], state.v[at, :-1]]
        each += [state.u[at], state.k[at], K]
        if self.low is not None and self.high is not None:
            each += [repeat_everywhere(x, count, steps) for x in (self.low, self.high)]
        carried = [q[:, 0], v[:, 0], u[:, 0], spent]
        outputs = [q[:, 1:], v[:, 1:], u, keep_last(spent, steps)]
        self.problem.forward(self.low is not None)([*carried, numbers, p, *each], outputs, steps, 1)
        cost = spent[:, 0] + self.problem.last(q[:, -1], v[:, -1], p)[0]
        if self.bounds is not None:
            cost = cost + self.bounds.cost(q, v, rows)
        return q, v, u, np.where(np.isfinite(cost), cost, np.inf)


@cache
def _zeros(n: int) -> Array:
    """Return what nodes without limits of states add, for two nodes that all others repeat."""
    return np.zeros((2, n))


@cache
def _wide(n: int) -> Array:
    """Return how far controls without limits may go."""
    return np.full(n, 1e300)


def _infinite(rows: int) -> Array:
    return np.full((rows, 1), np.inf)


def _at(rows: Array) -> Any:
    """Return an index of rows: a slice, which copies nothing, where they follow one another."""
    if not len(rows):
        return rows
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows
