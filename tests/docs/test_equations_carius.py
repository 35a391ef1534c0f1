"""Carius' primer: moving frames, forces, section 5 with its frame indices, the rolling ball."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.kinematics import forces_from_world, motions, no_forces, transforms
from sixfold.dynamics.rnea import rnea
from sixfold.scalar import differentiate, plain
from sixfold.spatial import Force, Motion, Transform, Vector3, equation_of_motion, rotation
from tests.docs.support import rows, six
from tests.dynamics.support import fn, rate

TREES = ["random_tree:10:1", "random_tree:12:4", "floating_link", "tree6"]


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


def test_body_velocities_are_those_of_the_poses_at_the_fixed_origin_and_in_the_body(state):
    """Eqs. (3) and (4), with omega and v from the rates of the poses."""
    model, q, v = state.model, state.q, state.v
    poses = fn.body_poses(model, q)
    rates = rate(lambda t: fn.body_poses(model, sf.integrate(model, q, v * t)))
    world = fn.body_velocities(model, q, v, frame="world")
    body = fn.body_velocities(model, q, v, frame="body")
    bar = 1e-10 * np.abs(world).max()
    for i in state.tree.bodies:
        R, r = poses[i - 1, :3, :3], poses[i - 1, :3, 3]
        W = rates[i - 1, :3, :3] @ R.T  # omega x
        omega, speed = np.array([W[2, 1], W[0, 2], W[1, 0]]), rates[i - 1, :3, 3]
        assert np.abs(world[i - 1] - [*omega, *(speed + np.cross(r, omega))]).max() <= bar
        assert np.abs(body[i - 1] - [*(R.T @ omega), *(R.T @ speed)]).max() <= bar
        moved = state.X0[i] @ Motion.of(world[i - 1].tolist())
        assert np.abs(six(moved) - body[i - 1]).max() <= bar


def test_bodies_joined_rigidly_share_velocity_and_acceleration():
    builder = sf.ModelBuilder("welded")
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
    place = Transform.from_rpy((0.3, -0.5, 0.9), (0.4, 0.2, -0.6))
    builder.add_body("arm", joint=sf.Universal(), placement=place, inertia=solid)
    builder.add_body("hand", parent="arm", joint=sf.Fixed(), placement=place, inertia=solid)
    builder.add_body("tip", parent="hand", joint=sf.Revolute("z"), placement=place, inertia=solid)
    model = builder.build()
    q, v = sf.random_state(model, seed=1)
    J = {n: fn.jacobian(model, q, n, frame="world") for n in ("arm", "hand", "tip")}
    bias = {n: fn.jacobian_bias(model, q, v, n, frame="world") for n in J}
    assert np.allclose(J["arm"], J["hand"], atol=1e-14)  # v = J v for every v
    assert np.allclose(bias["arm"], bias["hand"], atol=1e-14)  # a = J a + bias
    assert not np.allclose(J["arm"], J["tip"], atol=0.1)
    assert np.abs(bias["arm"]).max() > 0.01


def test_the_axis_of_a_joint_is_constant_in_the_frames_of_child_and_parent():
    axis = (0.36, 0.48, 0.8)
    rng = np.random.default_rng(2)
    for joint in (sf.Revolute(axis), sf.Prismatic(axis), sf.Helical(axis, 0.3)):
        child, parent = [], []
        for q in rng.uniform(-3, 3, (4, 1)).tolist():
            XJ, S, vJ, _ = joint.calc(q, (0.7,))
            assert np.allclose(six(vJ), 0.7 * six(S.columns[0]))
            child.append(six(S.columns[0]))
            parent.append(six(XJ.inverse() @ S.columns[0]))
        assert np.array_equal(child, [child[0]] * 4)
        assert np.allclose(parent, [parent[0]] * 4, atol=1e-14)
    # a joint of two axes has one that is constant in the child and one in the parent
    first, second = (
        [six(X.inverse() @ S.columns[0]), six(S.columns[1])]
        for X, S, _, _ in (sf.Universal().calc(q, (0.0, 0.0)) for q in ((0.3, 0.4), (1.0, -2.0)))
    )
    assert np.allclose(first, second, atol=1e-14)


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
    # `rotation` turns the frame about an axis and takes coordinates into the turned frame
    E = rotation(Vector3(0.0, 0.0, 1.0), 0.0, 1.0)
    assert np.array_equal(rows(E), R_AB.T)


# -- section 5: remarks


def test_parents_children_and_joints_are_numbered_as_in_the_remarks(state):
    tree = state.tree
    for i in tree.bodies:
        p = tree.parent[i]
        assert p < i and i in tree.children(p)
        model, body = state.model, state.model.bodies[i - 1]
        assert body.parent == p - 1 == model.parent[i - 1]  # outside, -1 is the base
        if p:
            assert body.name in model.children(model.body_names[p - 1])
        # joint i connects bodies p and i: moving its coordinates alone moves just their subtree
        assert model.joint_names[i - 1] == body.joint_name
        assert tree.joint[i] == body.joint
        slid = model.v_slice(body.joint_name)
        dq = np.zeros(model.nv)
        dq[slid] = 0.1
        poses = fn.body_poses(model, state.q)
        moved = fn.body_poses(model, sf.integrate(model, state.q, dq)) - poses
        changed = {k for k in tree.bodies if np.abs(moved[k - 1]).max() > 1e-6}
        assert changed == (set(tree.subtree(i)) if tree.joint[i].nv else set())


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
    wrenches = fn.joint_wrenches(state.model, state.q, state.v, state.a, state.f_ext)
    for i in tree.bodies:
        assert np.abs(wrenches[i - 1] - six(f[i])).max() < 1e-12 * np.abs(wrenches).max()
        a = state.acc[i] - state.X0[i] @ tree.gravity
        net = equation_of_motion(tree.inertia[i], state.vel[i], a)
        acting = f[i] + external[i]
        for j in tree.children(i):
            acting = acting + state.Xup[j].T @ -f[j]  # the reaction
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
    page, _ = rnea(tree, *state.tables, state.external())
    page = np.array([float(plain(x)) for x in state.model.gather(page)])
    assert np.abs(page - printed).max() < 1e-12 * np.abs(printed).max()


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
