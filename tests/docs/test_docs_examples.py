"""Every Python block of the pages runs; blocks of one page share a namespace."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """Yield each block, padded so that line numbers are those of the page."""
    for found in BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, found.start(1)) + found.group(1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_python_block_of_the_page_runs(page):
    namespace = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), namespace)


def test_there_are_pages_with_examples():
    with_examples = {page.stem for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))}
    assert {"conventions", "formulations", "floating_link"} <= with_examples
