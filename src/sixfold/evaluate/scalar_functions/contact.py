"""Motion under contact as a function of flat lists of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

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
from sixfold.evaluate.scalar_functions.constraints import rows_of
from sixfold.evaluate.scalar_functions.free_motion import factor as factor_of
from sixfold.evaluate.scalar_functions.free_motion import free_motion
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
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
    """Accelerations and contact forces.

    Mass matrix and bias are those of `tree`, which may be the reduced one; places of contact are
    taken on the model's own.
    """
    if scene.frictions:
        still = tuple(Column.zero(len(each)) for each in tree.friction)
        tree = replace(tree, friction=still, friction_negative=still)
    loaded = scene.bodies(tree) | constrained.loaded_bodies(model.constraints)
    motion = free_motion(model, tree, q, v, tau, f_ext, frame, loaded)
    places = Places(model.tree, model.positions(q))
    gravity = model.tree.gravity.lin
    reduce = _reduction(model)
    space = JointSpace(places, scene.grounded - {0})
    qd = model.velocities(v)
    at = ContactState(q, v, qd, places, space, space.twists(qd), reduce, gravity, h)
    loops = None
    if model.constraints:
        rows = rows_of(model, tree, q, v)
        loops = Loops([row.J for row in rows], [-row.gamma for row in rows])
    # contacts with the ground keep the sparsity of the mass matrix; pairs of bodies do not
    sparse = not model.couplings and all(touch.other is None for touch in scene.touches)
    coordinates = CoordinateMap(
        model.velocities,
        lambda row: reduce(dict(enumerate(row))),
        motion.factor.parent if sparse else range(-1, model.nv - 1),
    )
    return contact_response(scene, at, motion, coordinates, loops)


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
    """Accelerations, forces, points, gaps, joint forces and the residual.

    After tau come dt, if the scene is rigid, and external forces, if there are some.
    """
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
) -> tuple[Callable[[int, Numbers3], float], list[float]]:
    """Return how light a body's point feels, as a function, and how light each freedom feels."""
    tree = model.tree
    factor, reduce = factor_of(model, tree, q), _reduction(model)
    places = Places(tree, model.positions(q))

    def at(body: int, place: Numbers3) -> float:
        return float(weights(places, factor, body, places.point(body, place), reduce))

    freedoms = []
    for k in range(model.nv):
        y = factor.half([1.0 if i == k else ZERO for i in range(model.nv)])
        freedoms.append(float(sum(a * b for a, b in zip(y, factor.scaled(y), strict=True))))
    return at, freedoms


def _reduction(model: Model) -> Reduce:
    """Return what makes a row over the coordinates of a model of one over its tree's freedoms."""
    tree = model.tree

    def reduce(row: Mapping[int, Scalar]) -> list[Scalar]:
        whole = [row.get(k, ZERO) for k in range(tree.nv)]
        if not model.couplings:
            return whole
        return model.gather({i: whole[tree.velocity_slices[i]] for i in tree.bodies})

    return reduce
