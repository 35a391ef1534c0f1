"""`sixfold simulate ROBOT`: let a robot move, and say how it went."""

from __future__ import annotations

from importlib import import_module
from textwrap import fill
from typing import Any

import click
import numpy as np

from sixfold.choices import Integrator, Method
from sixfold.cli.options import refuse_idle, robot_argument
from sixfold.cli.show import WIDTH
from sixfold.control import controllers
from sixfold.errors import NotApplicableError, visible
from sixfold.evaluate import mass_matrix, neutral, random_state
from sixfold.formats import load
from sixfold.model import Model
from sixfold.simulation import Trajectory
from sixfold.simulation import simulate as run
from sixfold.simulation.arguments import CHOICES, METHODS

FREQUENCY = 10.0
"""How fast the PD controller pulls its joints to the target [rad/s]."""


@click.command()
@robot_argument()
@click.option(
    "--controller",
    type=click.Choice(["none", "gravity", "pd"]),
    default="none",
    show_default=True,
    help="Joint forces: none, the robot's weight, or springs and dampers to the neutral position.",
)
@click.option("--duration", default=10.0, show_default=True, help="How long [s].")
@click.option("--dt", default=1e-3, show_default=True, help="Length of a step [s].")
@click.option("--integrator", type=click.Choice(CHOICES), default="rk4", show_default=True)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="Forward dynamics: aba, crba, operators (eq. 19b) or operators_dense (eq. 19a).",
)
@click.option(
    "--start",
    type=click.Choice(["random", "neutral"]),
    default="random",
    show_default=True,
    help="Configuration at the start, at rest.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Same seed, same random start.",
)
@click.option("--limits", is_flag=True, help="Let joint limits push back.")
@click.option(
    "--every",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Keep one step out of this many.",
)
@click.option("--out", type=click.Path(), help="Write the motion to this .npz file.")
@click.option("--report", type=click.Path(), help="Write a page with plots to this .html file.")
@click.option("--view", is_flag=True, help="Show the motion in a browser.")
def simulate(
    robot: str,
    controller: str,
    duration: float,
    dt: float,
    integrator: Integrator,
    method: Method | None,
    start: str,
    seed: int,
    limits: bool,
    every: int,
    out: str | None,
    report: str | None,
    view: bool,
) -> None:
    """Let ROBOT, a file or a name, move for a while and print a summary.

    Exits with 0, or with 2 when an option makes no sense or the motion runs away.
    """
    refuse_idle("--seed", start != "random", "a start that is not random")
    write = _from_package("report", "report", "write_report") if report else None
    show = _from_package("view", "viewer", "view") if view else None
    model = load(robot)
    q0 = neutral(model) if start == "neutral" else random_state(model, seed=seed)[0]
    trajectory = run(
        model,
        q0,
        None,
        duration,
        dt=dt,
        integrator=integrator,
        method=method,
        control=_controller(controller, model, q0),
        limits=limits,
        every=every,
        progress=True,
    )
    for line in summary(trajectory):
        click.echo(fill(line, WIDTH, subsequent_indent="  "))
    if out is not None:
        trajectory.save(out)
        click.echo(f"written to {visible(out)}")
    if write is not None:
        write(report, model, trajectory)
        click.echo(f"report in {visible(report)}")
    if show is not None:
        show(model, trajectory)


def summary(trajectory: Trajectory) -> list[str]:
    """Return what happened and how fast it was computed, line by line."""
    elapsed = max(trajectory.elapsed, 1e-9)
    return [
        *trajectory.summary(),
        f"speed: {trajectory.steps} steps in {elapsed:.3g} s, {trajectory.steps / elapsed:,.0f} "
        f"steps a second, {trajectory.duration / elapsed:.3g} times real time",
    ]


def _controller(name: str, model: Model, q0: Any) -> Any:
    """Return a controller with gains that suit the inertia at the start."""
    if name == "none":
        return None
    if name == "gravity":
        return controllers.gravity_compensation(model)
    inertia = np.diagonal(mass_matrix(model, q0))
    kp, kd = inertia * FREQUENCY**2, inertia * 2 * FREQUENCY
    return controllers.pd(model, neutral(model), kp, kd)


def _from_package(extra: str, package: str, name: str) -> Any:
    """Return a function of a package that needs extras, or say how to get it."""
    try:
        return getattr(import_module(f"sixfold.{package}"), name)
    except (ImportError, AttributeError) as error:
        raise NotApplicableError(
            f"simulate --{extra}",
            f"this installation ({error})",
            f"install what it needs: pip install 'sixfold[{extra}]'",
        ) from None
