"""Public impacts: velocities after bodies strike, and the inertia that they feel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, overload

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    TooLargeError,
    UnknownNameError,
)
from sixfold.evaluate import scalar_functions as pages
from sixfold.evaluate.public import quantity
from sixfold.model import Model
from sixfold.model.geometry import ImpactPoint

MAX_POINTS = 64
"""Points of one call: each pair of them has its own numbers in the program."""

MAX_SETS = 256
"""Sets of points whose calls are kept."""

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
    inertias: ArrayLike | None = None,
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two: ...


@overload
def impact(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    points: _Points,
    *,
    residual: Literal[True],
    inertias: ArrayLike | None = None,
    out: _Three | None = None,
    backend: Backend | None = None,
) -> _Three: ...


def impact(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    points: _Points,
    *,
    residual: bool = False,
    inertias: ArrayLike | None = None,
    out: _Two | _Three | None = None,
    backend: Backend | None = None,
) -> _Two | _Three:
    """Return the velocities after an impact at points, and the impulses there.

    Newton's law in Moreau's form, for all points at once: a normal impulse pushes, the normal
    velocity after the impact is at least -e times that before, and a point whose impulse is not
    zero leaves with exactly that.  Coulomb's law holds between the impulses.  A point with infinite
    friction is held.  Positions, and forces that stay finite, do not take part.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity before the impact [rad/s or m/s], shape (..., nv).
        points: an `ImpactPoint` or several, the same for all states.  A point that moves away gets
            no impulse, unless it is held.
        residual: return how far the result is from the law, too.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10), as in `inverse_dynamics`.
        out: arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
        >>> wall = sf.ImpactPoint("bob", (0, -0.5, 0), normal=(1, 0, 0), restitution=0.5)
        >>> v, impulses = sf.impact(pendulum, [0.0], [-2.0], wall)
        >>> print(v.round(3), impulses[0, 0].round(3))
        [1.] 1.62
    """
    if not isinstance(residual, bool):
        raise OptionError("impact", "residual", (True, False), residual)
    call = _impact(_listed("impact", points), residual)
    found: _Two | _Three = call(model, q, v, inertias=inertias, out=out, backend=backend)
    return found


def delassus_matrix(
    model: Model,
    q: ArrayLike,
    points: _Points,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return J M^-1 J^T at points: how fast unit impulses make them move.

    Its inverse is the inertia that the points feel.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        points: an `ImpactPoint` or several.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10), as in `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
        >>> tip = sf.ImpactPoint("bob", (0, -0.5, 0), normal=(1, 0, 0))
        >>> G = sf.delassus_matrix(pendulum, [0.0], tip)
        >>> G.shape, np.allclose(G[0, 0], 0.5**2 / 0.27)
        ((3, 3), True)
    """
    call = _delassus_matrix(_listed("delassus_matrix", points))
    return call(model, q, inertias=inertias, out=out, backend=backend)


@lru_cache(maxsize=MAX_SETS)
def _impact(points: tuple[ImpactPoint, ...], residual: bool) -> Callable[..., Any]:
    """Return the call for a set of points."""
    scalars = ("",) if residual else ()

    @quantity(
        partial(pages.impact, points=points, residual=residual),
        "nv",
        f"{len(points)} 3",
        *scalars,
        part_of="impact",
        solves=True,
        refuses=partial(_refuse_unknown, points),
    )
    def call(
        model: Model,
        q: ArrayLike,
        v: ArrayLike,
        *,
        inertias: ArrayLike | None = None,
        out: Any = None,
        backend: Backend | None = None,
    ) -> Any:
        """Return velocities and impulses, and the residual."""
        raise NotImplementedError

    return call


@lru_cache(maxsize=MAX_SETS)
def _delassus_matrix(points: tuple[ImpactPoint, ...]) -> Callable[..., Array]:
    """Return the call for a set of points."""
    n = 3 * len(points)

    @quantity(
        partial(pages.delassus_matrix, points=points),
        f"{n} {n}",
        part_of="delassus_matrix",
        solves=True,
        refuses=partial(_refuse_unknown, points),
    )
    def call(
        model: Model,
        q: ArrayLike,
        *,
        inertias: ArrayLike | None = None,
        out: Array | None = None,
        backend: Backend | None = None,
    ) -> Array:
        """Return the matrix."""
        raise NotImplementedError

    return call


def _listed(function: str, points: Any) -> tuple[ImpactPoint, ...]:
    """Return the points of a call, or say what is wrong with them."""
    if type(points) is tuple and points and all(type(x) is ImpactPoint for x in points):
        found = points
    else:
        where, words = f"{function}: argument 'points'", "an ImpactPoint, or several in a list"
        fix = "pass sf.ImpactPoint(frame, position, normal)"
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
        for name in (point.frame, point.against):
            if name is not None and name not in known:
                raise UnknownNameError("body or frame", name, known, where=where)
        other = -1 if point.against is None else model.locate(point.against)[0]
        if model.locate(point.frame)[0] == other:
            what = f"{where}: '{point.frame}'"
            fix = "name the body that moves as frame, and another one as against"
            raise NotApplicableError(what, "a body that is struck by itself", fix)


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "delassus_matrix",
        "impact",
    ]
