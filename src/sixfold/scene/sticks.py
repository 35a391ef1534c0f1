"""A stick figure: rods between joints, and each joint drawn by its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sixfold.evaluate import body_poses, neutral
from sixfold.model import Body, Distance, Joint, Loop, Model
from sixfold.scene import solids
from sixfold.scene.colors import BASE, BODY, JOINTS, LINK, RAIL, TIP
from sixfold.scene.masses import box_sides, center, principal
from sixfold.scene.parts import Part, grouped
from sixfold.scene.poses import pose_of
from sixfold.scene.triangles import Array, Triangles, joined

Glyph = Callable[[float], Triangles]
THIN = 1e-6


def extent(model: Model) -> float:
    """Return how far the robot reaches at its neutral position [m]; 1 when it is a point."""
    points = [np.zeros(3), *_points(model)]
    span = np.ptp(np.array(points), axis=0)
    size = float(np.linalg.norm(span))
    return size if size > THIN else 1.0


def stick_figure(model: Model, size: float | None = None) -> tuple[Part, ...]:
    """Return the parts of a stick figure, proportioned to the robot's size [m]."""
    size = extent(model) if size is None else size
    radius = _radius(model, size)
    parts = list(_base(model, radius))
    inner = _nested(model)
    for k, body in enumerate(model.bodies):
        r = radius * max(0.55, 0.94 ** _depth(model, k))
        parts += _body(model, k, r, size)
        parts += _joint(body, k, r * 0.8 ** inner[k], size)
    return grouped(parts)


# -- the pieces


def _base(model: Model, r: float) -> Iterator[Part]:
    """Yield a foot and rods to the joints that stand on the base."""
    roots = [body for body in model.bodies if body.parent < 0 and body.joint.kind != "free"]
    if not roots:
        return
    up = up_direction(model)
    tallest = max((pose_of(body.placement)[:3, 3] @ up for body in roots), default=0.0)
    middle = np.mean([p @ up for p in _points(model)])
    below = -1.0 if middle >= -THIN or tallest > THIN else 1.0
    foot = solids.frustum(4.2 * r, 3.2 * r, 1.6 * r)
    yield Part(-1, foot.moved(solids.pose_along(-below * up, below * up * 0.8 * r)), BASE)
    for body in roots:
        end = pose_of(body.placement)[:3, 3]
        if np.linalg.norm(end) > 0.5 * r:
            yield Part(-1, solids.rod(np.zeros(3), end, 1.5 * r, 1.2 * r), BASE)


def _closings(model: Model, k: int) -> list[Array]:
    """Return the points of a body where loops close and rods end."""
    found = []
    for each in model.constraints:
        if isinstance(each, Loop):
            sides = ((each.body_a, each.placement_a), (each.body_b, each.placement_b))
            found += [pose_of(X)[:3, 3] for body, X in sides if body == k]
        elif isinstance(each, Distance):
            ends = ((each.body_a, each.point_a), (each.body_b, each.point_b))
            found += [np.array(p, float) for body, p in ends if body == k]
    return found


def _body(model: Model, k: int, r: float, size: float) -> Iterator[Part]:
    """Yield rods from a body's origin to all that it carries, or to its tip."""
    children = [body for body in model.bodies if body.parent == k]
    ends = [pose_of(child.placement)[:3, 3] for child in children] + _closings(model, k)
    body = model.bodies[k]
    tips: list[Array] = []
    if not ends:
        tips = [pose_of(f.placement)[:3, 3] for f in model.frames if f.body == k] or [center(body)]
        tips = [p for p in tips if np.linalg.norm(p) > 0.01 * size]
    for end in (*ends, *tips):
        if np.linalg.norm(end) > 0.5 * r:
            yield Part(k, solids.rod(np.zeros(3), end, 1.05 * r, 0.8 * r), LINK)
    for each in model.constraints:
        if isinstance(each, Loop) and each.body_b == k:
            ball, at = solids.sphere(1.8 * r), pose_of(each.placement_b)[:3, 3]
            yield Part(k, ball.moved(_at(at)), JOINTS.get(each.joint.kind, BASE))
    for tip in tips:
        yield Part(k, solids.sphere(1.9 * r).moved(_at(tip)), TIP)
    mass = principal(body)
    if mass is not None and (body.joint.kind == "free" or not (ends or tips)):
        pose, squares = mass
        sides = np.clip(box_sides(squares), 1.5 * r, 0.6 * size)
        yield Part(k, solids.box(sides).moved(pose), BODY)


