"""Tables, fields, curves, trees and robots as HTML, for notebooks.

Every text that comes from a file passes `plain`, so no name can become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, fields
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from textwrap import fill
from typing import Any, Literal

import numpy as np

from sixfold.errors import visible, visible_lines

LEFT, RIGHT = (f"text-align:{side};padding:.1em .5em" for side in ("left", "right"))
MAX_ROWS = 60  #: Rows of a table that are shown; the rest is counted.
MAX_CHARACTERS = 200  #: Characters of a cell; names in files have no limit.
MAX_LISTING = 20_000  #: Characters of a listing.


def plain(value: object) -> str:
    """Return a text as HTML that shows it and does nothing else."""
    text = visible(str(value))
    return escape(text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 3] + "...")


Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  #: Of findings, the gravest first.


def fill_text(text: str, width: int, first: str = "", then: str = "") -> str:
    """Return a text in lines of a width, with indentations; names and numbers stay whole."""
    whole = {"break_long_words": False, "break_on_hyphens": False}
    return fill(text, width, initial_indent=first, subsequent_indent=then, **whole)  # type: ignore[arg-type]


def block(*parts: str) -> str:
    """Return parts of HTML, one below the other, those that are empty left out."""
    return f'<div class="sixfold">{"".join(part for part in parts if part)}</div>'


def fold(title: str, inside: str) -> str:
    """Return what opens by a click on its title."""
    return f"<details><summary>{plain(title)}</summary>{inside}</details>"


def listing(text: str) -> str:
    """Return a text of several lines as it stands, its beginning if it is long."""
    rest = len(text) - MAX_LISTING
    more = f"\n... and {rest:,} more characters" if rest > 0 else ""
    return f"<pre>{escape(visible_lines(text[:MAX_LISTING]))}{more}</pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return a table; numbers stand right with four digits, everything else left.

    Columns without any content are left out.

    Args:
        head: titles of the columns.
        rows: cells, plain values.
        caption: a line above the table.
    """
    # columns with content, and the first rows
    cells = [tuple(row) for row in rows]
    kept = [k for k in range(len(head)) if any(row[k] != "" for row in cells)]
    # the first rows; the rest is counted
    shown = ["".join(_cell(row[k]) for k in kept) for row in cells[:MAX_ROWS]]
    rest = len(cells) - MAX_ROWS
    if rest > 0:
        shown.append(f'<td colspan="{len(kept)}">... and {rest} more</td>')
    body = "".join(f"<tr>{line}</tr>" for line in shown)
    titles = "".join(f'<th style="{LEFT}">{plain(head[k])}</th>' for k in kept)
    above = f"<p>{plain(caption)}</p>" if caption else ""
    return f"{above}<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def matrix(name: str, values: Any) -> str:
    """Return a matrix (m, n) with its name in front, zeros as dots."""
    rows = "".join(
        "<tr>" + "".join(_cell("·" if x == 0 else float(x), right=True) for x in row) + "</tr>"
        for row in values
    )
    edge = "border-left:1px solid;border-right:1px solid;display:inline-table;vertical-align:middle"
    return (
        f'<div><span style="vertical-align:middle">{plain(name)} = </span>'
        f'<table style="{edge}"><tbody>{rows}</tbody></table></div>'
    )


def _cell(value: Any, right: bool = False) -> str:
    # numbers stand right, with four digits
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    style = RIGHT if number or right else LEFT
    return f'<td style="{style}">{plain(text)}</td>'


MAX_ELEMENTS = 16  #: Elements of an array that are printed; of larger ones the shape.
MAX_TUPLE = 4
MAX_TEXT = 60


def fields_line(value: Any) -> str:
    """Return the fields of a dataclass or named tuple in a few lines, whatever they hold.

    Small arrays are printed with four digits.  Large ones give their shape, functions their name.
    Fields of a dataclass that hold their default are left out.
    """
    # named tuples show all fields, dataclasses those that differ from their default
    named = getattr(value, "_fields", None) or [
        f.name for f in fields(value) if _shows_field(value, f)
    ]
    parts = (f"{name}={_short(getattr(value, name))}" for name in named)
    return f"{type(value).__name__}({', '.join(parts)})"


