"""Every quantity as a function of flat lists of numbers: the meeting of a model and an algorithm.

A core takes the numbers of one state and returns the numbers of the result, row by row.  It runs on
whatever numbers it is given; nothing here knows about arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sixfold.dynamics import energy, kinematics, wrenches
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltdl, solve_ltdl
from sixfold.dynamics.fast import articulated
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.fast.coriolis import coriolis
from sixfold.dynamics.fast.inverse_dynamics import joint_forces
from sixfold.dynamics.passive import passive_forces
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import (
    IDENTITY3,
    Column,
    Force,
    Motion,
    Transform,
    Vector3,
    classical_acceleration,
    ldl,
    ldl_solve,
)

Numbers = Sequence[Scalar]
P = TypeVar("P", bound=Callable[..., Any])


def page(*, joint_space: bool = False, rolls: bool = False) -> Callable[[P], P]:
    """Say what a page allows the compiler to do.

    Args:
        joint_space: its result is the same whichever of two bodies an inertia is counted with, so
            that kernels may take the reduced tree.
        rolls: it goes over the bodies only, so that it has a rolled form; matrices loop over
            ancestors and stay unrolled.
    """

    def mark(function: P) -> P:
        function.joint_space, function.rolls = joint_space, rolls  # type: ignore[attr-defined]
        return function

    return mark


def external_forces(model: Model, tree: Tree, q: Table, f_ext: Numbers | None, frame: str) -> Table:
    """Return the external force on each body in body coordinates."""
    if f_ext is None:
        return kinematics.no_forces(tree)
    given = model.wrenches(f_ext)
    return given if frame == "body" else kinematics.forces_from_world(tree, q, given)


@page(joint_space=True, rolls=True)
def inverse_dynamics(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """Joint forces by Newton-Euler, with what damping, friction, springs and rotors take."""
    x, xd = model.positions(q), model.velocities(v)
    forces = external_forces(model, tree, x, f_ext, frame)
    tau, _ = joint_forces(tree, x, xd, model.velocities(a), forces)
    passive = passive_forces(tree, x, xd)
    return model.gather({i: tau[i] + passive[i] for i in tree.bodies})


@page(joint_space=True, rolls=True)
def bias_force(
    model: Model, tree: Tree, q: Numbers, v: Numbers, *rest: Any, **k: Any
) -> list[Scalar]:
    """C = ID(q, v, 0)."""
    return inverse_dynamics(model, tree, q, v, [ZERO] * model.nv, *rest, **k)


@page(joint_space=True, rolls=True)
def gravity_force(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Joint forces that hold the model still against gravity, without springs."""
    still = tree.zero_velocities()
    tau, _ = joint_forces(tree, model.positions(q), still, still, kinematics.no_forces(tree))
    return model.gather(tau)


