"""Energies, momenta and the centre of mass."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.dynamics import energy
from sixfold.model import Model
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import InertiaOptions


@quantity("", joint_space=True, rolls=True)
def kinetic_energy(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return the kinetic energy [J], shape (...), rotors included.

    Returns:
        Energies [J], shape (...).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.kinetic_energy(arm, q, v), v @ sf.mass_matrix(arm, q) @ v / 2)
        True
    """
    return energy.kinetic_energy(model.tree, model.positions(q), model.velocities(v))


@quantity("", rolls=True)
def potential_energy(model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]) -> Array:
    """Return the potential energy [J], shape (...): gravity (zero at the origin) and springs.

    Returns:
        Energies [J], shape (...).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # 1 kg on 0.5 m, hanging at q = 0
        >>> print(sf.potential_energy(pendulum, [[0.0], [np.pi]]).round(3))
        [-4.905  4.905]
    """
    return energy.potential_energy(model.tree, model.positions(q))


@quantity("6", rolls=True)
def momentum(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return the total momentum (moment; linear), (..., 6), world axes, about the origin.

    Returns:
        Moments about the world origin, then linear momentum [N m s; N s], shape (..., 6), in world
        axes.  Rotors (armature) are not included.

    Example:
        >>> import sixfold as sf
        >>> cart = sf.load("cart_pendulum")  # 2 kg and 0.5 kg, the bob 0.4 m below
        >>> print(sf.momentum(cart, [0.0, 0.0], [1.0, 0.0]).round(3) + 0.0)
        [0.  0.  0.2 2.5 0.  0. ]
    """
    return energy.momentum(model.tree, model.positions(q), model.velocities(v))


@quantity("6", rolls=True, needs_mass=True)
def centroidal_momentum(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return the total momentum, (..., 6), in world axes about the centre of mass.

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
    return energy.centroidal_momentum(model.tree, model.positions(q), model.velocities(v))


@quantity("3", rolls=True, needs_mass=True)
def center_of_mass(model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]) -> Array:
    """Return the centre of mass [m] in world coordinates, shape (..., 3).

    Returns:
        Positions [m], shape (..., 3), in world coordinates.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")  # hangs along -z
        >>> np.allclose(sf.center_of_mass(arm, [0.0, 0.0]), (0, 0, -1.25))
        True
    """
    return energy.center_of_mass(model.tree, model.positions(q))
