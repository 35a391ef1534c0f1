"""`sf.Stepper`: one prepared step of many rows, with observation and reward in the same kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.contact import Ground
from sixfold.errors import NotApplicableError, OptionError, ShapeError
from sixfold.evaluate import (
    model_checked,
    refuse_singular,
    run_kernel,
    user_kernel,
)
from sixfold.model import Model
from sixfold.scalar import repeat
from sixfold.simulation.checks.constraints import closed_start, stabilization_of
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
    bounds_of,
    clipped,
    object_array,
    row_count,
)
from sixfold.simulation.live.functions import action_law, step_function, traced_together
from sixfold.simulation.setup import Setup
from sixfold.simulation.stops import stops_of


class Stepper:
    """Steps of many robots for a loop that owns the time: an environment, a controller, a device.

    Everything is prepared once: the checks, the kernel and the memory.  A step is one call of one
    kernel, which also computes what your functions observe and reward.  Rows do not depend on each
    other: their bits are the same in any batch.

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
    """

    def __init__(
        self,
        model: Model,
        rows: int | None = None,
        *,
        dt: float,
        substeps: int = 1,
        integrator: str = "semi_implicit_euler",
        control: Any = None,
        actions: int | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        observe: Any = None,
        reward: Any = None,
        terminate: Any = None,
        parameters: ArrayLike | None = None,
        inertias: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
        f_ext_frame: str = "world",
        limits: Any = None,
        contacts: Ground | None = None,
        method: str | None = None,
        stabilize: str | float | None = None,
        compiled: bool | None = None,
        dtype: str = "float64",
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
        self._bounds = bounds_of(bounds, self.actions)
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
        stops, gains = stops_of("Stepper", model, limits, arrays["q0"], arrays.get("inertias"))
        self._gains = self._own(gains, 1)
        n = None if parameters is None else arrays["parameters"].shape[-1]
        self._law = action_law(model, control, self.actions, n)
        self._setup = Setup(
            "Stepper",
            model,
            integrator,
            compensated=False,
            control=self._law,
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
        self._observe = step_function(observe, "observe", "t, q, v", n, number=False)
        self._reward = step_function(reward, "reward", "t, q, v, action", n, number=True)
        self._terminate = step_function(terminate, "terminate", "t, q, v", n, number=True)
        self._compile(compiled)
        self.reset()

    # -- what is compiled

    def _compile(self, compiled: bool | None) -> None:
        """Trace a step with the functions, and the observation by itself."""
        setup, model = self._setup, self.model
        self._fixed = (self.parameters, self.inertias, self.f_ext, self._gains)
        state: list[Shape] = [(1,), *((n,) for n in setup.carried)]
        cores: list[Shape] = [x.shape[len(self._lead) :] for x in self._fixed if x is not None]
        shapes = [*state, (self.actions,), *cores]
        functions = [f for f in (self._law, self._observe, self._reward, self._terminate) if f]
        of_state = [(1,), (model.nq,), (model.nv,)]
        rest = [] if self.parameters is None else [self.parameters.shape[len(self._lead) :]]

        def observed(t: Any, q: Any, v: Any, *parameters: Any) -> Any:
            assert self._observe is not None
            return self._observe.of(t[0], q, v, *parameters)

        def make() -> Any:
            whole = user_kernel(self._traced, "step", shapes, self.dtype.name)
            if self._observe is None:
                return whole, None
            return whole, user_kernel(observed, "observe", [*of_state, *rest], self.dtype.name)

        self._kernel, self._look = traced_together(functions, compiled, make)
        sizes = self._kernel.layout.outputs
        n = len(state)
        self._buffers = []
        for _ in range(2):
            out = tuple(np.zeros((self.rows, *size), self.dtype) for size in sizes)
            seen = out[n:] if self._lead else tuple(x[0] for x in out[n:])
            self._buffers.append((out, out[:n], seen))
        self._state = tuple(np.zeros((self.rows, *size), self.dtype) for size in state)
        self._rest = [x if self._lead else x[None] for x in self._fixed if x is not None]

    def _traced(self, n: Any, *arrays: Any) -> tuple[Any, ...]:
        """Take all substeps on symbols; return the state and what the functions say of it."""
        setup, dt, count = self._setup, self.dt, len(self._setup.carried)
        parts, fixed = arrays[:count], list(arrays[count + 1 :])
        action = clipped(arrays[count], self._bounds)
        given = dict(zip(("parameters", "inertias", "f_ext", "gains"), self._fixed, strict=True))
        named = {name: fixed.pop(0) for name, x in given.items() if x is not None}
        rest = [named["parameters"]] if "parameters" in named else []
        if self._law is None:
            named["tau"] = action
        else:
            named["parameters"] = np.concatenate([action, *rest])
        constants = [list(named[name].reshape(-1)) for name in setup.constants]

        def one(carried: Any) -> Any:
            now, *state = carried
            lists = [list(part) for part in state]
            after = setup.step(*lists, [dt], *constants, [now * dt])
            return (now + 1.0, *map(object_array, setup.parts(after)))

        done, *state = repeat(self.substeps, one, (n[0], *parts))
        t, q, v = done * dt, state[0], state[1]
        results = [np.array([done], object), *state]
        if self._observe is not None:
            results.append(self._observe.of(t, q, v, *rest))
        if self._reward is not None:
            results.append(self._reward.of(t, q, v, action, *rest))
        if self._terminate is not None:
            results.append(self._terminate.of(t, q, v, *rest))
        return tuple(results)

    def _own(self, array: Array | None, axes: int) -> Array | None:
        """Return an array of all rows that the user may write to."""
        if array is None:
            return None
        core = array.shape[array.ndim - axes :]
        return np.array(np.broadcast_to(array, (*self._lead, *core)), self.dtype)

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
    def steps_taken(self) -> Array:
        """Steps of the integrator since the last reset of each row, shape (rows,)."""
        return self._of_rows(0)[..., 0]

    def _of_rows(self, k: int) -> Array:
        return self._state[k] if self._lead else self._state[k][0]

    def reset(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, *, rows: Any = None
    ) -> Array | None:
        """Put rows into a state, at time zero, with contacts that start from no force.

        Args:
            q: configurations, shape (nq,) or one for each of the rows; None for the neutral one.
            v: velocities, likewise; None for rest.
            rows: which: a mask of all rows, or their numbers; None for all of them.

        Returns:
            What `observe` says of all rows; None without it.
        """
        self.put(q, v, rows=rows)
        return self.observation()

    def put(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, *, rows: Any = None
    ) -> None:
        """Put rows into a state as `reset` does, without an observation."""
        chosen = self._chosen(rows)
        if self._are_plain(chosen, q, v):
            self._write(chosen, np.asarray(q), np.asarray(v))
            return
        arrays, lead = states_of("Stepper.reset", self.model, q, v)
        wanted = self._lead if rows is None else self._state[0][chosen].shape[:1]
        if lead not in ((), wanted):
            expected = f"leading axes {wanted}: one state for each row that is reset"
            raise ShapeError("Stepper.reset", "q, v", expected, lead, "or pass one state for all")
        closed_start("Stepper.reset", self.model, arrays)
        self._write(chosen, arrays["q0"], arrays["v0"])

    def _are_plain(self, chosen: Any, q: Any, v: Any) -> bool:
        """Return whether there is nothing to check: finite arrays, one state for each number."""
        model = self.model
        if model.constraints or model.coordinates.quaternions or not isinstance(chosen, np.ndarray):
            return False
        if chosen.dtype == bool or type(q) is not np.ndarray or type(v) is not np.ndarray:
            return False
        shapes = (len(chosen), model.nq), (len(chosen), model.nv)
        if (q.shape, v.shape) != shapes or q.dtype != np.float64 or v.dtype != np.float64:
            return False
        return bool(np.isfinite(q).all() and np.isfinite(v).all())

    def _write(self, chosen: Any, q: Array, v: Array) -> None:
        for part in (self._state[0], *self._state[3:]):
            part[chosen] = 0.0
        self._state[1][chosen], self._state[2][chosen] = q, v

    def observation(self, rows: Any = None) -> Array | None:
        """Return what `observe` says of some rows as they are; None without it."""
        if self._look is None:
            return None
        chosen = self._chosen(rows)
        n, q, v = (x[chosen] for x in self._state[:3])
        rest = [] if self.parameters is None else [self._rest[0][chosen]]
        found: Array = self._look(n * self.dtype.type(self.dt), q, v, *rest)
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
            given = np.ascontiguousarray(action, self.dtype)
        if given.shape != (self.rows, self.actions):
            given = given[None] if given.shape == self._one_action else self._broadcast(given)
        out, state, seen = self._buffers[0]
        run_kernel(self._kernel, (*self._state, given, *self._rest), (self.rows,), out)
        self._buffers.reverse()
        self._state = state
        return seen

    def _broadcast(self, action: Array) -> Array:
        try:
            wide = np.broadcast_to(action, (self.rows, self.actions))
        except ValueError:
            expected = f"({self.actions},) or {(*self._lead, self.actions)}"
            fix = "pass one action, or one for each row"
            raise ShapeError("Stepper.step", "action", expected, action.shape, fix) from None
        return np.ascontiguousarray(wide)

    def _chosen(self, rows: Any) -> Any:
        """Return an index of rows, or say what is wrong with it."""
        if rows is None:
            return slice(None)
        if not self._lead:
            raise NotApplicableError("Stepper: option 'rows'", "one row", "leave it out")
        index = np.asarray(rows)
        mask = index.dtype == bool and index.shape == self._lead
        whole = np.issubdtype(index.dtype, np.integer) and index.ndim == 1
        if not mask and not whole:
            words = f"a mask of shape {self._lead}, or numbers of rows"
            raise OptionError("Stepper", "rows", words, rows)
        if whole and index.size and not (-self.rows <= index.min() and index.max() < self.rows):
            raise OptionError("Stepper", "rows", f"numbers from 0 to {self.rows - 1}", rows)
        return index

    def __repr__(self) -> str:
        """Say what it steps."""
        h = f"{self.substeps} x {self.dt:g} s" if self.substeps > 1 else f"{self.dt:g} s"
        many = "one row" if not self._lead else f"{self.rows} rows"
        return f"<Stepper of '{self.model.name}', {many}, {h}, {self._kernel.flops} operations>"
