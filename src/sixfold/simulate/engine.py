"""How a system is advanced: one compiled step, or the method on arrays, step by step.

A state is one row (q, v, lost): `lost` holds what rounding took from earlier sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.evaluate.arrays import Array, Shape
from sixfold.evaluate.kernels import user_kernel
from sixfold.evaluate.singular import unproved_joints
from sixfold.model import Model
from sixfold.simulate.callbacks import Callback, compiled
from sixfold.simulate.integrators import Method
from sixfold.simulate.numeric import Numeric, RowByRow, joined, split
from sixfold.simulate.stops import Stop
from sixfold.simulate.system import System, system_of

STRAIGHT = 20_000
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

    @property
    def rest(self) -> tuple[Array, ...]:
        """The parameters, if the controller takes any."""
        return () if self.parameters is None else (self.parameters,)


@dataclass(frozen=True)
class Engine:
    """How to advance a row of states, and how to look at the forces and accelerations there."""

    advance: Callable[[float, float, Array], Array]
    """(t, h, x) -> x after a step of length h; x is (..., size)."""
    observe: Callable[[Any, Array, Array], tuple[Array, Array]]
    """(t, q, v) -> joint forces and accelerations; t of the leading shape, or one number."""
    system: Numeric
    size: int
    live: bool = False
    """Forces must be looked at as they occur: the controller may remember things."""
    notes: tuple[str, ...] = ()


def engine_of(setup: Setup) -> Engine:
    """Return the fastest way to advance a system that does what was asked."""
    model = setup.model
    notes: list[str] = []
    kernels: dict[str, Any] = {}
    for callback in (setup.control, setup.force):
        if callback is not None and setup.backend != "numpy":
            kernels[callback.name], reason = compiled(callback, model)
            if kernels[callback.name] is None:
                notes.append(f"{callback.name} runs as Python, step by step: {reason}")
    by_hand = len(notes) > 0 or setup.backend == "numpy"
    live = by_hand and not (setup.control is None and setup.force is None)
    numeric = _numeric(setup, kernels)
    short = setup.stages * PER_FREEDOM * model.nv <= STRAIGHT
    if model.nv and short and not by_hand and not unproved_joints(model):
        advance = _compiled_step(setup)
    else:
        advance = _plain_step(setup, numeric)

    def observe(t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        tau = numeric.forces(t, q, v)
        return tau, numeric.accelerations(t, q, v, tau)

    return Engine(advance, observe, numeric, _size(model, numeric), live, tuple(notes))


def _size(model: Model, system: System) -> int:
    return model.nq + 2 * model.nv + len(system.additive)


def _numeric(setup: Setup, kernels: dict[str, Any]) -> Numeric:
    """Return the system on arrays, with kernels for the callbacks that have one."""
    rows: dict[str, Any] = {}
    for callback, rest in ((setup.control, setup.rest), (setup.force, ())):
        if callback is None:
            continue
        kernel = kernels.get(callback.name)
        rows[callback.name] = RowByRow(callback, rest) if kernel is None else _bound(kernel, rest)
    if setup.f_ext is not None:
        rows["f_ext"] = lambda *_: setup.f_ext
    return Numeric(
        setup.model,
        f_ext_frame=setup.f_ext_frame,
        stops=setup.stops,
        rows=rows.get("control"),
        wrenches=rows.get("f_ext"),
        backend=setup.backend,
    )


def _bound(kernel: Any, rest: tuple[Array, ...]) -> Callable[..., Array]:
    ufunc = kernel.ufunc
    return lambda t, q, v: ufunc(t, q, v, *rest)


def _plain_step(setup: Setup, system: Numeric) -> Callable[[float, float, Array], Array]:
    """Return the method on arrays, its arithmetic in NumPy."""
    nq, nv = setup.model.nq, setup.model.nv

    def advance(t: float, h: float, x: Array) -> Array:
        q, v, lost = (split(part) for part in np.split(x, (nq, nq + nv), axis=-1))
        held = system.held(t, q, v) if setup.hold else system
        after = setup.method.compensated(held, t, q, v, h, lost)
        return joined([number for part in after for number in part])

    return advance


_READY: dict[tuple[Any, ...], Any] = {}


def _compiled_step(setup: Setup) -> Callable[[float, float, Array], Array]:
    """Return one step as machine code."""
    extra: list[Array] = [*setup.rest] + ([] if setup.f_ext is None else [setup.f_ext])
    key = _key(setup)
    kernel = _READY.get(key) if key is not None else None
    if kernel is None:
        kernel = _step_kernel(setup)
        if key is not None:
            _READY[key] = kernel
    ufunc = kernel.ufunc
    if not extra:
        return ufunc  # type: ignore[no-any-return]
    return lambda t, h, x: ufunc(t, h, x, *extra)


def _key(setup: Setup) -> tuple[Any, ...] | None:
    """Return what identifies a step; None for functions that may change their mind."""
    known: list[Any] = [setup.model, setup.method, setup.f_ext_frame, setup.stops, setup.hold]
    known.append(None if setup.f_ext is None else "f_ext")
    for callback in (setup.control, setup.force):
        function = None if callback is None else callback.function
        if function is not None and not getattr(function, "frozen_law", False):
            return None
        known.append(function)
    known.append(None if setup.parameters is None else setup.parameters.shape[-1])
    return tuple(known)


def _step_kernel(setup: Setup) -> Any:
    model, n = setup.model, _size(setup.model, System(setup.model))
    nq, nv = model.nq, model.nv
    shapes: list[Shape] = [(), (), (n,)]
    shapes += [] if setup.parameters is None else [setup.parameters.shape[-1:]]
    shapes += [] if setup.f_ext is None else [(model.nb, 6)]

    def step(t: Any, h: Any, x: Any, *extra: Any) -> list[Any]:
        given = list(extra)
        parameters = given.pop(0) if setup.parameters is not None else None
        system = system_of(
            model,
            setup.control,
            parameters=parameters,
            f_ext=given[0] if given else setup.force,
            f_ext_frame=setup.f_ext_frame,
            stops=setup.stops,
        )
        now, row = t[()], list(x)
        q, v = row[:nq], row[nq : nq + nv]
        if setup.hold:
            system = system.held(now, q, v)
        after = setup.method.compensated(system, now, q, v, h[()], row[nq + nv :])
        return [number for part in after for number in part]

    return user_kernel(step, "step", shapes, "float64")
