"""Validation: arguments of the builder, parts of a Model, and numbers that look like mistakes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from itertools import islice
from math import inf
from numbers import Complex, Real
from sys import float_info
from typing import Any

import numpy as np

from sixfold.errors import ArgumentError, ModelError, OptionError, TooLargeError, kind_of, quote
from sixfold.model.body import JOINT_PROPERTIES, Body
from sixfold.model.constraint import Gear
from sixfold.model.joint import Joint, check_promises, of_the_library
from sixfold.scalar import ZERO, exact
from sixfold.spatial import IDENTITY3, Inertia, Matrix3, Transform, Vector3

MAX_NAME_CHARACTERS = 10_000
SEED_LIMIT = 2**128
MAX_BODIES = 100_000  #: Bodies of a model that is made from a number of them.

Numbers = tuple[float, ...]
Values = float | Sequence[float] | None
#: How far from orthonormal a product of some twenty rounded rotations may be.
_ROUNDING = 64 * float_info.epsilon


def numbers_of(
    where: str,
    what: str,
    values: Values,
    n: int,
    default: float | None = None,
    *,
    positive: bool = False,
    finite: bool = True,
    spread: bool = False,
) -> Numbers:
    """Return n numbers of an argument, or its default when it was left out.

    Args:
        where: the object that the argument belongs to, for messages.
        what: the argument.
        values: one number where one is wanted, or n of them.
        n: how many numbers are wanted.
        default: each of them if values is None.
        positive: refuse numbers below zero.
        finite: refuse infinities.
        spread: take one number for all n: a damping for each axis, never a coordinate of a vector.
    """
    # left out: the default for every coordinate
    if values is None and default is not None:
        return (default,) * n
    alone = n == 1 or spread
    # the usual case, without a look at what else it might be
    if (
        alone
        and type(values) is float
        and -math.inf < values < math.inf
        and not (positive and values < 0)
    ):
        return (values,) * n
    try:
        listed = _floats(values, n)
    except Exception as error:  # a number's or a sequence's own complaint
        if isinstance(error, ModelError):
            raise
        what = f"{what} = {quote(values)} is not a number"
        raise ModelError(where, what, "give numbers") from None
    if not alone and _is_single(values):
        fix = "give (x, y, z)" if n == 3 else f"give {n} numbers"
        raise ModelError(where, f"{what} = {quote(values)} is one number, not {n}", fix)
    # as many as there are coordinates
    if len(listed) != n:
        count = len(values) if isinstance(values, Sized) else f"more than {n}"
        raise ModelError(where, f"{what} has {count} numbers", f"give {n}")
    # a sum of finite numbers is finite, unless it overflows: then each is tested
    if not math.isfinite(sum(listed)) and any(
        math.isnan(x) or (finite and math.isinf(x)) for x in listed
    ):
        raise ModelError(where, f"{what} = {quote(values)} is not finite", "give finite numbers")
    if positive and any(x < 0 for x in listed):
        raise ModelError(where, f"{what} = {quote(values)} is negative", "give a number >= 0")
    return tuple(listed)


def _is_single(values: Any) -> bool:
    return not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0


def _floats(values: Any, n: int) -> list[float]:
    """Return n floats, or a list that is too short or one too long."""
    if _is_single(values):
        return [_float(values)] * n
    if isinstance(values, (Mapping, Set)):
        raise TypeError("a set or a mapping has no order")
    # one more than wanted is enough to see that there are too many
    return list(map(_float, islice(values, n + 1)))


def _as_they_should_be(values: Iterable[Any]) -> bool:
    """Return true for finite numbers of which each zero is the exact one."""
    return all(x is ZERO or (type(x) is float and x and -inf < x < inf) for x in values)


def _float(x: Any) -> float:
    if type(x) is float:
        return x
    if isinstance(x, (str, bytes, bytearray, bool, np.bool_)):
        raise TypeError("a text or a truth value is not a number")
    if isinstance(x, Complex) and not isinstance(x, Real):
        raise TypeError("a complex number is not a real one")
    return float(x)


def check_name(where: str, name: object) -> None:
    """Refuse what is not a name."""
    if not isinstance(name, str) or not name:
        raise ModelError(where, f"the name is {quote(name)}", "give a text that is not empty")
    if len(name) > MAX_NAME_CHARACTERS:
        what = f"the name has {len(name)} characters"
        raise ModelError(where, what, f"give a name of at most {MAX_NAME_CHARACTERS}")


def placement_of(where: str, placement: Transform | Sequence[float] | None) -> Transform:
    """Return a transform with exact zeros, from one or from a position."""
    if placement is None:
        return Transform.identity()
    if isinstance(placement, Transform):
        # the usual case: exact zeros and the identity pass unchanged
        flat = (*placement.E.a, *placement.E.b, *placement.E.c, *placement.r)
        kept = _as_they_should_be(flat)
        if kept and placement.E is IDENTITY3:
            return placement
        numbers = flat if kept else numbers_of(where, "placement", flat, 12)
        nine = tuple(map(float, numbers[:9]))
        turned = _rotation(where, nine)
        if kept and turned is nine:
            return placement
        a, b, c, d, e, f, g, h, i, x, y, z = map(exact, (*turned, *numbers[9:]))
        return Transform(
            Matrix3(Vector3(a, b, c), Vector3(d, e, f), Vector3(g, h, i)), Vector3(x, y, z)
        )
    return Transform.translation(numbers_of(where, "placement", placement, 3))


def body_count(where: str, option: str, n: Any) -> int:
    """Return how many bodies to make."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise OptionError(where, option, "a whole number >= 1", n)
    if n > MAX_BODIES:
        fix = f"ask for at most {MAX_BODIES:,}, or build the model with ModelBuilder"
        raise TooLargeError(where, f"{option} = {quote(n)} bodies", fix)
    return int(n)


