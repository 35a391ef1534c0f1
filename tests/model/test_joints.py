"""Every joint: its transform, and the derivatives of it that algorithms use."""

import math

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.model import STANDARD_JOINTS
from sixfold.model.samples import RollingBall
from sixfold.scalar import Zero, differentiate
from sixfold.spatial import Motion, Subspace, Transform, Vector3, rotation


def screw(q):
    """A joint of three coordinates whose subspace turns and stretches."""
    E = rotation(Vector3(0.0, 0.6, 0.8), sf.math.cos(q[0]), sf.math.sin(q[0]))
    return Transform(E, Vector3(q[1] * q[2], sf.math.sin(q[1]), q[2] + 0.3 * q[0]))


JOINTS = {
    "revolute": sf.Revolute((1, -2, 3)),
    "revolute -y": sf.Revolute("-y"),
    "prismatic": sf.Prismatic((1, -2, 3)),
    "helical": sf.Helical((1, -2, 3), 0.3),
    "cylindrical": sf.Cylindrical((1, -2, 3)),
    "planar": sf.Planar(),
    "universal": sf.Universal(),
    "spherical": sf.Spherical(),
    "translational": sf.Translational(),
    "free": sf.Free(),
    "rolling": sf.CustomJoint(RollingBall(0.4)),
    "custom": sf.CustomJoint(screw, nq=3),
}
each = pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)
h = 1e-5


def state(joint, number=0):
    rng = np.random.default_rng(number)
    return joint.random(rng), tuple(rng.standard_normal(joint.nv).tolist())


def numbers(x):
    return np.array([float(value) for value in x])


def motion(m):
    return numbers((*m.ang, *m.lin))


def columns(S):
    return np.array([motion(c) for c in S.columns]).T.reshape(6, len(S.columns))


def pose(X):
    """Return world-from-body rotation and position."""
    return np.array([numbers(row) for row in X.E]).T, numbers(X.r)


def test_every_standard_joint_is_tested():
    assert set(STANDARD_JOINTS) <= {type(joint) for joint in JOINTS.values()}
    for joint in JOINTS.values():
        q, qd = state(joint)
        assert len(q) == joint.nq and len(qd) == joint.nv
        assert len(joint.calc(q, qd).S.columns) == joint.nv
        assert joint.kind == type(joint).__name__.lower()


@each
def test_the_transform_is_a_rotation_and_identity_at_neutral(joint):
    R, _ = pose(joint.calc(state(joint)[0], [0.0] * joint.nv).XJ)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1)
    R, p = pose(joint.calc(joint.neutral(), [0.0] * joint.nv).XJ)
    np.testing.assert_array_equal(R, np.eye(3))
    np.testing.assert_array_equal(p, np.zeros(3))


@each
def test_the_subspace_is_the_derivative_of_the_transform(joint):
    q, _ = state(joint)
    still = [0.0] * joint.nv
    S = columns(joint.calc(q, still).S)
    R, _ = pose(joint.calc(q, still).XJ)
    for k, unit in enumerate(np.eye(joint.nv)):
        (R1, p1), (R0, p0) = (
            pose(joint.calc(joint.step(q, (s * h * unit).tolist()), still).XJ) for s in (1, -1)
        )
        turning = R.T @ (R1 - R0) / (2 * h)  # omega x in body axes
        omega = [turning[2, 1], turning[0, 2], turning[1, 0]]
        np.testing.assert_allclose(S[:3, k], omega, atol=1e-9)
        np.testing.assert_allclose(S[3:, k], R.T @ (p1 - p0) / (2 * h), atol=1e-9)


@each
def test_the_joint_velocity_is_s_qd(joint):
    q, qd = state(joint)
    at = joint.calc(q, qd)
    np.testing.assert_allclose(motion(at.vJ), columns(at.S) @ qd, atol=1e-15)


@each
def test_the_bias_is_the_componentwise_rate_of_s_times_qd(joint):
    q, qd = state(joint, 1)
    ahead, behind = (
        columns(joint.calc(joint.step(q, [s * h * x for x in qd]), qd).S) for s in (1, -1)
    )
    rate = (ahead - behind) / (2 * h) @ qd
    np.testing.assert_allclose(motion(joint.calc(q, qd).cJ), rate, atol=1e-9)


@each
def test_step_and_difference_undo_each_other(joint):
    (q0, _), (q1, _) = state(joint, 2), state(joint, 3)
    dq = joint.difference(q0, q1)
    R, p = pose(joint.calc(joint.step(q0, dq), [0.0] * joint.nv).XJ)
    R1, p1 = pose(joint.calc(q1, [0.0] * joint.nv).XJ)
    np.testing.assert_allclose(R, R1, atol=1e-14)
    np.testing.assert_allclose(p, p1, atol=1e-14)
    small = (0.3 * np.random.default_rng(4).standard_normal(joint.nv)).tolist()
    back = joint.difference(q0, joint.step(q0, small))
    np.testing.assert_allclose(numbers(back), small, atol=1e-14)
    np.testing.assert_array_equal(numbers(joint.difference(q0, q0)), np.zeros(joint.nv))


