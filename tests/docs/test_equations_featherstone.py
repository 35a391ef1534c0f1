"""Equations of Featherstone's slides, written out as they are printed, in base coordinates."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.crba import crba, dense
from sixfold.dynamics.energy import composite_inertia
from sixfold.dynamics.kinematics import motions, no_forces, transforms
from sixfold.dynamics.rnea import rnea
from sixfold.dynamics.wrenches import joint_wrenches
from sixfold.model.samples import Rolling
from sixfold.scalar import Dual, cos, differentiate, plain, sin
from sixfold.spatial import (
    Force,
    Motion,
    Subspace,
    Transform,
    Vector3,
    equation_of_motion,
    skew,
)
from tests.dynamics.support import fn
from tests.dynamics.support import rate as central

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
TREES = ["tree6", "tree10", "star:5", "puma560"]


def six(x):
    return np.array([float(plain(c)) for c in (*x.ang, *x.lin)])


def six_columns(subspace):
    return np.array([six(c) for c in subspace.columns]).reshape(-1, 6).T


def rows(matrix):
    return np.array([[float(plain(x)) for x in row] for row in matrix])


def cross_star(v):
    return rows(Motion.of(list(v)).cross_star_matrix())


def cross(v):
    return rows(Motion.of(list(v)).cross_matrix())


class Base:
    """A robot of single-axis joints at a state, every quantity in base coordinates."""

    def __init__(self, name, seed=1):
        self.model = sf.load(name).without(friction=True, damping=True, armature=True)
        self.tree = self.model.tree
        rng = np.random.default_rng(seed)
        q, v = sf.random_state(self.model, seed=rng)
        self.q, self.qd, self.qdd = q, v, rng.standard_normal(len(v))
        m = self.model
        self.tables = m.positions(q), m.velocities(v), m.velocities(self.qdd)
        _, self.X0 = transforms(self.tree, self.tables[0])
        self.bodies = list(self.tree.bodies)
        self.parent = self.tree.parent
        self.s = {i: self.moved(self.axis(i), i) for i in self.bodies}
        self.I = {i: self.inertia(i) for i in self.bodies}

    def axis(self, i):
        (column,) = self.tree.joint[i].calc(self.tables[0][i], (0.0,)).S.columns
        return column

    def moved(self, m, i):
        return six(self.X0[i].inverse() @ m)

    def inertia(self, i):
        X = self.X0[i]
        return rows((X.T @ self.tree.inertia[i] @ X).matrix())

    def motions(self, gravity):
        """v_i = v_p + s_i qd_i, a_i = a_p + s_i qdd_i + v_i x s_i qd_i."""
        v, a = {0: np.zeros(6)}, {0: -six(self.tree.gravity) if gravity else np.zeros(6)}
        for i in self.bodies:
            p, k = self.parent[i], i - 1
            v[i] = v[p] + self.s[i] * self.qd[k]
            a[i] = a[p] + self.s[i] * self.qdd[k] + cross(v[i]) @ self.s[i] * self.qd[k]
        return v, a

    def forces(self):
        """f_B = I a + v x* I v, f_J = f_B + sum over children of f_J."""
        v, a = self.motions(gravity=True)
        f_B = {i: self.I[i] @ a[i] + cross_star(v[i]) @ self.I[i] @ v[i] for i in self.bodies}
        f_J = {}
        for i in reversed(self.bodies):
            f_J[i] = f_B[i] + sum((f_J[j] for j in self.tree.children(i)), np.zeros(6))
        return f_B, f_J

    def wrenches(self):
        """The library's f_J, moved to base coordinates."""
        f = joint_wrenches(self.tree, *self.tables, no_forces(self.tree))
        return {i: six(self.X0[i].T @ f[i]) for i in self.bodies}

    def supports(self, i):
        return set(self.tree.support(i))

    def subtree(self, i):
        return set(self.tree.subtree(i))


@pytest.fixture(params=TREES)
def base(request):
    return Base(request.param)


# -- part 1: the derivative and its properties


def path(t):
    """A motion and a force that depend on t."""
    u = Motion(Vector3(sin(t), t * t, 1.0), Vector3(t, cos(t), t * t * t))
    return u, Force(Vector3(cos(t), t, t * t), Vector3(1.0, sin(t), t))


