"""The tables of docs/equations.md and the functions and tests that their rows name."""

import importlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "docs" / "equations.md"
HEADER = ["where", "what it says", "function", "test", "note"]


class Row(NamedTuple):
    """One row of a table, with the functions and tests that it names."""

    title: str
    where: str
    what: str
    functions: tuple[str, ...]
    tests: tuple[str, ...]


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


def quoted(cell):
    """Return what stands between backquotes in a cell."""
    return tuple(re.findall(r"`([^`]+)`", cell))


@cache
def every_row():
    """Return all rows of all tables."""
    return tuple(
        Row(title, where, what, quoted(functions), quoted(tests))
        for title, rows in tables().items()
        for where, what, functions, tests, _ in rows
    )


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
        if n == len(parts) > 1:  # `sixfold.simulate` is a function beside a package of that name
            thing = getattr(importlib.import_module(".".join(parts[:-1])), parts[-1])
        return thing
    raise ModuleNotFoundError(path)