def generator_of(where: str, seed: Any) -> np.random.Generator:
    """Return the generator of random numbers that a seed stands for."""
    if isinstance(seed, np.random.Generator | np.random.BitGenerator | np.random.SeedSequence):
        return np.random.default_rng(seed)
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if seed is not None and not (whole and 0 <= seed < SEED_LIMIT):
        choices = "a whole number from 0 to 2**128 - 1, a NumPy generator, or None"
        raise OptionError(where, "seed", choices, seed)
    return np.random.default_rng(seed)


def _rotation(where: str, nine: Numbers) -> Numbers:
    """Return axes as they are, or orthonormal ones if these are so to six digits only.

    Algorithms take the transpose for the inverse: what is missing to orthonormal axes would be an
    error of that size in all results, and another one in each formulation.
    """
    a, b, c, d, e, f, g, h, i = nine
    # rows of a rotation have length 1, are orthogonal, and form a right-handed system
    lengths = (a * a + b * b + c * c - 1, d * d + e * e + f * f - 1, g * g + h * h + i * i - 1)
    angles = (a * d + b * e + c * f, d * g + e * h + f * i, g * a + h * b + i * c)
    volume = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    off = max(map(abs, lengths + angles))
    if not off <= 1e-6 or volume < 0:
        raise ModelError(where, "the placement does not turn axes rigidly", "give a rotation")
    return nine if off <= _ROUNDING else _orthonormal(nine, lengths, angles)


def _orthonormal(nine: Numbers, lengths: Numbers, angles: Numbers) -> Numbers:
    """Return the nearest rotation, E <- (3 - E E^T) / 2 E: each step squares what is missing."""
    (x, y, z), (xy, yz, xz) = lengths, angles
    # (3 - E E^T) / 2, by what lengths and angles miss
    half = (
        (1 - x / 2, -xy / 2, -xz / 2),
        (-xy / 2, 1 - y / 2, -yz / 2),
        (-xz / 2, -yz / 2, 1 - z / 2),
    )
    rows = [nine[:3], nine[3:6], nine[6:]]
    columns = list(zip(*rows, strict=True))
    return _rotation(
        "",
        tuple(
            sum(m * n for m, n in zip(row, column, strict=True))
            for row in half
            for column in columns
        ),
    )


