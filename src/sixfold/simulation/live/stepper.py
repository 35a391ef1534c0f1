"""`sf.Stepper`: one prepared step of many rows, with observation and reward in the same kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import Callback, FixedStep, ForceFrame, Method, Precision, Stabilization
from sixfold.contact import Ground
from sixfold.errors import CallbackError, NotApplicableError, OptionError, ShapeError
from sixfold.evaluate import (
    model_checked,
    refuse_singular,
    run_kernel,
    run_scan,
)
from sixfold.model import Model
from sixfold.simulation.checks.constraints import closed_start, stabilization_of
from sixfold.simulation.checks.contacts import MAX_RESIDUAL, warn_residual
from sixfold.simulation.checks.options import (
    check_fixed_step,
    check_force_frame,
    check_shared,
    choice,
    inertial_parameters,
    refuse_idle,
    refuse_negative_masses,
    touching,
    vector,
    wrenches,
)
from sixfold.simulation.checks.start import states_of, step_count, step_length
from sixfold.simulation.live.checks import (
    action_size,
    are_plain,
    bounds_of,
    chosen_rows,
    floats,
    row_count,
)
from sixfold.simulation.live.functions import action_law, step_function, traced_together
from sixfold.simulation.live.program import StepProgram
from sixfold.simulation.setup import Setup
from sixfold.simulation.stops import JointStops, stops_of

STEPS_BETWEEN_CHECKS = 100
"""Steps between two looks at the residuals of contact."""


class Stepper:
    """Steps of many robots for a loop that owns the time: an environment, a controller, a device.

    Everything is prepared once: the checks, the kernel and the memory.  A step is one call of one
    kernel, which also computes what your functions observe and reward.  Rows do not depend on each
    other: their bits are the same in any batch.

    Your functions must be pure.  They are traced when the stepper is made: numbers that they read
    from elsewhere stay as they were then.  Pass numbers that change as `parameters`.

    Args:
        model: the robot.
        rows: how many robots; None for one, whose arrays have no leading axis.
        dt: length of a step of the integrator [s].
        substeps: steps of the integrator in one call of `step`, under the same action.
        integrator: as in `rollout`.
        control: function of (t, q, v, action), or of (t, q, v, action, parameters), that returns
            the joint forces.  Left out, the action is the joint forces.
        actions: how many numbers an action has; nv without a controller.
        bounds: (low, high) that actions are clipped to, each a number or an array (actions,).
        observe: function of (t, q, v) that returns an array: what `step` and `reset` return.
        reward: function of (t, q, v, action), at the end of the step, that returns one number.
        terminate: function of (t, q, v) that returns one number: above zero, the row has ended.
        parameters: numbers for your functions, shape (n,) or (rows, n); they take them last.
        inertias: inertial parameters in place of the model's own, (nb, 10) or (rows, nb, 10).
        f_ext: external forces on all bodies, (nb, 6) or (rows, nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)`: joint limits push back.
        contacts: the ground and what may touch it.
        method: of forward dynamics, as in `forward_dynamics`.
        stabilize: what keeps the constraints of a model, as in `simulate`.
        compiled: True says that your functions remember nothing between calls.
        dtype: "float64" or "float32".

    Attributes:
        q, v, t: states and times since the last reset, of all rows.  Like everything that `step`
            returns they are the stepper's own memory, written again by the second step after:
            copy what you keep.
        parameters, inertias, f_ext: arrays that you may write to between steps; None if they were
            not given.

    Raises:
        CallbackError: if a function of yours cannot be compiled.
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect beside the others.

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
        model: Model,
        rows: int | None = None,
        *,
        dt: float,
        substeps: int = 1,
        integrator: FixedStep = "semi_implicit_euler",
        control: Callback | None = None,
        actions: int | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        observe: Callback | None = None,
        reward: Callback | None = None,
        terminate: Callback | None = None,
        parameters: ArrayLike | None = None,
        inertias: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
        f_ext_frame: ForceFrame = "world",
        limits: bool | JointStops | None = None,
        contacts: Ground | None = None,
        method: Method | None = None,
        stabilize: Stabilization | None = None,
        compiled: bool | None = None,
        dtype: Precision = "float64",
    ) -> None:
        self.model = model_checked("Stepper", model)
        self.rows = row_count(rows)
        self._lead: Shape = () if rows is None else (self.rows,)
        check_fixed_step("Stepper", integrator)
        mine = (control, observe, reward, terminate)
        choice("Stepper", "compiled", (None, True), compiled)
        given = any(f is not None for f in mine)
        none, fix = "a stepper without functions of yours", "leave it out"
        refuse_idle("Stepper", "compiled", compiled is not None and not given, none, fix)
        refuse_idle("Stepper", "parameters", parameters is not None and not given, none, fix)
        controlled = {"control": True, "parameters": None, "x0": None}
        check_shared("Stepper", model, method, False, None, None, **controlled)
        choice("Stepper", "dtype", ("float64", "float32"), dtype)
        check_force_frame("Stepper", f_ext, f_ext_frame)
        self.dt = step_length("Stepper", dt)
        self.substeps = step_count("Stepper", "substeps", substeps)
        self.actions = action_size(model, control, actions)
        self._labels = model.coordinates.v_names if control is None else None
        self.dtype = np.dtype(dtype)
        self._one_action = (self.actions,) if self.rows == 1 else None
        scene = touching("Stepper", model, contacts, integrator, self.dt, method=method is not None)
        if inertias is None:
            refuse_singular(model)
        arrays, lead = states_of(
            "Stepper",
            model,
            None,
            None,
            parameters=vector("Stepper", "parameters", parameters, "parameters"),
            inertias=inertial_parameters(model, inertias),
            f_ext=wrenches(model, f_ext),
        )
        if lead not in ((), self._lead):
            expected = f"{self._lead}, or no leading axes"
            raise ShapeError("Stepper", "arrays", f"leading axes {expected}", lead, "fix rows")
        refuse_negative_masses("Stepper", arrays)
        self.parameters = self._own(arrays.get("parameters"), 1)
        self.inertias = self._own(arrays.get("inertias"), 2)
        self.f_ext = self._own(arrays.get("f_ext"), 2)
        self.f_ext_frame = f_ext_frame
        stops, gains = stops_of("Stepper", model, limits, arrays["q0"], arrays.get("inertias"))
        n = None if parameters is None else arrays["parameters"].shape[-1]
        law = action_law(model, control, self.actions, n)
        setup = Setup(
            "Stepper",
            model,
            integrator,
            compensated=False,
            control=law,
            parameters=None if control is None else np.zeros(self.actions + (n or 0)),
            inertias=None if inertias is None else np.zeros((model.nb, 10)),
            f_ext=None if f_ext is None else np.zeros((model.nb, 6)),
            f_ext_frame=f_ext_frame,
            stops=stops,
            gains=None if gains is None else np.zeros(gains.shape[-1]),
            tau=np.zeros(model.nv) if control is None else None,
            dynamics=method,
            stabilization=stabilization_of("Stepper", model, stabilize),
            contacts=scene,
            dtype=dtype,
        )
        functions = {
            "observe": step_function(observe, "observe", "t, q, v", n, number=False),
            "reward": step_function(
                reward, "reward", "t, q, v, action", n, number=True, actions=self.actions
            ),
            "terminate": step_function(terminate, "terminate", "t, q, v", n, number=True),
        }
        own = {"parameters": self.parameters, "inertias": self.inertias, "f_ext": self.f_ext}
        own["gains"] = self._own(gains, 1)
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
        self._steps_to_check = STEPS_BETWEEN_CHECKS if scene is not None else -1
        self.reset()

    def _prepare(self, compiled: bool | None) -> None:
        """Compile, and allocate two buffers that steps write to in turn."""
        program = self._program
        self._compiled = compiled
        made, self._digests = traced_together(
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
        return self.steps_taken * self.dtype.type(self.dt)

    @property
    def bounds(self) -> tuple[Array, Array] | None:
        """What actions are clipped to: low and high, shape (actions,) each; None for no bounds."""
        each = self._program.bounds
        return (np.array([a for a, _ in each]), np.array([b for _, b in each])) if each else None

    @property
    def steps_taken(self) -> Array:
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
        real = isinstance(t, (int, float, np.number)) and not isinstance(t, bool)
        if not real or not 0 <= t < 1e9:
            raise OptionError("Stepper.put", "t", "a time >= 0 [s]", t)
        self._put(q, v, rows)
        self._state[0][chosen_rows(rows, self.rows, bool(self._lead))] = round(float(t) / self.dt)

    def _put(self, q: Any, v: Any, rows: Any) -> None:
        chosen = chosen_rows(rows, self.rows, bool(self._lead))
        if are_plain(self.model, chosen, q, v):
            self._write(chosen, np.asarray(q), np.asarray(v))
            return
        arrays, lead = states_of("Stepper.reset", self.model, q, v)
        wanted = self._lead if rows is None else self._state[0][chosen].shape[:1]
        if lead not in ((), wanted):
            expected = f"leading axes {wanted}: one state for each row that is reset"
            raise ShapeError("Stepper.reset", "q, v", expected, lead, "or pass one state for all")
        closed_start("Stepper.reset", self.model, arrays)
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
            raise ShapeError("Stepper.returns", "actions", expected, given.shape, "fix its axes")
        if self._returns is None:
            self._returns = self._traced_again()
        if self._returns is None:
            where = f"a step of '{self.model.name}', which is too long to be compiled"
            raise NotApplicableError("Stepper.returns", where, "use step")
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
        kernel, known = traced_together(
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
        """Say what it steps."""
        h = f"{self.substeps} x {self.dt:g} s" if self.substeps > 1 else f"{self.dt:g} s"
        many = "one row" if not self._lead else f"{self.rows} rows"
        return f"<Stepper of '{self.model.name}', {many}, {h}, {self._kernel.flops} operations>"
