"""Friction that is no step at rest: its speed is found, and it is not taken for a delay."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import sixfold as sf
from tests.identification.robots import arm, log

DT = 2e-3


@cache
def puma():
    """Return a robot without friction, one of its motions, and how large its torques are."""
    model = (
        sf.load("puma560")
        .with_friction_speed(0.0)
        .without(friction=True, damping=True, armature=True)
    )
    run = sf.identification.excitation(model, 20.0, dt=DT, rounds=2, seed=1)
    return model, run, np.sqrt((run.tau**2).mean(axis=0))


def dahl(x, v, distance):
    """Return friction that builds up over a distance after each reversal, sample by sample."""
    z, found = np.zeros(v.shape[1]), np.zeros(v.shape)
    before = x[0]
    for k in range(len(v)):
        s = np.sign(v[k])
        z = s + (z - s) * np.exp(-np.abs(x[k] - before) / distance)
        found[k], before = z, x[k]
    return found


def lugre(x, v, distance):
    """Return friction by LuGre's law, larger at rest, sample by sample."""
    z, found = np.zeros(v.shape[1]), np.zeros(v.shape)
    for k in range(len(v)):
        level = 1 + 0.5 * np.exp(-((v[k] / 0.05) ** 2))
        end = np.sign(v[k]) * level
        z = end + (z - end) * np.exp(-np.abs(v[k]) * DT / (distance * level))
        found[k] = z
    return found


@cache
def measured(law, late=0, size=0.05):
    """Return q, v, a, tau and t of a robot with friction, its torques some samples late."""
    model, run, loads = puma()
    rng = np.random.default_rng(0)
    level = size * np.maximum(loads, 0.1 * loads.max())
    speeds = rng.uniform(0.02, 0.15, model.nv)
    curve = {
        "sign": lambda: np.sign(run.v),
        "tanh": lambda: np.tanh(run.v / speeds),
        "dahl": lambda: dahl(run.q, run.v, rng.uniform(0.01, 0.04, model.nv)),
        "lugre": lambda: lugre(run.q, run.v, 0.01),
    }[law]()
    tau = sf.inverse_dynamics(model, run.q, run.v, run.a) + level * (curve + 0.3 * run.v)
    tau = tau + 0.01 * loads * rng.standard_normal(tau.shape)
    end = len(tau) - late
    return run.q[late:], run.v[late:], run.a[late:], tau[:end], run.t[late:], speeds


def halves(law, late=0):
    *arrays, t, _ = measured(law, late)
    n = 6 * len(t) // 10
    return [x[:n] for x in arrays], [x[n:] for x in arrays], t[:n]


def plain_least_squares(model, fit, other):
    """Return torques that twenty lines of least squares predict, with one speed for tanh."""

    def columns(q, v, a, speed):
        n = model.nv
        own = np.zeros((len(q), n, 2 * n))
        own[:, range(n), range(n)] = v
        own[:, range(n), range(n, 2 * n)] = np.tanh(v / speed)
        Y = sf.regressor(model, q, v, a)
        return np.concatenate([Y, own], axis=2).reshape(len(q) * n, -1)

    found = []
    for speed in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2):
        X, y = columns(*fit[:3], speed), fit[3].ravel()
        x = np.linalg.lstsq(X, y, rcond=1e-8)[0]
        found.append((((X @ x - y) ** 2).sum(), speed, x))
    _, speed, x = min(found, key=lambda item: item[0])
    return (columns(*other[:3], speed) @ x).reshape(-1, model.nv)


def errors(predicted, tau):
    """Return the error relative to each joint's torque, the mean; and that of all together."""
    left = predicted - tau
    each = np.sqrt((left**2).mean(axis=0) / (tau**2).mean(axis=0))
    return each.mean(), np.sqrt((left**2).sum() / (tau**2).sum())


def codes(result):
    return {finding.code: finding for finding in result.findings}


