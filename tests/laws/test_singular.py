"""Joints with no inertia behind them: always, or at some states."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sixfold as sf
from sixfold.errors import SingularModelError, SingularPivotWarning
from sixfold.runtime.singular import possibly_singular_joints
from sixfold.spatial import Inertia

METHODS = ("aba", "crba", "operators", "operators_dense")
SOLID = Inertia.from_mass(1.0, (0.1, 0.5, 0.2), (0.3, 0.2, 0.4))
methods = pytest.mark.parametrize("method", METHODS)


def chain(*links):
    """Each link: name, joint, inertia or None, and properties."""
    builder = sf.ModelBuilder("robot")
    parent = None
    for name, joint, inertia, *rest in links:
        builder.add_body(
            name,
            parent=parent,
            joint=joint,
            joint_name=f"{name} hinge",
            placement=(0.3, 0.1, 0.0) if parent else None,
            inertia=inertia,
            **(rest[0] if rest else {}),
        )
        parent = name
    return builder.build()


def random_rows(model, n=3, seed=1):
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(model, n, seed=rng)
    return q, v, rng.standard_normal(v.shape)


# -- singular at every state

LEAF = chain(("arm", sf.Revolute("z"), SOLID), ("feather", sf.Revolute("y"), None))


@methods
def test_forward_dynamics_refuses_a_massless_leaf_naming_body_and_joint(fn, method):
    q, v, tau = random_rows(LEAF)
    with pytest.raises(SingularModelError, match=r"joint 'feather hinge' of body 'feather'") as e:
        fn.forward_dynamics(LEAF, q, v, tau, method=method)
    assert "'arm'" not in str(e.value)
    assert "fix:" in str(e.value)


AXES = ((1.0, 2.0, 3.0), (0.3, 0.1, 0.7), (3.0, 1.0, 0.5), (0.3, 0.2, 0.7), (1e-9, 0.0, 1.0))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("far", [0.1, 1.0, 10.0])
def test_a_mass_on_an_axis_askew_is_no_inertia_behind_it(fn, axis, far):
    """Terms of H cancel to rounding, and what is left of them must not be divided by."""
    on_axis = Inertia.from_mass(1.0, tuple(far * x for x in axis))
    model = chain(("bead", sf.Revolute(axis), on_axis))
    q, v, tau = random_rows(model)
    with pytest.raises(SingularModelError, match="'bead'"):
        fn.forward_dynamics(model, q, v, tau)
    off_axis = Inertia.from_mass(1.0, (far * axis[0] + 1e-3, far * axis[1], far * axis[2]))
    model = chain(("bead", sf.Revolute(axis), off_axis))
    assert np.isfinite(fn.forward_dynamics(model, q, v, tau)).all()


@pytest.mark.parametrize("pitch", [0.0, 1e-12, -1e-9, 1e6, 1e12])
def test_screws_of_any_pitch_have_accelerations(pitch):
    thin = Inertia.from_mass(1.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.0))
    model = chain(("arm", sf.Revolute("x"), SOLID), ("screw", sf.Helical("z", pitch), thin))
    q, v, tau = random_rows(model)
    if pitch == 0:
        with pytest.raises(SingularModelError, match="'screw'"):
            sf.forward_dynamics(model, q, v, tau)
    else:
        found, expected = (
            sf.forward_dynamics(model, q, v, tau, backend=backend) for backend in (None, "numpy")
        )
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def test_a_screw_carries_as_far_as_its_pitch_says():
    """Ten turns of a screw of 1e9 m take a mass where the pivot before it is lost."""
    for pitch, unproved in ((1e-3, False), (1e9, True)):
        model = chain(("arm", sf.Revolute("x"), SOLID), ("screw", sf.Helical("y", pitch), SOLID))
        assert (0 in possibly_singular_joints(model)) == unproved


def test_inverse_mass_matrix_refuses_a_massless_leaf():
    q, _, _ = random_rows(LEAF)
    with pytest.raises(SingularModelError, match="'feather'"):
        sf.inverse_mass_matrix(LEAF, q)


def test_inverse_dynamics_and_mass_matrix_of_a_massless_leaf_work(fn):
    q, v, a = random_rows(LEAF)
    tau = fn.inverse_dynamics(LEAF, q, v, a)
    M = fn.mass_matrix(LEAF, q)
    np.testing.assert_array_equal(tau[:, 1], np.zeros(3))
    np.testing.assert_array_equal(M[:, 1], np.zeros((3, 2)))
    alone = chain(("arm", sf.Revolute("z"), SOLID))
    expected = fn.inverse_dynamics(alone, q[:, :1], v[:, :1], a[:, :1])
    np.testing.assert_allclose(tau[:, :1], expected, rtol=16 * fn.eps, atol=16 * fn.eps)


def test_every_joint_without_inertia_is_named():
    builder = sf.ModelBuilder("robot")
    builder.add_body("arm", joint=sf.Revolute("z"), inertia=SOLID)
    builder.add_body("one", parent="arm", joint=sf.Revolute("y"), joint_name="left")
    builder.add_body("two", parent="arm", joint=sf.Prismatic("x"), joint_name="right")
    with pytest.raises(SingularModelError) as e:
        sf.forward_dynamics(builder.build(), np.zeros(3), np.zeros(3), np.zeros(3))
    assert "joint 'left' of body 'one'" in str(e.value)
    assert "joint 'right' of body 'two'" in str(e.value)
    assert "'arm'" not in str(e.value)


def test_of_massless_bodies_in_a_row_the_last_is_named():
    """Mass on the last one is enough to fix the model."""
    row = ("arm", sf.Revolute("z"), SOLID), ("one", sf.Revolute("y"), None)
    with pytest.raises(SingularModelError, match="'two hinge' of body 'two'"):
        sf.forward_dynamics(
            chain(*row, ("two", sf.Prismatic("x"), None)), np.zeros(3), np.zeros(3), np.zeros(3)
        )
    fixed = chain(*row, ("two", sf.Prismatic("x"), SOLID))
    assert np.isfinite(sf.forward_dynamics(fixed, np.zeros(3), np.zeros(3), np.ones(3))).all()


def test_a_slide_without_mass_is_refused():
    model = chain(("arm", sf.Revolute("z"), SOLID), ("rail", sf.Prismatic("x"), None))
    with pytest.raises(SingularModelError, match="'rail hinge'"):
        sf.forward_dynamics(model, np.zeros(2), np.zeros(2), np.zeros(2))


def test_a_point_mass_on_its_own_axis_is_refused():
    """Mass, but none away from the axis: nothing resists the turn."""
    point = Inertia.from_mass(1.0, (0.0, 0.0, 0.7))
    model = chain(("arm", sf.Revolute("z"), SOLID), ("point", sf.Revolute("z"), point))
    with pytest.raises(SingularModelError, match="'point hinge'"):
        sf.forward_dynamics(model, np.zeros(2), np.zeros(2), np.zeros(2))


def test_a_ball_joint_with_a_thin_rod_is_refused():
    rod = Inertia.from_mass(1.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.0))
    model = chain(("rod", sf.Spherical(), rod))
    q, v, tau = random_rows(model)
    with pytest.raises(SingularModelError, match="'rod hinge'"):
        sf.forward_dynamics(model, q, v, tau)


# -- what looks singular and is not


@methods
def test_a_massless_middle_link_works(fn, method):
    model = chain(
        ("arm", sf.Revolute("z"), SOLID),
        ("light", sf.Revolute("y"), None),
        ("hand", sf.Revolute("x"), SOLID),
    )
    q, v, a = random_rows(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tau = fn.inverse_dynamics(model, q, v, a)
        found = fn.forward_dynamics(model, q, v, tau, method=method)
    condition = np.linalg.cond(sf.mass_matrix(model, q)).max()
    np.testing.assert_allclose(found, a, rtol=0, atol=64 * fn.eps * condition * 10)


@methods
def test_a_massless_leaf_with_a_rotor_works(fn, method):
    model = chain(
        ("arm", sf.Revolute("z"), SOLID), ("feather", sf.Revolute("y"), None, {"armature": 0.05})
    )
    q, v, tau = random_rows(model)
    found = fn.forward_dynamics(model, q, v, tau, method=method)
    np.testing.assert_allclose(found[:, 1], tau[:, 1] / 0.05, rtol=64 * fn.eps)


def test_the_condition_is_judged_against_the_mass_matrix_and_not_by_size():
    """A microrobot of a picogram is as regular as a crane."""
    tiny = Inertia.from_mass(1e-15, (1e-6, 5e-6, 2e-6), (3e-27, 2e-27, 4e-27))
    model = chain(("a", sf.Revolute("z"), tiny), ("b", sf.Prismatic("y"), tiny))
    acc = sf.forward_dynamics(model, np.zeros(2), np.zeros(2), np.array([0.0, 1e-15]))
    assert np.isfinite(acc).all()


# -- singular at some states: three coincident joints z, y, x with two massless bodies


def wrist(*, armature=None):
    builder = sf.ModelBuilder("wrist", gravity=(0.0, -9.81, 0.0))
    axes = (("yaw", "z"), ("pitch", "y"), ("roll", "x"))
    for k, (name, axis) in enumerate(axes):
        builder.add_body(
            name,
            parent=axes[k - 1][0] if k else None,
            joint=sf.Revolute(axis),
            joint_name=f"{name} joint",
            inertia=Inertia.from_mass(1.0, (0.0, 0.5, 0.0), (1.0, 1.0, 1.0)) if k == 2 else None,
            armature=armature if k == 0 else None,
        )
    return builder.build()


WRIST = wrist()
LOCKED = np.pi / 2


def batch(*pitches):
    q = np.array([[1.0, pitch, 0.3] for pitch in pitches])
    rng = np.random.default_rng(6)
    return q, rng.standard_normal(q.shape), rng.standard_normal(q.shape)


@methods
def test_gimbal_lock_spoils_its_own_row_and_warns_once_naming_the_joint(fn, method):
    q, v, tau = batch(0.0, LOCKED, 0.4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        acc = fn.forward_dynamics(WRIST, q, v, tau, method=method)
    assert np.isnan(acc[1]).all()
    assert np.isfinite(acc[[0, 2]]).all()
    (warning,) = caught
    assert warning.category is SingularPivotWarning
    text = str(warning.message)
    assert "1 of 3 states" in text
    assert "joint 'yaw joint' of body 'yaw'" in text
    # the good rows are what they are alone
    alone = sf.forward_dynamics(WRIST, q[[0, 2]], v[[0, 2]], tau[[0, 2]], method=method)
    np.testing.assert_allclose(acc[[0, 2]], alone, rtol=0, atol=256 * fn.eps * np.abs(alone).max())


def test_gimbal_lock_spoils_its_own_row_of_the_inverse_mass_matrix(fn):
    q, _, _ = batch(0.0, LOCKED, 0.4)
    with pytest.warns(SingularPivotWarning, match="yaw joint"):
        inverse = fn.inverse_mass_matrix(WRIST, q)
    assert np.isnan(inverse[1]).all()
    assert np.isfinite(inverse[[0, 2]]).all()


@methods
def test_a_microradian_from_gimbal_lock_is_not_flagged(fn, method):
    q, v, tau = batch(LOCKED + 1e-6, LOCKED - 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        acc = fn.forward_dynamics(WRIST, q, v, tau, method=method)
    assert np.isfinite(acc).all()
    back = sf.inverse_dynamics(WRIST, q, v, acc)
    scale = np.abs(sf.mass_matrix(WRIST, q)).max() * np.abs(acc).max()
    np.testing.assert_allclose(back, tau, rtol=0, atol=64 * fn.eps * scale)


@methods
def test_a_rotor_keeps_the_wrist_regular_at_gimbal_lock(fn, method):
    model = wrist(armature=0.01)
    q, v, tau = batch(0.0, LOCKED, 0.4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        acc = fn.forward_dynamics(model, q, v, tau, method=method)
    assert np.isfinite(acc).all()
    back = sf.inverse_dynamics(model, q, v, acc)
    scale = np.abs(sf.mass_matrix(model, q)).max() * np.abs(acc).max() + np.abs(tau).max()
    np.testing.assert_allclose(back, tau, rtol=0, atol=256 * fn.eps * scale)


def test_inverse_dynamics_and_mass_matrix_work_at_gimbal_lock():
    q, v, a = batch(0.0, LOCKED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(sf.inverse_dynamics(WRIST, q, v, a)).all()
        M = sf.mass_matrix(WRIST, q)
    assert np.linalg.cond(M[1]) > 1e15
    assert np.linalg.cond(M[0]) < 100


@methods
def test_a_single_locked_state_gives_nan_and_the_warning(method):
    q, v, tau = (x[1] for x in batch(0.0, LOCKED))
    with pytest.warns(SingularPivotWarning, match="1 of 1 states"):
        acc = sf.forward_dynamics(WRIST, q, v, tau, method=method)
    assert acc.shape == (3,)
    assert np.isnan(acc).all()


def test_many_states_of_any_shape_keep_their_places():
    q, v, tau = (x.reshape(2, 2, 3) for x in batch(0.0, LOCKED, LOCKED, 0.4))
    with pytest.warns(SingularPivotWarning, match="2 of 4 states"):
        acc = sf.forward_dynamics(WRIST, q, v, tau)
    np.testing.assert_array_equal(np.isnan(acc).all(axis=-1), [[False, True], [True, False]])
    np.testing.assert_array_equal(np.isnan(acc).any(axis=-1), [[False, True], [True, False]])


def test_a_regular_model_is_never_warned_about():
    model = sf.load("tree10")
    q, v, tau = random_rows(model, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(sf.forward_dynamics(model, q, v, tau)).all()
