"""The general inertia of twenty-one parameters.

Source: Featherstone, Summer Screws 2024, part 2 (properties of spatial inertia).
"""

import numpy as np
from hypothesis import given

from sixfold.spatial import (
    ArticulatedInertia,
    Matrix3,
    Symmetric3,
)
from sixfold.spatial.solids import box
from tests.spatial.support import (
    array,
    assert_close,
    inertias,
    law,
    motions,
    six,
    size,
    transforms,
)


@law
@given(inertias(), motions, transforms)
def test_a_rigid_body_in_the_general_form_behaves_as_itself(I, v, X):
    A = ArticulatedInertia.of(I)
    np.testing.assert_array_equal(array(A.matrix()), array(I.matrix()))
    assert_close(A @ v, I @ v, size(I.matrix()) * size(v))
    scale = size(I.matrix()) * size(X.matrix()) ** 2
    assert_close((X.T @ A @ X).matrix(), (X.T @ I @ X).matrix(), scale)


def test_a_general_inertia_has_twenty_one_parameters():
    I, M = Symmetric3(1, 2, 3, 4, 5, 6), Symmetric3(16, 17, 18, 19, 20, 21)
    H = Matrix3.of([[7, 8, 9], [10, 11, 12], [13, 14, 15]])
    found = array(ArticulatedInertia(I, H, M).matrix())
    np.testing.assert_array_equal(found, found.T)
    assert set(found[np.triu_indices(6)]) == set(range(1, 22))


def articulated(I, J, X):
    """Return an inertia with different mass in different directions."""
    A = ArticulatedInertia.of(I) + J
    return ArticulatedInertia(A.I, A.H + X.E * 0.3, A.M + J.about_center)


@law
@given(inertias(), inertias(), transforms, transforms, motions)
def test_an_articulated_inertia_moves_by_congruence(I, J, X, Y, v):
    A = articulated(I, J, X)
    M, T = array(A.matrix()), array(Y.matrix())
    np.testing.assert_array_equal(M, M.T)
    assert_close(six(A @ v), M @ six(v), size(M) * size(v))
    found = array((Y.T @ A @ Y).matrix())
    np.testing.assert_array_equal(found, found.T)
    assert_close(found, T.T @ M @ T, size(M) * size(T) ** 2)


@law
@given(inertias(), inertias(), transforms)
def test_rigid_and_articulated_inertias_add_and_subtract_in_any_order(I, J, X):
    A = articulated(I, J, X)
    M, N = array(A.matrix()), array(I.matrix())
    scale = size(M) + size(N)
    for found, want in ((A + I, M + N), (I + A, M + N), (I - A, N - M), (A - A, M - M)):
        assert isinstance(found, ArticulatedInertia)
        assert_close(found.matrix(), want, scale)


def test_the_articulated_inertia_of_nothing_is_zero():
    np.testing.assert_array_equal(array(ArticulatedInertia.zero().matrix()), np.zeros((6, 6)))


def test_every_number_of_an_inertia_can_be_converted():
    I = box(1.0, 2.0, 3.0, mass=4.0)
    A = ArticulatedInertia.of(I)
    np.testing.assert_array_equal(array(I.over(lambda x: x * 2).matrix()), 2 * array(I.matrix()))
    np.testing.assert_array_equal(array(A.over(lambda x: x * 2).matrix()), 2 * array(A.matrix()))
