"""What an MJCF file says and a Model has no counterpart for, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.formats.mjcf_arrays import BALL, HINGE, SLIDE
from sixfold.formats.mjcf_rules import SECTIONS
from sixfold.formats.mjcf_xml import Document, Place

MEANING = {
    **SECTIONS,
    "plugin": "plugins make no forces here",
    "flexcomp": "bodies are rigid here, its mass is missing",
    "field": "height and distance fields are not shapes here",
}
DATA_ONLY = frozenset({"custom", "keyframe", "sensor", "extension"})
"""Left out without changing how the robot moves."""


def notes_on(mujoco: Any, m: Any, document: Document) -> tuple[list[str], list[str]]:
    """Return all notes, and in short those on forces that the model does not have."""
    notes: list[str] = [f"option timestep = {float(m.opt.timestep)!r} s"]
    notes += [f"MuJoCo's compiler says: {' '.join(remark.split())}" for remark in document.remarks]
    short: list[str] = []

    def add(what: str, meaning: str, place: Place | None = None, force: bool = True) -> None:
        where = "" if place is None else f" (first at {_at(place)})"
        notes.append(f"left out: {what}: {meaning}{where}")
        if force:
            short.append(what)

    for key, places in document.left.items():
        add(f"{len(places)} x {key}", MEANING[key], places[0], key not in DATA_ONLY)
    colliding = int(np.count_nonzero((m.geom_contype != 0) | (m.geom_conaffinity != 0)))
    if colliding > 1:
        add(f"contacts of {colliding} geoms", "bodies do not touch each other here")
    for what, meaning in _effects(m):
        add(what, meaning)
    return notes, short


def _at(place: Place) -> str:
    return f"{place.file}:{place.line}"


def _effects(m: Any) -> list[tuple[str, str]]:
    """Return effects that only the compiled arrays show."""
    found = []
    limited = np.flatnonzero(m.jnt_limited[: m.njnt])
    hinged = [j for j in limited if int(m.jnt_type[j]) in (HINGE, SLIDE)]
    balls = [j for j in limited if int(m.jnt_type[j]) == BALL]
    if hinged:
        found.append((f"forces of {len(hinged)} joint limits", "limits are kept as data only"))
    if balls:
        found.append((f"limits of {len(balls)} ball joints", "a cone has no counterpart"))
    if m.opt.density or m.opt.viscosity:
        found.append(("fluid forces", "density and viscosity of the medium"))
    if np.any(m.body_gravcomp):
        found.append((f"gravcomp of {np.count_nonzero(m.body_gravcomp)} bodies", "no compensation"))
    if m.nmocap:
        found.append((f"{m.nmocap} mocap bodies", "they rest where the file places them"))
    for array, what in (
        ("jnt_stiffnesspoly", "nonlinear springs"),
        ("dof_dampingpoly", "nonlinear damping"),
        ("jnt_springyield", "yielding springs"),
    ):
        numbers = np.asarray(getattr(m, array, 0.0), float)
        if np.any(np.isfinite(numbers) & (numbers != 0)):
            found.append((what, "only the linear part is kept"))
    for count, what in ((m.neq, "equality constraints"), (m.ntendon, "tendons")):
        if count:
            found.append((f"{count} {what} of composites", "no loops are made from them"))
    return found
