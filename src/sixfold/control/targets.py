"""Targets of inverse kinematics: where frames, the centre of mass and joints should be.

Every target has a weight [1/m or 1/rad] and a priority.  Targets of one priority are met together,
as well as their weights allow; those of a higher number only use motions that leave the lower
numbers as they are.

A part of a target is (e, J): the residual e points from where the robot is to where it should be,
and J is the rate of what e is measured on, one row for each number of e.  A step dq of the joints
changes e to e - J dq, up to terms of second order.  Rotations are rotation vectors, the exact
logarithm.  Its rate is the angular velocity through the inverse left Jacobian of the logarithm.
That matrix leaves e itself as it is, so it changes neither J^T e nor the solution of J dq = e, and
is omitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import pi, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    NumberError,
    OptionError,
    ShapeError,
    real_number,
    visible,
    whole_number,
)
from sixfold.model import Model
from sixfold.model.validate import numbers_of
from sixfold.quantities import readings
from sixfold.quantities.kinematics import at_point
from sixfold.runtime import Argument, Names, checked_array, finite_floats, names_along
from sixfold.runtime.quantity import locate
from sixfold.scalar import ZERO, Scalar, atan2, if_positive, sqrt, total
from sixfold.spatial import Motion, Transform, Vector3, rotations

__all__ = ["CenterOfMass", "Direction", "Joints", "LookAt", "Pose", "Position", "Velocity"]

Numbers = Sequence[Scalar]
Rows = list[list[Scalar]]
Part = tuple[list[Scalar], Rows]
# square of the sine of an angle between directions below which it has no axis
NEARLY_ALIGNED = 1e-24


class FrameKinematics:
    """A frame of the robot: where it is, and its Jacobian in its own axes, at its own origin."""

    def __init__(self, model: Model, q: Numbers, body: int, placement: Transform) -> None:
        """Go from the frame to the base once: the pose is what the last column is moved by."""
        tree, x = model.tree, model.positions(q)
        # columns of the Jacobian, from the frame to the base
        columns = {i: [Motion.zero()] * tree.joint[i].nv for i in tree.bodies}
        X = placement
        for j in (body, *tree.ancestors(body)) if body else ():
            XJ, S, _, _ = tree.joint[j].calc(x[j], tree.zero_velocity(j))
            columns[j] = list((X @ S).columns)
            X = X @ (XJ @ tree.Xtree[j])
        self.X = X  # from the base to the frame
        flat = {i: [(*c.ang, *c.lin) for c in columns[i]] for i in columns}
        # angular rows first
        self.J = [model.gather({i: [c[r] for c in flat[i]] for i in flat}) for r in range(6)]


def position_residual(frame: FrameKinematics, goal: Numbers) -> Part:
    """The frame's origin is somewhere."""
    E, r = frame.X
    return list(E @ (Vector3(*goal) - r)), frame.J[3:]


def rotation_residual(frame: FrameKinematics, goal: Numbers) -> Part:
    """The frame's axes are the columns of a rotation matrix, given row by row."""
    X = Transform.from_pose([goal[0:3], goal[3:6], goal[6:9]], (ZERO, ZERO, ZERO))
    turn = X.E @ frame.X.E.T
    return list(rotations.quaternion_logarithm(rotations.rotation_to_quaternion(turn))), frame.J[:3]


def direction_residual(
    frame: FrameKinematics, axis: Numbers, across: Sequence[Numbers], goal: Numbers
) -> Part:
    """An axis of the frame points along a direction of the world.

    The rotation vector that aligns them has no part along the axis: two rows, across it.
    """
    turn = _aligning(Vector3(*axis), across, frame.X.E @ Vector3(*goal))
    return _across(turn, across, frame.J[:3])


