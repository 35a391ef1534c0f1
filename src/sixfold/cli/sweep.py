"""`sixfold sweep STUDY`: many rows of one function, and a page that says what came out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from sixfold.choices import PieceFormat
from sixfold.cli.options import refuse_idle
from sixfold.errors import NotApplicableError, brief, visible
from sixfold.optional import optional


@click.command()
@click.argument("study", type=click.Path())
@click.option(
    "--engine",
    type=click.Choice(["threads", "processes", "serial", "dask"]),
    default="threads",
    show_default=True,
    help="What runs the rows.",
)
@click.option("--address", help="Scheduler of a Dask cluster; a local one if left out.")
@click.option(
    "--workers", type=click.IntRange(1, 4096), help="Number of workers; all cores if left out."
)
@click.option("--block", type=click.IntRange(min=1), help="Rows that a worker takes at a time.")
@click.option("--write", type=click.Path(), help="Folder for all rows, in pieces of blocks.")
@click.option(
    "--format",
    type=click.Choice(["parquet", "zarr"]),
    help="Format of the pieces; parquet if left out.",
)
@click.option("--out", type=click.Path(), help="Page to write; STUDY with .html if left out.")
@click.option(
    "--allow-code", is_flag=True, help="Let STUDY name a function and run it; only if you trust it."
)
def sweep(
    study: str,
    engine: str,
    address: str | None,
    workers: int | None,
    block: int | None,
    write: str | None,
    format: PieceFormat | None,
    out: str | None,
    allow_code: bool,
) -> None:
    """Run STUDY, a TOML file, and write one HTML page: what varied, what came out, plots.

    Exits with 0, or with 2 when the study or an option makes no sense.
    """
    refuse_idle("--address", engine != "dask", f"engine '{engine}'")
    refuse_idle("--format", write is None and format, "a sweep without --write")
    refuse_idle("--workers", engine == "serial" or address, "this engine")
    from sixfold.report.sweep_page import SHARES, table_of, write_sweep_page
    from sixfold.sweeps import reducers
    from sixfold.sweeps import sweep as run
    from sixfold.sweeps.study_file import read_study

    described = read_study(study, allow_code=allow_code)
    target = Path(out) if out is not None else Path(study).with_suffix(".html")
    with ExitStack() as stack:
        chosen: Any = engine if engine != "dask" else _client(stack, address, workers)
        found = run(
            described.function,
            described.rows,
            seed=described.seed,
            draw=described.draw,
            reduce=["mean", "deviation", "extremes", reducers.quantiles(SHARES)],
            write=write,
            format=format,
            engine=chosen,
            workers=workers if engine in ("threads", "processes") else None,
            block=block,
            progress=True,
        )
    page = write_sweep_page(target, described, found)
    click.echo(
        f"{visible(described.title)}: {found.rows:,} rows in {found.seconds:.1f} s", nl=False
    )
    click.echo(f", {found.reused:,} of them from {visible(write)}" if found.reused else "")
    for piece in found.damaged:
        click.echo(f"damaged, computed again: {visible(piece)}")
    click.echo()
    for line in table_of(described, found):
        click.echo(line)
    click.echo(f"\n{visible(page)}")


def _client(stack: ExitStack, address: str | None, workers: int | None) -> Any:
    """Return a client of the cluster at an address, or of one on this machine."""
    distributed = optional("distributed", "sixfold sweep --engine dask")
    if address is None:
        made = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        )
        return stack.enter_context(stack.enter_context(made).get_client())
    try:
        return stack.enter_context(distributed.Client(address, timeout=20))
    except OSError as error:
        fix = "start one there with 'dask scheduler', or leave --address out"
        where = f"{address}, where no scheduler answers ({brief(error)})"
        raise NotApplicableError("sixfold sweep --address", where, fix) from None
