"""Jacobians, their bias, and forces at points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, MotionFrame
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import FRAMES, refuse_idle_point
from sixfold.evaluate.scalar_functions import kinematics as pages
from sixfold.model import Model

_FRAME = {"frame": FRAMES}


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
        q: configuration [rad or m], shape (..., nq).
        name: a body or frame.
        point: reference point in the frame's coordinates [m], shape (..., 3); its origin when left
            out.
        frame: "aligned" (world axes, at the point), "body" (the frame's axes, at the point),
            "world" (world axes and origin), or the name of another body or frame, as in
            `body_velocities`.  With the last two the velocity is that at the origin of these axes,
            and a point is refused.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        name: a body or frame.
        point: reference point in the frame's coordinates [m], shape (..., 3); its origin when left
            out.
        frame: as in `jacobian`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
        q: configuration [rad or m], shape (..., nq).
        frame: the body or frame that is pushed.
        force: in world axes [N], shape (..., 3).
        point: where it acts, in the frame's coordinates [m], shape (..., 3); its origin when left
            out.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

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
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "jacobian",
        "jacobian_bias",
        "point_force",
    ]