def look_at_residual(
    frame: FrameKinematics, axis: Numbers, across: Sequence[Numbers], goal: Numbers
) -> Part:
    """An axis of the frame points from its origin to a point of the world.

    The direction c of the point turns against the frame with omega + c x v / |c|^2.
    """
    E, r = frame.X
    c = E @ (Vector3(*goal) - r)
    over = 1.0 / c.dot(c)
    columns = zip(*frame.J, strict=True)
    rates = [Vector3(*x[:3]) + c.cross(Vector3(*x[3:])) * over for x in columns]
    J = [[rate[r] for rate in rates] for r in range(3)]
    return _across(_aligning(Vector3(*axis), across, c), across, J)


def center_of_mass_residual(model: Model, q: Numbers, goal: Numbers) -> Part:
    """The centre of mass is somewhere."""
    at = readings.center_of_mass(model, model.tree, q)
    J = readings.center_of_mass_jacobian(model, model.tree, q)
    return [g - x for g, x in zip(goal, at, strict=True)], _cut(J, model.nv)


def joints_residual(model: Model, q: Numbers, chosen: Sequence[int], goal: Numbers) -> Part:
    """Some velocity coordinates have nothing left to go to a configuration."""
    apart = readings.difference(model, model.tree, q, goal)
    n = model.nv
    by_q = readings.difference_derivatives(model, model.tree, q, goal)[: n * n]
    rows = [[-x for x in row] for row in _cut(by_q, n)]
    return [apart[k] for k in chosen], [rows[k] for k in chosen]


def velocity_residual(frame: FrameKinematics, goal: Numbers) -> Part:
    """The frame moves with a velocity (omega; v), world axes, its own origin."""
    E = frame.X.E
    return [*(E @ Vector3(*goal[:3])), *(E @ Vector3(*goal[3:]))], frame.J


def norm(e: Numbers) -> Scalar:
    """Return the length of a vector."""
    return sqrt(total(x * x for x in e))


def _aligning(u: Vector3, across: Sequence[Numbers], t: Vector3) -> Vector3:
    """Return the rotation vector that takes the direction u to the direction t.

    Opposite directions have no shortest turn: half a turn about an axis across u is taken.
    """
    # angle from the cross and the dot product; an axis only if they are not aligned
    n, along = u.cross(t), u.dot(t)
    s2 = n.dot(n)
    large = s2 - NEARLY_ALIGNED * t.dot(t)
    s = sqrt(if_positive(large, s2, 1.0))
    opposite = Vector3(*across[0]) * pi
    near = [if_positive(along, x / along, y) for x, y in zip(n, opposite, strict=True)]
    turn = n * (atan2(s, along) / s)
    return Vector3(*(if_positive(large, x, y) for x, y in zip(turn, near, strict=True)))


def _across(turn: Vector3, across: Sequence[Numbers], J: Any) -> Part:
    """Return the parts of a turn and of an angular velocity along two axes."""
    axes = [Vector3(*axis) for axis in across]
    columns = [Vector3(*column) for column in zip(*J, strict=True)]
    return [turn.dot(a) for a in axes], [[a.dot(c) for c in columns] for a in axes]


def _cut(flat: Numbers, n: int) -> Rows:
    return [list(flat[k : k + n]) for k in range(0, len(flat), n)]


NOT_A_ROTATION = 1e-6  # largest accepted difference of R^T R from the unit matrix

# gives a frame of the robot by name, and a point of it
Frames = Callable[[str, Any], FrameKinematics]


