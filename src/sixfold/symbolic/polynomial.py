"""The number that closed forms are made of: a polynomial that algorithms take for a scalar."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sixfold.errors import NotApplicableError
from sixfold.scalar import Op, Zero, register
from sixfold.symbolic.ring import BITS, FIELD, Ring, Variable, exact_number

_PLAIN = (int, float, Fraction, np.integer, np.floating)


class Polynomial:
    """A sum of monomials with numbers in front, in the normal form of its ring."""

    __slots__ = ("ring", "terms")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ring: Ring, terms: dict[int, Any]) -> None:
        """Take terms that are in normal form."""
        self.ring, self.terms = ring, terms

    # -- arithmetic

    def _terms_of(self, other: Any) -> dict[int, Any] | None:
        if isinstance(other, Polynomial):
            return other.terms
        if isinstance(other, Zero):
            return {}
        if isinstance(other, _PLAIN):
            return {0: exact_number(other)} if other else {}
        return None

    def __add__(self, other: Any) -> Any:
        """Add."""
        more = self._terms_of(other)
        if more is None:
            return NotImplemented
        self.ring.spend(len(self.terms) + len(more))
        return Polynomial(self.ring, _sum(self.terms, more, 1))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract."""
        more = self._terms_of(other)
        if more is None:
            return NotImplemented
        self.ring.spend(len(self.terms) + len(more))
        return Polynomial(self.ring, _sum(self.terms, more, -1))

    def __rsub__(self, other: Any) -> Any:
        """Subtract."""
        return -self + other

    def __neg__(self) -> Polynomial:
        """Change every sign."""
        return Polynomial(self.ring, {key: -value for key, value in self.terms.items()})

    def __pos__(self) -> Polynomial:
        """Return the polynomial itself."""
        return self

    def __mul__(self, other: Any) -> Any:
        """Multiply, and return to the normal form."""
        if isinstance(other, Zero):
            return other
        factors = self._terms_of(other)
        if factors is None:
            return NotImplemented
        few, many = sorted((self.terms, factors), key=len)
        self.ring.spend(len(few) * len(many))
        result: dict[int, Any] = {}
        special = 0
        for key, value in few.items():
            for other_key, other_value in many.items():
                product = key + other_key
                special |= product
                result[product] = result.get(product, 0) + value * other_value
        ring = self.ring
        if special & ring.overflow:
            raise NotApplicableError("the closed form", "a power above 31", "use fewer bodies")
        if special & ring.cosine_square:
            return Polynomial(ring, ring.reduce(result))
        return Polynomial(ring, {key: value for key, value in result.items() if value})

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Divide by a number, or by a single monomial that divides every term."""
        divisor = self._terms_of(other)
        if divisor is None:
            return NotImplemented
        if divisor in self.ring.ones:
            return self
        if len(divisor) != 1:
            raise NotApplicableError(
                "the closed form",
                "a quotient of polynomials",
                "use a formulation without divisions",
            )
        ((key, value),) = divisor.items()
        exponents = [(v, n) for v in self.ring.variables if (n := v.exponent(key))]
        if any(v.exponent(term) < n for term in self.terms for v, n in exponents):
            raise NotApplicableError(
                "the closed form",
                "a quotient of polynomials",
                "use a formulation without divisions",
            )
        return Polynomial(self.ring, {k - key: _quotient(x, value) for k, x in self.terms.items()})

    def __rtruediv__(self, other: Any) -> Any:
        """Divide a number by this, which only a number allows."""
        return Polynomial(self.ring, self._terms_of(other) or {}) / self

    def __pow__(self, exponent: int) -> Polynomial:
        """Raise to a whole power."""
        result = Polynomial(self.ring, {0: 1})
        for _ in range(exponent):
            result = result * self
        return result

    def __eq__(self, other: object) -> bool:
        """Compare normal forms: equal polynomials are equal expressions."""
        return self.terms == self._terms_of(other)

    def __bool__(self) -> bool:
        """Return false for the polynomial without terms."""
        return bool(self.terms)

    def __len__(self) -> int:
        """Return the number of terms."""
        return len(self.terms)

    def __repr__(self) -> str:
        """Say how large it is."""
        return f"<polynomial of {len(self.terms)} terms>"

    # -- taking apart

    def derivative(self, position: int) -> Polynomial:
        """Return the derivative by a joint position (by its number)."""
        ring = self.ring
        ring.spend(len(self.terms))
        q = ring.positions[position]
        turning = [
            (angle, rate) for angle in ring.angles for j, rate in angle.combination if j == position
        ]
        result: dict[int, Any] = {}

        def add(key: int, value: Any) -> None:
            result[key] = result.get(key, 0) + value

        for key, value in self.terms.items():
            if n := q.exponent(key):
                add(key - q.one, value * n)
            for angle, rate in turning:
                c, s = angle.cosine, angle.sine
                if n := s.exponent(key):
                    add(key - s.one + c.one, value * n * rate)
                if n := c.exponent(key):
                    add(key - c.one + s.one, -value * n * rate)
        return Polynomial(ring, ring.reduce(result))

    def coefficient(self, *variables: Variable) -> Polynomial:
        """Return what stands before a product of variables that has none of their kind besides."""
        wanted = sum(variable.one for variable in variables)
        kinds = {variable.kind for variable in variables}
        mask = sum(FIELD << v.shift for v in self.ring.variables if v.kind in kinds)
        terms = {k - wanted: x for k, x in self.terms.items() if k & mask == wanted}
        return Polynomial(self.ring, terms)

    def substitute(self, replacements: Mapping[Variable, Any]) -> Polynomial:
        """Return the polynomial with variables replaced by polynomials or numbers."""
        mask = sum(FIELD << v.shift for v in replacements)
        by_part: dict[int, dict[int, Any]] = {}
        for key, value in self.terms.items():
            by_part.setdefault(key & mask, {})[key & ~mask] = value
        total = Polynomial(self.ring, {})
        for part, terms in by_part.items():
            product = Polynomial(self.ring, terms)
            for variable, value in replacements.items():
                for _ in range(variable.exponent(part)):
                    product = product * value
            total = total + product
        return total

    def evaluate(self, value_of: Callable[[Variable], Any]) -> Any:
        """Return the value, with a number or an array for each variable."""
        constant = sum(FIELD << v.shift for v in self.ring.variables if v.value is not None)
        parts: dict[int, float] = {}
        known: dict[int, Any] = {0: 1.0}
        for key, number in self.terms.items():
            fixed = float(number) * self._product(key & constant, value_of, known)
            parts[key & ~constant] = parts.get(key & ~constant, 0.0) + fixed
        total: Any = 0.0
        for key, factor in parts.items():
            total = total + factor * self._product(key, value_of, known)
        return total

    def _product(self, key: int, value_of: Callable[[Variable], Any], known: dict[int, Any]) -> Any:
        """Return the value of a monomial; products of its first factors are kept."""
        if key not in known:
            last = self.ring.variables[(key.bit_length() - 1) // BITS]
            known[key] = self._product(key - last.one, value_of, known) * value_of(last)
        return known[key]


def _sum(a: dict[int, Any], b: dict[int, Any], sign: int) -> dict[int, Any]:
    result = dict(a)
    for key, value in b.items():
        total = result.get(key, 0) + sign * value
        if total:
            result[key] = total
        else:
            del result[key]
    return result


def _quotient(x: Any, y: Any) -> Any:
    if isinstance(x, (int, Fraction)) and isinstance(y, (int, Fraction)):
        return exact_number(Fraction(x) / Fraction(y)) if x % y else x // y
    return x / y


def _turned(
    ring: Ring, multiples: dict[int, int], constant: float
) -> tuple[Polynomial, Polynomial]:
    """Return cosine and sine of a combination of angles and a constant."""
    c = Polynomial(ring, {0: exact_number(math.cos(constant))})
    s = Polynomial(ring, {0: exact_number(math.sin(constant))} if constant else {})
    for k, n in multiples.items():
        ck = Polynomial(ring, {ring.angles[k].cosine.one: 1})
        sk = Polynomial(ring, {ring.angles[k].sine.one: 1 if n > 0 else -1})
        for _ in range(abs(n)):
            c, s = c * ck - s * sk, s * ck + c * sk
    return c, s


def cos_sin(angle: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return cosine and sine of a polynomial that is a sum of positions and a constant."""
    ring = angle.ring
    places = {variable.one: n for n, variable in enumerate(ring.positions)}
    multiples: dict[int, int] = {}
    constant = 0.0
    for key, value in angle.terms.items():
        if key == 0:
            constant = float(value)
        elif key in places and value == int(value):
            for k, n in ring.position_angles(places[key]).items():
                multiples[k] = multiples.get(k, 0) + n * int(value)
        else:
            raise NotApplicableError(
                "the closed form of a sine or cosine",
                "an angle that is no whole multiple of joint positions",
                "use whole ratios for coupled joints and in transforms of joints of your own",
            )
    return _turned(ring, {k: n for k, n in multiples.items() if n}, constant)


def _apply(op: Op, x: Any, *rest: Any) -> Polynomial:
    if op is Op.SIN or op is Op.COS:
        c, s = cos_sin(x)
        return s if op is Op.SIN else c
    raise NotApplicableError(
        "the closed form",
        f"a joint whose motion needs {op.value}",
        "closed forms are polynomials in positions, sines and cosines",
    )


register(Polynomial, 4, _apply)


def symbol(ring: Ring, variable: Variable) -> Polynomial:
    """Return a variable as a polynomial."""
    return Polynomial(ring, {variable.one: 1})
