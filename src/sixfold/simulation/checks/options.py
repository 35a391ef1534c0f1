"""Options of `simulate` and `rollout`: each is one of its choices, and none is without effect."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_args

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.choices import StepBackend
from sixfold.contact import scene_of
from sixfold.dynamics.contact.scene import Scene
from sixfold.errors import NotApplicableError, NumberError, OptionError
from sixfold.evaluate import (
    Argument,
    in_order,
    names_along,
    refuse_masses_below_zero,
    scalar_functions,
)
from sixfold.evaluate.quantity import FORCE_FRAMES, refuse_method_with_couplings
from sixfold.model import Model
from sixfold.simulation.adaptive import SOLVERS
from sixfold.simulation.callbacks.callbacks import declared
from sixfold.simulation.integrators import INTEGRATORS

ADAPTIVE = "solve_ivp"
CHOICES = (*INTEGRATORS, ADAPTIVE)
METHODS = tuple(scalar_functions.METHODS)
"""Methods of forward dynamics."""
TOLERANCES = {"rtol": 1e-9, "atol": 1e-11}
BACKENDS: tuple[str, ...] = get_args(StepBackend)


def choice(function: str, option: str, choices: Iterable[Any], got: Any) -> None:
    """Refuse anything but one of the choices."""
    if not isinstance(got, (str, bool, type(None))) or got not in tuple(choices):
        raise OptionError(function, option, tuple(choices), got)


def refuse_idle(function: str, option: str, given: bool, where: str, fix: str) -> None:
    """Refuse an option that would have no effect."""
    if given:
        raise NotApplicableError(f"{function}: option '{option}'", where, fix)


def check_shared(
    function: str, model: Model, method: Any, hold: Any, compiled: Any, backend: Any, **has: Any
) -> None:
    """Check what `simulate` and `rollout` have in common.

    Args:
        function: the caller.
        model: the robot.
        method: of forward dynamics.
        hold: whether the controller is evaluated once a step.
        compiled: whether to insist on compiled callbacks, or on Python.
        backend: of the steps.
        has: the controller and what goes with it.
    """
    if isinstance(method, str) and method in SOLVERS:
        fix = f"write solver={method!r}: method is that of forward dynamics"
        raise NotApplicableError(f"{function}: method {method!r}", "forward dynamics", fix)
    choice(function, "method", (None, *METHODS), method)
    choice(function, "hold", (True, False), hold)
    choice(function, "compiled", (None, True, False), compiled)
    choice(function, "backend", (None, *BACKENDS), backend)
    where, fix = "a motion without a controller", "pass control=..., or leave it out"
    for option in ("parameters", "x0"):
        refuse_idle(function, option, has[option] is not None and not has["control"], where, fix)
    refuse_idle(function, "hold", hold and not has["control"], where, fix)
    calls = bool(has["control"]) or callable(has.get("f_ext"))
    refuse_idle(function, "compiled", compiled is not None and not calls, where, fix)
    refuse_idle(
        function,
        "compiled",
        compiled is True and backend == "numpy",
        "backend 'numpy', which runs everything as Python",
        "leave one of the two out",
    )
    refuse_method_with_couplings(function, model, method)


def check_rate(function: str, control: Any, hold: bool, dt: float) -> None:
    """Refuse a controller whose states advance in another way than those of this run."""
    missing = object()
    rate = declared(control, "sample_time", missing)
    if rate is missing or declared(control, "x0") is None:
        return
    if hold and rate is None:
        where = "a controller with a rate dx/dt"
        fix = "leave hold out, or give the controller sample_time=dt"
        raise NotApplicableError(f"{function} with hold=True", where, fix)
    if rate is not None and not (hold and math.isclose(rate, dt, rel_tol=1e-9)):
        where = f"steps of dt = {dt:g} s, {'with' if hold else 'without'} hold=True"
        fix = f"pass dt={rate:g} and hold=True, or another sample_time"
        raise NotApplicableError(f"a controller with sample_time = {rate:g} s", where, fix)


def check_fixed_step(function: str, integrator: Any) -> None:
    """Check the integrator of `rollout`, which takes steps of fixed length."""
    if isinstance(integrator, str) and integrator == ADAPTIVE:
        fix = f"choose one of {', '.join(INTEGRATORS)}, or use sixfold.simulate"
        where = f"{function}, whose steps have the length dt"
        raise NotApplicableError(f"integrator '{ADAPTIVE}'", where, fix)
    choice(function, "integrator", INTEGRATORS, integrator)


def check_no_events(function: str, events: Any) -> None:
    """Refuse events, which only `simulate` finds."""
    where, fix = "a batch whose steps run inside one kernel", "use sixfold.simulate"
    refuse_idle(function, "events", events is not None, where, fix)


def check_steps(
    integrator: Any, solver: Any, hold: Any, compensated: Any, **tolerances: Any
) -> dict[str, Any]:
    """Check the integrator of `simulate` and return the settings of the adaptive one."""
    choice("simulate", "integrator", CHOICES, integrator)
    if compensated is not None:
        choice("simulate", "compensated", (True, False), compensated)
    given = {"solver": solver, **tolerances}
    if integrator != ADAPTIVE:
        where = f"integrator '{integrator}', whose steps have the length dt"
        for option, value in given.items():
            fix = "leave it out, or choose integrator='solve_ivp'"
            refuse_idle("simulate", option, value is not None, where, fix)
        return {}
    fix = "choose an integrator with fixed steps"
    refuse_idle("simulate", "hold", bool(hold), "integrator 'solve_ivp'", fix)
    given_sums = compensated is not None
    refuse_idle("simulate", "compensated", given_sums, "integrator 'solve_ivp'", fix)
    choice("simulate", "solver", (None, *SOLVERS), solver)
    found: dict[str, Any] = {"solver": solver or SOLVERS[0]}
    for name, standard in TOLERANCES.items():
        value = standard if tolerances[name] is None else tolerances[name]
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1
        if not good:
            raise OptionError("simulate", name, "a number between 0 and 1", value)
        found[name] = float(value)
    return found


def check_force_frame(function: str, f_ext: Any, f_ext_frame: Any) -> None:
    """Check the frame of external forces."""
    choice(function, "f_ext_frame", FORCE_FRAMES, f_ext_frame)
    idle = f_ext is None and f_ext_frame != "world"
    where = "a motion without external forces"
    refuse_idle(function, "f_ext_frame", idle, where, "pass f_ext=..., or leave it out")


EULER: Final = "semi_implicit_euler"


def touching(
    function: str, model: Model, contacts: Any, integrator: str, h: float, **idle: bool
) -> Scene | None:
    """Return what may touch; refuse options that contact leaves without effect.

    A time constant below two steps is raised to them, as MuJoCo does.

    Args:
        function: the caller.
        model: the robot.
        contacts: the option.
        integrator: by name.
        h: length of a step [s].
        idle: options without effect, and whether they are given.
    """
    if contacts is None:
        return None
    scene = scene_of(function, model, contacts).with_step(h)
    if integrator != EULER:
        where = "contacts, whose forces are those of a step"
        raise NotApplicableError(f"{function}: integrator '{integrator}'", where, f"use '{EULER}'")
    where = "contacts, whose step is one of its own"
    for option, given in idle.items():
        refuse_idle(function, option, given, where, "leave it out")
    return scene


def wrenches(model: Model, f_ext: Any) -> Argument | None:
    """Return constant external forces as an argument; None for a function, or for none."""
    if f_ext is None or callable(f_ext):
        return None
    labels = (names_along(model, "nb"), names_along(model, "6"))
    meaning = "(nb, 6): one force (n; f) for each body"
    return Argument(f_ext, (model.nb, 6), meaning, labels=labels)


def vector(function: str, name: str, given: Any, meaning: str) -> Argument | None:
    """Return an array (..., n) with n >= 1 as an argument; a number counts as one of length 1."""
    if given is None:
        return None
    try:
        shape = np.shape(given)
    except ValueError:
        shape = (0,)
    size = shape[-1] if shape else 1
    if not size:
        where = f"{function}: argument '{name}'"
        raise NumberError(where, "an array (..., n)", repr(given), "pass a list of numbers")
    return Argument(given if shape else np.reshape(given, 1), (size,), meaning)


def open_loop_forces(caller: str, model: Model, tau: Any, steps: int) -> Argument | None:
    """Return joint forces as an argument: an array for each step, or one for all of them."""
    if tau is None:
        return None
    tau = in_order(caller, "tau", tau, [model.coordinates.v_names])
    shape: Shape = (steps, model.nv)
    with contextlib.suppress(Exception):  # what is no array is refused later
        if np.ndim(tau) == 1:
            shape = (model.nv,)
        elif np.ndim(tau) > 1 and np.shape(tau)[-2] == 1:
            tau, shape = np.asarray(tau)[..., 0, :], (model.nv,)
    return Argument(tau, shape, "(steps, nv) for each step; (1, nv) or (nv,) for all of them")


def inertial_parameters(model: Model, inertias: Any) -> Argument | None:
    """Return inertial parameters of all bodies as an argument."""
    if inertias is None:
        return None
    meaning = "(nb, 10): inertial parameters of each body"
    return Argument(inertias, (model.nb, 10), meaning, labels=(model.body_names, None))


def refuse_negative_masses(function: str, arrays: Mapping[str, Array]) -> None:
    """Refuse inertial parameters with a negative mass."""
    if "inertias" in arrays:
        refuse_masses_below_zero(function, arrays["inertias"][..., 0])
