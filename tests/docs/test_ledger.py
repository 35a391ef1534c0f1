"""The equation ledger: every row names a function that exists and a test that exists."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "docs" / "equations.md"
HEADER = ["where", "what it says", "function", "test", "note"]


def cells(line):
    """Return the cells of one line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@cache
def tables():
    """Return {section title: rows of its table}."""
    found, title = {}, None
    for line in LEDGER.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            title = line[3:].strip()
        elif line.startswith("|") and title is not None:
            found.setdefault(title, []).append(cells(line))
    return {title: lines[2:] for title, lines in found.items() if lines[0] == HEADER}


def source(word):
    """Return the rows of the source whose title holds a word."""
    (title,) = [title for title in tables() if word in title]
    return tables()[title]


def quoted(cell):
    """Return what stands between backquotes in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def every_row():
    return [(title, row) for title, rows in tables().items() for row in rows]


def resolve(path):
    """Import the longest module of a dotted path and follow the rest as attributes."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for k, name in enumerate(parts[n:]):
            declared = getattr(thing, "__annotations__", {})
            if not hasattr(thing, name) and name in declared and k == len(parts[n:]) - 1:
                return declared[name]  # a field without a default
            thing = getattr(thing, name)
        return thing
    raise ModuleNotFoundError(path)


@cache
def names_in(file):
    """Return the names of the test functions of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_there_is_one_table_for_each_source():
    assert len(tables()) == 5


def test_every_row_has_five_cells():
    for title, row in every_row():
        assert len(row) == len(HEADER), (title, row)


def test_every_row_says_where_and_what():
    for title, (where, what, *_) in every_row():
        assert where and what, (title, where, what)


def test_every_named_function_exists():
    for title, (where, _, functions, _, _) in every_row():
        assert quoted(functions), (title, where, "names no function")
        for path in quoted(functions):
            assert path.startswith("sixfold."), (title, where, path)
            resolve(path)


def test_every_named_test_exists():
    for title, (where, _, _, tests, _) in every_row():
        assert quoted(tests), (title, where, "names no test")
        for address in quoted(tests):
            file, _, name = address.partition("::")
            assert name.startswith("test_"), (title, where, address)
            assert (ROOT / file).is_file(), (title, where, file)
            assert name in names_in(file), (title, where, address)


def test_every_coefficient_of_the_ma23_has_its_row():
    rows = [row[0] for row in source("Khatib") if row[0].startswith("MA23")]
    names = ("11", "22", "33", "44", "55", "66", "12", "13")
    assert rows == [f"MA23, A_{name}" for name in names]


NUMBERED = {
    "Featherstone": [f"({n})" for n in range(1, 9)],
    "Carius": [f"({n})" for n in range(1, 52)],
    "Concurrent Dynamics": [
        *(f"({n})" for n in range(1, 21) if n != 19),
        *("(5a)", "(18a)", "(18b)", "(18c)", "(19a)", "(19b)"),
        *("Def. 1", "Def. 2", "Prop. 1", "Prop. 2", "Prop. 5"),
        *(f"(P{n})" for n in range(1, 5)),
        *(f"(M{n})" for n in range(1, 5)),
        *(f"(N{n})" for n in range(1, 5)),
    ],
}


@pytest.mark.parametrize("name", NUMBERED)
def test_every_numbered_equation_has_its_row(name):
    present = {part.strip() for row in source(name) for part in row[0].split(",")}
    assert [number for number in NUMBERED[name] if number not in present] == []


@pytest.mark.parametrize("n", range(1, 7))
def test_every_remark_of_carius_has_its_row(n):
    assert any(row[0].startswith(f"Remark {n}") for row in source("Carius"))


def test_no_row_stands_twice():
    seen = set()
    for title, row in every_row():
        key = (title, row[0], row[1])
        assert key not in seen, key
        seen.add(key)