def _joint(body: Body, k: int, r: float, size: float) -> Iterator[Part]:
    """Yield the glyph of a joint and the rail that a sliding one runs on."""
    kind = body.joint.kind
    if kind == "free":
        return
    along = _along(body.joint)
    color = JOINTS.get(kind, JOINTS["customjoint"])
    yield Part(k, GLYPHS.get(kind, _diamond)(r).moved(solids.pose_along(along, np.zeros(3))), color)
    if kind in SLIDING:
        ends = np.array([body.lower[SLIDING[kind]], body.upper[SLIDING[kind]]])
        usual = np.array([-0.3 * size, 0.3 * size])
        low, high = np.where(np.isfinite(ends), np.clip(ends, -size, size), usual)
        low, high = (low, high) if high - low > r else usual
        rail = solids.rod(along * low, along * high, 0.55 * r)
        yield Part(body.parent, rail.moved(pose_of(body.placement)), RAIL)


SLIDING = {"prismatic": 0, "cylindrical": 1}
"""Joints that run along a rail, and which of their coordinates does."""


def _drum(r: float) -> Triangles:
    rims = [solids.cylinder(2.35 * r, 0.7 * r).moved(_at((0, 0, s * 2.1 * r))) for s in (-1, 1)]
    return joined([solids.cylinder(2.0 * r, 4.9 * r), *rims])


def _slider(r: float) -> Triangles:
    return solids.box((4.2 * r, 4.2 * r, 6.0 * r))


def _screw(r: float) -> Triangles:
    rings = [solids.cylinder(2.3 * r, 0.6 * r).moved(_at((0, 0, z * r))) for z in (-2, 0, 2)]
    return joined([solids.cylinder(1.3 * r, 6.5 * r), *rings])


def _collar(r: float) -> Triangles:
    return joined([solids.cylinder(1.2 * r, 8.0 * r), solids.cylinder(2.3 * r, 3.2 * r)])


def _plate(r: float) -> Triangles:
    return joined([solids.box((9 * r, 9 * r, 0.9 * r)), solids.cylinder(2.0 * r, 2.4 * r)])


def _cross(r: float) -> Triangles:
    bar = solids.cylinder(1.1 * r, 6.0 * r)
    return joined([bar.moved(solids.pose_along(np.eye(3)[axis], np.zeros(3))) for axis in (0, 1)])


def _ball(r: float) -> Triangles:
    return solids.sphere(2.6 * r)


def _gantry(r: float) -> Triangles:
    bar = solids.cylinder(0.6 * r, 8.0 * r)
    bars = [bar.moved(solids.pose_along(np.eye(3)[axis], np.zeros(3))) for axis in range(3)]
    return joined([solids.box((3.4 * r,) * 3), *bars])


def _diamond(r: float) -> Triangles:
    return solids.turned([(0.0, -3.0 * r), (2.6 * r, 0.0), (0.0, 3.0 * r)], 4)


GLYPHS: dict[str, Glyph] = {
    "revolute": _drum,
    "prismatic": _slider,
    "helical": _screw,
    "cylindrical": _collar,
    "planar": _plate,
    "universal": _cross,
    "spherical": _ball,
    "translational": _gantry,
}


# -- measures


def up_direction(model: Model) -> Array:
    """Return the unit vector against gravity; z without gravity."""
    g = np.array(model.gravity)
    size = np.linalg.norm(g)
    return -g / size if size > 0 else np.array([0.0, 0.0, 1.0])


def _points(model: Model) -> list[Array]:
    """Return origins, centres of mass and frames at the neutral position, in the world."""
    poses = [*body_poses(model, neutral(model)), np.eye(4)]
    marks = [(k, np.zeros(3)) for k in range(model.nb)]
    marks += [(k, center(body)) for k, body in enumerate(model.bodies)]
    marks += [(frame.body, pose_of(frame.placement)[:3, 3]) for frame in model.frames]
    # the base is body -1: the last pose
    return [poses[k][:3, :3] @ p + poses[k][:3, 3] for k, p in marks]


def _radius(model: Model, size: float) -> float:
    """Return the radius of rods: a share of the robot, and of its links where these are short."""
    lengths = [float(np.linalg.norm(pose_of(b.placement)[:3, 3])) for b in model.bodies]
    long = [length for length in lengths if length > 0.02 * size]
    return min(0.016 * size, 0.075 * float(np.median(long))) if long else 0.016 * size


def _depth(model: Model, k: int) -> int:
    depth = 0
    while model.parent[k] >= 0:
        k, depth = model.parent[k], depth + 1
    return depth


def _nested(model: Model) -> list[int]:
    """Return how many joints before each one lie at the same place."""
    counts: list[int] = []
    for body in model.bodies:
        near = np.linalg.norm(pose_of(body.placement)[:3, 3]) < THIN
        counts.append(counts[body.parent] + 1 if near and body.parent >= 0 else 0)
    return counts


def _along(joint: Joint) -> Array:
    axis = getattr(joint, "axis", None)
    return np.array([0.0, 0.0, 1.0]) if axis is None else np.array([float(x) for x in axis])


def _at(point: Array | tuple[float, float, float]) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose
