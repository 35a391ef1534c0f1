"""Configurations: integrate and difference are inverse, quaternions turn by the exponential map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import sixfold as sf
from sixfold.model import STANDARD_JOINTS
from sixfold.quantities import readings
from sixfold.spatial import Vector3, rotations
from tests.dynamics.support import EPS, rate
from tests.laws.support import states

angles = st.floats(-2.9, 2.9, allow_nan=False)
vectors = st.tuples(angles, angles, angles)


def lone(joint):
    builder = sf.ModelBuilder("one")
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
    builder.add_body("body", joint=joint, inertia=solid)
    return builder.build()


BALL, FREE = lone(sf.Spherical()), lone(sf.Free())


def pose(fn, model, q):
    return fn.body_poses(model, q)[..., 0, :, :]


# -- integrate and difference


def test_difference_undoes_integrate(fn, model, state):
    """Increments of less than half a turn come back, on every joint type."""
    q, v, _ = state
    step = v * 0.5 / max(1.0, np.abs(v).max())
    moved = fn.integrate(model, q, step)
    np.testing.assert_allclose(fn.difference(model, q, moved), step, rtol=0, atol=64 * fn.eps)


def test_integrate_undoes_difference(fn, model, state):
    q, _, _ = state
    other, _ = sf.random_state(model, 4, seed=9)
    reached = fn.integrate(model, q, fn.difference(model, q, other))
    np.testing.assert_allclose(
        fn.body_poses(model, reached), fn.body_poses(model, other), rtol=0, atol=512 * fn.eps
    )


def test_no_increment_means_no_motion(fn, model, state):
    q, v, _ = state
    np.testing.assert_allclose(fn.integrate(model, q, 0 * v), q, rtol=0, atol=4 * fn.eps)
    np.testing.assert_allclose(fn.difference(model, q, q), 0 * v, rtol=0, atol=16 * fn.eps)


def test_time_scales_the_increment(fn, model, state):
    q, v, _ = state
    times = np.array([0.125, 0.25, 0.5, 2.0])  # products with them are exact
    np.testing.assert_array_equal(
        fn.integrate(model, q, v, times), fn.integrate(model, q, v * times[:, None])
    )
    twice = fn.integrate(model, fn.integrate(model, q, v, 0.1), v, 0.1)
    once = fn.integrate(model, q, v, 0.2)
    np.testing.assert_allclose(twice, once, rtol=0, atol=64 * fn.eps * 4)


def test_integrated_quaternions_stay_of_unit_length(fn, model, state):
    q, v, _ = state
    moved = fn.integrate(model, q, v * 3.0)
    start = 0
    for body in model.bodies:
        inside = body.joint.quaternion()
        if inside is not None:
            four = moved[:, start + inside.start : start + inside.stop]
            np.testing.assert_allclose(np.linalg.norm(four, axis=-1), 1.0, rtol=0, atol=4 * fn.eps)
        start += body.joint.nq


def test_position_rate_is_the_rate_of_integrate(fn, model, state):
    q, v, _ = state
    measured = rate(lambda t: fn.integrate(model, q, v * t))
    np.testing.assert_allclose(fn.position_rate(model, q, v), measured, rtol=0, atol=1e-11)


def test_position_rate_is_the_velocity_but_for_ball_and_free_joints(fn):
    for kind in STANDARD_JOINTS:
        model = lone(kind())
        q, v, _ = states(fn, model, 3)
        found = fn.position_rate(model, q, v)
        if kind in (sf.Spherical, sf.Free):
            assert found.shape[-1] == v.shape[-1] + 1
        else:
            np.testing.assert_array_equal(found, v)


# -- rotations against SciPy


@given(vectors)
@settings(max_examples=100, deadline=None)
def test_exponential_is_scipys_rotation_vector(phi):
    expected = Rotation.from_rotvec(phi).as_quat()
    found = np.array(rotations.quaternion_exponential(Vector3(*phi)))
    sign = np.sign(found @ expected)
    np.testing.assert_allclose(sign * found, expected, rtol=0, atol=8 * EPS)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-8, 1e-5, 9.9e-4, 1.01e-3, 1e-2, 0.099, 0.101, 3.0])
def test_exponential_and_logarithm_are_smooth_through_their_series(size):
    phi = np.array([0.6, -0.48, 0.64]) * size
    four = np.array(rotations.quaternion_exponential(Vector3(*phi.tolist())))
    np.testing.assert_allclose(four, Rotation.from_rotvec(phi).as_quat(), rtol=0, atol=4 * EPS)
    back = np.array(rotations.quaternion_logarithm(tuple(four.tolist())))
    # relative to the angle itself, down to nothing
    np.testing.assert_allclose(back, phi, rtol=0, atol=16 * EPS * size)


@given(vectors)
@settings(max_examples=100, deadline=None)
def test_logarithm_is_scipys_shortest_rotation_vector(phi):
    turn = Rotation.from_rotvec(phi)
    found = np.array(rotations.quaternion_logarithm(tuple(turn.as_quat().tolist())))
    expected = turn.as_rotvec()
    if np.linalg.norm(expected) < np.pi - 1e-6:  # beyond, the two ends of a half turn meet
        np.testing.assert_allclose(found, expected, rtol=0, atol=64 * EPS)


@given(vectors, vectors)
@settings(max_examples=50, deadline=None)
def test_ball_joint_turns_by_the_rotation_vector_in_body_axes(first, step):
    q = Rotation.from_rotvec(first).as_quat()
    moved = readings.integrate(BALL, BALL.tree, q.tolist(), list(step))
    expected = Rotation.from_rotvec(first) * Rotation.from_rotvec(step)
    between = (Rotation.from_quat(moved).inv() * expected).magnitude()
    assert between <= 32 * EPS


def test_free_joint_moves_along_the_screw_of_its_velocity(fn):
    """Against many small steps of the plain rate: the exponential of SE(3)."""
    q, v, _ = states(fn, FREE, 4, seed=3)
    moved = fn.integrate(FREE, q, v)
    for x, speed, y in zip(q, v, moved, strict=True):
        twist = np.zeros((4, 4))
        twist[:3, :3] = np.cross(np.eye(3), -speed[:3]).T
        twist[:3, 3] = speed[3:]
        expected = pose(fn, FREE, x) @ expm(twist)
        np.testing.assert_allclose(pose(fn, FREE, y), expected, rtol=0, atol=64 * fn.eps)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 1e-3, 0.05, 0.099, 0.101, 1.0, 3.0])
def test_free_joint_increments_come_back_for_turns_of_every_size(fn, size):
    q, v, _ = states(fn, FREE, 4, seed=5)
    step = v.copy()
    step[:, :3] *= size / np.linalg.norm(v[:, :3], axis=-1, keepdims=True)
    back = fn.difference(FREE, q, fn.integrate(FREE, q, step))
    # lengths come back at the scale of the positions
    np.testing.assert_allclose(back, step, rtol=0, atol=256 * fn.eps)


def test_quaternions_of_any_length_mean_the_same_rotation(fn):
    q, _, _ = states(fn, BALL, 3)
    np.testing.assert_allclose(pose(fn, BALL, 2.5 * q), pose(fn, BALL, q), rtol=0, atol=8 * fn.eps)
    np.testing.assert_allclose(
        pose(fn, BALL, q)[:, :3, :3], Rotation.from_quat(q).as_matrix(), rtol=0, atol=8 * fn.eps
    )


def test_opposite_quaternions_are_no_difference(fn):
    q, _, _ = states(fn, BALL, 3)
    np.testing.assert_allclose(
        fn.difference(BALL, q, -q), np.zeros((3, 3)), rtol=0, atol=16 * fn.eps
    )


def test_neutral_is_the_zero_of_every_joint(model):
    q = sf.neutral(model)
    assert q.shape == (model.nq,)
    for body in model.bodies:
        own = q[model.q_slice(body.joint_name)]
        assert tuple(own) == body.joint.neutral()


def test_random_states_repeat_with_their_seed_and_differ_without():
    model = FREE
    first, second = sf.random_state(model, (2, 3), seed=4), sf.random_state(model, (2, 3), seed=4)
    assert first[0].shape == (2, 3, 7)
    assert first[1].shape == (2, 3, 6)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert (sf.random_state(model, (2, 3), seed=5)[0] != first[0]).any()
