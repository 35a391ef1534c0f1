"""Contact forces: motion under contact, as a quantity of a model and a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from sixfold.arrays import Array
from sixfold.dynamics.book.factorization import path
from sixfold.dynamics.constrained import rows as constrained
from sixfold.dynamics.contact.newton import CoordinateMap
from sixfold.dynamics.contact.response import (
    ContactState,
    Loops,
    Reduce,
    Response,
    contact_response,
    weights,
)
from sixfold.dynamics.contact.rows import JointSpace, Places
from sixfold.dynamics.contact.scene import Numbers3, Scene
from sixfold.model import Model, Tree
from sixfold.quantities.constraints import free_motion, rows_of
from sixfold.quantities.dynamics import factor_mass_matrix
from sixfold.runtime.call import general
from sixfold.runtime.quantity import FORCE_FRAMES, ModelOnTree, Numbers, Quantity, page
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import Column


def contact_dynamics(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    scene: Scene,
    frame: str = "world",
    h: Scalar | None = None,
) -> Response:
    """Return accelerations and contact forces.

    Mass matrix and bias are those of `tree`, which may be the reduced one; places of contact are
    taken on the model's own.
    """
    # dry friction is a row of the contact problem, not a force known beforehand
    if scene.frictions:
        still = tuple(Column.zero(len(each)) for each in tree.friction)
        tree = replace(tree, friction=still, friction_negative=still)
    # motion without contact, and where contact forces can act
    loaded = scene.bodies(tree) | constrained.loaded_bodies(model.constraints)
    on = ModelOnTree(model, tree)
    motion = free_motion(on, q, v, tau, f_ext, frame, loaded)
    # points of the scene in world coordinates
    places = Places(model.tree, model.positions(q))
    gravity = model.tree.gravity.lin
    reduce = _reduction(model)
    # what each row of forces does to the joints
    space = JointSpace(places, scene.ground_bodies - {0})
    qd = model.velocities(v)
    at = ContactState(q, v, qd, places, space, space.twists(qd), reduce, gravity, h)
    # constraint rows hold exactly, next to the soft contacts
    loops = None
    if model.constraints:
        rows = rows_of(on, q, v)
        loops = Loops([row.J for row in rows], [-row.gamma for row in rows])
    coordinates = CoordinateMap(
        model.velocities, lambda row: reduce(dict(enumerate(row))), eliminate(model, scene).parents
    )
    return contact_response(scene, at, motion, coordinates, loops)


class Elimination(NamedTuple):
    """How M + J^T K J is factorised, from the last coordinate to the first."""

    parents: Sequence[int]  #: Of each coordinate in the elimination tree, as `Tree.dof_parent`.
    counts: Sequence[int]  #: Entries of each row of the factor.

    @property
    def cost(self) -> float:
        """Time to compile a step of contact dynamics, in units of about 7 ms.

        Rows that are long cost by their square.  Fitted to 64 to 256 free bodies on the ground, 64
        in a chain of pairs, and chains of 30 and 60 joints.
        """
        return sum(n + n * n / 40 for n in self.counts)


def eliminate(model: Model, scene: Scene) -> Elimination:
    """Return the order in which coordinates under contact are eliminated.

    Contacts with the ground keep the sparsity of the mass matrix.  A pair couples all that moves
    either body, and elimination couples what is left of each row.
    """
    nv = model.nv
    if model.couplings:
        return Elimination(range(-1, nv - 1), range(1, nv + 1))
    tree = model.tree
    # the mass matrix couples a degree of freedom with its ancestors
    pairs = [touch for touch in scene.touches if touch.other is not None]
    coupled: list[set[int]] = [set(path(tree.dof_parent, k)) for k in range(nv)]
    if not pairs:
        return Elimination(tree.dof_parent, [1 + len(row) for row in coupled])
    # a contact between two bodies couples all that move either of them
    at = tree.velocity_slices
    for pair in pairs:
        assert pair.other is not None
        bodies = {j for body in (pair.ball.body, pair.other.body) for j in tree.support(body)}
        moved = sorted(k for j in bodies for k in range(at[j].start, at[j].stop))
        for n, k in enumerate(moved):
            coupled[k].update(moved[:n])
    # symbolic factorization from the tips: fill-in goes to the nearest coupled one
    parents = [-1] * nv
    for k in reversed(range(nv)):
        if coupled[k]:
            parents[k] = max(coupled[k])
            coupled[parents[k]] |= coupled[k] - {parents[k]}
    return Elimination(parents, [1 + len(row) for row in coupled])


@page(joint_space=True)
def contact_forces(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    *rest: Numbers,
    scene: Scene,
    frame: str = "world",
) -> list[Scalar]:
    """Return accelerations, forces, points, gaps, joint forces and the residual.

    After tau come dt, if the scene is rigid, and external forces, if there are some.
    """
    # rigid contact needs the time step
    h = rest[0][0] if scene.rigid else None
    f_ext = rest[scene.rigid] if len(rest) > scene.rigid else None
    found = contact_dynamics(model, tree, q, v, tau, f_ext, scene=scene, frame=frame, h=h)
    return flat_response(found)


def flat_response(found: Response) -> list[Scalar]:
    """Return the results of a response, one after the other, without the memory."""
    forces = [x for force in found.forces for x in force]
    points = [x for point in found.points for x in point]
    return [*found.a, *forces, *points, *found.gaps, *found.joints, found.residual]


def inverse_masses(
    model: Model, q: Numbers
) -> tuple[Callable[[int, Numbers3], float], Callable[[int], float]]:
    """Return the inverse mass at a point of a body, and at a joint coordinate, as functions."""
    tree = model.tree
    # J M^-1 J^T of one point or one joint, by half a solve
    factor, reduce = factor_mass_matrix(ModelOnTree(model, tree), q), _reduction(model)
    places = Places(tree, model.positions(q))

    def at(body: int, place: Numbers3) -> float:
        return float(weights(places, factor, body, places.point(body, place), reduce))

    def at_joint(k: int) -> float:
        y = factor.half([1.0 if i == k else ZERO for i in range(model.nv)])
        return float(sum(a * b for a, b in zip(y, factor.scaled(y), strict=True)))

    return at, at_joint


def _reduction(model: Model) -> Reduce:
    """Return the function that reduces a row over the tree's joints by couplings."""
    tree = model.tree

    def reduce(row: Mapping[int, Scalar]) -> list[Scalar]:
        # forces of all joints, then those of the leading ones
        whole = [row.get(k, ZERO) for k in range(tree.nv)]
        if not model.couplings:
            return whole
        return model.gather({i: whole[tree.velocity_slices[i]] for i in tree.bodies})

    return reduce


