"""The command `sixfold`, how it reports errors, and `sixfold cache`."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click

from sixfold import __version__
from sixfold.cli.options import Group, refuse_idle
from sixfold.errors import RobotFileWarning, SixfoldError, visible


@click.command()
@click.option("--clear", is_flag=True, help="Remove every kept kernel.")
def cache(clear: bool) -> None:
    """Show where compiled kernels are kept and how many, or clear them."""
    from sixfold.compiler.llvm import cache as store

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


#: How shells show processes that ended by Ctrl-C, and for want of a reader.
INTERRUPTED, PIPE_CLOSED = 128 + 2, 128 + 13
FULL = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Commands(Group):
    """A group whose commands end with a plain message instead of a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and exit with its status; a reader that has gone is no error."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        status: Any = 0
        try:
            # click would exit by itself, and print errors of the output as tracebacks
            status = super().main(args, prog_name, complete_var, False, **extra)
        except click.ClickException as error:
            error.show()
            status = error.exit_code
        except click.Abort:
            status = INTERRUPTED
        except _OutputError as error:
            status = error.status
        sys.exit(status if isinstance(status, int) else 0)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Let NO_COLOR and FORCE_COLOR decide whether words are coloured."""
        extra.setdefault("color", _color())
        with _output():  # of the help
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; print a library error and exit with 2."""
        try:
            with _output(), _plain_warnings():
                return super().invoke(ctx)
        except SixfoldError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(2)


def _color() -> bool | None:
    """Return what the environment says of colours; by itself, terminals have them."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR", "0") not in ("", "0") else None


class _OutputError(Exception):
    """The standard output takes no more."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def _output() -> Iterator[None]:
    """Say that the standard output takes no more; errors of files are the library's own."""
    try:
        yield
    except SixfoldError:
        raise
    except OSError as error:
        # errors of files have a name; those of the standard output have none
        if error.errno not in FULL or error.filename is not None:
            raise
        # what could not be written is flushed to nowhere when the interpreter ends
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            raise _OutputError(PIPE_CLOSED) from None
        # a full disk, or a device that is gone
        reason = visible(error.strerror or error)
        click.echo(f"error: the output cannot be written ({reason})", err=True)
        raise _OutputError(2) from None


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings about a robot's file without the line of our own source that tells them."""
    # only warnings about robot files are plain; others keep their source line
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


#: The module of this package that has each command.
HOMES = {
    "check": "inspect",
    "compare": "inspect",
    "demo": "demo",
    "equations": "equations",
    "excite": "identify",
    "export": "equations",
    "identify": "identify",
    "inspect": "inspect",
    "robots": "inspect",
    "simulate": "simulate",
    "sweep": "simulate",
    "view": "simulate",
}


class LibraryCommands(Commands):
    """The commands of the library; the module of one is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*HOMES, *super().list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None if there is none of that name."""
        if cmd_name not in HOMES:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(f"{__name__}.{HOMES[cmd_name]}"), cmd_name)
        return command


@click.group(cls=LibraryCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sixfold")
def main() -> None:
    """Rigid-body dynamics: inspect robots, check formulations against each other."""


main.add_command(cache)
