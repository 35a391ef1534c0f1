"""Kinematic trees as pictures, and robots as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from sixfold.show.html import block, plain, table

ROW, GAP, LETTER = 24, 34, 6.2
"""Height of a row, space between columns and width of a letter [px]."""
MAX_LETTERS = 20
LINE = 'stroke="currentColor" stroke-opacity="0.55" fill="none"'


@dataclass(frozen=True)
class Node:
    """A body: its name, the row of its parent (-1 for the base) and what its joint is."""

    name: str
    parent: int
    joint: str
    freedoms: int


def tree(base: str, nodes: Sequence[Node], loops: Sequence[tuple[int, int]] = ()) -> str:
    """Return the tree as SVG.  Circles hold the degrees of freedom; loops are dashed.

    Args:
        base: name of the base.
        nodes: bodies, parents before their children.
        loops: pairs of bodies that something else joins, -1 for the base.
    """
    names = [base, *(node.name for node in nodes)]
    parent = [-1, *(node.parent + 1 for node in nodes)]
    depth, row = _places(parent)
    short = [
        name if len(name) <= MAX_LETTERS else name[: MAX_LETTERS - 3] + "..." for name in names
    ]
    columns = [0.0] * (max(depth) + 1)
    for k, name in enumerate(short):
        columns[depth[k]] = max(columns[depth[k]], LETTER * len(name) + GAP)
    x = [12.0 + sum(columns[:d]) for d in depth]
    y = [14.0 + ROW * r for r in row]
    parts = [_edge(x, y, parent[k], k, short) for k in range(1, len(names))]
    parts += [_loop(x[a + 1], y[a + 1], x[b + 1], y[b + 1]) for a, b in loops]
    for k, name in enumerate(short):
        about = f"{nodes[k - 1].name}: {nodes[k - 1].joint}" if k else base
        freedoms = nodes[k - 1].freedoms if k else None
        parts.append(_mark(x[k], y[k], name, about, freedoms))
    width, height = 12.0 + sum(columns), 28.0 + ROW * max(row)
    return (
        f'<div style="overflow-x:auto"><svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="kinematic tree" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="11">'
        f"{''.join(parts)}</svg></div>"
    )


def _places(parent: list[int]) -> tuple[list[int], list[float]]:
    """Return column and row of each body; a parent stands level with its first child."""
    children: list[list[int]] = [[] for _ in parent]
    depth = [0] * len(parent)
    for k in range(1, len(parent)):
        children[parent[k]].append(k)
        depth[k] = depth[parent[k]] + 1
    row = [0.0] * len(parent)
    leaves, stack = 0, [0]
    while stack:
        k = stack.pop()
        row[k] = leaves
        leaves += not children[k]
        stack += reversed(children[k])
    return depth, row


def _edge(x: list[float], y: list[float], a: int, b: int, names: list[str]) -> str:
    start = min(x[a] + 12 + LETTER * len(names[a]), x[b] - 14)
    bend = x[b] - 12
    return (
        f'<path d="M{start:.0f} {y[a]:.0f}H{bend - 8:.0f}Q{bend:.0f} {y[a]:.0f} {bend:.0f} '
        f'{y[a] + 8:.0f}V{y[b] - 4:.0f}L{x[b] - 8:.0f} {y[b]:.0f}" {LINE}/>'
        if y[a] != y[b]
        else f'<path d="M{start:.0f} {y[a]:.0f}H{x[b] - 8:.0f}" {LINE}/>'
    )


def _loop(ax: float, ay: float, bx: float, by: float) -> str:
    middle = (ax + bx) / 2, (ay + by) / 2 + 14
    return (
        f'<path d="M{ax:.0f} {ay:.0f}Q{middle[0]:.0f} {middle[1]:.0f} {bx:.0f} {by:.0f}" '
        f'stroke="#d9622b" stroke-width="1.5" stroke-dasharray="4 3" fill="none"/>'
    )


def _mark(x: float, y: float, name: str, about: str, freedoms: int | None) -> str:
    word = f'<text x="{x + 11:.0f}" y="{y + 4:.0f}" fill="currentColor">{plain(name)}</text>'
    if freedoms is None:
        sign = f'<rect x="{x - 7:.0f}" y="{y - 7:.0f}" width="14" height="14" fill="#7b8794"/>'
    else:
        sign = (
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="8" fill="#2f6fde"/><text x="{x:.0f}" '
            f'y="{y + 4:.0f}" fill="#fff" text-anchor="middle">{freedoms}</text>'
        )
    return f"<g><title>{plain(about)}</title>{sign}{word}</g>"


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
