"""Every function that the ledger names is on a page of the documentation, for each source."""

import re

import pytest

from tests.docs.blocks import DOCS
from tests.docs.ledger import every_row, tables

PAGES = [*DOCS.glob("book/*.md"), *(p for p in DOCS.glob("*.md") if p.stem != "equations")]
WORDS = set(re.findall(r"\w+", "\n".join(page.read_text(encoding="utf-8") for page in PAGES)))


def name_of(path):
    """Return the last part of a dotted path; operators go by their class."""
    parts = [part for part in path.split(".") if not part.startswith("__")]
    return parts[-1]


@pytest.mark.parametrize("title", tables())
def test_every_function_of_a_source_is_on_a_page(title):
    named = {
        path
        for row in every_row()
        if row.title == title
        for path in row.functions
        if path.startswith("sixfold.")
    }
    assert named
    missing = sorted(path for path in named if name_of(path) not in WORDS)
    assert not missing


def test_every_chapter_has_figures():
    for page in DOCS.glob("book/*.md"):
        text = page.read_text(encoding="utf-8")
        drawn = len(re.findall(r"plt\.figure\(|plt\.subplots\(", text))
        assert drawn >= 5, page.stem
