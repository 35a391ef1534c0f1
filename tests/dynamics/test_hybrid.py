"""Hybrid and floating-base inverse dynamics: with forward dynamics, and their derivatives."""

import itertools

import numpy as np
import pytest

import sixfold as sf
from sixfold.scalar import differentiate
from tests.evaluate.small_models import coupled_arm, held_arm

STATES = 3
EPS = np.finfo(float).eps


def case(model, seed, states=()):
    """Return q, v, tau and a that belong together, and what is given in place of the others."""
    q, v = sf.random_state(model, states, seed=seed)
    a = np.random.default_rng(seed).standard_normal((*states, model.nv))
    return q, v, sf.inverse_dynamics(model, q, v, a, backend="numpy"), a


def hidden(model, tau, a, given):
    """Return tau and a with NaN for what is not to be read, and a mask of the given rows."""
    mask = np.zeros(model.nv, bool)
    for name in given:
        mask[model.v_slice(name)] = True
    return np.where(mask, 7.0, tau), np.where(mask, a, 7.0), mask


def error(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)


def test_200_random_trees_agree_with_forward_dynamics():
    """The forces found, in forward dynamics, give the accelerations found."""
    rng, errors = np.random.default_rng(0), []
    for seed in range(200):
        model = sf.random_tree(int(rng.integers(2, 9)), seed=seed, properties=seed % 2 == 0)
        q, v, tau, a = case(model, seed)
        given = [name for name in model.joint_names if rng.random() < 0.5]
        tau_given, a_given, mask = hidden(model, tau, a, given)
        found, forces = sf.hybrid_dynamics(
            model, q, v, tau_given, a_given, given=given, backend="numpy"
        )
        assert np.array_equal(found[mask], a[mask]) and np.array_equal(forces[~mask], tau[~mask])
        expected = sf.forward_dynamics(model, q, v, forces, backend="numpy")
        errors.append(error(found, expected))
        if errors[-1] > 1e-12:
            cond = np.linalg.cond(sf.mass_matrix(model, q, backend="numpy"))
            assert errors[-1] <= 16 * EPS * cond, (seed, given)
        # whatever the condition, the forces are those of the accelerations
        back = sf.inverse_dynamics(model, q, v, found, backend="numpy")
        assert np.abs(back - forces).max() <= 1e-12 * max(np.abs(tau).max(), 1.0), (seed, given)
    assert np.mean(np.array(errors) <= 1e-12) >= 0.99


@pytest.mark.parametrize("backend", ["numpy", None])
def test_every_subset_of_joints_of_small_trees(backend):
    models = [sf.random_tree(4, seed=seed, properties=True) for seed in (1, 4)]
    models = [*models, sf.load("floating_link")] if backend == "numpy" else models[:1]
    for model in models:
        q, v, tau, a = case(model, 1, (STATES,))
        for count in range(model.nb + 1):
            for given in itertools.combinations(model.joint_names, count):
                tau_given, a_given, _ = hidden(model, tau, a, given)
                options = {"given": given, "backend": backend}
                found, forces = sf.hybrid_dynamics(model, q, v, tau_given, a_given, **options)
                assert error(found, a) <= 1e-12 and error(forces, tau) <= 1e-12, given


def test_external_forces_and_other_inertias_take_part():
    model = sf.random_tree(5, seed=2, properties=True)
    q, v, tau, a = case(model, 2)
    f_ext = np.random.default_rng(1).standard_normal((model.nb, 6))
    inertias = np.array([body.inertia.array() for body in model.bodies]) * 2
    for frame in ("world", "body"):
        options = {"f_ext": f_ext, "f_ext_frame": frame, "inertias": inertias}
        found, forces = sf.hybrid_dynamics(model, q, v, tau, a, given=["joint2"], **options)
        np.testing.assert_allclose(
            sf.inverse_dynamics(model, q, v, found, **options), forces, rtol=1e-10, atol=1e-10
        )


