"""The gallery: a dozen pictures by code on the page, each with a way on."""

import re

from tests.docs.blocks import BLOCK, DOCS

TEXT = (DOCS / "gallery.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
MADE = {title: text for title, text in SECTIONS.items() if "plt." in text}


def test_there_are_a_dozen_pictures_with_titles():
    titles = re.findall(r"plt\.(?:figure|subplots)\([^)]*?\"([^\"]+)\"", "".join(MADE.values()))
    assert len(titles) == len(set(titles)) == len(MADE) >= 12


def test_every_picture_leads_to_a_page_or_script_that_exists():
    for title, text in SECTIONS.items():
        after = BLOCK.sub("", text)
        pages = re.findall(r"\]\(([^)]+\.md)\)", after)
        scripts = re.findall(r"examples/\w+\.py", after)
        assert pages or scripts, title
        assert all((DOCS / page).is_file() for page in pages), title
        assert all((DOCS.parent / script).is_file() for script in scripts), title


def test_every_example_has_a_row_that_leads_to_a_picture():
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\[[^\]]+\]\(([^)]+)\) \|$", page, re.MULTILINE))
    assert rows.keys() == {path.stem for path in (DOCS.parent / "examples").glob("*.py")}
    for script, link in rows.items():
        file, _, anchor = link.partition("#")
        text = (DOCS / file).read_text(encoding="utf-8") if file else page
        if anchor:
            sections = re.split(r"^#+ ", text, flags=re.MULTILINE)
            plain = {
                re.sub(r"[^\w -]", "", s.split("\n")[0]).lower().replace(" ", "-"): s
                for s in sections
            }
            text = plain[anchor]
        assert "plt." in text or "![" in text, (script, link)


def test_pictures_of_the_folder_are_shown_and_small():
    files = list((DOCS / "pictures").glob("*.png"))
    shown = TEXT + (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert all(f"pictures/{file.name}" in shown for file in files)
    assert sum(file.stat().st_size for file in files) < 600_000
