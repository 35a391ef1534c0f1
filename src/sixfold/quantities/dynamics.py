"""Joint forces, accelerations, and the matrices between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame, Method
from sixfold.dynamics import kinematics
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltdl, solve_ltdl
from sixfold.dynamics.fast import articulated
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.fast.coriolis import coriolis
from sixfold.dynamics.fast.inverse_dynamics import joint_forces
from sixfold.dynamics.passive import passive_forces
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import (
    InertiaOptions,
    ModelOnTree,
    Numbers,
    page,
    refuse_method_with_couplings,
)
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import Column, ldl, ldl_solve

constraints = LazyModule("sixfold.quantities.constraints")
factor = LazyModule("sixfold.dynamics.fast.factor")
operators = LazyModule("sixfold.dynamics.book.operators.equations")


def _refuse_method(function: str, model: Model, given: Mapping[str, Any]) -> None:
    refuse_method_with_couplings(function, model, given["method"])


@quantity("nv", joint_space=True, rolls=True)
def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return the joint forces that produce accelerations a.

    Returns:
        Joint forces [N m or N], shape (..., nv), with damping, friction, springs and armature.

    Raises:
        ShapeError: if a last axis is not nq or nv; the message names the argument.

    Reference: recursive Newton-Euler (Featherstone, RBDA, table 5.1; Carius eqs. (30)-(38)),
    computed about the joint points (Khatib; Concurrent Dynamics eqs. (5), (16), (17)).

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
    tree = model.tree
    x, xd = model.positions(q), model.velocities(v)
    forces = external_forces(model, x, f_ext, f_ext_frame)
    # recursive Newton-Euler
    tau, _ = joint_forces(tree, x, xd, model.velocities(a), forces)
    # damping, friction and springs
    passive = passive_forces(tree, x, xd)
    return model.gather({i: tau[i] + passive[i] for i in tree.bodies})


@quantity("nv", joint_space=True, rolls=True, refuses=_refuse_method, solves=True)
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    method: Method | None = None,
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return the accelerations that joint forces tau produce.

    Args:
        method: "aba" (articulated bodies, O(N)), "crba" (mass matrix and sparse LTDL), "operators"
            (O(N) factorised inverse, eq. 19b) or "operators_dense" (O(N^3), eq. 19a); "aba" if left
            out.  Near a singular configuration, and with light bodies before heavy ones, "aba"
            keeps most digits.  Models with couplings always solve their reduced mass matrix and
            have no choice.

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
    # loops: M a + C = tau + J^T lam with J a + gamma = 0
    if model.constraints:
        return constraints.solve(model, q, v, tau, f_ext, f_ext_frame).a
    if model.couplings:
        # T^T M T a = tau - C in the coordinates of the leading joints
        C = bias_force(model, q, v, f_ext, f_ext_frame=f_ext_frame)
        return ldl_solve(*ldl(mass_matrix(model, q)), Column(tau) - Column(C))
    tree = model.tree
    x, xd = model.positions(q), model.velocities(v)
    forces = external_forces(model, x, f_ext, f_ext_frame)
    # the motors work against damping, friction and springs
    passive = passive_forces(tree, x, xd)
    net = {i: t - passive[i] for i, t in model.velocities(tau).items()}
    return model.gather(METHODS[method or "aba"](tree, x, xd, net, forces))


@quantity("nv nv", joint_space=True)
def mass_matrix(model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]) -> Array:
    """Return the joint-space inertia matrix M, shape (..., nv, nv), armature included.

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
    full = dense(model.tree, crba(model.tree, model.positions(q)))
    if not model.couplings:
        return full
    # T^T M T; rounding may differ between the halves, so the upper one is taken for both
    M = model.coordinates.reduce(full, model.tree.velocity_slices)
    return [[M[min(r, c)][max(r, c)] for c in range(model.nv)] for r in range(model.nv)]


