"""The sample robots have the data of their sources."""

import hashlib
import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.formats.bundled import SAMPLES
from sixfold.model import STANDARD_JOINTS

QN = np.array([0, math.pi / 4, math.pi, 0, math.pi / 4, 0])
"""The nominal position of the Puma 560."""


def parents(model):
    """Return lambda as the books number it: bodies from 1, the base 0."""
    return [p + 1 for p in model.parent]


def test_the_samples_are_those_that_are_promised():
    assert set(SAMPLES) >= {
        "pendulum",
        "cart_pendulum",
        "double_pendulum",
        "planar_chain",
        "tree6",
        "tree10",
        "star",
        "puma560",
        "rolling_ball",
        "floating_link",
        "random_tree",
    }


def test_pendulum():
    model = sf.load("pendulum")
    assert model.gravity == (0.0, -9.81, 0.0)
    np.testing.assert_allclose(sf.mass_matrix(model, [0.3]), [[0.02 + 0.25]])
    np.testing.assert_allclose(sf.gravity_force(model, [0.3]), [9.81 * 0.5 * math.sin(0.3)])
    np.testing.assert_allclose(sf.gravity_force(model, [0.0]), [0.0], atol=1e-15)


def test_cart_pendulum():
    model, (x, t) = sf.load("cart_pendulum"), (0.2, 0.7)
    M = sf.mass_matrix(model, [x, t])
    coupling = 0.5 * 0.4 * math.cos(t)
    np.testing.assert_allclose(M, [[2.5, coupling], [coupling, 0.01 + 0.5 * 0.16]])
    np.testing.assert_allclose(
        sf.gravity_force(model, [x, t]), [0, 0.5 * 9.81 * 0.4 * math.sin(t)], atol=1e-15
    )


def test_double_pendulum():
    model, (q1, q2) = sf.load("double_pendulum"), (1.0, 0.5)
    M22 = 0.33 + 1.0
    M12 = M22 + math.cos(q2)
    M11 = 0.083 + 0.25 + 1.0 + M22 + 2 * math.cos(q2)
    np.testing.assert_allclose(sf.mass_matrix(model, [q1, q2]), [[M11, M12], [M12, M22]])
    # energy scale: hanging, and turned over
    V = sf.potential_energy(model, [[0.0, 0.0], [math.pi, 0.0], [math.pi / 2, 0.0]])
    np.testing.assert_allclose(V, [-24.525, 24.525, 0], atol=1e-13)
    np.testing.assert_allclose(sf.frame_pose(model, [0.0, 0.0], "tip")[:3, 3], [0, 0, -3])


def test_planar_chain():
    model = sf.load("planar_chain:4")
    assert sf.load("planar_chain").nb == 3
    assert model.gravity == (0.0, -9.81, 0.0)
    np.testing.assert_allclose(sf.frame_pose(model, np.zeros(4), "tip")[:3, 3], [4, 0, 0])
    np.testing.assert_allclose(sf.mass_matrix(model, np.zeros(4))[3, 3], 1 / 3)
    np.testing.assert_allclose(sf.mass_matrix(model, np.zeros(4))[0, 0], 4**3 / 3)
    np.testing.assert_allclose(sf.gravity_force(model, np.zeros(4))[0], 4 * 9.81 * 2)


def test_tree6():
    model = sf.load("tree6")
    assert parents(model) == [0, 1, 2, 1, 4, 4]
    kinds = [body.joint.kind for body in model.bodies]
    assert kinds == ["revolute", "prismatic", "prismatic", "revolute", "revolute", "revolute"]


def depth(model):
    return max(len(model.support(name)) for name in model.body_names)


def test_tree10_and_star_have_the_nilpotency_of_their_figures():
    assert sf.load("tree10").nb == 10 and depth(sf.load("tree10")) == 5
    assert sf.load("star").nb == 5 and depth(sf.load("star")) == 2
    assert parents(sf.load("star:4")) == [0, 1, 1, 1]


def test_puma560_gravity():
    expected = [0, 31.639880378357121, 6.0351380230105122, 0, 0.0282528, 0]
    np.testing.assert_allclose(sf.gravity_force(sf.load("puma560"), QN), expected, atol=1e-13)


