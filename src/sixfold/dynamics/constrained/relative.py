"""How a frame on one body moves against a frame on another: what constraints are written with.

Everything is taken from the last body that carries both, so that it costs only the joints between
them, and is told in the axes of the second frame: to a constraint with the world no joint's axis
has to be turned into world axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sixfold.model.tree import Table, Tree
from sixfold.spatial import Motion, Transform


class Relative(NamedTuple):
    """Frame B against frame A, in coordinates of frame B."""

    X: Transform
    """Coordinates of A to those of B."""
    v: Motion
    """Velocity of B less that of A."""
    rate: Motion
    """Of the components of v, while no joint accelerates."""
    columns: dict[int, Motion]
    """What each freedom that moves B against A adds to v for a unit of its velocity."""


class _Branch(NamedTuple):
    """A frame against a body that carries it."""

    X: Transform
    v: Motion
    a: Motion


def relative(
    tree: Tree, q: Table, qd: Table, a: int, XA: Transform, b: int, XB: Transform
) -> Relative:
    """Return how frame XB on body b moves against frame XA on body a (0 is the base).

    XA and XB lead from the coordinates of the tree's bodies to the frames.
    """
    on_a, on_b = (tree.support(i) if i else () for i in (a, b))
    path_a = [j for j in on_a if j not in on_b]
    path_b = [j for j in on_b if j not in on_a]
    A, B = _branch(tree, q, qd, path_a, XA), _branch(tree, q, qd, path_b, XB)
    X = B.X @ A.X.inverse()
    vA = X @ A.v
    v = B.v - vA
    columns = dict(_inward(tree, q, path_b, XB))
    columns |= {k: -s for k, s in _outward(tree, q, path_a, B.X)}
    return Relative(X, v, B.a - X @ A.a + v.cross(vA), columns)


def _branch(tree: Tree, q: Table, qd: Table, path: list[int], end: Transform) -> _Branch:
    """Return a frame's place, velocity and acceleration against the body before the path."""
    X, v, a = Transform.identity(), Motion.zero(), Motion.zero()
    for j in path:
        XJ, _, vJ, cJ = tree.joint[j].calc(q[j], qd[j])
        Xup = XJ @ tree.Xtree[j]
        X, v = Xup @ X, Xup @ v + vJ
        a = Xup @ a + cJ + v.cross(vJ)
    return _Branch(end @ X, end @ v, end @ a)


def _inward(tree: Tree, q: Table, path: list[int], X: Transform) -> Iterator[tuple[int, Motion]]:
    """Yield freedoms and what they do to a frame at the path's end, X away from its last body."""
    for j in reversed(path):
        XJ, S, _, _ = tree.joint[j].calc(q[j], tree.zero_velocity(j))
        yield from enumerate((X @ S).columns, tree.velocity_slices[j].start)
        X = X @ (XJ @ tree.Xtree[j])


def _outward(tree: Tree, q: Table, path: list[int], X: Transform) -> Iterator[tuple[int, Motion]]:
    """Yield freedoms in coordinates that X leads to from the body before the path."""
    for j in path:
        XJ, S, _, _ = tree.joint[j].calc(q[j], tree.zero_velocity(j))
        X = X @ (XJ @ tree.Xtree[j]).inverse()
        yield from enumerate((X @ S).columns, tree.velocity_slices[j].start)
