"""`sixfold view ROBOT|run.npz`: a robot or its motion in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sixfold.cli.options import refuse_idle, robot_argument, robot_names
from sixfold.errors import SixfoldError, TrajectoryFileError
from sixfold.formats import load
from sixfold.model import Model
from sixfold.progress import working


@click.command()
@robot_argument()
@click.option(
    "--robot",
    "body",
    shell_complete=robot_names,
    help="Robot of the motion, when the file does not hold it.",
)
@click.option("--floating-base", is_flag=True, help="Put a free joint under the robot.")
@click.option("--port", default=0, help="Port on 127.0.0.1; any free one when left out.")
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
    from sixfold.viewer import view as show

    motion_file = robot.endswith(".npz")
    named = "a robot that is named already"
    fix = "pass the .npz file of a motion first"
    refuse_idle("--robot", not motion_file, named, fix, name="body")
    where = "a motion whose robot is in its file"
    refuse_idle("--floating-base", motion_file and body is None, where, "name it with --robot")
    refuse_idle("--live", motion_file, "a motion that is recorded", "pass a robot")
    refuse_idle("--hold", not live, "a robot that is not simulated", "pass --live too")
    with working(f"reading {robot}"):
        model, motion = _opened(robot, body, floating_base)
    options: dict[str, Any] = {"live": "hold" if hold else True} if live else {}
    if drag is not None:
        options["drag"] = drag
    show(model, motion, port=port, open_browser=not no_browser, **options)


def _opened(robot: str, body: str | None, floating: bool) -> tuple[Model, Any]:
    """Return the robot, and its motion if a file holds one."""
    if not robot.endswith(".npz"):
        return load(robot, floating_base=floating), None
    named = None if body is None else load(body, floating_base=floating)
    from sixfold.simulation.trajectory_files import read_arrays

    arrays = read_arrays(Path(robot))
    if "about" not in arrays:
        if named is None:
            fix = "name its robot with --robot"
            raise TrajectoryFileError(robot, "holds arrays but no robot", fix)
        if "q" not in arrays:
            raise TrajectoryFileError(robot, "has no array 'q'", "save q (T, nq) and t (T,)")
        return named, arrays
    from sixfold.simulation import Trajectory

    trajectory = Trajectory.load(robot, named)
    return named or _with_shapes(trajectory.model), trajectory


def _with_shapes(model: Model) -> Model:
    """Return the same robot by its name, if there is one: a motion's file holds no meshes."""
    try:
        same = load(model.name)
    except SixfoldError:
        return model
    return same if same == model else model
