"""Constraints as rows: J qd = 0, its rate J qdd + gamma = 0, and the violation.

A row is computed from how a frame on one body moves relative to a frame on another.  That starts
from the last body that carries both, so that it costs only the joints between them, and is given in
the axes of the second frame: for a constraint with the world no joint's axis is turned into world
axes.  Columns of joints that move both bodies together are exactly zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sixfold.dynamics.kinematics import transforms
from sixfold.model import Constraint, Distance, Gear, Loop, Rolling, Tree
from sixfold.model.constraint import constraint_space, gap, is_constant, joint_state
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, exact, sqrt
from sixfold.spatial import IDENTITY3, ZERO3, Force, Motion, Transform, Vector3


class Relative(NamedTuple):
    """Frame B against frame A, in coordinates of frame B."""

    X: Transform  # coordinates of A to those of B
    v: Motion  # velocity of B less that of A
    rate: Motion  # of the components of v, while no joint accelerates
    # what each DOF that moves B against A adds to v for a unit of its velocity
    columns: dict[int, Motion]


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
    """Yield DOFs and what they do to a frame at the path's end, X away from its last body."""
    for j in reversed(path):
        XJ, S, _, _ = tree.joint[j].calc(q[j], tree.zero_velocity(j))
        yield from enumerate((X @ S).columns, tree.velocity_slices[j].start)
        X = X @ (XJ @ tree.Xtree[j])


def _outward(tree: Tree, q: Table, path: list[int], X: Transform) -> Iterator[tuple[int, Motion]]:
    """Yield DOFs in coordinates that X leads to from the body before the path."""
    for j in path:
        XJ, S, _, _ = tree.joint[j].calc(q[j], tree.zero_velocity(j))
        X = X @ (XJ @ tree.Xtree[j]).inverse()
        yield from enumerate((X @ S).columns, tree.velocity_slices[j].start)


PointRow = dict[int, list[Scalar]]  # numbers of each joint that moves the point, by body


def point_rows(
    tree: Tree, q: Table, X0: Table, body: int, point: Vector3, directions: Sequence[Vector3]
) -> list[PointRow]:
    """Return the rows of the point's velocity along directions, all in world axes.

    A joint at p_j with a column (w, v) in world axes moves the point p with v + w x (p - p_j).

    Args:
        tree: the bodies.
        q: positions, by body.
        X0: base to body, of every body.
        body: that carries the point; 0 for the base, which does not move.
        point: in world coordinates.
        directions: in world axes.
    """
    rows: list[PointRow] = [{} for _ in directions]
    for j in tree.support(body) if body else ():
        back, arm = X0[j].E.T, point - X0[j].r
        S = tree.joint[j].calc(q[j], tree.zero_velocity(j)).S
        moved = [back @ c.lin + (back @ c.ang).cross(arm) for c in S.columns]
        for row, direction in zip(rows, directions, strict=True):
            row[j] = [direction.dot(column) for column in moved]
    return rows


class Row(NamedTuple):
    """One constraint equation."""

    J: list[Scalar]  # by DOF of the tree
    gamma: Scalar  # what J qdd must cancel: J qdd + gamma = 0
    gap: Scalar
    # what a force of 1 does to body B, and its opposite to body A, in the frame that `_frame`
    # names. None for a gear, which works on joints.
    force: Force | None


class TreeState(NamedTuple):
    """A tree, where it is and how it moves."""

    tree: Tree
    q: Table
    qd: Table

    def relative(self, a: int, XA: Transform, b: int, XB: Transform) -> Relative:
        """Return how a frame on body b moves against one on body a; -1 is the base.

        Placements are given against the frames of the model's own bodies.
        """
        at = [(i + 1, self.tree.placement(i + 1, X)) for i, X in ((a, XA), (b, XB))]
        return relative(self.tree, self.q, self.qd, *at[0], *at[1])

    def row(self, columns: dict[int, Scalar]) -> list[Scalar]:
        """Return a row with these elements, and zeros."""
        return [columns.get(k, ZERO) for k in range(self.tree.nv)]


def rows(tree: Tree, constraints: Sequence[Constraint], q: Table, qd: Table | None) -> list[Row]:
    """Return the rows of all constraints, one after the other; without velocities gamma is zero."""
    at = TreeState(tree, q, tree.zero_velocities() if qd is None else qd)
    found: list[Row] = []
    for each in constraints:
        found += _ROWS[type(each)](at, each)
    return found


def loaded_bodies(constraints: Sequence[Constraint]) -> set[int]:
    """Return the bodies that rows act on, directly or by their joints; 0 is the base."""
    found: set[int] = set()
    for each in constraints:
        if isinstance(each, Gear):
            found |= {each.follower + 1, *(master + 1 for master, _ in each.terms)}
        else:
            found |= {each.body_a + 1, each.body_b + 1}
    return found


def wrenches(
    tree: Tree, constraints: Sequence[Constraint], q: Table, forces: Sequence[Scalar]
) -> Table:
    """Return what the constraints do to each body, as world forces about the world origin.

    Gears work on joints and do nothing here.
    """
    total = {i: Force.zero() for i in (0, *tree.bodies)}
    at, start = TreeState(tree, q, tree.zero_velocities()), 0
    _, X0 = transforms(tree, q)
    for each in constraints:
        values = forces[start : start + each.rows]
        start += each.rows
        if isinstance(each, Gear):
            continue
        body, placement = _frame(each)
        push = Force.zero()
        for row, x in zip(_ROWS[type(each)](at, each), values, strict=True):
            push = push if row.force is None else push + row.force * x
        push = (tree.placement(body + 1, placement) @ X0[body + 1]).T @ push
        total[each.body_b + 1] = total[each.body_b + 1] + push
        total[each.body_a + 1] = total[each.body_a + 1] - push
    return {i: total[i] for i in tree.bodies}


