"""Spatial quantities as arrays, as short text and as LaTeX; arrays beside them in expressions."""

import doctest
import importlib

import gmpy2
import numpy as np
import pytest
import sympy

import sixfold as sf
from sixfold.spatial import ForceSubspace, JointMatrix, to_array
from sixfold.spatial.vectors import number_latex, number_text

RNG = np.random.default_rng(5)
SIX = RNG.standard_normal(6)
M = sf.spatial.Motion.of(SIX)
F = sf.spatial.Force.of(SIX[::-1])
X = sf.Transform.from_rpy((0.3, -0.2, 0.9), (1.0, -2.0, 0.5))
I = sf.Inertia.from_mass(2.0, (0.1, 0.2, -0.3), (0.3, 0.4, 0.5))
A = sf.spatial.ArticulatedInertia.of(I)
S = sf.spatial.Subspace(M, sf.spatial.Motion.of([0, 0, 1, 0, 0, 0]))
U = I @ S
D = S.T @ U
ALL = (M, F, X, I, A, S, U, D)
THETA = sympy.Symbol("theta")


def test_arrays_are_the_matrices_of_the_book():
    assert np.array_equal(np.asarray(M), SIX) and np.array_equal(np.asarray(F), SIX[::-1])
    assert np.array_equal(np.asarray(X), np.array(X.matrix(), float))
    assert np.array_equal(np.asarray(I), np.array(I.matrix(), float))
    assert np.array_equal(np.asarray(A), np.asarray(I))
    assert np.array_equal(np.asarray(S), np.stack([SIX, [0, 0, 1, 0, 0, 0]], axis=1))
    assert np.allclose(np.asarray(U), np.asarray(I) @ np.asarray(S))
    assert np.allclose(np.asarray(D), np.asarray(S).T @ np.asarray(U))
    assert to_array(X.pose()).shape == (4, 4) and to_array(X.pose()).dtype == float
    assert all(np.asarray(x).dtype == np.float64 for x in ALL)


def test_products_of_arrays_are_arrays_of_products():
    x, m = np.asarray(X), np.asarray(M)
    assert np.allclose(x @ m, np.asarray(X @ M))
    assert np.allclose(np.linalg.inv(x).T @ np.asarray(F), np.asarray(X.star @ F))
    assert np.allclose(x.T @ np.asarray(I) @ x, np.asarray(X.T @ I @ X))
    assert np.isclose(m @ np.asarray(F), M.dot(F))
    assert np.allclose(to_array(M.cross_matrix()) @ m, 0)


def test_a_batch_inside_the_numbers_becomes_leading_axes():
    many = RNG.standard_normal((6, 4, 5))
    m = sf.spatial.Motion.of(many)
    assert np.array_equal(np.asarray(m), np.moveaxis(many, 0, -1))
    turned = sf.Transform(
        sf.spatial.rotation(sf.spatial.Vector3(0.0, 0.0, 1.0), np.cos(many[0]), np.sin(many[0])),
        sf.spatial.Vector3(many[1], 0.0, 1.0),
    )
    assert np.asarray(turned).shape == (4, 5, 6, 6)
    assert np.allclose((np.asarray(turned) @ np.asarray(m)[..., None])[..., 0], turned @ m)
    assert str(m) == "Motion of 4 x 5 states" and m._repr_latex_() is None
    single = sf.spatial.Motion.of([np.ones(3, np.float32)] * 6)
    assert np.asarray(single).dtype == np.float32


def test_symbols_and_long_numbers_stay_what_they_are():
    m = sf.spatial.Motion.of([0, 0, THETA, sympy.sin(THETA) / 2, 0, 1])
    array = np.asarray(m)
    assert array.dtype == object and array[2] is THETA and array[0] == 0
    assert str(m) == "Motion(w=(0, 0, theta), v=(sin(theta)/2, 0, 1))"
    assert "\\theta" in m._repr_latex_() and "\\frac" in m._repr_latex_()
    long = gmpy2.mpfr("0.1", 200)
    assert np.asarray(sf.spatial.Force.of([long, 0, 0, 0, 0, 1]))[0] is long


def test_text_is_short_and_repr_keeps_every_digit():
    m = sf.spatial.Motion.of([0, 0, 1, 0.5, 1 / 3, -1e-9])
    assert str(m) == "Motion(w=(0, 0, 1), v=(0.5, 0.33333, -1e-09))"
    assert str(sf.spatial.Force.of([1, 2, 3, 4, 5, 6])) == "Force(n=(1, 2, 3), f=(4, 5, 6))"
    names = {
        "Motion": sf.spatial.Motion,
        "Vector3": sf.spatial.Vector3,
        "Subspace": sf.spatial.Subspace,
        "np": np,
    }
    assert eval(repr(m), names) == m and eval(repr(S), names) == S
    assert repr(U).startswith("ForceSubspace(Force(ang=")
    assert str(D).startswith("JointMatrix((")
    assert all(len(str(x)) < 260 and "\n" not in str(x) for x in ALL)


def test_latex_has_a_rule_between_the_halves():
    text = sf.spatial.Motion.of([0, 0, 1, 0.5, 0, 2e-7])._repr_latex_()
    assert text.startswith("$") and text.endswith("$") and text.count("\\\\") == 5
    assert "\\hline 0.5" in text and "2 \\cdot 10^{-7}" in text
    assert "{ccc|ccc}" in X._repr_latex_() and X._repr_latex_().count("&") == 30
    assert S._repr_latex_().count("&") == 6


