"""Pluecker transforms: one pair (E, r) that moves motions, forces and inertias between frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sixfold.errors import ArgumentError, ModelError, NumberError, quote
from sixfold.scalar import ZERO, Scalar, exact, items_of, number_of
from sixfold.spatial.inertia import (
    ArticulatedInertia,
    CoriolisInertia,
    ForceSubspace,
    Inertia,
    Subspace,
)
from sixfold.spatial.vectors import (
    IDENTITY3,
    ZERO3,
    ZERO33,
    Force,
    Matrix3,
    Motion,
    Rows,
    Vector3,
    axial,
    blocks,
    comparable,
    displayable,
    product,
    rotation,
    row_text,
    skew,
)


def _text(X: Transform) -> str:
    return f"Transform(E=({', '.join(map(row_text, X.E))}), r={row_text(X.r)})"


@displayable(lambda X: X.matrix(), _text)
@comparable()
class Transform(NamedTuple):
    """B_X_A: from coordinates of frame A to frame B.

    E turns A's axes into B's; r is the position of B's origin in A's coordinates.  As a matrix on
    motions it is [[E, 0], [-E r x, E]] (Carius eq. 11).

    Args:
        E: rotation, a Matrix3.
        r: position [m], a Vector3.

    Example:
        >>> import sixfold as sf
        >>> X = sf.Transform.translation((1, 0, 0))
        >>> print(X @ sf.spatial.Motion.of([0, 0, 2, 0, 0, 0]))  # seen from (1, 0, 0)
        Motion(w=(0, 0, 2), v=(0, 2, 0))
    """

    E: Matrix3  #: Rotation from A's axes to B's.
    r: Vector3  #: B's origin in A's coordinates.

    @classmethod
    def identity(cls) -> Transform:
        """Return the transform of a frame to itself."""
        return cls(IDENTITY3, ZERO3)

    @classmethod
    def translation(cls, r: Sequence[Scalar]) -> Transform:
        """Return the transform to a frame at r with the same axes."""
        return cls(IDENTITY3, _position("Transform.translation", "r", r))

    @classmethod
    def from_pose(cls, R: Sequence[Sequence[Scalar]], p: Sequence[Scalar]) -> Transform:
        """Return the transform to a frame whose axes are the columns of R and whose origin is p."""
        fix = "pass a 3x3 matrix whose columns are the axes"
        rows = items_of("Transform.from_pose", "R", R, 3, "3 rows of 3 numbers", fix)
        return cls(Matrix3.of(rows).T, _position("Transform.from_pose", "p", p))

    @classmethod
    def from_rpy(cls, rpy: Sequence[float], p: Sequence[float] = (0.0, 0.0, 0.0)) -> Transform:
        """Return the transform to a frame turned by fixed-axis roll, pitch, yaw and placed at p."""
        # fixed axes: R = Rz Ry Rx, so E = Ex Ey Ez
        E = IDENTITY3
        angles = _position("Transform.from_rpy", "rpy", rpy)
        turns = [_finite("Transform.from_rpy", "rpy", angle) for angle in angles]
        for axis, angle in zip(reversed(_AXES), reversed(turns), strict=True):
            E = rotation(axis, *cos_sin(angle)) @ E if angle else E
        return cls(E.map(exact), _position("Transform.from_rpy", "p", p))

    @classmethod
    def turn(cls, axis: Sequence[float], angle: float) -> Transform:
        """Return the transform to a frame turned about an axis through the origin."""
        turn = cos_sin(_finite("Transform.turn", "angle", angle))
        return cls(rotation(unit(axis, "Transform.turn"), *turn).map(exact), ZERO3)

    def __matmul__(self, other: Any) -> Any:
        E, r = self
        if isinstance(other, Motion):
            return Motion(E @ other.ang, E @ (other.lin - r.cross(other.ang)))
        if isinstance(other, Transform):
            return Transform(E @ other.E, other.r + other.E.T @ r)
        if isinstance(other, Subspace):
            return Subspace(*(self @ column for column in other.columns))
        if isinstance(other, Force):
            fix = "forces move with X.star @ f (same direction) or X.T @ f (back)"
            raise ArgumentError("Transform @ Force", "a Motion or a Transform", other, fix)
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        raise ArgumentError("Transform + other", "no sum: use @", other, "chain with X @ Y")

    def __mul__(self, other: Any) -> Any:
        raise ArgumentError("Transform * other", "no scaling: use @", other, "chain with X @ Y")

    def __rmul__(self, other: Any) -> Any:
        return self * other

    @property
    def T(self) -> Transposed:
        """The transpose: X.T @ f takes a force from B back to A; X.T @ I @ X an inertia."""
        return Transposed(self)

    @property
    def star(self) -> Star:
        """X* = X^-T: takes a force from A to B (Carius eqs. 14 and 15)."""
        return Star(self)

    def inverse(self) -> Transform:
        """Return A_X_B (Carius eq. 13)."""
        return Transform(self.E.T, -(self.E @ self.r))

    def pose(self) -> Rows:
        """Return the 4x4 matrix [[R, p], [0, 1]]: B's axes and origin in A's coordinates."""
        rows = zip(self.E.T, self.r, strict=True)
        return (*((*row, p) for row, p in rows), (ZERO, ZERO, ZERO, 1.0))

    def matrix(self) -> Rows:
        """Return the 6x6 matrix that acts on motions."""
        return blocks(self.E, ZERO33, -(self.E @ skew(self.r)), self.E)

    def star_matrix(self) -> Rows:
        """Return the 6x6 matrix that acts on forces."""
        return blocks(self.E, -(self.E @ skew(self.r)), ZERO33, self.E)

    def map(self, convert: Callable[[Scalar], Scalar]) -> Transform:
        """Return the transform with each number converted."""
        return Transform(self.E.map(convert), self.r.map(convert))


def transform_rate(X: Transform, v_A: Motion, v_B: Motion) -> Rows:
    """Return d/dt B_X_A = (v_A - v_B) x B_X_A as a 6x6 matrix (Carius eq. 16).

    Args:
        X: the transform from A to B.
        v_A: velocity of frame A, in B's coordinates.
        v_B: velocity of frame B, in B's coordinates.

    Returns:
        Six rows of six numbers, the derivative of `X.matrix()`.

    Example:
        >>> import sixfold as sf
        >>> v = sf.spatial.Motion.of([0, 0, 1, 0, 0, 0])
        >>> rate = sf.spatial.transform_rate(sf.Transform.identity(), sf.spatial.Motion.zero(), v)
        >>> sf.spatial.to_array(rate)[0].tolist()
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    # each argument is checked by its type
    for name, given, kind in (("X", X, Transform), ("v_A", v_A, Motion), ("v_B", v_B, Motion)):
        if not isinstance(given, kind):
            where, fix = f"transform_rate: argument '{name}'", f"make one with sf.{kind.__name__}"
            raise ArgumentError(where, f"a {kind.__name__}", given, fix)
    return product((v_A - v_B).cross_matrix(), X.matrix())


