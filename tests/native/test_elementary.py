"""Exponential, logarithm and hyperbolic tangent to one unit in the last place."""

import math

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.native import Layout, build, trace

FUNCTIONS = {
    "exp": (sf.exp, gmpy2.exp, [(-700, 700), (-1, 1), (-1e-3, 1e-3), (-745, -708)]),
    "log": (sf.log, gmpy2.log, [(1e-300, 1e300), (0.5, 2), (0.999, 1.001), (1e-320, 1e-307)]),
    "tanh": (sf.tanh, gmpy2.tanh, [(-25, 25), (-1, 1), (-1e-3, 1e-3), (0.1, 0.6)]),
}


def kernel(name, lanes=None):
    program = trace(lambda x: [FUNCTIONS[name][0](x[0])], (1,))
    return build(name, program, Layout(((1,),), (1,)), lanes=lanes)[0]


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
    results = [kernel(name, lanes)(x) for lanes in (1, 4, 8)]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


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
