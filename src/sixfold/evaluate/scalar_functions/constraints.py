"""Trees with constraints as functions of flat lists of numbers: rows, dynamics, projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics.constrained import rows as constrained
from sixfold.dynamics.constrained.solve import Delassus
from sixfold.dynamics.fast.factor import Factor
from sixfold.evaluate.scalar_functions.free_motion import at_rest, free_motion
from sixfold.evaluate.scalar_functions.kinematics import integrate, six
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.scalar import Scalar, dot

PROJECTION_STEPS = 2
"""Gauss-Newton steps that close gaps; each about squares a small one."""


def rows_of(model: Model, tree: Tree, q: Numbers, v: Numbers | None) -> list[constrained.Row]:
    """Return all rows over the model's own coordinates."""
    x, xd = model.positions(q), None if v is None else model.velocities(v)
    found = constrained.rows(tree, model.constraints, x, xd)
    if not model.couplings:
        return found
    at = tree.velocity_slices
    return [row._replace(J=model.gather({i: row.J[at[i]] for i in tree.bodies})) for row in found]


@page()
def constraint_gaps(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """How far each row is from being satisfied."""
    return [row.gap for row in rows_of(model, tree, q, None)]


@page()
def constraint_jacobian(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """J, row by row."""
    return [x for row in rows_of(model, tree, q, None) for x in row.J]


@page()
def constraint_bias(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """Gamma in J a + gamma = 0."""
    return [row.gamma for row in rows_of(model, tree, q, v)]


@page()
def constraint_wrenches(model: Model, tree: Tree, q: Numbers, forces: Numbers) -> list[Scalar]:
    """What constraint forces do to each body."""
    table = constrained.wrenches(tree, model.constraints, model.positions(q), forces)
    return tree.rows(lambda i: six(table[i]))


@page(joint_space=True)
def constrained_dynamics(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: str = "world",
    stabilization: Scalar | None = None,
) -> list[Scalar]:
    """Accelerations, then the force of each row."""
    found = solved(model, tree, q, v, tau, f_ext, frame, stabilization)
    return [*found.a, *found.lam]


class Solved(NamedTuple):
    """Constrained forward dynamics, with what its derivatives use again."""

    M: Factor
    G: Delassus
    a: list[Scalar]
    lam: list[Scalar]


def solved(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None,
    frame: str,
    stabilization: Scalar | None = None,
    whole: bool = False,
) -> Solved:
    """Return accelerations and forces: M a + C = tau + J^T lam with J a + gamma = 0.

    With `whole` the factor is that of all freedoms.
    """
    # derivatives push every freedom
    loaded = tree.bodies if whole else constrained.loaded_bodies(model.constraints)
    motion = free_motion(model, tree, q, v, tau, f_ext, frame, loaded)
    M, z = motion.factor, motion.z
    found = rows_of(model, tree, q, v)
    G = Delassus(M, [row.J for row in found])
    b = [-(row.gamma + x) for row, x in zip(found, G.along(z), strict=True)]
    if stabilization is not None:
        alpha = stabilization
        for k, row in enumerate(found):
            b[k] = b[k] - alpha * (2.0 * dot(row.J, v) + alpha * row.gap)
    lam = G.solve(b)
    return Solved(M, G, motion.outward(G.with_forces(z, lam)), lam)


@page(joint_space=True)
def project(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """The nearest state that satisfies the constraints, by the metric of the mass matrix."""
    x = list(q)
    for _ in range(PROJECTION_STEPS):
        found = rows_of(model, tree, x, None)
        moved = _pushed(model, tree, x, [row.J for row in found], [-row.gap for row in found])
        x = integrate(model, model.tree, x, moved)
    return [*x, *project_velocity(model, tree, x, v)]


def project_velocity(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """V - M^-1 J^T G^-1 J v."""
    J = [row.J for row in rows_of(model, tree, q, None)]
    moved = _pushed(model, tree, q, J, [-dot(row, v) for row in J])
    return [a + b for a, b in zip(v, moved, strict=True)]


def _pushed(
    model: Model, tree: Tree, q: Numbers, J: Sequence[list[Scalar]], b: Sequence[Scalar]
) -> list[Scalar]:
    """Return M^-1 J^T G^-1 b: the least motion with J x = b."""
    motion = at_rest(model, tree, q, constrained.loaded_bodies(model.constraints))
    G = Delassus(motion.factor, J)
    return motion.outward(G.with_forces(motion.z, G.solve(b)))