def deviation(X: Transform) -> Motion:
    """Return how far a frame is from another, as a small motion: (turn; displacement).

    The turn is 2 tan(angle / 2) along its axis: zero at rest only, and at small angles the angle.
    """
    # sin t / (1 + cos t) = tan(t / 2), with 1 + tr E = 2 (1 + cos t)
    size = 1.0 + (X.E.a.x + X.E.b.y + X.E.c.z)
    return Motion(axial(X.E) * (4.0 / size), X.r)


class Transposed:
    """X^T, which takes forces and inertias the other way."""

    __slots__ = ("X",)

    def __init__(self, X: Transform) -> None:
        self.X = X

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Force):
            E, r = self.X
            # back from B to A: f = E^T f', n = E^T n' + r x f
            back = E.T
            f = back @ other.lin
            return Force(back @ other.ang + r.cross(f), f)
        if isinstance(other, ForceSubspace):
            return ForceSubspace(*(self @ column for column in other.columns))
        if isinstance(other, (Inertia, ArticulatedInertia, CoriolisInertia)):
            return Congruence(self.X, other)
        if isinstance(other, Transposed):
            return Transposed(other.X @ self.X)
        if isinstance(other, Motion):
            fix = "a motion moves back with X.inverse() @ m"
            raise ArgumentError("Transform.T @ Motion", "a Force or an Inertia", other, fix)
        return NotImplemented


