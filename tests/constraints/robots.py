"""Robots with closed loops, random states that keep them closed, and the same in other engines."""

from dataclasses import replace

import numpy as np

import sixfold as sf
from sixfold.model import Loop


def held(model, q, frames, joint):
    """Return a model whose frames are held to the world, by a joint, where they are at q."""
    closed = []
    for name in frames:
        body, X = model.locate(name)
        pose = sf.frame_pose(model, q, name)
        there = sf.Transform.from_pose(pose[:3, :3].tolist(), pose[:3, 3].tolist())
        closed.append(Loop(f"{name} held", -1, there, body, X, joint))
    return replace(model, constraints=(*model.constraints, *closed))


LEGS = ("FR", "FL", "RR", "RL")


def quadruped():
    """A1 on a floating base, its feet held as points, and how it stands."""
    model = sf.load("a1", floating_base=True).without(damping=True, friction=True)
    q = sf.neutral(model)
    for leg in LEGS:
        for part, angle in (("hip", 0.1), ("thigh", 0.8), ("calf", -1.6)):
            q[model.q_slice(f"{leg}_{part}_joint")] = angle
    feet = [f"{leg}_foot" for leg in LEGS]
    return held(model, q, feet, sf.Spherical()), q


def standing_leg():
    """A leg with a four-bar knee whose foot is welded to the world."""
    model, q = sample("four_bar_leg")
    return held(model, q, ["sole"], sf.Fixed()), q


def sample(name):
    """Return a sample and its closed neutral configuration."""
    model = sf.load(name)
    return model, sf.neutral(model)


ROBOTS = {
    "four_bar_leg": lambda: sample("four_bar_leg"),
    "delta": lambda: sample("delta"),
    "gripper": lambda: sample("gripper"),
    "stewart": lambda: sample("stewart"),
    "quadruped": quadruped,
}


def states(model, q, count, seed=0, spread=0.15):
    """Return closed configurations near one, velocities that keep them closed, and joint forces."""
    rng = np.random.default_rng(seed)
    near = sf.integrate(model, q, rng.normal(size=(count, model.nv)) * spread)
    closed = sf.loops.assemble(model, near)
    closed, v = sf.loops.project(model, closed, rng.normal(size=(count, model.nv)))
    return closed, v, rng.normal(size=(count, model.nv)) * 5.0
