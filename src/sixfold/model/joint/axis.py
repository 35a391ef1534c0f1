"""The standard joints with one axis, one small final class each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from sixfold.errors import ArgumentError, ModelError, NumberError, ShapeError, shown
from sixfold.model.joint.joint import Joint, JointState, Passed, Values
from sixfold.scalar import ZERO, Scalar, atan2, cos, exact, is_number, is_plain, sin
from sixfold.spatial import (
    IDENTITY3,
    ZERO3,
    Column,
    Matrix3,
    Motion,
    Subspace,
    Symmetric3,
    Transform,
    Vector3,
    axial,
    outer,
    rotation,
    unit,
)

EZ = IDENTITY3.c
Axis: TypeAlias = str | Sequence[Scalar] | Vector3
"""An axis as it may be given: 'x', '-z' or three numbers."""
STILL = Motion.zero()
EACH_SECOND = tuple(Symmetric3(*(1.0 if n == k else ZERO for n in range(6))) for k in range(6))
"""A basis of all second moments."""


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
        raise ModelError(where, f"axis {shown(axis)} is no direction", fix) from None


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

    def passed(self) -> Passed:
        """Mass on the axis stays where it is."""
        return Passed(True, (self.axis,), (second_moment_along(self.axis),))


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

    def passed(self) -> Passed:
        """What turns with the parent only."""
        return Passed(second=EACH_SECOND)

    def reach(self) -> tuple[float, ...]:
        """Return a metre."""
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
            raise ModelError("Helical", f"pitch = {shown(self.pitch)}", fix)
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

    def passed(self) -> Passed:
        """Second moments along the axis; with any pitch at all the mass advances."""
        along = (second_moment_along(self.axis),)
        return Passed(second=along) if self.pitch != 0 else Passed(True, (self.axis,), along)


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

    def passed(self) -> Passed:
        """Second moments along the axis."""
        return Passed(second=(second_moment_along(self.axis),))

    def reach(self) -> tuple[float, ...]:
        """Return a half turn and a metre."""
        return (math.pi, 1.0)
