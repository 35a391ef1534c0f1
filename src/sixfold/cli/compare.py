"""`sixfold compare ROBOT`: does another library find the same?"""

from __future__ import annotations

import sys

import click

from sixfold.interop import compare_with


@click.command()
@click.argument("robot")
@click.option(
    "--with",
    "library",
    default="pinocchio",
    show_default=True,
    type=click.Choice(["pinocchio", "mujoco"]),
    help="The other library; it has to be installed.",
)
@click.option(
    "--samples",
    default=100,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of random states.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Same seed, same states.",
)
@click.option("--floating-base", is_flag=True, help="Let the root link of a URDF move freely.")
def compare(robot: str, library: str, samples: int, seed: int, floating_base: bool) -> None:
    """Compare the dynamics of ROBOT, a file or a name, with another library.

    Exits with 1 if any result differs by more than rounding.
    """
    found = compare_with(library, robot, samples=samples, seed=seed, floating_base=floating_base)
    click.echo(str(found))
    if not found.agrees:
        click.echo("\nthe libraries disagree", err=True)
        sys.exit(1)
