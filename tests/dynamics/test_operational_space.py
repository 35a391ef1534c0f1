"""Operational space: Lambda, mu, p and the dynamically consistent inverse, by their definitions."""

import warnings

import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold import control
from tests.evaluate.small_models import coupled_arm, held_arm

SAMPLES = ("puma560", "quadruped", "floating_link", "ma23", "tree10", "random_tree:9:4")
EXAMPLES = (
    *(
        "panda",
        "ur5",
        "ur10",
        "kinova",
        "z1",
        "xarm7",
        "baxter",
        "tiago",
        "talos_full",
        "laikago",
        "hyq",
    ),
    *("anymal_b", "solo12", "a1", "go1", "b1"),
)
ROWS = {"pose": [0, 1, 2, 3, 4, 5], "position": [3, 4, 5], "orientation": [0, 1, 2], (5, 1): [5, 1]}
STATES = 4
BAR = 1e-11


def robot(name):
    try:
        return sf.load(name)
    except sf.errors.UnknownNameError:
        pytest.skip(f"{name} needs example-robot-data")


def frame_of(model):
    """Return the body at the end of the longest way from the base, and how many joints move it."""
    freedoms = {
        body: sum(model.tree.joint[i].nv for i in model.tree.support(k + 1))
        for k, body in enumerate(model.body_names)
    }
    return max(freedoms.items(), key=lambda item: item[1])


def by_definition(model, q, v, name, rows, **options):
    """Return Lambda, mu, p, Jbar, N and G of one state with dense linear algebra."""
    J = sf.jacobian(model, q, name, **options)[rows]
    bias = sf.jacobian_bias(model, q, v, name, **options)[rows]
    M, C = sf.mass_matrix(model, q), sf.bias_force(model, q, v)
    g = sf.gravity_force(model, q)
    G = J @ np.linalg.solve(M, J.T)
    inertia = np.linalg.inv(G)
    Jbar = np.linalg.solve(M, J.T) @ inertia
    mu = Jbar.T @ (C - g) - inertia @ bias
    return inertia, mu, Jbar.T @ g, Jbar, np.eye(model.nv) - J.T @ Jbar.T, G


def regular_states(model, frame, rows):
    """Return states at which the task is far from singular, or None if there are none."""
    q, v = sf.random_state(model, 60, seed=5)
    J, M = sf.jacobian(model, q, frame)[:, rows], sf.mass_matrix(model, q)
    # rows of different units are compared by their own sizes
    G = J @ np.linalg.solve(M, np.swapaxes(J, 1, 2))
    size = np.sqrt(np.einsum("nii->ni", G))
    with np.errstate(all="ignore"):
        cond = np.linalg.cond(np.nan_to_num(G / size[:, :, None] / size[:, None, :]))
    order = np.argsort(np.where(np.isfinite(cond), cond, np.inf))[:STATES]
    return (q[order], v[order]) if cond[order].max() < 1e4 else None


def assert_agree(found, expected, scale):
    np.testing.assert_allclose(found, expected, rtol=0, atol=BAR * scale)


def check(model, frame, rows, states, backend):
    q, v = states
    options = {"rows": rows, "backend": backend}
    inertia, mu, p = control.operational_space_dynamics(model, q, v, frame, **options)
    alone = control.operational_space_inertia(model, q, frame, **options)
    Jbar = control.dynamically_consistent_inverse(model, q, frame, **options)
    N = control.null_space_projector(model, q, frame, **options)
    G = control.operational_space_mobility(model, q, frame, **options)
    np.testing.assert_array_equal(inertia, np.swapaxes(inertia, 1, 2))
    for k in range(len(q)):
        expected = by_definition(model, q[k], v[k], frame, ROWS.get(rows, list(rows)))
        sizes = [np.abs(x).max() for x in expected]
        # mu and p are small differences where gravity does not pull the frame
        sizes[1] = sizes[2] = sizes[1] + sizes[2] + 1e-9
        sizes[4] += 1.0
        found = inertia[k], mu[k], p[k], Jbar[k], N[k], G[k]
        for x, y, size in zip(found, expected, sizes, strict=True):
            assert_agree(x, y, size)
        assert_agree(alone[k], expected[0], sizes[0])