@pytest.mark.parametrize("law", ["sign", "tanh", "dahl", "lugre"])
def test_the_rest_of_a_log_is_predicted_as_well_as_by_plain_least_squares(law):
    fit, other, t = halves(law)
    model = puma()[0]
    result = sf.identification.identify(model, *fit, t=t)
    mine = errors(result.predict(*other[:3]), other[3])
    plain = errors(plain_least_squares(model, fit, other), other[3])
    assert mine[0] < (1.0 if law in ("sign", "tanh") else 0.8) * plain[0]
    # rows are weighted by noise, and bodies are physical: torques of all joints together suffer
    # where no friction law of a model describes the data
    assert mine[1] < (1.0 if law in ("sign", "tanh") else 1.08) * plain[1]
    assert "lag" not in codes(result)


@pytest.mark.parametrize("law", ["sign", "tanh", "dahl", "lugre"])
def test_equal_weights_and_free_bodies_are_plain_least_squares(law):
    fit, other, t = halves(law)
    model = puma()[0]
    result = sf.identification.identify(
        model, *fit, t=t, weights="equal", consistent=False, robust=False
    )
    plain = errors(plain_least_squares(model, fit, other), other[3])
    # the speed of friction is searched joint by joint
    assert errors(result.predict(*other[:3]), other[3])[1] < 1.003 * plain[1]
    held = result.hold_out
    assert held.all_joints == pytest.approx(held.plain_all_joints, rel=1e-3)
    assert held.mean_of_joints == pytest.approx(held.plain_mean_of_joints, rel=1e-3)


@pytest.mark.parametrize("law", ["dahl", "lugre"])
def test_weights_favour_small_joints_and_the_result_shows_both_norms(law):
    fit, other, t = halves(law)
    model = puma()[0]
    weighted = sf.identification.identify(model, *fit, t=t, consistent=False)
    equal = sf.identification.identify(model, *fit, t=t, consistent=False, weights="equal")
    own, alike = (errors(r.predict(*other[:3]), other[3]) for r in (weighted, equal))
    assert own[0] < 0.85 * alike[0] and own[1] > 1.01 * alike[1]
    # on blocks between those of the fit, the weighted fit is better in both norms
    held = weighted.hold_out
    assert held.mean_of_joints < 0.5 * held.plain_mean_of_joints
    assert held.all_joints < 0.95 * held.plain_all_joints
    assert f"all joints in one norm {held.all_joints:.2%}" in weighted.text(100)
    shares = [joint.share for joint in weighted.joints]
    assert held.mean_of_joints == pytest.approx(np.mean(shares), rel=0.1)


def test_weights_are_noise_or_equal():
    fit, _, t = halves("sign")
    with pytest.raises(sf.errors.OptionError, match="option 'weights'"):
        sf.identification.identify(puma()[0], *fit, t=t, weights="plain")


@pytest.mark.parametrize("law", ["dahl", "lugre"])
def test_friction_that_builds_up_after_reversals_is_named_and_is_no_delay(law):
    fit, _, t = halves(law)
    result = sf.identification.identify(puma()[0], *fit, t=t)
    assert "hysteresis" in codes(result) and "lag" not in codes(result)
    assert sf.identification.identify(puma()[0], *fit, t=t, lag="search").lag == 0.0


def test_friction_that_is_not_modelled_is_no_delay():
    fit, _, t = halves("tanh")
    for friction in (False, "viscous", "dry"):
        assert "lag" not in codes(
            sf.identification.identify(puma()[0], *fit, t=t, friction=friction)
        )


@pytest.mark.parametrize("law", ["sign", "tanh"])
def test_a_true_delay_is_found(law):
    fit, _, t = halves(law, 4)
    result = sf.identification.identify(puma()[0], *fit, t=t)
    assert codes(result)["lag"].values["seconds"] == pytest.approx(4 * DT, abs=0.3 * DT)
    taken = sf.identification.identify(puma()[0], *fit, t=t, lag="search")
    assert taken.lag == pytest.approx(4 * DT, abs=0.3 * DT)
    # the advice is good
    before, after = (np.mean([joint.share for joint in r.joints]) for r in (result, taken))
    assert after < 0.8 * before


