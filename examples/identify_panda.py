"""From nothing to an identified arm: excite it, log it, fit it, judge it, weigh a payload.

The "real" robot is a simulated Panda (a Puma 560 if example-robot-data is not installed) whose
bodies differ from the file's and whose joints have friction; its sensors are noisy.

python identify_panda.py --report panda.html --picture torques.png
"""

import argparse
from dataclasses import replace

import numpy as np

import sixfold as sf

TORQUE_NOISE, ENCODER_NOISE = 0.05, 1e-5


def robot(name):
    """Return the robot as its file has it, without fingers."""
    try:
        model = sf.load(name)
    except sf.errors.SixfoldError:
        model = sf.load("puma560")
    fingers = [joint for joint in ("panda_finger_joint1",) if joint in model.joint_names]
    return sf.lock_joints(model, fingers).without(damping=True, friction=True)


def real_one(model, rng):
    """Return the robot that stands in the laboratory: other masses and centres, and friction."""
    bodies = []
    for body in model.bodies:
        heavier = body.inertia * rng.uniform(0.8, 1.25)
        dry, viscous = (rng.uniform(0.3, 1.0),), (rng.uniform(0.2, 0.8),)
        friction = {"friction": dry, "friction_negative": dry, "damping": viscous}
        bodies.append(replace(body, inertia=heavier, **friction))
    return replace(model, bodies=tuple(bodies))


def measure(real, run, rng):
    """Return what the logger writes: times, positions and torques."""
    tau = sf.inverse_dynamics(real, run.q, run.v, run.a)
    q = run.q + ENCODER_NOISE * rng.standard_normal(run.q.shape)
    return sf.identification.Log(
        q, tau=tau + TORQUE_NOISE * rng.standard_normal(tau.shape), t=run.t
    )


def main(arguments=()):
    """Identify the arm; `--report` and `--picture` show how well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--duration", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=60, help="steps of the search for a motion")
    parser.add_argument("--report", help="write a page about the fit to this .html file")
    parser.add_argument("--picture", help="draw measured and modelled torques into this file")
    chosen = parser.parse_args(arguments)
    rng = np.random.default_rng(1)
    model = robot(chosen.robot)
    real = real_one(model, rng)

    # a motion that shows the parameters, and what the robot measured on it
    run = sf.identification.excitation(
        model, chosen.duration, noise=TORQUE_NOISE, rounds=chosen.rounds
    )
    print("\n".join(run.notes))
    result = sf.identification.identify(model, measure(real, run, rng))
    print(result.text())

    # judge it on a motion that it has not seen
    other = sf.identification.excitation(model, chosen.duration, rounds=0, seed=3)
    right = sf.inverse_dynamics(real, other.q, other.v, other.a)

    def error(torques):
        return np.sqrt(((torques - right) ** 2).mean(axis=0) / (right**2).mean(axis=0)).max()

    before = error(sf.inverse_dynamics(model, other.q, other.v, other.a))
    after = error(result.predict(other.q, other.v, other.a))
    print(f"torques on a new motion: off by {before:.0%} before, {after:.2%} after")

    # what does the hand carry?  Everything else is known now
    hand = model.body_names[-1]
    loaded = sf.add_payload(real, hand, mass=1.0, com=(0.0, 0.02, 0.1), inertia=(2e-3,) * 3)
    carried = sf.identification.identify(
        result.model, measure(loaded, run, rng), bodies=hand, friction=False
    ).added_inertia(hand)
    print(f"payload: {float(carried.m):.3f} kg")
    if chosen.report:
        sf.write_report(chosen.report, result.model, result)
    if chosen.picture:
        sf.plot(result, chosen.picture)
    return {"before": before, "after": after, "payload": float(carried.m), "result": result}


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
