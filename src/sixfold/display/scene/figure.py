"""What a robot looks like: surfaces, stick figures, poses, arrows and the camera."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.display.scene import surfaces as solids
from sixfold.display.scene.surfaces import (
    BASE,
    BODY,
    JOINTS,
    LINK,
    RAIL,
    TIP,
    Array,
    Color,
    Part,
    Triangles,
    join_surfaces,
    limit_triangles,
    merge_parts,
    read_surfaces,
    rgb,
)
from sixfold.errors import SixfoldError
from sixfold.formats import mesh_path
from sixfold.model import (
    Body,
    Box,
    Capsule,
    Cylinder,
    Distance,
    Ellipsoid,
    Geometry,
    Joint,
    Loop,
    Mesh,
    Model,
    Sphere,
)
from sixfold.quantities.configurations import neutral
from sixfold.quantities.kinematics import body_poses
from sixfold.spatial import Transform
from sixfold.spatial.rotations import (
    matrices_to_quaternions,
    quaternion_to_rotation,
    rotation_to_quaternion,
    rotation_to_rpy,
    rpy_to_rotation,
)


def pose_of(X: Transform) -> Array:
    """Return the pose of the frame that a transform leads to, in the coordinates it comes from."""
    return np.array(X.pose(), float)


def quaternions(R: Array) -> Array:
    """Return unit quaternions (x, y, z, w), w >= 0, of rotation matrices (..., 3, 3)."""
    q = matrices_to_quaternions(R)
    return np.where(q[..., 3:] < 0, -q, q)


def wxyz(R: Array) -> Array:
    """Return quaternions of rotation matrices with the scalar first."""
    return np.roll(quaternions(R), 1, axis=-1)


def angles_of(q: Array) -> Array:
    """Return fixed-axis roll, pitch and yaw of a quaternion (x, y, z, w)."""
    return np.array(rotation_to_rpy(quaternion_to_rotation(tuple(q))))


def quaternion_of(angles: Array) -> Array:
    """Return the quaternion (x, y, z, w) of fixed-axis roll, pitch and yaw."""
    found = rotation_to_quaternion(rpy_to_rotation(tuple(map(float, angles))))
    return np.array(found, float)


def turn_between(a: Array, b: Array) -> Array:
    """Return the shortest rotation matrix that takes one unit vector to another."""
    v, c = np.cross(a, b), float(np.dot(a, b))
    if c < -1 + 1e-12:
        # opposite vectors: half a turn about any axis across
        side = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        side /= np.linalg.norm(side)
        return 2 * np.outer(side, side) - np.eye(3)
    # Rodrigues: R = 1 + K + K^2 / (1 + c), with K = cross(v)
    K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + K + K @ K / (1 + c)


def within_limits(model: Model, q: Array) -> Array:
    """Return a configuration with coordinates outside their limits in the middle between them.

    With one limit only, they are put at it.
    """
    low, high = (np.asarray(x, float) for x in (model.lower_position, model.upper_position))
    both = np.isfinite(low) & np.isfinite(high)
    middle = np.where(both, (np.where(both, low, 0.0) + np.where(both, high, 0.0)) / 2, 0.0)
    nearest = np.clip(q, low, np.maximum(low, high))
    return np.where((q >= low) & (q <= high), q, np.where(both, middle, nearest))


def center(body: Body) -> Array:
    """Return the centre of mass in body coordinates; the origin for a body without mass."""
    if not float(body.inertia.m):
        return np.zeros(3)
    return np.array([float(x) for x in body.inertia.center])


def principal(body: Body) -> tuple[Array, Array] | None:
    """Return the pose of the principal axes and the mean squares of distance along each [m^2].

    None for a body without mass.  A moment no mass could have counts as a square of zero.
    """
    mass = float(body.inertia.m)
    if not mass > 0.0:
        return None
    xx, yy, zz, xy, xz, yz = (float(x) for x in body.inertia.about_center)
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    # principal axes as a right-handed frame
    moments, axes = np.linalg.eigh(I)
    if np.linalg.det(axes) < 0:
        axes = -axes
    pose = np.eye(4)
    # mean square along an axis = (sum of moments) / 2 - its own moment, over the mass
    pose[:3, :3], pose[:3, 3] = axes, center(body)
    return pose, np.maximum(moments.sum() / 2 - moments, 0.0) / mass


def box_sides(squares: Array) -> Array:
    """Return the full sides of a uniform box: the mean square along a side is side^2 / 12."""
    return np.sqrt(12.0 * squares)


def ellipsoid_radii(squares: Array) -> Array:
    """Return the half axes of a uniform ellipsoid: the mean square along one is radius^2 / 5."""
    return np.sqrt(5.0 * squares)


Glyph = Callable[[float], Triangles]
THIN = 1e-6


def extent(model: Model) -> float:
    """Return how far the robot reaches at its neutral position [m]; 1 when it is a point."""
    # diagonal of the box around origins, centres of mass and frames
    points = [np.zeros(3), *_points(model)]
    span = np.ptp(np.array(points), axis=0)
    size = float(np.linalg.norm(span))
    return size if size > THIN else 1.0


def stick_figure(model: Model, size: float | None = None) -> tuple[Part, ...]:
    """Return the parts of a stick figure, proportioned to the robot's size [m]."""
    size = extent(model) if size is None else size
    radius = _radius(model, size)
    # rods get thinner towards the tips; joints at one place are nested
    parts = list(_base(model, radius))
    inner = _joints_at_one_place(model)
    for k, body in enumerate(model.bodies):
        r = radius * max(0.55, 0.94 ** _depth(model, k))
        parts += _body(model, k, r, size)
        parts += _joint(body, k, r * 0.8 ** inner[k], size)
    return merge_parts(parts)


