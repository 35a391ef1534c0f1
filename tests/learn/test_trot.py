"""The quadruped of the demonstration: its gait, and a short trot under MPPI."""

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.learn import trot


@pytest.mark.parametrize("foot", [(0.0, 0.0, -0.28), (0.08, 0.0, -0.25), (-0.05, 0.06, -0.3)])
def test_leg_angles_put_the_foot_where_it_is_wanted(foot):
    robot = sf.load("quadruped")
    q = sf.neutral(robot)
    q[7:10] = [float(x) for x in trot.leg_angles(*foot)]
    hip = sf.frame_pose(robot, q, "front_left_hip")[:3, 3]
    found = sf.frame_pose(robot, q, "front_left_foot")[:3, 3] - hip
    # the thigh is 0.08 m beside the hip, and turns with it
    roll = q[7]
    expected = np.add(foot, [0.0, 0.08 * np.cos(roll), 0.08 * np.sin(roll)])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_robot_trots_and_takes_a_push():
    push = trot.Push(0.6, (0.0, 100.0, 0.0))
    seen = []
    found = trot.trot(2.0, pushes=[push], samples=64, seed=1, show=lambda t, q: seen.append(t))
    assert found.stands and 0.2 < found.speed < 0.9
    assert len(seen) == len(found.motion["t"]) == 100
    carried = found.motion["contact_forces"][50:, :, 2].sum(axis=1).mean()
    assert carried == pytest.approx(12 * 9.81, rel=0.25)
    again = trot.trot(0.2, pushes=[push], samples=64, seed=1)
    np.testing.assert_array_equal(again.motion["q"], found.motion["q"][:10])


def test_pushes_come_from_both_sides():
    pushes = trot.side_pushes(4, 30.0, seed=3)
    assert [np.sign(p.force[1]) for p in pushes] == [1, -1, 1, -1]
    assert all(abs(p.force[1]) * 0.1 == pytest.approx(30.0) for p in pushes)


def test_the_command_writes_a_page(tmp_path):
    page = tmp_path / "trot.html"
    run = CliRunner().invoke(
        main, ["demo", "quadruped", "--seconds", "1", "--pushes", "0", "--report", str(page)]
    )
    assert run.exit_code == 0, run.output
    assert "it stands" in run.output and page.stat().st_size > 10_000
