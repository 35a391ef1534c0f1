"""`sf.cuda_rollout`: many trajectories on one of Nvidia's cards, the loop over time inside."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numpy.typing import ArrayLike, NDArray

from sixfold.bridges.arguments import CHOICES
from sixfold.choices import (
    Callback,
    FixedStep,
    ForceFrame,
    ForceInput,
    Precision,
    Stabilization,
)
from sixfold.contact import Ground
from sixfold.devices.cuda.arrays import (
    CudaArray,
    host_copy,
    is_on_card,
    refuse_view,
    stream_of,
    view,
    working_stream,
)
from sixfold.devices.cuda.driver import Device, Kernel, card_of
from sixfold.devices.trajectories import GIVEN, launch_of, step_kernel
from sixfold.errors import NotApplicableError, NumberError
from sixfold.evaluate import model_checked, ptx_scan_source
from sixfold.model import Model
from sixfold.simulation.joint_stops import JointStops
from sixfold.simulation.rollout import Asked, asked_for, warn_not_finite

NAME = "cuda_rollout"
_ENTRY = "sixfold_rollout"
MAX_KERNELS = 32
"""Kernels that are kept loaded."""


def cuda_rollout(
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    integrator: FixedStep = "semi_implicit_euler",
    every: int = 1,
    control: Callback | None = None,
    parameters: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    hold: bool = False,
    compiled: bool | None = None,
    f_ext: ForceInput | None = None,
    f_ext_frame: ForceFrame = "world",
    limits: bool | JointStops | None = None,
    contacts: Ground | None = None,
    inertias: ArrayLike | None = None,
    stabilize: Stabilization | None = None,
    dtype: Precision = "float64",
    device: int = 0,
    stream: Any = None,
) -> tuple[Any, ...]:
    """Return the states that many starts pass through, computed on one of Nvidia's cards.

    The steps are those of `rollout`, with the same bits; each trajectory is a thread, and its state
    stays with the thread until the end.  Nvidia's driver is all it needs.

    Args:
        model: the robot.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        every: keep the state after every so many steps.
        control: function of (t, q, v), or of (t, q, v, parameters), that returns joint forces to be
            added to tau.  It is part of the card's program, so it has to be one that `rollout`
            compiles.
        parameters: numbers for the controller, shape (..., n): gains, targets...
        x0: states of the controller itself at the start, shape (..., nx), as in `rollout`.
        hold: evaluate the controller once at the start of each step.
        compiled: True says that your functions remember nothing between calls.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)` makes joint limits push back; off when left out.
        contacts: the ground and what may touch it, as in `rollout`.
        inertias: inertial parameters in place of the model's own, shape (..., nb, 10).
        stabilize: what keeps the constraints of a model, as in `simulate`.
        dtype: precision of steps and results, "float64" or "float32".
        device: number of the card, of compute capability 8.0 or more.
        stream: a stream of cupy or torch, or its handle, on which to work with arrays on the card.
            That of the first array which names one, else the default stream, if left out.

    Returns:
        q, shape (..., steps // every, nq), and v, shape (..., steps // every, nv); with x0 also x,
        shape (..., steps // every, nx).  NumPy arrays; where an argument is an array in the card's
        memory, of any library that `cuda_function` takes, each is a `CudaArray` that stays there,
        and the call does not wait for the steps.  Arguments on the card are read by the host, which
        checks them.  Where NumPy arrays are returned, one warning names time and joint of a
        trajectory that becomes infinite or NaN.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if a function of yours cannot be compiled, an option has no effect,
            there is no driver, or the card is too old.
        SingularModelError: if some joint has no inertia behind it.
        DeviceError, TooLargeError: if the driver reports an error, or the card has no memory left.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q0, v0 = sf.random_state(arm, 10_000, seed=1)
        >>> q, v = sf.cuda_rollout(arm, q0, v0, dt=1e-3, steps=1000, every=100)
        >>> q.shape
        (10000, 10, 6)
    """
    model_checked(NAME, model)
    given = (q0, v0, tau, parameters, x0, f_ext, inertias)
    there = [x for x in given if is_on_card(x)]
    wanted = stream_of(NAME, stream)
    if wanted is not None and not there:
        where = "arrays in host memory with stream=, which has no effect there"
        raise NotApplicableError(NAME, where, "leave it out, or pass device arrays")
    handle = working_stream(NAME, wanted, there)
    asked = asked_for(
        NAME,
        model,
        [_on_host(name, x, device, handle) for name, x in zip(GIVEN, given, strict=True)],
        dt=dt,
        steps=steps,
        integrator=integrator,
        every=every,
        control=control,
        hold=hold,
        compiled=compiled,
        f_ext_frame=f_ext_frame,
        limits=limits,
        contacts=contacts,
        stabilize=stabilize,
        dtype=dtype,
    )
    results = _run(card_of(device, NAME), asked, handle)
    if there:
        return results
    found = tuple(x.get() for x in results)
    warn_not_finite(NAME, model, found[0], found[1], asked.dt * asked.every)
    return found


def _on_host(name: str, x: Any, device: int, stream: int) -> Any:
    """Return an argument in host memory; one on the card is read on a stream."""
    if not is_on_card(x):
        return x
    card, found = card_of(device, NAME), view(NAME, name, x, stream)
    try:
        where = f"{NAME}: argument '{name}'"
        if found.dtype not in CHOICES:
            fix = "convert the array to one of them"
            raise NumberError(where, " or ".join(CHOICES), found.dtype, fix)
        refuse_view(where, found, card)
        if found.stream is not None:
            with card.current():
                card.wait(stream, found.stream)
        return host_copy(card, found.pointer, found.shape, found.dtype, stream)
    finally:
        if found.release is not None:
            found.release()


def _run(card: Device, asked: Asked, stream: int) -> tuple[CudaArray, ...]:
    """Run all steps of all trajectories on a stream; return arrays on the card."""
    kernel = step_kernel(asked)
    work = launch_of(kernel, asked)
    results = [CudaArray(card, shape, work.dtype, stream) for shape in work.results]
    returned = tuple(results[: work.returned])
    if work.arrays:
        placed = [_placed(card, x, stream) for x in work.arrays]
        code = _loaded(card, kernel.texts, kernel.scan, work.shared)
        with card.current():
            code.launch([x.pointer for x in (*placed, *results)], work.counts, stream)
        for x in returned:
            x.keep([*placed, *results[work.returned :]])
    return returned


def _placed(card: Device, host: NDArray[Any], stream: int) -> CudaArray:
    found = CudaArray(card, host.shape, str(host.dtype), stream)
    found.put(host)
    return found


@lru_cache(maxsize=MAX_KERNELS)
def _loaded(card: Device, texts: tuple[str, ...], scan: Any, shared: tuple[bool, ...]) -> Kernel:
    """Return the kernel of a step on a card; equal steps have equal texts."""
    return card.load(ptx_scan_source(texts, scan, shared, _ENTRY), _ENTRY)