@pytest.mark.parametrize("name", [*SAMPLES, *EXAMPLES])
def test_it_is_what_dense_linear_algebra_gives(name):
    model = robot(name)
    if model.constraints:
        model = model.without(constraints=True)
    frame, freedoms = frame_of(model)
    # as many rows as the joints can move
    for rows in ("pose", "position", (1, 3, 5), (3, 5), (5,)):
        if freedoms < len(ROWS.get(rows, rows)):
            continue
        states = regular_states(model, frame, ROWS.get(rows, list(rows)))
        if states is not None:
            return check(model, frame, rows, states, "numpy")
    raise AssertionError("there is no task for this robot")


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", ["puma560", "floating_link", "random_tree:9:4"])
def test_machine_code_gives_it_for_every_choice_of_rows(name, rows):
    model = sf.load(name)
    frame, _ = frame_of(model)
    check(model, frame, rows, regular_states(model, frame, ROWS[rows]), None)


def test_a_point_and_other_axes_are_those_of_the_jacobian():
    model = sf.load("puma560").without(friction=True)
    q, v = sf.random_state(model, seed=2)
    point = np.array([0.1, -0.2, 0.3])
    for options in ({"point": point}, {"frame": "world"}, {"frame": "body", "point": point}):
        expected = by_definition(model, q, v, "link6", ROWS["position"], **options)
        options = {**options, "rows": "position"}
        found = control.operational_space_dynamics(model, q, v, "link6", **options)
        for x, y in zip(found, expected, strict=False):
            np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9 * np.abs(expected[0]).max())


def test_couplings_are_reduced_and_inertias_take_part():
    for model, rows in ((coupled_arm(), (3, 4)), (sf.load("cart_pendulum"), (2, 3))):
        q, v = sf.random_state(model, seed=3)
        frame = model.body_names[-1]
        inertias = np.array([body.inertia.array() for body in model.bodies]) * 2
        expected = by_definition(model, q, v, frame, list(rows))
        found = control.operational_space_dynamics(model, q, v, frame, rows=rows)
        heavy = control.operational_space_inertia(model, q, frame, rows=rows, inertias=inertias)
        rotors = model.without(armature=True)
        light = control.operational_space_inertia(rotors, q, frame, rows=rows)
        for x, y in zip(found, expected, strict=False):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)
        if model.name == "cart_pendulum":
            np.testing.assert_allclose(heavy, 2 * light, rtol=1e-12)


