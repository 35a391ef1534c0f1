"""Reports of a motion: one HTML file with the robot and its plots, or a matplotlib figure.

What the two functions need is loaded when they are called.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sixfold.choices import MotionInput
from sixfold.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sixfold.identification import Identification

__all__ = ["plot", "write_report"]


def write_report(
    path: str | os.PathLike[str],
    model: Model,
    trajectory: MotionInput | Identification,
    *,
    title: str | None = None,
) -> Path:
    """Write a motion as one HTML file that needs no other file and no network; return its path.

    The page holds a summary, plots of positions, velocities, joint forces, forces of contacts and
    constraints, and energies with values under the pointer, and the robot in motion with its
    contact forces, which can be turned, zoomed, played and scrubbed.

    Args:
        path: where to write.
        model: the robot.
        trajectory: what `sixfold.simulate` returns, or any object or mapping with arrays t (T,)
            and q (T, nq) and, if known, v, a, tau (T, nv), kinetic, potential and total energies
            (T,), contacts and notes; or q alone.  Of a batch the first motion is shown.  What
            `sixfold.identification.identify` returns is shown with measured and modelled torques,
            residuals, parameters and findings.
        title: heading; the robot's name by default.

    Returns:
        The path of the file.

    Raises:
        ShapeError: if an array does not fit the model.
        StateError: if an element is not finite or times do not grow.
        OutputFileError: if the file cannot be written.

    Example:
        >>> import sixfold as sf
        >>> model = sf.load("pendulum")
        >>> motion = sf.simulate(model, [0.5], [0.0], 1.0, dt=0.01)
        >>> page = sf.write_report("swing.html", model, motion, title="A swing")
        >>> page.name, "A swing" in page.read_text(encoding="utf-8")
        ('swing.html', True)
    """
    from sixfold.display.report.html import write

    return write(path, model, trajectory, title)


def plot(
    trajectory: MotionInput,
    path: str | os.PathLike[str] | None = None,
    *,
    model: Model | None = None,
) -> Figure:
    """Return a matplotlib figure of positions, velocities, forces and energies over time.

    Forces are those of joints and, where there are some, of contacts and constraints.

    Args:
        trajectory: what `sixfold.simulate` returns, or any object with t (T,) [s], q (T, nq) and,
            if known, v and tau (T, nv) and energies (T,) [J]; or what
            `sixfold.identification.identify` returns: its measured and modelled torques.
        path: also save the figure there (.svg, .png, .pdf).
        model: the robot, for names and units, when the trajectory does not carry it.

    Returns:
        The `matplotlib.figure.Figure`, which no window shows: save it, or let a notebook draw it.

    Raises:
        NotApplicableError: if matplotlib is not installed.
        OutputFileError: if the figure cannot be saved.

    Example:
        >>> import sixfold as sf
        >>> motion = sf.simulate(sf.load("pendulum"), [0.5], [0.0], 1.0, dt=0.01)
        >>> figure = sf.plot(motion, "swing.png")
        >>> len(figure.axes)  # positions, velocities, joint forces, energies
        4
    """
    from sixfold.display.report.figures import draw

    return draw(trajectory, path, model)
