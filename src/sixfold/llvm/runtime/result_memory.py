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

MIN_BYTES = 1 << 20
"""Bytes of all results of a call from which their memory is kept.

The C library keeps arrays of up to 32 MiB, but returns memory to the system when twice the largest
is free: without the pool, derivatives of panda's forward dynamics of 4,096 states (3 x 1.6 MB) took
2.7 times as long."""
MAX_BUFFERS = 64
"""Idle buffers that are kept, so that a search among them stays short."""
PAGE = 4096
"""Bytes of a page, at which results start.

NumPy's large arrays start 16 bytes behind a page.  A result that started a little further into a
page than the arguments would delay their loads: processors compare the last twelve bits of an
address with those of stores under way."""


class Pool:
    """Idle buffers.  Each step is one operation of a dict, so finalizers may come in between."""

    def __init__(self, limit: int) -> None:
        """Keep at most so many bytes."""
        self.limit = limit
        self.idle: dict[int, NDArray[np.uint8]] = {}
        """The idle buffers, the newest last."""

    def take(self, nbytes: int) -> NDArray[np.uint8]:
        """Return the newest idle buffer of at least so many bytes and at most twice as many."""
        for key, found in reversed(list(self.idle.items())):
            if nbytes <= found.nbytes - PAGE <= 2 * nbytes and self.idle.pop(key, None) is not None:
                return found
        return np.empty(nbytes + PAGE, np.uint8)

    def put(self, buffer: NDArray[np.uint8]) -> None:
        """Keep a buffer, and free the oldest ones beyond the limits."""
        self.idle[id(buffer)] = buffer
        kept = list(self.idle.items())
        total = sum(each.nbytes for _, each in kept)
        for n, (key, each) in enumerate(kept):
            if total <= self.limit and len(kept) - n <= MAX_BUFFERS:
                return
            total -= each.nbytes
            self.idle.pop(key, None)


class PooledMemory:
    """The base of a result: returns its buffer when the result and all views of it are gone.

    It must not be an array: NumPy lets a view refer to the last array in a chain of bases.
    """

    def __init__(self, pool: Pool, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Take a buffer of the pool for an array."""
        self.pool, self.buffer = pool, pool.take(prod(shape) * dtype.itemsize)
        start = self.buffer.ctypes.data
        self.__array_interface__ = {
            "data": (start + -start % PAGE, False),
            "shape": shape,
            "typestr": dtype.str,
            "version": 3,
        }

    def __del__(self, ending: Any = sys.is_finalizing) -> None:
        """Return the buffer, unless the process ends."""
        if "buffer" in self.__dict__ and not ending():
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
    kind = np.dtype(dtype)
    if sum(map(prod, shapes)) * kind.itemsize < MIN_BYTES:
        return tuple([np.empty(shape, kind) for shape in shapes])
    return tuple(
        [
            np.asarray(PooledMemory(pool(), shape, kind)) if prod(shape) else np.empty(shape, kind)
            for shape in shapes
        ]
    )
