"""Variables of polynomials: parameters, coordinates, and sines and cosines of joint angles.

A monomial is one whole number: each variable owns a field of a few bits that holds its exponent,
so that monomials multiply by adding.  The square of a cosine is always written 1 - sin^2, and
angles of consecutive parallel axes are kept as sums (q2 + q3), so that equal expressions have equal
terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sixfold.errors import NotApplicableError

MAX_WORK = 1_000_000
"""Terms that closed forms may be worked out with; beyond, nobody would read the result."""

BITS = 6
FIELD = (1 << BITS) - 1
GEOMETRIC, INERTIAL, POSITION, RATE, ACCELERATION, COSINE, SINE = (
    *("geometric", "inertial", "position", "rate", "acceleration", "cosine", "sine"),
)
Combination = tuple[tuple[int, int], ...]
"""An angle as whole multiples of positions: ((number of q, multiple), ...)."""


@dataclass(frozen=True)
class Variable:
    """One variable: its name, what it stands for, and where its exponent lies."""

    name: str
    kind: str
    shift: int
    value: float | None = None
    """What a parameter amounts to in the model."""
    angle: int = -1
    """Number of the angle that this is the sine or cosine of."""

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
    combination: Combination = ()
    """The positions that it sums, empty for a constant."""
    name: str = ""
    """Name of a constant angle."""
    value: float = 0.0


@dataclass
class Ring:
    """All variables of the equations of one model."""

    variables: list[Variable] = field(default_factory=list)
    angles: list[Angle] = field(default_factory=list)
    by_name: dict[str, Variable] = field(default_factory=dict)
    in_angles: dict[int, dict[int, int]] = field(default_factory=dict)
    """Each position (by its number) as a combination of angles."""
    positions: list[Variable] = field(default_factory=list)
    cosine_square: int = 0
    """Bits that are set where some cosine has exponent two or three."""
    overflow: int = 0
    ones: list[dict[int, Any]] = field(default_factory=list)
    """Polynomials that are one at every state: squared lengths of quaternions."""
    pairs: tuple[int, list[tuple[int, int, int, int]]] | None = None
    """Angles along parallel axes, and for how many angles they were sought."""
    limit: int = MAX_WORK
    """Terms that may be worked on in all."""
    work: int = 0

    def spend(self, terms: int) -> None:
        """Count terms that are about to be worked on, and stop where no end is in sight."""
        self.work += terms
        if self.work > self.limit:
            raise NotApplicableError(
                "a closed form",
                f"a model this large: over {self.limit:,} terms were worked on",
                'use parameters="numbers", lock joints, export the recursive algorithm, or raise '
                "limit=... (a million terms take seconds)",
            )

    def variable(
        self, name: str, kind: str, value: float | None = None, angle: int = -1
    ) -> Variable:
        """Return the variable of a name, made at its first use."""
        if name in self.by_name:
            return self.by_name[name]
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