@each
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.99e-3, 1.01e-3, 0.099, 0.101, 3.1])
def test_steps_of_every_size_are_found_again(joint, size):
    q, _ = state(joint, 5)
    direction = np.ones(joint.nv)
    if not joint.velocity_is_rate:
        direction[:3] /= math.sqrt(3)
    dq = (size * direction).tolist()
    back = numbers(joint.difference(q, joint.step(q, dq)))
    np.testing.assert_allclose(back, dq, atol=2e-13 if size > 3 else 2e-15)


@each
def test_the_rate_is_the_derivative_of_a_step(joint):
    q, qd = state(joint, 6)
    ahead, behind = (numbers(joint.step(q, [s * h * x for x in qd])) for s in (1, -1))
    np.testing.assert_allclose(numbers(joint.rate(q, qd)), (ahead - behind) / (2 * h), atol=1e-9)
    if joint.velocity_is_rate:
        np.testing.assert_array_equal(numbers(joint.rate(q, qd)), qd)


@each
def test_the_bracket_is_antisymmetric_and_the_commutator_of_rates(joint):
    rng = np.random.default_rng(7)
    q = joint.random(rng)
    a, b = rng.standard_normal((2, joint.nv)).tolist()
    ab = numbers(joint.bracket(a, b))
    np.testing.assert_array_equal(ab, -numbers(joint.bracket(b, a)))
    np.testing.assert_array_equal(numbers(joint.bracket(a, a)), np.zeros(joint.nv))

    def along(direction, of):
        _, rates = differentiate(lambda at: joint.rate(at, of), q, joint.rate(q, direction))
        return numbers(rates)

    commutator = along(a, b) - along(b, a)
    np.testing.assert_allclose(commutator, numbers(joint.rate(q, ab.tolist())), atol=1e-14)


@each
def test_the_constraint_basis_does_no_work(joint):
    q, qd = state(joint, 8)
    S = columns(joint.calc(q, qd).S)
    T = np.array([motion(c) for c in joint.constraint_basis(q).columns]).reshape(-1, 6).T
    assert np.linalg.matrix_rank(S) == joint.nv
    assert T.shape == (6, 6 - joint.nv)
    np.testing.assert_allclose(S.T @ T, np.zeros((joint.nv, 6 - joint.nv)), atol=1e-14)
    if T.size:
        assert np.linalg.matrix_rank(T) == 6 - joint.nv


@each
def test_joints_run_on_other_numbers(joint):
    q, qd = state(joint, 9)

    def convert(x):
        return x if isinstance(x, Zero) else gmpy2.mpfr(x)

    with gmpy2.context(precision=200):
        wide = joint.map(convert).calc([*map(gmpy2.mpfr, q)], [*map(gmpy2.mpfr, qd)])
    plain = joint.calc(q, qd)
    np.testing.assert_allclose(columns(wide.S), columns(plain.S), atol=1e-15)
    np.testing.assert_allclose(motion(wide.cJ), motion(plain.cJ), atol=1e-15)
    assert any(isinstance(x, type(gmpy2.mpfr(0))) for x in (*wide.XJ.E.a, *wide.XJ.r))


@pytest.mark.parametrize("joint", [sf.Spherical(), sf.Free()], ids=["spherical", "free"])
def test_quaternions_stay_of_unit_length_and_need_not_be(joint):
    q, qd = state(joint)
    part = joint.quaternion()
    far = joint.step(q, [3 * x for x in qd])
    assert math.hypot(*far[part]) == pytest.approx(1, abs=1e-15)
    longer = [3 * x if k in range(7)[part] else x for k, x in enumerate(q)]
    R, _ = pose(joint.calc(longer, qd).XJ)
    np.testing.assert_allclose(R, pose(joint.calc(q, qd).XJ)[0], atol=1e-15)


def test_a_half_turn_has_a_difference_even_on_floats():
    joint = sf.Spherical()
    phi = joint.difference((0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0))
    np.testing.assert_allclose(numbers(phi), [math.pi, 0, 0])


def test_the_difference_of_quaternions_is_the_shortest():
    joint = sf.Spherical()
    q, _ = state(joint)
    opposite = [-x for x in q]
    np.testing.assert_allclose(numbers(joint.difference(q, opposite)), np.zeros(3), atol=1e-15)


def test_joints_without_quaternions_say_so():
    assert sf.Revolute("z").quaternion() is None
    assert sf.Fixed().calc((), ()).S.columns == ()


