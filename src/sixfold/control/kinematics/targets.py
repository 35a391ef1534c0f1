"""Targets of inverse kinematics: where frames, the centre of mass and joints should be.

Every target has a weight [1/m or 1/rad] and a priority.  Targets of one priority are met together,
as well as their weights say; those of a higher number only move what leaves the lower numbers as
they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.control.kinematics import rows
from sixfold.errors import ArgumentError, NumberError, OptionError
from sixfold.evaluate import Argument, Names, checked, names_along
from sixfold.model import Model
from sixfold.model.validate import numbers_of

__all__ = ["CenterOfMass", "Direction", "Joints", "LookAt", "Pose", "Position", "Velocity"]

NOT_A_ROTATION = 1e-6
"""Largest accepted difference of R^T R from the unit matrix."""

Frames = Callable[[str, Any], rows.Frame]
"""Gives a frame of the robot by name, and a point of it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Target(ABC):
    """What all targets have."""

    weight: float = 1.0
    """How much a metre or a radian of its error counts."""
    priority: int = 0
    """0 is met first."""
    kinds: ClassVar[tuple[str, ...]]
    """Its parts."""

    holds: ClassVar[str]
    """The field that says where to go."""
    sizes: ClassVar[Shape] = (3,)
    """The shape of that for one state."""

    def shape(self, model: Model) -> Shape:
        """Return the shape of the goal for one state."""
        return self.sizes

    def names(self, model: Model) -> tuple[Names, ...]:
        """Return the names along each axis of the goal for one state."""
        return tuple(names_along(model, str(n)) for n in self.sizes)

    @abstractmethod
    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return its parts, unweighted."""

    def fixed(self, model: Model) -> Hashable:
        """Return what the kernel depends on, beside the goal; refuse what makes no sense."""
        return None

    def coordinates(self, model: Model) -> tuple[int, ...]:
        """Return the velocity coordinates that it fixes one by one, to a turn of its own."""
        return ()

    def row_count(self, model: Model) -> int:
        """Return how many numbers it fixes."""
        return sum({"position": 3, "rotation": 3, "direction": 2}[kind] for kind in self.kinds)

    @property
    def name(self) -> str:
        """What it is about."""
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
        given = checked(function, what, argument)
        try:
            array = np.asarray(given, np.float64)
        except (TypeError, ValueError) as error:
            fix = "pass an array of floats"
            raise NumberError(f"{function}: {what}", "real numbers", error, fix) from None
        if not np.isfinite(array).all():
            fix = "leave such rows out"
            raise NumberError(f"{function}: {what}", "finite numbers", "NaN or infinity", fix)
        return array

    def check(self, function: str) -> None:
        """Refuse weights and priorities that make no sense."""
        for weight in self.weights:
            if not (_real(weight) and isfinite(weight) and weight > 0):
                raise OptionError(function, "weight", "a number > 0", weight)
        whole = isinstance(self.priority, int) and not isinstance(self.priority, bool)
        if not (whole and self.priority >= 0):
            raise OptionError(function, "priority", "a whole number from 0", self.priority)


@dataclass(frozen=True, eq=False)
class Pose(Target):
    """A frame is at a pose: a world-from-frame matrix, shape (..., 4, 4)."""

    frame: str
    pose: ArrayLike
    rotation_weight: float | None = None
    """How much a radian counts; `weight` if left out."""
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

    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return position and rotation."""
        at = frames(self.frame, None)
        turn = [goal[4 * i + j] for i in range(3) for j in range(3)]
        return [rows.position(at, [goal[3], goal[7], goal[11]]), rows.rotation(at, turn)]


@dataclass(frozen=True, eq=False)
class Position(Target):
    """The origin of a frame, or a point of it, is at a place in the world, shape (..., 3)."""

    frame: str
    position: ArrayLike
    point: Sequence[float] | None = None
    """A point in the frame's coordinates [m]; its origin if left out."""
    holds = "position"
    kinds = ("position",)

    def fixed(self, model: Model) -> Hashable:
        """Return the point."""
        return None if self.point is None else numbers_of("Position", "point", self.point, 3)

    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return the position."""
        return [rows.position(frames(self.frame, self.fixed(model)), goal)]


@dataclass(frozen=True, eq=False)
class Direction(Target):
    """An axis of a frame points along a direction of the world, shape (..., 3), of any length."""

    frame: str
    direction: ArrayLike
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    """In the frame's coordinates; z if left out."""
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

    def fixed(self, model: Model) -> Hashable:
        """Return the axis."""
        return _unit(type(self).__name__, self.axis)

    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return the direction."""
        axis = _unit("Direction", self.axis)
        return [rows.direction(frames(self.frame, None), axis, _perpendicular(axis), goal)]


@dataclass(frozen=True, eq=False)
class LookAt(Target):
    """An axis of a frame points from its origin to a place in the world, shape (..., 3)."""

    frame: str
    position: ArrayLike
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    """In the frame's coordinates; z if left out."""
    holds = "position"
    kinds = ("direction",)

    def fixed(self, model: Model) -> Hashable:
        """Return the axis."""
        return _unit("LookAt", self.axis)

    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return the direction."""
        axis = _unit("LookAt", self.axis)
        return [rows.look_at(frames(self.frame, None), axis, _perpendicular(axis), goal)]


@dataclass(frozen=True, eq=False)
class CenterOfMass(Target):
    """The centre of mass is at a place in the world, shape (..., 3)."""

    position: ArrayLike
    holds = "position"
    kinds = ("position",)

    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return the position."""
        return [rows.center_of_mass(model, q, goal)]


@dataclass(frozen=True, eq=False)
class Joints(Target):
    """Joints are at a configuration, shape (..., nq): all of them, or those that are named."""

    q: ArrayLike
    joints: Sequence[str] | None = None
    """Names; the coordinates of the others do not count."""
    holds = "q"
    kinds = ("joints",)

    def shape(self, model: Model) -> Shape:
        """Return (nq,)."""
        return (model.nq,)

    def names(self, model: Model) -> tuple[Names, ...]:
        """Return the names of the coordinates."""
        return (model.coordinates.q_names,)

    def fixed(self, model: Model) -> Hashable:
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
        return self.fixed(model)  # type: ignore[return-value]

    def row_count(self, model: Model) -> int:
        """Return how many coordinates it fixes."""
        return len(self.coordinates(model))

    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return the joints."""
        return [rows.joints(model, q, self.fixed(model), goal)]  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Velocity(Target):
    """A frame moves with (omega; v), world axes, its origin, shape (..., 6): `differential_ik`."""

    frame: str
    velocity: ArrayLike
    holds = "velocity"
    sizes = (6,)
    kinds = ("velocity",)

    def parts(self, model: Model, frames: Frames, q: rows.Numbers, goal: Any) -> list[rows.Part]:
        """Return the velocity."""
        return [rows.velocity(frames(self.frame, None), goal)]


Targets = Target | Sequence[Target] | Mapping[str, ArrayLike]
"""One target, several, or goals by the names of frames."""


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


def _real(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


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
