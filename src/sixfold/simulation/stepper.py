"""How a motion is advanced: by one kernel with the loop inside, or step by step on arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.evaluate import KERNELS, run_scan, scan_kernel, user_kernel
from sixfold.simulation.callbacks.callbacks import Callback
from sixfold.simulation.callbacks.memory import Memory
from sixfold.simulation.callbacks.tracing import Tracing, digests
from sixfold.simulation.numeric import Numeric, RowByRow, joined, split
from sixfold.simulation.setup import Setup

MAX_STEP_OPERATIONS = 60_000
"""Largest estimate of operations in a step that is compiled for one simulation."""

OPERATIONS_PER_FREEDOM = 300
"""Estimated operations of forward dynamics for each freedom."""

STAGES = {"semi_implicit_euler": 1, "rk4": 4, "lie_rk4": 4, "midpoint": 7}
"""Evaluations of forward dynamics in a step."""

OBSERVED_STATES = 4096
"""States whose contacts are observed at once."""


class DisturbedError(Exception):
    """A compiled callback no longer does what it was traced to do."""


Advance = Callable[..., Array]
"""(t, h, state[, tau]) -> the state after a step of length h; states are (..., size)."""


@dataclass(frozen=True)
class StepRunner:
    """How to advance states, and how to observe the forces and accelerations there."""

    setup: Setup
    dt: float
    advance: Advance
    kernel: Any
    """Many steps in one call, a ScanKernel; None where steps are taken one by one."""
    system: Numeric
    kernels: dict[str, Any]
    """Kernels of callbacks by themselves, by name."""
    live: bool = False
    """Forces must be recorded as they occur: a callback may keep state between calls."""
    notes: tuple[str, ...] = ()
    """Why callbacks run as Python."""
    restart: Callable[[], None] = lambda: None
    """To be called where the state jumps."""
    read: tuple[Memory, ...] = ()
    """What compiled callbacks can reach, as it was when they were traced."""

    def check_undisturbed(self) -> None:
        """Raise where a function that ran as Python has changed what compiled callbacks read."""
        if any(memory.changed() for memory in self.read):
            raise DisturbedError

    def many(self, times: Array, state: Array, every: int) -> Array:
        """Return the states after every so many of the steps that begin at these times.

        Args:
            times: start of each step, shape (steps,).
            state: shape (..., size).
            every: how many steps from one result to the next.
        """
        parts, lead = self.setup.parts(state), state.shape[:-1]
        arrays = self.setup.arrays(parts, self.dt, times[:, None])
        found, _ = run_scan(self.kernel, arrays, lead, len(times), every)
        return np.concatenate(found, -1)

    def row(self, lead: Shape, index: Shape) -> Numeric:
        """Return the system of one trajectory of a batch, with its own parameters and forces."""
        if not lead:
            return self.system
        return _numeric(self.setup.of_row(lead, index), self.kernels)

    def look(self, t: float, state: Array) -> tuple[Array, ...]:
        """Return joint forces and accelerations at one time, and contacts if there are some."""
        return self._observed(self.system, t, state)

    def observe(self, t: Array, states: Array) -> tuple[Array, ...]:
        """Return joint forces and accelerations at all times, states being (..., len(t), size).

        With contacts comes what `flat_contacts` returns.
        """
        return self._observed(_numeric(self.setup, self.kernels, along=True), t, states)

    def _observed(self, system: Numeric, t: Any, states: Array) -> tuple[Array, ...]:
        q, *_ = self.setup.parts(states)
        nq, nv, n = self.setup.model.nq, self.setup.model.nv, self.setup.states
        v = states[..., nq : nq + nv + n]
        tau = system.forces(t, q, v)[..., :nv]
        if system.contacts is None:
            return tau, system.accelerations(t, q, v[..., :nv], tau)
        tau = np.broadcast_to(tau, v[..., :nv].shape)
        if np.ndim(t) == 0:
            return tau, *self._touched(system, t, q, v[..., :nv], tau)
        # a few times at once: thousands of intermediate numbers are held for each state
        few = max(1, OBSERVED_STATES * len(t) // max(1, q[..., 0].size))
        found = [
            self._touched(system, t[k], *(x[..., k, :] for x in (q, v[..., :nv], tau)))
            for k in (slice(start, start + few) for start in range(0, len(t), few))
        ]
        return tau, *(np.concatenate(each, axis=-2) for each in zip(*found, strict=True))

    def _touched(
        self, system: Numeric, t: Any, q: Array, v: Array, tau: Array
    ) -> tuple[Array, Array]:
        """Return accelerations under contact, and the contacts."""
        found = system.response(t, q, v, tau, self.dt)
        return joined(found.a, q.shape[:-1]), flat_contacts(found, q.shape[:-1])

    def advancing(self, advance: Advance, restart: Callable[[], None]) -> StepRunner:
        """Return the stepper with another way to advance, and to begin anew after a jump."""
        return replace(self, advance=advance, kernel=None, restart=restart)


def stepper_of(
    setup: Setup, dt: float, *, fixed: bool = True, single: bool = False, record: bool = True
) -> StepRunner:
    """Return the fastest way to advance a motion that does what was asked.

    Args:
        setup: what is to be integrated.
        dt: the length of most steps.
        fixed: steps of fixed length will be taken.
        single: each step is wanted by itself.
        record: forces and accelerations will be observed; without them a callback is compiled
            into the step only, and the step however large it is.
    """
    traced = _tracings(setup)
    native = fixed and setup.backend != "numpy"
    kernel = None
    if record or len(traced) > 1:
        kernels = {name: each.kernel() for name, each in traced.items()}
        native = native and setup.model.nv > 0 and (not record or _is_small(setup))
    else:
        kernels = {}
    advance: Advance | None = None
    if native and not any(each.reason for each in traced.values()):
        make = _compiled_step if single else _steps_kernel
        made = _with_all(list(traced.values()), lambda: make(setup, digests(traced.values())))
        advance, kernel = (made, None) if single else (None, made)
    if kernel is None and not kernels:
        kernels = {name: each.kernel() for name, each in traced.items()}
    how = "step by step" if record else "row by row"
    notes = [
        f"{name} runs as Python, {how}: {each.reason}"
        for name, each in traced.items()
        if each.reason
    ]
    calls = not (setup.control is None and setup.force is None)
    live = calls and (len(notes) > 0 or setup.backend == "numpy")
    numeric = _numeric(setup, kernels)
    if advance is None:
        advance = _plain_step(setup, numeric)
    read = tuple(each.reach.memory() for each in traced.values() if not each.reason)
    return StepRunner(setup, dt, advance, kernel, numeric, kernels, live, tuple(notes), read=read)


def _with_all(tracings: list[Tracing], make: Callable[[], Any]) -> Any:
    """Return what is made by calling all callbacks on symbols."""
    for tracing in tracings:
        make = partial(tracing.attempt, make)
    return make()


def _is_small(setup: Setup) -> bool:
    operations = STAGES[setup.integrator] * OPERATIONS_PER_FREEDOM * setup.model.nv
    return operations <= MAX_STEP_OPERATIONS


def _tracings(setup: Setup) -> dict[str, Tracing]:
    """Return how the callbacks may be compiled, by name; none where NumPy is asked for."""
    callbacks = [each for each in (setup.control, setup.force) if each is not None]
    if setup.backend == "numpy":
        return {}
    result = {}
    for callback in callbacks:
        others = [other.function for other in callbacks if other is not callback]
        each, compiled = (*others, *setup.others), False if setup.disturbed else setup.compiled
        result[callback.name] = tracing = Tracing(callback, setup.model, compiled, each)
        if setup.disturbed:
            tracing.reason = "another function of this run changes what it reads"
    for tracing in result.values():
        if setup.compiled is None and tracing.disturbed_by(result.values()):
            tracing.reason = "another function of this run may change what it reads"
    return result


def flat_contacts(found: Any, lead: Shape) -> Array:
    """Return force, point, normal and gap of each contact, ten numbers each, (*lead, 10 nc)."""
    each = zip(found.forces, found.points, found.normals, found.gaps, strict=True)
    return joined([x for *vectors, gap in each for x in (*chain(*vectors), gap)], lead)


def _numeric(setup: Setup, kernels: dict[str, Any], *, along: bool = False) -> Numeric:
    """Return the system on arrays, with kernels for the callbacks that have one.

    Args:
        setup: what is to be integrated.
        kernels: of the callbacks, by name.
        along: states have a time axis that constant arrays lack.
    """

    def constant(array: Array, axes: int) -> Array:
        return np.expand_dims(array, array.ndim - axes) if along else array

    rest = () if setup.parameters is None else (constant(setup.parameters, 1),)
    rows: dict[str, Any] = {}
    for callback, given in ((setup.control, rest), (setup.force, ())):
        if callback is None:
            continue
        kernel = kernels.get(callback.name)
        rows[callback.name] = (
            RowByRow(callback, given) if kernel is None else _bound(kernel, callback, given)
        )
    if setup.f_ext is not None:
        wrench = constant(setup.f_ext, 2)
        rows["f_ext"] = lambda *_: wrench
    return Numeric(
        setup.model,
        f_ext_frame=setup.f_ext_frame,
        stops=setup.stops,
        gains=() if setup.gains is None else tuple(split(constant(setup.gains, 1))),
        rows=rows.get("control"),
        wrenches=rows.get("f_ext"),
        backend=setup.backend,
        states=setup.states,
        method=setup.dynamics,
        inertias=None if setup.inertias is None else constant(setup.inertias, 2),
        stabilization=setup.stabilization.rate,
        contacts=setup.contacts,
    )


def _bound(kernel: Any, callback: Callback, rest: tuple[Array, ...]) -> Callable[..., Array]:
    """Return a kernel as a function of (t, q, v), the controller's states after v."""
    ufunc, n = kernel.ufunc, callback.states
    if not n:
        return lambda t, q, v: ufunc(t, q, v, *rest)
    return lambda t, q, v: ufunc(t, q, v[..., :-n], v[..., -n:], *rest)


