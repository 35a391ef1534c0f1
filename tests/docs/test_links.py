"""The pages of the documentation hold together: links, anchors, pictures, and their order."""

import re
import sys
from functools import cache

import pytest

from tests.docs.blocks import DOCS

ROOT = DOCS.parent
PAGES = sorted(
    [
        *(p for p in DOCS.rglob("*.md") if not p.relative_to(DOCS).parts[0].startswith("_")),
        *ROOT.glob("*.md"),
    ]
)
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WEB = ("http://", "https://", "mailto:")


def prose(page):
    """Return a page without its code."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`", lambda code: "_" if "](" in code.group() else code.group(), text)


def links(page):
    return LINK.findall(prose(page))


@cache
def anchors(page):
    """Return the anchors of a page's headings, as the site and most forges make them."""
    found = set()
    for title in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-"))
    return found


@cache
def reference_pages():
    """Return the pages that the site writes from docstrings."""
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import reference
    finally:
        sys.path.pop(0)
    return reference.pages()


def missing(page, link):
    """Say what is wrong with a link; None if nothing is."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if target.is_relative_to(written := DOCS / "reference"):
        name = target.relative_to(written).as_posix().removesuffix(".rst")
        return None if name in reference_pages() else "no such page of the reference"
    if not target.exists():
        return "no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"no such heading; there are {sorted(anchors(target))}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page):
    own = [link for link in links(page) if not link.startswith(WEB)]
    assert {link: why for link in own if (why := missing(page, link))} == {}


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title, `code`\n\n[x](no.md) [y](#a-title-code) [z](#other) `[c](d)`\n")
    assert [bool(missing(page, link)) for link in links(page)] == [True, False, True]


def test_the_reference_has_a_page_for_each_public_name():
    pages = reference_pages()
    assert {"index", "commands", "control", "control/pd", "models/load"} <= pages
    assert len({page.lower() for page in pages}) == len(pages)  # some file systems have one case
    assert missing(DOCS / "index.md", "reference/control/pd.rst") is None
    assert missing(DOCS / "index.md", "reference/control/no_such.rst")


def test_no_page_shows_what_it_would_have_to_fetch():
    for page in PAGES:
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        assert not re.search(r"!\[[^\]]*\]\(http|<(?:img|script|iframe)\b", text), page


def entries(page):
    """Return the pages in the tables of contents of a page."""
    for block in TREE.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.strip() and not line.startswith(":"):
                yield line.strip()


def test_every_page_has_one_place_in_the_contents():
    pages = [page for page in PAGES if page.is_relative_to(DOCS)]
    placed = [
        (page.parent / entry).resolve().relative_to(DOCS).as_posix()
        for page in pages
        for entry in entries(page)
    ]
    assert len(placed) == len(set(placed))
    kept = [p for p in pages if not p.read_text(encoding="utf-8").startswith("---\norphan: true")]
    written = {page.relative_to(DOCS).with_suffix("").as_posix() for page in kept} - {"index"}
    assert set(placed) == written | {"reference/index"}


def test_the_front_page_has_its_six_parts():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    parts = ["Start", "The book", "How to", "Coming from", "Reference", "Inside"]
    assert re.findall(r"^:caption: (.+)$", text, re.MULTILINE) == parts
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [heading for heading in headings if heading in parts] == parts
