"""Dask arrays in, Dask arrays out, lazily; xarray in, xarray out, with labels."""

import inspect
import pickle
from functools import cache

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime import all_quantities
from tests.public_names import find

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
xr = pytest.importorskip("xarray")

ROWS = all_quantities()
CONSTRAINED = {
    *("constrained_dynamics", "constraint_bias", "constraint_gaps", "constraint_jacobian"),
    *("constraint_wrenches", "project"),
}
STATES = 12


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@cache
def loop():
    """Return two hinges with a rod between the last body and the base: a small program."""
    solid = sf.Inertia.from_mass(1.0, (0.3, 0.0, 0.0), (0.1, 0.1, 0.1))
    builder = sf.ModelBuilder("loop")
    builder.add_body("a", joint=sf.Revolute("z"), inertia=solid, joint_name="ja")
    more = {"placement": (1.0, 0.0, 0.0), "inertia": solid}
    builder.add_body("b", parent="a", joint=sf.Revolute("z"), joint_name="jb", **more)
    return builder.add_rod("world", "b", 1.0, (1.5, 0.5, 0.0), (1.0, 0.0, 0.0)).build()


def arguments(name, states=STATES):
    """Return a model and arguments of a quantity by name, with options as they are by default."""
    row = ROWS[name]
    model = loop() if name in CONSTRAINED else sf.load("cart_pendulum")
    rng = np.random.default_rng(1)
    found = {}
    for array in row.arrays:
        shape = row.argument(model, array, None).shape
        if array in ("q", "q0", "q1"):
            found[array] = sf.random_state(model, states, seed=len(found))[0]
        elif array == "inertias":
            own = [[float(x) for x in body.inertia.parameters()] for body in model.bodies]
            found[array] = rng.uniform(1.0, 1.2, (states, 1, 1)) * np.array(own)
        else:
            found[array] = rng.standard_normal((states, *shape))
    others = {row.place: model.body_names[-1]} if row.place else {}
    return model, found, others


def in_chunks(array, rows=5):
    """Return a Dask array with chunks along all axes."""
    return da.from_array(array, chunks=(rows, *(max(1, n - 1) for n in array.shape[1:])))


def as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_quantity_takes_dask_arrays_and_gives_the_same_bits(name):
    model, given, others = arguments(name)
    function = find(name)
    expected = as_tuple(function(model, **given, **others))
    lazy = as_tuple(function(model, **{n: in_chunks(x) for n, x in given.items()}, **others))
    assert len(lazy) == len(expected)
    for x, y in zip(lazy, expected, strict=True):
        assert isinstance(x, da.Array)
        assert x.shape == y.shape and x.dtype == y.dtype
        assert x.chunks[0] == (5, 5, 2) and all(len(n) == 1 for n in x.chunks[1:])
        np.testing.assert_array_equal(x.compute(), y)


def test_states_with_quaternions_are_taken_in_chunks():
    model = sf.load("floating_link")
    q, v = sf.random_state(model, STATES, seed=1)
    lazy = sf.inverse_dynamics(model, in_chunks(q), in_chunks(v), v)
    np.testing.assert_array_equal(lazy.compute(), sf.inverse_dynamics(model, q, v, v))


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_quantity_refuses_out_with_dask_arrays(name):
    model, given, others = arguments(name)
    function = find(name)
    out = function(model, **given, **others)
    with pytest.raises(sf.errors.NotApplicableError, match=r"(?s)option 'out'.*Dask.*leave it out"):
        function(model, **{n: in_chunks(x) for n, x in given.items()}, **others, out=out)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_rows_of_quantities_pickle_by_name(name):
    assert pickle.loads(pickle.dumps(ROWS[name])) is ROWS[name]


def never(*_):
    raise AssertionError("computed behind the user's back")


def untouched(shape):
    """Return a Dask array that must not be computed."""
    return da.from_delayed(dask.delayed(never)(), shape, float)


