"""JSON values that know their place in the file, read strictly.

The line of a value is found by a slow second reading, made only for error messages.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn

from sixfold.errors import RobotFileError, near_names
from sixfold.formats.xml import LARGEST, excerpt

Path = tuple[str | int, ...]
MAX_TOKENS = 2_000_000  #: In a longer file the line is that of the last place found.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|\n|[^\s\[\]{},:"]+', re.DOTALL)


def line_of(text: str, path: Path) -> int:
    """Return the line on which a value begins, or that of the nearest place around it."""
    # the nearest enclosing place, if the value itself is not found
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
    # the first path that comes again with this key
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
        # leave a list or an object
        if token in "]}":
            open_ = open_[:-1]
        # the next index, or the next key
        elif token == ",":
            if open_ and isinstance(open_[-1], int):
                open_[-1] += 1
            elif open_:
                open_[-1] = None
        # a key; its value follows
        elif open_ and open_[-1] is None and token[0] == '"':
            open_[-1] = pending = token[1:-1]
        else:
            # a value, and what is inside it
            yield tuple(x for x in open_ if x is not None), here, pending is not None
            pending = None
            if token in "[{":
                open_.append(0 if token == "[" else None)


MAX_VALUES, MAX_ESCAPES = 4_000_000, 200_000


class Node:
    """A value of the file with its path, for errors."""

    __slots__ = ("doc", "path", "value")

    def __init__(self, doc: Document, value: Any, path: Path) -> None:
        """Look at a value."""
        self.doc, self.value, self.path = doc, value, path

    def fail(self, what: str, fix: str, *, expected: str = "", got: str = "") -> NoReturn:
        """Raise an error at this value."""
        raise RobotFileError(
            what,
            file=self.doc.file,
            line=line_of(self.doc.text, self.path),
            element=path_text(self.path),
            expected=expected,
            got=got,
            fix=fix,
        )

    def wrong(self, expected: str) -> NoReturn:
        """Raise an error about the type of this value."""
        self.fail(
            "has the wrong type",
            "correct the value",
            expected=expected,
            got=excerpt(repr(self.value)),
        )

    def fields(self, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Node]:
        """Return the members of an object that must have just these keys, and may have others."""
        if not isinstance(self.value, dict):
            self.wrong("an object { }")
        # each key that must be there, and no key that is not known
        missing = [key for key in keys if key not in self.value]
        known = (*keys, *optional)
        unknown = [key for key in self.value if key not in known]
        if missing:
            self.fail(
                f"has no '{missing[0]}'", f"write the key '{missing[0]}'", expected=", ".join(known)
            )
        if unknown:
            at = Node(self.doc, None, (*self.path, unknown[0]))
            near = near_names(unknown[0], known)
            fix = f"did you mean {', '.join(map(repr, near))}?" if near else "remove it"
            at.fail("the key is not known", fix, expected=", ".join(known))
        given = (key for key in known if key in self.value)
        return {key: Node(self.doc, self.value[key], (*self.path, key)) for key in given}

    def items(self, n: int | None = None) -> list[Node]:
        """Return the members of a list, n of them if n is given."""
        if not isinstance(self.value, list):
            self.wrong("a list [ ]")
        if n is not None and len(self.value) != n:
            self.fail(
                "the list has the wrong length",
                "add or remove entries",
                expected=str(n),
                got=str(len(self.value)),
            )
        return [Node(self.doc, value, (*self.path, k)) for k, value in enumerate(self.value)]

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self.wrong("a text")
        return self.value

    def truth(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            self.wrong("true or false")
        return self.value

    def number(self, *, none: float | None = None) -> float:
        """Return a finite number, `none` for null."""
        if self.value is None and none is not None:
            return none
        if not isinstance(self.value, float):
            self.wrong("a number" if none is None else "a number or null")
        largest = math.inf if none is not None else LARGEST
        if not (math.isfinite(self.value) and abs(self.value) <= largest):
            self.fail(
                "the number is too large",
                "correct it",
                expected=f"at most {LARGEST:g} in size",
                got=repr(self.value),
            )
        return self.value

    def numbers(self, n: int, *, none: float | None = None) -> tuple[float, ...]:
        """Return a list of n finite numbers."""
        given = self.value
        # the usual case, without a node for each number
        plain = isinstance(given, list) and len(given) == n
        if plain and all(type(x) is float and abs(x) <= LARGEST for x in given):
            return tuple(given)
        return tuple(item.number(none=none) for item in self.items(n))


class Document:
    """The text of a file, kept for the lines of errors."""

    def __init__(self, data: bytes, file: str) -> None:
        """Decode the text."""
        self.file = file
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RobotFileError(
                f"is not UTF-8 text ({error.reason})",
                file=file,
                line=data[: error.start].count(b"\n") + 1,
                fix="save the file as UTF-8",
            ) from None

    def root(self) -> Node:
        """Parse the text."""
        # refuse hostile sizes before json makes objects of them
        if sum(map(self.text.count, "[{,")) > MAX_VALUES:
            self.fail(f"more than {MAX_VALUES:,} values", 1, "split the model")
        if self.text.count("\\") > MAX_ESCAPES:
            self.fail(f"more than {MAX_ESCAPES:,} escapes", 1, "shorten the names")
        # numbers become floats at once: JSON has one kind
        try:
            value = json.loads(
                self.text,
                object_pairs_hook=_no_doubles,
                parse_int=float,
                parse_constant=_no_constants,
            )
        except json.JSONDecodeError as error:
            what = f"not well-formed JSON: {error.msg} (column {error.colno})"
            self.fail(what, error.lineno, "correct the JSON at this place")
        except _DoubleKeyError as error:
            key = str(error.args[0])
            line = line_of_second(self.text, key)
            self.fail(f"the key '{excerpt(key)}' stands twice in one object", line, "keep one")
        except _ConstantError as error:
            line = self.text[: self.text.find(error.args[0])].count("\n") + 1
            self.fail(f"{error.args[0]} is not a number of JSON", line, "write null for no limit")
        except RecursionError:
            self.fail("lists or objects are nested too deep", 1, "flatten the file")
        return Node(self, value, ())

    def fail(self, what: str, line: int, fix: str) -> NoReturn:
        """Raise an error at a line."""
        raise RobotFileError(what, file=self.file, line=line, fix=fix)


class _DoubleKeyError(Exception):
    pass


class _ConstantError(Exception):
    pass


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise _DoubleKeyError(key)
    return found


def _no_constants(name: str) -> NoReturn:
    raise _ConstantError(name)


def path_text(path: Path) -> str:
    """Return a path as people write it: bodies[3].joint.axis."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{excerpt(key)}" for key in path)
    return text.removeprefix(".") or "the file"
