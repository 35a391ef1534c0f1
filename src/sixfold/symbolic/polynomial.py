"""Polynomials in parameters, coordinates, and sines and cosines of joint angles.

A monomial is one whole number: each variable owns a field of a few bits that holds its exponent,
so that monomials multiply by adding.  The square of a cosine is always written 1 - sin^2, and
angles of consecutive parallel axes are kept as sums (q2 + q3), so that equal expressions have equal
terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sixfold.errors import NotApplicableError
from sixfold.scalar import Op, Zero, register

# -- variables


MAX_WORK = 5_000_000  # largest number of terms to work on; longer closed forms are unreadable

BITS = 6
FIELD = (1 << BITS) - 1
GEOMETRIC, INERTIAL, POSITION, RATE, ACCELERATION, COSINE, SINE = (
    *("geometric", "inertial", "position", "rate", "acceleration", "cosine", "sine"),
)
#: An angle as whole multiples of positions: ((number of q, multiple), ...).
Combination = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Variable:
    """One variable: its name, what it stands for, and where its exponent lies."""

    name: str
    kind: str
    shift: int
    value: float | None = None  # what a parameter amounts to in the model
    angle: int = -1  # number of the angle that this is the sine or cosine of

    @property
    def one(self) -> int:
        """The monomial that is this variable alone."""
        return 1 << self.shift

    def exponent(self, monomial: int) -> int:
        """Return the exponent of this variable in a monomial."""
        return (monomial >> self.shift) & FIELD


@dataclass(frozen=True)
class Angle:
    """An angle with its cosine and sine; a sum of positions, or a constant of the model."""

    cosine: Variable
    sine: Variable
    combination: Combination = ()  # the positions that it sums, empty for a constant
    name: str = ""  # name of a constant angle
    value: float = 0.0


@dataclass
class Ring:
    """All variables of the equations of one model."""

    variables: list[Variable] = field(default_factory=list)
    angles: list[Angle] = field(default_factory=list)
    by_name: dict[str, Variable] = field(default_factory=dict)
    #: Each position (by its number) as a combination of angles.
    in_angles: dict[int, dict[int, int]] = field(default_factory=dict)
    positions: list[Variable] = field(default_factory=list)
    cosine_square: int = 0  # bits that are set where some cosine has exponent two or three
    overflow: int = 0
    #: Polynomials that are one at every state: squared lengths of quaternions.
    ones: list[dict[int, Any]] = field(default_factory=list)
    #: Angles along parallel axes, and for how many angles they were sought.
    pairs: tuple[int, list[tuple[int, int, int, int]]] | None = None
    limit: int = MAX_WORK  # terms that may be worked on in all
    work: int = 0

    def spend(self, terms: int) -> None:
        """Count terms that are about to be worked on, and stop where no end is in sight."""
        self.work += terms
        if self.work > self.limit:
            what = f"a model this large: over {self.limit:,} terms were worked on"
            fix = "lock joints, export the recursive algorithm, or raise limit=... (1e6 take 1 s)"
            named = any(variable.value is not None for variable in self.variables)
            fix = f'use parameters="numbers", {fix}' if named else fix
            raise NotApplicableError("a closed form", what, fix)

    def variable(
        self, name: str, kind: str, value: float | None = None, angle: int = -1
    ) -> Variable:
        """Return the variable of a name, made at its first use."""
        if name in self.by_name:
            return self.by_name[name]
        # a field of its own for the exponent, and its bits in the masks
        made = Variable(name, kind, BITS * len(self.variables), value, angle)
        self.variables.append(made)
        self.by_name[name] = made
        if kind == POSITION:
            self.positions.append(made)
        if kind == COSINE:
            self.cosine_square |= 2 << made.shift
        self.overflow |= 1 << (made.shift + BITS - 1)
        return made

    def angle(self, combination: Combination, name: str = "", value: float = 0.0) -> int:
        """Return the number of a new angle, with its own sine and cosine."""
        k = len(self.angles)
        label = name or "+".join(f"{n}*q{j}" for j, n in combination)
        cosine = self.variable(f"cos({label})", COSINE, angle=k)
        sine = self.variable(f"sin({label})", SINE, angle=k)
        self.angles.append(Angle(cosine, sine, combination, name, value))
        return k

    def position_angles(self, position: int) -> dict[int, int]:
        """Return a position as whole multiples of angles."""
        if position not in self.in_angles:
            self.in_angles[position] = {self.angle(((position, 1),)): 1}
        return self.in_angles[position]

    def reduce(self, terms: dict[int, Any]) -> dict[int, Any]:
        """Write every square of a cosine as 1 - sin^2 and drop what cancels."""
        # c^2 = 1 - s^2, until no square of a cosine is left
        pending = [key for key in terms if key & self.cosine_square]
        while pending:
            key = pending.pop()
            value = terms.pop(key, None)
            if not value:
                continue
            hit = key & self.cosine_square
            low = (hit & -hit).bit_length() - 2
            angle = self.angles[self.variables[low // BITS].angle]
            base = key - 2 * angle.cosine.one
            for other, amount in ((base, value), (base + 2 * angle.sine.one, -value)):
                terms[other] = terms.get(other, 0) + amount
                if other & self.cosine_square:
                    pending.append(other)
        return {key: value for key, value in terms.items() if value}


def exact_number(x: Any) -> Any:
    """Return a whole number or a fraction for a float that is one, and the number otherwise."""
    if isinstance(x, float):
        if x.is_integer():
            return int(x)
        if (8 * x).is_integer():
            return Fraction(int(8 * x), 8)
    return x


# -- polynomials: the numbers that algorithms are run on


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
        # monomials multiply by adding their numbers; overflow and squares of cosines show as bits
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
            raise NotApplicableError(
                "the closed form", "a power above 31", "lock joints, or use sf.export"
            )
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
                "write the motion of the joint without quotients, or use sf.export",
            )
        # a single monomial divides each term, or none of this works
        ((key, value),) = divisor.items()
        exponents = [(v, n) for v in self.ring.variables if (n := v.exponent(key))]
        if any(v.exponent(term) < n for term in self.terms for v, n in exponents):
            raise NotApplicableError(
                "the closed form",
                "a quotient of polynomials",
                "write the motion of the joint without quotients, or use sf.export",
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
        # d/dq of angles that contain q: sin -> cos, cos -> -sin, times the multiple of q
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
        """Return the coefficient of a product of variables, without others of their kinds."""
        # terms with exactly these powers among the variables of their kinds
        wanted = sum(variable.one for variable in variables)
        kinds = {variable.kind for variable in variables}
        mask = sum(FIELD << v.shift for v in self.ring.variables if v.kind in kinds)
        terms = {k - wanted: x for k, x in self.terms.items() if k & mask == wanted}
        return Polynomial(self.ring, terms)

    def evaluate(self, value_of: Callable[[Variable], Any]) -> Any:
        """Return the value, with a number or an array for each variable."""
        # multiply the constant factors once, then share products of the others
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


def _cos_sin_of_sum(
    ring: Ring, multiples: dict[int, int], constant: float
) -> tuple[Polynomial, Polynomial]:
    """Return cosine and sine of a combination of angles and a constant."""
    c = Polynomial(ring, {0: exact_number(math.cos(constant))})
    s = Polynomial(ring, {0: exact_number(math.sin(constant))} if constant else {})
    # cos and sin of a sum, angle by angle
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
    # the positions as whole multiples of angles of the ring
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
    return _cos_sin_of_sum(ring, {k: n for k, n in multiples.items() if n}, constant)


def _apply(op: Op, x: Any, *rest: Any) -> Polynomial:
    if op is Op.SIN or op is Op.COS:
        c, s = cos_sin(x)
        return s if op is Op.SIN else c
    raise NotApplicableError(
        "the closed form",
        f"a joint whose motion needs {op.value}",
        "use sf.export, whose programs take any joint",
    )


register(Polynomial, 4, _apply)


def symbol(ring: Ring, variable: Variable) -> Polynomial:
    """Return a variable as a polynomial."""
    return Polynomial(ring, {variable.one: 1})
