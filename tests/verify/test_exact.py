"""All formulations agree with zero error on rational numbers, and a wrong sign is found."""

import inspect
import sys
import textwrap
from fractions import Fraction

import numpy as np
import pytest

import sixfold as sf
from sixfold.checks.verify.exact import Angle, Rational, rational_tree
from sixfold.dynamics import energy
from sixfold.dynamics.book import aba, crba, factorization, lagrange, newton_euler, rnea
from sixfold.dynamics.book.operators import equations, inertial_axes

SAMPLES = {
    "pendulum": 3,
    "double_pendulum": 3,
    "cart_pendulum": 3,
    "ma23": 2,
    "tree6": 2,
    "tree10": 1,
    "puma560": 2,
    "floating_link": 2,
    "planar_chain:4": 2,
    "star:4": 2,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_all_formulations_agree_with_zero_error(name):
    report = sf.check(sf.load(name), SAMPLES[name], exact=True)
    errors = [f.error for f in report.findings if f.error is not None]
    assert report.agrees and len(errors) >= 15 and set(errors) == {0.0}
    assert "Zero means zero" in str(report) and "Schwartz-Zippel" in report.statement
    assert max(map(len, str(report).splitlines())) <= 80


PLANTS = [
    (rnea, "rnea", "cJ + v[i].cross(vJ)", "cJ - v[i].cross(vJ)"),
    (rnea, "rnea", "I @ a[i] + v[i]", "I @ a[i] - v[i]"),
    (crba, "crba", "+ tree.armature[i]", "+ tree.armature[i] * (-1.0,)"),
    (newton_euler, "newton_euler", "I @ wd[i] + w[i]", "I @ wd[i] - w[i]"),
    (newton_euler, "newton_euler", "wd[j].cross(p[i]) + w[j]", "wd[j].cross(p[i]) - w[j]"),
    (lagrange, "christoffel", "- dM[k][i][j]", "+ dM[k][i][j]"),
    (energy, "potential_energy", "- tree.gravity.lin", "+ tree.gravity.lin"),
    (aba, "aba", "pA[i] + Ia @ c[i]", "pA[i] - Ia @ c[i]"),
    (aba, "aba", "u[i] - U[i].T @ ap", "u[i] + U[i].T @ ap"),
    (equations, "body_frame", "cJ + v[i].cross(vJ)", "cJ - v[i].cross(vJ)"),
    (equations, "branch_inertias", "J[i] - K[i] @ U.T", "J[i] + K[i] @ U.T"),
    (inertial_axes, "inertial", "wp.cross(x.g[i] * rate)", "wp.cross(x.g[i] * -rate)"),
    (factorization, "ltdl", "L[i][j] - a * L[k][j]", "L[i][j] + a * L[k][j]"),
]


@pytest.mark.parametrize(("module", "name", "right", "wrong"), PLANTS)
def test_a_wrong_sign_is_found(module, name, right, wrong, monkeypatch):
    function = getattr(module, name)
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(right) == 1
    made = {}
    exec(text.replace(right, wrong), vars(module), made)
    for each in [m for key, m in sys.modules.items() if key.startswith("sixfold")]:
        for key, value in list(vars(each).items()):
            if value is function:
                monkeypatch.setattr(each, key, made[name])
    report = sf.check(sf.load("puma560"), 1, exact=True)
    assert not report.agrees
    with pytest.raises(sf.errors.DisagreementError, match="formulations disagree"):
        report.raise_if_bad()


def test_a_term_that_is_wrong_in_the_last_digit_only_is_found(monkeypatch):
    # one part in 2^60: a comparison of doubles cannot see it
    plain = equations.joint_forces
    tiny = Rational(Fraction(1, 2**60))

    def off(s, qdd):
        return {i: f * (tiny + 1) for i, f in plain(s, qdd).items()}

    monkeypatch.setattr(equations, "joint_forces", off)
    report = sf.check(sf.load("double_pendulum"), 1, exact=True)
    assert {f.formulation for f in report.findings if f.bad} == {
        "operators",
        "operators (inertial)",
    }


def test_rationals_never_turn_into_floats():
    third = Rational(Fraction(1, 3))
    assert (third + 0.5) * 6 == 5 and 1 / third == 3 and (third**2) == Fraction(1, 9)
    assert float(third) == 1 / 3 and -third + third == 0
    for other in (1j, "1", None):
        with pytest.raises(sf.errors.NumberError):
            third + other
    with pytest.raises(sf.errors.NumberError):
        sf.math.sqrt(third)
    right = Angle(Rational(1))
    assert sf.math.cos(right) == 0 and sf.math.sin(right) == 1
    with pytest.raises(sf.errors.NumberError):
        sf.math.tanh(right)
    with pytest.raises(TypeError):
        right + right


def test_placements_are_replaced_only_where_they_are_not_orthogonal():
    pendulum = rational_tree(sf.load("double_pendulum").tree)
    assert pendulum[1:] == (0, 0)
    arm = sf.load("tree10")
    tree, placements, axes = rational_tree(arm.tree)
    assert placements + axes > 0
    for near, given in zip(tree.Xtree, arm.tree.Xtree, strict=True):
        E = near.E
        unit = E @ E.T
        assert all(x == (r == c) for r, row in enumerate(unit) for c, x in enumerate(row))
        assert np.allclose(
            np.array(list(map(list, E)), float), sf.spatial.to_array(given.E), atol=1e-8
        )
    statement = sf.check(arm, 1, exact=True).statement
    assert f"{placements} placements and {axes} axes" in statement


def test_joints_that_are_not_rational_are_refused_with_the_way_out():
    screw = sf.ModelBuilder("screw")
    screw.add_body("nut", joint=sf.Helical("z", pitch=0.1), inertia=sf.Inertia.from_mass(1.0))
    with pytest.raises(
        sf.errors.NotApplicableError, match=r"helical joint 'nut_joint'(.|\n)*without exact"
    ):
        sf.check(screw.build(), exact=True)
    with pytest.raises(sf.errors.OptionError, match="exact"):
        sf.check(sf.load("pendulum"), exact="yes")
