"""Rollouts of gymnasium's MuJoCo robots on their floor, with joint limits, next to MuJoCo's own.

    python benchmarks/gymnasium_contact.py

One core, 256 starts at random speeds, 100 steps of the file's own length.  MuJoCo runs the same
starts by `mujoco.rollout` with elliptic cones, semi-implicit Euler, its default tolerance, contacts
with the floor alone and no motors.  Best of several rounds in turns.
"""

import argparse
import time
import warnings
from pathlib import Path

import gymnasium
import mujoco
import mujoco.rollout
import numpy as np

import sixfold as sf

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
ROBOTS = ("hopper", "walker2d", "half_cheetah", "ant", "humanoid")
STARTS, STEPS = 256, 100


def mujoco_model(path):
    """Return MuJoCo's model with the same contacts and integrator."""
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.cone, m.opt.integrator = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtIntegrator.mjINT_EULER
    off = mujoco.mjtDisableBit
    m.opt.disableflags |= int(off.mjDSBL_EULERDAMP) | int(off.mjDSBL_ACTUATION)
    floor = m.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    m.geom_contype[:], m.geom_conaffinity[:] = ~floor, floor
    return m


def measure(name, rounds):
    """Return the first call [s], and the times of a step [s] here and in MuJoCo."""
    path = ASSETS / f"{name}.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.errors.RobotFileWarning)
        model = sf.load(path)
        ground = sf.contact.Ground.from_mjcf(path, model, limits=True)
    m = mujoco_model(path)
    data, between = mujoco.MjData(m), sf.interop.convert(model, m)
    rng = np.random.default_rng(0)
    q, v = np.tile(sf.neutral(model), (STARTS, 1)), rng.standard_normal((STARTS, model.nv))
    start = np.zeros((STARTS, mujoco.mj_stateSize(m, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    start[:, 1 : 1 + m.nq], start[:, 1 + m.nq : 1 + m.nq + m.nv] = (
        between.q_to(q),
        between.v_to(q, v),
    )
    dt = m.opt.timestep
    began = time.perf_counter()
    sf.rollout(model, q, v, dt=dt, steps=STEPS, contacts=ground)
    first = time.perf_counter() - began
    ours, theirs = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        sf.rollout(model, q, v, dt=dt, steps=STEPS, contacts=ground)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        mujoco.rollout.rollout(m, data, initial_state=start, nstep=STEPS)
        theirs.append(time.perf_counter() - began)
    return first, *(min(times) / STARTS / STEPS for times in (ours, theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=ROBOTS)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    sf.set_threads(1)
    print(f"{'robot':14}{'first [s]':>10}{'ns/step':>10}{'mujoco':>10}{'ratio':>8}")
    for name in arguments.robots:
        first, ours, theirs = measure(name, arguments.rounds)
        row = f"{name:14}{first:10.2f}{1e9 * ours:10.0f}{1e9 * theirs:10.0f}{theirs / ours:7.1f}x"
        print(row)


if __name__ == "__main__":
    main()