# -- the pieces


def _base(model: Model, r: float) -> Iterator[Part]:
    """Yield a foot and rods to the joints that stand on the base."""
    roots = [body for body in model.bodies if body.parent < 0 and body.joint.kind != "free"]
    if not roots:
        return
    up = up_direction(model)
    tallest = max((pose_of(body.placement)[:3, 3] @ up for body in roots), default=0.0)
    middle = np.mean([p @ up for p in _points(model)])
    # a robot that hangs from its base has the foot above
    below = -1.0 if middle >= -THIN or tallest > THIN else 1.0
    foot = solids.frustum(4.2 * r, 3.2 * r, 1.6 * r)
    yield Part(-1, foot.transform(solids.pose_along(-below * up, below * up * 0.8 * r)), BASE)
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
    # rods go to joints of children and to places where loops close; else to tips
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
            yield Part(k, ball.transform(_at(at)), JOINTS.get(each.joint.kind, BASE))
    for tip in tips:
        yield Part(k, solids.sphere(1.9 * r).transform(_at(tip)), TIP)
    mass = principal(body)
    if mass is not None and (body.joint.kind == "free" or not (ends or tips)):
        pose, squares = mass
        sides = np.clip(box_sides(squares), 1.5 * r, 0.6 * size)
        yield Part(k, solids.box(sides).transform(pose), BODY)


def _joint(body: Body, k: int, r: float, size: float) -> Iterator[Part]:
    """Yield the glyph of a joint and the rail that a sliding one runs on."""
    kind = body.joint.kind
    if kind == "free":
        return
    along = _along(body.joint)
    color = JOINTS.get(kind, JOINTS["customjoint"])
    yield Part(
        k, GLYPHS.get(kind, _diamond)(r).transform(solids.pose_along(along, np.zeros(3))), color
    )
    if kind in SLIDING:
        # a rail as long as the limits, or as usual where there are none
        ends = np.array([body.lower[SLIDING[kind]], body.upper[SLIDING[kind]]])
        usual = np.array([-0.3 * size, 0.3 * size])
        low, high = np.where(np.isfinite(ends), np.clip(ends, -size, size), usual)
        low, high = (low, high) if high - low > r else usual
        rail = solids.rod(along * low, along * high, 0.55 * r)
        yield Part(body.parent, rail.transform(pose_of(body.placement)), RAIL)


