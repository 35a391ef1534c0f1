"""From a model's constants to named parameters of a ring, or to clean numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from sixfold.errors import OptionError, UnknownNameError
from sixfold.model import Model
from sixfold.scalar import ZERO, Scalar, Zero
from sixfold.spatial import IDENTITY3, Inertia, Matrix3, Symmetric3, Transform, Vector3, rotation
from sixfold.symbolic.polynomial import symbol
from sixfold.symbolic.ring import GEOMETRIC, INERTIAL, Ring

MIN_RELATIVE_CONSTANT = 1e-12
"""Relative size below which a constant of the model is rounding and reads as zero."""
_LETTER = re.compile(r"-?[A-Za-z]\w*", re.ASCII)
_TAKEN = re.compile(r"-?([SC]{1,2}|q|qd|qdd)\d+")
AXES = "xyz"
TENSOR = ("xx", "yy", "zz", "xy", "xz", "yz")


class Namer:
    """Turns constants into parameters by name; a name may be replaced, with a sign if need be."""

    def __init__(self, ring: Ring, model: str, names: Mapping[str, str], symbols: bool) -> None:
        """Take the ring, the user's names (default name: other name or -other name), the mode."""
        self.ring, self.model, self.symbols = ring, model, symbols
        self.names = dict(names)
        for word in self.names.values():
            if not _LETTER.fullmatch(word) or _TAKEN.fullmatch(word):
                choices = ["letters and digits, other than S2, C2, q1"]
                raise OptionError("equations", "names", choices, word)
        self.offered: list[str] = []

    def __call__(self, name: str, value: Any, scale: float = 1.0, kind: str = GEOMETRIC) -> Scalar:
        """Return the parameter of a name; exact zero where the constant is rounding or zero."""
        self.offered.append(name)
        number = float(value)
        if abs(number) <= MIN_RELATIVE_CONSTANT * scale:
            return ZERO
        if not self.symbols:
            return number
        wanted = self.names.get(name, name)
        sign, wanted = (-1, wanted[1:]) if wanted.startswith("-") else (1, wanted)
        known = self.ring.by_name.get(wanted)
        if known is not None and (
            known.value is None or not math.isclose(known.value, sign * number, rel_tol=1e-9)
        ):
            raise OptionError(
                "equations", "names", [f"a letter of its own for '{name}' ({number:g})"], wanted
            )
        parameter = symbol(self.ring, self.ring.variable(wanted, kind, sign * number))
        return parameter if sign > 0 else -parameter

    def finish(self) -> None:
        """Refuse names for constants that the model does not have."""
        for name in self.names:
            if name not in self.offered:
                where = f"equations of model '{self.model}'"
                raise UnknownNameError("parameter", name, self.offered, where=where)

    # -- pieces of a model

    def vector(
        self, letter: str, i: int, values: Vector3, scale: float, kind: str = GEOMETRIC
    ) -> Vector3:
        """Return three parameters such as cx1, cy1, cz1."""
        named = [self(f"{letter}{a}{i}", x, scale, kind) for a, x in zip(AXES, values, strict=True)]
        return Vector3(*named)

    def tensor(self, letter: str, i: int, values: Symmetric3, scale: float) -> Symmetric3:
        """Return six parameters such as Ixx1, ..., Iyz1, which are elements of the matrix."""
        named = [
            self(f"{letter}{a}{i}", x, scale, INERTIAL) for a, x in zip(TENSOR, values, strict=True)
        ]
        return Symmetric3(*named)

    def inertia(self, i: int, body: Inertia, at: str) -> Inertia:
        """Return the inertia of body i by centre and inertia about it, or by moments at the joint.

        Args:
            i: number of the body.
            body: its inertia in numbers.
            at: "centre" (m, c, I about the centre of mass) or "origin" (m, h = m c, J about the
                joint's origin), in which every term of the equations has one of them as a factor.
        """
        size = max((abs(float(x)) for x in body.I), default=0.0)
        if at == "origin" or float(body.m) == 0.0:
            m = self(f"m{i}", body.m, 0.0, INERTIAL)
            size_h = max(abs(float(x)) for x in (*body.h, body.m))
            h = self.vector("h", i, body.h, size_h, INERTIAL)
            letter = "J" if at == "origin" else "I"
            return Inertia(m, h, self.tensor(letter, i, body.I, size))
        m = self(f"m{i}", body.m, 0.0, INERTIAL)
        c = self.vector("c", i, body.center, 1.0)
        I = self.tensor("I", i, body.about_center, size)
        return Inertia.from_mass(m, c, I.matrix())

    def placement(self, i: int, X: Transform, tolerance: float) -> Transform:
        """Return where joint i sits on its parent: lengths lx, ly, lz and angles al, be, ga."""
        r = self.vector("l", i, X.r, 1.0)
        return Transform(self.turn(i, X.E, tolerance), r)

    def turn(self, i: int, E: Matrix3, tolerance: float) -> Matrix3:
        """Return a constant rotation as turns about x, y, z; right angles are exact."""
        nearest = E.map(lambda x: ZERO if abs(float(x)) <= tolerance else x)
        nearest = nearest.map(lambda x: x if isinstance(x, Zero) else _unit(x, tolerance))
        if all(isinstance(x, Zero) or abs(float(x)) == 1.0 for row in nearest for x in row):
            return nearest
        if not self.symbols:
            return nearest
        result = IDENTITY3
        for axis, letter, angle in zip(
            reversed(IDENTITY3), ("ga", "be", "al"), reversed(roll_pitch_yaw(E)), strict=True
        ):
            if abs(angle) > tolerance:
                result = (
                    rotation(axis, *self.constant_angle(f"{letter}{i}", angle, tolerance)) @ result
                )
        return result

    def constant_angle(self, name: str, angle: float, tolerance: float) -> tuple[Scalar, Scalar]:
        """Return cosine and sine of a constant angle: plain for right angles, named otherwise."""
        right = right_angle(angle, tolerance)
        if right:
            return right
        self.offered.append(name)
        name = self.names.get(name, name)
        known = [k for k, a in enumerate(self.ring.angles) if a.name == name]
        k = known[0] if known else self.ring.angle((), name, angle)
        made = self.ring.angles[k]
        return symbol(self.ring, made.cosine), symbol(self.ring, made.sine)


