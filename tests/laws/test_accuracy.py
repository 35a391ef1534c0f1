"""How many digits are right: every formulation against 256-bit arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold.quantities import readings
from sixfold.scalar import plain
from sixfold.spatial import Inertia, Transform
from tests.dynamics.support import EPS, numbers
from tests.laws.support import MODELS
from tests.public_names import find
from tests.surveys.random_trees import (
    BARS,
    FD,
    ID,
    LARGEST,
    MASS,
    OTHER,
    backward_error,
    draw,
    force_error,
    measure,
    reference,
)

TREES = 60


@pytest.fixture(scope="module")
def measured():
    """Errors of every formulation on 60 trees of 1 to 60 bodies, numbers 100000 and on."""
    found = []
    sizes = set()
    for k in range(100_000, 100_000 + TREES):
        sample = draw(k)
        sizes.add(sample.model.nb)
        found += measure(sample, sample.model.name, compiled=sample.model.nb <= 6)
    assert min(sizes) <= 5
    assert max(sizes) > LARGEST - 5
    return found


def worst(measured, quantity, formulation):
    errors = [m for m in measured if (m.quantity, m.formulation) == (quantity, formulation)]
    assert errors, f"no tree was measured for {quantity} by {formulation}"
    return max(errors, key=lambda m: m.error)


@pytest.mark.parametrize("formulation", ["default", "rnea", "joint points", "reduced"])
def test_inverse_dynamics_is_right_to_fifteen_digits(measured, formulation):
    assert worst(measured, ID, formulation).error <= BARS[ID] == 4e-15


@pytest.mark.parametrize("formulation", ["operators", "newton_euler", "inertial", "lagrange"])
def test_every_formulation_of_inverse_dynamics_agrees_with_the_reference(measured, formulation):
    """On the scale of the terms M a, V and G, which may cancel in their sum."""
    assert worst(measured, OTHER, formulation).error <= BARS[OTHER] == 4e-15


@pytest.mark.parametrize("formulation", ["default", "crba", "reduced"])
def test_mass_matrix_is_right_to_fifteen_digits(measured, formulation):
    assert worst(measured, MASS, formulation).error <= BARS[MASS] == 4e-15


@pytest.mark.parametrize(
    "method",
    ["default", "aba", "operators", "crba", "operators_dense", "aba, reduced", "crba, reduced"],
)
def test_forward_dynamics_is_the_exact_answer_to_forces_a_few_roundings_away(measured, method):
    assert worst(measured, FD, method).error <= BARS[FD] == 4e-16


def test_the_measure_notices_an_error_in_the_fifteenth_digit():
    sample = draw(100_003)
    found = {(m.quantity, m.formulation): m for m in measure(sample, "exact", compiled=False)}
    spoiled = sample._replace(a=[x * (1 + 1e-13) for x in sample.a])
    with gmpy2.context(precision=256):
        ref = reference(sample)
        off = readings.inverse_dynamics(
            sample.model, sample.model.tree, sample.q, sample.v, spoiled.a
        )
        assert force_error(ref, off)[0] > BARS[ID]
        acc = readings.forward_dynamics(
            sample.model, sample.model.tree, sample.q, sample.v, sample.tau
        )
        assert backward_error(sample, ref, acc)[0] == found[FD, "aba"].error
        assert backward_error(sample, ref, [x * (1 + 1e-13) for x in acc])[0] > BARS[FD]


# -- the same functions on every kind of number

QUANTITIES = {
    "inverse_dynamics": (readings.inverse_dynamics, "qva"),
    "forward_dynamics": (readings.forward_dynamics, "qva"),
    "mass_matrix": (readings.mass_matrix, "q"),
    "inverse_mass_matrix": (readings.inverse_mass_matrix, "q"),
    "kinetic_energy": (readings.kinetic_energy, "qv"),
    "potential_energy": (readings.potential_energy, "q"),
    "momentum": (readings.momentum, "qv"),
    "center_of_mass": (readings.center_of_mass, "q"),
    "body_poses": (readings.body_poses, "q"),
}


@pytest.mark.parametrize(
    "name", ["tree6", "puma560", "rolling_ball", "floating_link", "tree 6 bodies"]
)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_floats_arrays_and_mpfr_run_the_same_functions(name, quantity):
    model = MODELS[name]
    core, letters = QUANTITIES[quantity]
    q, v, a = numbers(model)
    given = [{"q": q, "v": v, "a": a}[letter] for letter in letters]
    by_floats = [float(x) for x in core(model, model.tree, *given)]
    public = find(quantity)(model, *map(np.array, given))
    with gmpy2.context(precision=256):
        tree = model.map(gmpy2.mpfr)
        precise = [[gmpy2.mpfr(x) for x in values] for values in given]
        expected = [float(plain(x)) for x in core(model, tree, *precise)]
        scale = max(map(abs, expected))
        amplified = 1.0
        if quantity in ("forward_dynamics", "inverse_mass_matrix"):
            amplified = float(np.linalg.cond(sf.mass_matrix(model, np.array(q))))
    bar = 128 * EPS * amplified * scale
    np.testing.assert_allclose(by_floats, expected, rtol=0, atol=bar)
    np.testing.assert_allclose(public.ravel(), expected, rtol=0, atol=bar)


@pytest.mark.parametrize("name", ["pendulum", "cart_pendulum", "double_pendulum", "rolling_ball"])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_sympy_runs_the_same_functions(name, quantity):
    model = MODELS[name]
    q, v, a = numbers(model)
    core, letters = QUANTITIES[quantity]
    symbols = {
        "q": sp.symbols(f"q:{model.nq}"),
        "v": sp.symbols(f"v:{model.nv}"),
        "a": sp.symbols(f"a:{model.nv}"),
    }
    given = [np.array(symbols[letter], object) for letter in letters]
    expressions = find(quantity)(model, *given)
    at = dict(zip(symbols["q"], q, strict=True))
    at |= dict(zip(symbols["v"], v, strict=True)) | dict(zip(symbols["a"], a, strict=True))
    values = [float(sp.sympify(x).subs(at)) for x in expressions.ravel()]
    expected = core(model, model.tree, *({"q": q, "v": v, "a": a}[k] for k in letters))
    scale = max(abs(float(x)) for x in expected)
    np.testing.assert_allclose(values, [float(x) for x in expected], rtol=0, atol=1e-13 * scale)


# -- far from the origin


def displaced(model, offset):
    """The same model with its base moved."""

    def moved(body):
        if body.parent >= 0:
            return body
        X = body.placement
        return replace(body, placement=Transform(X.E, X.r + Transform.translation(offset).r))

    return replace(model, bodies=tuple(moved(body) for body in model.bodies))


FAR = (5_130e3, -4_350e3, 5_015e3)  # 8,390 km


@pytest.mark.parametrize("name", ["tree10", "tree6", "puma560", "tree 12 bodies"])
@pytest.mark.parametrize("method", ["aba", "crba", "operators", "operators_dense"])
def test_moving_the_fixed_base_a_world_away_does_not_change_accelerations(name, method):
    model = MODELS[name]
    assert 8_380e3 < np.linalg.norm(FAR) < 8_400e3
    far = displaced(model, FAR)
    q, v, tau = numbers(model)
    near_acc = readings.forward_dynamics(model, model.tree, q, v, tau, method=method)
    far_acc = readings.forward_dynamics(far, far.tree, q, v, tau, method=method)
    scale = max(map(abs, near_acc))
    assert max(abs(a - b) for a, b in zip(near_acc, far_acc, strict=True)) <= 1e-14 * scale
    # the world did move
    first = sf.body_poses(far, np.array(q))[0, :3, 3] - sf.body_poses(model, np.array(q))[0, :3, 3]
    np.testing.assert_allclose(first, FAR, rtol=1e-12)


# -- extreme inertia ratios


def coaxial(first, second):
    builder = sf.ModelBuilder("coaxial")
    for name, parent, Izz in (("near", None, first), ("far", "near", second)):
        I = Inertia.from_mass(0.0, rotational=(0.0, 0.0, Izz))
        builder.add_body(name, parent=parent, joint=sf.Revolute("z"), inertia=I)
    return builder.build()


@pytest.mark.parametrize("method", ["aba", "operators"])
def test_coaxial_pair_keeps_its_digits_for_every_inertia_ratio(method):
    rng = np.random.default_rng(15)
    ratios = 10.0 ** rng.uniform(0, 15, 1000)
    worst = 0.0
    for R, (unit, t1, t2) in zip(
        ratios.tolist(), rng.uniform(0.5, 2, (1000, 3)).tolist(), strict=True
    ):
        # the heavy body may be the near or the far one
        a, b = (R * unit, unit) if rng.random() < 0.5 else (unit, R * unit)
        model = coaxial(a, b)
        acc = readings.forward_dynamics(
            model, model.tree, [0.4, -1.3], [0.7, 0.2], [t1, t2], method=method
        )
        # H = [[a + b, b], [b, b]]: the near body takes (t1 - t2) / a
        exact1 = (Fraction(t1) - Fraction(t2)) / Fraction(a)
        exact2 = Fraction(t2) / Fraction(b) - exact1
        scale = max(abs(exact1), abs(exact2))
        for x, exact in zip(acc, (exact1, exact2), strict=True):
            worst = max(worst, float(abs(Fraction(x) - exact) / scale))
    assert worst <= 1e-15


@pytest.mark.parametrize("method", ["crba", "operators_dense"])
def test_factorising_the_mass_matrix_loses_the_inertia_ratio_that_aba_keeps(method):
    rng = np.random.default_rng(2)
    lost = kept = 0.0
    for a, b in zip(
        rng.uniform(0.5, 2, 20).tolist(), rng.uniform(1e13, 1e14, 20).tolist(), strict=True
    ):
        model = coaxial(a, b)
        state = [0.4, -1.3], [0.7, 0.2], [1.1, 0.3]
        exact = (Fraction(1.1) - Fraction(0.3)) / Fraction(a)
        factorised = readings.forward_dynamics(model, model.tree, *state, method=method)
        articulated = readings.forward_dynamics(model, model.tree, *state)
        lost = max(lost, float(abs(Fraction(factorised[0]) / exact - 1)))
        kept = max(kept, float(abs(Fraction(articulated[0]) / exact - 1)))
    assert kept <= 2 * EPS
    assert lost > 1e-4  # inertia ratio x eps
