"""Text for Nvidia's cards: ptxas takes it, and its arithmetic is that of the kernels."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import sixfold as sf
from sixfold.evaluate import array_function
from sixfold.formats import bundled
from sixfold.llvm import Layout
from sixfold.llvm.modules import ptx
from sixfold.llvm.runtime import jit


def assembled(code, folder):
    """Return what ptxas says of a text, or skip."""
    if shutil.which("ptxas") is None:
        pytest.skip("ptxas is not installed")
    path = folder / "kernel.ptx"
    path.write_text(code)
    command = ["ptxas", "-v", "-arch=sm_80", str(path), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.skipif(not bundled.folder(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(("name", "dtype"), [("panda", "double"), ("g1_29dof", "float")])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_ptxas_takes_the_text_without_spills(name, dtype, function, tmp_path):
    code = sf.export(sf.load(name), function, target="ptx", dtype=dtype)
    ((_, text),) = code.files.items()
    said = assembled(text, tmp_path)
    assert set(re.findall(r"(\d+) bytes spill stores", said)) == {"0"}


def test_products_are_fused_where_the_graph_says_so_and_nowhere_else():
    model = sf.load("double_pendulum")
    code = sf.export(model, sf.inverse_dynamics, target="ptx", name="arm")
    text = code.files["arm.ptx"]
    assert ".visible .entry arm(" in text and ".target sm_80" in text
    assert "fma.rn.f64" in text and "mul.rn.f64" in text
    assert not re.search(r"(mul|add|sub)\.f64", text)  # the kind that ptxas may fuse


def test_the_threads_of_a_kernel_do_what_the_kernel_here_does():
    # the same text with this processor's pointers and a thread number from memory
    model = sf.load("floating_link")
    core = array_function("test", sf.forward_dynamics, model, None)
    text = ptx.module(core.program, Layout(core.inputs, core.flat_outputs), "kernel")
    text = text.replace("ptx_kernel ", "").replace(" addrspace(1)", "")
    for name, value in (
        ("tid", "load i32, ptr @thread"),
        ("ctaid", "add i32 0, 0"),
        ("ntid", "add i32 0, 7"),
    ):
        function = f"i32 @llvm.nvvm.read.ptx.sreg.{name}.x()"
        text = text.replace(
            f"declare {function}",
            f"define {function[:4]}@{name}() {{\n  %n = {value}\n  ret i32 %n\n}}",
        )
        text = text.replace(f"call {function}", f"call i32 @{name}()")
    text += "\n@thread = internal global i32 0\n"
    text += "define void @at(i32 %n) {\n  store i32 %n, ptr @thread\n  ret void\n}\n"
    loaded = jit.Loaded(jit.object_code(text))
    at = ctypes.CFUNCTYPE(None, ctypes.c_int32)(loaded.address("at"))
    pointers = [ctypes.c_void_p] * 4
    kernel = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(loaded.address("kernel"))
    q, v = sf.random_state(model, 5, seed=0)
    tau, found = np.ones_like(v), np.full_like(v, np.nan)
    for thread in range(7):  # two more than there are states
        at(thread)
        kernel(*(x.ctypes.data for x in (q, v, tau, found)), 5)
    assert found.tobytes() == sf.forward_dynamics(model, q, v, tau).tobytes()


def test_the_order_of_a_program_changes_neither_its_results_nor_its_operations():
    model = sf.load("tree6")
    program = array_function("test", sf.forward_dynamics, model, None).program
    ordered = ptx.fewest_live(program).verify()
    assert ordered.counts() == program.counts()
    assert ptx._peak(ordered) <= ptx._peak(program)
