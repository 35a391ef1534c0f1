"""Scratch memory of kernels when there is none left."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import ctypes
import numpy as np
import sixfold as sf
from sixfold.native import jit

kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
asked = []
refuse = kind(lambda size: asked.append(size))  # no memory for anybody
model = sf.load("planar_chain:300")
q, v = sf.random_state(model, 64, seed=0)
right = sf.inverse_dynamics(model, q, v, v, backend="rolled")
assert np.isfinite(right).all()

jit.binding().add_symbol("PyMem_RawMalloc", ctypes.cast(refuse, ctypes.c_void_p).value)
other = sf.load("planar_chain:301")
q, v = sf.random_state(other, 64, seed=0)
spoiled = sf.inverse_dynamics(other, q, v, v, backend="rolled")
assert asked
assert np.isnan(spoiled).all()
strided = sf.inverse_dynamics(other, q[::2], v[::2], v[::2], backend="rolled")
assert np.isnan(strided).all()
print("visible")
"""


def test_rows_become_nan_when_there_is_no_scratch_memory():
    """In a process of its own, whose kernels are given no memory."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env={"SIXFOLD_CACHE": "off", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "visible"
