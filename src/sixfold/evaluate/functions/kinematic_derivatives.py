"""Derivatives of motions, momenta, energies and moves on the manifold.

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
        q: configuration, shape (..., nq).
        name: a body or frame.
        point: a point (x, y, z) in the coordinates of the frame, shape (..., 3); its origin if left
            out.
        frame: "aligned" (world axes, the point), "body" (axes of the frame, the point), "world"
            (axes and origin of the world), or the name of another body or frame, as in `jacobian`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Raises:
        NotApplicableError: for a point with frame="world" or the name of a body or frame.
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
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        name: a body or frame.
        frame: "aligned", "body", "world" or a name, as in `frame_velocity`.
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    raise NotImplementedError


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

    Reference: Orin, Goswami, Lee, Centroidal dynamics of a humanoid robot, 2013.
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
    """Return (dA/dt) v, shape (..., 6): the rate of `centroidal_momentum` is A a + (dA/dt) v."""
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
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "center_of_mass_jacobian",
        "centroidal_momentum_bias",
        "centroidal_momentum_derivatives",
        "centroidal_momentum_matrix",
        "difference_derivatives",
        "frame_velocity_derivatives",
        "integrate_derivatives",
        "jacobian_derivatives",
        "kinetic_energy_derivatives",
        "potential_energy_derivatives",
    ]
