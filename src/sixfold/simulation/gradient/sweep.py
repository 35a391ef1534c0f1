"""The adjoint sweep: forward to record the states, then backward through the steps.

Few states are in memory at a time.  Rows are taken in chunks, and where the states of a chunk are
too many, only every k-th is kept on the way forward; the others are computed again, k at a time,
from the last to the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.evaluate import (
    adjoint_kernel,
    gradient_kernel,
    numbers_array,
    scalar_functions,
    scan_kernel,
    share,
    threads_for,
)
from sixfold.model import Model
from sixfold.simulation.gradient.costs import Cost
from sixfold.simulation.prepared_rollout import step_times
from sixfold.simulation.setup import Setup

MAX_STATE_BYTES = 1 << 24
"""Memory for the states of the smallest chunk of rows; beyond, not all of them are kept."""

CHUNK_BYTES = 1 << 20
"""States of a chunk that should stay in a processor's cache, from their steps to the adjoints."""

MIN_CHUNK_ROWS = 64
"""Rows that keep all lanes of a kernel busy; chunks are multiples of it."""


@dataclass(frozen=True)
class Sweep:
    """A rollout with its costs: one step of it, its kernels, and the sweep through all steps."""

    setup: Setup
    cost: Cost | None
    final: Cost | None
    cost_parameters: Array | None
    """Numbers for the cost functions, shape (..., n)."""
    inertial: bool
    known: tuple[tuple[str, str], ...]
    """Names of the callbacks and digests of their programs."""

    # -- one step

    @property
    def _fixed(self) -> list[int]:
        """Sizes of the arrays that stay the same: dt, the constants, parameters of the costs."""
        more = [] if self.cost_parameters is None else [self.cost_parameters.shape[-1]]
        return [*self.setup.fixed, *more]

    def step(self, *lists: Sequence[Any]) -> list[Any]:
        """Take one step on flat lists; its cost follows the state."""
        setup, model = self.setup, self.setup.model
        place = len(setup.carried) + len(setup.fixed)
        more = len(self._fixed) - len(setup.fixed)
        system, t, h, state, push = setup.at(*lists[:place], *lists[place + more :])
        following = setup.after(system, t, h, state, push)
        if self.cost is None:
            return [*following, 0.0]
        q, v = state[: model.nq], state[model.nq :]
        pushed = system if push is None else system.pushed(push)
        arrays = [q, v[: model.nv], pushed.effort(t, q, v)[: model.nv], *lists[place:][:more]]
        return [*following, self.cost.of(t, *map(numbers_array, arrays)) * h]

    @property
    def wanted(self) -> list[str]:
        """Constants to differentiate by."""
        names = [name for name in self.setup.constants if name in ("parameters", "tau")]
        return [*names, *(["inertias"] if self.inertial else [])]

    # -- kernels

    def forward(self) -> Any:
        """Return the kernel of the steps, that of `rollout`."""
        setup = self.setup
        sizes = (setup.carried, setup.fixed, setup.each)
        key = setup.key(tuple(x for x in self.known if x[0] in ("control", "f_ext")))
        return scan_kernel(setup.step, *sizes, name=self._name, key=key)

    def backward(self) -> Any:
        """Return the kernel of the steps' adjoints."""
        setup = self.setup
        places = [1 + list(setup.constants).index(name) for name in self.wanted]
        return adjoint_kernel(
            self.step,
            setup.carried,
            self._fixed,
            setup.each,
            sums=places,
            rows=[1] if setup.tau_each else [],
            name=self._name,
            key=setup.key(self.known),
        )

    def last(self) -> Any:
        """Return the kernel of the final cost and its derivatives by q and v; None without one."""
        model, final = self.setup.model, self.final
        if final is None:
            return None
        more = self._fixed[len(self.setup.fixed) :]

        def value(*lists: Sequence[Any]) -> Any:
            return final.of(*map(numbers_array, lists))

        sizes = [model.nq, model.nv, *more]
        return gradient_kernel(value, sizes, [0, 1], name="final_cost", key=self.known).ufunc

    @property
    def _name(self) -> str:
        return f"rollout_gradient of '{self.setup.model.name}'"


