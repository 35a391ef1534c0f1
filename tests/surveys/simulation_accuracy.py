"""How accurate long simulations are: energies, orders, norms, momenta and exact solutions.

python -m tests.surveys.simulation_accuracy           # about a minute
python -m tests.surveys.simulation_accuracy --short   # a tenth of the steps
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from scipy.special import ellipj, ellipk

import sixfold as sf


def energy(integrator, dt, steps):
    """Return the largest change of energy [J] and its trend [J/s] of the double pendulum."""
    model = sf.load("double_pendulum")
    every = max(1, steps // 10_000)
    run = sf.simulate(
        model, [1.0, 0.5], None, dt * steps, dt=dt, integrator=integrator, every=every
    )
    return run.energy_drift, float(np.polyfit(run.t, run.total - run.total[0], 1)[0])


def heavy_top():
    """Return a top on its tip, without symmetry."""
    builder = sf.ModelBuilder("top")
    inertia = sf.Inertia.from_mass(1.0, (0.05, 0.0, 0.5), (0.3, 0.35, 0.1))
    builder.add_body("top", joint=sf.Spherical(), inertia=inertia)
    return builder.build()


def free_body(inertia=(1.0, 2.0, 3.0), center=(0.0, 0.0, 0.0)):
    """Return one body without weight."""
    builder = sf.ModelBuilder("body", gravity=(0.0, 0.0, 0.0))
    body = sf.Inertia.from_mass(1.0, center, inertia)
    builder.add_body("body", joint=sf.Free(), inertia=body)
    return builder.build()


def observed_order(model, integrator, duration=1.0, steps=(160, 320)):
    """Return the order that two step lengths show, against a run with very short steps."""
    q0, v0 = sf.random_state(model, seed=3)
    v0 = 2 * v0
    ends = []
    for count, method in ((20 * steps[1], "lie_rk4"), *((n, integrator) for n in steps)):
        run = sf.simulate(
            model, q0, v0, duration, dt=duration / count, integrator=method, every=count
        )
        ends.append(np.concatenate([run.q[-1], run.v[-1]]))
    coarse, fine = (np.abs(end - ends[0]).max() for end in ends[1:])
    return math.log2(coarse / fine)


def quaternion_norm(integrator, steps):
    """Return how far a quaternion is from unit length after many steps."""
    model = heavy_top()
    run = sf.simulate(
        model,
        None,
        [1.0, -2.0, 3.0],
        1e-3 * steps,
        integrator=integrator,
        every=max(1, steps // 1000),
    )
    return float(np.abs(np.linalg.norm(run.q, axis=-1) - 1).max())


def flying_tree():
    """Return a floating trunk with two arms of two links, without weight."""
    builder = sf.ModelBuilder("flyer", gravity=(0.0, 0.0, 0.0))
    trunk = sf.Inertia.from_mass(5.0, (0.02, 0.0, 0.01), (0.12, 0.2, 0.25))
    link = sf.Inertia.from_mass(0.7, (0.0, 0.0, -0.12), (8e-3, 8e-3, 1e-3))
    builder.add_body("trunk", joint=sf.Free(), inertia=trunk)
    for side, y in (("left", 0.2), ("right", -0.2)):
        upper, lower = f"{side}_upper", f"{side}_lower"
        builder.add_body(
            upper, parent="trunk", joint=sf.Universal(), placement=(0, y, 0), inertia=link
        )
        builder.add_body(
            lower, parent=upper, joint=sf.Revolute("y"), placement=(0, 0, -0.25), inertia=link
        )
    return builder.build()


def momentum(integrator, steps):
    """Return the largest relative change of linear and angular momentum of a flying tree."""
    model = flying_tree()
    q0 = sf.neutral(model)
    v0 = np.array([0.3, -0.2, 0.4, 0.05, 0.02, -0.04, 0.3, -0.4, 0.5, -0.2, 0.3, -0.4])
    run = sf.simulate(
        model, q0, v0, 1e-3 * steps, integrator=integrator, every=max(1, steps // 1000)
    )
    h = sf.momentum(model, run.q, run.v)
    return float(np.abs(h - h[0]).max() / np.abs(h[0]).max())


def pendulum(dt, duration):
    """Return the largest error of x and y of IFToMM A01 [m], at ten times and at the end."""
    builder = sf.ModelBuilder("A01", gravity=(0.0, -9.81, 0.0))
    builder.add_body(
        "mass", joint=sf.Revolute("z"), inertia=sf.Inertia.from_mass(1.0, (1.0, 0.0, 0.0))
    )
    steps = round(duration / dt)
    run = sf.simulate(builder.build(), [0.0], [0.0], duration, dt=dt, every=steps // 10)
    # sin(angle from hanging / 2) = k cd(w t), k^2 = 1/2; whole periods are taken off first
    period = 2.36784194757623744930
    _, cn, dn, _ = ellipj(math.sqrt(9.81) * np.fmod(run.t, period), 0.5)
    angle = 2 * np.arcsin(math.sqrt(0.5) * cn / dn) - np.pi / 2
    off_x = np.abs(np.cos(run.q[:, 0]) - np.cos(angle))
    off_y = np.abs(np.sin(run.q[:, 0]) - np.sin(angle))
    return float(max(off_x.max(), off_y.max()))


def torque_free(dt, duration, integrator="lie_rk4"):
    """Return the errors of velocity [rad/s] and of rotation (matrix) against Jacobi's solution."""
    I = np.array([1.0, 2.0, 3.0])
    omega = np.array([0.0, 0.6, 0.9])
    model = free_body(tuple(I))
    run0 = _jacobi(I, omega, np.array([0.0]))
    turn = _quaternion(run0[1][0])
    q0 = np.array([0.0, 0.0, 0.0, *turn])
    run = sf.simulate(
        model,
        q0,
        np.array([*omega, 0, 0, 0]),
        duration,
        dt=dt,
        integrator=integrator,
        every=round(duration / dt) // 10,
    )
    exact, axes = _jacobi(I, omega, run.t)
    off = np.abs(run.v[:, :3] - exact).max()
    turned = sf.body_poses(model, run.q)[:, 0, :3, :3]
    return float(off), float(np.abs(turned - axes).max())