def test_the_projector_moves_the_joints_and_not_the_frame():
    arm = robot("panda").without(friction=True)
    q, v = sf.random_state(arm, seed=4)
    N = control.null_space_projector(arm, q, "panda_hand")
    J = sf.jacobian(arm, q, "panda_hand")
    tau = N @ np.ones(arm.nv)
    a = sf.inverse_mass_matrix(arm, q) @ tau
    assert np.abs(a).max() > 0.1 and np.abs(J @ a).max() < 1e-9 * np.abs(a).max()
    np.testing.assert_allclose(N @ N, N, atol=1e-11)
    np.testing.assert_allclose(J @ N.T @ v, 0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("backend", [None, "numpy"])
def test_a_singular_configuration_gives_nan_and_says_so(dtype, backend):
    arm = sf.load("puma560")
    q = np.array([[0.1, 0.5, -0.3, 0.2, 0.6, 0.1], [0.1, 0.5, -0.3, 0.2, 0.0, 0.1]], dtype)
    calls = {
        "operational_space_inertia": (q,),
        "operational_space_dynamics": (q, np.ones_like(q)),
        "dynamically_consistent_inverse": (q,),
        "null_space_projector": (q,),
    }
    for name, arrays in calls.items():
        with pytest.warns(sf.errors.SingularPivotWarning, match=f"{name}: 1 of 2 states"):
            found = getattr(control, name)(arm, *arrays, "link6", backend=backend)
        first = found[0] if isinstance(found, tuple) else found
        assert np.isfinite(first[0]).all() and np.isnan(first[1]).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        G = control.operational_space_mobility(arm, q, "link6", backend=backend)
        spoilt = control.operational_space_inertia(arm, np.full((1, 6), np.nan, dtype), "link6")
    assert np.isfinite(G).all() and np.isnan(spoilt).all()


def test_letters_give_the_equation_of_a_book():
    """A point on a rod of moment of inertia I at the distance l feels I / l^2 across it."""
    pendulum, theta = sf.load("pendulum"), sp.Symbol("theta")
    inertia = control.operational_space_inertia(pendulum, [theta], "bob", (0, -0.5, 0), rows=(3,))
    M = sf.mass_matrix(pendulum, [0.0])[0, 0]
    value = sp.simplify(sp.sympify(inertia[0, 0]) * (0.5 * sp.cos(theta)) ** 2)
    assert float(value.subs(theta, 0.3)) == pytest.approx(M)
    assert not sp.sympify(inertia[0, 0]).has(sp.Piecewise)


def test_a_law_that_uses_it_is_compiled():
    arm = sf.load("double_pendulum")

    def law(t, q, v):
        options = {"rows": (3, 5)}
        inertia, mu, p = control.operational_space_dynamics(arm, q, v, "tip", **options)
        return sf.jacobian(arm, q, "tip")[[3, 5]].T @ (inertia @ np.array([-1.0, 0.5]) + mu + p)

    run = sf.simulate(arm, [0.3, 0.9], [0.2, -0.1], 0.05, control=law)
    assert run.notes == ()
    a = sf.forward_dynamics(arm, run.q[3], run.v[3], run.tau[3])
    J, bias = sf.jacobian(arm, run.q[3], "tip"), sf.jacobian_bias(arm, run.q[3], run.v[3], "tip")
    np.testing.assert_allclose((J @ a + bias)[[3, 5]], [-1.0, 0.5], atol=1e-9)


NAMES = (
    *("operational_space_inertia", "operational_space_mobility", "null_space_projector"),
    "dynamically_consistent_inverse",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("model", "frame", "options", "kind", "words"),
    [
        ("puma560", "hand", {}, sf.errors.UnknownNameError, "argument 'name'"),
        ("puma560", "link6", {"rows": "pos"}, sf.errors.OptionError, "option 'rows'"),
        ("puma560", "link6", {"rows": (3, 3)}, sf.errors.OptionError, "option 'rows'"),
        ("puma560", "link6", {"rows": (6,)}, sf.errors.OptionError, "option 'rows'"),
        ("puma560", "link6", {"rows": ()}, sf.errors.OptionError, "option 'rows'"),
        ("puma560", "link6", {"frame": "worl"}, sf.errors.OptionError, "option 'frame'"),
        ("puma560", "world", {}, sf.errors.NotApplicableError, "0 degrees of freedom for 6 rows"),
        ("held_arm", "link3", {}, sf.errors.NotApplicableError, "with constraints"),
    ],
)
def test_what_makes_no_sense_is_refused(name, model, frame, options, kind, words):
    model = held_arm() if model == "held_arm" else sf.load(model)
    frame = model.base_name if frame == "world" else frame
    with pytest.raises(kind, match=words) as caught:
        getattr(control, name)(model, np.zeros(model.nq), frame, **options)
    assert "fix: " in str(caught.value)


def test_more_rows_than_joints_are_refused():
    arm = sf.load("double_pendulum")
    with pytest.raises(sf.errors.NotApplicableError, match="2 degrees of freedom for 6 rows"):
        control.operational_space_inertia(arm, [0.1, 0.2], "tip")