@dataclass
class Found:
    """The results of a sweep, one row for each trajectory."""

    cost: Array
    adjoints: list[Array]
    """Derivatives by the parts of the state at the start."""
    sums: dict[str, Array]
    """Derivatives by constants, by name."""
    tau: Array | None
    """Derivatives by the joint forces of each step."""
    lost: list[bool] = field(default_factory=list)


def sweep(
    plan: Sweep, parts: Sequence[Array], lead: Shape, dt: float, steps: int, interval: int | None
) -> Found:
    """Return the cost of each trajectory and its derivatives.

    Args:
        plan: the rollout and its costs.
        parts: the parts of the states at the start.
        lead: common leading shape.
        dt: length of a step.
        steps: how many.
        interval: steps from one state that is kept to the next; by the memory if None.
    """
    setup, rows = plan.setup, math.prod(lead)
    kernels = plan.forward(), plan.backward(), plan.last()
    constants = [np.array([dt]), *setup.constants.values()]
    if plan.cost_parameters is not None:
        constants.append(plan.cost_parameters)
    start = [_rows(x, lead, (n,)) for x, n in zip(parts, setup.carried, strict=True)]
    fixed = [_rows(x, lead, x.shape[-1:]) for x in constants]
    each = [_rows(step_times(steps, dt), lead, (steps, 1))]
    if setup.tau_each and setup.tau is not None:
        each.append(_rows(setup.tau, lead, setup.tau.shape[-2:]))
    found = Found(
        np.zeros((rows, 1)),
        [np.zeros((rows, n)) for n in setup.carried],
        {name: np.zeros((rows, setup.constants[name].shape[-1])) for name in plan.wanted},
        np.empty((rows, steps, setup.model.nv)) if setup.tau_each else None,
    )
    interval, chunk = _sizes(kernels[1], setup.size, rows, steps, interval)
    spare: list[list[Array]] = []  # memory of chunks that are done

    def part(first: int, stop: int) -> None:
        here = slice(first, stop)
        arrays = [[x[here] for x in group] for group in (start, fixed, each)]
        try:
            memory = spare.pop()
        except IndexError:
            counts = (len(range(0, steps, interval)), interval + 1)
            memory = [np.empty((min(chunk, rows), k, n)) for k in counts for n in setup.carried]
        _Chunk(setup, kernels, arrays, found, here, steps, interval).run(memory)
        spare.append(memory)

    share(part, [(first, min(first + chunk, rows)) for first in range(0, rows, chunk)])
    return found