@dataclass(frozen=True, eq=False, kw_only=True)
class Target(ABC):
    """What all targets have."""

    weight: float = 1.0  #: How much a metre or a radian of its error counts.
    priority: int = 0  #: 0 is met first.
    kinds: ClassVar[tuple[str, ...]]  #: Its parts.

    holds: ClassVar[str]  #: The field that says where to go.
    sizes: ClassVar[Shape] = (3,)  #: The shape of that for one state.

    def shape(self, model: Model) -> Shape:
        """Return the shape of the goal for one state."""
        return self.sizes

    def names(self, model: Model) -> tuple[Names, ...]:
        """Return the names along each axis of the goal for one state."""
        return tuple(names_along(model, str(n)) for n in self.sizes)

    @abstractmethod
    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return its parts, unweighted."""

    def static_part(self, model: Model) -> Hashable:
        """Return what the kernel depends on besides the goal; refuse what makes no sense."""
        return None

    def coordinates(self, model: Model) -> tuple[int, ...]:
        """Return the velocity coordinates that it fixes one by one, to a turn of its own."""
        return ()

    def row_count(self, model: Model) -> int:
        """Return how many numbers it fixes."""
        return sum({"position": 3, "rotation": 3, "direction": 2}[kind] for kind in self.kinds)

    @property
    def name(self) -> str:
        """Body or frame that the target is about."""
        return str(getattr(self, "frame", type(self).__name__))

    @property
    def weights(self) -> tuple[float, ...]:
        """A weight for each part."""
        return (self.weight,) * len(self.kinds)

    def numbers(self, function: str, model: Model) -> Array:
        """Return the goal as finite numbers, shape (..., *shape)."""
        what = f"{type(self).__name__} of '{self.name}'"
        argument = Argument(getattr(self, self.holds), self.shape(model), "the goal")
        argument = replace(argument, labels=self.names(model))
        return finite_floats(f"{function}: {what}", checked_array(function, what, argument))

    def check(self, function: str) -> None:
        """Refuse weights and priorities that make no sense."""
        for weight in self.weights:
            real_number(function, "weight", weight, "a number > 0", lambda x: x > 0)
        whole_number(function, "priority", self.priority)


@dataclass(frozen=True, eq=False)
class Pose(Target):
    """Pose of a frame: position and rotation.

    Args:
        frame: name of a body or frame.
        pose: world-from-frame matrix [[R, p], [0, 1]], shape (..., 4, 4).
        rotation_weight: weight of a radian; by default `weight`.
        weight: weight of a metre and, by default, of a radian.
        priority: targets of priority 0 are met first.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> pose = sf.frame_pose(arm, [0.3, 0.4], "tip")
        >>> found = sf.inverse_kinematics(arm, sf.targets.Pose("tip", pose))
        >>> np.allclose(found.q, [0.3, 0.4])
        True
    """

    frame: str
    pose: ArrayLike
    rotation_weight: float | None = None  #: How much a radian counts; by default `weight`.
    holds = "pose"
    sizes = (4, 4)
    kinds = ("position", "rotation")

    @property
    def weights(self) -> tuple[float, ...]:
        """A weight for each part."""
        turn = self.weight if self.rotation_weight is None else self.rotation_weight
        return (self.weight, turn)

    def numbers(self, function: str, model: Model) -> Array:
        """Return poses; refuse matrices that are none."""
        poses = super().numbers(function, model)
        if not _are_poses(poses):
            where = f"{function}: Pose of '{self.frame}'"
            fix = "pass [[R, p], [0, 1]] with orthonormal columns and det R = 1, as frame_pose does"
            got = "a matrix that turns and stretches, or one of another form"
            raise NumberError(where, "a rotation matrix and a position", got, fix)
        return poses

    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return position and rotation."""
        at = frames(self.frame, None)
        turn = [goal[4 * i + j] for i in range(3) for j in range(3)]
        return [position_residual(at, [goal[3], goal[7], goal[11]]), rotation_residual(at, turn)]