@quantity("nv nv", joint_space=True, solves=True)
def inverse_mass_matrix(
    model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return M^-1, shape (..., nv, nv), by the articulated-body recursion.

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
    # a tree needs no factorization
    if not model.couplings:
        return articulated.inverse_mass_matrix(model.tree, model.positions(q))
    # under couplings by the factor of the reduced matrix
    factors = ldl(mass_matrix(model, q))
    n = model.nv
    units = [[1.0 if r == c else ZERO for r in range(n)] for c in range(n)]
    return [ldl_solve(*factors, unit) for unit in units]


@quantity("nv", joint_space=True, rolls=True)
def bias_force(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[InertiaOptions[Array]],
) -> Array:
    """Return C = ID(q, v, 0): every joint force that does not depend on acceleration, (..., nv).

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
    # literal zeros: their products are left out when the function is traced
    still = [ZERO] * model.nv
    return inverse_dynamics(model, q, v, still, f_ext, f_ext_frame=f_ext_frame)


@quantity("nv", joint_space=True, rolls=True)
def gravity_force(model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]) -> Array:
    """Return the joint forces that hold the model still against gravity, (..., nv).

    Returns:
        Joint forces [N m or N], shape (..., nv), of gravity alone: springs are not included.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # 1 kg on 0.5 m
        >>> print(sf.gravity_force(pendulum, [[0.5], [np.pi / 2]]).round(3))
        [[2.352]
         [4.905]]
    """
    tree = model.tree
    # ID(q, 0, 0) without springs and friction
    still = tree.zero_velocities()
    tau, _ = joint_forces(tree, model.positions(q), still, still, kinematics.no_forces(tree))
    return model.gather(tau)


@quantity("nv nv", joint_space=True)
def coriolis_matrix(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return C(q, v), shape (..., nv, nv), with C v the velocity force and dM/dt - 2C skew.

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
    tree = model.tree
    # T^T C T under couplings
    full = coriolis(tree, model.positions(q), model.velocities(v))
    return model.coordinates.reduce(full, tree.velocity_slices) if model.couplings else full


def external_forces(model: Any, q: Table, f_ext: Numbers | None, frame: str) -> Table:
    """Return the external force on each body in body coordinates."""
    if f_ext is None:
        return kinematics.no_forces(model.tree)
    # forces in world axes act about the world origin
    given = model.wrenches(f_ext)
    return given if frame == "body" else kinematics.forces_from_world(model.tree, q, given)


def factor_mass_matrix(model: Any, q: Numbers) -> Any:
    """Return the sparse factor of the mass matrix; under couplings the matrix is dense."""
    parents = tuple(range(-1, model.nv - 1)) if model.couplings else model.tree.dof_parent
    return factor.Factor.of(mass_matrix(model, q), parents)


# -- methods of forward dynamics


def _by_crba(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    # M a = tau - C
    C, _ = joint_forces(tree, q, qd, tree.zero_velocities(), f_ext)
    L, D = ltdl(dense(tree, crba(tree, q)), tree.dof_parent)
    rhs = [x for i in tree.bodies for x in tau[i] - C[i]]
    a = solve_ltdl(L, D, tree.dof_parent, rhs)
    return {i: Column(a[tree.velocity_slices[i]]) for i in tree.bodies}


def _by_operators(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    found: Table = operators.solve_factorised(operators.body_frame(tree, q, qd, f_ext), tau)
    return found


def _by_dense_operators(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    found: Table = operators.solve_dense(operators.body_frame(tree, q, qd, f_ext), tau)
    return found


METHODS: dict[str, Callable[[Tree, Table, Table, Table, Table], Table]] = {
    "aba": aba,
    "crba": _by_crba,
    "operators": _by_operators,
    "operators_dense": _by_dense_operators,
}


# -- forward dynamics for steps of a simulation


@page(joint_space=True, rolls=True)
def stabilized_dynamics(
    model: Any,
    tree: Any,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
    method: str = "aba",
    stabilization: Scalar | None = None,
) -> Sequence[Scalar]:
    """Return accelerations; `stabilization` is the rate at which gaps of constraints close."""
    on = ModelOnTree(model, tree)
    if model.constraints:
        # loops: gaps decay with the rate of the stabilization
        found: list[Scalar] = constraints.solve(on, q, v, tau, f_ext, frame, stabilization).a
        return found
    return forward_dynamics(on, q, v, tau, f_ext, f_ext_frame=frame, method=method)


def forward_dynamics_reading(
    model: Model, frame: str = "world", method: str | None = None
) -> partial[list[Scalar]]:
    """Return forward dynamics on numbers: by articulated bodies by default.

    Factorising the mass matrix takes up to a fifth fewer operations on shallow trees, but what a
    pivot loses by subtraction there, articulated bodies never add.
    """
    return partial(stabilized_dynamics, frame=frame, method=method or "aba")
