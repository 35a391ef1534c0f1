"""`sixfold simulate`: what it prints, writes and refuses."""

import importlib
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
import sixfold.display
from sixfold.cli import main


def run(*arguments):
    return CliRunner().invoke(main, ("simulate", *arguments))


def test_a_summary_tells_energy_and_speed():
    result = run("double_pendulum", "--duration", "0.5")
    assert result.exit_code == 0, result.output
    first, energy, *rest = result.stdout.splitlines()
    speed = " ".join(" ".join(rest).split())  # folded where the numbers are long
    assert first == "motion of 'double_pendulum': 0 to 0.5 s, 501 samples, rk4 with dt = 0.001 s"
    assert energy.startswith("energy: ") and "largest change" in energy
    assert speed.startswith("speed: 500 steps in ") and speed.endswith("times real time")


def test_a_run_is_written_and_repeats(tmp_path):
    for name in ("a.npz", "b.npz"):
        result = run("puma560", "--duration", "0.1", "--out", str(tmp_path / name), "--seed", "3")
        assert result.exit_code == 0, result.output
        assert f"written to {tmp_path / name}" in result.output
    a, b = (sf.Trajectory.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    np.testing.assert_array_equal(a.q, b.q)
    assert a.model.name == "puma560" and not a.v[0].any()


def test_controllers_hold_and_pull(tmp_path):
    path = str(tmp_path / "run.npz")
    run("puma560", "--controller", "gravity", "--duration", "0.2", "--out", path)
    held = sf.Trajectory.load(path)
    assert np.abs(held.q - held.q[0]).max() < 1e-2
    run("puma560", "--controller", "pd", "--duration", "3", "--out", path, "--every", "100")
    pulled = sf.Trajectory.load(path)
    assert np.abs(pulled.q[-1]).max() < 0.5 * np.abs(pulled.q[0]).max()


def test_a_neutral_start_and_another_integrator(tmp_path):
    path = str(tmp_path / "run.npz")
    options = ("--start", "neutral", "--integrator", "lie_rk4", "--dt", "0.01")
    assert run("floating_link", *options, "--duration", "0.1", "--out", path).exit_code == 0
    result = sf.Trajectory.load(path)
    assert result.integrator == "lie_rk4" and len(result) == 11
    np.testing.assert_array_equal(result.q[0], sf.neutral(result.model))


def test_a_report_and_a_view_are_handed_the_motion(monkeypatch, tmp_path):
    calls = []
    command = importlib.import_module("sixfold.cli.simulate")
    for name in ("write_report", "view"):
        monkeypatch.setattr(sixfold.display, name, lambda *x: calls.append(x))
    monkeypatch.setattr(command, "optional", lambda *x: None)
    result = run("pendulum", "--duration", "0.1", "--report", str(tmp_path / "r.html"), "--view")
    assert result.exit_code == 0, result.output
    (path, model, made), (shown, again) = calls
    assert path.endswith("r.html") and model.name == shown.name == "pendulum"
    assert len(made) == len(again) == 101


def test_a_window_without_viser_is_refused_before_the_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    result = run("pendulum", "--view")
    assert result.exit_code == 2
    assert "pip install 'sixfold[view]'" in result.output and "steps" not in result.output
    assert "energy" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("double_pendulum", "--dt", "0"), "'dt'"),
        (("double_pendulum", "--dt", "nan"), "'dt'"),
        (("double_pendulum", "--duration", "-1"), "'duration'"),
        (("nobody",), "nobody"),
        (
            ("pendulum", "--out", "/nowhere/at/all/run.npz", "--duration", "0.1"),
            "cannot be written",
        ),
        (("double_pendulum", "--integrator", "rk5"), "rk5"),
        (("double_pendulum", "--controller", "magic"), "magic"),
    ],
)
def test_wrong_options_end_with_two_and_a_plain_message(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output and "Traceback" not in result.output


def test_limits_push_back(tmp_path):
    builder = sf.ModelBuilder("door")
    leaf = sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    builder.add_body("leaf", joint=sf.Revolute("y"), inertia=leaf, lower=-0.1, upper=0.1)
    path, out = tmp_path / "door.json", tmp_path / "run.npz"
    sf.save(builder.build(), path)
    options = ("--start", "neutral", "--limits", "--duration", "2", "--out", str(out))
    assert run(str(path), *options).exit_code == 0
    assert np.abs(sf.Trajectory.load(out).q).max() < 0.2