@dataclass(frozen=True, eq=False)
class Position(Target):
    """Position of a frame's origin, or of a point of the frame.

    Args:
        frame: name of a body or frame.
        position: desired position in world coordinates [m], shape (..., 3).
        point: point in the frame's coordinates [m], shape (3,); by default its origin.
        weight: weight of a metre.
        priority: targets of priority 0 are met first.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm, goal = sf.load("double_pendulum"), [0.5, 0.0, -2.5]
        >>> found = sf.inverse_kinematics(arm, sf.targets.Position("tip", goal))
        >>> np.allclose(sf.frame_pose(arm, found.q, "tip")[:3, 3], goal)
        True
    """

    frame: str
    position: ArrayLike
    #: A point in the frame's coordinates [m]; by default its origin.
    point: Sequence[float] | None = None
    holds = "position"
    kinds = ("position",)

    def static_part(self, model: Model) -> Hashable:
        """Return the point."""
        return None if self.point is None else numbers_of("Position", "point", self.point, 3)

    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return the position."""
        return [position_residual(frames(self.frame, self.static_part(model)), goal)]


@dataclass(frozen=True, eq=False)
class Direction(Target):
    """Direction of an axis of a frame; the rotation about that axis stays free.

    Args:
        frame: name of a body or frame.
        direction: vector of any length in world coordinates, shape (..., 3).
        axis: the axis in the frame's coordinates, shape (3,); by default z.
        weight: weight of a radian.
        priority: targets of priority 0 are met first.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> found = sf.inverse_kinematics(arm, sf.targets.Direction("dh6", [0.0, 0.0, -1.0]))
        >>> np.allclose(sf.frame_pose(arm, found.q, "dh6")[:3, 2], [0.0, 0.0, -1.0])
        True
    """

    frame: str
    direction: ArrayLike
    axis: Sequence[float] = (0.0, 0.0, 1.0)  #: In the frame's coordinates; by default z.
    holds = "direction"
    kinds = ("direction",)

    def numbers(self, function: str, model: Model) -> Array:
        """Return unit vectors; refuse those without a direction."""
        found = super().numbers(function, model)
        size = np.sqrt((found * found).sum(-1, keepdims=True))
        if not (size > 0).all():
            where = f"{function}: Direction of '{self.frame}'"
            fix = "pass a vector that is not zero"
            raise NumberError(where, "a direction", "a vector of length 0", fix)
        return np.asarray(found / size)

    def static_part(self, model: Model) -> Hashable:
        """Return the axis."""
        return _unit(type(self).__name__, self.axis)

    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return the direction."""
        axis = _unit("Direction", self.axis)
        return [direction_residual(frames(self.frame, None), axis, _perpendicular(axis), goal)]


@dataclass(frozen=True, eq=False)
class LookAt(Target):
    """An axis of a frame points from the frame's origin to a point, as that of a camera does.

    Args:
        frame: name of a body or frame.
        position: the point in world coordinates [m], shape (..., 3).
        axis: the axis in the frame's coordinates, shape (3,); by default z.
        weight: weight of a radian.
        priority: targets of priority 0 are met first.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm, point = sf.load("puma560"), np.array([1.0, 0.5, 0.2])
        >>> found = sf.inverse_kinematics(arm, sf.targets.LookAt("dh6", point))
        >>> pose = sf.frame_pose(arm, found.q, "dh6")
        >>> sight = point - pose[:3, 3]
        >>> np.allclose(pose[:3, 2], sight / np.linalg.norm(sight))
        True
    """

    frame: str
    position: ArrayLike
    axis: Sequence[float] = (0.0, 0.0, 1.0)  #: In the frame's coordinates; by default z.
    holds = "position"
    kinds = ("direction",)

    def static_part(self, model: Model) -> Hashable:
        """Return the axis."""
        return _unit("LookAt", self.axis)

    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return the direction."""
        axis = _unit("LookAt", self.axis)
        return [look_at_residual(frames(self.frame, None), axis, _perpendicular(axis), goal)]


@dataclass(frozen=True, eq=False)
class CenterOfMass(Target):
    """Position of the centre of mass.

    Args:
        position: desired position in world coordinates [m], shape (..., 3).
        weight: weight of a metre.
        priority: targets of priority 0 are met first.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm, goal = sf.load("double_pendulum"), [0.5, 0.0, -0.9]
        >>> found = sf.inverse_kinematics(arm, sf.targets.CenterOfMass(goal))
        >>> np.allclose(sf.center_of_mass(arm, found.q), goal)
        True
    """

    position: ArrayLike
    holds = "position"
    kinds = ("position",)

    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return the position."""
        return [center_of_mass_residual(model, q, goal)]


