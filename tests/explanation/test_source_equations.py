"""Equations of the sources by name: the right rows, their text, and letters that satisfy them."""

import re

import numpy as np
import pytest

import sixfold as sf
from sixfold.checks.explanation.ledger import rows
from sixfold.checks.explanation.letters import LETTERS
from sixfold.errors import ArgumentError, NotApplicableError, UnknownNameError

MODELS = {
    "puma560": sf.load("puma560"),
    "tree10": sf.load("tree10"),
    "floating base": sf.load("floating_link"),
    "random tree": sf.random_tree(6, 3, properties=True),
}


@pytest.fixture(params=MODELS)
def bound(request):
    """Return a function that gives the letters of an equation at a state of a model."""
    model = MODELS[request.param]
    q, v = sf.random_state(model, seed=1)
    a = np.random.default_rng(2).standard_normal(model.nv)
    return lambda name: sf.explain(name, model, q, v, a)


def near(left, right, digits=1e-11):
    left, right = np.asarray(left, float), np.asarray(right, float)
    np.testing.assert_allclose(left, right, rtol=0, atol=digits * max(1.0, np.abs(right).max()))


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("Featherstone CRBA (8)", {"(8)"}),
        ("featherstone crba 8", {"(8)"}),
        ("Featherstone Forward Dynamics (1)", {"Forward Dynamics (1)"}),
        ("Featherstone Inertia (2)", {"Inertia (2)"}),
        ("Concurrent Dynamics (19b)", {"(19b)"}),
        ("Concurrent 5a", {"(5a)"}),
        ("(18c)", {"(18c)"}),
        ("Prop. 5", {"Prop. 5"}),
        ("Carius Remark 6", {"Remark 6"}),
        ("Khatib cube", {"Example (cube)"}),
        ("skeleton kinetic energy", {"2. Kinetic Energy"}),
    ],
)
def test_a_name_finds_its_equation(name, places):
    assert {row.where for row in sf.explain(name).rows} == places


def test_every_row_is_found_by_its_source_and_place():
    for row in rows():
        assert row in sf.explain(f"{row.source} {row.where}").rows, row


@pytest.mark.parametrize("source", sorted(LETTERS))
def test_the_name_of_a_source_lists_its_equations(source):
    found = sf.explain(source)
    assert found.rows == tuple(row for row in rows() if row.source == source)
    assert not found.letters
    text = str(found)
    assert all(re.sub(r"\s+", " ", row.where) in re.sub(r"\s+", " ", text) for row in found.rows)


def test_a_number_of_several_sources_lists_them_all():
    found = sf.explain("(8)")
    assert [row.source for row in found.rows] == ["Featherstone", "Carius", "Concurrent Dynamics"]
    assert "Carius (8)" in str(found) and "3 equations" in repr(found)


@pytest.mark.parametrize(
    ("name", "near_name"),
    [
        ("Concurrent Dynamics (19)", "Concurrent Dynamics (19a)"),
        ("Featherstone CRBA (9)", "Featherstone (8)"),
        ("Fetherstone (8)", "Featherstone (8)"),
        ("Kathib", "Khatib"),
        ("", "pass one of the known names"),
        ("Khatib quaternion", "did you mean|pass one"),
    ],
)
def test_an_unknown_name_suggests_near_ones(name, near_name):
    pattern = near_name if "|" in near_name else re.escape(near_name)
    with pytest.raises(UnknownNameError, match=pattern):
        sf.explain(name)


def test_the_text_says_what_is_misprinted_what_computes_it_and_what_proves_it():
    text = str(sf.explain("Concurrent Dynamics (5a)"))
    flat = re.sub(r"\s+", " ", text)
    assert 'Printed "a_1 = 0"' in flat
    assert "sixfold.dynamics.book.operators.inertial_axes.inertial" in flat
    assert "test_eq_5a_as_printed_holds_for_revolute_joints_and_starts_with_zero" in flat
    assert "EOM with Newton-Euler Equations, 2017" in flat
    assert "docs/book/operators.md" in flat
    assert "(pass model, q, v)" in flat


def test_texts_fit_80_columns_but_for_names_of_tests():
    model = MODELS["puma560"]
    q, v = sf.random_state(model, seed=1)
    for row in rows():
        text = str(sf.explain(f"{row.source} {row.where}", model, q, v, v))
        long = [line for line in text.splitlines() if len(line) > 80]
        assert all(re.search(r"::$|test_|docs/", line) for line in long), long


