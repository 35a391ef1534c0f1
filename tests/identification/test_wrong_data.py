"""Wrong data say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from tests.identification.robots import arm, log, truth


def codes(*arrays, **options):
    return {
        finding.code: finding
        for finding in sf.identification.identify(arm(), *arrays, **options).findings
    }


def arrays():
    return [x.copy() for x in log()[:4]]


def test_good_data_have_no_findings():
    q, v, a, tau, t = log()
    assert codes(q, v, a, tau, t=t) == {}


def test_angles_in_degrees_are_named():
    q, v, a, tau = arrays()
    found = codes(np.degrees(q), np.degrees(v), np.degrees(a), tau)
    assert found["degrees"].severity == "error"
    assert "numpy.radians" in found["degrees"].fix


def test_degrees_are_named_when_velocities_are_made_from_positions():
    q, _, _, tau = arrays()
    assert "degrees" in codes(np.degrees(q), tau=tau, t=log()[4])


@pytest.mark.parametrize("j", [0, 1, 2])
def test_a_torque_with_the_wrong_sign_is_named(j):
    q, v, a, tau = arrays()
    tau[:, j] *= -1
    found = codes(q, v, a, tau)
    name = arm().joint_names[j]
    assert f"'{name}'" in found["torque-sign"].what


def test_a_position_that_counts_backwards_is_named():
    q, v, a, tau = arrays()
    for x in (q, v, a):
        x[:, 2] *= -1
    found = codes(q, v, a, tau)
    assert "'bend'" in found["motion-sign"].what


def test_exchanged_joints_are_named():
    every = arrays()
    for x in every:
        x[:, [1, 2]] = x[:, [2, 1]]
    found = codes(*every)
    assert "'lift' and 'bend'" in found["swapped-joints"].what


def test_exchanged_torques_are_named():
    q, v, a, tau = arrays()
    tau[:, [0, 1]] = tau[:, [1, 0]]
    found = codes(q, v, a, tau)
    assert "'turn' and 'lift'" in found["swapped-torques"].what


def test_torques_of_another_motion_are_not_explained():
    q, v, a, tau = arrays()
    found = codes(q, v, a, np.roll(tau, 1500, axis=0))
    assert found["unexplained"].severity == "error"


def test_a_joint_that_did_not_move_is_named():
    q, v, a, _ = arrays()
    q[:, 1], v[:, 1], a[:, 1] = 0.3, 0.0, 0.0
    noise = 0.05 * np.random.default_rng(0).standard_normal(q.shape)
    found = codes(q, v, a, sf.inverse_dynamics(truth(), q, v, a) + noise)
    assert "'lift'" in found["constant-joint"].what


def test_a_joint_without_torques_is_named():
    q, v, a, tau = arrays()
    tau[:, 0] = 0.0
    assert "'turn'" in codes(q, v, a, tau)["no-torque"].what


def test_a_short_log_is_named():
    q, v, a, tau, t = (x[:400] for x in log())
    assert {"too-short", "no-hold-out"} <= codes(q, v, a, tau, t=t).keys()


def test_a_slow_motion_is_named():
    q, v, a, _ = arrays()
    v, a = v / 30, a / 900
    noise = 0.05 * np.random.default_rng(0).standard_normal(q.shape)
    found = codes(q, v, a, sf.inverse_dynamics(truth(), q, v, a) + noise)
    assert {"too-slow", "unseen"} <= found.keys()


def test_a_saturated_sensor_is_named_and_its_samples_are_left_out():
    q, v, a, tau = arrays()
    limit = 0.8 * np.abs(tau[:, 1]).max()
    result = sf.identification.identify(arm(), q, v, a, np.clip(tau, -limit, limit))
    (finding,) = [f for f in result.findings if f.code == "saturated"]
    assert "'lift'" in finding.what
    clean = sf.identification.identify(arm(), q, v, a, tau)
    for p, right in zip(result.parameters, clean.parameters, strict=True):
        assert abs(p.value - right.value) < 5 * np.hypot(p.error, right.error)


def test_samples_that_are_not_numbers_are_named_and_left_out():
    q, v, a, tau = arrays()
    tau[100:130, 1] = np.nan
    q[50] = np.inf
    result = sf.identification.identify(arm(), q, v, a, tau)
    (finding,) = result.findings
    assert finding.code == "nan-rows" and "31 of" in finding.what and "row 50" in finding.what
    assert result.samples == len(q) - 31
    with pytest.raises(sf.errors.StateError, match="finite"):
        sf.identification.identify(arm(), q, v, a, np.full_like(tau, np.nan))


@pytest.mark.parametrize("jump", [0.7, -0.7])
def test_a_clock_that_jumps_is_named_and_no_derivative_goes_over_the_jump(jump):
    q, _, _, tau = arrays()
    t = log()[4].copy()
    t[2500:] += jump
    result = sf.identification.identify(arm(), q, tau=tau, t=t)
    (finding,) = [f for f in result.findings if f.code == "clock-jump"]
    assert "row 2499" in finding.what
    # a derivative over the jump would be an outlier of many times the noise
    assert max(j.fit for j in result.joints) < 0.06


def test_findings_print_the_way_out():
    q, v, a, tau = arrays()
    tau[:, 0] *= -1
    result = sf.identification.identify(arm(), q, v, a, tau)
    assert not result.ok
    text = result.text(80)
    assert "[torque-sign]" in text and "fix: multiply that column of tau by -1" in text
    assert str(result.findings[0]).startswith("error: ")
