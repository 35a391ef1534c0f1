"""Body frames chosen for zeros: along and about its axis a joint lets its frame be put anywhere.

A joint about or along a coordinate axis of its body commutes with shifts along that axis and turns
about it.  Moving the body's frame so changes no joint coordinate and no joint force, but it may
take an offset out of a placement, or a constant turn that would fill a rotation matrix.  Where the
axis is askew, the frame is turned first, so that the axis is a coordinate axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sixfold.model.joint import Joint
from sixfold.model.tree import Tree
from sixfold.scalar import Scalar, exact
from sixfold.spatial import IDENTITY3, ZERO3, Matrix3, Transform, Vector3, skew

_SWEEPS = 3
_SNAP = 1e-15
"""Elements of a rotation that are this close to 0 and +-1 are taken for them."""


def reframed(tree: Tree) -> Tree:
    """Return the tree with frames that leave fewer numbers in its placements.

    The joint-space dynamics is the same to rounding; poses, motions and forces of bodies are those
    of the new frames.  A tree of symbols comes back as it is.
    """
    if not tree.of_plain_numbers():
        return tree
    frames = _Frames(tree)
    for _ in range(_SWEEPS):
        if not any([frames.improve(i) for i in tree.bodies]):
            break
    return replace(
        tree,
        joint=tuple(frames.joint),
        Xtree=tuple(frames.place),
        inertia=tuple(frames.inertia),
    )


class _Frames:
    """Placements and inertias of a tree while its frames move."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.place, self.inertia = list(tree.Xtree), list(tree.inertia)
        self.joint = list(tree.joint)
        self.children: list[list[int]] = [[] for _ in tree.parent]
        for i in tree.bodies:
            self.children[tree.parent[i]].append(i)
        for i in tree.bodies:
            self.straighten(i)
        self.axis = [None, *(_axis(self.joint[i]) for i in tree.bodies)]

    def straighten(self, i: int) -> None:
        """Turn the frame of body i so that its joint's axis is a coordinate axis."""
        joint: Any = self.joint[i]
        if not joint.fixed_axis or not hasattr(joint, "axis") or _axis(joint) is not None:
            return
        u = [float(x) for x in joint.axis]
        k = max(range(3), key=lambda n: abs(u[n]))
        along = [math.copysign(1.0, u[k]) if n == k else 0.0 for n in range(3)]
        self.move(i, Transform(_turn(u, along), ZERO3))
        self.joint[i] = replace(joint, axis=tuple(along))

    def move(self, i: int, move: Transform) -> None:
        """Move the frame of body i."""
        for j, X in self.moved(i, move).items():
            self.place[j] = X
        back = move.inverse()
        self.inertia[i] = (back.T @ self.inertia[i] @ back).over(exact)

    def improve(self, i: int) -> bool:
        """Move the frame of body i to where it and its children need fewest numbers, if any."""
        k = self.axis[i]
        if k is None:
            return False
        around = [i, *self.children[i]]
        least, best = sum(self.count(j, self.place[j]) for j in around), None
        for move in self.moves(i, k):
            places = self.moved(i, move)
            count = sum(self.count(j, places[j]) for j in around)
            if count < least:
                least, best = count, move
        if best is None:
            return False
        self.move(i, best)
        return True

    def moves(self, i: int, k: int) -> Iterator[Transform]:
        """Yield moves of the frame of body i along or about its axis k that may leave a zero."""
        E, r = self.place[i]
        for t in range(3):
            if abs(float(E[k][t])) == 1:
                yield _shift(k, -float(r[t]) * float(E[k][t]))
        for c in self.children[i]:
            yield _shift(k, float(self.place[c].r[k]))
            turn = self.place[c].E
            if turn[k][k] == 1 and turn != IDENTITY3:
                yield Transform(turn, ZERO3)

    def moved(self, i: int, move: Transform) -> dict[int, Transform]:
        """Return the placements of body i and its children after a move."""
        back = move.inverse()
        places = {c: _clean(self.place[c] @ back) for c in self.children[i]}
        return {i: _clean(move @ self.place[i]), **places}

    def count(self, i: int, X: Transform) -> int:
        """Return how many numbers a placement brings into a step across its joint."""
        offsets = sum(x != 0 for x in X.r) if self.tree.parent[i] else 0
        rows = [[x != 0 for x in row] for row in X.E]
        k = self.axis[i]
        if k is None:
            return offsets + sum(map(sum, rows))
        # the joint mixes the two other rows
        a, b = (row for n, row in enumerate(rows) if n != k)
        mixed = sum(x or y for x, y in zip(a, b, strict=True))
        return offsets + sum(rows[k]) + 2 * mixed


def _axis(joint: Joint) -> int | None:
    """Return which coordinate axis of its body a joint has, if it has one."""
    axis = getattr(joint, "axis", None)
    if not joint.fixed_axis or axis is None:
        return None
    sizes = [abs(float(x)) for x in axis]
    return sizes.index(1.0) if sorted(sizes) == [0.0, 0.0, 1.0] else None


def _turn(u: list[float], along: list[float]) -> Matrix3:
    """Return the smallest turn from one unit vector to another, less than a right angle away."""
    a, b = Vector3(*u), Vector3(*along)
    cross = skew(a.cross(b))
    square = cross @ cross
    return IDENTITY3 + cross + square * (1 / (1 + float(a.dot(b))))


def _shift(k: int, distance: float) -> Transform:
    return Transform(IDENTITY3, Vector3.of([distance if n == k else 0.0 for n in range(3)]))


def _clean(X: Transform) -> Transform:
    return Transform(X.E.over(_snapped), X.r.over(exact))


def _snapped(x: Scalar) -> Scalar:
    value = float(x)
    nearest = round(value)
    return exact(float(nearest)) if abs(value - nearest) < _SNAP else value
