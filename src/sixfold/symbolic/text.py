"""Equations as plain text in the lecture's shorthand."""

from __future__ import annotations

from typing import Any

from sixfold.errors import visible
from sixfold.symbolic.compact import Product, Sum
from sixfold.symbolic.listing import TITLES, chosen, column_pairs, entries
from sixfold.symbolic.ring import COSINE, SINE
from sixfold.symbolic.shorthand import written


def text(equations: Any, terms: str, width: int) -> str:
    """Return the terms asked for, with a legend of parameters."""
    ring, name = equations.ring, visible(equations.model.name)
    lines = [f"{name}: M(q) qdd + V(q, qd) + G(q) + F = tau"]
    lines += ["S2 = sin q2, C(2+3) = cos(q2 + q3), SS = S S, SC = S C, CC = C C", ""]
    for term in chosen(terms):
        lines.append(f"{TITLES[term]} {term}" + _note(equations, term))
        for entry in entries(equations, term):
            index = f"[{','.join(map(str, entry.indices))}]" if entry.indices else ""
            head = f"  {term}{index} = "
            body = written(ring, entry.value, width - len(head), " " * 6)
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
    found: set[int] = set()

    def walk(total: Sum) -> None:
        for part in total.parts:
            powers = part.head if isinstance(part, Product) else part.powers
            found.update(v.angle for v, _ in powers if v.kind in (COSINE, SINE))
            if isinstance(part, Product):
                walk(part.inner)

    for term in chosen(terms):
        for entry in entries(equations, term):
            walk(entry.value)
    angles = equations.ring.angles
    return sorted(found, key=lambda k: (not angles[k].name, angles[k].combination))