T = 0.7
AT = Dual(T, 1.0)


def rate(x):
    return x.over(lambda c: c.dot if isinstance(c, Dual) else 0.0)


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


# -- part 3: the dynamic model


def test_a_model_holds_connectivity_joints_geometry_and_inertias():
    tree = sf.load("tree6").tree
    for data in (tree.parent, tree.joint, tree.Xtree, tree.inertia):
        assert len(data) == 7  # the base and six bodies
    assert all(tree.parent[i] < i for i in tree.bodies)


def test_joint_types_have_codes_and_some_have_parameters():
    joints = {
        "R": sf.Revolute("z"),
        "P": sf.Prismatic("z"),
        "H": sf.Helical("z", 0.1),
        "S": sf.Spherical(),
    }
    codes = {"R": "revolute", "P": "prismatic", "H": "helical", "S": "spherical"}
    assert {letter: joint.kind for letter, joint in joints.items()} == codes
    tree = sf.load("tree6").tree
    assert [tree.joint[i].kind[0].upper() for i in tree.bodies] == list("RPPRRR")
    # jcalc(jtype, q) needs the pitch of a helical joint; a revolute joint has none
    turn, screw = (joints[x].calc((0.4,), (0.0,)) for x in "RH")
    steeper = sf.Helical("z", 0.2).calc((0.4,), (0.0,))
    assert turn.XJ.E == screw.XJ.E == steeper.XJ.E
    assert [float(plain(s.XJ.r.z)) for s in (turn, screw, steeper)] == pytest.approx(
        [0, 0.04, 0.08]
    )


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


def test_a_joint_transform_depends_on_type_and_position_alone(base):
    for i in base.bodies:
        q = base.tables[0][i]
        first = base.tree.joint[i].calc(q, (0.0,)).XJ
        second = base.tree.joint[i].calc(q, (5.0,)).XJ
        assert np.array_equal(rows(first.matrix()), rows(second.matrix()))


# -- part 3: recursive Newton-Euler, equation by equation


def test_accelerations_of_bodies_are_sums_over_parent_and_joint(base):
    _, a = motions(base.tree, *base.tables)
    _, expected = base.motions(gravity=False)
    for i in base.bodies:
        assert np.allclose(base.moved(a[i], i), expected[i], atol=1e-11)


def test_inertias_are_given_in_the_frames_of_their_bodies(base):
    model, tree = base.model, base.tree
    poses = fn.body_poses(model, base.q)
    speed = fn.body_velocities(model, base.q, base.qd, frame="aligned")
    energy = 0.0
    for i in base.bodies:
        I, R = tree.inertia[i], poses[i - 1, :3, :3]
        assert model.bodies[i - 1].inertia == I
        omega, v = speed[i - 1, :3], speed[i - 1, 3:]
        v_C = v + np.cross(omega, R @ [float(plain(x)) for x in I.center])
        about = R @ rows(I.about_center.matrix()) @ R.T
        energy += 0.5 * (float(I.m) * v_C @ v_C + omega @ about @ omega)
    assert np.isclose(fn.kinetic_energy(model, base.q, base.qd), energy, rtol=1e-12)


def test_a_joint_axis_moves_with_its_body(base):
    v, _ = base.motions(gravity=False)
    model, tree = base.model, base.tree

    def axes(q):
        _, X0 = transforms(tree, model.positions(q))
        moved = [X0[i].inverse() @ base.axis(i) for i in base.bodies]
        return [x for m in moved for x in (*m.ang, *m.lin)]

    _, rates = differentiate(axes, base.q, base.qd)
    rates = np.array([float(plain(x)) for x in rates]).reshape(-1, 6)
    for i in base.bodies:
        assert np.allclose(rates[i - 1], cross(v[i]) @ base.s[i], atol=1e-12)


