"""The MA23 of Khatib's lecture: eight printed coefficients against the mechanics."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book import lagrange
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.newton_euler import newton_euler
from sixfold.spatial import Column, Force
from sixfold.symbolic.forms import values_at
from sixfold.symbolic.polynomial import Polynomial
from tests.symbolic.ma23 import PRINTED, corrected, ma23_coefficients, ma23_equations
from tests.symbolic.shorthand_reader import read

RIGHT = ["A33", "A44", "A55", "A12"]
MISSING = {
    "A11": """
        M5 (2 SC(2+3) C4 SC5 d5^2 - 2 SC(2+3) C4 S5 d5^2)
        + Iy5 (2 SC(2+3) C4 SC5 - 2 SC(2+3) C4 S5) + Iz5 (-2 SC(2+3) C4 SC5 + 2 SC(2+3) C4 S5)
    """,
    "A22": "2 M5 (l2^2 + 2 C3 l2 h2 + 2 C3 C5 l2 d5 - 2 S3 C4 l2 ly4 - 2 S3 C4 S5 l2 d5)",
    "A66": "Iz6 - Iz5",
    "A13": """
        2 S(2+3) SC4 Ix4 + M5 (-C(2+3) S4 SC5 d5^2 + C(2+3) S4 S5 d5^2)
        - C(2+3) S4 SC5 Iy5 + C(2+3) S4 SC5 Iz5
    """,
}


@pytest.fixture(scope="module")
def arm():
    return ma23_equations()


@pytest.fixture(scope="module")
def coefficients(arm):
    return ma23_coefficients(arm)


@pytest.fixture(scope="module")
def ring(arm):
    return arm.ring


def at(ring, form, q, **parameters):
    """Return the value of a form at a configuration, with all parameters zero but those named."""
    values = values_at(ring, np.atleast_2d(q), np.zeros((1, 6)))
    values |= {v: parameters.get(v.name, 0.0) for v in ring.variables if v.value is not None}
    return float(np.ravel(form.evaluate(values.__getitem__))[0])


# -- print against mechanics


def test_every_printed_coefficient_is_compared(coefficients):
    assert list(coefficients) == ["A11", "A22", "A33", "A44", "A55", "A66", "A12", "A13"]
    assert list(PRINTED) == list(coefficients)


@pytest.mark.parametrize("name", RIGHT)
def test_these_coefficients_are_right_as_printed(coefficients, name):
    assert coefficients[name].agrees


@pytest.mark.parametrize("name", MISSING)
def test_these_coefficients_differ_from_the_print_by_exactly_these_terms(coefficients, name, ring):
    found = coefficients[name]
    assert not found.agrees
    assert found.computed - found.printed == read(ring, MISSING[name])


@pytest.mark.parametrize("name", PRINTED)
def test_the_corrected_print_is_the_computed_coefficient(coefficients, name, ring):
    known = {k: c.computed for k, c in coefficients.items()} | {"Iy6": read(ring, "Ix6")}
    assert read(ring, corrected(name), known) == coefficients[name].computed


def test_three_formulations_give_the_same_coefficients(arm):
    s = arm.forms.symbolic
    q, n = s.positions, range(6)
    zero = Polynomial(s.ring, {})
    composite = dense(s.tree, crba(s.tree, q))
    energies = lagrange.mass_matrix(s.tree, q)
    weightless = sf.load("ma23").without(gravity=True)
    tree = type(s.tree)(
        **{
            **{f: getattr(s.tree, f) for f in s.tree.__dataclass_fields__},
            "gravity": weightless.tree.gravity,
        }
    )
    still = s.model.velocities([0.0] * 6)
    none = {i: Force.zero() for i in s.tree.bodies}
    for j in n:
        unit = s.model.velocities([1.0 if k == j else 0.0 for k in n])
        tau = newton_euler(tree, q, still, unit, none)
        column = s.model.gather({i: Column(tau[i]) for i in s.tree.bodies})
        for i in n:
            assert zero + composite[i][j] == arm.forms.M[i][j]
            assert zero + energies[i][j] == arm.forms.M[i][j]
            assert zero + column[i] == arm.forms.M[i][j]


# -- what the arm is


def test_body_6_hangs_on_the_forearm_and_is_not_moved_by_joints_4_and_5(arm):
    model = sf.load("ma23")
    assert model.support("body6") == ("body1", "body2", "body3", "body6")
    assert model.support("body5") == ("body1", "body2", "body3", "body4", "body5")


def test_the_mass_matrix_does_not_depend_on_q1_and_q6(arm):
    for k in (0, 5):
        assert all(not form.derivative(k) for row in arm.forms.M for form in row)


def test_the_mass_matrix_would_depend_on_q6_if_body_6_were_not_round():
    model = sf.load("ma23")
    last = model.bodies[5].inertia
    flat = sf.replace_inertias(
        model, {"body6": sf.Inertia.from_mass(float(last.m), last.center, (6e-4, 5e-4, 3e-4))}
    )
    M = sf.equations(flat).forms.M
    assert M[0][0].derivative(5)


def test_the_printed_products_of_inertia_are_elements_of_the_matrix(coefficients, ring):
    """Parallel axes: an element gains -M dy4 h1, so its coefficient is -1 x that of M dy4 h1."""
    printed = coefficients["A11"].printed
    q = np.array([0.3, 0.5, -0.8, 0.4, 0.9, 0.2])
    element = at(ring, printed, q, Iyz4=1.0)
    both = at(ring, printed, q, M4=1.0, dy4=1.0, h1=1.0)
    alone = at(ring, printed, q, M4=1.0, dy4=1.0) + at(ring, printed, q, M4=1.0, h1=1.0)
    assert element == pytest.approx(-(both - alone))


# -- proofs from the print alone

q0 = np.array([0.0, 0.7, 0.4, 0.6, 0.5, 0.0])


@pytest.mark.parametrize("moments", [("Ix4", "Iy4", "Iz4"), ("Ix5", "Iy5", "Iz5")])
def test_a_round_body_does_not_couple_joints_1_and_3_whose_axes_are_orthogonal(
    coefficients, ring, moments
):
    """Trace: with Ix = Iy = Iz the coupling is I times the cosine between the axes, zero."""
    sphere = dict.fromkeys(moments, 1.0)
    found = coefficients["A13"]
    assert at(ring, found.computed, q0, **sphere) == pytest.approx(0.0, abs=1e-15)
    if moments[0] == "Ix4":
        assert abs(at(ring, found.printed, q0, **sphere)) > 0.1
    assert at(ring, coefficients["A11"].computed, q0, **sphere) == pytest.approx(1.0)


def test_the_printed_trace_of_body_5_about_the_first_axis_is_one_by_cancellation(
    coefficients, ring
):
    """The two lost cosines cancel in the trace; the parallel-axis rule and the rank find them."""
    sphere = dict.fromkeys(("Ix5", "Iy5", "Iz5"), 1.0)
    assert at(ring, coefficients["A11"].printed, q0, **sphere) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["A11", "A13"])
def test_a_mass_at_d5_adds_equally_to_ix5_and_iy5(coefficients, ring, name):
    """Parallel axes: M5 d5^2 acts as Ix5 = Iy5 = M5 d5^2; the print keeps to it, or not."""
    found = coefficients[name]
    mass = dict(M5=1.0, d5=1.0)
    turned = dict(Ix5=1.0, Iy5=1.0)
    exact = at(ring, found.computed, q0, **mass) - at(ring, found.computed, q0, **turned)
    assert exact == pytest.approx(0.0, abs=1e-15)
    printed = at(ring, found.printed, q0, **mass) - at(ring, found.printed, q0, **turned)
    assert (abs(printed) > 0.01) == (name == "A13")


@pytest.mark.parametrize("moment", ["Iy5", "Iz5"])
def test_one_moment_of_inertia_makes_a_matrix_of_rank_one(coefficients, ring, moment):
    """Rank: a single moment contributes I u u^T, so A11 A33 - A13^2 vanishes; not as printed."""

    def minor(kind):
        a11, a33, a13 = (
            at(ring, getattr(coefficients[n], kind), q0, **{moment: 1.0})
            for n in ("A11", "A33", "A13")
        )
        return a11 * a33 - a13 * a13

    assert minor("computed") == pytest.approx(0.0, abs=1e-15)
    assert abs(minor("printed")) > 1e-3


def test_the_lost_cosine_makes_the_first_moment_of_a11_no_square(coefficients, ring):
    """Rank in A11 and A44 alone: with Iy5 only, A11 is the square of S(2+3) C4 C5 + C(2+3) S5."""
    c, s = np.cos, np.sin
    a, b, d = q0[1] + q0[2], q0[3], q0[4]
    square = (s(a) * c(b) * c(d) + c(a) * s(d)) ** 2
    assert at(ring, coefficients["A11"].computed, q0, Iy5=1.0) == pytest.approx(square)
    assert abs(at(ring, coefficients["A11"].printed, q0, Iy5=1.0) - square) > 0.01


@pytest.mark.parametrize("only", [{"Iy5": 1.0}, {"Iz5": 1.0}, {"M5": 1.0, "d5": 1.0}])
def test_half_a_turn_of_joint_5_changes_no_moment_of_inertia(coefficients, ring, only):
    """Half a turn reverses y5 and z5: terms of Iy5, Iz5 and d5^2 are even in (S5, C5)."""
    half = q0 + np.array([0.0, 0.0, 0.0, 0.0, np.pi, 0.0])
    odd = set()
    for name, found in coefficients.items():
        for kind in ("printed", "computed"):
            form = getattr(found, kind)
            if abs(at(ring, form, half, **only) - at(ring, form, q0, **only)) > 1e-12:
                odd.add((name, kind))
    # the pair of Iz5 in A13 cancels as printed: nothing odd is left there
    wrong = {("A11", "printed")} | ({("A13", "printed")} if "M5" in only else set())
    assert odd == wrong


def test_a22_as_printed_is_negative_when_body_5_is_heavy(coefficients, ring):
    """A diagonal coefficient is twice a kinetic energy: it cannot fall when a mass is added."""
    heavy = dict(M5=1.0, l2=1.0)
    assert at(ring, coefficients["A22"].computed, q0, **heavy) == pytest.approx(1.0)
    assert at(ring, coefficients["A22"].printed, q0, **heavy) == pytest.approx(-1.0)


def test_a66_as_printed_leaves_a_minor_negative(arm, coefficients, ring):
    """Rank: body 6 alone has A11 = CC(2+3) Iz6 and A16 = C(2+3) Iz6; with A66 = 0 no energy."""
    alone = {"Iz6": 1.0}
    a11 = at(ring, coefficients["A11"].printed, q0, **alone)
    a16 = at(ring, arm.forms.M[0][5], q0, **alone)
    minor = {
        kind: a11 * at(ring, getattr(coefficients["A66"], kind), q0, **alone) - a16**2
        for kind in ("printed", "computed")
    }
    assert minor["computed"] == pytest.approx(0.0, abs=1e-15)
    assert minor["printed"] < -0.1
