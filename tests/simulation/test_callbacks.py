"""Controllers of the user's own: compiled where they can be, run as they are otherwise."""

import numpy as np
import pytest

import sixfold as sf

PENDULUM = sf.load("double_pendulum")


def run(control=None, duration=0.05, **changes):
    return sf.simulate(PENDULUM, [1.0, 0.5], None, duration, control=control, **changes)


def compiled_twin(t, q, v):
    return np.array([sf.math.if_positive(q[0] - 0.99, -5.0, 5.0), 0.0])


def with_an_if(t, q, v):
    return np.array([-5.0 if q[0] > 0.99 else 5.0, 0.0])


def test_a_controller_of_arithmetic_is_compiled():
    assert run(compiled_twin).notes == ()


def test_a_controller_with_an_if_runs_as_it_is_and_says_so_once():
    result = run(with_an_if)
    assert len(result.notes) == 1
    assert result.notes[0].startswith("control runs as Python, step by step: ")
    np.testing.assert_allclose(result.q, run(compiled_twin).q, atol=1e-14)
    np.testing.assert_allclose(result.tau, run(compiled_twin).tau, atol=1e-14)


@pytest.mark.parametrize(
    "law",
    [
        lambda t, q, v: np.linalg.solve(np.diag(q), v),
        lambda t, q, v: [float(q[0]), 0.0],
        lambda t, q, v: np.interp(q, [0.0, 1.0], [1.0, 0.0]),
        lambda t, q, v: np.where(q > 0, q, -v),
    ],
)
def test_numpy_calls_on_values_run_as_they_are(law):
    result = run(law)
    assert result.notes
    np.testing.assert_allclose(
        result.tau, [law(0.0, q, v) for q, v in zip(result.q, result.v, strict=True)], atol=1e-14
    )


@pytest.mark.parametrize(
    "law",
    [
        lambda t, q, v: np.clip(-50 * q, -1, 1),
        lambda t, q, v: np.maximum(-q, np.sign(v)),
        lambda t, q, v: np.tanh(-q) + np.log1p(v * v),
    ],
)
def test_numpy_functions_of_the_table_are_compiled(law):
    result = run(law, compiled=True)
    assert not result.notes
    np.testing.assert_allclose(
        result.tau, [law(0.0, q, v) for q, v in zip(result.q, result.v, strict=True)], atol=1e-14
    )


class Integral:
    """A controller with a memory."""

    def __init__(self):
        self.total = 0.0
        self.calls = 0

    def __call__(self, t, q, v):
        self.calls += 1
        self.total = self.total + q[0] * 1e-3
        return np.array([-10.0 * self.total, 0.0])


def test_a_controller_that_remembers_is_not_compiled_and_keeps_its_memory():
    law = Integral()
    result = run(law, hold=True)
    assert "it remembers something between calls: it changes 'Integral'" in result.notes[0]
    assert law.calls == len(result.t)
    np.testing.assert_allclose(law.total, result.q[:, 0].sum() * 1e-3, rtol=1e-12)
    np.testing.assert_allclose(result.tau[:, 0], -10e-3 * np.cumsum(result.q[:, 0]), rtol=1e-12)


def test_a_closure_that_remembers_is_not_compiled():
    total = [0.0]

    def law(t, q, v):
        total[0] = total[0] + 1.0
        return np.array([total[0], 0.0])

    result = run(law, hold=True)
    assert result.notes
    np.testing.assert_array_equal(result.tau[:, 0], np.arange(1, len(result.t) + 1))


def test_a_nonlocal_that_counts_is_not_compiled():
    count = 0

    def law(t, q, v):
        nonlocal count
        count += 1
        return -1.0 * q

    assert run(law).notes
    assert count > 100


def test_noise_is_not_frozen_into_a_kernel():
    rng = np.random.default_rng(0)
    result = run(lambda t, q, v: rng.standard_normal(2), hold=True)
    assert result.notes
    assert len(np.unique(result.tau[:, 0])) == len(result.t)


def test_each_stage_of_a_step_calls_the_controller_once():
    times = []

    def law(t, q, v):
        times.append(float(t))
        return np.array([0.0, float(q[0]) * 0.0])

    result = run(law, duration=0.01)
    # four stages a step, and the sample at the end
    assert len(times) == 4 * 10 + 1 and result.notes


def test_the_kernel_follows_a_changed_closure():
    gain = {"k": 1.0}
    law = lambda t, q, v: -gain["k"] * q  # noqa: E731
    first = run(law)
    gain["k"] = 50.0
    second = run(law)
    np.testing.assert_allclose(second.tau, -50.0 * second.q, rtol=1e-12)
    assert not np.allclose(first.q, second.q)


def test_parameters_reach_a_controller_that_runs_as_it_is():
    gains = np.array([[1.0], [2.0], [3.0]])

    def law(t, q, v, p):
        return -p[0] * q if float(p[0]) > 0 else q

    batch = run(law, parameters=gains)
    np.testing.assert_allclose(batch.tau, -gains[:, :, None] * batch.q, rtol=1e-13)


