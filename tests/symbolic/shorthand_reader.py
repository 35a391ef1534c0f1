"""Text in the lecture's shorthand back to polynomials, with products by juxtaposition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sixfold.errors import OptionError
from sixfold.symbolic.polynomial import Polynomial, Ring, cos_sin, symbol

_TOKEN = re.compile(
    r"\s*(?:(?P<trig>[SC]{1,2})(?:\((?P<sum>[^)]*)\)|(?P<one>\d+))(?![A-Za-z_0-9])"
    r"|(?P<number>\d+(?:/\d+)?(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>[-+*^()]))"
)


def read(ring: Ring, text: str, known: Mapping[str, Polynomial] | None = None) -> Polynomial:
    """Return the polynomial that a text in the shorthand stands for.

    Args:
        ring: where the parameters and angles are.
        text: for example "M2 (SS2 l2^2 + 2 S2 S(2+3) l2 d3) - 2 SC(2+3) C4 Iyz4".
        known: other names, such as A33, and what they stand for.
    """
    tokens = _tokens(text)
    position = 0

    def peek() -> tuple[str, str] | None:
        return tokens[position] if position < len(tokens) else None

    def take() -> tuple[str, str]:
        nonlocal position
        position += 1
        return tokens[position - 1]

    def total() -> Any:
        result = Polynomial(ring, {})
        sign = 1
        if (token := peek()) and token[1] in "+-":
            sign = -1 if take()[1] == "-" else 1
        result = result + product() * sign
        while (token := peek()) and token[1] in ("+", "-"):
            sign = -1 if take()[1] == "-" else 1
            result = result + product() * sign
        return result

    def product() -> Any:
        result = power()
        while (token := peek()) and token[1] not in ("+", "-", ")"):
            if token[1] == "*":
                take()
            result = result * power()
        return result

    def power() -> Any:
        result = factor()
        if (token := peek()) and token[1] == "^":
            take()
            result = result ** int(take()[1])
        return result

    def factor() -> Any:
        kind, word = take() if peek() else ("end", "")
        if word == "(":
            result = total()
            if not peek() or take()[1] != ")":
                raise OptionError("read", "text", ["brackets that close"], text)
            return result
        if kind == "number":
            return Polynomial(ring, {0: _number(word)})
        if kind == "trig":
            return _trig(ring, word)
        if kind == "name" and known and word in known:
            return known[word]
        if kind == "name" and word in ring.by_name:
            return symbol(ring, ring.by_name[word])
        names = [v.name for v in ring.variables if v.value is not None]
        raise OptionError("read", "text", names, word)

    result = total()
    if peek() is not None:
        raise OptionError("read", "text", ["terms joined by + and -"], peek())
    return result


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if not match:
            raise OptionError("read", "text", ["names, numbers, S, C, + - * ^ ( )"], text[at:])
        kind = "trig" if match["trig"] else str(match.lastgroup)
        word = f"{match['trig']}:{match['sum'] or match['one']}" if match["trig"] else match[kind]
        found.append((kind, word))
        at = match.end()
    return found


def _number(word: str) -> Any:
    if "/" in word:
        return Fraction(word)
    return float(word) if "." in word else int(word)


def _trig(ring: Ring, word: str) -> Polynomial:
    letters, _, inside = word.partition(":")
    places = {v.name: symbol(ring, v) for v in ring.positions}
    angle = Polynomial(ring, {})
    for sign, number in re.findall(r"([-+]?)\s*(\d+)", inside):
        if f"q{number}" not in places:
            raise OptionError("read", "text", list(places), f"q{number}")
        angle = angle + places[f"q{number}"] * (-1 if sign == "-" else 1)
    c, s = cos_sin(angle)
    result = Polynomial(ring, {0: 1})
    for letter in letters:
        result = result * (s if letter == "S" else c)
    return result
