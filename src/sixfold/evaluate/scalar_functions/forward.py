"""Forward dynamics as a function of flat lists of numbers: trees, couplings, constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltdl, solve_ltdl
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.fast.inverse_dynamics import joint_forces
from sixfold.dynamics.kinematics import no_forces
from sixfold.dynamics.passive import passive_forces
from sixfold.evaluate.scalar_functions.dynamics import (
    bias_force,
    external_forces,
    reduced_mass_matrix,
)
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.scalar import Scalar
from sixfold.spatial import Column, ldl, ldl_solve


@page(joint_space=True, rolls=True)
def forward_dynamics(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
    method: str = "aba",
    stabilization: Scalar | None = None,
) -> list[Scalar]:
    """Accelerations by one of `METHODS`; coupled models solve their reduced mass matrix.

    Constraints beside the tree's joints hold; `stabilization` is a rate that closes their gaps.
    """
    if model.constraints:
        from sixfold.evaluate.scalar_functions.constraints import constrained_dynamics

        found = constrained_dynamics(
            model, tree, q, v, tau, f_ext, frame=frame, stabilization=stabilization
        )
        return found[: model.nv]
    if model.couplings:
        C = bias_force(model, tree, q, v, f_ext, frame=frame)
        return list(ldl_solve(*ldl(reduced_mass_matrix(model, tree, q)), Column(tau) - Column(C)))
    x, xd = model.positions(q), model.velocities(v)
    forces = external_forces(model, tree, x, f_ext, frame)
    passive = passive_forces(tree, x, xd)
    net = {i: t - passive[i] for i, t in model.velocities(tau).items()}
    return model.gather(METHODS[method](tree, x, xd, net, forces))


def _by_crba(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    C, _ = joint_forces(tree, q, qd, tree.zero_velocities(), f_ext)
    L, D = ltdl(dense(tree, crba(tree, q)), tree.dof_parent)
    rhs = [x for i in tree.bodies for x in tau[i] - C[i]]
    return _by_body(tree, solve_ltdl(L, D, tree.dof_parent, rhs))


def _by_operators(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    from sixfold.dynamics.book.operators import equations

    return equations.solve_factorised(equations.body_frame(tree, q, qd, f_ext), tau)


def _by_dense_operators(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    from sixfold.dynamics.book.operators import equations

    return equations.solve_dense(equations.body_frame(tree, q, qd, f_ext), tau)


def branch_inertias(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """J_i of each body, 6 x 6, in its coordinates."""
    from sixfold.dynamics.book.operators import equations

    still, none = tree.zero_velocities(), no_forces(tree)
    J = equations.branch_inertias(equations.body_frame(tree, model.positions(q), still, none)).J
    return [x for i in tree.bodies for row in J[i].matrix() for x in row]


METHODS: dict[str, Callable[[Tree, Table, Table, Table, Table], Table]] = {
    "aba": aba,
    "crba": _by_crba,
    "operators": _by_operators,
    "operators_dense": _by_dense_operators,
}


def _by_body(tree: Tree, flat: Sequence[Scalar]) -> Table:
    return {i: Column(flat[tree.velocity_slices[i]]) for i in tree.bodies}
