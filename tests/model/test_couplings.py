"""Joints that follow others: q = sum of ratio x q_master + offset."""

import itertools

import numpy as np
import pytest

import sixfold as sf

BALL = sf.Inertia.from_mass(2.0, (0.1, -0.2, 0.3), (0.02, 0.03, 0.04))


def arm(names="abcd", **joints):
    builder = sf.ModelBuilder("hand")
    before = None
    for name in names:
        joint = joints.get(name, sf.Revolute("y"))
        builder.add_body(
            name, parent=before, joint=joint, joint_name=name, placement=(0, 0, 0.3), inertia=BALL
        )
        before = name
    return builder


def law(model):
    """Return T and q0 of q = T q_r + q0 as the model applies them."""
    zero = model.positions([0.0] * model.nq)
    q0 = [float(zero[i][0]) for i in model.tree.bodies]
    T = []
    for row in np.eye(model.nq).tolist():
        moved = model.velocities(row)
        T.append([float(moved[i][0]) for i in model.tree.bodies])
    return np.array(T).T, np.array(q0)


def test_a_follower_has_no_coordinate_of_its_own():
    model = arm().couple("c", ("a", 2.0), ("b", -0.5), offset=0.3).build()
    assert (model.nq, model.nv, model.nb) == (3, 3, 4)
    T, q0 = law(model)
    np.testing.assert_array_equal(T, [[1, 0, 0], [0, 1, 0], [2, -0.5, 0], [0, 0, 1]])
    np.testing.assert_array_equal(q0, [0, 0, 0.3, 0])
    assert [model.q_slice(name).start for name in "abd"] == [0, 1, 2]
    with pytest.raises(sf.errors.ModelError, match="joint 'c': follows other joints") as caught:
        model.q_slice("c")
    assert "fix: use the joint it follows" in str(caught.value)
    with pytest.raises(sf.errors.ModelError, match="joint 'c': follows"):
        model.v_slice("c")


def test_the_reduced_dynamics_are_those_of_the_whole_tree_seen_through_t():
    coupled = arm().couple("c", ("a", 2.0), ("b", -0.5), offset=0.3).build()
    whole = arm().build()
    T, q0 = law(coupled)
    q, v, a = np.random.default_rng(0).standard_normal((3, 3))
    full = (whole, T @ q + q0, T @ v, T @ a)
    np.testing.assert_allclose(
        sf.mass_matrix(coupled, q), T.T @ sf.mass_matrix(*full[:2]) @ T, rtol=1e-13
    )
    tau = sf.inverse_dynamics(coupled, q, v, a)
    np.testing.assert_allclose(tau, T.T @ sf.inverse_dynamics(*full), rtol=1e-12)
    np.testing.assert_allclose(sf.forward_dynamics(coupled, q, v, tau), a, rtol=1e-10)
    np.testing.assert_allclose(
        sf.jacobian(coupled, q, "d"), sf.jacobian(*full[:2], "d") @ T, atol=1e-14
    )
    np.testing.assert_allclose(
        sf.kinetic_energy(coupled, q, v), sf.kinetic_energy(*full[:3]), rtol=1e-13
    )


@pytest.mark.parametrize("order", ["bcd", "dcb", "cdb"])
def test_followers_of_followers_follow_the_first(order):
    builder = arm()
    given = {"b": [("a", 2.0)], "c": [("b", 3.0), ("a", 1.0)], "d": [("c", 0.5), ("b", -1.0)]}
    offsets = {"b": 0.1, "c": 0.2, "d": 0.3}
    for name in order:
        builder.couple(name, *given[name], offset=offsets[name])
    T, q0 = law(builder.build())
    np.testing.assert_allclose(T[:, 0], [1, 2, 7, 1.5])
    np.testing.assert_allclose(q0, [0, 0.1, 0.5, 0.3 + 0.25 - 0.1])


def test_ratios_to_the_same_joint_add_up():
    T, _ = law(arm("ab").couple("b", ("a", 1.5), ("a", 2.0)).build())
    np.testing.assert_array_equal(T, [[1], [3.5]])


def test_a_joint_that_follows_nothing_is_held_at_its_offset():
    model = arm("ab").couple("b", offset=0.7).build()
    T, q0 = law(model)
    np.testing.assert_array_equal(T, [[1], [0]])
    np.testing.assert_array_equal(q0, [0, 0.7])


def test_a_follower_may_come_before_its_master():
    T, _ = law(arm("ab").couple("a", ("b", 2.0)).build())
    np.testing.assert_array_equal(T, [[2], [1]])


def test_a_long_chain_of_followers_resolves():
    names = [f"j{k}" for k in range(2000)]
    builder = arm(names)
    for before, name in itertools.pairwise(names):
        builder.couple(name, (before, 1.0), offset=1.0)
    model = builder.build()
    assert model.nq == 1
    assert model.couplings[-1].terms == ((0, 1.0),) and model.couplings[-1].offset == 1999.0


@pytest.mark.parametrize(
    "pairs",
    [
        [("a", "a")],
        [("a", "b"), ("b", "a")],
        [("a", "b"), ("b", "c"), ("c", "a")],
        [("d", "c"), ("a", "b"), ("c", "b"), ("b", "c")],
    ],
)
def test_joints_that_follow_each_other_are_named(pairs):
    builder = arm()
    for follower, master in pairs:
        builder.couple(follower, (master, 1.0))
    with pytest.raises(
        sf.errors.ModelError, match=r"joints \[.*\]: follow each other in a loop"
    ) as e:
        builder.build()
    assert f"'{pairs[-1][0]}'" in str(e.value) and "fix: name one master" in str(e.value)


@pytest.mark.parametrize(("follower", "master"), [("x", "a"), ("a", "x")])
def test_unknown_joints_are_named(follower, master):
    builder = arm().couple(follower, (master, 1.0))
    with pytest.raises(sf.errors.UnknownNameError, match="coupling: no joint named 'x'"):
        builder.build()


@pytest.mark.parametrize(("follower", "master"), [("a", "b"), ("b", "a")])
def test_only_joints_of_one_freedom_couple(follower, master):
    builder = arm("ab", b=sf.Universal()).couple(follower, (master, 1.0))
    with pytest.raises(
        sf.errors.ModelError, match="joint 'b': a universal joint has 2 degrees of freedom\n  fix"
    ):
        builder.build()


def test_a_joint_is_coupled_once():
    builder = arm().couple("b", ("a", 1.0)).couple("b", ("c", 1.0))
    with pytest.raises(sf.errors.ModelError, match="joint 'b': is coupled twice\n  fix"):
        builder.build()


@pytest.mark.parametrize("masters", [("a",), (("a",),), (("a", 1.0, 2.0),), (3,)])
def test_masters_are_pairs(masters):
    with pytest.raises(
        sf.errors.ModelError, match=r"coupling of joint 'b': masters .*\n  fix: give pairs"
    ):
        arm().couple("b", *masters)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, (1, 2)])
def test_ratios_and_offsets_are_finite_numbers(value):
    with pytest.raises(sf.errors.ModelError, match="coupling of joint 'b': ratio"):
        arm().couple("b", ("a", value))
    with pytest.raises(sf.errors.ModelError, match="coupling of joint 'b': offset"):
        arm().couple("b", ("a", 1.0), offset=value)
