"""Big batches on several cores: chunks of rows, each evaluated without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np

from sixfold.errors import OptionError
from sixfold.evaluate.arrays import Array, Shape

CHUNK = 8192
"""Rows handed to a core at a time; results do not depend on it."""

_state: dict[str, Any] = {"threads": None, "pool": None, "size": 0}


def _forget_pool() -> None:
    """Drop the threads of the parent process, which a forked child does not have."""
    _state["pool"] = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def set_threads(count: int | None) -> None:
    """Set how many threads big batches may use; None for all cores.

    The environment variable SIXFOLD_THREADS sets the number at the start.
    """
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise OptionError("set_threads", "count", "a whole number >= 1, or None", count)
    _state["threads"] = count


LEAST = 2048
"""States that are handed to a thread at least."""


def get_threads() -> int:
    """Return how many threads big batches use."""
    chosen = _state["threads"]
    if chosen is None:
        text = os.environ.get("SIXFOLD_THREADS", "")
        chosen = int(text) if text.isdecimal() and int(text) else os.cpu_count() or 1
    return int(chosen)


def spread(ufunc: Any, arrays: list[Array], cores: list[int], lead: Shape, out: Array) -> None:
    """Evaluate a gufunc over the first leading axis in chunks.

    Args:
        ufunc: the gufunc.
        arrays: its inputs.
        cores: number of core axes of each input.
        lead: common leading shape.
        out: where results go, shape (*lead, ...).
    """
    rows = lead[0]
    # several parts a thread, so that one that is held up leaves its parts to the others
    most = min(CHUNK, max(LEAST, rows * int(np.prod(lead[1:])) // (8 * get_threads())))
    step = max(1, most // max(1, int(np.prod(lead[1:]))))

    def part(start: int) -> None:
        stop = min(start + step, rows)
        pieces = [
            x[start:stop] if x.ndim - n == len(lead) and x.shape[0] == rows else x
            for x, n in zip(arrays, cores, strict=True)
        ]
        ufunc(*pieces, out=out[start:stop])

    share(part, range(0, rows, step))


def share(part: Callable[[int], None], starts: range) -> None:
    """Do all parts, in any order, on several threads; this thread takes its share."""
    left, lock = iter(starts), Lock()

    def work() -> None:
        while True:
            with lock:
                start = next(left, None)
            if start is None:
                return
            part(start)

    others = [pool().submit(work) for _ in range(min(get_threads(), len(starts)) - 1)]
    try:
        work()
    finally:
        for other in others:
            other.result()


def pool() -> ThreadPoolExecutor:
    """Return the threads that big batches are handed to."""
    count = get_threads()
    if _state["pool"] is None or _state["size"] != count:
        _state["pool"] = ThreadPoolExecutor(count, thread_name_prefix="sixfold")
        _state["size"] = count
    return _state["pool"]
