"""Object files with one C function for other processors, and PTX, from the same LLVM text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from sixfold.compiler.graph.program import Program
from sixfold.compiler.graph.rolled import Rolled
from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.modules import ptx, rolled, scan, straight
from sixfold.compiler.llvm.modules.scan import Scan
from sixfold.compiler.llvm.runtime import jit
from sixfold.compiler.llvm.runtime.kernel import Kernel
from sixfold.compiler.llvm.runtime.scan_kernel import ScanKernel
from sixfold.errors import NotApplicableError

# -- kernels as C functions


def loop_module(text: str, layout: Layout, name: str, data: bytes | None) -> str:
    """Return the text of a module with name(inputs, outputs, states) around its @loop.

    Args:
        text: of a module with the inner loop of a gufunc, and without the call for Python.
        layout: its arrays; the function takes them dense, those that are empty left out.
        name: of the function.
        data: what the loop gets as its last argument.
    """
    dense = layout.dense
    n = len(dense.shapes)
    pointers = ", ".join(f"ptr %a{k}" for k in range(n))
    strides = dense.steps
    lines = [
        *(_store("args", "ptr", k, f"%a{k}") for k in range(n)),
        *(_store("steps", "i64", k, str(stride)) for k, stride in enumerate(strides)),
    ]
    table = "" if data is None else _table(data)
    return f"""{_standalone(text, "void @loop(")}
{table}
define void @{name}({pointers}, i64 %states) {{
entry:
  %args = alloca ptr, i64 {n}
  %steps = alloca i64, i64 {len(strides)}
  %rows = alloca i64
  store i64 %states, ptr %rows
{"".join(lines)}  %some = icmp sgt i64 %states, 0
  br i1 %some, label %run, label %end
run:
  call void @loop(ptr %args, ptr %rows, ptr %steps, ptr {"null" if data is None else "@table"})
  br label %end
end:
  ret void
}}
"""


def scan_module(text: str, scan: Scan, name: str) -> str:
    """Return the text of a module with name(arrays, outputs, rows, steps, every) around @scan.

    Carried arrays have a row for each trajectory, fixed ones one row for all, the others one for
    each trajectory and step; outputs have one for each trajectory and every `every` steps.  The
    function returns what @scan returns.
    """
    item = {"float64": 8, "float32": 4}[scan.dtype]
    n, kept = len(scan.sizes), len(scan.carried) + len(scan.fixed)
    total = n + len(scan.carried)
    pointers = ", ".join(f"ptr %a{k}" for k in range(total))
    lines: list[str] = [_store("arrays", "ptr", k, f"%a{k}") for k in range(total)]
    # bytes from row to row and from step to step
    for k, size in enumerate((*scan.sizes, *scan.carried)):
        by_row, by_step = str(item * size), "0"
        if len(scan.carried) <= k < kept:
            by_row = "0"
        elif k >= kept:
            by_step, by_row = by_row, f"%row{k}"
            rows = "%steps" if k < n else "%written"
            lines.append(f"  {by_row} = mul i64 {rows}, {by_step}\n")
        lines.append(_store("strides", "i64", 2 * k, by_row))
        lines.append(_store("strides", "i64", 2 * k + 1, by_step))
    return f"""{_standalone(text, "i32 @scan(")}
define i32 @{name}({pointers}, i64 %rows, i64 %steps, i64 %every) {{
entry:
  %arrays = alloca ptr, i64 {total}
  %strides = alloca i64, i64 {2 * total}
  %written = sdiv i64 %steps, %every
{"".join(lines)}  %some = icmp sgt i64 %rows, 0
  br i1 %some, label %run, label %end
run:
  %code = call i32 @scan(ptr %arrays, ptr %strides, i64 %rows, i64 %steps, i64 %every)
  ret i32 %code
end:
  ret i32 0
}}
"""


def _standalone(text: str, function: str) -> str:
    """Return a module's text with C's allocator, and its function kept inside."""
    assert f"define {function}" in text
    text = text.replace("@PyMem_RawMalloc", "@malloc").replace("@PyMem_RawFree", "@free")
    return text.replace(f"define {function}", f"define internal {function}")


def _store(array: str, kind: str, k: int, value: str) -> str:
    """Return instructions that store element k of an array."""
    place = f"%{array}{k}_p"
    return (
        f"  {place} = getelementptr {kind}, ptr %{array}, i64 {k}\n"
        f"  store {kind} {value}, ptr {place}\n"
    )


def _table(data: bytes) -> str:
    """Return bytes as a constant."""
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'@table = internal constant [{len(data)} x i8] c"{text}", align 64'


# -- targets


T = TypeVar("T")
MAX_SVE_BITS = 2048  # longest vectors of SVE, by its architecture


@dataclass(frozen=True)
class Target:
    """A processor that objects are made for."""

    triple: str
    cpu: str
    features: str
    lanes: int  # states at a time
    abi: str = ""
    single: int = 0  # states at a time in single precision, if that differs
    vectors: int = 0  # bits that vectors of unknown length have at least (SVE)

    def lanes_of(self, dtype: str) -> int:
        """Return the states at a time in a precision."""
        return self.single if self.single and dtype == "float32" else self.lanes


#: By name: 64-bit Arm with NEON, or with SVE of at least 256 or 512 bits; RISC-V with the usual
#: extensions; x86-64 with AVX2 and FMA.
TARGETS = {
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic", "+neon", 4),
    "aarch64_sve256": Target(
        "aarch64-unknown-linux-gnu", "generic", "+neon,+sve", 4, single=8, vectors=256
    ),
    "aarch64_sve512": Target("aarch64-unknown-linux-gnu", "generic", "+neon,+sve", 8, vectors=512),
    "riscv64": Target("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", 1, "lp64d"),
    "x86_64": Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 4),
}


def cross_object(kernel: Kernel | ScanKernel, name: str, target: str) -> bytes:
    """Return a kernel or scan as an object file with one C function.

    Its results have the bits of the kernel here, for every finite number: the graph decides every
    rounding, and the target has fused multiply-adds.
    """
    to = TARGETS[target]
    if isinstance(kernel, ScanKernel):
        inner = scan.module(kernel.graph, kernel.scan, to.lanes_of(kernel.scan.dtype), to.triple)
        text = scan_module(inner, kernel.scan, name)
    else:
        text = loop_module(_loop(kernel.graph, kernel, to), kernel.layout, name, kernel.data)
    return _object_code(text, to)


def _loop(program: Program | Rolled, kernel: Kernel, to: Target) -> str:
    lanes = to.lanes_of(kernel.layout.dtype)
    if isinstance(program, Rolled):
        return rolled.module(program, kernel.layout, lanes, to.triple)
    return straight.module(program, kernel.layout.dense, lanes, to.triple, python=False)


#: Nvidia GPUs from Ampere on; the driver compiles the text for the GPU it finds.
_PTX = Target("nvptx64-nvidia-cuda", "sm_80", "+ptx80", 1)


def ptx_text(program: Program, layout: Layout, name: str) -> str:
    """Return PTX with one kernel: one state a thread."""
    return _assembly(ptx.module(program, layout, name))


def _assembly(text: str) -> str:
    return _with_machine(text, _PTX, lambda machine, module: str(machine.emit_assembly(module)))


def _object_code(text: str, to: Target) -> bytes:
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
    # the text is for this processor alone: no runtime dispatch
    machine = target.create_target_machine(
        cpu=to.cpu, features=to.features, opt=2, reloc="pic", codemodel="small", abiname=to.abi
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
