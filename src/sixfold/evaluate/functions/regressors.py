"""Regressors: the dynamics of rigid bodies is linear in their inertial parameters."""

from __future__ import annotations

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.evaluate import scalar_functions as pages
from sixfold.evaluate.public import quantity
from sixfold.model import Model


@quantity(pages.regressor, "nv 10*nb")
def regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    sparse: bool = False,
    out: Array | None = None,
    backend: str | None = None,
) -> Array:
    """Return Y(q, v, a) with tau = Y pi, pi the inertial parameters of all bodies.

    tau is `inverse_dynamics` of the rigid bodies alone, gravity included: that of
    `model.without(damping=True, friction=True, springs=True, armature=True)`.  An external force
    enters beside it: Y pi is the joint force plus what the external forces do, tau + J^T f.
    Inertias of the model itself have no effect.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity, shape (..., nv).
        a: joint acceleration, shape (..., nv).
        sparse: leave out numbers that are zero for every state (a body moves no joint but those
            between it and the base), as in `inverse_dynamics_derivatives`: one `Nonzeros`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Array of shape (..., nv, 10 nb).  Columns 10 k to 10 k + 9 belong to body k (`body_names`):
        (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with h = m c and I about the body's origin, as
        in `Inertia.from_parameters`.  Under couplings it is T^T Y.

    Reference: Atkeson, An and Hollerbach, Estimation of Inertial Parameters of Manipulator Loads
    and Links, 1986.
    """
    raise NotImplementedError


@quantity(pages.energy_regressor, "10*nb", "10*nb")
def energy_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: tuple[Array, Array] | None = None,
    backend: str | None = None,
) -> tuple[Array, Array]:
    """Return the rows (T, V) whose products with pi are kinetic and potential energy.

    They need no accelerations: the work of all joint forces between two states is the difference of
    (T + V) pi.  Rotors and springs are not in them.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity, shape (..., nv).
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Two arrays of shape (..., 10 nb); columns as in `regressor`.

    Reference: Gautier and Khalil, On the Identification of the Inertial Parameters of Robots, 1988.
    """
    raise NotImplementedError
