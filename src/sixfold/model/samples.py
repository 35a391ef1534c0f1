"""Sample robots that are made by code: chains, trees, random trees, and a joint that is code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.errors import OptionError, yes_or_no
from sixfold.model.builder import ModelBuilder
from sixfold.model.custom_joint import CustomJoint
from sixfold.model.joint import Joint, Values
from sixfold.model.model import Model
from sixfold.model.standard_joints import STANDARD_JOINTS, Helical, Prismatic, Revolute
from sixfold.model.validate import SEED_LIMIT, body_count
from sixfold.scalar import ZERO, cos, sin
from sixfold.spatial import Inertia, Transform, Vector3, rotation
from sixfold.spatial.solids import box, sphere

DOWN_Y = (0.0, -9.81, 0.0)


def planar_chain(n: int = 3) -> Model:
    """N equal uniform rods of 1 kg and 1 m in the x-y plane, axis z, gravity along -y."""
    builder = ModelBuilder(f"planar_chain:{n}", gravity=DOWN_Y)
    rod = Inertia.from_mass(1.0, (0.5, 0.0, 0.0), (0.0, 1.0 / 12, 1.0 / 12))
    for k in range(1, n + 1):
        builder.add_body(
            f"link{k}",
            parent=f"link{k - 1}" if k > 1 else None,
            joint=Revolute("z"),
            joint_name=f"joint{k}",
            placement=(1.0, 0.0, 0.0) if k > 1 else None,
            inertia=rod,
        )
    builder.add_frame("tip", f"link{n}", (1.0, 0.0, 0.0))
    return builder.build()


def tree6() -> Model:
    """Featherstone's example: lambda = [0, 1, 2, 1, 4, 4], joints R, P, P, R, R, R."""
    return _generic_tree("tree6", [0, 1, 2, 1, 4, 4], "RPPRRR", seed=6)


def tree10() -> Model:
    """Fig. 2 of Concurrent Dynamics: ten bodies, nilpotency 5."""
    return _generic_tree("tree10", [0, 1, 1, 3, 3, 5, 4, 7, 1, 9], "R" * 10, seed=10)


def star(n: int = 5) -> Model:
    """Fig. 3 of Concurrent Dynamics: every other body is a child of the first, nilpotency 2."""
    return _generic_tree(f"star:{n}", [0] + [1] * (n - 1), "R" * n, seed=3)


@dataclass(frozen=True)
class RollingBall:
    """The transform of a ball that rolls along y: moves r theta, turns -theta about x."""

    radius: float

    def __call__(self, q: Values) -> Transform:
        """Return the transform at theta = q[0]."""
        E = rotation(Vector3(1.0, ZERO, ZERO), cos(q[0]), -sin(q[0]))
        return Transform(E, Vector3(ZERO, q[0] * self.radius, ZERO))


def rolling_ball() -> Model:
    """Carius' planar ball as one user-defined joint; its motion subspace turns with the body."""
    radius = 0.1
    builder = ModelBuilder("rolling_ball")
    builder.add_body(
        "ball",
        joint=CustomJoint(RollingBall(radius)),
        joint_name="contact",
        placement=(0.0, 0.0, radius),
        inertia=sphere(radius, mass=1.0),
    )
    return builder.build()


