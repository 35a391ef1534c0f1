"""Equations of the sources, found by their names, with their letters bound to a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill, shorten
from typing import Any, NamedTuple

import numpy as np

from sixfold.checks.explanation.ledger import Row, rows
from sixfold.checks.explanation.letters import LETTERS, State
from sixfold.errors import NotApplicableError, UnknownNameError, visible
from sixfold.show import block, listing, plain

WIDTH = 80  #: Columns of the printed text.
MAX_NUMBERS = 64  #: Elements of a value that is printed; of larger ones the shape is.
TOKEN = re.compile(r"[^\s,()]+")
SYNONYMS = {"crba": "composite", "rnea": "newton-euler", "aba": "articulated", "id": "inverse"}


class BoundLetter(NamedTuple):
    """A letter of an equation, what it means, and its value for a model."""

    letter: str
    meaning: str
    value: Any  #: None if `missing` says why.
    missing: str  #: Why it has no value, such as "pass v, a"; else empty.


@dataclass(frozen=True, eq=False)
class SourceEquations:
    """Equations of a source: what they say, where it is wrong, what computes and what proves them.

    Print it for the text; `found["H"]` is the value of a letter for the model.
    """

    rows: tuple[Row, ...]  #: Rows of the equation ledger.
    state: State | None = None  #: The model and state that letters are bound to.

    @cached_property
    def letters(self) -> tuple[BoundLetter, ...]:
        """The letters that have a value for a model, in the order of the equations."""
        names = [(row.source, name) for row in self.rows for name in row.letters]
        return tuple(self._bind(*each) for each in dict.fromkeys(names if self._in_full else ()))

    def _bind(self, source: str, name: str) -> BoundLetter:
        meaning, needs, value = LETTERS[source][name]
        missing = [argument for argument in needs if getattr(self.state, argument, None) is None]
        if self.state is None or missing:
            wanted = missing if self.state else ["model", *needs]
            return BoundLetter(name, meaning, None, f"pass {', '.join(wanted)}")
        try:
            return BoundLetter(name, meaning, value(self.state), "")
        except NotApplicableError as error:
            return BoundLetter(name, meaning, None, str(error).splitlines()[0])

    def __getitem__(self, letter: str) -> Any:
        """Return the value of a letter."""
        for each in self.letters:
            if each.letter == letter and each.value is not None:
                return each.value
        known = [each.letter for each in self.letters if each.value is not None]
        raise UnknownNameError("letter", letter, known, where=_name(self.rows[0]))

    def __iter__(self) -> Iterator[str]:
        """Go through the letters that have a value."""
        return iter(each.letter for each in self.letters if each.value is not None)

    @property
    def latex(self) -> str:
        """The equations in LaTeX; empty where the ledger has them in plain text only."""
        return r" \quad ".join(row.latex for row in self.rows if row.latex)

    @property
    def _in_full(self) -> bool:
        """Whether all rows stand at one place of one source; others are listed."""
        return len({(row.source, row.where) for row in self.rows}) == 1

    def __repr__(self) -> str:
        """Return one line; print the object for the text."""
        bound = f" for '{visible(self.state.model.name)}'" if self.state else ""
        first = _name(self.rows[0])
        if self._in_full:
            return f"<{first}: {shorten(self.rows[0].says, 50)}{bound}>"
        return f"<{len(self.rows)} equations, from {first} to {_name(self.rows[-1])}>"

    def __str__(self) -> str:
        """Print the equations in full, or a list if there are several places."""
        if not self._in_full:
            several = len({row.source for row in self.rows}) > 1
            places = [_name(row) if several else row.where for row in self.rows]
            says = [f"{row.says}{'  [note]' if row.note else ''}" for row in self.rows]
            return "\n".join(_wrap(f"{x}  ", y) for x, y in zip(places, says, strict=True))
        title = self.rows[0].title.replace("*", "")
        parts = [_wrap("", f"{_name(self.rows[0])}: {title}")]
        for row in self.rows:
            parts.append("\n" + _wrap("    ", row.says))
            if row.note:
                parts.append(_wrap("  note     ", row.note))
            if row.page:
                parts.append(_wrap("  page     ", f"docs/{row.page}"))
            parts += [_wrap("  function ", name) for name in row.functions]
            for address in row.tests:
                file, _, name = address.partition("::")
                parts += [_wrap("  test     ", f"{file}::"), _wrap(" " * 13, name)]
        if self.letters:
            about = f" for '{visible(self.state.model.name)}'" if self.state else ""
            if self.rows[0].source == "Concurrent Dynamics" and list(self):
                about += f", in {self.state.operators.axes} axes" if self.state else ""
            parts.append(f"\nLetters{about}")
        for each in self.letters:
            missing = f" ({each.missing})" if each.missing else ""
            parts.append(_wrap(f"  {each.letter:<9} ", each.meaning + missing))
            if each.value is not None:
                parts.append("\n".join(f"            {line}" for line in _lines(each.value)))
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """Return the formulas and the text, for notebooks."""
        formula = f"<p>$\\displaystyle {plain(self.latex)}$</p>" if self._in_full else ""
        return block(formula if self.latex else "", listing(str(self)))


def _name(row: Row) -> str:
    return f"{row.source} {row.where}"


def _wrap(start: str, text: str) -> str:
    """Return a text in lines of WIDTH columns; those after the first are indented."""
    far = " " * (len(start) if len(start) < 16 else 11)
    whole = {"break_on_hyphens": False, "break_long_words": False}
    return fill(text, WIDTH, initial_indent=start, subsequent_indent=far, **whole)  # type: ignore


def _lines(value: Any) -> list[str]:
    """Return a value in lines, of a large array its shape."""
    if isinstance(value, dict):
        text = ", ".join(f"{i}: {set(members) or '{}'}" for i, members in value.items())
        return fill(text, WIDTH - 12).splitlines()
    array = np.asarray(value)
    if array.size > MAX_NUMBERS:
        return [f"array {array.shape}"]
    if array.dtype.kind == "f" and array.any():
        # six digits of the largest number, and no negative zeros
        array = np.round(array, 5 - int(np.floor(np.log10(np.abs(array).max())))) + 0.0
    text = np.array2string(array, WIDTH - 12, precision=6, suppress_small=True)
    return text.splitlines()


# -- names of equations


def find_equations(text: str) -> tuple[Row, ...]:
    """Return the rows that a name means: 'Featherstone CRBA (8)', 'Khatib', 'Remark 3'.

    Words of a source's name choose the source.  All other words must be found in the row, numbers
    in its place.
    """
    words = _tokens(text)
    sources = {row.source for row in rows()}
    chosen = {source for source in sources if _tokens(source) & words - {"dynamics"}} or sources
    known = [row for row in rows() if row.source in chosen]
    left = words.difference(*(_tokens(source) for source in chosen if chosen != sources))
    found = [row for row in known if all(_matches(word, row) for word in left)]
    if not found or not words:
        # the sources stand first in the list of known names
        names = dict.fromkeys([*(row.source for row in known), *map(_name, known)])
        raise UnknownNameError("equation", text, names, where="the sources")
    # a place that is exactly the words, or exactly the numbers, is meant alone
    for wanted in (left, set(filter(_is_number, left))):
        exact = [row for row in found if wanted and _tokens(row.where) == wanted]
        if exact:
            return tuple(exact)
    return tuple(found)


def _tokens(text: str) -> set[str]:
    return set(TOKEN.findall(text.casefold()))


def _is_number(word: str) -> bool:
    return any(c.isdigit() for c in word)


def _matches(word: str, row: Row) -> bool:
    if _is_number(word):
        return word in _tokens(row.where)
    whole = " ".join((row.where, row.says, *row.functions, *row.tests)).casefold()
    return word in whole or SYNONYMS.get(word, word) in whole