@dataclass(frozen=True, eq=False)
class Joints(Target):
    """Positions of joints, for example a posture to stay close to.

    Args:
        q: desired configuration [rad or m], shape (..., nq).
        joints: names of the joints that count; by default all.
        weight: weight of a radian or metre.
        priority: targets of priority 0 are met first.

    Example:
        The tip has to reach a point; of the two solutions, take the one near a posture:

        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> tip = sf.frame_pose(arm, [0.3, 0.4], "tip")[:3, 3]
        >>> posture = sf.targets.Joints([0.2, 0.5], priority=1)
        >>> found = sf.inverse_kinematics(
        ...     arm, [sf.targets.Position("tip", tip), posture], q0=[0.2, 0.5]
        ... )
        >>> np.allclose(found.q, [0.3, 0.4])
        True
    """

    q: ArrayLike
    joints: Sequence[str] | None = None  #: Names; the coordinates of the others do not count.
    holds = "q"
    kinds = ("joints",)

    def shape(self, model: Model) -> Shape:
        """Return (nq,)."""
        return (model.nq,)

    def names(self, model: Model) -> tuple[Names, ...]:
        """Return the names of the coordinates."""
        return (model.coordinates.q_names,)

    def static_part(self, model: Model) -> Hashable:
        """Return which velocity coordinates count."""
        if self.joints is None:
            return tuple(range(model.nv))
        if isinstance(self.joints, str) or not isinstance(self.joints, Sequence):
            fix = "pass names, as joints=('elbow',)"
            raise ArgumentError("Joints: argument 'joints'", "a list of names", self.joints, fix)
        places = [range(model.nv)[model.v_slice(name)] for name in self.joints]
        return tuple(k for place in places for k in place)

    def coordinates(self, model: Model) -> tuple[int, ...]:
        """Return which velocity coordinates count."""
        return self.static_part(model)  # type: ignore[return-value]

    def row_count(self, model: Model) -> int:
        """Return how many coordinates it fixes."""
        return len(self.coordinates(model))

    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return the joints."""
        return [joints_residual(model, q, self.static_part(model), goal)]  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Velocity(Target):
    """Velocity of a frame, for `differential_ik`.

    Args:
        frame: name of a body or frame.
        velocity: angular velocity [rad/s] and velocity of the frame's origin [m/s] along world
            axes, shape (..., 6).
        weight: weight of a metre and of a radian per second.
        priority: targets of priority 0 are met first.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm, q = sf.load("puma560"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        >>> target = sf.targets.Velocity("dh6", [0.0, 0.0, 0.0, 0.1, 0.0, 0.0])
        >>> v = sf.control.differential_ik(arm, q, target, damping=0.0)
        >>> np.allclose(sf.jacobian(arm, q, "dh6") @ v, target.velocity)
        True
    """

    frame: str
    velocity: ArrayLike
    holds = "velocity"
    sizes = (6,)
    kinds = ("velocity",)

    def parts(self, model: Model, frames: Frames, q: Numbers, goal: Any) -> list[Part]:
        """Return the velocity."""
        return [velocity_residual(frames(self.frame, None), goal)]


# one target, several, or goals by the names of frames
Targets = Target | Sequence[Target] | Mapping[str, ArrayLike]


def _are_poses(T: Array) -> bool:
    """Return whether matrices (..., 4, 4) are poses."""
    (a, b, c), last = T[..., :3, :3].transpose(-2, *range(T.ndim - 2), -1), T[..., 3, :]
    dots = [(x * y).sum(-1) for x, y in ((a, a), (b, b), (a, b))]
    off = [dots[0] - 1.0, dots[1] - 1.0, dots[2]]
    off += [
        a[..., k - 2] * b[..., k - 1] - a[..., k - 1] * b[..., k - 2] - c[..., k] for k in range(3)
    ]
    off += [last[..., k] - (k == 3) for k in range(4)]
    return all(bool((np.abs(x) <= NOT_A_ROTATION).all()) for x in off)


def _unit(where: str, axis: Any) -> tuple[float, ...]:
    """Return a unit vector."""
    given = np.array(numbers_of(where, "axis", axis, 3))
    size = float(np.linalg.norm(given))
    if not size > 0:
        raise OptionError(where, "axis", "a vector that is not zero", axis)
    return tuple((given / size).tolist())


def _perpendicular(axis: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return two unit vectors across a unit vector and each other."""
    u = np.array(axis)
    first = np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])
    first /= np.linalg.norm(first)
    return tuple(first.tolist()), tuple(np.cross(u, first).tolist())


