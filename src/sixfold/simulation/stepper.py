"""`sf.Stepper`: one prepared step of many rows, with observation and reward in the same kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import Callback, FixedStep, Precision
from sixfold.errors import (
    CallbackError,
    NotApplicableError,
    NumberError,
    OptionError,
    ShapeError,
    real_number,
    whole_number,
)
from sixfold.model import Model
from sixfold.runtime import (
    Argument,
    checked_array,
    enough_memory,
    numbers_array,
    run_kernel,
    run_scan,
    scan_kernel,
    user_kernel,
)
from sixfold.scalar import if_positive, repeat
from sixfold.simulation.arguments import (
    check_fixed_step,
    choice,
    refuse_idle,
    satisfy_constraints,
    states_of,
    step_count,
    step_length,
    vector,
)
from sixfold.simulation.callbacks import ActionLaw, StepFunction, action_law, step_function
from sixfold.simulation.contact.scene import MAX_RESIDUAL, warn_residual
from sixfold.simulation.step import CORE_AXES, Setup, prepare
from sixfold.simulation.system import StepperOptions, System, refuse_fields, system_of
from sixfold.simulation.tracing import trace_together

#: Fields of a system that a stepper does not take, and why.
NOT_STEPPED = {
    "x0": ("a stepper, whose controller has no states", "pass them as parameters"),
    "hold": ("a stepper, whose action is held during a step", "leave it out"),
    "compensated": ("a stepper, whose steps are those of plain sums", "leave it out"),
    "backend": ("a stepper, which is compiled", "leave it out"),
}
MAX_ROWS = 1 << 28  #: More rows than any memory holds.
MAX_ACTIONS = 10_000  #: Numbers of an action, each of them a symbol.


def floats(
    caller: str, name: str, value: Any, n: int, dtype: Any, labels: Sequence[str] | None = None
) -> Array:
    """Return numbers (..., n) as an array of a dtype in C order, or raise."""
    meaning = "one number for each of an action"
    array = checked_array(caller, name, Argument(value, (n,), meaning, labels=(labels,)))
    try:
        with enough_memory(caller, f"argument '{name}'"):
            return np.ascontiguousarray(array, dtype)
    except (TypeError, ValueError):
        where = f"{caller}: argument '{name}' does not hold plain numbers"
        raise NumberError(
            where, "floats", f"dtype {array.dtype}", "convert it by astype(float)"
        ) from None


def are_plain(model: Model, chosen: Any, q: Any, v: Any) -> bool:
    """Return whether states need no check: finite arrays, one for each of some rows by number."""
    if model.constraints or model.coordinates.quaternions or not isinstance(chosen, np.ndarray):
        return False
    if chosen.dtype == bool or type(q) is not np.ndarray or type(v) is not np.ndarray:
        return False
    shapes = (len(chosen), model.nq), (len(chosen), model.nv)
    if (q.shape, v.shape) != shapes or q.dtype != np.float64 or v.dtype != np.float64:
        return False
    return bool(np.isfinite(q).all() and np.isfinite(v).all())


def chosen_rows(rows: Any, count: int, several: bool) -> Any:
    """Return an index of rows, or raise if it is wrong.

    Args:
        rows: a mask, numbers, or None for all rows.
        count: how many rows there are.
        several: whether arrays have an axis of rows.
    """
    if rows is None:
        return slice(None)
    if not several:
        raise NotApplicableError("Stepper: option 'rows'", "one row", "leave it out")
    index = np.asarray(rows)
    mask = index.dtype == bool and index.shape == (count,)
    whole = np.issubdtype(index.dtype, np.integer) and index.ndim == 1
    if not mask and not whole:
        words = f"a mask of shape {(count,)}, or numbers of rows"
        raise OptionError("Stepper", "rows", words, rows)
    if whole and index.size and not (-count <= index.min() and index.max() < count):
        raise OptionError("Stepper", "rows", f"numbers from 0 to {count - 1}", rows)
    return index


def object_array(numbers: Sequence[Any]) -> Any:
    """Return traced numbers as an array that may be carried by `repeat`."""
    found = np.empty(len(numbers), object)
    found[:] = numbers
    return found


def clip_action(action: Any, bounds: Sequence[tuple[float, float]]) -> Any:
    """Return an action within its bounds."""
    if not bounds:
        return action
    inside = []
    for x, (low, high) in zip(action, bounds, strict=True):
        above = if_positive(x - low, x, low)
        inside.append(if_positive(above - high, high, above))
    return numbers_array(inside)


def bounds_of(bounds: Any, actions: int) -> tuple[tuple[float, float], ...]:
    """Return (low, high) for each number of an action; none if they are not bounded."""
    if bounds is None:
        return ()
    words = f"(low, high), numbers or arrays ({actions},), with low < high"
    try:
        low, high = (np.broadcast_to(np.asarray(x, float), (actions,)) for x in bounds)
    except (TypeError, ValueError):
        raise OptionError("Stepper", "bounds", words, bounds) from None
    if not (low < high).all():
        raise OptionError("Stepper", "bounds", words, bounds)
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def row_count(rows: Any) -> int:
    """Return how many rows a stepper has."""
    if rows is None:
        return 1
    words = f"a whole number from 1 to {MAX_ROWS}, or None"
    return whole_number("Stepper", "rows", rows, 1, MAX_ROWS, words)


def action_size(model: Model, control: Any, actions: Any) -> int:
    """Return how many numbers an action has."""
    if control is None:
        refuse_idle(
            "Stepper",
            "actions",
            actions is not None and actions != model.nv,
            "a stepper without a controller, whose action is the joint forces",
            "leave it out, or pass control=...",
        )
        return model.nv
    words = f"the size of an action, from 1 to {MAX_ACTIONS}"
    return whole_number("Stepper", "actions", actions, 1, MAX_ACTIONS, words)


#: Functions of the user's own whose results a step returns, in order.
SEEN = ("observe", "reward", "terminate")


@dataclass(frozen=True)
class StepProgram:
    """What a stepper compiles: substeps under one action, then the user's functions."""

    setup: Setup
    dt: float
    substeps: int
    actions: int
    bounds: tuple[tuple[float, float], ...]
    law: ActionLaw | None
    functions: Mapping[str, StepFunction]  #: Those of SEEN that there are.
    #: Shapes of the arrays that stay the same: parameters, inertias, f_ext, gains.
    fixed: Mapping[str, Shape]

    @property
    def callbacks(self) -> list[Any]:
        """All functions of the user's own."""
        return [*([] if self.law is None else [self.law]), *self.functions.values()]

    @property
    def state(self) -> list[Shape]:
        """Shapes of the parts of a state: the number of steps, q, v, and what contact keeps."""
        return [(1,), *((n,) for n in self.setup.state_sizes)]

    def kernels(self) -> tuple[Any, Any]:
        """Return the kernel of a step and that of an observation; None for what is not compiled."""
        dtype, shapes = self.setup.dtype, [*self.state, (self.actions,), *self.fixed.values()]
        whole = user_kernel(self.step, "step", shapes, dtype)
        look = self.functions.get("observe")
        if look is None:
            return whole, None
        rest = [self.fixed["parameters"]] if "parameters" in self.fixed else []

        def observe(n: Any, q: Any, v: Any, *parameters: Any) -> Any:
            return look.of(n[0] * self.dt, q, v, *parameters)

        return whole, user_kernel(observe, "observe", [*self.state[:3], *rest], dtype)

    def step(self, n: Any, *arrays: Any) -> tuple[Any, ...]:
        """Take all substeps on symbols; return the state and what the functions say of it."""
        state, named, action = self._advance(n[0], arrays)
        return (*state, *(self._call(name, state, named, action) for name in self.functions))

    def _advance(self, n: Any, arrays: Sequence[Any]) -> tuple[list[Any], dict[str, Any], Any]:
        setup, count = self.setup, len(self.setup.state_sizes)
        # the action takes the place of the joint forces, or comes before the law's parameters
        action = clip_action(arrays[count], self.bounds)
        named = dict(zip(self.fixed, arrays[count + 1 :], strict=True))
        given = dict(named)
        if self.law is None:
            given["tau"] = action
        else:
            given["parameters"] = np.concatenate([action, *self._parameters(named)])
        constants = [list(given[name].reshape(-1)) for name in setup.constants]

        def one(carried: Any) -> Any:
            now, *parts = carried
            after = setup.step(*map(list, parts), [self.dt], *constants, [now * self.dt])
            return (now + 1.0, *map(object_array, setup.parts(after)))

        done, *state = repeat(self.substeps, one, (n, *arrays[:count]))
        return [object_array([done]), *state], named, action

    def _call(self, name: str, state: Sequence[Any], named: Mapping[str, Any], action: Any) -> Any:
        """Return what one of the user's functions says of a state."""
        n, q, v = state[:3]
        acted = [action] if name == "reward" else []
        return self.functions[name].of(n[0] * self.dt, q, v, *acted, *self._parameters(named))

    @staticmethod
    def _parameters(named: Mapping[str, Any]) -> list[Any]:
        return [named["parameters"]] if "parameters" in named else []

    # -- many steps

    def returns_kernel(self) -> Any:
        """Return a kernel that sums rewards over many steps, the loop inside; None without code.

        It carries the state, the sum, and 1.0 while the row has not ended.
        """
        sizes = [shape[0] for shape in self.state]
        fixed = [int(np.prod(shape)) for shape in self.fixed.values()]
        name = f"returns of '{self.setup.model.name}'"
        return scan_kernel(
            self._accumulate,
            [*sizes, 1, 1],
            fixed,
            [self.actions],
            name=name,
            dtype=self.setup.dtype,
        )

    def _accumulate(self, *lists: Sequence[Any]) -> list[Any]:
        """Take one step on flat lists: state, sum, going; fixed arrays; action."""
        # state, sum of rewards, whether the row continues; constants; the action of this step
        n = len(self.state)
        (n0,), *parts = lists[:n]
        (total,), (going,), action = lists[n], lists[n + 1], lists[-1]
        shapes = self.fixed.values()
        fixed = [
            numbers_array(list(x)).reshape(shape)
            for x, shape in zip(lists[n + 2 : -1], shapes, strict=True)
        ]
        arrays = [*map(numbers_array, parts), numbers_array(list(action)), *fixed]
        state, named, used = self._advance(n0, arrays)
        reward = self._call("reward", state, named, used)[()]
        if "terminate" in self.functions:
            over = self._call("terminate", state, named, used)[()]
            still = if_positive(over, 0.0, going)
        else:
            still = going
        after = [x for part in state for x in part]
        return [*after, total + going * reward, still]