def _sizes(kernel: Any, size: int, rows: int, steps: int, interval: int | None) -> tuple[int, int]:
    """Return steps between kept states, and rows of a chunk."""
    least = min(rows, MIN_CHUNK_ROWS)
    if interval is None:
        fits = 8 * size * steps * least <= MAX_STATE_BYTES
        interval = steps if fits else math.isqrt(steps - 1) + 1
    interval = min(interval, steps)
    fit = CHUNK_BYTES // (8 * size * (interval + 1 + -(-steps // interval)))
    shared = -(-rows // threads_for(kernel, rows, steps))
    blocks = min(fit, shared) // MIN_CHUNK_ROWS
    return interval, max(1, blocks) * MIN_CHUNK_ROWS


@dataclass
class _Chunk:
    """Some rows of a batch, through all steps and back."""

    setup: Setup
    kernels: tuple[Any, Any, Any]
    arrays: list[list[Array]]
    """At the start, fixed, and those of each step."""
    found: Found
    here: slice
    steps: int
    interval: int

    def run(self, memory: list[Array]) -> None:
        """Do it all; the memory is for states that are kept, and for those of one interval."""
        start, interval = self.arrays[0], self.interval
        firsts = range(0, self.steps, interval)
        own = [x[: len(start[0])] for x in memory]
        kept, states = own[: len(start)], own[len(start) :]
        for all_kept, x in zip(kept, start, strict=True):
            all_kept[:, 0] = x
        self._forward(kept, 0, firsts[-1], interval)
        for number in reversed(range(len(firsts))):
            count = min(interval, self.steps - firsts[number])
            for x, all_kept in zip(states, kept, strict=True):
                x[:, 0] = all_kept[:, number]
            self._forward(states, firsts[number], count, 1)
            if number == len(firsts) - 1:
                self._end([x[:, count] for x in states])
            self._backward(states, firsts[number], count)

    def _forward(self, states: list[Array], first: int, count: int, every: int) -> None:
        """Take some steps from the first of the states, and note those that follow."""
        if not count:
            return
        _, fixed, each = self.arrays
        own = fixed[: len(self.setup.fixed)]
        moving = [x[:, first : first + count] for x in each]
        outputs = [x[:, 1 : 1 + count // every] for x in states]
        self.kernels[0]([*(x[:, 0] for x in states), *own, *moving], outputs, count, every)

    def _end(self, state: list[Array]) -> None:
        """Begin with the final cost and its derivatives."""
        final = self.kernels[2]
        if final is None:
            return
        more = self.arrays[1][len(self.setup.fixed) :]
        cost, by_q, by_v = final(state[0], state[1], *more)
        self.found.cost[self.here, 0] = cost
        self.found.adjoints[0][self.here] = by_q
        self.found.adjoints[1][self.here] = by_v

    def _backward(self, states: list[Array], first: int, count: int) -> None:
        """Take the adjoints of some steps, from the last to the first."""
        _, fixed, each = self.arrays
        found, here = self.found, self.here
        carried = [x[here] for x in (*found.adjoints, found.cost, *found.sums.values())]
        every = count if found.tau is None else 1  # derivatives by each step's forces are written
        outputs = [_again(x, count // every) for x in carried]
        if found.tau is not None:
            by_tau = found.tau[here, first : first + count]
            carried.append(by_tau[:, 0])  # takes its place in the order, and is not read
            outputs.append(by_tau[:, ::-1])
        before = [x[:, :count][:, ::-1] for x in states]
        moving = [x[:, first : first + count][:, ::-1] for x in each]
        arrays = [*carried, *fixed, *before, *moving]
        found.lost.append(self.kernels[1](arrays, outputs, count, every))


def _again(x: Array, count: int) -> Array:
    """Return rows as if they had an axis of steps: each step overwrites the one before."""
    shape, strides = (x.shape[0], count, x.shape[1]), (x.strides[0], 0, x.strides[1])
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def _rows(x: Array, lead: Shape, core: Shape) -> Array:
    """Return an array with one axis of rows, without a copy where all rows are the same."""
    shared = math.prod(x.shape[: x.ndim - len(core)]) == 1
    wide = np.ascontiguousarray(x.reshape(core) if shared else np.broadcast_to(x, (*lead, *core)))
    if shared:
        return np.broadcast_to(wide, (math.prod(lead), *core))
    return wide.reshape((-1, *core))


def tangent(model: Model, q: Array, by_q: Array) -> Array:
    """Return derivatives along the motion subspaces, of those by the coordinates."""
    if len(model.coordinates.additive) == model.nq:
        return by_q

    def along(x: Sequence[Any], v: Sequence[Any], weights: Sequence[Any]) -> Any:
        rate = scalar_functions.position_rate(model, model.tree, x, v)
        return sum((a * b for a, b in zip(rate, weights, strict=True)), 0.0)

    sizes, key = [model.nq, model.nv, model.nq], ("tangent", model.digest)
    kernel = gradient_kernel(along, sizes, [1], name="tangent", key=key)
    result: Array = kernel.ufunc(q, np.zeros(model.nv), by_q)[1]
    return result
