"""How a system is advanced: one compiled step, or the method on arrays, step by step.

A state is one row (q, v, x, lost): x are the controller's own states, and `lost` holds what
rounding took from earlier sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixfold.evaluate.arrays import Array, Shape
from sixfold.evaluate.kernels import user_kernel
from sixfold.evaluate.scan import run_scan, scan_kernel
from sixfold.model import Model
from sixfold.simulate.callbacks import Callback, Tracing, declared
from sixfold.simulate.integrators import Method
from sixfold.simulate.numeric import Numeric, RowByRow, joined, split
from sixfold.simulate.stops import Stop
from sixfold.simulate.system import System, as_array, system_of

STRAIGHT = 60_000
"""Estimated operations of a step up to which it is compiled as one program."""

PER_FREEDOM = 300
"""Estimated operations of forward dynamics for each freedom."""

STAGES = {"semi_implicit_euler": 1, "rk4": 4, "lie_rk4": 4, "midpoint": 7}


@dataclass(frozen=True)
class Setup:
    """What is to be simulated, checked."""

    model: Model
    method: Method
    stages: int
    control: Callback | None = None
    force: Callback | None = None
    parameters: Array | None = None
    f_ext: Array | None = None
    """Constant external forces, shape (..., nb, 6)."""
    f_ext_frame: str = "world"
    stops: tuple[Stop, ...] = ()
    hold: bool = False
    backend: str | None = None
    dynamics: str | None = None
    """Method of forward dynamics."""
    compiled: bool | None = None
    """Whether to insist on compiled callbacks, or on Python."""
    others: tuple[Callable[..., Any], ...] = ()
    """Further functions of the user's own that run meanwhile."""

    @property
    def states(self) -> int:
        """How many states the controller has."""
        return 0 if self.control is None else self.control.states

    @property
    def size(self) -> int:
        """Numbers in a row."""
        model = self.model
        return model.nq + 2 * (model.nv + self.states) + len(System(model).additive)

    @property
    def rest(self) -> tuple[Array, ...]:
        """The parameters, if the controller takes any."""
        return () if self.parameters is None else (self.parameters,)


