"""Memory of big results, used again when nobody holds it any more.

The system hands out new memory page by page and clears it first, which for a batch of matrices
takes longer than to work them out.  So the memory of big results is kept when they are gone, and
goes to the next result of about that size.

A result is an array of NumPy's own that owns its data.  It only has other functions to allocate and
to free it (`llvm/modules/result_memory`): NumPy frees the data when nothing refers to the array any
more, and no sooner.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.llvm.modules import array_fields
from sixfold.llvm.modules import result_memory as code
from sixfold.llvm.runtime import cache, jit

MIN_BYTES = code.MIN_BYTES


def _megabytes(text: str) -> int:
    """Return how much to keep, as the environment variable SIXFOLD_KEEP_MB says.

    Without it that is a sixteenth of the machine's memory, 1024 at most; 256 where that is unknown.
    """
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        known = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        known = -1
    return min(1024, known >> 24) if known > 0 else 256


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy's C interface."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("state", ctypes.c_size_t),
        *((name, ctypes.c_size_t) for name in code.FUNCTIONS),
    )


class _State(ctypes.Structure):
    """What the functions know: `code.STATE`, then the pieces of idle memory."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in code.STATE),
        ("blocks", ctypes.c_uint64 * 2 * code.MAX_BLOCKS),
    )


class KeptMemory:
    """Hands out memory of results, and keeps it when they are gone.

    It is made once and lives as long as the process: an array may be freed at its very end.
    """

    def __init__(self, limit: int) -> None:
        """Load the functions; keep at most so many bytes."""
        self._loaded = loaded = jit.Loaded(_object_code())
        inner = array_fields.default_handler(_Handler)
        self.state = _State(inner.state, inner.take, inner.give, limit)
        functions = [loaded.address(name) for name in code.FUNCTIONS]
        self._handler = _Handler(b"sixfold results", 1, ctypes.addressof(self.state), *functions)
        self.capsule = array_fields.handler_capsule(self._handler)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    @property
    def idle(self) -> list[tuple[int, int]]:
        """Start and size of each piece of idle memory, the one that came back last first."""
        return [(start, size) for start, size in self.state.blocks[: self.state.count]][::-1]


def _object_code() -> bytes:
    """Return the functions as object code, kept on disk as kernels are."""
    text = code.text()
    name = cache.digest("result memory", text, *jit.host())
    found = cache.read(name)
    if found is None:
        found = jit.object_code(text)
        cache.write(name, found)
    return found


@lru_cache(maxsize=1)
def kept_memory() -> KeptMemory | None:
    """Return what keeps memory, from now on known to all kernels; None where nothing does."""
    if not array_fields.symbols():
        return None
    found = KeptMemory(_megabytes(os.environ.get("SIXFOLD_KEEP_MB", "")) << 20)
    array_fields.HANDLER.value = id(found.capsule)
    return found


def empty(shapes: Sequence[tuple[int, ...]], dtype: Any) -> tuple[NDArray[Any], ...]:
    """Return an array with anything in it, as `numpy.empty` does, for each result of a call."""
    kind = np.dtype(dtype)
    if sum(map(prod, shapes)) * kind.itemsize < MIN_BYTES or (kept := kept_memory()) is None:
        return tuple([np.empty(shape, kind) for shape in shapes])
    set_handler = array_fields.set_handler()
    before = set_handler(kept.capsule)
    try:
        return tuple([np.empty(shape, kind) for shape in shapes])
    finally:
        set_handler(before)