def test_without_names_it_is_floating_base_inverse_dynamics():
    """a_b = -M_bb^-1 p_b and tau = p + M a_b, with p = ID at zero base acceleration."""
    model = sf.load("floating_link")
    q, v, _, a = case(model, 3, (STATES,))
    found, forces = sf.hybrid_dynamics(model, q, v, np.zeros_like(v), a)
    at_rest = np.where(np.arange(model.nv) < 6, 0.0, a)
    p, M = sf.inverse_dynamics(model, q, v, at_rest), sf.mass_matrix(model, q)
    base = -np.linalg.solve(M[:, :6, :6], p[:, :6, None])
    np.testing.assert_allclose(found[:, :6], base[..., 0], rtol=1e-11)
    np.testing.assert_allclose(forces, p + (M[:, :, :6] @ base)[..., 0], atol=1e-11)
    assert not forces[:, :6].any()


def test_without_a_floating_base_and_without_names_it_is_inverse_dynamics():
    arm = sf.load("puma560")
    q, v, tau, a = case(arm, 4)
    found, forces = sf.hybrid_dynamics(arm, q, v, np.full(6, 7.0), a)
    assert np.array_equal(found, a) and error(forces, tau) <= 1e-14


@pytest.mark.parametrize("given", [[], ["link1_joint"], ["link2_joint"]])
def test_couplings_are_solved_by_the_reduced_mass_matrix(given):
    model = coupled_arm()
    q, v, tau, a = case(model, 5)
    tau_given, a_given, _ = hidden(model, tau, a, given)
    found, forces = sf.hybrid_dynamics(model, q, v, tau_given, a_given, given=given)
    assert error(found, a) <= 1e-12 and error(forces, tau) <= 1e-12


@pytest.mark.parametrize("backend", ["numpy", None])
@pytest.mark.parametrize(
    ("model", "given"),
    [
        (sf.random_tree(5, seed=3, properties=True), ["joint2", "joint5"]),
        (sf.load("floating_link"), None),
        (coupled_arm(), ["link1_joint"]),
    ],
    ids=["tree", "floating", "coupled"],
)
def test_derivatives_are_those_of_dual_numbers(model, given, backend):
    q, v, tau, a = case(model, 6)
    mask = hidden(model, tau, a, given or model.joint_names[1:])[2]
    found = sf.derivatives.hybrid_dynamics_derivatives(
        model, q, v, tau, a, given=given, backend=backend
    )
    reading = sf.runtime.QUANTITIES["hybrid_dynamics"].reading

    def unknowns(numbers):
        parts = np.split(np.array(numbers, object), np.cumsum([model.nq, model.nv, model.nv]))
        out = reading(model, model.tree, *map(list, parts), given=given)
        return [out[k + model.nv * int(mask[k])] for k in range(model.nv)]

    at = [*q, *v, *tau, *a]
    rest = np.zeros(2 * model.nv)
    for k in range(model.nv):
        unit = np.eye(model.nv)[k]
        rate = sf.position_rate(model, q, unit)
        moves = (
            [*rate, *(0 * unit), *rest],
            [*(0 * q), *unit, *rest],
            [*(0 * q), *(0 * unit), *np.where(mask, 0, unit), *np.where(mask, unit, 0)],
        )
        for slopes, move in zip(found, moves, strict=True):
            _, expected = differentiate(unknowns, at, move)
            expected = np.array([float(x) for x in expected])
            bar = 1e-10 * max(1.0, np.abs(slopes).max())
            np.testing.assert_allclose(slopes[:, k], expected, rtol=0, atol=bar)


