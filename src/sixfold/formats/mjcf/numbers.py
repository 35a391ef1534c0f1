"""Attributes of MJCF that hold numbers: checked before the compiler sees them."""

from __future__ import annotations

import math
import re

from sixfold.errors import RobotFileError
from sixfold.formats.mjcf.rules import CONTACT, NUMBERS
from sixfold.formats.notes import Notes
from sixfold.formats.xml.parse import Element, shown

WHOLE = re.compile(r"[+-]?\d{1,9}\Z", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def checked(element: Element, file: str, notes: Notes) -> dict[str, str]:
    """Return the attributes, without those that are empty.

    A colour or number of contact that is wrong is left out too: neither stops a file.

    Raises:
        RobotFileError: at the place of the element, for numbers that are not finite or no numbers.
    """
    kept: dict[str, str] = {}
    for name, value in element.attributes.items():
        contact = element.tag == "geom" and name in CONTACT
        if name == "user":
            continue
        if element.tag != "flag" and (contact or name in NUMBERS):
            what = _wrong(name, value) or (_wrong_contact(name, value) if contact else "")
            if what:
                error = _error(element, file, name, what)
                if not contact and name != "rgba" and value.strip():
                    raise error
                left = "the colour is left out" if name == "rgba" else "it is read as if left out"
                notes.blemish(error, left)
            elif name == "mass" and any(float(word) < 0 for word in value.split()):
                # MuJoCo itself takes it for zero where the body does not move
                raise _error(element, file, name, "the mass is negative")
            if what:
                continue
        kept[name] = value
    return kept


def _wrong(name: str, value: str) -> str:
    """Return what is wrong with a list of numbers, nothing if all is well."""
    words = value.split()
    if not words:
        return f"attribute '{name}' is empty"
    if not all(NUMBER.match(word) and math.isfinite(float(word)) for word in words):
        return f"attribute '{name}' is not a finite number"
    if name == "rgba" and len(words) != 4:
        return "attribute 'rgba' has the wrong number of numbers"
    return ""


def _wrong_contact(name: str, value: str) -> str:
    """Return what is wrong with finite numbers of contact."""
    words = value.split()
    if len(words) > CONTACT[name]:
        return f"attribute '{name}' has too many numbers"
    if name in ("condim", "priority") and not WHOLE.match(words[0]):
        return f"attribute '{name}' is not a whole number"
    if name == "condim" and int(words[0]) not in (1, 3, 4, 6):
        return "attribute 'condim' is none of 1, 3, 4 and 6"
    return ""


def _error(element: Element, file: str, name: str, what: str) -> RobotFileError:
    return RobotFileError(
        what,
        file=file,
        line=element.line,
        element=f"<{shown(element.tag)}>",
        expected="numbers such as 1.5 or -2e-3, separated by spaces",
        got=f'{name}="{shown(element.attributes[name])}"',
        fix="correct the number",
    )
