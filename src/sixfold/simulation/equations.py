"""The equations of motion: on flat lists of any kind of number, and on arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.dynamics.contact.scene import Scene
from sixfold.errors import SingularPivotWarning
from sixfold.model import Model, Tree
from sixfold.quantities import readings
from sixfold.quantities.constraints import project
from sixfold.quantities.dynamics import forward_dynamics, forward_dynamics_reading
from sixfold.runtime import evaluate_once, kernel_tree, numbers_array
from sixfold.scalar import ZERO, Scalar
from sixfold.simulation.callbacks import Callback
from sixfold.simulation.free_flight import (
    are_zero,
    correct_turn,
    has_free_base,
    is_rigid,
    momentum_drift,
)
from sixfold.simulation.joint_stops import Stop
from sixfold.spatial import Vector3

Numbers = Sequence[Scalar]


@dataclass(frozen=True)
class Equations:
    """The right-hand side of the equations of motion, on flat lists of any kind of number.

    `control(t, q, v)` returns the joint forces and `force(t, q, v)` the external forces of one
    state, both as flat lists; None means there are none.

    A controller may have states x of its own.  They follow the velocities wherever those appear:
    `v` is then (v, x), its rate (dv/dt, dx/dt), and `control` returns (tau, dx/dt).
    """

    model: Model
    control: Callable[[Scalar, Numbers, Numbers], Numbers] | None = None
    force: Callable[[Scalar, Numbers, Numbers], Numbers] | None = None
    f_ext_frame: str = "world"
    stops: tuple[Stop, ...] = ()
    gains: Numbers = ()  #: Stiffness and damping of each stop, one after the other.
    tree: Tree | None = None  #: The model's tree with other constants; its own by default.
    states: int = 0  #: How many states the controller has.
    method: str | None = None  #: Of forward dynamics; chosen by the model by default.
    stabilization: float | None = None  #: Rate at which constraint forces pull gaps shut [1/s].
    contacts: Scene | None = None  #: What may touch.
    solved: Numbers | None = None  #: Accelerations under contact that are known already, and dx/dt.

    @property
    def additive(self) -> tuple[tuple[int, int], ...]:
        """Coordinates that are plain sums of their velocities: index in q, index in v."""
        return self.model.coordinates.additive

    def effort(self, t: Scalar, q: Numbers, v: Numbers) -> list[Scalar]:
        """Return the joint forces of the controller, and the rates of its states."""
        return [ZERO] * self.model.nv if self.control is None else list(self.control(t, q, v))

    def acceleration(self, t: Scalar, q: Numbers, v: Numbers) -> list[Scalar]:
        """Return the acceleration under control, external forces and stops, and dx/dt."""
        if self.solved is not None:
            return list(self.solved)
        return list(evaluate_once(self._acceleration, [t], q, v))

    def _forces_at(self, t: Scalar, q: Numbers, v: Numbers) -> tuple[Any, Any, Any]:
        """Return joint forces with those of the stops, rates of states, and external forces."""
        nv = self.model.nv
        both = self.effort(t, q, v)
        tau, rates = both[:nv], both[nv:]
        for k, stop in enumerate(self.stops):
            gains = self.gains[2 * k : 2 * k + 2]
            tau[stop.v] = tau[stop.v] + stop.force(q[stop.q], v[stop.v], *gains)
        return tau, rates, None if self.force is None else self.force(t, q, v[:nv])

    def with_contact_accelerations(
        self, t: Scalar, q: Numbers, v: Numbers, h: Scalar
    ) -> tuple[Equations, Scalar]:
        """Return the system whose accelerations under contact are known at this state.

        With it comes the residual of the contact solver.
        """
        assert self.contacts is not None
        tau, rates, outside = self._forces_at(t, q, v)
        page = partial(readings.contact_forces, frame=self.f_ext_frame)
        tree = self.tree or kernel_tree(page, self.model)
        found = readings.contact_dynamics(
            self.model,
            tree,
            q,
            v[: self.model.nv],
            tau,
            outside,
            scene=self.contacts,
            frame=self.f_ext_frame,
            h=h,
        )
        return replace(self, solved=[*found.a, *rates]), found.residual

    def _acceleration(self, time: Numbers, q: Numbers, v: Numbers) -> list[Scalar]:
        (t,) = time
        u = v[: self.model.nv]
        tau, rates, outside = self._forces_at(t, q, v)
        solve = self.solver()
        tree = self.tree or kernel_tree(solve, self.model)
        return [*solve(self.model, tree, q, u, tau, outside), *rates]

    def solver(self) -> partial[list[Scalar]]:
        """Return the core of forward dynamics."""
        solve = forward_dynamics_reading(self.model, self.f_ext_frame, self.method)
        if self.stabilization is None:
            return solve
        return partial(solve, stabilization=self.stabilization)

    def project(self, q: Numbers, v: Numbers) -> list[Scalar]:
        """Return q and v of the nearest state that satisfies the constraints."""
        page = readings.project
        return page(self.model, self.tree or kernel_tree(page, self.model), q, v)

    def zero_order_hold(self, t: Scalar, q: Numbers, v: Numbers) -> tuple[Equations, list[Scalar]]:
        """Return the system whose controller holds the forces of this state (zero-order hold).

        With it comes what the controller returned after its forces: the next values of its states.
        """
        if self.control is None:
            return self, []
        both, nv = self.effort(t, q, v), self.model.nv
        return replace(self, control=lambda *_: both[:nv], states=0), both[nv:]

    def with_joint_forces(self, push: Numbers) -> Equations:
        """Return the system with joint forces added to those of its controller."""
        tau = list(push)
        if self.control is None:
            return replace(self, control=lambda *_: list(tau))

        def law(t: Scalar, q: Numbers, v: Numbers) -> list[Scalar]:
            both = self.effort(t, q, v)
            return [a + b for a, b in zip(both, tau, strict=False)] + both[len(tau) :]

        return replace(self, control=law)

    def rate(self, q: Numbers, v: Numbers) -> list[Scalar]:
        """Return dq/dt."""
        return readings.position_rate(self.model, self.model.tree, q, v[: self.model.nv])

    def move(self, q: Numbers, dq: Numbers) -> list[Scalar]:
        """Return the configuration reached from q by a velocity-space increment."""
        return readings.integrate(self.model, self.model.tree, q, dq[: self.model.nv])

    def add(self, q: Numbers, dq: Numbers) -> list[Scalar]:
        """Return q + dq, with quaternions scaled to unit length."""
        total = [a + b for a, b in zip(q, dq, strict=True)]
        return self.move(total, [ZERO] * self.model.nv)

    def bracket(self, a: Numbers, b: Numbers) -> list[Scalar]:
        """Return the Lie bracket of two velocities, joint by joint."""
        result: list[Scalar] = []
        for free in self.model.coordinates.free:
            result += free.joint.bracket(a[free.v], b[free.v])
        return result + [ZERO] * self.states

    def conserve_momentum(
        self, t: Scalar, q: Numbers, v: Numbers, dq: Numbers, dv: Numbers, h: Scalar
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return a step's increments; in free flight, corrected to conserve momentum."""
        dq, dv = list(dq), list(dv)
        if self.is_free_flight(t, q, v):
            model, tree, nv = self.model, self.tree or self.model.tree, self.model.nv
            # correct the rotation of the step, then what position and velocity of the base lack
            before = model.positions(q), model.velocities(v[:nv])
            faster = [a + b for a, b in zip(v, dv, strict=True)]
            speeds = model.velocities(faster[:nv])
            for _ in range(2 if is_rigid(tree) else 0):  # the first leaves the square of its angle
                moved = model.positions(self.move(q, dq))
                dq[:3] = correct_turn(tree, *before, moved, speeds, Vector3(*dq[:3]))
            after = model.positions(self.move(q, dq)), speeds
            displacement, speed = momentum_drift(tree, *before, *after, h)
            dq[3:6] = [a + b for a, b in zip(dq[3:6], displacement, strict=True)]
            dv[:6] = [a + b for a, b in zip(dv[:6], speed, strict=True)]
        return dq, dv

    def is_free_flight(self, t: Scalar, q: Numbers, v: Numbers) -> bool:
        """Return whether nothing but gravity is known to act on a floating base."""
        if self.force is not None or not has_free_base(self.model):
            return False
        return are_zero(self.effort(t, q, v)[:6])


