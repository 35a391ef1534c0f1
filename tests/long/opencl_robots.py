"""Panda and G1 on an OpenCL device, compared bit by bit with the kernels of this machine.

    python -m tests.long.opencl_robots

Needs pyopencl, a device with double precision and example-robot-data.
"""

import time
from importlib.util import find_spec

import numpy as np

import sixfold as sf
from sixfold.formats import bundled

STATES = 64


def compared(name, functions, dtype="float64"):
    """Compare functions of a robot; return how many differ."""
    model = sf.load(name)
    q, v = (x.astype(dtype) for x in sf.random_state(model, STATES, seed=0))
    third = np.random.default_rng(0).standard_normal(v.shape).astype(dtype)
    different = 0
    for function in functions:
        arrays = (q,) if function is sf.mass_matrix else (q, v, third)
        start = time.perf_counter()
        found = sf.devices.opencl_function(function, model)(*arrays)
        expected = function(model, *arrays, backend="unrolled")
        found, expected = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
        same = all(x.tobytes() == y.tobytes() for x, y in zip(found, expected, strict=True))
        different += not same
        words = "equal bits" if same else "DIFFERENT"
        took = time.perf_counter() - start
        print(f"{name} {function.__name__}, {dtype}: {words}, {took:.1f} s", flush=True)
    return different


def rollout(name):
    """Compare 200 steps of a robot; return whether they differ."""
    model = sf.load(name)
    q, v = sf.random_state(model, STATES, seed=1)
    tau = np.random.default_rng(1).standard_normal((STATES, 200, model.nv))
    found = sf.devices.opencl_rollout(model, q, v, tau, dt=1e-3, steps=200, every=10)
    expected = sf.rollout(model, q, v, tau, dt=1e-3, steps=200, every=10)
    same = all(x.tobytes() == y.tobytes() for x, y in zip(found, expected, strict=True))
    print(f"{name} rollout of 200 steps: {'equal bits' if same else 'DIFFERENT'}")
    return not same


def main():
    if find_spec("pyopencl") is None or bundled.folder() is None:
        print("pyopencl or example-robot-data is not installed: nothing compared")
        return
    dynamics = (sf.inverse_dynamics, sf.forward_dynamics, sf.mass_matrix)
    derivatives = (
        sf.derivatives.inverse_dynamics_derivatives,
        sf.derivatives.forward_dynamics_derivatives,
    )
    different = compared("panda", dynamics + derivatives) + compared("g1_29dof", dynamics)
    different += compared("panda", dynamics, "float32") + compared("g1_29dof", dynamics, "float32")
    different += rollout("panda")
    if different:
        raise SystemExit(f"{different} differ")


if __name__ == "__main__":
    main()
