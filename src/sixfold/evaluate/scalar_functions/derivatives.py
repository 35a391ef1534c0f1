"""Derivatives of the dynamics as functions of flat lists of numbers."""

from __future__ import annotations

from typing import Any

from sixfold.dynamics.derivatives.inverse_dynamics import Matrix, base_columns, first_order
from sixfold.dynamics.derivatives.joints import add_passive, add_second_passive
from sixfold.dynamics.derivatives.second import by_columns, second_order
from sixfold.dynamics.fast.factor import Factor
from sixfold.evaluate.scalar_functions.dynamics import (
    bias_force,
    external_forces,
    reduced_mass_matrix,
)
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.scalar import ZERO, Scalar


@page(joint_space=True)
def inverse_dynamics_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """D tau/dq, d tau/dv and d tau/da, row by row, reduced by couplings."""
    matrices = first_order_of(model, tree, q, v, a, f_ext, frame)
    return [x for matrix in matrices for row in matrix for x in row]


def first_order_of(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None,
    frame: str,
) -> list[Matrix]:
    """Return the three matrices, with what damping, friction and springs add."""
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, tree, x, f_ext, frame)
    fixed = f_ext is not None and frame == "world"
    found = first_order(tree, x, xd, xdd, forces, fixed=fixed)
    add_passive(tree, x, xd, found.Q, found.V)
    if not model.couplings:
        return list(found)
    return [model.coordinates.reduce(matrix, tree.velocity_slices) for matrix in found]


@page(joint_space=True)
def forward_dynamics_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """da/dq, da/dv and da/dtau, row by row."""
    if model.constraints:
        from sixfold.evaluate.scalar_functions.constrained_derivatives import (
            constrained_derivatives,
        )
        from sixfold.evaluate.scalar_functions.constraints import solved

        at = solved(model, tree, q, v, tau, f_ext, frame, whole=True)
        Q, V, _ = first_order_of(model, tree, q, v, at.a, f_ext, frame)
        return constrained_derivatives(model, tree, q, v, at, Q, V)
    factor, a = _solved(model, tree, q, v, tau, f_ext, frame)
    Q, V, _ = first_order_of(model, tree, q, v, a, f_ext, frame)
    turns = f_ext is None or frame == "body"
    by_q, by_v = _solved_columns(model, tree, q, v, factor, Q, V, closed=turns)
    return [x for matrix in (by_q, by_v, factor.inverse()) for row in matrix for x in row]


def _solved(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None,
    frame: str,
) -> tuple[Factor, list[Scalar]]:
    """Return the factorised mass matrix and the accelerations."""
    C = bias_force(model, tree, q, v, f_ext, frame=frame)
    # under couplings the mass matrix is dense
    parents = tuple(range(-1, model.nv - 1)) if model.couplings else tree.dof_parent
    factor = Factor.of(reduced_mass_matrix(model, tree, q), parents)
    return factor, factor.solve([t - c for t, c in zip(tau, C, strict=True)])


def _solved_columns(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    factor: Factor,
    Q: Matrix,
    V: Matrix,
    *,
    closed: bool,
) -> tuple[Matrix, Matrix]:
    """Return -M^-1 Q and -M^-1 V.

    Columns of a floating base in closed form, if there are no forces fixed in the world.
    """
    known: tuple[dict[int, Any], ...] = ({}, {})
    if closed and not model.couplings:
        known = base_columns(tree, model.positions(q), model.velocities(v))
    found = []
    for matrix, given in zip((Q, V), known, strict=True):
        columns = [
            [*[ZERO] * 3, *given[c], *[ZERO] * (model.nv - 6)]
            if c in given
            else factor.opposite.column(c, [row[c] for row in matrix])
            for c in range(model.nv)
        ]
        found.append([list(row) for row in zip(*columns, strict=True)])
    return found[0], found[1]


@page(joint_space=True)
def second_derivatives(
    model: Model, tree: Tree, q: Numbers, v: Numbers, a: Numbers, weights: Numbers
) -> list[Scalar]:
    """Second derivatives of weights . tau, row by row: qq, qv, vv, qa."""
    found = _second_order(model, tree, q, v, a, weights)
    return [x for matrix in found for row in matrix for x in row]


def _second_order(
    model: Model, tree: Tree, q: Numbers, v: Numbers, a: Numbers, weights: Numbers
) -> list[Matrix]:
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    lam = model.velocities(weights)
    constant = all(joint.constant_subspace and not joint.is_code for joint in tree.joint[1:])
    found = (second_order if constant else by_columns)(tree, x, xd, xdd, lam)
    add_second_passive(tree, x, xd, lam, found.qq, found.qv, found.vv)
    if not model.couplings:
        return list(found)
    return [model.coordinates.reduce(matrix, tree.velocity_slices) for matrix in found]


@page(joint_space=True)
def forward_second_derivatives(
    model: Model, tree: Tree, q: Numbers, v: Numbers, tau: Numbers, weights: Numbers
) -> list[Scalar]:
    """Second derivatives of weights . a, row by row: qq, qv, vv, qtau.

    With eta = M^-1 weights and the second derivatives of eta . tau: lam . a_qq = -(qq + qa a_q +
    (qa a_q)^T), lam . a_qv = -(qv + qa a_v), lam . a_vv = -vv and lam . a_qtau = -qa M^-1.
    """
    n = range(model.nv)
    factor, a = _solved(model, tree, q, v, tau, None, "world")
    Q, V, _ = first_order_of(model, tree, q, v, a, None, "world")
    by_q, by_v = _solved_columns(model, tree, q, v, factor, Q, V, closed=True)
    qq, qv, vv, qa = _second_order(model, tree, q, v, a, factor.solve(weights))
    mixed, damped = _product(qa, by_q), _product(qa, by_v)
    by_tau = [factor.solve(row) for row in qa]
    found = [
        [[-(qq[r][c] + mixed[r][c] + mixed[c][r]) for c in n] for r in n],
        [[-(qv[r][c] + damped[r][c]) for c in n] for r in n],
        [[-x for x in row] for row in vv],
        [[-x for x in row] for row in by_tau],
    ]
    return [x for matrix in found for row in matrix for x in row]


def _product(A: Matrix, B: Matrix) -> Matrix:
    columns = list(zip(*B, strict=True))
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), ZERO) for column in columns]
        for row in A
    ]
