"""A robot as coloured surfaces, each at rest on one body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sixfold.scene.colors import Color
from sixfold.scene.triangles import Triangles, creased, joined, thinned, tidy


@dataclass(frozen=True, eq=False)
class Part:
    """One surface in body coordinates."""

    body: int
    """Index of the body, -1 for the base."""
    surface: Triangles
    color: Color
    opacity: float = 1.0


def grouped(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with all surfaces of one body and colour as one."""
    groups: dict[tuple[int, Color, float], list[Triangles]] = {}
    for part in parts:
        groups.setdefault((part.body, part.color, part.opacity), []).append(part.surface)
    return tuple(
        Part(body, joined(surfaces), color, opacity)
        for (body, color, opacity), surfaces in groups.items()
    )


def within(parts: Iterable[Part], size: float, budget: int) -> tuple[Part, ...]:
    """Return the parts thinned out until all together have at most a budget of triangles.

    Args:
        parts: surfaces as files give them.
        size: extent of the robot [m]; details far below it go first.
        budget: number of triangles.
    """
    clean = [Part(p.body, tidy(p.surface), p.color, p.opacity) for p in parts]
    cell = size / 1500
    while sum(len(p.surface.faces) for p in clean) > budget and cell < size:
        clean = [Part(p.body, thinned(p.surface, cell), p.color, p.opacity) for p in clean]
        cell *= 1.3
    shaded = (Part(p.body, creased(p.surface), p.color, p.opacity) for p in clean)
    return tuple(p for p in shaded if len(p.surface.faces))
