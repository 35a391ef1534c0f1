"""Every public quantity: positions and keywords, `out=`, the fast call and the general one."""

import inspect
import re
from functools import partial

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime import all_quantities
from tests.evaluate.small_models import CONSTRAINED, held_arm
from tests.public_names import find

QUANTITIES = all_quantities()

MODELS = ("puma560", "floating_link")
HELD = held_arm()


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return sf.load(request.param)


def fitting(model, name):
    """Return the model, or one with constraints for functions of those."""
    return HELD if name in CONSTRAINED else model


def arguments(row, model, rows=5, optional=False):
    """Return keyword arguments of a call."""
    q, v = sf.random_state(model, rows, seed=3)
    some = {"q": q, "q0": q, "q1": q[::-1].copy(), "v": v, "a": v[::-1].copy(), "tau": v}
    some |= {"f_ext": np.ones((rows, model.nb, 6)), "force": np.ones((rows, 3))}
    some |= {"point": np.full((rows, 3), 0.1), "dt": np.full(rows, 0.1), "weights": v[::-1].copy()}
    some |= {"forces": np.linspace(-1.0, 1.0, rows * model.nc).reshape(rows, model.nc)}
    bodies = np.array([body.inertia.array() for body in model.bodies])
    some |= {"inertias": bodies * np.linspace(1.0, 2.0, rows)[:, None, None]}
    given = {n: some[n] for n in row.arrays if optional or n not in row.optional}
    return given | ({row.place: model.body_names[-1]} if row.place else {})


def by_position(row, model, given):
    """Call a function with its arguments by position where they have one."""
    function = find(row.name)
    parameters = inspect.signature(function).parameters.values()
    placed = [p.name for p in parameters if p.name in given and p.kind is not p.KEYWORD_ONLY]
    rest = {n: x for n, x in given.items() if n not in placed}
    return function(model, *(given[n] for n in placed), **rest)


def several(result):
    """Return the results of a call as a tuple."""
    return result if isinstance(result, tuple) else (result,)


def filled_like(first, *more):
    """Return arrays of NaN for `out=`: one, or a tuple."""
    made = tuple(np.full((*x.shape, *more), np.nan)[(..., *[0] * len(more))] for x in first)
    return made if len(made) > 1 else made[0]


def assert_equal(found, first):
    for x, y in zip(several(found), first, strict=True):
        np.testing.assert_array_equal(x, y)


def assert_filled(returned, out):
    """A call returns the arrays that it was given."""
    assert all(x is y for x, y in zip(several(returned), several(out), strict=True))


@pytest.mark.parametrize("optional", [False, True], ids=["required", "all arrays"])
@pytest.mark.parametrize("name", QUANTITIES)
def test_keywords_positions_and_out_give_the_same_bits(model, name, optional):
    row, function, model = QUANTITIES[name], find(name), fitting(model, name)
    given = arguments(row, model, optional=optional)
    first = several(function(model, **given))
    assert len(first) == len(row.outputs)
    assert_equal(function(model, **given), first)  # the fast call
    assert_equal(by_position(row, model, given), first)
    out = filled_like(first)
    assert_filled(function(model, **given, out=out), out)
    assert_equal(out, first)
    wide = filled_like(first, 2)  # elements that are not side by side
    assert_filled(function(model, **given, out=wide), wide)
    assert_equal(wide, first)
    by_numpy = filled_like(first)
    assert_filled(function(model, **given, out=by_numpy, backend="numpy"), by_numpy)
    for x, y in zip(several(by_numpy), first, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * max(1, np.abs(y).max()))


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_fast_call_is_kept_and_goes_with_the_model(name):
    model = held_arm() if name in CONSTRAINED else sf.load("puma560")
    model = model.without(armature=True)
    row, function = QUANTITIES[name], find(name)
    given = arguments(row, model)
    before = len(row.prepared)
    function(model, **given)
    assert len(row.prepared) == before + 1
    del model
    assert len(row.prepared) == before


@pytest.mark.parametrize("name", QUANTITIES)
def test_calls_in_turns_of_both_precisions_are_prepared_once_each(name, monkeypatch):
    model = held_arm() if name in CONSTRAINED else sf.load("puma560").without(armature=True)
    row, function = QUANTITIES[name], find(name)
    double = arguments(row, model)
    single = {
        n: x.astype(np.float32) if isinstance(x, np.ndarray) else x for n, x in double.items()
    }
    expected = [function(model, **given) for given in (double, single)]

    def unprepared(*_):
        raise AssertionError("this call should have been prepared")

    monkeypatch.setitem(function.__globals__, "general", unprepared)
    for _ in range(2):
        for given, want in zip((double, single), expected, strict=True):
            found = function(model, **given)
            assert_equal(found, several(want))
            assert several(found)[0].dtype == several(want)[0].dtype


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_result_array_that_does_not_fit_is_refused(model, name):
    row, function, model = QUANTITIES[name], find(name), fitting(model, name)
    given = arguments(row, model)
    *others, last = several(function(model, **given))
    shape = last.shape
    read_only = np.empty(shape)
    read_only.flags.writeable = False
    place = f"out[{len(others)}]" if others else "out"

    def targets(out):
        return (*map(np.empty_like, others), out) if others else out

    for _ in range(2):  # without and with the fast call
        for out in (np.empty((*shape, 1)), np.empty(shape[1:]), read_only):
            with pytest.raises(
                sf.errors.ShapeError, match=re.escape(f"{name}: argument '{place}'")
            ):
                function(model, **given, out=targets(out))
        for out in (np.empty(shape, np.float32), [0.0], "out", object()):
            with pytest.raises(
                sf.errors.NumberError, match=re.escape(f"{name}: argument '{place}'")
            ):
                function(model, **given, out=targets(out))


