"""Sweeps between joint space and the bodies that contacts act on, in world axes.

All motions and forces of a tree are taken about one point, the origin of its root body: then the
twist of a body is that of its parent plus what its own joint adds, and what acts on a body acts on
its parent as it is.  (About the origin of the world, products would lose digits far away from it.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sixfold.dynamics.contact.rows import Places
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import ArticulatedInertia, Force, Motion, Vector3

Matrix = list[list[Scalar]]


class JointSpace:
    """The joints that move some bodies, by their columns in world axes."""

    def __init__(self, places: Places, bodies: Iterable[int]) -> None:
        """Take the bodies that forces act on."""
        self.tree, self.places = places.tree, places
        self.bodies = sorted({j for body in bodies for j in self.tree.support(body)})
        """Those bodies and all between them and the base."""
        self.columns: dict[int, list[Motion]] = {}
        for j in self.bodies:
            arm = self.arm(j, places.X0[j].r) if self.tree.parent[j] else None
            self.columns[j] = [
                Motion(w, lin if arm is None else lin - w.cross(arm)) for w, lin in places.axes[j]
            ]

    def arm(self, body: int, point: Vector3) -> Vector3:
        """Return a point relative to the origin of the root that carries a body."""
        return point - self.places.X0[self.tree.support(body)[0]].r

    def twists(self, rates: Table) -> dict[int, Motion]:
        """Return the motion of each body, from the rates of the joints."""
        found = {0: Motion.zero()}
        for j in self.bodies:
            twist = found[self.tree.parent[j]]
            for column, rate in zip(self.columns[j], rates[j], strict=True):
                twist = twist + column * rate
            found[j] = twist
        return found

    def forces(self, wrenches: Mapping[int, Force]) -> list[Scalar]:
        """Return J^T f: the joint forces that balance forces on bodies, for each joint velocity."""
        found: list[Scalar] = [ZERO] * self.tree.nv
        total = dict(wrenches)
        for j in reversed(self.bodies):
            if j in total:
                start = self.tree.velocity_slices[j].start
                for k, column in enumerate(self.columns[j], start):
                    found[k] = column.dot(total[j])
                self._hand_on(total, j)
        return found

    def stiffness(self, own: Mapping[int, ArticulatedInertia]) -> Matrix:
        """Return J^T K J from a stiffness K on each body: the composite-body algorithm."""
        n, at = self.tree.nv, self.tree.velocity_slices
        H: Matrix = [[ZERO] * n for _ in range(n)]
        total = dict(own)
        for j in reversed(self.bodies):
            if j not in total:
                continue
            for k, column in enumerate(self.columns[j], at[j].start):
                load = total[j] @ column
                for i in (j, *self.tree.ancestors(j)):
                    for m, other in enumerate(self.columns[i], at[i].start):
                        if m <= k:
                            H[k][m] = H[m][k] = other.dot(load)
            self._hand_on(total, j)
        return H

    def _hand_on(self, total: dict[int, Force] | dict[int, ArticulatedInertia], j: int) -> None:
        """Add what acts on a body to what acts on its parent."""
        p = self.tree.parent[j]
        if p:
            total[p] = total[p] + total[j] if p in total else total[j]  # type: ignore[assignment,operator]