def _shows_field(value: Any, field: Field[Any]) -> bool:
    content = getattr(value, field.name)
    return field.repr and (content is not field.default and not _same(content, field.default))


def _same(held: Any, default: Any) -> bool:
    """Return whether a field holds its default; arrays never do."""
    return not isinstance(held, np.ndarray) and bool(held == default)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size > MAX_ELEMENTS:
            return f"array {value.shape}"
        # on one line, whatever NumPy makes of it
        text = np.array2string(value, precision=4, suppress_small=True, separator=", ")
        return " ".join(text.split())
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    if isinstance(value, tuple) and len(value) > MAX_TUPLE:
        return f"{len(value)} x {type(value[0]).__name__}"
    text = repr(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


COLORS = (
    "#2f6fde",
    "#e2622f",
    "#2e9e6b",
    "#a35bd6",
    "#c79a12",
    "#d64a7b",
    "#1c9bb0",
    "#7b8794",
    "#8a5a2b",
    "#5b6ee1",
)
WIDTH, HEIGHT, MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 640, 130, 62, 130, 22, 10
NARROWEST = 460  #: Width below which the letters would be too small; narrower windows scroll.
STRETCHES = 230  #: Pieces of a long line; each keeps its lowest and its highest value.
MAX_LINES = 40
MAX_NAMES = 7
MAX_LETTERS = 16


@dataclass(frozen=True, eq=False)
class Panel:
    """One plot: values (T, n) with a name for each column."""

    title: str
    names: Sequence[str]
    values: Any


def curves(t: Any, panels: Sequence[Panel], axis: str = "time [s]") -> str:
    """Return plots with one common horizontal axis as SVG.

    Args:
        t: (T,) increasing.
        panels: from top to bottom; values that are not finite leave gaps.
        axis: what t is.
    """
    # panels one below the other over one axis, whose ticks stand at the bottom
    low, high = float(t[0]), float(t[-1])
    span = (high - low) or 1.0
    height = len(panels) * (HEIGHT + MARGIN_TOP + MARGIN_BOTTOM) + 34
    parts = [
        _panel(t, panel, low, span, k * (HEIGHT + MARGIN_TOP + MARGIN_BOTTOM))
        for k, panel in enumerate(panels)
    ]
    bottom = len(panels) * (HEIGHT + MARGIN_TOP + MARGIN_BOTTOM)
    for x in _ticks(low, high):
        place = MARGIN_LEFT + (WIDTH - MARGIN_LEFT - MARGIN_RIGHT) * (x - low) / span
        parts.append(_text(place, bottom + 8, f"{x:g}", "middle"))
    parts.append(
        _text(MARGIN_LEFT + (WIDTH - MARGIN_LEFT - MARGIN_RIGHT) / 2, bottom + 26, axis, "middle")
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="plots over {plain(axis)}" '
        f'viewBox="0 0 {WIDTH} {height}" style="min-width:{NARROWEST}px;max-width:{WIDTH}px" '
        f'width="100%" font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def _panel(t: Any, panel: Panel, start: float, span: float, top: float) -> str:
    values = np.asarray(panel.values, float)[:, :MAX_LINES]
    # the range of what is finite; a constant line is given some room
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        pad = 0.5 * max(abs(low), abs(high)) or 1.0
        low, high = low - pad, high + pad
    box = top + MARGIN_TOP
    parts = [_text(MARGIN_LEFT, top + 14, panel.title, "start", "bold")]
    for y in _ticks(low, high):
        level = box + HEIGHT * (high - y) / (high - low)
        parts.append(
            f'<path d="M{MARGIN_LEFT} {level:.1f}H{WIDTH - MARGIN_RIGHT}" stroke="currentColor" '
            f'stroke-opacity="0.15"/>' + _text(MARGIN_LEFT - 6, level + 4, f"{y:g}", "end")
        )
    for k in range(values.shape[1]):
        x, line = keep_extremes(t, values[:, [k]], 2 * STRETCHES)
        px = MARGIN_LEFT + (WIDTH - MARGIN_LEFT - MARGIN_RIGHT) * (x - start) / span
        py = box + HEIGHT * (high - line[:, 0]) / (high - low)
        color = COLORS[k % len(COLORS)]
        parts.append(f'<path d="{_path(px, py)}" stroke="{color}" stroke-width="1.4" fill="none"/>')
    return "".join([*parts, *_legend(panel.names, box)])


def _legend(names: Sequence[str], top: float) -> list[str]:
    parts = []
    for k, name in enumerate(names[:MAX_NAMES]):
        y = top + 10 + 16 * k
        short = name if len(name) <= MAX_LETTERS else name[: MAX_LETTERS - 3] + "..."
        x = WIDTH - MARGIN_RIGHT + 10
        line = f'<path d="M{x} {y - 4}h14" stroke="{COLORS[k % len(COLORS)]}" stroke-width="2"/>'
        parts.append(line + _text(x + 20, y, short, "start"))
    if len(names) > MAX_NAMES:
        rest = f"and {len(names) - MAX_NAMES} more"
        parts.append(_text(WIDTH - MARGIN_RIGHT + 10, top + 10 + 16 * MAX_NAMES, rest, "start"))
    return parts


def keep_extremes(t: Any, values: Any, most: int) -> tuple[Any, Any]:
    """Return at most `most` rows of (T, n): the extremes of each stretch, in order."""
    if len(t) <= most:
        return t, values
    # two rows for each stretch: every line's lowest and highest value, in their order
    edges = np.linspace(0, len(t), most // 2 + 1).round().astype(int)
    times = np.empty(2 * (len(edges) - 1))
    rows = np.empty((len(times), values.shape[1]))
    column = np.arange(values.shape[1])
    for k, (start, stop) in enumerate(pairwise(edges)):
        stretch = values[start:stop]
        finite = np.where(np.isfinite(stretch), stretch, 0.0)
        first, last = np.sort([finite.argmin(axis=0), finite.argmax(axis=0)], axis=0)
        rows[2 * k], rows[2 * k + 1] = stretch[first, column], stretch[last, column]
        times[2 * k], times[2 * k + 1] = t[start], t[stop - 1]
    # the ends themselves, so that start and finish read true
    rows[0], rows[-1] = values[0], values[-1]
    return times, rows


def _path(x: Any, y: Any) -> str:
    """Return an SVG path; the pen is lifted where a value is not finite."""
    words, down = [], False
    for a, b in zip(x, y, strict=True):
        if np.isfinite(b):
            words.append(f"{'L' if down else 'M'}{a:.1f} {b:.1f}")
        down = bool(np.isfinite(b))
    return "".join(words)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers within a range, three to six of them."""
    # steps of 1, 2 or 5 times a power of ten
    raw = (high - low) / 4 or 1.0
    size = 10.0 ** floor(log10(raw))
    step = next((m * size for m in (1, 2, 5, 10) if m * size >= raw), 10 * size)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="currentColor">{plain(text)}</text>'
    )


# trees and robots

#: Height of a row, space between columns and width of a letter [px].
ROW, GAP, LETTER = 24, 34, 6.2
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
    # columns by depth, as wide as their longest name; rows by leaves
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
        # depth first: a leaf takes the next row, a parent that of its first child
        row[k] = leaves
        leaves += not children[k]
        stack += reversed(children[k])
    return depth, row


def _edge(x: list[float], y: list[float], a: int, b: int, names: list[str]) -> str:
    # from behind the parent's name, with a bend where the rows differ
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


MAX_BODIES = 60  #: Bodies of a tree that is drawn; larger ones have the table alone.
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
    # limits of each coordinate, where there are some
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
