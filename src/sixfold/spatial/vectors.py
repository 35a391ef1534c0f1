"""Motion and force vectors: the two six-dimensional spaces M6 and F6 and what joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

from sixfold.errors import ArgumentError, kind_of
from sixfold.scalar import Scalar, items_of, together
from sixfold.spatial.quantity import comparable, displayable, triple
from sixfold.spatial.vector3 import ZERO3, ZERO33, Matrix3, Vector3, skew

Rows = tuple[tuple[Scalar, ...], ...]


def _six(x: Any) -> tuple[Scalar, ...]:
    return (*x.ang, *x.lin)


@displayable(_six, lambda m: f"Motion(w={triple(m.ang)}, v={triple(m.lin)})")
@comparable()
class Motion(NamedTuple):
    """A velocity or acceleration: angular part first, linear part at the origin.

    Args:
        ang: angular velocity [rad/s], or its rate.
        lin: velocity of the body point at the origin [m/s], or its rate.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> v = sf.spatial.Motion.of([0, 0, 1, 0.5, 0, 0])
        >>> print(2 * v, v.dot(sf.spatial.Force.of([0, 0, 3, 4, 0, 0])), np.asarray(v).shape)
        Motion(w=(0, 0, 2), v=(1, 0, 0)) 5.0 (6,)
    """

    ang: Vector3
    """Angular part."""
    lin: Vector3
    """Linear part."""

    @classmethod
    def zero(cls) -> Motion:
        """Return the motion that is exactly zero."""
        return cls(ZERO3, ZERO3)

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Motion:
        """Take six numbers (omega; v)."""
        return cls(*_halves("Motion", values))

    def __add__(self, other: Motion) -> Motion:  # type: ignore[override]
        """Add two motions."""
        return _sum(self, other)

    def __sub__(self, other: Motion) -> Motion:
        """Subtract two motions."""
        return _sum(self, -_same(self, other))

    def __neg__(self) -> Motion:
        """Reverse."""
        return Motion(-self.ang, -self.lin)

    def __mul__(self, scale: Scalar) -> Motion:
        """Scale."""
        _refuse_product(self, scale)
        return Motion(self.ang * scale, self.lin * scale)

    def __rmul__(self, scale: Scalar) -> Motion:
        """Scale."""
        return self * scale

    def dot(self, f: Force) -> Scalar:
        """Return the power of a force on this motion; motion . motion does not exist."""
        if not isinstance(f, Force):
            raise _no_power(self, f)
        return self.ang.dot(f.ang) + self.lin.dot(f.lin)

    @overload
    def cross(self, other: Motion) -> Motion: ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: Any) -> Any:
        """Return v x m for a motion (Carius eq. 9) and v x* f for a force (eq. 10)."""
        w, v = self
        if isinstance(other, Motion):
            return Motion(w.cross(other.ang), w.cross(other.lin) + v.cross(other.ang))
        if isinstance(other, Force):
            return Force(w.cross(other.ang) + v.cross(other.lin), w.cross(other.lin))
        where = f"cross product of Motion with {kind_of(other)}"
        raise ArgumentError(where, "a Motion or Force", other, "pass a Motion or Force")

    def cross_matrix(self) -> Rows:
        """Return the 6x6 matrix v x = [[w x, 0], [v x, w x]]."""
        w, v, o = skew(self.ang), skew(self.lin), ZERO33
        return blocks(w, o, v, w)

    def cross_star_matrix(self) -> Rows:
        """Return the 6x6 matrix v x* = [[w x, v x], [0, w x]] = -(v x)^T."""
        w, v, o = skew(self.ang), skew(self.lin), ZERO33
        return blocks(w, v, o, w)

    def map(self, convert: Callable[[Scalar], Scalar]) -> Motion:
        """Return the vector with each number converted."""
        return Motion(self.ang.map(convert), self.lin.map(convert))


@displayable(_six, lambda f: f"Force(n={triple(f.ang)}, f={triple(f.lin)})")
@comparable()
class Force(NamedTuple):
    """A force, momentum or impulse: moment about the origin first, linear part second.

    Args:
        ang: moment about the origin [N m].
        lin: force [N].

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.Force.at_point((0, 0, 10), (2, 0, 0)))
        Force(n=(0, -20, 0), f=(0, 0, 10))
    """

    ang: Vector3
    """Moment about the origin."""
    lin: Vector3
    """Linear part."""

    @classmethod
    def zero(cls) -> Force:
        """Return the force that is exactly zero."""
        return cls(ZERO3, ZERO3)

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Force:
        """Take six numbers (n; f)."""
        return cls(*_halves("Force", values))

    @classmethod
    def at_point(cls, force: Sequence[Scalar], point: Sequence[Scalar]) -> Force:
        """Return a pure force acting along a line through a point; each is three numbers."""
        f, p = (_three("Force.at_point", *x) for x in (("force", force), ("point", point)))
        with together("Force.at_point"):
            return cls(p.cross(f), f)

    def __add__(self, other: Force) -> Force:  # type: ignore[override]
        """Add two forces."""
        return _sum(self, other)

    def __sub__(self, other: Force) -> Force:
        """Subtract two forces."""
        return _sum(self, -_same(self, other))

    def __neg__(self) -> Force:
        """Reverse."""
        return Force(-self.ang, -self.lin)

    def __mul__(self, scale: Scalar) -> Force:
        """Scale."""
        _refuse_product(self, scale)
        return Force(self.ang * scale, self.lin * scale)

    def __rmul__(self, scale: Scalar) -> Force:
        """Scale."""
        return self * scale

    def dot(self, v: Motion) -> Scalar:
        """Return the power on a motion; force . force does not exist."""
        if not isinstance(v, Motion):
            raise _no_power(self, v)
        return self.ang.dot(v.ang) + self.lin.dot(v.lin)

    def map(self, convert: Callable[[Scalar], Scalar]) -> Force:
        """Return the vector with each number converted."""
        return Force(self.ang.map(convert), self.lin.map(convert))


def blocks(a: Matrix3, b: Matrix3, c: Matrix3, d: Matrix3) -> Rows:
    """Return the rows of the 6x6 matrix [[a, b], [c, d]]."""
    upper = tuple((*p, *q) for p, q in zip(a, b, strict=True))
    lower = tuple((*p, *q) for p, q in zip(c, d, strict=True))
    return upper + lower


def _halves(kind: str, values: Sequence[Scalar]) -> tuple[Vector3, Vector3]:
    fix = "pass the angular part, then the linear part"
    six = items_of(kind, "values", values, 6, "6 numbers", fix)
    return Vector3.of(six[:3]), Vector3.of(six[3:])


def _three(where: str, argument: str, given: Any) -> Vector3:
    """Return a vector as it is, or one of three numbers."""
    if isinstance(given, Vector3):
        return given
    fix = "pass three numbers, or a Vector3"
    return Vector3.of(items_of(where, argument, given, 3, "3 numbers", fix))


def _same(left: Any, right: Any) -> Any:
    if type(left) is not type(right):
        raise ArgumentError(
            f"{type(left).__name__} + {type(right).__name__}: motions and forces live in different "
            f"spaces; only vectors of one kind can be added",
            f"a {type(left).__name__}",
            right,
            "add vectors of one kind",
        )
    return right


def _sum(left: Any, right: Any) -> Any:
    _same(left, right)
    return type(left)(left.ang + right.ang, left.lin + right.lin)


def _refuse_product(left: Any, right: Any) -> None:
    if isinstance(right, (Motion, Force)):
        raise ArgumentError(
            f"{type(left).__name__} * {type(right).__name__}",
            "a number",
            right,
            "use .dot() for power, .cross() for x",
        )


def _no_power(left: Any, right: Any) -> ArgumentError:
    dual = "Force" if isinstance(left, Motion) else "Motion"
    return ArgumentError(
        f"{type(left).__name__} . {type(right).__name__}: the scalar product joins a Motion and a "
        f"Force (power); neither space has an inner product of its own",
        f"a {dual}",
        right,
        f"pass a {dual}",
    )
