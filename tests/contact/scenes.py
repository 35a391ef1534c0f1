"""Bodies and robots on the ground, and the same in MuJoCo."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from benchmarks.bench.engines.mujoco_contacts import to_mujoco_with_contacts

import sixfold as sf
from sixfold.model import Free, Prismatic
from sixfold.spatial import solids

LEG = (0.0, 0.8, -1.6)


def body(inertia: Any, name: str = "body") -> sf.Model:
    """Return one free body."""
    return sf.ModelBuilder(name).add_body("body", joint=Free(), inertia=inertia).build()


def ball(radius: float = 0.1, mass: float = 1.0) -> sf.Model:
    return body(solids.sphere(radius, mass=mass), "ball")


def box(*size: float, mass: float = 1.0) -> sf.Model:
    return body(solids.box(*size, mass=mass), "box")


def corners(*size: float) -> list[sf.contact.ContactPoint]:
    signs = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    return [sf.contact.ContactPoint("body", tuple(np.multiply(s, size))) for s in signs]


def hopper() -> tuple[sf.Model, sf.contact.Ground]:
    """Return a trunk on one sliding leg, and its ground."""
    leg = solids.sphere(0.05, mass=0.2)
    model = (
        sf.ModelBuilder("hopper")
        .add_body("trunk", joint=Free(), inertia=solids.sphere(0.1, mass=2.0))
        .add_body("foot", parent="trunk", joint=Prismatic((0, 0, 1)), inertia=leg)
        .build()
    )
    points = [sf.contact.ContactPoint("foot", (0, 0, -0.3), 0.05)]
    return model, sf.contact.Ground(points=points, friction=0.9)


@cache
def quadruped() -> sf.Model:
    return sf.load("a1", floating_base=True)


def feet(**options: Any) -> sf.contact.Ground:
    """Return the ground of the quadruped's four feet."""
    legs = [name for name in quadruped().body_names if name.endswith("calf")]
    points = [sf.contact.ContactPoint(leg, (0.0, 0.0, -0.2), 0.02) for leg in legs]
    return sf.contact.Ground(**{"friction": 0.8, "points": points, **options})


def feet_and_trunk(**options: Any) -> sf.contact.Ground:
    """Return the ground of its feet, knees and trunk."""
    legs = [name for name in quadruped().body_names if name.endswith("calf")]
    trunk = quadruped().body_names[0]
    points = [
        *feet().points,
        *(sf.contact.ContactPoint(leg, (0.0, 0.0, 0.0), 0.03) for leg in legs),
        *(sf.contact.ContactPoint(trunk, (x, 0.0, -0.02), 0.04) for x in (-0.15, 0.15)),
    ]
    return feet(**{"points": points, **options})


@cache
def humanoid() -> sf.Model:
    return sf.load("g1_29dof", floating_base=True)


def soles(**options: Any) -> sf.contact.Ground:
    """Return the ground of the humanoid's two flat feet, four spheres each."""
    corners = ((-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03))
    points = [
        sf.contact.ContactPoint(f"{side}_ankle_roll_link", (x, y, -0.03), 0.005)
        for side in ("left", "right")
        for x, y in corners
    ]
    return sf.contact.Ground(**{"friction": 0.8, "points": points, **options})


def soles_and_trunk(**options: Any) -> sf.contact.Ground:
    """Return the ground of its feet, knees, pelvis and torso."""
    others = (
        ("left_knee_link", (0.0, 0.0, 0.0), 0.06),
        ("right_knee_link", (0.0, 0.0, 0.0), 0.06),
        ("pelvis", (0.0, 0.0, -0.05), 0.1),
        ("torso_link", (0.0, 0.0, 0.2), 0.12),
    )
    points = [*soles().points, *(sf.contact.ContactPoint(*each) for each in others)]
    return soles(**{"points": points, **options})


