"""Derivatives of the dynamics as functions of flat lists of numbers."""

from __future__ import annotations

from typing import Any

from sixfold.dynamics.derivatives.forward_dynamics import Factor, base_columns
from sixfold.dynamics.derivatives.inverse_dynamics import Matrix, first_order
from sixfold.dynamics.derivatives.passive import add_passive
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
    matrices = _first_order(model, tree, q, v, a, f_ext, frame)
    return [x for matrix in matrices for row in matrix for x in row]


def _first_order(
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
    n = model.nv
    C = bias_force(model, tree, q, v, f_ext, frame=frame)
    M = reduced_mass_matrix(model, tree, q)
    factor = Factor(M, _parents(model, tree))
    a = factor.solve([t - c for t, c in zip(tau, C, strict=True)])
    Q, V, _ = _first_order(model, tree, q, v, a, f_ext, frame)
    turning = f_ext is not None and frame == "world"
    known: tuple[dict[int, Any], ...] = ({}, {})
    if not turning and not model.couplings:
        known = base_columns(tree, model.positions(q), model.velocities(v))
    columns = [
        [*[ZERO] * 3, *given[c], *[ZERO] * (n - 6)]
        if c in given
        else factor.column(c, [-row[c] for row in matrix])
        for matrix, given in zip((Q, V), known, strict=True)
        for c in range(n)
    ]
    rows = [[column[r] for column in columns[k : k + n]] for k in (0, n) for r in range(n)]
    return [x for row in (*rows, *factor.inverse()) for x in row]


def _parents(model: Model, tree: Tree) -> tuple[int, ...]:
    """Return the freedom before each one; under couplings the factor is a dense one."""
    if not model.couplings:
        return tree.dof_parent
    return tuple(range(-1, model.nv - 1))