#: Joints that run along a rail, and which of their coordinates does.
SLIDING = {"prismatic": 0, "cylindrical": 1}


def _drum(r: float) -> Triangles:
    rims = [solids.cylinder(2.35 * r, 0.7 * r).transform(_at((0, 0, s * 2.1 * r))) for s in (-1, 1)]
    return join_surfaces([solids.cylinder(2.0 * r, 4.9 * r), *rims])


def _slider(r: float) -> Triangles:
    return solids.box((4.2 * r, 4.2 * r, 6.0 * r))


def _screw(r: float) -> Triangles:
    rings = [solids.cylinder(2.3 * r, 0.6 * r).transform(_at((0, 0, z * r))) for z in (-2, 0, 2)]
    return join_surfaces([solids.cylinder(1.3 * r, 6.5 * r), *rings])


def _collar(r: float) -> Triangles:
    return join_surfaces([solids.cylinder(1.2 * r, 8.0 * r), solids.cylinder(2.3 * r, 3.2 * r)])


def _plate(r: float) -> Triangles:
    return join_surfaces([solids.box((9 * r, 9 * r, 0.9 * r)), solids.cylinder(2.0 * r, 2.4 * r)])


def _cross(r: float) -> Triangles:
    bar = solids.cylinder(1.1 * r, 6.0 * r)
    return join_surfaces(
        [bar.transform(solids.pose_along(np.eye(3)[axis], np.zeros(3))) for axis in (0, 1)]
    )


def _ball(r: float) -> Triangles:
    return solids.sphere(2.6 * r)


def _gantry(r: float) -> Triangles:
    bar = solids.cylinder(0.6 * r, 8.0 * r)
    bars = [bar.transform(solids.pose_along(np.eye(3)[axis], np.zeros(3))) for axis in range(3)]
    return join_surfaces([solids.box((3.4 * r,) * 3), *bars])


def _diamond(r: float) -> Triangles:
    return solids.revolve([(0.0, -3.0 * r), (2.6 * r, 0.0), (0.0, 3.0 * r)], 4)


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
    # short links get thinner rods, so that joints do not hide them
    lengths = [float(np.linalg.norm(pose_of(b.placement)[:3, 3])) for b in model.bodies]
    long = [length for length in lengths if length > 0.02 * size]
    return min(0.016 * size, 0.075 * float(np.median(long))) if long else 0.016 * size


def _depth(model: Model, k: int) -> int:
    depth = 0
    while model.parent[k] >= 0:
        k, depth = model.parent[k], depth + 1
    return depth


def _joints_at_one_place(model: Model) -> list[int]:
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


SOLIDS: dict[type, Callable[[Any], Triangles]] = {
    Box: lambda s: solids.box(s.size),
    Sphere: lambda s: solids.sphere(s.radius),
    Cylinder: lambda s: solids.cylinder(s.radius, s.length),
    Capsule: lambda s: solids.capsule(s.radius, s.length),
    Ellipsoid: lambda s: solids.ellipsoid(s.radii),
}


@dataclass(frozen=True, eq=False)
class Figure:
    """The surfaces of a robot."""

    parts: tuple[Part, ...]
    size: float  #: Extent of the robot [m].
    notes: tuple[str, ...] = ()  #: What could not be drawn, and why.
    is_sticks: bool = False


