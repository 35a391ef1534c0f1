"""Pages for those who come from other libraries: the names in their tables exist on both sides."""

import importlib
import inspect
import re

import pytest

import sixfold as sf
from sixfold.hints import name_here
from tests.docs.blocks import DOCS, NEEDS

PAGES = sorted((DOCS / "coming_from").glob("[a-z]*.md"))
PREFIXES = {
    "pinocchio": {"pin": "pinocchio"},
    "mujoco": {"mujoco": "mujoco"},
    "robotics_toolbox": {"rtb": "roboticstoolbox"},
    "sympy": {"sp": "sympy", "me": "sympy.physics.mechanics"},
}
CODE = re.compile(r"`([^`]+)`")
TABLE = re.compile(r"^## Names$(.*?)^## ", re.MULTILINE | re.DOTALL)


def rows(page):
    """Return the cells of the tables of names: theirs and ours."""
    text = page.read_text(encoding="utf-8")
    lines = [line for part in TABLE.findall(text) for line in part.splitlines()]
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    return [row for row in cells if len(row) == 2 and "`" in row[0]]


def spans(cell, prefix):
    """Yield the dotted names behind a prefix in the code of a cell."""
    for code in re.findall(r"`([^`]+)`", cell):
        yield from re.findall(rf"(?<![\w.])({prefix}(?:\.\w+)+)", code)


def resolve(module, path):
    """Return what a dotted path names; its parts may be modules."""
    value, name = module, module.__name__
    for part in path.split(".")[1:]:
        name = f"{name}.{part}"
        if not hasattr(value, part):
            assert inspect.ismodule(value), f"{name} does not exist"
            importlib.import_module(name)
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem != "index"], ids=lambda p: p.stem)
def test_every_name_of_ours_exists(page):
    found = [path for _, ours in rows(page) for path in spans(ours, "sf")]
    assert len(found) >= 20
    for path in found:
        resolve(sf, path)


@pytest.mark.parametrize("name", PREFIXES)
def test_every_name_of_theirs_exists(name):
    page = DOCS / "coming_from" / f"{name}.md"
    found = 0
    for prefix, module in PREFIXES[name].items():
        library = pytest.importorskip(module)
        for theirs, _ in rows(page):
            for path in spans(theirs, prefix):
                resolve(library, path)
                found += 1
    assert found >= 20


@pytest.mark.parametrize("name", PREFIXES)
def test_a_page_that_runs_another_library_says_so(name):
    text = (DOCS / "coming_from" / f"{name}.md").read_text(encoding="utf-8")
    needed = NEEDS.match(text)
    assert needed and f"import {needed.group(1)}" in text


def test_the_table_of_pages_names_them_all():
    text = (DOCS / "coming_from" / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert page.stem == "index" or f"({page.name})" in text


def test_hints_of_unknown_names_agree_with_the_pages():
    found = 0
    for page in PAGES:
        for theirs, ours in rows(page):
            names = [re.split(r"[(]", code)[0].split(".")[-1] for code in CODE.findall(theirs)]
            known = {path.removeprefix("sf.") for path in spans(ours, "sf")}
            for name in names:
                if known and (hint := name_here(name)) and not hasattr(sf, name):
                    found += hint in known
    assert found > 150
