"""Block matrices as text, HTML and LaTeX: which blocks are not zero, and what they are made of."""

from __future__ import annotations

import re
from html import escape

from sixfold.dynamics.book.operators.operators import BlockMatrix
from sixfold.spatial.quantity import number_text

MAX_COLUMNS = 96
"""Characters of a line of labels; longer ones show the pattern alone."""
MAX_LATEX_BLOCKS = 24
"""Block rows that are set as a matrix."""
_GREEK = {"b": "\\beta"}
_PLAIN = {"b": "\u03b2"}
_WORDS = {"Phi": "\u03a6", "Psi": "\u03a8", "beta": "\u03b2"}
_CELL = "padding:2px 6px"


def grid_text(matrix: BlockMatrix) -> str:
    """Return the blocks by their letters, or their pattern where letters do not fit a line."""
    lines = str(matrix).splitlines()
    if not lines or max(map(len, lines)) <= MAX_COLUMNS:
        return "\n".join(lines)
    rows = (
        "".join(" #" if (i, j) in matrix.blocks else " ." for j in matrix.columns)
        for i in matrix.rows
    )
    return "\n".join(f"[{row} ]" for row in rows)


def grid_html(matrix: BlockMatrix, title: str) -> str:
    """Return the blocks as a table; the numbers of a block are shown when one points at it."""
    body = []
    for i in matrix.rows:
        cells = [f"<th>{i}</th>"]
        for j in matrix.columns:
            if (i, j) not in matrix.blocks:
                cells.append(f'<td style="{_CELL};color:#999">0</td>')
                continue
            label = _html(matrix.labels.get((i, j), ""))
            told = escape(_numbers(matrix, i, j), quote=True)
            style = f"{_CELL};background:#4a90d930"
            cells.append(f'<td style="{style}" title="{told}">{label}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f"<th>{j}</th>" for j in matrix.columns)
    style = 'style="border-collapse:collapse;text-align:center;font-style:italic"'
    return (
        f'<table class="operator" {style}><caption>{title}</caption>'
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def grid_latex(matrix: BlockMatrix) -> str | None:
    """Return the blocks by their letters as a LaTeX matrix; None for one that is too wide."""
    if max(len(matrix.rows), len(matrix.columns)) > MAX_LATEX_BLOCKS:
        return None
    lines = (
        " & ".join(_latex(matrix.labels.get((i, j), "0")) for j in matrix.columns)
        for i in matrix.rows
    )
    form, body = "c" * len(matrix.columns), " \\\\ ".join(lines)
    return f"\\left[\\begin{{array}}{{{form}}} {body} \\end{{array}}\\right]"


def formula_html(text: str) -> str:
    """Return a formula in letters of the keyboard, such as Psi_b^T Phi^T K x, as HTML."""
    marked = re.sub(r"\^(-?\w+)", r"<sup>\1</sup>", escape(text, quote=False))
    marked = re.sub(r"_b\b", "<sub>\u03b2</sub>", marked)
    marked = re.sub(r"_(\w+?)(?=\b|<)", r"<sub>\1</sub>", marked)
    return re.sub(r"\b(Phi|Psi|beta)", lambda m: _WORDS[m[1]], marked)


def _numbers(matrix: BlockMatrix, i: int, j: int) -> str:
    rows = matrix.blocks[i, j]
    if any(getattr(x, "ndim", 0) for row in rows for x in row):
        return f"{len(rows)} x {len(rows[0])}, of several states"
    return "\n".join(" ".join(number_text(x) for x in row) for row in rows)


def _latex(label: str) -> str:
    """Return a label such as D3D1 or (D2)' as LaTeX."""
    named = re.sub(r"([A-Za-z]+)(\d+)", lambda m: f"{_GREEK.get(m[1], m[1])}_{{{m[2]}}}", label)
    return re.sub(r"\(([^()]*)\)'", r"(\1)^T", named)


def _html(label: str) -> str:
    named = re.sub(
        r"([A-Za-z]+)(\d+)", lambda m: f"{_PLAIN.get(m[1], m[1])}<sub>{m[2]}</sub>", label
    )
    return re.sub(r"\(((?:[^()])*)\)'", r"(\1)<sup>T</sup>", named)
