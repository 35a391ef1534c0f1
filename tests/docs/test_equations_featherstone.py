"""Featherstone's slides, part 3: the model and the algorithms, as printed, in base coordinates."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.energy import composite_inertias
from sixfold.dynamics.fast.inverse_dynamics import joint_wrenches
from sixfold.dynamics.kinematics import motions, no_forces, transforms
from sixfold.scalar import differentiate, plain
from sixfold.spatial import equation_of_motion
from tests.docs.support import cross, cross_star, rows, six
from tests.dynamics.support import fn

TREES = ["tree6", "tree10", "star:5", "puma560"]


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


# -- part 3: the dynamic model


def test_a_model_holds_connectivity_joints_geometry_and_inertias():
    tree = sf.load("tree6").tree
    for data in (tree.parent, tree.joint, tree.Xtree, tree.inertia):
        assert len(data) == 7  # the base and six bodies
    assert all(tree.parent[i] < i for i in tree.bodies)
    # every chain of parents ends at the base, body 0, which does not move
    for i in tree.bodies:
        chain = [i]
        while chain[-1]:
            chain.append(tree.parent[chain[-1]])
        assert chain[-1] == 0
    still = {i: (0.3,) for i in tree.bodies}
    velocity, acceleration = motions(tree, still, still, still)
    assert six(velocity[0]).tolist() == six(acceleration[0]).tolist() == [0.0] * 6


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
    assert np.allclose(rows(composite_inertias(base.tree, base.tables[0])[0].matrix()), sum(roots))


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
