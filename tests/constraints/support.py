"""Models with constraints and states that satisfy them."""

from dataclasses import replace

import numpy as np

import sixfold as sf
from sixfold.model import Free, Model
from sixfold.quantities import readings
from sixfold.scalar import plain

GEARS = ("floating gears",)


def solid(rng):
    """Return the inertia of a random body."""
    A = rng.normal(size=(3, 3))
    return sf.Inertia.from_mass(1.0, tuple(0.1 * rng.normal(size=3)), 0.1 * (A @ A.T) + np.eye(3))


def frame(rng):
    """Return a random placement."""
    return sf.Transform.from_rpy(rng.normal(size=3), rng.normal(size=3))


def numbers(x):
    """Return floats of any numbers."""
    return [float(plain(each)) for each in x]


def pair(joint, seed=0, at=None):
    """Return two free bodies with a loop joint between, and a state (q, v) that the joint allows.

    `at` is the joint's position, a random one if left out.
    """
    rng = np.random.default_rng(seed)
    XA, XB = frame(rng), frame(rng)
    builder = sf.ModelBuilder("pair", gravity=(0.3, -0.5, -9.81))
    for name in "ab":
        builder.add_body(name, joint=sf.Free(), inertia=solid(rng))
    model = builder.close("a", "b", joint, XA, XB).build()
    q, v = sf.random_state(model, seed=rng)
    position = joint.random(rng) if at is None else at
    state = joint.calc(position, tuple(rng.normal(size=joint.nv)))
    XJ = state.XJ
    Xa = Free().calc(q[:7], v[:6]).XJ
    q[7:] = numbers(Free().nearest(XB.inverse() @ (XJ @ (XA @ Xa))))
    vb = XB.inverse() @ (XJ @ (XA @ sf.spatial.Motion.of(v[:6])) + state.vJ)
    v[6:] = numbers((*vb.ang, *vb.lin))
    return model, q, v


def branching(joint, seed=0, *, coupled=False):
    """Return a floating tree whose two arms meet in a loop joint, and a rough configuration."""
    rng = np.random.default_rng(seed)
    builder = sf.ModelBuilder("branching", gravity=(0.3, -0.5, -9.81))
    builder.add_body("hull", joint=sf.Free(), inertia=solid(rng))
    builder.add_body("left", parent="hull", joint=sf.Revolute("x"), inertia=solid(rng))
    add = builder.add_body
    add("left2", parent="left", joint=sf.Revolute("y"), placement=(0.3, 0, 0), inertia=solid(rng))
    add("right", parent="hull", joint=sf.Spherical(), placement=frame(rng), inertia=solid(rng))
    add("right2", parent="right", joint=sf.Translational(), inertia=solid(rng))
    add("idle", parent="left", joint=sf.Revolute("z"), damping=0.2, stiffness=1.5)
    add("end", parent="idle", joint=sf.Planar(), inertia=solid(rng), armature=0.1)
    if coupled:
        builder.couple("left2_joint", ("left_joint", -0.7), offset=0.2)
    return builder.close("left2", "right2", joint, frame(rng), frame(rng)).build()


def rods():
    """Two bodies on a floating hull and the base, held by three rods; one to the base itself."""
    rng = np.random.default_rng(7)
    builder = sf.ModelBuilder("rods", gravity=(0.1, 0.2, -9.81))
    builder.add_body("hull", joint=sf.Free(), inertia=solid(rng))
    builder.add_body("arm", parent="hull", joint=sf.Revolute((1, 2, 2)), inertia=solid(rng))
    builder.add_body("ball", joint=sf.Spherical(), placement=(1, 0, 0), inertia=solid(rng))
    builder.add_rod("arm", "ball", 0.8, (0.2, 0.3, 0.1), (0.3, 0.1, -0.2))
    builder.add_rod("world", "arm", 1.1, (0, 0, 0.5), (0, 0.3, 0.2), name="stay")
    builder.add_rod("hull", "ball", 0.9, (0.1, 0, 0), (0, 0.2, 0.1))
    return builder.build()


def gears():
    """A follower with two leaders, one of them by a cubic; leaders on different branches."""
    rng = np.random.default_rng(8)
    builder = sf.ModelBuilder("gears")
    builder.add_body("hull", joint=sf.Free(), inertia=solid(rng))
    for name, parent in (("one", "hull"), ("two", "one"), ("three", "hull"), ("four", "three")):
        joint = sf.Prismatic("x") if name == "four" else sf.Revolute((1, 2, 3))
        builder.add_body(name, parent=parent, joint=joint, inertia=solid(rng), placement=frame(rng))
    builder.add_gear("four_joint", ("one_joint", (0.5, -0.2, 0.1)), ("two_joint", 2.0), offset=0.3)
    builder.add_gear("three_joint", ("one_joint", -1.5))
    return builder.build()


