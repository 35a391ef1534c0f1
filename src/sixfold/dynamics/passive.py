"""Forces that a joint makes by itself: damping, dry friction and springs."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, Zero, differentiate, if_positive, sign, tanh
from sixfold.spatial import Column


def passive_forces(tree: Tree, q: Table, qd: Table) -> Table:
    """Return the joint force that damping, friction and springs resist a motion with.

    damping x v + f tanh(v / v_s) + stiffness x (q - rest); f may differ by direction, and v_s = 0
    means f sign(v).  Inverse dynamics adds it, forward dynamics subtracts it.
    """
    force = tree.table()
    for i in tree.bodies:
        force[i] = passive_force(tree, i, q[i], qd[i])
    return force


def passive_force(tree: Tree, i: int, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Column:
    """Return the force of one joint, at its own position and velocity."""
    numbers = tree.friction[i], tree.friction_negative[i], tree.friction_speed[i]
    dry = Column(
        _level(v, forward, backward) * _direction(v, speed)
        for v, forward, backward, speed in zip(qd, *numbers, strict=True)
    )
    return _spring_force(tree, q, i) + tree.damping[i] * qd + dry


def spring_energy(tree: Tree, q: Table) -> Scalar:
    """Return the energy stored in the springs, (1/2) stiffness (q - rest)^2."""
    return tree.total({i: _energy(tree, i, q[i]) for i in tree.bodies}, ZERO)


def _energy(tree: Tree, i: int, at: Sequence[Scalar]) -> Scalar:
    total: Scalar = ZERO
    if not _any(tree.stiffness[i]):
        return total
    for k, x in zip(tree.stiffness[i], tree.joint[i].difference(tree.rest[i], at), strict=True):
        total = total + k * x * x * 0.5
    return total


def _spring_force(tree: Tree, q: Sequence[Scalar], i: int) -> Column:
    """Return the gradient of the spring's energy along the joint's velocities."""
    joint, n = tree.joint[i], tree.joint[i].nv
    if not _any(tree.stiffness[i]):
        return Column.zero(n)
    if joint.velocity_is_rate:
        return tree.stiffness[i] * joint.difference(tree.rest[i], q)
    # a screw's logarithm is not its own gradient: differentiate along each unit velocity
    units = [tuple(1.0 if m == k else ZERO for m in range(n)) for k in range(n)]
    return Column(
        differentiate(lambda at: (_energy(tree, i, at),), q, joint.rate(q, unit))[1][0]
        for unit in units
    )


def unit_passive_force(
    kind: str, offset: Scalar, v: Scalar, a: Scalar, friction_speed: Scalar
) -> Scalar:
    """Return the force that one unit of a joint's own number makes in its DOF.

    Args:
        kind: "viscous", "dry", "dry+" (forward), "dry-" (backward), "offset", "rotor" or "spring".
        offset: q - rest.
        v: velocity.
        a: acceleration.
        friction_speed: v_s of dry friction.
    """
    if kind in ("dry", "dry+", "dry-"):
        forward, backward = float(kind != "dry-"), float(kind != "dry+")
        return _level(v, forward, backward) * _direction(v, friction_speed)
    return {"viscous": v, "offset": 1.0, "rotor": a, "spring": offset}[kind]


def _level(v: Scalar, forward: Scalar, backward: Scalar) -> Scalar:
    same = isinstance(forward, (float, Zero)) and forward == backward
    return forward if same else if_positive(v, forward, backward)


def _direction(v: Scalar, speed: Scalar) -> Scalar:
    return sign(v) if isinstance(speed, Zero) else tanh(v / speed)


def _any(column: Column) -> bool:
    return not all(isinstance(x, Zero) for x in column)
