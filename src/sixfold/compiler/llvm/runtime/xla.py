"""A kernel as a custom call of XLA: one function made of LLVM text, no C compiler.

XLA hands over a frame of pointers (its C interface for foreign functions, XLA_FFI_CallFrame).  The
function takes the pointers to the arrays out of it and runs the kernel's own inner loop.  Offsets
are those of 64-bit machines.
"""

from __future__ import annotations

import hashlib
from math import prod

import numpy as np

from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.runtime import jit
from sixfold.compiler.llvm.runtime.kernel import Kernel

#: In the frame: extensions, the stage, pointers to argument and to result buffers.
_EXTENSION, _STAGE, _ARGUMENTS, _RESULTS = 8, 32, 72, 112
_EXECUTE = 3  # the stage in which there are numbers
#: In the extension: its kind, and where the answer to a question for the interface goes.
_KIND, _METADATA = 8, 24
_ASKS_INTERFACE = 1
_DATA, _RANK, _SIZES = 24, 32, 40  # in a buffer: its data, number of axes and their sizes


def _module(layout: Layout, loop: int, data: int) -> str:
    """Return the text of @xla_call(frame), which runs a loop on arrays with equal leading axes.

    Args:
        layout: the kernel's arrays; XLA knows all of them, the loop those that are not empty.
        loop: address of the kernel's inner loop.
        data: address that the loop gets as its last argument.
    """
    arrays = [
        (start, k)
        for start, shapes in ((_ARGUMENTS, layout.inputs), (_RESULTS, layout.outputs))
        for k, shape in enumerate(shapes)
        if prod(shape)
    ]
    n, steps, lines = len(arrays), layout.dense.steps, []
    # pointers to the data of all arrays, from the frame's lists of buffers
    for k, (start, place) in enumerate(arrays):
        lines += [
            f"  %list{k}_p = getelementptr i8, ptr %frame, i64 {start}",
            f"  %list{k} = load ptr, ptr %list{k}_p",
            f"  %buffer{k}_p = getelementptr ptr, ptr %list{k}, i64 {place}",
            f"  %buffer{k} = load ptr, ptr %buffer{k}_p",
            f"  %data{k}_p = getelementptr i8, ptr %buffer{k}, i64 {_DATA}",
            f"  %data{k} = load ptr, ptr %data{k}_p",
            f"  %arg{k} = getelementptr ptr, ptr %args, i64 {k}",
            f"  store ptr %data{k}, ptr %arg{k}",
        ]
    for k, step in enumerate(steps):
        lines += [
            f"  %step{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  store i64 {step}, ptr %step{k}",
        ]
    core = len(layout.dense.inputs[0])
    body = "\n".join(lines)
    return f"""
define ptr @xla_call(ptr %frame) {{
entry:
  %args = alloca ptr, i64 {n}
  %steps = alloca i64, i64 {len(steps)}
  %rows_p = alloca i64
  %extension_p = getelementptr i8, ptr %frame, i64 {_EXTENSION}
  %extension = load ptr, ptr %extension_p
  %alone = icmp eq ptr %extension, null
  br i1 %alone, label %work, label %asked
asked:
  %kind_p = getelementptr i8, ptr %extension, i64 {_KIND}
  %kind = load i32, ptr %kind_p
  %interface = icmp eq i32 %kind, {_ASKS_INTERFACE}
  br i1 %interface, label %answer, label %work
answer:
  ; version 0.1 of the interface, no traits
  %place_p = getelementptr i8, ptr %extension, i64 {_METADATA}
  %place = load ptr, ptr %place_p
  %major = getelementptr i8, ptr %place, i64 24
  store i32 0, ptr %major
  %minor = getelementptr i8, ptr %place, i64 28
  store i32 1, ptr %minor
  %traits = getelementptr i8, ptr %place, i64 32
  store i32 0, ptr %traits
  ret ptr null
work:
  %stage_p = getelementptr i8, ptr %frame, i64 {_STAGE}
  %stage = load i32, ptr %stage_p
  %now = icmp eq i32 %stage, {_EXECUTE}
  br i1 %now, label %arrays, label %end
arrays:
{body}
  ; states: the leading axes of the first array
  %rank_p = getelementptr i8, ptr %buffer0, i64 {_RANK}
  %rank = load i64, ptr %rank_p
  %lead = sub i64 %rank, {core}
  %sizes_p = getelementptr i8, ptr %buffer0, i64 {_SIZES}
  %sizes = load ptr, ptr %sizes_p
  br label %count
count:
  %axis = phi i64 [0, %arrays], [%axis2, %more]
  %rows = phi i64 [1, %arrays], [%rows2, %more]
  %on = icmp slt i64 %axis, %lead
  br i1 %on, label %more, label %counted
more:
  %size_p = getelementptr i64, ptr %sizes, i64 %axis
  %size = load i64, ptr %size_p
  %rows2 = mul i64 %rows, %size
  %axis2 = add i64 %axis, 1
  br label %count
counted:
  %some = icmp sgt i64 %rows, 0
  br i1 %some, label %run, label %end
run:
  store i64 %rows, ptr %rows_p
  %loop = inttoptr i64 {loop} to ptr
  %data = inttoptr i64 {data} to ptr
  call void %loop(ptr %args, ptr %rows_p, ptr %steps, ptr %data)
  br label %end
end:
  ret ptr null
}}
"""


class XlaHandler:
    """A function `XLA_FFI_Error *call(XLA_FFI_CallFrame *)` that runs a kernel; keep it alive."""

    def __init__(self, kernel: Kernel) -> None:
        """Make the function."""
        self.kernel = kernel
        self._data = None if kernel.data is None else np.frombuffer(kernel.data, np.uint8)
        data = 0 if self._data is None else int(self._data.ctypes.data)
        text = _module(kernel.layout, kernel.address, data)
        self._loaded = jit.Loaded(jit.object_code(text))
        self.address = self._loaded.address("xla_call")


def content_digest(kernel: Kernel) -> str:
    """Return a name for what a kernel computes: the same in every process, for nothing else."""
    parts = (kernel.text.encode(), repr(kernel.layout).encode(), kernel.data or b"")
    whole = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.sha256(whole).hexdigest()
