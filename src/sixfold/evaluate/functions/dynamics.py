"""Joint forces, accelerations, and the matrices between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, ForceFrame, Method
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import FORCE_FRAMES, refuse_method_with_couplings
from sixfold.evaluate.scalar_functions import dynamics as pages
from sixfold.evaluate.scalar_functions import forward
from sixfold.model import Model

_FORCES = {"f_ext_frame": FORCE_FRAMES}
_AS_FRAME = {"f_ext_frame": "frame"}


def _refuse_method(function: str, model: Model, given: Mapping[str, Any]) -> None:
    refuse_method_with_couplings(function, model, given["method"])


@quantity(
    pages.inverse_dynamics,
    "nv",
    options=_FORCES,
    keywords=_AS_FRAME,
)
def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the joint forces that produce accelerations a.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity in motion-subspace coordinates [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        f_ext_frame: "world" (world axes about the world origin) or "body" (body axes and origin).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10), each (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with h = m c and I
            about the body's origin.  Rotors, damping, friction and springs stay the model's.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Joint forces [N m or N], shape (..., nv), with damping, friction, springs and armature.

    Raises:
        ShapeError: if a last axis is not nq or nv; the message names the argument.

    Reference: recursive Newton-Euler (Featherstone, RBDA, table 5.1; Carius eqs. (30)-(38)), worked
    out about the joint points (Khatib; Concurrent Dynamics eqs. (5), (16), (17)).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # 1 kg on 0.5 m, hanging at q = 0
        >>> print(sf.inverse_dynamics(pendulum, [np.pi / 2], [0.0], [0.0]).round(3))
        [4.905]
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, 1000, seed=1)
        >>> sf.inverse_dynamics(arm, q, v, np.zeros(6)).shape
        (1000, 6)
    """
    raise NotImplementedError


@quantity(
    forward.forward_dynamics,
    "nv",
    options={**_FORCES, "method": tuple(forward.METHODS)},
    keywords=_AS_FRAME,
    refuses=_refuse_method,
    solves=True,
)
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    method: Method | None = None,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the accelerations that joint forces tau produce.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        method: "aba" (articulated bodies, O(N)), "crba" (mass matrix and sparse LTDL), "operators"
            (O(N) factorised inverse, eq. 19b) or "operators_dense" (O(N^3), eq. 19a); "aba" if left
            out.  Near a singular configuration, and with light bodies before heavy ones, "aba"
            keeps most digits.  Models with couplings always solve their reduced mass matrix and
            have no choice.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Accelerations [rad/s^2 or m/s^2], shape (..., nv).  A state where a joint has no inertia
        behind it gives NaN in its row and one SingularPivotWarning.

    Raises:
        ShapeError: if a last axis is not nq or nv.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: Featherstone, RBDA, tables 7.1 and 6.2; Concurrent Dynamics eqs. (19a), (19b).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> a = sf.forward_dynamics(arm, q, v, np.ones(6))
        >>> np.allclose(sf.inverse_dynamics(arm, q, v, a), 1)
        True
    """
    raise NotImplementedError


@quantity(pages.mass_matrix, "nv nv")
def mass_matrix(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the joint-space inertia matrix M, shape (..., nv, nv), armature included.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Symmetric matrices, shape (..., nv, nv) [kg m^2, kg m or kg].

    Reference: Featherstone, RBDA, table 6.2 (composite-rigid-body algorithm).

    Example:
        >>> import sixfold as sf
        >>> cart = sf.load("cart_pendulum")
        >>> print(sf.mass_matrix(cart, [0.0, 0.0]).round(3))
        [[2.5  0.2 ]
         [0.2  0.09]]
    """
    raise NotImplementedError


@quantity(pages.inverse_mass_matrix, "nv nv", solves=True)
def inverse_mass_matrix(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return M^-1, shape (..., nv, nv), by the articulated-body recursion.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Symmetric matrices, shape (..., nv, nv): times a joint force they are the acceleration that
        it adds.  A state where a joint has no inertia behind it gives NaN and one
        SingularPivotWarning.

    Raises:
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, _ = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.inverse_mass_matrix(arm, q) @ sf.mass_matrix(arm, q), np.eye(6))
        True
    """
    raise NotImplementedError


@quantity(
    pages.bias_force,
    "nv",
    options=_FORCES,
    keywords=_AS_FRAME,
)
def bias_force(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return C = ID(q, v, 0): every joint force that does not depend on acceleration, (..., nv).

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        f_ext_frame: "world" (world axes about the world origin) or "body" (body axes and origin).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Joint forces [N m or N], shape (..., nv): gravity, velocity forces, damping, friction and
        springs, less what the external forces do.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> a = np.ones(6)
        >>> tau = sf.mass_matrix(arm, q) @ a + sf.bias_force(arm, q, v)
        >>> np.allclose(tau, sf.inverse_dynamics(arm, q, v, a))
        True
    """
    raise NotImplementedError


@quantity(pages.gravity_force, "nv")
def gravity_force(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the joint forces that hold the model still against gravity, (..., nv).

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Joint forces [N m or N], shape (..., nv), of gravity alone: springs are not included.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # 1 kg on 0.5 m
        >>> print(sf.gravity_force(pendulum, [[0.5], [np.pi / 2]]).round(3))
        [[2.352]
         [4.905]]
    """
    raise NotImplementedError


@quantity(pages.coriolis_matrix, "nv nv")
def coriolis_matrix(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return C(q, v), shape (..., nv, nv), with C v the velocity force and dM/dt - 2C skew.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Matrices of shape (..., nv, nv): times v they are joint forces [N m or N].

    Reference: Christoffel symbols (Khatib), by Koszul's formula for quasi-velocities.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560").without(friction=True, damping=True)
        >>> q, v = sf.random_state(arm, seed=1)
        >>> C = sf.coriolis_matrix(arm, q, v)
        >>> np.allclose(C @ v, sf.bias_force(arm, q, v) - sf.gravity_force(arm, q))
        True
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "bias_force",
        "coriolis_matrix",
        "forward_dynamics",
        "gravity_force",
        "inverse_dynamics",
        "inverse_mass_matrix",
        "mass_matrix",
    ]
