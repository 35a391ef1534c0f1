"""`sixfold demo`: a first look, on a sample robot."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import click
import numpy as np

from sixfold import display
from sixfold.arrays import Array
from sixfold.checks.verify.check import check
from sixfold.cli.options import Group, option, refuse_idle, robot_names
from sixfold.control import controllers
from sixfold.display.scene.figure import within_limits
from sixfold.errors import visible
from sixfold.formats import load
from sixfold.model import Model
from sixfold.model.tree_text import tree_lines
from sixfold.progress import showing
from sixfold.quantities.configurations import difference, neutral, random_state
from sixfold.quantities.dynamics import (
    bias_force,
    forward_dynamics,
    gravity_force,
    inverse_dynamics,
    mass_matrix,
)
from sixfold.quantities.energies import kinetic_energy
from sixfold.runtime import get_threads
from sixfold.simulation.simulate import simulate


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
@click.option(
    "--robot",
    default="puma560",
    show_default=True,
    shell_complete=robot_names,
    help="Sample robot to show.",
)
@click.option(
    "--states",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Random states to evaluate.",
)
@click.option(
    "--report",
    default="demo.html",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Page to write with the simulated motion.",
)
def demo(context: click.Context, robot: str, states: int, report: str) -> None:
    """Show a robot, its dynamics by every formulation, its speed, and a motion in a page."""
    if context.invoked_subcommand is not None:
        where = f"demo {context.invoked_subcommand}"
        for option in ("--robot", "--states", "--report"):
            refuse_idle(option, True, where, f"write it behind {where}, if that has one")
        return
    model = load(robot)
    _show(model)
    _round_trip(model)
    click.echo("\nThe same quantities by every formulation that applies:\n")
    with showing("formulations"):
        found = check(model, 100)
    click.echo(str(found))
    found.raise_if_bad()
    click.echo("\nall formulations agree")
    _speed(model, states)
    _motion(model, report)


@demo.command()
@click.option(
    "--seconds", default=20.0, show_default=True, type=click.FloatRange(1, 600), help="How long."
)
@click.option(
    "--pushes", default=5, show_default=True, type=click.IntRange(0, 100), help="How many pushes."
)
@click.option(
    "--impulse",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0, 100),
    help="Of each [N s].",
)
@option("--seed", help=None)
@click.option("--view", "live", is_flag=True, help="Show it in the browser while it runs.")
@click.option(
    "--report",
    default="quadruped.html",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Page to write with the motion.",
)
def quadruped(
    seconds: float, pushes: int, impulse: float, seed: int, live: bool, report: str
) -> None:
    """Let a quadruped trot and push it: whole-body MPPI with contact, planned as it goes."""
    refuse_idle("--impulse", not pushes, "a robot that is not pushed")
    from sixfold.learn.trot import side_pushes, trot

    robot = load("quadruped")
    # what is going to happen, before it takes a while
    many = "1 push" if pushes == 1 else f"{pushes} pushes"
    click.echo(f"{seconds:g} s of trotting, {many} of {impulse:g} N s from the sides;")
    click.echo("every 20 ms, 384 sequences of 0.4 s with contact are tried in one kernel")
    window = display.view(robot, q=neutral(robot), block=False) if live else None
    if window is not None:
        click.echo(f"open {window.url}")
    shown = None if window is None else lambda _, q: window.pose(q)
    # plan and simulate; the window follows meanwhile
    found = trot(seconds, pushes=side_pushes(pushes, impulse, seed), seed=seed, show=shown)
    ended = "it stands" if found.stands else f"it fell at {found.motion['t'][-1]:.1f} s"
    click.echo(f"\n  {ended}; {found.speed:.2f} m/s on average")
    click.echo(f"  an action was planned in {1e3 * found.planning:.1f} ms, of 20 ms that there are")
    page = display.write_report(report, robot, found.motion)
    click.echo(f"  the motion is in {page}: open it in a browser")
    if window is not None:
        window.close()


def _show(model: Model) -> None:
    """Print the tree."""
    click.echo(f"{visible(model.name)}: {model.nb} bodies, {model.nv} degrees of freedom\n")
    for line in tree_lines(model):
        click.echo(f"  {line}")


def _round_trip(model: Model) -> None:
    """Print one state, its joint forces, and the acceleration that they give back."""
    # tau = ID(q, v, a), then a = FD(q, v, tau)
    q, v = random_state(model, seed=1)
    a = np.random.default_rng(2).standard_normal(model.nv)
    tau = inverse_dynamics(model, q, v, a)
    back = forward_dynamics(model, q, v, tau)
    M = mass_matrix(model, q)
    click.echo("\nOne state, there and back:")
    for label, value in (
        ("q", q),
        ("v", v),
        ("a", a),
        ("tau = inverse dynamics", tau),
        ("a   = forward dynamics", back),
        ("gravity force", gravity_force(model, q)),
    ):
        shown = np.array2string(value, precision=4, suppress_small=True, max_line_width=52)
        click.echo(f"  {label:<24} " + shown.replace("\n", "\n" + " " * 27))
    # backward error: the residual relative to the sizes of its terms
    scale = np.abs(M).sum(axis=1).max() * np.abs(a).max() + np.abs(tau).max()
    residual = np.abs(M @ a + bias_force(model, q, v) - tau).max() / scale
    energy = kinetic_energy(model, q, v)
    click.echo(f"  {'kinetic energy [J]':<24} {energy:.6f}  (v M v / 2 = {v @ M @ v / 2:.6f})")
    click.echo(f"  {'|M a + C - tau|':<24} {residual:.1e} relative")


def _speed(model: Model, states: int) -> None:
    """Evaluate many random states and say how many a second."""
    q, v = random_state(model, states, seed=3)
    click.echo(f"\n{states:,} random states, {get_threads()} threads:")
    for function in (inverse_dynamics, forward_dynamics):
        function(model, q, v, v)  # compiles, and brings the memory in
        start = time.perf_counter()
        function(model, q, v, v)
        rate = states / (time.perf_counter() - start)
        click.echo(
            f"  {function.__name__.replace('_', ' '):<18} {rate / 1e6:6.1f} million a second"
        )


#: Largest joint torques [N m]: Armstrong, Khatib and Burdick, 1986.
TORQUES = {"puma560": (97.6, 186.4, 89.4, 24.2, 20.1, 21.3)}
DURATION = 10.0


def _motion(model: Model, report: str) -> None:
    """Simulate ten seconds under a controller and write the page that shows them."""
    # published limits of known arms, else those of the model
    limit = np.array(TORQUES.get(model.name, model.effort_limit))
    # a tour by computed torque for arms; other robots are held at a pose
    planned = len(model.coordinates.additive) == model.nq and not model.constraints
    law, start, target, words = (_tour if planned else _hold)(model, limit)
    motion = simulate(model, start, None, DURATION, dt=1e-3, control=law, every=10)
    left = np.abs(difference(model, motion.q[-1], target)).max()
    click.echo(f"\nTen seconds {words}, RK4, 1 ms:")
    click.echo(
        f"  {DURATION / motion.elapsed:.0f} times faster than real time; "
        f"ends {left:.1e} from its target"
    )
    if np.isfinite(limit).all():
        # the largest share of any motor's limit
        used = (np.abs(motion.tau).max(axis=0) / limit).max()
        click.echo(f"  motors give at most {100 * used:.0f} % of their largest torques")
    path = display.write_report(report, model, motion)
    click.echo(f"  the motion is in {visible(path)}: open it in a browser")
    click.echo("\nNext: sixfold demo quadruped, a robot that trots and is pushed;")
    click.echo(f"sixfold view {visible(model.name)}   (pip install 'sixfold[view]')")


@dataclass(frozen=True)
class _Tour:
    """Reference that goes from pose to pose, at rest at each of them."""

    poses: tuple[tuple[float, ...], ...]

    def __call__(self, t: Any) -> tuple[Any, Any, Any]:
        """Return positions, velocities and accelerations: the sum of what each leg adds."""
        # a minimum-jerk step from pose to pose: each adds its difference and then rests
        leg = DURATION / (len(self.poses) - 1)
        q, v, a = np.array(self.poses[0]), 0.0, 0.0
        for k, (here, there) in enumerate(pairwise(self.poses)):
            step = controllers.minimum_jerk(here, there, leg)(t - k * leg)
            q, v, a = q + step[0] - np.array(here), v + step[1], a + step[2]
        return q, v, a


def _tour(model: Model, limit: Array) -> tuple[Any, Array, Array, str]:
    """Return a controller that takes all ten seconds for a tour of three poses and back.

    The poses are as far from home as nine tenths of the largest torques allow.
    """
    home = within_limits(model, neutral(model))
    poses = random_state(model, 3, seed=4)[0]
    # as far from home as the motors allow
    times = np.linspace(0.0, DURATION, 401)
    for share in (0.5, 0.25, 0.1, 0.02):
        tour = _Tour(tuple(map(tuple, np.stack([home, *(home + share * (poses - home)), home]))))
        q, v, a = (np.stack(x) for x in zip(*map(tour, times), strict=True))
        if (np.abs(inverse_dynamics(model, q, v, a)) <= 0.9 * limit).all():
            break
    law = controllers.computed_torque(model, tour, 100.0, 20.0)
    return law, home, home, "through three poses and back by computed torque"


def _hold(model: Model, _: Array) -> tuple[Any, Array, Array, str]:
    """Return a controller that pulls a robot with other joints to a pose."""
    target = random_state(model, seed=4)[0]
    law = controllers.pd(model, target, kp=1000.0, kd=100.0)
    return law, neutral(model), target, "under PD control with gravity compensation"