# -- the quantity


@dataclass(frozen=True)
class _SceneQuantity(Quantity):
    """A quantity that takes a scene."""

    scene: Scene | None = None

    def options(self, model: Model, arrays: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
        """Return the keywords, the scene among them."""
        return {**super().options(model, arrays, values), "scene": self.scene}


@lru_cache(maxsize=64)
def _row(scene: Scene) -> Quantity:
    n = len(scene.touches)
    # a row of its own for each scene: sizes depend on its contacts
    return _SceneQuantity(
        "contact_forces",
        contact_forces,
        ("nv", f"{n} 3", f"{n} 3", f"{n}", "nv", ""),
        ("q", "v", "tau", *(("dt",) if scene.rigid else ()), "f_ext"),
        frozenset({"f_ext"}),
        {"f_ext_frame": FORCE_FRAMES},
        frozenset(),
        None,
        solves=True,
        scene=scene,
    )


def evaluate_with_scene(
    model: Model, scene: Scene, values: Sequence[Any], frame: Any, backend: Any
) -> tuple[Array, ...]:
    """Return accelerations, forces, points, gaps, joint forces and the residual.

    Args:
        model: the robot.
        scene: what may touch.
        values: q, v, tau, dt if the scene is rigid, and f_ext, which may be None.
        frame: of the external forces.
        backend: as in all quantities.
    """
    found = general(_row(scene), model, values, (frame,), None, backend)
    assert isinstance(found, tuple)
    return found
