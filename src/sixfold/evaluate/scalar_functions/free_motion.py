"""How a model moves without its constraints and contacts, as solves with their rows take it."""

from __future__ import annotations

from collections.abc import Collection

from sixfold.dynamics.fast.factor import Factor, FreeMotion, eliminate
from sixfold.dynamics.fast.inverse_dynamics import body_forces
from sixfold.dynamics.kinematics import no_forces
from sixfold.dynamics.passive import passive_forces
from sixfold.evaluate.scalar_functions.dynamics import (
    bias_force,
    external_forces,
    reduced_mass_matrix,
)
from sixfold.evaluate.scalar_functions.page import Numbers
from sixfold.model import Model, Tree
from sixfold.scalar import ZERO
from sixfold.spatial import Column, Force


def factor(model: Model, tree: Tree, q: Numbers) -> Factor:
    """Return the factor of the whole mass matrix; under couplings it is dense."""
    parents = tuple(range(-1, model.nv - 1)) if model.couplings else tree.dof_parent
    return Factor.of(reduced_mass_matrix(model, tree, q), parents)


def free_motion(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None,
    frame: str,
    loaded: Collection[int],
) -> FreeMotion:
    """Return how a model moves by itself, for rows that act on the bodies `loaded`.

    Under couplings the whole matrix is factorised.
    """
    if model.couplings:
        M = factor(model, tree, q)
        C = bias_force(model, tree, q, v, f_ext, frame=frame)
        return FreeMotion(M, M.half(Column(tau) - Column(C)))
    x, xd = model.positions(q), model.velocities(v)
    forces = external_forces(model, tree, x, f_ext, frame)
    passive = passive_forces(tree, x, xd)
    net = {i: t - passive[i] for i, t in model.velocities(tau).items()}
    Xup, S, pA, *_ = body_forces(tree, x, xd, tree.zero_velocities(), forces)
    return eliminate(tree, Xup, S, pA, net, loaded).motion()


def at_rest(model: Model, tree: Tree, q: Numbers, loaded: Collection[int]) -> FreeMotion:
    """Return a model that nothing moves but its rows: no velocity, no gravity, no forces."""
    if model.couplings:
        return FreeMotion(factor(model, tree, q), [ZERO] * model.nv)
    x, none = model.positions(q), tree.zero_velocities()
    Xup, S = tree.table(), tree.table()
    for i in tree.bodies:
        XJ, S[i], _, _ = tree.joint[i].calc(x[i], none[i])
        Xup[i] = XJ @ tree.Xtree[i]
    nothing = {0: Force.zero(), **no_forces(tree)}
    return eliminate(tree, Xup, S, nothing, none, loaded).motion()
