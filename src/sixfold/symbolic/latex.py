"""Equations in LaTeX: aligned, long lines broken, sines and cosines in full or in shorthand."""

from __future__ import annotations

import re
from typing import Any

from sixfold.errors import visible
from sixfold.symbolic.polynomial import COSINE, SINE, Angle, Ring, Variable
from sixfold.symbolic.shorthand import TITLES, entries, number_text, term_names, used_angles
from sixfold.symbolic.simplify import Power, Product, Sum, Term

_AS_TEXT = {c: f"\\{c}" for c in "_&%$#{}"}
_AS_TEXT |= {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
MAX_LINE_CHARACTERS = 95  # visible characters on a line, about a page of text

DOCUMENT = r"""\documentclass[a4paper]{article}
\usepackage{amsmath}
\usepackage[margin=15mm]{geometry}
\allowdisplaybreaks
\begin{document}
\section*{%s}
%s
\end{document}
"""


def latex(equations: Any, terms: str, *, shorthand: bool, document: bool) -> str:
    """Return one aligned block for each term."""
    write = Writer(equations.ring, shorthand)
    blocks = []
    for term in term_names(terms):
        lines = [line for entry in entries(equations, term) for line in _equation(write, entry)]
        if lines:
            title = f"% {TITLES[term]}\n"
            body = " \\\\\n".join(lines)
            blocks.append(f"{title}\\begin{{align*}}\n{body}\n\\end{{align*}}")
    if shorthand and (angles := used_angles(equations, terms)):
        blocks.insert(0, _definitions(write, angles))
    text = "\n".join(blocks) + "\n"
    return DOCUMENT % (_escape(equations.model.name), text) if document else text


def _definitions(write: Writer, angles: list[int]) -> str:
    full = Writer(write.ring, False)
    found = []
    for k in angles:
        a = write.ring.angles[k]
        found.append(
            f"{write.variable(a.sine, 1)} &= {full.variable(a.sine, 1)} &"
            f"{write.variable(a.cosine, 1)} &= {full.variable(a.cosine, 1)}"
        )
    body = " \\\\\n".join(found)
    return f"% Shorthand\n\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _equation(write: Writer, entry: Any) -> list[str]:
    """Return the lines of one equation, the sign of equality first."""
    letter = {"tau": r"\tau"}.get(entry.term, entry.term)
    index = (
        ",".join(map(str, entry.indices))
        if max(entry.indices, default=0) > 9
        else "".join(map(str, entry.indices))
    )
    # left-hand side, then pieces until the line is full
    head = f"{letter}_{{{index}}}" if index else letter
    pieces = write.pieces(entry.value) or ["0"]
    pieces[0] = _leading(pieces[0])
    lines, column = [f"{head} ={{}}& "], 0
    for piece in pieces:
        size = _visible(piece)
        if column and column + size > MAX_LINE_CHARACTERS:
            lines.append(r"&\quad {}")
            column = 0
        lines[-1] += piece + " "
        column += size + 1
    return [line.rstrip() for line in lines]


class Writer:
    """Writes sums as pieces, each of which may begin a line."""

    def __init__(self, ring: Ring, shorthand: bool) -> None:
        """Take the ring, and whether sines are written S_2."""
        self.ring, self.shorthand = ring, shorthand

    def pieces(self, total: Sum) -> list[str]:
        """Return the parts of a sum, each with its sign."""
        return total.map_parts(self._term, self._bracket)

    def _bracket(self, product: Product) -> list[str]:
        inner = self.pieces(product.inner)
        inner[0] = f"+ {self.factors(product.head)} \\bigl({_leading(inner[0])}"
        inner[-1] += r"\bigr)"
        return inner

    def _term(self, term: Term) -> str:
        sign = "-" if term.number < 0 else "+"
        size = self._number(abs(term.number))
        factors = self.factors(term.powers)
        return f"{sign} {factors if size == '1' and factors else f'{size} {factors}'.rstrip()}"

    def _number(self, x: Any) -> str:
        text = number_text(x)
        if "/" in text:
            top, bottom = text.split("/")
            return rf"\tfrac{{{top}}}{{{bottom}}}"
        return re.sub(r"e([-+]?)0*(\d+)", lambda m: rf" \cdot 10^{{{m[1].strip('+')}{m[2]}}}", text)

    def factors(self, powers: tuple[Power, ...]) -> str:
        """Return a product."""
        return r" ".join(self.variable(v, n) for v, n in powers)

    def variable(self, v: Variable, n: int) -> str:
        """Return a power of a variable."""
        if v.kind in (COSINE, SINE):
            return self._trig(v, n)
        name = symbol_name(v.name)
        return name if n == 1 else f"{name}^{{{n}}}"

    def _trig(self, v: Variable, n: int) -> str:
        angle, power = self.ring.angles[v.angle], "" if n == 1 else f"^{{{n}}}"
        if self.shorthand:
            letter = "S" if v.kind == SINE else "C"
            return f"{letter}_{{{_angle_text(angle, '{}')}}}{power}"
        word = r"\sin" if v.kind == SINE else r"\cos"
        return f"{word}{power}({_angle_text(angle, 'q_{{{}}}')})"


def _leading(piece: str) -> str:
    """Return the first piece of a sum: no plus, and a minus close to what follows."""
    return "{-}" + piece[2:] if piece.startswith("- ") else piece.removeprefix("+ ")


def _angle_text(angle: Angle, position: str) -> str:
    """Return the name of a constant angle, or a sum of positions such as q_{2}+q_{3}."""
    if angle.name:
        return symbol_name(angle.name)
    parts = "".join(
        f"{'-' if n < 0 else '+'}{'' if abs(n) == 1 else abs(n)}{position.format(j + 1)}"
        for j, n in angle.combination
    )
    return parts.lstrip("+")


GREEK = {"al": r"\alpha", "be": r"\beta", "ga": r"\gamma"}


def symbol_name(name: str) -> str:
    r"""Return a name as a letter with an index: cx1 as c_{x1}, qdd2 as \ddot q_{2}."""
    match = re.fullmatch(r"(qdd|qd|q)(\d+)", name)
    if match:
        accent = {"q": "q", "qd": r"\dot{q}", "qdd": r"\ddot{q}"}[match[1]]
        return f"{accent}_{{{match[2]}}}"
    match = re.fullmatch(r"(al|be|ga)(\d+)", name)
    if match:
        return f"{GREEK[match[1]]}_{{{match[2]}}}"
    letter, rest = _escape(name[0]), _escape(name[1:])
    return f"{letter}_{{{rest}}}" if rest else letter


def _escape(name: str) -> str:
    """Return a name as text: nothing in it is a command of LaTeX."""
    return "".join(_AS_TEXT.get(c, c) for c in visible(name))


def _visible(piece: str) -> int:
    """Return about how wide a piece of LaTeX comes out: letters and indices, no commands."""
    plain = re.sub(r"\\(bigl|bigr|dot|ddot|cdot|tfrac)", "", piece)
    plain = re.sub(r"\\[a-z]+", "aaa", plain)
    index = sum(len(m) for m in re.findall(r"[_^]\{([^}]*)\}", plain))
    return len(re.sub(r"[_^{}]|\s", "", plain)) - index // 3