def inertia_of(where: str, inertia: Inertia) -> Inertia:
    """Return an inertia with exact zeros."""
    if not isinstance(inertia, Inertia):
        raise ModelError(where, f"inertia is {quote(inertia)}", "use Inertia.from_mass(...)")
    given = inertia.parameters()
    kept = _as_they_should_be(given)
    numbers = given if kept else numbers_of(where, "inertia", given, 10)
    if numbers[0] < 0:
        fix = "give a mass >= 0 [kg]"
        raise ModelError(where, f"the mass {float(numbers[0])!r} is negative", fix)
    if numbers[0] == 0 and any(numbers[1:4]):
        raise ModelError(where, "has a first moment but no mass", "give it a mass")
    return inertia if kept else Inertia.from_parameters(numbers)


def check_spring(where: str, joint: Joint, stiffness: Numbers) -> None:
    """Refuse a spring that has no potential."""
    if not joint.velocity_is_rate and len(set(stiffness[:3])) > 1:
        raise ModelError(
            where,
            f"a {joint.kind} joint's rotational stiffness {stiffness[:3]} differs by axis",
            "give the three rotations one stiffness: only then does the spring have a potential",
        )


def tuple_of(where: str, field: str, given: Any, kind: Any) -> tuple[Any, ...]:
    """Return parts of one kind, or of a union, as a tuple, or say which is another."""
    title = getattr(kind, "__name__", field.capitalize()[:-1])
    if not isinstance(given, (tuple, list)):
        fix = f"pass a tuple of {title} objects, or use ModelBuilder"
        raise ArgumentError(f"{where}: field '{field}'", "a tuple", given, fix)
    for k, part in enumerate(given):
        if not isinstance(part, kind):
            fix = "make models with sixfold.load, ModelBuilder or from_dh"
            raise ArgumentError(f"{where}: {field}[{k}]", f"a {title}", part, fix)
    return given if isinstance(given, tuple) else tuple(given)


def check_bodies(bodies: tuple[Any, ...]) -> None:
    """Refuse bodies that cannot form a tree."""
    tried: set[int] = set()
    for k, body in enumerate(bodies):
        where = f"body {k}"
        for name in (body.name, body.joint_name):
            if type(name) is not str:
                check_name(where, name)
        # parents come before their children
        if type(body.parent) is not int or not -1 <= body.parent < k:
            what = f"its parent is {quote(body.parent)}"
            raise ModelError(where, what, f"give an index from -1 (the base) to {k - 1}")
        for field, kind in (("joint", Joint), ("placement", Transform), ("inertia", Inertia)):
            if not isinstance(getattr(body, field), kind):
                what = f"its {field} is {kind_of(getattr(body, field))}"
                raise ModelError(where, what, f"give a {kind.__name__}")
        for field, per in JOINT_PROPERTIES.items():
            n = body.joint.nq if per == "q" else body.joint.nv
            values = getattr(body, field)
            if type(values) is not tuple or len(values) != n:
                raise ModelError(where, f"{field} = {quote(values)}", f"give {n} numbers")
        numbers_of(where, "friction_speed", body.friction_speed, body.joint.nv, positive=True)
        # classes of users may promise what is not so
        own = body.joint.is_code and not of_the_library(type(body.joint))
        if own and id(body.joint) not in tried:
            tried.add(id(body.joint))
            check_promises(f"joint '{body.joint_name}'", body.joint)


def check_names_and_indices(model: Any) -> None:
    """Refuse invalid names, gravity, constraints and couplings."""
    for field in ("name", "base_name"):
        check_name(f"Model: field '{field}'", getattr(model, field))
    where = f"model '{model.name}'"
    numbers_of(where, "gravity", model.gravity, 3)
    if not isinstance(model.gravity, tuple):
        raise ModelError(where, f"gravity is {quote(model.gravity)}", "give a tuple (x, y, z)")
    n = len(model.bodies)
    # constraints name bodies by number; only those of two bodies may name the base
    for each in model.constraints:
        numbers = (
            (each.follower, *(leader for leader, _ in each.terms))
            if isinstance(each, Gear)
            else (each.body_a, each.body_b)
        )
        least = 0 if isinstance(each, Gear) else -1
        if any(type(k) is not int or not least <= k < n for k in numbers):
            what = f"constraint '{each.name}' names bodies {quote(numbers)}"
            fix = f"give indices from {least} to {n - 1}" + ", -1 for the base" * (least < 0)
            raise ModelError(where, what, fix)
    names = [each.name for each in model.constraints]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(where, f"two constraints are named '{twice}'", "give each its own name")
    for coupling in model.couplings:
        named = (coupling.follower, *(master for master, _ in coupling.terms))
        if any(type(k) is not int or not 0 <= k < n for k in named):
            what = f"a coupling names bodies {quote(named)}"
            raise ModelError(where, what, f"give indices from 0 to {n - 1}")


