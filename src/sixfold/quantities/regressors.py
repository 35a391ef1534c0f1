"""Regressors: the dynamics of rigid bodies is linear in their inertial parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Unpack, get_args

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import JointColumn
from sixfold.dynamics.passive import unit_passive_force
from sixfold.errors import OptionError
from sixfold.model import Model, Tree
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import call_of, common_arguments, quantity
from sixfold.runtime.quantity import Numbers, Options, page
from sixfold.scalar import ZERO, Scalar

algorithms = LazyModule("sixfold.dynamics.regressor")

#: Numbers of a joint coordinate in addition to the bodies' parameters.
JOINT_COLUMNS: tuple[JointColumn, ...] = get_args(JointColumn)


@quantity("nv 10*nb")
def regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    sparse: bool = False,
    **options: Unpack[Options[Array]],
) -> Array:
    """Return Y(q, v, a) with tau = Y pi, pi the inertial parameters of all bodies.

    tau is `inverse_dynamics` of the rigid bodies alone, gravity included: that of
    `model.without(damping=True, friction=True, springs=True, armature=True)`.  An external force
    is added: Y pi is the joint force plus what the external forces do, tau + J^T f.
    Inertias of the model itself have no effect.

    Args:
        sparse: leave out numbers that are zero for every state (a body moves no joint but those
            between it and the base), as in `inverse_dynamics_derivatives`: one `Nonzeros`.

    Returns:
        Array of shape (..., nv, 10 nb).  Columns 10 k to 10 k + 9 belong to body k (`body_names`):
        (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with h = m c and I about the body's origin, as
        in `Inertia.from_parameters`.  Under couplings it is T^T Y.

    Reference: Atkeson, An and Hollerbach, Estimation of Inertial Parameters of Manipulator Loads
    and Links, 1986.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> Y = sf.regressor(arm, q, v, np.ones(2))
        >>> pi = np.concatenate([body.inertia.parameters() for body in arm.bodies])
        >>> Y.shape, np.allclose(Y @ pi, sf.inverse_dynamics(arm, q, v, np.ones(2)))
        ((2, 20), True)
    """
    tree = model.tree
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    Y = algorithms.regressor(tree, x, xd, xdd)
    if not model.couplings:
        return Y
    # T^T Y
    at = tree.velocity_slices
    columns = [
        model.gather({i: column[at[i]] for i in tree.bodies}) for column in zip(*Y, strict=True)
    ]
    return list(zip(*columns, strict=True))


@quantity("10*nb", "10*nb")
def energy_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[Options[tuple[Array, Array]]]
) -> tuple[Array, Array]:
    """Return the rows (T, V) whose products with pi are kinetic and potential energy.

    They need no accelerations: the work of all joint forces between two states is the difference of
    (T + V) pi.  Rotors and springs are not in them.

    Returns:
        Two arrays of shape (..., 10 nb); columns as in `regressor`.  The products with pi are
        energies [J].

    Reference: Gautier and Khalil, On the Identification of the Inertial Parameters of Robots, 1988.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> T, V = sf.identification.energy_regressor(arm, q, v)
        >>> pi = np.concatenate([body.inertia.parameters() for body in arm.bodies])
        >>> np.allclose(T @ pi, sf.kinetic_energy(arm, q, v))
        True
        >>> np.allclose(V @ pi, sf.potential_energy(arm, q))
        True
    """
    return algorithms.energy_regressor(model.tree, model.positions(q), model.velocities(v))


@common_arguments
def joint_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    columns: Sequence[JointColumn] = ("viscous", "dry"),
    **options: Unpack[Options[Array]],
) -> Array:
    """Return what one unit of friction, offset, rotor or spring of each joint coordinate adds.

    tau_j = (regressor pi)_j + sum over c of result[j, c] x_jc: one number x for each coordinate and
    column, so that only the diagonal of each column's matrix is returned.

    Args:
        model: the robot; its friction speed v_s and rest positions count, its other numbers do not.
        columns: which ones, of "viscous" (v), "dry" (tanh(v / v_s), sign(v) where v_s = 0), "dry+"
            and "dry-" (the same where v > 0, and elsewhere), "offset" (1), "rotor" (a) and "spring"
            (q - rest; zero for spherical and free joints).

    Returns:
        Array of shape (..., nv, len(columns)): what one unit of each column's number adds to the
        joint force of each coordinate [N m or N].

    Example:
        >>> import sixfold as sf
        >>> pendulum = sf.load("pendulum")
        >>> columns = ("viscous", "offset", "rotor")
        >>> print(sf.identification.joint_regressor(pendulum, [0.0], [0.5], [2.0], columns=columns))
        [[0.5 1.  2. ]]
    """
    return _joint_call(_columns(columns))(model, q, v, a, **options)


def _columns(given: Any) -> tuple[str, ...]:
    """Return names of columns, or say which are not known."""
    listed = tuple(given) if isinstance(given, (list, tuple)) else ()
    known = all(isinstance(name, str) and name in JOINT_COLUMNS for name in listed)
    if not listed or not known or len(set(listed)) < len(listed):
        words = f"different ones of {', '.join(JOINT_COLUMNS)} in a tuple"
        raise OptionError("joint_regressor", "columns", words, given)
    return listed


@lru_cache(maxsize=256)
def _joint_call(columns: tuple[str, ...]) -> Callable[..., Array]:
    """Return the call for some columns."""
    reading = partial(_unit_forces, columns=columns)

    return call_of(reading, f"nv {len(columns)}", part_of="joint_regressor", arrays="q v a")


@page()
def _unit_forces(
    model: Model, tree: Tree, q: Numbers, v: Numbers, a: Numbers, *, columns: tuple[str, ...]
) -> list[Scalar]:
    """Return what a unit of each number of a joint coordinate adds to its joint force."""
    found: list[Scalar] = []
    places = dict((j, i) for i, j in model.coordinates.additive)
    for j, joint in enumerate(model.coordinates.v_joints):
        offset: Scalar = ZERO  # springs of joints with a quaternion are not one number each
        if j in places:
            offset = q[places[j]] - tree.rest[joint.body + 1][places[j] - joint.q.start]
        speed = tree.friction_speed[joint.body + 1][j - joint.v.start]
        found += [unit_passive_force(kind, offset, v[j], a[j], speed) for kind in columns]
    return found