# -- conventions


def test_a_revolute_joint_turns_by_the_right_hand():
    R, _ = pose(sf.Revolute("z").calc([math.pi / 2], [0.0]).XJ)
    np.testing.assert_allclose(R @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_the_planar_joint_moves_in_the_parent_frame():
    R, p = pose(sf.Planar().calc([1.0, 2.0, math.pi / 2], [0.0] * 3).XJ)
    np.testing.assert_allclose(p, [1, 2, 0])
    np.testing.assert_allclose(R @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_the_universal_joint_turns_about_x_then_y():
    R, _ = pose(sf.Universal().calc([0.3, 0.4], [0.0] * 2).XJ)
    Rx, _ = pose(sf.Revolute("x").calc([0.3], [0.0]).XJ)
    Ry, _ = pose(sf.Revolute("y").calc([0.4], [0.0]).XJ)
    np.testing.assert_allclose(R, Rx @ Ry, atol=1e-15)


def test_a_helical_joint_advances_by_its_pitch():
    _, p = pose(sf.Helical("y", 0.25).calc([2.0], [0.0]).XJ)
    np.testing.assert_allclose(p, [0, 0.5, 0])


def test_the_free_joint_has_position_then_quaternion_and_body_velocity():
    half = math.sqrt(0.5)
    q = [1.0, 2.0, 3.0, 0.0, 0.0, half, half]  # turned by 90 degrees about z
    X, S, vJ, cJ = sf.Free().calc(q, [1, 2, 3, 4, 5, 6])
    R, p = pose(X)
    np.testing.assert_allclose(R @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_array_equal(p, [1, 2, 3])
    np.testing.assert_array_equal(motion(vJ), [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(columns(S), np.eye(6))
    assert motion(cJ).any() == 0


# -- mistakes


@pytest.mark.parametrize("kind", [sf.Revolute, sf.Prismatic, sf.Helical, sf.Cylindrical])
@pytest.mark.parametrize(
    "axis", ["w", "", "xy", "--z", (0, 0, 0), (1, 2), (1, 2, 3, 4), None, 3, ("a", "b", "c")]
)
def test_an_axis_without_a_direction_is_refused(kind, axis):
    with pytest.raises(sf.errors.ModelError, match=f"{kind.__name__}: axis .*\n  fix: "):
        kind(axis)


@pytest.mark.parametrize("axis", [(math.nan, 0, 1), (math.inf, 0, 0), Vector3(0.0, 0.0, 0.0)])
def test_an_axis_that_is_not_finite_is_refused(axis):
    with pytest.raises(sf.errors.ModelError, match=r"Revolute: axis .* has no direction"):
        sf.Revolute(axis)


@pytest.mark.parametrize(
    "axis", [(0, 0, 2), [0, 0, 5.0], np.array([0, 0, 0.1]), Vector3(0, 0, 3.0), "z"]
)
def test_every_way_to_give_an_axis_gives_a_unit_vector(axis):
    assert sf.Revolute(axis) == sf.Revolute("z")
    assert numbers(sf.Revolute(axis).axis).tolist() == [0, 0, 1]


def test_a_unit_axis_keeps_its_bits_when_joints_are_copied():
    joint = sf.Revolute((1, 2, 3))
    assert joint.map(float).axis == sf.Revolute(joint.axis).axis == joint.axis


@pytest.mark.parametrize("pitch", [math.nan, math.inf, None, "0.1"])
def test_a_pitch_is_a_finite_number(pitch):
    with pytest.raises(
        sf.errors.ModelError, match=r"Helical: pitch = .*\n  fix: give a finite number"
    ):
        sf.Helical("z", pitch)


def test_a_pitch_may_be_an_integer():
    assert sf.Helical("z", 1) == sf.Helical("z", 1.0)
    assert isinstance(sf.Helical("z", 1).pitch, float)


def test_motion_and_subspace_are_what_calc_returns():
    X, S, vJ, cJ = sf.Planar().calc([0.1, 0.2, 0.3], [1.0, 2.0, 3.0])
    assert isinstance(X, Transform) and isinstance(S, Subspace)
    assert isinstance(vJ, Motion) and isinstance(cJ, Motion)


def test_axes_are_of_unit_length_to_rounding_and_scaled_once():
    rng = np.random.default_rng(4)
    for _ in range(200):
        axis = sf.Revolute(rng.standard_normal(3).tolist()).axis
        assert abs(math.hypot(*map(float, axis)) - 1) <= 4e-16
        assert sf.Revolute(axis).axis == axis
        longer = Vector3(*(float(x) * (1 + 1e-13) for x in axis))
        assert abs(math.hypot(*map(float, sf.Revolute(longer).axis)) - 1) <= 4e-16