def figure(model: Model, *, collision: bool = False, budget: int = 300_000) -> Figure:
    """Return the picture of a robot.

    Args:
        model: the robot; its meshes are looked for as `sixfold.formats.mesh_path` allows.
        collision: draw the shapes meant for collisions instead of those for the eye.
        budget: thin out meshes until there are at most this many triangles.

    Meshes that cannot be read are left out and noted; without any shape a stick figure is drawn.
    """
    size = extent(model)
    shown = [g for g in model.geometries if g.collides == collision]
    if not shown and not collision:
        shown = [g for g in model.geometries if g.collides]
    parts, notes = _shapes(model, shown)
    if not parts:
        return Figure(stick_figure(model, size), size, notes, is_sticks=True)
    return Figure(limit_triangles(merge_parts(parts), size, budget), size, notes)


def _shapes(model: Model, geometries: list[Geometry]) -> tuple[list[Part], tuple[str, ...]]:
    parts: list[Part] = []
    notes: list[str] = []
    known: dict[Path, list[tuple[Triangles, Color | None]]] = {}
    for geometry in geometries:
        try:
            # a mesh that cannot be read is a note, not the end of the picture
            surfaces = _surfaces(model, geometry, known)
        except SixfoldError as error:
            notes.append(str(error).splitlines()[0])
            continue
        own = rgb(geometry.color) if geometry.color else None
        opacity = float(geometry.color[3]) if geometry.color and len(geometry.color) > 3 else 1.0
        pose = pose_of(geometry.placement)
        for surface, color in surfaces:
            # a mesh with materials knows its colours better than the one that the file gives it
            shade = color or own or BODY
            parts.append(Part(geometry.body, surface.transform(pose), shade, opacity or 1.0))
    return parts, tuple(dict.fromkeys(notes))


def _surfaces(
    model: Model, geometry: Geometry, known: dict[Path, list[tuple[Triangles, Color | None]]]
) -> list[tuple[Triangles, Color | None]]:
    shape = geometry.shape
    if not isinstance(shape, Mesh):
        return [(SOLIDS[type(shape)](shape), None)]
    path = mesh_path(model, shape)
    if path not in known:
        known[path] = read_surfaces(path)
    stretch = np.diag([*(float(x) for x in shape.scale), 1.0])
    return [(surface.transform(stretch), color) for surface, color in known[path]]


#: Longest arrow over that of the usual force: impacts push far harder than what stands.
LONGEST = 2.5


def usual_force(forces: Array) -> float:
    """Return the median size of the forces of a motion that push [N]; 1 if none does."""
    sizes = np.linalg.norm(forces, axis=-1).reshape(-1)
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if len(sizes) else 1.0


def force_arrows(points: Array, forces: Array, usual: float, length: float) -> Array:
    """Return start and end of the arrow of each force, (..., 2, 3).

    Args:
        points: where they act [m], shape (..., 3).
        forces: in world axes [N], shape (..., 3).
        usual: force whose arrow has the length given [N]; others are as long as they are large.
        length: of its arrow [m].
    """
    # impacts are cut to the longest arrow, which keeps its direction
    share = np.linalg.norm(forces, axis=-1, keepdims=True) / usual
    cut = np.minimum(1.0, LONGEST / np.maximum(share, LONGEST))
    return np.stack([points, points + forces * (cut * length / usual)], axis=-2)


SIDE = np.radians(38.0)
HEIGHT = np.radians(17.0)
DISTANCE = 2.85  #: From the eye to the middle, in radii of the scene.


@dataclass(frozen=True, eq=False)
class Stage:
    """The frame of a picture; all in world coordinates."""

    up: Array
    center: Array
    radius: float
    ground: float  #: Height of the ground along up [m].
    eye: Array
    follows: int = -1  #: A body that roams, which the eye should go along with; -1 for none.

    @property
    def turn(self) -> Array:
        """Rotation that takes z to up."""
        return turn_between(np.array([0.0, 0.0, 1.0]), self.up)