def test_joint_forces_of_the_slides_equal_the_wrenches_of_the_library(base):
    _, f_J = base.forces()
    wrenches = base.wrenches()
    tau, f = rnea(base.tree, *base.tables, no_forces(base.tree))
    for i in base.bodies:
        assert np.allclose(wrenches[i], f_J[i], rtol=1e-11, atol=1e-11)
        assert np.allclose(six(base.X0[i].T @ f[i]), f_J[i], rtol=1e-11, atol=1e-11)
        assert np.isclose(float(tau[i][0]), base.s[i] @ f_J[i], rtol=1e-11, atol=1e-11)


def test_net_force_is_joint_force_less_the_forces_handed_to_the_children(base):
    f_B, _ = base.forces()
    f_J = base.wrenches()
    v, a = motions(base.tree, *base.tables)
    for i in base.bodies:
        handed_on = sum((f_J[j] for j in base.tree.children(i)), np.zeros(6))
        assert np.allclose(f_J[i] - handed_on, f_B[i], rtol=1e-11, atol=1e-11)
        lifted = a[i] - base.X0[i] @ base.tree.gravity
        own = equation_of_motion(base.tree.inertia[i], v[i], lifted)
        assert np.allclose(six(base.X0[i].T @ own), f_B[i], rtol=1e-11, atol=1e-11)


def test_a_body_with_two_children_passes_on_two_forces():
    base = Base("tree6")
    assert base.tree.children(4) == (5, 6)
    f_B, _ = base.forces()
    f_J = base.wrenches()
    assert np.allclose(f_B[4], f_J[4] - f_J[5] - f_J[6], rtol=1e-11, atol=1e-11)


def test_joint_space_equation_holds_with_the_bias_of_inverse_dynamics(base):
    m, q, qd, qdd = base.model, base.q, base.qd, base.qdd
    C = sf.inverse_dynamics(m, q, qd, np.zeros(m.nv))
    assert np.array_equal(C, sf.bias_force(m, q, qd))
    tau = sf.inverse_dynamics(m, q, qd, qdd)
    assert np.allclose(sf.mass_matrix(m, q) @ qdd + C, tau, rtol=1e-11, atol=1e-11)


def test_forward_dynamics_solves_for_the_acceleration_in_three_steps(base):
    m, q, qd = base.model, base.q, base.qd
    tau = np.random.default_rng(3).standard_normal(m.nv)
    steps = np.linalg.solve(sf.mass_matrix(m, q), tau - sf.bias_force(m, q, qd))
    for method in ("crba", "aba"):
        a = sf.forward_dynamics(m, q, qd, tau, method=method)
        assert np.abs(a - steps).max() < 1e-9 * np.abs(steps).max()


# -- part 3: equations (1) to (8) and the composite-rigid-body algorithm


def composites(base):
    return {i: sum(base.I[k] for k in base.subtree(i)) for i in base.bodies}


def test_a_composite_is_its_body_and_the_composites_of_its_children(base):
    Ic = composites(base)
    for i in base.bodies:
        total = base.I[i] + sum((Ic[j] for j in base.tree.children(i)), np.zeros((6, 6)))
        assert np.allclose(Ic[i], total)
    roots = [Ic[i] for i in base.bodies if base.parent[i] == 0]
    assert np.allclose(rows(composite_inertia(base.tree, base.tables[0]).matrix()), sum(roots))


def test_the_printed_composite_rigid_body_algorithm_gives_the_inertia_matrix(base):
    tree, q = base.tree, base.tables[0]
    Xup, _ = transforms(tree, q)
    X = {i: rows(Xup[i].matrix()) for i in base.bodies}  # i_X_p; its transpose is p_X_i*
    s = {i: six(base.axis(i)) for i in base.bodies}
    Ic = {i: rows(tree.inertia[i].matrix()) for i in base.bodies}
    H = np.zeros((tree.nv, tree.nv))
    for i in reversed(base.bodies):
        if tree.parent[i]:
            Ic[tree.parent[i]] = Ic[tree.parent[i]] + X[i].T @ Ic[i] @ X[i]
        f = Ic[i] @ s[i]
        H[i - 1, i - 1] = s[i] @ f
        j = i
        while tree.parent[j]:
            f = X[j].T @ f
            j = tree.parent[j]
            H[i - 1, j - 1] = H[j - 1, i - 1] = s[j] @ f
    assert np.allclose(rows(dense(tree, crba(tree, q))), H, atol=1e-12)


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