@dataclass(frozen=True)
class Engine:
    """How to advance a row of states, and how to look at the forces and accelerations there."""

    advance: Callable[[float, float, Array], Array]
    """(t, h, x) -> x after a step of length h; x is (..., size)."""
    many: Callable[[Array, Array, int], Array] | None
    """(times, x, every) -> the states after every so many of the steps that begin at these times,
    shape (..., len(times) // every, size)."""
    system: Numeric
    along: Numeric
    """The same for states with a time axis after the leading ones."""
    row: Callable[[Shape, Shape], Numeric]
    """(lead, index) -> the system of one start of a batch, with its own parameters and forces."""
    size: int
    live: bool = False
    """Forces must be looked at as they occur: the controller may remember things."""
    notes: tuple[str, ...] = ()

    def look(self, t: float, x: Array) -> tuple[Array, Array]:
        """Return joint forces and accelerations at one time."""
        nq, n = self.system.model.nq, self.system.model.nv + self.system.states
        return _observed(self.system, t, x[..., :nq], x[..., nq : nq + n])

    def survey(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return joint forces and accelerations at all times, q being (..., len(t), nq).

        The states of the controller follow the velocities in v.
        """
        return _observed(self.along, t, q, v)

    def advancing(self, advance: Callable[[float, float, Array], Array]) -> Engine:
        """Return the engine with another way to advance."""
        return replace(self, advance=advance, many=None)


def engine_of(setup: Setup, dt: float, *, fixed: bool = True, single: bool = False) -> Engine:
    """Return the fastest way to advance a system that does what was asked.

    Args:
        setup: what is to be simulated.
        dt: the length of most steps.
        fixed: steps of fixed length will be taken.
        single: each step is wanted by itself.
    """
    model = setup.model
    traced = _tracings(setup)
    kernels = {name: each.kernel(model) for name, each in traced.items()}
    notes = [
        f"{name} runs as Python, step by step: {each.reason}"
        for name, each in traced.items()
        if each.reason
    ]
    by_hand = len(notes) > 0 or setup.backend == "numpy"
    live = by_hand and not (setup.control is None and setup.force is None)
    numeric = _numeric(setup, kernels)
    short = setup.stages * PER_FREEDOM * model.nv <= STRAIGHT
    native = fixed and short and model.nv > 0 and not by_hand
    many, advance = None, _plain_step(setup, numeric)
    kept = [each.found.memory() for each in traced.values()]
    if native and single:
        advance = _compiled_step(setup)
    elif native:
        many = _many_steps(setup, dt)
    for memory in kept:
        memory.restore()
    along = _numeric(setup, kernels, along=True)

    def row(lead: Shape, index: Shape) -> Numeric:
        return _numeric(_of_row(setup, lead, index), kernels) if lead else numeric

    return Engine(advance, many, numeric, along, row, setup.size, live, tuple(notes))


def _of_row(setup: Setup, lead: Shape, index: Shape) -> Setup:
    """Return what is to be simulated for one start of a batch."""
    own: dict[str, Any] = {}
    for name, axes in (("parameters", 1), ("f_ext", 2)):
        array = getattr(setup, name)
        if array is not None:
            core = array.shape[array.ndim - axes :]
            own[name] = np.broadcast_to(array, (*lead, *core))[index]
    return replace(setup, **own)


def _tracings(setup: Setup) -> dict[str, Tracing]:
    """Return how the callbacks may be compiled, by name; none where NumPy is asked for."""
    callbacks = [each for each in (setup.control, setup.force) if each is not None]
    if setup.backend == "numpy":
        return {}
    result = {}
    for callback in callbacks:
        others = [other.function for other in callbacks if other is not callback]
        tracing = Tracing(callback, setup.compiled, (*others, *setup.others))
        result[callback.name] = tracing
    return result


def _observed(system: Numeric, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
    nv = system.model.nv
    tau = system.forces(t, q, v)[..., :nv]
    return tau, system.accelerations(t, q, v[..., :nv], tau)


def _numeric(setup: Setup, kernels: dict[str, Any], *, along: bool = False) -> Numeric:
    """Return the system on arrays, with kernels for the callbacks that have one.

    Args:
        setup: what is to be simulated.
        kernels: of the callbacks, by name.
        along: states have a time axis that parameters and external forces lack.
    """
    rows: dict[str, Any] = {}
    given = tuple(x[..., None, :] for x in setup.rest) if along else setup.rest
    for callback, rest in ((setup.control, given), (setup.force, ())):
        if callback is None:
            continue
        kernel = kernels.get(callback.name)
        rows[callback.name] = (
            RowByRow(callback, rest) if kernel is None else _bound(kernel, callback, rest)
        )
    if setup.f_ext is not None:
        wrench = setup.f_ext[..., None, :, :] if along else setup.f_ext
        rows["f_ext"] = lambda *_: wrench
    return Numeric(
        setup.model,
        f_ext_frame=setup.f_ext_frame,
        stops=setup.stops,
        rows=rows.get("control"),
        wrenches=rows.get("f_ext"),
        backend=setup.backend,
        states=setup.states,
        method=setup.dynamics,
    )


def _bound(kernel: Any, callback: Callback, rest: tuple[Array, ...]) -> Callable[..., Array]:
    """Return a kernel as a function of (t, q, v), the controller's states after v."""
    ufunc, n = kernel.ufunc, callback.states
    if not n:
        return lambda t, q, v: ufunc(t, q, v, *rest)
    return lambda t, q, v: ufunc(t, q, v[..., :-n], v[..., -n:], *rest)


def _plain_step(setup: Setup, system: Numeric) -> Callable[[float, float, Array], Array]:
    """Return the method on arrays, its arithmetic in NumPy."""

    def advance(t: float, h: float, x: Array) -> Array:
        return joined(_after(setup, system, t, h, split(x)))

    return advance


def _after(setup: Setup, system: System, t: Any, h: Any, x: list[Any]) -> list[Any]:
    """Return a row of numbers after a step of length h."""
    nq, n, nx = setup.model.nq, setup.model.nv + setup.states, setup.states
    q, v, lost = x[:nq], x[nq : nq + n], x[nq + n :]
    if not setup.hold:
        after = setup.method.compensated(system, t, q, v, h, lost)
        return [number for part in after for number in part]
    held, following = system.held(t, q, v)
    one, two = n - nx, len(lost) - nx
    moved, faster, left = setup.method.compensated(held, t, q, v[:one], h, lost[:two])
    return [*moved, *faster, *following, *left, *[0.0] * nx]


def _compiled_step(setup: Setup) -> Callable[[float, float, Array], Array]:
    """Return one step as a gufunc."""
    n = setup.size
    rest = _rest(setup)
    shapes: list[Shape] = [(), (), (n,), *((x.shape[-1],) for x in rest)]
    take = _step(setup)

    def step(t: Any, h: Any, x: Any, *others: Any) -> list[Any]:
        return take(list(x), [h[()]], *map(list, others), [t[()]])

    ufunc = user_kernel(step, "step", shapes, "float64").ufunc
    return lambda t, h, x: ufunc(t, h, x, *rest)


def _many_steps(setup: Setup, dt: float) -> Callable[[Array, Array, int], Array] | None:
    """Return many steps as one kernel with the loop inside."""
    rest = _rest(setup)
    name = f"simulation of '{setup.model.name}'"
    fixed = [1, *(x.shape[-1] for x in rest)]
    kernel = scan_kernel(_step(setup), [setup.size], fixed, [1], name=name, key=_key(setup))
    if kernel is None:
        return None

    def many(t: Array, x: Array, every: int) -> Array:
        arrays = [x, np.array([dt]), *rest, t[:, None]]
        (states,), _ = run_scan(kernel, arrays, x.shape[:-1], len(t), every)
        return states

    return many


def _rest(setup: Setup) -> list[Array]:
    """Return the arrays that a step takes besides the state: parameters, external forces."""
    forces = setup.f_ext
    flat = [] if forces is None else [forces.reshape((*forces.shape[:-2], -1))]
    return [*setup.rest, *flat]


def _step(setup: Setup) -> Callable[..., list[Any]]:
    """Return a step on flat lists: state, dt, then what there is of the rest, t."""

    def step(x: Any, h: Any, *lists: Any) -> list[Any]:
        *given, t = lists
        parameters = as_array(given.pop(0)) if setup.parameters is not None else None
        system = system_of(
            setup.model,
            setup.control,
            parameters=parameters,
            f_ext=as_array(given[0]) if given else setup.force,
            f_ext_frame=setup.f_ext_frame,
            stops=setup.stops,
            method=setup.dynamics,
        )
        return _after(setup, system, t[0], h[0], x)

    return step


def _key(setup: Setup) -> tuple[Any, ...] | None:
    """Return what identifies a step; None if a callback may be another one at the next call."""
    known: list[Any] = [
        setup.model.digest,
        setup.method,
        setup.f_ext_frame,
        setup.stops,
        setup.hold,
        setup.dynamics,
        setup.states,
    ]
    known.append(None if setup.f_ext is None else "f_ext")
    for callback in (setup.control, setup.force):
        function = None if callback is None else callback.function
        if function is not None and not declared(function, "frozen_law", False):
            return None
        known.append(function)
    known.append(None if setup.parameters is None else setup.parameters.shape[-1])
    return ("simulate", *known)
