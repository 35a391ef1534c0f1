"""`sf.System`: one description of what moves, and what a second call with it costs."""

import dataclasses
import inspect
import sys

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation import SystemOptions, tracing
from sixfold.simulation.purity import reach_of
from sixfold.simulation.system import FIELDS

MODEL = sf.load("double_pendulum")
START = [1.0, 0.5], [0.1, -0.2]
GAIN = np.array([3.0, 2.0])


def law(t, q, v):
    return -GAIN * q - 0.5 * v


def frames_of(call):
    """Return how many Python frames inside the library a call takes."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call" and "sixfold" in frame.f_code.co_filename

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@pytest.fixture
def traces(monkeypatch):
    """Return a list with an entry for each time that a function of the user is traced."""
    found, trace = [], tracing.program_of
    monkeypatch.setattr(tracing, "program_of", lambda *given: found.append(given) or trace(*given))
    return found


# -- the same motion, however it is described


def test_a_system_moves_as_its_model_with_keywords():
    given = {"control": law, "f_ext": np.full((2, 6), 0.1), "method": "crba"}
    system = sf.System(MODEL, **given)
    both = [sf.simulate(system, *START, 0.02), sf.simulate(MODEL, *START, 0.02, **given)]
    np.testing.assert_array_equal(both[0].q, both[1].q)
    steps = {"dt": 1e-3, "steps": 5}
    both = [sf.rollout(system, *START, **steps), sf.rollout(MODEL, *START, **steps, **given)]
    np.testing.assert_array_equal(both[0][0], both[1][0])
    steps["final_cost"] = lambda q, v: q @ q
    both = [
        sf.rollout_gradient(system, *START, **steps),
        sf.rollout_gradient(MODEL, *START, **steps, **given),
    ]
    np.testing.assert_array_equal(both[0].q0, both[1].q0)


def test_keywords_replace_fields_of_a_system():
    system = sf.System(MODEL, control=law, hold=True)
    found = sf.rollout(system, *START, dt=1e-3, steps=3, hold=False)
    wanted = sf.rollout(MODEL, *START, dt=1e-3, steps=3, control=law)
    np.testing.assert_array_equal(found[0], wanted[0])
    assert system.hold


def test_a_stepper_and_a_task_take_a_system():
    def push(t, q, v, action):
        return [action[0], 0.0]

    system = sf.System(MODEL, control=push)
    steppers = [
        sf.Stepper(x, dt=1e-3, actions=1, **more)
        for x, more in ((system, {}), (MODEL, {"control": push}))
    ]
    for each in steppers:
        each.reset(*START)
        each.step([2.0])
    np.testing.assert_array_equal(steppers[0].q, steppers[1].q)
    task = sf.learn.Task(
        "push",
        system,
        dt=1e-3,
        low=-1.0,
        high=1.0,
        observe=lambda t, q, v: q,
        reward=lambda t, q, v, action: q[0],
        start=lambda u: (0 * u, 0 * u),
        draws=2,
        steps=5,
    )
    assert task.robot is MODEL and task.stepper(3).q.shape == (3, 2)


def test_linearize_and_optimal_control_take_a_system():
    wrench = np.full((2, 6), 0.3)
    found = sf.control.linearize(sf.System(MODEL, f_ext=wrench), *START, [0.0, 0.0])
    wanted = sf.control.linearize(MODEL, *START, [0.0, 0.0], f_ext=wrench)
    np.testing.assert_array_equal(found.A, wanted.A)
    options = {"dt": 1e-2, "steps": 3, "final_cost": lambda q, v: q @ q}
    found = sf.control.optimal_control(sf.System(MODEL), *START, **options)
    np.testing.assert_array_equal(found.q, sf.control.optimal_control(MODEL, *START, **options).q)
    for call in (
        lambda system: sf.control.linearize(system, *START, [0.0, 0.0]),
        lambda system: sf.control.optimal_control(system, *START, **options),
    ):
        with pytest.raises(
            sf.errors.NotApplicableError, match=r"option 'control'(.|\n)*without it"
        ):
            call(sf.System(MODEL, control=law))


def test_other_inertias_move_as_the_model_with_them():
    inertias = 2.0 * np.array([body.inertia.array() for body in MODEL.bodies])
    heavy = sf.simulate(sf.System(MODEL, inertias=inertias), *START, 0.1)
    light = sf.simulate(MODEL, *START, 0.1)
    np.testing.assert_allclose(heavy.q, light.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(heavy.kinetic, 2.0 * light.kinetic, rtol=1e-9)
    np.testing.assert_allclose(heavy.potential, 2.0 * light.potential, rtol=1e-9)


# -- fields


def test_fields_are_checked_when_the_system_is_made():
    for options, error in (
        ({"method": "newton"}, sf.errors.OptionError),
        ({"hold": True}, sf.errors.NotApplicableError),
        ({"compensated": 3}, sf.errors.OptionError),
        ({"f_ext_frame": "body"}, sf.errors.NotApplicableError),
    ):
        with pytest.raises(error, match=f"System: option '{next(iter(options))}'"):
            sf.System(MODEL, **options)
    with pytest.raises(sf.errors.ArgumentError, match="first argument must be a Model"):
        sf.System("panda")
    with pytest.raises(dataclasses.FrozenInstanceError):
        sf.System(MODEL).hold = True
    assert "control=law" in repr(sf.System(MODEL, control=law))


def test_the_keywords_have_the_names_of_the_fields():
    assert set(SystemOptions.__annotations__) == set(FIELDS)
    assert len(inspect.signature(sf.simulate).parameters) <= 12


@pytest.mark.parametrize(
    ("system", "words"),
    [
        (sf.System(MODEL, hold=True, control=law), "'hold'"),
        (sf.System(MODEL, backend="numpy"), "'backend'"),
        (sf.System(MODEL, compensated=True), "'compensated'"),
        (sf.System(MODEL, f_ext=lambda t, q, v: np.zeros((2, 6))), "'f_ext'"),
    ],
)
def test_a_stepper_refuses_what_it_cannot_do(system, words):
    with pytest.raises(sf.errors.NotApplicableError, match=f"Stepper: option {words}"):
        sf.Stepper(system, dt=1e-3)


def test_an_unknown_device_is_refused():
    with pytest.raises(sf.errors.OptionError, match="'device'"):
        sf.rollout(MODEL, *START, dt=1e-3, steps=2, device="tpu")


# -- a second call


def test_a_second_call_does_not_trace_again(traces):
    gain = np.array([1.25, 2.5])
    own = lambda t, q, v: -gain * q  # noqa: E731
    system = sf.System(MODEL, control=own)
    for call in (
        lambda: sf.simulate(system, *START, 0.01),
        lambda: sf.simulate(MODEL, *START, 0.01, control=own),
        lambda: sf.rollout(system, *START, dt=1e-3, steps=3),
        lambda: sf.rollout(MODEL, *START, dt=1e-3, steps=3, control=own),
    ):
        call()
        traces.clear()
        before = call()
        assert not traces
    gain[0] = 7.0
    after = call()
    assert traces  # the captured array has changed
    assert np.abs(after[0] - before[0]).max() > 1e-9


@pytest.mark.parametrize(
    "change", [(0.0, -0.0), (1, 1.0), (1, True), (np.float64(0.0), np.float64(-0.0))]
)
def test_values_with_other_bits_are_other_values(change):
    keys = []
    for k in change:
        keys.append(reach_of(lambda t, q, v, k=k: k * q).key[1:])
    first, second = (tuple(x for x in key if not hasattr(x[-1], "co_code")) for key in keys)
    assert first != second


def test_what_is_looked_up_by_a_computed_name_is_read_again(traces):
    class Gains:
        k = 1.0

    own = lambda t, q, v: -getattr(Gains, "K".lower()) * q  # noqa: E731
    first = sf.simulate(MODEL, *START, 0.01, control=own)
    Gains.k = 30.0
    second = sf.simulate(MODEL, *START, 0.01, control=own)
    assert traces and np.abs(first.q - second.q).max() > 1e-6


def test_a_law_that_is_compiled_on_the_user_s_word_is_traced_at_each_call(traces):
    class Held:
        """An object that refers to a value through one whose state cannot be saved."""

        def __init__(self):
            self.inner = iter(())
            self.k = 1.0

    held = Held()
    own = lambda t, q, v: -held.k * q  # noqa: E731
    options = {"control": own, "compiled": True}
    first = sf.simulate(MODEL, *START, 0.01, **options)
    traces.clear()
    held.k = 30.0
    second = sf.simulate(MODEL, *START, 0.01, **options)
    assert traces and np.abs(first.q - second.q).max() > 1e-6
    traces.clear()
    sf.simulate(MODEL, *START, 0.01, **options)
    assert traces


def test_a_warm_rollout_with_contacts_takes_few_frames():
    robot, ground = sf.load("quadruped"), sf.contact.Ground()
    q = np.tile(sf.neutral(robot), (4, 1))
    v = np.zeros((4, robot.nv))
    options = {"dt": 2e-3, "steps": 5}
    first = sf.rollout(robot, q, v, **options, contacts=ground)
    warm = sf.rollout(robot, q, v, **options, contacts=ground)
    np.testing.assert_array_equal(first[0], warm[0])
    np.testing.assert_array_equal(first[1], warm[1])
    assert frames_of(lambda: sf.rollout(robot, q, v, **options, contacts=ground)) <= 40
    system = sf.System(robot, contacts=ground)
    sf.rollout(system, q, v, **options)
    assert frames_of(lambda: sf.rollout(system, q, v, **options)) <= 40


def test_a_warm_simulation_with_a_law_takes_few_frames():
    arm = sf.load("puma560")
    path = sf.control.minimum_jerk(np.zeros(6), np.full(6, 0.5), 1.0)
    for own in (sf.control.computed_torque(arm, path, kp=400.0, kd=40.0), lambda t, q, v: -v):
        call = lambda own=own: sf.simulate(arm, np.zeros(6), None, 0.1, control=own)  # noqa: E731
        call()
        call()
        assert frames_of(call) <= 800


def test_a_start_off_the_unit_sphere_is_refused_by_warm_rollouts_too():
    robot, ground = sf.load("quadruped"), sf.contact.Ground()
    q, v = np.tile(sf.neutral(robot), (2, 1)), np.zeros((2, robot.nv))
    options = {"dt": 2e-3, "steps": 2, "contacts": ground}
    sf.rollout(robot, q, v, **options)
    q[1, 3:7] *= 1.1
    with pytest.raises(sf.errors.StateError, match="length 1"):
        sf.rollout(robot, q, v, **options)
    q[1, 3:7] /= 1.1 * (1 + 1e-8)
    near = sf.rollout(robot, q, v, **options)[0]
    assert np.abs(np.linalg.norm(near[..., 3:7], axis=-1) - 1.0).max() < 1e-12


def test_warm_rollouts_see_another_ground():
    robot = sf.load("quadruped")
    q, v = np.tile(sf.neutral(robot), (2, 1)), np.zeros((2, robot.nv))
    found = [
        sf.rollout(robot, q, v, dt=2e-3, steps=20, contacts=sf.contact.Ground(height=height))[0]
        for height in (-5.0, -5.0, 0.3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[1] - found[2]).max() > 1e-3
