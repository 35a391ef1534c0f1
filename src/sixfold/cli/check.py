"""`sixfold check ROBOT`: what is wrong with a model, and do all formulations agree?"""

from __future__ import annotations

import math
import shutil
import sys
import warnings
from typing import Any

import click

from sixfold.cli.options import random_states, refuse_idle, robot_argument, side_file
from sixfold.doctor import Diagnosis, diagnose
from sixfold.doctor.finding import json_text
from sixfold.errors import RobotFileWarning
from sixfold.formats import load
from sixfold.progress import showing, working
from sixfold.verify.check import check as run_check
from sixfold.verify.report import Report

COLORS = {"error": "red", "warning": "yellow", "note": "blue"}


@click.command()
@robot_argument()
@random_states
@side_file
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
    with working(f"examining {model.name}"):
        diagnosis = diagnose(model, samples=samples, seed=seed)
    with showing("formulations"):
        report = None if no_formulations else run_check(model, samples, seed=seed)
    bad = bool(diagnosis.errors or (strict and diagnosis.warnings))
    good = not bad and (report is None or report.agrees)
    if as_json:
        click.echo(json_text(as_data(diagnosis, report, good)))
    else:
        _print(diagnosis, report, 10**9 if everything else 10)
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


def _print(diagnosis: Diagnosis, report: Report | None, most: int) -> None:
    width = max(40, min(shutil.get_terminal_size((100, 24)).columns, 120))
    for line in diagnosis.text(width, most).splitlines():
        severity, colon, rest = line.partition(": ")
        if colon and severity in COLORS:
            line = click.style(severity, fg=COLORS[severity], bold=True) + f": {rest}"
        click.echo(line)
    if report is None:
        return
    click.echo(f"\n{report}\n")
    if report.agrees:
        click.echo("all formulations agree")
    else:
        click.echo("formulations disagree", err=True)
