"""`sixfold excite` and `sixfold identify`."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main

ROBOT = "double_pendulum"


def run(*arguments):
    return CliRunner().invoke(main, [str(x) for x in arguments], terminal_width=80)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "motion.npz"
    short = ("--duration", 6, "--dt", 0.002, "--rounds", 2)
    found = run("excite", ROBOT, *short, "--noise", 0.02, "--out", path)
    assert found.exit_code == 0, found.output
    assert "base parameters" in found.output and "written to" in found.output
    return path


def test_a_log_becomes_a_robot_and_a_page(log, tmp_path):
    page, robot = tmp_path / "fit.html", tmp_path / "robot.urdf"
    found = run("identify", ROBOT, log, "--report", page, "--out", robot)
    assert found.exit_code == 0, found.output
    assert all(len(line) <= 80 for line in found.output.splitlines() if "tmp" not in line)
    assert "hold-out" in found.output and "condition" in found.output
    assert sf.load(robot).nv == 2 and page.stat().st_size > 10_000


def test_a_wrong_log_exits_with_one_and_writes_no_robot(log, tmp_path):
    motion = sf.Trajectory.load(log)
    tau = motion.tau * [1.0, -1.0]
    bad, robot = tmp_path / "bad.npz", tmp_path / "robot.urdf"
    np.savez(bad, t=motion.t, q=motion.q, v=motion.v, a=motion.a, tau=tau)
    found = run("identify", ROBOT, bad, "--out", robot)
    assert found.exit_code == 1, found.output
    assert "error: " in found.output and "fix: " in found.output
    assert not robot.exists()


def test_logs_that_cannot_be_read_exit_with_two(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,q1,q2\n0,1,2\n")
    for name in (path, tmp_path / "none.npz", tmp_path / "log.txt"):
        found = run("identify", ROBOT, name)
        assert found.exit_code == 2 and "fix:" in found.output, found.output
    assert run("identify", ROBOT, path, "--lag", "much").exit_code == 2
    assert run("excite", "floating_link").exit_code == 2
