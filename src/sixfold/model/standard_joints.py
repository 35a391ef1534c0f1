"""The standard joints, one small final class each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from sixfold.errors import ArgumentError, ModelError, NumberError, ShapeError, quote
from sixfold.model.joint import Joint, JointState, TransferableInertia, Values
from sixfold.scalar import ZERO, Scalar, atan2, cos, exact, is_number, is_plain, sin
from sixfold.spatial import (
    IDENTITY3,
    ZERO3,
    Column,
    Force,
    ForceSubspace,
    Matrix3,
    Motion,
    Subspace,
    Symmetric3,
    Transform,
    Vector3,
    axial,
    outer,
    rotation,
    rotations,
    unit,
)

EX, EY, EZ = IDENTITY3
AXES = (EX, EY, EZ)
#: An axis as it may be given: 'x', '-z' or three numbers.
Axis: TypeAlias = str | Sequence[Scalar] | Vector3
STILL = Motion.zero()
#: A basis of all second moments.
EACH_SECOND = tuple(Symmetric3(*(1.0 if n == k else ZERO for n in range(6))) for k in range(6))


class _AlongAxis(Joint):
    """A joint with one axis; the axis may be given as 'x', '-z' or three numbers."""

    axis: Any

    def __post_init__(self) -> None:
        where = type(self).__name__
        if isinstance(self.axis, Vector3):
            object.__setattr__(self, "axis", self.axis.map(exact))
        if not isinstance(self.axis, Vector3) or _long_or_short(self.axis):
            object.__setattr__(self, "axis", _unit(self.axis, where))


def _unit(axis: Any, where: str) -> Vector3:
    try:
        return unit(axis, where)
    except (ArgumentError, NumberError, ShapeError):
        fix = "use 'x', '-z' or three numbers"
        raise ModelError(where, f"axis {quote(axis)} is no direction", fix) from None


def _long_or_short(axis: Vector3) -> bool:
    """Return true for plain numbers whose length is not 1 within rounding.

    Three quotients by a rounded length are of length 1 to less than 4 eps, so that an axis which
    was scaled once is left as it is.
    """
    size = math.hypot(*map(float, axis)) if is_plain(*axis) else 1.0
    return not abs(size - 1.0) <= 4 * float_info.epsilon


def second_moment_along(u: Vector3) -> Symmetric3:
    """Return u u^T: the second moments of mass spread along an axis."""
    return Symmetric3.of(outer(u, u))


def angle_about(axis: Vector3, E: Matrix3) -> Scalar:
    """Return the angle of the turn about an axis that is nearest to E."""
    return atan2(2 * axis.dot(axial(E)), E.a.x + E.b.y + E.c.z - axis.dot(E @ axis))


@final
@dataclass(frozen=True)
class Revolute(_AlongAxis):
    """Turns about a fixed unit axis through the joint origin.  q: angle [rad].

    Args:
        axis: "x", "-z" and so on, or three numbers of any length.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> builder = sf.ModelBuilder("arm").add_body("link", joint=sf.Revolute("y"))
        >>> sf.frame_pose(builder.build(), [np.pi / 2], "link")[:3, :3].round(3)
        array([[ 0.,  0.,  1.],
               [ 0.,  1.,  0.],
               [-1.,  0.,  0.]])
    """

    axis: Vector3 = EZ
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    fixed_axis: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, axis: Axis = EZ) -> None: ...

    def calc(self, q: Values, qd: Values) -> JointState:
        """XJ = rot(axis, q), S = (axis; 0)."""
        S = Subspace(Motion(self.axis, ZERO3))
        E = rotation(self.axis, cos(q[0]), sin(q[0]))
        return JointState(Transform(E, ZERO3), S, S @ qd, STILL)

    def nearest(self, X: Transform) -> Column:
        """Return the angle about the axis."""
        return Column([angle_about(self.axis, X.E)])

    def transferable_inertia(self) -> TransferableInertia:
        """Mass on the axis can move to the parent."""
        return TransferableInertia(True, (self.axis,), (second_moment_along(self.axis),))


@final
@dataclass(frozen=True)
class Prismatic(_AlongAxis):
    """Slides along a fixed unit axis.  q: displacement [m].

    Args:
        axis: "x", "-z" and so on, or three numbers of any length.

    Example:
        >>> import sixfold as sf
        >>> model = sf.ModelBuilder("lift").add_body("cabin", joint=sf.Prismatic("z")).build()
        >>> sf.frame_pose(model, [0.25], "cabin")[:3, 3].tolist()
        [0.0, 0.0, 0.25]
    """

    axis: Vector3 = EZ
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    fixed_axis: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, axis: Axis = EZ) -> None: ...

    def calc(self, q: Values, qd: Values) -> JointState:
        """XJ = shift along the axis, S = (0; axis)."""
        S = Subspace(Motion(ZERO3, self.axis))
        return JointState(Transform(IDENTITY3, self.axis * q[0]), S, S @ qd, STILL)

    def nearest(self, X: Transform) -> Column:
        """Return the displacement along the axis."""
        return Column([self.axis.dot(X.r)])

    def transferable_inertia(self) -> TransferableInertia:
        """Second moments, as the body turns with its parent only."""
        return TransferableInertia(second=EACH_SECOND)

    def sampling_range(self) -> tuple[float, ...]:
        """Half-width of the default sampling interval: 1 m."""
        return (1.0,)


@final
@dataclass(frozen=True)
class Helical(_AlongAxis):
    """Turns about an axis and advances along it.  q: angle [rad]; pitch [m/rad].

    Args:
        axis: "x", "-z" and so on, or three numbers of any length.
        pitch: advance per angle [m/rad].

    Example:
        >>> import numpy as np, sixfold as sf
        >>> screw = sf.Helical("z", pitch=0.01)
        >>> model = sf.ModelBuilder("press").add_body("spindle", joint=screw).build()
        >>> sf.frame_pose(model, [2 * np.pi], "spindle")[:3, 3].round(4)  # one turn
        array([0.    , 0.    , 0.0628])
    """

    axis: Vector3 = EZ
    pitch: float = 0.01
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    fixed_axis: ClassVar[bool] = True
    orthonormal_subspace: ClassVar[bool] = False

    if TYPE_CHECKING:

        def __init__(self, axis: Axis = EZ, pitch: float = 0.01) -> None: ...

    def __post_init__(self) -> None:
        """Check the axis, and that the pitch is a finite number."""
        super().__post_init__()
        plain_number = isinstance(self.pitch, (int, float))
        if not is_number(self.pitch) or (plain_number and not math.isfinite(self.pitch)):
            fix = "give a finite number [m/rad]"
            raise ModelError("Helical", f"pitch = {quote(self.pitch)}", fix)
        if plain_number:
            object.__setattr__(self, "pitch", float(self.pitch))

    def calc(self, q: Values, qd: Values) -> JointState:
        """XJ = screw, S = (axis; pitch axis)."""
        along = self.axis * self.pitch
        S = Subspace(Motion(self.axis, along))
        E = rotation(self.axis, cos(q[0]), sin(q[0]))
        return JointState(Transform(E, along * q[0]), S, S @ qd, STILL)

    def nearest(self, X: Transform) -> Column:
        """Return the angle by the advance along the axis, which counts whole turns too."""
        advance = self.axis.dot(X.r)
        return Column([angle_about(self.axis, X.E) if self.pitch == 0 else advance / self.pitch])

    def transferable_inertia(self) -> TransferableInertia:
        """Second moments along the axis; with any pitch at all the mass advances."""
        along = (second_moment_along(self.axis),)
        return (
            TransferableInertia(second=along)
            if self.pitch != 0
            else TransferableInertia(True, (self.axis,), along)
        )


@final
@dataclass(frozen=True)
class Cylindrical(_AlongAxis):
    """Turns about an axis and slides along it.  q: (angle, slide).

    Args:
        axis: "x", "-z" and so on, or three numbers of any length.

    Example:
        >>> import sixfold as sf
        >>> model = sf.ModelBuilder("drill").add_body("bit", joint=sf.Cylindrical("z")).build()
        >>> model.nq, sf.frame_pose(model, [1.0, 0.2], "bit")[:3, 3].tolist()
        (2, [0.0, 0.0, 0.2])
    """

    axis: Vector3 = EZ
    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2
    q_labels: ClassVar[tuple[str, ...]] = ("angle", "slide")

    if TYPE_CHECKING:

        def __init__(self, axis: Axis = EZ) -> None: ...

    def calc(self, q: Values, qd: Values) -> JointState:
        """S = ((axis; 0), (0; axis)), constant in the body."""
        S = Subspace(Motion(self.axis, ZERO3), Motion(ZERO3, self.axis))
        E = rotation(self.axis, cos(q[0]), sin(q[0]))
        return JointState(Transform(E, self.axis * q[1]), S, S @ qd, STILL)

    def nearest(self, X: Transform) -> Column:
        """Return the angle about the axis and the displacement along it."""
        return Column([angle_about(self.axis, X.E), self.axis.dot(X.r)])

    def transferable_inertia(self) -> TransferableInertia:
        """Second moments along the axis."""
        return TransferableInertia(second=(second_moment_along(self.axis),))

    def sampling_range(self) -> tuple[float, ...]:
        """Half-widths of the default sampling interval: pi rad, 1 m."""
        return (math.pi, 1.0)


@final
@dataclass(frozen=True)
class Planar(Joint):
    """Moves in the parent's x-y plane and turns about z.  q: (x, y, theta) in the parent frame.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.ModelBuilder("robot").add_body("base", joint=sf.Planar()).build()
        >>> sf.frame_pose(model, [2.0, 1.0, np.pi / 2], "base").round(3)
        array([[ 0., -1.,  0.,  2.],
               [ 1.,  0.,  0.,  1.],
               [ 0.,  0.,  1.,  0.],
               [ 0.,  0.,  0.,  1.]])
    """

    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3
    q_labels: ClassVar[tuple[str, ...]] = ("x", "y", "theta")
    constant_subspace: ClassVar[bool] = False

    def calc(self, q: Values, qd: Values) -> JointState:
        """S turns with theta: d/dt (E e_x) = -theta' e_z x (E e_x)."""
        E = rotation(EZ, cos(q[2]), sin(q[2]))
        S = Subspace(Motion(ZERO3, E @ EX), Motion(ZERO3, E @ EY), Motion(EZ, ZERO3))
        vJ = S @ qd
        cJ = Motion(ZERO3, vJ.lin.cross(EZ) * qd[2])
        return JointState(Transform(E, Vector3(q[0], q[1], ZERO)), S, vJ, cJ)

    def nearest(self, X: Transform) -> Column:
        """Return the place in the plane and the angle about z."""
        return Column((X.r.x, X.r.y, angle_about(EZ, X.E)))

    def transferable_inertia(self) -> TransferableInertia:
        """Second moments across the plane."""
        return TransferableInertia(second=(second_moment_along(EZ),))

    def sampling_range(self) -> tuple[float, ...]:
        """Half-widths of the default sampling interval: 1 m, 1 m, pi rad."""
        return (1.0, 1.0, math.pi)


