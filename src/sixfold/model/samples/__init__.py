"""Sample robots that are always there: the examples of the sources, and random trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.errors import ModelError, OptionError, UnknownNameError, yes_or_no
from sixfold.model.builder import ModelBuilder
from sixfold.model.custom_joint import CustomJoint
from sixfold.model.joint import Joint, Values
from sixfold.model.model import Model
from sixfold.model.samples.legged import quadruped
from sixfold.model.samples.loops import delta, four_bar_leg, gripper, stewart
from sixfold.model.standard_joints import STANDARD_JOINTS, Free, Helical, Prismatic, Revolute
from sixfold.model.tables import DHRow, from_dh
from sixfold.model.validate import SEED_LIMIT, body_count
from sixfold.scalar import ZERO, cos, sin
from sixfold.spatial import Inertia, Transform, Vector3, rotation
from sixfold.spatial.solids import box, sphere

DOWN_Y = (0.0, -9.81, 0.0)


def pendulum() -> Model:
    """Concurrent Dynamics example 1: axis z, gravity along -y, hanging at q = 0."""
    builder = ModelBuilder("pendulum", gravity=DOWN_Y)
    rod = Inertia.from_mass(1.0, (0.0, -0.5, 0.0), (0.02, 0.0, 0.02))
    builder.add_body("bob", joint=Revolute("z"), joint_name="hinge", inertia=rod)
    return builder.build()


def cart_pendulum() -> Model:
    """Concurrent Dynamics example 2: a pendulum on a cart that slides along x."""
    builder = ModelBuilder("cart_pendulum", gravity=DOWN_Y)
    cart = Inertia.from_mass(2.0, rotational=(0.01, 0.01, 0.01))
    bob = Inertia.from_mass(0.5, (0.0, -0.4, 0.0), (0.01, 0.0, 0.01))
    builder.add_body("cart", joint=Prismatic("x"), joint_name="slide", inertia=cart)
    builder.add_body("bob", parent="cart", joint=Revolute("z"), joint_name="hinge", inertia=bob)
    return builder.build()


def double_pendulum() -> Model:
    """Two links of 1 kg that swing about y, hanging along -z at q = 0; second angle relative."""
    builder = ModelBuilder("double_pendulum")
    upper = Inertia.from_mass(1.0, (0.0, 0.0, -0.5), (0.083, 0.083, 0.0))
    lower = Inertia.from_mass(1.0, (0.0, 0.0, -1.0), (0.33, 0.33, 0.0))
    builder.add_body("upper", joint=Revolute("y"), joint_name="shoulder", inertia=upper)
    builder.add_body(
        "lower",
        parent="upper",
        joint=Revolute("y"),
        joint_name="elbow",
        placement=(0.0, 0.0, -1.0),
        inertia=lower,
    )
    builder.add_frame("tip", "lower", (0.0, 0.0, -2.0))
    return builder.build()


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


def puma560() -> Model:
    """Puma 560 by standard DH (Corke and Armstrong-Helouvry 1994), with motors and friction.

    Dry friction is smooth below 0.01 rad/s, so that joints at rest do not shake in steps of 1 ms.
    """
    half = math.pi / 2
    #        d        a       alpha  m     centre of mass               inertia at the centre
    links = [
        (0.67183, 0.0, half, 0.0, (0.0, 0.0, 0.0), (0.0, 0.35, 0.0)),
        (0.0, 0.4318, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
        (0.15005, 0.0203, -half, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
        (0.4318, 0.0, half, 0.82, (0.0, 0.019, 0.0), (1.8e-3, 1.3e-3, 1.8e-3)),
        (0.0, 0.0, -half, 0.34, (0.0, 0.0, 0.0), (0.3e-3, 0.4e-3, 0.3e-3)),
        (0.0, 0.0, 0.0, 0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
    ]
    #        Jm       G         B         Tc+      Tc-
    motors = [
        (200e-6, 62.6111, 1.48e-3, 0.395, 0.435),
        (200e-6, 107.815, 0.817e-3, 0.126, 0.071),
        (200e-6, 53.7063, 1.38e-3, 0.132, 0.105),
        (33e-6, 76.0364, 71.2e-6, 11.2e-3, 16.9e-3),
        (33e-6, 71.923, 82.6e-6, 9.26e-3, 14.5e-3),
        (33e-6, 76.686, 36.7e-6, 3.96e-3, 10.5e-3),
    ]
    rows = [
        DHRow(
            a=a,
            alpha=alpha,
            d=d,
            inertia=Inertia.from_mass(m, c, I),
            properties={
                "armature": Jm * G * G,
                "damping": B * G * G,
                "friction": Tc * G,
                "friction_negative": Tn * G,
            },
        )
        for (d, a, alpha, m, c, I), (Jm, G, B, Tc, Tn) in zip(links, motors, strict=True)
    ]
    return from_dh(rows, name="puma560", friction_speed=0.01)


def ma23() -> Model:
    """Khatib's six-axis MA23, rebuilt from its printed coefficients; the numbers are our own."""
    builder = ModelBuilder("ma23")
    l2, d2, d3, h1, h2, dy4, ly4, d5, d6 = 0.45, 0.2, 0.15, 0.3, 0.4, 0.03, 0.05, 0.08, 0.1
    #        parent   axis  placed at         mass  centre           Ix     Iy     Iz
    rows = [
        (None, "z", (0.0, 0.0, 0.0), 10.0, (0.0, 0.0, 0.0), (0.2, 0.2, 0.15)),
        ("body1", "-x", (0.0, 0.0, 0.0), 6.0, (0.0, 0.0, d2), (0.12, 0.11, 0.02)),
        ("body2", "-x", (0.0, 0.0, l2), 4.0, (0.0, 0.0, d3), (0.07, 0.06, 0.01)),
        ("body3", "z", (0.0, 0.0, 0.0), 1.5, (0.0, dy4, h1), (0.011, 0.010, 0.002)),
        ("body4", "-x", (0.0, ly4, h2), 0.8, (0.0, 0.0, d5), (0.003, 0.0025, 0.0008)),
        ("body3", "z", (0.0, 0.0, 0.0), 0.5, (0.0, 0.0, d6), (0.0006, 0.0006, 0.0003)),
    ]
    for k, (parent, axis, place, mass, center, (Ix, Iy, Iz)) in enumerate(rows, 1):
        Iyz = 0.0004 if k == 4 else 0.0
        about = ((Ix, 0.0, 0.0), (0.0, Iy, Iyz), (0.0, Iyz, Iz))
        builder.add_body(
            f"body{k}",
            parent=parent,
            joint=Revolute(axis),
            joint_name=f"joint{k}",
            placement=place,
            inertia=Inertia.from_mass(mass, center, about),
        )
    return builder.build()