def _unit(x: Any, tolerance: float) -> float:
    number = float(x)
    return math.copysign(1.0, number) if abs(abs(number) - 1.0) <= tolerance else number


def right_angle(angle: float, tolerance: float) -> tuple[Scalar, Scalar] | None:
    """Return cosine and sine of an angle that is a right one within a tolerance."""
    quarters = angle / (math.pi / 2)
    if abs(quarters - round(quarters)) * math.pi / 2 > tolerance:
        return None
    k = round(quarters) % 4
    return (1.0, ZERO, -1.0, ZERO)[k], (ZERO, 1.0, ZERO, -1.0)[k]


def squared(E: Matrix3, tolerance: float) -> Matrix3:
    """Return a rotation whose turns about x, y, z are right angles where they nearly are."""
    result = IDENTITY3
    for axis, angle in zip(reversed(IDENTITY3), reversed(roll_pitch_yaw(E)), strict=True):
        turn = right_angle(angle, tolerance) or (math.cos(angle), math.sin(angle))
        result = rotation(axis, *turn) @ result
    return result


def roll_pitch_yaw(E: Matrix3) -> tuple[float, float, float]:
    """Return the angles of E = Ex(roll) Ey(pitch) Ez(yaw)."""
    e = [[float(x) for x in row] for row in E]
    pitch = math.atan2(-e[0][2], math.hypot(e[0][0], e[0][1]))
    if math.hypot(e[0][0], e[0][1]) < 1e-9:
        return 0.0, pitch, math.atan2(-e[1][0], e[1][1])
    return math.atan2(e[1][2], e[2][2]), pitch, math.atan2(e[0][1], e[0][0])


def gravity(name: Namer, model: Model) -> Vector3:
    """Return free fall as g along an axis, or as gx, gy, gz."""
    values = [float(x) for x in model.gravity]
    size = max(map(abs, values))
    along = [k for k, x in enumerate(values) if abs(x) > MIN_RELATIVE_CONSTANT * size]
    if len(along) != 1:
        return name.vector("g", 0, Vector3(*values), size)
    (k,) = along
    g = name("g", abs(values[k]))
    signed = g if values[k] > 0 else -g
    return Vector3(*(signed if n == k else ZERO for n in range(3)))
