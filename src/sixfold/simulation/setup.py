"""What `simulate` and `rollout` integrate, checked, and one step of it on flat lists of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.dynamics.contact.scene import Scene
from sixfold.evaluate import numbers_array
from sixfold.model import Model
from sixfold.scalar import Scalar, if_positive
from sixfold.simulation.callbacks.callbacks import Callback
from sixfold.simulation.ground_step import ground_step
from sixfold.simulation.integrators import INTEGRATORS
from sixfold.simulation.stabilization import NO_STABILIZATION, Stabilization
from sixfold.simulation.stops import Stop
from sixfold.simulation.system import System, system_of

CORE_AXES = {"parameters": 1, "inertias": 2, "f_ext": 2, "gains": 1, "tau": 1}
"""Arrays that stay the same in all steps, in the order in which a step takes them, each with the
number of axes that it has for one trajectory."""


@dataclass(frozen=True)
class Setup:
    """A motion to integrate: the robot, what acts on it, and how steps are taken.

    The state of one trajectory is (q, v, x, carry, residual): x are the controller's own states,
    the carry holds what rounding took from earlier sums, if steps are compensated, and the residual
    is the largest one of the contact solver in all steps so far.
    """

    caller: str
    model: Model
    integrator: str
    compensated: bool = True
    """Carry what rounding takes from the sums of a step over to the next step."""
    control: Callback | None = None
    force: Callback | None = None
    parameters: Array | None = None
    """Numbers for the controller, shape (..., n)."""
    inertias: Array | None = None
    """Inertial parameters in place of the model's own, shape (..., nb, 10)."""
    f_ext: Array | None = None
    """Constant external forces, shape (..., nb, 6)."""
    f_ext_frame: str = "world"
    stops: tuple[Stop, ...] = ()
    gains: Array | None = None
    """Stiffness and damping of each stop, shape (..., 2 len(stops))."""
    tau: Array | None = None
    """Joint forces beside those of the controller, shape (..., nv) or (..., steps, nv)."""
    tau_each: bool = False
    """The joint forces have an axis of steps."""
    hold: bool = False
    """Evaluate the controller once in each step."""
    backend: str | None = None
    dynamics: str | None = None
    """Method of forward dynamics."""
    compiled: bool | None = None
    """Whether to insist on compiled callbacks, or on Python."""
    others: tuple[Callable[..., Any], ...] = ()
    """Further callbacks of the same run."""
    disturbed: bool = False
    """One of the others has changed what compiled callbacks read: they run as Python."""
    stabilization: Stabilization = NO_STABILIZATION
    """What keeps the model's constraints from drifting apart."""
    contacts: Scene | None = None
    """What may touch."""
    dtype: str = "float64"
    """Precision of compiled steps."""

    @property
    def states(self) -> int:
        """How many states the controller has."""
        return 0 if self.control is None else self.control.states

    @cached_property
    def carried(self) -> tuple[int, ...]:
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
        return sum(self.carried)

    def parts(self, row: Any) -> list[Any]:
        """Split states (..., size), or one list, into the parts of `carried`."""
        ends = np.cumsum(self.carried).tolist()
        spans = [slice(end - n, end) for n, end in zip(self.carried, ends, strict=True)]
        return [row[span] if isinstance(row, list) else row[..., span] for span in spans]

    def start(self, q: Array, v: Array, x: Array | None) -> list[Array]:
        """Return the parts of the states at the start."""
        parts = [q, v, *([] if x is None else [x])]
        return [*parts, *(np.zeros(n) for n in self.carried[len(parts) :])]

    # -- the arrays of a kernel

    @cached_property
    def constants(self) -> dict[str, Array]:
        """Arrays that stay the same in all steps, one axis for each trajectory, in order."""
        found: dict[str, Array] = {}
        for name, axes in CORE_AXES.items():
            array = getattr(self, name)
            if array is not None and not (name == "tau" and self.tau_each):
                found[name] = array.reshape((*array.shape[: array.ndim - axes], -1))
        return found

    @property
    def fixed(self) -> list[int]:
        """Sizes of the arrays that stay the same: dt, then the constants."""
        return [1, *(array.shape[-1] for array in self.constants.values())]

    @property
    def each(self) -> list[int]:
        """Sizes of the arrays that have numbers for each step: t, then tau if it has."""
        return [1, *([self.model.nv] if self.tau_each else [])]

    def arrays(self, parts: Sequence[Array], dt: float, times: Array) -> list[Array]:
        """Return all arguments of a kernel; times is (steps, 1)."""
        tau = [self.tau] if self.tau_each and self.tau is not None else []
        return [*parts, np.array([dt]), *self.constants.values(), times, *tau]

    def key(self, digests: tuple[tuple[str, str], ...]) -> tuple[Any, ...]:
        """Return what identifies the step, given the digests of its callbacks' programs."""
        return (
            "step",
            digests,
            self.model.digest,
            self.integrator,
            self.compensated,
            self.f_ext_frame,
            self.stops,
            self.hold,
            self.dynamics,
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

    def at(self, *lists: Sequence[Scalar]) -> tuple[System, Any, Any, list[Any], Any]:
        """Return what `after` takes, of the flat lists of a step."""
        n = len(self.carried)
        given = dict(zip(("dt", *self.constants, "t"), lists[n:], strict=False))
        if self.tau_each:
            given["tau"] = lists[-1]
        inertias, parameters = given.get("inertias"), given.get("parameters")
        system = system_of(
            self.model,
            self.control,
            parameters=None if parameters is None else numbers_array(parameters),
            f_ext=numbers_array(given["f_ext"]) if "f_ext" in given else self.force,
            f_ext_frame=self.f_ext_frame,
            stops=self.stops,
            gains=tuple(given.get("gains", ())),
            method=self.dynamics,
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
            push: joint forces beside those of the controller.
        """
        q, v, *more = self.parts(state)
        worst = more.pop() if self.contacts is not None else []
        carry = more.pop() if self.compensated else []
        v = [*v, *(more[0] if more else [])]
        following: list[Any] = []
        if self.hold:
            system, following = system.zero_order_hold(t, q, v)
            v = v[: self.model.nv]
        if push is not None:
            system = system.pushed(push)
        if self.contacts is not None:
            system, residual = system.touching(t, q, v, h)
            moved, faster = ground_step(system, self.model, t, q, v, h)
            # the largest of all steps so far
            largest = if_positive(residual - worst[0], residual, worst[0])
            return [*self._closed(system, moved, faster), *following, largest]
        method = INTEGRATORS[self.integrator]
        if not self.compensated:
            moved, faster = method(system, t, q, v, h)
            return [*self._closed(system, moved, faster), *following]
        used = carry[: len(carry) - len(following)]
        moved, faster, left = method.compensated(system, t, q, v, h, used)
        closed = self._closed(system, moved, faster)
        return [*closed, *following, *left, *[0.0] * len(following)]

    def _closed(self, system: Any, q: list[Any], v: list[Any]) -> list[Any]:
        """Return q and v after a step, projected on the constraints if that is asked for."""
        if not self.stabilization.projects:
            return [*q, *v]
        nv = self.model.nv
        return [*system.projected(q, v[:nv]), *v[nv:]]

    def of_row(self, lead: Shape, index: Shape) -> Setup:
        """Return the setup of one trajectory of a batch."""
        own: dict[str, Any] = {}
        for name, axes in CORE_AXES.items():
            array = getattr(self, name)
            if array is not None:
                core = array.shape[array.ndim - axes :]
                own[name] = np.broadcast_to(array, (*lead, *core))[index]
        return replace(self, **own)
