"""Events that reset the state: bouncing, walking, and motions that come to rest."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf

EXAMPLES = Path(__file__).parents[2] / "examples"
FIRST, REST = 0.4515236409857, 4.0637127688716
"""First impact and rest of a ball from 1 m with e = 0.8 and g = 9.81 [s]."""


def ball(ground=0.0):
    builder = sf.ModelBuilder("ball")
    inertia = sf.Inertia.from_mass(1.0)
    builder.add_body("ball", joint=sf.Prismatic("z"), placement=(0, 0, ground), inertia=inertia)
    return builder.build()


def bouncing(model, restitution=0.8, **options):
    foot = sf.contact.ImpactPoint("ball", restitution=restitution)

    def bounce(t, q, v):
        return q, sf.contact.impact(model, q, v, foot)[0]

    return sf.Event(lambda t, q, v: q[0], "ground", direction=-1, reset=bounce, **options)


@pytest.mark.parametrize("integrator", ["rk4", "lie_rk4", "midpoint", "solve_ivp"])
def test_a_ball_bounces_until_it_rests(integrator):
    model = ball()
    with pytest.raises(
        sf.errors.SimulationError, match="event 'ground' follow each other"
    ) as caught:
        sf.simulate(
            model, [1.0], [0.0], 5.0, dt=0.01, integrator=integrator, events=bouncing(model)
        )
    assert "comes to rest" in str(caught.value) and "fix: " in str(caught.value)
    assert caught.value.time == pytest.approx(REST, abs=1e-12)
    made = caught.value.trajectory
    times = np.array([event.t for event in made.events])
    assert times[0] == pytest.approx(FIRST, abs=1e-12)
    # flights shrink as 0.8^n, down to rounding of the time
    exact = FIRST * (1 + 2 * 0.8 * (1 - 0.8 ** np.arange(len(times))) / 0.2)
    np.testing.assert_allclose(times, exact, atol=2e-12)
    assert len(times) > 130 and made.t[-1] == times[-1]
    for event in made.events[:20]:
        assert event.v_after[0] == pytest.approx(-0.8 * event.v[0], rel=1e-12)
        np.testing.assert_array_equal(event.q_after, event.q)


def test_a_ball_goes_on_bouncing_from_step_to_step():
    model = ball()
    run = sf.simulate(model, [1.0], [0.0], 3.0, dt=0.1, events=bouncing(model, 1.0))
    times = [event.t for event in run.events]
    np.testing.assert_allclose(times, FIRST * (1 + 2 * np.arange(len(times))), atol=1e-12)
    assert len(times) == 3 and run.t[-1] == 3.0
    assert run.energy_drift < 1e-12 and run.q.min() > -1e-12


def test_samples_hold_both_sides_of_a_jump():
    model = ball()
    run = sf.simulate(model, [1.0], [0.0], 1.0, dt=0.1, events=bouncing(model))
    k = int(np.flatnonzero(np.diff(run.t) == 0)[0])
    assert run.t[k] == run.events[0].t and len(run) == 11 + 2
    assert run.v[k, 0] == run.events[0].v[0] and run.v[k + 1, 0] == run.events[0].v_after[0]
    assert run.total[k + 1] == pytest.approx(0.64 * run.total[k], rel=1e-12)
    # curves between samples do not cross the jump
    finer = run.resample(0.005)
    times, q = finer.t, finer.q[:, 0]
    since = times - FIRST
    speed = 0.8 * 9.81 * FIRST
    exact = np.where(since < 0, 1 - 9.81 / 2 * times**2, speed * since - 9.81 / 2 * since**2)
    np.testing.assert_allclose(q, exact, atol=1e-12)


def test_a_reset_that_returns_nothing_ends_the_motion():
    model = ball()
    foot = sf.contact.ImpactPoint("ball", restitution=0.8)

    def bounce(t, q, v):
        return None if abs(v[0]) < 1e-3 else (q, sf.contact.impact(model, q, v, foot)[0])

    event = sf.Event(lambda t, q, v: q[0], "ground", direction=-1, reset=bounce)
    run = sf.simulate(model, [1.0], [0.0], 5.0, events=event)
    assert 0 < REST - run.t[-1] < 1e-3 and run.events[-1].q_after is None
    assert run.events[-2].q_after is not None


def test_a_plastic_impact_without_support_is_said_to_have_no_end():
    model = ball()
    with pytest.raises(sf.errors.SimulationError, match="without end"):
        sf.simulate(model, [1.0], [0.0], 2.0, events=bouncing(model, 0.0))


def test_two_events_at_one_time_both_happen():
    builder = sf.ModelBuilder("rod")
    inertia = sf.Inertia.from_mass(1.0, rotational=(1e-3, 1 / 12, 1 / 12))
    builder.add_body("rod", joint=sf.Free(), inertia=inertia)
    rod = builder.build()
    ends = [sf.contact.ImpactPoint("rod", (x, 0, 0), restitution=0.5) for x in (-0.5, 0.5)]

    def event(k):
        def height(t, q, v):
            return (sf.frame_pose(rod, q, "rod")[:3] @ [*ends[k].position, 1.0])[2]

        def strike(t, q, v):
            return q, sf.contact.impact(rod, q, v, ends[k])[0]

        return sf.Event(height, f"end {k}", direction=-1, reset=strike)

    q0 = sf.neutral(rod)
    q0[2] = 1.0
    run = sf.simulate(rod, q0, None, 0.6, dt=0.01, events=[event(0), event(1)])
    assert [event.t for event in run.events[:3]] == pytest.approx([FIRST] * 3, abs=1e-12)
    names = [event.name for event in run.events[:3]]
    assert names[0] == names[2] != names[1]
    # in turn: an end that strikes drives the other one down, by hand from (-1, -1)
    v = 9.81 * FIRST
    ends_after = [
        (event.v_after[5] + sign * 0.5 * event.v_after[1]) / v
        for event in run.events[:3]
        for sign in (1, -1)
    ]
    steps = [(0.5, -1.75), (-0.8125, 0.875), (0.40625, 0.265625)]
    found = [tuple(ends_after[k : k + 2]) for k in (0, 2, 4)]
    first = 0 if names[0] == "end 0" else 1
    np.testing.assert_allclose(found, [s[::-1] if first else s for s in steps], atol=1e-10)
    assert all(event.t > FIRST + 1e-3 for event in run.events[3:])


def test_orientations_and_controllers_go_through_a_reset():
    builder = sf.ModelBuilder("top")
    inertia = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.2, 0.3))
    builder.add_body("top", joint=sf.Spherical(), inertia=inertia)
    top = builder.build()

    def law(t, q, v, x):
        return -0.1 * v, [1.0]

    def turned(t, q, v):
        return 2.0 * np.roll(q, 1), -v  # a quaternion of any length

    event = sf.Event(lambda t, q, v: t - 0.05, "clock", reset=turned)
    run = sf.simulate(top, None, [1, 2, 3], 0.1, control=law, x0=[0.0], events=event)
    np.testing.assert_allclose(run.x[:, 0], run.t, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(run.q, axis=-1), 1.0, atol=1e-14)
    assert len(run.events) == 1 and len(run) == 101 + 2


def test_controllers_that_run_as_python_see_the_state_after():
    model = ball()
    seen = []

    def control(t, q, v):
        seen.append(float(t))
        return [0.0 * float(v[0])]

    run = sf.simulate(model, [1.0], [0.0], 1.0, dt=0.05, control=control, events=bouncing(model))
    assert run.notes and len(run.tau) == len(run) == 21 + 2 and len(seen) > 20


def test_a_motion_with_resets_is_saved_and_loaded(tmp_path):
    model = ball()
    run = sf.simulate(model, [1.0], [0.0], 1.5, dt=0.05, events=bouncing(model))
    run.save(tmp_path / "run.npz")
    back = sf.Trajectory.load(tmp_path / "run.npz")
    assert len(back.events) == len(run.events) == 2
    for one, two in zip(run.events, back.events, strict=True):
        np.testing.assert_array_equal(one.v_after, two.v_after)
        np.testing.assert_array_equal(one.q_after, two.q_after)
        assert one.t == two.t


@pytest.mark.parametrize(
    ("reset", "words"),
    [
        (lambda t, q: q, "(t, q, v)"),
        (lambda t, q, v: 1.0, "TypeError"),
        (lambda t, q, v: (q, [1.0, 2.0]), "shapes"),
        (lambda t, q, v: (q, [math.nan]), "finite"),
        (lambda t, q, v: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_wrong_resets_are_named(reset, words):
    event = sf.Event(lambda t, q, v: q[0], "ground", reset=reset)
    with pytest.raises(sf.errors.CallbackError, match="reset of event 'ground'") as caught:
        sf.simulate(ball(), [1.0], None, 1.0, events=event)
    assert words in str(caught.value) and "fix: " in str(caught.value)


def test_resets_that_do_not_go_with_other_options_are_refused():
    model = ball()
    with pytest.raises(sf.errors.OptionError, match="reset"):
        sf.Event(lambda t, q, v: q[0], reset=3)
    with pytest.raises(sf.errors.NotApplicableError, match="returns None"):
        bouncing(model, stop=True)
    with pytest.raises(sf.errors.NotApplicableError, match="hold"):
        sf.simulate(
            model, [1.0], None, 1.0, hold=True, control=lambda t, q, v: -v, events=bouncing(model)
        )


def test_the_rimless_wheel_ends_in_its_limit_cycle():
    example = runpy.run_path(str(EXAMPLES / "rimless_wheel.py"))
    exact = 1.0954628396477
    run = example["roll"](exact * 1.001, 3.0)
    first, second = (event.v_after[0] ** 2 - exact**2 for event in run.events[:2])
    assert second / first == pytest.approx(0.5, rel=1e-6)
    run = example["roll"](exact, 6.0)
    speeds = [event.v_after[0] for event in run.events]
    assert len(speeds) > 4
    np.testing.assert_allclose(speeds, exact, atol=1e-11)


def test_the_compass_walker_repeats_its_step():
    example = runpy.run_path(str(EXAMPLES / "compass_gait.py"))
    state = np.array([0.218668802939, -1.091826677490, -0.377181558403])
    after, period = example["one_step"](state)
    assert period == pytest.approx(0.734720962155, abs=1e-11)
    np.testing.assert_allclose(after, state, atol=1e-11)
