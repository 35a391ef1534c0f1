"""`sf.simulate`: what it accepts, what it returns, and how it refuses."""

import io
import math
import pickle

import numpy as np
import pytest

import sixfold as sf
from tests.simulation.support import flyer, heavy_top

PENDULUM = sf.load("double_pendulum")


def run(**changes):
    given = {"system": PENDULUM, "q0": [1.0, 0.5], "v0": [0.0, 0.0], "duration": 0.1}
    return sf.simulate(**(given | changes))


def test_a_trajectory_has_time_and_states_of_every_step():
    result = run()
    assert result.t.shape == (101,)
    assert result.q.shape == result.v.shape == result.a.shape == result.tau.shape == (101, 2)
    assert result.kinetic.shape == result.potential.shape == result.total.shape == (101,)
    np.testing.assert_allclose(result.t, np.arange(101) * 1e-3, atol=1e-15)
    np.testing.assert_array_equal(result.q[0], [1.0, 0.5])
    acc = sf.forward_dynamics(PENDULUM, result.q, result.v, np.zeros((101, 2)))
    np.testing.assert_allclose(result.a, acc, rtol=1e-13)
    np.testing.assert_allclose(result.kinetic, sf.kinetic_energy(PENDULUM, result.q, result.v))


def test_none_starts_at_rest_in_the_neutral_configuration():
    result = sf.simulate(heavy_top(), None, None, 0.01)
    np.testing.assert_array_equal(result.q[0], [0, 0, 0, 1])
    np.testing.assert_array_equal(result.v[0], [0, 0, 0])


def test_samples_may_be_further_apart_than_steps():
    fine, coarse = run(), run(every=7)
    assert coarse.t.tolist() == [*fine.t[::7], fine.t[-1]]
    np.testing.assert_allclose(coarse.q[:-1], fine.q[::7], rtol=0, atol=1e-15)
    np.testing.assert_allclose(coarse.q[-1], fine.q[-1], rtol=0, atol=1e-14)


def test_samples_may_be_further_apart_than_one_call_of_the_kernel(monkeypatch):
    from sixfold.simulation import time_loop

    whole = run(duration=0.1003, every=40)
    monkeypatch.setattr(time_loop, "BLOCK_STEPS", 7)
    again = run(duration=0.1003, every=40)
    np.testing.assert_array_equal(again.t, whole.t)
    np.testing.assert_array_equal(again.q, whole.q)


def test_a_duration_that_is_no_multiple_of_the_step_ends_with_a_shorter_one():
    result = run(duration=0.1003)
    assert len(result) == 102 and result.t[-1] == 0.1003
    exact = run(duration=0.1003, dt=0.0001)
    np.testing.assert_allclose(result.q[-1], exact.q[-1], atol=1e-11)


def test_a_duration_within_rounding_of_a_multiple_is_one():
    result = run(duration=0.3, dt=0.1)
    assert len(result) == 4 and result.t[-1] == 0.3


def test_no_duration_gives_the_start():
    result = run(duration=0.0)
    assert result.t.tolist() == [0.0] and result.q.shape == (1, 2)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "lie_rk4", "midpoint"])
def test_each_start_of_a_batch_moves_as_if_alone(integrator):
    model = flyer()
    q, v = sf.random_state(model, (2, 9), seed=1)
    batch = sf.simulate(model, q, v, 0.02, integrator=integrator)
    assert batch.q.shape == (2, 9, 21, model.nq)
    alone = sf.simulate(model, q[1, 5], v[1, 5], 0.02, integrator=integrator)
    np.testing.assert_array_equal(batch.q[1, 5], alone.q)
    np.testing.assert_array_equal(batch.v[1, 5], alone.v)
    np.testing.assert_array_equal(batch.total[1, 5], alone.total)


def test_starts_broadcast_against_parameters():
    def spring(t, q, v, gains):
        return -gains[0] * q - gains[1] * v

    gains = np.array([[10.0, 1.0], [20.0, 2.0], [0.0, 0.0]])
    batch = run(control=spring, parameters=gains, duration=0.5)
    assert batch.q.shape == (3, 501, 2) and not batch.notes
    np.testing.assert_allclose(batch.q[2], run(duration=0.5).q, atol=1e-14)
    fixed = run(control=lambda t, q, v: -20.0 * q - 2.0 * v, duration=0.5)
    np.testing.assert_allclose(batch.q[1], fixed.q, atol=1e-13)
    np.testing.assert_allclose(batch.tau[1], -20 * batch.q[1] - 2 * batch.v[1], atol=1e-12)


