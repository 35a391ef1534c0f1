"""Forces, accelerations, inertias, energies and momenta."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, ForceFrame, Method
from sixfold.errors import NotApplicableError
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import (
    FORCE_FRAMES,
    refuse_constraints,
    refuse_method_with_couplings,
)
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
        a: joint acceleration, shape (..., nv).
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
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        f_ext: external force on each body (n; f), shape (..., nb, 6).
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
        Accelerations, shape (..., nv).  A state where a joint has no inertia behind it gives NaN in
        its row and one SingularPivotWarning.

    Raises:
        ShapeError: if a last axis is not nq or nv.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: Featherstone, RBDA, tables 7.1 and 6.2; Concurrent Dynamics eqs. (19a), (19b).
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

    Reference: Featherstone, RBDA, table 6.2 (composite-rigid-body algorithm).
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

    Raises:
        SingularModelError: if some joint has no inertia behind it at every configuration.
    """
    raise NotImplementedError


def _refuse_all_but_trees(function: str, model: Model, _: Mapping[str, Any]) -> None:
    refuse_constraints(function, model, "branches are those of a tree")
    if model.couplings:
        where = f"model '{model.name}' with couplings"
        fix = "build the model without them: a follower yields with its leader only"
        raise NotApplicableError(function, where, fix)


@quantity(
    forward.branch_inertias,
    "nb 6 6",
    refuses=_refuse_all_but_trees,
    solves=True,
)
def branch_inertias(
    model: Model,
    q: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the branch inertias J_i, shape (..., nb, 6, 6), in body coordinates.

    J_i is what body i with all that it carries resists at its joint, when the joints beyond yield:
    Featherstone's articulated-body inertia.  A tip has its own inertia.

    Args:
        model: the robot, a tree.
        q: configuration, shape (..., nq).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Symmetric matrices that act on motions (omega; v), angular part first.

    Raises:
        SingularModelError: if some joint has no inertia behind it at every configuration.
        NotApplicableError: if the model has couplings or constraints.

    Reference: Concurrent Dynamics, below eq. (19b); Featherstone, RBDA, table 7.1.
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
    """Return C = ID(q, v, 0): every joint force that does not depend on acceleration, (..., nv)."""
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
    """Return the joint forces that hold the model still against gravity, (..., nv)."""
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

    Reference: Christoffel symbols (Khatib), by Koszul's formula for quasi-velocities.
    """
    raise NotImplementedError


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
    """Return the kinetic energy [J], shape (...), rotors included."""
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
    """Return the potential energy [J], shape (...): gravity (zero at the origin) and springs."""
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
    """Return the total momentum (moment; linear), (..., 6), world axes, about the origin."""
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
    """Return the total momentum, (..., 6), in world axes about the centre of mass."""
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
    """Return the centre of mass [m] in world coordinates, shape (..., 3)."""
    raise NotImplementedError


@quantity(pages.joint_wrenches, "nb 6", options=_FORCES, keywords=_AS_FRAME)
def joint_wrenches(
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
    """Return the force of each parent on its body (n; f), (..., nb, 6), body axes, body origin."""
    raise NotImplementedError


@quantity(pages.constraint_forces, "nb 6", options=_FORCES, keywords=_AS_FRAME)
def constraint_forces(
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
    """Return the joint wrenches without their working part, shape (..., nb, 6).

    Reference: Concurrent Dynamics eq. (20); `joint.constraint_basis` gives T.
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "bias_force",
        "branch_inertias",
        "center_of_mass",
        "centroidal_momentum",
        "constraint_forces",
        "coriolis_matrix",
        "forward_dynamics",
        "gravity_force",
        "inverse_dynamics",
        "inverse_mass_matrix",
        "joint_wrenches",
        "kinetic_energy",
        "mass_matrix",
        "momentum",
        "potential_energy",
    ]
