"""Mechanisms whose motion is known to many digits."""

import numpy as np

import sixfold as sf
from sixfold.scalar import cos, sin, sqrt

GRAVITY = 9.81


def rod(mass, length):
    """Return a uniform rod along x from the origin."""
    I = mass * length**2 / 12
    return sf.Inertia.from_mass(mass, (length / 2, 0, 0), (0, I, I))


def plate(mass, center, about_z):
    """Return a flat body in the x-y plane."""
    return sf.Inertia.from_mass(mass, (*center, 0.0), (about_z / 2, about_z / 2, about_z))


def four_bar(ground, crank, coupler, rocker, masses):
    """Return a four-bar linkage of uniform rods in the vertical x-y plane."""
    builder = sf.ModelBuilder("four-bar", gravity=(0, -GRAVITY, 0))
    hinge = sf.Revolute("z")
    builder.add_body("crank", joint=hinge, inertia=rod(masses[0], crank))
    more = {"placement": (crank, 0, 0), "inertia": rod(masses[1], coupler)}
    builder.add_body("coupler", parent="crank", joint=hinge, **more)
    more = {"placement": (ground, 0, 0), "inertia": rod(masses[2], rocker)}
    builder.add_body("rocker", joint=hinge, **more)
    return builder.close("coupler", "rocker", hinge, (coupler, 0, 0), (rocker, 0, 0)).build()


def slider_crank():
    """Return crank, rod and slider, without gravity."""
    builder = sf.ModelBuilder("slider-crank", gravity=(0, 0, 0))
    builder.add_body("crank", joint=sf.Revolute("z"), inertia=rod(1.0, 0.2))
    more = {"placement": (0.2, 0, 0), "inertia": rod(2.0, 0.5)}
    builder.add_body("rod", parent="crank", joint=sf.Revolute("z"), **more)
    slider = sf.Inertia.from_mass(1.0, rotational=(0.01, 0.01, 0.01))
    builder.add_body("slider", joint=sf.Prismatic("x"), inertia=slider)
    return builder.close("rod", "slider", sf.Revolute("z"), (0.5, 0, 0)).build()


def bricard():
    """Return six unit rods with hinges at right angles, one of them the base; all q = 90 deg."""
    builder = sf.ModelBuilder("bricard", gravity=(0, -GRAVITY, 0))
    twists = [np.pi / 2 * (-1) ** k for k in range(6)]
    place = None
    for k in range(5):
        link = {"parent": f"link{k}" if k else None, "joint": sf.Revolute("z")}
        builder.add_body(f"link{k + 1}", placement=place, inertia=rod(1.0, 1.0), **link)
        place = sf.Transform.from_rpy((twists[k], 0, 0), (1.0, 0, 0))
    base = sf.Transform.from_rpy((-twists[5], 0, 0), (-1.0, 0, 0))
    return builder.close("world", "link5", sf.Revolute("z"), base, place).build()


# -- Andrews' squeezing mechanism (Test Set for IVP Solvers; Hairer and Wanner II, section VI.9)

A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
"""Fixed points [m]: of the bodies 4 to 7, of body 3, of the spring."""
D, DA, E, EA, ZF, FA, RR, RA = 0.028, 0.0115, 0.02, 0.01421, 0.02, 0.01421, 0.007, 0.00092
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
ZT, TA, TB, U, UA, UB = 0.04, 0.02308, 0.00916, 0.04, 0.01228, 0.00449
STIFFNESS, FREE_LENGTH, DRIVE = 4530.0, 0.07785, 0.033
"""Of the spring [N/m, m]; the torque of the motor [N m]."""
ANDREWS = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
ANDREWS_START = (
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
)


def andrews():
    """Return seven bodies in a plane and three loops; joint angles are those of the test set."""
    builder = sf.ModelBuilder("andrews", gravity=(0, 0, 0))
    bodies = {
        "beta": (None, (0, 0), plate(0.04325, (RA, 0), 2.194e-6)),
        "Theta": ("beta", (RR, 0), plate(0.00365, (-DA, 0), 4.410e-7)),
        "gamma": (None, B, plate(0.02373, (SB, -SA), 5.255e-6)),
        "delta": (None, A, plate(0.07050, (TA, TB), 1.169e-5)),
        "Phi": ("delta", (ZT, 0), plate(0.00706, (0, EA - E), 5.667e-7)),
        "epsilon": (None, A, plate(0.05498, (UB, -UA), 1.912e-5)),
        "Omega": ("epsilon", (0, -U), plate(0.00706, (ZF - FA, 0), 5.667e-7)),
    }
    for name, (parent, place, inertia) in bodies.items():
        more = {"parent": parent, "placement": (*place, 0.0), "inertia": inertia}
        builder.add_body(name, joint=sf.Revolute("z"), joint_name=f"{name} joint", **more)
    ends = {"gamma": (0, -SS, 0), "Phi": (0, -E, 0), "Omega": (ZF, 0, 0)}
    for name, end in ends.items():
        builder.close("Theta", name, sf.Revolute("z"), (-D, 0, 0), end)
    return builder.build()


def andrews_order(model):
    """Return the places of the test set's angles among the model's coordinates."""
    return [model.v_slice(f"{name} joint").start for name in ANDREWS]


def andrews_forces(model):
    """Return the law of motor and spring."""
    motor, spring = (model.v_slice(f"{name} joint").start for name in ("beta", "gamma"))

    def law(t, q, v):
        c, s = cos(q[spring]), sin(q[spring])
        x, y = B[0] + SD * c + SC * s - C[0], B[1] + SD * s - SC * c - C[1]
        length = sqrt(x * x + y * y)
        pull = STIFFNESS * (FREE_LENGTH / length - 1.0)
        tau = [0.0] * model.nv
        tau[motor] = DRIVE
        tau[spring] = pull * (x * (SC * c - SD * s) + y * (SD * c + SC * s))
        return tau

    return law
