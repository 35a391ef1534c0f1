"""Kernels as C functions, for objects that are linked into other programs, without Python.

The module of a kernel or scan gets one function more, with a name of its own; everything else in it
becomes internal, so that several objects go into one program.  Scratch comes from malloc.
"""

from __future__ import annotations

from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.modules.scan import Scan


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
    strides = [layout.item * size for size in dense.sizes]
    for shape in dense.shapes:
        step = layout.item
        own: list[int] = []
        for size in reversed(shape):
            own.insert(0, step)
            step *= size
        strides += own
    lines = [
        *(_stored("args", "ptr", k, f"%a{k}") for k in range(n)),
        *(_stored("steps", "i64", k, str(stride)) for k, stride in enumerate(strides)),
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
    each trajectory and step; outputs have one for each trajectory and every so many steps.  The
    function returns what @scan returns.
    """
    item = {"float64": 8, "float32": 4}[scan.dtype]
    n, kept = len(scan.sizes), len(scan.carried) + len(scan.fixed)
    total = n + len(scan.carried)
    pointers = ", ".join(f"ptr %a{k}" for k in range(total))
    lines: list[str] = [_stored("arrays", "ptr", k, f"%a{k}") for k in range(total)]
    for k, size in enumerate((*scan.sizes, *scan.carried)):
        by_row, by_step = str(item * size), "0"
        if len(scan.carried) <= k < kept:
            by_row = "0"
        elif k >= kept:
            by_step, by_row = by_row, f"%row{k}"
            rows = "%steps" if k < n else "%written"
            lines.append(f"  {by_row} = mul i64 {rows}, {by_step}\n")
        lines.append(_stored("strides", "i64", 2 * k, by_row))
        lines.append(_stored("strides", "i64", 2 * k + 1, by_step))
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


def _stored(array: str, kind: str, k: int, value: str) -> str:
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
