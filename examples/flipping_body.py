"""A free body that spins about its middle axis turns over again and again (Dzhanibekov)."""

import numpy as np

import sixfold as sf


def body():
    """Return a box that floats without weight."""
    builder = sf.ModelBuilder("box", gravity=(0, 0, 0))
    inertia = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.2, 0.25))
    builder.add_body("box", joint=sf.Free(), inertia=inertia)
    return builder.build()


def main():
    """Spin the body about y, with a slight push, and count the flips."""
    model = body()
    q0, v0 = sf.neutral(model), np.array([1e-3, 5.0, 0.0, 0, 0, 0])
    spin = lambda t, q, v: v[1]  # noqa: E731
    run = sf.simulate(model, q0, v0, 60.0, integrator="lie_rk4", events=spin)

    flips = np.array([event.t for event in run.events])
    h = sf.momentum(model, run.q, run.v)
    lost = np.abs(h - h[0]).max() / np.abs(h[0]).max()
    print(f"{len(flips)} flips in {run.duration:g} s, one each {np.diff(flips).mean():.6f} s")
    print(f"largest change of momentum {lost:.1e}, of energy {run.energy_drift:.1e} J")
    print(f"longest quaternion - 1: {np.abs(np.linalg.norm(run.q[:, 3:], axis=1) - 1).max():.1e}")
    return {"flips": flips, "momentum": lost, "energy": run.energy_drift}


if __name__ == "__main__":
    main()
