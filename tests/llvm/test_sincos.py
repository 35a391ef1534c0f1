"""Sine and cosine to one unit in the last place, for every finite argument."""

import math

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.compiler.llvm.text.sincos import HALF_PI


@pytest.fixture(scope="module")
def pair():
    program = trace(lambda x: [sf.math.sin(x[0]), sf.math.cos(x[0])], (1,))
    return build("sincos", program, Layout(((1,),), ((2,),)))[0]


def test_the_number_of_lanes_changes_no_bit():
    """The end of the fast way, and angles far beyond it, are among others in a block."""
    rng = np.random.default_rng(4)
    x = np.ldexp(rng.uniform(-1, 1, (1003, 2)), rng.integers(-40, 1024, (1003, 1)))
    x[::3] = rng.uniform(-4, 4, x[::3].shape)
    x[1::50] = [np.nan, 1.1e5]
    program = trace(
        lambda x: [f(a) for a in (*x, x[0] + x[1]) for f in (sf.math.sin, sf.math.cos)], (2,)
    )
    layout = Layout(((2,),), ((6,),))
    one, *others = (build("sincos", program, layout, lanes=n)[0].ufunc(x) for n in WIDTHS)
    assert np.isfinite(one[2]).all()
    for other in others:
        assert np.array_equal(one, other, equal_nan=True)


@pytest.fixture(scope="module")
def inner():
    """Sine and cosine of an argument that is not an input, which takes another way."""
    program = trace(lambda x: [sf.math.sin(x[0] * x[1]), sf.math.cos(x[0] * x[1])], (2,))
    return build("inner", program, Layout(((2,),), ((2,),)))[0]


def ulps(x, values):
    """Return the largest error of (sin, cos) in units of the last place of the true value."""
    worst = 0.0
    with gmpy2.context(precision=1400):
        for angle, (s, c) in zip(x.tolist(), values.tolist(), strict=True):
            for true, got in ((gmpy2.sin(gmpy2.mpfr(angle)), s), (gmpy2.cos(gmpy2.mpfr(angle)), c)):
                unit = math.ulp(float(true)) or 5e-324
                worst = max(worst, abs(float((gmpy2.mpfr(got) - true) / unit)))
    return worst


RANGES = {
    "one turn": (-math.pi, math.pi),
    "a thousand": (-1e3, 1e3),
    "the end of the fast way": (9e4, 1.1e5),
    "a billion": (-1e9, 1e9),
    "1e15": (1e14, 1e16),
}


@pytest.mark.parametrize("name", RANGES)
def test_errors_are_below_one_unit_in_the_last_place(pair, name):
    x = np.random.default_rng(1).uniform(*RANGES[name], 2000)
    assert ulps(x, pair(x[:, None])) < 1.0


def test_every_power_of_two_is_right(pair):
    x = np.ldexp(
        np.random.default_rng(2).uniform(1, 2, 2100), np.arange(-1070, 1030).clip(-1022, 1023)
    )
    assert ulps(x, pair(x[:, None])) < 1.0


def test_the_neighbours_of_multiples_of_a_quarter_turn_are_right(pair):
    near = np.array([float(k * HALF_PI) for k in range(1, 3000)])
    x = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, np.inf)])
    assert ulps(x, pair(x[:, None])) < 1.0


def test_the_hardest_double_is_right(pair):
    x = np.array([6381956970095103.0 * 2.0**797, 5.0e300, 1.7976931348623157e308])
    assert ulps(x, pair(x[:, None])) < 1.0


def test_huge_lanes_leave_their_neighbours_alone(pair):
    x = np.array([0.5, 1e22, -0.25, 1e300, 3.0, -1e10, 7.0])
    together = pair(x[:, None])
    alone = np.concatenate([pair(x[i : i + 1, None]) for i in range(len(x))])
    assert np.array_equal(together, alone)
    assert ulps(x, together) < 1.0


def test_arguments_that_are_not_inputs_are_reduced_the_same_way(pair, inner):
    x = np.array([0.5, 1e22, -0.25, 1e300, 3.0])
    assert np.array_equal(inner(np.column_stack([x, np.ones(5)])), pair(x[:, None]))


def test_odd_and_even_symmetry_is_exact(pair):
    x = np.random.default_rng(3).uniform(-1e6, 1e6, 1000)
    plus, minus = pair(x[:, None]), pair(-x[:, None])
    assert np.array_equal(plus[:, 0], -minus[:, 0])
    assert np.array_equal(plus[:, 1], minus[:, 1])


def test_what_is_not_finite_gives_nan(pair):
    assert np.isnan(pair(np.array([[np.nan], [np.inf], [-np.inf]]))).all()


def test_zero_and_the_smallest_numbers_are_exact(pair):
    x = np.array([0.0, 5e-324, 1e-310, 2.0**-30])
    assert np.array_equal(pair(x[:, None])[:3, 0], x[:3])
    assert np.array_equal(pair(x[:, None])[:3, 1], np.ones(3))
