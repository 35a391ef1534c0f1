"""XML as a tree of elements that know their line, read by the standard library's expat.

Document types and entities are refused, and size, depth and number of elements are limited, so
that a hostile file ends in a message and not in a full memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn
from xml.parsers import expat

from sixfold.errors import RobotFileError, visible
from sixfold.formats.xml.tidy import tidied

MAX_DEPTH = 100
MAX_ELEMENTS = 400_000
MAX_ATTRIBUTES = 8 * 2**20
"""Characters of all attributes of an element: meshes are written as lists of vertices."""
SHOWN = 60


class Element:
    """One element: its tag, attributes, children, line, and the first stray text with its line."""

    __slots__ = ("attributes", "children", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        """Begin an element without children."""
        self.tag, self.attributes, self.line = tag, attributes, line
        self.children: list[Element] = []
        self.text: tuple[str, int] | None = None

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children with a tag."""
        return (child for child in self.children if child.tag == tag)


class _RootOnly(Exception):
    """Ends the reading once the root element is known."""


Begin = Callable[[Element], Callable[[Element], None] | None]
Forgive = Callable[[RobotFileError, str], None]
"""Hears of a fault that is read all the same, and how; it may raise the fault instead."""


def overlook(error: RobotFileError, reading: str) -> None:
    """Forgive without a word."""


def parse(
    data: bytes,
    file: str,
    root_only: frozenset[str] = frozenset(),
    max_depth: int = MAX_DEPTH,
    forgive: Forgive = overlook,
) -> Element:
    """Return the root element; with a tag of `root_only` the rest of the file stays unread.

    Raises:
        RobotFileError: if the data is not well-formed XML or passes a limit.
    """

    def begin(root: Element) -> Callable[[Element], None] | None:
        return None if root.tag in root_only else root.children.append

    return stream(data, file, begin, max_depth, forgive)


def stream(
    data: bytes,
    file: str,
    begin: Begin,
    max_depth: int = MAX_DEPTH,
    forgive: Forgive = overlook,
) -> Element:
    """Return the root element without its children: those are handed on as they end.

    Args:
        data: the file.
        file: its name, for errors.
        begin: takes the root element as it begins, and returns who takes its children; None leaves
            the rest of the file unread.  It begins anew where faults of the XML are repaired.
        max_depth: how deep elements may be nested.
        forgive: hears of faults of the XML that are read all the same, at the end.

    Raises:
        RobotFileError: if the data is not well-formed XML or passes a limit.
    """
    faults: list[tuple[RobotFileError, str]] = []
    try:
        root = _read(data, file, begin, max_depth, faults)
    except expat.ExpatError as error:
        repaired, faults = tidied(data, file)
        if not faults:
            raise _malformed(data, file, error) from None
        try:
            root = _read(repaired, file, begin, max_depth, faults)
        except expat.ExpatError:
            raise _malformed(data, file, error) from None
    for fault, reading in faults:
        forgive(fault, reading)
    return root


def _read(
    data: bytes,
    file: str,
    begin: Begin,
    max_depth: int,
    faults: list[tuple[RobotFileError, str]],
) -> Element:
    parser = expat.ParserCreate()
    open_: list[Element] = []
    elements = 0
    root: Element | None = None
    take: Callable[[Element], None] | None = None

    def refuse(what: str, fix: str) -> NoReturn:
        raise RobotFileError(what, file=file, line=max(1, parser.CurrentLineNumber), fix=fix)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal elements, root, take
        elements += 1
        element = Element(tag, attributes, parser.CurrentLineNumber)
        depth = len(open_)
        if depth > 1:
            open_[-1].children.append(element)
        open_.append(element)
        if attributes and sum(map(len, attributes.values())) > MAX_ATTRIBUTES:
            what = f"<{shown(tag)}> has attributes of more than {MAX_ATTRIBUTES:,} characters"
            refuse(what, "shorten the attribute")
        if elements > MAX_ELEMENTS:
            refuse(f"more than {MAX_ELEMENTS:,} elements", "split the file")
        if depth >= max_depth:
            refuse(f"elements nested more than {max_depth} deep", "flatten the file")
        if root is None:
            root, take = element, begin(element)
            if take is None:
                raise _RootOnly

    def end(_: str) -> None:
        element = open_.pop()
        if take and len(open_) == 1:
            take(element)

    def characters(text: str) -> None:
        if open_[-1].text is None and not text.isspace():
            open_[-1].text = (text.strip(), parser.CurrentLineNumber)

    def doctype(name: str, system: object, public: object, inside: object) -> None:
        if not (system or public or inside):
            # without entities and other files it says nothing
            what, fix = "has a document type (<!DOCTYPE ...>)", "remove it"
            error = RobotFileError(what, file=file, line=parser.CurrentLineNumber, fix=fix)
            faults.append((error, "it is left out"))
            return
        refuse(
            "a document type (<!DOCTYPE ...>) is not accepted, nor are the entities it may define",
            "remove the <!DOCTYPE ...> and write its entities out",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except _RootOnly:
        pass
    except (LookupError, ValueError) as error:
        if isinstance(error, RobotFileError):
            raise
        raise _encoding(file, str(error)) from None
    finally:
        # parser and handlers know each other: let both go
        parser.StartElementHandler = parser.EndElementHandler = None
        parser.CharacterDataHandler = parser.StartDoctypeDeclHandler = None
    assert root is not None
    return root


def _malformed(data: bytes, file: str, error: expat.ExpatError) -> RobotFileError:
    reason = expat.ErrorString(error.code)
    if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]:
        return _encoding(file, reason)
    fix = {
        "no element found": "write the missing end tags: the file looks cut off",
        "unclosed token": "write the missing '>' or quote: the file looks cut off",
        "undefined entity": "write the character itself, or one of &lt; &gt; &amp; &quot; &apos;",
        "duplicate attribute": "keep one of the two attributes",
        "mismatched tag": "close the elements in the order in which they were opened",
    }.get(reason, "correct the XML at this place")
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")):
        fix = "this looks like a binary file: give a text file with a <robot> element"
    what = f"not well-formed XML: {reason} (column {error.offset + 1})"
    return RobotFileError(what, file=file, line=max(1, error.lineno), fix=fix)


def _encoding(file: str, reason: str) -> RobotFileError:
    return RobotFileError(
        f"the encoding that the XML declaration names cannot be read ({reason})",
        file=file,
        line=1,
        expected="UTF-8, UTF-16, ISO-8859-1, US-ASCII or another encoding of single bytes",
        fix='save the file as UTF-8 and declare encoding="utf-8"',
    )


def shown(text: object) -> str:
    """Return a text short enough for a message, on one line."""
    cut = str(text)[: SHOWN + 1]
    flat = visible(cut)
    return flat if len(cut) <= SHOWN else flat[:SHOWN] + "..."
