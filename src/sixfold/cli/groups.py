"""Groups of commands whose help is not cut, and arguments that complete the names of robots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

LONGEST = 400
"""Characters of a command's line in the help; it wraps."""


class Group(click.Group):
    """A group that lists its commands with the whole first sentence of each."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and what they do."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(n, c.get_short_help_str(LONGEST)) for n, c in found if c and not c.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def robot_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the robots whose name begins so; files where there are none."""
    from sixfold.formats import bundled
    from sixfold.model import SAMPLES

    names = sorted({*SAMPLES, *bundled.robots()})
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def robot_argument(name: str = "robot", **options: Any) -> Callable[..., Any]:
    """Add an argument that is a robot: a file, or a name that shells complete."""
    return click.argument(name, shell_complete=robot_names, **options)
