"""`sixfold check`: what it prints about a robot and how it exits."""

import json

import pytest
from click.testing import CliRunner

from sixfold.checks.verify.report import Finding, Report
from sixfold.cli import main
from tests.cli.streams import apart

ROBOT = """<robot name="arm">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 0.15"/>
      <mass value="2"/>
      <inertia ixx="{ixx}" iyy="0.016" izz="0.001" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="base"/>
    <child link="rod"/>
    <axis xyz="0 1 0"/>
    <limit lower="{lower}" upper="1" effort="10" velocity="1"/>
  </joint>
</robot>
"""


@pytest.fixture
def robot(tmp_path, monkeypatch):
    """Return a function that writes arm.urdf with some numbers into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(ixx="0.016", lower="-1"):
        (tmp_path / "arm.urdf").write_text(ROBOT.format(ixx=ixx, lower=lower))
        return "arm.urdf"

    return write


def run(*arguments, columns=100):
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(main, ["check", *arguments])


def test_a_sound_robot_exits_with_zero_and_shows_both_tables(robot):
    result = run(robot(), "--samples", "5")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "arm: 1 bodies, 1 degrees of freedom, 2 kg"
    assert "arm: nothing to remark" in lines
    assert "arm: 5 random states" in lines
    assert lines[-1] == "all formulations agree"


def test_an_error_exits_with_one_and_begins_with_file_and_line(robot):
    result = run(robot(ixx="0.1"), "--no-formulations")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    at = lines.index("error: moments of inertia that no body can have [inertia-triangle]")
    assert lines[at + 1].startswith("arm.urdf:4: link 'rod': principal moments 0.001, 0.016, 0.1")
    assert lines[-1] == "arm: 1 error"
    assert "random states" not in result.output


def test_a_warning_counts_only_when_strict(robot):
    name = robot(ixx="0.0175")
    assert run(name, "--no-formulations").exit_code == 0
    strict = run(name, "--no-formulations", "--strict")
    assert strict.exit_code == 1
    assert "warning: moments of inertia" in strict.output


def test_a_note_never_counts(robot):
    result = run(robot(lower="0.5"), "--no-formulations", "--strict")
    assert result.exit_code == 0
    assert "arm.urdf:10: joint 'hinge': limits 0.5 to 1 rad exclude zero" in result.output


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_report_fits_the_terminal(robot, columns):
    result = run(robot(ixx="0.1"), "--no-formulations", columns=columns)
    longest = max(map(len, result.output.splitlines()))
    assert columns - 15 < longest <= columns


def test_json_holds_both_tables_and_nothing_else(robot):
    result = run(robot(ixx="0.1"), "--json", "--samples", "5", "--seed", "2")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["ok"] is False
    assert data["diagnosis"]["samples"] == 5
    (finding,) = data["diagnosis"]["findings"]
    assert (finding["code"], finding["file"], finding["line"]) == (
        "inertia-triangle",
        "arm.urdf",
        4,
    )
    assert data["formulations"]["agree"] is True
    first = data["formulations"]["findings"][0]
    assert (first["quantity"], first["formulation"], first["bad"]) == (
        "inverse dynamics",
        "rnea",
        False,
    )
    assert first["error"] < 1e-14


def test_json_without_formulations_has_none(robot):
    result = run(robot(), "--json", "--no-formulations")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert data["ok"] is True and data["formulations"] is None


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_formulations_that_disagree_exit_with_one(robot, monkeypatch, flags):
    def wrong(*_, **__):
        return Report("arm", 10, (Finding("mass matrix", "crba", float("nan"), 7, 2e-14),))

    module = __import__("sixfold.cli.inspect", fromlist=["run_check"])
    monkeypatch.setattr(module, "run_check", wrong)
    result = run(robot(), *flags)
    assert result.exit_code == 1
    if flags:
        data = json.loads(result.stdout)
        assert data["ok"] is False
        assert data["formulations"]["findings"][0] == {
            "quantity": "mass matrix",
            "formulation": "crba",
            "error": None,
            "state": 7,
            "limit": 2e-14,
            "note": "",
            "bad": True,
        }
    else:
        assert "formulations disagree" in result.output


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_what_cannot_be_read_exits_with_two(robot, flags):
    result = apart("check", robot(ixx="1,5"), *flags)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: arm.urdf:7: ")
    assert run("missing.urdf", *flags).exit_code == 2


def test_all_shows_every_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames = "".join(
        f'<link name="f{k}"><inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0" ixy="0" '
        f'ixz="0" iyz="0"/></inertial></link><joint name="j{k}" type="fixed"><parent link="base"/>'
        f'<child link="f{k}"/></joint>\n'
        for k in range(12)
    )
    (tmp_path / "many.urdf").write_text(f'<robot name="many"><link name="base"/>{frames}</robot>')
    short = run("many.urdf", "--no-formulations").output
    assert "    ... and 2 more\n" in short and "'f11'" not in short
    long = run("many.urdf", "--no-formulations", "--all").output
    assert "more" not in long and "'f11'" in long
