"""From programs to kernels: one for a program, or two where it is long."""

from __future__ import annotations

from sixfold.graph.passes import optimise
from sixfold.graph.program import Program
from sixfold.graph.rolled import Rolled
from sixfold.llvm.layout.schedule import MAX_OPERATIONS
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.runtime import jit
from sixfold.llvm.runtime.kernel import Kernel, compiled
from sixfold.llvm.runtime.limits import check_length
from sixfold.llvm.runtime.long_kernel import LongKernel


def build(
    name: str,
    program: Program | Rolled,
    layout: Layout,
    *,
    lanes: int | None = None,
    doc: str = "",
    data: bytes | None = None,
) -> tuple[Kernel, bytes]:
    """Compile a traced program, or find its code by its text; return the kernel and its code.

    A long program has no code yet: it is compiled when it is called.
    """
    straight = isinstance(program, Program)
    if isinstance(program, Program):
        check_length(program.length, len(program.outputs))
    text = (optimise(program) if isinstance(program, Program) else program).text()
    lanes = lanes or jit.lanes(layout.dtype)
    if straight and text.count("\n") > MAX_OPERATIONS:
        return LongKernel(name, text, layout, lanes, doc), b""
    return compiled(name, text, layout, lanes, doc, data)


def loaded(
    name: str, text: str, layout: Layout, lanes: int, code: bytes, data: bytes | None = None
) -> Kernel:
    """Return the kernel of what `build` made."""
    if code:
        return Kernel(name, text, layout, lanes, code, data=data)
    return LongKernel(name, text, layout, lanes)
