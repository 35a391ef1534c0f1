"""`sf.System`: a description of what moves, which all functions of motions take."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from sixfold.choices import Callback, ForceFrame, ForceInput, Method, Stabilization, StepBackend
from sixfold.errors import ArgumentError, NotApplicableError, near_names
from sixfold.model import Model
from sixfold.runtime import require_model
from sixfold.show import fields_line
from sixfold.simulation.arguments import check_fields, check_force_frame, choice
from sixfold.simulation.callbacks import static_attribute
from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.joint_stops import JointStops

#: Keywords of other libraries, and what to write instead.
OTHER_NAMES = {
    **dict.fromkeys(("timestep", "time_step", "step_size", "h"), "pass dt=..."),
    **dict.fromkeys(("controller", "policy"), "pass control=..."),
    **dict.fromkeys(("ground", "contact"), "pass contacts=sixfold.contact.Ground(...)"),
    **dict.fromkeys(("fext", "external_forces"), "pass f_ext=..."),
    "solver": "pass the method as integrator, for example integrator='Radau'",
    **dict.fromkeys(("rtol", "atol"), "pass tolerances=(relative, absolute)"),
}

#: Systems made from keywords that are kept for the next call with the same keywords.
MAX_KNOWN_SYSTEMS = 16


@dataclass(frozen=True, eq=False, repr=False)
class System:
    """What moves: a model, its controller, and what acts on it.

    It never changes; `dataclasses.replace` returns another one with some fields changed.  Functions
    that take a system (`simulate`, `rollout`, `rollout_gradient`, `Stepper`) also take a model with
    the fields as keywords.  A second call with the same system, or with the same model and
    keywords, does not trace your functions again, unless something that they read has changed.

    Args:
        model: the robot.
        control: function of (t, q, v), or of (t, q, v, parameters), for one state, that returns
            the joint forces (nv,).  It is compiled if it is built from arithmetic and sixfold
            functions and is pure.  What it reads is read at the start of each call.  One that
            keeps something between calls, or draws random numbers, runs as Python, step by step,
            and the notes of a trajectory say so.
        parameters: numbers for the controller, its last argument, shape (..., n), for example gains
            of a batch.
        x0: states of the controller itself at the start, shape (..., nx).  The controller is then a
            function of (t, q, v, x), or of (t, q, v, x, parameters), that returns the joint forces
            and dx/dt, which is integrated with the motion; with hold=True the second is x at the
            next step.  By default `control.x0` if there is one.
        hold: evaluate the controller once at the start of each step, as a digital one does.
        compiled: True to compile control and f_ext in any case, or fail and say why; False to run
            them as Python; by default, as described under control.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)` makes joint limits push back; off by default.
        contacts: the ground and what may touch it; its steps are semi-implicit Euler.
        inertias: inertial parameters of all bodies instead of the model's own, shape
            (..., nb, 10), each (m, h, Ixx, Iyy, Izz, Ixy, Ixz, Iyz).
        method: of forward dynamics: "aba" (articulated bodies), "crba" (composite bodies),
            "operators" (Concurrent Dynamics (19b), O(N)) or "operators_dense" ((19a), O(N^3)), as
            in `forward_dynamics`; chosen by the model by default.
        stabilize: what keeps the constraints of a model: "project" takes q and v back to them after
            each step, a rate [1/s] lets constraint forces pull gaps shut (Baumgarte), 0 does
            nothing.  By default "project", and 20/s with adaptive methods that keep a history.
        compensated: carry the rounding errors of the sums of a step over to the next step (Kahan
            summation).  By default True in `simulate`, except with contacts, and False elsewhere.
        backend: "numpy" runs every step in Python, for debugging a controller.

    Raises:
        ArgumentError: if the model is not a Model.
        OptionError: if a field is not one of its choices.
        NotApplicableError: if a field has no effect with the others.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> braked = sf.System(sf.load("pendulum"), control=lambda t, q, v: -v)
        >>> run = sf.simulate(braked, [1.0], None, 0.5)
        >>> q, v = sf.rollout(braked, [[1.0], [2.0]], None, dt=1e-3, steps=500)
        >>> run.q.shape, q.shape
        ((501, 1), (2, 500, 1))
    """

    model: Model
    _: KW_ONLY
    control: Callback | None = None
    parameters: ArrayLike | None = None
    x0: ArrayLike | None = None
    hold: bool = False
    compiled: bool | None = None
    f_ext: ForceInput | None = None
    f_ext_frame: ForceFrame = "world"
    limits: bool | JointStops | None = None
    contacts: Ground | None = None
    inertias: ArrayLike | None = None
    method: Method | None = None
    stabilize: Stabilization | None = None
    compensated: bool | None = None
    backend: StepBackend | None = None

    def __post_init__(self) -> None:
        """Check the fields that can be checked without a start."""
        _check("System", self)

    def __repr__(self) -> str:
        """Print the fields that differ from their defaults."""
        return fields_line(self)

    @property
    def start_states(self) -> Any:
        """States of the controller at the start: `x0`, else those that the controller names."""
        return static_attribute(self.control, "x0") if self.x0 is None else self.x0


class StepperOptions(TypedDict, total=False):
    """The fields of `System` that `Stepper` takes as keywords, besides those it names itself."""

    control: Callback | None
    f_ext: ForceInput | None
    f_ext_frame: ForceFrame
    limits: bool | JointStops | None
    contacts: Ground | None
    inertias: ArrayLike | None
    method: Method | None
    stabilize: Stabilization | None


class GradientOptions(StepperOptions, total=False):
    """The fields of `System` that `rollout_gradient` takes as keywords."""

    parameters: ArrayLike | None
    x0: ArrayLike | None
    hold: bool


class SystemOptions(GradientOptions, total=False):
    """The fields of `System` but the model, as keywords of `simulate` and `rollout`."""

    compiled: bool | None
    compensated: bool | None
    backend: StepBackend | None


_DEFAULTS = {field.name: field.default for field in fields(System)[1:]}
FIELDS = tuple(_DEFAULTS)  #: Names of the fields of a system but the model.
#: Systems made from keywords, by the identity of the model and of each keyword's value. A system
#: refers to these objects, so no other object can have their identity while it is here.
_KNOWN: OrderedDict[tuple[Any, ...], System] = OrderedDict()


def _check(caller: str, system: System) -> None:
    model = require_model(caller, system.model)
    check_fields(
        caller,
        model,
        system.method,
        system.hold,
        system.compiled,
        system.backend,
        control=system.control is not None,
        parameters=system.parameters,
        x0=system.start_states,
        f_ext=system.f_ext,
    )
    choice(caller, "compensated", (None, True, False), system.compensated)
    check_force_frame(caller, system.f_ext, system.f_ext_frame)


def system_of(
    function: Callable[..., Any], given: System | Model, options: Mapping[str, Any]
) -> System:
    """Return the system that a public function was given, as such or as a model and keywords.

    Args:
        function: the public function, for messages.
        given: its first argument.
        options: its keywords that are fields of a system.
    """
    if not options and isinstance(given, System):
        return given
    key = (id(given), *((name, id(value)) for name, value in options.items()))
    known = _KNOWN.get(key) if options else None
    if known is not None:
        return known
    caller = function.__name__
    for name in options.keys() - set(FIELDS):
        if name == "events":
            where, fix = "motions whose steps run inside one kernel", "use sixfold.simulate"
            raise NotApplicableError(f"{caller}: option 'events'", where, fix)
        own = [p for p in inspect.signature(function).parameters if p != "options"]
        near = near_names(name, (*own, *FIELDS))
        fix = f"did you mean {', '.join(map(repr, near))}?" if near else "leave it out"
        expected = f"one of {', '.join((*own[1:], *FIELDS))}"
        fix = OTHER_NAMES.get(name, fix)
        raise ArgumentError(f"{caller}: unknown option '{name}'", expected, name, fix)
    if isinstance(given, System):
        made = replace(given, **options)
    else:
        made = object.__new__(System)  # checked under the name of the caller
        made.__dict__.update(_DEFAULTS, model=given, **options)
        _check(caller, made)
    if not options:
        return made
    made.__dict__["_origin"] = given  # keeps the identities in the key
    _KNOWN[key] = made
    while len(_KNOWN) > MAX_KNOWN_SYSTEMS:
        _KNOWN.popitem(last=False)
    return made


def is_default(system: System) -> bool:
    """Return whether a system is a model alone, with all other fields at their defaults."""
    return all(getattr(system, name) is value for name, value in _DEFAULTS.items())


def refuse_fields(caller: str, system: System, reasons: Mapping[str, tuple[str, str]]) -> None:
    """Refuse fields of a system that a function cannot take: the reason and the way out of each."""
    for name, (why, fix) in reasons.items():
        if getattr(system, name) is not _DEFAULTS[name]:
            raise NotApplicableError(f"{caller}: option '{name}'", why, fix)


def unpack(
    caller: str, given: System | Model, taken: tuple[str, ...] = ()
) -> tuple[Model, dict[str, Any]]:
    """Return the model, and by name the fields that a function takes of a system.

    Other fields of a system are refused.
    """
    if not isinstance(given, System):
        return require_model(caller, given), {}
    where = f"{caller}, which takes {' and '.join(taken) or 'the model only'} of a system"
    others = [name for name in FIELDS if name not in taken]
    refuse_fields(caller, given, dict.fromkeys(others, (where, "pass a system without it")))
    return given.model, {name: getattr(given, name) for name in taken}
