"""`inertias=`: every quantity of inertial parameters that are given beside the state."""

import inspect
import warnings
from functools import partial

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime import KERNELS, all_quantities
from tests.evaluate.small_models import (
    CONSTRAINED,
    UNCOUPLED,
    coupled_arm,
    held_arm,
    spherical_tree,
)
from tests.public_names import find

ROWS = {name: row for name, row in all_quantities().items() if "inertias" in row.arrays}
MODELS = {
    "double_pendulum": lambda: sf.load("double_pendulum"),
    "floating_link": lambda: sf.load("floating_link"),
    "spherical_tree": spherical_tree,
    "coupled_arm": coupled_arm,
}
COMPILED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "joint_wrenches")
"""What is compiled for each model; for the first of them it is every quantity."""
STATES = 4


def parameters_of(model):
    return np.array([body.inertia.array() for body in model.bodies])


def other_bodies(model, sets=()):
    """Return inertial parameters of bodies that can exist, other than the model's own."""
    rng = np.random.default_rng(5)
    found = np.empty((*sets, model.nb, 10))
    for index in np.ndindex(*sets, model.nb):
        center, moments = rng.uniform(-0.3, 0.3, 3), rng.uniform(0.2, 0.3, 3)
        inertia = sf.Inertia.from_mass(rng.uniform(0.5, 3.0), center, moments)
        found[index] = inertia.array()
    return found


def replaced(model, parameters):
    """Return the model with these bodies."""
    bodies = [sf.Inertia.from_parameters(ten) for ten in parameters]
    return sf.replace_inertias(model, dict(zip(model.body_names, bodies, strict=True)))


def fitting(name, model):
    """Return a model that a function applies to, tree or with constraints."""
    return held_arm() if name in CONSTRAINED else model


def given(row, model, lead=(STATES,)):
    """Return the other arrays of a call by name."""
    q, v = sf.random_state(model, lead, seed=3)
    some = {"q": q, "v": v, "a": np.cos(v), "tau": np.sin(v), "weights": np.cos(2 * v)}
    return {name: some[name] for name in row.arrays if name not in row.optional}


def several(result):
    return result if isinstance(result, tuple) else (result,)


def assert_close(found, expected, eps=1e-11):
    for x, y in zip(several(found), several(expected), strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=0, atol=eps * max(1.0, np.abs(y).max()))


def test_every_quantity_that_depends_on_inertias_takes_them():
    names = {
        *("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_mass_matrix"),
        *("bias_force", "gravity_force", "coriolis_matrix", "kinetic_energy", "potential_energy"),
        *("momentum", "centroidal_momentum", "center_of_mass", "joint_wrenches"),
        *("joint_reaction_forces", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"),
        *(
            "inverse_dynamics_second_derivatives",
            "forward_dynamics_second_derivatives",
            "center_of_mass_jacobian",
        ),
        *("centroidal_momentum_matrix", "centroidal_momentum_bias", "kinetic_energy_derivatives"),
        *("centroidal_momentum_derivatives", "potential_energy_derivatives"),
        *("constrained_dynamics", "project", "articulated_inertias"),
        *("hybrid_dynamics", "hybrid_dynamics_derivatives"),
    }
    assert set(ROWS) == names
    model = sf.load("double_pendulum")
    heavy = parameters_of(model) * 2 + np.eye(2, 10)
    for name in set(names) - set(CONSTRAINED):  # and it has an effect
        arrays = given(ROWS[name], model)
        function = partial(find(name), model, **arrays, backend="numpy")
        own, other = function(), function(inertias=heavy)
        assert any((x != y).any() for x, y in zip(several(own), several(other), strict=True)), name


@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize("robot", MODELS)
def test_it_is_the_model_with_those_bodies(robot, backend):
    for name, row in ROWS.items():
        whole = robot == "double_pendulum" or (backend == "numpy" and name not in CONSTRAINED)
        if (not whole and name not in COMPILED) or (robot == "coupled_arm" and name in UNCOUPLED):
            continue
        model, function = fitting(name, MODELS[robot]()), find(name)
        parameters = other_bodies(model)
        arrays = given(row, model)
        expected = function(replaced(model, parameters), **arrays, backend="numpy")
        found = function(model, **arrays, inertias=parameters, backend=backend)
        assert_close(found, expected, 1e-10)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "energies"])
