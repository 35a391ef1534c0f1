"""A system on numbers, step by step: for controllers that cannot be compiled, and for big trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixfold.errors import SingularPivotWarning
from sixfold.evaluate import forward_dynamics
from sixfold.evaluate.arrays import Array, Shape
from sixfold.simulate.callbacks import Callback
from sixfold.simulate.floating import floats_freely
from sixfold.simulate.system import System

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

    def forces(self, t: Any, q: Array, v: Array) -> Array:
        """Return the controller's joint forces and what follows them, shape of v."""
        return np.zeros_like(v) if self.rows is None else self.rows(t, q, v)

    def accelerations(self, t: Any, q: Array, v: Array, tau: Array) -> Array:
        """Return accelerations under these joint forces, shape (..., nv)."""
        pushed = tau
        if self.stops:
            pushed = tau.copy()
            for stop in self.stops:
                pushed[..., stop.v] += stop.force(q[..., stop.q], v[..., stop.v])
        outside = None if self.wrenches is None else self.wrenches(t, q, v)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularPivotWarning)
            if outside is None and self.method is None and self.backend is None:
                return forward_dynamics(self.model, q, v, pushed)
            frame = {} if outside is None else {"f_ext_frame": self.f_ext_frame}
            options: dict[str, Any] = {"method": self.method, "backend": self.backend, **frame}
            return forward_dynamics(self.model, q, v, pushed, outside, **options)

    def acceleration(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return dv/dt as a list of numbers, each holding the batch."""
        at, u, nv = joined(q), joined(v), self.model.nv
        both = self.forces(t, at, u)
        a = self.accelerations(t, at, u[..., :nv], both[..., :nv])
        return split(a) + split(both[..., nv:])

    def unhindered(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> bool:
        """Return true when nothing but gravity acts on a floating base at this state."""
        if self.wrenches is not None or not floats_freely(self.model):
            return False
        return not self.forces(t, joined(q), joined(v))[..., :6].any()

    def held(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> tuple[Numeric, list[Any]]:
        """Return the system whose controller goes on giving the forces of this state."""
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


def joined(values: Sequence[Any]) -> Array:
    """Return numbers that each hold a batch as one array, the batch first."""
    lead: Shape = np.shape(values[0]) if len(values) else ()
    out = np.empty((*lead, len(values)))
    for k, value in enumerate(values):
        out[..., k] = value
    return out


def split(array: Array) -> list[Any]:
    """Return the numbers of a state: floats, or arrays that hold the batch."""
    if array.ndim == 1:
        return list(array.tolist())
    return [array[..., k] for k in range(array.shape[-1])]
