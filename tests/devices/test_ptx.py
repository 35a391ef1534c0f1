"""Text for Nvidia's cards: ptxas takes it, and its arithmetic is that of the kernels."""

from __future__ import annotations

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
from tests.devices.host_threads import host_threads


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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_threads_of_a_kernel_do_what_the_kernel_here_does(dtype):
    model = sf.load("floating_link")
    core = array_function("test", sf.forward_dynamics, model, None)
    text = ptx.module(core.program, Layout(core.inputs, core.flat_outputs, dtype), "kernel")
    run = host_threads(text, "kernel", arrays=4)
    q, v = (x.astype(dtype) for x in sf.random_state(model, 5, seed=0))
    q[:4, -1] = [1.01e5, -9e9, 0.0, 3e30]
    tau, found = np.ones_like(v), np.full_like(v, np.nan)
    run([x.ctypes.data for x in (q, v, tau, found)], 5, blocks=1, threads=7)  # two more than states
    assert found.tobytes() == sf.forward_dynamics(model, q, v, tau).tobytes()


def test_sines_of_single_precision_have_no_double_but_for_huge_angles(tmp_path):
    model = sf.load("puma560")
    code = sf.export(model, sf.mass_matrix, target="ptx", dtype="float", name="arm")
    text = code.files["arm.ptx"]
    parts = re.split(r"^(?=\.(?:visible \.entry|func))", text, flags=re.M)
    bodies = {re.search(r"(\w+)\(\s*\n?", x)[1]: x for x in parts if "{" in x and "ret;" in x}
    double = {name for name, body in bodies.items() if "f64" in body}
    assert double == {"sincos_huge", "sincos_single_huge"}, double
    assert "fma.rn.f32" in bodies["sincos_single_1"]
    assembled(text, tmp_path)


def test_the_order_of_a_program_changes_neither_its_results_nor_its_operations():
    model = sf.load("tree6")
    program = array_function("test", sf.forward_dynamics, model, None).program
    ordered = ptx.fewest_live(program).verify()
    assert ordered.counts() == program.counts()
    assert ptx._peak(ordered) <= ptx._peak(program)