def test_sets_of_bodies_broadcast_against_states(name):
    model = sf.load("puma560")
    parameters = other_bodies(model, (3, 1))
    if name == "energies":
        q, v = sf.random_state(model, STATES, seed=1)
        found = sf.kinetic_energy(model, q, v, inertias=parameters)
        each = [sf.kinetic_energy(replaced(model, p[0]), q, v) for p in parameters]
    else:
        function, arrays = find(name), given(ROWS[name], model)
        found = function(model, **arrays, inertias=parameters)
        each = [function(replaced(model, p[0]), **arrays) for p in parameters]
    assert_close(found, np.array(each))
    assert found.shape[:2] == (3, STATES)


def test_one_state_a_batch_and_out_have_the_same_bits():
    model = sf.load("puma560")
    for name in ("inverse_dynamics", "mass_matrix", "center_of_mass", "forward_dynamics"):
        row, function = ROWS[name], find(name)
        arrays = given(row, model) | {"inertias": other_bodies(model, (STATES,))}
        first = function(model, **arrays)
        for _ in range(2):  # the general call, then the prepared one
            np.testing.assert_array_equal(function(model, **arrays), first)
        out = np.full_like(first, np.nan)
        assert function(model, **arrays, out=out) is out
        np.testing.assert_array_equal(out, first)
        for k in range(STATES):
            one = function(model, **{n: x[k] for n, x in arrays.items()})
            np.testing.assert_array_equal(one, first[k])


def test_large_batches_and_external_forces():
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 60_000, seed=1)
    parameters = other_bodies(model)
    f_ext = np.ones((60_000, model.nb, 6))
    want = sf.inverse_dynamics(replaced(model, parameters), q, v, v, f_ext)
    wide = np.broadcast_to(parameters, (60_000, model.nb, 10)).copy()
    for _ in range(2):
        assert_close(sf.inverse_dynamics(model, q, v, v, f_ext, inertias=parameters), want)
        assert_close(sf.inverse_dynamics(model, q, v, v, f_ext, inertias=wide), want)
    assert_close(
        sf.inverse_dynamics(model, q, v, v, inertias=wide),
        sf.inverse_dynamics(replaced(model, parameters), q, v, v),
    )


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "coriolis_matrix"])
def test_single_precision_stays_single(name):
    model, row = sf.load("puma560"), ROWS[name]
    arrays = {n: x.astype(np.float32) for n, x in given(row, model).items()}
    parameters = other_bodies(model).astype(np.float32)
    found = find(name)(model, **arrays, inertias=parameters)
    wide = {n: x.astype(float) for n, x in arrays.items()}
    expected = find(name)(model, **wide, inertias=parameters.astype(float))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("lanes", ["1", "2", "4", "8"])
def test_every_number_of_lanes(lanes, monkeypatch):
    monkeypatch.setenv("SIXFOLD_LANES", lanes)
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 19, seed=2)
    parameters = other_bodies(model, (19,))
    KERNELS.clear()  # lanes are read when a kernel is made
    found = sf.inverse_dynamics(model, q, v, v, inertias=parameters)
    expected = sf.inverse_dynamics(model, q, v, v, inertias=parameters, backend="numpy")
    assert_close(found, expected)


def test_wide_numbers_and_derivatives_take_them():
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, seed=1)
    parameters = other_bodies(model)
    wide = [np.array([gmpy2.mpfr(y) for y in x.flat]).reshape(x.shape) for x in (q, v, parameters)]
    found = sf.inverse_dynamics(model, wide[0], wide[1], wide[1], inertias=wide[2])
    expected = sf.inverse_dynamics(model, q, v, v, inertias=parameters)
    np.testing.assert_allclose(found.astype(float), expected, rtol=1e-12)


@pytest.mark.parametrize("robot", MODELS)
def test_their_derivative_is_the_regressor(robot):
    """Joint forces are linear in them, so a difference of any size gives the derivative."""
    model = MODELS[robot]()
    q, v = sf.random_state(model, seed=4)
    a = np.cos(v)
    base = other_bodies(model)
    unit = np.eye(10 * model.nb).reshape(-1, model.nb, 10)
    moved = sf.inverse_dynamics(model, q, v, a, inertias=base + unit)
    columns = moved - sf.inverse_dynamics(model, q, v, a, inertias=base)
    Y = sf.regressor(model, q, v, a)
    np.testing.assert_allclose(columns.T, Y, rtol=0, atol=1e-11 * max(1, np.abs(Y).max()))


def test_the_compiled_derivative_is_the_regressor_too():
    model = sf.load("puma560")
    q, v = sf.random_state(model, STATES, seed=4)
    sizes = {"inertias": (model.nb, 10)}
    kernel = sf.compile(sf.inverse_dynamics, model, inputs=sizes, derivative="inertias")
    many = np.broadcast_to(parameters_of(model), (STATES, model.nb, 10))
    found = kernel(q, v, v, many).reshape(STATES, model.nv, -1)
    assert_close(found, sf.regressor(model, q, v, v), 1e-13)


