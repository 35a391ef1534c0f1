"""Roll, pitch and yaw about fixed axes, to a rotation and back."""

from __future__ import annotations

from functools import lru_cache
from math import atan2, cos, hypot, sin
from sys import float_info

from sixfold.scalar import exact
from sixfold.spatial import IDENTITY3, Matrix3, Vector3

Numbers = tuple[float, ...]
ROUNDING = 4 * float_info.epsilon


@lru_cache(maxsize=4096)
def axes_from_rpy(rpy: Numbers) -> Matrix3:
    """Return E, parent axes to the turned ones, for R = Rz(yaw) Ry(pitch) Rx(roll), E = R^T.

    Direction cosines that differ from 0, 1 or -1 by rounding only become exact; the angles are
    taken as they are.
    """
    if not any(rpy):
        return IDENTITY3
    (cr, sr), (cp, sp), (cy, sy) = ((_clean(cos(x)), _clean(sin(x))) for x in rpy)
    return axes(
        (
            *(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            *(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            *(-sp, cp * sr, cp * cr),
        )
    )


def axes(R: Numbers) -> Matrix3:
    """Return E = R^T for the nine numbers of R, row by row, without rounding near 0 and 1."""
    return exact_axes(tuple(map(_clean, R)))


def exact_axes(R: Numbers) -> Matrix3:
    """Return E = R^T for the nine numbers of R, row by row, just as they are."""
    a, b, c, d, e, f, g, h, i = map(exact, R)
    return Matrix3(Vector3(a, d, g), Vector3(b, e, h), Vector3(c, f, i))


def rotation_numbers(E: Matrix3) -> Numbers:
    """Return the nine numbers of R = E^T, row by row."""
    (a, b, c), (d, e, f), (g, h, i) = E
    return tuple(map(float, (a, d, g, b, e, h, c, f, i)))


def rpy_of(E: Matrix3) -> Numbers:
    """Return roll, pitch and yaw; of the many answers at a pitch of 90 degrees, one."""
    R = rotation_numbers(E)
    yaw = atan2(R[3], R[0]) if hypot(R[0], R[3]) > 1e-12 else 0.0
    # undo the yaw first, so that roll and pitch stay right where cos(pitch) vanishes
    c, s = cos(yaw), sin(yaw)
    pitch = atan2(-R[6], c * R[0] + s * R[3])
    roll = atan2(s * R[2] - c * R[5], c * R[4] - s * R[1])
    return roll, pitch, yaw


def _clean(x: float) -> float:
    """Return 0, 1 or -1 for a number that differs from it by rounding only."""
    if ROUNDING <= abs(x) <= 1 - ROUNDING:
        return x
    nearest = float(round(x))
    return nearest if abs(x - nearest) < ROUNDING else x
