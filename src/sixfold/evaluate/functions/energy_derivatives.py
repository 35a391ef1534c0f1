"""Derivatives of the centre of mass, of momenta and of energies.

All derivatives by q are along the motion subspaces (the tangent space), nv columns, as in
`kinematic_derivatives`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import PagesLater
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.scalar_functions import kinematic_derivatives as pages
else:
    pages = PagesLater("kinematic_derivatives")

_Two = tuple[Array, Array]


@quantity(pages.center_of_mass_jacobian, "3 nv", needs_mass=True)
def center_of_mass_jacobian(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the derivative of `center_of_mass` by q, along the motion subspaces, (..., 3, nv).

    Times v it is the velocity of the centre of mass in world axes.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Array of shape (..., 3, nv), world axes [m per rad, or no unit].

    Example:
        >>> import numpy as np, sixfold as sf
        >>> cart = sf.load("cart_pendulum")  # 2 kg and 0.5 kg
        >>> q, v = sf.random_state(cart, seed=1)
        >>> J = sf.center_of_mass_jacobian(cart, q)
        >>> np.allclose(2.5 * J @ v, sf.momentum(cart, q, v)[3:])
        True
    """
    raise NotImplementedError


@quantity(pages.centroidal_momentum_matrix, "6 nv", needs_mass=True)
def centroidal_momentum_matrix(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return A with A v = `centroidal_momentum(model, q, v)`, shape (..., 6, nv).

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Array of shape (..., 6, nv), world axes: three rows of moments about the centre of mass,
        then three of linear momentum.

    Reference: Orin, Goswami, Lee, Centroidal dynamics of a humanoid robot, 2013.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> q, v = sf.random_state(ship, seed=1)
        >>> A = sf.centroidal_momentum_matrix(ship, q)
        >>> np.allclose(A @ v, sf.centroidal_momentum(ship, q, v))
        True
    """
    raise NotImplementedError


@quantity(pages.centroidal_momentum_bias, "6", needs_mass=True)
def centroidal_momentum_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return (dA/dt) v, shape (..., 6): the rate of `centroidal_momentum` is A a + (dA/dt) v.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Rates (n; f) [N m; N], shape (..., 6), world axes, about the centre of mass.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")  # 2.5 kg, nothing holds it
        >>> q, v = sf.random_state(ship, seed=1)
        >>> a = sf.forward_dynamics(ship, q, v, np.zeros(7))
        >>> A = sf.centroidal_momentum_matrix(ship, q)
        >>> rate = A @ a + sf.centroidal_momentum_bias(ship, q, v)
        >>> np.allclose(rate, (0, 0, 0, 0, 0, -2.5 * 9.81))  # gravity alone
        True
    """
    raise NotImplementedError


@quantity(pages.centroidal_momentum_derivatives, "6 nv", "6 nv", needs_mass=True)
def centroidal_momentum_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two:
    """Return the derivatives (dq, dv) of `centroidal_momentum`, each of shape (..., 6, nv).

    dq is along the motion subspaces (the tangent space); dv is the centroidal momentum matrix.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Two arrays of shape (..., 6, nv), world axes: rows as in `centroidal_momentum`, column j is
        d/dq_j and d/dv_j.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> q, v = sf.random_state(ship, seed=1)
        >>> dq, dv = sf.centroidal_momentum_derivatives(ship, q, v)
        >>> np.allclose(dv, sf.centroidal_momentum_matrix(ship, q))
        True
        >>> np.allclose(dq @ v, sf.centroidal_momentum_bias(ship, q, v))
        True
    """
    raise NotImplementedError


@quantity(pages.kinetic_energy_derivatives, "nv", "nv")
def kinetic_energy_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: _Two | None = None,
    backend: Backend | None = None,
) -> _Two:
    """Return the derivatives (dq, dv) of `kinetic_energy`, each of shape (..., nv).

    dq is along the motion subspaces (the tangent space); dv is M v.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Two arrays of shape (..., nv): dq [J/rad or J/m] and dv [J s/rad or J s/m].

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> dq, dv = sf.kinetic_energy_derivatives(arm, q, v)
        >>> np.allclose(dv, sf.mass_matrix(arm, q) @ v)
        True
    """
    raise NotImplementedError


@quantity(pages.potential_energy_derivatives, "nv")
def potential_energy_derivatives(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the derivative of `potential_energy` by q, along the motion subspaces, (..., nv).

    It is the joint force that holds the model still against gravity and springs.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Joint forces [N m or N], shape (..., nv).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")  # without springs
        >>> q, _ = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.potential_energy_derivatives(arm, q), sf.gravity_force(arm, q))
        True
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "center_of_mass_jacobian",
        "centroidal_momentum_bias",
        "centroidal_momentum_derivatives",
        "centroidal_momentum_matrix",
        "kinetic_energy_derivatives",
        "potential_energy_derivatives",
    ]
