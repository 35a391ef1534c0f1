"""A bicycle that balances itself: its eigenvalues over speed, from a model of four bodies.

Rear frame with rider, front frame and two wheels whose sharp rims roll without slipping: nine
freedoms of the tree, six constraint rows.  Parameters are those of the benchmark of Meijaard,
Papadopoulos, Ruina and Schwab (2007), whose linear equations the eigenvalues are compared with.

python bicycle.py --picture bicycle.png
"""

import argparse

import numpy as np

import sixfold as sf

WHEELBASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10
REAR, FRONT = 0.3, 0.35
"""Radii of the wheels [m]."""
STEPS = np.array([-2.0, -1.0, 1.0, 2.0])
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
"""Places and weights of central differences of order four."""
STEP = 1e-3
"""Of lean and steer [rad] and their rates [rad/s]."""

# linear equations of the benchmark: M q'' + v C1 q' + (g K0 + v^2 K2) q = 0, q = (lean, steer)
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.6854039739756]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])


def bicycle():
    """Return the model: x forward, z up, the rear wheel's centre at the origin of its frame."""

    def solid(mass, x, z, Ixx, Iyy, Izz, Ixz=0.0, origin=(0.0, 0.0)):
        # the benchmark's z points down: turned about x, which changes the sign of Ixz
        rotational = [[Ixx, 0, -Ixz], [0, Iyy, 0], [-Ixz, 0, Izz]]
        return sf.Inertia.from_mass(mass, (x - origin[0], 0, -z - origin[1]), rotational)

    hub = (0.0, REAR)
    foot = (WHEELBASE + TRAIL, 0.0)  # where the steering axis meets the ground
    axis = (-np.sin(TILT), 0.0, np.cos(TILT))
    spin = sf.Revolute("y")
    rider = solid(85.0, 0.3, -0.9, 9.2, 11.0, 2.8, 2.4, hub)
    fork = solid(4.0, 0.9, -0.7, 0.05892, 0.06, 0.00708, -0.00756, foot)
    rear, front = (solid(m, 0, 0, I, J, I) for m, I, J in ((2, 0.0603, 0.12), (3, 0.1405, 0.28)))

    builder = sf.ModelBuilder("bicycle")
    builder.add_body("frame", joint=sf.Free(), inertia=rider)
    builder.add_body("rear", parent="frame", joint=spin, inertia=rear)
    place = (foot[0] - hub[0], 0.0, foot[1] - hub[1])
    steer = {"joint": sf.Revolute(axis), "joint_name": "steer", "placement": place}
    builder.add_body("fork", parent="frame", inertia=fork, **steer)
    place = (WHEELBASE - foot[0], 0.0, FRONT - foot[1])
    builder.add_body("front", parent="fork", joint=spin, placement=place, inertia=front)
    builder.add_rolling("rear", REAR, axis="y")
    builder.add_rolling("front", FRONT, axis="y")
    return builder.build()


def state(model, lean, steer, lean_rate, steer_rate, speed):
    """Return q and v on the constraints; arguments are arrays of one shape."""
    parts = np.broadcast_arrays(lean, steer, lean_rate, steer_rate, speed)
    lean, steer, lean_rate, steer_rate, speed = (x.astype(float) for x in parts)
    q = np.zeros((*lean.shape, model.nq))
    q[..., 2] = REAR
    q[..., 3], q[..., 6] = np.sin(lean / 2), np.cos(lean / 2)
    q[..., model.q_slice("steer").start] = steer
    # pitch and height put both wheels on the ground
    heights, moves = [2, 5], [1, 5]
    for _ in range(4):
        gaps = sf.loops.constraint_gaps(model, q)[..., heights]
        J = sf.loops.constraint_jacobian(model, q)[..., heights, :][..., moves]
        step = np.zeros((*lean.shape, model.nv))
        step[..., moves] = -np.linalg.solve(J, gaps[..., None])[..., 0]
        q = sf.integrate(model, q, step)
    # three speeds are free, the constraints give the other six
    free = [0, model.v_slice("steer").start, model.v_slice("rear_joint").start]
    J = sf.loops.constraint_jacobian(model, q)
    rows = np.broadcast_to(np.eye(model.nv)[free], (*lean.shape, 3, model.nv))
    given = np.stack([lean_rate, steer_rate, speed / REAR], axis=-1)
    right = np.concatenate([np.zeros((*lean.shape, model.nc)), given], axis=-1)
    v = np.linalg.solve(np.concatenate([J, rows], axis=-2), right[..., None])[..., 0]
    return q, v


def linearised(model, speeds):
    """Return A of d/dt (lean, steer, rates) = A (lean, steer, rates), shape (n, 4, 4)."""
    speeds = np.asarray(speeds, float)
    offsets = STEP * STEPS[:, None, None] * np.eye(4)  # (places, column, component)
    parts = np.moveaxis(np.broadcast_to(offsets, (len(speeds), *offsets.shape)), -1, 0)
    q, v = state(model, *parts, speeds[:, None, None])
    a, _ = sf.loops.constrained_dynamics(model, q, v, np.zeros(model.nv))
    found = a[..., [0, model.v_slice("steer").start]]  # (speed, places, column, row)
    slopes = np.einsum("p,npcr->nrc", WEIGHTS, found) / STEP
    top = np.broadcast_to(np.eye(4)[2:], (len(speeds), 2, 4))
    return np.concatenate([top, slopes], axis=1)


def benchmark(speed):
    """Return A by the printed matrices."""
    inverse = np.linalg.inv(M)
    K = 9.81 * K0 + speed**2 * K2
    return np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -speed * inverse @ C1]])


def sorted_eigenvalues(A):
    """Return eigenvalues in the order of their real parts."""
    found = np.linalg.eigvals(A)
    return np.take_along_axis(found, np.lexsort((found.imag, found.real.round(9)), -1), -1)


def main(arguments=()):
    """Print a table of eigenvalues; `--picture out.png` draws them over speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw eigenvalues into this file (needs matplotlib)")
    picture = parser.parse_args(arguments).picture
    model = bicycle()
    speeds = np.linspace(0.0, 10.0, 21)
    found = sorted_eigenvalues(linearised(model, speeds))
    exact = sorted_eigenvalues(np.array([benchmark(v) for v in speeds]))
    error = np.abs(found - exact).max()
    stable = speeds[found.real.max(axis=-1) < 0]

    print(sf.loops.mobility(model, state(model, 0.1, 0.2, 0, 0, 0)[0]))
    print("speed [m/s]   eigenvalues [1/s]")
    for v, values in zip(speeds, found, strict=True):
        words = "  ".join(f"{x.real:9.4f}{x.imag:+8.4f}i" for x in values)
        print(f"{v:6.1f}   {words}{'   balances itself' if v in stable else ''}")
    print(f"largest difference from the printed equations: {error:.1e}")
    if picture:
        draw(model, picture)
    return {"speeds": speeds, "eigenvalues": found, "error": error, "stable": stable}


def draw(model, path):
    """Draw real and imaginary parts over speed: weave, capsize and castering mode."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    speeds = np.linspace(0.0, 10.0, 401)
    found = sorted_eigenvalues(linearised(model, speeds))
    steady = found.real.max(axis=-1) < 0
    figure, axes = plt.subplots(figsize=(8, 5), constrained_layout=True)
    across = np.repeat(speeds[:, None], 4, axis=1)
    axes.plot(across, found.real, ".", color="tab:blue", markersize=2)
    turning = found.imag > 1e-6
    axes.plot(across[turning], found.imag[turning], ".", color="tab:orange", markersize=2)
    axes.axvspan(speeds[steady].min(), speeds[steady].max(), color="tab:green", alpha=0.15)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.plot([], [], color="tab:blue", label="real parts")
    axes.plot([], [], color="tab:orange", label="imaginary parts")
    axes.set(xlabel="forward speed [m/s]", ylabel="eigenvalues [1/s]", ylim=(-10, 10))
    axes.set_title("A bicycle without rider's control; green: it balances itself")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
