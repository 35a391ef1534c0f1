"""Influence operators: the statements of Concurrent Dynamics as laws of the public object."""

import doctest
import pickle

import gmpy2
import numpy as np
import pytest
import sympy

import sixfold as sf
from sixfold.operators import model_operators as module

HINGES = (sf.Revolute, sf.Prismatic, sf.Helical)
MODELS = {
    "tree10": (lambda: sf.load("tree10"), ("body", "inertial")),
    "cart": (lambda: sf.load("cart_pendulum"), ("body", "inertial")),
    "hinges": (lambda: sf.random_tree(6, 4, joints=HINGES, properties=True), ("body", "inertial")),
    "mixed": (lambda: sf.random_tree(9, 3, properties=True), ("body",)),
    "floating": (lambda: sf.load("floating_link"), ("body",)),
}
CASES = [(name, axes) for name, (_, readings) in MODELS.items() for axes in readings]
LEADS = ((), (2, 2))


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}", scope="module")
def case(request):
    name, axes = request.param
    return MODELS[name][0](), axes


def made(case, lead=(), seed=1):
    model, axes = case
    q, v = sf.random_state(model, lead, seed=seed)
    f_ext = np.random.default_rng(seed).standard_normal((*lead, model.nb, 6))
    return model, q, v, f_ext, sf.operators.influence_operators(model, q, v, f_ext, axes=axes)


def flat(x):
    return x.reshape((*x.shape[:-2], -1))


def times(A, x):
    return (A @ x[..., None])[..., 0]


def eye(n):
    return np.eye(n)


def test_psi_is_the_inverse_and_the_series(case):
    for lead in LEADS:
        model, *_, op = made(case, lead)
        Phi, Psi = op.Phi.dense(), op.Psi.dense()
        assert Phi.shape == (*lead, 6 * model.nb, 6 * model.nb)
        one = eye(6 * model.nb)
        assert np.allclose(Psi @ (one - Phi), one, atol=1e-9)
        assert np.allclose(op.Psi.T.dense(), np.swapaxes(Psi, -1, -2))
        assert np.allclose((op.e - op.Phi).inverse().dense(), Psi)
        assert np.allclose((op.e - op.Phi.T).inverse().dense(), np.swapaxes(Psi, -1, -2))
        assert np.allclose(op.Psi.inverse().dense(), one - Phi)
        assert np.allclose(op.Psi.T.inverse().dense(), one - np.swapaxes(Phi, -1, -2))
        assert not (op.Phi**op.nilpotency).pattern().any()
        if op.nilpotency > 1:
            assert (op.Phi ** (op.nilpotency - 1)).pattern().any()
            series = sum((op.Phi**k for k in range(2, op.nilpotency)), op.e + op.Phi)
            assert np.allclose(series.dense(), Psi)


def test_sweeps_are_the_products_of_the_spread_out_matrices(case):
    rng = np.random.default_rng(2)
    for lead in LEADS:
        model, *_, op = made(case, lead)
        x = rng.standard_normal((*lead, model.nb, 6))
        n = rng.standard_normal((*lead, model.nv))
        for each in (op.Phi, op.Psi, op.Psi_beta, op.D, op.beta, op.M, op.J):
            for operator in (each, each.T):
                assert np.allclose(flat(operator @ x), times(operator.dense(), flat(x)))
        for each in (op.G, op.K):
            assert np.allclose(flat(each @ n), times(each.dense(), n))
            assert np.allclose(each.T @ x, times(each.T.dense(), flat(x)))
        assert np.allclose(op.R @ n, times(op.R.dense(), n))
        assert np.allclose(op.R.inverse() @ (op.R @ n), n)
        assert np.allclose(op.R.inverse().dense() @ op.R.dense(), eye(model.nv))
        mixed = op.Psi - op.Phi @ op.Psi + op.e
        assert np.allclose(flat(mixed @ x), times(mixed.dense(), flat(x)))
        assert np.allclose(mixed.T.dense(), np.swapaxes(mixed.dense(), -1, -2))


