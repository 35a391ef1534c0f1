"""The equation ledger: each equation of the sources with its function, its test and its misprint.

The rows are in `equations.toml`; the page `docs/equations.md` and the tests read them here as well.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("equations.toml")


@dataclass(frozen=True)
class Row:
    """One equation, identity, algorithm, definition or example of a source."""

    source: str  #: Short name of the source, such as "Khatib".
    title: str  #: Its author and title.
    where: str  #: Where it stands in the source.
    says: str  #: What it says, in plain text.
    functions: tuple[str, ...]  #: What computes it.
    tests: tuple[str, ...]  #: What proves it: "file::test".
    page: str = ""  #: Section of a page of the documentation that states and runs it.
    stated: str = ""  #: Words of that section that state it, if not the number of the equation.
    note: str = ""  #: Where the text is wrong or lost: what is printed, and what is right.
    latex: str = ""  #: The formula in LaTeX, for some of the rows.
    letters: tuple[str, ...] = ()  #: Letters that have a value for a model.


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows, source by source."""
    content = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    lists = ("functions", "tests", "letters")
    return tuple(
        Row(source["name"], source["title"], **row | {k: tuple(row.get(k, ())) for k in lists})
        for source in content["source"]
        for row in source["row"]
    )
