"""`sixfold robots`, `inspect`, `check` and `compare`: what is in a robot, what is wrong with it."""

from __future__ import annotations

import math
import shutil
import sys
import warnings
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import click

from sixfold.checks.doctor import Diagnosis, diagnose
from sixfold.checks.doctor.finding import json_text
from sixfold.checks.verify.check import check as run_check
from sixfold.checks.verify.report import Report
from sixfold.choices import Library
from sixfold.cli.options import echo_findings, option, options, refuse_idle, robot_argument
from sixfold.errors import RobotFileWarning, StateError, visible
from sixfold.formats import bundled, load
from sixfold.formats.bundled import SAMPLES
from sixfold.interop.compare import compare_with
from sixfold.loops import mobility
from sixfold.model import Distance, Gear, Model
from sixfold.model.tree_text import WIDTH, cut, tree_lines
from sixfold.progress import showing, working

POINT = 31  # columns of a centre of mass


@click.command()
@robot_argument()
@option("--constraints")
def inspect(robot: str, constraints: str | None) -> None:
    """Print the tree, joints, masses, limits and constraints of ROBOT."""
    model = load(robot, constraints=constraints)
    for line in describe(model):
        click.echo(line)


def describe(model: Model) -> list[str]:
    """Return a description of a model, line by line."""
    gravity = " ".join(f"{x:g}" for x in model.gravity)
    mass = sum(float(body.inertia.m) for body in model.bodies)
    lines = [
        f"{cut(visible(model.name), 36)}: {model.nb} bodies, nq = {model.nq}, nv = {model.nv}",
        f"mass {mass:.6g} kg, gravity ({gravity}) m/s^2",
        "",
        *tree_lines(model),
        "",
        f"{'body':<18} {'mass [kg]':>9} {'centre of mass [m]':>{POINT}} {'q range':>19}",
    ]
    for body in model.bodies:
        # a line for each body; passive properties stand below it, if there are some
        center = _point([float(x) for x in body.inertia.center])
        ranges = ", ".join(
            f"{low:.4g}..{high:.4g}" for low, high in zip(body.lower, body.upper, strict=True)
        )
        shown = ranges if len(ranges) <= 19 else f"{body.joint.nq} coordinates"
        lines.append(
            f"{cut(visible(body.name), 18):<18} {float(body.inertia.m):>9.5g} {center:>{POINT}} "
            f"{shown:>19}"
        )
        more = _properties(body)
        lines += wrap(more, WIDTH, initial_indent="    ", subsequent_indent="    ")
    # what is attached to the tree: frames, couplings, constraints
    for frame in model.frames:
        carrier = model.body_names[frame.body] if frame.body >= 0 else model.base_name
        lines.append(cut(f"frame {visible(frame.name)} on {visible(carrier)}", WIDTH))
    for coupling in model.couplings:
        names = [visible(name) for name in model.joint_names]
        terms = " + ".join(f"{r:g} x {names[m]}" for m, r in coupling.terms)
        follower = names[coupling.follower]
        lines += wrap(f"joint {follower} follows {terms} + {coupling.offset:g}", WIDTH)
    folded = (wrap(line, WIDTH, subsequent_indent="    ") for line in _constraints(model))
    return [*lines, *(line for part in folded for line in part)]


def _point(values: list[float]) -> str:
    """Return a point with as many digits, up to four, as fit its column."""
    texts = ["(" + ", ".join(f"{x:.{digits}g}" for x in values) + ")" for digits in (4, 3, 2)]
    return next((text for text in texts if len(text) <= POINT), texts[-1])


def _constraints(model: Model) -> Iterator[str]:
    """Yield a line for each constraint, and what they leave."""
    if not model.constraints:
        return
    # names by number; the base is -1
    bodies = {-1: visible(model.base_name)}
    bodies |= {k: visible(name) for k, name in enumerate(model.body_names)}
    for each in model.constraints:
        if isinstance(each, Gear):
            what = _law(each, [visible(name) for name in model.joint_names])
        else:
            what = f"{bodies[each.body_a]} to {bodies[each.body_b]}"
        size = f" of {each.length:g} m" if isinstance(each, Distance) else ""
        rows = f"{each.rows} row{'s' * (each.rows > 1)}"
        yield f"constraint {visible(each.name)}: {each.kind}{size}, {what}, {rows}"
    try:
        yield str(mobility(model))
    except StateError as error:
        # the first line and what was found say enough here
        place, _, more = str(error).removeprefix("assemble: ").partition("\n")
        got = more.partition("got: ")[2].partition("\n")[0]
        yield f"mobility not known: the loops do not close near neutral ({place}: {got})"


def _law(gear: Gear, names: list[str]) -> str:
    terms = [
        f"{c:g} x {names[k]}{f'^{n}' * (n > 1)}"
        for k, powers in gear.terms
        for n, c in enumerate(powers, 1)
        if c
    ]
    return f"{names[gear.follower]} = {' + '.join([*terms, f'{gear.offset:g}'])}"


