"""What is reported is what the returned model does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.identification import DataFinding, JointResidual
from sixfold.identification.fit import non_negative
from sixfold.identification.identify import problem_for
from sixfold.identification.suspects import _quick
from tests.identification.robots import arm, changed, log, motion


def residuals(result, q, v, a, tau):
    """Return the root mean square residual of each joint of the returned model."""
    left = tau * result.gains - result.predict(q, v, a)
    return np.sqrt((left**2).mean(axis=0))


def random_case(seed):
    """Return samples of a random robot, some of whose numbers no joint has, and options."""
    rng = np.random.default_rng(seed)
    real = changed(arm(), seed=seed, size=0.2, damping=0.0, friction=0.0)
    run = motion()
    rows = rng.integers(0, 2000), rng.integers(3500, len(run.q))
    q, v, a = (x[slice(*rows)] for x in (run.q, run.v, run.a))
    own = rng.uniform(-0.6, 0.6, (4, 3))
    tau = sf.inverse_dynamics(real, q, v, a) + own[0] * v + own[1] * np.tanh(v / 0.1)
    tau = tau + own[2] * a * 0.3 + own[3] * q + rng.normal(0, 0.05, q.shape)
    names = ("rotors", "springs", "offsets")
    options = {name: bool(rng.integers(2)) for name in names}
    options["friction"] = [True, "viscous", "dry", "direction"][rng.integers(4)]
    return (q, v, a, tau), options


@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_reported_residuals_are_those_of_the_returned_model(seed, consistent):
    arrays, options = random_case(seed)
    result = sf.identification.identify(arm(), *arrays, consistent=consistent, **options)
    reported = [joint.fit for joint in result.joints]
    np.testing.assert_allclose(reported, residuals(result, *arrays), rtol=1e-5)
    np.testing.assert_allclose(reported, result.evaluate(*arrays), rtol=1e-5)


def test_negative_rotors_and_friction_are_held_at_zero_by_a_new_fit_and_named():
    q, v, a, tau, _ = log()
    tau = tau - [0.0, 0.0, 0.4] * a - [2.0, 0.0, 0.0] * v
    result = sf.identification.identify(arm(), q, v, a, tau, rotors=True, consistent=False)
    (finding,) = [f for f in result.findings if f.code == "held-at-zero"]
    assert finding.severity == "warning" and "viscous friction of turn" in finding.what
    assert result.model.bodies[0].damping == (0.0,)
    assert residuals(result, q, v, a, tau)[0] == pytest.approx(result.joints[0].fit, rel=1e-6)
    # the rest was fitted again: better than the free fit with its negative friction cut off
    kept = result.problem.keep
    beta = np.array([p.value for p in result.parameters])
    bounded = [result.problem.unknowns[k].kind in ("viscous", "dry", "rotor") for k in kept]
    cut = np.where(bounded, np.maximum(beta, 0.0), beta)
    flat = result.problem.evaluate((q, v, a, tau))
    place, columns = result.problem.places[0], result.problem.rows[0]
    rows = flat[:, place]
    left = rows[:, -1] - rows[:, :-1] @ cut[columns]
    assert result.joints[0].fit < 0.9 * np.sqrt((left**2).mean())


def test_bounded_least_squares_meets_the_conditions_of_an_optimum():
    rng = np.random.default_rng(0)
    for _ in range(50):
        A = rng.standard_normal((12, 7)) * rng.uniform(0.01, 100, 7)
        b = rng.standard_normal(12)
        x = non_negative(A, b)
        slope = A.T @ (b - A @ x) / np.linalg.norm(A, axis=0)
        assert (x >= 0).all() and slope.max() < 1e-9
        assert np.abs(slope[x > 0]).max(initial=0.0) < 1e-9


def test_outliers_are_part_of_the_reported_residual():
    q, v, a, tau, _ = log()
    tau = tau.copy()
    tau[np.random.default_rng(5).integers(0, len(tau), 100), 1] += 50.0
    result = sf.identification.identify(arm(), q, v, a, tau)
    assert "outliers" in {f.code for f in result.findings}
    np.testing.assert_allclose(
        [joint.fit for joint in result.joints], residuals(result, q, v, a, tau), rtol=1e-5
    )


def test_the_same_log_is_evaluated_with_the_delay_and_the_filter_of_the_fit():
    q, _, _, tau, t = log()
    late = 4
    given = sf.identification.Log(q[late:], tau=tau[:-late], t=t[late:])
    result = sf.identification.identify(arm(), given, lag="search", filter=7.0)
    assert result.lag > 0.005
    np.testing.assert_allclose(
        result.evaluate(given), [joint.fit for joint in result.joints], rtol=1e-5
    )


def test_every_block_takes_part_in_the_fit():
    """The last block that used to be held out moves the parameters."""
    q, v, a, tau, _ = log()
    other = tau.copy()
    other[1024:1536] += [3.0, 0.0, 0.0]
    options = {"robust": False, "offsets": True, "friction": False}
    shift = [
        sf.identification.identify(arm(), q, v, a, x, **options).offsets[0] for x in (tau, other)
    ]
    assert shift[1] - shift[0] == pytest.approx(3.0 * 512 / len(q), rel=0.2)


def test_samples_in_pieces_say_which_filter_was_used():
    q, _, _, tau, t = log()
    result = sf.identification.identify(arm(), [sf.identification.Log(q, tau=tau, t=t)])
    assert result.filter == 10.0


def test_the_text_counts_what_is_seen_well_and_each_kind_of_finding():
    q, v, a, tau, t = log()
    result = sf.identification.identify(arm(), q, v, a, tau, t=t)
    shown = replace(
        result,
        parameters=tuple(
            replace(p, value=1.0, size=1.0, error=error)
            for p, error in zip(
                result.parameters, [0.01, 0.01, 0.2, 0.2, 0.2, 9.0, 9.0], strict=False
            )
        ),
        findings=(
            DataFinding("error", "degrees", "x"),
            DataFinding("warning", "lag", "x"),
            DataFinding("warning", "saturated", "x"),
            DataFinding("note", "unseen", "x"),
            DataFinding("note", "unseen", "x"),
            DataFinding("note", "unseen", "x"),
        ),
        condition=123.0,
        samples=6001,
        joints=(
            JointResidual("turn", 10.0, 1.0, 2.0, 1.0),
            JointResidual("lift", 10.0, 1.0, 3.0, 1.0),
        ),
    )
    lines = repr(shown).splitlines()
    assert lines[0] == "<identification of 'arm': 6,001 samples"
    assert lines[1] == "  residual at most 30.0% of the torque ('lift')"
    assert lines[2] == "  2 of 7 base parameters identified well, condition 123"
    assert lines[3] == "  findings: 1 error, 2 warnings, 3 notes>"
    text = shown.text(80)
    assert "base parameters: 7 (identifiability: 2 good, 3 weak, 2 none), condition 123" in text
    assert "findings: none>" in repr(replace(shown, findings=()))


def test_a_quick_look_at_a_suspicion_leaves_the_residual_of_least_squares():
    """Also where the data show only some columns: a joint that stands still."""
    problem = problem_for(arm(), sf.identification.identify(arm(), *log()[:4]).problem.choice)
    for still in (False, True):
        q, v, a, tau = (x[:1500].copy() for x in log()[:4])
        if still:
            q[:, 1], v[:, 1:], a[:, 1:] = 0.3, 0.0, 0.0
        flat = problem.evaluate((q, v, a, tau))
        squares = np.array([(flat[:, place.stop - 1] ** 2).sum() for place in problem.places])
        weights = np.sqrt(np.maximum(squares, 4e-4 * squares.max()))
        X, y = np.zeros((3, len(q), problem.n)), np.zeros((3, len(q)))
        for j, (place, columns) in enumerate(zip(problem.places, problem.rows, strict=True)):
            X[j][:, columns] = flat[:, place][:, :-1] / weights[j]
            y[j] = flat[:, place.stop - 1] / weights[j]
        X, y = X.reshape(-1, problem.n), y.ravel()
        left = y - X @ np.linalg.lstsq(X, y, rcond=1e-9)[0]
        expected = np.sqrt((left**2).sum() / 3)
        assert _quick(problem, (q, v, a, tau)) == pytest.approx(expected, rel=1e-3)
