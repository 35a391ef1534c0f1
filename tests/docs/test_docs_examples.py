"""Every Python block of the pages runs; blocks of one page share a namespace."""

from importlib.util import find_spec

import pytest

from tests.docs.blocks import BLOCK, DOCS, run

FOLDERS = [".", "inside", "start", "jobs", "coming_from"]
if not (find_spec("nbclient") and find_spec("ipykernel")):
    FOLDERS.append("book")  # whose chapters test_chapters.py runs as notebooks
PAGES = sorted(page for folder in FOLDERS for page in (DOCS / folder).glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_python_block_of_the_page_runs(page):
    run(page)


def test_there_are_pages_with_examples():
    with_examples = {page.stem for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))}
    assert {"conventions", "formulations", "floating_link"} <= with_examples
