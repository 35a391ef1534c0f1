"""Featherstone's slides, parts 1 and 2: differentiation, acceleration, constraints, momentum."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.kinematics import motions, transforms
from sixfold.model import Rolling
from sixfold.scalar import Dual, cos, differentiate, plain, sin
from sixfold.spatial import Force, Motion, Subspace, Transform, Vector3, skew
from tests.docs.support import cross, rows, six, six_columns
from tests.dynamics.support import fn
from tests.dynamics.support import rate as central

# -- part 1: the derivative and its properties


def path(t):
    """A motion and a force that depend on t."""
    u = Motion(Vector3(sin(t), t * t, 1.0), Vector3(t, cos(t), t * t * t))
    return u, Force(Vector3(cos(t), t, t * t), Vector3(1.0, sin(t), t))


T = 0.7
AT = Dual(T, 1.0)


def rate(x):
    return x.map(lambda c: c.dot if isinstance(c, Dual) else 0.0)


def test_the_derivative_is_the_limit_of_difference_quotients():
    def numbers(at):
        u, f = path(at[0])
        return (*u.ang, *u.lin, *f.ang, *f.lin)

    def values(t):
        return np.array([float(plain(x)) for x in numbers((t,))])

    _, rates = differentiate(numbers, (T,), (1.0,))
    rates = np.array([float(plain(x)) for x in rates])
    for step in (1e-3, 1e-4):
        quotient = (values(T + step) - values(T)) / step
        assert np.abs(quotient - rates).max() < 3 * step


def test_the_derivative_of_a_motion_is_a_motion_and_of_a_force_a_force():
    u, f = path(AT)
    assert isinstance(rate(u), Motion) and isinstance(rate(f), Force)


def test_a_vector_is_the_sum_of_its_coordinates_times_the_basis():
    rng = np.random.default_rng(6)
    B, u = rng.standard_normal((6, 6)), rng.standard_normal(6)
    basis = Subspace(*(Motion.of(list(b)) for b in B.T))
    assert np.allclose(six(basis @ tuple(u)), B @ u)


def test_the_derivative_in_a_moving_basis_adds_the_derivatives_of_the_basis_vectors():
    rng = np.random.default_rng(7)
    B, dB, u, du = (rng.standard_normal(s) for s in ((6, 6), (6, 6), 6, 6))
    moving = Subspace(
        *(
            Motion.of([Dual(*x) for x in zip(b, db, strict=True)])
            for b, db in zip(B.T, dB.T, strict=True)
        )
    )
    whole = six(rate(moving @ tuple(Dual(*x) for x in zip(u, du, strict=True))))
    in_basis = np.linalg.solve(B, whole)  # coordinates of the derivative in the basis itself
    assert np.allclose(in_basis, du + np.linalg.solve(B, dB) @ u)


def test_a_matrix_before_a_cross_product_matrix_multiplies_the_matrix_not_the_vector():
    X = Transform.from_rpy((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    lower_left = rows(X.matrix())[3:, :3]
    assert np.allclose(lower_left, -rows(X.E) @ rows(skew(X.r)))
    assert not np.allclose(lower_left, -rows(skew(X.E @ X.r)))


# -- part 1: spatial acceleration, by the library's kinematics

MOVING = ["tree6", "floating_link", "random_tree:8:3"]


def along(model, q, v, a):
    """Return t -> (q, v) of a motion with acceleration a at t = 0."""
    return lambda t: (sf.integrate(model, q, v * t + a * t * t / 2), v + a * t)


@pytest.mark.parametrize("name", MOVING)
def test_the_acceleration_of_a_body_is_the_rate_of_its_velocity_at_a_fixed_point(name):
    model = sf.load(name)
    rng = np.random.default_rng(4)
    q, v = sf.random_state(model, seed=rng)
    a = rng.standard_normal(model.nv)
    at = along(model, q, v, a)
    measured = central(lambda t: fn.body_velocities(model, *at(t), frame="world"))
    found = fn.body_accelerations(model, q, v, a, frame="world")
    assert np.abs(found - measured).max() < 1e-10 * np.abs(found).max()
    # the page of the recursion itself, moved from body to base coordinates
    tables = model.positions(q), model.velocities(v), model.velocities(a)
    _, X0 = transforms(model.tree, tables[0])
    _, acc = motions(model.tree, *tables)
    for i in model.tree.bodies:
        page = six(X0[i].inverse() @ acc[i])
        assert np.abs(page - measured[i - 1]).max() < 1e-10 * np.abs(found).max()


def hinged(first):
    """A body on a joint, and a second one on a hinge in general position."""
    builder = sf.ModelBuilder("hinge")
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
    place = Transform.from_rpy((0.3, -0.5, 0.9), (0.4, 0.2, -0.6))
    builder.add_body("one", joint=first, placement=place, inertia=solid)
    hinge = sf.Revolute((0.0, 0.6, 0.8))
    builder.add_body("two", parent="one", joint=hinge, placement=place, inertia=solid)
    return builder.build()


def test_a_constant_turn_about_a_fixed_axis_has_no_spatial_but_a_classical_acceleration():
    model = hinged(sf.Revolute((0.6, 0.0, 0.8)))
    q, v, a = np.array([0.7, 0.0]), np.array([1.7, 0.0]), np.zeros(2)
    assert np.abs(fn.body_accelerations(model, q, v, a, frame="world")).max() < 1e-15
    poses = fn.body_poses(model, q)
    point = fn.body_accelerations(model, q, v, a, frame="aligned", kind="classical")
    omega = poses[0, :3, :3] @ (0.6 * 1.7, 0.0, 0.8 * 1.7)
    arm = poses[1, :3, 3] - poses[0, :3, 3]  # from the axis to the origin of the second body
    assert np.allclose(point[1, 3:], np.cross(omega, np.cross(omega, arm)), atol=1e-14)
    assert np.abs(point[1, 3:]).max() > 0.1


def test_a_body_on_a_moving_hinge_has_the_motion_of_example_2():
    model = hinged(sf.Free())
    rng = np.random.default_rng(3)
    q, v = sf.random_state(model, seed=rng)
    a = rng.standard_normal(model.nv)
    tables = model.positions(q), model.velocities(v), model.velocities(a)
    _, X0 = transforms(model.tree, tables[0])
    vel, acc = motions(model.tree, *tables)
    (v1, v2), (a1, a2) = ([six(X0[i].inverse() @ m[i]) for i in (1, 2)] for m in (vel, acc))
    # the hinge in base coordinates: a line along its axis through its place
    pose = fn.body_poses(model, q)[1]
    direction = pose[:3, :3] @ (0.0, 0.6, 0.8)
    s = np.concatenate([direction, np.cross(pose[:3, 3], direction)])
    assert np.allclose(v2, v1 + s * v[-1], atol=1e-13)
    assert np.allclose(a2, a1 + s * a[-1] + cross(v1) @ s * v[-1], atol=1e-12)
    assert np.abs(cross(v1) @ s * v[-1]).max() > 0.1


# -- part 2: motion constraints

JOINTS = [
    sf.Fixed(),
    sf.Revolute((0.6, 0.0, 0.8)),
    sf.Prismatic("y"),
    sf.Helical("z", 0.1),
    sf.Cylindrical("x"),
    sf.Planar(),
    sf.Universal(),
    sf.Spherical(),
    sf.Translational(),
    sf.Free(),
    sf.CustomJoint(Rolling(0.1)),
]


def test_freedoms_and_constraints_of_every_joint_add_up_to_six_at_every_position():
    rng = np.random.default_rng(1)
    varying = set()
    for joint in JOINTS:
        S = [six_columns(joint.calc(joint.random(rng), (0.0,) * joint.nv).S) for _ in range(2)]
        if not np.array_equal(*S):
            varying.add(joint.kind)
        q = joint.random(rng)
        now, T = six_columns(joint.calc(q, (0.0,) * joint.nv).S), joint.constraint_basis(q)
        assert now.shape == (6, joint.nv)
        assert joint.nv == 0 or np.linalg.matrix_rank(now) == joint.nv
        assert len(T.columns) == 6 - joint.nv
        assert np.abs(now.T @ six_columns(T)).max(initial=0.0) < 1e-14
    # where S varies with q it varies with time
    assert varying == {"planar", "universal", "customjoint"}


# -- part 2: momentum of a set of bodies


def floating_tree():
    """Four bodies of different joints on a free base."""
    builder = sf.ModelBuilder("tree on a free base")
    rng = np.random.default_rng(8)
    joints = (sf.Free(), sf.Revolute("y"), sf.Prismatic("x"), sf.Spherical(), sf.Revolute("z"))
    parents = (None, "body0", "body1", "body0", "body3")
    for k, (joint, parent) in enumerate(zip(joints, parents, strict=True)):
        inertia = sf.Inertia.from_mass(
            float(rng.uniform(0.5, 2)), rng.uniform(-0.2, 0.2, 3).tolist(), (0.02, 0.03, 0.04)
        )
        place = rng.uniform(-0.3, 0.3, 3).tolist()
        builder.add_body(f"body{k}", joint=joint, parent=parent, placement=place, inertia=inertia)
    return builder.build()


@pytest.fixture(params=["floating_link", "tree"])
def afloat(request):
    model = sf.load("floating_link") if request.param == "floating_link" else floating_tree()
    rng = np.random.default_rng(2)
    q, v = sf.random_state(model, seed=rng)
    return model, q, v, rng


def momentum_rate(model, q, v, a, step=1e-4):
    """Central difference of the momentum along the motion, error of order step^2."""

    def at(t):
        return sf.momentum(model, sf.integrate(model, q, v * t + a * t * t / 2), v + a * t)

    def central(h):
        return (at(h) - at(-h)) / (2 * h)

    return (4 * central(step / 2) - central(step)) / 3


def test_total_momentum_is_the_sum_over_bodies(afloat):
    model, q, v, _ = afloat
    vel, _ = motions(
        model.tree, model.positions(q), model.velocities(v), model.velocities(np.zeros(model.nv))
    )
    _, X0 = transforms(model.tree, model.positions(q))
    bodies = model.tree.bodies
    total = sum(six(X0[i].T @ (model.tree.inertia[i] @ vel[i])) for i in bodies)
    assert np.allclose(sf.momentum(model, q, v), total, atol=1e-12)


def test_internal_forces_do_not_change_the_total_momentum(afloat):
    model, q, v, rng = afloat
    model = model.without(gravity=True)
    tau = np.concatenate([np.zeros(6), rng.standard_normal(model.nv - 6)])  # none on the base
    a = sf.forward_dynamics(model, q, v, tau)
    assert np.abs(momentum_rate(model, q, v, a)).max() < 1e-7


def test_the_rate_of_total_momentum_is_the_sum_of_external_forces(afloat):
    model, q, v, rng = afloat
    f_ext = rng.standard_normal((model.nb, 6))
    tau = np.concatenate([np.zeros(6), rng.standard_normal(model.nv - 6)])
    a = sf.forward_dynamics(model, q, v, tau, f_ext)
    m, c = sum(body.inertia.m for body in model.bodies), sf.center_of_mass(model, q)
    weight = m * np.array(model.gravity)
    expected = f_ext.sum(axis=0) + np.concatenate([np.cross(c, weight), weight])
    assert np.allclose(momentum_rate(model, q, v, a), expected, atol=1e-6)