@final
@dataclass(frozen=True)
class Universal(Joint):
    """Turns about the parent's x, then about the body's y.  q: (about x, about y).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.ModelBuilder("shaft").add_body("yoke", joint=sf.Universal()).build()
        >>> sf.frame_pose(model, [np.pi / 2, 0.0], "yoke")[:3, 1].round(3)  # its y axis
        array([0., 0., 1.])
    """

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2
    q_labels: ClassVar[tuple[str, ...]] = ("about_x", "about_y")
    constant_subspace: ClassVar[bool] = False

    def calc(self, q: Values, qd: Values) -> JointState:
        """S = (Ry e_x, e_y); the first column turns with the second angle."""
        Ey = rotation(EY, cos(q[1]), sin(q[1]))
        E = Ey @ rotation(EX, cos(q[0]), sin(q[0]))
        first = Ey @ EX
        S = Subspace(Motion(first, ZERO3), Motion(EY, ZERO3))
        cJ = Motion(first.cross(EY) * (qd[0] * qd[1]), ZERO3)
        return JointState(Transform(E, ZERO3), S, S @ qd, cJ)

    def nearest(self, X: Transform) -> Column:
        """Return the angles, read off E = Ey Ex."""
        return Column((atan2(X.E.b.z, X.E.b.y), atan2(X.E.c.x, X.E.a.x)))

    def constraint_force_basis(self, q: Values) -> ForceSubspace:
        """Three forces, and the moment across both axes."""
        across = rotation(EY, cos(q[1]), sin(q[1])) @ EZ
        return ForceSubspace(Force(across, ZERO3), *(Force(ZERO3, axis) for axis in AXES))

    def transferable_inertia(self) -> TransferableInertia:
        """The mass at the crossing of the axes."""
        return TransferableInertia(mass=True)


