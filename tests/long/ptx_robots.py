"""Panda and G1: their PTX, one instruction after the other, against the kernels of this machine.

    python -m tests.long.ptx_robots

Needs example-robot-data; a minute or two.
"""

import time

import numpy as np

import sixfold as sf
from sixfold.formats import bundled
from tests.devices.ptx_machine import Machine

STATES = 4
KINDS = {"float64": "double", "float32": "float"}


def compared(name, function, dtype):
    """Run the text of a function of a robot; return whether bits differ."""
    model, start = sf.load(name), time.perf_counter()
    q, v = (x.astype(dtype) for x in sf.random_state(model, STATES, seed=0))
    third = np.ones_like(v)
    given = (q,) if function is sf.mass_matrix else (q, v, third)
    expected = function(model, *given, backend="unrolled")
    found = np.full_like(expected, np.nan)
    code = sf.export(model, function, target="ptx", dtype=KINDS[dtype], name="run")
    pointers = [x.ctypes.data for x in (*given, found)]
    Machine(code.files["run.ptx"]).run("run", [*pointers, STATES], 1, STATES + 1)
    same = found.tobytes() == expected.tobytes()
    words = "equal bits" if same else "DIFFERENT"
    took = time.perf_counter() - start
    print(f"{name} {function.__name__}, {dtype}: {words}, {took:.1f} s", flush=True)
    return not same


def main():
    """Compare all of them."""
    if bundled.folder() is None:
        print("example-robot-data is not installed: nothing compared")
        return
    different = sum(
        compared(name, function, dtype)
        for name in ("panda", "g1_29dof")
        for function in (sf.inverse_dynamics, sf.forward_dynamics, sf.mass_matrix)
        for dtype in KINDS
    )
    if different:
        raise SystemExit(f"{different} differ")


if __name__ == "__main__":
    main()
