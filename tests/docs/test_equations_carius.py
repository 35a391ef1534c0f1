"""Carius' primer: moving frames, forces, section 5 with its frame indices, the rolling ball."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.kinematics import forces_from_world, motions, no_forces, transforms
from sixfold.dynamics.rnea import rnea
from sixfold.scalar import differentiate, plain
from sixfold.spatial import Force, Motion, Transform, Vector3

TREES = ["random_tree:10:1", "random_tree:12:4", "floating_link", "tree6"]


def six(x):
    return np.array([float(plain(c)) for c in (*x.ang, *x.lin)])


def rows(matrix):
    return np.array([[float(plain(x)) for x in row] for row in matrix])


class State:
    """A robot at a random state, with random external forces in world coordinates."""

    def __init__(self, name):
        self.model = sf.load(name)
        self.tree = self.model.tree
        rng = np.random.default_rng(5)
        self.q, self.v = sf.random_state(self.model, seed=rng)
        self.a = rng.standard_normal(self.model.nv)
        self.f_ext = rng.standard_normal((self.model.nb, 6))
        m = self.model
        self.tables = m.positions(self.q), m.velocities(self.v), m.velocities(self.a)
        self.joints = {
            i: self.tree.joint[i].calc(self.tables[0][i], self.tables[1][i])
            for i in self.tree.bodies
        }
        self.Xup, self.X0 = transforms(self.tree, self.tables[0])
        self.vel, self.acc = motions(self.tree, *self.tables)

    def external(self):
        given = {i: Force.of(list(self.f_ext[i - 1])) for i in self.tree.bodies}
        return forces_from_world(self.tree, self.tables[0], given)


@pytest.fixture(params=TREES)
def state(request):
    return State(request.param)


# -- section 2: moving frames and forces


def test_a_moving_frame_has_a_velocity_in_its_own_coordinates():
    ship = sf.load("floating_link")
    q, v = sf.random_state(ship, seed=1)
    own = sf.body_velocities(ship, q, v, frame="body")[0]
    assert np.array_equal(own, v[:6]) and np.abs(own).min() > 0
    step = 1e-6  # the same as that of a frame at rest which coincides with it now
    moved = sf.difference(ship, q, sf.integrate(ship, q, v, step)) / step
    assert np.allclose(moved[:6], own, atol=1e-9)


def test_a_velocity_in_a_moving_frame_is_absolute_and_not_relative_to_the_frame():
    ship = sf.load("floating_link")
    q, v = sf.random_state(ship, seed=2)
    world = sf.body_velocities(ship, q, v, frame="world")
    _, X0 = transforms(ship.tree, ship.positions(q))
    in_base = six(X0[1] @ Motion.of(list(world[1])))  # the link's velocity in the base's frame
    relative = six(X0[1] @ Motion.of(list(world[1] - world[0])))
    assert np.allclose(in_base - relative, v[:6])
    assert np.abs(in_base - relative).max() > 0.1


def test_forces_on_a_body_add_in_one_frame():
    a, b = Vector3(1.0, 2.0, 3.0), Vector3(-1.0, 0.5, 2.0)
    p, r = Vector3(0.1, 0.2, 0.3), Vector3(-0.4, 0.5, 0.6)
    total = Force.at_point(a, p) + Force.at_point(b, r)
    moment = p.cross(a) + r.cross(b)
    assert np.allclose(six(total), [*moment, *(a + b)])


def test_rotation_matrices_take_coordinates_from_the_second_frame_to_the_first():
    R_AB = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # B's axes are the columns
    X = Transform.from_pose(R_AB, (0.0, 0.0, 0.0))  # B_X_A
    assert np.array_equal(rows(X.E), R_AB.T)  # R_BA
    in_A = R_AB @ (1.0, 0.0, 0.0)  # B's x axis
    moved = X @ Motion.of([*in_A, 0.0, 0.0, 0.0])
    assert six(moved)[:3].tolist() == [1.0, 0.0, 0.0]


# -- section 5: remarks


def test_parents_children_and_joints_are_numbered_as_in_the_remarks(state):
    tree = state.tree
    for i in tree.bodies:
        p = tree.parent[i]
        assert p < i and i in tree.children(p)
        assert state.model.joint_names[i - 1] == state.model.bodies[i - 1].joint_name
        assert state.model.bodies[i - 1].parent == p - 1


def test_joint_velocity_is_the_difference_of_body_velocities(state):
    for i in state.tree.bodies:
        difference = state.vel[i] - state.Xup[i] @ state.vel[state.tree.parent[i]]
        assert np.allclose(six(difference), six(state.joints[i].vJ), atol=1e-12)


def test_joint_acceleration_is_the_difference_of_body_accelerations(state):
    for i in state.tree.bodies:
        _, S, vJ, cJ = state.joints[i]
        joint = S @ state.tables[2][i] + cJ + state.vel[i].cross(vJ)
        difference = state.acc[i] - state.Xup[i] @ state.acc[state.tree.parent[i]]
        assert np.allclose(six(difference), six(joint), atol=1e-11)


def test_joint_velocity_is_subspace_times_rates(state):
    for i in state.tree.bodies:
        S = np.array([six(column) for column in state.joints[i].S.columns]).T
        assert np.allclose(six(state.joints[i].vJ), S @ np.array(state.tables[1][i]))


def test_bias_of_a_joint_is_the_componentwise_rate_of_its_subspace(state):
    for i in state.tree.bodies:
        joint, q, qd = state.tree.joint[i], state.tables[0][i], state.tables[1][i]

        def velocity(at, joint=joint, qd=qd):
            m = joint.calc(at, qd).S @ qd
            return (*m.ang, *m.lin)

        _, rates = differentiate(velocity, q, joint.rate(q, qd))
        assert np.allclose([float(plain(x)) for x in rates], six(state.joints[i].cJ), atol=1e-12)


def test_the_subspace_of_an_axis_is_a_column_and_of_a_free_joint_the_identity():
    (column,) = sf.Revolute("y").calc((0.3,), (0.0,)).S.columns
    assert six(column).tolist() == [0, 1, 0, 0, 0, 0]
    free = sf.Free()
    q, v = free.neutral(), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    at = free.calc(q, v)
    assert np.array_equal([six(c) for c in at.S.columns], np.eye(6))
    assert six(at.vJ).tolist() == list(v)  # the velocities are the base's own, in its frame


def test_the_reaction_to_a_joint_force_acts_on_the_parent(state):
    tree, external = state.tree, state.external()
    _, f = rnea(tree, *state.tables, external)
    for i in tree.bodies:
        a = state.acc[i] - state.X0[i] @ tree.gravity
        net = tree.inertia[i] @ a + state.vel[i].cross(tree.inertia[i] @ state.vel[i])
        acting = f[i] + external[i]
        for j in tree.children(i):
            acting = acting - state.Xup[j].T @ f[j]
        size = np.abs(six(f[i])).max() + np.abs(six(net)).max()
        assert np.abs(six(acting) - six(net)).max() < 1e-12 * size


def test_joint_power_is_joint_force_times_joint_velocity(state):
    tau, f = rnea(state.tree, *state.tables, no_forces(state.tree))
    armature = state.tree.armature
    for i in state.tree.bodies:
        work = sum(
            (t - j * a) * rate
            for t, j, a, rate in zip(
                tau[i], armature[i], state.tables[2][i], state.tables[1][i], strict=True
            )
        )
        assert np.isclose(f[i].dot(state.joints[i].vJ), work, rtol=1e-10, atol=1e-10)


# -- section 5: the algorithm


def test_the_printed_algorithm_with_all_frame_indices_gives_the_joint_forces(state):
    tree = state.tree
    X = {i: rows(state.Xup[i].matrix()) for i in tree.bodies}
    Xs = {i: rows(state.Xup[i].star_matrix()) for i in tree.bodies}
    v, a = {0: np.zeros(6)}, {0: -six(tree.gravity)}  # (30), (31)
    f = {}
    for i in tree.bodies:
        p, joint = tree.parent[i], state.joints[i]
        S = np.array([six(column) for column in joint.S.columns]).T
        vJ = S @ np.array(state.tables[1][i])  # (32)
        v[i] = X[i] @ v[p] + vJ  # (34)
        vx = rows(Motion.of(list(v[i])).cross_matrix())
        aJ = S @ np.array(state.tables[2][i]) + six(joint.cJ) + vx @ vJ  # (33)
        a[i] = X[i] @ a[p] + aJ  # (35)
        I = rows(tree.inertia[i].matrix())
        net = I @ a[i] - vx.T @ I @ v[i]  # (36)
        f[i] = net - rows(state.X0[i].star_matrix()) @ state.f_ext[i - 1]  # (37)
    tau = {}
    for i in reversed(tree.bodies):
        S = np.array([six(column) for column in state.joints[i].S.columns]).T
        tau[i] = S.T @ f[i]  # (38)
        if tree.parent[i]:
            f[tree.parent[i]] = f[tree.parent[i]] + np.linalg.solve(Xs[i], f[i])
    printed = np.concatenate([tau[i] for i in tree.bodies])
    ours = sf.inverse_dynamics(state.model, state.q, state.v, state.a, state.f_ext)
    assert np.abs(ours - printed).max() < 1e-12 * np.abs(printed).max()


# -- section 6.1: the sample robot rolls as the example does

RADIUS, SPEED, TIME = 0.1, 0.7, 1.3
THETA = SPEED / RADIUS * TIME


@pytest.fixture
def ball():
    return sf.load("rolling_ball"), [THETA], [SPEED / RADIUS], [0.0]


def test_the_ball_travels_and_turns_as_eqs_39_to_43_say(ball):
    model, q, _, _ = ball
    pose = sf.body_poses(model, q)[0]
    assert np.allclose(pose[:3, 3], (0.0, SPEED * TIME, RADIUS))
    c, s = np.cos(THETA), np.sin(THETA)
    assert np.allclose(pose[:3, :3], [[1, 0, 0], [0, c, s], [0, -s, c]])


def test_the_ball_has_the_velocities_of_eqs_46_to_48(ball):
    model, q, v, _ = ball
    w = SPEED / RADIUS
    c, s = np.cos(THETA), np.sin(THETA)
    expected = {
        "world": (-w, 0, 0, 0, 0, SPEED**2 * TIME / RADIUS),
        "aligned": (-w, 0, 0, 0, SPEED, 0),
        "body": (-w, 0, 0, 0, SPEED * c, SPEED * s),
    }
    for frame, velocity in expected.items():
        assert np.allclose(sf.body_velocities(model, q, v, frame=frame)[0], velocity)


def test_the_ball_has_the_upward_acceleration_of_eq_49_and_its_centre_has_none(ball):
    model, q, v, a = ball
    spatial = sf.body_accelerations(model, q, v, a, frame="world")[0]
    assert np.allclose(spatial, (0, 0, 0, 0, 0, SPEED**2 / RADIUS), atol=1e-12)
    centre = sf.body_accelerations(model, q, v, a, frame="aligned", kind="classical")[0]
    assert np.allclose(centre, 0.0, atol=1e-12)