@final
@dataclass(frozen=True)
class Spherical(Joint):
    """Turns freely about the joint origin.  q: quaternion xyzw; qd: body angular velocity.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.ModelBuilder("top").add_body("top", joint=sf.Spherical()).build()
        >>> model.nq, model.nv, sf.neutral(model).tolist()
        (4, 3, [0.0, 0.0, 0.0, 1.0])
        >>> sf.integrate(model, sf.neutral(model), [0.0, 0.0, np.pi / 2]).round(3)  # a quarter turn
        array([0.   , 0.   , 0.707, 0.707])
    """

    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3
    q_labels: ClassVar[tuple[str, ...]] = ("qx", "qy", "qz", "qw")
    v_labels: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    velocity_is_rate: ClassVar[bool] = False

    def calc(self, q: Values, qd: Values) -> JointState:
        """S = (1; 0), constant in the body."""
        S = Subspace(*(Motion(axis, ZERO3) for axis in AXES))
        vJ = Motion(Vector3(*qd), ZERO3)
        return JointState(Transform(rotations.quaternion_to_rotation(q), ZERO3), S, vJ, STILL)

    def nearest(self, X: Transform) -> Column:
        """Return the quaternion of the turn."""
        return Column(rotations.rotation_to_quaternion(X.E))

    def transferable_inertia(self) -> TransferableInertia:
        """The mass at the centre."""
        return TransferableInertia(mass=True)

    def step(self, q: Values, dq: Values) -> Column:
        """Turn by a rotation vector in body axes."""
        turned = rotations.multiply_quaternions(q, rotations.quaternion_exponential(Vector3(*dq)))
        return Column(rotations.normalize_quaternion(turned))

    def difference(self, q0: Values, q1: Values) -> Column:
        """Return the shortest rotation vector from q0 to q1."""
        between = rotations.multiply_quaternions(rotations.conjugate_quaternion(q0), q1)
        return Column(rotations.quaternion_logarithm(rotations.normalize_quaternion(between)))

    def rate(self, q: Values, qd: Values) -> Column:
        """dq/dt = q (omega / 2)."""
        return Column(rotations.quaternion_rate(q, Vector3(*qd)))

    def bracket(self, a: Values, b: Values) -> Column:
        """[a, b] = a x b."""
        return Column(Vector3(*a).cross(Vector3(*b)))

    def neutral(self) -> tuple[float, ...]:
        """No rotation."""
        return (0.0, 0.0, 0.0, 1.0)

    def quaternion(self) -> slice:
        """All of q."""
        return slice(0, 4)