def test_nothing_is_computed_before_it_is_asked_for():
    model = sf.load("puma560")
    q, v = untouched((100, 6)), untouched((100, 6))
    results = [
        sf.inverse_dynamics(model, q, v, v),
        sf.mass_matrix(model, xr.DataArray(q, dims=("state", "joint"))),
        *sf.rollout(model, q, v, dt=1e-3, steps=3),
    ]
    assert [x.shape for x in results] == [(100, 6), (100, 6, 6), (100, 3, 6), (100, 3, 6)]
    with pytest.raises(AssertionError, match="behind the user's back"):
        results[0].compute()


@pytest.mark.parametrize("function", ["simulate", "gradient", "linearize", "actuators"])
def test_functions_without_lazy_results_refuse_dask_arrays(function):
    model, leg = sf.load("double_pendulum"), loop()
    calls = {
        "simulate": lambda q: sf.simulate(model, q, None, 0.01),
        "gradient": lambda q: sf.rollout_gradient(
            model, q, None, dt=1e-3, steps=2, cost=lambda q, v: q[0]
        ),
        "actuators": lambda q: sf.loops.actuator_forces(
            leg, q, [0.0] * leg.nv, [0.0] * leg.nv, actuated=leg.joint_names[:1]
        ),
        "linearize": lambda q: sf.control.linearize(model, q, [0.0, 0.0], [0.0, 0.0]),
    }
    with pytest.raises(sf.errors.SixfoldError, match="not computed yet"):
        calls[function](untouched((leg.nq if function == "actuators" else 2,)))


def test_rollout_takes_dask_arrays_with_its_options():
    model = sf.load("puma560")
    q, v = sf.random_state(model, (3, 7), seed=2)
    tau = np.random.default_rng(0).standard_normal((3, 7, 6, 6))
    law = sf.control.pd(model, np.zeros(6), 10.0, 1.0)
    options = {"dt": 1e-3, "steps": 6, "every": 2, "control": law, "integrator": "rk4"}
    lazy = sf.rollout(model, in_chunks(q, 2), v, in_chunks(tau, 2), **options)
    expected = sf.rollout(model, q, v, tau, **options)
    for x, y in zip(lazy, expected, strict=True):
        assert isinstance(x, da.Array) and x.shape == y.shape
        np.testing.assert_array_equal(x.compute(), y)
    with pytest.raises(sf.errors.NotApplicableError, match="option 'out'"):
        sf.rollout(model, in_chunks(q, 2), v, dt=1e-3, steps=2, out=expected)


def test_states_broadcast_against_each_other_lazily():
    model = sf.load("puma560")
    q, v = sf.random_state(model, (4, 6), seed=2)
    expected = sf.inverse_dynamics(model, q, v[:1], v[0, 0])
    lazy = sf.inverse_dynamics(model, in_chunks(q, 2), in_chunks(v[:1]), v[0, 0].tolist())
    np.testing.assert_array_equal(lazy.compute(), expected)
    with_list = sf.inverse_dynamics(model, in_chunks(q, 2), v[:1].tolist(), v[0, 0])
    np.testing.assert_array_equal(with_list.compute(), expected)


def test_one_state_and_single_precision_stay_lazy():
    model = sf.load("puma560")
    q, v = (x.astype(np.float32) for x in sf.random_state(model, seed=2))
    lazy = sf.kinetic_energy(model, da.from_array(q, chunks=2), v)
    assert lazy.shape == () and lazy.dtype == np.float32
    assert lazy.compute() == sf.kinetic_energy(model, q, v)


def test_sparse_results_and_impacts_stay_lazy():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 9, seed=2)
    lazy = sf.derivatives.forward_dynamics_derivatives(model, in_chunks(q), v, v, sparse=True)
    expected = sf.derivatives.forward_dynamics_derivatives(model, q, v, v, sparse=True)
    for x, y in zip(lazy, expected, strict=True):
        assert isinstance(x.values, da.Array)
        np.testing.assert_array_equal(x.values.compute(), y.values)
    point = sf.contact.ImpactPoint(model.body_names[-1], (0.0, 0.0, 0.1), (0.0, 0.0, 1.0))
    for x, y in zip(
        sf.contact.impact(model, in_chunks(q), v, point),
        sf.contact.impact(model, q, v, point),
        strict=True,
    ):
        assert isinstance(x, da.Array)
        np.testing.assert_array_equal(x.compute(), y)


