"""Constraints as rows: J qd = 0, its rate J qdd + gamma = 0, and the gap that should be zero.

A row is known by what it does to the freedoms that move one of its bodies against the other; those
that carry both alike have exact zeros.  Columns of Jacobians are taken in world axes, about the
point in question: w = E^T ang, and E^T lin + w x (p - p_j).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sixfold.dynamics.kinematics import motions, transforms
from sixfold.errors import ModelError
from sixfold.model.constraint import Constraint, Distance, Gear, Loop, Rolling
from sixfold.model.joint.closing import constraint_space, gap, is_constant, joint_state
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar, Zero, sqrt
from sixfold.spatial import Force, Motion, Transform, Vector3


class Row(NamedTuple):
    """One constraint equation."""

    J: list[Scalar]
    """By freedom of the tree."""
    gamma: Scalar
    """What J qdd must cancel: J qdd + gamma = 0."""
    gap: Scalar
    force: Force | None
    """What a force of 1 does to body B, and its opposite to body A: a world force about the world
    origin.  None for a gear, which works on joints."""


class Placed:
    """Where the bodies are and how they move, and columns of Jacobians there."""

    def __init__(self, tree: Tree, q: Table, qd: Table | None = None) -> None:
        """Take a state; without velocities gamma is zero."""
        self.tree, self.q = tree, q
        self.qd = tree.zero_velocities() if qd is None else qd
        _, self.X0 = transforms(tree, q)
        self.v, self.a = motions(tree, q, self.qd, tree.zero_velocities())

    def point(self, X: Transform, p: Vector3) -> Vector3:
        """Return a point given in the coordinates that X leads to, in world coordinates."""
        return X.r + X.E.T @ p

    def between(self, a: int, b: int) -> Iterator[tuple[int, float]]:
        """Yield the joints that move body b against body a, with the sign of what they do."""
        on_a, on_b = (set(self.tree.support(i)) if i else set() for i in (a, b))
        for j in sorted(on_a ^ on_b):
            yield j, 1.0 if j in on_b else -1.0

    def columns(self, j: int, p: Vector3) -> Iterator[tuple[int, Motion]]:
        """Yield the freedoms of joint j, each with the motion it gives at p, in world axes."""
        E, r = self.X0[j]
        S = self.tree.joint[j].calc(self.q[j], self.tree.zero_velocity(j)).S
        for k, s in enumerate(S.columns, self.tree.velocity_slices[j].start):
            w = E.T @ s.ang
            yield k, Motion(w, E.T @ s.lin + w.cross(p - r))

    def relative(self, a: int, b: int, p: Vector3) -> dict[int, Motion]:
        """Return the motion at p of b against a by each freedom that has one, in world axes."""
        found: dict[int, Motion] = {}
        for j, sign in self.between(a, b):
            for k, s in self.columns(j, p):
                found[k] = s if sign > 0 else -s
        return found

    def empty(self) -> list[Scalar]:
        """Return a row of zeros."""
        return [ZERO] * self.tree.nv


def rows(tree: Tree, constraints: Sequence[Constraint], q: Table, qd: Table | None) -> list[Row]:
    """Return the rows of all constraints, one after the other."""
    placed = Placed(tree, q, qd)
    found: list[Row] = []
    for each in constraints:
        found += _ROWS[type(each)](placed, each)
    return found


def wrenches(
    tree: Tree, constraints: Sequence[Constraint], q: Table, forces: Sequence[Scalar]
) -> Table:
    """Return what the constraints do to each body, as world forces about the world origin.

    Gears work on joints and do nothing here.
    """
    total = {i: Force.zero() for i in (0, *tree.bodies)}
    placed, start = Placed(tree, q), 0
    for each in constraints:
        found = _ROWS[type(each)](placed, each)
        for row, x in zip(found, forces[start : start + each.rows], strict=True):
            if row.force is not None and not isinstance(each, Gear):
                total[each.body_b + 1] = total[each.body_b + 1] + row.force * x
                total[each.body_a + 1] = total[each.body_a + 1] - row.force * x
        start += each.rows
    return {i: total[i] for i in tree.bodies}


def _loop(at: Placed, loop: Loop) -> list[Row]:
    """T^T (v_B - v_A) = 0 in coordinates of the closing frame on B."""
    a, b = loop.body_a + 1, loop.body_b + 1
    XA, XB = loop.placement_a @ at.X0[a], loop.placement_b @ at.X0[b]
    X = XB @ XA.inverse()
    vA, vB = X @ (loop.placement_a @ at.v[a]), loop.placement_b @ at.v[b]
    v = vB - vA
    rate = loop.placement_b @ at.a[b] - X @ (loop.placement_a @ at.a[a]) + v.cross(vA)
    if is_constant(loop.joint):
        T = constraint_space(loop.joint, loop.joint.neutral())
    else:
        # T^T S = 0 for all time: the rate of T costs what the rate of S would give
        q, state = joint_state(loop.joint, X, v)
        T, rate = constraint_space(loop.joint, q), rate - state.cJ
    relative = at.relative(a, b, XB.r)
    found = []
    for force, g in zip(T.columns, gap(loop.joint, X), strict=True):
        n, f = XB.E.T @ force.ang, XB.E.T @ force.lin
        J = at.empty()
        for k, s in relative.items():
            J[k] = n.dot(s.ang) + f.dot(s.lin)
        gamma = force.ang.dot(rate.ang) + force.lin.dot(rate.lin)
        found.append(Row(J, gamma, g, Force(n + XB.r.cross(f), f)))
    return found


def _velocity(at: Placed, body: int, p: Vector3) -> tuple[Vector3, Vector3]:
    """Return velocity and acceleration of a body's point, given in body axes, in world axes."""
    v, a = at.v[body], at.a[body]
    u = v.lin + v.ang.cross(p)
    back = at.X0[body].E.T
    return back @ u, back @ (a.lin + a.ang.cross(p) + v.ang.cross(u))


