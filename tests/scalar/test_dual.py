"""Derivatives: every rule against a difference quotient and every operator against SymPy."""

import math

import gmpy2
import numpy as np
import pytest
import sympy

from sixfold.scalar import (
    RULES,
    ZERO,
    Dual,
    Op,
    absolute,
    apply,
    atan2,
    cos,
    differentiate,
    exp,
    if_positive,
    log,
    plain,
    sign,
    sin,
    sqrt,
    tanh,
)

EPS = np.finfo(float).eps

POINTS = {
    Op.ADD: [(1.3, -0.4)],
    Op.SUB: [(1.3, -0.4)],
    Op.MUL: [(1.3, -0.4)],
    Op.DIV: [(1.3, -0.4), (-2.0, 0.7)],
    Op.NEG: [(1.3,)],
    Op.SQRT: [(0.3,), (7.0,)],
    Op.SIN: [(0.3,), (-2.2,)],
    Op.COS: [(0.3,), (-2.2,)],
    Op.EXP: [(0.3,), (-2.2,)],
    Op.LOG: [(0.3,), (5.0,)],
    Op.TANH: [(0.3,), (-2.2,)],
    Op.ATAN2: [(0.3, 1.2), (0.3, -1.2), (-0.3, -1.2), (-0.3, 1.2), (2.0, 0.1)],
    Op.ABS: [(0.3,), (-2.2,)],
    Op.SIGN: [(0.3,), (-2.2,)],
    Op.IF_POSITIVE: [(0.3, 2.0, 5.0), (-0.3, 2.0, 5.0)],
}
ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG)


@pytest.mark.parametrize("op", Op, ids=lambda op: op.value)
def test_every_derivative_rule_matches_a_difference_quotient(op):
    with gmpy2.context(gmpy2.get_context(), precision=240):
        step = gmpy2.mpfr(2) ** -70
        value = RULES[op].value if op in ARITHMETIC else lambda *x: apply(op, *x)
        for point in POINTS[op]:
            at = [gmpy2.mpfr(x) for x in point]
            for k, partial in enumerate(RULES[op].partials(*at)):
                ahead, behind = list(at), list(at)
                ahead[k], behind[k] = at[k] + step, at[k] - step
                quotient = (value(*ahead) - value(*behind)) / (2 * step)
                # truncation is of the order step^2 = 1e-42
                assert abs(plain(partial) - quotient) <= 1e-40 * (1 + abs(quotient))


EXPRESSIONS = {
    "x + constant": lambda x: x + 3,
    "constant + x": lambda x: 3 + x,
    "x + x": lambda x: x + x,
    "x - constant": lambda x: x - 3,
    "constant - x": lambda x: 3 - x,
    "x - f(x)": lambda x: x - sin(x),
    "x times constant": lambda x: x * 3,
    "constant times x": lambda x: 3 * x,
    "x f(x)": lambda x: x * sin(x),
    "x over constant": lambda x: x / 4,
    "constant over x": lambda x: 3 / x,
    "x over f(x)": lambda x: x / exp(x),
    "-f(x)": lambda x: -cos(x),
    "x^0": lambda x: x**0,
    "x^1": lambda x: x**1,
    "x^3": lambda x: x**3,
    "x^-2": lambda x: x**-2,
    "sqrt of a sum": lambda x: sqrt(1 + x * x),
    "log of a product": lambda x: log(x * exp(x)),
    "tanh of a ratio": lambda x: tanh(x / (1 + x)),
    "atan2 of both": lambda x: atan2(sin(x), 1 + x * x),
    "atan2 with a constant": lambda x: atan2(2, x),
    "nested": lambda x: sin(exp(cos(x) * x)) / (2 + sin(x)),
}
any_expression = pytest.mark.parametrize("f", EXPRESSIONS.values(), ids=EXPRESSIONS.keys())


def derivative(f, x):
    """Return f'(x) by dual numbers."""
    return differentiate(lambda q: (f(q[0]),), (x,), (1.0,))[1][0]


@any_expression
def test_first_derivatives_of_dual_numbers_are_those_of_sympy(f):
    s = sympy.Symbol("s", positive=True)
    want = float(sympy.diff(f(s), s).subs(s, sympy.Rational(3, 4)).evalf(30))
    (value,), (found,) = differentiate(lambda q: (f(q[0]),), (0.75,), (1.0,))
    assert abs(value - float(f(0.75))) <= 4 * EPS * abs(value)
    assert abs(plain(found) - want) <= 16 * EPS * (1 + abs(want))


@any_expression
def test_nested_dual_numbers_give_second_and_third_derivatives(f):
    s = sympy.Symbol("s", positive=True)
    at = sympy.Rational(3, 4)
    second = float(sympy.diff(f(s), s, 2).subs(s, at).evalf(30))
    third = float(sympy.diff(f(s), s, 3).subs(s, at).evalf(30))
    found = plain(derivative(lambda x: derivative(f, x), 0.75))
    assert abs(found - second) <= 64 * EPS * (1 + abs(second))
    found = plain(derivative(lambda x: derivative(lambda y: derivative(f, y), x), 0.75))
    assert abs(found - third) <= 256 * EPS * (1 + abs(third))


def test_an_inner_derivative_takes_the_outer_variable_as_a_constant():
    # d/dx [x d/dy (x + y)] = 1; confusing the two perturbations gives 2
    assert derivative(lambda x: x * derivative(lambda y: x + y, 1.0), 3.0) == 1.0


