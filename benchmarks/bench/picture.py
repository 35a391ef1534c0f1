"""A picture of the batch times: one panel a function, a group of bars for each robot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench.engines.extras import versions
from benchmarks.bench.machine import processor
from benchmarks.bench.run import Settings
from benchmarks.bench.sections.speed import Speed
from benchmarks.bench.tables import ENGINES, times, words
from sixfold.errors import OptionError
from sixfold.files import replacement
from sixfold.lazy import optional

FORMATS = (".svg", ".png", ".pdf")
COLORS = {
    "sixfold": "#c2410c",
    "pinocchio C++": "#1e3a5f",
    "pinocchio loop": "#7b9cc0",
    "mujoco C++": "#4b5563",
    "mujoco loop": "#b3bac4",
}
INK, GREY, FAINT = "#1f2933", "#52606d", "#d9dee5"
THICK = 0.22
"""Inches of a bar and the gap after it."""
BETWEEN = 1.0
"""Gap between groups, in bars."""
TITLE = "Time for one state of a batch: shorter is faster; x is the ratio to sixfold"


def refuse_format(file: str) -> None:
    """Raise before measuring if the picture could not be drawn afterwards."""
    if Path(file).suffix.lower() not in FORMATS:
        raise OptionError("bench", "--plot", FORMATS, Path(file).suffix)
    optional("matplotlib", "the picture")


def draw(file: str, records: Sequence[Speed], settings: Settings) -> None:
    """Draw times on a logarithmic axis, each bar with its time and the ratio to sixfold."""
    matplotlib = optional("matplotlib", "the picture")
    figures = optional("matplotlib.figure", "the picture")
    patches = optional("matplotlib.patches", "the picture")
    functions = [f for f in settings.functions if any(r.function == f for r in records)]
    engines = _engines(records)
    tops = _tops(records)
    style = {"font.family": "sans-serif", "font.size": 9, "svg.fonttype": "none"}
    with matplotlib.rc_context(style):
        size = (max(7.0, 1.1 + 4.2 * len(functions)), 1.9 + THICK * tops[""])
        figure = figures.Figure(figsize=size, layout="constrained")
        panels = figure.subplots(1, max(1, len(functions)), sharey=True, squeeze=False)[0]
        for panel, function in zip(panels, functions, strict=False):
            shown = [r for r in records if r.function == function]
            _panel(panel, words(function), shown, tops, _limits(records))
        _name_groups(panels[0], records, tops)
        marks = [patches.Patch(color=COLORS[engine], label=engine) for engine in engines]
        above = figure.legend(handles=marks, loc="outside upper left", ncols=len(marks))
        above.set(title=TITLE, alignment="left", frame_on=False)
        above.get_title().set(weight="bold", fontsize=11, color=INK)
        figure.supxlabel(_caption(settings), x=0.008, ha="left", fontsize=7.5, color=GREY)
        with replacement(Path(file)) as part:
            figure.savefig(part, dpi=160, format=Path(file).suffix[1:])


def _engines(records: Sequence[Speed]) -> list[str]:
    """Return who has a bar anywhere."""
    seen = {x.engine for r in records for x in r.others if x.ns}
    return ["sixfold", *(e for e in ENGINES if e in seen)]


def _tops(records: Sequence[Speed]) -> dict[str, float]:
    """Return where each robot's group begins, counted in bars; "" is the end of them all."""
    tops, end = {}, 0.0
    for robot in dict.fromkeys(r.robot for r in records):
        tops[robot] = end
        end += max(len(_bars(r)) for r in records if r.robot == robot) + BETWEEN
    return tops | {"": end}


def _limits(records: Sequence[Speed]) -> tuple[float, float]:
    """Return the ends of the axis, with room for the labels."""
    found = [x.ns for r in records for x in (r.sixfold, *r.others) if x.ns] or [1.0, 100.0]
    return min(found) / 2.5, max(found) * 9


def _panel(
    panel: Any,
    title: str,
    records: Sequence[Speed],
    tops: dict[str, float],
    limits: tuple[float, float],
) -> None:
    """Fill one panel from the top, group by group, with the bars of those that took part."""
    panel.set_xscale("log")
    panel.set_xlim(*limits)
    panel.set_ylim(tops[""] - BETWEEN, -0.8)
    for record in records:
        for place, (engine, ns, label) in enumerate(_bars(record)):
            y = tops[record.robot] + place
            panel.barh(y, ns - limits[0], left=limits[0], height=0.84, color=COLORS[engine])
            weight = "bold" if engine == "sixfold" else "normal"
            mark = panel.text(ns * 1.12, y, label, va="center", fontsize=7.5, color=INK)
            mark.set(weight=weight, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    panel.set_title(title, fontsize=10, color=INK, loc="left")
    panel.set_xlabel("ns for one state, log scale", fontsize=8, color=GREY)
    panel.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}")
    panel.grid(axis="x", which="major", color=FAINT, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.tick_params(axis="both", which="both", length=0, colors=INK)
    panel.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _name_groups(panel: Any, records: Sequence[Speed], tops: dict[str, float]) -> None:
    """Write each robot's name beside the first bar of its group."""
    freedoms = {r.robot: r.nv for r in records}
    names = [f"{robot}\n{nv} dof" for robot, nv in freedoms.items()]
    panel.set_yticks([tops[robot] + 0.5 for robot in freedoms], names)


def _bars(record: Speed) -> list[tuple[str, float, str]]:
    """Return engine, time and label of each bar of a group."""
    if record.sixfold.ns is None:
        return []
    bars = [("sixfold", record.sixfold.ns, f"{record.sixfold.ns:.0f} ns")]
    for timing in sorted(record.others, key=lambda x: ENGINES.index(x.engine)):
        if timing.ns:
            label = f"{timing.ns:,.0f} ns   {times(record.ratio(timing))}"
            bars.append((timing.engine, timing.ns, label))
    return bars


def _caption(settings: Settings) -> str:
    found = versions()
    others = ", ".join(f"{name} {found[name]}" for name in ("pin", "mujoco") if found[name])
    return (
        f"{processor()}, one core; sixfold {settings.dtype}, batch {settings.batch}, "
        f"random states, best of {settings.rounds} rounds{'; ' + others if others else ''}; "
        "“loop” is a loop over calls from Python"
    )