@dataclass(frozen=True)
class Rolling:
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
        joint=CustomJoint(Rolling(radius)),
        joint_name="contact",
        placement=(0.0, 0.0, radius),
        inertia=sphere(radius, mass=1.0),
    )
    return builder.build()


def floating_link() -> Model:
    """Carius 6.2: a free base with one revolute link."""
    builder = ModelBuilder("floating_link")
    link = Inertia.from_mass(0.5, (0.15, 0.0, 0.0), (1e-4, 4e-3, 4e-3))
    builder.add_body("base", joint=Free(), joint_name="free", inertia=box(0.3, 0.2, 0.1, mass=2.0))
    builder.add_body(
        "link",
        parent="base",
        joint=Revolute("y"),
        joint_name="hinge",
        placement=(0.15, 0.0, 0.0),
        inertia=link,
    )
    builder.add_frame("tip", "link", (0.3, 0.0, 0.0))
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
        joints: joint types to draw from; all, with a user-defined one, when left out.
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
        return CustomJoint(Rolling(float(rng.uniform(0.1, 1))))
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


SAMPLES: dict[str, Callable[..., Model]] = {
    "pendulum": pendulum,
    "cart_pendulum": cart_pendulum,
    "double_pendulum": double_pendulum,
    "planar_chain": planar_chain,
    "tree6": tree6,
    "tree10": tree10,
    "star": star,
    "puma560": puma560,
    "ma23": ma23,
    "rolling_ball": rolling_ball,
    "floating_link": floating_link,
    "random_tree": random_tree,
    "four_bar_leg": four_bar_leg,
    "delta": delta,
    "gripper": gripper,
    "stewart": stewart,
    "quadruped": quadruped,
}
_NUMBERED = {"planar_chain": 1, "star": 1, "random_tree": 2}


def sample(name: str) -> Model:
    """Return a sample robot by name, such as 'puma560', 'planar_chain:5' or 'random_tree:20:1'."""
    kind, *numbers = name.split(":")
    if kind not in SAMPLES:
        raise UnknownNameError("sample robot", name, SAMPLES, where="sixfold.load")
    wanted = _NUMBERED.get(kind, 0)
    if len(numbers) > wanted or not all(t.isdecimal() and len(t) < 10 for t in numbers):
        form = ":".join([kind, "N", "SEED"][: wanted + 1])
        raise ModelError(f"sample '{name}'", "does not read as a sample name", f"write {form}")
    values = [int(text) for text in numbers]
    if values and values[0] < 1:
        raise ModelError(f"sample '{name}'", "has no bodies", "ask for at least one body")
    if values:
        body_count(f"sample '{name}'", "N", values[0])
    return SAMPLES[kind](*values)
