"""Numbers of a contact description, each checked with a message of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from sixfold.errors import OptionError
from sixfold.scalar import Zero


def number(owner: str, name: str, got: Any, words: str, good: Callable[[float], bool]) -> float:
    """Return a finite number as a float, or say in words what is taken."""
    try:
        value = math.nan if isinstance(got, (bool, str)) else float(got)
    except Exception:  # whatever an object makes of it
        value = math.nan
    if not math.isfinite(value) or not good(value):
        raise OptionError(owner, name, words, got)
    return value


def not_negative(owner: str, name: str, got: Any, unit: str = "") -> float:
    """Return a number that is not below zero."""
    return number(owner, name, got, f"a number >= 0{unit}", lambda x: x >= 0)


def numbers(owner: str, name: str, got: Any, count: int, words: str) -> tuple[float, ...]:
    """Return so many finite numbers."""
    try:
        listed: Sequence[Any] = list(got)
    except Exception:  # no list at all
        listed = []
    if isinstance(got, (str, bytes, Mapping, Set)) or len(listed) != count:
        raise OptionError(owner, name, words, got)
    found = []
    for x in listed:
        try:
            found.append(0.0 if isinstance(x, Zero) else number(owner, name, x, words, _any))
        except OptionError:
            raise OptionError(owner, name, words, got) from None
    return tuple(found)


def count(owner: str, name: str, got: Any, least: int, most: int) -> int:
    """Return a whole number within bounds."""
    whole = isinstance(got, int) or (hasattr(got, "__index__") and not isinstance(got, bool))
    if isinstance(got, bool) or not whole or not least <= int(got) <= most:
        raise OptionError(owner, name, f"a whole number from {least} to {most}", got)
    return int(got)


def solref(owner: str, name: str, got: Any) -> tuple[float, ...]:
    """Return time constant and damping ratio, or both gains with a minus."""
    words = "(time constant, damping ratio) > 0, or (-stiffness, -damping)"
    found = numbers(owner, name, got, 2, words)
    if not (min(found) > 0 or max(found) < 0):
        raise OptionError(owner, name, words, got)
    return found


def solimp(owner: str, name: str, got: Any) -> tuple[float, ...]:
    """Return five numbers of an impedance; 1 to 4 numbers are completed by MuJoCo's defaults."""
    words = "(d0, dwidth, width, midpoint, power), finite numbers"
    usual = (0.9, 0.95, 0.001, 0.5, 2.0)
    try:
        given = len(got)
    except TypeError:
        given = 0
    if isinstance(got, str) or not 1 <= given <= 5:
        raise OptionError(owner, name, words, got)
    return (*numbers(owner, name, got, given, words), *usual[given:])


def text(owner: str, name: str, got: Any) -> str:
    """Return a name."""
    if not isinstance(got, str) or not got:
        raise OptionError(owner, name, "a name", got)
    return got


def _any(_: float) -> bool:
    return True