MANY_TURNS = 4 * math.pi  #: Angles [rad] of a joint with limits are at most two turns.
MOST_DEGREES = 720.0  #: Larger limits stand for none.
TENSOR_ROUNDING = 1e-6  #: Fraction of the largest moment that a tensor of few digits may be off by.
#: Fraction of the largest moment by which measured moments miss the triangle inequality.
MEASURING_ERROR = 0.1


def degree_limits(body: Body) -> Iterator[tuple[int, float, float]]:
    """Yield (coordinate, lower, upper) of limits that look like degrees.

    They are multiples of 5 beyond two turns: 90, 180, 270.
    """
    for k in _angles(body):
        low, high = body.lower[k], body.upper[k]
        given = [x for x in (low, high) if x and math.isfinite(x)]
        largest = max(map(abs, given), default=0.0)
        if MANY_TURNS < largest <= MOST_DEGREES and all(x % 5 == 0 for x in given):
            yield k, low, high


def beyond_turns(body: Body, q: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Yield (coordinate, angle) of angles outside of a joint's limits by more than two turns."""
    for k in _angles(body):
        low, high = body.lower[k], body.upper[k]
        if math.isfinite(high - low) and max(low - q[k], q[k] - high) > MANY_TURNS:
            yield k, float(q[k])


def impossible_inertias(inertias: Sequence[Inertia]) -> Iterator[tuple[int, str]]:
    """Yield (number, reason) of inertias that no body can have.

    Two moments that are exactly zero are taken for those of a planar problem, which has one.
    """
    tensors = [inertia.about_center if inertia.m else inertia.I for inertia in inertias]
    if not tensors:
        return
    # principal moments of all inertias in one call
    stack = np.array([np.array(tensor.matrix(), float) for tensor in tensors])
    usable = np.isfinite(stack).all(axis=(1, 2)) & stack.any(axis=(1, 2))
    moments = np.zeros((len(stack), 3))
    moments[usable] = np.linalg.eigvalsh(stack[usable])
    size = np.abs(moments).max(axis=1)
    # what moving a tensor to the centre of mass may have cost
    lever = np.array([_lever(inertia) for inertia in inertias])
    slack = TENSOR_ROUNDING * (size + lever)
    # A, B, C >= 0 and A + B >= C for every distribution of mass
    negative = moments[:, 0] < -slack
    excess = moments[:, 2] - moments[:, 0] - moments[:, 1] > MEASURING_ERROR * size + slack
    planar = (moments[:, 0] == 0) & (moments[:, 1] == 0)
    for k in np.flatnonzero(negative | (excess & ~planar)):
        listed = ", ".join(f"{x:.4g}" for x in moments[k])
        why = "one is negative" if negative[k] else "the last exceeds the sum of the others"
        yield int(k), f"principal moments {listed} kg m^2: {why}"


def _lever(inertia: Inertia) -> float:
    """Return m c^2."""
    m = float(inertia.m)
    return sum(float(x) * float(x) for x in inertia.h) / m if m else 0.0


def _angles(body: Body) -> Iterator[int]:
    """Yield the coordinates of a joint that are angles; a joint of the user's own may have any."""
    joint = body.joint
    turns = joint.quaternion()
    if joint.is_code:
        return
    for k, far in enumerate(joint.sampling_range()):
        if far == math.pi and not (turns is not None and turns.start <= k < turns.stop):
            yield k
