"""What a report shows of an identification: torques of each joint, residuals, parameters."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from sixfold.errors import visible
from sixfold.identification import Identification
from sixfold.identification.identification import findings_list, joints_table, parameters_table
from sixfold.report.series import Lines
from sixfold.scene import Record, record

MAX_JOINTS = 12
"""Joints that are plotted: those that fit worst."""
COLORS = ("#8a97a6", "#e2622f", "#2f6fde")
"""Of measured torques, of the model's, and of the difference."""
MAX_WORDS = 200
"""Lines about what the data do not show."""


@dataclass(frozen=True, eq=False)
class Content:
    """What a page shows beside the moving robot."""

    motion: Record
    lines: list[Lines]
    summary: list[tuple[str, str]]
    cards: str
    """HTML, escaped."""


def identified(result: Identification) -> Content:
    """Return the content of a report about an identification."""
    kept = result.record
    motion = record("write_report", result.model, {"t": _times(result), "q": kept["q"]})
    order = sorted(range(len(result.joints)), key=lambda j: -result.joints[j].share)
    lines = []
    for j in sorted(order[:MAX_JOINTS]):
        measured, made = kept["tau"][:, j], kept["model"][:, j]
        values = np.stack([measured, made, measured - made], axis=-1)
        title = f"Force of {visible(result.joints[j].name)}"
        names = ("measured", "model", "difference")
        lines.append(Lines(title, "N m or N", names, values, COLORS))
    return Content(motion, lines, _summary(result), _cards(result))


def _times(result: Identification) -> np.ndarray:
    """Return growing times; samples without them stand a millisecond apart."""
    t = result.record.get("t")
    if t is not None and (len(t) < 2 or (np.diff(t) > 0).all()):
        return t
    return np.asarray(result.record["row"]) * 1e-3


def _summary(result: Identification) -> list[tuple[str, str]]:
    worst = max(result.joints, key=lambda j: j.share)
    seen = {w: sum(p.seen == w for p in result.parameters) for w in ("well", "roughly", "not")}
    counts = ", ".join(f"{n} {word}" for word, n in seen.items() if n)
    mass = [sum(float(b.inertia.m) for b in m.bodies) for m in (result.loaded, result.model)]
    rows = [
        ("Samples", f"{result.samples:,}".replace(",", "\u202f")),
        ("Largest residual", f"{worst.share:.1%} of the force of {visible(worst.name)}"),
        ("Base parameters", f"{len(result.parameters)}, seen {counts}"),
        ("Condition", f"{result.condition:.3g}"),
        ("Mass", f"{mass[1]:.4g} kg, loaded {mass[0]:.4g} kg"),
        ("Bodies", "physically consistent" if result.consistent else "not made consistent"),
    ]
    if result.filter is not None:
        rows.append(("Filter", f"{result.filter:g} Hz, no phase"))
    if result.lag:
        rows.append(("Torques late by", f"{result.lag * 1e3:.3g} ms"))
    if np.any(result.offsets):
        rows.append(("Offsets", ", ".join(f"{x:.3g}" for x in result.offsets) + " N m"))
    return rows


def _cards(result: Identification) -> str:
    parts = []
    if result.findings:
        parts.append(("Findings", findings_list(result)))
    parts.append(("Residuals", joints_table(result)))
    parts.append(("Base parameters", f'<div class="scroll">{parameters_table(result)}</div>'))
    if result.not_shown:
        shown = result.not_shown[:MAX_WORDS]
        items = "".join(f"<li>{escape(visible(line))}</li>" for line in shown)
        parts.append(
            ("What is not shown", f'<div class="scroll"><ul class="plain">{items}</ul></div>')
        )
    return "".join(f'<div class="card"><h2>{title}</h2>{body}</div>' for title, body in parts)