def test_derivatives_are_those_of_differences():
    model, h = sf.load("puma560").without(friction=True), 1e-6
    given = [model.joint_names[1], model.joint_names[4]]
    q, v, tau, a = case(model, 7)
    mask = hidden(model, tau, a, given)[2]

    def unknowns(q, v, x):
        all_a, all_tau = sf.hybrid_dynamics(
            model, q, v, np.where(mask, 0, x), np.where(mask, x, 0), given=given
        )
        return np.where(mask, all_tau, all_a)

    x = [q, v, np.where(mask, a, tau)]
    found = sf.derivatives.hybrid_dynamics_derivatives(model, q, v, tau, a, given=given)
    for k, slopes in enumerate(found):
        for j, unit in enumerate(np.eye(6)):
            up, down = (
                unknowns(*[y + s * h * unit if m == k else y for m, y in enumerate(x)])
                for s in (1, -1)
            )
            scale = max(1.0, np.abs(slopes).max())
            np.testing.assert_allclose((up - down) / (2 * h), slopes[:, j], atol=1e-6 * scale)


def test_derivatives_at_both_ends_are_the_known_ones():
    model = sf.random_tree(4, seed=5, properties=True)
    q, v, tau, a = case(model, 8)
    derivatives, by_numpy = sf.derivatives, {"backend": "numpy"}
    every = list(model.joint_names)
    for given, expected in (
        ([], derivatives.forward_dynamics_derivatives(model, q, v, tau, **by_numpy)),
        (every, derivatives.inverse_dynamics_derivatives(model, q, v, a, **by_numpy)),
    ):
        options = {"given": given, **by_numpy}
        found = derivatives.hybrid_dynamics_derivatives(model, q, v, tau, a, **options)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * max(1, np.abs(y).max()))


def test_it_is_linear_in_the_number_of_bodies():
    counts = {}
    for n in (8, 16, 24):
        model = sf.random_tree(n, seed=1, joints=[sf.Revolute], branching=0.0)
        half = model.joint_names[::2]

        def some(q, v, tau, a, model=model, half=half):
            return sf.hybrid_dynamics(model, q, v, tau, a, given=half)

        counts[n] = sf.compile(some, model).flops
    assert counts[24] - counts[16] <= 1.05 * (counts[16] - counts[8])


def test_it_compiles_exports_and_runs_on_symbols():
    import sympy as sp

    arm = sf.load("double_pendulum")
    q, v, tau, a = case(arm, 9, (STATES,))
    kernel = sf.compile(sf.hybrid_dynamics, arm)
    for x, y in zip(kernel(q, v, tau, a), sf.hybrid_dynamics(arm, q, v, tau, a), strict=True):
        np.testing.assert_array_equal(x, y)
    assert "hybrid_dynamics" in next(iter(sf.export(arm, sf.hybrid_dynamics).files))
    x = np.array(sp.symbols("q0 q1 v0 v1 t0 t1 a0 a1")).reshape(4, 2)
    letters = sf.hybrid_dynamics(arm, *x, given=["shoulder"])
    numbers = sf.hybrid_dynamics(arm, q[0], v[0], tau[0], a[0], given=["shoulder"])
    values = dict(zip(x.ravel(), np.array([q[0], v[0], tau[0], a[0]]).ravel(), strict=True))
    for row, expected in zip(letters, numbers, strict=True):
        found = [float(sp.sympify(each).subs(values)) for each in row]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["hybrid_dynamics", "hybrid_dynamics_derivatives"])
@pytest.mark.parametrize(
    ("model", "given", "kind", "words"),
    [
        (held_arm(), None, sf.errors.NotApplicableError, "does not apply to model 'held_arm'"),
        (sf.load("double_pendulum"), "elbow", sf.errors.OptionError, "names of joints in a list"),
        (sf.load("double_pendulum"), ["elbo"], sf.errors.UnknownNameError, "did you mean|elbow"),
        (sf.load("double_pendulum"), [1], sf.errors.OptionError, "names of joints in a list"),
        (coupled_arm(), ["link3_joint"], sf.errors.ModelError, "follows other joints"),
    ],
)
def test_what_makes_no_sense_is_refused(name, model, given, kind, words):
    place = sf if name == "hybrid_dynamics" else sf.derivatives
    q, v, tau, a = (np.zeros(n) for n in (model.nq, model.nv, model.nv, model.nv))
    with pytest.raises(kind, match=words):
        getattr(place, name)(model, q, v, tau, a, given=given)
