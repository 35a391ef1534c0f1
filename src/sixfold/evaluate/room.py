"""Memory of big results, used again when nobody holds it any more.

The system hands out new memory page by page and clears it first, which for a batch of matrices
takes longer than to work them out.  So the last big results' memory is kept, and goes to the next
result of about that size, provided that no array refers to it: every view of a result counts.
"""

from __future__ import annotations

import os
import sys
import threading
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1 << 24
"""Bytes of a result whose memory is worth keeping."""


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


LINE = 64
"""Bytes of a line of the caches; results in kept memory start with a whole one."""

MOST = _megabytes(os.environ.get("SIXFOLD_KEEP_MB", "")) << 20
"""Bytes that are kept in all."""

_kept: list[NDArray[np.uint8]] = []
_lock = threading.Lock()


def _references(rooms: list[Any], k: int) -> int:
    """Return how often an element of a list is referred to, as the interpreter counts."""
    return sys.getrefcount(rooms[k])


_IDLE = _references([np.empty(1, np.uint8)], 0)
"""The count when only the list refers to it."""
_COUNTS = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether the counts are exact."""


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array with anything in it, as `numpy.empty` does."""
    kind = np.dtype(dtype)
    size = prod(shape) * kind.itemsize
    if not LEAST <= size <= MOST - LINE or not _COUNTS:
        return np.empty(shape, kind)
    with _lock:
        for k in range(len(_kept)):
            if size + LINE <= _kept[k].nbytes <= 2 * size and _references(_kept, k) == _IDLE:
                _kept.insert(0, _kept.pop(k))
                break
        else:
            _kept.insert(0, np.empty(size + LINE, np.uint8))
        while sum(room.nbytes for room in _kept) > MOST:
            _kept.pop()
        first = -_kept[0].ctypes.data % LINE
        return _kept[0][first : first + size].view(kind).reshape(shape)