def test_a_notebook_gets_the_formula_and_the_text():
    found = sf.explain("Concurrent Dynamics (18c)")
    assert found.latex == r"M = G^T \Psi_D^T M \Psi_D G"
    html = found._repr_html_()
    assert r"$\displaystyle M = G^T" in html and "Newton-Euler Equations, 2017" in html
    assert "<p>$" not in sf.explain("Khatib Inertia Tensor (3)")._repr_html_()


def test_every_formula_in_latex_can_be_typeset():
    mathtext = pytest.importorskip("matplotlib.mathtext")
    parse = mathtext.MathTextParser("path").parse
    formulas = {row.latex for row in rows() if row.latex}
    assert len(formulas) > 100
    for formula in formulas:
        parse("$" + formula.replace(r"\text", r"\mathrm") + "$")


def test_formulas_in_latex_have_the_letters_of_the_plain_text():
    for row in rows():
        if row.latex:
            # what stands before the first sign of equality, without marks
            plain, latex = (
                re.sub(r"\\[a-zA-Z]+|[^a-zA-Z]|dot|bar|ring", "", text.split("=")[0])
                for text in (row.says.replace("-ddot", ""), row.latex)
            )
            assert set(latex) <= set(plain) | set("dt"), row


# -- letters


def test_every_letter_of_the_ledger_has_a_value(bound):
    for row in rows():
        for each in bound(f"{row.source} {row.where}").letters:
            assert each.value is not None and not each.missing, (row, each)
            values = each.value.values() if isinstance(each.value, dict) else [each.value]
            assert all(np.isfinite(np.asarray(x, float)).all() for x in values)


def test_every_letter_is_used_by_a_row():
    used = {(row.source, letter) for row in rows() for letter in row.letters}
    for source, letters in LETTERS.items():
        shared = {"q", "H", "C", "T", "τ", "a_g", "i_X_λ"}  # what sources have in common
        missing = {name for name in letters if (source, name) not in used}
        assert missing <= shared | set(LETTERS["Featherstone"]), (source, missing)


def test_letters_satisfy_the_equations_of_featherstone(bound):
    e = bound("Featherstone Forward Dynamics (1)")
    near(e["τ"], e["H"] @ e["q-ddot"] + e["C"])
    e = bound("Featherstone (5)")
    near(e["T"], 0.5 * e["q-dot"] @ e["H"] @ e["q-dot"])
    e = bound("Featherstone (1)")
    rigid = 0.5 * np.einsum("ki,kij,kj", e["v_i"], e["I_i"], e["v_i"])
    near(e["T"], rigid + armature_energy(e))
    e = bound("Featherstone (8)")
    s, I, H = e["s_i"], e["I_i^c"], e["H"]
    diagonal = s.T @ block_diagonal(I) @ s
    model = e.state.model
    for joint in model.coordinates.free:
        extra = np.diag(model.bodies[joint.body].armature)
        near(H[joint.v, joint.v], diagonal[joint.v, joint.v] + extra)


def armature_energy(e):
    bodies = e.state.model.bodies
    return 0.5 * np.concatenate([body.armature for body in bodies]) @ e.state.v**2


