"""A sample robot with legs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sixfold.model.builder import ModelBuilder
from sixfold.model.geometry import Box, Capsule, Geometry, Sphere
from sixfold.model.model import Model
from sixfold.model.standard_joints import Free, Revolute
from sixfold.spatial import Inertia, Transform
from sixfold.spatial.solids import box

LEGS = {"front_left": (1, 1), "front_right": (1, -1), "hind_left": (-1, 1), "hind_right": (-1, -1)}
"""On which side of the trunk each leg is, along x and y."""
THIGH = SHANK = 0.2
FOOT = 0.02
"""Lengths of a leg's parts and radius of a foot [m]."""
_TRUNK_SIZE = (0.4, 0.16, 0.11)
_DARK, _LIGHT, _FOOT_COLOR = (0.2, 0.22, 0.26, 1.0), (0.85, 0.55, 0.2, 1.0), (0.1, 0.1, 0.1, 1.0)


def quadruped() -> Model:
    """A walking robot of 12 kg: a trunk on a floating base, four legs of three joints, ball feet.

    With all angles zero the legs hang straight down; x is forward and z up.  A thigh and a knee at
    (0.8, -1.6) make the robot stand with its trunk 0.30 m above the ground.  Its collision shapes
    are those of feet, trunk, hips and knees, feet first.
    """
    builder = ModelBuilder("quadruped")
    builder.add_body("trunk", joint=Free(), joint_name="root", inertia=box(*_TRUNK_SIZE, mass=6.0))
    hip = Inertia.from_mass(0.6, rotational=(6e-4, 8e-4, 6e-4))
    thigh = Inertia.from_mass(0.75, (0.0, 0.0, -0.04), (4e-3, 4e-3, 6e-4))
    shank = Inertia.from_mass(0.15, (0.0, 0.0, -0.1), (6e-4, 6e-4, 3e-5))
    for leg, (x, y) in LEGS.items():
        places = (0.18 * x, 0.05 * y, 0.0), (0.0, 0.08 * y, 0.0), (0.0, 0.0, -THIGH)
        parts = (
            ("hip", "x", hip, (-0.8, 0.8)),
            ("thigh", "y", thigh, (-1.0, 2.5)),
            ("shank", "y", shank, (-2.6, -0.3)),
        )
        parent = "trunk"
        for place, (part, axis, inertia, (lower, upper)) in zip(places, parts, strict=True):
            builder.add_body(
                f"{leg}_{part}",
                parent=parent,
                joint=Revolute(axis),
                joint_name=f"{leg}_{part}_joint",
                placement=place,
                inertia=inertia,
                lower=lower,
                upper=upper,
                velocity_limit=25.0,
                effort_limit=25.0,
                damping=0.05,
                armature=0.01,
            )
            parent = f"{leg}_{part}"
        builder.add_frame(f"{leg}_foot", f"{leg}_shank", (0.0, 0.0, -SHANK))
    return builder.build(_shapes)


def _shapes(bodies: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the robot looks like; trunk, hips, knees and feet may touch the ground."""
    trunk, rest = bodies["trunk"][0], Transform.identity()
    shapes = [Geometry(trunk, rest, Box(_TRUNK_SIZE), _DARK, link="trunk")]
    touching = [Geometry(trunk, rest, Box(_TRUNK_SIZE), _DARK, link="trunk", collides=True)]
    for leg, (_, y) in LEGS.items():
        k, thigh, shank = (bodies[f"{leg}_{part}"][0] for part in ("hip", "thigh", "shank"))
        side = Transform.translation((0.0, 0.04 * y, 0.0))
        shapes.append(Geometry(k, side, Sphere(0.045), _DARK, link=f"{leg}_hip"))
        touching.append(Geometry(k, side, Sphere(0.045), _DARK, collides=True))
        knee = Transform.translation((0.0, 0.0, -THIGH))
        touching.append(Geometry(thigh, knee, Sphere(0.022), _LIGHT, collides=True))
        for body, length, radius, color in (
            (thigh, THIGH, 0.022, _LIGHT),
            (shank, SHANK, 0.012, _DARK),
        ):
            middle = Transform.translation((0.0, 0.0, -length / 2))
            shapes.append(Geometry(body, middle, Capsule(radius, length), color))
        end = Transform.translation((0.0, 0.0, -SHANK))
        for collides in (False, True):
            foot = Geometry(shank, end, Sphere(FOOT), _FOOT_COLOR, collides=collides)
            shapes.append(foot)
    return {"geometries": (*shapes, *touching)}
