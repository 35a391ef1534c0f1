"""Text for processors that this machine is not: it must be valid, and assembly in it understood."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sixfold as sf
from sixfold.native import Layout, jit, optimise, trace
from sixfold.native.llvm import module

CROSS = """
import sys
import llvmlite.binding as llvm

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple = sys.argv[1]
target = llvm.Target.from_triple(triple).create_target_machine(opt=2)
text = llvm.parse_assembly(sys.stdin.read())
text.triple = triple
text.verify()
print(target.emit_assembly(text))
"""


def program():
    return optimise(trace(lambda x: [sf.sin(x[0]) * x[1], x[2] / x[0]], (3,)))


@pytest.mark.parametrize(
    ("triple", "lanes", "expected"),
    [
        ("aarch64-unknown-linux-gnu", 4, "fmla"),
        ("x86_64-unknown-linux-gnu", 8, "stmxcsr"),
        ("riscv64-unknown-linux-gnu", 1, "loop"),
    ],
)
def test_kernels_can_be_written_for_other_processors(triple, lanes, expected):
    flags = triple if triple.startswith("x86") else ""  # assembly is parsed for the host alone
    text = module(program(), Layout(((3,),), (2,)), lanes, flags)
    done = subprocess.run(
        [sys.executable, "-c", CROSS, triple],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if "No available targets" in done.stderr or "Unable to find target" in done.stderr:
        pytest.skip(f"this llvmlite has no code generator for {triple}")
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_assembly_in_the_text_is_understood():
    """The floating-point flags of some processors are reached by assembly only."""
    if not jit.host()[0].startswith("x86_64"):
        pytest.skip("the instruction below is one of x86-64")
    text = """
    define i64 @seven() {
      %r = call i64 asm sideeffect "movq $$7, $0", "=r"()
      ret i64 %r
    }
    """
    assert jit.Loaded(jit.object_code(text)).address("seven")
