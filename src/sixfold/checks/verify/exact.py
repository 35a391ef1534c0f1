"""Do all formulations agree exactly?  Evaluate them on rational numbers, without rounding.

The algorithms run on any kind of number.  With rational positions, velocities and accelerations,
and angles given by t = tan(angle / 2), whose cosine (1 - t^2) / (1 + t^2) and sine 2 t / (1 + t^2)
are rational, no operation rounds: two formulations of one quantity either agree with zero error or
differ.  The Schwartz-Zippel lemma bounds the probability that two that differ anywhere agree at
random states: at most degree / 2^32 for each.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.checks.verify.formulations import COMPUTE, Runner, applicable, without_springs
from sixfold.checks.verify.report import Finding
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.kinematics import no_forces
from sixfold.errors import NotApplicableError, NumberError
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.progress import tell
from sixfold.scalar import Dual, Zero, plain, register
from sixfold.scalar.operations import Op
from sixfold.spatial import Column, Matrix3, Transform, Vector3
from sixfold.spatial.rotations import rotation_to_quaternion

BITS = 32  #: Each random number is one of 2^32.
ROTATION_BITS = 30  #: Bits that quaternions and axes are rounded to where they are not rational.
#: Coordinates of each kind of joint: an angle, a length, or a quaternion.
COORDINATES = {
    "revolute": "a",
    "prismatic": "l",
    "cylindrical": "al",
    "planar": "lla",
    "universal": "aa",
    "spherical": "q",
    "translational": "lll",
    "free": "lllq",
    "fixed": "",
}
#: Degree of the mass matrix in each kind of coordinate, over the common denominator.
DEGREES = {"a": 4, "l": 2, "q": 8}
#: What is left out, and why.
LEFT_OUT = {"machine code": "computes with doubles", "crba + ltl": "takes square roots"}

try:
    from gmpy2 import mpq as _rational
except ImportError:  # 5 to 20 times slower
    _rational = Fraction


class Rational:
    """An exact rational number.  Numbers that meet it are taken exactly; other kinds are refused.

    A class of its own, because fractions turn into floats without a word where they meet a float.
    """

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        """Take a whole number, a float, a string or a fraction."""
        self.value = _rational(value)

    def _combine(self, other: Any, operation: Any) -> Any:
        if isinstance(other, Rational):
            return _of(operation(self.value, other.value))
        if isinstance(other, (int, float)):
            return _of(operation(self.value, _rational(other)))
        if isinstance(other, (Zero, Dual, np.ndarray)):
            return NotImplemented
        raise NumberError("exact check", "whole numbers, floats and rationals", other, "")

    def __add__(self, other: Any) -> Any:
        """Add."""
        return self._combine(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract."""
        return self._combine(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        """Subtract from another number."""
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        """Multiply."""
        return self._combine(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Divide."""
        return self._combine(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        """Divide another number."""
        return self._combine(other, lambda a, b: b / a)

    def __pow__(self, exponent: int) -> Rational:
        """Raise to a whole power."""
        return _of(self.value**exponent)

    def __neg__(self) -> Rational:
        """Change the sign."""
        return _of(-self.value)

    def __abs__(self) -> Rational:
        """Return the absolute value."""
        return _of(abs(self.value))

    def __eq__(self, other: object) -> bool:
        """Compare exactly."""
        return bool(self.value == getattr(other, "value", other))

    def __float__(self) -> float:
        """Return the nearest float."""
        return float(self.value)

    def __repr__(self) -> str:
        """Return the fraction."""
        return str(self.value)


def _of(value: Any) -> Rational:
    """Return a rational that holds a value as it is."""
    made = Rational.__new__(Rational)
    made.value = value
    return made


class Angle:
    """An angle with a rational sine and cosine: 2 atan(t).  It has no arithmetic."""

    __slots__ = ("cos", "sin")

    def __init__(self, t: Rational) -> None:
        """Take the tangent of half the angle."""
        size = 1 + t * t
        self.cos, self.sin = (1 - t * t) / size, 2 * t / size


def _refuse(op: Op, *_: Any) -> Any:
    raise NumberError("exact check", "operations that stay rational", op.value, "")


def _of_angle(op: Op, angle: Any) -> Any:
    return angle.sin if op is Op.SIN else angle.cos if op is Op.COS else _refuse(op)


register(Rational, 4, _refuse, lambda _: np.inf)
register(Angle, 4, _of_angle, lambda _: np.inf)


class _ExactRunner(Runner):
    """Evaluates formulations at one rational state."""

    def __init__(self, model: Model, tree: Tree, random: np.random.Generator) -> None:
        self.model, self.tree, self.n = model, without_springs(tree), 1

        def draw() -> Rational:
            return _of(_rational(int(random.integers(2**BITS)), 2 ** (BITS - 1)) - 1)

        self.q = {i: _position(tree.joint[i].kind, draw) for i in tree.bodies}
        self.v, self.a = (
            {i: Column(draw() for _ in range(tree.joint[i].nv)) for i in tree.bodies}
            for _ in range(2)
        )
        self.forces = no_forces(tree)
        self.tau_ref = self.flat(rnea(tree, self.q, self.v, self.a, self.forces)[0])
        self.mass_ref = self.unit_columns(tree, self.q, object)
        self.tau = self.tau_ref  # with accelerations that are known: a

    def columns(self, flat: Array) -> Table:
        slices = self.tree.velocity_slices
        return {i: Column(flat[0, slices[i]]) for i in self.tree.bodies}

    def stack(self, values: Any, dtype: Any = object) -> Array:
        return super().stack(values, object)

    def matrix(self, rows: Any, dtype: Any = object) -> Array:
        return super().matrix(rows, object)

    def difference(self, quantity: str, name: str) -> float:
        """Return the largest difference from the reference; zero if there is none."""
        try:
            value = COMPUTE[quantity][name](self)
        except ZeroDivisionError:
            return float("nan")
        if quantity == "forward dynamics":
            expected: Any = self.flat(self.a)
        elif quantity == "inverse mass":
            value, expected = self.mass_ref[0] @ value[0], np.eye(self.tree.nv)
        else:
            expected = self.tau_ref if quantity == "inverse dynamics" else self.mass_ref
        left = [x for x in (value - expected).ravel() if x != 0]
        # an error below the smallest float is none the less one
        return max((max(abs(float(x)), 5e-324) for x in left), default=0.0)


def _position(kind: str, draw: Any) -> Column:
    """Return random coordinates of a joint."""
    values: list[Any] = []
    for coordinate in COORDINATES[kind]:
        if coordinate == "a":
            values.append(Angle(draw()))
        elif coordinate == "l":
            values.append(draw())
        else:
            values += _unit(draw(), draw(), draw())
    return Column(values)


def _unit(*p: Rational) -> list[Rational]:
    """Return (2 p, 1 - |p|^2) / (1 + |p|^2), a rational vector of length one."""
    square = sum((x * x for x in p), Rational(0))
    return [2 * x / (1 + square) for x in p] + [(1 - square) / (1 + square)]


def rational_tree(tree: Tree) -> tuple[Tree, int, int]:
    """Return the tree on rationals, and how many placements and axes are replaced by near ones.

    Doubles are rational, but a rotation of doubles is rarely orthogonal to the last digit.
    """
    placements, axes, turned = [], {}, 0
    for i, X in enumerate(tree.Xtree):
        E = X.E.map(_constant)
        if not _is_orthogonal(E):
            E, turned = _near_rotation(X.E), turned + 1
        placements.append(Transform(E, X.r.map(_constant)))
        axis = getattr(tree.joint[i], "axis", None)
        if isinstance(axis, Vector3) and sum(_rational(plain(x)) ** 2 for x in axis) != 1:
            axes[i] = _near_axis(axis)
    exact = tree.map(_constant)
    joints: list[Any] = list(exact.joint)
    for i, near in axes.items():
        joints[i] = replace(joints[i], axis=near)
    return replace(exact, Xtree=tuple(placements), joint=tuple(joints)), turned, len(axes)


def _constant(x: Any) -> Any:
    return Rational(x) if isinstance(x, (int, float)) else x


def _is_orthogonal(E: Matrix3) -> bool:
    rows = E @ E.T
    return all(plain(x) == (r == c) for r, row in enumerate(rows) for c, x in enumerate(row))


def _near_rotation(E: Matrix3) -> Matrix3:
    """Return a rational rotation near one of doubles: of its quaternion in rounded numbers."""
    x, y, z, w = (Rational(round(float(c) * 2**ROTATION_BITS)) for c in rotation_to_quaternion(E))
    n = x * x + y * y + z * z + w * w
    R = (
        (1 - 2 * (y * y + z * z) / n, 2 * (x * y - z * w) / n, 2 * (x * z + y * w) / n),
        (2 * (x * y + z * w) / n, 1 - 2 * (x * x + z * z) / n, 2 * (y * z - x * w) / n),
        (2 * (x * z - y * w) / n, 2 * (y * z + x * w) / n, 1 - 2 * (x * x + y * y) / n),
    )
    return Matrix3.of(R).T


def _near_axis(axis: Vector3) -> Vector3:
    """Return a rational unit vector near one of doubles, by stereographic projection."""
    x, y, z = (float(c) for c in axis)
    flip = -1 if z < 0 else 1  # project from the pole that is farther away
    p = (round(c / (1 + flip * z) * 2**ROTATION_BITS) for c in (x, y))
    *ends, height = _unit(*(_of(_rational(c, 2**ROTATION_BITS)) for c in p))
    return Vector3(ends[0], ends[1], height * flip)


def exact_findings(
    model: Model, samples: int, random: np.random.Generator
) -> tuple[list[Finding], str]:
    """Evaluate every formulation on rational states; return what was found, and what it proves."""
    for body in model.bodies:
        if body.joint.kind not in COORDINATES:
            case = f"the {body.joint.kind} joint '{body.joint_name}'"
            fix = "its angle and the sine of it are not both rational: use check without exact"
            raise NotApplicableError("an exact check", case, fix)
    tree, placements, axes = rational_tree(model.tree)
    every = applicable(model)
    steps, done = samples * sum(map(len, every.values())), 0
    worst: dict[tuple[str, str], tuple[float, int]] = {}
    for state in range(samples):
        run = _ExactRunner(model, tree, random)
        for quantity, entries in every.items():
            for name, excuse in entries.items():
                tell(done, steps)
                done += 1
                if excuse or name in LEFT_OUT:
                    continue
                error = run.difference(quantity, name)
                known = worst.setdefault((quantity, name), (error, state))
                if not error <= known[0]:
                    worst[quantity, name] = error, state
    tell(steps, steps)
    found = []
    for quantity, entries in every.items():
        for name, excuse in entries.items():
            note = excuse or LEFT_OUT.get(name, "")
            error_at, at = worst.get((quantity, name), (None, None))
            found.append(Finding(quantity, name, error_at, at, 0.0, note))
    return found, _statement(model, samples, placements, axes)


def _statement(model: Model, samples: int, placements: int, axes: int) -> str:
    """Return what agreement proves, and what was changed to compute it."""
    kinds = [COORDINATES[body.joint.kind] for body in model.bodies]
    mass = sum(DEGREES[coordinate] for kind in kinds for coordinate in kind)
    degree = mass * (model.tree.nv + 1) + 2
    power = samples * (np.log10(degree) - BITS * np.log10(2.0))
    text = (
        f"Zero means zero: rational numbers, no rounding, at {samples} random states.  Formulas of"
        f" degree {degree} or less that differ anywhere agree at all of them with probability"
        f" below 1e{int(np.ceil(power))} (Schwartz-Zippel)."
    )
    if placements or axes:
        text += (
            f"  {placements} placements and {axes} axes are not orthogonal to the last digit of a"
            f" double and were replaced by rational ones within 1e-8."
        )
    return text
