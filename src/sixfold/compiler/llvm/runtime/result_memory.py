"""Memory of large results, reused once nothing refers to it.

The system clears new pages before it hands them out, which for a batch of matrices takes longer
than to compute them.  So the memory of large results is kept when they are gone, and goes to the
next result of about that size.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.compiler.llvm.layout.signature import MIN_POOLED_BYTES

MAX_BUFFERS = 64  #: Idle buffers that are kept, so that a search among them stays short.
#: Bytes of a page, at which results start. NumPy's large arrays start 16 bytes behind a page. A
#: result that started a little further into a page than the arguments would delay their loads:
#: processors compare the last twelve bits of an address with those of stores under way.
PAGE = 4096


class Buffer:
    """Memory of a result."""

    __slots__ = ("memory", "nbytes", "start")

    def __init__(self, nbytes: int) -> None:
        """Allocate memory from the start of a page."""
        self.memory = np.empty(nbytes + PAGE, np.uint8)
        address = int(self.memory.ctypes.data)
        self.start, self.nbytes = address + -address % PAGE, nbytes


class Pool:
    """Idle buffers.  Each step is one operation of a list, so finalizers may come in between."""

    def __init__(self, limit: int) -> None:
        """Set the limit of what is kept, in bytes."""
        self.limit = limit
        self.idle: list[Buffer] = []  #: The idle buffers, the newest last.

    def take(self, nbytes: int) -> Buffer:
        """Return the newest idle buffer of this size up to twice this size."""
        # the newest is most likely in the caches
        for found in reversed(self.idle):
            if nbytes <= found.nbytes <= 2 * nbytes:
                try:
                    self.idle.remove(found)
                except ValueError:  # another thread took it
                    continue
                return found
        return Buffer(nbytes)

    def put(self, buffer: Buffer) -> None:
        """Keep a buffer, and free the oldest ones beyond the limits."""
        idle = self.idle
        idle.append(buffer)
        # the oldest go first
        total = sum([each.nbytes for each in idle])
        while idle and (total > self.limit or len(idle) > MAX_BUFFERS):
            try:
                total -= idle.pop(0).nbytes
            except IndexError:  # another thread took it
                return


class PooledMemory:
    """The base of a result: returns its buffer when the result and all views of it are gone.

    It must not be an array: NumPy lets a view refer to the last array in a chain of bases.
    """

    __slots__ = ("__array_interface__", "buffer", "pool")

    def __init__(self, pool: Pool, buffer: Buffer, shape: tuple[int, ...], typestr: str) -> None:
        """Take a buffer of the pool for an array."""
        self.pool, self.buffer = pool, buffer
        data = (buffer.start, False)
        self.__array_interface__ = {"data": data, "shape": shape, "typestr": typestr, "version": 3}

    def __del__(self, ending: Any = sys.is_finalizing) -> None:
        """Return the buffer, unless the process ends."""
        if not ending():
            self.pool.put(self.buffer)


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


@lru_cache(maxsize=1)
def pool() -> Pool:
    """Return the pool of this process."""
    return Pool(_megabytes(os.environ.get("SIXFOLD_KEEP_MB", "")) << 20)


def empty(shapes: Sequence[tuple[int, ...]], dtype: Any) -> tuple[NDArray[Any], ...]:
    """Return an uninitialised array, as `numpy.empty` does, for each result of a call."""
    # small results are NumPy's own
    kind = np.dtype(dtype)
    sizes = [prod(shape) * kind.itemsize for shape in shapes]
    if sum(sizes) < MIN_POOLED_BYTES:
        return tuple([np.empty(shape, kind) for shape in shapes])
    found, results = pool(), []
    for shape, nbytes in zip(shapes, sizes, strict=True):
        if nbytes:
            memory = PooledMemory(found, found.take(nbytes), shape, kind.str)
            results.append(np.asarray(memory))
        else:
            results.append(np.empty(shape, kind))
    return tuple(results)