def test_a_start_at_another_time_shifts_the_controller():
    def push(t, q, v):
        return np.array([5.0 * sf.math.sin(t), 0.0])

    whole = run(control=push, duration=0.2)
    half = run(control=push, duration=0.1)
    rest = run(q0=half.q[-1], v0=half.v[-1], control=push, duration=0.1, t0=0.1)
    assert rest.t[0] == 0.1
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-13)


@pytest.mark.parametrize("backend", [None, "numpy"])
def test_constant_external_forces_and_functions_agree(backend):
    force = np.zeros((2, 6))
    force[1] = [0, 1, 0, 3, 0, 0]
    constant = run(f_ext=force, backend=backend)
    function = run(f_ext=lambda t, q, v: force, backend=backend)
    np.testing.assert_allclose(constant.q, function.q, atol=1e-14)
    assert np.abs(constant.q - run().q).max() > 1e-3
    acc = sf.forward_dynamics(PENDULUM, constant.q, constant.v, np.zeros(2), force)
    np.testing.assert_allclose(constant.a, acc, rtol=1e-12)


def test_external_forces_may_act_in_body_axes_and_differ_by_start():
    force = np.zeros((3, 2, 6))
    force[:, 1, 3] = [0.0, 1.0, 2.0]
    batch = run(f_ext=force, f_ext_frame="body")
    np.testing.assert_allclose(batch.q[0], run().q, atol=1e-14)
    np.testing.assert_allclose(batch.q[2], run(f_ext=force[2], f_ext_frame="body").q, atol=1e-15)
    assert np.abs(batch.q[2] - run(f_ext=force[2]).q).max() > 1e-4


def test_a_held_controller_is_evaluated_once_a_step():
    calls = []

    def law(t, q, v):
        calls.append(float(t))
        return np.array([-float(q[0]), 0.0])

    result = run(control=law, hold=True, duration=0.01)
    assert calls[: len(result.t)] == pytest.approx(result.t, abs=1e-15)
    assert len(calls) == len(result.t)
    twin = run(control=lambda t, q, v: np.array([-q[0], 0.0]), hold=True, duration=0.01)
    assert not twin.notes
    np.testing.assert_allclose(result.q, twin.q, atol=1e-15)
    np.testing.assert_allclose(result.tau[:, 0], -result.q[:, 0], atol=1e-15)


def test_solve_ivp_agrees_with_short_steps():
    pytest.importorskip("scipy", reason="the adaptive integrator is SciPy's")
    model = flyer()
    q, v = sf.random_state(model, 2, seed=3)
    exact = sf.simulate(model, q, v, 1.0, dt=2.5e-4, integrator="lie_rk4", every=400)
    adaptive = sf.simulate(
        model, q, v, 1.0, dt=0.1, integrator="solve_ivp", tolerances=(1e-11, 1e-12)
    )
    assert adaptive.q.shape == (2, 11, model.nq)
    np.testing.assert_allclose(adaptive.q, exact.q, atol=1e-8)
    assert np.abs(np.linalg.norm(adaptive.q[..., 3:7], axis=-1) - 1).max() < 1e-15


@pytest.mark.parametrize("solver", ["DOP853", "Radau", "LSODA", "BDF"])
def test_solve_ivp_ends_with_an_error_when_numbers_run_away(solver):
    pytest.importorskip("scipy", reason="the adaptive integrator is SciPy's")
    with pytest.raises(sf.errors.SimulationError, match="not finite"):
        run(
            q0=[3.0, 1.0],
            control=lambda t, q, v: 1e3 * v * v * v + 1.0,
            duration=1.0,
            dt=0.1,
            integrator=solver,
        )