@pytest.mark.parametrize(
    "two", [2, 2.0, np.float64(2), np.float32(2), np.array(2.0), gmpy2.mpfr(2)]
)
def test_numbers_scale_from_both_sides(two):
    for x in (M, F):
        assert type(two * x) is type(x * two) is type(x)
        assert np.allclose(np.asarray(two * x).astype(float), 2 * np.asarray(x))


def test_an_array_scales_to_a_batch_also_one_of_symbols():
    several = np.arange(3.0)
    assert np.allclose(several * M, several[:, None] * SIX)
    symbols = np.array([THETA, 2 * THETA], dtype=object)
    found = np.asarray(symbols * sf.spatial.Motion.of([0, 0, 1, 0, 0, 0]))
    assert found.shape == (2, 6) and found[1, 2] == 2 * THETA
    assert type(THETA * M) is sf.spatial.Motion and (THETA * M).ang.x == SIX[0] * THETA


@pytest.mark.parametrize("other", ALL, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("array", [np.eye(6), np.ones(6), np.eye(2), np.float64(1.0)])
def test_an_array_on_the_left_is_never_taken_for_a_partner(array, other):
    for act in (np.matmul, np.add, np.subtract):
        with pytest.raises(TypeError):
            act(array, other)
    with pytest.raises(TypeError):
        array @ other
    with pytest.raises(TypeError):
        array + other


def test_an_array_is_always_made():
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # before, copy=False is a wish
        with pytest.raises(ValueError, match="has to be made"):
            np.array(M, copy=False)
    assert np.asarray(M, np.float32).dtype == np.float32
    assert np.stack([M, M]).shape == (2, 6)


def test_what_is_no_quantity_is_refused():
    for bad in ("motion", None, [1.0, "x"], {"a": 1}):
        with pytest.raises(sf.errors.ArgumentError, match="to_array"):
            to_array(bad)
    with pytest.raises(sf.errors.ShapeError, match="rows of one length"):
        to_array([[1.0, 2.0], [3.0]])
    with pytest.raises(sf.errors.NumberError, match="cannot be combined"):
        to_array([np.ones(2), np.ones(3)])


def test_a_velocity_field_is_the_velocity_at_each_point():
    points = RNG.standard_normal((7, 3))
    field = sf.spatial.velocity_field(M, points)
    each = [sf.spatial.velocity_at(M, sf.spatial.Vector3.of(p)) for p in points]
    assert np.allclose(field, np.array(each, float), rtol=1e-15)
    many = sf.spatial.Motion.of(RNG.standard_normal((6, 4, 1)))
    assert sf.spatial.velocity_field(many, points).shape == (4, 7, 3)
    still = sf.spatial.velocity_field(sf.spatial.Motion.zero(), points)
    assert still.shape == (7, 3) and not still.any()


def test_the_field_of_a_moving_body_keeps_all_distances():
    points = RNG.standard_normal((20, 3))
    field = sf.spatial.velocity_field(M, points)
    gaps, rates = points[:, None] - points, field[:, None] - field
    assert np.allclose(np.sum(gaps * rates, axis=-1), 0, atol=1e-14)


def test_a_field_may_be_symbolic():
    turning = sf.spatial.Motion.of([0, 0, THETA, 0, 0, 0])
    field = sf.spatial.velocity_field(turning, [[1, 0, 0], [0, 2, 0]])
    assert field.tolist() == [[0, THETA, 0], [-2 * THETA, 0, 0]]


def test_points_are_positions():
    with pytest.raises(sf.errors.ShapeError, match="points"):
        sf.spatial.velocity_field(M, np.ones((4, 2)))
    with pytest.raises(sf.errors.ArgumentError, match="points"):
        sf.spatial.velocity_field(M, "here")
    with pytest.raises(sf.errors.ArgumentError, match="argument 'v'"):
        sf.spatial.velocity_field(F, np.ones((4, 3)))


def test_a_force_is_not_taken_for_a_motion():
    for call in (sf.spatial.classical_acceleration, sf.spatial.spatial_acceleration):
        with pytest.raises(sf.errors.ArgumentError, match="expected: a Motion"):
            call(F, M)
    with pytest.raises(
        sf.errors.ArgumentError, match="expected: an Inertia or an ArticulatedInertia"
    ):
        sf.spatial.inertia_rate(X, M)


@pytest.mark.parametrize("call", ["skew", "rotation", "steiner", "products"])
def test_vectors_and_numbers_of_small_functions_are_looked_at(call):
    good = {"skew": (), "rotation": (0.6, 0.8), "steiner": (), "products": (0.1, 0.2)}[call]
    first = (1.0,) if call == "steiner" else ()
    with pytest.raises(sf.errors.SixfoldError, match=call):
        getattr(sf.spatial, call)(*first, "no vector", *good)


def test_a_wrong_number_beside_a_good_vector_is_named():
    with pytest.raises(sf.errors.NumberError, match="'s'"):
        sf.spatial.rotation(sf.spatial.Vector3(0.0, 0.0, 1.0), 0.6, "x")


MODULES = ("body_motion", "solids", "inertia", "vectors", "transform")


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module):
    found = doctest.testmod(importlib.import_module(f"sixfold.spatial.{module}"))
    assert found.attempted and not found.failed


def test_every_public_name_says_what_it_takes_and_returns():
    for name in sf.spatial.PUBLIC:
        value = getattr(sf.spatial, name)
        assert value.__doc__, name
        if not isinstance(value, type):
            assert all(part in value.__doc__ for part in ("Args:", "Returns:", "Example:")), name


def test_number_texts():
    assert number_text(-0.0) == "0" and number_text(123456.0) == "1.2346e+05"
    assert number_latex(123456.0) == "1.2346 \\cdot 10^{5}"
    assert isinstance(D, JointMatrix) and isinstance(U, ForceSubspace)
