"""Scratch memory of kernels when there is none left."""

from __future__ import annotations

import subprocess
import sys

import pytest

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

WIDE = """
import ctypes
import numpy as np
import sixfold as sf
from sixfold.native import Layout, build, flow, jit, trace

kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
asked = []
refuse = kind(lambda size: asked.append(size))  # no memory for anybody
jit.binding().add_symbol("PyMem_RawMalloc", ctypes.cast(refuse, ctypes.c_void_p).value)
program = trace(lambda x: [x[0] * (k + 0.5) if k % 9 else 0.0 for k in range(1500)], (1,))
kernel = build("wide", program, Layout(((1,),), (1500,)))[0]
x = np.linspace(1, 2, 300)[:, None]
right = x * (np.arange(1500) + 0.5) * (np.arange(1500) % 9 > 0)
assert (kernel.ufunc_for(flow.LEAST)(x) == right).all()
assert asked or kernel.lanes == 1
print("right")
"""
"""Big batches go the usual way, whose scratch is on the stack."""


@pytest.mark.parametrize(("script", "answer"), [(SCRIPT, "visible"), (WIDE, "right")])
def test_without_scratch_memory_rows_are_nan_or_right(script, answer):
    """In a process of its own, whose kernels are given no memory from the heap."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={"SIXFOLD_CACHE": "off", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == answer
