"""`sixfold robots`: which robots can be loaded by name."""

from __future__ import annotations

import click

from sixfold.model import SAMPLES


@click.command()
def robots() -> None:
    """List the sample robots."""
    for name, make in SAMPLES.items():
        summary = (make.__doc__ or "").splitlines()[0]
        click.echo(f"{name:<16} {summary}")
