"""The regressor by its definition: joint forces of unit parameters, one after the other."""

from __future__ import annotations

from dataclasses import replace

from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar


def regressor(tree: Tree, q: Table, qd: Table, qdd: Table) -> list[list[Scalar]]:
    """Return Y with tau = Y pi, by `rnea` of trees in which one parameter is 1 and all others 0.

    Ten columns for each body: (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz) about its origin.
    """
    n = 10 * len(tree.bodies)
    no_rotors = tuple(tree.zero_velocity(i) for i in range(len(tree.parent)))
    columns = []
    for k in range(n):
        unit = tree.with_inertias([1.0 if m == k else ZERO for m in range(n)])
        tau, _ = rnea(replace(unit, armature=no_rotors), q, qd, qdd, no_forces(tree))
        columns.append([x for i in tree.bodies for x in tau[i]])
    return [list(row) for row in zip(*columns, strict=True)]
