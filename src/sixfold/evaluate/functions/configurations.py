"""Moves on the manifold of configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend
from sixfold.evaluate.public import quantity
from sixfold.evaluate.scalar_functions import kinematics as pages
from sixfold.model import Model


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

    Quaternions turn by the exponential map and stay of unit length.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        dt: time [s], a number or of the leading shape; one second when left out.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Configurations [rad or m], shape (..., nq).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> v = np.array([0, 0, np.pi, 0, 0, 0, 0])
        >>> q = sf.integrate(ship, sf.neutral(ship), v, 0.5)  # a quarter turn about z
        >>> np.allclose(q[3:7], (0, 0, np.sqrt(0.5), np.sqrt(0.5)))
        True
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
    """Return the velocity-space increment with integrate(q0, difference) = q1, shape (..., nv).

    Args:
        model: the robot.
        q0: configuration to start from [rad or m], shape (..., nq).
        q1: configuration to reach [rad or m], shape (..., nq).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Increments in the coordinates of v [rad or m], shape (..., nv).  Rotations go the shorter
        way.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> (q0, q1), _ = sf.random_state(ship, 2, seed=1)
        >>> dq = sf.difference(ship, q0, q1)
        >>> dq.shape, np.allclose(sf.difference(ship, sf.integrate(ship, q0, dq), q1), 0)
        ((7,), True)
    """
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
    """Return dq/dt, shape (..., nq); it differs from v for spherical and free joints.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Rates of q [rad/s, m/s or 1/s], shape (..., nq).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")  # position, quaternion, hinge
        >>> rate = sf.position_rate(ship, sf.neutral(ship), [0, 0, 2, 1, 0, 0, 3])
        >>> np.allclose(rate, (1, 0, 0, 0, 0, 1, 0, 3))
        True
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "difference",
        "integrate",
        "position_rate",
    ]
