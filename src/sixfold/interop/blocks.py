"""How the coordinates of one joint are written in two libraries.

Between any two velocity conventions here stands a rotation or permutation B(q): v' = B v.  Then
a' = B a + dB/dt v, and forces go as velocities do, since B^-T = B.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Block(Protocol):
    """One joint: `q` and `x` are Sixfold's, shapes (..., nq) and (..., nv); primed, the other's."""

    def q_to(self, q: Array) -> Array:
        """Return the position in the other convention."""
        ...

    def q_from(self, q: Array) -> Array:
        """Return the position in Sixfold's convention."""
        ...

    def turn(self, q: Array, x: Array) -> Array:
        """Return B(q) x."""
        ...

    def turn_back(self, q: Array, x: Array) -> Array:
        """Return B(q)^T x."""
        ...

    def drift(self, q: Array, v: Array) -> Array:
        """Return dB/dt v."""
        ...


class Same:
    """The same coordinates in both."""

    def q_to(self, q: Array) -> Array:
        """Return q."""
        return q

    def q_from(self, q: Array) -> Array:
        """Return q."""
        return q

    def turn(self, q: Array, x: Array) -> Array:
        """Return x."""
        return x

    def turn_back(self, q: Array, x: Array) -> Array:
        """Return x."""
        return x

    def drift(self, q: Array, v: Array) -> Array:
        """Return zero."""
        return np.zeros_like(v)


class CosSin(Same):
    """An angle here, its cosine and sine there (Pinocchio's continuous joints)."""

    def q_to(self, q: Array) -> Array:
        """Return (cos, sin)."""
        return np.concatenate([np.cos(q), np.sin(q)], -1)

    def q_from(self, q: Array) -> Array:
        """Return the angle in (-pi, pi]."""
        return np.arctan2(q[..., 1:], q[..., :1])


class ScalarFirst(Same):
    """A quaternion xyzw here, wxyz there (MuJoCo's ball joint)."""

    def q_to(self, q: Array) -> Array:
        """Return wxyz."""
        return np.roll(q, 1, -1)

    def q_from(self, q: Array) -> Array:
        """Return xyzw."""
        return np.roll(q, -1, -1)


class LinearFirst(Same):
    """A free joint: (omega; v) here, (v; omega) there, both in the body (Pinocchio)."""

    def turn(self, q: Array, x: Array) -> Array:
        """Swap the halves."""
        return np.roll(x, 3, -1)

    turn_back = turn


class WorldLinear:
    """A free joint as MuJoCo has it: wxyz; velocity of the origin in world axes, then body omega.

    The acceleration there is the rate of the origin's velocity: R (a + omega x v).
    """

    def q_to(self, q: Array) -> Array:
        """Return (position, wxyz)."""
        return np.concatenate([q[..., :3], np.roll(q[..., 3:], 1, -1)], -1)

    def q_from(self, q: Array) -> Array:
        """Return (position, xyzw)."""
        return np.concatenate([q[..., :3], np.roll(q[..., 3:], -1, -1)], -1)

    def turn(self, q: Array, x: Array) -> Array:
        """Return (R x_lin, x_ang)."""
        lin = rotated(q[..., 3:], x[..., 3:])
        return np.concatenate(np.broadcast_arrays(lin, x[..., :3]), -1)

    def turn_back(self, q: Array, x: Array) -> Array:
        """Return (x_ang, R^T x_lin)."""
        lin = rotated(q[..., 3:] * (-1, -1, -1, 1), x[..., :3])
        return np.concatenate(np.broadcast_arrays(x[..., 3:], lin), -1)

    def drift(self, q: Array, v: Array) -> Array:
        """Return (R (omega x v), 0)."""
        lin = rotated(q[..., 3:], np.cross(v[..., :3], v[..., 3:]))
        return np.concatenate([lin, np.zeros_like(lin)], -1)


class BodyPlane:
    """A planar joint: rates of x, y, theta here; there cosine and sine, velocities in the body."""

    def q_to(self, q: Array) -> Array:
        """Return (x, y, cos, sin)."""
        return np.concatenate([q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:])], -1)

    def q_from(self, q: Array) -> Array:
        """Return (x, y, theta)."""
        return np.concatenate([q[..., :2], np.arctan2(q[..., 3:], q[..., 2:3])], -1)

    def turn(self, q: Array, x: Array) -> Array:
        """Turn the plane's vector into the body."""
        return _turned_in_plane(-q[..., 2], x)

    def turn_back(self, q: Array, x: Array) -> Array:
        """Turn the plane's vector out of the body."""
        return _turned_in_plane(q[..., 2], x)

    def drift(self, q: Array, v: Array) -> Array:
        """Return theta' (v_y, -v_x, 0) in the body."""
        body, rate = self.turn(q, v), v[..., 2]
        zero = np.zeros_like(body[..., 0])
        return np.stack([body[..., 1] * rate, -body[..., 0] * rate, zero], -1)


def rotated(xyzw: Array, x: Array) -> Array:
    """Return the vectors x turned by quaternions of any length."""
    u, w = xyzw[..., :3], xyzw[..., 3:]
    size = np.sum(xyzw * xyzw, -1, keepdims=True)
    across = np.cross(u, x)
    return x + 2 * (w * across + np.cross(u, across)) / size


def _turned_in_plane(angle: Array, x: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    a, b, turn = np.broadcast_arrays(
        c * x[..., 0] - s * x[..., 1], s * x[..., 0] + c * x[..., 1], x[..., 2]
    )
    return np.stack([a, b, turn], -1)
