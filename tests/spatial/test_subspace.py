"""Motion subspaces S, force subspaces U = I S and the small matrices D = S^T U between them.

Sources: Featherstone, Summer Screws 2024, part 2 (motion constraints, matrix representation);
Carius, Primer on Spatial Algebra, 2018 (eqs. 29 and 38: v = S qd, tau = S^T f).
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixfold.errors import ArgumentError, ShapeError
from sixfold.scalar import ZERO
from sixfold.spatial import (
    ArticulatedInertia,
    Column,
    Force,
    ForceSubspace,
    Inertia,
    JointMatrix,
    Motion,
    Subspace,
    Transform,
    ldl,
    ldl_solve,
)
from tests.spatial.support import (
    EPS,
    array,
    assert_close,
    few,
    forces,
    inertias,
    law,
    matrix,
    motions,
    numbers,
    size,
)

sizes = pytest.mark.parametrize("n", range(1, 7))


def definite(n, seed=0):
    """Return a positive definite matrix of size n with condition number below 100."""
    rng = np.random.default_rng([n, seed])
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = Q @ np.diag(rng.uniform(0.5, 40.0, n)) @ Q.T
    return (A + A.T) / 2


def subspace(n, seed=0):
    """Return n independent motions."""
    Q, _ = np.linalg.qr(np.random.default_rng([n, seed]).normal(size=(6, 6)))
    return Subspace(*(Motion.of(column.tolist()) for column in (3 * Q[:, :n]).T))


columns = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(motions, min_size=n, max_size=n), st.lists(numbers, min_size=n, max_size=n)
    )
)


# S and U


@law
@given(columns)
def test_a_subspace_times_rates_is_a_motion_carius_eq_29(drawn):
    vectors, rates = drawn
    S = Subspace(*vectors)
    found = S @ tuple(rates)
    assert isinstance(found, Motion)
    assert_close(array(found).reshape(6), matrix(S) @ rates, size(matrix(S)) * size(rates))
    assert found == S @ Column(rates) == S @ list(rates)


@law
@given(columns, forces)
def test_a_transposed_subspace_times_a_force_is_the_joint_force_carius_eq_38(drawn, f):
    S = Subspace(*drawn[0])
    found = S.T @ f
    assert isinstance(found, Column)
    assert_close(found, matrix(S).T @ array(f).reshape(6), size(matrix(S)) * size(f))


@law
@given(columns, forces)
def test_the_power_at_a_joint_is_joint_force_times_joint_velocity(drawn, f):
    S, rates = Subspace(*drawn[0]), drawn[1]
    scale = size(matrix(S)) * size(f) * size(rates)
    assert_close(f.dot(S @ tuple(rates)), np.dot(array(S.T @ f), rates), scale)


@law
@given(inertias(), columns)
def test_an_inertia_times_a_subspace_is_a_force_for_each_freedom(I, drawn):
    S = Subspace(*drawn[0])
    M = array(I.matrix())
    for inertia in (I, ArticulatedInertia.of(I)):
        U = inertia @ S
        assert isinstance(U, ForceSubspace)
        assert_close(matrix(U), M @ matrix(S), size(M) * size(matrix(S)))


@law
@given(inertias(), columns)
def test_the_joint_matrix_is_the_inertia_seen_through_the_freedoms(I, drawn):
    S = Subspace(*drawn[0])
    D = array((S.T @ (I @ S)).rows)
    A, M = matrix(S), array(I.matrix())
    scale = size(M) * size(A) ** 2
    assert_close(D, A.T @ M @ A, scale)
    assert_close(D, D.T, scale)


@law
@given(columns, motions)
def test_a_transposed_force_subspace_takes_motions_to_numbers(drawn, v):
    U = ForceSubspace(*(Force(*c) for c in drawn[0]))
    found = U.T @ v
    assert_close(found, matrix(U).T @ array(v).reshape(6), size(matrix(U)) * size(v))


@law
@given(columns)
def test_a_force_subspace_times_weights_is_a_force(drawn):
    vectors, weights = drawn
    U = ForceSubspace(*(Force(*c) for c in vectors))
    found = U @ tuple(weights)
    assert isinstance(found, Force)
    assert_close(array(found).reshape(6), matrix(U) @ weights, size(matrix(U)) * size(weights))


def test_a_subspace_without_freedoms_allows_no_motion():
    S = Subspace()
    assert Motion.zero() == S @ ()
    assert S.T @ Force.of([1.0] * 6) == ()


def test_every_number_of_a_subspace_can_be_converted():
    S = subspace(3)
    np.testing.assert_array_equal(matrix(S.map(lambda x: 2 * x)), 2 * matrix(S))


# factors


@sizes
def test_the_factors_of_a_positive_matrix_are_unit_triangular_with_positive_pivots(n):
    A = definite(n)
    L, d = ldl(A.tolist())
    L = array(L)
    assert np.all(np.triu(L, 1) == 0) and np.all(np.diag(L) == 1)
    assert min(d) > 0
    assert_close(L @ np.diag(d) @ L.T, A, size(A))


@sizes
def test_solving_with_the_factors_agrees_with_numpy(n):
    A, b = definite(n), np.arange(1.0, n + 1)
    want = np.linalg.solve(A, b)
    bound = np.linalg.cond(A) * size(want)
    assert_close(ldl_solve(*ldl(A.tolist()), b.tolist()), want, bound)
    assert_close(JointMatrix(A.tolist()).solve(b.tolist()), want, bound)
    assert_close(Column(b.tolist()) / JointMatrix(A.tolist()), want, bound)


@sizes
def test_the_residual_of_a_solution_is_rounding(n):
    A, b = definite(n, seed=1), np.arange(1.0, n + 1)
    x = array(JointMatrix(A.tolist()).solve(b.tolist()))
    assert_close(A @ x, b, size(A) * size(x))


@sizes
def test_the_pivots_multiply_to_the_determinant(n):
    A = definite(n)
    want = np.linalg.det(A)
    found = np.prod(JointMatrix(A.tolist()).pivots())
    assert abs(found - want) <= 8 * n * EPS * np.linalg.cond(A) * want


@sizes
def test_a_joint_matrix_adds_a_diagonal(n):
    A, armature = definite(n), np.arange(1.0, n + 1)
    found = JointMatrix(A.tolist()) + armature.tolist()
    np.testing.assert_array_equal(array(found.rows), A + np.diag(armature))


def test_the_factors_use_only_the_lower_triangle():
    A = definite(4)
    lower = np.tril(A).tolist()
    assert ldl(lower) == ldl(A.tolist())


def test_exact_zeros_survive_the_factors():
    L, d = ldl([[2.0, ZERO, 1.0], [ZERO, 3.0, ZERO], [1.0, ZERO, 4.0]])
    assert L[1][0] is ZERO and L[2][1] is ZERO
    assert d == [2.0, 3.0, 3.5]


def test_a_zero_pivot_is_an_error_on_floats():
    with pytest.raises(ZeroDivisionError):
        ldl([[0.0, 1.0], [1.0, 0.0]])


def test_the_right_side_must_fit_the_matrix():
    with pytest.raises(ValueError, match="zip"):
        JointMatrix([[2.0]]).solve([1.0, 2.0])


# U D^-1 and K U^T


@sizes
def test_a_force_subspace_over_a_joint_matrix_is_u_times_its_inverse(n):
    U = ForceSubspace(*(Force(*c) for c in subspace(n).columns))
    A = definite(n)
    found = U / JointMatrix(A.tolist())
    assert isinstance(found, ForceSubspace)
    want = matrix(U) @ np.linalg.inv(A)
    assert_close(matrix(found), want, np.linalg.cond(A) * size(want))


@sizes
def test_k_times_u_transposed_is_a_symmetric_inertia(n):
    U = ForceSubspace(*(Force(*c) for c in subspace(n).columns))
    A = definite(n)
    found = (U / JointMatrix(A.tolist())) @ U.T
    assert isinstance(found, ArticulatedInertia)
    want = matrix(U) @ np.linalg.inv(A) @ matrix(U).T
    assert_close(found.matrix(), want, np.linalg.cond(A) * size(want))


@sizes
@few
@given(I=inertias())
def test_the_inertia_left_by_a_free_joint_resists_no_motion_along_it(n, I):
    # I - U D^-1 U^T annihilates S: the step of the articulated-body algorithm
    S = subspace(n)
    U = I @ S
    D = S.T @ U
    left = array((I - (U / D) @ U.T).matrix())
    M = array(I.matrix())
    scale = size(M) * size(matrix(S)) * np.linalg.cond(array(D.rows))
    assert_close(left @ matrix(S), np.zeros((6, n)), scale)


# columns of numbers


@law
@given(st.lists(numbers, min_size=1, max_size=6), numbers)
def test_columns_compute_number_by_number(values, scale):
    a, b = Column(values), Column(x + 1 for x in values)
    assert a + b == tuple(x + y for x, y in zip(a, b, strict=True))
    assert a - b == tuple(x - y for x, y in zip(a, b, strict=True))
    assert a * b == tuple(x * y for x, y in zip(a, b, strict=True))
    assert a * scale == tuple(x * scale for x in a)
    assert a / 4.0 == tuple(x / 4.0 for x in a)
    assert -a == tuple(-x for x in a)
    assert all(isinstance(c, Column) for c in (a + b, a - b, a * b, a * scale, a / 4.0, -a))


def test_a_zero_column_is_exact():
    assert all(x is ZERO for x in Column.zero(3))
    assert len(Column.zero(3)) == 3


@pytest.mark.parametrize("operate", [Column.__add__, Column.__sub__, Column.__mul__])
def test_columns_of_different_length_do_not_combine(operate):
    with pytest.raises(ValueError, match="zip"):
        operate(Column((1.0, 2.0)), (1.0,))


# what is refused

S1, S2 = subspace(1), subspace(2)
U2 = ForceSubspace(Force.of([1.0] * 6), Force.of([2.0] * 6))
MOTION, FORCE = Motion.of([1.0] * 6), Force.of([1.0] * 6)


@pytest.mark.parametrize("other", [MOTION, FORCE, 2.0], ids=["motion", "force", "number"])
def test_a_subspace_takes_columns_of_numbers_only(other):
    with pytest.raises(TypeError):
        S2 @ other
    with pytest.raises(TypeError):
        U2 @ other


def test_a_subspace_needs_one_rate_for_each_freedom():
    with pytest.raises(ShapeError, match="expected: 2 numbers\n  got: 1"):
        S2 @ (1.0,)
    with pytest.raises(ShapeError, match="expected: 2 numbers\n  got: 3"):
        U2 @ (1.0, 2.0, 3.0)


def test_a_transposed_subspace_keeps_the_two_spaces_apart():
    for left, right in ((S2.T, MOTION), (S2.T, S1), (U2.T, FORCE), (U2.T, U2)):
        with pytest.raises(TypeError, match="joins a Motion and a Force"):
            left @ right


def test_a_transposed_subspace_refuses_a_plain_number():
    with pytest.raises(TypeError):
        S2.T @ 2.0


@pytest.mark.parametrize("scale", [2, 2.0, np.float64(2.0)])
def test_a_number_scales_from_either_side(scale):
    rigid = Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    for inertia in (rigid, ArticulatedInertia.of(rigid)):
        doubled = inertia + inertia
        assert scale * inertia == inertia * scale == doubled and type(scale * inertia) is type(
            inertia
        )


def test_transforms_are_neither_added_nor_scaled():
    X = Transform.translation((1.0, 2.0, 3.0))
    for act in (lambda: X + X, lambda: X * 2, lambda: 2 * X):
        with pytest.raises(TypeError, match="chain with X @ Y"):
            act()


def test_a_subspace_takes_an_array_of_rates():
    assert S2 @ np.array([1.0, 2.0]) == S2 @ (1.0, 2.0)
    assert U2 @ np.array([1.0, 2.0]) == U2 @ (1.0, 2.0)
    for odd in (np.ma.masked_array([1.0, 2.0]), np.array(1.0)):
        with pytest.raises(ArgumentError):
            S2 @ odd
