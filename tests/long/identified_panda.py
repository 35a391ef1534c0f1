"""A simulated panda with noisy sensors and friction is identified, many times.

python -m tests.long.identified_panda --trials 200

Sensors: torques with 0.05 N m of noise, encoders with 1e-5 rad, at 1 kHz; dry and viscous friction;
20 s of the robot's own excitation; velocities and accelerations from the encoders.  Asked for:
torques on a new motion within 2 % of the true ones, every base parameter within three standard
errors in 95 % of the trials, physical inertias, a payload of 1 kg found to 1 %.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import sixfold as sf
from sixfold.identification.problem import start_of
from tests.identification.robots import changed

TORQUE, ENCODER = 0.05, 1e-5


def panda():
    model = sf.load("panda")
    return sf.lock_joints(model, ["panda_finger_joint1"])


def measured(model, run, rng):
    """Return positions and torques with noise."""
    tau = sf.inverse_dynamics(model, run.q, run.v, run.a)
    q = run.q + ENCODER * rng.standard_normal(run.q.shape)
    return q, tau + TORQUE * rng.standard_normal(tau.shape)


def torque_error(result, model, run):
    """Return the error of each joint's torque on a motion, relative to the torque."""
    right = sf.inverse_dynamics(model, run.q, run.v, run.a)
    wrong = result.predict(run.q, run.v, run.a) - right
    return np.sqrt((wrong**2).mean(axis=0) / (right**2).mean(axis=0))


def trials(count):
    """Return the shares of trials with each parameter inside, and the largest torque error."""
    model = panda()
    real = changed(model, seed=1, damping=0.5, friction=0.8)
    run, other = (
        sf.identification.excitation(model, 20.0, noise=TORQUE, seed=seed) for seed in (0, 5)
    )
    inside, worst, physical = [], 0.0, True
    for trial in range(count):
        q, tau = measured(real, run, np.random.default_rng(trial))
        result = sf.identification.identify(model, q, tau=tau, t=run.t)
        right = result.problem.base @ start_of(real, result.problem.choice, result.problem.unknowns)
        z = [(p.value - x) / p.error for p, x in zip(result.parameters, right, strict=True)]
        inside.append(np.abs(z) < 3)
        worst = max(worst, float(torque_error(result, real, other).max()))
        physical &= all(
            sf.spatial.physical_consistency(b.inertia, tolerance=0.0).physical
            for b in result.model.bodies
        )
    return model, real, run, result, np.mean(inside, axis=0), worst, physical


def payload(real, run, result):
    """Return the mass of a payload of 1 kg that the identified robot finds."""
    load = sf.add_payload(real, "panda_hand", mass=1.0, com=(0.01, 0.02, 0.1), inertia=(2e-3,) * 3)
    q, tau = measured(load, run, np.random.default_rng(10**6))
    found = sf.identification.identify(
        result.model, q, tau=tau, t=run.t, bodies="panda_hand", friction=False, offsets=False
    )
    return found.added_inertia("panda_hand")


def million(model, real, run):
    """Return the processor seconds and the memory [MB] that a million samples take, in chunks."""
    tau = sf.inverse_dynamics(real, run.q, run.v, run.a)
    tau = tau + TORQUE * np.random.default_rng(0).standard_normal(tau.shape)
    n = 20_000

    def chunks():
        for _ in range(50):
            yield run.q[:n], run.v[:n], run.a[:n], tau[:n]

    times = []
    for _ in range(5):
        start = time.process_time()
        sf.identification.identify(model, chunks())
        times.append(time.process_time() - start)
    return min(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    arguments = parser.parse_args()
    sf.set_threads(1)
    model, real, run, result, inside, worst, physical = trials(arguments.trials)
    print(result)
    print(f"largest error of a torque on a new motion: {worst:.2%}")
    print(f"parameters within three standard errors: {inside.min():.1%} of trials at least")
    print(f"physical inertias in all trials: {physical}")
    found = payload(real, run, result)
    print(
        f"payload of 1 kg: {float(found.m):.4f} kg at {[round(float(x), 4) for x in found.center]}"
    )
    seconds, memory = million(model, real, run)
    print(f"a million samples: {seconds:.2f} s of one core, process of {memory:.0f} MB")
    assert worst < 0.02 and inside.min() >= 0.95 and physical
    assert abs(float(found.m) - 1.0) < 0.01


if __name__ == "__main__":
    main()
