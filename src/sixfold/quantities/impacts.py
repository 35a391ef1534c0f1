"""Impacts: velocities after bodies strike, and the inertia that they feel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, Unpack, overload

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.dynamics import kinematics
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    TooLargeError,
    UnknownNameError,
)
from sixfold.model import ImpactPoint, Model, Tree
from sixfold.quantities.dynamics import factor_mass_matrix
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import call_of, common_arguments
from sixfold.runtime.quantity import InertiaOptions, ModelOnTree, Numbers
from sixfold.scalar import ZERO, Scalar, dot, exact
from sixfold.spatial import Transform, Vector3

algorithm = LazyModule("sixfold.dynamics.constrained.impact")
rows = LazyModule("sixfold.dynamics.constrained.rows")

MAX_POINTS = 64  #: Points of one call: each pair of them has its own numbers in the program.


MAX_SETS = 256  #: Sets of points whose calls are kept.


_Two = tuple[Array, Array]

_Three = tuple[Array, Array, Array]

_Points = ImpactPoint | Iterable[ImpactPoint]


@overload
def impact(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    points: _Points,
    *,
    residual: Literal[False] = False,
    **options: Unpack[InertiaOptions[_Two]],
) -> _Two: ...


@overload
def impact(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    points: _Points,
    *,
    residual: Literal[True],
    **options: Unpack[InertiaOptions[_Three]],
) -> _Three: ...


@common_arguments
def impact(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    points: _Points,
    *,
    residual: bool = False,
    **options: Unpack[InertiaOptions[_Two | _Three]],
) -> _Two | _Three:
    """Return the velocities after an impact at points, and the impulses there.

    Newton's law in Moreau's form, for all points at once: a normal impulse pushes, the normal
    velocity after the impact is at least -e times that before, and a point whose impulse is not
    zero leaves with exactly that.  Coulomb's law holds between the impulses.  A point with infinite
    friction is held.  Positions, and forces that stay finite, do not take part.

    Args:
        v: joint velocity before the impact [rad/s or m/s], shape (..., nv).
        points: an `ImpactPoint` or several, the same for all states.  A point that moves away gets
            no impulse, unless it is held.
        residual: return how far the result is from the law, too.
        out: arrays for the results, of their shapes and dtype.

    Returns:
        Velocities after the impact [rad/s or m/s], shape (..., nv), and the impulse on each point's
        body in world axes [N s], shape (..., points, 3); the body struck, if there is one, gets its
        negative.  With `residual`, a third array of shape (...): by how much the points that are
        not held miss the law [m/s].  It is at the rounding of the speeds where the impact is
        solved; several points of one body with much friction may be left open.

    Raises:
        UnknownNameError: if a point names no body or frame of the model.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: Moreau, Unilateral Contact and Dry Friction in Finite Freedom Dynamics, 1988;
    Featherstone, RBDA, section 11.7.

    Example:
        >>> import sixfold as sf
        >>> pendulum = sf.load("pendulum")
        >>> wall = sf.contact.ImpactPoint("bob", (0, -0.5, 0), normal=(1, 0, 0), restitution=0.5)
        >>> v, impulses = sf.contact.impact(pendulum, [0.0], [-2.0], wall)
        >>> print(v.round(3), impulses[0, 0].round(3))
        [1.] 1.62
    """
    if not isinstance(residual, bool):
        raise OptionError("impact", "residual", (True, False), residual)
    found: _Two | _Three = _impact(_points("impact", points), residual)(model, q, v, **options)
    return found


@common_arguments
def delassus_matrix(
    model: Model, q: ArrayLike, points: _Points, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return J M^-1 J^T at points: how fast unit impulses make them move.

    Its inverse is the inertia that the points feel.

    Args:
        points: an `ImpactPoint` or several.

    Returns:
        Array of shape (..., 3 n, 3 n) for n points [1/kg]: three rows for each, along its normal
        and two tangents that make a right-handed frame with it.  The first tangent is horizontal in
        x for a normal along z.

    Raises:
        UnknownNameError: if a point names no body or frame of the model.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # M = 0.27 kg m^2
        >>> tip = sf.contact.ImpactPoint("bob", (0, -0.5, 0), normal=(1, 0, 0))
        >>> G = sf.contact.delassus_matrix(pendulum, [0.0], tip)
        >>> G.shape, np.allclose(G[0, 0], 0.5**2 / 0.27)
        ((3, 3), True)
    """
    return _delassus_matrix(_points("delassus_matrix", points))(model, q, **options)


