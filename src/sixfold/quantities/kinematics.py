"""Poses, velocities, accelerations, Jacobians, and forces at points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import AccelerationKind, MotionFrame
from sixfold.dynamics import kinematics
from sixfold.errors import OptionError
from sixfold.model import Model
from sixfold.model.tree import Table
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import FRAMES, Numbers, Options, refuse_idle_point
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import IDENTITY3, Force, Motion, Transform, Vector3, classical_acceleration


def _refuse_classical_in_world(function: str, _: Model, given: Mapping[str, Any]) -> None:
    """Refuse the acceleration of a body point where no body point lies."""
    at_point = isinstance(given["frame"], str) and given["frame"] in ("body", "aligned")
    if given["kind"] == "classical" and not at_point:
        raise OptionError(function, "frame", ("body", "aligned"), given["frame"])


@quantity("nb 4 4", rolls=True)
def body_poses(model: Model, q: ArrayLike, **options: Unpack[Options[Array]]) -> Array:
    """Return world-from-body matrices, shape (..., nb, 4, 4).

    Returns:
        Matrices [[R, p], [0, 1]], shape (..., nb, 4, 4): the columns of R are the axes of the body,
        p is its origin [m], both in world coordinates.  Row k is the body `model.body_names[k]`.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")  # hangs along -z, the upper link is 1 m long
        >>> poses = sf.body_poses(arm, [0.0, 0.5])
        >>> poses.shape, np.allclose(poses[1, :3, 3], (0, 0, -1))  # origin of the lower link
        ((2, 4, 4), True)
    """
    tree = model.tree
    # X0 takes world coordinates to those of the body; its pose is the inverse
    _, X0 = kinematics.transforms(tree, model.positions(q))
    return tree.rows(lambda i: [x for row in X0[i].pose() for x in row])


@quantity("4 4")
def frame_pose(model: Model, q: ArrayLike, name: str, **options: Unpack[Options[Array]]) -> Array:
    """Return the world-from-frame matrix of a body or frame, shape (..., 4, 4).

    Returns:
        Matrices [[R, p], [0, 1]], shape (..., 4, 4): the columns of R are the axes of the frame, p
        is its origin [m], both in world coordinates.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")  # links of 1 m and 2 m, about y
        >>> pose = sf.frame_pose(arm, [np.pi / 2, 0.0], "tip")
        >>> np.allclose(pose[:3, 3], (-3, 0, 0))
        True
    """
    i, placement = body_and_placement(model, name)
    _, X0 = kinematics.transforms(model.tree, model.positions(q))
    return (placement @ X0[i]).pose()


@quantity("nb 6", rolls=True)
def body_velocities(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    frame: MotionFrame | str = "body",
    **options: Unpack[Options[Array]],
) -> Array:
    """Return the spatial velocity (omega; v) of each body, shape (..., nb, 6).

    Args:
        frame: "body" (axes and point of the body), "world" (axes and origin of the world),
            "aligned" (world axes, body point), or the name of a body or frame: its axes and its
            origin.  A body that is itself called "body", "world" or "aligned" cannot be named here:
            these words have their own meaning.

    Returns:
        Velocities (omega; v) [rad/s; m/s], shape (..., nb, 6), in the axes and at the point that
        `frame` says.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")  # hangs along -z, turns about y
        >>> v = sf.body_velocities(arm, [0.0, 0.0], [1.0, 0.0], frame="aligned")
        >>> np.allclose(v[1], (0, 1, 0, -1, 0, 0))  # 1 m below the shoulder
        True
    """
    tree = model.tree
    x = model.positions(q)
    vel, _ = kinematics.motions(tree, x, model.velocities(v), tree.zero_velocities())
    return _express_all(model, x, vel, frame)


@quantity("6")
def frame_velocity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    *,
    frame: MotionFrame | str = "aligned",
    **options: Unpack[Options[Array]],
) -> Array:
    """Return the spatial velocity (omega; v) of a body or frame, shape (..., 6).

    Args:
        frame: "aligned" (world axes, the frame's origin), "body" (the frame's own axes and
            origin), "world" (axes and origin of the world), or the name of another body or frame,
            as in `body_velocities`.

    Returns:
        Velocity (omega; v) [rad/s; m/s], shape (..., 6), in the axes and at the point that `frame`
        says.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.frame_velocity(arm, q, v, "dh6"), sf.jacobian(arm, q, "dh6") @ v)
        True
    """
    tree = model.tree
    body, placement = body_and_placement(model, name)
    if not body:
        return [ZERO] * 6
    x = model.positions(q)
    # the velocity of the body, then in the axes and at the point that is asked for
    vel, _ = kinematics.motions(tree, x, model.velocities(v), tree.zero_velocities())
    if frame not in FRAMES:
        return transform_to(model, x, frame)(body) @ vel[body]
    if frame == "body":
        return placement @ vel[body]
    X0 = placement @ kinematics.transforms(tree, x)[1][body]
    return express(placement @ vel[body], X0, frame)


@quantity("nb 6", rolls=True, refuses=_refuse_classical_in_world)
def body_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    frame: MotionFrame | str = "body",
    kind: AccelerationKind = "spatial",
    **options: Unpack[Options[Array]],
) -> Array:
    """Return the acceleration of each body, shape (..., nb, 6), gravity not included.

    Args:
        frame: as in `body_velocities`.
        kind: "spatial" (rate of the spatial velocity) or "classical" (angular acceleration, and
            acceleration of the body's origin; with frame="body" or "aligned" only: elsewhere
            lies no body point).

    Returns:
        Accelerations (angular; linear) [rad/s^2; m/s^2], shape (..., nb, 6), in the axes and at the
        point that `frame` says.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")  # hangs along -z, the upper link is 1 m long
        >>> state = [0.0, 0.0], [2.0, 0.0], [0.0, 0.0]  # q, v, a: a steady turn
        >>> np.allclose(sf.body_accelerations(arm, *state), 0)
        True
        >>> a = sf.body_accelerations(arm, *state, frame="aligned", kind="classical")
        >>> np.allclose(a[1], (0, 0, 0, 0, 0, 4))  # towards the shoulder
        True
    """
    tree = model.tree
    x = model.positions(q)
    vel, acc = kinematics.motions(tree, x, model.velocities(v), model.velocities(a))
    # a + omega x v: the acceleration of the body's origin
    if kind == "classical":
        table = tree.table()
        for i in tree.bodies:
            table[i] = classical_acceleration(acc[i], vel[i])
        acc = table
    return _express_all(model, x, acc, frame)


@quantity("6 nv", refuses=refuse_idle_point)
def jacobian(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: MotionFrame | str = "aligned",
    **options: Unpack[Options[Array]],
) -> Array:
    """Return the Jacobian of a body or frame, shape (..., 6, nv): J v is its velocity.

    Args:
        frame: "aligned" (world axes, at the point), "body" (the frame's axes, at the point),
            "world" (world axes and origin), or the name of another body or frame, as in
            `body_velocities`.  With the last two the velocity is that at the origin of these axes,
            and a point is refused.

    Returns:
        J, shape (..., 6, nv): three rows of angular, then three of linear velocity, in the axes and
        at the point that `frame` says.

    Raises:
        NotApplicableError: for a point with frame="world" or the name of a body or frame.

    Example:
        >>> import sixfold as sf
        >>> pendulum = sf.load("pendulum")  # about z, hanging along -y
        >>> print(sf.jacobian(pendulum, [0.0], "bob", (0, -0.5, 0)).T.round(3))
        [[0.  0.  1.  0.5 0.  0. ]]
    """
    tree = model.tree
    body, placement = body_and_placement(model, name)
    placement = at_point(point, placement)
    x = model.positions(q)
    # joints between the base and the body move it, all others have zero columns
    columns = {i: [Motion.zero()] * tree.joint[i].nv for i in tree.bodies}
    if frame not in FRAMES:
        X = transform_to(model, x, frame)(body)
        for j, S in kinematics.jacobian(tree, x, body).items() if body else ():
            columns[j] = list((X @ S).columns)
    elif body:
        X0 = placement @ kinematics.transforms(tree, x)[1][body] if frame != "body" else None
        for j, S in kinematics.jacobian(tree, x, body).items():
            moved = placement @ S
            columns[j] = [express(c, X0, frame) if X0 else c for c in moved.columns]
    flat = {i: [six(c) for c in columns[i]] for i in tree.bodies}
    # row by row, reduced by couplings
    return [model.gather({i: [c[r] for c in flat[i]] for i in flat}) for r in range(6)]


@quantity("6", refuses=refuse_idle_point)
def jacobian_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: MotionFrame | str = "aligned",
    **options: Unpack[Options[Array]],
) -> Array:
    """Return dJ/dt v, shape (..., 6): the derivative of J v is J a + this.

    With frame="aligned" that is the classical acceleration of the point at a = 0, with "body" and
    "world" the spatial acceleration.  In the axes of a named body or frame, which may move itself,
    it is the derivative of the components: the spatial acceleration at a = 0 less v_F x J v.

    Args:
        frame: as in `jacobian`.

    Returns:
        Array (angular; linear) [rad/s^2; m/s^2], shape (..., 6), in the axes and at the point of
        `jacobian`.

    Raises:
        NotApplicableError: for a point with frame="world" or the name of a body or frame.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # about z, hanging along -y
        >>> bias = sf.jacobian_bias(pendulum, [0.0], [2.0], "bob", (0, -0.5, 0))
        >>> np.allclose(bias, (0, 0, 0, 0, 2, 0))  # 2^2 0.5, towards the hinge
        True
    """
    tree = model.tree
    body, placement = body_and_placement(model, name)
    placement = at_point(point, placement)
    if not body:
        return [ZERO] * 6
    # the acceleration at a = 0, in the frame's own components
    x, xd = model.positions(q), model.velocities(v)
    vel, acc = kinematics.motions(tree, x, xd, tree.zero_velocities())
    if frame not in FRAMES:
        X = transform_to(model, x, frame)(body)
        # the axes turn with the frame: subtract v_F x J v
        other, its_placement = body_and_placement(model, frame)
        turning = its_placement @ vel[other]
        return X @ acc[body] - turning.cross(X @ vel[body])
    v_f, a_f = placement @ vel[body], placement @ acc[body]
    if frame == "body":
        return a_f
    X0 = placement @ kinematics.transforms(tree, x)[1][body]
    # aligned: the acceleration of the point; world: the spatial acceleration
    m = classical_acceleration(a_f, v_f) if frame == "aligned" else a_f
    return express(m, X0, frame)


@quantity("nb 6", place="frame")
def point_force(
    model: Model,
    q: ArrayLike,
    frame: str,
    force: ArrayLike,
    point: ArrayLike | None = None,
    **options: Unpack[Options[Array]],
) -> Array:
    """Return f_ext (..., nb, 6), world frame, for one force at a point.

    Args:
        frame: the body or frame that is pushed.
        force: in world axes [N], shape (..., 3).
        point: where it acts, in the frame's coordinates [m], shape (..., 3); its origin by default.

    Returns:
        Forces on all bodies (n; f) [N m; N], shape (..., nb, 6), world axes about the world origin:
        the `f_ext` of other functions.  Rows of other bodies are zero.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> load = sf.point_force(arm, q, "dh6", (0, 0, -10.0))
        >>> more = sf.bias_force(arm, q, v, load) - sf.bias_force(arm, q, v)
        >>> np.allclose(more, sf.jacobian(arm, q, "dh6")[3:].T @ (0, 0, 10.0))
        True
    """
    tree = model.tree
    result: list[Scalar] = [ZERO] * (6 * model.nb)
    body, placement = body_and_placement(model, frame)
    if body:
        # n = r x f about the world origin
        X = at_point(point, placement) @ kinematics.transforms(tree, model.positions(q))[1][body]
        result[6 * body - 6 : 6 * body] = six(Force.at_point(Vector3(*force), X.r))
    return result


def body_and_placement(model: Model, name: str) -> tuple[int, Transform]:
    """Return the body that a body or frame is on, 0 for the base, and where it is on that."""
    k, placement = model.locate(name)
    return k + 1, placement


def at_point(point: Numbers | None, placement: Transform) -> Transform:
    """Return a frame's placement moved to a point given in its coordinates."""
    return placement if point is None else Transform(IDENTITY3, Vector3(*point)) @ placement


def transform_to(model: Model, q: Table, frame: str) -> Callable[[int], Transform]:
    """Return, by body, the transform from its coordinates to those of a body or frame."""
    body, placement = body_and_placement(model, frame)
    X = kinematics.relative_transforms(model.tree, q, body)
    return lambda i: placement @ X[i].inverse()


def express(m: Motion, X0: Transform, frame: str) -> Motion:
    """Return a motion in body coordinates in world coordinates, or in world axes at its point."""
    if frame == "world":
        return X0.inverse() @ m
    back = X0.E.T
    return Motion(back @ m.ang, back @ m.lin)


def _express_all(model: Model, q: Table, motions: Table, frame: str) -> Any:
    """Return motions of all bodies in the axes and at the points of `frame`."""
    tree = model.tree
    if frame not in FRAMES:
        # one transform for each body into the named frame
        X = transform_to(model, q, frame)
        return [X(i) @ motions[i] for i in tree.bodies]
    if frame == "body":
        return tree.rows(lambda i: six(motions[i]))
    _, X0 = kinematics.transforms(tree, q)
    return tree.rows(lambda i: six(express(motions[i], X0[i], frame)))


def six(x: Motion | Force) -> list[Scalar]:
    """Return the numbers of a spatial vector, angular ones first."""
    return [*x.ang, *x.lin]
