"""Chapters, tutorials and the page on the MA23 use public names only."""

import ast
import importlib
import inspect

import pytest

import sixfold as sf
from tests.docs.blocks import DOCS, blocks

CHAPTERS = sorted(DOCS.glob("book/*.md"))
PAGES = [*CHAPTERS, *sorted(DOCS.glob("tutorials/*.md")), DOCS / "ma23.md"]
PUBLIC = {name for name in sf.__all__ if inspect.ismodule(getattr(sf, name))}


def faults(code):
    """Return what a block takes from modules that are not public."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.startswith(("sixfold.", "tests"))]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
            found.append(node.module)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sixfold":
            inner = node.module.removeprefix("sixfold").lstrip(".")
            names = {alias.name for alias in node.names}
            if inner and inner not in PUBLIC:
                found.append(node.module)
            else:
                module = importlib.import_module(node.module)
                found += [f"{node.module}.{name}" for name in sorted(names - {*module.__all__})]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "sf":
            found += [f"sf.{node.attr}"] * (node.attr not in {*sf.__all__, "__version__"})
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_uses_public_names_only(page):
    found = [x for block in blocks(page.read_text(encoding="utf-8")) for x in faults(block)]
    assert found == []


def test_private_names_are_found():
    assert faults("from sixfold.dynamics.book.rnea import rnea") == ["sixfold.dynamics.book.rnea"]
    assert faults("from sixfold.scalar import Zero") == ["sixfold.scalar"]
    assert faults("from tests.symbolic.ma23 import corrected") == ["tests.symbolic.ma23"]
    assert faults("from sixfold.planar import numbers") == ["sixfold.planar.numbers"]
    assert faults("import sixfold.scalar as s") == ["sixfold.scalar"]
    assert faults("import sixfold as sf\nsf.dynamics.book") == ["sf.dynamics"]
    assert faults("import sixfold as sf\nfrom sixfold import spatial\nsf.book.rnea") == []