def _jacobi(I, omega, t):
    """Return angular velocities (n, 3) in the body and axes (n, 3, 3) with L along world z.

    Landau and Lifshitz, Mechanics, section 37, for I1 < I2 < I3 and L^2 > 2 E I2; it starts at
    omega_1 = 0, a quarter period after their zero of time.
    """
    I1, I2, I3 = I
    E2, L2 = float(I @ omega**2), float((I * omega) @ (I * omega))
    rate = math.sqrt((I3 - I2) * (L2 - E2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (E2 * I3 - L2) / ((I3 - I2) * (L2 - E2 * I1))
    amplitude = (
        math.sqrt((E2 * I3 - L2) / (I1 * (I3 - I1))),
        math.sqrt((E2 * I3 - L2) / (I2 * (I3 - I2))),
        math.sqrt((L2 - E2 * I1) / (I3 * (I3 - I1))),
    )
    K = float(ellipk(m))

    def at(time):
        sn, cn, dn, _ = ellipj(np.fmod(rate * time, 4 * K) + K, m)
        return np.stack([amplitude[0] * cn, amplitude[1] * sn, amplitude[2] * dn], axis=-1)

    L = math.sqrt(L2)
    # the turn about L: a periodic function, whose mean and integral a Gauss rule finds exactly
    nodes, weights = np.polynomial.legendre.leggauss(400)
    period = 4 * K / rate

    def turned(end):
        x = 0.5 * end * (nodes + 1)
        w = at(x)
        across = (I[:2] * w[:, :2] ** 2).sum(axis=1) / (I[:2] ** 2 * w[:, :2] ** 2).sum(axis=1)
        return 0.5 * end * float(weights @ (L * across))

    whole = turned(period)
    axes = []
    for moment, w in zip(t, at(t), strict=True):
        laps, rest = divmod(float(moment), period)
        psi = laps * whole + turned(rest)
        h = I * w / L
        theta, phi = math.acos(h[2]), math.atan2(h[0], h[1])
        axes.append(_about_z(psi) @ _about_x(theta) @ _about_z(phi))
    return at(t), np.array(axes)


def _about_z(a):
    return np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])


def _about_x(a):
    return np.array([[1, 0, 0], [0, math.cos(a), -math.sin(a)], [0, math.sin(a), math.cos(a)]])


def _quaternion(R):
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_quat()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a tenth of the steps")
    million = 100_000 if parser.parse_args().short else 1_000_000
    rows = []

    def row(what, got, limit, unit=""):
        rows.append((what, got, limit))
        mark = "ok" if got <= limit else "ABOVE"
        print(f"{what:<62} {got:>10.2e}  limit {limit:.0e} {unit:<6} {mark}", flush=True)

    begun = time.perf_counter()
    row(f"double pendulum, rk4, 1 ms, {million} steps", energy("rk4", 1e-3, million)[0], 3e-8, "J")
    row(
        f"double pendulum, rk4, 0.1 ms, {million} steps",
        energy("rk4", 1e-4, million)[0],
        5e-12,
        "J",
    )
    bounded, trend = energy("midpoint", 1e-3, million)
    row(f"double pendulum, midpoint, 1 ms, trend over {million} steps", abs(trend), 1e-9, "J/s")
    print(f"  (its energy stays within {bounded:.1e} J)")
    for name, order in (("semi_implicit_euler", 1), ("rk4", 4), ("lie_rk4", 4), ("midpoint", 2)):
        for model in (heavy_top(), free_body(center=(0.1, 0.2, 0.05))):
            # a method of order 1 shows it at shorter steps only
            steps = (4000, 8000) if order == 1 else (160, 320)
            off = abs(observed_order(model, name, steps=steps) - order)
            row(f"order of {name}, {model.name}: off {order} by", off, 0.1)
    for name in ("rk4", "lie_rk4", "midpoint"):
        row(f"quaternion norm - 1, {name}, {million} steps", quaternion_norm(name, million), 1e-15)
    row("momentum of a flying tree, lie_rk4, 1 ms, relative", momentum("lie_rk4", 100_000), 1e-12)
    span = 2.0 * million / 1000
    for dt in (1e-3, 5e-4):
        row(f"IFToMM A01 after {span:g} s, rk4, dt {dt:g}", pendulum(dt, span), 1e-8, "m")
    for name in ("lie_rk4", "rk4"):
        speed, turn = torque_free(1e-3, 100.0, name)
        row(f"torque-free body, 100 s, {name}, 1 ms: velocity", speed, 1e-9, "rad/s")
        row(f"torque-free body, 100 s, {name}, 1 ms: rotation", turn, 1e-9)
    print(f"{time.perf_counter() - begun:.0f} s")
    raise SystemExit(0 if all(got <= limit for _, got, limit in rows) else 1)


if __name__ == "__main__":
    main()