def test_equations_18_are_the_library_s_matrix_and_bias(case):
    for lead in LEADS:
        model, q, v, f_ext, op = made(case, lead)
        bare = model.without(damping=True, friction=True, springs=True)
        M = sf.mass_matrix(model, q)
        assert np.allclose(op.mass_matrix(), M)
        product = op.G.T @ op.Psi.T @ op.M @ op.Psi @ op.G
        rotors = sf.mass_matrix(model.without(armature=True), q)
        assert np.allclose(product.dense(), rotors)
        assert np.allclose(op.C, sf.bias_force(bare, q, v, f_ext))
        by_letters = op.G.T @ (op.Psi.T @ (op.M @ (op.Psi @ op.A) + op.B - op.YF))
        assert np.allclose(op.C, by_letters)
        qdd = np.random.default_rng(4).standard_normal((*lead, model.nv))
        f = sf.inverse_dynamics(bare, q, v, qdd, f_ext)
        assert np.allclose(op.joint_forces(qdd), f)
        assert np.allclose(op.accelerations(qdd), op.Psi @ (op.G @ qdd + op.A))
        F = op.Psi.T @ (op.M @ op.accelerations(qdd) + op.B - op.YF)
        assert np.allclose(op.interbody_forces(qdd), F)
        if op.axes == "body":
            assert np.allclose(F, sf.joint_wrenches(model, q, v, qdd, f_ext))


def test_both_solutions_are_forward_dynamics_and_every_step_is_its_formula(case):
    for lead in LEADS:
        model, q, v, f_ext, op = made(case, lead)
        tau = np.random.default_rng(6).standard_normal((*lead, model.nv))
        want = sf.forward_dynamics(model, q, v, tau, f_ext)
        a, b = op.equation_19a(tau), op.equation_19b(tau)
        scale = np.abs(want).max()
        assert np.allclose(a.qdd, want, atol=1e-9 * scale)
        assert np.allclose(b.qdd, want, atol=1e-9 * scale)
        for name in ("f", "A", "B", "YF", "C", "x"):
            assert np.array_equal(a[name], b[name])
        assert np.allclose(a["x"], a["f"] - a["C"])
        assert np.allclose(a["L"] * a["d"][..., None, :] @ np.swapaxes(a["L"], -1, -2), a["M"])
        assert np.allclose(b["Kx"], op.K @ b["x"])
        assert np.allclose(b["Phi_Kx"], op.Phi.T @ b["Kx"])
        assert np.allclose(b["z"], op.Psi_beta.T @ b["Phi_Kx"])
        assert np.allclose(b["y"], b["x"] - op.G.T @ b["z"])
        assert np.allclose(b["w"], op.R.inverse() @ b["y"])
        assert np.allclose(b["Psi_Gw"], op.Psi_beta @ b["Gw"])
        assert np.allclose(b["u"], op.Phi @ (op.Psi_beta @ (op.G @ b["w"])))
        assert np.allclose(b["qdd"], b["w"] - op.K.T @ b["u"])
        assert b["J"].shape == b["beta"].shape == (*lead, model.nb, 6, 6)
        assert b["K"].shape == (*lead, model.nv, 6) and b["R"].shape == (*lead, model.nv, model.nv)


def test_19b_is_a_product_of_operators(case):
    model, *_, op = made(case)
    left = op.e - op.K.T @ op.Phi @ op.Psi_beta @ op.G
    inverse = left @ op.R.inverse() @ left.T
    assert np.allclose(inverse.dense() @ op.mass_matrix(), eye(model.nv), atol=1e-7)
    x = np.arange(model.nv, dtype=float)
    assert np.allclose(inverse @ x, inverse.dense() @ x)
    beta = (op.e - op.G @ op.K.T) @ op.D
    assert np.allclose(op.beta.dense(), beta.dense(), atol=1e-12)


