"""Objects for other processors, run by an emulator: the bits of this machine's kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.compiler.llvm import cross_object
from sixfold.simulation.rollout import _PREPARED
from tests.public_names import find

COMPILERS = {
    "aarch64": ("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")),
    "aarch64_sve256": (
        "aarch64-linux-gnu-gcc",
        ("qemu-aarch64", "-cpu", "max,sve256=on", "-L", "/usr/aarch64-linux-gnu"),
    ),
    "aarch64_sve512": (
        "aarch64-linux-gnu-gcc",
        ("qemu-aarch64", "-cpu", "max,sve512=on", "-L", "/usr/aarch64-linux-gnu"),
    ),
    "riscv64": ("riscv64-linux-gnu-gcc", ("qemu-riscv64", "-L", "/usr/riscv64-linux-gnu")),
    "x86_64": ("cc", ()),
}
MAIN = """
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
{declaration}
static {kind} *get(long n) {{
    {kind} *x = malloc(n * sizeof({kind}) + 1);
    if (fread(x, sizeof({kind}), n, stdin) != (size_t)n) exit(3);
    return x;
}}
int main(void) {{
{body}
    return 0;
}}
"""


def tools(target):
    """Return compiler and emulator of a target, or skip."""
    compiler, emulator = COMPILERS[target]
    for tool in (compiler, *emulator[:1]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    return compiler, emulator


def run(target, folder, code, text, arrays, machine=None):
    """Link an object with a program, run it and return the bytes that it writes."""
    compiler, emulator = tools(machine or target)
    (folder / "kernel.o").write_bytes(code)
    (folder / "main.c").write_text(text)
    command = [compiler, "-O1", "main.c", "kernel.o", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    given = b"".join(np.ascontiguousarray(x).tobytes() for x in arrays)
    done = subprocess.run(
        [*emulator, "./program"], cwd=folder, input=given, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def called(target, folder, model, function, arrays, dtype="float64", machine=None):
    """Return what an exported function gives for arrays of states."""
    kind = {"float64": "double", "float32": "float"}[dtype]
    code = sf.export(model, function, target=target, dtype=kind, name="kernel")
    states, results = len(arrays[0]), function(model, *arrays)
    results = results if isinstance(results, tuple) else (results,)
    lines = [f"    {kind} *a{k} = get({x.size});" for k, x in enumerate(arrays)]
    lines += [f"    {kind} *r{k} = malloc({x.nbytes});" for k, x in enumerate(results)]
    names = [f"a{k}" for k in range(len(arrays))] + [f"r{k}" for k in range(len(results))]
    lines.append(f"    kernel({', '.join(names)}, {states});")
    lines += [f"    fwrite(r{k}, {x.itemsize}, {x.size}, stdout);" for k, x in enumerate(results)]
    text = MAIN.format(declaration='#include "kernel.h"', kind=kind, body="\n".join(lines))
    (folder / "kernel.h").write_text(code.files["kernel.h"])
    found = run(target, folder, code.files["kernel.o"], text, arrays, machine)
    expected = np.concatenate([x.ravel() for x in results])
    return np.frombuffer(found, dtype), expected


@cache
def states(model, count):
    """Return states with an angle that is huge, one that is zero, and a negative zero."""
    q, v = sf.random_state(model, count, seed=0)
    third = np.random.default_rng(0).standard_normal(v.shape)
    q[0, -1], q[1, -1], q[2, -1], v[2, 0] = 1e9, 0.0, -0.0, -0.0
    return q, v, third


@pytest.mark.parametrize("target", COMPILERS)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_a_kernel_of_another_processor_has_the_same_bits(target, name, tmp_path):
    model = sf.load("puma560")
    function = find(name)
    arrays = states(model, 23)[: 1 if name == "mass_matrix" else 3]
    found, expected = called(target, tmp_path, model, function, arrays)
    assert np.isfinite(expected).all()
    assert found.tobytes() == expected.tobytes()


def test_several_results_fill_one_array_after_the_other(tmp_path):
    model = sf.load("double_pendulum")
    function, arrays = sf.derivatives.forward_dynamics_derivatives, states(model, 6)
    found, expected = called("aarch64", tmp_path, model, function, arrays)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("target", ["aarch64", "aarch64_sve256"])
@pytest.mark.parametrize("name", ["floating_link", "planar_chain:60"])
def test_floating_bases_and_rolled_kernels_have_the_same_bits(name, target, tmp_path):
    model = sf.load(name)
    found, expected = called(target, tmp_path, model, sf.inverse_dynamics, states(model, 9))
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("target", ["aarch64", "aarch64_sve256", "aarch64_sve512"])
def test_single_precision_has_the_same_bits(target, tmp_path):
    model = sf.load("puma560")
    arrays = [x.astype(np.float32) for x in states(model, 23)]
    args = (target, tmp_path, model, sf.forward_dynamics, arrays, "float32")
    found, expected = called(*args)
    assert found.tobytes() == expected.tobytes()


def test_vectors_may_be_longer_than_an_object_was_made_for(tmp_path):
    model = sf.load("puma560")
    args = ("aarch64_sve256", tmp_path, model, sf.inverse_dynamics, states(model, 23))
    found, expected = called(*args, machine="aarch64_sve512")
    assert found.tobytes() == expected.tobytes()
    header = sf.export(model, target="aarch64_sve256", name="kernel").files["kernel.h"]
    assert "SVE vectors have 256 bits or more" in header


def test_objects_for_sve_use_its_registers(tmp_path):
    tool = shutil.which("aarch64-linux-gnu-objdump")
    if tool is None:
        pytest.skip("aarch64-linux-gnu-objdump is not installed")
    model = sf.load("double_pendulum")
    count = {}
    for target in ("aarch64", "aarch64_sve256"):
        code = sf.export(model, target=target, name="kernel").files["kernel.o"]
        (tmp_path / "kernel.o").write_bytes(code)
        command = [tool, "-d", str(tmp_path / "kernel.o")]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        count[target] = [len(re.findall(kind, text)) for kind in (r"\bz\d+\.d", r"\bv\d+\.2d")]
    assert count["aarch64"][0] == 0 and count["aarch64"][1] > 100
    assert count["aarch64_sve256"][0] > 100 and count["aarch64_sve256"][1] < 10


@pytest.mark.parametrize("target", ["aarch64", "aarch64_sve256", "aarch64_sve512", "x86_64"])
def test_a_rollout_of_another_processor_has_the_same_bits(target, tmp_path):
    tools(target)
    model = sf.load("double_pendulum")
    rows, steps, dt = 5, 200, 1e-2
    q0, v0 = sf.random_state(model, rows, seed=1)
    tau = np.random.default_rng(1).standard_normal((rows, steps, model.nv))
    q, v = sf.rollout(model, q0, v0, tau, dt=dt, steps=steps, every=10)
    _, kernel, _ = _PREPARED[id(model), "semi_implicit_euler", True]
    code = cross_object(kernel, "kernel", target)
    times = np.broadcast_to(np.arange(steps)[:, None] * dt, (rows, steps, 1))
    arrays = [q0, v0, np.array([dt]), times, tau]
    lines = [f"    double *a{k} = get({x.size});" for k, x in enumerate(arrays)]
    lines += [f"    double *r{k} = malloc({x.nbytes});" for k, x in enumerate((q, v))]
    names = ", ".join([*(f"a{k}" for k in range(5)), "r0", "r1"])
    lines.append(f"    if (kernel({names}, {rows}, {steps}, 10)) return 4;")
    lines += [f"    fwrite(r{k}, 8, {x.size}, stdout);" for k, x in enumerate((q, v))]
    takes = ", ".join(["double *"] * 7)
    declaration = f"int32_t kernel({takes}, int64_t, int64_t, int64_t);"
    text = MAIN.format(declaration=declaration, kind="double", body="\n".join(lines))
    found = run(target, tmp_path, code, text, arrays)
    assert found == q.tobytes() + v.tobytes()


def test_objects_carry_one_name_and_need_the_c_library_only():
    model = sf.load("double_pendulum")
    for target in COMPILERS:
        code = sf.export(model, sf.inverse_dynamics, target=target).files
        assert set(code) == {
            "double_pendulum_inverse_dynamics.h",
            "double_pendulum_inverse_dynamics.o",
        }
        found = code["double_pendulum_inverse_dynamics.o"]
        assert found.startswith(b"\x7fELF") and b"PyMem" not in found
        assert b"double_pendulum_inverse_dynamics\x00" in found
    header = code["double_pendulum_inverse_dynamics.h"]
    assert "void double_pendulum_inverse_dynamics(const double *q," in header


def test_targets_that_are_not_there_and_options_without_effect_are_refused():
    model = sf.load("double_pendulum")
    with pytest.raises(sf.errors.OptionError, match="aarch64"):
        sf.export(model, target="z80")
    with pytest.raises(sf.errors.NotApplicableError, match="language 'julia'"):
        sf.export(model, language="julia", target="aarch64")


def test_the_command_writes_a_header_and_an_object(tmp_path):
    out = str(tmp_path / "made")
    done = CliRunner().invoke(
        main, ["export", "double_pendulum", "--target", "aarch64", "--out", out]
    )
    assert done.exit_code == 0, done.output
    names = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert names == ["double_pendulum_inverse_dynamics.h", "double_pendulum_inverse_dynamics.o"]