@dataclass(frozen=True, eq=False)
class IKTask:
    """Targets of a model, checked, with their goals as one array."""

    model: Model
    targets: tuple[Target, ...]
    numbers: Array  # goals of all targets, one after the other, shape (..., m)
    key: Hashable  # what the kernel depends on

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each part."""
        return tuple(f"{target.name} {kind}" for target in self.targets for kind in target.kinds)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each part is about."""
        return tuple(kind for target in self.targets for kind in target.kinds)

    @property
    def priorities(self) -> tuple[int, ...]:
        """The priority of each part."""
        return tuple(target.priority for target in self.targets for _ in target.kinds)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each part."""
        return tuple(weight for target in self.targets for weight in target.weights)

    def row_count(self) -> int:
        """Return how many numbers the targets fix, at most."""
        return sum(target.row_count(self.model) for target in self.targets)

    def parts(self, q: Numbers, goals: Numbers) -> list[Part]:
        """Return all parts at a configuration."""
        known: dict[Any, FrameKinematics] = {}

        def frames(name: str, point: Any) -> FrameKinematics:
            if (name, point) not in known:
                k, placement = self.model.locate(name)
                placement = at_point(point, placement)
                known[name, point] = FrameKinematics(self.model, q, k + 1, placement)
            return known[name, point]

        # goals of all targets are stored one after the other
        found: list[Part] = []
        start = 0
        for target in self.targets:
            size = prod(target.shape(self.model))
            found += target.parts(self.model, frames, q, goals[start : start + size])
            start += size
        return found


def task_of(function: str, model: Model, targets: Targets, rates: bool = False) -> IKTask:
    """Return checked targets: a list of them, one, or goals by the names of frames."""
    if not model.nv:
        where = f"model '{visible(model.name)}' without degrees of freedom"
        raise NotApplicableError(function, where, "give a model with a joint that moves")
    kind = Velocity if rates else Pose
    if isinstance(targets, Target):
        given: list[Any] = [targets]
    elif isinstance(targets, Mapping):
        given = [kind(name, goal) for name, goal in targets.items()]
    else:
        given = list(targets) if isinstance(targets, (list, tuple)) else []
    if not given or not all(isinstance(each, Target) for each in given):
        fix = f"pass {{frame: {kind.__name__.lower()}}}, or a list of sixfold.targets"
        raise ArgumentError(f"{function}: argument 'targets'", "targets", targets, fix)
    # check each target; collect its goal and what its kernel depends on
    arrays: list[Array] = []
    key: list[Hashable] = []
    for target in given:
        target.check(function)
        name = getattr(target, "frame", None)
        if hasattr(target, "frame"):
            locate(function, model, name, "frame")
        if isinstance(target, Velocity) and not rates:
            fix = "use sixfold.control.differential_ik for velocities"
            raise ArgumentError(f"{function}: argument 'targets'", "goals of poses", target, fix)
        more = target.static_part(model)
        shape = target.shape(model)
        array = target.numbers(function, model)
        arrays.append(array.reshape((*array.shape[: array.ndim - len(shape)], prod(shape))))
        key.append((type(target).__name__, name, more, target.weights, target.priority))
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    except ValueError:
        got = [x.shape[:-1] for x in arrays]
        fix = "give all targets the same number of rows, or one"
        raise ShapeError(function, "targets", "leading axes that fit", got, fix) from None
    wide = [np.broadcast_to(x, (*lead, x.shape[-1])) for x in arrays]
    flat = wide[0] if len(wide) == 1 else np.concatenate(wide, -1)
    return IKTask(model, tuple(given), np.ascontiguousarray(flat), tuple(key))


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
