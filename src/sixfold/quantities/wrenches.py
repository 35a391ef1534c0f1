"""What joints bear: wrenches through them, and the inertias that they carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame
from sixfold.dynamics import kinematics
from sixfold.dynamics.fast import inverse_dynamics as newton_euler
from sixfold.errors import NotApplicableError
from sixfold.model import Model
from sixfold.quantities.dynamics import external_forces
from sixfold.quantities.kinematics import six
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import InertiaOptions, refuse_constraints

operators = LazyModule("sixfold.dynamics.book.operators.equations")


@quantity("nb 6", rolls=True)
def joint_wrenches(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return the force of each parent on its body (n; f), (..., nb, 6), body axes, body origin.

    Returns:
        Wrenches (n; f) [N m; N], shape (..., nb, 6), in body axes about the body origin.  Damping,
        friction, springs and armature are not included.

    Example:
        >>> import sixfold as sf
        >>> cart = sf.load("cart_pendulum")  # 2 kg and 0.5 kg, gravity along -y
        >>> f = sf.joint_wrenches(cart, [0.0, 0.0], [0, 0], [0, 0])
        >>> print(f[:, 4].round(3))  # the rail bears both, the hinge the bob
        [24.525  4.905]
    """
    tree = model.tree
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, x, f_ext, f_ext_frame)
    table = newton_euler.joint_wrenches(tree, x, xd, xdd, forces)
    return tree.rows(lambda i: six(table[i]))


@quantity("nb 6", rolls=True)
def joint_reaction_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return the joint wrenches without their working part, shape (..., nb, 6).

    Returns:
        Wrenches (n; f) [N m; N], shape (..., nb, 6), in body axes about the body origin.  They do
        no work: S^T times the wrench is zero.

    Reference: Concurrent Dynamics eq. (20); `joint.constraint_basis` gives T.

    Example:
        >>> import sixfold as sf
        >>> cart = sf.load("cart_pendulum")
        >>> state = [0.0, 0.3], [0, 1], [2, 0]  # q, v, a
        >>> whole, borne = sf.joint_wrenches(cart, *state), sf.joint_reaction_forces(cart, *state)
        >>> print((whole - borne)[0].round(3) + 0.0)  # what moves the cart along x
        [0.    0.    0.    4.941 0.    0.   ]
    """
    tree = model.tree
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, x, f_ext, f_ext_frame)
    table = newton_euler.constraint_forces(tree, x, xd, xdd, forces)
    return tree.rows(lambda i: six(table[i]))


def _refuse_all_but_trees(function: str, model: Model, _: Mapping[str, Any]) -> None:
    refuse_constraints(function, model, "branches are those of a tree")
    if model.couplings:
        where = f"model '{model.name}' with couplings"
        fix = "build the model without them: a follower yields with its leader only"
        raise NotApplicableError(function, where, fix)


@quantity("nb 6 6", refuses=_refuse_all_but_trees, solves=True)
def articulated_inertias(
    model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return the branch inertias J_i, shape (..., nb, 6, 6), in body coordinates.

    J_i is what body i with all that it carries resists at its joint, when the joints beyond yield:
    Featherstone's articulated-body inertia.  A tip has its own inertia.

    Args:
        model: the robot, a tree.

    Returns:
        Symmetric matrices that act on motions (omega; v), angular part first [kg m^2, kg m; kg m,
        kg], shape (..., nb, 6, 6), in body axes about the body origin.

    Raises:
        SingularModelError: if some joint has no inertia behind it at every configuration.
        NotApplicableError: if the model has couplings or constraints.

    Reference: Concurrent Dynamics, below eq. (19b); Featherstone, RBDA, table 7.1.

    Example:
        >>> import sixfold as sf
        >>> cart = sf.load("cart_pendulum")
        >>> J = sf.articulated_inertias(cart, [0.0, 0.0])
        >>> J.shape
        (2, 6, 6)
        >>> print(J[0, 3:, 3:].diagonal().round(3))  # along x the pendulum yields
        [2.056 2.5   2.5  ]
    """
    tree = model.tree
    still, none = tree.zero_velocities(), kinematics.no_forces(tree)
    J = operators.branch_inertias(operators.body_frame(tree, model.positions(q), still, none)).J
    return [J[i].matrix() for i in tree.bodies]