@lru_cache(maxsize=MAX_SETS)
def _impact(points: tuple[ImpactPoint, ...], residual: bool) -> Callable[..., Any]:
    """Return the call for a set of points."""
    sizes = ("nv", f"{len(points)} 3", *([""] if residual else []))
    reading = partial(_impact_numbers, points=points, residual=residual)
    return _call(reading, *sizes, part_of="impact", arrays="q v", points=points)


@lru_cache(maxsize=MAX_SETS)
def _delassus_matrix(points: tuple[ImpactPoint, ...]) -> Callable[..., Array]:
    """Return the call for a set of points."""
    n = 3 * len(points)
    reading = partial(_delassus_numbers, points=points)
    return _call(reading, f"{n} {n}", part_of="delassus_matrix", arrays="q", points=points)


def _call(
    reading: Callable[..., Any], *sizes: str, points: tuple[ImpactPoint, ...], **given: str
) -> Callable[..., Any]:
    refuses = partial(_refuse_unknown, points)
    keywords = {"inertias": None}
    return call_of(reading, *sizes, keywords=keywords, solves=True, refuses=refuses, **given)


def _points(function: str, points: Any) -> tuple[ImpactPoint, ...]:
    """Return the points of a call, or say what is wrong with them."""
    if type(points) is tuple and points and all(type(x) is ImpactPoint for x in points):
        found = points
    else:
        # anything else is named in an error, each entry of a list by itself
        where, words = f"{function}: argument 'points'", "an ImpactPoint, or several in a list"
        fix = "pass sf.contact.ImpactPoint(frame, position, normal)"
        if isinstance(points, ImpactPoint):
            return (points,)
        if not isinstance(points, (list, tuple)) or not points:
            raise ArgumentError(where, words, points, fix)
        for each in points:
            if not isinstance(each, ImpactPoint):
                raise ArgumentError(where, words, each, fix)
        found = tuple(points)
    if len(found) > MAX_POINTS:
        raise TooLargeError(function, f"{len(found)} points", f"pass at most {MAX_POINTS}")
    return found


def _refuse_unknown(
    points: tuple[ImpactPoint, ...], function: str, model: Model, _: Mapping[str, Any]
) -> None:
    """Refuse points that the model does not have, and those that cannot strike."""
    known = (*model.body_names, *model.frame_names, model.base_name)
    for k, point in enumerate(points):
        where = f"{function}: point {k} for model '{model.name}'"
        # names are checked against each model, because points know none
        for name in (point.frame, point.against):
            if name is not None and name not in known:
                raise UnknownNameError("body or frame", name, known, where=where)
        # an impulse between two places of one body does nothing
        other = -1 if point.against is None else model.locate(point.against)[0]
        if model.locate(point.frame)[0] == other:
            what = f"{where}: '{point.frame}'"
            fix = "name the body that moves as frame, and another one as against"
            raise NotApplicableError(what, "a body that is struck by itself", fix)


# -- one state

Matrix = list[list[Scalar]]

#: Of a point so near to the axes of all joints that it counts as one that does not move [m^2].
LEVER_SQUARED = 1e-6


class _Struck(NamedTuple):
    """The directions of a point in world axes, normal first, and rows of its Jacobian."""

    directions: list[Vector3]  #: Those along which there may be an impulse.
    rows: Matrix  #: One for each of them.
    more: Matrix  #: Those of the tangents of a point without friction.


def _impact_numbers(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    *,
    points: Sequence[ImpactPoint],
    residual: bool = False,
) -> list[Scalar]:
    """Return velocities v + M^-1 J^T p, all impulses in world axes, and the residual."""
    on = ModelOnTree(model, tree)
    struck = _struck(on, q, points)
    # G = J M^-1 J^T by half solves: Y = L^-T J^T
    J = [row for each in struck for row in each.rows]
    factor = factor_mass_matrix(on, q)
    Y = [factor.half(row) for row in J]
    # velocities at the points; Newton's law of restitution scales the normal one
    b: list[Scalar] = []
    contacts = []
    for point, each in zip(points, struck, strict=True):
        count = len(b)
        b += [dot(row, v) for row in each.rows]
        b[count] = b[count] * (1.0 + point.restitution)
        contacts.append(
            algorithm.ImpactContact(tuple(range(count, len(b))), point.friction, point.sticks)
        )
    # impulses in the friction cones, and how well they satisfy the law
    p, error = algorithm.impulses(Y, factor.reciprocals, b, contacts, _scale(factor, Y, struck))
    # v' = v + M^-1 J^T p
    y: list[Scalar] = [ZERO] * model.nv
    for value, row in zip(p, Y, strict=True):
        y = [total + value * x for total, x in zip(y, row, strict=True)]
    after = [x + dx for x, dx in zip(v, factor.outward(factor.scaled(y)), strict=True)]
    # impulses along the axes of the world
    in_world = [
        sum((p[r] * d[k] for r, d in zip(c.rows, each.directions, strict=True)), ZERO)
        for c, each in zip(contacts, struck, strict=True)
        for k in range(3)
    ]
    return [*after, *in_world, *([error] if residual else [])]


