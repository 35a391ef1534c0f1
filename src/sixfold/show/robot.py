"""A model as its tree and a table of its bodies."""

from __future__ import annotations

from math import isfinite
from typing import Any

from sixfold.show.html import block, plain, table
from sixfold.show.tree import Node, tree

MAX_BODIES = 60
"""Bodies of a tree that is drawn; larger ones have the table alone."""
HEAD = ("body", "parent", "joint", "kind", "axis", "mass [kg]", "centre of mass [m]", "range of q")


def robot(model: Any) -> str:
    """Return a `Model` as HTML."""
    gravity = ", ".join(f"{x:g}" for x in model.gravity)
    mass = sum(float(body.inertia.m) for body in model.bodies)
    head = (
        f"<p><b>{plain(model.name)}</b>: {model.nb} bodies, nq = {model.nq}, nv = {model.nv}, "
        f"{mass:.4g} kg, gravity ({gravity}) m/s<sup>2</sup></p>"
    )
    names = {-1: model.base_name} | dict(enumerate(model.body_names))
    rows = [_row(body, names[body.parent]) for body in model.bodies]
    return block(head, _picture(model), table(HEAD, rows), _rest(model))


def _picture(model: Any) -> str:
    if model.nb > MAX_BODIES:
        return ""
    nodes = [
        Node(body.name, body.parent, f"{body.joint_name}, {body.joint.kind}", body.joint.nv)
        for body in model.bodies
    ]
    loops = [(c.body_a, c.body_b) for c in model.constraints if hasattr(c, "body_a")]
    return tree(model.base_name, nodes, loops)


def _row(body: Any, parent: str) -> tuple[Any, ...]:
    axis = getattr(body.joint, "axis", None)
    shown = "" if axis is None else ", ".join(f"{float(x):.3g}" for x in axis)
    center = ", ".join(f"{float(x):.3g}" for x in body.inertia.center)
    ends = list(zip(body.lower, body.upper, strict=True))
    limited = any(isfinite(x) for pair in ends for x in pair)
    ranges = "; ".join(f"{low:.3g} to {high:.3g}" for low, high in ends) if limited else ""
    mass = float(body.inertia.m)
    return (body.name, parent, body.joint_name, body.joint.kind, shown, mass, center, ranges)


def _rest(model: Any) -> str:
    """Return a line for what the tree does not show."""
    counted = {
        "frame": len(model.frames),
        "coupling": len(model.couplings),
        "constraint": len(model.constraints),
    }
    words = [f"{n} {name}{'s' * (n > 1)}" for name, n in counted.items() if n]
    return f"<p>{', '.join(words)}</p>" if words else ""
