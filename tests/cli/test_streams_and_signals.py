"""The command among other programs: pipes that close, Ctrl-C, colours, options without effect."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from sixfold.cli import main

SRC = str(Path(__file__).parents[2] / "src")
COMMAND = [sys.executable, "-c", "import sys; from sixfold_command import main; sys.exit(main())"]
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes are POSIX")


def start(*arguments, **options):
    path = os.pathsep.join([SRC, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(
        [*COMMAND, *arguments], stderr=subprocess.PIPE, env=environment, **options
    )


@posix
@pytest.mark.parametrize("arguments", [["robots"], ["--help"], ["inspect", "puma560"]])
def test_a_reader_that_has_gone_is_no_error(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*arguments, stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=60)[1] == b""
    # as for programs that the signal ends; click has 1, which reads as a failure
    assert process.returncode == 141


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_output_that_is_full_is_one_error():
    with open("/dev/full", "wb") as full:
        process = start("robots", stdout=full)
    said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 2
    assert said.startswith("error: the output cannot be written (") and said.count("\n") == 1


@posix
@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8])
def test_ctrl_c_while_modules_load_prints_no_traceback(share):
    begun = time.monotonic()
    start("--version", stdout=subprocess.DEVNULL).communicate(timeout=60)
    whole = time.monotonic() - begun
    process = start("robots", stdout=subprocess.PIPE)
    time.sleep(share * whole)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    # the interpreter's own start is before the first line of the command
    assert b"sixfold" not in said.replace(b"sixfold_command", b""), said
    assert process.returncode in (-signal.SIGINT, 130, 0)


@posix
def test_ctrl_c_in_a_command_ends_it_with_130():
    # a short run first: how long it takes to begin on this machine, and a kernel on disk
    begun = time.monotonic()
    short = start("simulate", "puma560", "--duration", "1", stdout=subprocess.PIPE)
    short.communicate(timeout=120)
    assert short.returncode == 0
    whole = time.monotonic() - begun
    process = start(
        "simulate", "puma560", "--duration", "50000", "--every", "1000", stdout=subprocess.PIPE
    )
    time.sleep(1.0 + 1.5 * whole)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode in (130, -signal.SIGINT) and b"Traceback" not in said


@posix
def test_a_process_that_ignores_ctrl_c_goes_on_doing_so():
    process = start("--version", stdout=subprocess.PIPE, preexec_fn=_ignore)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert b"sixfold" in process.communicate(timeout=60)[0] and process.returncode == 0


def _ignore():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# -- colours


@pytest.fixture
def light(tmp_path):
    """Return a robot that has something to remark in colour."""
    path = tmp_path / "light.urdf"
    tensor = '<inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/>'
    path.write_text(
        '<robot name="x"><link name="a"/>'
        f'<link name="b"><inertial><mass value="1"/>{tensor}</inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    return str(path)


@pytest.mark.parametrize(
    ("settings", "terminal", "colored"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_the_environment_decides_on_colours(settings, terminal, colored, light, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(main, ["check", light, "--no-formulations"], color=terminal)
    assert ("\x1b[" in result.output) == colored, result.output


# -- options without effect


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["equations", "pendulum", "--latex", "--html"], "--latex does not apply to --html"),
        (["equations", "pendulum", "--c", "--julia"], "--c does not apply to --julia"),
        (["equations", "pendulum", "--python", "--explain"], "--explain does not apply"),
        (["demo", "--robot", "puma560", "quadruped"], "--robot does not apply to demo quadruped"),
        (["demo", "--states", "3", "quadruped"], "--states does not apply"),
        (["demo", "quadruped", "--pushes", "0", "--impulse", "5"], "--impulse does not apply"),
        (["simulate", "pendulum", "--start", "neutral", "--seed", "3"], "--seed does not apply"),
        (["export", "pendulum", "--language", "julia", "--dtype", "float"], "--dtype"),
        (["check", "pendulum", "--json", "--all"], "--all does not apply"),
        (["view", "pendulum", "--hold"], "--hold does not apply"),
        (["view", "pendulum", "--robot", "puma560"], "--robot does not apply"),
    ],
)
def test_an_option_without_effect_is_an_error(arguments, words):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_a_cache_that_is_off_cannot_be_cleared(monkeypatch):
    monkeypatch.setenv("SIXFOLD_CACHE", "off")
    assert CliRunner().invoke(main, ["cache"]).exit_code == 0
    result = CliRunner().invoke(main, ["cache", "--clear"])
    assert result.exit_code == 2 and "switched off" in result.output