def test_several_results_want_an_array_each(model):
    q, v = sf.random_state(model, 5, seed=3)
    call = partial(sf.derivatives.inverse_dynamics_derivatives, model, q, v, v)
    for _ in range(2):  # without and with the fast call
        dq, dv, _ = call()
        for out in (dq, (dq, dv), (dq, dv, dq, dv), "abc", 7, np.empty((3, *dq.shape))):
            with pytest.raises(sf.errors.SixfoldError, match="argument 'out"):
                call(out=out)
        with pytest.raises(sf.errors.ShapeError, match="do not overlap"):
            call(out=(dq, dv, dq))
    both = np.full((5, model.nv, 3 * model.nv), np.nan)  # side by side, without overlap
    out = tuple(np.split(both, 3, axis=2))
    assert_filled(call(out=out), out)
    assert_equal(out, call())


def test_arguments_may_be_results():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 50, seed=1)
    want = sf.inverse_dynamics(model, q, v, v)
    for k in range(2):
        arrays = [q.copy(), v.copy()]
        got = sf.inverse_dynamics(model, *arrays, v, out=arrays[k])
        assert got is arrays[k]
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(70_000,), (70, 1000), (5, 7, 3)])
def test_large_and_many_axes_give_the_bits_of_single_states(shape):
    model = sf.load("floating_link")
    count = int(np.prod(shape))
    q, v = sf.random_state(model, count, seed=4)
    q, v = q.reshape(*shape, -1), v.reshape(*shape, -1)
    sf.inverse_dynamics(model, q[:1], v[:1], v[:1])
    got = sf.inverse_dynamics(model, q, v, v)
    out = np.empty(v.shape)
    assert sf.inverse_dynamics(model, q, v, a=v, out=out) is out
    np.testing.assert_array_equal(got, out)
    for k in (0, count // 2, count - 1):
        at = np.unravel_index(k, shape)
        np.testing.assert_array_equal(got[at], sf.inverse_dynamics(model, q[at], v[at], v[at]))
    q[at] = 0.0
    with pytest.raises(sf.errors.StateError, match="quaternion"):
        sf.inverse_dynamics(model, q, v, v)


def test_a_large_result_may_overlap_an_argument():
    model = sf.load("puma560")
    count = 80_000
    memory = np.random.default_rng(0).uniform(-1, 1, (count + 1, model.nv))
    q = np.zeros((count, model.nq))
    want = sf.inverse_dynamics(model, q, memory[:-1].copy(), q)
    sf.inverse_dynamics(model, q, memory[:-1], q, out=memory[1:])
    np.testing.assert_array_equal(memory[1:], want)


def test_options_that_cannot_be_keys_are_refused_by_name():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 3, seed=1)
    for bad in ([], {}, np.zeros(3), None, 7):
        with pytest.raises(sf.errors.OptionError, match="body_velocities: option 'frame'"):
            sf.body_velocities(model, q, v, frame=bad)
        with pytest.raises(sf.errors.UnknownNameError, match="frame_pose: argument 'name'"):
            sf.frame_pose(model, q, bad)


@pytest.mark.parametrize("frame", ["aligned", "body", "world"])
def test_the_velocity_of_a_frame_is_its_jacobian_times_the_rates(model, frame):
    q, v = sf.random_state(model, 7, seed=2)
    name = model.body_names[-1]
    got = sf.frame_velocity(model, q, v, name, frame=frame)
    want = np.einsum("nij,nj->ni", sf.jacobian(model, q, name, frame=frame), v)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-13 * np.abs(want).max())
    base = sf.frame_velocity(model, q, v, model.base_name, frame=frame)
    np.testing.assert_array_equal(base, np.zeros((7, 6)))


def test_a_point_for_each_state():
    model = sf.load("puma560")
    q, _ = sf.random_state(model, 4, seed=2)
    points = np.arange(12.0).reshape(4, 3) / 10
    name = model.body_names[-1]
    each = [sf.jacobian(model, x, name, p) for x, p in zip(q, points, strict=True)]
    np.testing.assert_array_equal(sf.jacobian(model, q, name, points), each)


def test_signatures_and_docstrings_are_those_of_the_rows():
    for name in QUANTITIES:
        function = find(name)
        parameters = inspect.signature(function).parameters
        assert {"out", "backend"} <= set(parameters), name
        assert next(iter(parameters)) == "model" and function.__doc__ and function.__name__ == name


def test_signatures_spell_out_the_common_keywords():
    found = inspect.signature(sf.derivatives.forward_dynamics_derivatives).parameters
    assert [*found][-4:] == ["inertias", "sparse", "out", "backend"]
    assert str(found["out"].annotation) == "tuple[Array, Array, Array] | None"
    assert [*inspect.signature(sf.contact.delassus_matrix).parameters][-3:] == [
        *("inertias", "out", "backend")
    ]


@pytest.mark.parametrize("call", [sf.mass_matrix, sf.gravity_force])
def test_unknown_keywords_are_refused_by_name(call):
    arm = sf.load("double_pendulum")
    with pytest.raises(TypeError, match=rf"{call.__name__}.*unexpected keyword argument 'inertia'"):
        call(arm, [0.0, 0.0], inertia=None)


def test_unknown_keywords_of_impacts_are_refused_by_name():
    arm = sf.load("pendulum")
    wall = sf.contact.ImpactPoint("bob", (0, -0.5, 0), normal=(1, 0, 0))
    with pytest.raises(TypeError, match=r"impact.*unexpected keyword argument 'inertia'"):
        sf.contact.impact(arm, [0.0], [1.0], wall, inertia=None)
