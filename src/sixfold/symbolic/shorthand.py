"""Equations as text in the lecture's shorthand: S2 = sin q2, C(2+3) = cos(q2 + q3), SS, CC and SC.

`sum_text` prints a sum in it, in one line or several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sixfold.errors import OptionError, visible
from sixfold.symbolic.polynomial import COSINE, SINE, Angle, Polynomial, Ring
from sixfold.symbolic.simplify import Power, Product, Sum, Term, nest

# -- the terms and their elements


TERMS = ("M", "V", "B", "C", "G", "T", "U", "tau")
TITLES = {
    "M": "Mass matrix",
    "V": "Centrifugal and Coriolis forces",
    "B": "Coriolis coefficients",
    "C": "Centrifugal coefficients",
    "G": "Gravity forces",
    "T": "Kinetic energy",
    "U": "Potential energy",
    "tau": "Joint forces without springs, damping and friction",
}


@dataclass(frozen=True)
class Entry:
    """One element of a term: its indices from 1 (none for an energy) and its value."""

    term: str
    indices: tuple[int, ...]
    form: Polynomial

    @property
    def value(self) -> Sum:
        """The element, arranged for the eye."""
        return nest(self.form)


def term_names(terms: str) -> list[str]:
    """Return the terms named in a list such as "M,V,G"."""
    if not isinstance(terms, str):
        raise OptionError("equations", "terms", TERMS, terms)
    names = [word.strip() for word in terms.split(",")]
    for name in names:
        if name not in TERMS:
            raise OptionError("equations", "terms", TERMS, name)
    return names


def entries(equations: Any, term: str) -> Iterator[Entry]:
    """Yield the elements of a term that are not zero; of M those on and below the diagonal."""
    forms = equations.forms
    if term in ("T", "U"):
        form = forms.kinetic_energy if term == "T" else forms.potential_energy
        yield Entry(term, (), form)
        return
    table = getattr(forms, term)
    for i, row in enumerate(table, 1):
        if isinstance(row, Polynomial):
            yield Entry(term, (i,), row)
            continue
        for j, form in enumerate(row, 1):
            if form and (term != "M" or j <= i):
                yield Entry(term, (i, j), form)


def column_pairs(n: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j) of velocities that the columns of B belong to, from 1."""
    return [(i, j) for i in range(1, n + 1) for j in range(i + 1, n + 1)]


# -- writing


def label(angle: Angle) -> str:
    """Return the number of an angle, or (2+3), or the name of a constant one."""
    if angle.name:
        return f"({angle.name})"
    parts = [("-" if n < 0 else "+", abs(n), j + 1) for j, n in angle.combination]
    text = "".join(f"{sign}{'' if n == 1 else f'{n}*'}{j}" for sign, n, j in parts).lstrip("+")
    return text if text.isdecimal() else f"({text})"


def factors(ring: Ring, powers: tuple[Power, ...]) -> list[str]:
    """Return factors as words; a sine and a cosine of one angle become SC."""
    # a sine and a cosine of one angle become SC, squares SS and CC
    words: dict[int, str] = {}
    plain: list[str] = []
    for variable, n in powers:
        if variable.kind in (COSINE, SINE):
            letter = "S" if variable.kind == SINE else "C"
            before = words.get(variable.angle, "")
            words[variable.angle] = letter * n + before if letter == "S" else before + letter * n
        else:
            plain.append(variable.name if n == 1 else f"{variable.name}^{n}")
    order = sorted(words, key=lambda k: (not ring.angles[k].name, ring.angles[k].combination))
    return [words[k] + label(ring.angles[k]) for k in order] + plain


def sum_text(ring: Ring, total: Sum, width: int = 0, indent: str = "    ") -> str:
    """Return a sum as text, in lines of at most `width` columns if given."""
    pieces = _pieces(ring, total)
    if not pieces:
        return "0"
    # break the line before a piece that does not fit
    first, *rest = pieces
    text = first[2:] if first.startswith("+ ") else "-" + first[2:]
    column = len(text)
    for piece in rest:
        if width and column + len(piece) > width:
            text += f"\n{indent}"
            column = len(indent) - 1
        else:
            text += " "
        text += piece
        column += len(piece) + 1
    return text


def _pieces(ring: Ring, total: Sum) -> list[str]:
    """Return words that may stand at the beginning of a line; each begins with a sign."""
    return total.map_parts(partial(_term, ring), partial(_bracket, ring))


def _bracket(ring: Ring, product: Product) -> list[str]:
    inner = _pieces(ring, product.inner)
    first = inner[0][2:] if inner[0].startswith("+ ") else "-" + inner[0][2:]
    inner = [f"+ {' '.join(factors(ring, product.head))} ({first}", *inner[1:]]
    return [*inner[:-1], inner[-1] + ")"]


def _term(ring: Ring, term: Term) -> str:
    words = factors(ring, term.powers)
    size = number_text(abs(term.number))
    if size != "1" or not words:
        words.insert(0, size)
    return f"{'-' if term.number < 0 else '+'} {' '.join(words)}"


def number_text(x: Any) -> str:
    """Return a number as short as it can be without loss."""
    if isinstance(x, Fraction) and x.denominator != 1:
        return f"{x.numerator}/{x.denominator}"
    return str(x) if isinstance(x, (int, Fraction)) else repr(float(x))


# -- whole equations


def text(equations: Any, terms: str, width: int) -> str:
    """Return some terms and a legend of the parameters."""
    ring, name = equations.ring, visible(equations.model.name)
    lines = [f"{name}: M(q) qdd + V(q, qd) + G(q) + F = tau"]
    lines += ["S2 = sin q2, C(2+3) = cos(q2 + q3), SS = S S, SC = S C, CC = C C", ""]
    for term in term_names(terms):
        lines.append(f"{TITLES[term]} {term}" + _note(equations, term))
        for entry in entries(equations, term):
            index = f"[{','.join(map(str, entry.indices))}]" if entry.indices else ""
            head = f"  {term}{index} = "
            body = sum_text(ring, entry.value, width - len(head), " " * 6)
            lines.append(head + body)
        lines.append("")
    return "\n".join(lines + legend(equations))


def _note(equations: Any, term: str) -> str:
    if term == "M":
        return " (symmetric; elements left out are zero)"
    if term == "B":
        pairs = column_pairs(equations.model.nv)
        return " of " + ", ".join(f"qd{i} qd{j}" for i, j in pairs)
    return " of qd1^2, qd2^2, ..." if term == "C" else ""


def legend(equations: Any) -> list[str]:
    """Return the parameters with their values, a few on each line."""
    words = [f"{name} = {value:.6g}" for name, value in equations.values.items()]
    if not words:
        return []
    rows = [", ".join(words[k : k + 6]) for k in range(0, len(words), 6)]
    return ["Parameters", *(f"  {row}" for row in rows), ""]


def used_angles(equations: Any, terms: str) -> list[int]:
    """Return the angles whose sines or cosines the terms contain."""
    # angles in terms and in the heads of brackets
    found: set[int] = set()

    def walk(total: Sum) -> None:
        for part in total.parts:
            powers = part.head if isinstance(part, Product) else part.powers
            found.update(v.angle for v, _ in powers if v.kind in (COSINE, SINE))
            if isinstance(part, Product):
                walk(part.inner)

    for term in term_names(terms):
        for entry in entries(equations, term):
            walk(entry.value)
    angles = equations.ring.angles
    return sorted(found, key=lambda k: (not angles[k].name, angles[k].combination))