def rolling(shape):
    """Return a body that rolls on a tilted plane of the world, with an arm on it."""
    rng = np.random.default_rng(9)
    builder = sf.ModelBuilder("rolling")
    builder.add_body("wheel", joint=sf.Free(), inertia=solid(rng))
    builder.add_body("arm", parent="wheel", joint=sf.Revolute("y"), inertia=solid(rng))
    plane = sf.Transform.from_rpy((0.2, -0.1, 0.3), (0.1, 0.2, 0.3))
    builder.add_rolling(
        "wheel", 0.4, shape=shape, axis=(1, 2, 2), center=(0.1, 0.0, 0.05), placement=plane
    )
    return builder.build()


def turntable():
    """A disc that rolls on a plate which itself moves: plane and wheel share a floating hull."""
    rng = np.random.default_rng(10)
    builder = sf.ModelBuilder("turntable")
    builder.add_body("hull", joint=sf.Free(), inertia=solid(rng))
    builder.add_body("plate", parent="hull", joint=sf.Revolute("z"), inertia=solid(rng))
    builder.add_body("wheel", parent="hull", joint=sf.Free(), inertia=solid(rng))
    builder.add_rolling("wheel", 0.3, plane="plate", placement=(0.0, 0.0, 0.1))
    return builder.build()


OTHERS = {
    "rods": rods,
    "floating gears": gears,
    "rolling ball": lambda: rolling("ball"),
    "rolling disc": lambda: rolling("disc"),
    "disc on a turntable": turntable,
    "branches": lambda: branching(sf.Revolute((1, 2, 3))),
    "branches, universal": lambda: branching(sf.Universal()),
    "branches, coupled": lambda: branching(sf.Cylindrical("y"), coupled=True),
}


def small_loop():
    """A hinged and a free body that meet in a universal joint."""
    rng = np.random.default_rng(11)
    builder = sf.ModelBuilder("small loop")
    builder.add_body("left", joint=sf.Revolute((1, 2, 3)), inertia=solid(rng))
    builder.add_body("right", joint=sf.Free(), inertia=solid(rng))
    return builder.close("left", "right", sf.Universal(), frame(rng), frame(rng)).build()


def small_train():
    """Three hinges with a gear between two, and a rod from the last to the base."""
    rng = np.random.default_rng(12)
    builder = sf.ModelBuilder("small train")
    for name, parent in (("one", None), ("two", "one"), ("three", None)):
        axis = (1, 2, 3) if name == "two" else "z"
        place = {"parent": parent, "placement": (0.2, 0.1, 0.3), "inertia": solid(rng)}
        builder.add_body(name, joint=sf.Revolute(axis), **place)
    builder.add_gear("two_joint", ("one_joint", (0.5, 0.2)))
    return builder.add_rod("two", "three", 0.6, (0.3, 0.2, 0.1), (-0.1, 0.3, 0.2)).build()


def small_wheel():
    """A disc alone on the ground."""
    solid = sf.Inertia.from_mass(2.0, rotational=(0.02, 0.02, 0.04))
    builder = sf.ModelBuilder("wheel").add_body("wheel", joint=sf.Free(), inertia=solid)
    return builder.add_rolling("wheel", 0.2).build()


SMALL = {"loop": small_loop, "train": small_train, "wheel": small_wheel}
"""For what is compiled."""


def closed(model, seed=0):
    """Return a state that satisfies the constraints, by Newton's method in NumPy."""
    q, v = sf.random_state(model, seed=seed)
    for _ in range(60):
        gaps = sf.loops.constraint_gaps(model, q, backend="numpy")
        J = sf.loops.constraint_jacobian(model, q, backend="numpy")
        if np.abs(gaps).max() < 1e-14:
            break
        step = -np.linalg.pinv(J) @ gaps
        q = sf.integrate(model, q, step * min(1.0, 0.5 / np.abs(step).max()), backend="numpy")
    assert np.abs(gaps).max() < 1e-13, gaps
    return q, v - np.linalg.pinv(J) @ (J @ v)


def tree_of(model: Model) -> Model:
    """Return the same bodies without the constraints."""
    return replace(model, constraints=())


def joint_part(model, q, forces):
    """Return J^T f of the gears alone: they work on joints, not on bodies."""
    kinds = [each.kind for each in model.constraints for _ in range(each.rows)]
    only = np.where(np.array(kinds) == "gear", forces, 0.0)
    return sf.loops.constraint_jacobian(model, q, backend="numpy").T @ only


def at_precision(name, model, *arrays):
    """Return the numbers of a page over the numbers of the arrays, such as MPFR."""
    page = getattr(readings, name)
    return page(model, model.tree, *[list(x) for x in arrays])
