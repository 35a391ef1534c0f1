"""Which terms of the equations are asked for, and what each is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sixfold.errors import OptionError
from sixfold.symbolic.polynomial import Polynomial
from sixfold.symbolic.simplify import Sum, nest

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


def chosen(terms: str) -> list[str]:
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
