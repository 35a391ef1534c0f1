"""Fewer terms for the eye: squares as SS, CC, SC, differences of angles, factors by parameter.

A polynomial in normal form has no squares of cosines and no differences of angles.  Here both come
back where they save terms: p - p sin^2 = p cos^2, and ca cb + sa sb = cos(b - a) for sums of angles
along parallel axes, so that cos(q3) is written for cos((q2+q3) - q2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sixfold.scalar import ZERO
from sixfold.symbolic.polynomial import (
    ACCELERATION,
    BITS,
    COSINE,
    FIELD,
    INERTIAL,
    RATE,
    SINE,
    Combination,
    Polynomial,
    Ring,
    Variable,
)

Terms = dict[int, Any]
Power = tuple[Variable, int]
Pair = tuple[int, int, int, int]  # two angles a and b, +1 or -1, and the angle b - a or b + a


@dataclass(frozen=True)
class Term:
    """A number times powers of variables."""

    number: Any
    powers: tuple[Power, ...]


@dataclass(frozen=True)
class Product:
    """Powers of variables times a sum in brackets."""

    head: tuple[Power, ...]
    inner: Sum


@dataclass(frozen=True)
class Sum:
    """Parts that are added; nothing at all is zero."""

    parts: tuple[Term | Product, ...]

    def map_parts(
        self, term: Callable[[Term], str], bracket: Callable[[Product], list[str]]
    ) -> list[str]:
        """Return the parts as pieces of text: one for a term, several for a bracket."""
        found: list[str] = []
        for part in self.parts:
            found += [term(part)] if isinstance(part, Term) else bracket(part)
        return found


def nest(form: Polynomial) -> Sum:
    """Return a polynomial as nested sums: by rates first, then by inertial parameter."""
    ring = form.ring
    motion = _mask(ring, (RATE, ACCELERATION))
    inertial = _mask(ring, (INERTIAL,))
    # terms by their rates, then by their inertial parameter
    by_motion: dict[int, dict[int, Terms]] = {}
    for key, value in simplify(ring, form.terms).items():
        group = by_motion.setdefault(key & motion, {}).setdefault(key & inertial, {})
        group[key & ~(motion | inertial)] = value
    # one bracket for each product of rates
    parts: list[Term | Product] = []
    for moving in sorted(by_motion, key=lambda k: _order(ring, k)):
        groups = by_motion[moving]
        inner = Sum(tuple(p for k in sorted(groups) for p in _group(ring, k, groups[k])))
        parts += inner.parts if not moving else [_times(ring, _powers(ring, moving), inner)]
    return Sum(tuple(parts))


def _group(ring: Ring, head: int, terms: Terms) -> list[Term | Product]:
    """Return an inertial parameter times its terms, or the terms themselves where it has none."""
    order = sorted(terms, key=lambda k: _order(ring, k))
    inner = tuple(Term(terms[k], _powers(ring, k)) for k in order)
    return [_times(ring, _powers(ring, head), Sum(inner))] if head else list(inner)


def _times(ring: Ring, head: tuple[Power, ...], inner: Sum) -> Term | Product:
    """Return a product; one term needs no brackets."""
    if len(inner.parts) == 1:
        (only,) = inner.parts
        if isinstance(only, Term):
            return Term(only.number, in_order(ring, (*head, *only.powers)))
        return Product(in_order(ring, (*head, *only.head)), only.inner)
    return Product(head, inner)


def _trig(powers: tuple[Power, ...]) -> tuple[Power, ...]:
    return tuple(p for p in powers if p[0].kind in (COSINE, SINE))


def _plain(powers: tuple[Power, ...]) -> tuple[Power, ...]:
    return tuple(p for p in powers if p[0].kind not in (COSINE, SINE))


def _order(ring: Ring, key: int) -> tuple[tuple[int, int], ...]:
    """Return a rank by which like terms stand together: lengths, then angles."""
    powers = _powers(ring, key)
    return tuple((v.shift, -n) for v, n in (*_plain(powers), *_trig(powers)))


def _powers(ring: Ring, key: int) -> tuple[Power, ...]:
    """Return the factors of a monomial: sines and cosines by angle, then the others."""
    found = []
    while key:
        k = ((key & -key).bit_length() - 1) // BITS
        variable = ring.variables[k]
        n = variable.exponent(key)
        found.append((variable, n))
        key -= n * variable.one
    return in_order(ring, found)


def in_order(ring: Ring, powers: Iterable[Power]) -> tuple[Power, ...]:
    """Return factors as they are read: sines and cosines by joint, parameters, velocities."""

    def rank(power: Power) -> tuple[Any, ...]:
        v = power[0]
        if v.kind in (SINE, COSINE):
            angle = ring.angles[v.angle]
            return 0, not angle.name, angle.combination, v.kind == COSINE
        return {INERTIAL: 1, RATE: 3, ACCELERATION: 3}.get(v.kind, 2), v.shift

    return tuple(sorted(powers, key=rank))


def _mask(ring: Ring, kinds: tuple[str, ...]) -> int:
    return sum(FIELD << v.shift for v in ring.variables if v.kind in kinds)


# -- fewer terms


def simplify(ring: Ring, terms: Terms) -> Terms:
    """Return the terms with differences of angles and squares of cosines where they save terms."""
    ring.spend(len(terms))
    # terms that differ in sines and cosines alone are simplified together
    trig = _mask(ring, (COSINE, SINE))
    pairs = _pairs(ring)
    groups: dict[int, Terms] = {}
    for key, value in terms.items():
        groups.setdefault(key & ~trig, {})[key & trig] = value
    result: Terms = {}
    for factor, group in groups.items():
        short = squares(ring, differences(ring, group, pairs))
        result.update({factor + key: value for key, value in short.items()})
    return result


def differences(ring: Ring, terms: Terms, pairs: list[Pair]) -> Terms:
    """Write ca cb + sa sb as cos(b - a) and ca sb - sa cb as sin(b - a); likewise for sums."""
    if len(terms) < 2:
        return terms
    # cos a cos b + sin a sin b = cos(b - a), cos a sin b - sin a cos b = sin(b - a)
    result = dict(terms)
    for a, b, sign, between in pairs:
        A, B, D = ring.angles[a], ring.angles[b], ring.angles[between]
        for first, second, relation, merged in (
            (A.cosine.one + B.cosine.one, A.sine.one + B.sine.one, sign, D.cosine.one),
            (A.cosine.one + B.sine.one, A.sine.one + B.cosine.one, -sign, D.sine.one),
        ):
            for key in [k for k in result if _divides(first, k)]:
                partner, value = key - first + second, result.get(key)
                if value and result.get(partner) == relation * value:
                    del result[key], result[partner]
                    target = key - first + merged
                    result[target] = result.get(target, 0) + value
    return result


def _divides(factor: int, key: int) -> bool:
    while factor:
        low = ((factor & -factor).bit_length() - 1) // BITS * BITS
        if not (key >> low) & FIELD:
            return False
        factor -= factor & (FIELD << low)
    return True


def _pairs(ring: Ring) -> list[Pair]:
    """Return pairs of angles along parallel axes and the angle between them, made when new."""
    if ring.pairs and ring.pairs[0] == len(ring.angles):
        return ring.pairs[1]
    pairs = []
    # only angles along parallel axes, one a part of the other
    known = {angle.combination: k for k, angle in reversed(list(enumerate(ring.angles)))}
    turning = [k for k, angle in enumerate(ring.angles) if angle.combination]
    for n, a in enumerate(turning):
        for b in turning[n + 1 :]:
            A, B = (dict(ring.angles[k].combination) for k in (a, b))
            if not set(A) < set(B):
                continue
            for sign in (1, -1):
                between = {j: B[j] - sign * A.get(j, 0) for j in B}
                rest: Combination = tuple((j, m) for j, m in sorted(between.items()) if m)
                if len(rest) == len(B) - len(A):
                    if rest not in known:
                        known[rest] = ring.angle(rest)
                    pairs.append((a, b, sign, known[rest]))
    ring.pairs = (len(ring.angles), pairs)
    return pairs


def squares(ring: Ring, terms: Terms, done: int = 0) -> Terms:
    """Choose for each angle between {1, SS}, {1, CC} and {CC, SS} by the number of terms."""
    angle = next((a for a in ring.angles[done:] if _has_square(a.sine, terms)), None)
    if angle is None:
        return terms
    after = ring.angles.index(angle) + 1
    s, c = angle.sine, angle.cosine
    field = (FIELD << s.shift) | (FIELD << c.shift)
    # p + d s^2, where s and c are of this angle; other terms go on to the next angle
    plain = {k: x for k, x in terms.items() if not k & field}
    double = {k - 2 * s.one: x for k, x in terms.items() if k & field == 2 * s.one}
    other = {k: x for k, x in terms.items() if k & field not in (0, 2 * s.one)}
    both = {k: plain.get(k, 0) + double.get(k, 0) for k in {**plain, **double}}
    both = {k: x for k, x in both.items() if x}
    p, d, b = (squares(ring, part, after) for part in (plain, double, both))
    # three ways to write p + d s^2; the one with the fewest terms is taken
    choices = (
        (p, 2 * c.one, 1, b, 2 * s.one),  # p CC + (p + d) SS
        (p, 0, 1, d, 2 * s.one),  # p + d SS
        (d, 2 * c.one, -1, b, 0),  # (p + d) - d CC
    )
    left, shift, sign, right, other_shift = min(choices, key=lambda x: len(x[0]) + len(x[3]))
    result = squares(ring, other, after)
    for part, move, factor in ((left, shift, sign), (right, other_shift, 1)):
        for key, value in part.items():
            result[key + move] = result.get(key + move, 0) + factor * value
    return {k: x for k, x in result.items() if x}


def _has_square(sine: Variable, terms: Terms) -> bool:
    return any(sine.exponent(key) == 2 for key in terms)


# -- short programs: common factors are taken out before anything is multiplied


Value = Callable[[Variable], Any]


def horner_eval(form: Polynomial, value_of: Value) -> Any:
    """Return the value of a polynomial by nested factors, over any kind of number."""
    terms = simplify(form.ring, form.terms)
    return _horner(form.ring, terms, value_of)


def _horner(ring: Ring, terms: dict[int, Any], value_of: Value) -> Any:
    """Take out the variable that most terms share, until none is shared."""
    if not terms:
        return ZERO
    if len(terms) == 1:
        ((key, number),) = terms.items()
        return _monomial(ring, key, float(number), value_of)
    # Horner: take out the most frequent variable, then do the same to both halves
    counts = Counter(k for key in terms for k in _fields(key))
    best, times = max(counts.items(), key=lambda x: (x[1], x[0])) if counts else (0, 0)
    if times < 2:
        parts = [_monomial(ring, k, float(x), value_of) for k, x in terms.items()]
        return _sum(parts)
    variable = ring.variables[best]
    with_it = {k - variable.one: x for k, x in terms.items() if variable.exponent(k)}
    without = {k: x for k, x in terms.items() if not variable.exponent(k)}
    inner = _horner(ring, with_it, value_of) * value_of(variable)
    return inner + _horner(ring, without, value_of) if without else inner


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
