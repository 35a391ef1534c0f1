"""Motion of one body: rates of vectors, transforms and inertias; motion under constraints.

In coordinates that move with velocity v, the coordinates *of the derivative* of a vector differ
from the *componentwise* derivative of its coordinates (Featherstone writes a dot and a ring):

    vector_rate = component_rate + v x u        (v x* for forces; Carius eq. 5)

For a vector of ordinary space in axes that turn, v is the angular velocity of the axes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import ArgumentError, ModelError, NumberError, ShapeError
from sixfold.scalar import dot, is_number, several_numbers, together
from sixfold.spatial.inertia import ArticulatedInertia, Column, ForceSubspace, Inertia, Subspace
from sixfold.spatial.vectors import Force, Motion, Rows, Vector3, product, to_array

P = ParamSpec("P")
R = TypeVar("R")
Vector = TypeVar("Vector", Motion, Force)
VECTORS = (Motion, Force, Vector3)
INERTIAS = (Inertia, ArticulatedInertia)


def check_kinds(**kinds: type | tuple[type, ...]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that checks the kinds of arguments, by name, before the function runs.

    A Force in the place of a Motion would be taken for one: both hold two vectors.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = tuple(inspect.signature(function).parameters)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, given in (*zip(names, args, strict=False), *kwargs.items()):
                kind = kinds.get(name)
                if kind is not None and not isinstance(given, kind):
                    several = kind if isinstance(kind, tuple) else (kind,)
                    expected = " or ".join(_one(k) for k in several if k is not type(None))
                    fix = f"make one, for example with sf.{several[0].__name__}"
                    where = f"{function.__name__}: argument '{name}'"
                    raise ArgumentError(where, expected, given, fix)
            with together(function.__name__):
                return function(*args, **kwargs)

        return call

    return decorate


def _one(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


@overload
def vector_rate(component_rate: Vector, u: Vector, frame_velocity: Motion) -> Vector: ...
@overload
def vector_rate(component_rate: Vector3, u: Vector3, frame_velocity: Vector3) -> Vector3: ...
@check_kinds(component_rate=VECTORS, u=VECTORS, frame_velocity=(Motion, Vector3))
def vector_rate(component_rate: Any, u: Any, frame_velocity: Any) -> Any:
    """Return the coordinates of du/dt from the componentwise derivative of u.

    Args:
        component_rate: derivative of each coordinate of u, a Motion, Force or Vector3.
        u: the vector, of the same kind.
        frame_velocity: velocity of the frame that u's coordinates are in, in that frame: a Motion;
            for a Vector3 its angular velocity, a Vector3 [rad/s].

    Returns:
        component_rate + frame_velocity x u, of u's kind (Carius eq. 5).

    Example:
        >>> import sixfold as sf
        >>> still = sf.spatial.Motion.zero()  # constant coordinates, in axes that turn
        >>> turning = sf.spatial.Motion.of([0, 0, 2, 0, 0, 0])
        >>> print(sf.spatial.vector_rate(still, sf.spatial.Motion.of([1, 0, 0, 0, 0, 0]), turning))
        Motion(w=(0, 2, 0), v=(0, 0, 0))
    """
    return component_rate + _frame_motion_rate(u, frame_velocity)


@overload
def component_rate(vector_rate: Vector, u: Vector, frame_velocity: Motion) -> Vector: ...
@overload
def component_rate(vector_rate: Vector3, u: Vector3, frame_velocity: Vector3) -> Vector3: ...
@check_kinds(vector_rate=VECTORS, u=VECTORS, frame_velocity=(Motion, Vector3))
def component_rate(vector_rate: Any, u: Any, frame_velocity: Any) -> Any:
    """Return the componentwise derivative of u from the coordinates of du/dt.

    Args:
        vector_rate: coordinates of du/dt, a Motion, Force or Vector3.
        u: the vector, of the same kind.
        frame_velocity: velocity of the frame, as in `vector_rate`.

    Returns:
        vector_rate - frame_velocity x u, of u's kind.

    Example:
        >>> import sixfold as sf
        >>> u, turning = sf.spatial.Vector3(1.0, 0.0, 0.0), sf.spatial.Vector3(0.0, 0.0, 2.0)
        >>> sf.spatial.component_rate(sf.spatial.Vector3(0.0, 2.0, 0.0), u, turning) == (0, 0, 0)
        True
    """
    return vector_rate - _frame_motion_rate(u, frame_velocity)


def _frame_motion_rate(u: Any, frame_velocity: Any) -> Any:
    """Return the rate of a vector that rests in a frame that moves."""
    if isinstance(frame_velocity, Vector3) is not isinstance(u, Vector3):
        wanted = "a Vector3" if isinstance(u, Vector3) else "a Motion"
        where = f"rate of a {type(u).__name__}: argument 'frame_velocity'"
        fix = f"give the velocity of the frame as {wanted}"
        raise ArgumentError(where, wanted, frame_velocity, fix)
    return frame_velocity.cross(u)


@check_kinds(a=Motion, v=Motion)
def classical_acceleration(a: Motion, v: Motion) -> Motion:
    """Return (angular acceleration; acceleration of the body point at the origin).

    Args:
        a: spatial acceleration of the body.
        v: its velocity.

    Returns:
        (omega'; v' + omega x v) [rad/s^2; m/s^2]: what an accelerometer's designer calls
        acceleration.

    Example:
        >>> import sixfold as sf
        >>> v = sf.spatial.Motion.of([0, 0, 2, 0, 1, 0])  # on a circle of radius 0.5, steadily
        >>> print(sf.spatial.classical_acceleration(sf.spatial.Motion.zero(), v))
        Motion(w=(0, 0, 0), v=(-2, 0, 0))
    """
    return Motion(a.ang, a.lin + v.ang.cross(v.lin))


@check_kinds(classical=Motion, v=Motion)
def spatial_acceleration(classical: Motion, v: Motion) -> Motion:
    """Return the spatial acceleration from the classical one, for a body moving with v.

    Args:
        classical: (angular acceleration; acceleration of the body point at the origin).
        v: velocity of the body.

    Returns:
        The spatial acceleration, the rate of the spatial velocity.

    Example:
        >>> import sixfold as sf
        >>> v = sf.spatial.Motion.of([0, 0, 2, 0, 1, 0])
        >>> towards = sf.spatial.Motion.of([0, 0, 0, -2, 0, 0])
        >>> sf.spatial.spatial_acceleration(towards, v) == sf.spatial.Motion.zero()
        True
    """
    return Motion(classical.ang, classical.lin - v.ang.cross(v.lin))


@check_kinds(v=Motion, point=Vector3)
def velocity_at(v: Motion, point: Vector3) -> Vector3:
    """Return the velocity of the body point that is passing through a point.

    Args:
        v: velocity of the body.
        point: where, a Vector3 [m]; `velocity_field` takes arrays of points.

    Returns:
        v_O + omega x point [m/s].

    Example:
        >>> import sixfold as sf
        >>> rolling = sf.spatial.Motion.of([0, 0, -1, 1, 0, 0])  # a wheel of radius 1
        >>> sf.spatial.velocity_at(rolling, sf.spatial.Vector3(0.0, -1.0, 0.0)) == (0, 0, 0)
        True
    """
    return v.lin + v.ang.cross(point)


@check_kinds(v=Motion)
def velocity_field(v: Motion, points: ArrayLike) -> np.ndarray[Any, Any]:
    """Return the velocity field of a rigid body at many points: v_O + omega x p for each.

    Of a spatial acceleration it gives the rate of the velocity field at points fixed in space, not
    the accelerations of body points (Featherstone, "Understanding example 3").

    Args:
        v: a Motion; its numbers may be arrays that hold a batch of motions.
        points: positions in the motion's coordinates [m], shape (..., 3).

    Returns:
        Velocities [m/s], shape (..., 3).  Leading axes of points and the batch broadcast.

    Raises:
        ShapeError: if the last axis of points is not 3.

    Example:
        >>> import sixfold as sf
        >>> turning = sf.spatial.Motion.of([0, 0, 2, 0, 0, 0])
        >>> sf.spatial.velocity_field(turning, [[1.0, 3.0, 0.0], [0.5, 1.0, 0.0]]).tolist()
        [[-6.0, 2.0, 0.0], [-2.0, 1.0, 0.0]]
    """
    p = np.asarray(points)
    if not is_number(p):
        fix = "pass numbers of shape (..., 3)"
        raise ArgumentError("velocity_field: argument 'points'", "positions", points, fix)
    if p.ndim == 0 or p.shape[-1] != 3:
        fix = "pass one position (x, y, z) in each row"
        raise ShapeError("velocity_field", "points", "(..., 3)", p.shape, fix)
    # v_O + omega x p at each point
    found = v.lin + v.ang.cross(Vector3(p[..., 0], p[..., 1], p[..., 2]))
    lead = np.broadcast_shapes(p.shape[:-1], to_array(v).shape[:-1])
    array = to_array(tuple(found))
    return np.ascontiguousarray(np.broadcast_to(array, (*lead, 3)))


@check_kinds(inertia=INERTIAS, v=Motion)
def inertia_rate(inertia: Inertia | ArticulatedInertia, v: Motion) -> Rows:
    """Return dI/dt = v x* I - I v x for a body moving with v, as a 6x6 matrix (Carius eq. 21).

    Args:
        inertia: inertia of the body.
        v: its velocity.

    Returns:
        Six rows of six numbers.

    Example:
        >>> import sixfold as sf
        >>> ball, v = sf.spatial.sphere(0.5, mass=2.0), sf.spatial.Motion.of([1, 2, 3, 0, 0, 0])
        >>> bool((sf.spatial.to_array(sf.spatial.inertia_rate(ball, v)) == 0).all())
        True
    """
    # v x* I - I v x
    first = product(v.cross_star_matrix(), inertia.matrix())
    second = product(inertia.matrix(), v.cross_matrix())
    return tuple(
        tuple(a - b for a, b in zip(p, q, strict=True)) for p, q in zip(first, second, strict=True)
    )


@check_kinds(inertia=INERTIAS, v=Motion, a=Motion)
def equation_of_motion(inertia: Inertia, v: Motion, a: Motion) -> Force:
    """Return the force on a body, f = I a + v x* I v (Carius eq. 22, Featherstone).

    Args:
        inertia: inertia of the body.
        v: its velocity.
        a: its spatial acceleration.

    Returns:
        The sum of all forces on the body (n; f) [N m; N].

    Example:
        >>> import sixfold as sf
        >>> ball = sf.spatial.sphere(0.5, mass=2.0)
        >>> up = sf.spatial.Motion.of([0, 0, 0, 0, 0, 3])
        >>> print(sf.spatial.equation_of_motion(ball, sf.spatial.Motion.zero(), up))
        Force(n=(0, 0, 0), f=(0, 0, 6))
    """
    return inertia @ a + v.cross(inertia @ v)


@overload
def constraint_basis(S: Subspace) -> ForceSubspace: ...
@overload
def constraint_basis(S: ForceSubspace) -> Subspace: ...
@check_kinds(S=(Subspace, ForceSubspace))
def constraint_basis(S: Subspace | ForceSubspace) -> ForceSubspace | Subspace:
    """Return T with S^T T = 0 and T^T T = 1: the forces that do no work on any motion in S.

    Of a force subspace T it returns the motions S that T does no work on, with T^T S = 0.

    Args:
        S: a Subspace (or ForceSubspace) of n independent columns that hold floats.

    Returns:
        A ForceSubspace (or Subspace) of 6 - n columns.

    Raises:
        ModelError: if the columns are not independent.

    Example:
        >>> import sixfold as sf
        >>> hinge = sf.spatial.Subspace(sf.spatial.Motion.of([0, 0, 1, 0, 0, 0]))
        >>> T = sf.spatial.constraint_basis(hinge)
        >>> len(T.columns)
        5
    """
    forces = isinstance(S, ForceSubspace)
    n = len(S.columns)
    with together("constraint_basis"):
        columns = np.array([[float(x) for x in (*c.ang, *c.lin)] for c in S.columns]).reshape(n, 6)
    if not np.isfinite(columns).all():
        fix = "compute S at a finite joint position"
        raise NumberError("constraint_basis", "finite columns of S", "NaN or infinity", fix)
    if n and np.linalg.matrix_rank(columns) < n:
        name = "T" if forces else "S"
        raise ModelError(
            "constraint_basis", f"columns of {name} are not independent", "drop a column"
        )
    # the columns of Q behind those that span S are orthogonal to S
    q, _ = np.linalg.qr(columns.T, mode="complete")
    rest = [[float(x) for x in column] for column in q[:, n:].T]
    if forces:
        return Subspace(*map(Motion.of, rest))
    return ForceSubspace(*map(Force.of, rest))


@check_kinds(inertia=INERTIAS, S=Subspace)
def apparent_inverse_inertia(inertia: Inertia | ArticulatedInertia, S: Subspace) -> Rows:
    """Return S (S^T I S)^-1 S^T: the inverse inertia that a constrained body seems to have.

    Times a force it is the acceleration of the body at rest.  Its rank is the number
    of degrees of freedom, and it maps every constraint force to zero.

    Args:
        inertia: inertia of the body.
        S: motions that the constraint allows.

    Returns:
        Six rows of six numbers; `to_array` makes an array of them.

    Example:
        >>> import sixfold as sf
        >>> bar = sf.spatial.rod(1.0, axis="x", mass=12.0)
        >>> hinge = sf.spatial.Subspace(sf.spatial.Motion.of([0, 0, 1, 0, 0, 0]))
        >>> sf.spatial.to_array(sf.spatial.apparent_inverse_inertia(bar, hinge))[2, 2].item()
        1.0
    """
    # S D^-1 S^T with D = S^T I S
    D = S.T @ (inertia @ S)
    rows = S.rows
    solved = [D.solve(row) for row in rows]  # rows of S D^-1
    return tuple(tuple(dot(x, row) for row in rows) for x in solved)


class Constrained(NamedTuple):
    """Response of a constrained body to a force."""

    alpha_rate: Column  #: Rates of the velocity coordinates.
    a: Motion  #: Acceleration.
    f_c: Force  #: Constraint force.


@check_kinds(inertia=INERTIAS, S=Subspace, f=Force, S_rate=(Subspace, type(None)))
def constrained_motion(
    inertia: Inertia, S: Subspace, f: Force, alpha: Any = None, S_rate: Subspace | None = None
) -> Constrained:
    """Return acceleration and constraint force of a body with velocity v = S alpha.

    Solves S^T f_c = 0 and f + f_c = I a + v x* I v with a = S alpha_rate + S_rate alpha, where
    S_rate is dS/dt as a vector (its columns' derivatives, not their components').

    Args:
        inertia: inertia of the body.
        S: motion subspace.
        f: applied force.
        alpha: velocity coordinates; at rest by default.
        S_rate: derivative of the subspace; zero by default.

    Returns:
        Rates of alpha, the acceleration and the constraint force.

    Example:
        >>> import sixfold as sf
        >>> ball, slide = sf.spatial.sphere(0.5, mass=2.0), sf.spatial.Motion.of([0, 0, 0, 1, 0, 0])
        >>> push = sf.spatial.Force.of([0, 0, 0, 6, 0, -8])
        >>> found = sf.spatial.constrained_motion(ball, sf.spatial.Subspace(slide), push)
        >>> print(found.a, found.f_c)
        Motion(w=(0, 0, 0), v=(3, 0, 0)) Force(n=(0, 0, 0), f=(0, 0, 8))
    """
    if alpha is None:
        rates: Any = Column.zero(len(S.columns))
    else:
        fix = "give one number for each column of S"
        rates = several_numbers("constrained_motion", "alpha", alpha, len(S.columns), fix)
    # v = S alpha, and the acceleration at constant alpha: S_rate alpha
    v = S @ rates
    drift = S_rate @ rates if S_rate is not None else Motion.zero()
    # S^T I S alpha_rate = S^T (f - bias)
    bias = inertia @ drift + v.cross(inertia @ v)
    alpha_rate = (S.T @ (f - bias)) / (S.T @ (inertia @ S))
    a = S @ alpha_rate + drift
    return Constrained(alpha_rate, a, inertia @ a + v.cross(inertia @ v) - f)
