"""Object files for processors that this machine is not, from the same LLVM text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from sixfold.errors import NotApplicableError
from sixfold.graph.program import Program
from sixfold.graph.rolled.program import Rolled
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.modules import c_call, opencl, ptx, ptx_scan, rolled, scan, straight
from sixfold.llvm.modules.scan import Scan
from sixfold.llvm.runtime import jit
from sixfold.llvm.runtime.kernel import Kernel
from sixfold.llvm.runtime.scan_kernel import ScanKernel, parsed

T = TypeVar("T")
MAX_SVE_BITS = 2048
"""Longest vectors of SVE, by its architecture."""


@dataclass(frozen=True)
class Target:
    """A processor that objects are made for."""

    triple: str
    cpu: str
    features: str
    lanes: int
    """States at a time."""
    abi: str = ""
    single: int = 0
    """States at a time in single precision, if that differs."""
    vectors: int = 0
    """Bits that vectors of unknown length have at least (SVE)."""

    def lanes_of(self, dtype: str) -> int:
        """Return the states at a time in a precision."""
        return self.single if self.single and dtype == "float32" else self.lanes


TARGETS = {
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic", "+neon", 4),
    "aarch64_sve256": Target(
        "aarch64-unknown-linux-gnu", "generic", "+neon,+sve", 4, single=8, vectors=256
    ),
    "aarch64_sve512": Target("aarch64-unknown-linux-gnu", "generic", "+neon,+sve", 8, vectors=512),
    "riscv64": Target("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", 1, "lp64d"),
    "x86_64": Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 4),
}
"""By name: 64-bit Arm with NEON, or with SVE of at least so many bits; RISC-V with the usual
extensions; x86-64 with AVX2 and FMA."""


def cross_object(kernel: Kernel | ScanKernel, name: str, target: str) -> bytes:
    """Return a kernel or scan as an object file with one C function.

    Its results have the bits of the kernel here, for every finite number: the graph decides every
    rounding, and the target has fused multiply-adds.
    """
    to = TARGETS[target]
    if isinstance(kernel, ScanKernel):
        inner = scan.module(kernel.graph, kernel.scan, to.lanes_of(kernel.scan.dtype), to.triple)
        text = c_call.scan_module(inner, kernel.scan, name)
    else:
        text = c_call.loop_module(_loop(kernel.graph, kernel, to), kernel.layout, name, kernel.data)
    return _compiled(text, to)


def _loop(program: Program | Rolled, kernel: Kernel, to: Target) -> str:
    lanes = to.lanes_of(kernel.layout.dtype)
    if isinstance(program, Rolled):
        return rolled.module(program, kernel.layout, lanes, to.triple)
    return straight.module(program, kernel.layout.dense, lanes, to.triple, python=False)


_PTX = Target("nvptx64-nvidia-cuda", "sm_80", "+ptx80", 1)
"""Nvidia's cards from Ampere on; the driver compiles the text for the card that is there."""


def ptx_text(program: Program, layout: Layout, name: str) -> str:
    """Return PTX with one kernel: one state a thread."""
    return _assembly(ptx.module(program, layout, name))


def ptx_scan_text(texts: Sequence[str], to: Scan, name: str, shared: Sequence[bool]) -> str:
    """Return PTX with one kernel: one trajectory a thread, the time loop inside.

    Args:
        texts: of the step and its subroutine, as `ScanKernel` keeps them.
        to: sizes of its arrays.
        name: of the kernel.
        shared: which arrays are the same for all trajectories.
    """
    return _assembly(ptx_scan.module(parsed(texts), to, name, shared))


def opencl_scan_text(
    texts: Sequence[str], to: Scan, name: str, shared: Sequence[bool], own: bool
) -> str:
    """Return OpenCL C with one kernel: one trajectory a work item, the time loop inside.

    Args:
        texts: of the step and its subroutine, as `ScanKernel` keeps them.
        to: sizes of its arrays.
        name: of the kernel.
        shared: which arrays are the same for all trajectories.
        own: whether elementary functions are the device's own.
    """
    return opencl.scan_source(parsed(texts), to, name, shared, own)


def _assembly(text: str) -> str:
    return _with_machine(text, _PTX, lambda machine, module: str(machine.emit_assembly(module)))


def _compiled(text: str, to: Target) -> bytes:
    if to.vectors:
        # vectors of the text then fit a register; the length is a multiple of 128 bits
        known = f"vscale_range({to.vectors // 128},{MAX_SVE_BITS // 128})"
        text = re.sub(r"^(define .*?)\{\n", rf"\1{known} {{\n", text, flags=re.M | re.S)
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
        opt=2,
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
