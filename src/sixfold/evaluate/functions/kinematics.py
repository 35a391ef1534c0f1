"""Poses, velocities, accelerations, Jacobians and configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import AccelerationKind, Backend, MotionFrame
from sixfold.errors import OptionError
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import FRAMES, refuse_idle_point
from sixfold.evaluate.scalar_functions import kinematics as pages
from sixfold.model import Model

_FRAME = {"frame": FRAMES}


def _refuse_classical_in_world(function: str, _: Model, given: Mapping[str, Any]) -> None:
    """Refuse the acceleration of a body point where no body point lies."""
    at_point = isinstance(given["frame"], str) and given["frame"] in ("body", "aligned")
    if given["kind"] == "classical" and not at_point:
        raise OptionError(function, "frame", ("body", "aligned"), given["frame"])


@quantity(pages.body_poses, "nb 4 4")
def body_poses(
    model: Model, q: ArrayLike, *, out: Array | None = None, backend: Backend | None = None
) -> Array:
    """Return world-from-body matrices, shape (..., nb, 4, 4)."""
    raise NotImplementedError


@quantity(pages.frame_pose, "4 4", place="name")
def frame_pose(
    model: Model,
    q: ArrayLike,
    name: str,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the world-from-frame matrix of a body or frame, shape (..., 4, 4)."""
    raise NotImplementedError


@quantity(pages.body_velocities, "nb 6", options=_FRAME)
def body_velocities(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    frame: MotionFrame | str = "body",
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the spatial velocity (omega; v) of each body, shape (..., nb, 6).

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        frame: "body" (axes and point of the body), "world" (axes and origin of the world),
            "aligned" (world axes, body point), or the name of a body or frame: its axes and its
            origin.  A body that is itself called "body", "world" or "aligned" cannot be named here:
            these words have their own meaning.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    raise NotImplementedError


@quantity(pages.frame_velocity, "6", options=_FRAME, place="name")
def frame_velocity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    *,
    frame: MotionFrame | str = "aligned",
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the spatial velocity (omega; v) of a body or frame, shape (..., 6).

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        name: a body or frame.
        frame: "aligned" (world axes, the frame's origin), "body" (the frame's own axes and
            origin), "world" (axes and origin of the world), or the name of another body or frame,
            as in `body_velocities`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    raise NotImplementedError


@quantity(
    pages.body_accelerations,
    "nb 6",
    options={"frame": FRAMES, "kind": get_args(AccelerationKind)},
    refuses=_refuse_classical_in_world,
)
def body_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    frame: MotionFrame | str = "body",
    kind: AccelerationKind = "spatial",
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the acceleration of each body, shape (..., nb, 6), gravity not included.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        a: joint acceleration, shape (..., nv).
        frame: as in `body_velocities`.
        kind: "spatial" (rate of the spatial velocity) or "classical" (angular acceleration, and
            acceleration of the body's origin; with frame="body" or "aligned" only: elsewhere
            lies no body point).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    raise NotImplementedError


@quantity(
    pages.jacobian,
    "6 nv",
    options=_FRAME,
    place="name",
    refuses=refuse_idle_point,
)
def jacobian(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: MotionFrame | str = "aligned",
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the Jacobian of a body or frame, shape (..., 6, nv): J v is its velocity.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        name: a body or frame.
        point: reference point in the frame's coordinates [m], shape (..., 3); its origin when left
            out.
        frame: "aligned" (world axes, at the point), "body" (the frame's axes, at the point),
            "world" (world axes and origin), or the name of another body or frame, as in
            `body_velocities`.  With the last two the velocity is that at the origin of these axes,
            and a point is refused.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Raises:
        NotApplicableError: for a point with frame="world" or the name of a body or frame.
    """
    raise NotImplementedError


@quantity(
    pages.jacobian_bias,
    "6",
    options=_FRAME,
    place="name",
    refuses=refuse_idle_point,
)
def jacobian_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: MotionFrame | str = "aligned",
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return dJ/dt v, shape (..., 6): the derivative of J v is J a + this.

    With frame="aligned" that is the classical acceleration of the point at a = 0, with "body" and
    "world" the spatial acceleration.  In the axes of a named body or frame, which may move itself,
    it is the derivative of the components: the spatial acceleration at a = 0 less v_F x J v.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        name: a body or frame.
        point: reference point in the frame's coordinates [m], shape (..., 3); its origin when left
            out.
        frame: as in `jacobian`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Raises:
        NotApplicableError: for a point with frame="world" or the name of a body or frame.
    """
    raise NotImplementedError


@quantity(pages.point_force, "nb 6", place="frame")
def point_force(
    model: Model,
    q: ArrayLike,
    frame: str,
    force: ArrayLike,
    point: ArrayLike | None = None,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return f_ext (..., nb, 6), world frame, for one force at a point.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        frame: the body or frame that is pushed.
        force: in world axes [N], shape (..., 3).
        point: where it acts, in the frame's coordinates [m], shape (..., 3); its origin when left
            out.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    raise NotImplementedError


@quantity(pages.integrate, "nq")
def integrate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    dt: ArrayLike | None = None,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the configuration reached from q by moving with velocity v for dt, (..., nq).

    Quaternions turn by the exponential map and stay of unit length.  dt [s] is a number or has the
    leading shape; one second when left out.
    """
    raise NotImplementedError


@quantity(pages.difference, "nv")
def difference(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the velocity-space increment with integrate(q0, difference) = q1, shape (..., nv)."""
    raise NotImplementedError


@quantity(pages.position_rate, "nq")
def position_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return dq/dt, shape (..., nq); it differs from v for spherical and free joints."""
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "body_accelerations",
        "body_poses",
        "body_velocities",
        "difference",
        "frame_pose",
        "frame_velocity",
        "integrate",
        "jacobian",
        "jacobian_bias",
        "point_force",
        "position_rate",
    ]
