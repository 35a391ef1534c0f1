"""One step of a motion, and how steps are taken: inside one kernel, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.dynamics.contact.scene import Scene
from sixfold.errors import NotApplicableError, TooLargeError
from sixfold.model import Model
from sixfold.quantities.contact import eliminate
from sixfold.runtime import (
    KERNELS,
    Argument,
    numbers_array,
    refuse_singular,
    run_scan,
    scan_kernel,
    user_kernel,
)
from sixfold.scalar import Scalar, if_positive
from sixfold.simulation.arguments import (
    EULER,
    NO_STABILIZATION,
    Stabilization,
    check_rate,
    constant_wrenches,
    inertial_parameters,
    open_loop_forces,
    refuse_idle,
    refuse_negative_masses,
    satisfy_constraints,
    stabilization_of,
    states_of,
    vector,
)
from sixfold.simulation.callbacks import Callback, control_callback, force_callback
from sixfold.simulation.contact.scene import scene_of
from sixfold.simulation.equations import (
    ArrayEquations,
    Equations,
    RowByRow,
    equations_of,
    split,
    stack_numbers,
)
from sixfold.simulation.integrators import INTEGRATORS
from sixfold.simulation.joint_stops import Stop, stops_of
from sixfold.simulation.purity import Memory
from sixfold.simulation.system import System
from sixfold.simulation.tracing import Tracing, digests
from sixfold.spatial import Column

Numbers = Sequence[Scalar]


def ground_step(
    system: Any, model: Model, t: Scalar, q: Numbers, v: Numbers, h: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Return q and v after a step of length h; states of a controller follow the velocities."""
    # v' = v + h a, then q' with v': semi-implicit Euler; joints with rotations have their own rule
    a = system.acceleration(t, q, v)
    moved: list[Scalar] = list(q)
    faster = [x + y * h for x, y in zip(v, a, strict=True)]
    for free in model.coordinates.free:
        own = Column(q[free.q]), Column(v[free.v]), Column(a[free.v])
        moved[free.q], faster[free.v] = map(list, free.joint.advance(*own, h))
    return moved, faster


#: Arrays that stay the same in all steps, in the order in which a step takes them, each with the
#: number of axes that it has for one trajectory.
CORE_AXES = {"parameters": 1, "inertias": 2, "f_ext": 2, "gains": 1, "tau": 1}


