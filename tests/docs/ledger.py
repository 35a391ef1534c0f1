"""The rows of the equation ledger, and the functions and tests that they name."""

import importlib
from functools import cache
from pathlib import Path

from sixfold.checks.explanation.ledger import Row as Row
from sixfold.checks.explanation.ledger import rows

ROOT = Path(__file__).parents[2]


def every_row():
    """Return all rows of all sources."""
    return rows()


@cache
def tables():
    """Return {title of a source: its rows}."""
    found = {}
    for row in rows():
        found.setdefault(row.title, []).append(row)
    return found


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
