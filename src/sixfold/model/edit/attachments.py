"""Where things sit after an edit: bodies renumber, frames, geometries and links move along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from sixfold.model.body import Body, Coupling, Frame
from sixfold.model.geometry import Geometry
from sixfold.model.model import Model
from sixfold.model.source_file import Link
from sixfold.model.values import inertia_of
from sixfold.scalar import exact
from sixfold.spatial import Inertia, Transform

Attachment = tuple[int, Transform]
"""A body, -1 for the base, and the transform from its coordinates to those of what sits on it."""
Placed = TypeVar("Placed", Frame, Geometry, Link)


def moved(item: Placed, attachments: Mapping[int, Attachment]) -> Placed:
    """Return a frame, shape or link on the body that now carries its own."""
    body, X = attachments[item.body]
    return replace(item, body=body, placement=(item.placement @ X).over(exact))


def with_placed_moved(model: Model, attachments: Mapping[int, Attachment]) -> Model:
    """Return the model with shapes and the links of its file where their bodies went."""
    origin = model.origin
    if origin is not None:
        origin = replace(origin, links=tuple(moved(link, attachments) for link in origin.links))
    return replace(
        model, geometries=tuple(moved(g, attachments) for g in model.geometries), origin=origin
    )


def with_load(body: Body, load: Inertia, X: Transform) -> Body:
    """Return the body with a load at X joined to its inertia."""
    total = body.inertia + (X.T @ load @ X)
    return replace(body, inertia=inertia_of(f"body '{body.name}'", total))


def renumbered(c: Coupling, attachments: Mapping[int, Attachment]) -> Coupling:
    """Return a coupling with the numbers that its bodies have now."""
    return Coupling(
        attachments[c.follower][0],
        tuple((attachments[m][0], ratio) for m, ratio in c.terms),
        c.offset,
    )