def test_tasks_go_through_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    model = sf.load("puma560")
    q, v = sf.random_state(model, 9, seed=2)
    lazy = sf.forward_dynamics(model, in_chunks(q), v, v)
    again = cloudpickle.loads(cloudpickle.dumps(lazy))
    np.testing.assert_array_equal(again.compute(), sf.forward_dynamics(model, q, v, v))


def test_a_kernel_is_a_function_for_apply_gufunc():
    model = sf.load("puma560")
    kernel = sf.compile(sf.inverse_dynamics, model)
    q, v = sf.random_state(model, 9, seed=2)
    lazy = da.apply_gufunc(
        kernel, kernel.signature, in_chunks(q), in_chunks(v), v,
        output_dtypes=float, allow_rechunk=True,
    )  # fmt: skip
    np.testing.assert_array_equal(lazy.compute(), kernel(q, v, v))


def bad_calls():
    model = sf.load("puma560")
    q = da.ones((8, 6), chunks=4)
    yield "wrong width", sf.errors.ShapeError, lambda: sf.mass_matrix(model, q[:, :5])
    yield "no state", sf.errors.ShapeError, lambda: sf.mass_matrix(model, q[0, 0])
    yield "other leads", sf.errors.ShapeError, lambda: sf.inverse_dynamics(model, q, q[:3], q)
    yield "unknown chunks", sf.errors.ShapeError, lambda: sf.mass_matrix(model, q[q[:, 0] > 0])
    yield "text", sf.errors.NumberError, lambda: sf.mass_matrix(model, q.astype("U5"))
    yield "complex", sf.errors.NumberError, lambda: sf.mass_matrix(model, q + 1j)
    yield "objects", sf.errors.NumberError, lambda: sf.mass_matrix(model, q.astype(object))
    yield "option", sf.errors.OptionError, lambda: sf.mass_matrix(model, q, backend="gpu")
    yield "steps", sf.errors.OptionError, lambda: sf.rollout(model, q, q, dt=1e-3, steps=-1)
    yield "nested", sf.errors.NumberError, lambda: sf.mass_matrix(model, [q[0], q[1]])