def block_diagonal(blocks):
    full = np.zeros((6 * len(blocks), 6 * len(blocks)))
    for k, block in enumerate(blocks):
        full[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = block
    return full


def test_letters_satisfy_the_recursive_newton_euler_algorithm(bound):
    e = bound("Featherstone Recursive Newton-Euler Algorithm")
    parent, mu = e["λ"], e["μ"]
    f_B, f_J, v, a, I = e["f_Bi"], e["f_Ji"], e["v_i"], e["a_i"], e["I_i"]
    s_rate = (e["s_i"] @ e["q-dot"]).reshape(-1, 6)
    X = bound("Featherstone Recursive Newton-Euler Algorithm, inward loop")["i_X_λ"]
    for k, p in enumerate(parent):
        motion = sf.spatial.Motion.of(v[k])
        force = sf.spatial.Force.of(I[k] @ v[k])
        near(f_B[k], I[k] @ a[k] + np.array(sf.spatial.to_array(motion.cross(force)), float))
        block = X[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]
        if p:
            near(v[k], block @ v[p - 1] + s_rate[k])
        handed_on = sum(
            (X[6 * c - 6 : 6 * c, 6 * c - 6 : 6 * c].T @ f_J[c - 1] for c in mu[k + 1]), np.zeros(6)
        )
        near(f_J[k], f_B[k] + handed_on)


def test_letters_satisfy_the_equations_of_concurrent_dynamics(bound):
    e = bound("Concurrent Dynamics (19b)")
    one = np.eye(len(e["Φ_D"]))
    n = np.eye(len(e["q-ddot"]))
    K, Phi, Psi, G, R = (e[x] for x in ("K", "Φ_D", "Ψ_β", "G", "R"))
    outer = n - K.T @ Phi @ Psi @ G
    inner = n - G.T @ Psi.T @ Phi.T @ K
    near(e["q-ddot"], outer @ np.linalg.solve(R, inner @ (e["f"] - e["C"])), 1e-9)
    e = bound("Concurrent Dynamics (18)")
    near(e["M"] @ e["q-ddot"], e["f"] - e["C"])
    e = bound("Concurrent Dynamics (7)")
    near(e["v-dot"].ravel(), e["Ψ_D"] @ (e["G"] @ e["q-ddot"] + e["A"].ravel()))
    e = bound("Concurrent Dynamics (15)")
    Psi, M = e["Ψ_D"], e["M_i"]
    right = Psi.T @ (
        M @ Psi @ (e["G"] @ e["q-ddot"] + e["A"].ravel()) + (e["B"] - e["Y^T F-bar"]).ravel()
    )
    near(e["F"].ravel(), right)
    e = bound("Concurrent Dynamics (P3)")
    near(e["Ψ_D"] @ (one - e["Φ_D"]), one)


def test_letters_satisfy_the_equation_of_khatib(bound):
    e = bound("Khatib Joint Space Dynamics")
    near(e["M"] @ e["q-ddot"] + e["V"] + e["G"], e["τ"])


def test_letters_without_what_they_need_say_so():
    model = MODELS["puma560"]
    found = sf.explain("Featherstone Forward Dynamics (1)", model, np.zeros(6))
    assert list(found) == ["H"]
    assert {each.letter: each.missing for each in found.letters} == {
        "q-ddot": "pass v, a",
        "τ": "pass v, a",
        "H": "",
        "C": "pass v",
    }
    with pytest.raises(UnknownNameError, match="no letter named 'C'"):
        found["C"]
    assert "(pass v, a)" in str(found)


@pytest.mark.parametrize(("name", "axes"), [("tree10", "inertial"), ("floating base", "body")])
def test_letters_of_operators_say_in_which_axes_they_are(name, axes):
    model = MODELS[name]
    text = str(sf.explain("Concurrent Dynamics (18c)", model, sf.random_state(model, seed=1)[0]))
    assert f"Letters for '{model.name}', in {axes} axes" in text


def test_letters_of_operators_are_not_for_models_with_couplings():
    model = coupled()
    found = sf.explain("Concurrent Dynamics (18c)", model, np.zeros(model.nq))
    (why,) = {each.missing for each in found.letters}
    assert "model 'coupled' with couplings" in why and why in " ".join(str(found).split())
    assert sf.explain("Featherstone (8)", model, np.zeros(model.nq))["H"].shape == (1, 1)


def coupled():
    """Return two hinges of which one follows the other."""
    builder = sf.ModelBuilder("coupled")
    builder.add_body("a", joint=sf.Revolute("y"), inertia=sf.Inertia.from_mass(1.0, (0, 0, 0.1)))
    builder.add_body("b", parent="a", joint=sf.Revolute("y"))
    return builder.couple("b_joint", ("a_joint", 0.5)).build()


def test_what_equations_do_not_take_is_refused():
    model = MODELS["puma560"]
    with pytest.raises(NotApplicableError, match="argument 'joint'"):
        sf.explain("Khatib", joint="joint2")
    with pytest.raises(NotApplicableError, match="argument 'f_ext'"):
        sf.explain("Khatib", model, f_ext=np.zeros((6, 6)))
    with pytest.raises(NotApplicableError, match="argument 'f_ext_frame'"):
        sf.explain("Khatib", model, f_ext_frame="body")
    with pytest.raises(ArgumentError, match="must be a Model"):
        sf.explain("Khatib", np.zeros(6))
