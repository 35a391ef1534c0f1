"""Logs of other people: without names, in other units, orders and clocks."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from tests.identification.robots import arm, log

NUMBERS = {"t": 0, "q": range(1, 4), "tau": [4, 5, 6]}


def table():
    q, _, _, tau, t = log()
    return np.column_stack([t, q, tau])


def write(path, rows, names="", delimiter=",", comments=""):
    np.savetxt(path, rows, delimiter=delimiter, header=names, comments=comments, fmt="%.17g")
    return path


def codes(result):
    return {finding.code: finding for finding in result.findings}


# -- files


def test_columns_without_names_are_given_by_number(tmp_path):
    path = write(tmp_path / "log.csv", table())
    found = sf.identification.Log.read(path, arm(), columns=NUMBERS)
    # the first line is a sample as well
    np.testing.assert_array_equal(np.column_stack([found.t, found.q, found.tau]), table())
    with pytest.raises(sf.errors.TrajectoryFileError, match=r"without names.*'q': range\(1, 4\)"):
        sf.identification.Log.read(path, arm())
    with pytest.raises(
        sf.errors.TrajectoryFileError, match="has no column 7: it has 7, counted from 0"
    ):
        sf.identification.Log.read(path, arm(), columns=NUMBERS | {"tau": [5, 6, 7]})


@pytest.mark.parametrize("wrong", [-1, 1.5, True, [0, -2], [0, None], {"a": 1}, None, b"t", []])
def test_numbers_of_columns_are_whole_and_not_negative(tmp_path, wrong):
    path = write(tmp_path / "log.csv", table())
    with pytest.raises(sf.errors.OptionError, match="names or numbers of columns"):
        sf.identification.Log.read(path, arm(), columns=NUMBERS | {"q": wrong})


def test_columns_are_given_by_number_on_the_command_line(tmp_path):
    path, robot = write(tmp_path / "log.csv", table()), tmp_path / "arm.json"
    sf.save(arm(), robot)
    options = ["--column", "t=0", "--column", "q=1:4", "--column", "tau=4,5,6"]
    result = CliRunner().invoke(main, ["identify", str(robot), str(path), *options])
    assert result.exit_code == 0, result.output
    assert "arm: fitted to" in result.output
    for wrong in ("q", "q=", "q=1:", "q=a:b"):
        again = CliRunner().invoke(main, ["identify", str(robot), str(path), "--column", wrong])
        assert again.exit_code == 2


@pytest.mark.parametrize(
    ("suffix", "delimiter"), [("csv", ","), ("csv", ";"), ("tsv", "\t"), ("txt", " "), ("txt", ",")]
)
@pytest.mark.parametrize("comments", ["", "# "])
def test_names_stand_in_the_first_line_or_in_a_comment(tmp_path, suffix, delimiter, comments):
    names = delimiter.join(["Time", "Q1", "q2", "q3", "TAU_1", "tau_2", "tau_3"])
    path = write(tmp_path / f"log.{suffix}", table(), names, delimiter, comments)
    found = sf.identification.Log.read(path, arm())
    np.testing.assert_array_equal(np.column_stack([found.t, found.q, found.tau]), table())


def test_columns_by_name_may_stand_in_any_order(tmp_path):
    names = np.array(["t", "q1", "q2", "q3", "tau1", "tau2", "tau3"])
    order = [5, 2, 0, 6, 1, 4, 3]
    path = write(tmp_path / "log.csv", table()[:, order], ",".join(names[order]))
    found = sf.identification.Log.read(path, arm())
    np.testing.assert_array_equal(np.column_stack([found.t, found.q, found.tau]), table())


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = write(tmp_path / "log.csv", table(), "t,q1,q2,q2,tau1,tau2,tau3")
    with pytest.raises(sf.errors.TrajectoryFileError, match="two columns 'q2'"):
        sf.identification.Log.read(path, arm())


def test_decimal_commas_are_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t;q1;q2;q3;tau1;tau2;tau3\n" + "0,1;0,2;1;1;1;1;1\n" * 5, encoding="utf-8")
    with pytest.raises(sf.errors.TrajectoryFileError, match="decimal commas"):
        sf.identification.Log.read(path, arm())


def test_a_column_of_words_is_named(tmp_path):
    path = tmp_path / "log.csv"
    rows = "\n".join(f"12:00:0{k},1,2,3,4,5,6" for k in range(9))
    path.write_text(f"time,q1,q2,q3,tau1,tau2,tau3\n{rows}\n", encoding="utf-8")
    with pytest.raises(sf.errors.TrajectoryFileError, match="no numbers in column 'time'"):
        sf.identification.Log.read(path, arm())


def test_currents_are_not_read_as_torques(tmp_path):
    names = "t,q1,q2,q3,current1,current2,current3"
    path = write(tmp_path / "log.csv", table(), names)
    with pytest.raises(sf.errors.TrajectoryFileError, match="currents need gains="):
        sf.identification.identify(arm(), path)


# -- velocities and accelerations that do not belong to the positions


def test_good_velocities_and_accelerations_raise_no_doubt():
    q, v, a, tau, t = log()
    rng = np.random.default_rng(0)
    noisy = v + 0.02 * rng.standard_normal(v.shape), a + 0.5 * rng.standard_normal(a.shape)
    for given in ((v, a), (v, None), noisy):
        found = codes(sf.identification.identify(arm(), q, *given, tau, t=t))
        assert not {"wrong-v", "wrong-a"} & found.keys()


@pytest.mark.parametrize(
    ("factor", "words"),
    [(180 / np.pi, "velocities seem to be in degrees/s"), (1e3, "milliseconds"), (3.0, "belong")],
)
def test_velocities_in_other_units_are_named(factor, words):
    q, v, a, tau, t = log()
    if words == "milliseconds":
        result = sf.identification.identify(arm(), q, v, a, tau, t=t * factor)
    else:
        result = sf.identification.identify(arm(), q, v * factor, a * factor, tau, t=t)
    assert words in codes(result)["wrong-v"].what
    assert not result.ok


def test_velocities_in_another_order_or_with_another_sign_are_named():
    q, v, a, tau, t = log()
    found = codes(sf.identification.identify(arm(), q, v[:, [0, 2, 1]], a[:, [0, 2, 1]], tau, t=t))
    assert "'lift' stand in the column of 'bend'" in found["wrong-v"].what
    found = codes(sf.identification.identify(arm(), q, v * [1, -1, 1], a * [1, -1, 1], tau, t=t))
    assert "'lift' has the wrong sign" in found["wrong-v"].what


def test_accelerations_in_other_units_are_named():
    q, v, a, tau, t = log()
    result = sf.identification.identify(arm(), q, v, a / 9.81, tau, t=t)
    assert codes(result)["wrong-a"].severity == "error"
    assert "accelerations and velocities do not belong together" in codes(result)["wrong-a"].what


# -- clocks


@pytest.mark.parametrize("unit", [1e3, 1e6, 1e9])
def test_times_in_other_units_are_refused_where_velocities_are_made(unit):
    q, _, _, tau, t = log()
    with pytest.raises(sf.errors.StateError, match="divide t by 1e3 if it is in ms"):
        sf.identification.identify(arm(), q, tau=tau, t=t * unit)


def test_repeated_times_are_left_out_and_named():
    q, _, _, tau, t = log()
    twice = np.sort(np.concatenate([np.arange(len(q)), np.arange(0, len(q), 7)]))
    result = sf.identification.identify(arm(), q[twice], tau=tau[twice], t=t[twice])
    alone = sf.identification.identify(arm(), q, tau=tau, t=t)
    assert result.samples == alone.samples and result.model == alone.model
    assert f"{len(twice) - len(q)} samples" in codes(result)["repeated-times"].what
    assert "clock-jump" not in codes(result)


def test_uneven_times_and_lost_rows_hardly_change_the_result():
    q, v, _, tau, t = log()
    rng = np.random.default_rng(2)
    moved = t + rng.uniform(-0.3, 0.3, len(t)) * 2e-3
    q = q + v * (moved - t)[:, None]
    kept = np.sort(rng.permutation(len(t))[: 9 * len(t) // 10])
    result = sf.identification.identify(arm(), q[kept], tau=tau[kept], t=moved[kept])
    assert max(joint.fit for joint in result.joints) < 0.08
    assert "lag" not in codes(result)


def test_a_delay_is_not_taken_over_a_jump_of_the_clock():
    q, v, a, tau, t = log()
    late, half = 4, 3000
    t = t.copy()
    t[half:] -= 5.0
    result = sf.identification.identify(
        arm(), q[late:], v[late:], a[late:], tau[:-late], t=t[late:], lag=8e-3
    )
    assert max(joint.fit for joint in result.joints) < 0.06


def test_rows_without_numbers_do_not_disturb_derivatives():
    q, _, _, tau, t = log()
    q, t = q.copy(), t.copy()
    q[500:503], t[2000] = np.nan, np.nan
    result = sf.identification.identify(arm(), q, tau=tau, t=t)
    assert "4 of" in codes(result)["nan-rows"].what
    assert max(joint.fit for joint in result.joints) < 0.06


# -- positions and torques


def test_angles_that_jump_by_a_turn_are_put_together_again():
    q, _, _, tau, t = log()
    edge = float(np.median(q[:, 0]))
    wrapped = q.copy()
    wrapped[:, 0] = np.mod(q[:, 0] - edge, 2 * np.pi) + edge
    assert np.abs(np.diff(wrapped[:, 0])).max() > 6
    result = sf.identification.identify(arm(), wrapped, tau=tau, t=t)
    assert "'turn'" in codes(result)["wrapped"].what
    np.testing.assert_allclose(
        [joint.fit for joint in result.joints],
        [joint.fit for joint in sf.identification.identify(arm(), q, tau=tau, t=t).joints],
        rtol=1e-3,
    )


@pytest.mark.parametrize(
    ("factor", "words"),
    [(1e3, "perhaps in N mm"), (10.197, "perhaps in kgf cm"), (0.05, "perhaps currents")],
)
def test_torques_in_other_units_are_named(factor, words):
    q, v, a, tau, t = log()
    finding = codes(sf.identification.identify(arm(), q, v, a, tau * factor, t=t))["torque-scale"]
    assert finding.severity == "warning" and words in finding.what


def test_a_torque_before_the_gears_is_named():
    q, v, a, tau, t = log()
    finding = codes(sf.identification.identify(arm(), q, v, a, tau / [1, 1, 50], t=t))[
        "torque-scale"
    ]
    assert "'bend' is 0.0" in finding.what
