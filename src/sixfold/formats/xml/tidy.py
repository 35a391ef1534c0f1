"""XML that breaks a rule which other readers overlook, put right without moving any line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sixfold.errors import RobotFileError

_DECLARATION = re.compile(rb"<\?xml\s[^<>]{0,200}\?>")
_ENCODING = re.compile(rb"encoding\s*=\s*[\"']([\w.-]{1,40})[\"']")
_LONE_AMPERSAND = re.compile(rb"&(?!(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|\w{1,32});)")
_BOM = b"\xef\xbb\xbf"

Step = tuple[bytes, int, str, str, str]
"""The repaired data, the offset of the fault, what it is, how it is read, how to fix the file."""


def tidied(data: bytes, file: str) -> tuple[bytes, list[tuple[RobotFileError, str]]]:
    """Return data that may be well-formed, and each fault with the way it is read.

    Only faults that leave one reading are repaired: a declaration behind blanks or comments, "--"
    in a comment, a lone "&", bytes that are no UTF-8.
    """
    faults: list[tuple[RobotFileError, str]] = []
    if b"\0" in data:
        return data, faults
    steps: tuple[Callable[[bytes], Iterator[Step]], ...] = (
        _encoding,
        _declaration,
        _comments,
        _ampersands,
    )
    for step in steps:
        for repaired, offset, what, reading, fix in step(data):
            line = data.count(b"\n", 0, offset) + 1
            faults.append((RobotFileError(what, file=file, line=line, fix=fix), reading))
            data = repaired
    return data, faults


def _encoding(data: bytes) -> Iterator[Step]:
    named = _ENCODING.search(data[:400])
    if named and named[1].lower() not in (b"utf-8", b"utf8", b"us-ascii", b"ascii"):
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        repaired = data.decode("latin-1").encode("utf-8")
        what, fix = "not well-formed XML: bytes that are no UTF-8", "save the file as UTF-8"
        yield repaired, error.start, what, "they are read as Latin-1", fix


def _declaration(data: bytes) -> Iterator[Step]:
    start = len(_BOM) if data.startswith(_BOM) else 0
    found = _DECLARATION.search(data, start)
    if not found or found.start() == start or not _only_comments(data[start : found.start()]):
        return
    before, after = data[start : found.start()], data[found.end() :]
    repaired = data[:start] + found[0].replace(b"\n", b" ") + before + after
    what = "not well-formed XML: the declaration <?xml ...?> is not at the start"
    fix = "move it to the start of the file, before blanks and comments"
    yield repaired, found.start(), what, "it is read as if it were", fix


def _only_comments(data: bytes) -> bool:
    """Tell whether there is nothing but blanks and comments."""
    rest = data.strip()
    while rest.startswith(b"<!--"):
        end = rest.find(b"-->", 4)
        if end < 0:
            return False
        rest = rest[end + 3 :].lstrip()
    return not rest


def _comments(data: bytes) -> Iterator[Step]:
    pieces: list[bytes] = []
    first, at = -1, 0
    while (start := data.find(b"<!--", at)) >= 0:
        end = data.find(b"-->", start + 4)
        if end < 0:
            break
        inside = data[start + 4 : end]
        pieces.append(data[at:start])
        if b"--" in inside or inside.endswith(b"-"):
            first = start if first < 0 else first
            # blanked, but for its lines
            inside = b"\n" * inside.count(b"\n")
        pieces.append(b"<!--" + inside + b"-->")
        at = end + 3
    if first >= 0:
        repaired = b"".join(pieces) + data[at:]
        what, fix = "not well-formed XML: '--' in a comment", "write '- -' or '==' instead"
        yield repaired, first, what, "the comment is left out", fix


def _ampersands(data: bytes) -> Iterator[Step]:
    found = _LONE_AMPERSAND.search(data)
    if found:
        repaired = _LONE_AMPERSAND.sub(b"&amp;", data)
        what, fix = "not well-formed XML: '&' alone", "write &amp;"
        yield repaired, found.start(), what, "it is read as &amp;", fix
