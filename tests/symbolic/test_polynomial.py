"""The polynomial that algorithms take for a number, and its shorthand."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book import lagrange
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.newton_euler import newton_euler
from sixfold.errors import NotApplicableError, NumberError, OptionError, UnknownNameError
from sixfold.scalar import Zero
from sixfold.spatial import Column, Force
from sixfold.symbolic.forms import values_at
from sixfold.symbolic.polynomial import POSITION, Polynomial, Ring, symbol
from sixfold.symbolic.shorthand import sum_text
from sixfold.symbolic.simplify import nest
from sixfold.symbolic.symbolic_model import align_axes, symbolic_model
from tests.symbolic.shorthand_reader import read

rng = np.random.default_rng(0)


def ring_of(n=3):
    ring = Ring()
    return ring, [symbol(ring, ring.variable(f"q{k + 1}", POSITION)) for k in range(n)]


def named(name, **options):
    given = {"symbols": True, "inertias": "centre", "names": {}, "angle_tolerance": 1e-12}
    return symbolic_model(sf.load(name), **{**given, **options})


def value(form, q):
    found = values_at(form.ring, np.atleast_2d(q), np.atleast_2d(q))
    return float(np.ravel(form.evaluate(found.__getitem__))[0])


def polynomial(s, x):
    return x if isinstance(x, Polynomial) else Polynomial(s.ring, {}) + x


# -- arithmetic


def test_the_square_of_a_cosine_is_one_minus_the_square_of_the_sine():
    _, (q, *_) = ring_of()
    c, s = sf.math.cos(q), sf.math.sin(q)
    assert c * c + s * s == 1
    assert c**3 * s == c * s - c * s**3


def test_equal_expressions_have_equal_terms():
    _, (a, b, c) = ring_of()
    assert sf.math.sin(a + b) == sf.math.sin(a) * sf.math.cos(b) + sf.math.cos(a) * sf.math.sin(b)
    assert sf.math.cos(a + b - c) == sf.math.cos(a) * sf.math.cos(b - c) - sf.math.sin(
        a
    ) * sf.math.sin(b - c)
    assert sf.math.cos(a * 2) == 1 - 2 * sf.math.sin(a) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_sums_products_and_quotients_are_those_of_numbers(seed):
    _, q = ring_of()
    x = np.random.default_rng(seed).uniform(-2, 2, 3)

    def f(a, b, c):
        return (a * sf.math.sin(b) - 0.3) * (sf.math.cos(a + c) + b) / 4 - sf.math.sin(c + 0.5) * a

    assert value(f(*q), x) == pytest.approx(float(f(*x)), rel=1e-13)


@pytest.mark.parametrize("k", range(3))
def test_the_derivative_is_that_of_the_function(k):
    _, q = ring_of()
    x = rng.uniform(-2, 2, 3)

    def f(a, b, c):
        return a * a * sf.math.sin(b) * sf.math.cos(a + c) + sf.math.cos(b) ** 2 * sf.math.sin(c)

    step = np.eye(3)[k] * 1e-6
    numeric = (float(f(*(x + step))) - float(f(*(x - step)))) / 2e-6
    assert value(f(*q).derivative(k), x) == pytest.approx(numeric, abs=1e-8)


def test_an_exact_zero_stays_one():
    _, (q, *_) = ring_of()
    assert isinstance(q * Zero(), Zero)
    assert q + Zero() == q


def test_a_monomial_divides_what_contains_it_and_nothing_else():
    _, (a, b, _) = ring_of()
    assert (a * b + a * 2) / a == b + 2
    with pytest.raises(NotApplicableError, match="fix:"):
        (a + b) / (a - b)
    with pytest.raises(NotApplicableError, match="fix:"):
        b / a


def test_an_angle_that_is_no_whole_multiple_has_no_closed_form():
    _, (a, *_) = ring_of()
    with pytest.raises(NotApplicableError, match="whole multiple"):
        sf.math.sin(a * 0.5)
    with pytest.raises(NotApplicableError, match="sqrt"):
        sf.math.sqrt(a)


@pytest.mark.parametrize("name", ["planar_chain:30", "random_tree:30:1"])
def test_a_chain_too_long_to_read_is_refused_before_it_fills_the_memory(name):
    with pytest.raises(NotApplicableError, match="over 100,000 terms were worked on"):
        sf.equations(sf.load(name), limit=100_000)
    with pytest.raises(NotApplicableError, match="over 1,000 terms"):
        sf.identification.base_parameters(sf.load(name), limit=1000)


def test_base_parameters_of_a_long_chain_and_of_screws_are_found():
    assert len(sf.identification.base_parameters(sf.load("planar_chain:30"))) == 30 * 2
    builder = sf.ModelBuilder("screw")
    body = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    builder.add_body("a", joint=sf.Helical("z", 0.1), inertia=body)
    builder.add_body("b", parent="a", joint=sf.Helical("x", 0.2), inertia=body)
    found = sf.identification.base_parameters(builder.build())
    assert len(found) <= found.rank <= found.total == 20


# -- the pages of the book on polynomials


@pytest.mark.parametrize("name", ["cart_pendulum", "planar_chain:3", "puma560", "ma23"])
def test_composite_bodies_energies_and_newton_euler_give_one_and_the_same_mass_matrix(name):
    s = named(name)
    n, q = s.model.nv, s.positions
    by_crba = dense(s.tree, crba(s.tree, q))
    by_energy = lagrange.mass_matrix(s.tree, q)
    still = s.model.velocities([0.0] * n)
    none = {i: Force.zero() for i in s.tree.bodies}
    zero_g = s.tree.__class__(**{**vars_of(s.tree), "gravity": s.tree.gravity * 0.0})
    for j in range(n):
        unit = s.model.velocities([1.0 if k == j else 0.0 for k in range(n)])
        column = newton_euler(zero_g, q, still, unit, none)
        column = s.model.gather({i: Column(column[i]) for i in s.tree.bodies})
        for i in range(n):
            wanted = polynomial(s, by_crba[i][j])
            assert polynomial(s, by_energy[i][j]) == wanted, (i, j)
            assert polynomial(s, column[i]) == wanted, (i, j)


def vars_of(tree):
    return {f: getattr(tree, f) for f in tree.__dataclass_fields__}


def test_consecutive_parallel_axes_share_sums_of_angles():
    s = named("planar_chain:3")
    assert [a.combination for a in s.ring.angles] == [
        ((0, 1),),
        ((0, 1), (1, 1)),
        ((0, 1), (1, 1), (2, 1)),
    ]


def test_opposite_axes_share_differences_of_angles():
    builder = sf.ModelBuilder("opposite")
    link = sf.Inertia.from_mass(1.0, (0.5, 0.0, 0.0), (0.0, 0.1, 0.1))
    builder.add_body("a", joint=sf.Revolute("z"), inertia=link)
    builder.add_body(
        "b", parent="a", joint=sf.Revolute("-z"), placement=(1.0, 0.0, 0.0), inertia=link
    )
    found = sf.equations(builder.build())
    assert [a.combination for a in found.ring.angles][:2] == [((0, 1),), ((0, -1), (1, 1))]
    assert "C2" in found.text("M")


def test_slanted_axes_are_turned_to_z_without_changing_the_dynamics():
    model = sf.random_tree(4, 3, joints=(sf.Revolute, sf.Prismatic))
    q, v = sf.random_state(model, 5, seed=0)
    turned = align_axes(model)
    assert all(sum(abs(float(x)) > 1e-9 for x in b.joint.axis) == 1 for b in turned.bodies)
    np.testing.assert_allclose(
        sf.inverse_dynamics(turned, q, v, v), sf.inverse_dynamics(model, q, v, v), atol=1e-12
    )


# -- shorthand


@pytest.mark.parametrize("name", ["cart_pendulum", "planar_chain:4", "puma560", "ma23"])
def test_what_is_written_reads_back_as_the_same_polynomial(name):
    found = sf.equations(sf.load(name))
    for row in found.forms.M:
        for form in row:
            text = sum_text(found.ring, nest(form), 80) if form else "0"
            assert read(found.ring, text) == form


def test_the_shorthand_of_the_lecture_is_read_as_it_is_printed():
    ring, (_, b, c) = ring_of()
    s2, c23 = sf.math.sin(b), sf.math.cos(b + c)
    assert read(ring, "SS2") == s2 * s2
    assert read(ring, "2 S2 C(2+3) - SC2") == 2 * s2 * c23 - s2 * sf.math.cos(b)
    assert read(ring, "3/2 (S2 + CC(2+3))^2") == (s2 + c23 * c23) ** 2 * 1.5


@pytest.mark.parametrize("text", ["S9", "x2", "(S1", "S1 )", "S1 & C1"])
def test_text_that_is_no_shorthand_is_refused_with_a_way_out(text):
    ring, _ = ring_of()
    with pytest.raises(OptionError, match="fix:"):
        read(ring, text)


def test_a_name_for_a_parameter_that_is_not_there_is_refused():
    with pytest.raises(UnknownNameError, match="cy1"):
        sf.equations(sf.load("pendulum"), names={"cy": "L"})


@pytest.mark.parametrize("word", ["S2", "q1", "two words", "a*/b", "", "2x"])
def test_a_name_that_reads_as_something_else_is_refused(word):
    with pytest.raises((OptionError, NumberError), match="names"):
        sf.equations(sf.load("pendulum"), names={"m1": word})


def test_one_letter_cannot_stand_for_two_numbers():
    with pytest.raises(OptionError, match="of its own"):
        sf.equations(sf.load("cart_pendulum"), names={"m1": "m", "m2": "m"})