class Congruence:
    """The half-finished product X^T I, which only a multiplication by the same X completes."""

    __slots__ = ("I", "X")

    def __init__(
        self, X: Transform, inertia: Inertia | ArticulatedInertia | CoriolisInertia
    ) -> None:
        """Keep both factors."""
        self.X, self.I = X, inertia

    def __matmul__(self, X: Transform) -> Any:
        if X is not self.X:
            where = "X.T @ I @ Y with Y other than X is not a change of coordinates"
            raise ArgumentError(where, "the same X", X, "write X.T @ I @ X")
        return self.I.to_parent(X.E, X.r)


class Star:
    """X*, which takes forces the same way as X takes motions."""

    __slots__ = ("X",)

    def __init__(self, X: Transform) -> None:
        self.X = X

    def __matmul__(self, other: Any) -> Force:
        if not isinstance(other, Force):
            where = f"Transform.star @ {type(other).__name__}: X* moves forces only"
            raise ArgumentError(where, "a Force", other, "move motions with X @ m")
        E, r = self.X
        return Force(E @ (other.ang - r.cross(other.lin)), E @ other.lin)


_AXES = (Vector3.of((1.0, 0.0, 0.0)), Vector3.of((0.0, 1.0, 0.0)), Vector3.of((0.0, 0.0, 1.0)))


def _position(where: str, argument: str, given: Any) -> Vector3:
    """Return three numbers of any kind."""
    return Vector3.of(items_of(where, argument, given, 3, "3 numbers", "pass (x, y, z)"))


def _finite(where: str, argument: str, x: Any) -> float:
    """Return one finite float."""
    try:
        value = float(number_of(where, argument, x))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, NumberError):
            raise
        value = math.nan
    if not math.isfinite(value):
        place = f"{where}: argument '{argument}'"
        raise NumberError(place, "a finite number [rad]", quote(x), "pass the angle as a float")
    return value


def cos_sin(angle: float) -> tuple[float, float]:
    """Return cosine and sine of a constant angle, exact at multiples of a quarter turn."""
    # the sine of a rounded pi is not zero: right angles are set
    c, s = math.cos(angle), math.sin(angle)
    quarter = round(angle / (math.pi / 2))
    if quarter and angle == quarter * (math.pi / 2):
        c, s = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return c, s


def unit(axis: Sequence[float], where: str) -> Vector3:
    """Return the unit vector along an axis given as 'x', 'y', 'z' or three numbers."""
    if isinstance(axis, str):
        named = dict(zip("xyz", _AXES, strict=True))
        if axis.removeprefix("-") not in named:
            fix = "use 'x', '-z' or three numbers"
            raise ModelError(where, f"axis {quote(axis)} is not known", fix)
        v = named[axis.removeprefix("-")]
        return -v if axis.startswith("-") else v
    # three numbers, scaled to unit length
    given = items_of(where, "axis", axis, 3, "3 numbers", "use 'x', '-z' or three numbers")
    try:
        x, y, z = (float(value) for value in Vector3.of(given))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, NumberError):
            raise
        fix = "use 'x', '-z' or three numbers"
        raise ModelError(where, f"axis {quote(axis)} is no direction", fix) from None
    size = math.hypot(x, y, z)
    if not math.isfinite(size) or size == 0.0:
        raise ModelError(
            where, f"axis {(x, y, z)} has no direction", "give a finite non-zero vector"
        )
    return Vector3.of((x / size, y / size, z / size))
