"""Regressors: the dynamics of rigid bodies is linear in their inertial parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, get_args

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, JointColumn
from sixfold.errors import OptionError
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import PagesLater
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.scalar_functions import regressors as pages
else:
    pages = PagesLater("regressors")

JOINT_COLUMNS: tuple[JointColumn, ...] = get_args(JointColumn)
"""Numbers that a freedom may have beside the bodies' parameters."""


@quantity(pages.regressor, "nv 10*nb")
def regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    sparse: bool = False,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return Y(q, v, a) with tau = Y pi, pi the inertial parameters of all bodies.

    tau is `inverse_dynamics` of the rigid bodies alone, gravity included: that of
    `model.without(damping=True, friction=True, springs=True, armature=True)`.  An external force
    enters beside it: Y pi is the joint force plus what the external forces do, tau + J^T f.
    Inertias of the model itself have no effect.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
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

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> Y = sf.regressor(arm, q, v, np.ones(2))
        >>> pi = np.concatenate([body.inertia.parameters() for body in arm.bodies])
        >>> Y.shape, np.allclose(Y @ pi, sf.inverse_dynamics(arm, q, v, np.ones(2)))
        ((2, 20), True)
    """
    raise NotImplementedError


@quantity(pages.energy_regressor, "10*nb", "10*nb")
def energy_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: tuple[Array, Array] | None = None,
    backend: Backend | None = None,
) -> tuple[Array, Array]:
    """Return the rows (T, V) whose products with pi are kinetic and potential energy.

    They need no accelerations: the work of all joint forces between two states is the difference of
    (T + V) pi.  Rotors and springs are not in them.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Two arrays of shape (..., 10 nb); columns as in `regressor`.  The products with pi are
        energies [J].

    Reference: Gautier and Khalil, On the Identification of the Inertial Parameters of Robots, 1988.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> T, V = sf.energy_regressor(arm, q, v)
        >>> pi = np.concatenate([body.inertia.parameters() for body in arm.bodies])
        >>> np.allclose(T @ pi, sf.kinetic_energy(arm, q, v))
        True
        >>> np.allclose(V @ pi, sf.potential_energy(arm, q))
        True
    """
    raise NotImplementedError


def joint_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    columns: Sequence[JointColumn] = ("viscous", "dry"),
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return what one unit of friction, offset, rotor or spring of each freedom adds to its force.

    tau_j = (regressor pi)_j + sum over c of result[j, c] x_jc: one number x for each freedom and
    column, so that only the diagonal of each column's matrix is returned.

    Args:
        model: the robot; its friction speed v_s and rest positions count, its other numbers do not.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
        columns: which ones, of "viscous" (v), "dry" (tanh(v / v_s), sign(v) where v_s = 0), "dry+"
            and "dry-" (the same where v > 0, and elsewhere), "offset" (1), "rotor" (a) and "spring"
            (q - rest; zero for the freedoms of spherical and free joints).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Array of shape (..., nv, len(columns)): what one unit of each column's number adds to the
        joint force of each freedom [N m or N].

    Example:
        >>> import sixfold as sf
        >>> pendulum = sf.load("pendulum")
        >>> columns = ("viscous", "offset", "rotor")
        >>> print(sf.joint_regressor(pendulum, [0.0], [0.5], [2.0], columns=columns))
        [[0.5 1.  2. ]]
    """
    return _joint_call(_columns(columns))(model, q, v, a, out=out, backend=backend)


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
    from sixfold.evaluate.scalar_functions import regressors

    @quantity(
        partial(regressors.joint_regressor, columns=columns),
        f"nv {len(columns)}",
        part_of="joint_regressor",
    )
    def call(
        model: Model,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        out: Array | None = None,
        backend: Backend | None = None,
    ) -> Array:
        """Return the columns."""
        raise NotImplementedError

    return call


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "energy_regressor",
        "joint_regressor",
        "regressor",
    ]
