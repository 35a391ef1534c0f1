"""`sixfold excite ROBOT` and `sixfold identify ROBOT LOG`: a model from what a robot measured."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from sixfold import display
from sixfold.cli.options import FRICTION, UNKNOWNS, echo_findings, option, options, robot_argument
from sixfold.errors import OptionError, visible
from sixfold.formats import load, save
from sixfold.identification.excitation import excitation
from sixfold.identification.identification import Identification
from sixfold.identification.identify import identify as run
from sixfold.progress import bar


@click.command()
@robot_argument()
@click.option("--duration", default=20.0, show_default=True, help="How long [s].")
@option("--dt", help="Time between samples [s].")
@click.option(
    "--margin", default=0.9, show_default=True, help="Share of the robot's limits that is used."
)
@click.option("--noise", type=float, help="Noise of the measured torques [N m].")
@options(*UNKNOWNS)
@click.option(
    "--rounds",
    default=60,
    show_default=True,
    type=click.IntRange(0, 10_000),
    help="Steps of improvement.",
)
@option("--seed", help=None)
@option("--out", help="Write the motion: .npz, .csv or .parquet.")
@option("--report")
def excite(
    robot: str,
    duration: float,
    dt: float,
    margin: float,
    noise: float | None,
    friction: str,
    rotors: bool,
    offsets: bool,
    springs: bool,
    bodies: tuple[str, ...],
    rounds: int,
    seed: int,
    out: str | None,
    report: str | None,
) -> None:
    """Design an exciting motion of ROBOT, a file or a name, for identification.

    It stays within the limits of the joints.  It knows nothing of collisions: look at the motion
    (sixfold view, or --report) before a robot runs it.
    """
    trajectory = excitation(
        load(robot),
        duration,
        dt=dt,
        margin=margin,
        noise=noise,
        friction=FRICTION[friction],
        rotors=rotors,
        offsets=offsets,
        springs=springs,
        bodies=bodies or None,
        rounds=rounds,
        seed=seed,
        progress=bar("rounds"),
    )
    for line in trajectory.summary():
        click.echo(line)
    if out is not None:
        trajectory.save(out)
        click.echo(f"written to {visible(out)}")
    if report is not None:
        display.write_report(report, trajectory.model, trajectory)
        click.echo(f"report in {visible(report)}")


@click.command()
@robot_argument()
@click.argument("log", type=click.Path())
@options(*UNKNOWNS)
@click.option("--filter", "cutoff", type=float, help="Cut-off frequency of the filter [Hz].")
@click.option("--lag", default="0", show_default=True, help="Torques are late by [s], or 'search'.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMNS",
    help="Columns of t, q, v, a or tau: names or numbers from 0, as q=1:8 or tau=m1,m2.",
)
@click.option("--prior", default=1.0, show_default=True, help="Weight of the loaded model.")
@click.option(
    "--weights",
    default="noise",
    show_default=True,
    type=click.Choice(["noise", "equal"]),
    help="Weigh joints by their noise, or all alike.",
)
@click.option("--free", is_flag=True, help="Let bodies be unphysical.")
@option("--out", help="Write the new robot: .urdf or .json.")
@option("--report", help="Write a page to this .html file.")
def identify(
    robot: str,
    log: str,
    friction: str,
    rotors: bool,
    offsets: bool,
    springs: bool,
    bodies: tuple[str, ...],
    cutoff: float | None,
    lag: str,
    columns: tuple[str, ...],
    prior: float,
    weights: Any,
    free: bool,
    out: str | None,
    report: str | None,
) -> None:
    """Fit ROBOT, a file or a name, to LOG, an .npz, .csv or .parquet file.

    The log has times t, positions q and torques tau, and v and a if they were measured: arrays of
    an .npz file, or columns such as q[joint].  Exits with 0, with 1 when the log is wrong in a way
    that makes the result useless, and with 2 when it cannot be read.
    """
    result = run(
        load(robot),
        log,
        friction=FRICTION[friction],
        rotors=rotors,
        offsets=offsets,
        springs=springs,
        bodies=bodies or None,
        consistent=not free,
        prior=prior,
        weights=weights,
        filter=cutoff,
        lag=_lag(lag),
        columns=_columns(columns),
        progress=bar("samples"),
    )
    # the verdict, then files: a robot from a useless log is not written
    _print(result)
    if report is not None:
        display.write_report(report, result.model, result)
        click.echo(f"report in {visible(report)}")
    if out is not None and result.ok:
        save(result.model, out)
        click.echo(f"robot written to {visible(out)}")
    elif out is not None:
        click.echo("the robot was not written: the log is wrong", err=True)
    sys.exit(0 if result.ok else 1)


def _columns(given: tuple[str, ...]) -> dict[str, Any] | None:
    """Return what `--column q=1:8 --column tau=m1,m2` says, as `Log.read` takes it."""
    words = "NAME=COLUMNS such as t=0, q=1:8 or tau=m1,m2"
    # NAME=FIRST:LAST is a range, NAME=A,B a list, NAME=A one column
    found: dict[str, Any] = {}
    for text in given:
        name, equals, spec = text.partition("=")
        first, colon, last = spec.partition(":")
        if not equals or not spec or (colon and not (first.isdecimal() and last.isdecimal())):
            raise OptionError("identify", "--column", words, text)
        listed = [int(x) if x.isdecimal() else x for x in spec.split(",")]
        several = range(int(first), int(last)) if colon else listed
        found[name] = several if colon or len(listed) > 1 else listed[0]
    return found or None


def _lag(text: str) -> Any:
    if text == "search":
        return text
    try:
        return float(text)
    except ValueError:
        raise OptionError("identify", "--lag", "seconds, or 'search'", text) from None


def _print(result: Identification) -> None:
    width = max(40, min(shutil.get_terminal_size((80, 24)).columns, 100))
    echo_findings(result.text(width))
