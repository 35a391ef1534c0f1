"""What several commands share: options, groups whose help is whole, pictures of a model in text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from sixfold.choices import Friction
from sixfold.errors import NotApplicableError

LONGEST = 400  #: Characters of a command's line in the help; it wraps.


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
    from sixfold.formats.bundled import SAMPLES

    names = sorted({*SAMPLES, *bundled.robots()})
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def robot_argument(name: str = "robot", **options: Any) -> Callable[..., Any]:
    """Add an argument that is a robot: a file, or a name that shells complete."""
    return click.argument(name, shell_complete=robot_names, **options)


def refuse_idle(
    option: str, idle: object, where: str, fix: str = "leave it out", name: str = ""
) -> None:
    """Refuse an option that was written on the command line and would have no effect.

    Args:
        option: as it is written.
        idle: whether it has no effect.
        where: what it does not apply to.
        fix: the way out.
        name: of the function's argument, if it differs from the option's.
    """
    name = name or option.removeprefix("--").replace("-", "_")
    # a default is no wish: only what was written on the command line is refused
    given = click.get_current_context().get_parameter_source(name)
    if idle and given is ParameterSource.COMMANDLINE:
        raise NotApplicableError(f"option {option}", where, fix)


#: Values of --friction, and the arguments that they stand for.
FRICTION: dict[str, Friction] = {
    "yes": True,
    "no": False,
    "viscous": "viscous",
    "dry": "dry",
    "direction": "direction",
}

#: Options that several commands have.
OPTIONS: dict[str, dict[str, Any]] = {
    "--body": {"multiple": True, "help": "Only this body's inertia is unknown."},
    "--constraints": {
        "metavar": "FILE",
        "help": "JSON file of loops, rods, gears and rolling wheels for a robot file without them.",
    },
    "--dt": {"default": 1e-3, "show_default": True},
    "--floating-base": {"is_flag": True, "help": "Let the root link of a URDF move freely."},
    "--friction": {
        "type": click.Choice(list(FRICTION)),
        "default": "yes",
        "show_default": True,
        "help": "Unknown friction: viscous and dry, one of them, dry by direction, or none.",
    },
    "--offsets": {"is_flag": True, "help": "Torques have unknown offsets."},
    "--out": {"type": click.Path()},
    "--report": {"type": click.Path(), "help": "Write a page with plots to this .html file."},
    "--rotors": {"is_flag": True, "help": "Rotor inertias are unknown."},
    "--samples": {
        "default": 100,
        "show_default": True,
        "type": click.IntRange(min=1),
        "help": "Number of random states.",
    },
    "--seed": {
        "default": 0,
        "show_default": True,
        "type": click.IntRange(min=0),
        "help": "Same seed, same states.",
    },
    "--springs": {"is_flag": True, "help": "Stiffnesses are unknown."},
}


def option(name: str, **changes: Any) -> Callable[..., Any]:
    """Add an option of the table, with changes for this command."""
    argument = ("bodies",) if name == "--body" else ()
    return click.option(name, *argument, **(OPTIONS[name] | changes))


def options(*names: str) -> Callable[..., Any]:
    """Add options of the table, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            command = option(name)(command)
        return command

    return add


#: Options that say which numbers are unknown.
UNKNOWNS = ("--friction", "--rotors", "--offsets", "--springs", "--body")


COLORS = {"error": "red", "warning": "yellow", "note": "blue"}


def echo_findings(text: str) -> None:
    """Print a text; the severities that its lines begin with are coloured."""
    for line in text.splitlines():
        severity, colon, rest = line.partition(": ")
        if colon and severity in COLORS:
            line = click.style(severity, fg=COLORS[severity], bold=True) + f": {rest}"
        click.echo(line)