def test_branch_inertias_are_a_public_quantity(case):
    model, axes = case
    for lead in LEADS:
        _, q, *_, op = made(case, lead)
        J = sf.articulated_inertias(model, q)
        assert J.shape == (*lead, model.nb, 6, 6)
        assert np.allclose(J, sf.articulated_inertias(model, q, backend="numpy"))
        if axes == "body":
            assert np.allclose(J, op.branch_inertias(), atol=1e-9)
        for k in range(model.nb):
            if k not in model.parent:
                assert np.allclose(J[..., k, :, :], np.asarray(model.bodies[k].inertia))
        assert np.allclose(J, np.swapaxes(J, -1, -2))
        # a branch that yields resists less than one that is locked: composite inertias
        assert np.linalg.eigvalsh(J).min() > -1e-9


def test_branches_of_other_inertias():
    model = sf.load("tree6")
    q, _ = sf.random_state(model, 2, seed=2)
    own = np.stack([body.inertia.array() for body in model.bodies])
    found = sf.articulated_inertias(model, q, inertias=2 * own)
    assert np.allclose(found, 2 * sf.articulated_inertias(model, q))


def test_symbols_give_example_2_of_the_source():
    x, theta, rate = sympy.symbols("x theta thetadot", real=True)
    model = sf.load("cart_pendulum")
    op = sf.operators.influence_operators(model, [x, theta], [0, rate], axes="inertial")
    M = sympy.Matrix(op.mass_matrix())
    L, m1, m2, I2 = 0.4, 2.0, 0.5, 0.01
    c = m2 * L * sympy.cos(theta)
    want = sympy.Matrix([[m1 + m2, c], [c, I2 + m2 * L**2]])
    assert all(abs(n) < 1e-12 for n in (M - want).subs({theta: 0.7}).evalf())
    C = [sympy.sympify(n) for n in op.C]
    printed = (-m2 * L * sympy.sin(theta) * rate**2, m2 * 9.81 * L * sympy.sin(theta))
    for found, right in zip(C, printed, strict=True):
        assert abs(float((found - right).subs({theta: 0.7, rate: 1.3}))) < 1e-12
    assert op.nilpotency == 2 and np.array_equal(op.Phi.block(2, 1).astype(float), np.eye(6))
    qdd = op.equation_19b([0, 0]).qdd
    numbers = {theta: 0.7, rate: 1.3}
    found = [float(sympy.sympify(n).subs(numbers)) for n in qdd]
    assert np.allclose(found, sf.forward_dynamics(model, [0, 0.7], [0, 1.3], [0, 0]))


def test_long_numbers_stay_long():
    model = sf.load("double_pendulum")
    with gmpy2.context(gmpy2.get_context(), precision=200):
        q = [gmpy2.mpfr("0.3"), gmpy2.mpfr("-0.7")]
        op = sf.operators.influence_operators(model, q, [gmpy2.mpfr(1), gmpy2.mpfr(2)])
        for solution in (op.equation_19a([0, 0]), op.equation_19b([0, 0])):
            assert all(x.precision == 200 for x in solution.qdd)
            want = sf.forward_dynamics(model, q, [1, 2], [0, 0])
            assert max(abs(a - b) for a, b in zip(solution.qdd, want, strict=True)) < 1e-15
        one = op.Psi @ (op.e - op.Phi)
        assert max(abs(x) for x in (one.dense() - np.eye(12)).ravel()) < 1e-50


def test_operators_print_as_matrices_of_blocks():
    op = sf.operators.influence_operators(sf.load("tree10"), np.zeros(10))
    text = str(op.Phi)
    assert text.splitlines()[0] == "Phi_D =" and text.count("D10") == 1
    assert str(op.Psi).splitlines()[8].split()[1] == "D8D7D4D3"
    assert repr(op.Psi) == "<Psi_D: 10 x 10 blocks, 29 not zero, 60 x 60 numbers>"
    assert op.Phi.pattern().sum() == 9
    product = op.G.T @ op.Psi.T @ op.M @ op.Psi @ op.G
    assert product.name == "G^T Psi_D^T M Psi_D G" and "#" in str(product)
    assert max(map(len, str(product).splitlines())) <= 80
    assert "nilpotency 5" in repr(op) and str(op).count("=\n") == 2
    many = sf.operators.influence_operators(sf.load("tree10"), np.zeros((4, 10)))
    assert "4 states" in repr(many) and "several states" in many.Phi._repr_html_()


