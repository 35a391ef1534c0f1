"""`sixfold robots`: which robots can be loaded by name."""

from __future__ import annotations

import click

from sixfold.errors import visible
from sixfold.formats import bundled
from sixfold.model import SAMPLES


@click.command()
def robots() -> None:
    """List the sample robots and those of the package example-robot-data."""
    click.echo("samples, always there:")
    for name, make in SAMPLES.items():
        summary = (make.__doc__ or "").splitlines()[0]
        click.echo(f"  {name:<16} {summary}")
    folder, found = bundled.folder(), bundled.robots()
    if folder is None:
        click.echo("\nmore robots: pip install example-robot-data")
        return
    click.echo(f"\nof example-robot-data, in {folder}:")
    width = max(map(len, found), default=0)
    licences = {path.parts: bundled.licence(path) for path in found.values()}
    for name, path in found.items():
        licence = licences[path.parts]
        inside = visible(path.relative_to(folder).as_posix())
        click.echo(f"  {visible(name):<{width}}  {visible(licence):<14}  {inside}")
