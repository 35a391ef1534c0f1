"""Memory of big results, used again when nobody holds it any more.

The system hands out new memory page by page and clears it first, which for a batch of matrices
takes longer than to work them out.  So the memory of big results is kept when they are gone, and
goes to the next result of about that size.

A result lies in the memory of an owner, which is the array's base: every view, buffer and capsule
of the result holds the array, and so the owner.  When the owner is freed, its memory comes back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sixfold.forks import Rank, Returns, fork_lock

MIN_BYTES = 1 << 20
"""Bytes of all results of a call from which on their memory is worth keeping.

The C library keeps arrays of up to 32 MiB by itself, but gives memory back to the system when more
than twice the largest of them is free, or when nothing lies behind it: a call on 32,768 states of
puma560 then took up to a quarter longer.
"""

MAX_BLOCKS = 64
"""Pieces of idle memory that are kept, so that a search among them stays short."""


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


PAGE = 4096
"""Bytes of a page; results in kept memory start with one, and so with a whole line of the caches.

The C library hands out large arrays 16 bytes behind the start of a page.  A result that started a
little further into a page than the arguments would make their loads wait: processors compare the
last twelve bits of an address with those of stores that are still on their way.
"""

MAX_BYTES = _megabytes(os.environ.get("SIXFOLD_KEEP_MB", "")) << 20
"""Bytes of idle memory that are kept in all."""


class _Block:
    """A piece of memory, its size and where its first page starts."""

    __slots__ = ("memory", "nbytes", "start")
    largest: ClassVar[int] = 0
    """Bytes of the largest that ever came back."""

    def __init__(self, nbytes: int) -> None:
        self.memory, self.nbytes = np.empty(nbytes, np.uint8), nbytes
        start = self.memory.ctypes.data
        self.start = start + -start % PAGE


_idle: list[_Block] = []
"""Memory that nobody uses, what came back last first."""


def _take_back(block: _Block) -> None:
    """Keep memory that came back, and let go of the oldest where it is too much."""
    _idle.insert(0, block)
    if len(_idle) > MAX_BLOCKS:
        _idle.pop()
    _Block.largest = max(_Block.largest, block.nbytes)
    while len(_idle) * _Block.largest > MAX_BYTES and sum(x.nbytes for x in _idle) > MAX_BYTES:
        _idle.pop()


_returns = Returns(fork_lock(Rank.RESULTS), _take_back)


class _Owner:
    """Memory of one result, in the form in which NumPy takes it over."""

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: _Block, shape: tuple[int, ...], kind: Any) -> None:
        self.block = block
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": kind.str,
            "data": (block.start, False),
        }

    def __del__(self, ending: Any = sys.is_finalizing, give: Any = _returns.give) -> None:
        # whoever has got hold of this object meanwhile, such as a tracer, can make no array of it
        block = self.block
        del self.block, self.__array_interface__
        if not ending():
            give(block)


def empty(shapes: Sequence[tuple[int, ...]], dtype: Any) -> tuple[NDArray[Any], ...]:
    """Return an array with anything in it, as `numpy.empty` does, for each result of a call."""
    kind = np.dtype(dtype)
    sizes = [prod(shape) * kind.itemsize for shape in shapes]
    if sum(sizes) < MIN_BYTES:
        return tuple([np.empty(shape, kind) for shape in shapes])
    with _returns:
        return tuple([_in_kept_memory(x, n, kind) for x, n in zip(shapes, sizes, strict=True)])


def _in_kept_memory(shape: tuple[int, ...], size: int, kind: Any) -> NDArray[Any]:
    """Return an array in idle memory of about its size, or in new memory, inside the section."""
    if not PAGE <= size <= MAX_BYTES - PAGE:
        return np.empty(shape, kind)
    block = None
    for k, kept in enumerate(_idle):
        if size + PAGE <= kept.nbytes <= 2 * size:
            block = _idle.pop(k)
            break
    if block is None:
        block = _Block(size + PAGE)
    return np.asarray(_Owner(block, shape, kind))
