"""Linearisation: the motion near a state as dx/dt = A x + B u, or from step to step.

A step of an integrator is differentiated by taking it on numbers with slopes.  The integrators only
add and scale what a system gives them.  So each number carries its derivatives with respect to the
state and the joint forces before the step, and the system propagates them through accelerations and
moves on the configuration manifold: accelerations by the derivatives of forward dynamics, moves by
the Jacobian of each joint's own rule.  One mechanism for every integrator, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import FixedStep, ForceFrame
from sixfold.errors import NotApplicableError, OptionError, visible
from sixfold.lazy import optional
from sixfold.model import Model, Tree
from sixfold.quantities import readings
from sixfold.quantities.derivatives import forward_dynamics_derivatives
from sixfold.quantities.dynamics import forward_dynamics
from sixfold.runtime import call_of, plain_argument
from sixfold.runtime.quantity import page, refuse_constraints
from sixfold.scalar import ZERO, Scalar, Zero, differentiate, plain
from sixfold.show import block, matrix
from sixfold.show import plain as escape_html
from sixfold.simulation.arguments import choice, step_length
from sixfold.simulation.integrators import INTEGRATORS, Pair
from sixfold.simulation.system import System, unpack

Numbers = Sequence[Scalar]
# one derivative for each input of the step: a list of numbers of any kind, or, where numbers are
# arrays that hold a batch, one array with the inputs along its last axis
Slopes = Any
Rule = Callable[[Numbers], Sequence[Scalar]]


class Jet:
    """A number and its derivatives with respect to the inputs of the step."""

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # arrays leave the operation to us

    def __init__(self, value: Scalar, slopes: Slopes) -> None:
        """Hold a value and one derivative for each input."""
        self.value, self.slopes = value, slopes

    def __add__(self, other: Any) -> Jet:
        """Add; numbers of any other kind are constants."""
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.slopes)
        return Jet(self.value + other.value, _sum(self.slopes, other.slopes))

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Jet:
        """Multiply by a constant."""
        return Jet(self.value * factor, _scale(self.slopes, factor))

    __rmul__ = __mul__


@page(joint_space=True)
def rate_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: ForceFrame = "world",
) -> list[Scalar]:
    """Return A, row by row, then B, of the motion in time.

    With q = q0 exp(e), both moving, de/dt = dv + [e, v]: the axes of e turn with the body.
    """
    n = model.nv
    if not n:
        return []
    given = () if f_ext is None else (f_ext,)
    found = readings.forward_dynamics_derivatives(model, tree, q, v, tau, *given, frame=frame)
    rows = [found[k : k + n] for k in range(0, 3 * n * n, n)]
    # de/dt = dv + [e, v] above; dynamics with their derivatives below
    upper = [[*row, *_unit(k, n)] for k, row in enumerate(_turning(model, v))]
    lower = [[*rows[k], *rows[n + k]] for k in range(n)]
    A = [x for row in (*upper, *lower) for x in row]
    return [*A, *[ZERO] * (n * n), *found[2 * n * n :]]


def _turning(model: Model, v: Numbers) -> list[list[Scalar]]:
    """Return the matrix of e -> [e, v]."""
    n = model.nv
    matrix: list[list[Scalar]] = [[ZERO] * n for _ in range(n)]
    for free in model.coordinates.free:
        for k in range(free.joint.nv):
            column = free.joint.bracket(_unit(k, free.joint.nv), v[free.v])
            for row, x in enumerate(column):
                matrix[free.v.start + row][free.v.start + k] = x
    return matrix


@page(joint_space=True)
def step_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    dt: Numbers,
    f_ext: Numbers | None = None,
    *,
    integrator: str,
    frame: ForceFrame = "world",
) -> list[Scalar]:
    """Return A, row by row, then B, of one step with constant joint forces.

    Rows and columns are (dq, dv): dq along the motion subspaces.  Columns of B are joint forces.
    """
    n = model.nv
    if not n:
        return []
    arrays = any(isinstance(x, np.ndarray) for x in tau)
    unit: Any = np.eye(3 * n) if arrays else [_unit(k, 3 * n) for k in range(3 * n)]
    # seed: derivatives with respect to (dq, dv, dtau) before the step
    q_slopes = _coordinate_slopes(model, q, unit[:n])
    before = [Jet(x, slopes) for x, slopes in zip(q, q_slopes, strict=True)]
    speed = [Jet(x, slopes) for x, slopes in zip(v, unit[n : 2 * n], strict=True)]
    push = [Jet(x, slopes) for x, slopes in zip(tau, unit[2 * n :], strict=True)]
    system = _Slopes(model, tree, push, f_ext, frame)
    after, faster = INTEGRATORS[integrator](system, ZERO, before, speed, dt[0])
    # rows (dq, dv) after the step: A, then B
    rows = [*tangents(model, after), *(x.slopes for x in faster)]
    if arrays:
        rows = [[row[..., k] for k in range(3 * n)] for row in rows]
    return [x for part in (slice(2 * n), slice(2 * n, None)) for row in rows for x in row[part]]


@dataclass(frozen=True)
class _Slopes:
    """The equations of motion on jets, with constant joint forces; see `integrators.Steppable`."""

    model: Model
    tree: Tree
    tau: Sequence[Jet]
    f_ext: Numbers | None
    frame: ForceFrame

    @property
    def additive(self) -> Sequence[tuple[int, int]]:
        """Coordinates whose rate is a velocity."""
        return self.model.coordinates.additive

    def acceleration(self, t: Scalar, q: Sequence[Jet], v: Sequence[Jet]) -> list[Scalar]:
        """Return dv/dt; its slopes are da/dq dq + da/dv dv + da/dtau dtau."""
        n = self.model.nv
        # values of the state, and its slopes along the motion subspaces
        at = [[x.value for x in numbers] for numbers in (q, v, self.tau)]
        inner = [*tangents(self.model, q), *(x.slopes for x in (*v, *self.tau))]
        if any(isinstance(x, np.ndarray) for x in at[2]):
            return self._on_arrays(at, inner)
        given = () if self.f_ext is None else (self.f_ext,)
        a = readings.forward_dynamics(
            self.model, self.tree, *at, *given, frame=self.frame, method="aba"
        )
        found = readings.forward_dynamics_derivatives(
            self.model, self.tree, *at, *given, frame=self.frame
        )
        # chain rule: da = da/dq dq + da/dv dv + da/dtau dtau
        outer = [
            [found[(part * n + row) * n + k] for part in range(3) for k in range(n)]
            for row in range(n)
        ]
        return [Jet(x, row) for x, row in zip(a, _product(outer, inner), strict=True)]

    def _on_arrays(self, at: Sequence[Numbers], inner: Sequence[Slopes]) -> list[Scalar]:
        """Return accelerations of a batch: steps too large for one kernel use those of a stage."""
        q, v, tau = map(_stack, at)
        f_ext = None
        if self.f_ext is not None:
            f_ext = _stack(self.f_ext)
            f_ext = f_ext.reshape(*f_ext.shape[:-1], -1, 6)
        a = forward_dynamics(self.model, q, v, tau, f_ext, f_ext_frame=self.frame)
        found = forward_dynamics_derivatives(self.model, q, v, tau, f_ext, f_ext_frame=self.frame)
        slopes = np.concatenate(found, -1) @ np.stack(np.broadcast_arrays(*inner), -2)
        return [Jet(a[..., k], slopes[..., k, :]) for k in range(self.model.nv)]

    def rate(self, q: Sequence[Jet], v: Sequence[Jet]) -> list[Scalar]:
        """Return dq/dt."""
        return self._by_joint(lambda joint, x, u: joint.rate(x, u), q, v)

    def move(self, q: Sequence[Jet], dq: Sequence[Any]) -> list[Scalar]:
        """Return the configuration reached from q by a velocity-space increment."""
        return self._by_joint(lambda joint, x, dx: joint.step(x, dx), q, dq)

    def add(self, q: Sequence[Jet], dq: Sequence[Jet]) -> list[Scalar]:
        """Return q + dq, with quaternions scaled to unit length."""
        total = [a + b for a, b in zip(q, dq, strict=True)]
        return self.move(total, [ZERO] * self.model.nv)

    def bracket(self, a: Sequence[Jet], b: Sequence[Jet]) -> list[Scalar]:
        """Return the Lie bracket of two velocities."""
        result: list[Scalar] = []
        for free in self.model.coordinates.free:
            m = free.joint.nv

            def rule(x: Numbers, joint: Any = free.joint, m: int = m) -> Sequence[Scalar]:
                return joint.bracket(x[:m], x[m:])

            rates = free.joint.velocity_is_rate
            result += [ZERO] * m if rates else chain_rule(rule, [*a[free.v], *b[free.v]])
        return result

    def conserve_momentum(
        self, t: Scalar, q: Numbers, v: Numbers, dq: Numbers, dv: Numbers, h: Scalar
    ) -> Pair:
        """Return the increments as they are: the joint forces on the base are not known to be 0."""
        return list(dq), list(dv)

    def _by_joint(self, rule: Any, q: Sequence[Jet], other: Sequence[Any]) -> list[Scalar]:
        """Return a rule of each joint on its coordinates."""
        result: list[Scalar] = []
        for free in self.model.coordinates.free:
            joint, x, y = free.joint, q[free.q], other[free.v]
            if joint.velocity_is_rate:  # sums
                result += rule(joint, x, y)
                continue

            def both(z: Numbers, joint: Any = joint) -> Sequence[Scalar]:
                return rule(joint, z[: joint.nq], z[joint.nq :])

            result += chain_rule(both, [*x, *y])
        return result


def chain_rule(rule: Rule, numbers: Sequence[Any]) -> list[Scalar]:
    """Return a rule on jets: its values, and its Jacobian times their slopes."""
    at = [x.value if isinstance(x, Jet) else x for x in numbers]
    moving = [k for k, x in enumerate(numbers) if isinstance(x, Jet)]
    values, columns = _jacobian(rule, at, moving)
    rows = _product(list(zip(*columns, strict=True)), [numbers[k].slopes for k in moving])
    return [Jet(x, row) for x, row in zip(values, rows, strict=True)]


def tangents(model: Model, q: Sequence[Jet]) -> list[Slopes]:
    """Return the slopes of a configuration along the motion subspaces, one row for each velocity.

    The length of a quaternion does not matter, nor does the rate of its length.
    """
    result: list[Slopes] = []
    for free in model.coordinates.free:
        joint, numbers = free.joint, q[free.q]
        if joint.velocity_is_rate:
            result += [x.slopes for x in numbers]
            continue
        at = [x.value for x in numbers]

        def apart(y: Numbers, joint: Any = joint, at: Numbers = at) -> Sequence[Scalar]:
            return joint.difference(at, y)

        _, columns = _jacobian(apart, at, range(joint.nq))
        result += _product(list(zip(*columns, strict=True)), [x.slopes for x in numbers])
    return result


def _coordinate_slopes(model: Model, q: Numbers, slopes: Sequence[Slopes]) -> list[Slopes]:
    """Return the slopes of the coordinates from slopes along the motion subspaces."""
    result: list[Slopes] = []
    for free in model.coordinates.free:
        joint, own = free.joint, slopes[free.v]
        if joint.velocity_is_rate:
            result.extend(own)
            continue
        # dq = N(q) de: the rate of the coordinates for each unit velocity
        columns = [joint.rate(q[free.q], _unit(k, joint.nv)) for k in range(joint.nv)]
        result += _product(list(zip(*columns, strict=True)), own)
    return result


def _stack(numbers: Numbers) -> Array:
    """Return numbers that each hold a batch as one array."""
    return np.stack(np.broadcast_arrays(*map(plain, numbers)), -1)


def _unit(k: int, n: int) -> list[Scalar]:
    return [1.0 if m == k else ZERO for m in range(n)]


def _jacobian(
    rule: Rule, at: Numbers, moving: Sequence[int]
) -> tuple[Sequence[Scalar], list[Sequence[Scalar]]]:
    """Return the values of a rule of a few numbers, and its derivative by each that moves."""
    values: Sequence[Scalar] = ()
    columns: list[Sequence[Scalar]] = []
    for k in moving:
        values, rates = differentiate(rule, at, _unit(k, len(at)))
        columns.append(rates)
    return values, columns


def _product(outer: Sequence[Numbers], inner: Sequence[Slopes]) -> list[Slopes]:
    """Return a matrix product; what is exactly zero costs nothing."""
    rows: list[Slopes] = []
    for row in outer:
        total = _scale(inner[0], ZERO)
        for factor, slopes in zip(row, inner, strict=True):
            if not isinstance(factor, Zero):
                total = _sum(total, _scale(slopes, factor))
        rows.append(total)
    return rows


def _sum(a: Slopes, b: Slopes) -> Slopes:
    if isinstance(a, np.ndarray):
        return a + b
    return [x + y for x, y in zip(a, b, strict=True)]


def _scale(slopes: Slopes, factor: Scalar) -> Slopes:
    if isinstance(slopes, np.ndarray):
        return slopes * np.asarray(plain(factor))[..., None]
    return [slope * factor for slope in slopes]


STANDARD_INTEGRATOR: FixedStep = "semi_implicit_euler"
MAX_SHOWN = 16  # states of a linearisation whose matrices a notebook shows
_Two = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Linearization:
    """The motion near a state: dx/dt = A x + B u, or x' = A x + B u after a step of length dt.

    x = (dq, dv), shape (..., 2 nv), is how far a state is from the one that the operating point
    moves to: dq along the motion subspaces, `difference(model, q0, q)`, and v - v0.  u, shape
    (..., nv), is the deviation of the joint forces from tau.

    `A, B = linearization` unpacks the matrices.
    """

    #: How states act, shape (..., 2 nv, 2 nv): per second, or over a step if there is a dt.
    A: Array
    #: How joint forces act, shape (..., 2 nv, nv): per second, or over a step if there is a dt.
    B: Array
    model: Model  #: The robot.
    q: Array  #: The operating point: configuration [rad or m], shape (..., nq).
    v: Array  #: Its velocity [rad/s or m/s], shape (..., nv).
    tau: Array  #: Its joint forces [N m or N], shape (..., nv).
    dt: float | None = None  #: Length of a step [s]; None in continuous time.
    integrator: FixedStep | None = None  #: Of the step, as in `rollout`; None in continuous time.

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
        head = f"<p>{escape_html(repr(self))}</p>"
        if self.A.ndim != 2 or len(self.A) > MAX_SHOWN:
            return block(head)
        names = f"<p>x = ({escape_html(', '.join(self.state_names))})</p>"
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
    Directions that keep the constraints stay among themselves; the others violate a
    constraint, and mean nothing.  At rest, A of the former is N^T da/dq N with J N = 0.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        dt: length of a step [s]; by default continuous time.
        integrator: of the step, as in `rollout`: "semi_implicit_euler" (default), "rk4",
            "lie_rk4" or "midpoint".
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6); it stays the same.
        f_ext_frame: "world" (the force stays in the world while q changes) or "body".

    Returns:
        A `Linearization` with A, shape (..., 2 nv, 2 nv), B, shape (..., 2 nv, nv), and the
        operating point; `A, B = linearize(...)` works too.  States where a joint has no inertia
        behind it give NaN and one SingularPivotWarning.

    Raises:
        ShapeError, NumberError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect with the others, or for steps of a model
            with constraints, which end in a projection.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> A, B = sf.control.linearize(sf.load("pendulum"), [np.pi], [0.0], [0.0])  # upright
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
        upper, lower = _rate_matrices(model, q, v, tau, f_ext, f_ext_frame=f_ext_frame)
    else:
        integrator = STANDARD_INTEGRATOR if integrator is None else integrator
        choice("linearize", "integrator", INTEGRATORS, integrator)
        dt = step_length("linearize", dt)
        # an array of the leading shape takes the prepared call
        plain = isinstance(q, np.ndarray) and q.dtype == np.float64 and q.ndim > 0
        steps = np.full(np.shape(q)[:-1], dt) if plain else dt
        upper, lower = _step_matrices(
            model, q, v, tau, steps, f_ext, integrator=integrator, f_ext_frame=f_ext_frame
        )
    lead = upper.shape[:-3]
    A, B = upper.reshape(*lead, 2 * n, 2 * n), lower.reshape(*lead, 2 * n, n)
    at, speed, push = (
        np.array(np.broadcast_to(x, (*lead, size))) for x, size in ((q, model.nq), (v, n), (tau, n))
    )
    return Linearization(A, B, model, at, speed, push, dt, integrator)


_COMMON: dict[str, Any] = {"part_of": "linearize", "solves": True}
#: The numbers of A and B in continuous time.
_rate_matrices = call_of(
    rate_derivatives,
    "4 nv nv",
    "2 nv nv",
    arrays="q v tau f_ext",
    keywords={"f_ext_frame": "world"},
    **_COMMON,
)
#: The numbers of A and B of one step.
_step_matrices = call_of(
    step_derivatives,
    "4 nv nv",
    "2 nv nv",
    arrays="q v tau dt f_ext",
    keywords={"integrator": STANDARD_INTEGRATOR, "f_ext_frame": "world"},
    options={"integrator": tuple(INTEGRATORS)},
    **_COMMON,
)
