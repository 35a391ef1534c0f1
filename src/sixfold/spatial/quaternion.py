"""Unit quaternions (x, y, z, w) and their exponential, over any kind of number."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.scalar import Scalar, atan2, cos, if_positive, precision, sin, sqrt
from sixfold.spatial import Matrix3, Vector3, series

Quaternion = Sequence[Scalar]


def rotation_to_body(q: Quaternion) -> Matrix3:
    """Return E: parent coordinates to body coordinates.  Any non-zero length of q will do."""
    x, y, z, w = q
    n = x * x + y * y + z * z + w * w
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


def from_rotation(E: Matrix3) -> tuple[Scalar, ...]:
    """Return a unit quaternion whose `rotation_to_body` is E.

    The rows of 4 q q^T are multiples of q; the one with the largest diagonal is scaled to unit
    length, so that none is divided by a small number (Shepperd 1978).
    """
    a, b, c = E
    x, y, z = b.z - c.y, c.x - a.z, a.y - b.x
    rows = (
        (1.0 + a.x - b.y - c.z, a.y + b.x, a.z + c.x, x),
        (a.y + b.x, 1.0 - a.x + b.y - c.z, b.z + c.y, y),
        (a.z + c.x, b.z + c.y, 1.0 - a.x - b.y + c.z, z),
        (x, y, z, 1.0 + a.x + b.y + c.z),
    )
    best, size = rows[3], rows[3][3]
    for k in range(3):
        larger = rows[k][k] - size
        best = tuple(if_positive(larger, m, n) for m, n in zip(rows[k], best, strict=True))
        size = if_positive(larger, rows[k][k], size)
    return normalized(best)


def multiply(p: Quaternion, q: Quaternion) -> tuple[Scalar, ...]:
    """Return the quaternion product p q."""
    a, b = Vector3(*p[:3]), Vector3(*q[:3])
    v = b * p[3] + a * q[3] + a.cross(b)
    return (*v, p[3] * q[3] - a.dot(b))


def conjugate(q: Quaternion) -> tuple[Scalar, ...]:
    """Return the inverse of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def normalized(q: Quaternion) -> tuple[Scalar, ...]:
    """Return q scaled to unit length."""
    x, y, z, w = q
    n = sqrt(x * x + y * y + z * z + w * w)
    return (x / n, y / n, z / n, w / n)


def rate(q: Quaternion, omega: Vector3) -> tuple[Scalar, ...]:
    """Return dq/dt = q (omega / 2, 0) for an angular velocity in body coordinates."""
    half = omega * 0.5
    a = Vector3(*q[:3])
    return (*(half * q[3] + a.cross(half)), -a.dot(half))


def exponential(phi: Vector3) -> tuple[Scalar, ...]:
    """Return the quaternion of a rotation vector."""
    t2 = phi.dot(phi)
    large = series.SIN_HALF.beyond(t2)
    angle = sqrt(if_positive(large, t2, 1.0))
    c = if_positive(large, cos(angle * 0.5), series.COS_HALF.value(t2))
    k = if_positive(large, sin(angle * 0.5) / angle, series.SIN_HALF.value(t2))
    return (*(phi * k), c)


def logarithm(q: Quaternion) -> Vector3:
    """Return the shortest rotation vector of a unit quaternion."""
    w = if_positive(-q[3], -q[3], q[3])
    u = Vector3(*(if_positive(-q[3], -x, x) for x in q[:3]))
    s2 = u.dot(u)
    large = series.TWICE_ATAN.beyond(s2)
    s = sqrt(if_positive(large, s2, 1.0))
    # w is near 1 wherever the series is used; 1 elsewhere keeps a half turn from dividing by zero
    n = if_positive(large, 1.0, w)
    if precision(s2) <= 53:  # the series for doubles, nested
        near = (2.0 - s2 / (n * n) * (2.0 / 3 - 0.4 * s2 / (n * n))) / n
    else:
        near = series.TWICE_ATAN.value(s2 / (n * n)) / n
    return u * if_positive(large, 2.0 * atan2(s, w) / s, near)


def sweep(phi: Vector3, p: Vector3) -> Vector3:
    """Return V(phi) p, the displacement of a body that turns by phi while moving along p."""
    t2 = phi.dot(phi)
    large = series.ONE_LESS_COS.beyond(t2)
    angle = sqrt(if_positive(large, t2, 1.0))
    half = sin(angle * 0.5)
    B = if_positive(large, 2.0 * half * half / (angle * angle), series.ONE_LESS_COS.value(t2))
    C = if_positive(
        series.ANGLE_LESS_SIN.beyond(t2),
        (angle - sin(angle)) / (angle * angle * angle),
        series.ANGLE_LESS_SIN.value(t2),
    )
    turned = phi.cross(p)
    return p + turned * B + phi.cross(turned) * C


def unsweep(phi: Vector3, p: Vector3) -> Vector3:
    """Return V(phi)^-1 p."""
    t2 = phi.dot(phi)
    large = series.ONE_LESS_COT.beyond(t2)
    angle = sqrt(if_positive(large, t2, 1.0))
    half = angle * 0.5
    k = if_positive(
        large,
        (1.0 - half * cos(half) / sin(half)) / (angle * angle),
        series.ONE_LESS_COT.value(t2),
    )
    turned = phi.cross(p)
    return p - turned * 0.5 + phi.cross(turned) * k