def _frame(each: Loop | Distance | Rolling) -> tuple[int, Transform]:
    """Return the body and the placement of the frame of a constraint's rows."""
    match each:
        case Loop():
            return each.body_b, each.placement_b
        case Distance():
            return each.body_b, _at(each.point_b)
        case Rolling():
            return each.body_a, each.placement_a


def _at(point: Sequence[float]) -> Transform:
    return Transform.translation(tuple(map(exact, point)))


def _loop(at: TreeState, loop: Loop) -> list[Row]:
    """T^T (v_B - v_A) = 0 in coordinates of the closing frame on B."""
    X, v, rate, columns = at.relative(loop.body_a, loop.placement_a, *_frame(loop))
    if is_constant(loop.joint):
        T = constraint_space(loop.joint, loop.joint.neutral())
    else:
        # T^T S = 0 for all time: the rate of T costs what the rate of S would give
        q, state = joint_state(loop.joint, X, v)
        T, rate = constraint_space(loop.joint, q), rate - state.cJ
    return [
        Row(at.row({k: s.dot(force) for k, s in columns.items()}), rate.dot(force), g, force)
        for force, g in zip(T.columns, gap(loop.joint, X), strict=True)
    ]


def _distance(at: TreeState, rod: Distance) -> list[Row]:
    """Along the rod, points have the same velocity."""
    X, v, rate, columns = at.relative(rod.body_a, _at(rod.point_a), *_frame(rod))
    d, u = X.E @ X.r, v.lin
    length = sqrt(d.dot(d))
    n = d / length
    J = at.row({k: n.dot(s.lin) for k, s in columns.items()})
    along = n.dot(u)
    gamma = n.dot(rate.lin + v.ang.cross(u)) + (u.dot(u) - along * along) / length
    return [Row(J, gamma, length - rod.length, Force(ZERO3, n))]


def _gear(at: TreeState, gear: Gear) -> list[Row]:
    """The follower's speed less that of the polynomials."""
    slices = at.tree.velocity_slices
    i = gear.follower + 1
    J: dict[int, Scalar] = {slices[i].start: 1.0}
    gamma: Scalar = ZERO
    rest: Scalar = at.q[i][0] - gear.offset
    for master, coefficients in gear.terms:
        x, u = at.q[master + 1][0], at.qd[master + 1][0]
        value, slope, bend = _polynomial((0.0, *coefficients), x)
        J[slices[master + 1].start] = -slope
        gamma, rest = gamma - bend * u * u, rest - value
    return [Row(at.row(J), gamma, rest, None)]


def _polynomial(c: Sequence[float], x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return value and two derivatives, by Horner's rule."""
    value: Scalar = ZERO
    slope: Scalar = ZERO
    bend: Scalar = ZERO
    for a in reversed(c):
        bend = bend * x + slope * 2.0
        slope = slope * x + value
        value = value * x + (a or ZERO)
    return value, slope, bend


def _rolling(at: TreeState, wheel: Rolling) -> list[Row]:
    """The wheel's material point at the contact rests on the plane; rows along x, y, z of it."""
    X, back, back_rate, columns = at.relative(wheel.body_b, wheel.placement_b, *_frame(wheel))
    v, rate = -back, -back_rate  # of the wheel against the plane
    c = -(X.E @ X.r)
    k = X.E @ Vector3(ZERO, ZERO, 1.0)
    c_rate, k_rate = v.lin + v.ang.cross(c), v.ang.cross(k)
    rho, rho_rate = _lowest(wheel, k, k_rate)
    p, p_rate = c + rho, c_rate + rho_rate
    bias = rate.lin + rate.ang.cross(p) + v.ang.cross(p_rate)
    moved = {k: -(s.lin + s.ang.cross(p)) for k, s in columns.items()}
    found = []
    for n, (axis, gamma, g) in enumerate(zip(IDENTITY3, bias, (ZERO, ZERO, p.z), strict=True)):
        J = at.row({k: u[n] for k, u in moved.items()})
        found.append(Row(J, gamma, g, Force(p.cross(axis), axis)))
    return found


def _lowest(wheel: Rolling, k: Vector3, k_rate: Vector3) -> tuple[Vector3, Vector3]:
    """Return the lowest point against the centre, and its rate, for an axis k in plane axes."""
    n = Vector3(ZERO, ZERO, 1.0)
    if not wheel.disc:
        return n * -wheel.radius, ZERO3
    d, d_rate = k.z, k_rate.z
    s = sqrt(1.0 - d * d)
    up = n - k * d
    up_rate = -(k * d_rate) - k_rate * d
    s_rate = -(d * d_rate) / s
    return up * (-wheel.radius / s), (up_rate - up * (s_rate / s)) * (-wheel.radius / s)


_ROWS: dict[type, Callable[[TreeState, Any], list[Row]]] = {
    Loop: _loop,
    Distance: _distance,
    Gear: _gear,
    Rolling: _rolling,
}
