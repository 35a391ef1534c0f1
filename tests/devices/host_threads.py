"""Kernels for Nvidia's cards on this processor: the same LLVM text, one thread after the other."""

from __future__ import annotations

import ctypes

from sixfold.llvm.runtime import jit

_NUMBERS = ("tid", "ctaid", "ntid")


def host_threads(text, name, arrays):
    """Return a function that runs all threads of all blocks of a kernel of so many arrays.

    Pointers become this processor's, and the numbers of a thread come from memory.
    """
    text = text.replace("ptx_kernel ", "").replace(" addrspace(1)", "")
    for number in _NUMBERS:
        function = f"i32 @llvm.nvvm.read.ptx.sreg.{number}.x()"
        body = f"{{\n  %n = load i32, ptr @now_{number}\n  ret i32 %n\n}}"
        text = text.replace(f"declare {function}", f"define i32 @{number}() {body}")
        text = text.replace(f"call {function}", f"call i32 @{number}()")
        text += f"\n@now_{number} = internal global i32 0\n"
    stores = "\n".join(f"  store i32 %{x}, ptr @now_{x}" for x in _NUMBERS)
    text += f"define void @at(i32 %tid, i32 %ctaid, i32 %ntid) {{\n{stores}\n  ret void\n}}\n"
    loaded = jit.Loaded(jit.object_code(text))
    at = ctypes.CFUNCTYPE(None, *[ctypes.c_int32] * 3)(loaded.address("at"))
    kinds = [*[ctypes.c_void_p] * arrays, ctypes.c_int64]
    kernel = ctypes.CFUNCTYPE(None, *kinds)(loaded.address(name))

    def run(pointers, states, blocks, threads):
        for block in range(blocks):
            for thread in range(threads):
                at(thread, block, threads)
                kernel(*pointers, states)

    run.loaded = loaded  # the code stays as long as the function
    return run
