"""Every type of joint that closes a loop, a user's own among them."""

from dataclasses import dataclass
from typing import ClassVar, final

import sixfold as sf
from sixfold.model import Joint, JointState
from sixfold.scalar import ZERO, cos, sin
from sixfold.spatial import Motion, Subspace, Transform, Vector3, rotation

EX, EY, EZ = Vector3(1.0, ZERO, ZERO), Vector3(ZERO, 1.0, ZERO), Vector3(ZERO, ZERO, 1.0)
ZERO3 = Vector3(ZERO, ZERO, ZERO)


@final
@dataclass(frozen=True)
class Wheel(Joint):
    """Rolls along x without slipping.  q: angle about y [rad].  S turns with q in the body."""

    radius: float
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    constant_subspace: ClassVar[bool] = False
    orthonormal_subspace: ClassVar[bool] = False

    def calc(self, q, qd):
        """S = (e_y; R e_x), seen from the body."""
        E = rotation(EY, cos(q[0]), sin(q[0]))
        forward = E @ (EX * self.radius)
        S = Subspace(Motion(EY, forward))
        bias = Motion(ZERO3, forward.cross(EY) * (qd[0] * qd[0]))
        return JointState(Transform(E, EX * (q[0] * self.radius)), S, S @ qd, bias)


def cam(q):
    """Turn about z while it lifts by a curve: a transform is all that is given."""
    turn = rotation(EZ, cos(q[0]), sin(q[0]))
    return Transform(turn, Vector3(0.1 * sin(q[0]), ZERO, 0.2 * q[0] * q[0]))


CLOSING = {
    "revolute z": sf.Revolute("z"),
    "revolute x": sf.Revolute("x"),
    "revolute askew": sf.Revolute((1, 2, 3)),
    "prismatic x": sf.Prismatic("x"),
    "prismatic askew": sf.Prismatic((1, 1, 0)),
    "helical z": sf.Helical("z", 0.3),
    "helical askew": sf.Helical((1, -2, 1), 0.3),
    "cylindrical": sf.Cylindrical((0, 1, 1)),
    "planar": sf.Planar(),
    "universal": sf.Universal(),
    "spherical": sf.Spherical(),
    "translational": sf.Translational(),
    "fixed": sf.Fixed(),
    "user": Wheel(0.4),
    "custom": sf.CustomJoint(cam),
}
