"""The general inertia of twenty-one parameters.

Source: Featherstone, Summer Screws 2024, part 2 (properties of spatial inertia).
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

from sixfold.compiler.graph import optimise, trace
from sixfold.scalar import cos, sin
from sixfold.spatial import IDENTITY3, ArticulatedInertia, Matrix3, Symmetric3, Vector3, rotation
from sixfold.spatial.solids import box
from tests.spatial.support import array, assert_close, inertias, law, motions, six, size, transforms


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
    np.testing.assert_array_equal(array(I.map(lambda x: x * 2).matrix()), 2 * array(I.matrix()))
    np.testing.assert_array_equal(array(A.map(lambda x: x * 2).matrix()), 2 * array(A.matrix()))


QUARTERS = [np.eye(3)[list(order)] for order in itertools.permutations(range(3))]
"""Rotations that take coordinate axes to coordinate axes, up to signs."""


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("axis", range(3))
def test_turning_a_matrix_about_a_coordinate_axis_is_the_congruence(before, axis):
    rng = np.random.default_rng(before)
    unit = Vector3.of(np.eye(3)[axis].tolist())
    quarter = QUARTERS[before] * np.array([1, -1, 1])
    quarter *= np.linalg.det(quarter)  # a rotation
    turn = rotation(unit, math.cos(0.7), math.sin(0.7))
    for E in (turn @ Matrix3.of(quarter.tolist()), Matrix3.of(quarter.tolist()) @ turn):
        A, S = rng.standard_normal((2, 3, 3))
        S = S + S.T
        dense = np.array(E, float)
        found = Matrix3.of(A.tolist()).congruence(E)
        np.testing.assert_allclose(np.array(found, float), dense.T @ A @ dense, atol=1e-14)
        symmetric = Symmetric3.of(S.tolist()).congruence(E).matrix()
        np.testing.assert_allclose(np.array(symmetric, float), dense.T @ S @ dense, atol=1e-14)


def test_turning_about_a_coordinate_axis_takes_half_the_products():
    def work(axis):
        def function(x):
            E = rotation(Vector3.of(axis), cos(x[0]), sin(x[0]))
            return [y for row in Matrix3.of([x[1:4], x[4:7], x[7:10]]).congruence(E) for y in row]

        counts = optimise(trace(function, (10,))).counts()
        return sum(counts.get(op, 0) for op in ("mul", "fma", "fms", "fnma"))

    assert work((0.0, 0.0, 1.0)) == 14  # six for the four elements that mix, eight for the others


def test_a_matrix_in_the_same_axes_keeps_its_bits():
    A = Matrix3.of(np.random.default_rng(0).standard_normal((3, 3)).tolist())
    assert A.congruence(IDENTITY3) == A
