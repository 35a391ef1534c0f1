"""Body frames chosen for zeros: along and about its axis a joint lets its frame be put anywhere.

A joint about or along a coordinate axis of its body commutes with shifts along that axis and turns
about it.  Moving the body's frame so changes no joint coordinate and no joint force, but it may
take an offset out of a placement, or a constant turn that would fill a rotation matrix.  Where the
axis is not a coordinate axis, the frame is turned first, so that it becomes one.

Bodies on parallel axes may be shifted together.  Of placements with as many numbers, those are
better that have them towards the tips, where fewer forces cross them.

What is rounded here is as small as what algorithms round anyway:

- Moved placements are products of given ones, and carry the few roundings of such a product; so
  does the transform across every joint.  An element becomes zero only where it is smaller than the
  error bound of its own sum: zero is then as good as what was computed.
- A turn counts as one about an axis only if its other elements are exact zeros.  A cosine that
  rounds to 1 does not tell: the turn may be off by 1e-8.
- A shift by d along the axis adds m d^2 to moments of inertia, and the way back to the parent
  takes it away again.  See `_Frames.harmless`.
- A placement that is off by eps moves the bodies behind it by eps times their distance.  Screws of
  extreme pitch carry them so far that this shows; trees with one are left alone (`kernel_tree`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from sys import float_info
from typing import Any, NamedTuple

from sixfold.model import Joint, Tree
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import IDENTITY3, ZERO3, Inertia, Matrix3, Transform, Vector3, skew

_SWEEPS = 3
#: Error bound of a sum of four products, relative to the sum of their sizes.
_ROUNDING = 2 * float_info.epsilon

#: How many times its own size, or what the bodies behind it add, a shift may add to an inertia.
_GROWTH = 10.0

_NUMBER, _PRODUCT = 3, 2  #: What a number of a placement weighs, and a product of inertia.

_MAX_TOGETHER = 16  #: Bodies on parallel axes whose frames are shifted together.

#: How frames of bodies move: one, or several by the same distance along parallel axes.
Moves = dict[int, Transform]


class Cost(NamedTuple):
    """What bodies and their placements cost, compared by the first number, then by the second."""

    #: How many are not zero: one product of inertia weighs less than an offset, two weigh more.
    numbers: int
    #: Offsets, each once for every body behind the joint: forces of all of them cross it. For one
    #: less where siblings may have the same offset, which is then computed once.
    crossings: int


def reduce_frames(tree: Tree) -> Tree:
    """Return the tree with frames that leave fewer numbers in its placements.

    The joint-space dynamics is the same to rounding; poses, motions and forces of bodies are those
    of the new frames.  A tree of symbols comes back as it is.
    """
    if not tree.is_numeric():
        return tree
    frames = _Frames(tree)
    # until no move of a frame saves a number
    for _ in range(_SWEEPS):
        if not any([frames.improve(i) for i in tree.bodies]):
            break
    return replace(
        tree,
        joint=tuple(frames.joint),
        Xtree=tuple(frames.place),
        inertia=tuple(frames.inertia),
        back=tuple(frames.back),
    )


class _Frames:
    """Placements and inertias of a tree while its frames move."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.place = list(tree.Xtree)
        self.inertia = [I.with_second_moments() for I in tree.inertia]
        self.joint = list(tree.joint)
        self.back = [Transform.identity() for _ in tree.parent]
        self.children: list[list[int]] = [[] for _ in tree.parent]
        self.behind = [abs(float(I.m)) for I in tree.inertia]
        self.bodies = [1 for _ in tree.parent]
        for i in tree.bodies:
            self.children[tree.parent[i]].append(i)
        # mass and number of bodies that each joint carries
        for i in reversed(tree.bodies):
            self.behind[tree.parent[i]] += self.behind[i]
            self.bodies[tree.parent[i]] += self.bodies[i]
        for i in tree.bodies:
            self.straighten(i)
        self.size = [_smallest_moment(I) for I in self.inertia]
        self.axis = [None, *(_axis(self.joint[i]) for i in tree.bodies)]

    def straighten(self, i: int) -> None:
        """Turn the frame of body i so that its joint's axis is a coordinate axis."""
        joint: Any = self.joint[i]
        if not joint.fixed_axis or not hasattr(joint, "axis") or _axis(joint) is not None:
            return
        # turn the frame so that the joint's axis is its nearest coordinate axis
        u = [float(x) for x in joint.axis]
        k = max(range(3), key=lambda n: abs(u[n]))
        along = [math.copysign(1.0, u[k]) if n == k else 0.0 for n in range(3)]
        self.move({i: Transform(_turn(u, along), ZERO3)})
        self.joint[i] = replace(joint, axis=tuple(along))

    def move(self, moves: Moves) -> None:
        """Move frames."""
        for i, X in self.placements_after(moves).items():
            self.place[i] = X
        for i, move in moves.items():
            self.inertia[i] = self.inertia_after(i, move)
            self.back[i] = _chain(self.back[i], move.inverse())

    def improve(self, i: int) -> bool:
        """Move frames along or about the axis of body i to where they need less, if they do."""
        k = self.axis[i]
        if k is None:
            return False
        # the move that saves most
        least, best = Cost(0, 0), None
        for moves in self.choices(i, k):
            change = self.change(moves)
            if change < least:
                least, best = change, moves
        if best is None:
            return False
        self.move(best)
        return True

    def choices(self, i: int, k: int) -> Iterator[Moves]:
        """Yield moves of the frame of body i along or about its axis k that may leave a zero."""
        E, r = self.place[i]
        # slide the frame along its joint's axis, alone or with those behind it
        for t in range(3):
            if abs(float(E[k][t])) == 1 and r[t] != 0:
                distance = -float(r[t]) * float(E[k][t])
                yield {i: _shift(k, distance)}
                yield self.shifts(i, k, distance)
        # take over the offset or the turn of a child
        for c in self.children[i]:
            turn, offset = self.place[c].E, float(self.place[c].r[k])
            if offset and self.harmless(i, c, offset):
                yield {i: _shift(k, offset)}
            if _about(turn, k) and turn != IDENTITY3:
                yield {i: Transform(turn, ZERO3)}

    def shifts(self, i: int, k: int, distance: float) -> Moves:
        """Return the shift of body i along its axis k, and of bodies on parallel axes behind it."""
        found: Moves = {}
        # children with parallel axes are shifted along
        todo = [(i, k, distance)]
        while todo and len(found) < _MAX_TOGETHER:
            j, n, along = todo.pop()
            found[j] = _shift(n, along)
            for c in self.children[j]:
                m = self.axis[c]
                if m is not None and abs(float(self.place[c].E[m][n])) == 1:
                    todo.append((c, m, along * float(self.place[c].E[m][n])))
        return found

    def change(self, moves: Moves) -> Cost:
        """Return what moves add to the cost of bodies."""
        places = self.placements_after(moves)
        now = [self.cost(i, self.place[i], self.inertia[i]) for i in places]
        then = [self.cost(i, X, self.inertia_after(i, moves.get(i))) for i, X in places.items()]
        return Cost(
            sum(x.numbers for x in then) - sum(x.numbers for x in now),
            sum(x.crossings for x in then) - sum(x.crossings for x in now),
        )

    def cost(self, i: int, X: Transform, inertia: Inertia) -> Cost:
        """Return what body i and its placement cost."""
        # each nonzero number of a placement or inertia costs multiplications
        offsets = sum(x != 0 for x in X.r) if self.tree.parent[i] else 0  # the base does not move
        products = sum(x != 0 for x in inertia.I[3:])
        siblings = len(self.children[self.tree.parent[i]]) > 1
        return Cost(
            _NUMBER * (offsets + self.turns(i, X)) + _PRODUCT * products,
            offsets * (self.bodies[i] - siblings),
        )

    def inertia_after(self, i: int, move: Transform | None) -> Inertia:
        """Return the inertia of body i after a move of its frame."""
        if move is None:
            return self.inertia[i]
        back = move.inverse()
        return back.T @ self.inertia[i] @ back

    def harmless(self, i: int, c: int, distance: float) -> bool:
        """Return whether body i may take its frame to where its child c is along its axis.

        The parent then sees body i from the new place, and m d^2 less again: a rounding error of
        eps m d^2.  The bodies behind the joint of c are that far away in any case, and are brought
        to the frame of i with errors of eps times their mass times d^2.  The shift is harmless
        where m is no more than some times their mass, or m d^2 than the smallest moment of inertia
        of body i.  (An offset in the placement of i itself is different: the parent sees the body
        from there for any frame.)
        """
        m, d = abs(float(self.tree.inertia[i].m)), distance
        return m <= _GROWTH * self.behind[c] or m * d * d <= _GROWTH * self.size[i]

    def placements_after(self, moves: Moves) -> dict[int, Transform]:
        """Return the placements of bodies and their children after moves.

        Several bodies are shifted by the same distance: placements between them stay.
        """
        places: dict[int, Transform] = {}
        for i, move in moves.items():
            X, back = self.place[i], move.inverse()
            # the move before the joint, its inverse before each child
            places[i] = X if self.tree.parent[i] in moves else _chain(move, X)
            for c in self.children[i]:
                if c not in moves:
                    places[c] = _chain(self.place[c], back)
        return places

    def turns(self, i: int, X: Transform) -> int:
        """Return how many numbers of a placement's rotation a step across its joint has."""
        rows = [[x != 0 for x in row] for row in X.E]
        k = self.axis[i]
        if k is None:
            return sum(map(sum, rows))
        # the joint mixes the two other rows
        a, b = (row for n, row in enumerate(rows) if n != k)
        mixed = sum(x or y for x, y in zip(a, b, strict=True))
        return sum(rows[k]) + 2 * mixed


