"""Tables of HTML whose cells are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from sixfold.errors import visible, visible_lines

LEFT, RIGHT = (f"text-align:{side};padding:.1em .5em" for side in ("left", "right"))
MAX_ROWS = 60
"""Rows of a table that are shown; the rest is counted."""
MAX_CHARACTERS = 200
"""Characters of a cell; names in files have no limit."""
MAX_LISTING = 20_000
"""Characters of a listing."""


def plain(value: object) -> str:
    """Return a text as HTML that shows it and does nothing else."""
    text = visible(str(value))
    return escape(text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 3] + "...")


def block(*parts: str) -> str:
    """Return parts of HTML, one below the other, those that are empty left out."""
    return f'<div class="sixfold">{"".join(part for part in parts if part)}</div>'


def folded(title: str, inside: str) -> str:
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
    cells = [tuple(row) for row in rows]
    kept = [k for k in range(len(head)) if any(row[k] != "" for row in cells)]
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
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    style = RIGHT if number or right else LEFT
    return f'<td style="{style}">{plain(text)}</td>'
