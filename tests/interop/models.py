"""Models that the tests of other engines share."""

from __future__ import annotations

import numpy as np

import sixfold as sf


def _inertia(rng: np.random.Generator) -> sf.Inertia:
    points = rng.uniform(-0.2, 0.2, (4, 3))
    A = sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points)
    return sf.Inertia.from_mass(rng.uniform(0.5, 2), rng.uniform(-0.1, 0.1, 3), A.tolist())


def zoo(*, helical: bool, seed: int = 0) -> sf.Model:
    """Return a tree with every standard joint that both sides have, the free one at the base."""
    rng = np.random.default_rng(seed)
    joints = [
        sf.Free(),
        sf.Revolute(rng.standard_normal(3)),
        sf.Prismatic(rng.standard_normal(3)),
        sf.Spherical(),
        sf.Cylindrical(rng.standard_normal(3)),
        sf.Planar(),
        sf.Universal(),
        sf.Translational(),
    ]
    joints += [sf.Helical("y", 0.1)] if helical else []
    builder = sf.ModelBuilder("zoo", gravity=(1.0, -2.0, -9.0))
    for k, joint in enumerate(joints):
        parent = "world" if k == 0 else f"b{rng.integers(k)}"
        placement = sf.Transform.from_rpy(rng.uniform(-3, 3, 3), rng.uniform(-1, 1, 3))
        builder.add_body(
            f"b{k}",
            parent=parent,
            joint=joint,
            joint_name=f"j{k}",
            placement=placement if k else None,
            inertia=_inertia(rng),
            armature=0.0 if k == 0 else 0.1 * k,
        )
    builder.add_frame("tip", "b3", sf.Transform.from_rpy((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)))
    return builder.build()


def gripper() -> sf.Model:
    builder = sf.ModelBuilder("gripper")
    for side in "lr":
        builder.add_body(
            side,
            joint=sf.Prismatic("x"),
            joint_name=f"{side}_joint",
            inertia=sf.Inertia.from_mass(0.2, (0, 0, 0.1), (0.01, 0.01, 0.01)),
        )
    builder.couple("r_joint", ("l_joint", -2.0), offset=0.1)
    return builder.build()