def test_notebooks_get_html_and_latex():
    op = sf.operators.influence_operators(sf.load("tree10"), np.zeros(10))
    latex = op.Psi._repr_latex_()
    assert latex.startswith("$\\Psi_{D} = ") and "D_{8}D_{7}D_{4}D_{3}" in latex
    assert latex.count("\\\\") == 9 and "\\Phi_{D}" in op._repr_latex_()
    assert "(D_{2})^T" in op.Phi.T._repr_latex_() and "\\beta_{2}" in op.Psi_beta._repr_latex_()
    html = op.Phi._repr_html_()
    assert html.count("<tr>") == 11 and "D<sub>10</sub>" in html and html.count("title=") == 9
    assert op._repr_html_().count("<table") == 2
    long = sf.operators.influence_operators(sf.load("planar_chain:30"), np.zeros(30))
    assert long.Phi._repr_latex_() is None and "#" in str(long.Psi)
    steps = op.equation_19b(np.zeros(10))
    assert steps._repr_html_().count("<tr>") == 20 and "Psi_b^T Phi^T K x" in str(steps)
    assert list(steps)[-1] == "qdd" and "19 steps" in repr(steps)


def test_dictionaries_of_bodies_go_through_as_they_are():
    model = sf.load("tree6")
    op = sf.operators.influence_operators(model, np.zeros(6))
    x = {i: sf.spatial.Motion.of(np.arange(6.0) + i) for i in model.tree.bodies}
    y = op.Psi @ x
    assert isinstance(y[3], sf.spatial.Motion)
    array = np.stack([np.asarray(x[i]) for i in sorted(x)])
    assert np.allclose(np.stack([np.asarray(y[i]) for i in sorted(y)]), op.Psi @ array)
    with pytest.raises(sf.errors.ArgumentError, match="body 2"):
        op.Psi @ {1: x[1]}
    with pytest.raises(sf.errors.ArgumentError, match="expected: a Force"):
        op.Psi.T @ x


def test_arrays_of_operators():
    op = sf.operators.influence_operators(sf.load("tree6"), np.zeros(6))
    assert np.array_equal(np.asarray(op.Phi), op.Phi.dense())
    assert np.asarray(op.Phi, np.float32).dtype == np.float32
    assert np.array_equal(op.Phi.block(1, 2), np.zeros((6, 6)))
    assert np.array_equal(op.Phi.block(2, 1), op.Phi.dense()[6:12, :6])
    assert op.G.shape == (36, 6) and op.G.T.shape == (6, 36)
    with pytest.raises(TypeError):
        np.eye(36) @ op.Phi
    with pytest.raises(ValueError, match="has to be made"):
        np.array(op.Phi, copy=False)


def test_operators_of_a_state_travel_and_single_ones_say_how():
    op = sf.operators.influence_operators(sf.load("tree6"), np.linspace(0, 1, 6), np.ones(6))
    Psi = op.Psi.dense()
    again = pickle.loads(pickle.dumps(op))
    assert np.array_equal(again.Psi.dense(), Psi) and np.array_equal(again.C, op.C)
    with pytest.raises(sf.errors.NotApplicableError, match="pickle the object"):
        pickle.dumps(op.Psi)


