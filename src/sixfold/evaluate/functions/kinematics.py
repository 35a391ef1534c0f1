"""Poses, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import AccelerationKind, Backend, MotionFrame
from sixfold.errors import OptionError
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import FRAMES
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
    """Return world-from-body matrices, shape (..., nb, 4, 4).

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
    """Return the world-from-frame matrix of a body or frame, shape (..., 4, 4).

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        name: a body or frame.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        frame: "body" (axes and point of the body), "world" (axes and origin of the world),
            "aligned" (world axes, body point), or the name of a body or frame: its axes and its
            origin.  A body that is itself called "body", "world" or "aligned" cannot be named here:
            these words have their own meaning.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        name: a body or frame.
        frame: "aligned" (world axes, the frame's origin), "body" (the frame's own axes and
            origin), "world" (axes and origin of the world), or the name of another body or frame,
            as in `body_velocities`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
        frame: as in `body_velocities`.
        kind: "spatial" (rate of the spatial velocity) or "classical" (angular acceleration, and
            acceleration of the body's origin; with frame="body" or "aligned" only: elsewhere
            lies no body point).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "body_accelerations",
        "body_poses",
        "body_velocities",
        "frame_pose",
        "frame_velocity",
    ]
