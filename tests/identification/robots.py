"""Robots with known numbers, and their logs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import sixfold as sf
from sixfold.identification.fit import parameters, physical

DT = 2e-3
NOISE = 0.05


def changed(model, seed=0, size=0.1, damping=0.5, friction=0.8):
    """Return a robot whose bodies differ from the model's and are physical, with friction."""
    rng = np.random.default_rng(seed)
    total = sum(float(b.inertia.m) for b in model.bodies)
    bodies = []
    for body in model.bodies:
        L = np.linalg.cholesky(physical(body.inertia.array(), total))
        E = size * rng.standard_normal((4, 4))
        J = L @ (np.eye(4) + (E + E.T) / 2) @ L.T
        n = body.joint.nv
        more = {"damping": (damping,) * n, "friction": (friction,) * n}
        more["friction_negative"] = more["friction"]
        inertia = sf.Inertia.from_parameters(parameters(J).tolist())
        bodies.append(replace(body, inertia=inertia, **more))
    return replace(model, bodies=tuple(bodies))


@cache
def arm():
    """Return an arm of three joints that shows everything, without friction."""
    builder = sf.ModelBuilder("arm")
    lump = sf.Inertia.from_mass(2.0, (0.15, 0.02, 0.03), (0.02, 0.03, 0.025))
    builder.add_body("turret", joint=sf.Revolute("z"), inertia=lump, joint_name="turn")
    place = {"parent": "turret", "placement": (0.05, 0.0, 0.3)}
    builder.add_body("upper", joint=sf.Revolute("y"), inertia=lump, joint_name="lift", **place)
    place = {"parent": "upper", "placement": (0.4, 0.0, 0.0)}
    builder.add_body("fore", joint=sf.Revolute("y"), inertia=lump, joint_name="bend", **place)
    return builder.build()


@cache
def motion(seconds=12.0, seed=0):
    return sf.identification.excitation(arm(), seconds, dt=DT, rounds=4, seed=seed)


@cache
def truth():
    return changed(arm(), seed=3)


@cache
def log(noise=NOISE):
    """Return q, v, a, tau and t of the real robot."""
    run = motion()
    rng = np.random.default_rng(1)
    tau = sf.inverse_dynamics(truth(), run.q, run.v, run.a)
    return run.q, run.v, run.a, tau + noise * rng.standard_normal(tau.shape), run.t
