"""A fixed number of rounds on every kind of number: the same as a loop."""

import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.scalar import Dual, repeat, sin


def root(a, rounds=7):
    """Return the square root by Newton's iteration."""
    return repeat(rounds, lambda x: 0.5 * (x + a / x), a)


def test_on_plain_numbers_it_is_a_loop():
    x = 2.0
    for _ in range(7):
        x = 0.5 * (x + 2.0 / x)
    assert root(2.0) == x
    assert abs(x - math.sqrt(2.0)) < 3e-16


def test_no_rounds_return_what_is_carried():
    given = [1.0, np.ones(3)]
    assert repeat(0, lambda c: [None, None], given) is given


def test_numpy_arrays_and_numpy_integers():
    a = np.linspace(0.5, 9.0, 20)
    np.testing.assert_allclose(root(a, np.int64(8)), np.sqrt(a), rtol=1e-15)


def test_mpfr_numbers_keep_their_precision():
    gmpy2 = pytest.importorskip("gmpy2")
    with gmpy2.context(gmpy2.get_context(), precision=200):
        found = root(gmpy2.mpfr(2), 9)
        assert abs(found * found - 2) < gmpy2.mpfr(2) ** -197


def test_sympy_expressions_stay_exact():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    found = repeat(3, lambda c: (c[1], c[0] + c[1] * x), (sympy.Integer(0), sympy.Integer(1)))
    assert sympy.expand(found[0]) == x**2 + 1
    assert sympy.expand(found[1]) == x**3 + 2 * x


def test_dual_numbers_carry_their_rates():
    found = root(Dual(2.0, 1.0), 9)
    assert abs(found.value - math.sqrt(2.0)) < 1e-15
    assert abs(found.dot - 0.5 / math.sqrt(2.0)) < 1e-15


def test_rates_that_come_in_with_the_first_round():
    a = Dual(0.3, 1.0)
    found = repeat(60, lambda c: (0.5 * sin(c[0]) + a, c[1] * 0.5 + c[0]), (0.0, 1.0))
    x = found[0].value
    assert isinstance(found, tuple)
    assert abs(0.5 * math.sin(x) + 0.3 - x) < 1e-15
    assert abs(found[0].dot - 1 / (1 - 0.5 * math.cos(x))) < 1e-14
    assert abs(found[1].dot - 2 * found[0].dot) < 1e-13


def test_dual_numbers_in_arrays():
    level = 3
    x = np.empty(2, object)
    x[:] = [Dual(2.0, 1.0, level), Dual(3.0, 0.0, level)]
    found = repeat(4, lambda c: np.array([c[0] * c[0], c[1] * c[0]], object), x)
    assert found[0].value == 2.0**16 and found[0].dot == 16 * 2.0**15


@pytest.mark.parametrize("rounds", [-1, 2.0, True, "3", None])
def test_rounds_must_be_a_whole_number(rounds):
    with pytest.raises(sf.errors.ArgumentError, match="rounds"):
        repeat(rounds, lambda x: x, 1.0)


def test_the_step_must_be_a_function():
    with pytest.raises(sf.errors.ArgumentError, match="step"):
        repeat(3, 4.0, 1.0)


def test_too_many_rounds_are_refused():
    with pytest.raises(sf.errors.TooLargeError, match="rounds"):
        repeat(10**7, lambda x: x, 1.0)


@pytest.mark.parametrize("carried", [None, "1.0", {"x": 1.0}, [1.0, None], [[True]]])
def test_what_is_carried_must_be_numbers(carried):
    with pytest.raises(sf.errors.ArgumentError, match="carried"):
        repeat(3, lambda c: c, carried)


def test_a_step_that_fails_is_named_with_its_round():
    def step(x):
        return x / (x - 2.0) if x == 2.0 else x + 1.0

    with pytest.raises(sf.errors.ArgumentError, match=r"round 3(.|\n)*ZeroDivisionError") as caught:
        repeat(5, step, 0.0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
