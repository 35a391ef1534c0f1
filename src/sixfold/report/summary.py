"""The table at the head of a report."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from sixfold.errors import visible
from sixfold.picture import Record
from sixfold.report.series import energies


def summary(record: Record) -> list[tuple[str, str]]:
    """Return the rows of the summary: robot, time, energy, and what the motion notes itself."""
    model = record.model
    mass = sum(float(body.inertia.m) for body in model.bodies)
    gravity = ", ".join(f"{x:g}" for x in model.gravity)
    rows = [
        ("Robot", f"{visible(model.name)}: {model.nb} bodies, {model.nv} freedoms, {mass:.4g} kg"),
        ("Gravity", f"({gravity}) m/s²"),
        ("Duration", f"{record.duration:.6g} s from t = {record.t[0]:g} s"),
        ("Steps", _steps(record)),
        *_energy(record),
    ]
    said = dict(record.settings)
    step, seconds = said.pop("dt", None), said.pop("elapsed", None)
    said.pop("steps", None)
    rows += [(_text(name).replace("_", " ").capitalize(), _text(x)) for name, x in said.items()]
    if isinstance(step, float):
        rows.append(("Time step", f"{step:.6g} s"))
    if isinstance(seconds, float) and seconds > 0:
        speed = f"{record.duration / seconds:,.1f}".replace(",", "\u202f")
        rows.append(("Computed in", f"{seconds:.3g} s, {speed} times real time"))
    rows += [("Note", visible(note)) for note in record.notes]
    return rows


def versions() -> str:
    """Return the versions that wrote the report."""
    return (
        f"Sixfold {version('sixfold')}, NumPy {np.__version__}, Python {platform.python_version()}"
    )


def _steps(record: Record) -> str:
    made, dt = record.settings.get("steps"), record.settings.get("dt")
    if isinstance(made, int) and isinstance(dt, float):
        return f"{_count(made)} of {dt:.4g} s, {_count(len(record.t))} states kept"
    count = len(record.t) - 1
    if not count:
        return "one state"
    steps = np.diff(record.t)
    even = np.ptp(steps) <= 1e-6 * steps.mean()
    size = f"{steps.mean():.4g} s each" if even else f"{steps.min():.3g} to {steps.max():.3g} s"
    return f"{_count(count)} of {size}"


def _energy(record: Record) -> list[tuple[str, str]]:
    parts = energies(record)
    if parts is None:
        return []
    total = parts["total"]
    change = total - total[0]
    free = "tau" in record.given and not np.any(record.given["tau"])
    name = "Energy drift" if free else "Energy change"
    scale = float(np.ptp(parts["kinetic"])) or float(np.abs(total).max())
    share = f" ({abs(change[-1]) / scale:.1e} of the kinetic energy's range)" if scale else ""
    worst = float(change[np.argmax(np.abs(change))])
    return [
        ("Total energy", f"{total[0]:.6g} J at the start"),
        (name, f"{change[-1]:+.3e} J at the end{share}, {worst:+.3e} J at most"),
    ]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return visible(str(value)[:400])


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")
