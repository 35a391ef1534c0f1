"""Derivatives of motions, and of moves on the manifold.

All derivatives by q are along the motion subspaces (the tangent space), nv columns: column t is the
rate when q moves with unit velocity v_t, also for spherical and free joints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, MotionFrame
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import FRAMES, PagesLater, refuse_idle_point
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.scalar_functions import kinematic_derivatives as pages
else:
    pages = PagesLater("kinematic_derivatives")

_FRAME = {"frame": FRAMES}
_Two = tuple[Array, Array]


@quantity(
    pages.jacobian_derivatives,
    "6 nv nv",
    options=_FRAME,
    place="name",
    refuses=refuse_idle_point,
)
def jacobian_derivatives(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: MotionFrame | str = "aligned",
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the derivatives of `jacobian` by q (the kinematic Hessian), shape (..., 6, nv, nv).

    H[:, j, k] is d J[:, j] / dq_k, along the motion subspaces (the tangent space).  So dJ/dt is
    H v, summed over k.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        name: a body or frame.
        point: a point (x, y, z) in the coordinates of the frame [m], shape (..., 3); its origin if
            left out.
        frame: "aligned" (world axes, the point), "body" (axes of the frame, the point), "world"
            (axes and origin of the world), or the name of another body or frame, as in `jacobian`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        H, shape (..., 6, nv, nv), rows in the axes and at the point of `jacobian`: angular, then
        linear.

    Raises:
        NotApplicableError: for a point with frame="world" or the name of a body or frame.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> H = sf.jacobian_derivatives(arm, q, "link6")
        >>> np.allclose(H @ v @ v, sf.jacobian_bias(arm, q, v, "link6"))
        True
    """
    raise NotImplementedError


@quantity(pages.frame_velocity_derivatives, "6 nv", "6 nv", options=_FRAME, place="name")
def frame_velocity_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    *,
    frame: MotionFrame | str = "aligned",
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two:
    """Return the derivatives (dq, dv) of `frame_velocity`, each of shape (..., 6, nv).

    dq is along the motion subspaces (the tangent space); dv is the Jacobian.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        name: a body or frame.
        frame: "aligned", "body", "world" or a name, as in `frame_velocity`.
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Two arrays of shape (..., 6, nv): rows are (omega; v) in the axes chosen, column j is d/dq_j
        and d/dv_j.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> dq, dv = sf.frame_velocity_derivatives(arm, q, v, "link6")
        >>> np.allclose(dv, sf.jacobian(arm, q, "link6"))
        True
        >>> np.allclose(dq @ v, sf.jacobian_bias(arm, q, v, "link6"))
        True
    """
    raise NotImplementedError


@quantity(pages.integrate_derivatives, "nv nv", "nv nv")
def integrate_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    dt: ArrayLike | None = None,
    *,
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two:
    """Return the derivatives (dq, dv) of `integrate`, each of shape (..., nv, nv).

    Positions are measured in the tangent space: dq takes an increment at q to one at the position
    reached, dv a change of the velocity.  Both are unit matrices (times dt) but for the blocks of
    spherical and free joints.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        dt: time [s], a number or of the leading shape; one second when left out.
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Two arrays of shape (..., nv, nv): rows are increments at the position reached, columns
        those of q and of v.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> q, v = sf.random_state(ship, seed=1)
        >>> dq, dv = sf.integrate_derivatives(ship, q, v, 0.01)
        >>> dv.shape, np.allclose(dv @ v, 0.01 * v)  # more speed along v leads further along v
        ((7, 7), True)
    """
    raise NotImplementedError


@quantity(pages.difference_derivatives, "nv nv", "nv nv")
def difference_derivatives(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two:
    """Return the derivatives (dq0, dq1) of `difference`, each of shape (..., nv, nv).

    Increments of q0 and q1 are along the motion subspaces (the tangent space).  Half a turn apart,
    where the difference of two rotations jumps, there is none.

    Args:
        model: the robot.
        q0: configuration to start from [rad or m], shape (..., nq).
        q1: configuration to reach [rad or m], shape (..., nq).
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Two arrays of shape (..., nv, nv): rows are those of the difference, columns increments of
        q0 and of q1.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> (q0, q1), _ = sf.random_state(ship, 2, seed=1)
        >>> dq0, dq1 = sf.difference_derivatives(ship, q0, q1)
        >>> _, dv = sf.integrate_derivatives(ship, q0, sf.difference(ship, q0, q1))
        >>> np.allclose(dq1 @ dv, np.eye(7))
        True
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "difference_derivatives",
        "frame_velocity_derivatives",
        "integrate_derivatives",
        "jacobian_derivatives",
    ]
