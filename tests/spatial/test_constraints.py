"""Motion constraints on one body.

Source: Featherstone, Summer Screws 2024, part 2 (motion constraints; the solution of the example,
lost in the text at hand, is a = S (S^T I S)^-1 S^T f).
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixfold.errors import ModelError
from sixfold.scalar import ZERO
from sixfold.spatial import (
    ArticulatedInertia,
    Force,
    ForceSubspace,
    Motion,
    Subspace,
    Transform,
    Vector3,
    apparent_inverse_inertia,
    constrained_motion,
    constraint_basis,
    equation_of_motion,
)
from sixfold.spatial.solids import cylinder
from tests.spatial.support import (
    array,
    assert_close,
    assert_differ,
    few,
    forces,
    inertias,
    law,
    matrix,
    motions,
    numbers,
    six,
    size,
)

freedoms = pytest.mark.parametrize("n", range(7))


def subspace(n, seed=0, shear=0.4):
    """Return n independent motions that are not orthogonal."""
    rng = np.random.default_rng([n, seed])
    Q, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    mixed = Q[:, :n] @ (2 * np.eye(n) + shear * np.triu(np.ones((n, n)), 1))
    return Subspace(*(Motion.of(column.tolist()) for column in mixed.T))


def combine(S, A):
    """Return S A."""
    return Subspace(*(S @ tuple(column.tolist()) for column in np.asarray(A).T))


REVOLUTE = Subspace(Motion.of([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
PLANAR = Subspace(*(Motion.of([float(i == k) for i in range(6)]) for k in (2, 3, 4)))


# S and T


@freedoms
def test_the_constraint_forces_are_orthogonal_to_the_freedoms(n):
    S = subspace(n)
    T = constraint_basis(S)
    assert isinstance(T, ForceSubspace)
    found = array((S.T @ T).rows).reshape(n, 6 - n)
    assert_close(found, np.zeros((n, 6 - n)), size(matrix(S)))


@freedoms
def test_the_columns_of_the_constraint_basis_are_orthonormal(n):
    T = matrix(constraint_basis(subspace(n)))
    assert_close(T.T @ T, np.eye(6 - n))


@freedoms
def test_degrees_of_freedom_and_of_constraint_add_up_to_six(n):
    S = subspace(n)
    T = constraint_basis(S)
    assert len(S.columns) + len(T.columns) == 6
    # together S and T span everything
    assert np.linalg.matrix_rank(np.hstack([matrix(S), matrix(T)])) == 6


@freedoms
def test_the_freedoms_are_the_motions_that_the_constraint_forces_do_no_work_on(n):
    # S and T describe the constraint equally well: from T back to S
    S = subspace(n)
    T = constraint_basis(S)
    back = constraint_basis(T)
    assert isinstance(back, Subspace)
    assert len(back.columns) == n
    found = array((T.T @ back).rows).reshape(6 - n, n)
    assert_close(found, np.zeros((6 - n, n)))
    # the same range: the projection on S, and one that does not know the basis of S
    A, B = matrix(S), matrix(back)
    assert_close(B.T @ B, np.eye(n))
    assert_close(B @ (B.T @ A), A, size(A))


@freedoms
def test_an_allowed_velocity_satisfies_both_forms_of_the_constraint(n):
    S = subspace(n)
    alpha = tuple(float(k + 1) for k in range(n))
    v = S @ alpha
    T = constraint_basis(S)
    assert_close(T.T @ v, np.zeros(6 - n), size(matrix(S)) * size(alpha))


@freedoms
def test_a_constraint_force_does_no_work_on_an_allowed_motion(n):
    S = subspace(n)
    alpha, weights = tuple([0.5 + k for k in range(n)]), tuple([2.0 - k for k in range(6 - n)])
    f_c = constraint_basis(S) @ weights
    assert_close(f_c.dot(S @ alpha), 0.0, size(matrix(S)) * size(alpha) * size(weights))
    assert_close(S.T @ f_c, np.zeros(n), size(matrix(S)) * size(weights))


@pytest.mark.parametrize("n", range(1, 6))
def test_the_constraint_forces_do_not_depend_on_the_matrix_that_represents_the_freedoms(n):
    S = subspace(n)
    other = combine(S, np.eye(n) + 0.3 * np.tri(n))
    T, U = matrix(constraint_basis(S)), matrix(constraint_basis(other))
    # equal projections on the two ranges
    assert_close(T @ T.T, U @ U.T, np.linalg.cond(matrix(other)), eps=16)


def test_the_constraint_forces_of_a_hinge_are_all_but_the_moment_about_its_axis():
    T = matrix(constraint_basis(REVOLUTE))
    want = np.eye(6)
    want[2, 2] = 0.0
    assert_close(T @ T.T, want)


@pytest.mark.parametrize(
    "S",
    [
        Subspace(Motion.of([0.0] * 6)),
        Subspace(Motion.of([1.0] * 6), Motion.of([2.0] * 6)),
        Subspace(*(Motion.of([1.0, float(k), 0.0, 0.0, 0.0, 0.0]) for k in range(3))),
        Subspace(*subspace(6).columns, Motion.of([1.0] * 6)),
    ],
    ids=["zero", "parallel", "coplanar", "seven"],
)
def test_dependent_freedoms_are_refused(S):
    with pytest.raises(ModelError, match=r"columns of S are not independent\n  fix: drop a column"):
        constraint_basis(S)
    T = ForceSubspace(*(Force(*column) for column in S.columns))
    with pytest.raises(ModelError, match=r"columns of T are not independent\n  fix: drop a column"):
        constraint_basis(T)


# apparent inverse inertia


@pytest.mark.parametrize("n", range(7))
@few
@given(I=inertias())
def test_the_apparent_inverse_inertia_is_symmetric_semidefinite_of_the_rank_of_the_freedoms(n, I):
    S = subspace(n)
    found = array(apparent_inverse_inertia(I, S))
    assert found.shape == (6, 6)
    A, M = matrix(S), array(I.matrix())
    D = A.T @ M @ A
    scale = size(found) * (np.linalg.cond(D) if n else 1.0)
    assert_close(found, found.T, scale)
    values = np.linalg.eigvalsh((found + found.T) / 2)
    assert values.min(initial=0.0) >= -16 * np.finfo(float).eps * scale
    assert np.linalg.matrix_rank(found, tol=1e-6 * size(found)) == n
    want = A @ np.linalg.inv(D) @ A.T if n else np.zeros((6, 6))
    assert_close(found, want, scale)


@law
@given(inertias())
def test_the_apparent_inverse_inertia_of_a_free_body_is_the_inverse_inertia(I):
    M = array(I.matrix())
    want = np.linalg.inv(M)
    free = Subspace(*(Motion.of(row) for row in np.eye(6).tolist()))
    for inertia in (I, ArticulatedInertia.of(I)):
        found = apparent_inverse_inertia(inertia, free)
        assert_close(found, want, size(want) * np.linalg.cond(M))


@pytest.mark.parametrize("n", range(1, 7))
@few
@given(I=inertias())
def test_the_apparent_inverse_inertia_does_not_depend_on_the_matrix_of_the_freedoms(n, I):
    S = subspace(n)
    other = combine(S, np.eye(n) + 0.3 * np.tri(n))
    found = array(apparent_inverse_inertia(I, S))
    M, A = array(I.matrix()), matrix(other)
    scale = size(found) * np.linalg.cond(A.T @ M @ A)
    assert_close(apparent_inverse_inertia(I, other), found, scale)


def test_a_welded_body_has_no_apparent_inverse_inertia():
    found = apparent_inverse_inertia(cylinder(1.0, 1.0, mass=2.0), Subspace())
    np.testing.assert_array_equal(array(found), np.zeros((6, 6)))


# the constrained body at rest


@pytest.mark.parametrize("n", range(7))
@few
@given(I=inertias(), f=forces)
def test_a_constrained_body_at_rest_accelerates_by_its_apparent_inverse_inertia(n, I, f):
    S = subspace(n)
    found = constrained_motion(I, S, f)
    inverse = array(apparent_inverse_inertia(I, S))
    A, M = matrix(S), array(I.matrix())
    condition = np.linalg.cond(A.T @ M @ A) if n else 1.0
    assert_close(six(found.a), inverse @ six(f), size(inverse) * size(f) * condition)
    assert_close(found.a, S @ found.alpha_rate, size(found.a))
    # f_c = I a - f does no work on the freedoms
    assert_close(found.f_c, (I @ found.a) - f, size(M) * size(found.a) + size(f))
    scale = size(A) * (size(M) * size(found.a) + size(f)) * condition
    assert_close(S.T @ found.f_c, np.zeros(n), scale)


@law
@given(inertias(), forces)
def test_the_constraint_force_lies_in_the_range_of_the_constraint_basis(I, f):
    found = constrained_motion(I, PLANAR, f).f_c
    T = matrix(constraint_basis(PLANAR))
    condition = np.linalg.cond(array((PLANAR.T @ (I @ PLANAR)).rows))
    assert_close(T @ (T.T @ six(found)), six(found), (size(f) + size(found)) * condition)


@law
@given(inertias(), forces, st.tuples(numbers, numbers, numbers))
def test_the_acceleration_is_the_one_of_least_constraint(I, f, other):
    # Gauss: among allowed accelerations, (a - a_free) . I (a - a_free) is least
    M = array(I.matrix())
    free = np.linalg.solve(M, six(f))

    def constraint(a):
        return (a - free) @ M @ (a - free)

    a = six(constrained_motion(I, PLANAR, f).a)
    trial = six(PLANAR @ other)
    rounding = (
        64 * np.finfo(float).eps * np.linalg.cond(M) * size(M) * (size(free) + size(trial)) ** 2
    )
    assert constraint(a) <= constraint(trial) + rounding


def test_a_welded_body_answers_a_force_with_its_opposite():
    f = Force.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = constrained_motion(cylinder(1.0, 1.0, mass=2.0), Subspace(), f)
    assert found == ((), Motion.zero(), -f)


# the constrained body in motion


@pytest.mark.parametrize("n", range(1, 7))
@few
@given(I=inertias(), u=motions, weights=st.tuples(*[numbers] * 6))
def test_a_moving_constrained_body_obeys_all_four_equations_of_the_slide(n, I, u, weights):
    # choose alpha, its rate and the constraint force; the applied force then has one answer
    S, S_rate = subspace(n), Subspace(*(u.cross(c) for c in subspace(n).columns))
    alpha, rate = weights[:n], tuple(0.5 - w for w in weights[:n])
    f_c = constraint_basis(S) @ weights[n:]
    v = S @ alpha
    a = S @ rate + S_rate @ alpha
    f = equation_of_motion(I, v, a) - f_c
    found = constrained_motion(I, S, f, alpha, S_rate)
    M, A = array(I.matrix()), matrix(S)
    scale = (size(M) * (size(a) + size(v) ** 2) + size(f)) * np.linalg.cond(A.T @ M @ A)
    least = np.linalg.eigvalsh(A.T @ M @ A).min()
    assert_close(found.alpha_rate, rate, scale * size(A) / least)
    assert_close(found.a, a, scale * size(A) ** 2 / least)
    assert_close(found.f_c, f_c, scale * (1 + size(M) * size(A) ** 2 / least))


def hinge_at(place):
    """Return the freedom of a hinge along z through a point."""
    axis = Vector3.of((0.0, 0.0, 1.0))
    return Subspace(Motion(axis, Vector3.of(place).cross(axis)))


def test_a_spinning_body_on_a_fixed_hinge_is_held_by_the_centripetal_force():
    # S is constant, so that the velocity-product force alone asks for the constraint
    m, r, spin = 2.0, 0.7, 3.0
    X = Transform.translation((r, 0.0, 0.0))
    I = X.T @ cylinder(0.1, 0.4, mass=m) @ X
    found = constrained_motion(I, hinge_at((0.0, 0.0, 0.0)), Force.zero(), (spin,))
    assert_close(found.alpha_rate, [0.0])
    assert_close(found.f_c.lin, (-m * spin**2 * r, 0.0, 0.0), m * spin**2 * r)
    assert_close(found.f_c.ang, np.zeros(3), m * spin**2 * r)


def rolling(I_center, radius, d):
    """Return the inertia of a cylinder along x that has rolled to y = d, and its freedom.

    It turns about the line of contact: S = (-1, 0, 0, 0, 0, d), which moves on with dd/dt = radius.
    """
    X = Transform.translation((0.0, d, radius))
    S = Subspace(Motion.of([-1.0, 0.0, 0.0, 0.0, 0.0, d]))
    return X.T @ I_center @ X, S, X


def test_a_cylinder_that_rolls_freely_keeps_its_speed_and_the_ground_carries_its_weight():
    m, r, d, omega, g = 3.0, 0.4, 0.9, 2.5, 9.81
    I, S, _ = rolling(cylinder(r, 0.5, axis="x", mass=m), r, d)
    S_rate = Subspace(Motion.of([0.0, 0.0, 0.0, 0.0, 0.0, r * omega]))
    gravity = I @ Motion.of([0.0, 0.0, 0.0, 0.0, 0.0, -g])
    found = constrained_motion(I, S, gravity, (omega,), S_rate)
    scale = m * (g + omega**2) * (1 + d)
    assert_close(found.alpha_rate, [0.0], scale)
    # example 3: the acceleration is linear, omega^2 r upward
    assert_close(found.a, Motion.of([0.0, 0.0, 0.0, 0.0, 0.0, omega**2 * r]), scale)
    assert_close(found.f_c, -gravity, scale)


def test_leaving_out_the_motion_of_the_constraint_changes_the_answer():
    m, r, d, omega = 3.0, 0.4, 0.9, 2.5
    I, S, _ = rolling(cylinder(r, 0.5, axis="x", mass=m), r, d)
    S_rate = Subspace(Motion.of([0.0, 0.0, 0.0, 0.0, 0.0, r * omega]))
    right = constrained_motion(I, S, Force.zero(), (omega,), S_rate)
    wrong = constrained_motion(I, S, Force.zero(), (omega,))
    assert_differ(right.a, wrong.a, by=omega**2 * r / 2)


def test_a_cylinder_rolls_down_a_slope_with_two_thirds_of_the_acceleration_of_sliding():
    m, r, slope, g = 3.0, 0.4, 0.3, 9.81
    I, S, X = rolling(cylinder(r, 0.5, axis="x", mass=m), r, 0.0)
    along, down = g * math.sin(slope), -g * math.cos(slope)
    gravity = I @ Motion(Vector3(ZERO, ZERO, ZERO), Vector3(ZERO, along, down))
    found = constrained_motion(I, S, gravity)
    assert_close((X @ found.a).lin, (0.0, 2 / 3 * along, 0.0), g)
    # friction carries a third of the weight along the slope, and nothing turns about the contact
    assert_close(found.f_c.lin, (0.0, -m * along / 3, -m * down), m * g)
    assert_close(found.f_c.ang, np.zeros(3), m * g)
