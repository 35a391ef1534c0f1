"""What an MJCF file says and a Model has no counterpart for, in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.errors import visible
from sixfold.formats.mjcf.arrays import BALL, HINGE, SLIDE, Off, inertial_offset
from sixfold.formats.mjcf.equality import left_out
from sixfold.formats.mjcf.rules import SECTIONS
from sixfold.formats.mjcf.xml import Document, Place

MEANING = {
    **SECTIONS,
    "equality": "only connect, weld and joint become loops and gears here",
    "plugin": "plugins make no forces here",
    "flexcomp": "bodies are rigid here, its mass is missing",
    "field": "height and distance fields are not shapes here",
}
DATA_ONLY = frozenset({"custom", "keyframe", "sensor", "extension"})
"""Left out without changing how the robot moves."""


def notes_on(
    m: Any, document: Document, off: Off, floating: int = 0
) -> tuple[list[str], list[str]]:
    """Return all notes, and in short those on forces that the model does not have."""
    notes: list[str] = [f"option timestep = {float(m.opt.timestep)!r} s"]
    notes += [f"MuJoCo's compiler says: {' '.join(remark.split())}" for remark in document.remarks]
    short: list[str] = []

    def add(what: str, meaning: str, place: Place | None = None, force: bool = True) -> None:
        where = "" if place is None else f" (first at {place.file}:{place.line})"
        notes.append(visible(f"left out: {what}: {meaning}{where}"))
        if force:
            short.append(what if place is None else f"{what} ({_line(place, document)})")

    for key, places in document.left.items():
        add(f"{len(places)} x {key}", MEANING[key], places[0], key not in DATA_ONLY)
    colliding = int(np.count_nonzero((m.geom_contype != 0) | (m.geom_conaffinity != 0)))
    if colliding > 1:
        geom = document.first.get("geom")
        meaning = (
            "a model alone touches nothing; sixfold.Ground.from_mjcf has the ground and the pairs"
        )
        add(f"contacts of {colliding} geoms", meaning, geom)
    for what, meaning, *keys in (*_effects(m), *_armatures(document)):
        add(what, meaning, next((p for k in keys if (p := document.first.get(k))), None))
    known = document.equalities if len(document.equalities) == m.neq else []
    skipped = list(left_out(m, floating)) if not off.equality else []
    for k, what, meaning in skipped:
        place = known[k] if known else None
        add(what, meaning, place, not what.startswith("inactive"))
    if off.equality and m.neq:
        notes.append(f"equality constraints ({m.neq}) are switched off by the option flags")
    elif len(skipped) < m.neq:
        count = m.neq - len(skipped)
        verb = "s hold" if count > 1 else " holds"
        notes.append(f"{count} equality constraint{verb} exactly here; MuJoCo's are soft")
    for what, meaning, body in _aligned(m):
        places = document.bodies
        add(what, meaning, places[body - 1] if len(places) == m.nbody - 1 else None)
    return notes, short


def _line(place: Place, document: Document) -> str:
    """Return where something stands, in short."""
    same = place.file == str(document.path)
    return f"line {place.line}" if same else f"{Path(place.file).name}:{place.line}"


def _armatures(document: Document) -> Iterator[tuple[str, ...]]:
    """Yield what follows from the inertia of tendons and motors, which is not in the model."""
    found = [kind for kind in ("tendon", "actuator") if f"{kind}.armature" in document.first]
    for kind in found:
        yield f"armature of {kind}s", "the mass matrix is without it", f"{kind}.armature"
    if found and "joint.springdamper" in document.first:
        what = f"armature of {found[0]}s in springdamper"
        meaning = f"stiffness and damping are computed without the armature of {found[0]}s"
        yield what, meaning, "joint.springdamper"


def _aligned(m: Any) -> Iterator[tuple[str, str, int]]:
    """Yield the inertial frames that MuJoCo takes for the body's, though they differ a little."""
    bodies = [b for b in range(1, m.nbody) if inertial_offset(m, b)]
    if bodies:
        what = f"offset of {len(bodies)} inertial frame{'s' * (len(bodies) > 1)}"
        meaning = "below 1e-6, MuJoCo takes it for zero, and so does the model"
        yield what, meaning, bodies[0]


def _effects(m: Any) -> list[tuple[str, ...]]:
    """Return effects that only the compiled arrays show, and attributes that may have them."""
    found: list[tuple[str, ...]] = []
    limited = np.flatnonzero(m.jnt_limited[: m.njnt])
    hinged = [j for j in limited if int(m.jnt_type[j]) in (HINGE, SLIDE)]
    balls = [j for j in limited if int(m.jnt_type[j]) == BALL]
    if hinged:
        found.append(
            (f"forces of {len(hinged)} joint limits", "limits are kept as data only", "joint.range")
        )
    if balls:
        found.append(
            (f"limits of {len(balls)} ball joints", "a cone has no counterpart", "joint.range")
        )
    if m.opt.density or m.opt.viscosity:
        fluid = ("fluid forces", "density and viscosity of the medium")
        found.append((*fluid, "option.density", "option.viscosity"))
    if np.any(m.body_gravcomp):
        count = np.count_nonzero(m.body_gravcomp)
        found.append((f"gravcomp of {count} bodies", "no compensation", "body.gravcomp"))
    if m.nmocap:
        found.append(
            (f"{m.nmocap} mocap bodies", "they rest where the file places them", "body.mocap")
        )
    for array, what in (
        ("jnt_stiffnesspoly", "nonlinear springs"),
        ("dof_dampingpoly", "nonlinear damping"),
        ("jnt_springyield", "yielding springs"),
    ):
        numbers = np.asarray(getattr(m, array, 0.0), float)
        if np.any(np.isfinite(numbers) & (numbers != 0)):
            found.append((what, "only the linear part is kept"))
    if m.ntendon:
        found.append((f"{m.ntendon} tendons of composites", "no loops are made from them"))
    return found