def _axis(joint: Joint) -> int | None:
    """Return which coordinate axis of its body a joint has, if it has one."""
    axis = getattr(joint, "axis", None)
    if not joint.fixed_axis or axis is None:
        return None
    sizes = [abs(float(x)) for x in axis]
    return sizes.index(1.0) if sorted(sizes) == [0.0, 0.0, 1.0] else None


def _about(E: Matrix3, k: int) -> bool:
    """Return whether a rotation turns about coordinate axis k and nothing else."""
    return E[k][k] == 1 and all(E[k][n] == 0 and E[n][k] == 0 for n in range(3) if n != k)


def _turn(u: list[float], along: list[float]) -> Matrix3:
    """Return the smallest turn from one unit vector to another, less than a right angle away."""
    a, b = Vector3(*u), Vector3(*along)
    cross = skew(a.cross(b))
    square = cross @ cross
    return IDENTITY3 + cross + square * (1 / (1 + float(a.dot(b))))


def _smallest_moment(inertia: Inertia) -> float:
    """Return a bound below the moment of inertia about every axis through the origin.

    det I / (tr I)^2 is at most a quarter of the smallest eigenvalue, and never negative for bodies
    that can exist.
    """
    xx, yy, zz, xy, xz, yz = map(float, inertia.I)
    minors = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - yy * xz
    determinant = xx * minors[0] + xy * minors[1] + xz * minors[2]
    trace = xx + yy + zz
    return determinant / trace / trace if trace > 0 else 0.0


def _shift(k: int, distance: float) -> Transform:
    return Transform(IDENTITY3, Vector3.of([distance if n == k else 0.0 for n in range(3)]))


def _chain(X: Transform, Y: Transform) -> Transform:
    """Return X @ Y with exact zeros where nothing but rounding is left."""
    columns = Y.E.T
    E = [[_sum(zip(row, column, strict=True)) for column in columns] for row in X.E]
    for k, row in enumerate(E):
        for n, x in enumerate(row):
            others = [y for m, y in enumerate(row) if m != n]
            others += [E[m][n] for m in range(3) if m != k]
            if not any(others):
                # alone in its row and column: a direction cosine of 1 or -1
                row[n] = math.copysign(1.0, x)
    r = [
        _sum([(1.0, y), *zip(column, X.r, strict=True)])
        for y, column in zip(Y.r, columns, strict=True)
    ]
    return Transform(Matrix3.of(E), Vector3.of(r))


def _sum(pairs: Any) -> Scalar:
    """Return a sum of products, zero where it is smaller than the bound of its own rounding."""
    products = [float(a) * float(b) for a, b in pairs]
    total = math.fsum(products)
    return ZERO if abs(total) <= _ROUNDING * sum(map(abs, products)) else total
