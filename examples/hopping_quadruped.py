"""A quadruped in the air: its legs kick, its momentum does not care."""

import numpy as np

import sixfold as sf

LEGS = {"front_left": (1, 1), "front_right": (1, -1), "hind_left": (-1, 1), "hind_right": (-1, -1)}


def quadruped():
    """Return a trunk on a floating base with four legs of three joints each."""
    builder = sf.ModelBuilder("quadruped")
    trunk = sf.Inertia.from_mass(6.0, rotational=(0.06, 0.18, 0.2))
    builder.add_body("trunk", joint=sf.Free(), joint_name="floating_base", inertia=trunk)
    hip = sf.Inertia.from_mass(0.4, rotational=(5e-4, 5e-4, 5e-4))
    thigh = sf.Inertia.from_mass(0.8, (0, 0, -0.09), (4e-3, 4e-3, 6e-4))
    shank = sf.Inertia.from_mass(0.2, (0, 0, -0.09), (9e-4, 9e-4, 5e-5))
    for leg, (x, y) in LEGS.items():
        places = (0.2 * x, 0.06 * y, 0.0), (0.0, 0.08 * y, 0.0), (0.0, 0.0, -0.2)
        parts = ("hip", "x", hip), ("thigh", "y", thigh), ("shank", "y", shank)
        parent = "trunk"
        for place, (part, axis, inertia) in zip(places, parts, strict=True):
            name = f"{leg}_{part}"
            joint = sf.Revolute(axis)
            builder.add_body(name, parent=parent, joint=joint, placement=place, inertia=inertia)
            parent = name
    return builder.build()


def gallop():
    """Return a controller that swings all thighs and shanks while the robot flies."""

    def control(t, q, v):
        swing = 0.8 * sf.math.sin(9.0 * t)
        target = np.array([0.0, 0.3 + swing, -0.6 - swing] * len(LEGS))
        pull = 8.0 * (target - q[7:]) - 0.4 * v[6:]
        return np.array([0.0] * 6 + list(pull))

    return control


def main():
    """Throw the robot up, let it kick for a second, and look at its momentum."""
    model = quadruped()
    q0, v0 = sf.neutral(model), np.zeros(model.nv)
    q0[7:] = [0.0, 0.3, -0.6] * len(LEGS)
    v0[5] = 4.0
    run = sf.simulate(model, q0, v0, 0.8, integrator="lie_rk4", control=gallop())

    spin = sf.centroidal_momentum(model, run.q, run.v)[:, :3]
    center = sf.center_of_mass(model, run.q)
    lift = sf.momentum(model, q0, v0)[5] / sum(body.inertia.m for body in model.bodies)
    flight = center[0] + np.outer(run.t, [0, 0, lift]) - np.outer(run.t**2, [0, 0, 9.81 / 2])
    pitch = np.degrees(2 * np.arcsin(run.q[:, 4]))
    off = np.abs(center - flight).max()
    print(f"the legs kick with up to {np.abs(run.tau).max():.1f} N m")
    print(f"the trunk pitches between {pitch.min():.1f} and {pitch.max():.1f} degrees")
    print(f"angular momentum stays within {np.abs(spin - spin[0]).max():.1e} kg m^2/s")
    print(f"the centre of mass stays within {off:.1e} m of its parabola")
    return {"spin": np.abs(spin - spin[0]).max(), "parabola": off, "pitch": np.ptp(pitch)}


if __name__ == "__main__":
    main()
