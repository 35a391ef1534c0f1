"""Derivatives of the dynamics as functions of flat lists of numbers."""

from __future__ import annotations

from sixfold.dynamics.derivatives.inverse_dynamics import Matrix, first_order
from sixfold.dynamics.derivatives.passive import add_passive
from sixfold.evaluate.scalar_functions.dynamics import external_forces
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.scalar import Scalar


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
