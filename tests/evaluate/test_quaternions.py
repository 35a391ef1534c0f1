"""A quaternion of length zero is an error that names its joint, in every function."""

import gmpy2
import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from tests.evaluate.small_models import ARGUMENTS, applies, call, model_named, plain_values

PLACES = {
    "floating_link": ("free", slice(3, 7)),
    "spherical_tree": ("link2_joint", slice(4, 8)),
    "held_arm": ("stay_joint", slice(3, 7)),
}
CONFIGURATIONS = ("q", "q0", "q1")
EVERY = [
    (model, function, argument)
    for model in PLACES
    for function, arguments in ARGUMENTS.items()
    if applies(model, function)
    if model != "spherical_tree" or "," in function or function == "difference"
    for argument in arguments
    if argument in CONFIGURATIONS
]


def spoilt(model, function, argument, lead):
    """Return good arguments, but for one quaternion in the last state."""
    values = plain_values(function, model_named(model), lead)
    values[argument] = np.array(values[argument])
    values[argument][(-1,) * len(lead)][PLACES[model][1]] = 0.0
    return values


def refused(model, function, argument, values, lead, **options):
    with pytest.raises(sf.errors.StateError) as caught:
        call(function, model_named(model), values, **options)
    at = f" at {[n - 1 for n in lead]}" if lead else ""
    name = function.split(",")[0]
    where = f"{name}: argument '{argument}'{at}, joint '{PLACES[model][0]}'"
    assert str(caught.value).startswith(where)
    assert "fix: start from sixfold.neutral(model)" in str(caught.value)


@pytest.mark.parametrize(("model", "function", "argument"), EVERY)
def test_a_zero_quaternion_is_refused_by_name(model, function, argument):
    for lead in ((), (5,), (2, 3)):
        values = spoilt(model, function, argument, lead)
        refused(model, function, argument, values, lead)
        refused(model, function, argument, values, lead, backend="numpy")
    listed = {a: x.tolist() if isinstance(x, np.ndarray) else x for a, x in values.items()}
    refused(model, function, argument, listed, lead)


@pytest.mark.parametrize("function", ["inverse_dynamics, no options", "mass_matrix", "integrate"])
def test_single_precision_is_looked_at_too(function):
    values = spoilt("floating_link", function, "q", (3,))
    values["q"] = values["q"].astype(np.float32)
    refused("floating_link", function, "q", values, (3,))


@pytest.mark.parametrize("threads", [1, 2])
def test_one_state_of_a_big_batch_on_several_threads_is_found(threads):
    model = model_named("floating_link")
    q = np.tile(sf.neutral(model), (60_000, 1))
    v = np.zeros((60_000, model.nv))
    row = 43_210
    q[row, 3:7] = -0.0
    sf.set_threads(threads)
    try:
        with pytest.raises(sf.errors.StateError, match=rf"'q' at \[{row}\], joint 'free'"):
            sf.inverse_dynamics(model, q, v, v)
        q[row, 5] = 1.0
        assert np.isfinite(sf.inverse_dynamics(model, q, v, v)).all()
    finally:
        sf.set_threads(None)


def test_half_turns_and_any_other_length_are_rotations():
    model = model_named("floating_link")
    q = np.tile(sf.neutral(model), (3, 1))
    q[:, 3:7] = np.eye(4)[:3]  # half turns: w = 0
    v = np.ones((3, model.nv))
    for lead in (slice(None), 0):
        want = sf.bias_force(model, q[lead], v[lead], backend="numpy")
        np.testing.assert_allclose(sf.bias_force(model, q[lead], v[lead]), want, atol=1e-12)
        longer = np.array(q)
        longer[:, 3:7] *= 1e-3
        np.testing.assert_allclose(sf.bias_force(model, longer[lead], v[lead]), want, atol=1e-12)


@pytest.mark.parametrize("backend", [None, "numpy"])
def test_rows_that_are_not_finite_are_nan_and_no_error(backend):
    model = model_named("floating_link")
    q, v = sf.random_state(model, 4, seed=1)
    q[1, 3:7] = np.nan
    q[2, 3:7] = [0.0, 0.0, 0.0, np.inf]
    tau = sf.inverse_dynamics(model, q, v, v, backend=backend)
    assert np.isnan(tau[1:3]).all(axis=1).all() and np.isfinite(tau[[0, 3]]).all()
    one = sf.inverse_dynamics(model, q[1], v[1], v[1], backend=backend)
    assert np.isnan(one).all()


@pytest.mark.parametrize("number", [sp.Integer, gmpy2.mpfr, float])
def test_other_kinds_of_numbers_are_looked_at_too(number):
    model = model_named("floating_link")
    q = np.array([number(0)] * model.nq, object)
    with pytest.raises(sf.errors.StateError, match="joint 'free'"):
        sf.body_poses(model, q)
    q[6] = number(1)
    assert np.asarray(sf.body_poses(model, q), float)[0, 0, 0] == 1.0


def test_symbols_are_no_zeros():
    model = model_named("floating_link")
    q = np.array(sp.symbols("q0:8"), object)
    assert sf.position_rate(model, q, np.zeros(model.nv)).shape == (model.nq,)


def test_simulations_name_the_joint_too():
    model = model_named("floating_link")
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for name, run in {
        "simulate": lambda: sf.simulate(model, q, v, 0.01),
        "rollout": lambda: sf.rollout(model, q, v, dt=1e-3, steps=2),
    }.items():
        with pytest.raises(sf.errors.StateError, match=f"{name}: argument 'q0', joint 'free'"):
            run()
