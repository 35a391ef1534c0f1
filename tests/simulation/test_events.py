"""Events: zero crossings found within a step."""

import math

import numpy as np
import pytest

import sixfold as sf


def ball():
    """A point that falls from height q."""
    builder = sf.ModelBuilder("ball")
    builder.add_body("ball", joint=sf.Prismatic("z"), inertia=sf.Inertia.from_mass(1.0))
    return builder.build()


def height(t, q, v):
    return q[0]


@pytest.mark.parametrize("integrator", ["rk4", "lie_rk4", "midpoint", "solve_ivp"])
def test_a_motion_stops_where_the_ground_is(integrator):
    result = sf.simulate(
        ball(),
        [2.0],
        [0.0],
        5.0,
        dt=0.01,
        integrator=integrator,
        events=sf.Event(height, stop=True),
    )
    exact = math.sqrt(4 / 9.81)
    assert result.t[-1] == pytest.approx(exact, abs=1e-13)
    assert abs(result.q[-1, 0]) < 1e-12
    assert result.events[0].name == "height"
    assert result.events[0].t == result.t[-1]
    np.testing.assert_allclose(result.events[0].v, [-9.81 * exact], rtol=1e-12)


def test_events_are_noted_without_stopping():
    pendulum = sf.load("pendulum")
    result = sf.simulate(pendulum, [1.0], [0.0], 5.0, events=height)
    assert result.t[-1] == 5.0 and len(result.events) > 4
    times = np.array([event.t for event in result.events])
    gaps = np.diff(times)
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)
    for event in result.events:
        assert abs(event.q[0]) < 1e-12


def test_a_direction_selects_crossings():
    pendulum = sf.load("pendulum")

    def count(direction):
        event = sf.Event(height, direction=direction)
        return len(sf.simulate(pendulum, [1.0], [0.0], 5.0, events=[event]).events)

    assert count(1) + count(-1) == count(0)
    assert abs(count(1) - count(-1)) <= 1


def test_several_events_come_in_the_order_of_time():
    events = [
        sf.Event(height, name="ground", stop=True),
        sf.Event(lambda t, q, v: q[0] - 1.0, name="half way"),
        sf.Event(lambda t, q, v: t - 0.1, name="clock"),
    ]
    result = sf.simulate(ball(), [2.0], None, 5.0, events=events)
    assert [event.name for event in result.events] == ["clock", "half way", "ground"]
    assert result.events[0].t == pytest.approx(0.1, abs=1e-15)


def test_events_in_one_step_are_found_in_order():
    events = [
        sf.Event(lambda t, q, v: q[0] - 1.0, name="low"),
        sf.Event(lambda t, q, v: q[0] - 1.001, name="high"),
    ]
    result = sf.simulate(ball(), [2.0], None, 1.0, dt=0.1, events=events)
    assert [event.name for event in result.events] == ["high", "low"]


def test_a_start_on_the_zero_is_no_event():
    up = sf.simulate(ball(), [0.0], [1.0], 0.1, events=height)
    assert not up.events
    back = sf.simulate(ball(), [0.0], [1.0], 0.3, events=height)
    assert len(back.events) == 1
    assert back.events[0].t == pytest.approx(2 / 9.81, abs=1e-13)


def test_a_zero_at_the_end_of_a_step_is_found_once():
    result = sf.simulate(
        ball(), [1.0], None, 0.3, dt=0.1, events=lambda t, q, v: round(t - 0.2, 12)
    )
    assert [event.t for event in result.events] == [pytest.approx(0.2)]


def test_events_go_with_samples_further_apart():
    events = sf.Event(height, stop=True)
    result = sf.simulate(ball(), [2.0], None, 5.0, every=1000, events=events)
    assert len(result.t) == 2 and result.t[-1] == pytest.approx(math.sqrt(4 / 9.81), abs=1e-13)


def test_events_work_with_controllers_that_run_as_they_are():
    def lift(t, q, v):
        return [9.81 if float(q[0]) < 1.0 else 0.0]

    result = sf.simulate(ball(), [2.0], None, 5.0, control=lift, events=sf.Event(height, stop=True))
    assert result.notes and abs(result.q[-1, 0]) < 1e-12
    fall = math.sqrt(2 / 9.81)
    assert result.t[-1] == pytest.approx(fall + 1 / (9.81 * fall), abs=1e-3)


@pytest.mark.parametrize(
    ("events", "kind", "words"),
    [
        (lambda t, q: 1, sf.errors.CallbackError, "(t, q, v)"),
        (lambda t, q, v: math.nan, sf.errors.CallbackError, "finite"),
        (lambda t, q, v: None, sf.errors.CallbackError, "got: nothing"),
        (lambda t, q, v: q / 0 * [1, 2], sf.errors.CallbackError, "event '<lambda>'"),
        (3, sf.errors.ArgumentError, "'function'"),
    ],
)
def test_wrong_events_are_named(events, kind, words):
    with pytest.raises(kind) as caught:
        sf.simulate(ball(), [2.0], None, 1.0, events=events)
    assert words in str(caught.value) and "fix: " in str(caught.value)


def test_a_direction_is_one_of_three():
    with pytest.raises(sf.errors.OptionError, match="direction"):
        sf.Event(height, direction=2)


def test_events_of_a_batch_are_refused():
    with pytest.raises(sf.errors.NotApplicableError, match="one by one"):
        sf.simulate(ball(), [[2.0], [1.0]], None, 1.0, events=height)
