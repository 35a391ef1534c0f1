"""`sixfold view`: a robot or a motion from the command line."""

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
import sixfold.display
from sixfold.cli import main


@pytest.fixture
def shown(monkeypatch):
    """Return the calls that would open a window."""
    calls = []
    record = lambda *args, **options: calls.append((args, options))  # noqa: E731
    monkeypatch.setattr(sixfold.display, "view", record)
    return calls


def run(*arguments):
    return CliRunner().invoke(main, ["view", *map(str, arguments)])


def test_a_robot_is_shown_by_name(shown):
    assert run("puma560", "--port", 8123, "--no-browser").exit_code == 0
    ((model, motion), options) = shown[0]
    assert model == sf.load("puma560")
    assert motion is None
    assert options == {"port": 8123, "open_browser": False}


def test_a_robot_is_simulated_and_dragged(shown):
    assert run("puma560", "--live", "--drag", "link6").exit_code == 0
    assert shown[0][1]["live"] is True
    assert shown[0][1]["drag"] == "link6"
    assert run("puma560", "--live", "--hold").exit_code == 0
    assert shown[1][1]["live"] == "hold"
    alone = run("puma560", "--hold")
    assert alone.exit_code == 2
    assert "--live" in alone.output


def test_a_motion_is_not_live(shown, tmp_path):
    np.savez(tmp_path / "log.npz", q=np.zeros((4, 6)), t=np.arange(4.0))
    result = run(tmp_path / "log.npz", "--robot", "puma560", "--live")
    assert result.exit_code == 2
    assert "--live" in result.output
    assert not shown


def test_a_saved_motion_brings_its_robot(shown, tmp_path):
    model = sf.load("double_pendulum")
    trajectory = sf.simulate(model, [0.4, 0.1], None, 0.05)
    trajectory.save(tmp_path / "run.npz")
    assert run(tmp_path / "run.npz").exit_code == 0
    ((shown_model, motion), options) = shown[0]
    assert shown_model == model
    assert np.array_equal(motion.q, trajectory.q)
    assert options["open_browser"] is True


def test_arrays_of_another_tool_need_the_name_of_the_robot(shown, tmp_path):
    np.savez(tmp_path / "log.npz", q=np.zeros((4, 6)), t=np.arange(4.0))
    alone = run(tmp_path / "log.npz")
    assert alone.exit_code == 2
    assert "--robot" in alone.output
    assert run(tmp_path / "log.npz", "--robot", "puma560").exit_code == 0
    assert shown[0][0][1]["q"].shape == (4, 6)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04broken", b"\x93NUMPY", b"words"])
def test_a_file_that_is_no_motion_is_named(shown, tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    result = run(tmp_path / "bad.npz")
    assert result.exit_code == 2
    assert "bad.npz" in result.output
    assert not shown


def test_a_file_without_positions_is_refused(shown, tmp_path):
    np.savez(tmp_path / "log.npz", x=np.zeros(3))
    result = run(tmp_path / "log.npz", "--robot", "puma560")
    assert result.exit_code == 2
    assert "no array 'q'" in result.output


def test_an_unknown_robot_is_named(shown):
    result = run("pumma")
    assert result.exit_code == 2
    assert "pumma" in result.output