def test_what_does_not_go_together_is_refused():
    model = sf.load("tree6")
    op = sf.operators.influence_operators(model, np.zeros((4, 6)))
    refused = [
        (lambda: op.Psi @ op.Psi.T, sf.errors.ShapeError, "gives forces"),
        (lambda: op.Psi + op.G, sf.errors.ShapeError, "operator from motions to motions"),
        (lambda: op.Psi @ np.zeros(5), sf.errors.ShapeError, "Psi_D @ x"),
        (lambda: op.Psi @ np.zeros((3, 6, 6)), sf.errors.ShapeError, "those of the state"),
        (lambda: op.Psi @ "x", sf.errors.SixfoldError, "Psi_D @ x"),
        (lambda: op.equation_19b(np.zeros((3, 6))), sf.errors.ShapeError, "those of the state"),
        (lambda: op.equation_19a([1.0]), sf.errors.ShapeError, "equation_19a"),
        (lambda: op.M.inverse(), sf.errors.NotApplicableError, "numpy.linalg.inv"),
        (lambda: op.Phi.block(0, 1), sf.errors.OptionError, "a body from 1 to 6"),
        (lambda: op.Phi**-1, sf.errors.OptionError, "whole number from 1"),
        (lambda: op.G**2, sf.errors.NotApplicableError, "takes numbers.* and gives motions"),
        (
            lambda: op.equation_19b(np.zeros(6))["Q"],
            sf.errors.UnknownNameError,
            "no step named 'Q'",
        ),
        (
            lambda: op.Phi @ sf.operators.influence_operators(sf.load("tree6"), np.zeros(6)).Phi,
            sf.errors.SixfoldError,
            "two",
        ),
    ]
    for call, error, words in refused:
        with pytest.raises(error, match=words):
            call()
    with pytest.raises(TypeError):
        op.Phi + 1.0


def test_models_and_options_that_do_not_apply():
    loop = sf.load("four_bar_leg")
    q, theta = sf.neutral(loop), sympy.Symbol("theta")
    pendulum = sf.load("pendulum")
    refused = [
        (
            lambda: sf.operators.influence_operators(loop, q),
            sf.errors.NotApplicableError,
            "constraints",
        ),
        (lambda: sf.articulated_inertias(loop, q), sf.errors.NotApplicableError, "constraints"),
        (lambda: sf.operators.influence_operators("tree10", [0]), sf.errors.ArgumentError, "Model"),
        (
            lambda: sf.operators.influence_operators(pendulum, [0], axes="world"),
            sf.errors.OptionError,
            "axes",
        ),
        (
            lambda: sf.operators.influence_operators(pendulum, [0], f_ext_frame="body"),
            sf.errors.NotApplicableError,
            "f_ext",
        ),
        (lambda: sf.operators.influence_operators(pendulum, [0, 1]), sf.errors.ShapeError, "'q'"),
        (
            lambda: sf.operators.influence_operators(pendulum, [[theta], [0]]),
            sf.errors.NotApplicableError,
            "batch",
        ),
        (
            lambda: sf.operators.influence_operators(
                sf.load("floating_link"), np.ones(8), axes="inertial"
            ),
            sf.errors.SixfoldError,
            "no fixed axis",
        ),
    ]
    for call, error, words in refused:
        with pytest.raises(error, match=words):
            call()
    builder = sf.ModelBuilder("pair")
    solid = sf.Inertia.from_mass(1.0, (0.1, 0, 0), (1, 1, 1))
    for name in ("a", "b"):
        builder.add_body(name, joint=sf.Revolute("z"), inertia=solid)
    coupled = builder.couple("b_joint", ("a_joint", 2.0)).build()
    for call in (sf.operators.influence_operators, sf.articulated_inertias):
        with pytest.raises(sf.errors.NotApplicableError, match="couplings"):
            call(coupled, [0.1])
    massless = sf.ModelBuilder("light").add_body("a", joint=sf.Revolute("z")).build()
    assert sf.operators.influence_operators(massless, [0.1]).Phi.dense().shape == (6, 6)
    for call in (
        lambda: sf.operators.influence_operators(massless, [0.1]).J,
        lambda: sf.articulated_inertias(massless, [0.1]),
    ):
        with pytest.raises(sf.errors.SingularModelError):
            call()


def test_the_example_runs():
    assert not doctest.testmod(module).failed