def _distance(at: Placed, rod: Distance) -> list[Row]:
    """Along the rod, points have the same velocity."""
    a, b = rod.body_a + 1, rod.body_b + 1
    pa, pb = Vector3.of(rod.point_a), Vector3.of(rod.point_b)
    A, B = at.point(at.X0[a], pa), at.point(at.X0[b], pb)
    d = B - A
    length = sqrt(d.dot(d))
    n = d / length
    J = at.empty()
    for j, sign in at.between(a, b):
        for k, s in at.columns(j, B if sign > 0 else A):
            J[k] = n.dot(s.lin) * sign
    (ua, wa), (ub, wb) = _velocity(at, a, pa), _velocity(at, b, pb)
    u = ub - ua
    along = n.dot(u)
    gamma = n.dot(wb - wa) + (u.dot(u) - along * along) / length
    return [Row(J, gamma, length - rod.length, Force(B.cross(n), n))]


def _gear(at: Placed, gear: Gear) -> list[Row]:
    """The follower's speed less that of the polynomials."""
    slices = at.tree.velocity_slices
    J = at.empty()
    i = gear.follower + 1
    J[slices[i].start] = 1.0
    gamma: Scalar = ZERO
    rest: Scalar = at.q[i][0] - gear.offset
    for master, coefficients in gear.terms:
        x, u = at.q[master + 1][0], at.qd[master + 1][0]
        value, slope, bend = _polynomial((0.0, *coefficients), x)
        J[slices[master + 1].start] = J[slices[master + 1].start] - slope
        gamma, rest = gamma - bend * u * u, rest - value
    return [Row(J, gamma, rest, None)]


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


def _rolling(at: Placed, wheel: Rolling) -> list[Row]:
    """The wheel's material point at the contact rests on the plane; rows along x, y, z of it."""
    a, b = wheel.body_a + 1, wheel.body_b + 1
    XP, XB = wheel.placement_a @ at.X0[a], wheel.placement_b @ at.X0[b]
    X = XP @ XB.inverse()  # wheel to plane
    vP, vB = wheel.placement_a @ at.v[a], X @ (wheel.placement_b @ at.v[b])
    v = vB - vP
    rate = X @ (wheel.placement_b @ at.a[b]) + v.cross(vB) - wheel.placement_a @ at.a[a]
    c = XP.E @ (XB.r - XP.r)
    k = X.E @ Vector3(ZERO, ZERO, 1.0)
    c_rate, k_rate = v.lin + v.ang.cross(c), v.ang.cross(k)
    rho, rho_rate = _lowest(wheel, k, k_rate)
    p, p_rate = c + rho, c_rate + rho_rate
    bias = rate.lin + rate.ang.cross(p) + v.ang.cross(p_rate)
    contact = at.point(XP, p)
    relative = at.relative(a, b, contact)
    found = []
    for axis, gamma, g in zip(XP.E, bias, (ZERO, ZERO, p.z), strict=True):
        J = at.empty()
        for n, s in relative.items():
            J[n] = axis.dot(s.lin)
        found.append(Row(J, gamma, g, Force(contact.cross(axis), axis)))
    return found


def _lowest(wheel: Rolling, k: Vector3, k_rate: Vector3) -> tuple[Vector3, Vector3]:
    """Return the lowest point against the centre, and its rate, for an axis k in plane axes."""
    n = Vector3(ZERO, ZERO, 1.0)
    if not wheel.disc:
        return n * -wheel.radius, Vector3(ZERO, ZERO, ZERO)
    d, d_rate = k.z, k_rate.z
    s = sqrt(1.0 - d * d)
    up = n - k * d
    up_rate = -(k * d_rate) - k_rate * d
    if type(s) in (Zero, float) and not s:
        what = "its disc lies flat on the plane at every configuration"
        raise ModelError(f"constraint '{wheel.name}'", what, "give the axis that it turns about")
    s_rate = -(d * d_rate) / s
    return up * (-wheel.radius / s), (up_rate - up * (s_rate / s)) * (-wheel.radius / s)


_ROWS: dict[type, Callable[[Placed, Any], list[Row]]] = {
    Loop: _loop,
    Distance: _distance,
    Gear: _gear,
    Rolling: _rolling,
}
