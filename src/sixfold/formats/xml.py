"""XML as a tree of elements that know their line, and what readers remark about a file.

Document types and entities are refused, and size, depth and number of elements are limited, so
that a hostile file ends in a message and not in a full memory.  The parser is the standard
library's expat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NoReturn, Protocol
from xml.parsers import expat

from sixfold.errors import RobotFileError, visible

MAX_DEPTH = 100
MAX_ELEMENTS = 400_000
#: Characters of all attributes of an element: meshes are written as lists of vertices.
MAX_ATTRIBUTES = 8 * 2**20
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


#: Called with a fault that does not stop the reader, and how it is read; may raise it.
Forgive = Callable[[RobotFileError, str], None]


def overlook(error: RobotFileError, reading: str) -> None:
    """Ignore a fault."""


def parse(
    data: bytes,
    file: str,
    contents: Callable[[Element], bool] = lambda root: True,
    max_depth: int = MAX_DEPTH,
    forgive: Forgive = overlook,
) -> Element:
    """Return the root element with all that is inside.

    Args:
        data: the file.
        file: its name, for errors.
        contents: decides, given the root element, whether the rest of the file is read.
        max_depth: how deep elements may be nested.
        forgive: called at the end with faults of the XML that did not stop the reader.

    Raises:
        RobotFileError: if the data is not well-formed XML or passes a limit.
    """
    faults: list[tuple[RobotFileError, str]] = []
    try:
        root = _read(data, file, contents, max_depth, faults)
    except expat.ExpatError as error:
        # real files break rules whose repair is plain: try once more
        repaired, faults = repair_xml(data, file)
        if not faults:
            raise _syntax_error(data, file, error) from None
        try:
            root = _read(repaired, file, contents, max_depth, faults)
        except expat.ExpatError:
            raise _syntax_error(data, file, error) from None
    for fault, reading in faults:
        forgive(fault, reading)
    return root


def _read(
    data: bytes,
    file: str,
    contents: Callable[[Element], bool],
    max_depth: int,
    faults: list[tuple[RobotFileError, str]],
) -> Element:
    # a stack of open elements; each new one is a child of the last
    parser = expat.ParserCreate()
    open_: list[Element] = []
    elements = 0
    root: Element | None = None

    def refuse(what: str, fix: str) -> NoReturn:
        raise RobotFileError(what, file=file, line=max(1, parser.CurrentLineNumber), fix=fix)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal elements, root
        elements += 1
        element = Element(tag, attributes, parser.CurrentLineNumber)
        depth = len(open_)
        if open_:
            open_[-1].children.append(element)
        open_.append(element)
        if attributes and sum(map(len, attributes.values())) > MAX_ATTRIBUTES:
            what = f"<{excerpt(tag)}> has attributes of more than {MAX_ATTRIBUTES:,} characters"
            refuse(what, "shorten the attribute")
        if elements > MAX_ELEMENTS:
            refuse(f"more than {MAX_ELEMENTS:,} elements", "split the file")
        if depth >= max_depth:
            refuse(f"elements nested more than {max_depth} deep", "flatten the file")
        if root is None:
            root = element
            if not contents(root):
                raise _RootOnly

    def end(_: str) -> None:
        open_.pop()

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

    # expat calls these while it reads
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


def _syntax_error(data: bytes, file: str, error: expat.ExpatError) -> RobotFileError:
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


def excerpt(text: object) -> str:
    """Return a text short enough for a message, on one line."""
    cut = str(text)[: SHOWN + 1]
    flat = visible(cut)
    return flat if len(cut) <= SHOWN else flat[:SHOWN] + "..."


def reason(error: Exception) -> tuple[str, str]:
    """Return what a message of the model builder says, and its fix."""
    what, _, fix = str(error).partition("\n  fix: ")
    return what, fix or "correct the file"


_DECLARATION = re.compile(rb"<\?xml\s[^<>]{0,200}\?>")
_ENCODING = re.compile(rb"encoding\s*=\s*[\"']([\w.-]{1,40})[\"']")
_LONE_AMPERSAND = re.compile(rb"&(?!(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|\w{1,32});)")
_BOM = b"\xef\xbb\xbf"

#: Repaired data, offset and kind of the fault, how it is read, how to fix the file.
Step = tuple[bytes, int, str, str, str]


def repair_xml(data: bytes, file: str) -> tuple[bytes, list[tuple[RobotFileError, str]]]:
    """Return data that may be well-formed, and each fault with the way it is read.

    Only faults that leave one reading are repaired: a declaration behind blanks or comments, "--"
    in a comment, a lone "&", bytes that are no UTF-8.
    """
    faults: list[tuple[RobotFileError, str]] = []
    if b"\0" in data:
        return data, faults
    steps: tuple[Callable[[bytes], Iterator[Step]], ...] = (
        _repair_encoding,
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


def _repair_encoding(data: bytes) -> Iterator[Step]:
    named = _ENCODING.search(data[:400])
    if named and named[1].lower() not in (b"utf-8", b"utf8", b"us-ascii", b"ascii"):
        return
    # bytes of Windows and old editors in a file that says UTF-8
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


LARGEST = 1e50  #: No robot has a larger number; products of a few such numbers stay finite.
_INFINITE = {
    sign + word: math.copysign(math.inf, float(f"{sign}1"))
    for sign in ("", "+", "-")
    for word in ("inf", "infinity")
}
_BLANKS = " \t\n\r"
# of these characters float() reads what we call a number and nothing else
_CHARACTERS = "0123456789+-.eE" + _BLANKS
NONE: frozenset[str] = frozenset()


#: Elements that say nothing about the motion of the tree: of two the first is read.
LOOSE = frozenset({"limit", "safety_controller", "calibration"})


class Remarks(Protocol):
    """Whoever wants to know what is left out, and what is wrong."""

    def add(self, what: str, line: int) -> None:
        """Record a skipped element."""

    def blemish(self, error: RobotFileError, reading: str) -> None:
        """Record a fault and how it is read, or raise it."""


class Fields:
    """An element of a file under the name that errors give it."""

    __slots__ = ("_kind", "_name", "_notes", "_parent", "element", "file")

    def __init__(self, file: str, element: Element, name: str, parent: Fields | None = None):
        """Look at an element, of the tag `name` unless it has a name of its own."""
        self.file, self.element, self._name, self._parent = file, element, name, parent
        self._kind = ""
        self._notes: Remarks | None = None

    @property
    def line(self) -> int:
        """The line of the element."""
        return self.element.line

    @property
    def name(self) -> str:
        """The name for people, with those of the elements around it."""
        if self._kind:
            return f"{self._kind} '{excerpt(self._name)}'"
        return self._name if self._parent is None else f"{self._parent.name}: <{self._name}>"

    # -- errors

    def fail(self, what: str, fix: str, **more: Any) -> NoReturn:
        """Raise an error at this element, or at another line of it."""
        raise self.error(what, fix, **more)

    def repair(self, what: str, reading: str, fix: str, **more: Any) -> None:
        """Remark what is wrong and how it is read; before `open`, and when strict, an error."""
        error = self.error(what, fix, **more)
        if self._notes is None:
            raise error
        self._notes.blemish(error, reading)

    def error(
        self, what: str, fix: str, *, expected: str = "", got: str = "", line: int = 0
    ) -> RobotFileError:
        """Return an error about this element, or about another line of it."""
        return RobotFileError(
            what,
            file=self.file,
            line=line or self.element.line,
            element=self.name,
            expected=expected,
            got=got,
            fix=fix,
        )

    # -- children

    def open(
        self,
        notes: Remarks,
        attributes: frozenset[str] = NONE,
        single: frozenset[str] = NONE,
        many: frozenset[str] = NONE,
        *,
        picture: bool = False,
    ) -> dict[str, Fields]:
        """Return the children of the tags that may stand once, by tag.

        Stray text is a blemish.  So is a second child of such a tag that says the same, or that
        concerns a picture or limits: the first is read.  A second child that says something else
        is an error.  Attributes and children in none of the lists are remarked.
        """
        self._notes, element = notes, self.element
        if element.text is not None:
            text, line = element.text
            fix = "remove the text, or write the '<' that it may lack"
            what = f"has text between its elements: {excerpt(text)!r}"
            self.repair(what, "the text is left out", fix, line=line)
        if not element.attributes.keys() <= attributes:
            self._unknown_attributes(notes, attributes)
        # children by tag: known, in capitals, doubled, or unknown
        found: dict[str, Fields] = {}
        for child in element.children:
            tag = child.tag
            if tag not in single and tag not in many and tag.lower() in (single | many):
                self._capitals(f"<{excerpt(tag)}>", f"<{tag.lower()}>", child.line)
                tag = child.tag = tag.lower()
            if tag in found:
                self._second(found[tag], child, picture or tag in LOOSE)
            elif tag in single:
                found[tag] = Fields(self.file, child, tag, self)
            elif tag not in many:
                notes.add(f"<{excerpt(tag)}> in <{element.tag}>", child.line)
        return found

    def _unknown_attributes(self, notes: Remarks, known: frozenset[str]) -> None:
        """Remark attributes that are not known; one in capitals is read."""
        element = self.element
        for name in [name for name in element.attributes if name not in known]:
            small = name.lower()
            if small in known and small not in element.attributes:
                self._capitals(f"attribute '{excerpt(name)}'", f"'{small}'", element.line)
                element.attributes[small] = element.attributes.pop(name)
            elif not name.startswith("xmlns"):
                notes.add(f"attribute '{excerpt(name)}' of <{element.tag}>", element.line)

    def _capitals(self, what: str, small: str, line: int) -> None:
        self.repair(
            f"{what} is in capitals", f"it is read as {small}", "write it in lower case", line=line
        )

    def _second(self, first: Fields, second: Element, loose: bool) -> None:
        """Forgive a second element of a kind that may stand once, where it changes nothing."""
        tag = second.tag
        fix = f"keep one of them: the first is on line {first.line}"
        if same(first.element, second):
            self.repair(f"has the same <{tag}> twice", "one is read", fix, line=second.line)
        elif loose:
            self.repair(f"has <{tag}> twice", "the first is read", fix, line=second.line)
        else:
            what = f"has <{tag}> twice, first on line {first.line}, and they differ"
            self.fail(what, "keep one of them", line=second.line)

    def every(self, *tags: str) -> Iterator[Fields]:
        """Yield the children of some tags, in the order of the file."""
        for child in self.element.children:
            if child.tag in tags:
                yield Fields(self.file, child, child.tag, self)

    def read_name(self, kind: str) -> str:
        """Return the attribute 'name' and use it in errors from now on."""
        self._name, self._kind = self.text("name"), kind
        return self._name

    # -- attributes

    def text(self, attribute: str) -> str:
        """Return an attribute that must be there and not be empty."""
        value = self.element.attributes.get(attribute)
        if value is None:
            self.fail(f"has no attribute '{attribute}'", f'write {attribute}="..."')
        if not value.strip(_BLANKS):
            self.fail(f"attribute '{attribute}' is empty", f'write {attribute}="..."')
        self._no_macro(attribute, value)
        return value

    def number(
        self, attribute: str, default: float | None = None, *, infinite: bool = False
    ) -> float:
        """Return one number; `infinite` also takes inf and -inf."""
        listed = None if default is None else (default,)
        return self.numbers(attribute, 1, listed, infinite=infinite)[0]

    def numbers(
        self,
        attribute: str,
        n: int,
        default: tuple[float, ...] | None = None,
        *,
        infinite: bool = False,
    ) -> tuple[float, ...]:
        """Return n numbers with blanks between them."""
        value = self.element.attributes.get(attribute)
        if value is not None and default is not None and not value.strip(_BLANKS):
            what, fix = f"attribute '{attribute}' is empty", "write the numbers or remove it"
            self.repair(what, "the default is used", fix)
            return default
        if value is None:
            if default is None:
                many = "a number" if n == 1 else f"{n} numbers"
                self.fail(f"has no attribute '{attribute}'", f'write {attribute}="{many}"')
            return default
        # the usual case; anything else is examined
        found = _plain(value)
        return found if len(found) == n else self._slowly(attribute, value, n, infinite)

    def _slowly(self, attribute: str, value: str, n: int, infinite: bool) -> tuple[float, ...]:
        """Find out what is wrong with a value, if anything is."""
        self._no_macro(attribute, value)
        # commas between numbers have one reading
        words = value.split()
        listed = value.replace(",", " ").split()
        if "," in value and n > 1 and len(listed) == n and all(map(_plain, listed)):
            what, fix = f"attribute '{attribute}' has commas", "write blanks between the numbers"
            self.repair(what, "they are read as blanks", fix, got=f"{excerpt(value)!r}")
            words = listed
        if n == 1 and len(words) > 1:
            words = [value]
        if len(words) != n:
            self.fail(
                f"attribute '{attribute}' has the wrong number of numbers",
                "write the numbers with blanks between them and a point for decimals",
                expected=f"{n} numbers" if n > 1 else "a number",
                got=f"{excerpt(value)!r}",
            )
        return tuple(self._one(attribute, value, word, infinite) for word in words)

    def _one(self, attribute: str, value: str, word: str, infinite: bool) -> float:
        if infinite and word.lower() in _INFINITE:
            return _INFINITE[word.lower()]
        try:
            x = math.nan if word.strip(_CHARACTERS) or "\n" in word else float(word)
        except ValueError:
            x = math.nan
        if math.isnan(x):
            self.fail(
                f"attribute '{attribute}' is not a number",
                _advice(word),
                expected="a number such as -0.5 or 1e-3" + (", or inf" if infinite else ""),
                got=f"{excerpt(value)!r}",
            )
        if abs(x) > LARGEST and not (infinite and math.isfinite(x)):
            self.fail(
                f"attribute '{attribute}' is too large",
                "correct the number",
                expected=f"at most {LARGEST:g} in size",
                got=excerpt(word),
            )
        return x

    def _no_macro(self, attribute: str, value: str) -> None:
        """Refuse a value that xacro should have replaced."""
        if "${" in value or "$(" in value:
            self.fail(
                f"attribute '{attribute}' = {excerpt(value)!r} is an expression of xacro, "
                "which has not been run",
                "expand the file first: xacro robot.urdf.xacro > robot.urdf",
            )


def same(first: Element, second: Element) -> bool:
    """Tell whether two elements say the same, however their numbers are written."""
    if first.tag != second.tag or first.attributes.keys() != second.attributes.keys():
        return False
    if len(first.children) != len(second.children):
        return False
    # numbers are compared, not their spelling
    texts = ((value, second.attributes[name]) for name, value in first.attributes.items())
    alike = all((_plain(a) or a.split()) == (_plain(b) or b.split()) for a, b in texts)
    pairs = zip(first.children, second.children, strict=True)
    return alike and all(same(a, b) for a, b in pairs)


@lru_cache(maxsize=4096)
def _plain(value: str) -> tuple[float, ...]:
    """Return the numbers of a text if all are well; the same few texts come again and again."""
    if value.strip(_CHARACTERS):
        return ()
    try:
        found = tuple(map(float, value.split()))
    except ValueError:
        return ()
    return found if all(-LARGEST <= x <= LARGEST for x in found) else ()


def _advice(word: str) -> str:
    if "," in word:
        return "write decimals with a point, and blanks between numbers"
    if word.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return "write a finite number"
    if re.match(r"[+-]?[0-9.]", word) and re.search("[a-zA-Z]", word):
        return "write the number alone, in SI units"
    return "write a number"


class Notes:
    """Collects remarks and blemishes; the same one on other lines only counts up.

    A remark is about something valid without a counterpart.  A blemish is wrong and is read
    all the same: it becomes a warning, or an error where the reader is strict.
    """

    def __init__(self, file: str, strict: bool = False) -> None:
        """Start empty; places in files other than this one are reported with their file."""
        self.file, self.strict = file, strict
        self._first: dict[str, int] = {}
        self._count: dict[str, int] = {}
        self._blemishes: dict[tuple[str, str], list[RobotFileError]] = {}

    def add(self, what: str, line: int) -> None:
        """Remark that something is left out."""
        self.say(f"{what} has no counterpart and is left out", line)

    def say(self, what: str, line: int) -> None:
        """Remark anything."""
        self._first.setdefault(what, line)
        self._count[what] = self._count.get(what, 0) + 1

    def blemish(self, error: RobotFileError, reading: str) -> None:
        """Keep an error as a blemish, with how the place is read; raise it when strict."""
        if self.strict:
            raise error
        self._blemishes.setdefault((error.what, reading), []).append(error)

    def lines(self) -> tuple[str, ...]:
        """Return the remarks in the order of their first lines."""
        return tuple(
            f"line {line}: {what}" + (f" ({n} times)" if (n := self._count[what]) > 1 else "")
            for what, line in sorted(self._first.items(), key=lambda item: item[1])
        )

    def blemishes(self) -> tuple[str, ...]:
        """Return the blemishes in the order of their first lines: what is wrong; how it is read."""
        found = []
        # the same fault on many lines is one entry
        for (what, reading), errors in self._blemishes.items():
            first = min(errors, key=lambda error: error.line)
            here = first.file == self.file
            line = f"line {first.line}" if here else f"{visible(first.file)}:{first.line}"
            place = f"{line}: {first.element}" if first.element else line
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            found.append((first.line, f"{place}: {what}; {reading}{more}"))
        return tuple(text for _, text in sorted(found))
