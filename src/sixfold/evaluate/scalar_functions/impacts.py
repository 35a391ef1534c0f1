"""Impacts at points of bodies as functions of flat lists of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics import kinematics
from sixfold.dynamics.constrained.impact import ImpactContact, impulses
from sixfold.dynamics.constrained.rows import point_rows
from sixfold.dynamics.fast.factor import Factor
from sixfold.evaluate.scalar_functions.dynamics import reduced_mass_matrix
from sixfold.evaluate.scalar_functions.page import Numbers
from sixfold.model import Model, Tree
from sixfold.model.geometry import ImpactPoint
from sixfold.scalar import ZERO, Scalar, dot, exact
from sixfold.spatial import Transform, Vector3

Matrix = list[list[Scalar]]

LEVER_SQUARED = 1e-6
"""Of a point so near to the axes of all joints that it counts as one that does not move [m^2]."""


class _Struck(NamedTuple):
    """The directions of a point in world axes, normal first, and rows of its Jacobian."""

    directions: list[Vector3]
    """Those along which there may be an impulse."""
    rows: Matrix
    """One for each of them."""
    more: Matrix
    """Those of the tangents of a point without friction."""


def impact(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    *,
    points: Sequence[ImpactPoint],
    residual: bool = False,
) -> list[Scalar]:
    """Velocities v + M^-1 J^T p, the impulses of all points in world axes, and the residual."""
    struck = _struck(model, tree, q, points)
    J = [row for each in struck for row in each.rows]
    factor = _factor(model, tree, q)
    Y = [factor.half(row) for row in J]
    b: list[Scalar] = []
    contacts = []
    for point, each in zip(points, struck, strict=True):
        count = len(b)
        b += [dot(row, v) for row in each.rows]
        b[count] = b[count] * (1.0 + point.restitution)
        contacts.append(ImpactContact(tuple(range(count, len(b))), point.friction, point.held))
    p, error = impulses(Y, factor.reciprocals, b, contacts, _scale(factor, Y, struck))
    y: list[Scalar] = [ZERO] * model.nv
    for value, row in zip(p, Y, strict=True):
        y = [total + value * x for total, x in zip(y, row, strict=True)]
    after = [x + dx for x, dx in zip(v, factor.outward(factor.scaled(y)), strict=True)]
    in_world = [
        sum((p[r] * d[k] for r, d in zip(c.rows, each.directions, strict=True)), ZERO)
        for c, each in zip(contacts, struck, strict=True)
        for k in range(3)
    ]
    return [*after, *in_world, *([error] if residual else [])]


def delassus_matrix(
    model: Model, tree: Tree, q: Numbers, *, points: Sequence[ImpactPoint]
) -> list[Scalar]:
    """J M^-1 J^T, row by row: each point's normal, then its two tangents."""
    struck = _struck(model, tree, q, points)
    rows = [row for each in struck for row in (*each.rows, *each.more)]
    factor = _factor(model, tree, q)
    Y = [factor.half(row) for row in rows]
    pushed = [factor.scaled(y) for y in Y]
    G: Matrix = [[ZERO] * len(rows) for _ in rows]
    for r in range(len(rows)):
        for s in range(r + 1):
            G[r][s] = G[s][r] = dot(Y[r], pushed[s])
    return [x for row in G for x in row]


def _struck(model: Model, tree: Tree, q: Numbers, points: Sequence[ImpactPoint]) -> list[_Struck]:
    """Return the rows of all points."""
    x = model.positions(q)
    _, X0 = kinematics.transforms(tree, x)

    def rows_of(k: int, point: Vector3, directions: list[Vector3]) -> list[list[Scalar]]:
        found = point_rows(tree, x, X0, k + 1, point, directions)
        return [
            model.gather({i: row.get(i, [ZERO] * tree.joint[i].nv) for i in tree.bodies})
            for row in found
        ]

    result = []
    for point in points:
        k, placement = model.locate(point.frame)
        X = Transform.translation([exact(x) for x in point.position]) @ placement @ X0[k + 1]
        directions = _axes(point)
        if point.against is None:
            rows = rows_of(k, X.r, directions)
        else:
            other, held = model.locate(point.against)
            back = (held @ X0[other + 1]).E.T
            directions = [back @ d for d in directions]
            both = zip(rows_of(k, X.r, directions), rows_of(other, X.r, directions), strict=True)
            rows = [[x - y for x, y in zip(a, b, strict=True)] for a, b in both]
        count = 3 if point.friction else 1
        result.append(_Struck(directions[:count], rows[:count], rows[count:]))
    return result


def _axes(point: ImpactPoint) -> list[Vector3]:
    """Return the normal and two tangents, right-handed, exact along the axes of coordinates.

    The second tangent is horizontal wherever the normal has a part along x and z only, so that
    motions in that plane keep exact zeros.
    """
    n = Vector3(*map(exact, point.normal))
    x, y, z = map(float, point.normal)
    if abs(y) <= 0.75:
        length = (x * x + z * z) ** 0.5
        t = Vector3(exact(z / length), ZERO, exact(-x / length))
    else:
        length = (y * y + z * z) ** 0.5
        t = Vector3(ZERO, exact(z / length), exact(-y / length))
    return [n, t, n.cross(t)]


def _factor(model: Model, tree: Tree, q: Numbers) -> Factor:
    """Return the factor of M; under couplings M is dense."""
    parents = tuple(range(-1, model.nv - 1)) if model.couplings else tree.dof_parent
    return Factor.of(reduced_mass_matrix(model, tree, q), parents)


def _scale(factor: Factor, Y: Matrix, struck: Sequence[_Struck]) -> Scalar:
    """Return the mean of G's diagonal over all directions, and a little of all freedoms."""
    more = [factor.half(row) for each in struck for row in each.more]
    total = sum((dot(y, factor.scaled(y)) for y in (*Y, *more)), ZERO)
    return total / (3 * len(struck)) + LEVER_SQUARED * sum(factor.reciprocals)
