"""Contact points, frames and Jacobian rows, in world axes.

A joint j with the column (ang, lin) moves a point p of a body behind it by l + w x (p - p_j), with
w and l the two in world axes: cheaper than transforming unit forces.

Sweeps between joint space and the bodies that contacts act on, in world axes.

All motions and forces of a tree are taken about one point, the origin of its root body: then the
twist of a body is that of its parent plus what its own joint adds, and what acts on a body acts on
its parent as it is.  (About the origin of the world, products would lose digits far away from it.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sixfold.dynamics.contact.scene import (
    CapsuleShape,
    Contact,
    ContactFrame,
    Scene,
    SphereShape,
    tangents,
)
from sixfold.dynamics.kinematics import transforms
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, if_positive, sqrt
from sixfold.spatial import ZERO3, ArticulatedInertia, Force, Motion, Vector3

# added to a squared distance [m^2]: spheres with one centre have no normal, and do not push
TINY = 1e-36
Columns = dict[int, Vector3]  # what unit velocities of DOFs do to a point, in world axes


class ContactGeometry(NamedTuple):
    """A contact, open or closed."""

    touch: Contact
    gap: Scalar
    point: Vector3  # halfway between the surfaces, in world coordinates
    frame: ContactFrame  # the normal points from the ground, or from the other shape, to the ball


class Places:
    """Poses of all bodies, and the directions of all DOFs, in world axes."""

    def __init__(self, tree: Tree, q: Table) -> None:
        """Take a tree and the positions of its joints."""
        self.tree = tree
        _, self.X0 = transforms(tree, q)
        self.axes: dict[int, list[tuple[Vector3, Vector3]]] = {}
        for j in tree.bodies:
            S, turn = tree.joint[j].calc(q[j], tree.zero_velocity(j)).S, self.X0[j].E.T
            self.axes[j] = [(turn @ s.ang, turn @ s.lin) for s in S.columns]

    def point(self, body: int, place: tuple[float, float, float]) -> Vector3:
        """Return a point of a body in world coordinates."""
        E, r = self.X0[body]
        p: Vector3 = r + E.T @ Vector3.of(place)
        return p

    def columns(self, body: int, point: Vector3) -> Columns:
        """Return the Jacobian of a body's point, by DOF."""
        found: Columns = {}
        for j in self.tree.support(body) if body else ():
            arm = point - self.X0[j].r
            start = self.tree.velocity_slices[j].start
            for k, (w, lin) in enumerate(self.axes[j], start):
                found[k] = lin + w.cross(arm)
        return found

    def turning(self, body: int, qd: Table) -> Vector3:
        """Return how the axes of the joint that a body hangs on turn its linear velocity.

        MuJoCo's velocities of a free joint are in world axes; their rates differ by this.
        """
        if not body:
            return ZERO3
        # a free joint is the root of its tree
        root = self.tree.support(body)[0]
        rate = self.tree.joint[root].axes_rate(qd[root])
        bias: Vector3 = self.X0[root].E.T @ rate
        return bias


def contacts(scene: Scene, places: Places) -> list[ContactGeometry]:
    """Return all contacts of a scene."""
    return [_contact(scene, places, touch) for touch in scene.touches]


def _contact(scene: Scene, places: Places, touch: Contact) -> ContactGeometry:
    ball, other = touch.ball, touch.other
    center = places.point(ball.body, ball.center)
    if other is None:
        # the contact point lies halfway between the two surfaces
        distance, frame = scene.surface.meet(center)
        gap = distance - ball.radius if ball.radius else distance
        return ContactGeometry(touch, gap, center - frame.n * (gap * 0.5 + ball.radius), frame)
    near = _nearest(places, other, center)
    apart = center - near
    length = sqrt(apart.dot(apart) + TINY)
    n = apart / length
    gap = length - (ball.radius + other.radius)
    frame = ContactFrame(n, *tangents(n))
    return ContactGeometry(touch, gap, center - n * (gap * 0.5 + ball.radius), frame)


def _nearest(places: Places, other: SphereShape | CapsuleShape, center: Vector3) -> Vector3:
    """Return the point of a ball's centre or a rod's axis that is nearest."""
    if isinstance(other, SphereShape):
        return places.point(other.body, other.center)
    start, end = places.point(other.body, other.start), places.point(other.body, other.end)
    along = end - start
    # foot of the perpendicular, kept on the segment
    s = (center - start).dot(along) / along.dot(along)
    s = if_positive(s, if_positive(1.0 - s, s, 1.0), 0.0)
    return start + along * s


def jacobian(places: Places, contact: ContactGeometry) -> Columns:
    """Return how fast the surfaces part at a contact, by DOF."""
    touch, point = contact.touch, contact.point
    found = places.columns(touch.ball.body, point)
    if touch.other is not None:
        for k, column in places.columns(touch.other.body, point).items():
            found[k] = found[k] - column if k in found else -column
    return found


def bias(places: Places, contact: ContactGeometry, qd: Table) -> Vector3:
    """Return what is added to J a for MuJoCo's accelerations."""
    touch = contact.touch
    total = places.turning(touch.ball.body, qd)
    if touch.other is not None:
        total = total - places.turning(touch.other.body, qd)
    return total


def along(columns: Mapping[int, Vector3], direction: Vector3) -> dict[int, Scalar]:
    """Return one row of a Jacobian, by DOF."""
    return {k: direction.dot(column) for k, column in columns.items()}


Matrix = list[list[Scalar]]


class JointSpace:
    """The joints that move some bodies, by their columns in world axes."""

    def __init__(self, places: Places, bodies: Iterable[int]) -> None:
        """Take the bodies that forces act on."""
        self.tree, self.places = places.tree, places
        # those bodies and all between them and the base
        self.bodies = sorted({j for body in bodies for j in self.tree.support(body)})
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
                self._add_to_parent(total, j)
        return found

    def stiffness(self, own: Mapping[int, ArticulatedInertia]) -> Matrix:
        """Return J^T K J from a stiffness K on each body: the composite-body algorithm."""
        # as the composite-body algorithm, with stiffness instead of inertia: H_ki = S_i . K S_k
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
            self._add_to_parent(total, j)
        return H

    def _add_to_parent(
        self, total: dict[int, Force] | dict[int, ArticulatedInertia], j: int
    ) -> None:
        """Add what acts on a body to what acts on its parent."""
        p = self.tree.parent[j]
        if p:
            total[p] = total[p] + total[j] if p in total else total[j]  # type: ignore[assignment,operator]
