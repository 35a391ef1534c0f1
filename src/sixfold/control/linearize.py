"""Linearisation: the motion near a state as dx/dt = A x + B u, or from step to step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, FixedStep, ForceFrame
from sixfold.control.step_derivatives import rate_derivatives, step_derivatives
from sixfold.errors import NotApplicableError, OptionError, visible
from sixfold.evaluate import plain_argument, quantity
from sixfold.evaluate.quantities import FORCE_FRAMES, refuse_constraints
from sixfold.model import Model
from sixfold.optional import optional
from sixfold.show import block, matrix, plain
from sixfold.simulation import INTEGRATORS, System
from sixfold.simulation.arguments import choice, step_length
from sixfold.simulation.system import unpack

STANDARD_INTEGRATOR: FixedStep = "semi_implicit_euler"
MAX_SHOWN = 16
"""States of a linearisation whose matrices a notebook shows."""
_Two = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Linearization:
    """The motion near a state: dx/dt = A x + B u, or x' = A x + B u after a step of length dt.

    x = (dq, dv), shape (..., 2 nv), is how far a state is from the one that the operating point
    moves to: dq along the motion subspaces, `difference(model, q0, q)`, and v - v0.  u, shape
    (..., nv), is how much the joint forces differ from tau.

    `A, B = linearization` unpacks the matrices.
    """

    A: Array
    """How states act, shape (..., 2 nv, 2 nv): per second, or over a step if there is a dt."""
    B: Array
    """How joint forces act, shape (..., 2 nv, nv): per second, or over a step if there is a dt."""
    model: Model
    """The robot."""
    q: Array
    """The operating point: configuration [rad or m], shape (..., nq)."""
    v: Array
    """Its velocity [rad/s or m/s], shape (..., nv)."""
    tau: Array
    """Its joint forces [N m or N], shape (..., nv)."""
    dt: float | None = None
    """Length of a step [s]; None in continuous time."""
    integrator: FixedStep | None = None
    """Of the step, as in `rollout`; None in continuous time."""

    def __iter__(self) -> Iterator[Array]:
        """Yield A and B."""
        return iter((self.A, self.B))

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the elements of x, 'q[joint]' and 'v[joint]', by the names of velocities."""
        names = self.model.coordinates.v_names
        return (*(f"q[{name}]" for name in names), *(f"v[{name}]" for name in names))

    @property
    def input_names(self) -> tuple[str, ...]:
        """A name for each element of u: 'tau[joint]'."""
        return tuple(f"tau[{name}]" for name in self.model.coordinates.v_names)

    def select(self, *index: int) -> Linearization:
        """Return one linearisation of a batch, by its place along the leading axes."""
        lead = self.A.shape[:-2]
        whole = all(isinstance(k, int) and not isinstance(k, bool) for k in index)
        inside = len(index) == len(lead) and all(
            -n <= k < n for k, n in zip(index, lead, strict=True) if whole
        )
        if not (whole and inside):
            words = f"a whole number for each leading axis of shape {lead}"
            raise OptionError("Linearization.select", "index", words, index)
        parts = (self.A, self.B, self.q, self.v, self.tau)
        A, B, q, v, tau = (x[index] for x in parts)
        return Linearization(A, B, self.model, q, v, tau, self.dt, self.integrator)

    def to_control(self) -> Any:
        """Return the linearisation as a `control.StateSpace` of the python-control library.

        Its outputs are the states.  States and inputs have the names of `state_names` and
        `input_names`, with an underscore for each dot, which python-control reserves.

        Raises:
            NotApplicableError: if python-control is not installed, or this is a batch.
        """
        if self.A.ndim != 2:
            where = f"a batch of linearisations, shape {self.A.shape[:-2]}"
            raise NotApplicableError("to_control", where, "linearize one state, or select(index)")
        control = optional("control", "to_control")
        n, m = self.B.shape
        states = [name.replace(".", "_") for name in self.state_names]
        return control.StateSpace(
            np.asarray(self.A, float),
            np.asarray(self.B, float),
            np.eye(n),
            np.zeros((n, m)),
            0 if self.dt is None else self.dt,
            states=states,
            outputs=states,
            inputs=[name.replace(".", "_") for name in self.input_names],
        )

    def __repr__(self) -> str:
        """Print the model, the time and the shapes."""
        time = "continuous" if self.dt is None else f"dt={self.dt:g}, {self.integrator}"
        shapes = f"A {self.A.shape}, B {self.B.shape}"
        return f"Linearization of '{visible(self.model.name)}' ({time}): {shapes}"

    def _repr_html_(self) -> str:
        """Return the matrices if they are small, for notebooks."""
        head = f"<p>{plain(repr(self))}</p>"
        if self.A.ndim != 2 or len(self.A) > MAX_SHOWN:
            return block(head)
        names = f"<p>x = ({plain(', '.join(self.state_names))})</p>"
        return block(head, names, matrix("A", self.A), matrix("B", self.B))


