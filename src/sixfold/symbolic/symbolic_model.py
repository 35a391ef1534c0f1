"""A model over polynomials: the tree, coordinates and angles that its equations are written in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sixfold.model import Model
from sixfold.model.joint import Joint
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, exact
from sixfold.spatial import ZERO3, Column, Inertia, Matrix3, Motion, Transform, Vector3
from sixfold.symbolic.naming import MIN_RELATIVE_CONSTANT, Namer, gravity, squared
from sixfold.symbolic.polynomial import Polynomial, symbol
from sixfold.symbolic.ring import ACCELERATION, INERTIAL, MAX_WORK, POSITION, RATE, Ring, Variable


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
    model = rounded(aligned(model), angle_tolerance)
    ring = Ring(limit=limit)
    q = [symbol(ring, ring.variable(f"q{k + 1}", POSITION)) for k in range(model.nq)]
    qd = [symbol(ring, ring.variable(f"qd{k + 1}", RATE)) for k in range(model.nv)]
    qdd = [symbol(ring, ring.variable(f"qdd{k + 1}", ACCELERATION)) for k in range(model.nv)]
    parallel_angles(ring, model)
    unit_quaternions(ring, model, q)
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


def rounded(model: Model, tolerance: float) -> Model:
    """Return the model with placements turned by exact right angles where they nearly are."""
    if tolerance <= MIN_RELATIVE_CONSTANT:
        return model
    bodies = tuple(
        replace(b, placement=Transform(squared(b.placement.E, tolerance), b.placement.r))
        for b in model.bodies
    )
    return replace(model, bodies=bodies)


def aligned(model: Model) -> Model:
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
    """Return true for one freedom about a fixed axis."""
    if not joint.fixed_axis:
        return False
    ((ang, _),) = joint.calc((0.0,), (0.0,)).S.columns
    return any(float(x) for x in ang)


def _parallel(tree: Tree, i: int, absolute: Mapping[int, object]) -> tuple[int | None, int]:
    """Return the nearest hinge below whose axis is parallel, slides between them left out."""
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
