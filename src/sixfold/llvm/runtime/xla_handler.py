"""A kernel where XLA can call it: the address of a function, and what has to live for it."""

from __future__ import annotations

import hashlib

import numpy as np

from sixfold.llvm.modules import xla_call
from sixfold.llvm.runtime import jit
from sixfold.llvm.runtime.kernel import Kernel


class XlaHandler:
    """A function `XLA_FFI_Error *call(XLA_FFI_CallFrame *)` that runs a kernel; keep it alive."""

    def __init__(self, kernel: Kernel) -> None:
        """Make the function."""
        self.kernel = kernel
        self._data = None if kernel.data is None else np.frombuffer(kernel.data, np.uint8)
        data = 0 if self._data is None else int(self._data.ctypes.data)
        text = xla_call.module(kernel.layout, kernel.address, data)
        self._loaded = jit.Loaded(jit.object_code(text))
        self.address = self._loaded.address("xla_call")


def content_digest(kernel: Kernel) -> str:
    """Return a name for what a kernel computes: the same in every process, for nothing else."""
    parts = (kernel.text.encode(), repr(kernel.layout).encode(), kernel.data or b"")
    whole = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.sha256(whole).hexdigest()