def equations_of(
    model: Model,
    control: Callback | None = None,
    *,
    parameters: Any = None,
    f_ext: Any = None,
    **options: Any,
) -> Equations:
    """Return the system of a model under laws that are written with arrays of one state.

    Args:
        model: the robot.
        control: the controller.
        parameters: array handed to the controller, of numbers of any kind.
        f_ext: array (nb, 6), or a function of (t, q, v) that returns one.
        options: other fields of the system.
    """
    nv = model.nv

    def law(t: Scalar, q: Numbers, v: Numbers) -> list[Scalar]:
        assert control is not None
        x = numbers_array(v[nv:]) if control.states else None
        return flat(control(t, numbers_array(q), numbers_array(v[:nv]), x, parameters))

    def wrenches(t: Scalar, q: Numbers, v: Numbers) -> list[Scalar]:
        return flat(f_ext(t, numbers_array(q), numbers_array(v)) if callable(f_ext) else f_ext)

    return Equations(
        model,
        None if control is None else law,
        None if f_ext is None else wrenches,
        states=0 if control is None else control.states,
        **options,
    )


def flat(values: Any) -> list[Scalar]:
    """Return the elements of an array as a list of Python numbers."""
    return list(np.asarray(values).reshape(-1).tolist())


Rows = Callable[[float, Array, Array], Array]