def _plain_step(setup: Setup, system: Numeric) -> Advance:
    """Return a step whose arithmetic is NumPy's."""

    def advance(t: float, h: float, state: Array, tau: Array | None = None) -> Array:
        push = setup.tau if tau is None and not setup.tau_each else tau
        return joined(setup.after(system, t, h, split(state), push))

    return advance


def _compiled_step(setup: Setup, known: tuple[tuple[str, str], ...]) -> Advance:
    """Return one step as a gufunc, given the digests of its callbacks."""
    rest = list(setup.constants.values())
    shapes: list[Shape] = [(), (), (setup.size,), *((x.shape[-1],) for x in rest)]

    def step(t: Any, h: Any, state: Any, *others: Any) -> list[Any]:
        return setup.step(*setup.parts(list(state)), [h[()]], *map(list, others), [t[()]])

    key = ("one step", setup.key(known))
    found = KERNELS.find(key)
    kernel = user_kernel(step, "step", shapes, "float64") if found is None else found[0]
    if found is None:
        KERNELS.keep(key, kernel)
    ufunc = kernel.ufunc
    return lambda t, h, state: ufunc(t, h, state, *rest)


def _steps_kernel(setup: Setup, known: tuple[tuple[str, str], ...]) -> Any:
    """Return many steps as one kernel with the loop inside, or None."""
    name = f"{'simulation' if setup.caller == 'simulate' else setup.caller} of '{setup.model.name}'"
    sizes = (setup.carried, setup.fixed, setup.each)
    return scan_kernel(setup.step, *sizes, name=name, key=setup.key(known), dtype=setup.dtype)
