"""A quadruped stands for ten minutes: its feet stay where they are, and it gains no energy.

    python -m tests.long.standing_quadruped --minutes 10

It is held by a compiled PD controller.  Soft friction creeps for as long as it pushes: on a soft
ground the robot starts on its feet, and the controller carries the weight with forces that ask for
no friction.  On a rigid ground it is dropped a centimetre with some speed, and springs carry it.
The same drop onto soft ground creeps by several millimetres: as far as it does in MuJoCo.
"""

import argparse
import sys
import time
from functools import partial
from typing import Any

import numpy as np

import sixfold as sf
from tests.contact.scenes import LEG, Twin, feet, quadruped

DT, EVERY = 1e-3, 100
"""Length of a step [s], and how many of them lie between two records."""
SETTLED = 1.0
"""From here on nothing may move [s]."""
MAX_DRIFT = 1e-3
"""Of a foot [m]."""
MAX_GAIN, MAX_LATE_GAIN = 1e-4, 1e-9
"""Of the energy of robot and springs, over that after the first second and over that after half of
the time [J].  A soft ground holds energy, too, and gives some back as it settles."""
SAME_CREEP = 0.01
"""Difference of the creep here and in MuJoCo."""
STIFFNESS, DAMPING = 60.0, 2.0
"""Of the controller [N m/rad, N m s/rad]."""
GOAL = np.tile(LEG, 4)


def law(carry: Any, t: Any, q: Any, v: Any) -> Any:
    """Return the forces that hold the legs."""
    return np.concatenate([np.zeros(6), carry + STIFFNESS * (GOAL - q[7:]) - DAMPING * v[6:]])


def upright(model: sf.Model) -> Any:
    """Return the robot as it should stand, its feet at the ground."""
    q = sf.neutral(model)
    q[7:] = GOAL
    q[2] = -sf.contact.contact_forces(
        model, q, *np.zeros((2, model.nv)), contacts=feet()
    ).gaps.min()
    return q


def carrying(model: sf.Model) -> Any:
    """Return the joint forces under which upright feet push down and nowhere else."""
    q, zero = upright(model), np.zeros(model.nv)
    feet_at = sf.contact.contact_forces(model, q, zero, zero, contacts=feet()).points
    legs = [k for k, name in enumerate(model.body_names) if name.endswith("calf")]
    without = sf.inverse_dynamics(model, q, zero, zero)
    columns = []
    for leg, place in zip(legs, feet_at, strict=True):
        push = np.zeros((len(model.bodies), 6))
        push[leg, :3], push[leg, 5] = np.cross(place, [0.0, 0.0, 1.0]), 1.0
        columns.append(sf.inverse_dynamics(model, q, zero, zero, push) - without)
    change = np.array(columns).T
    # the base has no motor; of all ways to share the weight the one with the least forces
    forces = np.linalg.lstsq(change[:6], -without[:6], rcond=None)[0]
    assert np.allclose(change[:6] @ forces, -without[:6], atol=1e-9)
    return (without + change @ forces)[6:]


def run(
    name: str, ground: sf.contact.Ground, minutes: float, carry: Any, drop: float = 0.0
) -> bool:
    """Stand for so long, print and judge."""
    model = quadruped()
    q, v = dropped(drop)
    start = time.monotonic()
    found = sf.rollout(
        model,
        q,
        v,
        dt=DT,
        steps=round(60.0 * minutes / DT),
        every=EVERY,
        contacts=ground,
        control=partial(law, carry),
        compiled=True,
    )
    seconds = time.monotonic() - start
    first = round(SETTLED / DT / EVERY) - 1
    q, v = (np.asarray(x)[first:] for x in found)
    tau = np.array([law(carry, 0.0, *state) for state in zip(q, v, strict=True)])
    step = {"dt": DT} if ground.rigid else {}
    touching = sf.contact.contact_forces(model, q, v, tau, contacts=ground, **step)
    drift = np.linalg.norm(touching.points - touching.points[0], axis=-1).max()
    spring = (0.5 * STIFFNESS * (q[:, 7:] - GOAL) ** 2 - carry * q[:, 7:]).sum(axis=-1)
    energy = sf.kinetic_energy(model, q, v) + sf.potential_energy(model, q) + spring
    gain = (energy - energy[0]).max()
    late = energy[len(energy) // 2 :]
    late_gain = (late - late[0]).max()
    weight = touching.forces[..., 2].sum(axis=-1)
    mass = sum(body.inertia.m for body in model.bodies)
    print(
        f"standing quadruped, {name}: {minutes} min in {seconds:.1f} s; after {SETTLED} s feet"
        f" drift at most {1e3 * drift:.2e} mm; energy of robot and springs gains at most"
        f" {gain:.1e} J, {late_gain:.1e} J in the second half of the time; fastest freedom at"
        f" the end {np.abs(v[-1]).max():.1e}; friction at the end at most"
        f" {np.abs(touching.forces[-1, :, :2]).max():.1e} N; the ground carries"
        f" {weight[-1]:.3f} N of {9.81 * mass:.3f} N"
    )
    stands = bool(abs(weight[-1] - 9.81 * mass) < 0.01 * 9.81 * mass)
    return (
        stands and bool(drift < MAX_DRIFT) and bool(gain < MAX_GAIN and late_gain < MAX_LATE_GAIN)
    )


def dropped(height: float) -> tuple[Any, Any]:
    """Return a state above the ground, with more speed from higher up."""
    q, v = upright(quadruped()), np.random.default_rng(4).standard_normal(quadruped().nv)
    q[2] += height
    return q, 10.0 * height * v


def creeps_as_in_mujoco() -> bool:
    """Drop the robot onto soft ground, with springs alone, here and in MuJoCo for ten seconds."""
    model, twin = quadruped(), Twin(quadruped(), feet(), dt=DT)
    hold, seconds, none = partial(law, np.zeros(12)), 10, np.zeros(model.nv)
    steps = round(seconds / DT)
    q, v = dropped(0.01)
    twin.put(q, v, none)
    found = sf.rollout(
        model, q, v, dt=DT, steps=steps, every=EVERY, contacts=feet(), control=hold, compiled=True
    )
    there = []
    for k in range(steps + 1):
        state = twin.state()
        if k and k % EVERY == 0:
            there.append(state[0])
        twin.d.qfrc_applied[6:] = hold(0.0, *state)[6:]
        twin.step()
    creep = []
    for at in (found[0], np.array(there)):
        at = at[round(SETTLED / DT / EVERY) - 1 :]
        places = sf.contact.contact_forces(model, at, none, none, contacts=feet()).points
        creep.append(1e3 * np.linalg.norm(places - places[0], axis=-1).max())
    print(
        f"standing quadruped, dropped onto soft ground, springs alone: from {SETTLED} s to"
        f" {seconds} s feet creep by {creep[0]:.3f} mm, and by {creep[1]:.3f} mm in MuJoCo"
    )
    return bool(abs(creep[0] - creep[1]) < SAME_CREEP * creep[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    rigid = feet(rigid=True)
    good = [
        run("soft ground, weight carried", feet(), minutes, carrying(quadruped())),
        run("rigid ground, springs alone", rigid, minutes, np.zeros(12), drop=0.01),
        creeps_as_in_mujoco(),
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
