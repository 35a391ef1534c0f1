"""Sample robots with closed loops; at the neutral configuration all loops are closed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sixfold.model.builder import ModelBuilder
from sixfold.model.model import Model
from sixfold.model.standard_joints import Free, Prismatic, Revolute, Spherical, Universal
from sixfold.spatial import Inertia, Matrix3, Transform, Vector3
from sixfold.spatial.solids import box, cylinder

Point = tuple[float, float, float]


def four_bar_leg() -> Model:
    """A pelvis on a floating base with one leg, whose knee is driven by a crank and a rod."""
    builder = ModelBuilder("four_bar_leg")
    builder.add_body("pelvis", joint=Free(), inertia=box(0.2, 0.3, 0.15, mass=12.0))
    builder.add_body(
        "hip_roll",
        parent="pelvis",
        joint=Revolute("x"),
        placement=(0.0, 0.1, -0.05),
        inertia=Inertia.from_mass(1.5, (0.0, 0.02, -0.02), (3e-3, 3e-3, 2e-3)),
    )
    builder.add_body(
        "hip_yaw",
        parent="hip_roll",
        joint=Revolute("z"),
        placement=(0.0, 0.0, -0.06),
        inertia=Inertia.from_mass(1.2, (0.01, 0.0, -0.03), (2e-3, 2e-3, 2e-3)),
    )
    builder.add_body(
        "thigh",
        parent="hip_yaw",
        joint=Revolute("y"),
        placement=(0.0, 0.0, -0.07),
        inertia=Inertia.from_mass(4.0, (0.01, 0.01, -0.18), (0.06, 0.06, 8e-3)),
    )
    knee: Point = (0.0, 0.0, -0.4)
    motor: Point = (0.04, 0.02, -0.08)
    crank_pin: Point = (0.05, 0.02, -0.03)  # in crank coordinates, which are the thigh's, moved
    lever_pin: Point = (0.07, 0.035, 0.03)  # in shin coordinates
    builder.add_body(
        "crank",
        parent="thigh",
        joint=Revolute("y"),
        placement=motor,
        inertia=Inertia.from_mass(0.3, (0.02, 0.01, -0.01), (3e-4, 4e-4, 3e-4)),
    )
    builder.add_body(
        "shin",
        parent="thigh",
        joint=Revolute("y"),
        placement=knee,
        inertia=Inertia.from_mass(1.5, (0.01, 0.0, -0.17), (0.025, 0.025, 1e-3)),
    )
    start, end = _plus(motor, crank_pin), _plus(knee, lever_pin)
    length = math.dist(start, end)
    builder.add_body(
        "rod",
        parent="crank",
        joint=Universal(),
        placement=_toward(crank_pin, _minus(end, motor)),
        inertia=_bar(0.25, length, 0.008),
    )
    builder.add_body(
        "foot",
        parent="shin",
        joint=Revolute("y"),
        placement=(0.0, 0.0, -0.4),
        inertia=Inertia.from_mass(0.5, (0.04, 0.0, -0.02), (4e-4, 1.5e-3, 1.5e-3)),
    )
    builder.add_frame("sole", "foot", (0.03, 0.0, -0.04))
    builder.close("rod", "shin", Spherical(), (0.0, 0.0, length), lever_pin, name="knee rod")
    return builder.build()


def delta() -> Model:
    """A Delta robot: three arms, each with two rods between ball joints, carry a platform."""
    builder = ModelBuilder("delta")
    height, base, reach, plate, spread = 0.55, 0.2, 0.3, 0.06, 0.05
    builder.add_body("platform", joint=Free(), inertia=cylinder(0.08, 0.02, mass=0.4))
    for k in range(3):
        turn = 2 * math.pi / 3 * k
        builder.add_body(
            f"arm{k + 1}",
            joint=Revolute("y"),
            placement=Transform.from_rpy((0.0, 0.0, turn), _around(turn, (base, 0.0, height))),
            inertia=Inertia.from_mass(0.9, (0.14, 0.0, 0.0), (4e-4, 9e-3, 9e-3)),
        )
        for side, name in ((spread, "left"), (-spread, "right")):
            elbow, end = (reach, side, 0.0), (plate, side, 0.0)
            target = _minus(end, (base, 0.0, height))  # on the platform, in arm coordinates
            length = math.dist(elbow, target)
            rod = f"{name}_rod{k + 1}"
            builder.add_body(
                rod,
                parent=f"arm{k + 1}",
                joint=Universal(),
                placement=_toward(elbow, target),
                inertia=_bar(0.1, length, 0.005),
            )
            builder.close(rod, "platform", Spherical(), (0.0, 0.0, length), _around(turn, end))
    return builder.build()


def gripper() -> Model:
    """A gripper on a lift and a wrist; parallelograms keep both of its fingers upright."""
    builder = ModelBuilder("gripper")
    builder.add_body("lift", joint=Prismatic("z"), inertia=box(0.1, 0.1, 0.05, mass=1.5))
    builder.add_body(
        "palm",
        parent="lift",
        joint=Revolute("z"),
        joint_name="wrist",
        placement=(0.0, 0.0, 0.06),
        inertia=Inertia.from_mass(0.8, (0.0, 0.0, 0.02), (8e-4, 1e-3, 1e-3)),
    )
    for sign, side in ((1.0, "left"), (-1.0, "right")):
        # both links of a finger point the same way: a parallelogram
        along, across = (0.05 * sign, 0.0, 0.06), (0.03 * sign, 0.0, -0.01)
        pivot: Point = (0.02 * sign, 0.0, 0.05)
        middle = (0.025 * sign, 0.0, 0.03)
        for link, place in (("driver", pivot), ("follower", _plus(pivot, across))):
            builder.add_body(
                f"{side}_{link}",
                parent="palm",
                joint=Revolute("y"),
                placement=place,
                inertia=Inertia.from_mass(0.06, middle, (4e-5, 6e-5, 3e-5)),
            )
        builder.add_body(
            f"{side}_tip",
            parent=f"{side}_driver",
            joint=Revolute("y"),
            placement=along,
            inertia=Inertia.from_mass(0.05, (0.01 * sign, 0.0, 0.03), (3e-5, 3e-5, 1e-5)),
        )
        builder.close(f"{side}_tip", f"{side}_follower", Revolute("y"), across, along)
    return builder.build()


def stewart() -> Model:
    """A Stewart platform: six legs that slide, universal joints below and ball joints above."""
    builder = ModelBuilder("stewart")
    depth, barrel = 0.8, 0.45
    builder.add_body("platform", joint=Free(), inertia=cylinder(0.35, 0.04, mass=8.0))
    for k in range(6):
        # pairs of legs start close together and end beside legs of other pairs
        pair, sign = 2 * math.pi / 3 * (k // 2), 1 if k % 2 else -1
        foot = _around(pair + sign * 0.2, (0.6, 0.0, -depth))
        head = _around(pair + sign * (math.pi / 3 - 0.2), (0.35, 0.0, -0.02))
        length = math.dist(foot, head)
        builder.add_body(
            f"barrel{k + 1}",
            joint=Universal(),
            joint_name=f"foot{k + 1}",
            placement=_toward(foot, head),
            inertia=_bar(1.2, barrel, 0.03),
        )
        builder.add_body(
            f"piston{k + 1}",
            parent=f"barrel{k + 1}",
            joint=Prismatic("z"),
            joint_name=f"leg{k + 1}",
            placement=(0.0, 0.0, length - barrel),
            inertia=_bar(0.6, barrel, 0.015),
        )
        end = (0.0, 0.0, barrel)
        builder.close(f"piston{k + 1}", "platform", Spherical(), end, head)
    return builder.build()


def _bar(mass: float, length: float, radius: float) -> Inertia:
    """Return the inertia of a round bar along z that starts at the origin."""
    middle = Transform.translation((0.0, 0.0, length / 2))
    return (middle.T @ cylinder(radius, length, mass=mass) @ middle).map(float)


def _toward(start: Point, end: Point) -> Transform:
    """Return the transform to a frame at one point whose z axis goes to another."""
    way = _minus(end, start)
    size = math.sqrt(sum(x * x for x in way))
    z = Vector3(*(x / size for x in way))
    side = Vector3(0.0, 1.0, 0.0).cross(z)
    x = side / math.sqrt(float(side.dot(side)))
    return Transform(Matrix3(x, z.cross(x), z), Vector3(*start))


def _around(turn: float, p: Point) -> Point:
    """Return a point turned about z."""
    c, s = math.cos(turn), math.sin(turn)
    return (c * p[0] - s * p[1], s * p[0] + c * p[1], p[2])


def _plus(a: Sequence[float], b: Sequence[float]) -> Point:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _minus(a: Sequence[float], b: Sequence[float]) -> Point:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])
