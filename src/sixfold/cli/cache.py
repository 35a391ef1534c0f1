"""`sixfold cache`: the machine code kept on disk."""

from __future__ import annotations

import click

from sixfold.cli.options import refuse_idle
from sixfold.errors import visible
from sixfold.llvm import cache as store


@click.command()
@click.option("--clear", is_flag=True, help="Remove every kept kernel.")
def cache(clear: bool) -> None:
    """Show where compiled kernels are kept and how many, or clear them."""
    folder = store.folder()
    refuse_idle("--clear", folder is None, "a cache that is switched off (SIXFOLD_CACHE=off)")
    if folder is None:
        click.echo("the cache is switched off (SIXFOLD_CACHE=off)")
        return
    if clear:
        click.echo(f"removed {store.clear()} files from {visible(folder)}")
        return
    sizes = [size for _, size in store.entries()]
    click.echo(f"{visible(folder)}: {len(sizes)} kernels, {sum(sizes) / 1e6:.1f} MB")
    click.echo("SIXFOLD_CACHE_DIR moves it, SIXFOLD_CACHE=off switches it off")
