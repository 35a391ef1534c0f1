"""Constraints in addition to the joints of the tree: loops, rods, gears, rolling.

The first half is frozen data.  The second half computes, for a joint that closes a loop, its
constraint forces (the rows of T^T) and the violation of the loop along them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sixfold.errors import ModelError
from sixfold.model.joint import Joint, JointState, Values
from sixfold.scalar import ZERO, Scalar, absolute, exact, is_plain, plain
from sixfold.spatial import (
    ZERO3,
    Column,
    Force,
    ForceSubspace,
    Matrix3,
    Motion,
    Subspace,
    Transform,
    deviation,
    ldl,
    ldl_solve,
)

if TYPE_CHECKING:
    from sixfold.model.body import Body

Numbers = tuple[float, ...]
FLAT = 1e-12  #: Cosine, less than one, of a disc that is parallel to its plane.


@dataclass(frozen=True)
class Loop:
    """Loop closed by a joint: its constraint acts between two bodies."""

    name: str
    body_a: int  #: Index of the body that plays the joint's parent, -1 for the base.
    placement_a: Transform  #: Body A's coordinates to the closing frame on A.
    body_b: int
    #: Body B's coordinates to the closing frame on B, which the joint carries.
    placement_b: Transform
    joint: Joint

    @property
    def rows(self) -> int:
        """Number of constrained directions."""
        return 6 - self.joint.nv

    @property
    def kind(self) -> str:
        """Its name in lists."""
        return {"fixed": "weld", "spherical": "point"}.get(self.joint.kind, self.joint.kind)


@dataclass(frozen=True)
class Distance:
    """A massless rod between two points: their distance stays the same."""

    name: str
    body_a: int
    point_a: Numbers  #: In coordinates of body A [m].
    body_b: int
    point_b: Numbers
    length: float
    rows: ClassVar[int] = 1
    kind: ClassVar[str] = "distance"


@dataclass(frozen=True)
class Gear:
    """One joint follows others by polynomials: q = offset + sum of c1 q_m + c2 q_m^2 + ...

    Unlike a `Coupling` it keeps all coordinates, and the force in the gear is a result.
    """

    name: str
    follower: int  #: Index of the body whose joint follows.
    #: Leading joints, each with coefficients of its first, second... power.
    terms: tuple[tuple[int, Numbers], ...]
    offset: float
    rows: ClassVar[int] = 1
    kind: ClassVar[str] = "gear"


@dataclass(frozen=True)
class Rolling:
    """A ball, or the sharp rim of a disc, rolls on a plane without slipping or lifting off."""

    name: str
    body_a: int  #: Index of the body with the plane, -1 for the base.
    #: Body A's coordinates to a frame on the plane, its z axis the outward normal.
    placement_a: Transform
    body_b: int
    #: Body B's coordinates to a frame at the centre; a disc turns about the z axis of it.
    placement_b: Transform
    radius: float
    disc: bool  #: A disc; otherwise a ball.
    rows: ClassVar[int] = 3
    kind: ClassVar[str] = "rolling"


Constraint = Loop | Distance | Gear | Rolling


def check_discs(bodies: Sequence[Body], constraints: Sequence[Constraint]) -> None:
    """Refuse a disc that always lies flat on its plane: it has no lowest point."""
    for wheel in constraints:
        if not isinstance(wheel, Rolling) or not wheel.disc:
            continue
        # three random configurations: a disc that is flat in all of them is always flat
        tilts = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            at = [body.joint.random(rng) for body in bodies]
            plane = _axes(bodies, at, wheel.body_a, wheel.placement_a)
            disc = _axes(bodies, at, wheel.body_b, wheel.placement_b)
            tilts.append(1.0 - absolute(plane.c.dot(disc.c)))
        if all(is_plain(x) and float(plain(x)) < FLAT for x in tilts):
            what = "its disc lies flat on the plane at every configuration"
            fix = "give the axis that it turns about"
            raise ModelError(f"constraint '{wheel.name}'", what, fix)


def _axes(bodies: Sequence[Body], at: Sequence[Numbers], body: int, X: Transform) -> Matrix3:
    """Return E from the world to a frame on a body: its rows are the axes of the frame."""
    E = X.E
    # rotations from the body up to the base
    while body >= 0:
        each = bodies[body]
        XJ = each.joint.calc(at[body], (0.0,) * each.joint.nv).XJ
        E, body = E @ XJ.E @ each.placement.E, each.parent
    return E


#: Largest S^T T, both of unit columns, at other positions for which one T serves them all.
SAME_SPAN = 1e-9
#: Elements of a unit column up to here are rounding of the orthogonalisation: exact zeros.
ROUNDING = 4 * np.finfo(float).eps


def constraint_space(joint: Joint, q: Values) -> ForceSubspace:
    """Return T with S^T T = 0 at a position, over any kind of number, in body coordinates.

    T is constant wherever the span of S is.  Otherwise the constraint forces of the neutral
    position lose what works on S; that fails where S has turned by a quarter turn.
    """
    own = joint.constraint_force_basis(q)
    if own is not None:
        return own
    T, constant = _at_neutral(joint)
    if constant:
        return T
    # T - S (S^T S)^-1 S^T T: remove what works on S
    S = joint.calc(q, (ZERO,) * joint.nv).S
    gram = ldl([[_product(a, b) for b in S.columns] for a in S.columns])
    columns = []
    for force in T.columns:
        working = ldl_solve(*gram, [s.ang.dot(force.ang) + s.lin.dot(force.lin) for s in S.columns])
        along = S @ working
        columns.append(Force(force.ang - along.ang, force.lin - along.lin))
    return ForceSubspace(*columns)


def is_constant(joint: Joint) -> bool:
    """Return whether the joint's constraint forces are the same at every position."""
    return _at_neutral(joint)[1]


