"""`sf.rollout_gradient`: the cost of a rollout and its derivatives, by the adjoint method."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import Callback, FixedStep
from sixfold.errors import ArgumentError, NonFiniteStateWarning, NotApplicableError, visible
from sixfold.model import Model
from sixfold.quantities import readings
from sixfold.runtime import (
    adjoint_kernel,
    enough_memory,
    flat_rows,
    gradient_kernel,
    keep_last,
    numbers_array,
    refuse_singular,
    scan_kernel,
    share,
    threads_for,
)
from sixfold.show import fields_line
from sixfold.simulation.arguments import check_fixed_step, choice, step_count, step_length, vector
from sixfold.simulation.callbacks import Cost, cost_callback
from sixfold.simulation.rollout import step_times
from sixfold.simulation.step import Setup, prepare
from sixfold.simulation.system import GradientOptions, System, refuse_fields, system_of
from sixfold.simulation.tracing import identify

#: Memory for the states of the smallest chunk of rows; beyond, not all of them are kept.
MAX_STATE_BYTES = 1 << 24

#: States of a chunk that should stay in a processor's cache, from their steps to the adjoints.
CHUNK_BYTES = 1 << 20

MIN_CHUNK_ROWS = 64  #: Rows that keep all lanes of a kernel busy; chunks are multiples of it.


@dataclass(frozen=True)
class Sweep:
    """A rollout with its costs: one step of it, its kernels, and the sweep through all steps."""

    setup: Setup
    cost: Cost | None
    final: Cost | None
    cost_parameters: Array | None  #: Numbers for the cost functions, shape (..., n).
    inertial: bool
    known: tuple[tuple[str, str], ...]  #: Names of the callbacks and digests of their programs.

    # -- one step

    @property
    def _constant_sizes(self) -> list[int]:
        """Sizes of the arrays that stay the same: dt, the constants, parameters of the costs."""
        more = [] if self.cost_parameters is None else [self.cost_parameters.shape[-1]]
        return [*self.setup.constant_sizes, *more]

    def step(self, *lists: Sequence[Any]) -> list[Any]:
        """Take one step on flat lists; its cost follows the state."""
        setup, model = self.setup, self.setup.model
        place = len(setup.state_sizes) + len(setup.constant_sizes)
        more = len(self._constant_sizes) - len(setup.constant_sizes)
        # the step itself, then its cost at the state where it began
        system, t, h, state, push = setup.at(*lists[:place], *lists[place + more :])
        following = setup.after(system, t, h, state, push)
        if self.cost is None:
            return [*following, 0.0]
        q, v = state[: model.nq], state[model.nq :]
        pushed = system if push is None else system.with_joint_forces(push)
        arrays = [q, v[: model.nv], pushed.effort(t, q, v)[: model.nv], *lists[place:][:more]]
        return [*following, self.cost.of(t, *map(numbers_array, arrays)) * h]

    @property
    def gradient_names(self) -> list[str]:
        """Constants to differentiate by."""
        names = [name for name in self.setup.constants if name in ("parameters", "tau")]
        return [*names, *(["inertias"] if self.inertial else [])]

    # -- kernels

    def forward(self) -> Any:
        """Return the kernel of the steps, that of `rollout`."""
        setup = self.setup
        sizes = (setup.state_sizes, setup.constant_sizes, setup.per_step_sizes)
        key = setup.key(tuple(x for x in self.known if x[0] in ("control", "f_ext")))
        return scan_kernel(setup.step, *sizes, name=self._name, key=key)

    def backward(self) -> Any:
        """Return the kernel of the steps' adjoints."""
        setup = self.setup
        places = [1 + list(setup.constants).index(name) for name in self.gradient_names]
        return adjoint_kernel(
            self.step,
            setup.state_sizes,
            self._constant_sizes,
            setup.per_step_sizes,
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
        more = self._constant_sizes[len(self.setup.constant_sizes) :]

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
    adjoints: list[Array]  #: Derivatives by the parts of the state at the start.
    sums: dict[str, Array]  #: Derivatives by constants, by name.
    tau: Array | None  #: Derivatives by the joint forces of each step.
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
    # arrays of one row each; those that all rows share are broadcast, not copied
    constants = [np.array([dt]), *setup.constants.values()]
    if plan.cost_parameters is not None:
        constants.append(plan.cost_parameters)
    start = [flat_rows(x, lead, (n,)) for x, n in zip(parts, setup.state_sizes, strict=True)]
    fixed = [flat_rows(x, lead, x.shape[-1:]) for x in constants]
    each = [flat_rows(step_times(steps, dt), lead, (steps, 1))]
    if setup.tau_each:
        tau = setup.given["tau"]
        each.append(flat_rows(tau, lead, tau.shape[-2:]))
    found = Found(
        np.zeros((rows, 1)),
        [np.zeros((rows, n)) for n in setup.state_sizes],
        {name: np.zeros((rows, setup.constants[name].shape[-1])) for name in plan.gradient_names},
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
            memory = [np.empty((min(chunk, rows), k, n)) for k in counts for n in setup.state_sizes]
        _Chunk(setup, kernels, arrays, found, here, steps, interval).run(memory)
        spare.append(memory)

    share(part, [(first, min(first + chunk, rows)) for first in range(0, rows, chunk)])
    return found


def _sizes(kernel: Any, size: int, rows: int, steps: int, interval: int | None) -> tuple[int, int]:
    """Return steps between kept states, and rows of a chunk."""
    least = min(rows, MIN_CHUNK_ROWS)
    if interval is None:
        # keep all states if they fit, else every sqrt(steps)-th: the least memory
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
    arrays: list[list[Array]]  #: At the start, fixed, and those of each step.
    found: Found
    here: slice
    steps: int
    interval: int

    def run(self, memory: list[Array]) -> None:
        """Do it all; the memory is for states that are kept, and for those of one interval."""
        start, interval = self.arrays[0], self.interval
        # forward once, keeping the state at the start of each interval
        firsts = range(0, self.steps, interval)
        own = [x[: len(start[0])] for x in memory]
        kept, states = own[: len(start)], own[len(start) :]
        for all_kept, x in zip(kept, start, strict=True):
            all_kept[:, 0] = x
        self._forward(kept, 0, firsts[-1], interval)
        for number in reversed(range(len(firsts))):
            # backward: take each interval again, with all its states, then its adjoints
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
        own = fixed[: len(self.setup.constant_sizes)]
        moving = [x[:, first : first + count] for x in each]
        outputs = [x[:, 1 : 1 + count // every] for x in states]
        self.kernels[0]([*(x[:, 0] for x in states), *own, *moving], outputs, count, every)

    def _end(self, state: list[Array]) -> None:
        """Begin with the final cost and its derivatives."""
        final = self.kernels[2]
        if final is None:
            return
        more = self.arrays[1][len(self.setup.constant_sizes) :]
        cost, by_q, by_v = final(state[0], state[1], *more)
        self.found.cost[self.here, 0] = cost
        self.found.adjoints[0][self.here] = by_q
        self.found.adjoints[1][self.here] = by_v

    def _backward(self, states: list[Array], first: int, count: int) -> None:
        """Take the adjoints of some steps, from the last to the first."""
        _, fixed, each = self.arrays
        found, here = self.found, self.here
        # the kernel adds to what it carries: adjoints, cost, and sums of derivatives
        carried = [x[here] for x in (*found.adjoints, found.cost, *found.sums.values())]
        every = count if found.tau is None else 1  # derivatives by each step's forces are written
        outputs = [keep_last(x, count // every) for x in carried]
        if found.tau is not None:
            by_tau = found.tau[here, first : first + count]
            carried.append(by_tau[:, 0])  # takes its place in the order, and is not read
            outputs.append(by_tau[:, ::-1])
        before = [x[:, :count][:, ::-1] for x in states]
        moving = [x[:, first : first + count][:, ::-1] for x in each]
        arrays = [*carried, *fixed, *before, *moving]
        found.lost.append(self.kernels[1](arrays, outputs, count, every))


def tangent(model: Model, q: Array, by_q: Array) -> Array:
    """Return derivatives along the motion subspaces, of those by the coordinates."""
    if len(model.coordinates.additive) == model.nq:
        return by_q

    def along(x: Sequence[Any], v: Sequence[Any], weights: Sequence[Any]) -> Any:
        rate = readings.position_rate(model, model.tree, x, v)
        return sum((a * b for a, b in zip(rate, weights, strict=True)), 0.0)

    sizes, key = [model.nq, model.nv, model.nq], ("tangent", model.digest)
    kernel = gradient_kernel(along, sizes, [1], name="tangent", key=key)
    result: Array = kernel.ufunc(q, np.zeros(model.nv), by_q)[1]
    return result


NAME = "rollout_gradient"
#: Fields of a system that have no derivatives, and why.
NOT_DIFFERENTIATED = {
    "contacts": ("gradients: the contact solver has no derivative", "leave it out"),
    "limits": (
        "gradients: stops have no derivative where they touch",
        "leave it out, or write a smooth force near the limits as control",
    ),
    "compensated": ("gradients, whose steps are those of plain sums", "leave it out"),
    "backend": ("gradients, which are compiled", "leave it out"),
}


@dataclass(frozen=True, eq=False)
class RolloutGradient:
    """The cost of each trajectory of a batch and its derivatives; None for what was not given."""

    cost: Array  #: Running and final cost, shape (...).
    q0: Array  #: By the configuration at the start, along the motion subspaces, shape (..., nv).
    v0: Array  #: By the velocity at the start, shape (..., nv).
    tau: Array | None  #: By the joint forces, with the axes of `tau` after those of the batch.
    x0: Array | None  #: By the controller's states at the start, shape (..., nx).
    parameters: Array | None  #: By the controller's parameters, shape (..., n).
    inertias: Array | None  #: By the inertial parameters of all bodies, shape (..., nb, 10).

    def __repr__(self) -> str:
        """Print small arrays, and the shapes of large ones."""
        return fields_line(self)


def rollout_gradient(
    system: System | Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    cost: Callback | None = None,
    final_cost: Callback | None = None,
    cost_parameters: ArrayLike | None = None,
    integrator: FixedStep = "semi_implicit_euler",
    inertial: bool = False,
    checkpoint: int | None = None,
    compiled: bool | None = None,
    **options: Unpack[GradientOptions],
) -> RolloutGradient:
    """Return what rollouts cost, and the derivatives of the cost by all that they start from.

    The steps are those of `rollout`.  With t_k = k dt
    and k = 0 ... steps - 1, the cost is

        sum over k of dt cost(t_k, q_k, v_k, tau_k)  +  final_cost(q_steps, v_steps):

    the running cost is paid at the beginning of each step, per second; the state after the last
    step has the final cost only.  tau_k are the joint forces there: `tau` and those of the
    controller together.

    Derivatives are exact, those of the steps as they are computed, by the adjoint method: forward
    through the steps, then backward inside a second kernel.  All of them together take the time of
    a few rollouts, however many numbers there are to differentiate by.  Leading axes of all arrays
    broadcast and each row has derivatives of its own: for a number that all rows share, add theirs.

    Args:
        system: what moves, a `System`, or a model with the fields of a system as keywords.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        cost: function of (t, q, v, tau) for one state that returns one number: the running cost
            per second.  It is compiled, like a controller; one that branches by value or remembers
            something is refused.
        final_cost: function of (q, v) that returns one number.
        cost_parameters: numbers that both cost functions get as one more argument, shape (..., n):
            targets, weights.  A batch of them is a batch of costs.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        inertial: True for derivatives by all inertial parameters: those of `inertias`, or the
            model's own.
        checkpoint: keep the state after each `checkpoint` steps and compute the others again on the
            way back, which takes less memory and the time of another rollout.  By default it
            depends on the memory: all states, or about every sqrt(steps)-th.  It changes no bit.
        compiled: True to take functions that hold objects whose state cannot be saved (locks,
            files): you say that they are pure.
        options: fields of `System`.  Contacts, limits, compensated steps and the backend "numpy"
            have no derivatives.

    Returns:
        A `RolloutGradient`: the cost, shape (...), and its derivatives by q0 (along the motion
        subspaces: nv numbers, for spherical and free joints too; add them up with `integrate`), v0,
        tau, x0, parameters and inertias, each with the leading axes of the whole batch.  Steps are
        taken in float64, for any dtype of the arguments.  Of a model with constraints, those
        by q0 and v0 count along changes that keep the constraints.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect with the others, or no derivative.
        CallbackError: if a function of yours gives no usable numbers, or cannot be compiled.
        SingularModelError: if some joint has no inertia behind it.
        TooLargeError: if the derivative of a step is too large to compile.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model, tau = sf.load("pendulum"), np.zeros((20, 1))
        >>> def cost(q, v):
        ...     return (q[0] - 1.0) ** 2 + 0.1 * v[0] ** 2
        >>> options = {"dt": 0.01, "steps": 20, "final_cost": cost}
        >>> found = sf.rollout_gradient(model, [0.2], [0.0], tau, **options)
        >>> found.tau.shape
        (20, 1)
        >>> better = sf.rollout_gradient(model, [0.2], [0.0], tau - found.tau, **options)
        >>> bool(better.cost < found.cost)
        True
    """
    system = system_of(rollout_gradient, system, options)
    model = system.model
    if not model.nv:
        fix = "give a model with a joint that moves"
        what = f"model '{visible(model.name)}' without degrees of freedom"
        raise NotApplicableError(NAME, what, fix)
    check_fixed_step(NAME, integrator)
    compiled = system.compiled if compiled is None else compiled
    choice(NAME, "compiled", (None, True), compiled)
    choice(NAME, "inertial", (True, False), inertial)
    if system.limits is False:
        system = replace(system, limits=None)
    refuse_fields(NAME, system, NOT_DIFFERENTIATED)
    if cost is None and final_cost is None:
        fix = "pass cost=..., final_cost=..., or both"
        raise ArgumentError(f"{NAME}: argument 'cost'", "a function of (t, q, v, tau)", None, fix)
    h, count = step_length(NAME, dt), step_count(NAME, "steps", steps)
    interval = None if checkpoint is None else step_count(NAME, "checkpoint", checkpoint)
    if inertial and system.inertias is None:
        refuse_singular(model)
        own = np.array([body.inertia.array() for body in model.bodies])
        system = replace(system, inertias=own)
    prepared = prepare(
        NAME,
        system,
        q0,
        v0,
        integrator=integrator,
        dt=h,
        compensated=False,
        tau=tau,
        steps=count,
        cost_parameters=vector(NAME, "cost_parameters", cost_parameters, "numbers for the costs"),
    )
    setup, arrays, lead = prepared.setup, prepared.arrays, prepared.lead
    given = arrays.get("cost_parameters")
    numbers = None if given is None else given.shape[-1]
    running, final = (
        cost_callback(function, name, numbers)
        for function, name in ((cost, "cost"), (final_cost, "final_cost"))
    )
    callbacks = [each for each in (setup.control, setup.force, running, final) if each is not None]
    tracings, known = identify(model, callbacks, compiled)
    plan = Sweep(setup, running, final, given, bool(inertial), known)
    kept = [each.reach.memory() for each in tracings]
    with enough_memory(NAME, f"gradients {lead} of {count} steps"):
        try:
            found = sweep(plan, prepared.start(), lead, h, count, interval)
        finally:
            for memory in kept:
                memory.restore()
        result = _result(model, found, arrays, lead, np.ndim(tau) if tau is not None else 0)
    if any(found.lost):
        _warn_not_finite(model, result, lead)
    return result


def _result(
    model: Model, found: Found, arrays: dict[str, Array], lead: Shape, tau_axes: int
) -> RolloutGradient:
    """Return the results of a sweep with the axes of the batch."""

    def reshape(x: Array, *core: int) -> Array:
        return x.reshape((*lead, *core))

    # derivatives by quaternions become those along the motion subspaces
    by_q, by_v, *by_x = found.adjoints
    tau, sums = found.tau, found.sums
    if tau is not None:
        tau = reshape(tau, *tau.shape[1:])
    elif "tau" in sums:
        tau = reshape(sums["tau"], *([1] if tau_axes > 1 else []), model.nv)
    return RolloutGradient(
        reshape(found.cost)[()],
        tangent(model, arrays["q0"], reshape(by_q, model.nq)),
        reshape(by_v, model.nv),
        tau,
        reshape(by_x[0], -1) if by_x else None,
        reshape(sums["parameters"], -1) if "parameters" in sums else None,
        reshape(sums["inertias"], model.nb, 10) if "inertias" in sums else None,
    )


def _warn_not_finite(model: Model, result: RolloutGradient, lead: Shape) -> None:
    bad = np.zeros(lead, bool)
    for x in vars(result).values():
        if x is not None:
            axes = tuple(range(len(lead), np.ndim(x)))
            bad |= ~np.isfinite(x).all(axis=axes)
    if not bad.any():
        return
    first = tuple(int(k) for k in np.argwhere(bad)[0])
    warnings.warn(
        f"{NAME} of '{visible(model.name)}': {int(bad.sum())} of {bad.size} trajectories have a "
        f"cost or derivatives that are not finite; first row {first}.  Either the motion leaves "
        "the finite numbers, as sixfold.rollout says, or a function has no derivative there",
        NonFiniteStateWarning,
        stacklevel=3,
    )


__all__ = ["RolloutGradient", "rollout_gradient"]
