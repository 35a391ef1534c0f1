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
            `sixfold.identify` returns is shown with measured and modelled torques, residuals,
            parameters and findings.
        title: heading; the robot's name when left out.

    Raises:
        ShapeError: if an array does not fit the model.
        StateError: if an element is not finite or times do not grow.
        OutputFileError: if the file cannot be written.
    """
    from sixfold.report.write import write

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
        trajectory: what `sixfold.simulate` returns, or any object with t (T,), q (T, nq) and, if
            known, v and tau (T, nv) and energies (T,); or what `sixfold.identify` returns: its
            measured and modelled torques.
        path: also save the figure there (.svg, .png, .pdf).
        model: the robot, for names and units, when the trajectory does not carry it.

    Raises:
        NotApplicableError: if matplotlib is not installed.
        OutputFileError: if the figure cannot be saved.
    """
    from sixfold.report.figures import draw

    return draw(trajectory, path, model)
