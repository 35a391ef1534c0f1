"""Rotations as quaternions (x, y, z, w), matrices and roll, pitch and yaw angles.

The quaternion functions take any kind of number.  Quotients such as sin(x) / x, which are 0 / 0 at
zero, are replaced there by power series with as many terms as the precision of a number needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb, factorial, inf
from sys import float_info
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sixfold.forks import lazily
from sixfold.scalar import Scalar, atan2, cos, exact, if_positive, precision, sin, sqrt
from sixfold.spatial.vectors import IDENTITY3, Matrix3, Vector3, to_array

if TYPE_CHECKING:
    from fractions import Fraction

_DOUBLE = 53  # bits


class Series(NamedTuple):
    """The sum of coefficient(j) x^j."""

    coefficient: Callable[[int], Fraction]
    below: float  #: Squared angle below which the series is used on numbers of finite precision.
    terms: int  #: How many terms a double needs there.

    def beyond(self, x: Scalar) -> Scalar:
        """Return a number that is positive where the quotient is to be used.

        Exact numbers use the quotient everywhere but at zero.
        """
        return x if precision(x) == inf else x - self.below

    def value(self, x: Scalar) -> Scalar:
        """Return the sum of as many terms as the precision of x asks for."""
        bits = precision(x)
        (top, bottom), *rest = _coefficients(self, bits)
        if bits <= _DOUBLE:
            total: Scalar = top / bottom
        else:  # one rounding, and to the precision of x
            total = (x * 0 + top) / bottom
        power = None
        for top, bottom in rest:
            power = x if power is None else power * x
            size = abs(top)
            term = (power if size == 1 else power * size) / bottom
            total = total + term if top > 0 else total - term
        return total


@lru_cache(maxsize=256)
def _coefficients(series: Series, bits: float) -> tuple[tuple[int, int], ...]:
    """Return fractions of as many terms as leave less than the last bit, in second derivatives too.

    Exact numbers use the series at zero alone.
    """
    n = series.terms
    if _DOUBLE < bits < inf:
        x, last = _over(series.below), abs(series.coefficient(0)) / 2 ** (int(bits) + 4)
        while abs(series.coefficient(n)) * n * n * x ** (n - 2) > last:
            n += 1
    fractions = map(series.coefficient, range(n))
    return tuple((c.numerator, c.denominator) for c in fractions)


def _over(top: float, bottom: int = 1) -> Fraction:
    """Return a fraction; its module is imported with the first."""
    found: Fraction = lazily("fractions").Fraction(top) / bottom
    return found


def _alternating(size: Callable[[int], Fraction]) -> Callable[[int], Fraction]:
    return lambda j: (-1) ** j * size(j)


@lru_cache(maxsize=256)
def _bernoulli(n: int) -> Fraction:
    if n == 0:
        return _over(1)
    return -sum((comb(n + 1, k) * _bernoulli(k) for k in range(n)), _over(0)) / (n + 1)


#: cos(t / 2), of t^2.
COS_HALF = Series(_alternating(lambda j: _over(1, 4**j * factorial(2 * j))), 1e-6, 3)
#: sin(t / 2) / t, of t^2.
SIN_HALF = Series(_alternating(lambda j: _over(1, 2 * 4**j * factorial(2 * j + 1))), 1e-6, 3)
#: (1 - cos t) / t^2, of t^2.
ONE_LESS_COS = Series(_alternating(lambda j: _over(1, factorial(2 * j + 2))), 1e-6, 3)
#: (t - sin t) / t^3, of t^2.
ANGLE_LESS_SIN = Series(_alternating(lambda j: _over(1, factorial(2 * j + 3))), 1e-2, 5)
#: (1 - (t / 2) cot(t / 2)) / t^2, of t^2.
ONE_LESS_COT = Series(lambda j: abs(_bernoulli(2 * j + 2)) / factorial(2 * j + 2), 1e-2, 5)
TWICE_ATAN = Series(_alternating(lambda j: _over(2, 2 * j + 1)), 1e-6, 3)  #: 2 atan(x) / x, of x^2.


Quaternion = Sequence[Scalar]


def quaternion_to_rotation(q: Quaternion) -> Matrix3:
    """Return E: parent coordinates to body coordinates.  Any non-zero length of q will do."""
    x, y, z, w = q
    n = x * x + y * y + z * z + w * w
    # dividing by the squared length makes the length irrelevant
    s = 2.0 / n
    one = n * s * 0.5  # not 1.0: an infinite element then spoils the diagonal too
    xs, ys, zs = x * s, y * s, z * s
    xx, yy, zz, xy, xz, yz = x * xs, y * ys, z * zs, x * ys, x * zs, y * zs
    wx, wy, wz = w * xs, w * ys, w * zs
    return Matrix3(
        Vector3(one - (yy + zz), xy + wz, xz - wy),
        Vector3(xy - wz, one - (zz + xx), yz + wx),
        Vector3(xz + wy, yz - wx, one - (xx + yy)),
    )


def rotation_to_quaternion(E: Matrix3) -> tuple[Scalar, ...]:
    """Return a unit quaternion whose `quaternion_to_rotation` is E.

    The rows of 4 q q^T are multiples of q; the one with the largest diagonal is scaled to unit
    length, so that none is divided by a small number (Shepperd 1978).
    """
    # the four rows of 4 q q^T
    a, b, c = E
    x, y, z = b.z - c.y, c.x - a.z, a.y - b.x
    rows = (
        (1.0 + a.x - b.y - c.z, a.y + b.x, a.z + c.x, x),
        (a.y + b.x, 1.0 - a.x + b.y - c.z, b.z + c.y, y),
        (a.z + c.x, b.z + c.y, 1.0 - a.x - b.y + c.z, z),
        (x, y, z, 1.0 + a.x + b.y + c.z),
    )
    # the row with the largest diagonal, without branches
    best, size = rows[3], rows[3][3]
    for k in range(3):
        larger = rows[k][k] - size
        best = tuple(if_positive(larger, m, n) for m, n in zip(rows[k], best, strict=True))
        size = if_positive(larger, rows[k][k], size)
    return normalize_quaternion(best)


def multiply_quaternions(p: Quaternion, q: Quaternion) -> tuple[Scalar, ...]:
    """Return the quaternion product p q."""
    a, b = Vector3(*p[:3]), Vector3(*q[:3])
    # (a, p) (b, q) = (p b + q a + a x b, p q - a . b)
    v = b * p[3] + a * q[3] + a.cross(b)
    return (*v, p[3] * q[3] - a.dot(b))


def conjugate_quaternion(q: Quaternion) -> tuple[Scalar, ...]:
    """Return the inverse of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def normalize_quaternion(q: Quaternion) -> tuple[Scalar, ...]:
    """Return q scaled to unit length."""
    x, y, z, w = q
    n = sqrt(x * x + y * y + z * z + w * w)
    return (x / n, y / n, z / n, w / n)


