"""Object files for processors that this machine is not, from the same LLVM text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from sixfold.errors import NotApplicableError
from sixfold.graph.program import Program
from sixfold.graph.rolled.program import Rolled
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.modules import c_call, ptx, rolled, scan, straight
from sixfold.llvm.runtime import jit
from sixfold.llvm.runtime.kernel import Kernel
from sixfold.llvm.runtime.scan_kernel import ScanKernel

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """A processor that objects are made for."""

    triple: str
    cpu: str
    features: str
    lanes: int
    """States at a time, for both precisions."""
    abi: str = ""


TARGETS = {
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic", "+neon", 4),
    "riscv64": Target("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", 1, "lp64d"),
    "x86_64": Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 4),
}
"""By name: 64-bit Arm with NEON, RISC-V with the usual extensions, x86-64 with AVX2 and FMA."""


def cross_object(kernel: Kernel | ScanKernel, name: str, target: str) -> bytes:
    """Return a kernel or scan as an object file with one C function.

    Its results have the bits of the kernel here, for every finite number: the graph decides every
    rounding, and the target has fused multiply-adds.
    """
    to = TARGETS[target]
    if isinstance(kernel, ScanKernel):
        inner = scan.module(kernel.graph, kernel.scan, to.lanes, to.triple)
        text = c_call.scan_module(inner, kernel.scan, name)
    else:
        text = c_call.loop_module(_loop(kernel.graph, kernel, to), kernel.layout, name, kernel.data)
    return _compiled(text, to)


def _loop(program: Program | Rolled, kernel: Kernel, to: Target) -> str:
    if isinstance(program, Rolled):
        return rolled.module(program, kernel.layout, to.lanes, to.triple)
    return straight.module(program, kernel.layout.dense, to.lanes, to.triple, python=False)


_PTX = Target("nvptx64-nvidia-cuda", "sm_80", "+ptx80", 1)
"""Nvidia's cards from Ampere on; the driver compiles the text for the card that is there."""


def ptx_text(program: Program, layout: Layout, name: str) -> str:
    """Return PTX with one kernel: one state a thread."""
    text = ptx.module(program, layout, name)
    return _with_machine(text, _PTX, lambda machine, module: str(machine.emit_assembly(module)))


def _compiled(text: str, to: Target) -> bytes:
    return _with_machine(text, to, lambda machine, module: bytes(machine.emit_object(module)))


def _with_machine(text: str, to: Target, use: Callable[[Any, Any], T]) -> T:
    """Return what the code generator of a target makes of a text."""
    llvm = _targets()
    try:
        target = llvm.Target.from_triple(to.triple)
    except RuntimeError:
        where = f"this llvmlite, which has no code generator for {to.triple}"
        raise NotApplicableError("export", where, "install llvmlite 0.45 or later") from None
    machine = target.create_target_machine(
        cpu=to.cpu,
        features=to.features,
        opt=1 if len(text) > jit.LONG_TEXT_BYTES else 2,
        reloc="pic",
        codemodel="small",
        abiname=to.abi,
    )
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.triple = to.triple
        module.verify()
        return use(machine, module)


@lru_cache(maxsize=1)
def _targets() -> Any:
    """Return llvmlite's binding, ready for all processors."""
    llvm = jit.binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm
