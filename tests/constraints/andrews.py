"""Andrews' squeezing mechanism (Test Set for IVP Solvers; Hairer and Wanner II, section VI.9)."""

import numpy as np

import sixfold as sf
from sixfold.scalar import cos, sin, sqrt
from tests.constraints.mechanisms import plate

A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
"""Fixed points [m]: of the bodies 4 to 7, of body 3, of the spring."""
D, DA, E, EA, ZF, FA, RR, RA = 0.028, 0.0115, 0.02, 0.01421, 0.02, 0.01421, 0.007, 0.00092
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
ZT, TA, TB, U, UA, UB = 0.04, 0.02308, 0.00916, 0.04, 0.01228, 0.00449
STIFFNESS, FREE_LENGTH, DRIVE = 4530.0, 0.07785, 0.033
"""Of the spring [N/m, m]; the torque of the motor [N m]."""
ANGLES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
START = (
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
)


def mechanism():
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


def order(model):
    """Return the places of the test set's angles among the model's coordinates."""
    return [model.v_slice(f"{name} joint").start for name in ANGLES]


def forces(model):
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


def printed_accelerations(q, v):
    """Return accelerations by the equations that the test set prints: M, f, G and a dense solve."""
    _, th, ga, ph, _, om, _ = q
    bep, thp, _, php, dep, omp, epp = v
    m1, m2, m3, m4, m5, m6, m7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
    I1, I2, I3, I4, I5, I6, I7 = 2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5
    M = np.zeros((7, 7))
    M[0, 0] = m1 * RA**2 + m2 * (RR**2 - 2 * DA * RR * np.cos(th) + DA**2) + I1 + I2
    M[0, 1] = M[1, 0] = m2 * (DA**2 - DA * RR * np.cos(th)) + I2
    M[1, 1] = m2 * DA**2 + I2
    M[2, 2] = m3 * (SA**2 + SB**2) + I3
    e, z = E - EA, ZF - FA
    M[3, 3] = m4 * e**2 + I4
    M[3, 4] = M[4, 3] = m4 * (e**2 + ZT * e * np.sin(ph)) + I4
    M[4, 4] = m4 * (ZT**2 + 2 * ZT * e * np.sin(ph) + e**2) + m5 * (TA**2 + TB**2) + I4 + I5
    M[5, 5] = m6 * z**2 + I6
    M[5, 6] = M[6, 5] = m6 * (z**2 - U * z * np.sin(om)) + I6
    M[6, 6] = m6 * (z**2 - 2 * U * z * np.sin(om) + U**2) + m7 * (UA**2 + UB**2) + I6 + I7
    x = SD * np.cos(ga) + SC * np.sin(ga) + B[0] - C[0]
    y = SD * np.sin(ga) - SC * np.cos(ga) + B[1] - C[1]
    length = np.hypot(x, y)
    pull = -STIFFNESS * (length - FREE_LENGTH) / length
    f = np.array(
        [
            DRIVE - m2 * DA * RR * thp * (thp + 2 * bep) * np.sin(th),
            m2 * DA * RR * bep**2 * np.sin(th),
            pull * x * (SC * np.cos(ga) - SD * np.sin(ga))
            + pull * y * (SD * np.cos(ga) + SC * np.sin(ga)),
            m4 * ZT * e * dep**2 * np.cos(ph),
            -m4 * ZT * e * php * (php + 2 * dep) * np.cos(ph),
            -m6 * U * z * epp**2 * np.cos(om),
            m6 * U * z * omp * (omp + 2 * epp) * np.cos(om),
        ]
    )
    # G v and its rate, from the sums of turning arms that close the loops
    arms = (
        ((RR, 0, (0,)), (-D, 0, (0, 1)), (0, SS, (2,))),
        ((RR, 0, (0,)), (-D, 0, (0, 1)), (0, E, (3, 4)), (-ZT, 0, (4,))),
        ((RR, 0, (0,)), (-D, 0, (0, 1)), (-ZF, 0, (5, 6)), (0, U, (6,))),
    )
    G, rate = np.zeros((6, 7)), np.zeros(6)
    for k, loop in enumerate(arms):
        for a, b, angles in loop:
            t, w = sum(q[j] for j in angles), sum(v[j] for j in angles)
            px, py = a * np.cos(t) - b * np.sin(t), a * np.sin(t) + b * np.cos(t)
            for j in angles:
                G[2 * k, j] -= py
                G[2 * k + 1, j] += px
            rate[2 * k] -= px * w * w
            rate[2 * k + 1] -= py * w * w
    A = np.block([[M, G.T], [G, np.zeros((6, 6))]])
    return np.linalg.solve(A, np.concatenate([f, -rate]))[:7]


END = np.array(
    [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    ]
)
END_RATES = np.array(
    [
        1139.920302151208,
        -1424.379294994111,
        11.03291221937134,
        19.29337464421385,
        0.5735699284790808,
        -19.29337464421385,
        0.3231791658026955,
    ]
)