@dataclass(frozen=True)
class Setup:
    """A motion to integrate: the system, its arrays, and how steps are taken.

    The state of one trajectory is (q, v, x, carry, residual): x are the controller's own states,
    the carry holds the rounding errors of earlier sums, if steps are compensated, and the residual
    is the largest one of the contact solver in all steps so far.
    """

    caller: str
    system: System
    integrator: str = "semi_implicit_euler"
    compensated: bool = False  #: Carry the rounding errors of a step over to the next step.
    control: Callback | None = None
    force: Callback | None = None
    #: Arrays by name, those of CORE_AXES that there are, with leading axes for trajectories.
    given: Mapping[str, Array] = field(default_factory=dict)
    tau_each: bool = False  #: The joint forces `tau` have an axis of steps.
    stops: tuple[Stop, ...] = ()
    stabilization: Stabilization = NO_STABILIZATION
    contacts: Scene | None = None
    dtype: str = "float64"  #: Precision of compiled steps.
    #: Functions of the same run that are called as Python: events, progress.
    others: tuple[Callable[..., Any], ...] = ()
    #: One of the others has changed what compiled callbacks read: they run as Python.
    disturbed: bool = False

    @property
    def model(self) -> Model:
        """The robot."""
        return self.system.model

    @property
    def states(self) -> int:
        """How many states the controller has."""
        return 0 if self.control is None else self.control.states

    @cached_property
    def state_sizes(self) -> tuple[int, ...]:
        """Sizes of the parts of a state that there are: q, v, x, carry, residual."""
        model, nx = self.model, self.states
        carry = len(model.coordinates.additive) + model.nv + nx
        more = [nx] if nx else []
        more += [carry] if self.compensated else []
        more += [] if self.contacts is None else [1]
        return (model.nq, model.nv, *more)

    @property
    def size(self) -> int:
        """Numbers in a state."""
        return sum(self.state_sizes)

    def parts(self, row: Any) -> list[Any]:
        """Split states (..., size), or one list, into the parts of `carried`."""
        # also for flat lists of symbols, which NumPy could not split
        ends = np.cumsum(self.state_sizes).tolist()
        spans = [slice(end - n, end) for n, end in zip(self.state_sizes, ends, strict=True)]
        return [row[span] if isinstance(row, list) else row[..., span] for span in spans]

    def start(self, q: Array, v: Array, x: Array | None) -> list[Array]:
        """Return the parts of the states at the start."""
        parts = [q, v, *([] if x is None else [x])]
        return [*parts, *(np.zeros(n) for n in self.state_sizes[len(parts) :])]

    # -- the arrays of a kernel

    @cached_property
    def constants(self) -> dict[str, Array]:
        """Arrays that stay the same in all steps, one axis for each trajectory, in order."""
        found: dict[str, Array] = {}
        for name, axes in CORE_AXES.items():
            array = self.given.get(name)
            if array is not None and not (name == "tau" and self.tau_each):
                found[name] = array.reshape((*array.shape[: array.ndim - axes], -1))
        return found

    @property
    def constant_sizes(self) -> list[int]:
        """Sizes of the arrays that stay the same: dt, then the constants."""
        return [1, *(array.shape[-1] for array in self.constants.values())]

    @property
    def per_step_sizes(self) -> list[int]:
        """Sizes of the arrays that have numbers for each step: t, then tau if it has."""
        return [1, *([self.model.nv] if self.tau_each else [])]

    def arrays(self, parts: Sequence[Array], dt: float, times: Array) -> list[Array]:
        """Return all arguments of a kernel; times is (steps, 1)."""
        tau = [self.given["tau"]] if self.tau_each else []
        return [*parts, np.array([dt]), *self.constants.values(), times, *tau]

    def key(self, digests: tuple[tuple[str, str], ...]) -> tuple[Any, ...]:
        """Return what identifies the step, given the digests of its callbacks' programs."""
        return (
            "step",
            digests,
            self.model.digest,
            self.integrator,
            self.compensated,
            self.system.f_ext_frame,
            self.stops,
            self.system.hold,
            self.system.method,
            self.states,
            tuple((name, array.shape[-1]) for name, array in self.constants.items()),
            self.tau_each,
            self.stabilization,
            self.contacts,
        )

    # -- one step

    def step(self, *lists: Sequence[Scalar]) -> list[Scalar]:
        """Take one step on flat lists: the state, dt and the constants, then t and tau."""
        return self.after(*self.at(*lists))

    def at(self, *lists: Sequence[Scalar]) -> tuple[Equations, Any, Any, list[Any], Any]:
        """Return what `after` takes, of the flat lists of a step."""
        n = len(self.state_sizes)
        given = dict(zip(("dt", *self.constants, "t"), lists[n:], strict=False))
        if self.tau_each:
            given["tau"] = lists[-1]
        inertias, parameters = given.get("inertias"), given.get("parameters")
        system = equations_of(
            self.model,
            self.control,
            parameters=None if parameters is None else numbers_array(parameters),
            f_ext=numbers_array(given["f_ext"]) if "f_ext" in given else self.force,
            f_ext_frame=self.system.f_ext_frame,
            stops=self.stops,
            gains=tuple(given.get("gains", ())),
            method=self.system.method,
            tree=None if inertias is None else self.model.tree.with_inertias(inertias),
            stabilization=self.stabilization.rate,
            contacts=self.contacts,
        )
        state = [x for part in lists[:n] for x in part]
        return system, given["t"][0], given["dt"][0], state, given.get("tau")

    def after(self, system: Any, t: Any, h: Any, state: list[Any], push: Any = None) -> list[Any]:
        """Return a state after a step of length h.

        Args:
            system: the equations of motion, on the kind of numbers that the state holds.
            t: time at the start of the step.
            h: length of the step.
            state: q, v, x, carry and residual in one list.
            push: joint forces besides those of the controller.
        """
        # take the state apart from its end: residual, carry, controller
        q, v, *more = self.parts(state)
        worst = more.pop() if self.contacts is not None else []
        carry = more.pop() if self.compensated else []
        v = [*v, *(more[0] if more else [])]
        following: list[Any] = []
        # a digital controller: forces of the start of the step, its next states at once
        if self.system.hold:
            system, following = system.zero_order_hold(t, q, v)
            v = v[: self.model.nv]
        if push is not None:
            system = system.with_joint_forces(push)
        if self.contacts is not None:
            system, residual = system.with_contact_accelerations(t, q, v, h)
            moved, faster = ground_step(system, self.model, t, q, v, h)
            # the largest of all steps so far
            largest = if_positive(residual - worst[0], residual, worst[0])
            return [*self._project(system, moved, faster), *following, largest]
        method = INTEGRATORS[self.integrator]
        if not self.compensated:
            moved, faster = method(system, t, q, v, h)
            return [*self._project(system, moved, faster), *following]
        used = carry[: len(carry) - len(following)]
        moved, faster, left = method.compensated_step(system, t, q, v, h, used)
        closed = self._project(system, moved, faster)
        return [*closed, *following, *left, *[0.0] * len(following)]

    def _project(self, system: Any, q: list[Any], v: list[Any]) -> list[Any]:
        """Return q and v after a step, projected on the constraints if that is asked for."""
        if not self.stabilization.projects:
            return [*q, *v]
        nv = self.model.nv
        return [*system.project(q, v[:nv]), *v[nv:]]

    def of_row(self, lead: Shape, index: Shape) -> Setup:
        """Return the setup of one trajectory of a batch."""
        own = {
            name: np.broadcast_to(x, (*lead, *x.shape[x.ndim - CORE_AXES[name] :]))[index]
            for name, x in self.given.items()
        }
        return replace(self, given=own)