@pytest.mark.parametrize(
    ("name", "error", "call"), list(bad_calls()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_bad_dask_calls_are_refused_when_they_are_made(name, error, call):
    with pytest.raises(error):
        call()


# -- xarray


def labelled(array, *dims, **coords):
    return xr.DataArray(array, dims=dims, coords=coords)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_quantity_keeps_labels(name):
    model, given, others = arguments(name)
    function = find(name)
    expected = as_tuple(function(model, **given, **others))
    runs = [f"run{k}" for k in range(STATES)]
    named = {
        n: labelled(x, "run", *(f"{n}{k}" for k in range(x.ndim - 1)), run=runs)
        for n, x in given.items()
    }
    for x, y in zip(as_tuple(function(model, **named, **others)), expected, strict=True):
        assert isinstance(x, xr.DataArray) and x.dims[0] == "run"
        assert len(set(x.dims)) == y.ndim
        assert x.coords["run"].values.tolist() == runs
        np.testing.assert_array_equal(x.values, y)


def test_results_name_the_coordinates_of_the_model():
    model = sf.load("floating_link")
    q, v = sf.random_state(model, 3, seed=1)
    q, v = labelled(q, "run", "q"), labelled(v, "run", "v")
    tau = sf.inverse_dynamics(model, q, v, v)
    assert tau.name == "inverse_dynamics" and tau.dims == ("run", "v_coordinate")
    assert tuple(tau.coords["v_coordinate"].values) == model.coordinates.v_names
    mass = sf.mass_matrix(model, q)
    assert mass.dims == ("run", "v_coordinate", "v_coordinate_2")
    assert mass.sel(v_coordinate="hinge", v_coordinate_2="hinge").shape == (3,)
    assert sf.body_velocities(model, q, v).dims == ("run", "body", "spatial")
    motion = sf.rollout(model, q, v, dt=0.01, steps=6, every=2)
    assert [x.name for x in motion] == ["q", "v"]
    assert motion[0].dims == ("run", "time", "q_coordinate")
    np.testing.assert_allclose(motion[0].coords["time"], [0.02, 0.04, 0.06])


def test_leading_axes_go_together_by_their_names():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 4, seed=1)
    by_run = labelled(q, "run", "joint", run=[1, 2, 3, 4])
    by_payload = labelled(v[:3], "payload", "joint")
    found = sf.inverse_dynamics(model, by_run, by_payload, np.zeros(6))
    assert found.dims == ("run", "payload", "v_coordinate")
    expected = sf.inverse_dynamics(model, q[:, None], v[None, :3], np.zeros(6))
    np.testing.assert_array_equal(found.values, expected)


def test_labels_of_the_model_are_put_in_its_order():
    model = sf.load("puma560")
    q, _ = sf.random_state(model, 4, seed=1)
    names = list(model.coordinates.q_names)
    turned = labelled(q[:, ::-1], "run", "joint", joint=names[::-1])
    np.testing.assert_array_equal(sf.mass_matrix(model, turned).values, sf.mass_matrix(model, q))
    numbered = labelled(q, "run", "joint", joint=range(6))
    np.testing.assert_array_equal(sf.mass_matrix(model, numbered).values, sf.mass_matrix(model, q))
    mine = labelled(q, "run", "joint", joint=list("abcdef"))
    with pytest.raises(sf.errors.ShapeError, match="drop_vars"):
        sf.mass_matrix(model, mine)
    half = labelled(q, "run", "joint", joint=[*names[:5], "gripper"])
    with pytest.raises(sf.errors.ShapeError, match="gripper"):
        sf.mass_matrix(model, half)


def test_labels_that_do_not_fit_are_refused():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 4, seed=1)
    one = labelled(q, "run", "joint", run=[1, 2, 3, 4])
    other = labelled(v, "run", "joint", run=[1, 2, 3, 5])
    with pytest.raises(sf.errors.ShapeError, match="align"):
        sf.inverse_dynamics(model, one, other, v[0])
    with pytest.raises(sf.errors.ShapeError, match="rename"):
        sf.mass_matrix(model, labelled(q, "v_coordinate", "joint"))
    with pytest.raises(sf.errors.ShapeError, match="nq"):
        sf.mass_matrix(model, one[:, :5])
    with pytest.raises(sf.errors.ShapeError, match="axes for one state"):
        sf.mass_matrix(model, one[0, 0])
    with pytest.raises(sf.errors.NotApplicableError, match="option 'out'"):
        sf.mass_matrix(model, one, out=np.empty((4, 6, 6)))


def test_the_arguments_of_public_functions_are_those_of_their_rows():
    for name, row in ROWS.items():
        assert set(row.arrays) <= set(inspect.signature(find(name)).parameters)


def test_contact_forces_stay_lazy():
    model = sf.load("floating_link")
    q, v = sf.random_state(model, 9, seed=2)
    ground = sf.contact.Ground(points=[sf.contact.ContactPoint("link", (0.3, 0.0, 0.0))])
    tau = np.zeros(model.nv)
    lazy = sf.contact.contact_forces(model, in_chunks(q), v, tau, contacts=ground)
    for x, y in zip(
        lazy, sf.contact.contact_forces(model, q, v, tau, contacts=ground), strict=True
    ):
        assert isinstance(x, da.Array)
        np.testing.assert_array_equal(x.compute(), y)