def stage(
    model: Model,
    parts: Sequence[Part],
    q: Array,
    *,
    follow: bool = False,
    contacts: Array | None = None,
) -> Stage:
    """Return the frame that holds a robot at configurations (..., nq).

    The ground is where it lies in the world: at height 0, or at the lowest contact.  Below a robot
    that hangs from the world's origin it is at the lowest point of its rest, whatever it does.

    Args:
        model: the robot.
        parts: its surfaces.
        q: configurations.
        follow: the eye goes along with a free base, which is framed where it first is.
        contacts: points (n, 3) where the robot touches the ground.
    """
    # boxes of all parts at all configurations, in axes with z up
    poses = body_poses(model, q.reshape(-1, model.nq))
    corners = [_corners(part, poses) for part in parts] or [np.zeros((1, 1, 3))]
    up = up_direction(model)
    turn = turn_between(np.array([0.0, 0.0, 1.0]), up)
    local = [points @ turn for points in corners]
    roams = bool(model.nb) and model.bodies[0].joint.kind == "free"
    free = follow and roams
    # a base that roams: only the first pose tells the robot's size
    framed = np.concatenate([(x[:1] if free else x).reshape(-1, 3) for x in local])
    middle = (framed.min(axis=0) + framed.max(axis=0)) / 2
    radius = float(np.linalg.norm(framed - middle, axis=1).max()) * (1.25 if free else 1.0)
    radius = max(radius, 1e-6)
    if contacts is not None and len(contacts):
        ground = float((contacts @ turn)[:, 2].min())
    else:
        at = poses[:1] if roams else body_poses(model, neutral(model))[None]
        ground = _rest([_corners(part, at) @ turn for part in parts])
    center = turn @ middle
    eye = center + DISTANCE * radius * _gaze(model, turn, poses)
    return Stage(up, center, radius, ground, eye, 0 if free else -1)


def _rest(corners: Sequence[Array]) -> float:
    """Return height 0; the lowest point of a robot that for the greater part lies below it."""
    heights = np.concatenate([points[..., 2].reshape(-1) for points in corners] or [np.zeros(1)])
    low, high = float(heights.min()), float(heights.max())
    return low if low + high < -0.1 * (high - low) else 0.0


def _corners(part: Part, poses: Array) -> Array:
    """Return the corners of a part's box at all poses, shape (n, 8, 3)."""
    low, high = part.surface.vertices.min(axis=0), part.surface.vertices.max(axis=0)
    unit = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    # eight corners of the part's box, moved with its body
    corners = low + unit * (high - low)
    if part.body < 0:
        return corners[None]
    pose = poses[:, part.body]
    return np.einsum("nij,cj->nci", pose[:, :3, :3], corners) + pose[:, None, :3, 3]


def _gaze(model: Model, turn: Array, poses: Array) -> Array:
    """Return the direction from the middle to the eye: onto the plane of a planar robot."""
    side, height = SIDE, HEIGHT
    start = turn @ np.array([1.0, 0.0, 0.0])
    axis = _common_axis(model, poses[0])
    if axis is not None and abs(axis @ turn[:, 2]) < 0.1:
        # most of what moves lies across the axis: look along it, a little from the side
        start, side, height = axis, np.radians(-18.0), np.radians(9.0)
    # a direction in the horizontal plane, turned to the side and raised
    level = start - turn[:, 2] * (start @ turn[:, 2])
    level /= np.linalg.norm(level)
    across = np.cross(turn[:, 2], level)
    return (
        np.cos(height) * (np.cos(side) * level + np.sin(side) * across)
        + np.sin(height) * turn[:, 2]
    )


def _common_axis(model: Model, poses: Array) -> Array | None:
    """Return the direction that all turning joints share."""
    axes = [
        pose[:3, :3] @ np.array([float(x) for x in body.joint.axis])  # type: ignore[attr-defined]
        for body, pose in zip(model.bodies, poses, strict=True)
        if body.joint.kind == "revolute"
    ]
    if not axes or any(body.joint.nv > 1 for body in model.bodies):
        return None
    # of the two directions of an axis the one with the larger positive element
    first = axes[0] * np.sign(axes[0][np.argmax(np.abs(axes[0]))])
    return first if all(abs(axis @ first) > 0.999 for axis in axes) else None