def test_puma560_mass_matrix():
    M = np.zeros((6, 6))
    for (r, c), value in {
        (1, 1): 3.6593754121527898,
        (1, 2): -0.40436124604151888,
        (1, 3): 0.10061364777978388,
        (1, 4): -0.0025169558280306104,
        (2, 2): 4.4137419336357898,
        (2, 3): 0.35089066495641469,
        (2, 5): 0.0023595130678948927,
        (3, 3): 0.9378415752150396,
        (3, 5): 0.0014801663885198012,
        (4, 4): 0.19253170612368,
        (4, 6): 2.8284271247461901e-05,
        (5, 5): 0.171348451657,
        (6, 6): 0.194104505668,
    }.items():
        M[r - 1, c - 1] = M[c - 1, r - 1] = value
    np.testing.assert_allclose(sf.mass_matrix(sf.load("puma560"), QN), M, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("v", "a", "changes", "expected", "digits"),
    [
        (
            [0] * 6,
            [1] * 6,
            {},
            [
                3.3531108580630242,
                36.002511243975702,
                7.4259640773502702,
                0.19004303456689685,
                0.20344093111341469,
                0.19413278993924746,
            ],
            1e-13,
        ),
        (
            [0] * 6,
            [1, 2, 3, 1, 2, 3],
            {"gravity": True},
            [
                3.149976907581073,
                9.4805136422350946,
                3.6188800361147717,
                0.19009960310939178,
                0.35185642861534919,
                0.58234180127524746,
            ],
            1e-13,
        ),
        (
            [1] * 6,
            [1] * 6,
            {"damping": True, "friction": True},
            [
                1.9620364869799013,
                37.785429833311303,
                6.6739373223921206,
                0.19126611638255665,
                0.20582040960248651,
                0.19428107421049492,
            ],
            1e-13,
        ),
        ([1] * 6, [1] * 6, {}, [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781], 5e-5),
        ([1] * 6, [0] * 6, {}, [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648], 5e-5),
    ],
    ids=["static", "weightless", "frictionless", "with friction", "steady"],
)
def test_puma560_joint_forces(v, a, changes, expected, digits):
    model = sf.load("puma560").without(**changes)
    np.testing.assert_allclose(sf.inverse_dynamics(model, QN, v, a), expected, rtol=0, atol=digits)


def test_puma560_accelerations():
    v, tau = [0.1, 0.2, 0.8, 0.2, 0.5, 1.0], [1, 3.2, 1.8, 0.1, 0.7, 4.6]
    expected = [-7.4102, -9.8432, -10.9694, -4.4314, -0.9881, 21.0228]
    acc = sf.forward_dynamics(sf.load("puma560"), QN, v, tau)
    np.testing.assert_allclose(acc, expected, rtol=0, atol=5e-5)


def test_puma560_velocity_forces():
    model, v = sf.load("puma560"), [1, 2, 3, 1, 2, 3]
    expected = [
        -4.6344217633084629,
        8.7257112245805974,
        -1.9268101608881572,
        0.002255789314721346,
        0.019052433368279485,
        0.0003648528137423857,
    ]
    force = sf.bias_force(model.without(damping=True, friction=True, gravity=True), QN, v)
    np.testing.assert_allclose(force, expected, rtol=0, atol=1e-13)


def test_friction_of_the_puma560_differs_by_direction():
    model = sf.load("puma560")
    bare = model.without(friction=True)
    v = np.full(6, 0.3)  # full friction: 30 times the friction speed
    up, down = (sf.bias_force(model, QN, w) - sf.bias_force(bare, QN, w) for w in (v, -v))
    np.testing.assert_allclose(up[0], 0.395 * 62.6111, rtol=1e-12)
    np.testing.assert_allclose(down[0], -0.435 * 62.6111, rtol=1e-12)


def test_dry_friction_of_the_puma560_does_not_jump_at_rest():
    still, moved = (sf.bias_force(sf.load("puma560"), QN, [v] * 6) for v in (0.0, 1e-12))
    np.testing.assert_allclose(moved, still, rtol=0, atol=1e-8)


def test_the_rolling_ball_rolls_without_slipping():
    model, (angle, speed) = sf.load("rolling_ball"), (0.7, 1.3)
    (pose,) = sf.body_poses(model, [angle])
    np.testing.assert_allclose(pose[:3, 3], [0, 0.1 * angle, 0.1], atol=1e-16)
    # the point of the ball that touches the ground stands still
    world = sf.body_velocities(model, [angle], [speed], frame="world")[0]
    contact = world[3:] + np.cross(world[:3], [0, 0.1 * angle, 0])
    np.testing.assert_allclose(contact, np.zeros(3), atol=1e-15)
    np.testing.assert_allclose(sf.mass_matrix(model, [angle]), [[(1 + 0.4) * 0.01]])
    np.testing.assert_allclose(sf.bias_force(model, [angle], [speed]), [0], atol=1e-15)
    (body,) = model.bodies
    cJ = body.joint.calc([angle], [speed]).cJ
    assert max(abs(float(x)) for x in cJ.lin) > 0.01


def test_floating_link():
    model = sf.load("floating_link")
    assert [b.joint.kind for b in model.bodies] == ["free", "revolute"]
    assert (model.nq, model.nv) == (8, 7)
    q, v = sf.random_state(model, seed=0)
    acc, dt = sf.forward_dynamics(model, q, v, np.zeros(7)), 1e-5
    # in free fall the momentum grows by the weight of 2.5 kg
    ahead, behind = (
        sf.momentum(model, sf.integrate(model, q, v, t), v + acc * t)[3:] for t in (dt, -dt)
    )
    np.testing.assert_allclose((ahead - behind) / (2 * dt), [0, 0, -9.81 * 2.5], atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_have_every_joint_type_and_masses_in_range(seed):
    model = sf.random_tree(150, seed)
    kinds = {type(body.joint) for body in model.bodies}
    assert kinds == {*STANDARD_JOINTS, sf.CustomJoint}
    masses = [float(body.inertia.m) for body in model.bodies]
    assert 0.1 <= min(masses) < 0.2 and 5 < max(masses) <= 10
    assert all(sf.spatial.physical_consistency(body.inertia).physical for body in model.bodies)
    assert model == sf.random_tree(150, seed) != sf.random_tree(150, seed + 1)


def test_random_trees_take_joints_branching_and_properties():
    chain = sf.random_tree(20, 0, joints=[sf.Revolute], branching=0.0)
    assert chain.parent == tuple(range(-1, 19))
    assert {body.joint.kind for body in chain.bodies} == {"revolute"}
    rich = sf.random_tree(20, 0, properties=True)
    assert all(any(body.damping) and any(body.stiffness) for body in rich.bodies)
    assert not any(any(body.damping) for body in sf.random_tree(20, 0).bodies)


@pytest.mark.parametrize(
    "name, mobility", [("four_bar_leg", 11), ("delta", 3), ("gripper", 4), ("stewart", 6)]
)
def test_samples_with_loops_are_closed_at_the_neutral_configuration(name, mobility):
    model = sf.load(name)
    q = sf.neutral(model)
    np.testing.assert_allclose(sf.loops.constraint_gaps(model, q), 0.0, atol=1e-15)
    rank = np.linalg.matrix_rank(sf.loops.constraint_jacobian(model, q), tol=1e-6)
    assert model.nv - rank == mobility


def constants(model):
    """Return a digest of all numbers of a model, to the last bit."""
    numbers = [float(x) for x in model.gravity]
    for body in model.bodies:
        (E, r), I = body.placement, body.inertia
        numbers += [float(x) for row in E for x in row] + [float(x) for x in r]
        numbers += map(float, I.parameters())
        for extra in (body.damping, body.friction, body.stiffness, body.rest, body.armature):
            numbers += map(float, extra)
    return hashlib.sha256(" ".join(x.hex() for x in numbers).encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("tree6", "7bd527f5b72e"),
        ("tree10", "190b0a11591a"),
        ("star:5", "1f9e98f2d1df"),
        ("random_tree:20:1", "64942f16efca"),
    ],
)
def test_constants_of_drawn_samples_do_not_depend_on_the_version_of_numpy(name, digest):
    assert constants(sf.load(name)) == digest


def test_constants_of_a_drawn_tree_with_springs_do_not_either():
    tree = sf.random_tree(60, 7, properties=True)
    assert constants(tree) == "3e737945f41d"


def test_a_model_shows_itself_in_one_line():
    assert repr(sf.load("quadruped")) == "<Model 'quadruped': nb=13, nq=19, nv=18, 12 kg>"
    assert "1 constraint, " in repr(sf.load("four_bar_leg"))