def test_big_trees_run_without_one_long_program(monkeypatch):
    from sixfold.simulation import step

    whole = run()
    monkeypatch.setattr(step, "MAX_STEP_OPERATIONS", 10)
    np.testing.assert_allclose(run().q, whole.q, atol=1e-13)


def test_a_model_without_joints_stays_where_it_is():
    builder = sf.ModelBuilder("rock")
    builder.add_body("rock", joint=sf.Fixed(), inertia=sf.Inertia.from_mass(1.0))
    result = sf.simulate(builder.build(), [], [], 0.01)
    assert result.q.shape == (11, 0)


def test_progress_is_told_up_to_the_end():
    seen = []
    run(duration=20.0, progress=lambda reached, end: seen.append((reached, end)))
    assert len(seen) > 2 and seen[-1] == (20.0, 20.0)
    assert [x for x, _ in seen] == sorted(x for x, _ in seen)


def test_a_bar_shows_the_share(capsys):
    from sixfold.progress import Bar

    stream = io.StringIO()
    bar = Bar(stream=stream)
    bar(0.5, 2.0)
    bar(2.0, 2.0)
    assert " 25 %" in stream.getvalue() and "100 %" in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_a_bar_is_off_without_a_terminal(capfd):
    run(progress=True)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"dt": 0}, sf.errors.OptionError, ("'dt'", "> 0")),
        ({"dt": -1e-3}, sf.errors.OptionError, ("'dt'", "-0.001")),
        ({"dt": math.nan}, sf.errors.OptionError, ("'dt'", "nan")),
        ({"dt": math.inf}, sf.errors.OptionError, ("'dt'", "inf")),
        ({"dt": "fast"}, sf.errors.OptionError, ("'dt'", "'fast'")),
        ({"dt": True}, sf.errors.OptionError, ("'dt'", "True")),
        ({"dt": 1e-14}, sf.errors.OptionError, ("'dt'", "at least")),
        ({"duration": -1}, sf.errors.OptionError, ("'duration'", ">= 0")),
        ({"duration": math.inf}, sf.errors.OptionError, ("'duration'",)),
        ({"duration": None}, sf.errors.OptionError, ("'duration'", "None")),
        ({"t0": math.nan}, sf.errors.OptionError, ("'t0'",)),
        ({"every": 0}, sf.errors.OptionError, ("'every'", "from 1 to")),
        ({"every": 1.5}, sf.errors.OptionError, ("'every'", "1.5")),
        ({"integrator": "rk5"}, sf.errors.OptionError, ("'integrator'", "'lie_rk4'", "'rk5'")),
        ({"integrator": 4}, sf.errors.OptionError, ("'integrator'",)),
        ({"f_ext_frame": "tool"}, sf.errors.OptionError, ("'f_ext_frame'",)),
        ({"backend": "gpu"}, sf.errors.OptionError, ("'backend'",)),
        ({"hold": "yes"}, sf.errors.OptionError, ("'hold'",)),
        ({"limits": 3}, sf.errors.OptionError, ("'limits'", "JointStops")),
        ({"progress": 3}, sf.errors.ArgumentError, ("'progress'",)),
        ({"system": "arm"}, sf.errors.ArgumentError, ("Model",)),
        ({"q0": [1.0]}, sf.errors.ShapeError, ("'q0'", "(..., 2)")),
        ({"v0": np.zeros(3)}, sf.errors.ShapeError, ("'v0'",)),
        ({"q0": np.zeros((4, 2)), "v0": np.zeros((3, 2))}, sf.errors.ShapeError, ("q0/v0",)),
        ({"q0": [math.nan, 0]}, sf.errors.StateError, ("'q0' at [0]", "'shoulder'", "nan")),
        ({"v0": [0, math.inf]}, sf.errors.StateError, ("'v0' at [1]", "'elbow'", "inf")),
        ({"q0": "ab"}, sf.errors.NumberError, ("'q0'",)),
        ({"q0": [1j, 0]}, sf.errors.NumberError, ("'q0'",)),
        ({"f_ext": np.zeros((3, 6))}, sf.errors.ShapeError, ("'f_ext'", "(..., 2, 6)")),
        ({"f_ext": np.full((2, 6), math.nan)}, sf.errors.StateError, ("'f_ext' at [0, 0]",)),
        (
            {"parameters": [], "control": lambda t, q, v, p: q},
            sf.errors.NumberError,
            ("'parameters'",),
        ),
        ({"parameters": [1.0]}, sf.errors.NotApplicableError, ("without a controller",)),
        ({"control": 3}, sf.errors.ArgumentError, ("'control'", "a function")),
        (
            {"hold": True, "control": lambda t, q, v: q, "integrator": "solve_ivp"},
            sf.errors.NotApplicableError,
            ("'hold'", "'solve_ivp'"),
        ),
        ({"integrator": "Euler"}, sf.errors.OptionError, ("'integrator'", "'DOP853'")),
        ({"method": "DOP853"}, sf.errors.NotApplicableError, ("integrator='DOP853'",)),
        ({"method": "euler"}, sf.errors.OptionError, ("'method'", "'crba'")),
        (
            {"integrator": "solve_ivp", "tolerances": (0, 1e-9)},
            sf.errors.OptionError,
            ("'tolerances'",),
        ),
        ({"integrator": "solve_ivp", "tolerances": 1e-6}, sf.errors.OptionError, ("'tolerances'",)),
    ],
)
def test_wrong_arguments_are_named_at_once(changes, kind, words):
    with pytest.raises(kind) as caught:
        run(**changes)
    for word in (*words, "simulate", "fix: "):
        assert word in str(caught.value)


