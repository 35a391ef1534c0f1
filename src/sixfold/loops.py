"""Closed loops: assemble them, count their mobility, distribute forces over actuators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame
from sixfold.errors import ArgumentError, NotApplicableError, StateError, TooLargeError, visible
from sixfold.model import Model
from sixfold.quantities.configurations import integrate, neutral
from sixfold.quantities.constraints import (
    constrained_dynamics,
    constraint_bias,
    constraint_gaps,
    constraint_jacobian,
    constraint_wrenches,
    project,
)
from sixfold.quantities.dynamics import inverse_dynamics, inverse_mass_matrix, mass_matrix
from sixfold.runtime import Argument, checked_array, plain_argument, require_model
from sixfold.show import block, table

__all__ = [
    "Mobility",
    "actuator_forces",
    "assemble",
    "constrained_dynamics",
    "constraint_bias",
    "constraint_gaps",
    "constraint_jacobian",
    "constraint_wrenches",
    "mobility",
    "project",
]

CLOSED = 1e-11  #: Largest gap [m or rad], of the size of the model, that counts as closed.
MAX_STEPS = 200  #: Steps of Levenberg and Marquardt from one guess.
MAX_GUESSES = 12  #: Guesses for a start that gets stuck: the given one, then others near it.
FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-3, 1e-12, 1e8  #: Of the mean of J J^T's diagonal.
#: Of J J^T's diagonal; at a dead centre, where no joint moves the gap, steps are zero, not NaN.
MIN_MEAN = 1e-12


def assemble(model: Model, q: ArrayLike | None = None, *, hold: Iterable[str] = ()) -> Array:
    """Return configurations that satisfy the constraints, near a rough guess.

    Gaps are closed by damped least squares (Levenberg and Marquardt) in all joints that are not
    held.  A guess that gets stuck is tried again from configurations near it.

    Args:
        model: a robot with constraints.
        q: guesses [rad or m], shape (..., nq); default: the neutral configuration.
        hold: names of joints that keep their position, for example the crank's.

    Returns:
        Configurations [rad or m], shape (..., nq).

    Raises:
        StateError: if a loop cannot be closed from there: which, and the distance left.
        NotApplicableError: if the model has no constraints.
        UnknownNameError: if there is no joint of a name in `hold`.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> hinge, rod = sf.Revolute("z"), sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0, 0.1, 0.1))
        >>> builder = sf.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
        >>> builder = builder.add_body("crank", joint=hinge, inertia=rod)
        >>> at = {"parent": "crank", "placement": (1, 0, 0)}
        >>> builder = builder.add_body("coupler", joint=hinge, inertia=rod, **at)
        >>> builder = builder.add_body("rocker", joint=hinge, placement=(1.2, 0, 0), inertia=rod)
        >>> model = builder.close("coupler", "rocker", hinge, (1.2, 0, 0), (1, 0, 0)).build()
        >>> q = sf.loops.assemble(model, [1.0, -0.8, 0.9], hold=["crank_joint"])
        >>> q.round(3)  # a parallelogram
        array([ 1., -1.,  1.])
        >>> bool(np.abs(sf.loops.constraint_gaps(model, q)).max() < 1e-12)
        True
    """
    require_model("assemble", model)
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints but its joints"
        raise NotApplicableError("assemble", where, "leave it out")
    # a guess, or the neutral configuration
    given = neutral(model) if q is None else q
    meaning, names = f"nq coordinates of model '{model.name}'", model.coordinates.q_names
    argument = Argument(given, (model.nq,), meaning, labels=(names,))
    start = checked_array("assemble", "q", argument)
    moving = _moving(model, hold)
    try:
        start = np.asarray(start, np.float64)
        if not np.isfinite(start).all():
            got, fix = "NaN or infinity", "pass a guess of finite coordinates"
            raise StateError("assemble: argument 'q'", "finite numbers", got, fix)
        # one row for each guess; a zero step normalises quaternions
        flat = integrate(model, start.reshape(-1, model.nq), np.zeros(model.nv))
        return _close(model, flat, moving).reshape(start.shape)
    except MemoryError as error:
        raise TooLargeError("assemble", f"{error}", "pass fewer guesses at a time") from None


def nearest(model: Model, rows: Array | None = None) -> tuple[Array, Array]:
    """Return a configuration near the neutral one with the least gaps, and these gaps.

    Args:
        model: a robot with constraints.
        rows: one for each row that counts, zero for the others; default: all.
    """
    begin, moving = np.asarray(neutral(model), float)[None], np.ones(model.nv)
    weight = np.ones(model.nc) if rows is None else np.asarray(rows, float)
    rng = np.random.default_rng(0)
    best: tuple[Array, Array] | None = None
    # the neutral configuration first, then farther and farther from it
    for guess in range(MAX_GUESSES):
        step = rng.normal(size=(1, model.nv)) * (0.1 * guess)
        (q,), (gaps,) = _least_squares(model, integrate(model, begin, step), moving, weight)
        size = np.abs(gaps).max()
        if best is None or size < np.abs(best[1]).max():
            best = q, gaps
        if size <= CLOSED * size_of(model):
            break
    assert best is not None
    return best


def _moving(model: Model, hold: Any) -> Array:
    """Return one for each freedom that may move, and zero for the others."""
    if isinstance(hold, str) or not isinstance(hold, Iterable):
        fix = "pass joint names, as hold=('crank_joint',)"
        raise ArgumentError("assemble: argument 'hold'", "a list of joint names", hold, fix)
    # zero for joints that keep their position
    moving = np.ones(model.nv)
    for name in hold:
        moving[model.v_slice(name)] = 0.0
    return moving


def _close(model: Model, q: Array, moving: Array) -> Array:
    """Return closed configurations for guesses (n, nq), or raise for the first that stays open."""
    found = q.copy()
    left = np.arange(len(q))
    rng = np.random.default_rng(0)
    best = np.full(len(q), np.inf)
    worst_rows = np.zeros(len(q), int)
    for guess in range(MAX_GUESSES):
        # guesses that stay open start again, each time from farther away
        begin = q[left]
        if guess:
            step = rng.normal(size=(len(left), model.nv)) * moving * (0.1 * guess)
            begin = integrate(model, begin, step)
        end, gaps = _least_squares(model, begin, moving)
        # the best gap so far, for the message
        size = np.abs(gaps).max(axis=-1)
        better = size < best[left]
        best[left[better]] = size[better]
        worst_rows[left[better]] = np.abs(gaps).argmax(axis=-1)[better]
        # those that close are finished
        done = size <= CLOSED * size_of(model)
        found[left[done]] = end[done]
        left = left[~done]
        if not len(left):
            return found
    k = left[0]
    batch = f" in row {k}" if len(q) > 1 else ""
    raise StateError(
        f"assemble: constraint '{visible(model.constraint_rows[worst_rows[k]])}'{batch}",
        "a guess from which the loops close",
        f"{best[k]:.3g} m or rad is left",
        "look at lengths and placements, hold fewer joints, or start nearer",
    )


def size_of(model: Model) -> float:
    """Return a length that gaps are compared with: 1 m, or the longest placement."""
    lengths = [float(np.linalg.norm([float(x) for x in b.placement.r])) for b in model.bodies]
    return max([1.0, *lengths])


def _least_squares(
    model: Model, q: Array, moving: Array, rows: Array | float = 1.0
) -> tuple[Array, Array]:
    """Return configurations (n, nq) with the least gaps near the given ones, and their gaps."""
    # Levenberg-Marquardt on the squared gaps, for all rows at once
    damping = np.full(len(q), FIRST_DAMPING)
    gaps = constraint_gaps(model, q) * rows
    cost = _cost(gaps)
    target = (0.01 * CLOSED * size_of(model)) ** 2
    active = np.arange(len(q))
    eye = np.eye(model.nc)
    for _ in range(MAX_STEPS):
        # rows that are closed, or that no step improves, stop
        active = active[(cost[active] > target) & (damping[active] < MAX_DAMPING)]
        if not len(active):
            break
        at, g = q[active], gaps[active]
        # dq = -J^T (J J^T + shift)^-1 g, along the joints that may move
        J = constraint_jacobian(model, at) * moving * np.reshape(rows, (-1, 1))
        gram = J @ J.swapaxes(-1, -2)
        mean = np.maximum(np.trace(gram, axis1=-2, axis2=-1) / model.nc, MIN_MEAN)
        shift = (damping[active] * mean)[:, None, None] * eye
        step = -(J.swapaxes(-1, -2) @ np.linalg.solve(gram + shift, g[..., None]))[..., 0]
        # take the step where it lowers the cost, else raise the damping
        tried = integrate(model, at, step)
        new = constraint_gaps(model, tried) * rows
        lower = _cost(new)
        good = lower < cost[active]
        kept = active[good]
        q[kept], gaps[kept], cost[kept] = tried[good], new[good], lower[good]
        factor = np.where(good, 0.1, 10.0)
        damping[active] = np.maximum(damping[active] * factor, MIN_DAMPING)
    return q, gaps


def _cost(gaps: Array) -> Array:
    total = (gaps * gaps).sum(axis=-1)
    return np.where(np.isfinite(total), total, np.inf)


#: Singular values up to here, of the largest, are zero: the loops are closed to 1e-11, and J
#: changes by about as much as its gaps.
RANK_TOLERANCE = 1e-10
#: Assembled configurations near the given one; the largest rank among them is the generic one.
SAMPLES = 4


@dataclass(frozen=True)
class Mobility:
    """Mobility that the constraints of a model leave."""

    freedoms: int  #: Of the tree, nv.
    rows: int  #: Of the constraints, nc.
    rank: int  #: Independent rows.
    singular: bool  #: At the given configuration fewer rows are independent than near it.

    @property
    def mobility(self) -> int:
        """Degrees of freedom that are left."""
        return self.freedoms - self.rank

    @property
    def redundant(self) -> int:
        """Rows that follow from the others; their forces are not determined by the motion."""
        return self.rows - self.rank

    def __str__(self) -> str:
        """Return one line."""
        counted = f"{self.freedoms} degrees of freedom, {self.rows} rows"
        text = f"{counted}, {self.redundant} of them redundant"
        more = "; singular configuration" if self.singular else ""
        return f"{text}: mobility {self.mobility}{more}"

    def _repr_html_(self) -> str:
        """Return a table, for notebooks."""
        head = ("freedoms", "rows", "independent", "redundant", "mobility", "singular")
        counted = (self.freedoms, self.rows, self.rank, self.redundant, self.mobility)
        return block(table(head, [(*counted, "yes" if self.singular else "no")]))


def mobility(model: Model, q: ArrayLike | None = None) -> Mobility:
    """Count the degrees of freedom that constraints leave, and the redundant rows.

    Kutzbach's count nv - nc is wrong for many mechanisms, planar ones in space first of all; here
    the rank of the constraint Jacobian is taken at the configuration and near it.

    Args:
        model: a robot with constraints.
        q: a configuration [rad or m], shape (nq,), near the neutral one by default; it is assembled
            first if loops are open.

    Returns:
        A `Mobility` with degrees of freedom (nv), rows (nc), rank, redundant, mobility and
        singular: whether fewer rows are independent at q than near it.

    Raises:
        StateError: if the loops cannot be closed from there.
        NotApplicableError: if the model has no constraints.

    Example:
        >>> import sixfold as sf
        >>> hinge, rod = sf.Revolute("z"), sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0, 0.1, 0.1))
        >>> builder = sf.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
        >>> builder = builder.add_body("crank", joint=hinge, inertia=rod)
        >>> at = {"parent": "crank", "placement": (1, 0, 0)}
        >>> builder = builder.add_body("coupler", joint=hinge, inertia=rod, **at)
        >>> builder = builder.add_body("rocker", joint=hinge, placement=(1.2, 0, 0), inertia=rod)
        >>> model = builder.close("coupler", "rocker", hinge, (1.2, 0, 0), (1, 0, 0)).build()
        >>> print(sf.loops.mobility(model, [1.0, -1.0, 1.0]))
        3 degrees of freedom, 5 rows, 3 of them redundant: mobility 1
    """
    require_model("mobility", model)
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints but its joints"
        raise NotApplicableError("mobility", where, "its mobility is model.nv")
    # constraints hold at the configuration that is examined
    at = assemble(model, q)
    if at.ndim != 1:
        fix = "call it for one configuration after the other"
        raise NotApplicableError("mobility", f"a batch of configurations {at.shape[:-1]}", fix)
    # the rank at this configuration, and near it
    here = _rank(constraint_jacobian(model, at))
    rng = np.random.default_rng(0)
    near = [here]
    for _ in range(SAMPLES):
        J = constraint_jacobian(model, at)
        # along the motions that are left, then back to the constraints
        _, s, Vt = np.linalg.svd(J)
        free = Vt[_count(s) :]
        step = rng.normal(size=len(free)) @ free * 0.1
        near.append(_rank(constraint_jacobian(model, assemble(model, integrate(model, at, step)))))
    return Mobility(model.nv, model.nc, max(near), here < max(near))


def _rank(J: Array) -> int:
    return _count(np.linalg.svd(J, compute_uv=False))


def _count(s: Array) -> int:
    return int((s > RANK_TOLERANCE * s.max(initial=0.0)).sum()) if len(s) and s[0] > 0 else 0


REACHED = 1e-6  #: Largest part of the joint forces that motors and constraints may leave undone.


def actuator_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Iterable[str],
    f_ext_frame: ForceFrame = "world",
) -> tuple[Array, Array]:
    """Return the joint forces of chosen motors, and the constraint forces, that give a motion.

    M a + C = tau + J^T forces, with tau zero at every joint without a motor.  With more motors than
    degrees of freedom, or redundant constraints, forces of least size are taken.

    Args:
        model: a robot with constraints.
        q: configurations [rad or m], shape (..., nq), that satisfy the constraints.
        v: velocities [rad/s or m/s], shape (..., nv), that do too.
        a: accelerations [rad/s^2 or m/s^2], shape (..., nv), that do too: J a + gamma = 0.
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        actuated: names of the joints with motors.
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.

    Returns:
        Joint forces [N m or N], shape (..., nv), zero at joints without a motor, and the force of
        each constraint row [N or N m], shape (..., nc).

    Raises:
        StateError: if these motors cannot give the motion.
        UnknownNameError: if there is no joint of a name in `actuated`.
        NotApplicableError: if the model has no constraints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> hinge, rod = sf.Revolute("z"), sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0, 0.1, 0.1))
        >>> builder = sf.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
        >>> builder = builder.add_body("crank", joint=hinge, inertia=rod)
        >>> at = {"parent": "crank", "placement": (1, 0, 0)}
        >>> builder = builder.add_body("coupler", joint=hinge, inertia=rod, **at)
        >>> builder = builder.add_body("rocker", joint=hinge, placement=(1.2, 0, 0), inertia=rod)
        >>> model = builder.close("coupler", "rocker", hinge, (1.2, 0, 0), (1, 0, 0)).build()
        >>> q, rest = sf.loops.assemble(model, [1.0, -1.0, 1.0], hold=["crank_joint"]), np.zeros(3)
        >>> tau, forces = sf.loops.actuator_forces(model, q, rest, rest, actuated=["crank_joint"])
        >>> np.allclose(sf.forward_dynamics(model, q, rest, tau), 0.0)  # the motor holds it
        True
        >>> tau.round(3)  # 2 m g cos(1)
        array([10.601,  0.   ,  0.   ])
    """
    require_model("actuator_forces", model)
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints but its joints"
        raise NotApplicableError("actuator_forces", where, "use sixfold.inverse_dynamics")
    motors = _motors(model, actuated)
    # arrays of other libraries as NumPy arrays, labels in the model's order
    q, v, a, f_ext = (
        plain_argument("actuator_forces", name, x, model, sizes)
        for name, x, sizes in (
            ("q", q, "nq"),
            ("v", v, "nv"),
            ("a", a, "nv"),
            ("f_ext", f_ext, "nb 6"),
        )
    )
    options: dict[str, Any] = {} if f_ext is None else {"f_ext_frame": f_ext_frame}
    # S^T tau + J^T lam = ID(q, v, a), with S the motors' rows
    need = inverse_dynamics(model, q, v, a, f_ext, **options)
    J = np.asarray(constraint_jacobian(model, q))
    _refuse_unknown(need, J)
    _refuse_broken(J, np.asarray(a, float), constraint_bias(model, q, v))
    n = model.nv
    # rows of tau and of the constraints side by side; scaled so that units do not matter
    scale = np.sqrt(np.abs(np.diagonal(mass_matrix(model, q), axis1=-2, axis2=-1)))
    inverse = inverse_mass_matrix(model, q)
    # J M^-1 J^T: a row weighs as much as the motion that it stops
    felt = np.einsum("...ri,...ij,...rj->...r", J, inverse, J)
    weight = 1.0 / np.sqrt(np.maximum(felt, np.finfo(float).tiny))
    weight = np.where(felt > 0, weight, 0.0)
    lead = np.broadcast_shapes(need.shape[:-1], J.shape[:-2])
    B = np.zeros((*lead, n, len(motors) + model.nc))
    B[..., motors, np.arange(len(motors))] = scale[..., motors]
    B[..., len(motors) :] = (J * weight[..., None]).swapaxes(-1, -2)
    B /= scale[..., None]
    right = np.broadcast_to(need, (*lead, n)) / scale
    # least norm, because redundant motors and rows share the force
    x = (np.linalg.pinv(B, rcond=1e-12) @ right[..., None])[..., 0]
    # what motors and constraints together cannot give
    left = np.abs((B @ x[..., None])[..., 0] - right).max(axis=-1)
    far = left > REACHED * (np.abs(right).max(axis=-1) + np.finfo(float).tiny)
    if far.any():
        raise StateError(
            "actuator_forces: argument 'a'",
            f"a motion that {len(motors)} motors and the constraints can give",
            f"{int(far.sum())} of {far.size} states with forces left over",
            "name more joints in actuated",
        )
    # back to forces in their units
    tau = np.zeros((*lead, n))
    tau[..., motors] = x[..., : len(motors)] * scale[..., motors]
    return tau, x[..., len(motors) :] * weight


def _refuse_unknown(need: Array, J: Array) -> None:
    """Refuse states without finite forces or rows: none of their parts is a least one."""
    if not (np.isfinite(need).all() and np.isfinite(J).all()):
        fix = "leave out states that are NaN or infinite"
        where, got = "actuator_forces: arguments 'q/v/a'", "NaN or infinity"
        raise StateError(where, "finite numbers", got, fix)


def _refuse_broken(J: Array, a: Array, gamma: Array) -> None:
    """Refuse accelerations that tear the constraints apart."""
    # J a + gamma = 0 to rounding of its terms
    terms = np.abs(J) @ np.abs(a)[..., None]
    left = np.abs((J @ a[..., None])[..., 0] + gamma)
    far = left > REACHED * (1.0 + terms[..., 0].max(axis=-1, keepdims=True))
    if far.any():
        raise StateError(
            "actuator_forces: argument 'a'",
            "accelerations with J a + gamma = 0",
            f"{float(left.max()):.3g} in the worst row",
            "take them from sixfold.loops.constrained_dynamics, or a -= pinv(J) (J a + gamma)",
        )


def _motors(model: Model, actuated: Any) -> Array:
    """Return the coordinates that motors drive."""
    if isinstance(actuated, str) or not isinstance(actuated, Iterable):
        fix = "pass joint names, as actuated=('crank_joint',)"
        where = "actuator_forces: argument 'actuated'"
        raise ArgumentError(where, "a list of joint names", actuated, fix)
    # velocity coordinates of the named joints
    slices = [model.v_slice(name) for name in actuated]
    found = sorted({k for part in slices for k in range(part.start, part.stop)})
    if not found:
        fix = "name the joints with motors"
        raise ArgumentError("actuator_forces: argument 'actuated'", "a joint or more", (), fix)
    return np.array(found)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
