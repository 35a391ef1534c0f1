"""Exponential, logarithm and hyperbolic tangent to one unit in the last place."""

import math

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import SUPPORTED, Layout, build
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.scalar import RULES

FUNCTIONS = {
    "exp": (sf.math.exp, gmpy2.exp, [(-700, 700), (-1, 1), (-1e-3, 1e-3), (-745, -708)]),
    "log": (sf.math.log, gmpy2.log, [(1e-300, 1e300), (0.5, 2), (0.999, 1.001), (1e-320, 1e-307)]),
    "tanh": (sf.math.tanh, gmpy2.tanh, [(-25, 25), (-1, 1), (-1e-3, 1e-3), (0.1, 0.6)]),
}


def kernel(name, lanes=None):
    program = trace(lambda x: [FUNCTIONS[name][0](x[0])], (1,))
    return build(name, program, Layout(((1,),), ((1,),)), lanes=lanes)[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_below_one_unit_in_the_last_place(name):
    _, true, ranges = FUNCTIONS[name]
    k = kernel(name)
    for low, high in ranges:
        rng = np.random.default_rng(1)
        x = rng.uniform(low, high, 3000)
        if high / max(low, 1e-320) > 1e10 and low > 0:
            x = np.exp(rng.uniform(math.log(low), math.log(high), 3000))
        worst = 0.0
        with gmpy2.context(precision=200):
            for at, got in zip(x.tolist(), k(x[:, None])[:, 0].tolist(), strict=True):
                exact = true(gmpy2.mpfr(at))
                unit = math.ulp(float(exact))
                worst = max(worst, abs(float((gmpy2.mpfr(got) - exact) / unit)))
        assert worst < 1.0, (name, low, high, worst)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_number_of_lanes_changes_no_bit(name):
    x = np.random.default_rng(2).uniform(0.01, 20, (37, 1))
    results = [kernel(name, lanes)(x) for lanes in WIDTHS]
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_special_values_are_as_in_numpy():
    inf, nan = math.inf, math.nan
    with np.errstate(all="ignore"):
        for name, function, x in (
            ("exp", np.exp, [0.0, -0.0, inf, -inf, nan, 1e300, -1e300, 710.0, -746.0, 709.7]),
            ("log", np.log, [1.0, 0.0, -0.0, inf, -1.0, -inf, nan, 5e-324]),
            ("tanh", np.tanh, [0.0, inf, -inf, nan, 1e300, -1e300, 5e-324, 1e-9, -30.0]),
        ):
            values = np.array(x)
            assert np.allclose(
                kernel(name)(values[:, None])[:, 0],
                function(values),
                rtol=3e-16,
                atol=0,
                equal_nan=True,
            ), name


def test_smooth_friction_runs_as_machine_code():
    builder = sf.ModelBuilder(friction_speed=0.1)
    rod = sf.Inertia.from_mass(1.0, (0, 0, -0.5), (0.1, 0.1, 0.0))
    builder.add_body("arm", joint=sf.Revolute("y"), inertia=rod, friction=2.0)
    model = builder.build()
    q, v = sf.random_state(model, 50, seed=1)
    fast, plain = (sf.inverse_dynamics(model, q, v, v, backend=b) for b in ("native", "numpy"))
    assert np.allclose(fast, plain, rtol=1e-14, atol=1e-14)
    assert "tanh" in sf.compile(sf.inverse_dynamics, model).operations


def angle_kernel(lanes=None):
    program = trace(lambda y, x: [sf.math.atan2(y[0], x[0])], (1, 1))
    return build("atan2", program, Layout(((1,), (1,)), ((1,),)), lanes=lanes)[0]


def test_angles_are_right_to_one_unit_in_the_last_place():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(6000, 2))
    points[:2000] *= np.exp(rng.uniform(-600, 600, (2000, 2)))
    points[2000:4000, 0] *= np.exp(rng.uniform(-30, 0, 2000))
    points[4000:4500] *= 1e308 / np.abs(points[4000:4500]).max()
    points[4500:5000] *= 1e-310
    y, x = points.T
    got = angle_kernel()(y[:, None], x[:, None])[:, 0]
    worst = 0.0
    with gmpy2.context(precision=1200):
        for a, b, angle in zip(y.tolist(), x.tolist(), got.tolist(), strict=True):
            exact = gmpy2.atan2(gmpy2.mpfr(a), gmpy2.mpfr(b))
            worst = max(worst, abs(float((gmpy2.mpfr(angle) - exact) / math.ulp(float(exact)))))
    assert worst < 1.0


def test_angles_of_special_points_are_as_in_numpy():
    ends = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1.7e308])
    y, x = (grid.reshape(-1, 1) for grid in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        expected = np.arctan2(y, x)
    got = angle_kernel()(y, x)
    assert np.allclose(got, expected, rtol=3e-16, atol=0, equal_nan=True)
    real = ~np.isnan(expected)
    assert np.array_equal(np.signbit(got[real]), np.signbit(expected[real]))
    assert all(np.array_equal(angle_kernel(n)(y, x), got, equal_nan=True) for n in WIDTHS)


def test_every_operation_of_the_closed_list_has_machine_code():
    assert {op.value for op in RULES} <= SUPPORTED


def test_differences_of_rotations_run_as_machine_code():
    model = sf.load("floating_link")
    q, _ = sf.random_state(model, 40, seed=4)
    fast, plain = (sf.difference(model, q, q[::-1], backend=b) for b in ("native", "numpy"))
    assert np.allclose(fast, plain, rtol=1e-13, atol=1e-13)
    assert np.allclose(sf.integrate(model, q, fast)[:, :3], q[::-1, :3], atol=1e-12)