@pytest.mark.parametrize("quaternion", [[0, 0, 0, 2], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1.001]])
def test_a_quaternion_that_is_no_rotation_is_refused(quaternion):
    with pytest.raises(sf.errors.StateError, match=r"joint 'top_joint'[^$]*length 1"):
        sf.simulate(heavy_top(), quaternion, None, 0.1)


def test_a_quaternion_within_rounding_is_put_on_the_sphere():
    result = sf.simulate(heavy_top(), [0, 0, 0, 1 + 1e-9], None, 0.01)
    np.testing.assert_array_equal(result.q[0], [0, 0, 0, 1])


def test_samples_that_would_not_fit_into_memory_are_refused():
    with pytest.raises(sf.errors.OptionError, match="GiB"):
        run(duration=1e6, dt=1e-4)


def test_a_joint_without_inertia_is_refused_before_the_first_step():
    builder = sf.ModelBuilder("arm")
    builder.add_body("ghost", joint=sf.Revolute("z"))
    with pytest.raises(sf.errors.SingularModelError, match="ghost"):
        sf.simulate(builder.build(), None, None, 1.0)


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("backend", [None, "numpy"])
def test_numbers_that_run_away_stop_the_run_and_keep_what_came_before(backend, every):
    blow = sf.control.pd(PENDULUM, [0.0, 0.0], 1e6, 1e5)
    with pytest.raises(sf.errors.SimulationError) as caught:
        run(control=blow, duration=5.0, every=every, backend=backend)
    error = caught.value
    assert 0 < error.time < 5
    assert "is not finite" in str(error) and "joint '" in str(error) and "fix: " in str(error)
    assert error.trajectory.t[-1] < error.time <= error.trajectory.t[-1] + 1.01e-3 * every
    assert np.isfinite(error.trajectory.q).all()
    again = pickle.loads(pickle.dumps(error))
    assert again.time == error.time and len(again.trajectory) == len(error.trajectory)


def test_the_start_that_runs_away_is_named():
    q0 = np.zeros((4, 2))
    q0[2, 0] = 1.0
    with pytest.raises(sf.errors.SimulationError, match=r"start \[2\]: v of joint"):
        run(q0=q0, control=lambda t, q, v: 40.0 * v * v * v, duration=5.0)


def test_a_controller_without_finite_forces_is_named_as_the_cause():
    with pytest.raises(sf.errors.SimulationError, match="look into control"):
        run(control=lambda t, q, v: np.array([0.0, sf.math.log(t - 1.0)]))


def test_midpoint_iterations_that_do_not_converge_are_an_error():
    with pytest.raises(sf.errors.SimulationError, match="do not converge") as caught:
        run(integrator="midpoint", control=lambda t, q, v: -100.0 * v, duration=0.05)
    assert len(caught.value.trajectory) == 51
    assert run(integrator="midpoint", control=lambda t, q, v: -1.0 * v).energy_drift > 0


