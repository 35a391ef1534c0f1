"""The matrix B of a body that makes its share of the Coriolis matrix.

B = (v x* I - I v x + (I v) x-bar*) / 2, where f x-bar* m is m x* f (Echeandia and Wensing,
Numerical Methods to Compute the Coriolis Matrix and Christoffel Symbols for Rigid-Body Systems,
2021).  It adds up and changes coordinates as inertias do.
"""

from __future__ import annotations

from typing import NamedTuple

from sixfold.spatial.inertia import Inertia
from sixfold.spatial.vector3 import ZERO3, ZERO33, Matrix3, Vector3, skew
from sixfold.spatial.vectors import Force, Motion


class CoriolisInertia(NamedTuple):
    """B of rigid bodies, [[A, 0], [-p x, 0]]: the other blocks of the sum cancel.

    For one body A = -(w x) Sigma - (h x) (u x), with its second moments Sigma = integral of r r^T
    and the velocity u of its origin, and p = m u + w x h is its momentum.
    """

    A: Matrix3
    p: Vector3

    @classmethod
    def zero(cls) -> CoriolisInertia:
        """Return B of nothing."""
        return cls(ZERO33, ZERO3)

    @classmethod
    def of(cls, inertia: Inertia, v: Motion) -> CoriolisInertia:
        """Return B of a body that moves with v."""
        w, u = v
        A = skew(w) @ inertia.second_moments.matrix() + skew(inertia.h) @ skew(u)
        return cls(-A, u * inertia.m + w.cross(inertia.h))

    def __add__(self, other: CoriolisInertia) -> CoriolisInertia:  # type: ignore[override]
        """Add."""
        return CoriolisInertia(self.A + other.A, self.p + other.p)

    def __matmul__(self, m: Motion) -> Force:
        """Return B m."""
        return Force(self.A @ m.ang, m.ang.cross(self.p))

    @property
    def T(self) -> TransposedCoriolisInertia:
        """B^T, which takes motions to forces too."""
        return TransposedCoriolisInertia(self)

    def to_parent(self, E: Matrix3, r: Vector3) -> CoriolisInertia:
        """Return X^T B X for X = (E, r): the same body in the coordinates X starts from."""
        p = E.T @ self.p
        return CoriolisInertia(self.A.congruence(E) - skew(r) @ skew(p), p)


class TransposedCoriolisInertia(NamedTuple):
    """B^T."""

    B: CoriolisInertia

    def __matmul__(self, m: Motion) -> Force:
        """Return B^T m."""
        return Force(self.B.A.T @ m.ang + self.B.p.cross(m.lin), ZERO3)