def test_external_forces_with_an_if_run_as_they_are():
    def push(t, q, v):
        force = np.zeros((2, 6))
        force[1, 3] = 1.0 if float(t) < 0.02 else 0.0
        return force

    result = run(f_ext=push)
    assert result.notes[0].startswith("f_ext runs as Python")
    calm = run(f_ext=lambda t, q, v: np.zeros((2, 6)))
    assert np.abs(result.q - calm.q).max() > 1e-5


@pytest.mark.parametrize(
    ("law", "kind", "words"),
    [
        (lambda t, q: q, sf.errors.CallbackError, ("(t, q, v)", "(t, q)")),
        (lambda t, q, v, p: q, sf.errors.CallbackError, ("parameters=",)),
        (
            lambda t, q, v: q[:1],
            sf.errors.ShapeError,
            ("control(t, q, v)", "(2,)", "(1,)", "shoulder"),
        ),
        (lambda t, q, v: 0.0, sf.errors.ShapeError, ("control(t, q, v)", "()")),
        (lambda t, q, v: None, sf.errors.CallbackError, ("returned nothing", "'return tau'")),
        (lambda t, q, v: [[1, 2], [3]], sf.errors.ShapeError, ("control(t, q, v)",)),
        (lambda t, q, v: np.eye(2), sf.errors.ShapeError, ("(2, 2)",)),
        (lambda t, q, v: 1 / 0, sf.errors.CallbackError, ("ZeroDivisionError", "t = 0 s")),
        (lambda t, q, v: ["a", "b"], sf.errors.CallbackError, ("numbers", "['a', 'b']")),
        (lambda t, q, v: undefined, sf.errors.CallbackError, ("NameError",)),  # noqa: F821
    ],
)
def test_a_controller_that_gives_no_joint_forces_is_named(law, kind, words):
    with pytest.raises(kind) as caught:
        run(law)
    for word in (*words, "simulate", "fix: "):
        assert word in str(caught.value)


def pulls(q, v):
    return -q


class Springs:
    def __init__(self, k=1.0):
        self.k = k

    def of_two(self, q, v):
        return -self.k * q

    def __call__(self, t, q, v):
        return -self.k * q


@pytest.mark.parametrize(
    ("law", "got", "fix"),
    [
        (pulls, "got: pulls(q, v)", "write def pulls(t, q, v)"),
        (Springs().of_two, "got: of_two(q, v)", "write def of_two(self, t, q, v)"),
        (lambda q: q, "got: <lambda>(q)", "write def control(t, q, v)"),
        (Springs, "got: Springs(k=1.0)", "Springs is a class: pass an object of it"),
    ],
)
def test_a_controller_with_the_wrong_arguments_is_shown_how_to_be_written(law, got, fix):
    for call in (
        run,
        lambda law: sf.rollout(PENDULUM, [1, 0.5], [0, 0], dt=1e-3, steps=2, control=law),
    ):
        with pytest.raises(sf.errors.CallbackError, match="a function of ") as caught:
            call(law)
        assert got in str(caught.value) and fix in str(caught.value)


def returns_late_nothing(t, q, v):
    return -q if float(t) < 0.005 else None


def test_a_controller_that_returns_nothing_later_on_says_so_in_one_message():
    with pytest.raises(sf.errors.CallbackError, match="returned nothing") as caught:
        run(returns_late_nothing)
    assert str(caught.value).count("expected:") == 1


def test_other_functions_that_return_nothing_say_so():
    start = {"dt": 1e-3, "steps": 2}
    for name in ("cost", "final_cost"):
        law = {"cost": lambda t, q, v, tau: None, "final_cost": lambda q, v: None}[name]
        with pytest.raises(sf.errors.CallbackError, match="returned nothing"):
            sf.rollout_gradient(PENDULUM, [1.0, 0.5], [0.0, 0.0], **start, **{name: law})
    for name in ("observe", "reward", "terminate"):
        with pytest.raises(sf.errors.CallbackError, match=f"{name}.* returned nothing"):
            sf.Stepper(PENDULUM, dt=1e-3, **{name: lambda *_: None})
    with pytest.raises(sf.errors.CallbackError, match="got: nothing"):
        run(events=lambda t, q, v: None)


def test_a_controller_that_fails_on_the_way_names_time_and_joint_and_keeps_the_motion():
    def law(t, q, v):
        return [0.0, np.nan if float(t) > 0.02 else 0.0]

    with pytest.raises(sf.errors.CallbackError, match=r"at t = 0\.02\d* s, 'elbow'") as caught:
        run(law)
    assert 0.018 < caught.value.trajectory.t[-1] <= 0.02


def test_parameters_without_a_controller_that_takes_them_are_refused():
    with pytest.raises(sf.errors.CallbackError, match="parameters"):
        run(lambda t, q, v: q, parameters=[1.0])
