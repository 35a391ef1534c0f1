"""Every row of the ledger links to the section of a page that states it, and that runs code."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS
from tests.docs.ledger import every_row

FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
NUMBER = re.compile(r"\(\w+\)|(?:Def|Prop)\. \d")


def plain(text):
    """Return prose without the marks of mathematics, in one line."""
    return re.sub(r"\s+", " ", text.replace("$", ""))


@cache
def sections(page: Path):
    """Return {anchor: (prose, has code)} of a page; a section ends at the next heading.

    The code that follows a subheading counts for the sections above it.
    """
    text = page.read_text(encoding="utf-8")
    masked = FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    headings = list(HEADING.finditer(masked))
    found = {}
    for k, heading in enumerate(headings):
        later = headings[k + 1 :]
        end = later[0].start() if later else len(text)
        same = (h.start() for h in later if len(h[1]) <= len(heading[1]))
        whole = text[heading.start() : next(same, len(text))]
        anchor = re.sub(r"[^\w\- ]", "", heading[2].lower()).strip().replace(" ", "-")
        found[anchor] = plain(masked[heading.start() : end]), "```python" in whole
    return found


def missing(row):
    """Return what is wrong with the page of a row; None if nothing is."""
    file, _, anchor = row.page.partition("#")
    if not anchor:
        return "no section of a page"
    section = sections(DOCS / file).get(anchor)
    if section is None:
        return f"no section #{anchor} in {file}"
    prose, runs = section
    numbers = [part.strip() for part in row.where.split(",") if NUMBER.fullmatch(part.strip())]
    if not numbers and not row.stated:
        return "neither a number nor words to find"
    for text in (*numbers, row.stated):
        if plain(text) not in prose:
            return f"section #{anchor} of {file} does not hold {text}"
    if not runs and file != "ma23.md":  # its code is above the tables of coefficients
        return f"section #{anchor} of {file} has no code"
    return None


@pytest.mark.parametrize("source", sorted({row.source for row in every_row()}))
def test_every_row_has_a_section_that_states_and_runs_it(source):
    rows = [row for row in every_row() if row.source == source]
    assert {(row.where, row.says): why for row in rows if (why := missing(row))} == {}


def test_a_page_that_states_something_else_is_found():
    row = next(r for r in every_row() if r.where == "(17)" and r.source == "Carius")
    assert missing(row) is None
    assert "no section of" in missing(replace(row, page=""))
    assert "no section #" in missing(replace(row, page=row.page.replace("#3", "#33")))
    assert "does not hold (21b)" in missing(replace(row, where="(21b)"))
    assert "does not hold no such words" in missing(replace(row, stated="no such words"))
    assert "neither" in missing(replace(row, where="below (17)"))