def test_nonzeros_take_them():
    model = sf.load("tree6")
    arrays = given(ROWS["inverse_dynamics_derivatives"], model)
    parameters = other_bodies(model)
    dense = sf.derivatives.inverse_dynamics_derivatives(model, **arrays, inertias=parameters)
    few = sf.derivatives.inverse_dynamics_derivatives(
        model, **arrays, inertias=parameters, sparse=True
    )
    for full, (values, rows, columns) in zip(dense, few, strict=True):
        made = np.zeros_like(full)
        made[:, rows, columns] = values
        np.testing.assert_array_equal(made, full)


@pytest.mark.parametrize("name", ROWS)
def test_masses_below_zero_are_refused_by_name(name):
    model = fitting(name, sf.load("double_pendulum"))
    row, function = ROWS[name], find(name)
    arrays = given(row, model)
    good = other_bodies(model, (STATES,))
    function(model, **arrays, inertias=good)
    bad = good.copy()
    bad[2, 1, 0] = -0.5
    for parameters in (bad, bad[2], bad.tolist(), bad.astype(object)):
        for backend in (None, "numpy"):
            with pytest.raises(
                sf.errors.NumberError, match=f"{name}: argument 'inertias' has a mass"
            ):
                function(model, **arrays, inertias=parameters, backend=backend)
    for parameters in (good[..., :9], good[:, :1], good[0, 0]):
        with pytest.raises(sf.errors.ShapeError, match=f"{name}: argument 'inertias'"):
            function(model, **arrays, inertias=parameters)
    with pytest.raises(sf.errors.SixfoldError, match="inertias"):
        function(model, **arrays, inertias="heavy")


def test_bodies_without_mass_have_no_center():
    model = sf.load("double_pendulum")
    q, _ = sf.random_state(model, STATES, seed=1)
    sets = np.ones((STATES, model.nb, 10))
    sf.center_of_mass(model, q, inertias=sets)
    sets[1, :, 0] = 0.0
    for _ in range(2):
        with pytest.raises(sf.errors.NumberError, match="center_of_mass: argument 'inertias'"):
            sf.center_of_mass(model, q, inertias=sets)


def test_joints_without_inertia_give_nan_in_their_states_and_a_warning():
    model = sf.load("double_pendulum").without(armature=True)
    q, v = sf.random_state(model, 3, seed=1)
    sets = np.broadcast_to(parameters_of(model), (3, model.nb, 10)).copy()
    sets[1, 1] = 0.0  # nothing behind the second joint
    for backend in (None, "numpy"):
        with pytest.warns(sf.errors.SingularPivotWarning, match="1 of 3 states"):
            a = sf.forward_dynamics(model, q, v, v, inertias=sets, backend=backend)
        assert np.isnan(a[1]).all() and np.isfinite(a[[0, 2]]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        massless = replaced(model, np.zeros((model.nb, 10)))
        found = sf.forward_dynamics(massless, q, v, v, inertias=parameters_of(model))
    assert_close(found, sf.forward_dynamics(model, q, v, v))


def test_large_batches_of_one_set_are_proved_or_looked_at():
    model = sf.load("double_pendulum").without(armature=True)
    q, v = sf.random_state(model, 5000, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sf.forward_dynamics(model, q, v, v, inertias=parameters_of(model))
    assert_close(found, sf.forward_dynamics(model, q, v, v))
    empty = parameters_of(model)
    empty[1] = 0.0
    with pytest.warns(sf.errors.SingularPivotWarning, match="5000 of 5000 states"):
        assert np.isnan(sf.forward_dynamics(model, q, v, v, inertias=empty)).all()


def test_impacts_take_them():
    model = sf.load("puma560")
    q, v = sf.random_state(model, STATES, seed=1)
    point = sf.contact.ImpactPoint(model.body_names[-1], (0.1, 0.0, 0.2), (0.0, 0.0, 1.0))
    parameters = other_bodies(model)
    heavy = replaced(model, parameters)
    found = sf.contact.delassus_matrix(model, q, point, inertias=parameters)
    assert_close(found, sf.contact.delassus_matrix(heavy, q, point))
    assert_close(
        sf.contact.impact(model, q, v, point, inertias=parameters),
        sf.contact.impact(heavy, q, v, point),
        1e-9,
    )


def test_the_argument_comes_by_name_only():
    for name in ROWS:
        parameter = inspect.signature(find(name)).parameters["inertias"]
        assert parameter.kind is parameter.KEYWORD_ONLY and parameter.default is None
