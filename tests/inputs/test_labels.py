"""Tables with the names of a model's coordinates are taken by these names, wherever q, v... go."""

import numpy as np
import pytest

import sixfold as sf

ARM = sf.load("puma560")
NAMES = list(ARM.coordinates.q_names)
BACK = NAMES[::-1]
Q, V = sf.random_state(ARM, 4, seed=3)
A, TAU = np.cos(Q), np.sin(V)


def _pandas(x, names):
    pandas = pytest.importorskip("pandas", reason="tables")
    if np.ndim(x) == 1:
        return pandas.Series(x, index=names)
    return pandas.DataFrame(x, columns=names)


def _xarray(x, names):
    xarray = pytest.importorskip("xarray", reason="arrays with labels")
    dims = ("run", "joint")[-np.ndim(x) :]
    return xarray.DataArray(x, dims=dims, coords={"joint": names})


def _rows(x, names):
    """Return a list of rows, as `iterrows` gives them."""
    pandas = pytest.importorskip("pandas", reason="tables")
    if np.ndim(x) == 1:
        return pandas.Series(x, index=names)
    return [pandas.Series(row, index=names) for row in x]


TABLES = {"pandas": _pandas, "rows": _rows, "xarray": _xarray}
WEIGHTS = np.arange(1.0, 7.0)
CALLS = {
    "mass_matrix": lambda q, v, a, tau: sf.mass_matrix(ARM, q),
    "inverse_dynamics": lambda q, v, a, tau: sf.inverse_dynamics(ARM, q, v, a),
    "forward_dynamics": lambda q, v, a, tau: sf.forward_dynamics(ARM, q, v, tau),
    "NumPy": lambda q, v, a, tau: sf.bias_force(ARM, q, v, backend="numpy"),
    "integrate": lambda q, v, a, tau: sf.integrate(ARM, q, v, 0.1),
    "linearize": lambda q, v, a, tau: sf.control.linearize(ARM, q, v, tau).A,
    "operators": lambda q, v, a, tau: sf.operators.influence_operators(ARM, q, v).mass_matrix(),
    "rollout": lambda q, v, a, tau: sf.rollout(ARM, q, v, dt=1e-3, steps=5)[0],
}
ONE_STATE = {
    "simulate": lambda q, v, a, tau: sf.simulate(ARM, q, v, 0.01).q,
    "rollout tau": lambda q, v, a, tau: sf.rollout(ARM, q, v, tau, dt=1e-3, steps=5)[0],
    "Stepper.reset": lambda q, v, a, tau: _stepped(q, v, tau),
    "pd": lambda q, v, a, tau: sf.control.pd(ARM, q, 1.0, 1.0).target,
    "gains": lambda q, v, a, tau: sf.control.pd(ARM, Q[0], abs(tau), 1.0).kp,
    "pid": lambda q, v, a, tau: sf.control.pid(ARM, q, 1.0, 1.0, 1.0).target,
    "Joints": lambda q, v, a, tau: sf.inverse_kinematics(ARM, sf.targets.Joints(q)).q,
    "inverse_kinematics": lambda q, v, a, tau: (
        sf.inverse_kinematics(ARM, {"dh6": sf.frame_pose(ARM, Q[0], "dh6")}, q, starts=1).q
    ),
    "rollout_gradient": lambda q, v, a, tau: (
        sf.rollout_gradient(
            ARM, q, v, tau, dt=1e-3, steps=3, final_cost=lambda q, v: (q * q) @ WEIGHTS
        ).tau
    ),
}
TABLE_ONLY = {
    "rollout of steps": lambda q, v, a, tau: sf.rollout(ARM, Q[0], V[0], tau, dt=1e-3, steps=4)[0],
    "plan_trajectory": lambda q, v, a, tau: sf.control.plan_trajectory(ARM, q, duration=2.0).q,
    "Trajectory": lambda q, v, a, tau: _motion(q, v, a, tau),
    "write_report": lambda q, v, a, tau: _record(q, v),
    "identify": lambda q, v, a, tau: _identified(q, v, a, tau),
}


def _stepped(q, v, tau):
    stepper = sf.Stepper(ARM, dt=1e-3)
    stepper.reset(q, v)
    stepper.step(tau)
    return np.array(stepper.q)


def _motion(q, v, a, tau):
    energy = np.zeros(4)
    motion = sf.Trajectory(ARM, np.arange(4.0), q, v, a, tau, energy, energy)
    return np.stack([motion.q, motion.v, motion.a, motion.tau])


