"""Forces, accelerations, matrices and energies as functions of flat lists of numbers."""

from __future__ import annotations

from typing import Any

from sixfold.dynamics import energy, kinematics
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.fast import articulated
from sixfold.dynamics.fast import inverse_dynamics as newton_euler
from sixfold.dynamics.fast.coriolis import coriolis
from sixfold.dynamics.fast.inverse_dynamics import joint_forces
from sixfold.dynamics.passive import passive_forces
from sixfold.evaluate.scalar_functions.kinematics import six
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import ldl, ldl_solve


def external_forces(model: Model, tree: Tree, q: Table, f_ext: Numbers | None, frame: str) -> Table:
    """Return the external force on each body in body coordinates."""
    if f_ext is None:
        return kinematics.no_forces(tree)
    given = model.wrenches(f_ext)
    return given if frame == "body" else kinematics.forces_from_world(tree, q, given)


@page(joint_space=True, rolls=True)
def inverse_dynamics(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """Joint forces by Newton-Euler, with what damping, friction, springs and rotors take."""
    x, xd = model.positions(q), model.velocities(v)
    forces = external_forces(model, tree, x, f_ext, frame)
    tau, _ = joint_forces(tree, x, xd, model.velocities(a), forces)
    passive = passive_forces(tree, x, xd)
    return model.gather({i: tau[i] + passive[i] for i in tree.bodies})


@page(joint_space=True, rolls=True)
def bias_force(
    model: Model, tree: Tree, q: Numbers, v: Numbers, *rest: Any, **k: Any
) -> list[Scalar]:
    """C = ID(q, v, 0)."""
    return inverse_dynamics(model, tree, q, v, [ZERO] * model.nv, *rest, **k)


@page(joint_space=True, rolls=True)
def gravity_force(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Joint forces that hold the model still against gravity, without springs."""
    still = tree.zero_velocities()
    tau, _ = joint_forces(tree, model.positions(q), still, still, kinematics.no_forces(tree))
    return model.gather(tau)


@page(joint_space=True)
def mass_matrix(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """M by CRBA, reduced by couplings."""
    return [x for row in reduced_mass_matrix(model, tree, q) for x in row]


def reduced_mass_matrix(model: Model, tree: Tree, q: Numbers) -> list[list[Scalar]]:
    """Return T^T M T."""
    full = dense(tree, crba(tree, model.positions(q)))
    if not model.couplings:
        return full
    M = model.coordinates.reduce(full, tree.velocity_slices)
    return [[M[min(r, c)][max(r, c)] for c in range(model.nv)] for r in range(model.nv)]


@page(joint_space=True)
def inverse_mass_matrix(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """M^-1 by the articulated-body recursion; by factorising the reduced matrix under couplings."""
    if not model.couplings:
        rows = articulated.inverse_mass_matrix(tree, model.positions(q))
        return [x for row in rows for x in row]
    factors = ldl(reduced_mass_matrix(model, tree, q))
    n = model.nv
    units = [[1.0 if r == c else ZERO for r in range(n)] for c in range(n)]
    return [x for unit in units for x in ldl_solve(*factors, unit)]


def pivots(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Pivots of all freedoms, then the diagonal of the mass matrix; reduced under couplings."""
    if model.couplings:
        M = reduced_mass_matrix(model, tree, q)
        return [*ldl(M)[1], *(row[k] for k, row in enumerate(M))]
    D, H = articulated.pivots(tree, model.positions(q))
    return [*D, *H]


@page(joint_space=True)
def coriolis_matrix(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """C with C v the velocity force and dM/dt - 2C skew (Christoffel symbols)."""
    x, xd = model.positions(q), model.velocities(v)
    full = coriolis(tree, x, xd)
    if model.couplings:
        full = model.coordinates.reduce(full, tree.velocity_slices)
    return [x for row in full for x in row]


@page(joint_space=True, rolls=True)
def kinetic_energy(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """(1/2) v . M v."""
    return [energy.kinetic_energy(tree, model.positions(q), model.velocities(v))]


@page(rolls=True)
def potential_energy(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Gravity and springs."""
    return [energy.potential_energy(tree, model.positions(q))]


@page(rolls=True)
def momentum(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """About the world origin."""
    return six(energy.momentum(tree, model.positions(q), model.velocities(v)))


@page(rolls=True)
def centroidal_momentum(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """About the centre of mass."""
    return six(energy.centroidal_momentum(tree, model.positions(q), model.velocities(v)))


@page(rolls=True)
def center_of_mass(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """In world coordinates."""
    return list(energy.center_of_mass(tree, model.positions(q)))


@page(rolls=True)
def joint_wrenches(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """Force of the parent on each body."""
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, tree, x, f_ext, frame)
    table = newton_euler.joint_wrenches(tree, x, xd, xdd, forces)
    return tree.rows(lambda i: six(table[i]))


@page(rolls=True)
def constraint_forces(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
) -> list[Scalar]:
    """Force of the parent on each body without its working part."""
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, tree, x, f_ext, frame)
    table = newton_euler.constraint_forces(tree, x, xd, xdd, forces)
    return tree.rows(lambda i: six(table[i]))
