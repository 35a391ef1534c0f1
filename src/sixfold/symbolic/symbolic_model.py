"""A model over polynomials: named parameters, and the tree that its equations are written in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sixfold.errors import OptionError, UnknownNameError
from sixfold.model import Joint, Model, Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, Zero, exact
from sixfold.spatial import (
    IDENTITY3,
    ZERO3,
    Column,
    Inertia,
    Matrix3,
    Motion,
    Symmetric3,
    Transform,
    Vector3,
    rotation,
)
from sixfold.symbolic.polynomial import (
    ACCELERATION,
    GEOMETRIC,
    INERTIAL,
    MAX_WORK,
    POSITION,
    RATE,
    Polynomial,
    Ring,
    Variable,
    symbol,
)

# -- parameters: the constants of a model by name, or as clean numbers


#: Relative size below which a constant of the model is rounding and reads as zero.
MIN_RELATIVE_CONSTANT = 1e-12
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
                choices = "letters and digits that are not the shorthand S2, C2 or q1"
                raise OptionError("equations", "names", choices, word)
        self.offered: list[str] = []

    def __call__(self, name: str, value: Any, scale: float = 1.0, kind: str = GEOMETRIC) -> Scalar:
        """Return the parameter of a name; exact zero where the constant is rounding or zero."""
        self.offered.append(name)
        # rounding counts as zero, so that it does not become a parameter
        number = float(value)
        if abs(number) <= MIN_RELATIVE_CONSTANT * scale:
            return ZERO
        if not self.symbols:
            return number
        wanted = self.names.get(name, name)
        sign, wanted = (-1, wanted[1:]) if wanted.startswith("-") else (1, wanted)
        # two constants may share a letter only if they are equal
        known = self.ring.by_name.get(wanted)
        if known is not None and (
            known.value is None or not math.isclose(known.value, sign * number, rel_tol=1e-9)
        ):
            raise OptionError(
                "equations", "names", f"a letter of its own for '{name}' ({number:g})", wanted
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
        """Return a constant rotation as turns about x, y, z; right angles are exact.

        A rotation about all three is named element by element, Exx2 to Ezz2: products of three
        angles would make the equations of a chain of such bodies many times as long.
        """
        # right angles need no parameters
        nearest = E.map(lambda x: ZERO if abs(float(x)) <= tolerance else x)
        nearest = nearest.map(lambda x: x if isinstance(x, Zero) else _unit(x, tolerance))
        if all(isinstance(x, Zero) or abs(float(x)) == 1.0 for row in nearest for x in row):
            return nearest
        if not self.symbols:
            return nearest
        angles = roll_pitch_yaw(E)
        if not any(right_angle(angle, tolerance) for angle in angles):
            rows = (self.vector(f"E{a}", i, row, 1.0) for a, row in zip(AXES, E, strict=True))
            return Matrix3(*rows)
        result = IDENTITY3
        for axis, letter, angle in zip(
            reversed(IDENTITY3), ("ga", "be", "al"), reversed(angles), strict=True
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


def snap_right_angles(E: Matrix3, tolerance: float) -> Matrix3:
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
    # one letter g along an axis, three components otherwise
    values = [float(x) for x in model.gravity]
    size = max(map(abs, values))
    along = [k for k, x in enumerate(values) if abs(x) > MIN_RELATIVE_CONSTANT * size]
    if len(along) != 1:
        return name.vector("g", 0, Vector3(*values), size)
    (k,) = along
    g = name("g", abs(values[k]))
    signed = g if values[k] > 0 else -g
    return Vector3(*(signed if n == k else ZERO for n in range(3)))


# -- the model


@dataclass(frozen=True)
class SymbolicModel:
    """What the algorithms are run on."""

    model: Model
    ring: Ring
    tree: Tree
    q: list[Polynomial]
    qd: list[Polynomial]
    qdd: list[Polynomial]

    @property
    def positions(self) -> Table:
        """One column of positions for each body."""
        return self.model.positions(self.q)

    @property
    def rates(self) -> list[Variable]:
        """The variables of the velocities."""
        return [v for v in self.ring.variables if v.kind == RATE]

    @property
    def accelerations(self) -> list[Variable]:
        """The variables of the accelerations."""
        return [v for v in self.ring.variables if v.kind == ACCELERATION]


def symbolic_model(
    model: Model,
    *,
    symbols: bool,
    inertias: str,
    names: Mapping[str, str],
    angle_tolerance: float,
    limit: int = MAX_WORK,
) -> SymbolicModel:
    """Return a model's tree over polynomials."""
    # first the geometry: axes along z, right angles exact
    model = round_placements(align_axes(model), angle_tolerance)
    ring = Ring(limit=limit)
    q = [symbol(ring, ring.variable(f"q{k + 1}", POSITION)) for k in range(model.nq)]
    qd = [symbol(ring, ring.variable(f"qd{k + 1}", RATE)) for k in range(model.nv)]
    qdd = [symbol(ring, ring.variable(f"qdd{k + 1}", ACCELERATION)) for k in range(model.nv)]
    parallel_angles(ring, model)
    unit_quaternions(ring, model, q)
    # then the tree with named constants
    name = Namer(ring, model.name, names, symbols)
    tree = model.tree
    none = tuple(Column.zero(len(column)) for column in tree.damping)
    named = replace(
        tree,
        joint=tuple(_joint(name, i, tree) for i in range(len(tree.parent))),
        Xtree=(
            tree.Xtree[0],
            *(name.placement(i, tree.Xtree[i], angle_tolerance) for i in tree.bodies),
        ),
        inertia=(
            Inertia.zero(),
            *(name.inertia(i, tree.inertia[i], inertias) for i in tree.bodies),
        ),
        gravity=Motion(ZERO3, gravity(name, model)),
        armature=tuple(
            Column(name(f"Ja{_number(i, k, c)}", x, 0.0, INERTIAL) for k, x in enumerate(c))
            for i, c in enumerate(tree.armature)
        ),
        damping=none,
        friction=none,
        friction_negative=none,
        stiffness=none,
    )
    name.finish()
    return SymbolicModel(model, ring, named, q, qd, qdd)