def quaternion_rate(q: Quaternion, omega: Vector3) -> tuple[Scalar, ...]:
    """Return dq/dt = q (omega / 2, 0) for an angular velocity in body coordinates."""
    # q (omega / 2, 0)
    half = omega * 0.5
    a = Vector3(*q[:3])
    return (*(half * q[3] + a.cross(half)), -a.dot(half))


def quaternion_exponential(phi: Vector3) -> tuple[Scalar, ...]:
    """Return the quaternion of a rotation vector."""
    # sin(t / 2) / t and cos(t / 2): quotient, or series near zero
    t2 = phi.dot(phi)
    large = SIN_HALF.beyond(t2)
    angle = sqrt(if_positive(large, t2, 1.0))
    c = if_positive(large, cos(angle * 0.5), COS_HALF.value(t2))
    k = if_positive(large, sin(angle * 0.5) / angle, SIN_HALF.value(t2))
    return (*(phi * k), c)


def quaternion_logarithm(q: Quaternion) -> Vector3:
    """Return the shortest rotation vector of a unit quaternion."""
    # q and -q are the same rotation: take the one with w >= 0
    w = if_positive(-q[3], -q[3], q[3])
    u = Vector3(*(if_positive(-q[3], -x, x) for x in q[:3]))
    s2 = u.dot(u)
    large = TWICE_ATAN.beyond(s2)
    s = sqrt(if_positive(large, s2, 1.0))
    # w is near 1 wherever the series is used; 1 elsewhere keeps a half turn from dividing by zero
    n = if_positive(large, 1.0, w)
    if precision(s2) <= 53:  # the series for doubles, nested
        near = (2.0 - s2 / (n * n) * (2.0 / 3 - 0.4 * s2 / (n * n))) / n
    else:
        near = TWICE_ATAN.value(s2 / (n * n)) / n
    return u * if_positive(large, 2.0 * atan2(s, w) / s, near)