def test_midpoint_at_rest_converges():
    assert run(integrator="midpoint", q0=[0.0, 0.0]).energy_drift == 0.0


def test_a_pivot_lost_on_the_way_is_an_error():
    # a massless gimbal of three axes loses its middle freedom when the outer two line up
    builder = sf.ModelBuilder("gimbal", gravity=(0, 0, 0))
    builder.add_body("outer", joint=sf.Revolute("z"))
    builder.add_body("middle", parent="outer", joint=sf.Revolute("y"))
    inertia = sf.Inertia.from_mass(1.0, (0, 0.5, 0), (1.0, 1.0, 1.0))
    builder.add_body("inner", parent="middle", joint=sf.Revolute("z"), inertia=inertia)
    with pytest.raises(sf.errors.SimulationError, match="no inertia behind joint 'outer_joint'"):
        sf.simulate(builder.build(), [0.0, 0.0, 0.0], None, 0.01)


def limited():
    builder = sf.ModelBuilder("door")
    inertia = sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
    builder.add_body("door", joint=sf.Revolute("y"), inertia=inertia, lower=-0.5, upper=0.8)
    return builder.build()


def test_limits_are_noted_when_nothing_stops_a_joint():
    result = sf.simulate(limited(), [0.0], None, 1.0)
    assert "'door_joint'" in result.notes[0] and "limits=True" in result.notes[0]
    assert not sf.simulate(limited(), [0.0], None, 0.05).notes


@pytest.mark.parametrize("backend", [None, "numpy"])
def test_limits_push_back(backend):
    if backend == "numpy":
        short = sf.simulate(limited(), [0.75], [1.0], 0.2, limits=True, backend=backend)
        twin = sf.simulate(limited(), [0.75], [1.0], 0.2, limits=True)
        np.testing.assert_allclose(short.q, twin.q, atol=1e-13)
        return
    result = sf.simulate(limited(), [0.0], None, 5.0, limits=True)
    assert result.q.max() < 0.87
    assert np.abs(result.v[-1]) < 1e-3 and not result.notes
    # at rest the spring carries the weight: k x = m g l cos(q)
    law = sf.JointStops()
    felt = float(sf.mass_matrix(limited(), [0.0])[0, 0])
    sunk = result.q[-1, 0] - 0.8
    carried = felt / law.time_constant**2 * sunk
    assert carried == pytest.approx(9.81 * 0.5 * math.cos(result.q[-1, 0]), rel=1e-3)


def test_a_stop_without_damping_gives_the_energy_back():
    law = sf.JointStops(time_constant=0.01, damping_ratio=0.0)
    model = limited().with_gravity((0, 0, 0))
    result = sf.simulate(model, [0.0], [1.0], 3.0, dt=1e-4, limits=law)
    assert result.q.min() < -0.5 and result.q.max() > 0.8
    assert abs(result.kinetic.max() - result.kinetic[0]) < 1e-6


@pytest.mark.parametrize("bad", [{"time_constant": 0}, {"damping_ratio": -1}])
def test_stops_that_are_none_are_refused(bad):
    with pytest.raises(sf.errors.OptionError, match="JointStops"):
        sf.JointStops(**bad)


def test_a_model_may_damp_its_own_joints():
    builder = sf.ModelBuilder("wheel", gravity=(0, 0, 0))
    inertia = sf.Inertia.from_mass(1.0, rotational=(1.0, 1.0, 2.0))
    builder.add_body("wheel", joint=sf.Revolute("z"), inertia=inertia, damping=0.5)
    result = sf.simulate(builder.build(), [0.0], [1.0], 4.0)
    np.testing.assert_allclose(result.v[:, 0], np.exp(-0.25 * result.t), rtol=1e-12)


def test_the_rolling_ball_rolls():
    ball = sf.load("rolling_ball").with_gravity((0, 1.0, -9.81))
    result = sf.simulate(ball, [0.0], None, 1.0)
    assert 0.1 * abs(result.q[-1, 0]) == pytest.approx(5 / 14, rel=1e-12)
