"""Meshes that a robot file names and that are not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sixfold.doctor.case import Case
from sixfold.doctor.finding import Finding
from sixfold.errors import RobotFileError, shown
from sixfold.formats.meshes import mesh_path
from sixfold.model import Mesh

LARGEST_FILE = 50_000_000
"""Bytes of a robot file that is searched for the line of a mesh, at most."""


def meshes(case: Case) -> Iterator[Finding]:
    """Find meshes that are not there, each named once."""
    model, origin = case.model, case.model.origin
    if origin is None or not origin.file:
        return
    links = {link.name: link.line for link in origin.links}
    collide: dict[str, bool] = {}
    owner: dict[str, str] = {}
    for geometry in model.geometries:
        if isinstance(geometry.shape, Mesh):
            name = geometry.shape.file
            collide[name] = collide.get(name, False) or geometry.collides
            owner.setdefault(name, geometry.link)
    lines: list[str] | None = None
    for name, needed in collide.items():
        try:
            mesh_path(model, name)
        except RobotFileError as error:
            lines = _lines(origin.file) if lines is None else lines
            line = _line(lines, name, links.get(owner[name], 0))
            what = f"link '{owner[name]}': {error.what}"
            values = {"mesh": shown(name), "collides": needed}
            severity = "warning" if needed else "note"
            yield case.about_model("mesh-missing", what, values, line, severity=severity)


def _lines(file: str) -> list[str]:
    """Return the lines of a robot file, none where it cannot be read any more."""
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            return []
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _line(lines: list[str], name: str, otherwise: int) -> int:
    """Return the first line that names a mesh, from that of its link on."""
    start = max(otherwise - 1, 0)
    found = (k for k, text in enumerate(lines[start:], start + 1) if name in text)
    return next(found, otherwise)