def _number(i: int, k: int, column: Column) -> str:
    return f"{i}" if len(column) == 1 else f"{i}_{k + 1}"


def _joint(name: Namer, i: int, tree: Tree) -> Joint:
    """Return a joint with its lengths (the pitch of a screw) named; axes stay numbers."""
    joint = tree.joint[i]
    lengths = [f for f, x in vars(joint).items() if isinstance(x, float)]
    return replace(joint, **{f: name(f"{f}{i}", getattr(joint, f), 0.0) for f in lengths})  # type: ignore[type-var]


def unit_quaternions(ring: Ring, model: Model, q: list[Polynomial]) -> None:
    """Let the ring know that the quaternions among the positions have length one."""
    for _, part in model.coordinates.quaternions:
        ring.ones.append(sum((x * x for x in q[part]), Polynomial(ring, {})).terms)


# -- axes


def round_placements(model: Model, tolerance: float) -> Model:
    """Return the model with placements turned by exact right angles where they nearly are."""
    if tolerance <= MIN_RELATIVE_CONSTANT:
        return model
    bodies = tuple(
        replace(b, placement=Transform(snap_right_angles(b.placement.E, tolerance), b.placement.r))
        for b in model.bodies
    )
    return replace(model, bodies=bodies)


def align_axes(model: Model) -> Model:
    """Return the model with body frames turned so that every slanted joint axis becomes z."""
    turns = [_to_z(getattr(body.joint, "axis", None)) for body in model.bodies]
    if not any(turns):
        return model
    bodies = []
    for body, turn in zip(model.bodies, turns, strict=True):
        placement = body.placement
        above = turns[body.parent] if body.parent >= 0 else None
        if above:
            placement = placement @ above.inverse()
        changes: dict[str, object] = {}
        if turn:
            placement = turn @ placement
            back = turn.inverse()
            changes["inertia"] = (back.T @ body.inertia @ back).map(float)
            changes["joint"] = replace(body.joint, axis=Vector3(ZERO, ZERO, 1.0))  # type: ignore[type-var]
        bodies.append(replace(body, placement=placement.map(exact), **changes))  # type: ignore[arg-type]
    return replace(model, bodies=tuple(bodies), frames=(), geometries=())


def _to_z(axis: object) -> Transform | None:
    """Return the turn of a frame that makes its z a slanted axis; nothing for x, y and z."""
    if not isinstance(axis, Vector3):
        return None
    a = [float(x) for x in axis]
    if sum(abs(x) > 1e-12 for x in a) == 1:
        return None
    # turn about z until the axis is in the x z plane, then tilt it to z
    yaw, tilt = math.atan2(a[1], a[0]), math.atan2(math.hypot(a[0], a[1]), a[2])
    return Transform.turn((0.0, 1.0, 0.0), tilt) @ Transform.turn((0.0, 0.0, 1.0), yaw)


def parallel_angles(ring: Ring, model: Model) -> None:
    """Give every hinge its angle; along consecutive parallel axes angles add up."""
    tree = model.tree
    numbers = {free.body + 1: free.q.start for free in model.coordinates.free}
    absolute: dict[int, tuple[int, dict[int, int]]] = {}  # body: its angle, as multiples of q
    for i in tree.bodies:
        if i not in numbers or not _turns(tree.joint[i]):
            continue
        # along parallel axes the absolute angle is the sum of positions
        before, sense = _parallel(tree, i, absolute)
        sums = {numbers[i]: 1}
        if before is not None:
            sums |= {k: sense * n for k, n in absolute[before][1].items()}
        angle = ring.angle(tuple(sorted(sums.items())))
        absolute[i] = (angle, sums)
        ring.in_angles[numbers[i]] = {angle: 1} | (
            {absolute[before][0]: -sense} if before is not None else {}
        )


def _turns(joint: Joint) -> bool:
    """Return whether a joint has one degree of freedom, about a fixed axis."""
    if not joint.fixed_axis:
        return False
    ((ang, _),) = joint.calc((0.0,), (0.0,)).S.columns
    return any(float(x) for x in ang)


def _parallel(tree: Tree, i: int, absolute: Mapping[int, object]) -> tuple[int | None, int]:
    """Return the nearest hinge below whose axis is parallel, slides between them left out."""
    # walk to the base past slides, which do not turn
    axis = _axis(tree.joint[i])
    E: Matrix3 = tree.Xtree[i].E
    j = tree.parent[i]
    while j and tree.joint[j].fixed_axis and not _turns(tree.joint[j]):
        E = E @ tree.Xtree[j].E
        j = tree.parent[j]
    if j not in absolute:
        return None, 0
    seen = E.T @ axis
    for sense in (1, -1):
        if all(
            abs(float(a) - sense * float(b)) < 1e-9
            for a, b in zip(seen, _axis(tree.joint[j]), strict=True)
        ):
            return j, sense
    return None, 0


def _axis(joint: Joint) -> Vector3:
    ((ang, _),) = joint.calc((0.0,), (0.0,)).S.columns
    return ang