def random_tree(
    n: int = 10,
    seed: int = 0,
    *,
    joints: Sequence[type[Joint]] | None = None,
    branching: float = 1.0,
    properties: bool = False,
) -> Model:
    """Random tree of n bodies with every joint type, masses between 0.1 and 10 kg.

    Args:
        n: number of bodies.
        seed: same seed, same tree.
        joints: joint types to draw from; all, with a user-defined one, by default.
        branching: chance that a body hangs on any earlier body or the base, all alike, rather
            than on the last one.
        properties: also give damping, friction, springs and armature.

    Returns:
        A Model with bodies body1..bodyN, joints joint1..jointN and a random gravity.

    Example:
        >>> import sixfold as sf
        >>> sf.random_tree(4, seed=1, joints=[sf.Revolute], branching=0.0).parent  # a chain
        (-1, 0, 1, 2)
    """
    n = body_count("random_tree", "n", n)
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < SEED_LIMIT:
        raise OptionError("random_tree", "seed", "a whole number from 0 to 2**128 - 1", seed)
    share = isinstance(branching, (int, float)) and not isinstance(branching, bool)
    if not share or not 0 <= branching <= 1:
        raise OptionError("random_tree", "branching", "a number from 0 to 1", branching)
    yes_or_no("random_tree", properties=properties)
    kinds = _joint_kinds(joints)
    rng = np.random.default_rng([n, seed])
    builder = ModelBuilder(f"random_tree:{n}:{seed}", gravity=tuple(rng.uniform(-10, 10, 3)))
    for k in range(n):
        parent = k - 1 if rng.random() > branching else int(rng.integers(-1, k)) if k else -1
        joint = _random_joint(kinds[int(rng.integers(len(kinds)))], rng)
        nv = joint.nv
        extras = {}
        if properties:
            for name, size in (("damping", 1.0), ("friction", 0.5), ("armature", 0.3)):
                extras[name] = rng.uniform(0, size, nv).tolist()
            extras["stiffness"] = [float(rng.uniform(0, 5))] * nv
            extras["rest"] = joint.random(rng)
        builder.add_body(
            f"body{k + 1}",
            parent=f"body{parent + 1}" if parent >= 0 else None,
            joint=joint,
            joint_name=f"joint{k + 1}",
            placement=_random_placement(rng),
            inertia=_random_inertia(rng),
            **extras,
        )
    return builder.build()


def _joint_kinds(joints: Any) -> Sequence[type[Joint]]:
    """Return the joint types to draw from."""
    known: tuple[type[Joint], ...] = (*STANDARD_JOINTS, CustomJoint)
    if joints is None:
        return known
    kinds = tuple(joints) if isinstance(joints, (list, tuple)) else ()
    if not kinds or not all(isinstance(kind, type) and kind in known for kind in kinds):
        listed = ", ".join(kind.__name__ for kind in known)
        raise OptionError("random_tree", "joints", f"a list of joint types among {listed}", joints)
    return kinds


def _random_joint(kind: type[Joint], rng: np.random.Generator) -> Joint:
    if kind is CustomJoint:
        return CustomJoint(RollingBall(float(rng.uniform(0.1, 1))))
    axis: Sequence[float] = rng.standard_normal(3).tolist()
    if rng.random() < 0.5:
        axis = np.eye(3)[int(rng.integers(3))].tolist()
    if kind is Helical:
        return Helical(axis, float(rng.uniform(-0.3, 0.3)))
    named = "axis" in kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(axis) if named else kind()  # type: ignore[call-arg]


def _random_placement(rng: np.random.Generator) -> Transform:
    turn = rng.uniform(-np.pi, np.pi, 3).tolist()
    return Transform.from_rpy(turn, rng.uniform(-0.5, 0.5, 3).tolist())


def _random_inertia(rng: np.random.Generator) -> Inertia:
    """Return a random box, turned and moved, of 0.1 to 10 kg."""
    sides = rng.uniform(0.05, 0.5, 3).tolist()
    solid = box(*sides, mass=math.exp(rng.uniform(math.log(0.1), math.log(10))))
    X = Transform.from_rpy(rng.uniform(-3, 3, 3).tolist(), rng.uniform(-0.3, 0.3, 3).tolist())
    return (X.T @ solid @ X).map(float)


def _generic_tree(name: str, parents: Sequence[int], joints: str, seed: int) -> Model:
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(name)
    for k, (p, letter) in enumerate(zip(parents, joints, strict=True), 1):
        joint: Joint = Revolute("z") if letter == "R" else Prismatic("z")
        builder.add_body(
            f"body{k}",
            parent=f"body{p}" if p else None,
            joint=joint,
            joint_name=f"joint{k}",
            placement=_random_placement(rng),
            inertia=_random_inertia(rng),
        )
    return builder.build()
