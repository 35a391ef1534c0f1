"""A number that is not finite shows in every result that depends on it, and in no other state."""

import inspect

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime import all_quantities
from sixfold.runtime.quantity import ARRAYS, shape_of
from tests.public_names import find

MODELS = {
    # smooth friction has a limit at infinite speed
    "arm": sf.load("puma560").with_friction_speed(0.0),
    "tree": sf.random_tree(4, seed=3, properties=True),
    "floating": sf.load("floating_link"),
    "loop": sf.load("four_bar_leg"),
}
QUANTITIES = all_quantities()
MOVES = (0.3, -0.7, 1.1, 2.0, -5.0)
BAD = (np.nan, np.inf, -np.inf)


def _arguments(row, model):
    """Return one state of every array argument that is not optional, and options that must be."""
    rng = np.random.default_rng(5)
    arrays = {}
    for k, name in enumerate(row.arrays):
        if name in row.optional and name != "f_ext":
            continue
        if name in ("q", "q0", "q1"):
            arrays[name] = sf.random_state(model, seed=k + 1)[0]
        else:
            arrays[name] = rng.normal(size=shape_of(ARRAYS[name].sizes, model))
    options = {row.place: model.body_names[-1]} if row.place else {}
    if "points" in inspect.signature(find(row.name)).parameters:
        options["points"] = sf.contact.ImpactPoint(model.body_names[-1], friction=0.5)
    return arrays, options


def _results(row, model, arrays, options, backend):
    found = find(row.name)(model, **arrays, **options, backend=backend)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.filterwarnings("ignore::sixfold.errors.SingularPivotWarning")
@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", QUANTITIES)
def test_every_number_that_depends_on_it_is_not_finite(name, model, backend):
    row, robot = QUANTITIES[name], MODELS[model]
    arrays, options = _arguments(row, robot)
    try:
        one = _results(row, robot, arrays, options, backend)
    except sf.errors.NotApplicableError:
        pytest.skip("does not apply to this model")
    for changed, x in arrays.items():
        # each number of the argument in turn: moved, and replaced by what is not finite
        rows = np.tile(x.reshape(-1), (x.size, len(MOVES) + len(BAD), 1))
        for k in range(x.size):
            rows[k, : len(MOVES), k] += MOVES
            rows[k, len(MOVES) :, k] = BAD
        batch = {**arrays, changed: rows.reshape(*rows.shape[:2], *x.shape)}
        for result, at in zip(_results(row, robot, batch, options, backend), one, strict=True):
            moved, bad = result[:, : len(MOVES)], result[:, len(MOVES) :]
            rounding = 1e-7 * (1 + np.abs(at).max(initial=0.0))
            depends = (np.abs(moved - at) > rounding).any(axis=1, keepdims=True)
            assert not (depends & np.isfinite(bad)).any(), changed


@pytest.mark.filterwarnings("ignore::sixfold.errors.SingularPivotWarning")
@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize("name", QUANTITIES)
def test_other_states_keep_their_bits(name, backend):
    row, robot = QUANTITIES[name], MODELS["arm"]
    arrays, options = _arguments(row, robot)
    batch = {name: np.repeat(x[None], 5, axis=0) for name, x in arrays.items()}
    try:
        expected = _results(row, robot, batch, options, backend)
    except sf.errors.NotApplicableError:
        pytest.skip("does not apply to this model")
    for changed, x in arrays.items():
        for bad in BAD:
            spoilt = batch[changed].copy()
            spoilt[2] = np.full(x.shape, bad)
            found = _results(row, robot, {**batch, changed: spoilt}, options, backend)
            for a, b in zip(found, expected, strict=True):
                others = [0, 1, 3, 4]
                np.testing.assert_array_equal(a[others], b[others])


def _unread(name, model):
    """Return the arguments of a quantity that no number of its result depends on."""
    row = QUANTITIES[name]
    arrays, options = _arguments(row, model)
    found = set()
    for changed, x in arrays.items():
        spoilt = {**arrays, changed: np.full(x.shape, np.nan)}
        if all(np.isfinite(y).all() for y in _results(row, model, spoilt, options, None)):
            found.add(changed)
    return found


def test_the_arguments_that_need_not_be_read_are_those_of_the_documentation():
    arm, unread = MODELS["arm"], {}
    for name in QUANTITIES:
        try:
            unread[name] = _unread(name, arm)
        except sf.errors.NotApplicableError:
            continue
    assert {name: names for name, names in unread.items() if names} == {
        "position_rate": {"q"},
        "integrate_derivatives": {"q", "v"},
        "difference_derivatives": {"q0", "q1"},
        # by default every joint of a fixed base follows its acceleration
        "hybrid_dynamics": {"tau"},
        "hybrid_dynamics_derivatives": {"tau"},
    }


@pytest.mark.parametrize("bad", BAD)
def test_motions_do_not_start_from_what_is_not_finite(bad):
    arm = MODELS["arm"]
    q = np.zeros(6)
    q[1] = bad
    calls = [
        lambda: sf.simulate(arm, q, None, 0.01),
        lambda: sf.simulate(arm, None, q, 0.01),
        lambda: sf.rollout(arm, q, None, dt=1e-3, steps=2),
        lambda: sf.rollout(arm, None, None, q, dt=1e-3, steps=2),
        lambda: sf.Stepper(arm, dt=1e-3).reset(q, None),
        lambda: sf.control.pd(arm, q, 1.0, 1.0),
    ]
    for call in calls:
        with pytest.raises(sf.errors.StateError, match="finite"):
            call()
