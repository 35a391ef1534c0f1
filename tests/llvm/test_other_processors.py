"""Text for processors that this machine is not: it must be valid."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.compiler.graph.passes import with_subroutine
from sixfold.compiler.llvm import Layout, Scan
from sixfold.compiler.llvm.modules import scan
from sixfold.compiler.llvm.modules.straight import module

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
    return optimise(trace(lambda x: [sf.math.sin(x[0]) * x[1], x[2] / x[0]], (3,)))


@pytest.mark.parametrize(
    ("triple", "lanes", "expected"),
    [
        ("aarch64-unknown-linux-gnu", 4, {"fmla", "msr\tFPSR", "msr\tFPCR"}),
        ("arm64-apple-darwin", 2, {"fmla", "msr\tFPSR", "msr\tFPCR"}),
        ("x86_64-unknown-linux-gnu", 8, {"stmxcsr", "ldmxcsr"}),
        ("x86_64-pc-windows-msvc", 1, {"stmxcsr", "ldmxcsr"}),
        ("riscv64-unknown-linux-gnu", 1, set()),
    ],
)
def test_kernels_can_be_written_for_other_processors(triple, lanes, expected):
    step = trace(lambda x: [sf.math.sin(x[0]) * x[1], x[1] / x[0]], (2,), boundaries=True)
    whole = with_subroutine(step)
    for text in (
        module(program(), Layout(((3,),), ((2,),)), lanes, triple),
        scan.module(whole, Scan((2,), (), ()), lanes, triple),
    ):
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
        name = "scan" if "@scan(" in text else "loop"
        assert all(word in done.stdout for word in (*expected, name))
