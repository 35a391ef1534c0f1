"""Newton-Euler with three-vectors: Khatib, Stanford lecture on dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.newton_euler import newton_euler
from sixfold.dynamics.book.operators.equations import accelerations
from sixfold.dynamics.book.operators.inertial_axes import center_accelerations, geometry, inertial
from sixfold.dynamics.book.rnea import rnea
from sixfold.spatial import Vector3
from tests.dynamics.support import EPS, array, error, flat, fn, pushes, rate, tables, vector

MODELS = {
    "tree6": sf.load("tree6"),
    "tree10": sf.load("tree10"),
    "star:5": sf.load("star:5"),
    "puma560": sf.load("puma560").without(damping=True, friction=True),
    "cart_pendulum": sf.load("cart_pendulum"),
    "screws": sf.random_tree(8, 3, joints=(sf.Revolute, sf.Prismatic, sf.Helical)),
    "slides": sf.random_tree(6, 5, joints=(sf.Prismatic,)),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
TIGHT = 128 * EPS


def state(model, seed=0):
    q, qd, qdd, none = tables(model, seed)
    return (q, qd, qdd, none), [np.array(flat(x)) for x in (q, qd, qdd)]


# -- the recursion as a whole


@each
def test_three_vectors_give_the_joint_forces_of_spatial_vectors(model):
    (q, qd, qdd, none), _ = state(model)
    expected, _ = rnea(model.tree, q, qd, qdd, none)
    assert error(flat(newton_euler(model.tree, q, qd, qdd, none)), flat(expected)) <= TIGHT


@each
def test_three_vectors_take_external_forces_as_spatial_vectors_do(model):
    (q, qd, qdd, _), _ = state(model)
    contact = pushes(model)
    expected, _ = rnea(model.tree, q, qd, qdd, contact)
    assert error(flat(newton_euler(model.tree, q, qd, qdd, contact)), flat(expected)) <= TIGHT


def test_gravity_is_an_upward_acceleration_of_the_base():
    """A pendulum held out sideways needs a torque that lifts it: + m g L."""
    model = sf.load("pendulum")
    q, zero = model.positions([np.pi / 2]), model.velocities([0.0])
    tau = newton_euler(
        model.tree, q, zero, zero, pushes(model.without()) | {1: sf.spatial.Force.zero()}
    )
    assert tau[1][0] == pytest.approx(1.0 * 9.81 * 0.5, rel=4 * EPS)


# -- outward: velocities and accelerations


def world_motion(model, values):
    """Poses, velocities and classical accelerations of all bodies, in world axes."""
    q, v, a = values
    poses = fn.body_poses(model, q)
    velocity = fn.body_velocities(model, q, v, frame="aligned")
    acceleration = fn.body_accelerations(model, q, v, a, frame="aligned", kind="classical")
    return poses, velocity, acceleration


def axis(model, i, poses):
    """Z_i in world axes."""
    return poses[i - 1, :3, :3] @ array(list(model.tree.joint[i].axis))


def kinds(model, i):
    """Rates of turning and of sliding for a unit joint rate."""
    joint = model.tree.joint[i]
    if isinstance(joint, sf.Revolute):
        return 1.0, 0.0
    return (0.0, 1.0) if isinstance(joint, sf.Prismatic) else (1.0, joint.pitch)


@each
def test_angular_velocity_and_acceleration_follow_khatibs_recursion(model):
    (q, qd, qdd, none), values = state(model)
    poses, vel, acc = world_motion(model, values)
    at = geometry(model.tree, q, qd)
    rates = accelerations(inertial(model.tree, q, qd, none), qdd)
    _, v, a = values
    for i in model.tree.bodies:
        p, Z = model.tree.parent[i], axis(model, i, poses)
        turn, _ = kinds(model, i)
        w = vel[p - 1, :3] if p else np.zeros(3)
        wd = acc[p - 1, :3] if p else np.zeros(3)
        omega = w + turn * v[i - 1] * Z
        alpha = wd + turn * (np.cross(w, Z) * v[i - 1] + a[i - 1] * Z)
        scale = np.abs(acc).max()
        assert np.abs(omega - vel[i - 1, :3]).max() <= TIGHT * scale
        assert np.abs(alpha - acc[i - 1, :3]).max() <= TIGHT * scale
        # the same in the inertial reading of the operator equations
        assert np.abs(omega - vector(at.omega[i])).max() <= TIGHT * scale
        assert np.abs(alpha - vector(rates[i].ang)).max() <= TIGHT * scale


@each
def test_linear_acceleration_follows_khatibs_recursion_with_its_sliding_terms(model):
    (q, qd, qdd, none), values = state(model)
    poses, vel, acc = world_motion(model, values)
    rates = accelerations(inertial(model.tree, q, qd, none), qdd)
    _, v, a = values
    for i in model.tree.bodies:
        p, Z = model.tree.parent[i], axis(model, i, poses)
        _, slide = kinds(model, i)
        w, wd, vd, origin = np.zeros((4, 3))
        if p:
            w, wd, vd = vel[p - 1, :3], acc[p - 1, :3], acc[p - 1, 3:]
            origin = poses[p - 1, :3, 3]
        arm = poses[i - 1, :3, 3] - origin
        expected = vd + np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
        expected += slide * (2 * v[i - 1] * np.cross(w, Z) + a[i - 1] * Z)
        assert np.abs(expected - acc[i - 1, 3:]).max() <= TIGHT * np.abs(acc).max()
        assert np.abs(expected - vector(rates[i].lin)).max() <= TIGHT * np.abs(acc).max()


# -- inward: balance of forces and moments on each link


def link_forces(model, values):
    """Inertial force F and moment N of each link, centres, and the wrenches f, n in world axes."""
    q, v, a = values
    poses, vel, acc = world_motion(model, values)
    wrench = fn.joint_wrenches(model, q, v, a)
    F, N, centers, f, n = {}, {}, {}, {}, {}
    for i in model.tree.bodies:
        R, I = poses[i - 1, :3, :3], model.tree.inertia[i]
        w, wd, vd = vel[i - 1, :3], acc[i - 1, :3], acc[i - 1, 3:]
        c = R @ array(list(I.center))
        Ic = R @ array([list(row) for row in I.about_center.matrix()]) @ R.T
        vd_c = vd + np.cross(wd, c) + np.cross(w, np.cross(w, c))
        F[i] = float(I.m) * (vd_c - np.array(model.gravity))
        N[i] = Ic @ wd + np.cross(w, Ic @ w)
        centers[i] = c
        n[i], f[i] = R @ wrench[i - 1, :3], R @ wrench[i - 1, 3:]
    return poses, F, N, centers, f, n


def assert_three_vectors_find(model, poses, f, n):
    """The joint forces of `newton_euler` are these forces and moments along the axes."""
    (q, qd, qdd, none), _ = state(model)
    tau = newton_euler(model.tree, q, qd, qdd, none)
    scale = max(np.abs(x).max() for x in (*f.values(), *n.values()))
    for i in model.tree.bodies:
        turn, slide = kinds(model, i)
        Z = axis(model, i, poses)
        rotor = float(array(list(model.tree.armature[i] * qdd[i]))[0])
        found = turn * n[i] @ Z + slide * f[i] @ Z + rotor
        assert abs(found - float(tau[i][0])) <= TIGHT * scale


@each
def test_force_on_each_link_is_its_mass_times_acceleration(model):
    (q, qd, qdd, _), values = state(model)
    poses, F, _, _, f, n = link_forces(model, values)
    scale = max(np.abs(x).max() for x in f.values())
    centre = center_accelerations(model.tree, q, qd, qdd)
    for i in model.tree.bodies:
        net = f[i] - sum((f[j] for j in model.tree.children(i)), np.zeros(3))
        assert np.abs(net - F[i]).max() <= TIGHT * scale
        lift = vector(centre[i].lin) - np.array(model.gravity)
        assert np.abs(net - float(model.tree.inertia[i].m) * lift).max() <= TIGHT * scale
    assert_three_vectors_find(model, poses, f, n)


@each
def test_moment_on_each_link_balances_about_its_centre_of_mass(model):
    """N_i = n_i - n_(i+1) + (-p_C) x f_i + (p_(i+1) - p_C) x (-f_(i+1))."""
    _, values = state(model)
    poses, _, N, centers, f, n = link_forces(model, values)
    scale = max(np.abs(x).max() for x in (*f.values(), *n.values()))
    for i in model.tree.bodies:
        net = n[i] + np.cross(-centers[i], f[i])
        for j in model.tree.children(i):
            arm = poses[j - 1, :3, 3] - poses[i - 1, :3, 3] - centers[i]
            net = net - n[j] + np.cross(arm, -f[j])
        assert np.abs(net - N[i]).max() <= TIGHT * scale
    assert_three_vectors_find(model, poses, f, n)


@each
def test_inward_recursion_hands_forces_and_moments_to_the_parent(model):
    """f_i = F_i + f_(i+1), n_i = N_i + n_(i+1) + p_C x F_i + p_(i+1) x f_(i+1)."""
    _, values = state(model)
    poses, F, N, centers, f, n = link_forces(model, values)
    scale = max(np.abs(x).max() for x in (*f.values(), *n.values()))
    force, moment = {}, {}
    for i in reversed(model.tree.bodies):
        force[i], moment[i] = F[i].copy(), N[i] + np.cross(centers[i], F[i])
        for j in model.tree.children(i):
            arm = poses[j - 1, :3, 3] - poses[i - 1, :3, 3]
            force[i] += force[j]
            moment[i] += moment[j] + np.cross(arm, force[j])
        assert np.abs(force[i] - f[i]).max() <= TIGHT * scale
        assert np.abs(moment[i] - n[i]).max() <= TIGHT * scale
    assert_three_vectors_find(model, poses, force, moment)


def test_joint_force_is_the_moment_about_a_hinge_and_the_force_along_a_slide():
    model = MODELS["tree6"]
    (q, qd, qdd, none), values = state(model)
    poses, _, _, _, f, n = link_forces(model, values)
    tau = newton_euler(model.tree, q, qd, qdd, none)
    scale = np.abs(array(flat(tau))).max()
    for i in model.tree.bodies:
        Z = axis(model, i, poses)
        hinge = isinstance(model.tree.joint[i], sf.Revolute)
        assert abs((n[i] if hinge else f[i]) @ Z - tau[i][0]) <= TIGHT * scale


# -- momentum


def path(t):
    """A smooth path in space."""
    return np.array([np.sin(1.3 * t) + t, np.cos(0.7 * t) - t * t, np.exp(0.5 * t)])


def test_rate_of_angular_momentum_of_a_particle_is_the_moment_of_its_force():
    """d(p x m v)/dt = p x m vdot: the term that drops is v x m v, not v x m vdot as printed."""
    m, t = 1.7, 0.4
    p, v = path(t), rate(path, at=t)
    vdot = rate(path, 1e-2, at=t, order=2)
    measured = rate(lambda s: np.cross(path(s), m * rate(path, at=s)), 1e-2, at=t)
    np.testing.assert_allclose(measured, np.cross(p, m * vdot), rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.cross(v, m * v), np.zeros(3), rtol=0, atol=8 * EPS)
    assert np.abs(np.cross(v, m * vdot)).max() > 0.1
    # p x m v and p x F as the library has them: momentum of a particle, moment of a force
    particle = sf.Inertia.from_mass(m, p.tolist())
    momentum = particle @ sf.spatial.Motion.of([0.0, 0.0, 0.0, *v])
    np.testing.assert_allclose(vector(momentum.ang), np.cross(p, m * v), rtol=0, atol=8 * EPS)
    force = sf.spatial.Force.at_point(Vector3(*(m * vdot)), Vector3(*p))
    np.testing.assert_allclose(measured, vector(force.ang), rtol=0, atol=1e-8)


def test_rate_of_angular_momentum_of_a_turning_body_is_eulers_moment():
    """d(I w)/dt = I wdot + w x I w, in world axes, for a body turning freely in space."""
    builder = sf.ModelBuilder("top", gravity=(0.0, 0.0, 0.0))
    solid = sf.Inertia.from_mass(
        1.0, rotational=((0.4, 0.05, 0.02), (0.05, 0.3, 0.01), (0.02, 0.01, 0.6))
    )
    builder.add_body("top", joint=sf.Spherical(), inertia=solid)
    model = builder.build()
    q0, w0 = sf.random_state(model, seed=2)
    wd = np.array([0.3, -0.8, 0.5])

    def angular_momentum(t):
        # body rates w0 + wd t; the turn over t is their integral to second order in t, enough at 0
        q = fn.integrate(model, q0, w0 * t + wd * (t * t / 2))
        return fn.momentum(model, q, w0 + wd * t)[:3]

    I = array([list(row) for row in solid.I.matrix()])
    R = fn.body_poses(model, q0)[0, :3, :3]
    expected = R @ (I @ wd + np.cross(w0, I @ w0))
    np.testing.assert_allclose(rate(angular_momentum), expected, rtol=0, atol=1e-11)
