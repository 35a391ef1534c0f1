"""Numbers beside the picture: joint forces as bars and the mass matrix as a map of colours."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape

import numpy as np

from sixfold.errors import visible
from sixfold.scene import Contacts
from sixfold.scene.triangles import Array
from sixfold.viewer.screws import Screw

MAX_ROWS = 40
"""Rows of a table; more would not fit."""


def bars(names: Sequence[str], values: Array, limits: Array, units: Sequence[str]) -> str:
    """Return a table of numbers with bars, full at the largest or at the joint's limit."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    rows = []
    for name, value, limit, unit in list(zip(names, values, limits, units, strict=True))[:MAX_ROWS]:
        # rounding is not worth a number
        value = value if abs(value) > 1e-12 * largest else 0.0
        scale = limit if np.isfinite(limit) and limit > 0 else largest
        share = min(1.0, abs(value) / scale) * 50
        color = "#d63c3c" if np.isfinite(limit) and abs(value) > limit > 0 else "#e8833a"
        left = 50 - share if value < 0 else 50
        rows.append(
            f'<div style="display:flex;align-items:center;gap:.5em;height:1.45em">'
            f'<span style="flex:1.2;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:'
            f'nowrap;opacity:.8" title="{escape(name)}">{escape(name)}</span>'
            f'<span style="flex:1.3;height:.5em;border-radius:3px;position:relative;'
            f'background:rgba(128,140,155,.18)"><span style="position:absolute;top:0;bottom:0;'
            f'left:{left:.1f}%;width:{share:.1f}%;border-radius:3px;background:{color}"></span>'
            f'</span><span style="flex:1;text-align:right;white-space:nowrap">{value:.4g} '
            f'<span style="opacity:.6">{unit}</span></span></div>'
        )
    more = f"<div>and {len(names) - MAX_ROWS} more</div>" if len(names) > MAX_ROWS else ""
    return _box("".join(rows) + more)


def matrix(M: Array) -> str:
    """Return a map of a symmetric matrix: orange for positive elements, blue for negative ones."""
    largest = float(np.abs(M).max(initial=0.0)) or 1.0
    # small couplings matter beside large inertias: the cube root shows both
    x = np.cbrt(np.clip(M / largest, -1.0, 1.0))
    ends = np.where(x[..., None] >= 0, [226, 98, 52], [47, 111, 222])
    colors = 244 + (ends - 244) * np.abs(x)[..., None]
    data = base64.b64encode(png(colors.round().astype(np.uint8))).decode("ascii")
    picture = (
        f'<img alt="mass matrix" src="data:image/png;base64,{data}" style="display:block;'
        "width:min(100%,17em);aspect-ratio:1;image-rendering:pixelated;border-radius:6px;"
        'margin:0 auto">'
    )
    low, high = np.diagonal(M).min(initial=np.inf), np.diagonal(M).max(initial=-np.inf)
    text = f"diagonal {low:.3g} to {high:.3g} · cube-root colours" if len(M) else ""
    return _box(f'{picture}<div style="text-align:center;opacity:.65;margin-top:.4em">{text}</div>')


def screw_rows(kind: str, unit: str, names: Sequence[str], screws: Sequence[Screw | None]) -> str:
    """Return a table of screws: size and pitch for each body that has one."""
    cells = [
        (escape(visible(name)), f"{s.size:.4g}", _pitch(s))
        for name, s in zip(names, screws, strict=True)
        if s is not None
    ]
    head = (f"<b>{escape(kind)}</b>", f"size [{unit}]", "pitch [m]")
    return _box("".join(_columns(row) for row in [head, *cells[:MAX_ROWS]]))


def contact_rows(contacts: Contacts) -> str:
    """Return a table of the contacts that touch: force, gap, and how much of the cone is used."""
    head = ("<b>contacts</b>", "force [N]", "gap [mm]")
    cells = []
    used = contacts.use
    for k in np.flatnonzero(contacts.closed):
        row = (f"{k}", f"{contacts.sizes[k]:.4g}", f"{1e3 * contacts.gaps[k]:.3g}")
        cells.append(row if used is None else (*row, f"{100 * used[k]:.0f} %"))
    rows = [head if used is None else (*head, "of cone"), *cells[:MAX_ROWS]]
    return _box("".join(_columns(row) for row in rows))


def _pitch(s: Screw) -> str:
    if not np.isfinite(s.pitch):
        return "∞"
    return f"{s.pitch:.4g}" if abs(s.pitch) > 1e-12 else "0"


def _columns(cells: Sequence[str]) -> str:
    first, *rest = cells
    name = (
        '<span style="flex:1.4;min-width:0;overflow:hidden;text-overflow:ellipsis;'
        f'white-space:nowrap">{first}</span>'
    )
    others = "".join(f'<span style="flex:1;text-align:right">{cell}</span>' for cell in rest)
    return f'<div style="display:flex;gap:.5em">{name}{others}</div>'


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return a small table of names and values."""
    lines = "".join(
        f'<div style="display:flex;justify-content:space-between;gap:1em"><span style="opacity:.7">'
        f"{escape(name)}</span><span>{escape(value)}</span></div>"
        for name, value in rows
    )
    return _box(lines)


def png(pixels: Array) -> bytes:
    """Return pixels (h, w, 3) from 0 to 255 as a PNG file."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes())),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def _box(inside: str) -> str:
    return (
        '<div style="font-size:.82em;line-height:1.4;padding:.3em .75em .6em;'
        f'font-variant-numeric:tabular-nums">{inside}</div>'
    )
