"""Attributes of an element as texts and numbers, read strictly, with the place in every error."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NoReturn, Protocol

from sixfold.errors import RobotFileError
from sixfold.formats.xml.parse import Element, shown

LARGEST = 1e50
"""No robot has a larger number; products of a few such numbers stay finite."""
_INFINITE = {
    sign + word: math.copysign(math.inf, float(f"{sign}1"))
    for sign in ("", "+", "-")
    for word in ("inf", "infinity")
}
_BLANKS = " \t\n\r"
# of these characters float() reads what we call a number and nothing else
_CHARACTERS = "0123456789+-.eE" + _BLANKS
NONE: frozenset[str] = frozenset()


LOOSE = frozenset({"limit", "safety_controller", "calibration"})
"""Elements that say nothing about the motion of the tree: of two the first is read."""


class Remarks(Protocol):
    """Whoever wants to know what is left out, and what is wrong."""

    def add(self, what: str, line: int) -> None:
        """Hear of one thing that is left out."""

    def blemish(self, error: RobotFileError, reading: str) -> None:
        """Hear of one thing that is wrong, and how it is read; or raise it."""


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
            return f"{self._kind} '{shown(self._name)}'"
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
            what = f"has text between its elements: {shown(text)!r}"
            self.repair(what, "the text is left out", fix, line=line)
        if not element.attributes.keys() <= attributes:
            self._unknown_attributes(notes, attributes)
        found: dict[str, Fields] = {}
        for child in element.children:
            tag = child.tag
            if tag not in single and tag not in many and tag.lower() in (single | many):
                self._capitals(f"<{shown(tag)}>", f"<{tag.lower()}>", child.line)
                tag = child.tag = tag.lower()
            if tag in found:
                self._second(found[tag], child, picture or tag in LOOSE)
            elif tag in single:
                found[tag] = Fields(self.file, child, tag, self)
            elif tag not in many:
                notes.add(f"<{shown(tag)}> in <{element.tag}>", child.line)
        return found

    def _unknown_attributes(self, notes: Remarks, known: frozenset[str]) -> None:
        """Remark attributes that are not known; one in capitals is read."""
        element = self.element
        for name in [name for name in element.attributes if name not in known]:
            small = name.lower()
            if small in known and small not in element.attributes:
                self._capitals(f"attribute '{shown(name)}'", f"'{small}'", element.line)
                element.attributes[small] = element.attributes.pop(name)
            elif not name.startswith("xmlns"):
                notes.add(f"attribute '{shown(name)}' of <{element.tag}>", element.line)

    def _capitals(self, what: str, small: str, line: int) -> None:
        self.repair(f"{what} is in capitals", f"it is read as {small}", "write it small", line=line)

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

    def named(self, kind: str) -> str:
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
            self.fail(f"attribute '{attribute}' is empty", "give it a name")
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
            self.repair(what, "it is read as if left out", fix)
            return default
        if value is None:
            if default is None:
                many = "a number" if n == 1 else f"{n} numbers"
                self.fail(f"has no attribute '{attribute}'", f'write {attribute}="{many}"')
            return default
        found = _plain(value)
        return found if len(found) == n else self._slowly(attribute, value, n, infinite)

    def _slowly(self, attribute: str, value: str, n: int, infinite: bool) -> tuple[float, ...]:
        """Find out what is wrong with a value, if anything is."""
        self._no_macro(attribute, value)
        words = value.split()
        listed = value.replace(",", " ").split()
        if "," in value and n > 1 and len(listed) == n and all(map(_plain, listed)):
            what, fix = f"attribute '{attribute}' has commas", "write blanks between the numbers"
            self.repair(what, "they are read as blanks", fix, got=f"{shown(value)!r}")
            words = listed
        if n == 1 and len(words) > 1:
            words = [value]
        if len(words) != n:
            self.fail(
                f"attribute '{attribute}' has the wrong number of numbers",
                "write the numbers with blanks between them and a point for decimals",
                expected=f"{n} numbers" if n > 1 else "a number",
                got=f"{shown(value)!r}",
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
                got=f"{shown(value)!r}",
            )
        if abs(x) > LARGEST and not (infinite and math.isfinite(x)):
            self.fail(
                f"attribute '{attribute}' is too large",
                "correct the number",
                expected=f"at most {LARGEST:g} in size",
                got=shown(word),
            )
        return x

    def _no_macro(self, attribute: str, value: str) -> None:
        """Refuse a value that xacro should have replaced."""
        if "${" in value or "$(" in value:
            self.fail(
                f"attribute '{attribute}' = {shown(value)!r} is an expression of xacro, "
                "which has not been run",
                "expand the file first: xacro robot.urdf.xacro > robot.urdf",
            )


def same(first: Element, second: Element) -> bool:
    """Tell whether two elements say the same, however their numbers are written."""
    if first.tag != second.tag or first.attributes.keys() != second.attributes.keys():
        return False
    if len(first.children) != len(second.children):
        return False
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
