"""A robot on a plane as MuJoCo simulates it, to be compared with Sixfold's contacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.dynamics.contact.scene import CapsuleShape, Contact, Plane, Scene, SphereShape
from sixfold.errors import NotApplicableError
from sixfold.formats.mjcf import mujoco_package
from sixfold.interop.mujoco import compile_spec, robot_spec
from sixfold.model import Model
from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.contact.scene import scene_of
from sixfold.simulation.contact.shapes import JointLaw

POINT_RADIUS = 1e-6  #: Of the spheres that stand for points, which MuJoCo does not have [m].
GROUND, POINTS = 1, 2  #: Collision bits of the plane and of what touches it.


def to_mujoco_with_contacts(model: Model, ground: Ground, *, dt: float = 0.002) -> Any:
    """Return a robot on a plane as a `mujoco.MjModel` with elliptic friction cones.

    Contacts are in the order of `contact_forces`.  Joint damping is integrated explicitly, and
    joint limits and dry friction are on where the ground has them.

    Args:
        model: the robot.
        ground: a plane, and what may touch it.
        dt: length of a step [s].

    Raises:
        NotApplicableError: for a ground that is no plane or is rigid, and for robots that MuJoCo
            cannot take.
    """
    mujoco = mujoco_package()
    scene = scene_of("to_mujoco_with_contacts", model, ground)
    if not isinstance(scene.surface, Plane) or scene.rigid:
        where = "a ground that is no plane, or rigid"
        raise NotApplicableError("to_mujoco_with_contacts", where, "pass a soft plane")
    spec, bodies = robot_spec(mujoco, model)
    _add_plane(mujoco, spec, scene)
    for k, touch in enumerate(scene.touches):
        bits = {"contype": POINTS, "conaffinity": 0} if touch.other is None else {}
        _add_shape(mujoco, spec, bodies, f"touch{k}", touch.ball, touch, **bits)
        if touch.other is not None:
            name = f"touched{k}"
            _add_shape(mujoco, spec, bodies, name, touch.other, touch)
            _add_pair(spec, f"touch{k}", name, touch)
    own = {law.joint: law for law in ground.joint_laws}
    for joint in spec.joints:
        usual = JointLaw(joint.name, ground.solref, ground.solimp, ground.solref, ground.solimp)
        law = own.get(joint.name, usual)
        joint.solref_limit, joint.solimp_limit = list(law.limit_solref), list(law.limit_solimp)
        joint.solref_friction = list(law.friction_solref)
        joint.solimp_friction = list(law.friction_solimp)
        joint.margin = law.margin
        if not scene.limits:
            joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        if not scene.frictions:
            joint.frictionloss = 0.0
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = scene.impratio
    spec.option.timestep = dt
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    return compile_spec(mujoco, spec, model)


def _add_plane(mujoco: Any, spec: Any, scene: Scene) -> None:
    normal = np.array(scene.surface.normal)
    axis = np.cross([0.0, 0.0, 1.0], normal)
    turn = np.array([1.0 + normal[2], *axis])
    spec.worldbody.add_geom(
        name="ground",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 1],
        pos=normal * scene.surface.height,
        quat=turn / np.linalg.norm(turn) if turn.any() else [0, 1, 0, 0],
        contype=0,
        conaffinity=POINTS,
        condim=1,
        friction=[0.0, 0.0, 0.0],
        margin=0.0,
    )


def _law(touch: Contact) -> dict[str, Any]:
    """Return the options of a shape, which decides by its priority; margins are added."""
    return {
        "condim": 3 if touch.friction else 1,
        "friction": [touch.friction, 0.0, 0.0],
        "solref": list(touch.law.solref),
        "solimp": list(touch.law.solimp),
        "margin": touch.margin,
        "priority": 1,
    }


def _add_shape(
    mujoco: Any,
    spec: Any,
    bodies: list[Any],
    name: str,
    shape: SphereShape | CapsuleShape,
    touch: Contact,
    **bits: int,
) -> None:
    body = bodies[shape.body - 1] if shape.body else spec.worldbody
    settings = {"name": name, "mass": 0.0, "contype": 0, "conaffinity": 0, **bits}
    settings |= _law(touch)
    if isinstance(shape, SphereShape):
        kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [shape.radius or POINT_RADIUS, 0, 0]
        body.add_geom(type=kind, size=size, pos=shape.center, **settings)
    else:
        ends = [*shape.start, *shape.end]
        kind, size = mujoco.mjtGeom.mjGEOM_CAPSULE, [shape.radius, 0, 0]
        body.add_geom(type=kind, size=size, fromto=ends, **settings)


def _add_pair(spec: Any, first: str, second: str, touch: Contact) -> None:
    friction = touch.friction
    pair = spec.add_pair(geomname1=first, geomname2=second)
    pair.condim = 3 if friction else 1
    pair.friction = [friction, friction, 0.0, 0.0, 0.0]
    pair.solref, pair.solimp = list(touch.law.solref), list(touch.law.solimp)
    pair.margin = touch.margin
