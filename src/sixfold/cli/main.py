"""The command `sixfold` and how it reports errors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from sixfold import __version__
from sixfold.cli.bench import bench
from sixfold.cli.cache import cache
from sixfold.cli.check import check
from sixfold.cli.compare import compare
from sixfold.cli.demo import demo
from sixfold.cli.equations import equations
from sixfold.cli.export import export
from sixfold.cli.identify import excite, identify
from sixfold.cli.inspect import inspect, robots
from sixfold.cli.options import Group
from sixfold.cli.simulate import simulate
from sixfold.cli.sweep import sweep
from sixfold.cli.view import view
from sixfold.errors import RobotFileWarning, SixfoldError, visible


class Commands(Group):
    """A group whose commands end with a plain message instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; print a library error and exit with 2."""
        try:
            with _plain_warnings():
                return super().invoke(ctx)
        except SixfoldError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(2)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings about a robot's file without the line of our own source that tells them."""
    usual = warnings.formatwarning

    def plain(message: Any, category: type[Warning], *place: Any, **more: Any) -> str:
        if issubclass(category, RobotFileWarning):
            return f"warning: {visible(message)}\n"
        return usual(message, category, *place, **more)

    warnings.formatwarning = plain
    try:
        yield
    finally:
        warnings.formatwarning = usual


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sixfold")
def main() -> None:
    """Rigid-body dynamics: inspect robots, check formulations against each other."""


for command in (
    demo,
    inspect,
    check,
    compare,
    robots,
    simulate,
    sweep,
    view,
    excite,
    identify,
    equations,
    export,
    bench,
    cache,
):
    main.add_command(command)