def gap(joint: Joint, X: Transform) -> Column:
    """Return how far the loop is violated along each constraint force.

    Args:
        joint: the joint that closes the loop.
        X: from the closing frame on its parent's side to the one on its body's side.
    """
    if all(not any(map(bool, map(_plain, force.ang))) for force in _at_neutral(joint)[0].columns):
        q: Values = joint.neutral()  # turns are free: only the displacement counts
        error = Motion(ZERO3, X.E @ X.r)
    else:
        q = joint.nearest(X)
        error = deviation(X @ joint.calc(q, (ZERO,) * joint.nv).XJ.inverse())
    T = constraint_space(joint, q)
    return Column(f.ang.dot(error.ang) + f.lin.dot(error.lin) for f in T.columns)


def joint_state(joint: Joint, X: Transform, velocity: Motion) -> tuple[Values, JointState]:
    """Return position and state of a joint whose frames have this transform and velocity."""
    q = joint.nearest(X)
    S = joint.calc(q, (ZERO,) * joint.nv).S
    gram = ldl([[_product(a, b) for b in S.columns] for a in S.columns])
    qd = ldl_solve(*gram, [_product(s, velocity) for s in S.columns])
    return q, joint.calc(q, qd)


def _product(a: Motion, b: Motion) -> Scalar:
    return a.ang.dot(b.ang) + a.lin.dot(b.lin)


def _plain(x: Scalar) -> float:
    return float(plain(x))


@lru_cache(maxsize=256)
def _at_neutral(joint: Joint) -> tuple[ForceSubspace, bool]:
    """Return T at the neutral position, and whether it serves every position."""
    rng = np.random.default_rng(0)
    T = _basis(_columns(joint, joint.neutral()))
    others = [_columns(joint, joint.random(rng)) for _ in range(3)]
    constant = all(np.abs(S @ T.T).max(initial=0.0) <= SAME_SPAN for S in others)
    columns = [[exact(x) for x in row.tolist()] for row in T]
    return ForceSubspace(*map(Force.of, columns)), constant


def _columns(joint: Joint, q: Values) -> np.ndarray:
    """Return S as rows of unit length."""
    S: Subspace = joint.calc(q, (0.0,) * joint.nv).S
    rows = np.array([[_plain(x) for x in (*c.ang, *c.lin)] for c in S.columns]).reshape(-1, 6)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _basis(S: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what is orthogonal to S, near the coordinate axes.

    Axes are taken in the order of what is left of them, so that a hinge about any axis has three
    pure forces and two pure moments.
    """
    span = [row for row in np.linalg.qr(S.T)[0].T] if len(S) else []
    found: dict[int, np.ndarray] = {}
    while len(found) < 6 - len(S):
        rest = {}
        for k in range(6):
            if k not in found:
                e = np.eye(6)[k]
                for _ in range(2):  # twice is enough
                    for u in (*span, *found.values()):
                        e = e - (u @ e) * u
                rest[k] = e
        k = max(rest, key=lambda n: (round(float(np.linalg.norm(rest[n])), 9), -n))
        found[k] = rest[k] / np.linalg.norm(rest[k])
    T = np.array([found[k] for k in sorted(found)]).reshape(-1, 6)
    return np.where(np.abs(T) <= ROUNDING, 0.0, T)
