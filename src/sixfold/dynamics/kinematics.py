"""Where bodies are and how they move: poses, velocities, accelerations, Jacobians."""

from __future__ import annotations

from collections.abc import Mapping

from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.spatial import Force, Motion, Subspace, Transform


def transforms(tree: Tree, q: Table) -> tuple[Table, Table]:
    """Return Xup (parent to body) and X0 (base to body) of every body."""
    Xup, X0 = tree.table(), tree.table(Transform.identity())
    for i in tree.bodies:
        Xup[i] = tree.joint[i].calc(q[i], tree.zero_velocity(i)).XJ @ tree.Xtree[i]
        X0[i] = Xup[i] @ X0[tree.parent[i]]
    return Xup, X0


def relative_transforms(tree: Tree, q: Table, body: int) -> Table:
    """Return i_X_b, from the coordinates of one body to those of every body and of the base.

    It goes along the joints between two bodies, not by way of the base: far from the world's origin
    no digit is lost.
    """
    Xup, _ = transforms(tree, q)
    X = {body: Transform.identity()}
    for j in (body, *tree.ancestors(body)) if body else ():
        X[tree.parent[j]] = Xup[j].inverse() @ X[j]
    for i in tree.bodies:
        if i not in X:
            X[i] = Xup[i] @ X[tree.parent[i]]
    return X


def motions(tree: Tree, q: Table, qd: Table, qdd: Table) -> tuple[Table, Table]:
    """Return spatial velocity and acceleration of every body, body coordinates, no gravity."""
    v, a = tree.table(Motion.zero()), tree.table(Motion.zero())
    for i in tree.bodies:
        p = tree.parent[i]
        XJ, S, vJ, cJ = tree.joint[i].calc(q[i], qd[i])
        Xup = XJ @ tree.Xtree[i]
        v[i] = Xup @ v[p] + vJ
        a[i] = Xup @ a[p] + S @ qdd[i] + cJ + v[i].cross(vJ)
    return v, a


def jacobian(tree: Tree, q: Table, body: int) -> dict[int, Subspace]:
    """Return the columns of a body's Jacobian in body coordinates, by supporting joint.

    v_body = sum over j of J[j] qd[j]; joints that do not support the body have no columns.
    """
    J: dict[int, Subspace] = {}
    X = Transform.identity()
    for j in (body, *tree.ancestors(body)):
        XJ, S, _, _ = tree.joint[j].calc(q[j], tree.zero_velocity(j))
        J[j] = X @ S
        X = X @ (XJ @ tree.Xtree[j])
    return J


def forces_from_world(tree: Tree, q: Table, f_world: Mapping[int, Force]) -> Table:
    """Return forces given in world axes about the world origin in body coordinates: iX0* f."""
    _, X0 = transforms(tree, q)
    return {i: X0[i].star @ f_world[i] for i in tree.bodies}


def no_forces(tree: Tree) -> Table:
    """Return external forces that are exactly zero."""
    return {i: Force.zero() for i in tree.bodies}
