"""Regressors as functions of flat lists of numbers."""

from __future__ import annotations

from sixfold.dynamics import regressor as pages
from sixfold.dynamics.passive import unit_passive_force
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.scalar import ZERO, Scalar


@page()
def regressor(model: Model, tree: Tree, q: Numbers, v: Numbers, a: Numbers) -> list[Scalar]:
    """Y with tau = Y pi of the rigid bodies, row by row, reduced by couplings: T^T Y."""
    Y = pages.regressor(tree, model.positions(q), model.velocities(v), model.velocities(a))
    if model.couplings:
        at = tree.velocity_slices
        columns = [
            model.gather({i: column[at[i]] for i in tree.bodies}) for column in zip(*Y, strict=True)
        ]
        Y = [list(row) for row in zip(*columns, strict=True)]
    return [x for row in Y for x in row]


@page()
def energy_regressor(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """Kinetic, then potential energy of unit parameters."""
    T, V = pages.energy_regressor(tree, model.positions(q), model.velocities(v))
    return [*T, *V]


@page()
def joint_regressor(
    model: Model, tree: Tree, q: Numbers, v: Numbers, a: Numbers, *, columns: tuple[str, ...]
) -> list[Scalar]:
    """What a unit of each number of a freedom adds to its joint force, freedom by freedom."""
    found: list[Scalar] = []
    places = dict((j, i) for i, j in model.coordinates.additive)
    for j, joint in enumerate(model.coordinates.v_joints):
        offset: Scalar = ZERO  # springs of joints with a quaternion are not one number a freedom
        if j in places:
            offset = q[places[j]] - tree.rest[joint.body + 1][places[j] - joint.q.start]
        speed = tree.friction_speed[joint.body + 1][j - joint.v.start]
        found += [unit_passive_force(kind, offset, v[j], a[j], speed) for kind in columns]
    return found
