"""`sixfold check ROBOT`: do all formulations agree?"""

from __future__ import annotations

import sys

import click

from sixfold.evaluate import check as run_check
from sixfold.formats import load


@click.command()
@click.argument("robot")
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
def check(robot: str, samples: int, seed: int) -> None:
    """Evaluate every formulation that applies to ROBOT; exit with 1 if any disagree."""
    report = run_check(load(robot), samples, seed=seed)
    click.echo(str(report))
    click.echo()
    if not report.agrees:
        click.echo("formulations disagree", err=True)
        sys.exit(1)
    click.echo("all formulations agree")