STEPS_BETWEEN_CHECKS = 100  #: Steps between two looks at the residuals of contact.


class Stepper:
    """Steps of many robots for a loop that owns the time: an environment, a controller, a device.

    Everything is prepared once: the checks, the kernel and the memory.  A step is one call of one
    kernel, which also computes what your functions observe and reward.  Rows do not depend on each
    other: their bits are the same in any batch.

    Your functions must be pure.  They are traced when the stepper is made: numbers that they read
    from elsewhere stay as they were then.  Pass numbers that change as `parameters`.

    Args:
        system: what moves, a `System`, or a model with the fields of a system as keywords.  Its
            control is a function of (t, q, v, action), or of (t, q, v, action, parameters), that
            returns the joint forces.  Without one, the action is the joint forces.
        rows: how many robots; None for one, whose arrays have no leading axis.
        dt: length of a step of the integrator [s].
        substeps: steps of the integrator in one call of `step`, under the same action.
        integrator: as in `rollout`.
        actions: how many numbers an action has; nv without a controller.
        bounds: (low, high) that actions are clipped to, each a number or an array (actions,).
        observe: function of (t, q, v) that returns an array: what `step` and `reset` return.
        reward: function of (t, q, v, action), at the end of the step, that returns one number.
        terminate: function of (t, q, v) that returns one number: above zero, the row has ended.
        parameters: numbers for your functions, shape (n,) or (rows, n); they take them last.
        compiled: True says that your functions remember nothing between calls.
        dtype: "float64" or "float32".
        options: fields of `System`; inertias, shape (nb, 10) or (rows, nb, 10), and external forces
            f_ext, shape (nb, 6) or (rows, nb, 6), may be written to between steps.

    Attributes:
        q, v, t: states and times since the last reset, of all rows.  Like everything that `step`
            returns they are the stepper's own memory, written again by the second step after:
            copy what you keep.
        parameters, inertias, f_ext: arrays that you may write to between steps; None if they were
            not given.

    Raises:
        CallbackError: if a function of yours cannot be compiled.
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect with the others.
        TooLargeError: if contact couples more bodies than can be compiled in a minute or so.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> robots = sf.Stepper(sf.load("cart_pendulum"), rows=3, dt=1e-3, substeps=10)
        >>> start = robots.reset()
        >>> after = robots.step(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))  # push the carts
        >>> robots.q.shape, robots.t.round(3), bool(np.isclose(robots.q[2, 0], 2 * robots.q[1, 0]))
        ((3, 2), array([0.01, 0.01, 0.01]), True)
    """

    def __init__(
        self,
        system: System | Model,
        rows: int | None = None,
        *,
        dt: float,
        substeps: int = 1,
        integrator: FixedStep = "semi_implicit_euler",
        actions: int | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        observe: Callback | None = None,
        reward: Callback | None = None,
        terminate: Callback | None = None,
        parameters: ArrayLike | None = None,
        compiled: bool | None = None,
        dtype: Precision = "float64",
        **options: Unpack[StepperOptions],
    ) -> None:
        system = system_of(Stepper, system, options)
        self.model = model = system.model
        self.rows = row_count(rows)
        self._lead: Shape = () if rows is None else (self.rows,)
        check_fixed_step("Stepper", integrator)
        refuse_fields("Stepper", system, NOT_STEPPED)
        control = system.control
        parameters = system.parameters if parameters is None else parameters
        compiled = system.compiled if compiled is None else compiled
        choice("Stepper", "compiled", (None, True), compiled)
        choice("Stepper", "dtype", ("float64", "float32"), dtype)
        given = any(f is not None for f in (control, observe, reward, terminate))
        none, fix = "a stepper without functions of yours", "leave it out"
        refuse_idle("Stepper", "compiled", compiled is not None and not given, none, fix)
        refuse_idle("Stepper", "parameters", parameters is not None and not given, none, fix)
        if callable(system.f_ext):
            where, fix = "a stepper, whose external forces are an array", "write them to .f_ext"
            raise NotApplicableError("Stepper: option 'f_ext'", where, fix)
        self.dt = step_length("Stepper", dt)
        self.substeps = step_count("Stepper", "substeps", substeps)
        self.actions = action_size(model, control, actions)
        self._labels = model.coordinates.v_names if control is None else None
        self.dtype = np.dtype(dtype)
        self._one_action = (self.actions,) if self.rows == 1 else None
        # the controller takes an action, which those of other motions do not
        prepared = prepare(
            "Stepper",
            replace(system, control=None, parameters=None, compiled=None),
            None,
            None,
            integrator=integrator,
            dt=self.dt,
            compensated=False,
            dtype=dtype,
            parameters=vector("Stepper", "parameters", parameters, "parameters"),
        )
        arrays = prepared.setup.given
        if prepared.lead not in ((), self._lead):
            expected = f"leading axes {self._lead}, or no leading axes"
            fix = f"give one row for each of the {self.rows} robots, or one row for all"
            raise ShapeError("Stepper", "arrays", expected, prepared.lead, fix)
        # arrays that the user may write to between steps: copies, one for each row
        own = {name: self._own(arrays.get(name), axes) for name, axes in CORE_AXES.items()}
        self.parameters, self.inertias, self.f_ext = (
            own[name] for name in ("parameters", "inertias", "f_ext")
        )
        self.f_ext_frame = system.f_ext_frame
        n = None if parameters is None else arrays["parameters"].shape[-1]
        law = action_law(model, control, self.actions, n)
        # shapes of the arrays of one row, as a step takes them
        cores: dict[str, Array] = {
            name: np.zeros(x.shape[len(self._lead) :]) for name, x in own.items() if x is not None
        }
        cores.pop("parameters", None)
        if law is None:
            cores["tau"] = np.zeros(model.nv)
        else:
            cores["parameters"] = np.zeros(self.actions + (n or 0))
        setup = replace(prepared.setup, control=law, given=cores)
        functions = {
            "observe": step_function(observe, "observe", "t, q, v", n, number=False),
            "reward": step_function(
                reward, "reward", "t, q, v, action", n, number=True, actions=self.actions
            ),
            "terminate": step_function(terminate, "terminate", "t, q, v", n, number=True),
        }
        self._program = StepProgram(
            setup,
            self.dt,
            self.substeps,
            self.actions,
            bounds_of(bounds, self.actions),
            law,
            {name: f for name, f in functions.items() if f is not None},
            {name: x.shape[len(self._lead) :] for name, x in own.items() if x is not None},
        )
        self._rest = [x if self._lead else x[None] for x in own.values() if x is not None]
        self._prepare(compiled)
        contacts = setup.contacts is not None
        self._steps_to_check = STEPS_BETWEEN_CHECKS if contacts else -1
        self.reset()

    def _prepare(self, compiled: bool | None) -> None:
        """Compile, and allocate two buffers that steps write to in turn."""
        program = self._program
        self._compiled = compiled
        made, self._digests = trace_together(
            self.model, program.callbacks, compiled, program.kernels
        )
        self._kernel, self._look = made
        self._returns: Any = None
        n = len(program.state)
        self._buffers = []
        for _ in range(2):
            sizes = self._kernel.layout.outputs
            out = tuple(np.zeros((self.rows, *size), self.dtype) for size in sizes)
            seen = out[n:] if self._lead else tuple(x[0, ...] for x in out[n:])
            self._buffers.append((out, out[:n], seen))
        self._state = tuple(np.zeros((self.rows, *size), self.dtype) for size in program.state)

    def _own(self, array: Array | None, axes: int) -> Array | None:
        """Return an array of all rows that the user may write to."""
        if array is None:
            return None
        core = array.shape[array.ndim - axes :]
        return np.array(np.broadcast_to(array, (*self._lead, *core)), self.dtype, order="C")

    # -- use

    @property
    def q(self) -> Array:
        """Configurations, shape (rows, nq)."""
        return self._of_rows(1)

    @property
    def v(self) -> Array:
        """Velocities, shape (rows, nv)."""
        return self._of_rows(2)

    @property
    def t(self) -> Array:
        """Time since the last reset of each row [s], shape (rows,)."""
        return self.step_counts * self.dtype.type(self.dt)

    @property
    def bounds(self) -> tuple[Array, Array] | None:
        """What actions are clipped to: low and high, shape (actions,) each; None for no bounds."""
        each = self._program.bounds
        return (np.array([a for a, _ in each]), np.array([b for _, b in each])) if each else None

    @property
    def step_counts(self) -> Array:
        """Steps of the integrator since the last reset of each row, shape (rows,)."""
        return self._of_rows(0)[..., 0]

    @property
    def contact_residual(self) -> Array:
        """Largest relative residual of the contact solver since the last reset, shape (rows,)."""
        if self._program.setup.contacts is None:
            return np.zeros(self._lead, self.dtype)
        return self._of_rows(-1)[..., 0]

    def _of_rows(self, k: int) -> Array:
        return self._state[k] if self._lead else self._state[k][0]

    def reset(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        rows: ArrayLike | None = None,
    ) -> Array | None:
        """Put rows into a state, at time zero, with residuals of contact at zero.

        Args:
            q: configurations, shape (nq,) or one for each of the rows; None for the neutral one.
            v: velocities, likewise; None for rest.
            rows: which: a mask of all rows, or their numbers; None for all of them.

        Returns:
            What `observe` says of all rows; None without it.
        """
        self._put(q, v, rows)
        return self.observation()

    def put(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        rows: ArrayLike | None = None,
        t: float = 0.0,
    ) -> None:
        """Put rows into a state as `reset` does, without an observation.

        Args:
            q: configurations.
            v: velocities.
            rows: which.
            t: time of the state [s], for functions that depend on it; the nearest step.
        """
        time = real_number("Stepper.put", "t", t, "a time >= 0 [s]", lambda x: 0 <= x < 1e9)
        self._put(q, v, rows)
        self._state[0][chosen_rows(rows, self.rows, bool(self._lead))] = round(time / self.dt)

    def _put(self, q: Any, v: Any, rows: Any) -> None:
        chosen = chosen_rows(rows, self.rows, bool(self._lead))
        if are_plain(self.model, chosen, q, v):
            self._write(chosen, np.asarray(q), np.asarray(v))
            return
        arrays, lead = states_of("Stepper.reset", self.model, q, v)
        wanted = self._lead if rows is None else self._state[0][chosen].shape[:1]
        if lead not in ((), wanted):
            expected = f"leading axes {wanted}: one state for each row that is reset"
            raise ShapeError(
                "Stepper.reset", "q, v", expected, lead, "pass one state for all, or one each"
            )
        satisfy_constraints("Stepper.reset", self.model, arrays)
        self._write(chosen, arrays["q0"], arrays["v0"])

    def _write(self, chosen: Any, q: Array, v: Array) -> None:
        for part in (self._state[0], *self._state[3:]):
            part[chosen] = 0.0
        self._state[1][chosen], self._state[2][chosen] = q, v

    def observation(self, rows: ArrayLike | None = None) -> Array | None:
        """Return what `observe` says of some rows as they are; None without it."""
        if self._look is None:
            return None
        chosen = chosen_rows(rows, self.rows, bool(self._lead))
        rest = [] if self.parameters is None else [self._rest[0]]
        found: Array = self._look(*(x[chosen] for x in (*self._state[:3], *rest)))
        return found if self._lead else found[0]

    def step(self, action: ArrayLike) -> tuple[Array, ...]:
        """Take `substeps` steps of all rows under an action.

        Args:
            action: shape (actions,) or (rows, actions).

        Returns:
            Observation, reward and the number of `terminate`, those of them that there are.  They
            are written again by the second step after this one.
        """
        given = action
        if type(given) is not np.ndarray or given.dtype != self.dtype or not given.flags.carray:
            given = floats("Stepper.step", "action", action, self.actions, self.dtype, self._labels)
        if given.shape != (self.rows, self.actions):
            given = given[None] if given.shape == self._one_action else self._broadcast(given)
        # the buffer of the step before the last: what the last step returned stays valid
        out, state, seen = self._buffers[0]
        run_kernel(self._kernel, (*self._state, given, *self._rest), (self.rows,), out)
        self._buffers.reverse()
        self._state = state
        if self._steps_to_check >= 0:
            self._steps_to_check -= 1
            if not self._steps_to_check:
                self._check_residual()
        return seen

    def _check_residual(self) -> None:
        """Warn once if the contact solver did not converge; states keep the largest residual."""
        residual = float(self._state[-1].max(initial=0.0))
        self._steps_to_check = -1 if residual > MAX_RESIDUAL else STEPS_BETWEEN_CHECKS
        warn_residual("Stepper", self.model, residual, stacklevel=4)

    def returns(self, actions: ArrayLike) -> Array:
        """Return the sums of rewards of many sequences of actions, from where the robot is.

        All of them run in one kernel with the time loop inside, on several threads if there are
        many.  The stepper itself stays where it is.  A sequence earns no more once `terminate` says
        that it has ended.

        Args:
            actions: shape (sequences, steps, actions).

        Returns:
            Sums, shape (sequences,); NaN where a sequence leaves the finite numbers.

        Raises:
            NotApplicableError: for a stepper of several rows, or one without a reward.
        """
        if self._lead or "reward" not in self._program.functions:
            where = "a stepper of several rows" if self._lead else "a stepper without a reward"
            raise NotApplicableError("Stepper.returns", where, "make one with rows=None, reward=")
        given = floats(
            "Stepper.returns", "actions", actions, self.actions, self.dtype, self._labels
        )
        if given.ndim != 3 or not given.shape[1]:
            expected = f"(sequences, steps, {self.actions})"
            raise ShapeError(
                "Stepper.returns", "actions", expected, given.shape, "add the axes that lack"
            )
        if self._returns is None:
            self._returns = self._traced_again()
        if self._returns is None:
            where = f"a step of '{self.model.name}', which is too long to be compiled"
            raise NotApplicableError("Stepper.returns", where, "use step")
        # all sequences start where the one robot is: its state broadcasts over them
        steps, one = given.shape[1], self.dtype.type(1)
        sums = [np.zeros((1, 1), self.dtype), np.full((1, 1), one)]
        rest = [x.reshape(1, -1) for x in self._rest]
        arrays = [*self._state, *sums, *rest, given]
        found, _ = run_scan(self._returns, arrays, given.shape[:1], steps, steps)
        total: Array = found[-2][:, 0, 0]
        return total

    def _traced_again(self) -> Any:
        """Return the kernel of `returns`; the functions must do what they did at the beginning."""
        program = self._program
        kernel, known = trace_together(
            self.model, program.callbacks, self._compiled, program.returns_kernel
        )
        changed = [name for name, digest in known if (name, digest) not in self._digests]
        if changed:
            raise CallbackError(
                f"Stepper.returns: {changed[0]}",
                "the function that the stepper was made with",
                "one that does something else: what it reads has changed since",
                "make a new stepper, or pass what changes as parameters",
            )
        return kernel

    def _broadcast(self, action: Array) -> Array:
        try:
            wide = np.broadcast_to(action, (self.rows, self.actions))
        except ValueError:
            expected = f"({self.actions},) or {(*self._lead, self.actions)}"
            fix = "pass one action, or one for each row"
            raise ShapeError("Stepper.step", "action", expected, action.shape, fix) from None
        return np.ascontiguousarray(wide)

    def __repr__(self) -> str:
        """Print the model, the rows and the step."""
        h = f"{self.substeps} x {self.dt:g} s" if self.substeps > 1 else f"{self.dt:g} s"
        many = "one row" if not self._lead else f"{self.rows} rows"
        return f"<Stepper of '{self.model.name}', {many}, {h}, {self._kernel.flops} operations>"


class PlainStates:
    """Puts rows into states, and looks at states, without the checks of `Stepper.put`."""

    def __init__(self, stepper: Stepper) -> None:
        """Take the stepper."""
        self._stepper = stepper

    @property
    def observation_shape(self) -> Shape | None:
        """Shape of what `observe` says of one row; None without it."""
        look = self._stepper._look
        return None if look is None else tuple(look.layout.outputs[0])

    def fit(self, rows: Array, q: Array, v: Array) -> bool:
        """Return whether states need no check: one for each of some rows by number."""
        return are_plain(self._stepper.model, rows, q, v)

    def put(self, rows: Array, q: Array, v: Array) -> None:
        """Put rows into states, at time zero."""
        self._stepper._write(rows, q, v)

    def observation(self, time: Array, q: Array, v: Array, *parameters: Array) -> Array:
        """Return what `observe` says of states that no row need be in, time as (n, 1)."""
        found: Array = self._stepper._look(time, q, v, *parameters)
        return found


__all__ = ["PlainStates", "Stepper"]