def _record(q, v):
    from sixfold.display.scene.record import record

    motion = record("write_report", ARM, {"q": q, "v": v})
    return np.concatenate([motion.q[0], motion.given["v"]])


def _identified(q, v, a, tau):
    from sixfold.identification.samples import source_of

    arrays = {"v": v, "a": a, "tau": tau, "t": None, "f_ext": None}
    (chunk,) = source_of(ARM, q, arrays, None, None).chunks()
    return np.concatenate(chunk)


def _cases():
    for table in TABLES:
        for name in (*CALLS, *ONE_STATE):
            yield table, name
    for table in ("pandas", "xarray"):
        for name in TABLE_ONLY:
            yield table, name


@pytest.mark.parametrize(("table", "name"), list(_cases()))
def test_names_in_another_order_give_the_same_result(table, name):
    call = (CALLS | ONE_STATE | TABLE_ONLY)[name]
    arrays = [x[0] if name in ONE_STATE else x for x in (Q, V, A, TAU)]
    expected = np.asarray(call(*arrays))
    turned = [TABLES[table](x[..., ::-1], BACK) for x in arrays]
    np.testing.assert_array_equal(np.asarray(call(*turned)), expected)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "names",
    [
        [*NAMES[:5], "gripper"],
        [*NAMES[:5], NAMES[4]],
        ["a", "b", "c", "d", "e", "f"],
        [name.upper() for name in BACK],
        [f"v[{name}]" for name in NAMES],
    ],
    ids=["one strange", "one twice", "all strange", "other case", "of velocities"],
)
def test_other_names_are_refused(table, names):
    with pytest.raises(sf.errors.ShapeError, match="the labels") as caught:
        sf.mass_matrix(ARM, TABLES[table](Q, names))
    assert "by position" in str(caught.value)
    with pytest.raises(sf.errors.ShapeError):
        sf.simulate(ARM, TABLES[table](Q[0], names), None, 0.01)


def test_too_few_and_too_many_columns_are_named():
    with pytest.raises(sf.errors.ShapeError, match=f"without {NAMES[0]}"):
        sf.mass_matrix(ARM, _pandas(Q[:, 1:], NAMES[1:]))
    with pytest.raises(sf.errors.ShapeError, match="also time"):
        sf.mass_matrix(ARM, _pandas(np.hstack([Q[:, :1], Q]), ["time", *NAMES]))


@pytest.mark.parametrize("names", [range(6), [5, 4, 3, 2, 1, 0], [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]])
def test_numbered_columns_are_taken_by_position(names):
    np.testing.assert_array_equal(sf.mass_matrix(ARM, _pandas(Q, names)), sf.mass_matrix(ARM, Q))


