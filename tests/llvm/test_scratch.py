"""Scratch memory of kernels when there is none left."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sixfold.compiler.llvm.runtime.jit import WIDTHS

SCRIPT = """
import ctypes
import numpy as np
import llvmlite.binding as llvm
import sixfold as sf

kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
asked = []
refuse = kind(lambda size: asked.append(size))  # no memory for anybody
model = sf.load("planar_chain:30")
q, v = sf.random_state(model, 64, seed=0)
right = sf.inverse_dynamics(model, q, v, v, backend="rolled")
assert np.isfinite(right).all()

llvm.add_symbol("PyMem_RawMalloc", ctypes.cast(refuse, ctypes.c_void_p).value)
other = sf.load("planar_chain:31")
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
import llvmlite.binding as llvm
import numpy as np
import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout import scratch
from sixfold.compiler.llvm.modules.straight import MIN_STREAMING_BYTES
from sixfold.compiler.llvm.runtime import jit

kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
asked = []
refuse = kind(lambda size: asked.append(size))  # no memory for anybody
llvm.add_symbol("PyMem_RawMalloc", ctypes.cast(refuse, ctypes.c_void_p).value)


def wide(columns, different):
    factors = np.arange(columns) % different + 0.5
    factors[::9] = 0.0
    program = trace(lambda x: [x[0] * k if k else 0.0 for k in factors.tolist()], (1,))
    kernel = build("wide", program, Layout(((1,),), ((columns,),)))[0]
    x = np.linspace(1, 2, 303)[:, None]
    asked.clear()
    found = kernel.ufunc_for(MIN_STREAMING_BYTES)(x)
    return kernel, found, x * factors


most = scratch.MAX_STACK_BYTES // (8 * jit.lanes())  # columns of a block that the stack holds
kernel, found, right = wide(most, 50)
assert kernel.lanes == jit.lanes()
assert (found == right).all()

# a block that is short needs room for a whole one
_, found, right = wide(most + 1, 50)
whole = 303 - 303 % kernel.lanes
assert (found[:whole] == right[:whole]).all() and np.isnan(found[whole:]).all()

if kernel.lanes == 8:
    _, found, _ = wide(most + 200, most + 200)
    assert np.isnan(found).all()

# of several results none is left as it was
program = trace(lambda x: [x[0] * k for k in range(most + 5)], (1,))
kernel = build("two", program, Layout(((1,),), ((most,), (5,))))[0]
out = tuple(np.zeros((303, 2 * n))[:, ::2] for n in (most, 5))
kernel(np.ones((303, 1)), out=out)
assert all(np.isnan(x).all() for x in out)
print("right")
"""
"""Big batches go the usual way, whose scratch is on the stack but for very wide results."""


@pytest.mark.parametrize("lanes", WIDTHS)
def test_without_scratch_memory_rows_are_nan_or_right(lanes):
    """In a process of its own, whose kernels are given no memory from the heap."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + WIDE],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SIXFOLD_CACHE": "off", "SIXFOLD_LANES": str(lanes)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["visible", "right"]