def test_friction_speeds_are_found_joint_by_joint_and_carried_by_the_model(tmp_path):
    fit, _, t = halves("tanh")
    right = measured("tanh")[5]
    result = sf.identification.identify(puma()[0], *fit, t=t)
    speeds = [body.friction_speed[0] for body in result.model.bodies]
    np.testing.assert_allclose(speeds, right, rtol=0.25)
    assert [law.speed for law in result.friction] == speeds
    for law in result.friction:
        assert law.loaded == 0.0 and law.residual < law.sign_residual
    note = codes(result)["friction-speed"]
    assert note.severity == "note" and "tanh(v / " in note.what
    assert "tanh(v / " in result.text(100)
    for suffix in ("json", "urdf"):
        sf.save(result.model, tmp_path / f"robot.{suffix}")
        again = sf.load(tmp_path / f"robot.{suffix}")
        assert [body.friction_speed[0] for body in again.bodies] == speeds


def test_friction_by_the_sign_of_the_speed_stays_so():
    fit, _, t = halves("sign")
    result = sf.identification.identify(puma()[0], *fit, t=t)
    assert {law.words for law in result.friction} == {"sign(v)"}
    assert "friction-speed" not in codes(result)


def test_a_loaded_speed_that_is_wrong_gives_way_to_the_sign():
    fit, _, t = halves("sign")
    model = puma()[0]
    model = replace(model, bodies=tuple(replace(b, friction_speed=(0.2,)) for b in model.bodies))
    result = sf.identification.identify(model, *fit, t=t)
    speeds = [body.friction_speed[0] for body in result.model.bodies]
    assert max(speeds) < 0.02
    note = codes(result)["friction-speed"]
    assert note.values["speeds"].keys() == set(model.joint_names)


def test_samples_that_are_read_once_say_that_other_speeds_fit_better():
    fit, _, _ = halves("tanh")
    result = sf.identification.identify(puma()[0], iter([tuple(fit)]))
    finding = codes(result)["friction-speed"]
    assert finding.severity == "warning" and "read once" in finding.what
    assert {body.friction_speed for body in result.model.bodies} == {(0.0,)}


def test_outliers_do_not_hide_the_friction_speed():
    fit, _, t = halves("tanh")
    tau = fit[3].copy()
    tau[np.random.default_rng(3).integers(0, len(tau), 60)] += 40.0
    result = sf.identification.identify(puma()[0], *fit[:3], tau, t=t)
    speeds = [body.friction_speed[0] for body in result.model.bodies]
    np.testing.assert_allclose(speeds, measured("tanh")[5], rtol=0.4)


def test_friction_of_two_directions_with_an_offset_has_a_speed_too():
    q, v, a, _, t = log()
    bodies = [replace(b, friction_speed=(0.1,), friction=(0.9,)) for b in arm().bodies]
    bodies = [replace(b, friction_negative=(0.5,)) for b in bodies]
    real = replace(arm(), bodies=tuple(bodies))
    offset = np.array([0.3, 0.2, -0.2])
    noise = 0.02 * np.random.default_rng(0).standard_normal(q.shape)
    tau = sf.inverse_dynamics(real, q, v, a) + offset + noise
    result = sf.identification.identify(
        arm(), q, v, a, tau, t=t, friction="direction", offsets=True
    )
    np.testing.assert_allclose([law.speed for law in result.friction], 0.1, rtol=0.1)
    np.testing.assert_allclose(result.offsets, offset, atol=0.05)
    for body in result.model.bodies:
        assert body.friction[0] == pytest.approx(0.9, abs=0.06)
        assert body.friction_negative[0] == pytest.approx(0.5, abs=0.06)
