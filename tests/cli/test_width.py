"""Lines fit 80 columns, help is whole, shells complete robots, and `python -m sixfold` works."""

import subprocess
import sys

import click
import pytest
from benchmarks.bench.tables import table
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.cli.inspect import describe

COMMANDS = main.list_commands(None)


def run(*arguments):
    done = CliRunner().invoke(main, arguments, env={"COLUMNS": "80"}, terminal_width=80)
    assert done.exit_code == 0, done.output
    return done.output


def too_long(text):
    return [line for line in text.splitlines() if len(line) > 80]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns_and_is_not_cut(command):
    text = run(command, "--help")
    assert too_long(text) == []
    assert not [line for line in text.splitlines()[1:] if line.endswith("...")]


def test_list_of_commands_has_whole_sentences():
    text = run("--help")
    assert too_long(text) == [] and "..." not in text.split("Commands:")[1]
    assert "cache      Show where compiled kernels are kept and how many, or clear them." in text


@pytest.mark.parametrize(
    "name", ["puma560", "quadruped", "stewart", "gripper", "planar_chain:40", "random_tree:12:3"]
)
def test_a_robot_is_described_within_80_columns(name):
    lines = describe(sf.load(name))
    assert too_long("\n".join(lines)) == []
    assert sum(line.startswith(("frame ", "joint ")) for line in lines) < len(lines)


def test_long_names_are_cut_and_cleaned():
    builder = sf.ModelBuilder("m" * 300)
    name = "\x1b[31m" + "b" * 200
    builder.add_body(name, joint=sf.Revolute("z"), joint_name="j" * 200)
    text = "\n".join(describe(builder.build()))
    assert too_long(text) == [] and "\x1b" not in text and "…" in text


def test_centres_of_mass_with_many_digits_fit_their_column():
    builder = sf.ModelBuilder("arm")
    center = (-0.00017141234, -0.00053761234, -4.8861234e-07)
    inertia = sf.Inertia.from_mass(0.0854451, center=center)
    builder.add_body("hand", joint=sf.Revolute("z"), inertia=inertia, lower=-1.972, upper=1.972)
    text = "\n".join(describe(builder.build()))
    assert too_long(text) == [] and "(-0.00017, -0.00054, -4.9e-07)" in text


def test_robots_fit_80_columns_but_for_the_folder():
    long = too_long(run("robots"))
    assert len(long) <= 1 and all("robots" in line for line in long)


@pytest.mark.parametrize(
    ("words", "incomplete", "found"),
    [
        (["inspect"], "pum", {"puma560"}),
        (["check"], "double", {"double_pendulum"}),
        (["simulate", "pendulum", "--integrator"], "lie", {"lie_rk4"}),
        (["view", "run.npz", "--robot"], "cart", {"cart_pendulum"}),
        ([], "insp", {"inspect"}),
    ],
)
def test_shells_complete_robots_options_and_commands(words, incomplete, found):
    complete = ShellComplete(main, {}, "sixfold", "_SIXFOLD_COMPLETE")
    items = {item.value for item in complete.get_completions(words, incomplete)}
    assert found <= items


def test_other_words_complete_as_files():
    complete = ShellComplete(main, {}, "sixfold", "_SIXFOLD_COMPLETE")
    (item,) = complete.get_completions(["inspect"], "my_ro")
    assert item.type == "file"


def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "sixfold", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0 and sf.__version__ in done.stdout


def test_every_robot_argument_completes():
    for command in (main.get_command(None, name) for name in COMMANDS):
        for parameter in command.params:
            if isinstance(parameter, click.Argument) and parameter.name in ("robot", "robots"):
                context = click.Context(command)
                assert {x.value for x in parameter.shell_complete(context, "puma")} == {"puma560"}


def test_tables_of_figures_fold_their_heads_to_fit():
    head = ["robot", "function", *(f"{k} threads [ms]" for k in range(6))]
    rows = [["double_pendul~", "inverse dynamics", *["12.5"] * 6]]
    text = table("a title of many words " * 6, head, rows)
    assert too_long(text) == [] and "robot" in text
    narrow = table("t", ["robot", "function", "1 thread"], [["a", "b", "1"]])
    assert narrow.splitlines() == ["t", "robot  function  1 thread", "a      b                1"]
    assert table("t", ["robot", "function"], []).splitlines()[1] == "robot  function"
