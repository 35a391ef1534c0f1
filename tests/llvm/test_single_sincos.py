"""Sine and cosine in single precision: within 0.85 units, the same bits on every device.

`python -m tests.long.single_sincos` looks at every number of single precision.
"""

import math

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.compiler.llvm.text.sincos import HALF_PI, Q1, Q2, Q3

UNITS = 0.85
"""Largest error: 0.844 among all numbers."""


def pairs(x, lanes=None):
    """Return sine and cosine of numbers."""
    program = trace(lambda x: [sf.math.sin(x[0]), sf.math.cos(x[0])], (1,))
    layout = Layout(((1,),), ((2,),), "float32")
    return build("sincos", program, layout, lanes=lanes)[0].ufunc(x[:, None])


def units(x, found):
    """Return the largest error in units of the last place of the true value."""
    worst = 0.0
    with gmpy2.context(precision=256):
        for angle, got in zip(x.tolist(), found.tolist(), strict=True):
            exact = gmpy2.mpfr(angle)
            for true, value in zip((gmpy2.sin(exact), gmpy2.cos(exact)), got, strict=True):
                unit = float(np.spacing(np.float32(abs(true)))) or 2.0**-149
                worst = max(worst, abs(float((gmpy2.mpfr(value) - true) / unit)))
    return worst


@pytest.mark.parametrize(
    ("least", "most"), [(1e-45, 1e-3), (1e-3, 0.8), (0.7, 9.5), (9.0, 1e3), (1e3, 1e5)]
)
def test_errors_are_below_0_85_units(least, most):
    bits = np.array([least, most], np.float32).view(np.int32)
    x = np.random.default_rng(0).integers(*bits, 4000, dtype=np.int32).view(np.float32)
    assert units(x, pairs(x)) < UNITS


def test_the_neighbours_of_all_quarter_turns_up_to_the_end_of_the_fast_way_are_right():
    near = np.array([float(k * HALF_PI) for k in range(1, 63_700)], np.float32)
    near = near[np.concatenate([np.arange(500), np.arange(500, len(near), 9)])]
    x = np.concatenate([near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(9))])
    assert units(x, pairs(x)) < UNITS


def test_beyond_the_fast_way_results_are_the_nearest_numbers():
    x = np.ldexp(np.random.default_rng(1).uniform(1, 2, 500), np.arange(500) % 110 + 17)
    x = np.concatenate([x, [100_000.01, 3.4028235e38]]).astype(np.float32)
    assert units(x, pairs(x)) < 0.5 + 1e-6


def test_the_number_of_lanes_changes_no_bit_and_huge_lanes_leave_the_others_alone():
    rng = np.random.default_rng(4)
    x = np.ldexp(rng.uniform(-1, 1, 1003), rng.integers(-40, 128, 1003)).astype(np.float32)
    x[::3] = rng.uniform(-4, 4, x[::3].shape)
    x[1::50] = np.nan
    one, *others = (pairs(x, lanes) for lanes in WIDTHS)
    assert np.isfinite(one).mean() > 0.9
    for other in others:
        assert np.array_equal(one, other, equal_nan=True)
    assert np.isnan(pairs(np.array([np.inf, -np.inf, np.nan], np.float32))).all()


def test_odd_and_even_symmetry_is_exact():
    x = np.random.default_rng(3).uniform(-2e5, 2e5, 1000).astype(np.float32)
    plus, minus = pairs(x), pairs(-x)
    assert np.array_equal(plus[:, 0], -minus[:, 0])
    assert np.array_equal(plus[:, 1], minus[:, 1])


def test_the_parts_of_a_quarter_turn_are_numbers_of_single_precision():
    for part in (Q1, Q2, Q3):
        assert float(np.float32(float(part))) == float(part) > 0
    assert 0 <= HALF_PI - Q1 - Q2 - Q3 < 2**-71
    assert math.isclose(float(Q1 + Q2 + Q3), math.pi / 2, rel_tol=1e-15)
