"""Derivatives of the dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame
from sixfold.model import Model
from sixfold.quantities.dynamics import bias_force, external_forces, factor_mass_matrix
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import Numbers, SparseOptions, refuse_constraints
from sixfold.scalar import ZERO, Scalar

constraints = LazyModule("sixfold.quantities.constraints")
fast = LazyModule("sixfold.dynamics.fast.factor")
forward = LazyModule("sixfold.dynamics.derivatives.inverse_dynamics")
inverse = LazyModule("sixfold.dynamics.derivatives.inverse_dynamics")
passive = LazyModule("sixfold.dynamics.derivatives.joints")
second = LazyModule("sixfold.dynamics.derivatives.second")

Matrix = list[list[Scalar]]

_Three = tuple[Array, Array, Array]

_Four = tuple[Array, Array, Array, Array]

_MATRICES = ("nv nv",) * 4


def _refuse_constraints(function: str, model: Model, _: Mapping[str, Any]) -> None:
    refuse_constraints(function, model)


@quantity("nv nv", "nv nv", "nv nv", joint_space=True)
def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[SparseOptions[_Three]],
) -> _Three:
    """Return the derivatives (dq, dv, da) of `inverse_dynamics`.

    d/dq is along the motion subspaces (the tangent space): column t of dq is the rate of tau when q
    moves with unit velocity v_t, dq/dt = `position_rate(model, q, e_t)`.  A spherical or free joint
    has nv columns, not nq.  Where v = dq/dt these are the ordinary partial derivatives.

    Args:
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6); it stays the same.
        f_ext_frame: "world" (world axes about the world origin: the force stays in the world while
            q changes) or "body" (body axes and origin: it turns with the body).

    Returns:
        Three arrays of shape (..., nv, nv): row i is joint force i, column j is d/dq_j, d/dv_j and
        d/da_j.  The last is the mass matrix.  Damping, friction, springs and armature are included;
        dry friction with friction_speed = 0 has no slope.

    Raises:
        ShapeError: if a last axis is not nq or nv; the message names the argument.

    Reference: Singh, Russell, Wensing, Efficient Analytical Derivatives of Rigid-Body Dynamics
    using Spatial Vector Algebra, RA-L 7(2), 2022; computed about the joint points.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # tau = 0.27 a + 4.905 sin(q)
        >>> dq, dv, da = sf.derivatives.inverse_dynamics_derivatives(pendulum, [0.0], [1.0], [0.0])
        >>> print(dq.round(3), dv.round(3), da.round(3))
        [[4.905]] [[0.]] [[0.27]]
        >>> tree, x = sf.load("tree6"), np.zeros(6)
        >>> dq, dv, da = sf.derivatives.inverse_dynamics_derivatives(tree, x, x, x, sparse=True)
        >>> da.values.shape  # of 36 numbers
        (22,)
    """
    tree = model.tree
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, x, f_ext, f_ext_frame)
    # forces fixed in the world turn as seen from a body
    fixed = f_ext is not None and f_ext_frame == "world"
    found = inverse.first_order(tree, x, xd, xdd, forces, fixed=fixed)
    # damping, friction and springs depend on one coordinate each
    passive.add_passive(tree, x, xd, found.Q, found.V)
    return reduce_couplings(model, found)


@quantity("nv nv", "nv nv", "nv nv", joint_space=True, solves=True)
def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[SparseOptions[_Three]],
) -> _Three:
    """Return the derivatives (dq, dv, dtau) of `forward_dynamics`.

    d/dq is along the motion subspaces (the tangent space), nv columns, as in
    `inverse_dynamics_derivatives`.  Those of a model with constraints (loops) are the derivatives
    of its constrained accelerations, also along directions that would open a loop.

    Args:
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6); it stays the same.
        f_ext_frame: "world" (the force stays in the world while q changes) or "body" (it turns with
            the body).

    Returns:
        Three arrays of shape (..., nv, nv): row i is acceleration i, column j is d/dq_j, d/dv_j and
        d/dtau_j.  The last is the inverse mass matrix, of the closed mechanism where there are
        constraints.  States where a joint has no inertia behind it give NaN and one
        SingularPivotWarning.

    Raises:
        ShapeError: if a last axis is not nq or nv.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: d a/dq = -M^-1 d tau/dq at the accelerations of forward dynamics (Carpentier and
    Mansard, Analytical Derivatives of Rigid Body Dynamics Algorithms, RSS 2018), with M = L^T D L
    (Featherstone, RBDA, section 6.5).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> dq, dv, dtau = sf.derivatives.forward_dynamics_derivatives(arm, q, v, np.zeros(2))
        >>> dq.shape, np.allclose(dtau, sf.inverse_mass_matrix(arm, q))
        ((2, 2), True)
    """
    if model.constraints:
        # loops: differentiate M a + C = tau + J^T lam and J a + gamma = 0
        at = constraints.solve(model, q, v, tau, f_ext, f_ext_frame, whole=True)
        Q, V, _ = inverse_dynamics_derivatives(model, q, v, at.a, f_ext, f_ext_frame=f_ext_frame)
        return constraints.constrained_derivatives(model, q, v, at, Q, V)
    # da/dq = -M^-1 d tau/dq at the accelerations of forward dynamics
    factor, a = _solve(model, q, v, tau, f_ext, f_ext_frame)
    Q, V, _ = inverse_dynamics_derivatives(model, q, v, a, f_ext, f_ext_frame=f_ext_frame)
    turns = f_ext is None or f_ext_frame == "body"
    by_q, by_v = _solve_columns(model, q, v, factor, Q, V, closed=turns)
    return by_q, by_v, factor.inverse()


@quantity(*_MATRICES, joint_space=True)
def inverse_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    **options: Unpack[SparseOptions[_Four]],
) -> _Four:
    """Return the second derivatives (qq, qv, vv, qa) of weights . `inverse_dynamics`.

    They are along the motion subspaces (the tangent space), as in `inverse_dynamics_derivatives`.
    The matrices of one joint force k are those of the k-th unit vector as weights.

    Args:
        weights: a weight for each joint force, shape (..., nv).

    Returns:
        Four arrays of shape (..., nv, nv).  The first letter is the row: qv[i, j] is d2/dq_i dv_j.
        qq[i, j] is the derivative along j of the derivative along i.  It is symmetric but for two
        directions of one spherical or free joint, which do not commute; the symmetric part is the
        Hessian in exponential coordinates.

    Reference: Nganga and Wensing, Accelerating Second-Order Differential Dynamic Programming for
    Rigid-Body Systems, 2021; closed form by the composites of `dynamics/derivatives/second`.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # tau = 0.27 a + 4.905 sin(q)
        >>> given = [np.pi / 2], [0.0], [0.0], [1.0]
        >>> second = sf.derivatives.inverse_dynamics_second_derivatives(pendulum, *given)
        >>> qq, qv, vv, qa = second
        >>> print(qq.round(3))
        [[-4.905]]
    """
    tree = model.tree
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    lam = model.velocities(weights)
    # closed form for constant motion subspaces, else column by column
    constant = all(joint.constant_subspace and not joint.is_code for joint in tree.joint[1:])
    rule = second.second_order if constant else second.by_columns
    found = rule(tree, x, xd, xdd, lam)
    passive.add_second_passive(tree, x, xd, lam, found.qq, found.qv, found.vv)
    return reduce_couplings(model, found)


@quantity(*_MATRICES, joint_space=True, solves=True, refuses=_refuse_constraints)
def forward_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    weights: ArrayLike,
    **options: Unpack[SparseOptions[_Four]],
) -> _Four:
    """Return the second derivatives (qq, qv, vv, qtau) of weights . `forward_dynamics`.

    They are along the motion subspaces (the tangent space), as in
    `inverse_dynamics_second_derivatives`.

    Args:
        weights: a weight for each acceleration, shape (..., nv).

    Returns:
        Four arrays of shape (..., nv, nv); the first letter is the row.  States where a joint has
        no inertia behind it give NaN and one SingularPivotWarning.

    Raises:
        SingularModelError: if some joint has no inertia behind it at every configuration.
        NotApplicableError: for a model with constraints; `sixfold.compile` has their derivatives.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # a = (tau - 4.905 sin(q)) / 0.27
        >>> given = [np.pi / 2], [0.0], [0.0], [1.0]
        >>> second = sf.derivatives.forward_dynamics_second_derivatives(pendulum, *given)
        >>> print(second[0].round(3))
        [[18.167]]
    """
    # with eta = M^-1 weights and the second derivatives of eta . tau:
    # lam . a_qq = -(qq + qa a_q + (qa a_q)^T), lam . a_qv = -(qv + qa a_v),
    # lam . a_vv = -vv, lam . a_qtau = -qa M^-1
    n = range(model.nv)
    factor, a = _solve(model, q, v, tau, None, "world")
    Q, V, _ = inverse_dynamics_derivatives(model, q, v, a)
    by_q, by_v = _solve_columns(model, q, v, factor, Q, V, closed=True)
    # second derivatives of eta . tau at the accelerations of forward dynamics
    qq, qv, vv, qa = inverse_dynamics_second_derivatives(model, q, v, a, factor.solve(weights))
    # chain rule through the accelerations: qa a_q and qa a_v
    mixed, damped = _product(qa, by_q), _product(qa, by_v)
    by_tau = [factor.solve(row) for row in qa]
    return (
        [[-(qq[r][c] + mixed[r][c] + mixed[c][r]) for c in n] for r in n],
        [[-(qv[r][c] + damped[r][c]) for c in n] for r in n],
        [[-x for x in row] for row in vv],
        [[-x for x in row] for row in by_tau],
    )


def reduce_couplings(model: Any, matrices: Any) -> list[Matrix]:
    """Return matrices over all joints, reduced by couplings."""
    if not model.couplings:
        return list(matrices)
    return [model.coordinates.reduce(each, model.tree.velocity_slices) for each in matrices]


def _solve(
    model: Any, q: Numbers, v: Numbers, tau: Numbers, f_ext: Numbers | None, frame: str
) -> tuple[Any, list[Scalar]]:
    """Return the factorised mass matrix and the accelerations."""
    C = bias_force(model, q, v, f_ext, f_ext_frame=frame)
    factor = factor_mass_matrix(model, q)
    return factor, factor.solve([t - c for t, c in zip(tau, C, strict=True)])


def _solve_columns(
    model: Any, q: Numbers, v: Numbers, factor: Any, Q: Matrix, V: Matrix, *, closed: bool
) -> tuple[Matrix, Matrix]:
    """Return -M^-1 Q and -M^-1 V.

    Columns of a floating base in closed form, if there are no forces fixed in the world.
    """
    known: tuple[dict[int, Any], ...] = ({}, {})
    # columns of a free base are known in closed form
    if closed and not model.couplings:
        known = forward.base_columns(model.tree, model.positions(q), model.velocities(v))
    found = []
    for matrix, given in zip((Q, V), known, strict=True):
        # the others are -M^-1 times a column
        columns = [
            [*[ZERO] * 3, *given[c], *[ZERO] * (model.nv - 6)]
            if c in given
            else factor.opposite.column(c, [row[c] for row in matrix])
            for c in range(model.nv)
        ]
        found.append([list(row) for row in zip(*columns, strict=True)])
    return found[0], found[1]


def _product(A: Matrix, B: Matrix) -> Matrix:
    columns = list(zip(*B, strict=True))
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), ZERO) for column in columns]
        for row in A
    ]
