"""Where things sit after an edit: bodies renumber, frames, geometries and links move along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from sixfold.errors import ModelError
from sixfold.model.body import Body, Coupling, Frame
from sixfold.model.constraint import Constraint, Distance, Gear
from sixfold.model.geometry import Geometry
from sixfold.model.model import Model
from sixfold.model.source_file import Link
from sixfold.model.values import inertia_of
from sixfold.scalar import exact, plain
from sixfold.spatial import Inertia, Transform, Vector3

Attachment = tuple[int, Transform]
"""A body, -1 for the base, and the transform from its coordinates to those of what sits on it."""
Placed = TypeVar("Placed", Frame, Geometry, Link)


def moved(item: Placed, attachments: Mapping[int, Attachment]) -> Placed:
    """Return a frame, shape or link on the body that now carries its own."""
    body, X = attachments[item.body]
    return replace(item, body=body, placement=(item.placement @ X).map(exact))


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


def closed_again(each: Constraint, attachments: Mapping[int, Attachment]) -> Constraint:
    """Return a constraint on the bodies that now carry its own."""
    drop = "take it away first: model.without(constraints=True)"
    if isinstance(each, Gear):
        terms = tuple((attachments[k][0], c) for k, c in each.terms)
        return replace(each, follower=attachments[each.follower][0], terms=terms)
    (a, XA), (b, XB) = attachments[each.body_a], attachments[each.body_b]
    if a == b:
        what = "would close a loop within one body"
        raise ModelError(f"constraint '{each.name}'", what, drop)
    if isinstance(each, Distance):
        ends = {"point_a": (XA, each.point_a), "point_b": (XB, each.point_b)}
        points = {
            name: tuple(float(plain(x)) for x in X.r + X.E.T @ Vector3.of(p))
            for name, (X, p) in ends.items()
        }
        return replace(each, body_a=a, body_b=b, **points)  # type: ignore[arg-type]
    return replace(
        each,
        body_a=a,
        placement_a=(each.placement_a @ XA).map(exact),
        body_b=b,
        placement_b=(each.placement_b @ XB).map(exact),
    )


def renumbered(c: Coupling, attachments: Mapping[int, Attachment]) -> Coupling:
    """Return a coupling with the numbers that its bodies have now."""
    return Coupling(
        attachments[c.follower][0],
        tuple((attachments[m][0], ratio) for m, ratio in c.terms),
        c.offset,
    )