@dataclass(frozen=True)
class Prepared:
    """The checked arguments of a motion: the setup, and the arrays with their leading shape."""

    setup: Setup
    arrays: dict[str, Array]
    lead: Shape

    def start(self) -> list[Array]:
        """Return the parts of the states at the start."""
        return self.setup.start(self.arrays["q0"], self.arrays["v0"], self.arrays.get("x0"))


def contact_scene(
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


#: Largest cost of a step under contact: compiled in about a minute, as 330 free bodies are.
MAX_CONTACT_COST = 8_000


def refuse_large_scene(function: str, model: Model, scene: Scene) -> None:
    """Refuse a scene whose step would take minutes to compile."""
    cost = eliminate(model, scene).cost
    if cost > MAX_CONTACT_COST:
        raise TooLargeError(
            f"{function}: contact between {model.nb} bodies with {model.nv} degrees of freedom",
            f"a step would take {cost / MAX_CONTACT_COST:.1f} times as long to compile as allowed",
            "simulate bodies that do not touch each other as rows of a batch (a model of one body, "
            f"q0 of shape ({model.nb}, nq)); leave out bodies, joints or pairs; or pass "
            "backend='numpy', which runs every step in Python",
        )


def prepare(
    caller: str,
    system: System,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    *,
    integrator: str,
    dt: float,
    compensated: bool,
    tau: ArrayLike | None = None,
    steps: int = 0,
    dtype: str = "float64",
    solver: str | None = None,
    **more: Argument | None,
) -> Prepared:
    """Check the arguments that all functions of motions have in common.

    Args:
        caller: the public function, for messages.
        system: what moves.
        q0: configurations at the start.
        v0: velocities at the start.
        integrator: of fixed steps.
        dt: length of a step [s].
        compensated: whether steps carry their rounding errors along.
        tau: joint forces besides those of the controller.
        steps: number of steps that `tau` may have an axis for.
        dtype: precision of the steps.
        solver: adaptive method, if there is one.
        more: further arrays.
    """
    model = system.model
    model.refuse_changed_joints(caller)
    check_rate(caller, system.control, bool(system.hold), dt)
    idle = {"method": system.method is not None, "compensated": system.compensated is True}
    scene = contact_scene(caller, model, system.contacts, integrator, dt, **idle)
    if scene is not None and system.backend != "numpy":
        refuse_large_scene(caller, model, scene)
    if system.inertias is None:
        refuse_singular(model)
    # arrays: checked one by one, then together for their leading axes
    forces = open_loop_forces(caller, model, tau, steps)
    own = {
        "parameters": vector(caller, "parameters", system.parameters, "controller parameters"),
        "x0": vector(caller, "x0", system.start_states, "states of the controller"),
        "f_ext": constant_wrenches(model, system.f_ext),
        "inertias": inertial_parameters(model, system.inertias),
    }
    arrays, lead = states_of(caller, model, q0, v0, tau=forces, **(own | more))
    refuse_negative_masses(caller, arrays)
    satisfy_constraints(caller, model, arrays)
    control = force = None
    if system.control is not None:
        states = arrays["x0"].shape[-1] if "x0" in arrays else 0
        control = control_callback(model, system.control, arrays.get("parameters"), states, caller)
    if callable(system.f_ext):
        force = force_callback(model, system.f_ext, caller)
    given = {name: arrays[name] for name in CORE_AXES if name in arrays}
    stops, gains = stops_of(caller, model, system.limits, arrays["q0"], arrays.get("inertias"))
    if gains is not None:
        given["gains"] = gains
    setup = Setup(
        caller,
        system,
        integrator,
        compensated and scene is None,
        control,
        force,
        given,
        tau_each=forces is not None and len(forces.shape) == 2,
        stops=stops,
        stabilization=stabilization_of(caller, model, system.stabilize, solver),
        contacts=scene,
        dtype=dtype,
    )
    return Prepared(setup, arrays, lead)


#: Largest estimate of operations in a step that is compiled for one simulation.
MAX_STEP_OPERATIONS = 60_000

OPERATIONS_PER_FREEDOM = 300  #: Estimated operations of forward dynamics for each freedom.

#: Evaluations of forward dynamics in a step.
STAGES = {"semi_implicit_euler": 1, "rk4": 4, "lie_rk4": 4, "midpoint": 7}

OBSERVED_STATES = 4096  #: States whose contacts are observed at once.


class DisturbedError(Exception):
    """A compiled callback no longer does what it was traced to do."""


#: (t, h, state[, tau]) -> the state after a step of length h; states are (..., size).
Advance = Callable[..., Array]


@dataclass(frozen=True)
class StepRunner:
    """How to advance states, and how to observe the forces and accelerations there."""

    setup: Setup
    dt: float
    advance: Advance
    kernel: Any  #: Many steps in one call, a ScanKernel; None where steps are taken one by one.
    system: ArrayEquations
    kernels: dict[str, Any]  #: Kernels of callbacks by themselves, by name.
    #: Forces must be recorded as they occur: a callback may keep state between calls.
    live: bool = False
    notes: tuple[str, ...] = ()  #: Why callbacks run as Python.
    restart: Callable[[], None] = lambda: None  #: To be called where the state jumps.
    #: What compiled callbacks can reach, as it was when they were traced.
    read: tuple[Memory, ...] = ()

    def refuse_disturbance(self) -> None:
        """Raise where a function that ran as Python has changed what compiled callbacks read."""
        if any(memory.describe_change() for memory in self.read):
            raise DisturbedError

    def many(self, times: Array, state: Array, every: int) -> Array:
        """Return the states after each `every` of the steps that begin at these times.

        Args:
            times: start of each step, shape (steps,).
            state: shape (..., size).
            every: how many steps from one result to the next.
        """
        parts, lead = self.setup.parts(state), state.shape[:-1]
        arrays = self.setup.arrays(parts, self.dt, times[:, None])
        found, _ = run_scan(self.kernel, arrays, lead, len(times), every)
        return np.concatenate(found, -1)

    def row(self, lead: Shape, index: Shape) -> ArrayEquations:
        """Return the system of one trajectory of a batch, with its own parameters and forces."""
        if not lead:
            return self.system
        return _numeric(self.setup.of_row(lead, index), self.kernels)

    def observe_at(self, t: float, state: Array) -> tuple[Array, ...]:
        """Return joint forces and accelerations at one time, and contacts if there are some."""
        return self._observe(self.system, t, state)

    def observe(self, t: Array, states: Array) -> tuple[Array, ...]:
        """Return joint forces and accelerations at all times, states being (..., len(t), size).

        With contacts comes what `flatten_contacts` returns.
        """
        return self._observe(_numeric(self.setup, self.kernels, along=True), t, states)

    def _observe(self, system: ArrayEquations, t: Any, states: Array) -> tuple[Array, ...]:
        q, *_ = self.setup.parts(states)
        nq, nv, n = self.setup.model.nq, self.setup.model.nv, self.setup.states
        v = states[..., nq : nq + nv + n]
        tau = system.forces(t, q, v)[..., :nv]
        if system.contacts is None:
            return tau, system.accelerations(t, q, v[..., :nv], tau)
        tau = np.broadcast_to(tau, v[..., :nv].shape)
        if np.ndim(t) == 0:
            return tau, *self._contacts_at(system, t, q, v[..., :nv], tau)
        # a few times at once: thousands of intermediate numbers are held for each state
        few = max(1, OBSERVED_STATES * len(t) // max(1, q[..., 0].size))
        found = [
            self._contacts_at(system, t[k], *(x[..., k, :] for x in (q, v[..., :nv], tau)))
            for k in (slice(start, start + few) for start in range(0, len(t), few))
        ]
        return tau, *(np.concatenate(each, axis=-2) for each in zip(*found, strict=True))

    def _contacts_at(
        self, system: ArrayEquations, t: Any, q: Array, v: Array, tau: Array
    ) -> tuple[Array, Array]:
        """Return accelerations under contact, and the contacts."""
        found = system.response(t, q, v, tau, self.dt)
        return stack_numbers(found.a, q.shape[:-1]), flatten_contacts(found, q.shape[:-1])

    def with_advance(self, advance: Advance, restart: Callable[[], None]) -> StepRunner:
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
    native = fixed and setup.system.backend != "numpy"
    kernel = None
    # callbacks need kernels of their own where they are observed, or share a step with Python
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
    live = calls and (len(notes) > 0 or setup.system.backend == "numpy")
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
    # what runs as Python may change what the compiled ones have read
    callbacks = [each for each in (setup.control, setup.force) if each is not None]
    if setup.system.backend == "numpy":
        return {}
    result = {}
    for callback in callbacks:
        others = [other.function for other in callbacks if other is not callback]
        compiled = False if setup.disturbed else setup.system.compiled
        each = (*others, *setup.others)
        result[callback.name] = tracing = Tracing(callback, setup.model, compiled, each)
        if setup.disturbed:
            tracing.reason = "another function of this run changes what it reads"
    for tracing in result.values():
        if setup.system.compiled is None and tracing.is_disturbed_by(result.values()):
            tracing.reason = "another function of this run may change what it reads"
    return result


def flatten_contacts(found: Any, lead: Shape) -> Array:
    """Return force, point, normal and gap of each contact, ten numbers each, (*lead, 10 nc)."""
    each = zip(found.forces, found.points, found.normals, found.gaps, strict=True)
    return stack_numbers([x for *vectors, gap in each for x in (*chain(*vectors), gap)], lead)


def _numeric(setup: Setup, kernels: dict[str, Any], *, along: bool = False) -> ArrayEquations:
    """Return the system on arrays, with kernels for the callbacks that have one.

    Args:
        setup: what is to be integrated.
        kernels: of the callbacks, by name.
        along: states have a time axis that constant arrays lack.
    """

    def constant(array: Array, axes: int) -> Array:
        return np.expand_dims(array, array.ndim - axes) if along else array

    # a kernel takes all rows at once; Python takes them one by one
    given = {name: constant(x, CORE_AXES[name]) for name, x in setup.given.items()}
    rest = (given["parameters"],) if "parameters" in given else ()
    rows: dict[str, Any] = {}
    for callback, arrays in ((setup.control, rest), (setup.force, ())):
        if callback is None:
            continue
        kernel = kernels.get(callback.name)
        rows[callback.name] = (
            RowByRow(callback, arrays) if kernel is None else _bind(kernel, callback, arrays)
        )
    if "f_ext" in given:
        rows["f_ext"] = lambda *_: given["f_ext"]
    return ArrayEquations(
        setup.model,
        f_ext_frame=setup.system.f_ext_frame,
        stops=setup.stops,
        gains=tuple(split(given["gains"])) if "gains" in given else (),
        rows=rows.get("control"),
        wrenches=rows.get("f_ext"),
        backend=setup.system.backend,
        states=setup.states,
        method=setup.system.method,
        inertias=given.get("inertias"),
        stabilization=setup.stabilization.rate,
        contacts=setup.contacts,
    )


def _bind(kernel: Any, callback: Callback, rest: tuple[Array, ...]) -> Callable[..., Array]:
    """Return a kernel as a function of (t, q, v), the controller's states after v."""
    ufunc, n = kernel.ufunc, callback.states
    if not n:
        return lambda t, q, v: ufunc(t, q, v, *rest)
    return lambda t, q, v: ufunc(t, q, v[..., :-n], v[..., -n:], *rest)


def _plain_step(setup: Setup, system: ArrayEquations) -> Advance:
    """Return a step whose arithmetic is NumPy's."""

    def advance(t: float, h: float, state: Array, tau: Array | None = None) -> Array:
        push = setup.given.get("tau") if tau is None and not setup.tau_each else tau
        return stack_numbers(setup.after(system, t, h, split(state), push))

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
    sizes = (setup.state_sizes, setup.constant_sizes, setup.per_step_sizes)
    return scan_kernel(setup.step, *sizes, name=name, key=setup.key(known), dtype=setup.dtype)