@dataclass(frozen=True)
class ArrayEquations(Equations):
    """The equations of motion on floats or on arrays that hold a batch.

    Accelerations come from `sixfold.forward_dynamics` for the whole batch at once; `rows` and
    `wrenches` give controller and external forces for states of shapes (..., nq) and (..., nv).
    """

    rows: Rows | None = None
    wrenches: Rows | None = None
    backend: str | None = None
    #: Inertial parameters instead of the model's own, shape (..., nb, 10).
    inertias: Array | None = None

    def forces(self, t: Any, q: Array, v: Array) -> Array:
        """Return the controller's joint forces and the rates of its states, in the shape of v."""
        return np.zeros_like(v) if self.rows is None else self.rows(t, q, v)

    def accelerations(self, t: Any, q: Array, v: Array, tau: Array) -> Array:
        """Return accelerations under these joint forces, shape (..., nv)."""
        pushed, outside = self._with_stop_forces(q, v, tau), self._external_forces(t, q, v)
        if self.inertias is not None or self.stabilization is not None:
            return self._in_numpy(q, v, pushed, outside)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularPivotWarning)
            # the plain call takes the prepared kernel
            if outside is None and self.method is None and self.backend is None:
                return forward_dynamics(self.model, q, v, pushed)
            frame = {} if outside is None else {"f_ext_frame": self.f_ext_frame}
            options: dict[str, Any] = {"method": self.method, "backend": self.backend, **frame}
            return forward_dynamics(self.model, q, v, pushed, outside, **options)

    def _in_numpy(self, q: Array, v: Array, tau: Array, outside: Array | None) -> Array:
        """Return accelerations that no public function gives, in NumPy's arithmetic.

        With other inertias than the model's, or with constraints that pull their gaps shut.
        """
        solve = self.solver()
        forces = None
        if outside is not None:
            forces = split(outside.reshape((*outside.shape[:-2], -1)))
        tree = self._own_tree()
        values = solve(self.model, tree, split(q), split(v), split(tau), forces)
        return stack_numbers(values, q.shape[:-1])

    def _own_tree(self) -> Tree:
        if self.inertias is None:
            return self.model.tree
        flat = self.inertias.reshape((*self.inertias.shape[:-2], -1))
        return self.model.tree.with_inertias(split(flat))

    def project(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return q and v of the nearest states that satisfy the constraints."""
        if self.inertias is not None or self.backend is not None:
            found = readings.project(self.model, self._own_tree(), q, v)
            return list(found)
        x, u = project(self.model, stack_numbers(q), stack_numbers(v))
        return split(x) + split(u)

    def with_joint_forces(self, push: Any) -> ArrayEquations:
        """Return the system with joint forces (..., nv) added to those of its controller."""
        nv = self.model.nv

        def rows(t: Any, q: Array, v: Array) -> Array:
            both = np.array(np.broadcast_to(self.forces(t, q, v), v.shape))
            both[..., :nv] += push
            return both

        return replace(self, rows=rows)

    def with_contact_accelerations(
        self, t: Any, q: Sequence[Any], v: Sequence[Any], h: Any
    ) -> tuple[ArrayEquations, Any]:
        """Return the system whose accelerations under contact are known, and the residual."""
        at, u, nv = stack_numbers(q), stack_numbers(v), self.model.nv
        both = self.forces(t, at, u)
        found = self.response(t, at, u[..., :nv], both[..., :nv], h)
        a = stack_numbers(found.a, at.shape[:-1])
        return replace(self, solved=split(a) + split(both[..., nv:])), found.residual

    def response(self, t: Any, q: Array, v: Array, tau: Array, h: Any = None) -> Any:
        """Return the response of contacts under these joint forces, in NumPy's arithmetic."""
        pushed, outside = self._with_stop_forces(q, v, tau), self._external_forces(t, q, v)
        assert self.contacts is not None
        return readings.contact_dynamics(
            self.model,
            self._own_tree(),
            split(q),
            split(v),
            split(pushed),
            None if outside is None else split(outside.reshape((*outside.shape[:-2], -1))),
            scene=self.contacts,
            frame=self.f_ext_frame,
            h=h,
        )

    def _with_stop_forces(self, q: Array, v: Array, tau: Array) -> Array:
        """Return joint forces with those of the stops."""
        if not self.stops:
            return tau
        pushed = tau.copy()
        for k, stop in enumerate(self.stops):
            gains = self.gains[2 * k : 2 * k + 2]
            pushed[..., stop.v] += stop.force(q[..., stop.q], v[..., stop.v], *gains)
        return pushed

    def _external_forces(self, t: Any, q: Array, v: Array) -> Array | None:
        return None if self.wrenches is None else self.wrenches(t, q, v)

    def acceleration(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return dv/dt as a list of numbers, each holding the batch."""
        if self.solved is not None:
            return list(self.solved)
        at, u, nv = stack_numbers(q), stack_numbers(v), self.model.nv
        both = self.forces(t, at, u)
        a = self.accelerations(t, at, u[..., :nv], both[..., :nv])
        return split(a) + split(both[..., nv:])

    def is_free_flight(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> bool:
        """Return whether nothing but gravity acts on a floating base at this state."""
        if self.wrenches is not None or not has_free_base(self.model):
            return False
        return not self.forces(t, stack_numbers(q), stack_numbers(v))[..., :6].any()

    def zero_order_hold(
        self, t: Any, q: Sequence[Any], v: Sequence[Any]
    ) -> tuple[ArrayEquations, list[Any]]:
        """Return the system whose controller holds the forces of this state (zero-order hold)."""
        if self.rows is None:
            return self, []
        both, nv = self.forces(t, stack_numbers(q), stack_numbers(v)), self.model.nv
        tau = both[..., :nv]
        return replace(self, rows=lambda *_: tau, states=0), split(both[..., nv:])


class RowByRow:
    """A callback applied to each state of a batch; the last result is kept for the same state.

    A recorded sample is also the first stage of the next step: the controller sees it once.
    """

    def __init__(self, callback: Callback, rest: tuple[Array, ...] = ()) -> None:
        """Take the callback and its parameters, shape (..., n)."""
        self._callback, self._rest = callback, rest
        self._last: tuple[float, Array, Array, Array] | None = None

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the results for all states, (..., *shape); states of the controller follow v."""
        if self._last is not None:
            t0, q0, v0, result = self._last
            if t == t0 and np.array_equal(q, q0) and np.array_equal(v, v0):
                return result
        lead, nv = q.shape[:-1], v.shape[-1] - self._callback.states
        result = np.empty((*lead, *self._callback.shape))
        wide = [np.broadcast_to(x, (*lead, x.shape[-1])) for x in self._rest]
        for index in np.ndindex(lead):
            both = v[index].copy()
            rest = [x[index] for x in wide]
            result[index] = self._callback.at(t, q[index].copy(), both[:nv], both[nv:], *rest)
        self._last = (t, q.copy(), v.copy(), result)
        return result


def stack_numbers(values: Sequence[Any], lead: Shape | None = None) -> Array:
    """Return numbers that each hold a batch as one array, the batch first."""
    if lead is None:
        lead = np.shape(values[0]) if len(values) else ()
    out = np.empty((*lead, len(values)))
    for k, value in enumerate(values):
        out[..., k] = value
    return out


def split(array: Array) -> list[Any]:
    """Return the numbers of a state: floats, or arrays that hold the batch."""
    if array.ndim == 1:
        return list(array.tolist())
    return [array[..., k] for k in range(array.shape[-1])]