def test_the_columns_of_a_trajectorys_table_are_known(tmp_path):
    pandas = pytest.importorskip("pandas", reason="tables")
    run = sf.simulate(ARM, Q[0], V[0], 0.01)
    run.to_csv(tmp_path / "run.csv")
    table = pandas.read_csv(tmp_path / "run.csv")
    q = table[[f"q[{name}]" for name in BACK]]
    v = table[[f"v[{name}]" for name in NAMES]]
    expected = sf.bias_force(ARM, run.q, run.v)
    np.testing.assert_allclose(sf.bias_force(ARM, q, v), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("table", ["pandas", "xarray"])
def test_a_square_table_with_states_along_the_wrong_axis_is_refused(table):
    square, _ = sf.random_state(ARM, 6, seed=1)
    if table == "pandas":
        turned = _pandas(square, NAMES).T
    else:
        turned = _xarray(square, NAMES).transpose("joint", "run")
    with pytest.raises(sf.errors.ShapeError, match="transpose"):
        sf.mass_matrix(ARM, turned)


def test_wrenches_are_taken_by_the_names_of_bodies():
    pandas = pytest.importorskip("pandas", reason="tables")
    f_ext = np.arange(36.0).reshape(6, 6)
    table = pandas.DataFrame(f_ext, index=ARM.body_names).iloc[::-1]
    expected = sf.inverse_dynamics(ARM, Q[0], V[0], A[0], f_ext)
    np.testing.assert_array_equal(sf.inverse_dynamics(ARM, Q[0], V[0], A[0], table), expected)
    run = sf.simulate(ARM, Q[0], V[0], 0.01, f_ext=table)
    assert np.array_equal(run.q, sf.simulate(ARM, Q[0], V[0], 0.01, f_ext=f_ext).q)


def test_a_log_has_no_model_whose_names_its_columns_could_be():
    with pytest.raises(sf.errors.ShapeError, match="has no model"):
        sf.identification.Log(_pandas(Q, BACK), tau=TAU, t=0.01)
    assert sf.identification.Log(_pandas(Q, range(6)), tau=TAU, t=0.01).q.shape == (4, 6)


def test_forces_of_a_floating_robot_may_be_those_of_its_motors():
    from sixfold.identification.samples import source_of

    model = sf.load("floating_link")
    q, v = sf.random_state(model, 5, seed=1)
    a, tau = np.zeros_like(v), np.arange(5.0)[:, None]
    arrays = {"v": v, "a": a, "tau": _pandas(tau, [model.coordinates.v_names[-1]])}
    arrays |= {"t": None, "f_ext": None}
    (chunk,) = source_of(model, q, arrays, None, None).chunks()
    assert np.array_equal(chunk[3][:, -1], tau[:, 0])


FORCES = {
    "control": lambda table: sf.simulate(ARM, Q[0], V[0], 0.01, control=lambda t, q, v: table).q,
    "NumPy": lambda table: (
        sf.simulate(ARM, Q[0], V[0], 0.01, control=lambda t, q, v: table, backend="numpy").q
    ),
    "states": lambda table: (
        sf.simulate(ARM, Q[0], V[0], 0.01, control=lambda t, q, v, x: (table, -x), x0=[1.0]).q
    ),
    "rollout": lambda table: sf.rollout(
        ARM, Q[0], V[0], dt=1e-3, steps=4, control=lambda t, q, v: table
    )[0],
    "saturated": lambda table: sf.control.saturate(ARM, lambda t, q, v: table)(0.0, Q[0], V[0]),
    "disturbance_observer": lambda table: sf.control.disturbance_observer(
        ARM, lambda t, q, v: table, 5.0
    )(0.0, Q[0], V[0], A[0])[0],
    "computed_torque": lambda table: sf.control.computed_torque(
        ARM, lambda t: (table,) * 3, 100.0, 20.0
    )(0.0, Q[0], V[0]),
    "reset": lambda table: (
        sf.simulate(
            ARM,
            Q[0],
            V[0],
            0.01,
            events=sf.Event(lambda t, q, v: t - 0.005, reset=lambda t, q, v: (table, table)),
        ).q
    ),
}


@pytest.mark.filterwarnings("ignore::sixfold.errors.PythonCallbackWarning")
@pytest.mark.parametrize("name", FORCES)
def test_tables_that_functions_return_are_taken_by_names(name):
    expected = FORCES[name](TAU[0])
    found = FORCES[name](_pandas(TAU[0][::-1], BACK))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    with pytest.raises(sf.errors.SixfoldError, match="the labels"):
        FORCES[name](_pandas(TAU[0], list("abcdef")))


def test_external_forces_that_a_function_returns_are_taken_by_names():
    pandas = pytest.importorskip("pandas", reason="tables")
    f_ext = np.arange(36.0).reshape(6, 6)
    axes = ["ang_x", "ang_y", "ang_z", "lin_x", "lin_y", "lin_z"]
    table = pandas.DataFrame(f_ext, index=ARM.body_names, columns=axes).iloc[::-1, ::-1]
    runs = [
        sf.simulate(ARM, Q[0], V[0], 0.01, f_ext=lambda t, q, v, x=x: x) for x in (f_ext, table)
    ]
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("table", ["pandas", "xarray"])
@pytest.mark.parametrize("form", [None, "rolled"])
def test_a_kernel_refuses_tables(table, form):
    """NumPy would let pandas pass them transposed."""
    kernel = sf.compile(sf.gravity_force, ARM, form=form)
    square = np.tile(Q[:1], (6, 1))
    for x in (square, Q[0]):
        np.testing.assert_allclose(kernel(x), sf.gravity_force(ARM, x), rtol=0, atol=1e-9)
        with pytest.raises(sf.errors.NumberError, match="a kernel reads no labels"):
            kernel(TABLES[table](x, NAMES))


def test_a_kernel_refuses_masked_elements():
    kernel = sf.compile(sf.gravity_force, ARM)
    with pytest.raises(sf.errors.NumberError, match="masked"):
        kernel(np.ma.masked_array(Q, Q > 1.0))
    np.testing.assert_array_equal(kernel(np.ma.masked_array(Q)), sf.gravity_force(ARM, Q))
