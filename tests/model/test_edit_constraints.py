"""Models with constraints are edited: the same loops hold the same bodies."""

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf

BAR = sf.Inertia.from_mass(1.0, (0.2, 0.05, 0.0), (0.01, 0.03, 0.03))
TURN = sf.Transform.from_rpy((0.3, 0.2, 0.1), (0.1, 0.2, 0.3))


def linkage():
    """Return a chain of six with a constraint of each kind between its bodies."""
    b = sf.ModelBuilder("linkage", gravity=(1, -9.81, 2))
    before = "world"
    for k, axis in enumerate("zxyzxy"):
        place = sf.Transform.from_rpy((0.1 * k, 0.2, 0.3), (0.3, 0.1 * k, 0.2))
        b.add_body(f"b{k}", parent=before, joint=sf.Revolute(axis), placement=place, inertia=BAR)
        before = f"b{k}"
    b.close("world", "b5", sf.Revolute((0, 0.6, 0.8)), TURN, (0.1, 0, 0), name="hinge")
    b.close("b1", "b4", sf.Spherical(), (0.1, 0.2, 0), TURN, name="ball")
    b.add_rod("b0", "b3", 0.7, (0.1, 0, 0), (0, 0.1, 0.2), name="rod")
    b.add_gear("b3_joint", ("b1_joint", (2.0, 0.5)), ("b2_joint", 0.3), offset=0.2, name="gear")
    return b.add_rolling("b5", 0.3, axis=(1, 2, 3), placement=TURN, name="wheel").build()


Q = np.array([0.3, -0.4, 0.5, 0.2, -0.1, 0.6])
V = np.array([1.0, -0.5, 0.3, 0.2, 0.7, -0.9])


def rows(model, q, v):
    quantities = (sf.loops.constraint_gaps(model, q), sf.loops.constraint_bias(model, q, v))
    return *quantities, sf.loops.constraint_jacobian(model, q)


def same(first, second, tolerance=1e-13):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, atol=tolerance)


@pytest.mark.parametrize("locked", [("b0_joint",), ("b2_joint",), ("b1_joint", "b2_joint")])
def test_locked_joints_leave_the_same_rows(locked):
    model = linkage()
    kept = [k for k, name in enumerate(model.joint_names) if name not in locked]
    less = sf.lock_joints(model, {name: Q[model.q_slice(name)] for name in locked})
    assert [each.name for each in less.constraints] == [each.name for each in model.constraints]
    still = np.where(np.isin(np.arange(6), kept), V, 0.0)
    gaps, bias, J = rows(model, Q, still)
    same(rows(less, Q[kept], V[kept]), (gaps, bias, J[:, kept]))


def test_a_gear_whose_leaders_are_locked_holds_its_joint():
    less = sf.lock_joints(linkage(), {"b1_joint": 0.4, "b2_joint": -0.2})
    gear = next(each for each in less.constraints if each.name == "gear")
    assert gear.terms == ()
    assert gear.offset == pytest.approx(0.2 + 2 * 0.4 + 0.5 * 0.16 - 0.3 * 0.2)


def test_locking_is_refused_where_a_constraint_would_lose_its_bodies():
    with pytest.raises(sf.errors.ModelError, match=r"'gear'.*joint that would be locked"):
        sf.lock_joints(linkage(), ["b3_joint"])
    model = sf.ModelBuilder("x").add_body("a", joint=sf.Revolute("z"), inertia=BAR)
    model.add_body("b", parent="a", joint=sf.Revolute("z"), inertia=BAR)
    model.close("a", "b", sf.Spherical(), name="pin")
    with pytest.raises(sf.errors.ModelError, match=r"'pin'.*within one body") as caught:
        sf.lock_joints(model.build(), ["b_joint"])
    assert "model.without(constraints=True)" in str(caught.value)


def test_constraints_go_with_what_is_attached():
    arm, hand = sf.load("puma560"), linkage()
    both = sf.attach(arm, hand, to="link6", placement=TURN, prefix="hand_")
    assert [each.name for each in both.constraints][:2] == ["hand_hinge", "hand_ball"]
    q = np.concatenate([np.linspace(-1, 1, 6), Q])
    v = np.concatenate([np.zeros(6), V])
    gaps, bias, J = rows(both, q, v)
    same(rows(hand, Q, V), (gaps, bias, J[:, 6:]), 1e-12)
    # the arm moves the base of the hand and all that it holds alike
    np.testing.assert_allclose(J[:, :6], 0, atol=1e-12)


def test_both_models_keep_their_constraints():
    hand = linkage()
    two = sf.attach(hand, hand, to="b5", prefix="x_")
    assert two.nc == 2 * hand.nc
    named = sf.rename(
        hand,
        joints={f"b{k}_joint": f"c{k}_joint" for k in range(6)},
        bodies={"world": "ground", **{f"b{k}": f"c{k}" for k in range(6)}},
    )
    with pytest.raises(sf.errors.ModelError, match="constraint name 'ball' and 4 more is in both"):
        sf.attach(hand, named, to="b5")


def test_other_names_hold_the_same_bodies():
    model = linkage()
    again = sf.rename(model, {"b1": "thigh", "b3_joint": "knee", "world": "ground"})
    assert again.constraints == model.constraints
    same(rows(again, Q, V), rows(model, Q, V), 0)
    # a constraint may have the name of a body
    pin = replace(model.constraints[0], name="b1")
    named = sf.rename(replace(model, constraints=(pin,)), {"b1": "thigh"})
    assert named.constraints[0].name == "b1"


def test_loads_leave_constraints_alone():
    whole = linkage()
    model = replace(whole, constraints=whole.constraints[2:3])
    loaded = sf.add_payload(model, "b5", mass=2.0)
    other = sf.replace_inertias(model, {"b2": sf.Inertia.from_mass(3.0, (0, 0, 0), (1, 1, 1))})
    for edited in (loaded, other):
        assert edited.constraints == model.constraints
        a, b = (sf.forward_dynamics(m, Q, V * 0, V * 0) for m in (edited, model))
        assert np.abs(a - b).max() > 1e-3
        np.testing.assert_allclose(sf.loops.constraint_jacobian(model, Q) @ a, 0, atol=1e-10)


def test_models_refuse_constraints_that_fit_no_model():
    model = linkage()
    ball = model.constraints[1]
    with pytest.raises(sf.errors.ModelError, match="two constraints are named 'ball'"):
        replace(model, constraints=(ball, ball))
    with pytest.raises(sf.errors.ModelError, match="names bodies"):
        replace(model, constraints=(replace(ball, body_b=6),))
    with pytest.raises(sf.errors.ModelError, match=r"gear.*names bodies"):
        replace(model, constraints=(replace(model.constraints[3], follower=-1),))
