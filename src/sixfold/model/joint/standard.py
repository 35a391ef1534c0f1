"""The standard joints, one small final class each; those with one axis are in `axis`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from sixfold.model.joint.axis import (
    EACH_SECOND,
    STILL,
    Cylindrical,
    Helical,
    Prismatic,
    Revolute,
    angle_about,
    second_moment_along,
)
from sixfold.model.joint.joint import Joint, JointState, Passed, Values
from sixfold.scalar import ZERO, Scalar, atan2, cos, sin
from sixfold.spatial import (
    IDENTITY3,
    ZERO3,
    Column,
    Force,
    ForceSubspace,
    Matrix3,
    Motion,
    Subspace,
    Transform,
    Vector3,
    rotation,
    rotations,
)

EX, EY, EZ = IDENTITY3
AXES = (EX, EY, EZ)


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

    def passed(self) -> Passed:
        """Second moments across the plane."""
        return Passed(second=(second_moment_along(EZ),))

    def reach(self) -> tuple[float, ...]:
        """Return a metre twice and a half turn."""
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

    def forbidden(self, q: Values) -> ForceSubspace:
        """Three forces, and the moment across both axes."""
        across = rotation(EY, cos(q[1]), sin(q[1])) @ EZ
        return ForceSubspace(Force(across, ZERO3), *(Force(ZERO3, axis) for axis in AXES))

    def passed(self) -> Passed:
        """The mass at the crossing of the axes."""
        return Passed(mass=True)


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

    def passed(self) -> Passed:
        """The mass at the centre."""
        return Passed(mass=True)

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

    def passed(self) -> Passed:
        """What turns with the parent only."""
        return Passed(second=EACH_SECOND)

    def reach(self) -> tuple[float, ...]:
        """Return a metre three times."""
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

    def passed(self) -> Passed:
        """Nothing."""
        return Passed()

    def step(self, q: Values, dq: Values) -> Column:
        """Move along the screw dq in body axes."""
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

    def reach(self) -> tuple[float, ...]:
        """Return a metre three times; the rotation is not drawn from an interval."""
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

    def passed(self) -> Passed:
        """Everything."""
        return Passed(True, AXES, EACH_SECOND)


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
