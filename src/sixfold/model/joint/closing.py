"""What a joint forbids when it closes a loop: rows of T^T, and how far the loop gapes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sixfold.model.joint.joint import Joint, JointState, Values
from sixfold.scalar import ZERO, Scalar, exact, plain
from sixfold.spatial import (
    ZERO3,
    Column,
    Force,
    ForceSubspace,
    Motion,
    Subspace,
    Transform,
    deviation,
    ldl,
    ldl_solve,
)

SAME_SPAN = 1e-9
"""Largest S^T T, both of unit columns, at other positions for which one T serves them all."""
ROUNDING = 4 * np.finfo(float).eps
"""Elements of a unit column up to here are rounding of the orthogonalisation: exact zeros."""


def constraint_space(joint: Joint, q: Values) -> ForceSubspace:
    """Return T with S^T T = 0 at a position, over any kind of number, in body coordinates.

    T is constant wherever the span of S is.  Otherwise the constraint forces of the neutral
    position lose what works on S; that fails where S has turned by a quarter turn.
    """
    own = joint.forbidden(q)
    if own is not None:
        return own
    T, constant = _at_neutral(joint)
    if constant:
        return T
    S = joint.calc(q, (ZERO,) * joint.nv).S
    gram = ldl([[_product(a, b) for b in S.columns] for a in S.columns])
    columns = []
    for force in T.columns:
        working = ldl_solve(*gram, [s.ang.dot(force.ang) + s.lin.dot(force.lin) for s in S.columns])
        along = S @ working
        columns.append(Force(force.ang - along.ang, force.lin - along.lin))
    return ForceSubspace(*columns)


def is_constant(joint: Joint) -> bool:
    """Return whether the joint forbids the same motions at every position."""
    return _at_neutral(joint)[1]


def gap(joint: Joint, X: Transform) -> Column:
    """Return how far the joint's frames gape along each constraint force.

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