@page(joint_space=True)
def mass_matrix(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """M by CRBA, reduced by couplings."""
    return [x for row in reduced_mass_matrix(model, tree, q) for x in row]


def reduced_mass_matrix(model: Model, tree: Tree, q: Numbers) -> list[list[Scalar]]:
    """Return T^T M T."""
    full = dense(tree, crba(tree, model.positions(q)))
    if not model.couplings:
        return full
    M = model.coordinates.reduce(full, tree.velocity_slices)
    return [[M[min(r, c)][max(r, c)] for c in range(model.nv)] for r in range(model.nv)]


@page(joint_space=True)
def inverse_mass_matrix(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """M^-1 by the articulated-body recursion; by factorising the reduced matrix under couplings."""
    if not model.couplings:
        rows = articulated.inverse_mass_matrix(tree, model.positions(q))
        return [x for row in rows for x in row]
    factors = ldl(reduced_mass_matrix(model, tree, q))
    n = model.nv
    units = [[1.0 if r == c else ZERO for r in range(n)] for c in range(n)]
    return [x for unit in units for x in ldl_solve(*factors, unit)]


@page(joint_space=True, rolls=True)
def forward_dynamics(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
    method: str = "aba",
) -> list[Scalar]:
    """Accelerations by one of `METHODS`; coupled models solve their reduced mass matrix."""
    if model.couplings:
        C = bias_force(model, tree, q, v, f_ext, frame=frame)
        return list(ldl_solve(*ldl(reduced_mass_matrix(model, tree, q)), Column(tau) - Column(C)))
    x, xd = model.positions(q), model.velocities(v)
    forces = external_forces(model, tree, x, f_ext, frame)
    passive = passive_forces(tree, x, xd)
    net = {i: t - passive[i] for i, t in model.velocities(tau).items()}
    return model.gather(METHODS[method](tree, x, xd, net, forces))


def _by_crba(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    C, _ = joint_forces(tree, q, qd, tree.zero_velocities(), f_ext)
    L, D = ltdl(dense(tree, crba(tree, q)), tree.dof_parent)
    rhs = [x for i in tree.bodies for x in tau[i] - C[i]]
    return _by_body(tree, solve_ltdl(L, D, tree.dof_parent, rhs))


def _by_operators(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    from sixfold.dynamics.book.operators import equations

    return equations.solve_factorised(equations.body_frame(tree, q, qd, f_ext), tau)


def _by_dense_operators(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    from sixfold.dynamics.book.operators import equations

    return equations.solve_dense(equations.body_frame(tree, q, qd, f_ext), tau)


METHODS: dict[str, Callable[[Tree, Table, Table, Table, Table], Table]] = {
    "aba": aba,
    "crba": _by_crba,
    "operators": _by_operators,
    "operators_dense": _by_dense_operators,
}


def _by_body(tree: Tree, flat: Sequence[Scalar]) -> Table:
    return {i: Column(flat[tree.velocity_slices[i]]) for i in tree.bodies}


def pivots(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Pivots of all freedoms, then the diagonal of the mass matrix; reduced under couplings."""
    if model.couplings:
        M = reduced_mass_matrix(model, tree, q)
        return [*ldl(M)[1], *(row[k] for k, row in enumerate(M))]
    D, H = articulated.pivots(tree, model.positions(q))
    return [*D, *H]


@page(joint_space=True)
def coriolis_matrix(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """C with C v the velocity force and dM/dt - 2C skew (Christoffel symbols)."""
    x, xd = model.positions(q), model.velocities(v)
    full = coriolis(tree, x, xd)
    if model.couplings:
        full = model.coordinates.reduce(full, tree.velocity_slices)
    return [x for row in full for x in row]


@page(joint_space=True, rolls=True)
def kinetic_energy(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """(1/2) v . M v."""
    return [energy.kinetic_energy(tree, model.positions(q), model.velocities(v))]


@page(rolls=True)
def potential_energy(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Gravity and springs."""
    return [energy.potential_energy(tree, model.positions(q))]


@page(rolls=True)
def momentum(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """About the world origin."""
    return _six(energy.momentum(tree, model.positions(q), model.velocities(v)))


@page(rolls=True)
def centroidal_momentum(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """About the centre of mass."""
    return _six(energy.centroidal_momentum(tree, model.positions(q), model.velocities(v)))


@page(rolls=True)
def center_of_mass(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """In world coordinates."""
    return list(energy.center_of_mass(tree, model.positions(q)))


@page(rolls=True)
def body_poses(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """World from body, 4x4 each."""
    _, X0 = kinematics.transforms(tree, model.positions(q))
    return tree.rows(lambda i: _pose(X0[i]))


def frame_pose(
    model: Model, tree: Tree, q: Numbers, *, body: int, placement: Transform
) -> list[Scalar]:
    """World from frame, 4x4."""
    _, X0 = kinematics.transforms(tree, model.positions(q))
    return _pose(placement @ X0[body])


@page(rolls=True)
def body_accelerations(
    model: Model, tree: Tree, q: Numbers, v: Numbers, a: Numbers, *, kind: str, frame: str
) -> list[Scalar]:
    """Spatial or classical accelerations of all bodies, in the frame asked for."""
    x = model.positions(q)
    vel, acc = kinematics.motions(tree, x, model.velocities(v), model.velocities(a))
    if kind == "classical":
        table = tree.table()
        for i in tree.bodies:
            table[i] = classical_acceleration(acc[i], vel[i])
        acc = table
    return _expressed(tree, x, acc, frame)


@page(rolls=True)
def body_velocities(
    model: Model, tree: Tree, q: Numbers, v: Numbers, *, frame: str
) -> list[Scalar]:
    """Velocities of all bodies, in the frame asked for."""
    x = model.positions(q)
    vel, _ = kinematics.motions(tree, x, model.velocities(v), tree.zero_velocities())
    return _expressed(tree, x, vel, frame)


def _expressed(tree: Tree, q: Table, motions: Table, frame: str) -> list[Scalar]:
    """Return motions of all bodies in the frame asked for."""
    if frame == "body":
        return tree.rows(lambda i: _six(motions[i]))
    _, X0 = kinematics.transforms(tree, q)
    return tree.rows(lambda i: _six(express(motions[i], X0[i], frame)))


def frame_velocity(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    *,
    body: int,
    placement: Transform,
    frame: str,
) -> list[Scalar]:
    """Velocity of a body or frame, in the frame asked for."""
    if not body:
        return [ZERO] * 6
    x = model.positions(q)
    vel, _ = kinematics.motions(tree, x, model.velocities(v), tree.zero_velocities())
    if frame == "body":
        return _six(placement @ vel[body])
    X0 = placement @ kinematics.transforms(tree, x)[1][body]
    return _six(express(placement @ vel[body], X0, frame))


def jacobian(
    model: Model,
    tree: Tree,
    q: Numbers,
    point: Numbers | None = None,
    *,
    body: int,
    placement: Transform,
    frame: str,
) -> list[Scalar]:
    """6 x nv, row by row, reduced by couplings; at a point of the frame, or its origin."""
    placement = _at(point, placement)
    x = model.positions(q)
    columns = {i: [Motion.zero()] * tree.joint[i].nv for i in tree.bodies}
    if body:
        X0 = placement @ kinematics.transforms(tree, x)[1][body] if frame != "body" else None
        for j, S in kinematics.jacobian(tree, x, body).items():
            moved = placement @ S
            columns[j] = [express(c, X0, frame) if X0 else c for c in moved.columns]
    flat = {i: [_six(c) for c in columns[i]] for i in tree.bodies}
    return [x for r in range(6) for x in model.gather({i: [c[r] for c in flat[i]] for i in flat})]


def jacobian_bias(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    point: Numbers | None = None,
    *,
    body: int,
    placement: Transform,
    frame: str,
) -> list[Scalar]:
    """dJ/dt v in the frame's own components: the acceleration at a = 0."""
    placement = _at(point, placement)
    if not body:
        return [ZERO] * 6
    x, xd = model.positions(q), model.velocities(v)
    vel, acc = kinematics.motions(tree, x, xd, tree.zero_velocities())
    v_f, a_f = placement @ vel[body], placement @ acc[body]
    if frame == "body":
        return _six(a_f)
    X0 = placement @ kinematics.transforms(tree, x)[1][body]
    m = classical_acceleration(a_f, v_f) if frame == "aligned" else a_f
    return _six(express(m, X0, frame))


def _at(point: Numbers | None, placement: Transform) -> Transform:
    """Return a frame's placement moved to a point given in its coordinates."""
    return placement if point is None else Transform(IDENTITY3, Vector3(*point)) @ placement


def express(m: Motion, X0: Transform, frame: str) -> Motion:
    """Return a motion in body coordinates in world coordinates, or in world axes at its point."""
    if frame == "world":
        return X0.inverse() @ m
    back = X0.E.T
    return Motion(back @ m.ang, back @ m.lin)


@page(rolls=True)
def joint_wrenches(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """Force of the parent on each body."""
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, tree, x, f_ext, frame)
    table = wrenches.joint_wrenches(tree, x, xd, xdd, forces)
    return tree.rows(lambda i: _six(table[i]))


@page(rolls=True)
def constraint_forces(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """Force of the parent on each body without its working part."""
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, tree, x, f_ext, frame)
    table = wrenches.constraint_forces(tree, x, xd, xdd, forces)
    return tree.rows(lambda i: _six(table[i]))


def point_force(
    model: Model,
    tree: Tree,
    q: Numbers,
    force: Numbers,
    point: Numbers | None = None,
    *,
    body: int,
    placement: Transform,
) -> list[Scalar]:
    """f_ext with one force in world axes at a point of a frame, about the world origin."""
    result: list[Scalar] = [ZERO] * (6 * model.nb)
    if body:
        X = _at(point, placement) @ kinematics.transforms(tree, model.positions(q))[1][body]
        result[6 * body - 6 : 6 * body] = _six(Force.at_point(Vector3(*force), X.r))
    return result


def integrate(
    model: Model, tree: Tree, q: Numbers, v: Numbers, dt: Numbers | None = None
) -> list[Scalar]:
    """Position reached from q by moving with v for dt, or for one second."""
    dq = v if dt is None else [x * dt[0] for x in v]
    return _free_joints(model, lambda joint, x, dx: joint.step(x, dx), q, dq, "nv")


def difference(model: Model, tree: Tree, q0: Numbers, q1: Numbers) -> list[Scalar]:
    """Increment that leads from q0 to q1."""
    return _free_joints(model, lambda joint, x, y: joint.difference(x, y), q0, q1, "nq")


def position_rate(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """dq/dt."""
    return _free_joints(model, lambda joint, x, xd: joint.rate(x, xd), q, v, "nv")


def _free_joints(
    model: Model, rule: Callable[..., Column], q: Numbers, other: Numbers, size: str
) -> list[Scalar]:
    result: list[Scalar] = []
    for free in model.coordinates.free:
        result += rule(free.joint, q[free.q], other[free.q if size == "nq" else free.v])
    return result


def _six(x: Motion | Force) -> list[Scalar]:
    return [*x.ang, *x.lin]


def _pose(X: Transform) -> list[Scalar]:
    return [x for row in X.pose() for x in row]
