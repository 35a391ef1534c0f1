"""`python -m benchmarks bench`: speed and accuracy next to other engines, in one run."""

from __future__ import annotations

import sys
from textwrap import fill
from typing import Any

import click

from benchmarks.bench import picture, report
from benchmarks.bench.engines.engines import FUNCTIONS
from benchmarks.bench.robots import STANDARD, find
from benchmarks.bench.run import Settings, run
from benchmarks.bench.sections.chains import LENGTHS
from sixfold.cli import Commands
from sixfold.cli.options import refuse_idle, robot_argument
from sixfold.errors import OptionError, visible
from sixfold.model.tree_text import WIDTH

QUOTABLE = 15
"""Rounds from which on a best is worth quoting."""


def _functions(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    """Read names of functions with commas between them."""
    names = tuple(dict.fromkeys(part.strip().replace("-", "_") for part in text.split(",")))
    for name in names:
        if name not in FUNCTIONS:
            raise OptionError("bench", "--functions", FUNCTIONS, name)
    return names


@click.command()
@robot_argument("robots", nargs=-1)
@click.option(
    "--functions",
    default=",".join(FUNCTIONS),
    callback=_functions,
    help="Which functions, with commas between them; all three if left out.",
)
@click.option(
    "--batch",
    default=4096,
    show_default=True,
    type=click.IntRange(min=1),
    help="States in a batch.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    help="Interleaved repeats; the best counts and all are kept.  [default: 20; 5 with --quick]",
)
@click.option(
    "--dtype",
    default="float64",
    show_default=True,
    type=click.Choice(["float64", "float32"]),
    help="Sixfold's precision; the other engines have double only.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--quick", is_flag=True, help="Few rounds: to look at, not to quote.")
@click.option("--chains", is_flag=True, help="Also chains of 10 to 10,000 bodies.")
@click.option(
    "--longest",
    default=LENGTHS[-1],
    show_default=True,
    type=click.IntRange(min=LENGTHS[0]),
    help="Longest chain.",
)
@click.option("--derivatives", is_flag=True, help="Also derivatives beside Pinocchio's.")
@click.option("--regressor", is_flag=True, help="Also regressors beside Pinocchio's.")
@click.option("--rollout", is_flag=True, help="Also steps in time beside MuJoCo's rollout.")
@click.option("--contact", is_flag=True, help="Also closed loops and robots on the ground.")
@click.option("--control", is_flag=True, help="Also inverse kinematics, control, environments.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Keep every figure.")
@click.option(
    "--plot", "plot_file", type=click.Path(dir_okay=False), help="Draw: .svg, .png, .pdf."
)
def bench(
    robots: tuple[str, ...],
    functions: tuple[str, ...],
    rounds: int | None,
    quick: bool,
    json_file: str | None,
    plot_file: str | None,
    **options: Any,
) -> None:
    """Measure kernels on one core beside Pinocchio and MuJoCo, where they are installed.

    ROBOTS are names or files as `sf.load` takes them, or ur5, panda (fingers locked) and g1_29dof
    of example-robot-data, which are measured with puma560 when none is named.  Every engine is
    checked to agree before it is timed.  Exits with 1 if one does not.
    """
    refuse_idle("--longest", not options["chains"], "a run without chains", "add --chains")
    settings = Settings(functions, rounds=rounds or (5 if quick else 20), quick=quick, **options)
    for name, file in (("--json", json_file), ("--plot", plot_file)):
        report.refuse_unwritable(name, file)
    if plot_file:
        picture.refuse_format(plot_file)
    found, missing = find(robots or STANDARD)
    for line in missing:
        click.echo(line)
    if not found:
        click.echo("no robot is left to measure", err=True)
        sys.exit(2)
    results = run(found, settings, _say)
    if settings.rounds < QUOTABLE:
        click.echo(f"\nfewer than {QUOTABLE} rounds: figures to look at, not to quote")
    if json_file:
        report.write(json_file, results, settings, missing)
        click.echo(f"\nevery round is in {visible(json_file)}")
    if plot_file:
        picture.draw(plot_file, results.speed, settings)
        click.echo(f"\nthe picture is in {visible(plot_file)}")
    if results.disagreements:
        click.echo("\nENGINES DISAGREE:\n  " + "\n  ".join(results.disagreements), err=True)
        sys.exit(1)


def _say(text: str) -> None:
    """Print; notes are folded."""
    for line in text.splitlines():
        click.echo(fill(line, WIDTH, subsequent_indent="  ") if line.startswith("note:") else line)


main = Commands(commands=[bench], context_settings={"help_option_names": ["-h", "--help"]})

if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
