"""NumPy's functions under `sf.compile` give what NumPy gives."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph.numpy_functions import COMPOSED, FUNCTIONS
from sixfold.scalar import RULES

ULP = np.finfo(float).eps
POSITIVE = {"log", "sqrt", "log2", "log10", "log1p"}
UNIT = {"arcsin", "arccos", "arctanh"}
SAMPLES = np.array([1e-9, 1e-3, 0.2, 0.5, 0.99])
UNARY = sorted({*FUNCTIONS, "abs", "absolute", "negative", "positive", "square", "reciprocal"})
BINARY = ("arctan2", "hypot", "maximum", "minimum", "add", "subtract", "multiply", "divide")


def samples(name):
    """Return numbers in the domain of a function."""
    if name == "arccosh":
        return np.array([1.0, 1.0 + 1e-9, 1.3, 2.0, 50.0])
    if name in POSITIVE:
        return np.array([1e-9, 0.3, 1.0, 2.5, 1e3])
    return np.concatenate([-SAMPLES, SAMPLES]) * (1.0 if name in UNIT else 3.0)


@pytest.mark.parametrize("name", [n for n in UNARY if n not in (*BINARY, "clip")])
def test_functions_of_one_argument(name):
    function, x = getattr(np, name), samples(name)
    kernel = sf.compile(lambda x: function(x), inputs={"x": len(x)})
    np.testing.assert_allclose(kernel(x), function(x), rtol=12 * ULP, atol=1e-16)
    if name == "sign":  # NumPy compares the element itself
        return
    one = sf.compile(lambda x: [function(x[0])], inputs={"x": 1})
    for number in x:
        assert one(np.array([number]))[0] == pytest.approx(function(number), rel=1e-14)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments(name):
    function = getattr(np, name)
    x, y = np.array([0.3, -0.7, 2.0, 1.0]), np.array([1.5, 0.2, -0.4, 1.0])
    sizes = {"x": 4, "y": 4}
    kernel = sf.compile(lambda x, y: function(x, y), inputs=sizes)
    np.testing.assert_allclose(kernel(x, y), function(x, y), rtol=4 * ULP)
    kernel = sf.compile(lambda x, y: function(2.0, x) + 0.0 * y, inputs=sizes)
    np.testing.assert_allclose(kernel(x, y), function(2.0, x), rtol=4 * ULP)
    kernel = sf.compile(lambda x, y: function(x, [1.0, 2.0, 3.0, 0.5]) + 0.0 * y, inputs=sizes)
    np.testing.assert_allclose(kernel(x, y), function(x, [1.0, 2.0, 3.0, 0.5]), rtol=4 * ULP)
    kernel = sf.compile(lambda x, y: function(x[:2, None], y), inputs=sizes)
    np.testing.assert_allclose(kernel(x, y), function(x[:2, None], y), rtol=4 * ULP)


def test_every_named_operation_of_the_table_is_there():
    named = {row.numpy for row in RULES.values() if row.numpy}
    operators = {"add", "subtract", "multiply", "divide", "negative", "absolute"}
    assert named <= {*FUNCTIONS, *operators}
    assert all(isinstance(getattr(np, name), np.ufunc) for name in FUNCTIONS if name != "clip")
    assert not named & set(COMPOSED)


def test_values_are_kept_within_bounds():
    kernel = sf.compile(lambda x: np.clip(2.0 * x, -1.0, 1.5), inputs={"x": 5})
    x = np.array([-3.0, -0.2, 0.0, 0.6, np.nan])
    np.testing.assert_array_equal(kernel(x), np.clip(2.0 * x, -1.0, 1.5))


def test_arrays_of_traced_numbers_do_what_arrays_do():
    A = np.arange(12.0).reshape(3, 4)
    kernel = sf.compile(lambda x: function_parts(x, A), inputs={"x": 4})
    x = np.array([0.3, -1.2, 0.0, 2.0])
    for found, wanted in zip(kernel(x), function_parts(x, A), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


def function_parts(x, A):
    """Return what slices, sums, products and norms of arrays make."""
    y = np.concatenate([x[::-1], np.sign(x)])
    y[0] += 1.0
    y *= 2.0
    return y, np.stack([x, x]).T @ A[:2], np.cross(x[:3], x[1:]), A @ x, [np.linalg.norm(x)]


def test_derivatives_go_through_composed_functions():
    kernel = sf.compile(lambda x: np.expm1(x) + np.arcsinh(x), inputs={"x": 1}, derivative="x")
    for number in (-0.7, 0.3, 2.0):
        right = np.exp(number) + 1.0 / np.sqrt(number * number + 1.0)
        assert kernel(np.array([number]))[0, 0] == pytest.approx(right, rel=1e-12)


def test_choosing_by_value_is_still_refused():
    for function in (lambda x: np.where(x > 0.0, x, 0.0), lambda x: x.max(), lambda x: np.floor(x)):
        with pytest.raises(TypeError, match="if_positive"):
            sf.compile(function, inputs={"x": 2})


def test_if_positive_chooses_for_each_element_of_an_array():
    def function(x, y):
        larger = sf.math.if_positive(x - y, x, y)
        return larger + sf.math.atan2(x, y[0]), sf.math.if_positive(
            x[0], np.array([y[0], y[1], 1.0]), 0.0
        )

    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 40, 3))
    first, second = sf.compile(function, inputs={"x": 3, "y": 3})(x, y)
    np.testing.assert_allclose(
        first, np.maximum(x, y) + np.arctan2(x, y[:, :1]), rtol=1e-15, atol=1e-15
    )
    chosen = np.column_stack([y[:, :2], np.ones(40)])
    np.testing.assert_array_equal(second, np.where(x[:, :1] > 0, chosen, 0.0))


def test_if_positive_of_a_matrix_is_one():
    relu = sf.compile(lambda x: sf.math.if_positive(x, x, 0.0), inputs={"x": (2, 3)})
    x = np.random.default_rng(6).normal(size=(7, 2, 3))
    np.testing.assert_array_equal(relu(x), np.maximum(x, 0.0))
