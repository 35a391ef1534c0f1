"""`sixfold simulate`, `view` and `sweep`: move a robot, show it, run a function over many rows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from textwrap import fill
from typing import Any

import click
import numpy as np

from sixfold import display
from sixfold.choices import Integrator, Method, PieceFormat
from sixfold.cli.options import option, refuse_idle, robot_argument, robot_names
from sixfold.control import controllers
from sixfold.errors import NotApplicableError, SixfoldError, TrajectoryFileError, brief, visible
from sixfold.formats import load
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.model.tree_text import WIDTH
from sixfold.progress import working
from sixfold.quantities.configurations import neutral, random_state
from sixfold.quantities.dynamics import mass_matrix
from sixfold.simulation.arguments import CHOICES, METHODS
from sixfold.simulation.simulate import simulate as run
from sixfold.simulation.trajectory import Trajectory

FREQUENCY = 10.0  #: How fast the PD controller pulls its joints to the target [rad/s].


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
@option("--dt", help="Length of a step [s].")
@click.option(
    "--integrator",
    type=click.Choice(CHOICES),
    metavar="NAME",
    default="rk4",
    show_default=True,
    help=f"One of {', '.join(CHOICES)}.",
)
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
@option("--seed", help="Same seed, same random start.")
@click.option("--limits", is_flag=True, help="Let joint limits push back.")
@click.option(
    "--every",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Keep one step out of this many.",
)
@option("--out", help="Write the motion to this .npz file.")
@option("--report")
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
    """Simulate ROBOT, a file or a name, and print a summary.

    Exits with 0, or with 2 when an option is wrong or the motion diverges.
    """
    refuse_idle("--seed", start != "random", "a start that is not random")
    if view:
        optional("viser", "simulate --view")  # before a simulation that may take long
    model = load(robot)
    # the start, then the motion at rest from there
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
    if report is not None:
        display.write_report(report, model, trajectory)
        click.echo(f"report in {visible(report)}")
    if view:
        display.view(model, trajectory)


def summary(trajectory: Trajectory) -> list[str]:
    """Return what happened and how fast it was computed, line by line."""
    # a motion of no steps takes no time
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
    # kp = I w^2, kd = 2 I w: critically damped at the inertia of the start
    inertia = np.diagonal(mass_matrix(model, q0))
    kp, kd = inertia * FREQUENCY**2, inertia * 2 * FREQUENCY
    return controllers.pd(model, neutral(model), kp, kd)


@click.command()
@robot_argument()
@click.option(
    "--robot",
    "body",
    shell_complete=robot_names,
    help="Robot of the motion, when the file does not hold it.",
)
@option("--floating-base", help="Put a free joint under the robot.")
@click.option("--port", default=0, help="Port on 127.0.0.1; default: any free one.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--live", is_flag=True, help="Simulate the robot; the mouse pulls its bodies.")
@click.option("--hold", is_flag=True, help="With --live: soft motors hold the pose.")
@click.option("--drag", metavar="FRAME", help="Put a handle on a frame, for the mouse to drag.")
def view(
    robot: str,
    body: str | None,
    floating_base: bool,
    port: int,
    no_browser: bool,
    live: bool,
    hold: bool,
    drag: str | None,
) -> None:
    """Show ROBOT, a file or a name, in the browser; or the motion of a .npz file.

    A motion is what `sixfold simulate --out` writes, or any .npz file with arrays q (T, nq) and t
    (T,); then name its robot with --robot.
    """
    # options that would do nothing are refused
    motion_file = robot.endswith(".npz")
    named = "a robot that is named already"
    fix = "pass the .npz file of a motion first"
    refuse_idle("--robot", not motion_file, named, fix, name="body")
    where = "a motion whose robot is in its file"
    refuse_idle("--floating-base", motion_file and body is None, where, "name it with --robot")
    refuse_idle("--live", motion_file, "a motion that is recorded", "pass a robot")
    refuse_idle("--hold", not live, "a robot that is not simulated", "pass --live too")
    with working(f"reading {robot}"):
        model, motion = _open_input(robot, body, floating_base)
    options: dict[str, Any] = {"live": "hold" if hold else True} if live else {}
    if drag is not None:
        options["drag"] = drag
    display.view(model, motion, port=port, open_browser=not no_browser, **options)


def _open_input(robot: str, body: str | None, floating: bool) -> tuple[Model, Any]:
    """Return the robot, and its motion if a file holds one."""
    if not robot.endswith(".npz"):
        return load(robot, floating_base=floating), None
    named = None if body is None else load(body, floating_base=floating)
    from sixfold.simulation.trajectory_files import read_arrays

    # a saved trajectory knows its robot; plain arrays do not
    arrays = read_arrays(Path(robot))
    if "about" not in arrays:
        if named is None:
            fix = "name its robot with --robot"
            raise TrajectoryFileError(robot, "holds arrays but no robot", fix)
        if "q" not in arrays:
            raise TrajectoryFileError(robot, "has no array 'q'", "save q (T, nq) and t (T,)")
        return named, arrays
    trajectory = Trajectory.load(robot, named)
    return named or _with_shapes(trajectory.model), trajectory


def _with_shapes(model: Model) -> Model:
    """Return the same robot by its name, if there is one: a motion's file holds no meshes."""
    try:
        # only if it is the same robot in every number
        same = load(model.name)
    except SixfoldError:
        return model
    return same if same == model else model


@click.command()
@click.argument("study", type=click.Path())
@click.option(
    "--engine",
    type=click.Choice(["threads", "processes", "serial", "dask"]),
    default="threads",
    show_default=True,
    help="What runs the rows.",
)
@click.option("--address", help="Scheduler of a Dask cluster; default: a local one.")
@click.option(
    "--workers", type=click.IntRange(1, 4096), help="Number of workers; default: all cores."
)
@click.option("--block", type=click.IntRange(min=1), help="Rows that a worker takes at a time.")
@click.option("--write", type=click.Path(), help="Folder for all rows, in pieces of blocks.")
@click.option(
    "--format",
    type=click.Choice(["parquet", "zarr"]),
    help="Format of the pieces; default: parquet.",
)
@option("--out", help="Page to write; default: STUDY with .html.")
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
    # sweeps load process pools and more: only when one is run
    from sixfold.display.report.sweep_page import SHARES, table_of, write_sweep_page
    from sixfold.sweeps import reducers
    from sixfold.sweeps import sweep as run
    from sixfold.sweeps.study_file import read_study

    # what to run, over which rows, drawn how
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
    # the page, and the same figures as a table in the terminal
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
        # without an address: a cluster of processes on this machine
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
