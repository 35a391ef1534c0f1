"""Polynomials as short programs: common factors are taken out before anything is multiplied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from sixfold.scalar import ZERO
from sixfold.symbolic.polynomial import Polynomial
from sixfold.symbolic.ring import BITS, Ring, Variable
from sixfold.symbolic.simplify import simplify

Value = Callable[[Variable], Any]


def horner_eval(form: Polynomial, value_of: Value) -> Any:
    """Return the value of a polynomial by nested factors, over any kind of number."""
    terms = simplify(form.ring, form.terms)
    return _nested(form.ring, terms, value_of)


def _nested(ring: Ring, terms: dict[int, Any], value_of: Value) -> Any:
    """Take out the variable that most terms share, until none is shared."""
    if not terms:
        return ZERO
    if len(terms) == 1:
        ((key, number),) = terms.items()
        return _monomial(ring, key, float(number), value_of)
    counts = Counter(k for key in terms for k in _fields(key))
    best, times = max(counts.items(), key=lambda x: (x[1], x[0])) if counts else (0, 0)
    if times < 2:
        parts = [_monomial(ring, k, float(x), value_of) for k, x in terms.items()]
        return _sum(parts)
    variable = ring.variables[best]
    with_it = {k - variable.one: x for k, x in terms.items() if variable.exponent(k)}
    without = {k: x for k, x in terms.items() if not variable.exponent(k)}
    inner = _nested(ring, with_it, value_of) * value_of(variable)
    return inner + _nested(ring, without, value_of) if without else inner


def _monomial(ring: Ring, key: int, number: float, value_of: Value) -> Any:
    product: Any = None
    for k in _fields(key):
        for _ in range(ring.variables[k].exponent(key)):
            x = value_of(ring.variables[k])
            product = x if product is None else product * x
    if product is None:
        return number
    return product if number == 1 else product * number


def _sum(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _fields(key: int) -> list[int]:
    found = []
    while key:
        k = ((key & -key).bit_length() - 1) // BITS
        found.append(k)
        key &= -1 << ((k + 1) * BITS)
    return found