@final
@dataclass(frozen=True)
class Translational(Joint):
    """Moves along x, y and z without turning.  q: position [m].

    Example:
        >>> import sixfold as sf
        >>> model = sf.ModelBuilder("gantry").add_body("tool", joint=sf.Translational()).build()
        >>> sf.frame_pose(model, [0.1, 0.2, 0.3], "tool")[:3, 3].tolist()
        [0.1, 0.2, 0.3]
    """

    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3
    q_labels: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def calc(self, q: Values, qd: Values) -> JointState:
        """S = (0; 1)."""
        S = Subspace(*(Motion(ZERO3, axis) for axis in AXES))
        vJ = Motion(ZERO3, Vector3(*qd))
        return JointState(Transform(IDENTITY3, Vector3(*q)), S, vJ, STILL)

    def nearest(self, X: Transform) -> Column:
        """Return the position."""
        return Column(X.r)

    def transferable_inertia(self) -> TransferableInertia:
        """Second moments, as the body turns with its parent only."""
        return TransferableInertia(second=EACH_SECOND)

    def sampling_range(self) -> tuple[float, ...]:
        """Half-widths of the default sampling interval: 1 m each."""
        return (1.0,) * 3


@final
@dataclass(frozen=True)
class Free(Joint):
    """Moves freely: a floating base.  q: (position, quaternion xyzw); qd: body (omega; v).

    Example:
        >>> import sixfold as sf
        >>> brick = sf.Inertia.from_mass(2.0, rotational=(0.01, 0.02, 0.03))
        >>> builder = sf.ModelBuilder("brick").add_body("brick", joint=sf.Free(), inertia=brick)
        >>> model = builder.build()
        >>> sf.neutral(model).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        >>> sf.mass_matrix(model, sf.neutral(model)).diagonal().tolist()
        [0.01, 0.02, 0.03, 2.0, 2.0, 2.0]
    """

    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6
    q_labels: ClassVar[tuple[str, ...]] = ("x", "y", "z", "qx", "qy", "qz", "qw")
    v_labels: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")
    velocity_is_rate: ClassVar[bool] = False

    def calc(self, q: Values, qd: Values) -> JointState:
        """S = 1, constant in the body."""
        S = Subspace(
            *(Motion(axis, ZERO3) for axis in AXES), *(Motion(ZERO3, axis) for axis in AXES)
        )
        vJ = Motion(Vector3(*qd[:3]), Vector3(*qd[3:]))
        X = Transform(rotations.quaternion_to_rotation(q[3:]), Vector3(*q[:3]))
        return JointState(X, S, vJ, STILL)

    def nearest(self, X: Transform) -> Column:
        """Return position and quaternion."""
        return Column((*X.r, *rotations.rotation_to_quaternion(X.E)))

    def transferable_inertia(self) -> TransferableInertia:
        """No inertia can move to the parent."""
        return TransferableInertia()

    def step(self, q: Values, dq: Values) -> Column:
        """Move along the screw dq in body axes."""
        # exponential of the screw: a rotation and the displacement V(phi) p
        phi, p = Vector3(*dq[:3]), Vector3(*dq[3:])
        R = self._axes(q)
        position = Vector3(*q[:3]) + R @ rotations.screw_displacement(phi, p)
        turned = rotations.multiply_quaternions(q[3:], rotations.quaternion_exponential(phi))
        return Column((*position, *rotations.normalize_quaternion(turned)))

    def advance(self, q: Values, qd: Values, qdd: Values, h: Scalar) -> tuple[Values, Values]:
        """Advance the linear velocity in fixed axes, p' = p + h R' v'.

        A body that rolls turns its axes once in a round, and Euler's step of coordinates along them
        gains speed: v' = R'^T R (v + h (a + w x v)).
        """
        # rotation and velocities as usual; then the position with velocities in fixed axes
        moved, faster = super().advance(q, qd, qdd, h)
        u, a = Vector3(*qd[3:]), Vector3(*qdd[3:])
        along = self._axes(q) @ (u + (a + self.axes_rate(qd)) * h)
        position = Vector3(*q[:3]) + along * h
        turned = Column((*position, *moved[3:]))
        return turned, [*faster[:3], *(self._axes(turned).T @ along)]

    def axes_rate(self, qd: Values) -> Vector3:
        """Omega x v: the axes turn with the body."""
        return Vector3(*qd[:3]).cross(Vector3(*qd[3:]))

    def difference(self, q0: Values, q1: Values) -> Column:
        """Return the screw from q0 to q1 in the body axes of q0."""
        between = rotations.multiply_quaternions(rotations.conjugate_quaternion(q0[3:]), q1[3:])
        phi = rotations.quaternion_logarithm(rotations.normalize_quaternion(between))
        p = self._axes(q0).T @ (Vector3(*q1[:3]) - Vector3(*q0[:3]))
        return Column((*phi, *rotations.screw_translation(phi, p)))

    def rate(self, q: Values, qd: Values) -> Column:
        """dp/dt = R v, dq/dt = q (omega / 2)."""
        omega, v = Vector3(*qd[:3]), Vector3(*qd[3:])
        return Column((*(self._axes(q) @ v), *rotations.quaternion_rate(q[3:], omega)))

    def bracket(self, a: Values, b: Values) -> Column:
        """[a, b] = a x b, the spatial cross product."""
        u, w = Motion(Vector3(*a[:3]), Vector3(*a[3:])), Motion(Vector3(*b[:3]), Vector3(*b[3:]))
        ang, lin = u.cross(w)
        return Column((*ang, *lin))

    def neutral(self) -> tuple[float, ...]:
        """At the origin, not turned."""
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    def sampling_range(self) -> tuple[float, ...]:
        """Half-widths of the default sampling interval: 1 m; rotations are drawn uniformly."""
        return (1.0,) * 7

    def quaternion(self) -> slice:
        """The last four of q."""
        return slice(3, 7)

    @staticmethod
    def _axes(q: Values) -> Matrix3:
        return rotations.quaternion_to_rotation(q[3:]).T


@final
@dataclass(frozen=True)
class Fixed(Joint):
    """No motion: the builder merges the body into its parent and keeps its frame by name.

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("arm").add_body("link", joint=sf.Revolute("y"))
        >>> tool = {"placement": (0.5, 0, 0), "inertia": sf.Inertia.from_mass(1.5)}
        >>> model = builder.add_body("tool", parent="link", joint=sf.Fixed(), **tool).build()
        >>> model.body_names, model.frame_names, model.bodies[0].inertia.m
        (('link',), ('tool',), 1.5)
    """

    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0

    def calc(self, q: Values, qd: Values) -> JointState:
        """Return identity, with an empty subspace."""
        return JointState(Transform.identity(), Subspace(), STILL, STILL)

    def transferable_inertia(self) -> TransferableInertia:
        """Every inertia can move to the parent."""
        return TransferableInertia(True, AXES, EACH_SECOND)


STANDARD_JOINTS: tuple[type[Joint], ...] = (
    Revolute,
    Prismatic,
    Helical,
    Cylindrical,
    Planar,
    Universal,
    Spherical,
    Translational,
    Free,
)

__all__ = [
    "STANDARD_JOINTS",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Translational",
    "Universal",
]
