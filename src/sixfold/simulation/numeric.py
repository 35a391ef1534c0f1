"""A system on arrays, step by step: for controllers that cannot be compiled, and large trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.errors import SingularPivotWarning
from sixfold.evaluate import forward_dynamics, project, scalar_functions
from sixfold.model import Tree
from sixfold.simulation.callbacks.callbacks import Callback
from sixfold.simulation.free_flight import has_free_base
from sixfold.simulation.system import System

Rows = Callable[[float, Array, Array], Array]


@dataclass(frozen=True)
class Numeric(System):
    """The equations of motion on floats or on arrays that hold a batch.

    Accelerations come from `sixfold.forward_dynamics` for the whole batch at once; `rows` and
    `wrenches` give controller and external forces for states of shapes (..., nq) and (..., nv).
    """

    rows: Rows | None = None
    wrenches: Rows | None = None
    backend: str | None = None
    inertias: Array | None = None
    """Inertial parameters in place of the model's own, shape (..., nb, 10)."""

    def forces(self, t: Any, q: Array, v: Array) -> Array:
        """Return the controller's joint forces and the rates of its states, in the shape of v."""
        return np.zeros_like(v) if self.rows is None else self.rows(t, q, v)

    def accelerations(self, t: Any, q: Array, v: Array, tau: Array) -> Array:
        """Return accelerations under these joint forces, shape (..., nv)."""
        pushed, outside = self._pushed_by_stops(q, v, tau), self._outside(t, q, v)
        if self.inertias is not None or self.stabilization is not None:
            return self._in_numpy(q, v, pushed, outside)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularPivotWarning)
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
        return joined(values, q.shape[:-1])

    def _own_tree(self) -> Tree:
        if self.inertias is None:
            return self.model.tree
        flat = self.inertias.reshape((*self.inertias.shape[:-2], -1))
        return self.model.tree.with_inertias(split(flat))

    def projected(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return q and v of the nearest states that satisfy the constraints."""
        if self.inertias is not None or self.backend is not None:
            found = scalar_functions.project(self.model, self._own_tree(), q, v)
            return list(found)
        x, u = project(self.model, joined(q), joined(v))
        return split(x) + split(u)

    def pushed(self, push: Any) -> Numeric:
        """Return the system with joint forces (..., nv) added to those of its controller."""
        nv = self.model.nv

        def rows(t: Any, q: Array, v: Array) -> Array:
            both = np.array(np.broadcast_to(self.forces(t, q, v), v.shape))
            both[..., :nv] += push
            return both

        return replace(self, rows=rows)

    def touching(self, t: Any, q: Sequence[Any], v: Sequence[Any], h: Any) -> tuple[Numeric, Any]:
        """Return the system whose accelerations under contact are known, and the residual."""
        at, u, nv = joined(q), joined(v), self.model.nv
        both = self.forces(t, at, u)
        found = self.response(t, at, u[..., :nv], both[..., :nv], h)
        a = joined(found.a, at.shape[:-1])
        return replace(self, solved=split(a) + split(both[..., nv:])), found.residual

    def response(self, t: Any, q: Array, v: Array, tau: Array, h: Any = None) -> Any:
        """Return the response of contacts under these joint forces, in NumPy's arithmetic."""
        pushed, outside = self._pushed_by_stops(q, v, tau), self._outside(t, q, v)
        assert self.contacts is not None
        return scalar_functions.contact_dynamics(
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

    def _pushed_by_stops(self, q: Array, v: Array, tau: Array) -> Array:
        """Return joint forces with those of the stops."""
        if not self.stops:
            return tau
        pushed = tau.copy()
        for k, stop in enumerate(self.stops):
            gains = self.gains[2 * k : 2 * k + 2]
            pushed[..., stop.v] += stop.force(q[..., stop.q], v[..., stop.v], *gains)
        return pushed

    def _outside(self, t: Any, q: Array, v: Array) -> Array | None:
        return None if self.wrenches is None else self.wrenches(t, q, v)

    def acceleration(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return dv/dt as a list of numbers, each holding the batch."""
        if self.solved is not None:
            return list(self.solved)
        at, u, nv = joined(q), joined(v), self.model.nv
        both = self.forces(t, at, u)
        a = self.accelerations(t, at, u[..., :nv], both[..., :nv])
        return split(a) + split(both[..., nv:])

    def is_free_flight(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> bool:
        """Return whether nothing but gravity acts on a floating base at this state."""
        if self.wrenches is not None or not has_free_base(self.model):
            return False
        return not self.forces(t, joined(q), joined(v))[..., :6].any()

    def zero_order_hold(
        self, t: Any, q: Sequence[Any], v: Sequence[Any]
    ) -> tuple[Numeric, list[Any]]:
        """Return the system whose controller holds the forces of this state (zero-order hold)."""
        if self.rows is None:
            return self, []
        both, nv = self.forces(t, joined(q), joined(v)), self.model.nv
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


def joined(values: Sequence[Any], lead: Shape | None = None) -> Array:
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
