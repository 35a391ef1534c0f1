"""The dynamic model and recursive Newton-Euler.

Featherstone, Summer Screws 2024; multi-dof joints and external forces as in Carius, Primer on
Spatial Algebra, 2018.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast.inverse_dynamics import joint_wrenches
from sixfold.dynamics.kinematics import forces_from_world, motions, no_forces, transforms
from sixfold.scalar import ZERO
from sixfold.spatial import Force, Motion, Transform
from tests.dynamics.support import EPS, array, error, flat, fn, numbers, pushes, six, tables

TREE6 = sf.load("tree6")
MODELS = {
    "tree6": TREE6,
    "tree10": sf.load("tree10"),
    "floating_link": sf.load("floating_link"),
    "rolling_ball": sf.load("rolling_ball"),
    "every joint": sf.random_tree(10, 4),
    "more joints": sf.random_tree(12, 9),
    "rotors": sf.random_tree(6, 8, properties=True),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
TIGHT = 128 * EPS


def world(model, q, m, i):
    """A motion of body i in world coordinates."""
    return transforms(model.tree, q)[1][i].inverse() @ m


# -- connectivity, joint types, geometry


def test_parent_array_of_featherstones_tree():
    assert sf.load("tree6").tree.parent[1:] == (0, 1, 2, 1, 4, 4)


def test_joint_types_of_featherstones_tree():
    letters = {sf.Revolute: "R", sf.Prismatic: "P"}
    joints = sf.load("tree6").tree.joint[1:]
    assert [letters[type(joint)] for joint in joints] == list("RPPRRR")


def test_supporting_joints_of_featherstones_tree():
    expected = {1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 4}, 5: {1, 4, 5}, 6: {1, 4, 6}}
    assert {i: set(TREE6.tree.support(i)) for i in range(1, 7)} == expected
    names = TREE6.body_names
    for k, name in enumerate(names, 1):
        assert set(TREE6.support(name)) == {names[i - 1] for i in expected[k]}


def test_supported_bodies_of_featherstones_tree():
    expected = {1: {1, 2, 3, 4, 5, 6}, 2: {2, 3}, 3: {3}, 4: {4, 5, 6}, 5: {5}, 6: {6}}
    assert {i: set(TREE6.tree.subtree(i)) for i in range(1, 7)} == expected


def test_children_of_featherstones_tree():
    expected = {0: (1,), 1: (2, 4), 2: (3,), 3: (), 4: (5, 6), 5: (), 6: ()}
    assert {i: TREE6.tree.children(i) for i in range(7)} == expected


def test_link_transform_is_the_joint_transform_times_the_tree_transform():
    q, qd, _, _ = tables(TREE6)
    Xup, X0 = transforms(TREE6.tree, q)
    poses = fn.body_poses(TREE6, np.zeros(6))
    for i in TREE6.tree.bodies:
        # with the joint at zero F_i is the joint frame that X_T(i) locates in the parent
        placement, parent = TREE6.bodies[i - 1].placement, TREE6.tree.parent[i]
        assert TREE6.tree.Xtree[i] == placement
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = array(placement.E).T, array(placement.r)
        below = poses[parent - 1] if parent else np.eye(4)
        np.testing.assert_allclose(poses[i - 1], below @ frame, rtol=0, atol=TIGHT)
        XJ = TREE6.tree.joint[i].calc(q[i], qd[i]).XJ
        product = array(XJ.matrix()) @ array(TREE6.tree.Xtree[i].matrix())
        assert error(Xup[i].matrix(), product) <= TIGHT
        chained = array(Xup[i].matrix()) @ array(X0[TREE6.tree.parent[i]].matrix())
        assert error(X0[i].matrix(), chained) <= TIGHT


# -- the recursion, term by term


@each
def test_velocity_of_a_body_is_its_parents_plus_its_joints(model):
    q, qd, qdd, _ = tables(model)
    v, _ = motions(model.tree, q, qd, qdd)
    for i in model.tree.bodies:
        p = model.tree.parent[i]
        joint = model.tree.joint[i].calc(q[i], qd[i])
        parent = world(model, q, v[p], p) if p else Motion.zero()
        total = parent + world(model, q, joint.S @ qd[i], i)
        assert error(six(world(model, q, v[i], i)), six(total)) <= TIGHT


@each
def test_force_through_a_joint_is_the_bodys_own_and_its_childrens(model):
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    _, f_J = rnea(model.tree, q, qd, qdd, contact)
    v, a = motions(model.tree, q, qd, qdd)
    Xup, X0 = transforms(model.tree, q)
    for i in model.tree.bodies:
        I = model.tree.inertia[i]
        fall = X0[i] @ model.tree.gravity
        own = I @ (a[i] - fall) + v[i].cross(I @ v[i]) - contact[i]  # f_B, gravity in a
        for j in model.tree.children(i):
            own = own + Xup[j].T @ f_J[j]
        scale = max(np.abs(six(f_J[i])).max(), np.abs(six(own)).max())
        assert np.abs(array(six(f_J[i] - own))).max() <= TIGHT * scale


@each
def test_joint_force_is_the_working_component_of_the_transmitted_force(model):
    q, qd, qdd, _ = tables(model)
    tau, f_J = rnea(model.tree, q, qd, qdd, pushes(model))
    for i in model.tree.bodies:
        S = model.tree.joint[i].calc(q[i], qd[i]).S
        work = S.T @ f_J[i] + model.tree.armature[i] * qdd[i]
        assert flat({i: tau[i]}) == flat({i: work})


def test_force_through_the_joint_of_a_leaf_is_its_bodys_own():
    q, qd, qdd, none = tables(TREE6)
    _, f_J = rnea(TREE6.tree, q, qd, qdd, none)
    v, a = motions(TREE6.tree, q, qd, qdd)
    _, X0 = transforms(TREE6.tree, q)
    f = joint_wrenches(TREE6.tree, q, qd, qdd, none)
    for i in (3, 5, 6):
        I = TREE6.tree.inertia[i]
        own = I @ (a[i] - X0[i] @ TREE6.tree.gravity) + v[i].cross(I @ v[i])
        assert error(six(f_J[i]), six(own)) <= TIGHT
        assert error(six(f[i]), six(own)) <= TIGHT


@each
def test_gravity_as_base_acceleration_equals_gravity_as_external_forces(model):
    q, qd, qdd, none = tables(model)
    weightless = model.without(gravity=True)
    _, X0 = transforms(model.tree, q)
    weight = {i: model.tree.inertia[i] @ (X0[i] @ model.tree.gravity) for i in model.tree.bodies}
    expected, _ = rnea(model.tree, q, qd, qdd, none)
    tau, _ = rnea(weightless.tree, q, qd, qdd, weight)
    assert error(flat(tau), flat(expected)) <= TIGHT


@each
def test_gravity_equals_weights_that_act_at_the_centres_of_mass(model):
    state = [np.array(flat(x)) for x in tables(model)[:3]]
    weights = np.zeros((model.nb, 6))
    for body in model.bodies:
        center = array(list(body.inertia.center))
        weight = float(body.inertia.m) * np.array(model.gravity)
        weights += fn.point_force(model, state[0], body.name, weight, center)
    tau = fn.inverse_dynamics(model.without(gravity=True), *state, weights)
    # weights in world coordinates: arms of a few metres amplify rounding a little
    assert error(tau, fn.inverse_dynamics(model, *state)) <= 8 * TIGHT


@each
def test_external_forces_in_world_coordinates_are_moved_to_the_bodies(model):
    q, qd, qdd, _ = tables(model)
    state = [np.array(flat(x)) for x in (q, qd, qdd)]
    bare = model.without(damping=True, friction=True, springs=True)
    in_world = pushes(model)
    moved = forces_from_world(model.tree, q, in_world)
    expected, _ = rnea(model.tree, q, qd, qdd, moved)
    given = np.array([six(in_world[i]) for i in model.tree.bodies])
    assert error(fn.inverse_dynamics(bare, *state, given), flat(expected)) <= TIGHT
    in_body = np.array([six(moved[i]) for i in model.tree.bodies])
    tau = fn.inverse_dynamics(bare, *state, in_body, f_ext_frame="body")
    assert error(tau, flat(expected)) <= TIGHT


@each
def test_external_force_works_through_the_jacobian(model):
    """Carius (37), (38): an external force lowers the joint forces by J^T f."""
    q, qd, qdd, none = tables(model)
    state = np.array(flat(q))
    contact = pushes(model)
    free, _ = rnea(model.tree, q, qd, qdd, none)
    pushed, _ = rnea(model.tree, q, qd, qdd, contact)
    work = np.zeros(model.nv)
    for i in model.tree.bodies:
        J = fn.jacobian(model, state, model.body_names[i - 1], frame="body")
        work += J.T @ np.array(six(contact[i]))
    off = array(flat(free)) - work - array(flat(pushed))
    assert np.abs(off).max() <= TIGHT * np.abs(array(flat(pushed))).max()


@each
def test_bias_is_inverse_dynamics_at_zero_acceleration(model):
    q, qd, qdd, none = tables(model)
    still = model.velocities([ZERO] * model.nv)
    C, _ = rnea(model.tree, q, qd, still, none)
    tau, _ = rnea(model.tree, q, qd, qdd, none)
    H = array(dense(model.tree, crba(model.tree, q)))
    assert error(H @ array(flat(qdd)) + array(flat(C)), flat(tau)) <= TIGHT
    state = [np.array(flat(x)) for x in (q, qd)]
    zero = np.zeros(model.nv)
    np.testing.assert_allclose(
        fn.bias_force(model, *state),
        fn.inverse_dynamics(model, *state, zero),
        rtol=0,
        atol=TIGHT * np.abs(array(flat(tau))).max(),
    )


def test_a_mass_on_a_vertical_slide_is_held_by_its_weight_upward():
    """The sign of the base acceleration: +9.81 N holds 1 kg, z up."""
    builder = sf.ModelBuilder("lift")
    builder.add_body("load", joint=sf.Prismatic("z"), inertia=sf.Inertia.from_mass(1.0))
    model = builder.build()
    assert six(model.tree.gravity) == [0.0, 0.0, 0.0, 0.0, 0.0, -9.81]
    assert fn.inverse_dynamics(model, [0.2], [0.0], [0.0])[0] == 9.81
    q, still = model.positions([0.2]), model.velocities([0.0])
    tau, _ = rnea(model.tree, q, still, still, no_forces(model.tree))
    assert flat(tau) == [9.81]
    moon = model.with_gravity((0.0, 0.0, -1.62))
    assert six(moon.tree.gravity) == [0.0, 0.0, 0.0, 0.0, 0.0, -1.62]
    assert fn.inverse_dynamics(moon, [0.2], [0.0], [0.0])[0] == 1.62


def test_one_joint_of_six_freedoms_equals_six_joints_of_one():
    """A free joint against three slides and three turns, at the same motion of the body."""
    solid = sf.Inertia.from_mass(2.0, (0.1, -0.2, 0.05), (0.03, 0.05, 0.04))
    single = sf.ModelBuilder("free")
    single.add_body("body", joint=sf.Free(), inertia=solid)
    chain = sf.ModelBuilder("six")
    joints = [sf.Prismatic(axis) for axis in "xyz"] + [sf.Revolute(axis) for axis in "zyx"]
    for k, joint in enumerate(joints, 1):
        chain.add_body(
            f"b{k}",
            parent=f"b{k - 1}" if k > 1 else None,
            joint=joint,
            inertia=solid if k == 6 else None,
        )
    free, six_joints = single.build(), chain.build()
    q6, v6, a6 = (np.array(x) for x in numbers(six_joints))
    pose = fn.body_poses(six_joints, q6)[5]
    v = fn.body_velocities(six_joints, q6, v6)[5]
    a = fn.body_accelerations(six_joints, q6, v6, a6)[5]
    q = np.concatenate([pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat()])
    wrench = fn.inverse_dynamics(free, q, v, a)
    J = fn.jacobian(six_joints, q6, "b6", frame="body")
    expected = fn.inverse_dynamics(six_joints, q6, v6, a6)
    assert error(J.T @ wrench, expected) <= TIGHT


def test_forces_at_rest_without_gravity_are_exact_zeros():
    model = TREE6.without(gravity=True)
    still = model.velocities([ZERO] * 6)
    q, _, _, _ = tables(TREE6)
    tau, f = rnea(model.tree, q, still, still, no_forces(model.tree))
    assert all(x is ZERO for i in model.tree.bodies for x in tau[i])
    assert six(f[0]) == [0.0] * 6


def test_total_force_on_the_base_is_what_the_base_table_holds():
    """f[0] after the inward sweep is the force of the base on the whole tree, at the origin."""
    model = MODELS["every joint"]
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    _, f = rnea(model.tree, q, qd, qdd, contact)
    Xup, _ = transforms(model.tree, q)
    total = Force.zero()
    for i in model.tree.children(0):
        total = total + Xup[i].T @ f[i]
    assert error(six(f[0]), six(total)) <= TIGHT


def test_moving_and_turning_the_whole_robot_with_gravity_changes_nothing():
    model = MODELS["more joints"]
    turn = Transform.from_rpy((0.3, -0.8, 1.9), (4.0, -5.0, 6.0))
    builder = sf.ModelBuilder("moved", gravity=tuple((turn @ model.tree.gravity).lin))
    moved = builder.build()
    back = turn.inverse()
    bodies = tuple(
        replace(b, placement=b.placement @ back) if b.parent < 0 else b for b in model.bodies
    )
    moved = replace(moved, bodies=bodies)
    q, qd, qdd, none = tables(model)
    expected, _ = rnea(model.tree, q, qd, qdd, none)
    tau, _ = rnea(moved.tree, q, qd, qdd, none)
    assert error(flat(tau), flat(expected)) <= TIGHT
