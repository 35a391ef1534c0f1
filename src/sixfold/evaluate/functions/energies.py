"""Energies, momenta and the centre of mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend
from sixfold.evaluate.public import quantity
from sixfold.evaluate.scalar_functions import dynamics as pages
from sixfold.model import Model


@quantity(pages.kinetic_energy, "")
def kinetic_energy(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the kinetic energy [J], shape (...), rotors included.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Energies [J], shape (...).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.kinetic_energy(arm, q, v), v @ sf.mass_matrix(arm, q) @ v / 2)
        True
    """
    raise NotImplementedError


@quantity(pages.potential_energy, "")
def potential_energy(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the potential energy [J], shape (...): gravity (zero at the origin) and springs.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Energies [J], shape (...).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # 1 kg on 0.5 m, hanging at q = 0
        >>> print(sf.potential_energy(pendulum, [[0.0], [np.pi]]).round(3))
        [-4.905  4.905]
    """
    raise NotImplementedError


@quantity(pages.momentum, "6")
def momentum(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the total momentum (moment; linear), (..., 6), world axes, about the origin.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Moments about the world origin, then linear momentum [N m s; N s], shape (..., 6), in world
        axes.  Rotors (armature) are not included.

    Example:
        >>> import sixfold as sf
        >>> cart = sf.load("cart_pendulum")  # 2 kg and 0.5 kg, the bob 0.4 m below
        >>> print(sf.momentum(cart, [0.0, 0.0], [1.0, 0.0]).round(3) + 0.0)
        [0.  0.  0.2 2.5 0.  0. ]
    """
    raise NotImplementedError


@quantity(pages.centroidal_momentum, "6", needs_mass=True)
def centroidal_momentum(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the total momentum, (..., 6), in world axes about the centre of mass.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Moments about the centre of mass, then linear momentum [N m s; N s], shape (..., 6), in
        world axes.  Rotors (armature) are not included.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> cart = sf.load("cart_pendulum")
        >>> h = sf.centroidal_momentum(cart, [0.0, 0.0], [1.0, 0.0])
        >>> np.allclose(h, (0, 0, 0, 2.5, 0, 0))  # no turning about the centre of mass
        True
    """
    raise NotImplementedError


@quantity(pages.center_of_mass, "3", needs_mass=True)
def center_of_mass(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the centre of mass [m] in world coordinates, shape (..., 3).

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Positions [m], shape (..., 3), in world coordinates.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")  # hangs along -z
        >>> np.allclose(sf.center_of_mass(arm, [0.0, 0.0]), (0, 0, -1.25))
        True
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "center_of_mass",
        "centroidal_momentum",
        "kinetic_energy",
        "momentum",
        "potential_energy",
    ]