def _delassus_numbers(
    model: Model, tree: Tree, q: Numbers, *, points: Sequence[ImpactPoint]
) -> list[Scalar]:
    """Return J M^-1 J^T, row by row: each point's normal, then its two tangents."""
    on = ModelOnTree(model, tree)
    struck = _struck(on, q, points)
    rows = [row for each in struck for row in (*each.rows, *each.more)]
    # G = Y^T D^-1 Y is symmetric: compute one half
    factor = factor_mass_matrix(on, q)
    Y = [factor.half(row) for row in rows]
    scaled = [factor.scaled(y) for y in Y]
    G: Matrix = [[ZERO] * len(rows) for _ in rows]
    for r in range(len(rows)):
        for s in range(r + 1):
            G[r][s] = G[s][r] = dot(Y[r], scaled[s])
    return [x for row in G for x in row]


def _struck(model: Any, q: Numbers, points: Sequence[ImpactPoint]) -> list[_Struck]:
    """Return the rows of all points."""
    tree = model.tree
    x = model.positions(q)
    _, X0 = kinematics.transforms(tree, x)

    def rows_of(k: int, point: Vector3, directions: list[Vector3]) -> list[list[Scalar]]:
        over_tree = rows.point_rows(tree, x, X0, k + 1, point, directions)
        return [
            model.gather({i: row.get(i, [ZERO] * tree.joint[i].nv) for i in tree.bodies})
            for row in over_tree
        ]

    result = []
    # velocity rows at each point; between two bodies the difference of both
    for point in points:
        k, placement = model.locate(point.frame)
        # from world coordinates to the body's axes at the point
        X = Transform.translation([exact(x) for x in point.position]) @ placement @ X0[k + 1]
        directions = _axes(point)
        if point.against is None:
            found = rows_of(k, X.r, directions)
        else:
            other, held = model.locate(point.against)
            # the normal is given in the axes of the body that is hit
            back = (held @ X0[other + 1]).E.T
            directions = [back @ d for d in directions]
            both = zip(rows_of(k, X.r, directions), rows_of(other, X.r, directions), strict=True)
            found = [[x - y for x, y in zip(a, b, strict=True)] for a, b in both]
        count = 3 if point.friction else 1
        result.append(_Struck(directions[:count], found[:count], found[count:]))
    return result


def _axes(point: ImpactPoint) -> list[Vector3]:
    """Return the normal and two tangents, right-handed, exact along the axes of coordinates.

    The second tangent is horizontal wherever the normal has a part along x and z only, so that
    motions in that plane keep exact zeros.
    """
    n = Vector3(*map(exact, point.normal))
    x, y, z = map(float, point.normal)
    # the tangent is normal to the y axis, unless that is nearly the normal
    if abs(y) <= 0.75:
        length = (x * x + z * z) ** 0.5
        t = Vector3(exact(z / length), ZERO, exact(-x / length))
    else:
        length = (y * y + z * z) ** 0.5
        t = Vector3(ZERO, exact(z / length), exact(-y / length))
    return [n, t, n.cross(t)]


def _scale(factor: Any, Y: Matrix, struck: Sequence[_Struck]) -> Scalar:
    """Return the mean of G's diagonal over all directions, and a little of all joints."""
    # rows that friction leaves out count, so that the scale does not jump
    more = [factor.half(row) for each in struck for row in each.more]
    total = sum((dot(y, factor.scaled(y)) for y in (*Y, *more)), ZERO)
    return total / (3 * len(struck)) + LEVER_SQUARED * sum(factor.reciprocals)
