"""The section on control.  How fast anything is, is not tested."""

import pytest
from benchmarks.bench import tables
from benchmarks.bench.sections import control

import sixfold as sf


@pytest.fixture
def few(monkeypatch):
    """Measure little."""
    for name, value in {"ROWS": 16, "PEER_POSES": 2, "ITERATIONS": 3, "NODES": 10}.items():
        monkeypatch.setattr(control, name, value)


def test_poses_are_solved_and_timed(few, monkeypatch):
    monkeypatch.setattr(control, "installed", lambda _: False)
    arm = control.TASKS["reacher"]().model
    found = control.poses(arm, 50, seed=0, rounds=1)
    assert found.note.startswith("100.00%")
    assert found.seconds > 0
    assert found.ratio is None
    assert found.what in tables.control_table([found])


def test_iterations_that_were_taken_are_counted(few):
    arm = control.TASKS["reacher"]().model
    found = control.iterations(arm, "ilqr", seed=0, rounds=1)
    assert "mean of 2 iterations" in found.note


def test_environments_stand_beside_others(few):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    found = control.environments("cart_pole", seed=0, rounds=1)
    assert found.peer == "gymnasium"
    assert found.ratio == found.peer_seconds / found.seconds
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    assert control.environments("reacher", seed=0, rounds=1).peer == "MuJoCo's rollout"


def test_without_the_robot_and_gymnasium_nothing_is_left(monkeypatch):
    def missing():
        raise sf.errors.NotApplicableError("panda", "this machine", "install it")

    monkeypatch.setitem(control.TASKS, "reacher", missing)
    monkeypatch.setattr(control, "installed", lambda _: False)
    assert list(control.cases(0, 1)) == []