class Twin:
    """A robot with a free base on its ground, in MuJoCo, solved to the last digit."""

    def __init__(self, model: sf.Model, ground: sf.contact.Ground, dt: float = 1e-3) -> None:
        import mujoco

        self.mujoco, self.model = mujoco, model
        self.m = to_mujoco_with_contacts(model, ground, dt=dt)
        self.m.opt.iterations, self.m.opt.tolerance = 200, 0.0
        self.m.opt.ls_iterations, self.m.opt.ls_tolerance = 200, 1e-12
        self.d = mujoco.MjData(self.m)
        self.free = isinstance(model.bodies[0].joint, Free)

    def put(self, q: Any, v: Any, tau: Any) -> None:
        """Set the state: MuJoCo has w first, and linear velocities in world axes."""
        d = self.d
        if not self.free:
            d.qpos[:], d.qvel[:], d.qfrc_applied[:] = q, v, tau
            return
        d.qpos[:3], d.qpos[3], d.qpos[4:7], d.qpos[7:] = q[:3], q[6], q[3:6], q[7:]
        turn = self.rotation(q)
        d.qvel[:3], d.qvel[3:6], d.qvel[6:] = turn @ v[3:6], v[:3], v[6:]
        d.qfrc_applied[:3] = turn @ tau[3:6]
        d.qfrc_applied[3:6], d.qfrc_applied[6:] = tau[:3], tau[6:]

    def state(self) -> tuple[Any, Any]:
        """Return q and v in our coordinates."""
        d = self.d
        if not self.free:
            return d.qpos.copy(), d.qvel.copy()
        q = np.concatenate([d.qpos[:3], d.qpos[4:7], d.qpos[3:4], d.qpos[7:]])
        return q, np.concatenate([d.qvel[3:6], self.rotation(q).T @ d.qvel[:3], d.qvel[6:]])

    def rotation(self, q: Any) -> Any:
        flat = np.zeros(9)
        self.mujoco.mju_quat2Mat(flat, np.roll(q[3:7], 1))
        return flat.reshape(3, 3)

    def contacts(self) -> tuple[Any, Any, Any]:
        """Return forces in world axes, points and gaps by contact; NaN gaps where open."""
        names = [self.m.geom(g).name for g in range(self.m.ngeom)]
        n = sum(name.startswith("touch") and name[5:].isdigit() for name in names)
        forces, points, gaps = np.zeros((n, 3)), np.full((n, 3), np.nan), np.full(n, np.nan)
        for c in range(self.d.ncon):
            contact, f = self.d.contact[c], np.zeros(6)
            self.mujoco.mj_contactForce(self.m, self.d, c, f)
            pair = [names[int(g)] for g in contact.geom]
            k = next(int(name[5:]) for name in pair if name[5:].isdigit())
            # the force acts on the second geom
            side = 1.0 if pair[1] == f"touch{k}" else -1.0
            forces[k] += side * contact.frame.reshape(3, 3).T @ f[:3]
            points[k], gaps[k] = contact.pos, contact.dist
        return forces, points, gaps

    def forward(self) -> None:
        self.mujoco.mj_forward(self.m, self.d)

    def step(self) -> None:
        self.mujoco.mj_step(self.m, self.d)


def standing(model: sf.Model, rng: Any, height: float, spread: float) -> tuple[Any, Any, Any]:
    """Return a state near standing: some feet in the ground, some above it."""
    q, v = sf.neutral(model), rng.standard_normal(model.nv)
    q[2] = height + spread * rng.standard_normal()
    q[3:7] = [*(0.1 * rng.standard_normal(3)), 1.0]
    q[3:7] /= np.linalg.norm(q[3:7])
    n = model.nv - 6
    rest = np.tile(LEG, 4) if model.name == "a1" else np.zeros(n)
    q[7:] = rest + 0.1 * rng.standard_normal(n)
    tau = np.concatenate([np.zeros(6), 3.0 * rng.standard_normal(n)])
    return q, v, tau
