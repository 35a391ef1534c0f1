"""The line of a place in a JSON text: a slow second reading, made only for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

Path = tuple[str | int, ...]
MAX_TOKENS = 2_000_000
"""In a longer file the line is that of the last place found."""
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|\n|[^\s\[\]{},:"]+', re.DOTALL)


def line_of(text: str, path: Path) -> int:
    """Return the line on which a value begins, or that of the nearest place around it."""
    best, depth = 1, -1
    for found, line, _ in _places(text):
        if found == path:
            return line
        n = len(found)
        if depth < n < len(path) and path[:n] == found:
            best, depth = line, n
    return best


def line_of_second(text: str, key: str) -> int:
    """Return the line on which a key stands for the second time in one object."""
    seen: set[Path] = set()
    for path, line, is_key in _places(text):
        if is_key and path[-1] == key:
            if path in seen:
                return line
            seen.add(path)
    return 1


def _places(text: str) -> Iterator[tuple[Path, int, bool]]:
    """Yield the path of each value with its line; true for those that follow a key."""
    line = 1
    open_: list[str | int | None] = []
    pending: str | None = None
    for match in islice(_TOKEN.finditer(text), MAX_TOKENS):
        token = match[0]
        here = line
        line += token.count("\n")
        if token.isspace() or token == ":":
            continue
        if token in "]}":
            open_ = open_[:-1]
        elif token == ",":
            if open_ and isinstance(open_[-1], int):
                open_[-1] += 1
            elif open_:
                open_[-1] = None
        elif open_ and open_[-1] is None and token[0] == '"':
            open_[-1] = pending = token[1:-1]
        else:
            yield tuple(x for x in open_ if x is not None), here, pending is not None
            pending = None
            if token in "[{":
                open_.append(0 if token == "[" else None)
