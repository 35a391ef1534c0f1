"""Text for Nvidia's cards: ptxas takes it, and its arithmetic is that of the kernels."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.llvm import Layout, ptx_text
from sixfold.compiler.llvm.modules import ptx
from sixfold.formats import bundled
from sixfold.runtime import array_function
from tests.devices.ptx_machine import Machine
from tests.devices.ptxas import assembled, is_installed


@pytest.mark.skipif(not is_installed(), reason="ptxas is not installed")
@pytest.mark.skipif(not bundled.folder(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(("name", "dtype"), [("panda", "double"), ("g1_29dof", "float")])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_ptxas_takes_the_text_without_spills(name, dtype, function):
    code = sf.export(sf.load(name), function, target="ptx", dtype=dtype)
    ((_, text),) = code.files.items()
    _, spills = assembled(text)
    assert spills == 0


def test_products_are_fused_where_the_graph_says_so_and_nowhere_else():
    model = sf.load("double_pendulum")
    code = sf.export(model, sf.inverse_dynamics, target="ptx", name="arm")
    text = code.files["arm.ptx"]
    assert ".visible .entry arm(" in text and ".target sm_80" in text
    assert "fma.rn.f64" in text and "mul.rn.f64" in text
    assert not re.search(r"(mul|add|sub)\.f64", text)  # the kind that ptxas may fuse


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["floating_link", "puma560"])
def test_the_threads_of_a_kernel_do_what_the_kernel_here_does(name, dtype):
    model = sf.load(name)
    kind = {"float64": "double", "float32": "float"}[dtype]
    code = sf.export(model, sf.forward_dynamics, target="ptx", dtype=kind, name="arm")
    q, v = (x.astype(dtype) for x in sf.random_state(model, 5, seed=0))
    q[:4, -1] = [1.01e5, -9e9, 0.0, 3e30]
    tau, found = np.ones_like(v), np.full_like(v, np.nan)
    pointers = [x.ctypes.data for x in (q, v, tau, found)]
    Machine(code.files["arm.ptx"]).run("arm", [*pointers, 5], 2, 4)  # three more than states
    assert found.tobytes() == sf.forward_dynamics(model, q, v, tau).tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operation_has_the_bits_of_the_kernel(dtype):
    def every(x):
        a, b = x[0], x[1]
        one = [
            sf.math.exp(a),
            sf.math.log(a),
            sf.math.tanh(a),
            sf.math.sin(a),
            sf.math.cos(a),
            sf.math.sqrt(a * a),
            sf.math.sign(a),
        ]
        two = [
            sf.math.atan2(a, b),
            sf.math.if_positive(a, b, a - b),
            abs(a) / b,
            a * b - 3.5,
            0.1 - a * b,
        ]
        return np.array([*one, *two, 1.0 / a, -a])

    rng = np.random.default_rng(3)
    with np.errstate(over="ignore", under="ignore"):
        scale = 10.0 ** rng.integers(-40, 40, (60, 2))
        x = (rng.standard_normal((60, 2)) * scale).astype(dtype)
    x[:6] = [[0.0, 1.0], [-0.0, 1.0], [1e5, 0.0], [-1e5, -0.0], [5e-44, -1.0], [3e38, 3e38]]
    x[30:, 0] = rng.uniform(-9, 9, 30)
    core = array_function("test", every, None, {"x": 2})
    text = ptx_text(core.program, Layout(core.inputs, core.flat_outputs, dtype), "run")
    expected = sf.compile(every, inputs={"x": 2}, dtype=dtype)(x)
    found = np.zeros_like(expected)
    Machine(text).run("run", [x.ctypes.data, found.ctypes.data, 60], 1, 60)
    same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    assert (same | (np.isnan(found) & np.isnan(expected))).all()
    assert np.isfinite(expected).mean() > 0.7


def test_sines_of_single_precision_have_no_double_but_for_huge_angles():
    model = sf.load("puma560")
    code = sf.export(model, sf.mass_matrix, target="ptx", dtype="float", name="arm")
    text = code.files["arm.ptx"]
    parts = re.split(r"^(?=\.(?:visible \.entry|func))", text, flags=re.M)
    bodies = {re.search(r"(\w+)\(\s*\n?", x)[1]: x for x in parts if "{" in x and "ret;" in x}
    double = {name for name, body in bodies.items() if "f64" in body}
    assert double == {"sincos_huge", "sincos_single_huge"}, double
    assert "fma.rn.f32" in bodies["sincos_single_1"]
    if is_installed():
        assembled(text)


def test_the_order_of_a_program_changes_neither_its_results_nor_its_operations():
    model = sf.load("tree6")
    program = array_function("test", sf.forward_dynamics, model, None).program
    ordered = ptx.fewest_live(program).verify()
    assert ordered.counts() == program.counts()
    assert ptx._peak(ordered) <= ptx._peak(program)
