"""Spatial inertia: ten numbers for a rigid body, twenty-one for an articulated one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sixfold.errors import ModelError, ShapeError
from sixfold.scalar import ZERO, Scalar, exact, is_plain
from sixfold.spatial.equality import compared
from sixfold.spatial.vector3 import (
    ZERO3,
    ZERO33,
    ZERO_SYMMETRIC,
    Matrix3,
    Symmetric3,
    Vector3,
    skew,
    steiner,
    symmetric_part,
)
from sixfold.spatial.vectors import Force, Motion, Rows, blocks


@compared()
class Inertia(NamedTuple):
    """Rigid-body inertia in body coordinates: mass, first moment h = m c, rotational inertia at O.

    As a matrix it is [[I_O, h x], [-h x, m 1]].
    """

    m: Scalar
    h: Vector3
    I: Symmetric3

    @classmethod
    def zero(cls) -> Inertia:
        """Return the inertia of nothing."""
        return cls(ZERO, ZERO3, ZERO_SYMMETRIC)

    @classmethod
    def from_mass(
        cls,
        mass: Scalar,
        center: Sequence[Scalar] = (0.0, 0.0, 0.0),
        rotational: Sequence[Sequence[Scalar]] | Sequence[Scalar] = (0.0, 0.0, 0.0),
    ) -> Inertia:
        """Build from mass [kg], centre of mass [m] and rotational inertia about it [kg m^2].

        Args:
            mass: mass of the body.
            center: centre of mass in body coordinates.
            rotational: 3x3 matrix about the centre of mass, or its three diagonal elements.
        """
        c = Vector3.of(center)
        Ic = _rotational(rotational)
        return cls(exact(mass), (c * mass).over(exact), (Ic + steiner(mass, c)).over(exact))

    @classmethod
    def from_parameters(cls, parameters: Sequence[Scalar]) -> Inertia:
        """Build from (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz), all about the origin.

        Ixy, Ixz and Iyz are matrix elements; a table that prints positive integrals of xy has
        their negatives (see `products`).
        """
        if len(parameters) != 10:
            fix = "pass m, h (3), Ixx, Iyy, Izz, Ixy, Ixz, Iyz"
            raise ShapeError("Inertia", "parameters", "10 numbers", len(parameters), fix)
        m, hx, hy, hz, *I = (exact(p) for p in parameters)
        return cls(m, Vector3(hx, hy, hz), Symmetric3(*I))

    @classmethod
    def from_second_moments(cls, mass: Scalar, h: Vector3, second: Symmetric3) -> Inertia:
        """Build from mass, first moment and the integral of r r^T, which it keeps as it is."""
        xx, yy, zz, xy, xz, yz = second
        I = Symmetric3(yy + zz, zz + xx, xx + yy, -xy, -xz, -yz)
        return _BothMoments.of(mass, h, I, second)

    def with_second_moments(self) -> Inertia:
        """Return the inertia with its second moments, which then move and add up beside it."""
        return _BothMoments.of(*self, self.second_moments)

    def with_moments(self, I: Symmetric3) -> Inertia:
        """Return the inertia with other moments of inertia, and second moments as they are."""
        return _BothMoments.of(self.m, self.h, I, self.second_moments)

    def parameters(self) -> tuple[Scalar, ...]:
        """Return the ten parameters in the order of `from_parameters`."""
        return (self.m, *self.h, *self.I)

    @property
    def center(self) -> Vector3:
        """The centre of mass; the origin for a massless body."""
        return ZERO3 if self.m == 0 else self.h / self.m

    @property
    def about_center(self) -> Symmetric3:
        """The rotational inertia about the centre of mass (parallel-axis theorem, inward)."""
        return self.I - steiner(self.m, self.center)

    @property
    def second_moments(self) -> Symmetric3:
        """The integral of r r^T over the body, tr(I)/2 1 - I."""
        xx, yy, zz, xy, xz, yz = self.I
        sums = _half_sum(yy, zz, xx), _half_sum(zz, xx, yy), _half_sum(xx, yy, zz)
        return Symmetric3(*sums, -xy, -xz, -yz)

    def about(self, point: Sequence[Scalar]) -> Symmetric3:
        """Return the rotational inertia about any point (parallel-axis theorem, outward)."""
        return self.about_center + steiner(self.m, self.center - Vector3.of(point))

    def __matmul__(self, v: Any) -> Any:
        """Return the momentum of a velocity, h = I v (or the force of an acceleration, I a)."""
        if not isinstance(v, Motion):
            return NotImplemented if not isinstance(v, Force) else _refuse_force()
        return Force(self.I @ v.ang + self.h.cross(v.lin), v.lin * self.m - self.h.cross(v.ang))

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        """Join two bodies rigidly (same coordinates)."""
        if isinstance(other, ArticulatedInertia):
            return other + self
        return Inertia(self.m + other.m, self.h + other.h, self.I + other.I)

    def __sub__(self, other: Any) -> Any:
        """Subtract; the result of subtracting an articulated inertia is articulated."""
        if isinstance(other, ArticulatedInertia):
            return ArticulatedInertia.of(self) - other
        return Inertia(self.m - other.m, self.h - other.h, self.I - other.I)

    def __mul__(self, scale: Scalar) -> Inertia:
        """Return the inertia of so many times the mass."""
        return Inertia(self.m * scale, self.h * scale, self.I * scale)

    def moved_back(self, E: Matrix3, r: Vector3) -> Inertia:
        """Return X^T I X for X = (E, r): the same body in the coordinates X starts from."""
        k = E.T @ self.h
        h = k + r * self.m
        # E^T I E - r x k x - h x r x, whose parts are all symmetric together
        back = self.I.congruence(E)
        return Inertia(self.m, h, back + _double_cross(r, k, h))

    def kinetic_energy(self, v: Motion) -> Scalar:
        """Return (1/2) v . I v."""
        return (self @ v).dot(v) * 0.5

    def matrix(self) -> Rows:
        """Return the 6x6 matrix."""
        hx = skew(self.h)
        mass = Matrix3(
            Vector3(self.m, ZERO, ZERO), Vector3(ZERO, self.m, ZERO), Vector3(ZERO, ZERO, self.m)
        )
        return blocks(self.I.matrix(), hx, -hx, mass)

    def over(self, convert: Callable[[Scalar], Scalar]) -> Inertia:
        """Return the inertia with each number converted."""
        return Inertia(convert(self.m), self.h.over(convert), self.I.over(convert))


class _BothMoments(Inertia):
    """An inertia that carries its second moments along, each of the two moved by its own sums.

    Worked out again from moments of inertia that were moved and rounded, a small second moment
    would hold the rounding error of the largest.
    """

    _second: Symmetric3

    @classmethod
    def of(cls, m: Scalar, h: Vector3, I: Symmetric3, second: Symmetric3) -> _BothMoments:
        """Take both."""
        both = cls(m, h, I)
        both._second = second
        return both

    @property
    def second_moments(self) -> Symmetric3:
        """What it carries."""
        return self._second

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        """Add both."""
        total = super().__add__(other)
        if not isinstance(total, Inertia):
            return total
        return self.of(*total, self.second_moments + other.second_moments)

    def moved_back(self, E: Matrix3, r: Vector3) -> Inertia:
        """Move both."""
        moved = super().moved_back(E, r)
        k, h = E.T @ self.h, moved.h
        return self.of(*moved, self._second.congruence(E) + _spread(r, k, h))

    def over(self, convert: Callable[[Scalar], Scalar]) -> Inertia:
        """Convert both."""
        return self.of(*super().over(convert), self._second.over(convert))


def _half_sum(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """Return (a + b - c) / 2; of plain numbers with one rounding."""
    if is_plain(a, b, c):
        return exact(math.fsum((a, b, -c)) / 2)
    return (a - c + b) * 0.5


def _spread(r: Vector3, k: Vector3, h: Vector3) -> Symmetric3:
    """Return k r^T + r h^T for h = k + m r: what moving by r adds to second moments."""
    s = k + h
    return Symmetric3(
        s.x * r.x,
        s.y * r.y,
        s.z * r.z,
        k.x * r.y + r.x * h.y,
        k.x * r.z + r.x * h.z,
        k.y * r.z + r.y * h.z,
    )


def _double_cross(r: Vector3, k: Vector3, h: Vector3) -> Symmetric3:
    """Return -(r x k x + h x r x) for h = k + m r: what moving by r adds to moments of inertia.

    Sums of two second moments: the trace less the third would lose small moments about an axis to
    large ones along it.
    """
    xx, yy, zz, xy, xz, yz = _spread(r, k, h)
    return Symmetric3(yy + zz, xx + zz, xx + yy, -xy, -xz, -yz)


@compared()
class ArticulatedInertia(NamedTuple):
    """A general symmetric inertia [[I, H], [H^T, M]] of 21 parameters."""

    I: Symmetric3
    H: Matrix3
    M: Symmetric3

    @classmethod
    def zero(cls) -> ArticulatedInertia:
        """Return the inertia of nothing."""
        return cls(ZERO_SYMMETRIC, ZERO33, ZERO_SYMMETRIC)

    @classmethod
    def of(cls, rigid: Inertia) -> ArticulatedInertia:
        """Return a rigid-body inertia in the general form."""
        m = rigid.m
        return cls(rigid.I, skew(rigid.h), Symmetric3(m, m, m, ZERO, ZERO, ZERO))

    def __matmul__(self, v: Any) -> Any:
        """Return the force of an acceleration."""
        if not isinstance(v, Motion):
            return NotImplemented if not isinstance(v, Force) else _refuse_force()
        return Force(self.I @ v.ang + self.H @ v.lin, self.H.T @ v.ang + self.M @ v.lin)

    def __add__(self, other: Any) -> ArticulatedInertia:
        """Add."""
        if isinstance(other, Inertia):
            other = ArticulatedInertia.of(other)
        return ArticulatedInertia(self.I + other.I, self.H + other.H, self.M + other.M)

    def __sub__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        """Subtract."""
        return ArticulatedInertia(self.I - other.I, self.H - other.H, self.M - other.M)

    def moved_back(self, E: Matrix3, r: Vector3) -> ArticulatedInertia:
        """Return X^T I X for X = (E, r)."""
        M = self.M.congruence(E)
        H1 = self.H.congruence(E)
        rx = skew(r)
        H = H1 + rx @ M.matrix()
        I = self.I.congruence(E) + symmetric_part(rx @ H.T - H1 @ rx)
        return ArticulatedInertia(I, H, M)

    def matrix(self) -> Rows:
        """Return the 6x6 matrix."""
        return blocks(self.I.matrix(), self.H, self.H.T, self.M.matrix())

    def over(self, convert: Callable[[Scalar], Scalar]) -> ArticulatedInertia:
        """Return the inertia with each number converted."""
        return ArticulatedInertia(self.I.over(convert), self.H.over(convert), self.M.over(convert))


def products(Ixy: Scalar, Ixz: Scalar, Iyz: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Turn products of inertia into matrix elements or back: one is the negative of the other.

    Lectures often define Ixy as the integral of x y, so that the matrix holds -Ixy (Khatib);
    Sixfold, URDF and most software call the matrix element itself Ixy.
    """
    return -Ixy, -Ixz, -Iyz


def _rotational(values: Any) -> Symmetric3:
    if len(values) != 3:
        raise ShapeError(
            "Inertia", "rotational", "3 or 3x3 numbers", values, "give 3x3 or diagonal"
        )
    if hasattr(values[0], "__len__"):
        rows = Matrix3.of(values)
        off = [(rows[0][1], rows[1][0]), (rows[0][2], rows[2][0]), (rows[1][2], rows[2][1])]
        if any(a is not b and bool(a != b) for a, b in off):
            raise ModelError(
                "Inertia",
                f"rotational inertia is not symmetric: {values}",
                "give a symmetric matrix",
            )
        return Symmetric3.of(rows)
    xx, yy, zz = (exact(x) for x in values)
    return Symmetric3(xx, yy, zz, ZERO, ZERO, ZERO)


def _refuse_force() -> Any:
    raise TypeError("Inertia @ Force: inertia maps motions to forces; give it a Motion")