def test_an_inner_derivative_may_depend_on_the_outer_variable():
    # d/dx [x d/dy (x y)] = 2 x
    assert derivative(lambda x: x * derivative(lambda y: x * y, 1.0), 3.0) == 6.0


def test_mixed_derivatives_do_not_depend_on_their_order():
    def f(x, y):
        return sin(x * y) / (1 + y)

    one = derivative(lambda x: derivative(lambda y: f(x, y), 0.6), 0.8)
    two = derivative(lambda y: derivative(lambda x: f(x, y), 0.8), 0.6)
    x, y = sympy.symbols("x y")
    point = {x: sympy.Float(0.8, 40), y: sympy.Float(0.6, 40)}
    want = float(sympy.diff(f(x, y), x, y).subs(point).evalf(30))
    assert abs(one - want) <= 8 * EPS
    assert abs(two - want) <= 8 * EPS


def test_a_number_of_a_lower_level_is_a_constant_on_either_side():
    inner, outer = Dual(2.0, 1.0, 0), Dual(5.0, 1.0, 1)
    for product in (inner * outer, outer * inner):
        assert product.level == 1
        # the value 5 x at x = 2 and its rate in the outer variable, x
        assert (product.value.value, product.value.dot) == (10.0, 5.0)
        assert (product.dot.value, product.dot.dot) == (2.0, 1.0)


def test_differentiate_returns_values_and_rates_along_a_direction():
    values, rates = differentiate(lambda q: (q[0] * q[1], q[0] + 3.0, 7.0), (2.0, 5.0), (1.0, -1.0))
    assert values == (10.0, 5.0, 7.0)
    assert rates == (3.0, 1.0, ZERO)
    assert rates[2] is ZERO


def test_differentiate_needs_one_rate_for_each_number():
    with pytest.raises(ValueError, match="zip"):
        differentiate(lambda q: q, (1.0, 2.0), (1.0,))


@pytest.mark.parametrize("function", [sin, cos, exp, tanh, sqrt, log, absolute])
def test_an_exactly_zero_rate_stays_exact(function):
    assert function(Dual(0.5, ZERO)).dot is ZERO


def test_a_dual_number_times_an_exact_zero_is_the_exact_zero():
    assert Dual(2.0, 1.0) * ZERO is ZERO
    assert ZERO * Dual(2.0, 1.0) is ZERO


def test_the_zeroth_power_is_one_even_at_zero():
    for x in (0.0, 2.0):
        found = Dual(x, 1.0) ** 0
        assert (found.value, found.dot) == (1.0, ZERO)


@any_expression
def test_dual_numbers_over_a_batch_differentiate_each_row(f):
    batch = np.array([0.4, 0.75, 2.0])
    together = np.broadcast_to(plain(derivative(f, batch)), batch.shape)
    alone = np.array([float(derivative(f, x)) for x in batch])
    assert np.all(np.abs(together - alone) <= 8 * EPS * (1 + np.abs(alone)))


@any_expression
def test_dual_numbers_over_symbols_give_the_symbolic_derivative(f):
    s = sympy.Symbol("s", positive=True)
    difference = sympy.sympify(derivative(f, s)) - sympy.diff(f(s), s)
    # one rational point at 50 digits decides equality of these analytic expressions
    assert abs(difference.subs(s, sympy.Rational(3, 4)).evalf(50)) <= 1e-15


@any_expression
def test_dual_numbers_over_mpfr_keep_its_precision(f):
    s = sympy.Symbol("s", positive=True)
    want = sympy.diff(f(s), s).subs(s, sympy.Rational(3, 4)).evalf(60)
    with gmpy2.context(gmpy2.get_context(), precision=180):
        found = gmpy2.mpfr(plain(derivative(f, gmpy2.mpfr("0.75"))))
        assert abs(found - gmpy2.mpfr(str(want))) <= 1e-50 * (1 + abs(found))


@pytest.mark.parametrize(("x", "slope"), [(2.0, 1.0), (-2.0, -1.0), (0.0, 0.0)])
def test_the_slope_of_the_absolute_value_is_the_sign(x, slope):
    assert absolute(Dual(x, 1.0)).dot == slope
    assert sign(Dual(x, 1.0)).dot is ZERO


def test_if_positive_of_a_dual_number_follows_the_chosen_branch():
    for x, slope in ((2.0, 4.0), (-2.0, 3.0)):
        found = derivative(lambda y: if_positive(y, y * y, 3 * y), x)
        assert found == slope


def test_if_positive_of_a_dual_nan_is_nan_with_nan_rate():
    found = if_positive(Dual(math.nan, 1.0), Dual(1.0, 1.0), Dual(2.0, 1.0))
    assert math.isnan(found.value) and math.isnan(found.dot)


def test_arrays_leave_arithmetic_to_the_dual_number():
    batch = np.array([1.0, 2.0])
    for found in (batch * Dual(3.0, 1.0), Dual(3.0, 1.0) * batch):
        assert isinstance(found, Dual)
        np.testing.assert_array_equal(found.value, [3.0, 6.0])
        np.testing.assert_array_equal(found.dot, [1.0, 2.0])


def test_a_dual_number_prints_its_value_and_its_rate():
    assert repr(Dual(2.0, ZERO)) == "Dual(2.0, 0)"
