"""Lines over time as a picture, without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import numpy as np

from sixfold.show.html import plain

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
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 130, 62, 130, 22, 10
NARROWEST = 460
"""Width below which the letters would be too small; narrower windows scroll."""
STRETCHES = 250
"""Pieces of a long line; each keeps its lowest and its highest value."""
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
    low, high = float(t[0]), float(t[-1])
    span = (high - low) or 1.0
    height = len(panels) * (HEIGHT + TOP + BOTTOM) + 34
    parts = [
        _panel(t, panel, low, span, k * (HEIGHT + TOP + BOTTOM)) for k, panel in enumerate(panels)
    ]
    bottom = len(panels) * (HEIGHT + TOP + BOTTOM)
    for x in _ticks(low, high):
        place = LEFT + (WIDTH - LEFT - RIGHT) * (x - low) / span
        parts.append(_text(place, bottom + 8, f"{x:g}", "middle"))
    parts.append(_text(LEFT + (WIDTH - LEFT - RIGHT) / 2, bottom + 26, axis, "middle"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="plots over {plain(axis)}" '
        f'viewBox="0 0 {WIDTH} {height}" style="min-width:{NARROWEST}px;max-width:{WIDTH}px" '
        f'width="100%" font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def _panel(t: Any, panel: Panel, start: float, span: float, top: float) -> str:
    values = np.asarray(panel.values, float)[:, :MAX_LINES]
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        pad = 0.5 * max(abs(low), abs(high)) or 1.0
        low, high = low - pad, high + pad
    box = top + TOP
    parts = [_text(LEFT, top + 14, panel.title, "start", "bold")]
    for y in _ticks(low, high):
        level = box + HEIGHT * (high - y) / (high - low)
        parts.append(
            f'<path d="M{LEFT} {level:.1f}H{WIDTH - RIGHT}" stroke="currentColor" '
            f'stroke-opacity="0.15"/>' + _text(LEFT - 6, level + 4, f"{y:g}", "end")
        )
    for k in range(values.shape[1]):
        x, y = _thinned(t, values[:, k])
        px = LEFT + (WIDTH - LEFT - RIGHT) * (x - start) / span
        py = box + HEIGHT * (high - y) / (high - low)
        color = COLORS[k % len(COLORS)]
        parts.append(f'<path d="{_path(px, py)}" stroke="{color}" stroke-width="1.4" fill="none"/>')
    return "".join([*parts, *_legend(panel.names, box)])


def _legend(names: Sequence[str], top: float) -> list[str]:
    parts = []
    for k, name in enumerate(names[:MAX_NAMES]):
        y = top + 10 + 16 * k
        short = name if len(name) <= MAX_LETTERS else name[: MAX_LETTERS - 3] + "..."
        x = WIDTH - RIGHT + 10
        line = f'<path d="M{x} {y - 4}h14" stroke="{COLORS[k % len(COLORS)]}" stroke-width="2"/>'
        parts.append(line + _text(x + 20, y, short, "start"))
    if len(names) > MAX_NAMES:
        rest = f"and {len(names) - MAX_NAMES} more"
        parts.append(_text(WIDTH - RIGHT + 10, top + 10 + 16 * MAX_NAMES, rest, "start"))
    return parts


def _thinned(t: Any, y: Any) -> tuple[Any, Any]:
    """Return a line of few points with the lowest and highest value of each stretch."""
    if len(y) <= 2 * STRETCHES:
        return t, y
    edges = np.linspace(0, len(y), STRETCHES + 1).astype(int)
    kept = {0, len(y) - 1}
    for a, b in pairwise(edges):
        piece = np.where(np.isfinite(y[a:b]), y[a:b], 0.0)
        kept |= {a + int(piece.argmin()), a + int(piece.argmax())}
    index = sorted(kept)
    return t[index], y[index]


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