def linearize(
    model: System | Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: float | None = None,
    integrator: FixedStep | None = None,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
) -> Linearization:
    """Return A and B of the motion near a state, exact to rounding.

    States are x = (dq, dv) in the tangent space: dq along the motion subspaces, nv numbers, also
    for spherical and free joints.  Without dt, A and B are those of dx/dt = A x + B u; the upper
    left block of A is zero for joints whose velocity is dq/dt, and e -> [e, v] for others, because
    the axes in which dq is measured turn with the body.  With dt they are the derivative of one
    step of `rollout`, the joint forces constant during the step.

    The state need not be an equilibrium: x is measured from the state that q, v moves to.

    A model with constraints (loops) is linearised in continuous time, in all of its nv coordinates.
    Directions that keep the constraints stay among themselves; the others are those of a loop that
    gapes, and mean nothing.  At rest, A of the former is N^T da/dq N with J N = 0.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        dt: length of a step [s]; continuous time if left out.
        integrator: of the step, as in `rollout`: "semi_implicit_euler" (if left out), "rk4",
            "lie_rk4" or "midpoint".
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6); it stays the same.
        f_ext_frame: "world" (the force stays in the world while q changes) or "body".

    Returns:
        A `Linearization` with A, shape (..., 2 nv, 2 nv), B, shape (..., 2 nv, nv), and the
        operating point; `A, B = linearize(...)` works too.  States where a joint has no inertia
        behind it give NaN and one SingularPivotWarning.

    Raises:
        ShapeError, NumberError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect beside the others, or for steps of a model
            with constraints, which end in a projection.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> A, B = sf.linearize(sf.load("pendulum"), [np.pi], [0.0], [0.0])  # upright
        >>> A.round(3)
        array([[ 0.   ,  1.   ],
               [18.167,  0.   ]])
        >>> B.round(3)
        array([[0.   ],
               [3.704]])
        >>> np.sort(np.linalg.eigvals(A)).round(3)  # it falls
        array([-4.262,  4.262])
    """
    model, own = unpack("linearize", model, ("f_ext", "f_ext_frame"))
    if f_ext is None and own.get("f_ext") is not None:
        f_ext, f_ext_frame = own["f_ext"], own["f_ext_frame"]
    if dt is not None:
        fix = "leave dt out, or differentiate whole runs with sixfold.rollout_gradient"
        refuse_constraints("linearize: option 'dt'", model, fix)
    n = model.nv
    q, v, tau, f_ext = (
        plain_argument("linearize", name, x, model, sizes)
        for name, x, sizes in (
            ("q", q, "nq"),
            ("v", v, "nv"),
            ("tau", tau, "nv"),
            ("f_ext", f_ext, "nb 6"),
        )
    )
    if dt is None:
        if integrator is not None:
            where, fix = "a linearisation in continuous time", "pass dt=..., or leave it out"
            raise NotApplicableError("linearize: option 'integrator'", where, fix)
        upper, lower = _rates(model, q, v, tau, f_ext, f_ext_frame=f_ext_frame)
    else:
        integrator = STANDARD_INTEGRATOR if integrator is None else integrator
        choice("linearize", "integrator", INTEGRATORS, integrator)
        dt = step_length("linearize", dt)
        # an array of the leading shape takes the prepared call
        plain = isinstance(q, np.ndarray) and q.dtype == np.float64 and q.ndim > 0
        steps = np.full(np.shape(q)[:-1], dt) if plain else dt
        upper, lower = _step(
            model, q, v, tau, steps, f_ext, integrator=integrator, f_ext_frame=f_ext_frame
        )
    lead = upper.shape[:-3]
    A, B = upper.reshape(*lead, 2 * n, 2 * n), lower.reshape(*lead, 2 * n, n)
    at, speed, push = (
        np.array(np.broadcast_to(x, (*lead, size))) for x, size in ((q, model.nq), (v, n), (tau, n))
    )
    return Linearization(A, B, model, at, speed, push, dt, integrator)


_FORCES = {"f_ext_frame": FORCE_FRAMES}
_AS_FRAME = {"f_ext_frame": "frame"}


@quantity(
    rate_derivatives,
    "4 nv nv",
    "2 nv nv",
    options=_FORCES,
    keywords=_AS_FRAME,
    solves=True,
    part_of="linearize",
)
def _rates(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two:
    """Return the numbers of A and B in continuous time."""
    raise NotImplementedError


@quantity(
    step_derivatives,
    "4 nv nv",
    "2 nv nv",
    options={"integrator": tuple(INTEGRATORS), **_FORCES},
    keywords=_AS_FRAME,
    solves=True,
    part_of="linearize",
)
def _step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    integrator: FixedStep,
    f_ext_frame: ForceFrame = "world",
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two:
    """Return the numbers of A and B of one step."""
    raise NotImplementedError
