"""Plots of a motion as a matplotlib figure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.choices import MotionInput
from sixfold.display.report.html import CHANGE, Lines, groups, identification_content
from sixfold.display.scene.record import record
from sixfold.errors import NumberError, OutputFileError
from sixfold.files import path_of, replacement
from sixfold.identification.identification import Identification
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.runtime import require_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, FAINT = "#1d2733", "#5d6b7a", "#e4e8ee"
LONGEST = 40  #: Most characters of a name next to a plot; more would leave no space for the plot.
MAX_NAMES = 10  #: Lines of a plot that are named; more would hide it.


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
    matplotlib = optional("matplotlib", "plot")
    figures = optional("matplotlib.figure", "plot")
    if model is not None:
        require_model("plot", model)
    # times and groups of lines: of a fit, of a motion with its model, or of plain arrays
    if isinstance(trajectory, Identification):
        content = identification_content(trajectory)
        times, lines = content.motion.t, content.lines
    else:
        times, lines = _lines(trajectory, model)
    style: Any = {"font.family": "sans-serif", "font.size": 9, "svg.fonttype": "none"}
    with matplotlib.rc_context(style):
        figure: Figure = figures.Figure(figsize=(8.0, 0.5 + 2.0 * len(lines)), layout="constrained")
        # one panel below the other over the same time
        panels = figure.subplots(len(lines), 1, sharex=True, squeeze=False)[:, 0]
        for panel, group in zip(panels, lines, strict=True):
            _panel(panel, times, group)
        panels[-1].set_xlabel("time [s]", color=SOFT)
        if path is not None:
            _save(figure, path)
    return figure


def _lines(trajectory: Any, model: Model | None) -> tuple[Any, list[Lines]]:
    """Return times and plots; without a model, plain numbers name the coordinates."""
    # the model names coordinates and their units
    carried = model if model is not None else getattr(trajectory, "model", None)
    if isinstance(carried, Model):
        motion = record("plot", carried, trajectory)
        return motion.t, [group for group in groups(motion) if group.title != CHANGE]
    t = _floats(trajectory, "t")
    found = []
    for name, title in (("q", "Positions"), ("v", "Velocities"), ("tau", "Joint forces")):
        # arrays that are as long as the times
        values = _floats(trajectory, name)
        if values.ndim == 2 and len(values) == len(t) > 0:
            labels = tuple(f"{name}{k + 1}" for k in range(values.shape[1]))
            found.append(Lines(title, "", labels, values))
    if not found:
        raise NumberError(
            "plot: the trajectory has no arrays to plot",
            "t (T,) and q (T, nq)",
            type(trajectory).__name__,
            "pass what sixfold.simulate returns, or model=... in addition to q",
        )
    return t, found


def _floats(trajectory: Any, name: str) -> Any:
    """Return an array of an object that is no Trajectory; an empty one where it has none."""
    try:
        return np.asarray(getattr(trajectory, name, ()), float)
    except Exception:  # whatever the object calls by that name
        return np.zeros(0)


def _panel(panel: Any, t: Any, lines: Lines) -> None:
    colors = lines.colors
    drawn = [
        panel.plot(t, lines.values[:, k], color=colors[k % len(colors)], lw=1.3)[0]
        for k in range(len(lines.names))
    ]
    unit = f" [{lines.unit}]" if lines.unit else ""
    panel.set_title(lines.title + unit, loc="left", fontsize=10, color=INK, weight="bold")
    panel.grid(color=FAINT)
    panel.set_axisbelow(True)
    panel.tick_params(colors=SOFT, length=0)
    for side in panel.spines.values():
        side.set_visible(False)
    if len(lines.names) <= MAX_NAMES:
        box = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
        # by hand: of its own accord a legend leaves names out that begin with an underscore
        panel.legend(drawn, list(map(_as_text, lines.names)), **box, fontsize=8, labelcolor=SOFT)


def _as_text(name: str) -> str:
    """Return a name that matplotlib draws as it stands: a dollar begins no formula."""
    short = name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."
    return short.replace("$", r"\$")


def _save(figure: Figure, path: str | os.PathLike[str]) -> None:
    target = path_of("plot", path, "motion.svg")
    # an old picture stays whole if the new one cannot be written
    with replacement(target) as part:
        try:
            # without a suffix, matplotlib's own default
            figure.savefig(part, format=target.suffix[1:] or None)
        except (ValueError, TypeError) as error:
            fix = "name a file .svg, .png or .pdf"
            raise OutputFileError(target, f"cannot be written ({error})", fix) from None
