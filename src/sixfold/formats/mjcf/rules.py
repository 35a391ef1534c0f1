"""What of an MJCF file reaches the compiler: its elements and attributes by name."""

from __future__ import annotations

SECTIONS = {
    "actuator": "motors push nothing here: pass joint forces as tau",
    "contact": "bodies touch where they are told to: pairs by sixfold.Ground.from_mjcf",
    "custom": "data of the user",
    "deformable": "bodies are rigid here",
    "extension": "plugins",
    "keyframe": "stored states",
    "sensor": "sensors",
    "tendon": "tendons pull nothing here",
}
"""Sections with no counterpart, and what that means."""
PICTURE = frozenset({"visual", "statistic", "size"})
"""Sections that say nothing about motion."""
LOOKS = frozenset({"camera", "light", "texture", "hfield", "skin", "layer"})
"""Elements that only a picture needs."""
DEFAULTS = frozenset({"default", "equality", "geom", "joint", "material", "mesh", "site"})
"""What is kept of a class of defaults."""
EQUALITIES = frozenset({"connect", "weld", "joint"})
"""Equality constraints that become loops and gears."""
FLAGS = frozenset(
    {"constraint", "equality", "gravity", "passive", "spring", "damper", "frictionloss"}
)
OPTIONS = frozenset({"gravity", "timestep", "density", "viscosity", "wind", "impratio"})
CONTACT = {
    **{"friction": 3, "solref": 2, "solimp": 5, "solmix": 1},
    **{"gap": 1, "priority": 1, "condim": 1, "margin": 1},
}
"""Attributes of a geom that only contact needs, and how many numbers each has at most."""
WATCHED = frozenset({"option", "body", "joint", "tendon", "actuator"})
"""Elements and sections whose attributes are remembered with their first places."""
COMPILER_SKIPPED = frozenset(
    {"fusestatic", "discardvisual", "usethread", "meshdir", "texturedir", "assetdir", "strippath"}
)
_NUMBERS = """
pos quat axisangle xyaxes zaxis euler axis fromto size mass density diaginertia fullinertia
range ref springref springdamper stiffness damping armature frictionloss gravity timestep
viscosity wind gravcomp scale refpos refquat vertex rgba offset count settotalmass boundmass
boundinertia fitscale margin group actuatorfrcrange inertiagrouprange params anchor
relpose torquescale polycoef impratio
"""
NUMBERS = frozenset(_NUMBERS.split())
"""Attributes whose value is a list of finite numbers, wherever they stand."""
