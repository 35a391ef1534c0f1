"""`sixfold compare ROBOT`: does another library find the same?"""

from __future__ import annotations

import sys

import click

from sixfold.choices import Library
from sixfold.cli.options import random_states, robot_argument
from sixfold.interop import compare_with
from sixfold.progress import working


@click.command()
@robot_argument()
@click.option(
    "--with",
    "library",
    default="pinocchio",
    show_default=True,
    type=click.Choice(["pinocchio", "mujoco"]),
    help="The other library; it has to be installed.",
)
@random_states
@click.option("--floating-base", is_flag=True, help="Let the root link of a URDF move freely.")
def compare(robot: str, library: Library, samples: int, seed: int, floating_base: bool) -> None:
    """Compare the dynamics of ROBOT, a file or a name, with another library.

    Exits with 1 if any result differs by more than rounding.
    """
    with working(f"comparing {robot} with {library}"):
        found = compare_with(
            library, robot, samples=samples, seed=seed, floating_base=floating_base
        )
    click.echo(str(found))
    if not found.agrees:
        click.echo("\nthe libraries disagree", err=True)
        sys.exit(1)