def screw_displacement(phi: Vector3, p: Vector3) -> Vector3:
    """Return V(phi) p, the displacement of a body that turns by phi while moving along p."""
    # V(phi) = 1 + B phi x + C (phi x)^2, B = (1 - cos t) / t^2, C = (t - sin t) / t^3
    t2 = phi.dot(phi)
    large = ONE_LESS_COS.beyond(t2)
    angle = sqrt(if_positive(large, t2, 1.0))
    half = sin(angle * 0.5)
    B = if_positive(large, 2.0 * half * half / (angle * angle), ONE_LESS_COS.value(t2))
    C = if_positive(
        ANGLE_LESS_SIN.beyond(t2),
        (angle - sin(angle)) / (angle * angle * angle),
        ANGLE_LESS_SIN.value(t2),
    )
    turned = phi.cross(p)
    return p + turned * B + phi.cross(turned) * C


def screw_translation(phi: Vector3, p: Vector3) -> Vector3:
    """Return V(phi)^-1 p."""
    t2 = phi.dot(phi)
    large = ONE_LESS_COT.beyond(t2)
    angle = sqrt(if_positive(large, t2, 1.0))
    half = angle * 0.5
    k = if_positive(
        large, (1.0 - half * cos(half) / sin(half)) / (angle * angle), ONE_LESS_COT.value(t2)
    )
    turned = phi.cross(p)
    return p - turned * 0.5 + phi.cross(turned) * k


Floats = tuple[float, ...]
MAX_ROUNDING = 4 * float_info.epsilon


@lru_cache(maxsize=4096)
def rpy_to_rotation(rpy: Floats) -> Matrix3:
    """Return E, parent axes to the turned ones, for R = Rz(yaw) Ry(pitch) Rx(roll), E = R^T.

    Direction cosines that differ from 0, 1 or -1 by rounding only become exact; the angles are
    taken as they are.
    """
    if not any(rpy):
        return IDENTITY3
    # Rz(yaw) Ry(pitch) Rx(roll), multiplied out
    (cr, sr), (cp, sp), (cy, sy) = (
        (_round_near_unit(math.cos(x)), _round_near_unit(math.sin(x))) for x in rpy
    )
    return rotation_from_matrix(
        (
            *(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            *(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            *(-sp, cp * sr, cp * cr),
        )
    )


def rotation_from_matrix(R: Floats) -> Matrix3:
    """Return E = R^T for the nine numbers of R, row by row, without rounding near 0 and 1."""
    return exact_rotation(tuple(map(_round_near_unit, R)))


def exact_rotation(R: Floats) -> Matrix3:
    """Return E = R^T for the nine numbers of R, row by row, just as they are."""
    a, b, c, d, e, f, g, h, i = map(exact, R)
    return Matrix3(Vector3(a, d, g), Vector3(b, e, h), Vector3(c, f, i))


def matrix_of_rotation(E: Matrix3) -> Floats:
    """Return the nine numbers of R = E^T, row by row."""
    (a, b, c), (d, e, f), (g, h, i) = E
    return tuple(map(float, (a, d, g, b, e, h, c, f, i)))


def rotation_to_rpy(E: Matrix3) -> Floats:
    """Return roll, pitch and yaw; of the many answers at a pitch of 90 degrees, one."""
    R = matrix_of_rotation(E)
    # R = Rz(yaw) Ry(pitch) Rx(roll)
    yaw = math.atan2(R[3], R[0]) if math.hypot(R[0], R[3]) > 1e-12 else 0.0
    # undo the yaw first, so that roll and pitch stay right where cos(pitch) vanishes
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[6], c * R[0] + s * R[3])
    roll = math.atan2(s * R[2] - c * R[5], c * R[4] - s * R[1])
    return roll, pitch, yaw


def _round_near_unit(x: float) -> float:
    """Return 0, 1 or -1 for a number that differs from it by rounding only."""
    if MAX_ROUNDING <= abs(x) <= 1 - MAX_ROUNDING:
        return x
    nearest = float(round(x))
    return nearest if abs(x - nearest) < MAX_ROUNDING else x


Array = NDArray[np.float64]


def quaternions_to_matrices(xyzw: Array) -> Array:
    """Return rotation matrices of quaternions of any length."""
    R = quaternion_to_rotation(np.moveaxis(xyzw, -1, 0)).T  # type: ignore[arg-type]
    return to_array(R)


def matrices_to_quaternions(R: Array) -> Array:
    """Return unit quaternions xyzw of rotation matrices."""
    columns = np.moveaxis(np.asarray(R), (-1, -2), (0, 1))
    E = Matrix3(*(Vector3(*column) for column in columns))
    return to_array(rotation_to_quaternion(E))
