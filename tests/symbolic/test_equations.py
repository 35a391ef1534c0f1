"""`sixfold.equations`: the closed forms of the sources, and the check before anything is shown."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold.dynamics.book.planar import PlanarChain, skeleton, skeleton_bias, skeleton_inertia
from sixfold.errors import DisagreementError, NotApplicableError, NumberError, OptionError
from sixfold.symbolic.forms import TOLERANCE, Forms, verify
from sixfold.symbolic.latex import symbol_name
from sixfold.symbolic.symbolic_model import symbolic_model

MODELS = {
    "pendulum": sf.load("pendulum"),
    "planar_chain:3": sf.load("planar_chain:3"),
    "puma560": sf.load("puma560"),
    "ma23": sf.load("ma23"),
    "floating_link": sf.load("floating_link"),
    "rolling_ball": sf.load("rolling_ball"),
    "slides and screws": sf.random_tree(3, 4, joints=(sf.Prismatic, sf.Helical, sf.Revolute)),
    "many freedoms": sf.random_tree(2, 8, joints=(sf.Universal, sf.Planar, sf.Cylindrical)),
    "ball": sf.random_tree(1, 1, joints=(sf.Spherical,)),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def values(found, q, v, a=None):
    given = dict(found.parameters) | dict(zip(found.q, q, strict=True))
    given |= dict(zip(found.qd, v, strict=True))
    return given | (dict(zip(found.qdd, a, strict=True)) if a is not None else {})


def array(expression, given):
    return np.array(expression.evalf(20, subs=given).tolist(), float)


# -- the examples of the sources


def test_the_pendulum_is_that_of_concurrent_dynamics_m4():
    """(I_zz + m1 L^2) theta'' = tau - m1 g L sin(theta)."""
    found = sf.equations(sf.load("pendulum"), names={"cy1": "-L"})
    I, m, L, g = sp.symbols("Izz1 m1 L g", real=True)
    (theta,) = found.q
    assert sp.Matrix([[I + m * L**2]]) == found.M
    assert sp.Matrix([[0]]) == found.V
    assert sp.Matrix([[m * g * L * sp.sin(theta)]]) == found.G


def test_the_cart_and_its_pendulum_are_those_of_concurrent_dynamics_n4():
    """M = [[m1 + m2, m2 L cos], [m2 L cos, Izz + m2 L^2]], f + m2 L sin thd^2, -m2 g L sin."""
    found = sf.equations(sf.load("cart_pendulum"), names={"cy2": "-L"})
    m1, m2, L, I, g = sp.symbols("m1 m2 L Izz2 g", real=True)
    theta, rate = found.q[1], found.qd[1]
    coupling = m2 * L * sp.cos(theta)
    assert sp.Matrix([[m1 + m2, coupling], [coupling, I + m2 * L**2]]) == found.M
    assert sp.Matrix([-m2 * L * sp.sin(theta) * rate**2, 0]) == found.V
    assert sp.Matrix([0, m2 * g * L * sp.sin(theta)]) == found.G


def skeleton_names(n):
    letters = {f"cx{k}": f"lG{k}" for k in range(1, n + 1)}
    letters |= {f"Izz{k}": f"I{k}" for k in range(1, n + 1)}
    return letters | {f"lx{k + 1}": f"l{k}" for k in range(1, n)}


def normal(expression):
    """Return an expression as sums of exponentials, which is zero only for zero."""
    return sp.expand(sp.expand(expression).rewrite(sp.exp), power_exp=True)


@pytest.fixture(scope="module")
def planar():
    n = 3
    found = sf.equations(sf.load(f"planar_chain:{n}"), names=skeleton_names(n))
    names = {s.name: s for s in found.parameters}
    lengths = [names.get(f"l{k}", sp.Symbol(f"l{k}")) for k in range(1, n + 1)]
    chain = PlanarChain(
        [names[f"m{k}"] for k in range(1, n + 1)],
        [names[f"I{k}"] for k in range(1, n + 1)],
        lengths,
        [(names[f"lG{k}"], 0) for k in range(1, n + 1)],
    )
    return found, chain


def test_h_of_the_planar_skeleton_is_the_printed_sum(planar):
    """h_ij = sum over k of m_k {(x_Gk - x_i-1)(x_Gk - x_j-1) + the same in y} + I_k."""
    found, chain = planar
    H = sp.Matrix(skeleton_inertia(chain, found.q))
    assert (H - found.M).applyfunc(normal) == sp.zeros(3, 3)


def test_b_of_the_planar_skeleton_has_squares_of_absolute_rates_only(planar):
    """b_i = sum over k, j of m_k {(y_Gk - y_i-1) h_xkj - (x_Gk - x_i-1) h_ykj} thetad_j^2."""
    found, chain = planar
    w = sp.symbols("w1:4", real=True)
    relative = dict(zip(found.qd, (w[0], w[1] - w[0], w[2] - w[1]), strict=True))
    V = found.V.subs(relative, simultaneous=True).applyfunc(
        lambda x: sp.expand(sp.expand_trig(sp.expand(x)))
    )
    # the products of rates cancel as they stand
    for element in V:
        rates = sp.Poly(element, *w).monoms()
        assert all(max(powers) == 2 for powers in rates)
    x = skeleton(chain, found.q)
    printed = sp.Matrix(
        [
            sum(
                chain.m[k]
                * (
                    (x.centers[k][1] - x.joints[i][1]) * (end[0] - x.joints[j][0])
                    - (x.centers[k][0] - x.joints[i][0]) * (end[1] - x.joints[j][1])
                )
                * w[j] ** 2
                for k in range(i, 3)
                for j in range(k + 1)
                for end in [x.joints[j + 1] if j < k else x.centers[k]]
            )
            for i in range(3)
        ]
    )
    assert (printed - V).applyfunc(normal) == sp.zeros(3, 1)


def test_gravity_of_the_planar_skeleton_is_that_of_its_bias(planar):
    found, chain = planar
    g = next(s for s in found.parameters if s.name == "g")
    b = skeleton_bias(chain, found.q, [0, 0, 0], gravity=(0, -g))
    difference = sp.Matrix(b) - found.G
    assert difference.applyfunc(lambda e: sp.expand(sp.expand_trig(e))) == sp.zeros(3, 1)


# -- agreement with the kernels


@each
@pytest.mark.parametrize("inertias", ["centre", "origin", "base"])
@pytest.mark.parametrize("parameters", ["symbols", "numbers"])
def test_closed_forms_agree_with_the_recursive_kernels(model, parameters, inertias):
    found = sf.equations(model, parameters, inertias=inertias, samples=50)
    assert set(found.errors) == {"M", "V", "G", "T", "U"}
    assert max(found.errors.values()) <= TOLERANCE


def test_puma_560_agrees_on_a_thousand_states_to_1e_12():
    found = sf.equations(sf.load("puma560"), samples=1000)
    assert max(found.errors.values()) <= 1e-12


def test_the_joint_forces_are_those_of_inverse_dynamics_with_friction_and_springs():
    model = sf.random_tree(2, 5, joints=(sf.Revolute,), properties=True)
    found = sf.equations(model)
    q, v = sf.random_state(model, seed=3)
    a = np.array([0.3, -0.7])
    expected = sf.inverse_dynamics(model, q, v, a)
    np.testing.assert_allclose(array(found.tau, values(found, q, v, a)).ravel(), expected, 1e-12)


def test_sympy_expressions_have_the_values_of_the_kernels():
    model = sf.load("puma560").without(friction=True, damping=True)
    found = sf.equations(model)
    q, v = sf.random_state(model, seed=1)
    given = values(found, q, v)
    np.testing.assert_allclose(array(found.M, given), sf.mass_matrix(model, q), atol=1e-13)
    bias = array(found.V + found.G, given).ravel()
    np.testing.assert_allclose(bias, sf.bias_force(model, q, v), atol=1e-12)


def test_v_is_b_times_products_and_c_times_squares_of_the_rates():
    found = sf.equations(sf.load("double_pendulum"))
    a, b = found.qd
    split = found.B * sp.Matrix([a * b]) + found.C * sp.Matrix([a**2, b**2])
    assert sp.simplify(split - found.V) == sp.zeros(2, 1)
    planes = [(sp.Matrix([[a, b]]) * c * sp.Matrix([a, b]))[0] for c in found.christoffel]
    assert sp.simplify(sp.Matrix(planes) - found.V) == sp.zeros(2, 1)


def test_the_rate_of_m_less_twice_c_is_skew():
    forms = sf.equations(sf.load("ma23")).forms
    n, qd = range(6), forms.symbolic.qd
    for i in n:
        for j in range(i + 1):
            rate = sum((forms.M[i][j].derivative(k) * qd[k] for k in n), qd[0] * 0)
            both = sum(
                ((forms.christoffel[i][k][j] + forms.christoffel[j][k][i]) * qd[k] for k in n),
                qd[0] * 0,
            )
            assert rate == both


def test_gravity_is_the_gradient_of_the_potential():
    forms = sf.equations(sf.load("puma560")).forms
    for k, g in enumerate(forms.G):
        assert forms.potential_energy.derivative(k) == g


def test_a_form_that_differs_from_the_kernels_is_an_error_and_never_a_result():
    model = sf.load("double_pendulum")
    s = symbolic_model(model, symbols=True, inertias="centre", names={}, angle_tolerance=1e-12)
    forms = Forms(s)
    forms.M[0][0] = forms.M[0][0] * (1 + 1e-9)
    with pytest.raises(DisagreementError, match="M differs"):
        verify(forms, model)


@pytest.mark.parametrize("term", ["V", "G"])
def test_a_lost_term_is_found(term):
    model = sf.load("puma560")
    s = symbolic_model(model, symbols=True, inertias="centre", names={}, angle_tolerance=1e-12)
    forms = Forms(s)
    table = getattr(forms, term)
    smallest = min(table[1].terms)
    table[1].terms.pop(smallest)
    with pytest.raises(DisagreementError, match=f"{term} differs"):
        verify(forms, model)


def test_angles_near_a_right_angle_can_be_taken_for_one():
    builder = sf.ModelBuilder("rounded")
    link = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
    builder.add_body("a", joint=sf.Revolute("z"), inertia=link)
    builder.add_body(
        "b",
        parent="a",
        joint=sf.Revolute("z"),
        placement=sf.Transform.from_rpy((1.5708, 0.0, 0.0), (0.0, 0.0, 0.5)),
        inertia=link,
    )
    model = builder.build()
    assert "al2" in sf.equations(model).values
    rounded = sf.equations(model, angle_tolerance=1e-4)
    assert "al2" not in rounded.values
    assert rounded.model.bodies[1].placement.E.b.z == 1.0


def test_a_tree_in_general_position_has_closed_forms_in_letters():
    model = sf.load("tree6")
    found = sf.equations(model, samples=10)
    assert max(found.errors.values()) < 1e-13
    # a rotation about all three axes is named element by element
    E = model.bodies[1].placement.E
    assert [found.values[f"E{a}x2"] for a in "xyz"] == [E.a.x, E.b.x, E.c.x]
    assert "al2" not in found.values
    assert symbol_name("Exy2") == "E_{xy2}"


@pytest.mark.parametrize(("parameters", "advised"), [("symbols", True), ("numbers", False)])
def test_equations_that_are_too_long_advise_what_was_not_asked_for(parameters, advised):
    with pytest.raises(NotApplicableError, match="over 100,000 terms") as error:
        sf.equations(sf.load("tree10"), parameters, limit=100_000)
    assert ("numbers" in str(error.value)) is advised
    assert "lock joints" in str(error.value)


def test_minimal_parameters_make_shorter_equations():
    model = sf.load("puma560")
    whole, least = (sf.equations(model, inertias=kind).terms for kind in ("origin", "base"))
    assert all(least[term] < 0.5 * whole[term] for term in "MV")


def test_coupled_joints_of_whole_ratio_have_closed_forms():
    builder = sf.ModelBuilder("coupled")
    link = sf.Inertia.from_mass(1.0, (0.5, 0.0, 0.0), (0.0, 0.1, 0.1))
    builder.add_body("a", joint=sf.Revolute("z"), joint_name="one", inertia=link)
    builder.add_body(
        "b",
        parent="a",
        joint=sf.Revolute("y"),
        joint_name="two",
        placement=(1.0, 0.0, 0.0),
        inertia=link,
    )
    builder.couple("two", ("one", -1.0), offset=0.3)
    found = sf.equations(builder.build())
    assert found.M.shape == (1, 1)


# -- options


def test_wrong_options_are_refused_by_name():
    model = sf.load("pendulum")
    with pytest.raises(OptionError, match="parameters"):
        sf.equations(model, "letters")
    with pytest.raises(OptionError, match="inertias"):
        sf.equations(model, inertias="tip")
    with pytest.raises(OptionError, match="terms"):
        sf.equations(model).text("M,X")
    for option in ({"samples": 0}, {"angle_tolerance": -1.0}, {"names": {"m1": 3}}):
        with pytest.raises(NumberError, match=next(iter(option))):
            sf.equations(model, **option)


def test_craigs_split_does_not_apply_to_velocities_that_are_no_rates():
    found = sf.equations(sf.load("floating_link"))
    with pytest.raises(NotApplicableError, match="Christoffel"):
        found.text("B")


def test_text_latex_html_and_code_need_no_sympy():
    code = (
        "import sixfold as sf, sys, json\n"
        "e = sf.equations(sf.load('double_pendulum'))\n"
        "e.text(); e.latex(); e.html(); e.code('c')\n"
        "print(json.dumps('sympy' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False
