"""Rows of constraints: gaps, their rates and accelerations, for every joint that closes a loop."""

import numpy as np
import pytest

import sixfold as sf
from tests.constraints.joints import CLOSING
from tests.constraints.support import OTHERS, branching, closed, pair

STEP = 3e-6
"""Of central differences [s]; their error is about 1e-8."""


def gaps(model, q):
    return sf.loops.constraint_gaps(model, q, backend="numpy")


def jacobian(model, q):
    return sf.loops.constraint_jacobian(model, q, backend="numpy")


def bias(model, q, v):
    return sf.loops.constraint_bias(model, q, v, backend="numpy")


def along(model, q, v, function):
    """Return the central difference of a function along v."""
    ends = [sf.integrate(model, q, h * v, backend="numpy") for h in (STEP, -STEP)]
    return (function(model, ends[0]) - function(model, ends[1])) / (2 * STEP)


def rows_hold(model, q, v, seed=3):
    """Check gaps, J and gamma at a state that satisfies the constraints."""
    J = jacobian(model, q)
    assert np.abs(gaps(model, q)).max() < 1e-13
    assert np.abs(J @ v).max() < 1e-13 * max(1.0, np.abs(v).max())
    any_way = np.random.default_rng(seed).normal(size=model.nv)
    wheels = [each.kind == "rolling" for each in model.constraints for _ in range(each.rows)]
    holonomic = ~np.array(wheels)
    holonomic[2::3] |= np.array(wheels)[2::3]  # height above the plane; slip is no gap
    rate = along(model, q, any_way, gaps)
    np.testing.assert_allclose(rate[holonomic], (J @ any_way)[holonomic], rtol=0, atol=1e-7)
    turned = along(model, q, v, jacobian) @ v
    np.testing.assert_allclose(bias(model, q, v), turned, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", CLOSING)
def test_a_loop_forbids_what_its_joint_forbids_and_nothing_else(name):
    joint = CLOSING[name]
    for seed in range(2):
        model, q, v = pair(joint, seed)
        assert model.nc == 6 - joint.nv == np.linalg.matrix_rank(jacobian(model, q))
        rows_hold(model, q, v)


@pytest.mark.parametrize("name", CLOSING)
def test_rows_hold_on_a_floating_tree_with_shared_ancestors(name):
    model = branching(CLOSING[name])
    q, v = closed(model)
    J = jacobian(model, q)
    still = model.v_slice("hull_joint")
    assert not J[:, still].any()  # exact zeros: the hull carries both sides alike
    rows_hold(model, q, v)


@pytest.mark.parametrize("name", OTHERS)
def test_rows_of_rods_gears_wheels_and_couplings_hold(name):
    model = OTHERS[name]()
    for seed in range(2):
        rows_hold(model, *closed(model, seed))


@pytest.mark.parametrize("angle", [1.5, 1.57, 1.5707, 2.5])
def test_a_universal_joint_closes_a_loop_near_and_beyond_a_right_angle(angle):
    """Its two axes stay at right angles at every position, so nothing is singular there."""
    model, q, v = pair(sf.Universal(), 1, at=(0.4, angle))
    assert np.linalg.svd(jacobian(model, q), compute_uv=False)[-1] > 0.1
    rows_hold(model, q, v)


def test_a_ball_that_slips_is_told_from_one_that_rolls():
    model = OTHERS["rolling ball"]()
    q, v = closed(model)
    slip = np.array([0.2, 0.0, 0.0])
    E = np.array([[float(x) for x in row] for row in model.constraints[0].placement_a.E])
    pose = sf.body_poses(model, q, backend="numpy")[0, :3, :3]
    v[model.v_slice("wheel_joint")][3:] += pose.T @ E.T @ slip
    np.testing.assert_allclose(jacobian(model, q) @ v, slip, rtol=0, atol=1e-12)


def test_gaps_are_metres_and_radians_along_the_rows():
    builder = sf.ModelBuilder("m").add_body("a", joint=sf.Translational())
    builder.add_body("b", parent="a", joint=sf.Revolute("x"))
    model = builder.close("world", "b", sf.Revolute("z"), name="hinge").build()
    found = gaps(model, [0.1, 0.2, 0.3, 0.4])
    ang = found[:2]
    assert np.abs(ang).max() == pytest.approx(2 * np.tan(0.2), rel=1e-12)
    assert np.linalg.norm(found[2:]) == pytest.approx(np.sqrt(0.14), rel=1e-12)
    assert all(row.startswith("hinge") for row in model.constraint_rows)


def test_a_rod_measures_how_much_too_long_it_is():
    builder = sf.ModelBuilder("m").add_body("a", joint=sf.Translational())
    model = builder.add_rod("world", "a", 0.4, (0, 0, 0), (0, 0, 0)).build()
    assert gaps(model, [0.3, 0.0, 0.4]) == pytest.approx([0.1], abs=1e-15)
    np.testing.assert_allclose(jacobian(model, [0.3, 0.0, 0.4]), [[0.6, 0, 0.8]], atol=1e-15)


@pytest.mark.parametrize("name", ["user", "custom"])
def test_a_users_joint_is_found_anywhere_within_half_a_turn(name):
    joint = CLOSING[name]
    for angle in np.linspace(-3.1, 3.1, 21):
        found = joint.nearest(joint.calc((angle,), (0.0,)).XJ)
        assert float(found[0]) == pytest.approx(angle, abs=1e-12)