def _properties(body: object) -> str:
    parts = []
    for name in ("damping", "friction", "stiffness", "armature"):
        values = getattr(body, name)
        if any(values):
            parts.append(f"{name} " + "/".join(f"{x:.4g}" for x in values))
    return ", ".join(parts)


@click.command()
def robots() -> None:
    """List the sample robots and those of the package example-robot-data."""
    click.echo("samples, always there:")
    for name, summary in SAMPLES.items():
        under = " " * 19
        for line in wrap(summary, WIDTH, initial_indent=f"  {name:<16} ", subsequent_indent=under):
            click.echo(line)
    # robots of the optional package, each with its licence
    folder, found = bundled.folder(), bundled.robots()
    if folder is None:
        click.echo("\nmore robots: pip install example-robot-data")
        return
    click.echo("\nof example-robot-data, in the folder")
    click.echo(f"  {visible(folder)}")
    width = max(map(len, found), default=0)
    licences = {path.parts: bundled.licence(path) for path in found.values()}
    for name, path in found.items():
        licence = licences[path.parts]
        inside = visible(path.relative_to(folder).as_posix())
        line = f"  {visible(name):<{width}}  {visible(licence):<12}  "
        # the end of a path tells more than its beginning
        room = WIDTH - len(line)
        click.echo(line + (inside if len(inside) <= room else f"…{inside[1 - room :]}"))


@click.command()
@robot_argument()
@options("--samples", "--seed", "--constraints")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--no-formulations", is_flag=True, help="Examine the model only.")
@click.option("--strict", is_flag=True, help="Warnings count as errors, faults of the file too.")
@click.option("--all", "everything", is_flag=True, help="Show every place of every finding.")
def check(
    robot: str,
    samples: int,
    seed: int,
    constraints: str | None,
    as_json: bool,
    no_formulations: bool,
    strict: bool,
    everything: bool,
) -> None:
    """Examine ROBOT, then evaluate every formulation of its dynamics.

    ROBOT is a file or a name.  Exits with 0 when the model is sound (warnings allowed), with 1 for
    errors or formulations that disagree, with 2 when it cannot be read.
    """
    where, fix = "--json, which has everything", "leave one of the two out"
    refuse_idle("--all", as_json, where, fix, name="everything")
    with warnings.catch_warnings():
        # the diagnosis lists them all
        warnings.simplefilter("ignore", RobotFileWarning)
        model = load(robot, constraints=constraints)
    # the model by itself first, then every formulation against the others
    with working(f"examining {model.name}"):
        diagnosis = diagnose(model, samples=samples, seed=seed)
    with showing("formulations"):
        report = None if no_formulations else run_check(model, samples, seed=seed)
    # the exit status: errors, warnings if strict, and formulations that disagree
    bad = bool(diagnosis.errors or (strict and diagnosis.warnings))
    good = not bad and (report is None or report.agrees)
    if as_json:
        click.echo(json_text(as_data(diagnosis, report, good)))
    else:
        _print_diagnosis(diagnosis, report, 10**9 if everything else 10)
    sys.exit(0 if good else 1)


def as_data(diagnosis: Diagnosis, report: Report | None, good: bool) -> dict[str, Any]:
    """Return the diagnosis and the formulation table as plain data."""
    rows = None
    if report is not None:
        rows = {
            "samples": report.samples,
            "agree": report.agrees,
            "findings": [
                {**vars(f), "error": _finite(f.error), "bad": f.bad} for f in report.findings
            ],
        }
    return {"ok": good, "diagnosis": diagnosis.to_dict(), "formulations": rows}


def _finite(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None


def _print_diagnosis(diagnosis: Diagnosis, report: Report | None, most: int) -> None:
    width = max(40, min(shutil.get_terminal_size((100, 24)).columns, 120))
    echo_findings(diagnosis.text(width, most))
    if report is None:
        return
    click.echo(f"\n{report}\n")
    if report.agrees:
        click.echo("all formulations agree")
    else:
        click.echo("formulations disagree", err=True)


@click.command()
@robot_argument()
@click.option(
    "--with",
    "library",
    default="pinocchio",
    show_default=True,
    type=click.Choice(["pinocchio", "mujoco"]),
    help="The other library; it has to be installed.",
)
@options("--samples", "--seed")
@option("--floating-base")
def compare(robot: str, library: Library, samples: int, seed: int, floating_base: bool) -> None:
    """Compare the dynamics of ROBOT, a file or a name, with another library.

    Exits with 1 if any result differs by more than rounding.
    """
    with working(f"comparing {robot} with {library}"):
        found = compare_with(
            library, robot, samples=samples, seed=seed, floating_base=floating_base
        )
    click.echo(str(found))
    if not found.agrees:
        click.echo("\nthe libraries disagree", err=True)
        sys.exit(1)
