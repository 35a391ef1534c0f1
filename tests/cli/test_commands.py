"""The command line: what it prints and how it exits."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.checks.verify.report import Finding, Report
from sixfold.cli import main
from sixfold.formats.bundled import SAMPLES
from tests.cli.streams import apart


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def assert_plain_error(result, code, *words):
    assert result.exit_code == code
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.output


def wrong_report(*_, **__):
    finding = Finding("mass matrix", "crba", 1e-3, 7, 2e-14)
    return Report("arm", 10, (finding,))


def test_demo_shows_the_robot_its_dynamics_its_speed_and_a_motion(tmp_path):
    page = tmp_path / "demo.html"
    result = run("demo", "--robot", "double_pendulum", "--states", "999", "--report", str(page))
    assert result.exit_code == 0, result.output
    for words in (
        "double_pendulum: 2 bodies, 2 degrees of freedom",
        "lower  [elbow: revolute about (0 1 0)]",
        "tau = inverse dynamics",
        "a   = forward dynamics",
        "kinetic energy [J]",
        "operators dense (19a)",
        "all formulations agree",
        "999 random states",
        "million a second",
        "Ten seconds through three poses and back by computed torque",
        "sixfold view double_pendulum",
    ):
        assert words in result.output
    assert "<html" in page.read_text(encoding="utf-8")


def test_demo_gives_back_the_acceleration_it_started_from(tmp_path):
    result = run("demo", "--states", "99", "--report", str(tmp_path / "demo.html"))
    lines = {x[2:26].strip(): x[27:] for x in result.output.splitlines() if x.startswith("  ")}
    assert lines["a"] == lines["a   = forward dynamics"]
    assert lines["a"] != lines["v"]


def test_demo_ends_with_an_error_when_formulations_disagree(monkeypatch):
    module = __import__("sixfold.cli.demo", fromlist=["check"])
    monkeypatch.setattr(module, "check", wrong_report)
    result = run("demo", "--robot", "double_pendulum")
    assert_plain_error(result, 2, "formulations disagree", "mass matrix by crba")


@pytest.mark.parametrize("name", SAMPLES)
def test_inspect_describes_every_sample(name):
    model = sf.load(name)
    result = run("inspect", name)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith(f"{model.name}: {model.nb} bodies, nq = {model.nq}, nv = {model.nv}")
    for body in model.bodies:
        assert any(f"─ {body.name}  [{body.joint_name}: " in line for line in lines)
        assert any(line.startswith(f"{body.name} ") and "(" in line for line in lines)
    for frame in model.frame_names:
        assert any(line.startswith(f"frame {frame} on ") for line in lines)


def test_inspect_draws_the_tree():
    lines = run("inspect", "tree6").output.splitlines()
    start = lines.index("world")
    drawn = [line.split("  [")[0] for line in lines[start + 1 : start + 7]]
    assert drawn == [
        "└─ body1",
        "   ├─ body2",
        "   │  └─ body3",
        "   └─ body4",
        "      ├─ body5",
        "      └─ body6",
    ]


def test_inspect_shows_joints_properties_limits_and_couplings():
    from sixfold.cli.inspect import describe

    builder = sf.ModelBuilder("hand")
    builder.add_body("palm", joint=sf.Prismatic("z"), lower=-1, upper=2, damping=0.5)
    builder.add_body("thumb", parent="palm", joint=sf.Planar(), stiffness=(1, 2, 3))
    builder.add_body("tip", parent="thumb", joint=sf.Revolute("x"))
    builder.add_body("nail", parent="tip", joint=sf.Fixed())
    builder.couple("tip_joint", ("palm_joint", 2.0), offset=0.5)
    lines = describe(builder.build())
    assert any("palm_joint: slide along (0 0 1)" in line for line in lines)
    palm = next(k for k, line in enumerate(lines) if line.endswith("-1..2"))
    assert lines[palm + 1] == "    damping 0.5"
    assert lines[palm + 2].endswith("3 coordinates") and lines[palm + 3] == "    stiffness 1/2/3"
    assert "frame nail on tip" in lines
    assert lines[-1] == "joint tip_joint follows 2 x palm_joint + 0.5"


def test_inspect_of_a_long_chain_takes_no_quadratic_search():
    result = run("inspect", "planar_chain:1500")
    assert result.exit_code == 0
    assert result.output.count("revolute about") == 1500


def test_check_exits_with_zero_when_all_agree():
    result = run("check", "tree6", "--samples", "5", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "tree6: 5 random states" in result.output
    assert result.output.rstrip().endswith("all formulations agree")


def test_check_exits_with_one_when_some_disagree(monkeypatch):
    module = __import__("sixfold.cli.inspect", fromlist=["run_check"])
    monkeypatch.setattr(module, "run_check", wrong_report)
    result = run("check", "tree6")
    assert_plain_error(result, 1, "DISAGREES", "formulations disagree")
    assert "all formulations agree" not in result.output


def test_robots_lists_every_sample_with_a_line():
    result = run("robots")
    assert result.exit_code == 0
    lines = [line for line in result.output.splitlines() if re.match(r"  \w\S* +\S", line)]
    listed = dict(line.split(None, 1) for line in lines)
    assert list(listed)[: len(SAMPLES)] == list(SAMPLES)
    assert all(len(text) > 10 for text in listed.values())


@pytest.mark.parametrize("command", ["inspect", "check"])
def test_an_unknown_robot_exits_with_two_and_names_near_ones(command):
    result = run(command, "pumma560")
    assert_plain_error(
        result, 2, "error: sixfold.load: no robot or file named 'pumma560'", "puma560"
    )
    assert apart(command, "pumma560").stdout == ""


def test_an_unknown_robot_in_demo_exits_with_two():
    assert_plain_error(run("demo", "--robot", "nobody"), 2, "no robot or file named 'nobody'")


@pytest.mark.parametrize("name", ["planar_chain:0", "planar_chain:x", "puma560:1"])
def test_a_robot_name_that_does_not_read_exits_with_two(name):
    assert_plain_error(run("inspect", name), 2, f"error: sample '{name}'", "fix: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "tree6", "--samples", "0"),
        ("check", "tree6", "--samples", "-3"),
        ("check", "tree6", "--samples", "many"),
        ("check", "tree6", "--seed", "-1"),
        ("check",),
        ("inspect",),
        ("inspect", "tree6", "tree10"),
        ("demo", "--nothing"),
        ("fly",),
    ],
)
def test_wrong_usage_exits_with_two_and_says_how(arguments):
    assert_plain_error(run(*arguments), 2, "Usage: ", "Error: ")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_the_commands(flag):
    result = run(flag)
    assert result.exit_code == 0
    for name in ("demo", "inspect", "check", "robots"):
        assert f"  {name} " in result.output
        of_command = run(name, flag)
        assert of_command.exit_code == 0 and f"Usage: main {name}" in of_command.output


def test_version_is_that_of_the_package():
    result = run("--version")
    assert result.exit_code == 0
    assert sf.__version__ in result.output


def test_the_installed_command_reports_errors_without_a_traceback():
    code = "import sys; from sixfold.cli import main; sys.argv[0] = 'sixfold'; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", "nobody"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: sixfold.load: no robot or file named 'nobody'")
    assert "Traceback" not in done.stderr
