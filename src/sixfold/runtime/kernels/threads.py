"""Big batches on several cores: chunks of rows, each evaluated without the interpreter lock."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.errors import OptionError
from sixfold.forks import Rank, fork_lock, lazily, renew_in_child
from sixfold.runtime.arrays import Array, Shape
from sixfold.runtime.lazy_import import Kernel

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


#: Numbers read and written from which a batch runs on several threads.
MIN_SHARED_NUMBERS = 1 << 19

LANES = 8  #: Largest number of states that a processor computes at once.

MIN_CHUNK_NUMBERS = 1 << 16  #: Least numbers in the part of a thread; the last part may have fewer.

MAX_THREADS = 4096  #: Threads that may be asked for; more than any machine has cores.

_state: dict[str, Any] = {"threads": None, "pool": None, "size": 0, "parent": None}
_lock = fork_lock(Rank.THREADS)


def _forget_pool() -> None:
    """Leave the pool of the parent process alone: a forked child does not have its threads."""
    _state["pool"], _state["parent"] = None, _state["pool"]


renew_in_child(_forget_pool)


def set_threads(count: int | None) -> None:
    """Set how many threads big batches may use; None for what this process may use.

    The environment variable SIXFOLD_THREADS sets the number at the start.  Without it, it is the
    number of cores that the process may run on (its CPU affinity), and at most OMP_NUM_THREADS,
    which cluster engines and batch systems set for their workers.

    Args:
        count: number of threads, 1 to 4096; None for what this process may use.

    Example:
        >>> import sixfold as sf
        >>> sf.set_threads(4)
        >>> sf.get_threads()
        4
        >>> sf.set_threads(None)  # as at the start
    """
    whole = isinstance(count, int) and not isinstance(count, bool)
    if count is not None and not (whole and 1 <= count <= MAX_THREADS):
        raise OptionError(
            "set_threads", "count", f"a number from 1 to {MAX_THREADS}, or None", count
        )
    _state["threads"] = count


def get_threads() -> int:
    """Return how many threads big batches use.

    Returns:
        Number of threads, at least 1.

    Example:
        >>> import sixfold as sf
        >>> sf.set_threads(2)
        >>> sf.get_threads()
        2
        >>> sf.set_threads(None)
    """
    chosen = _state["threads"]
    if chosen is None:
        chosen = _threads_from_environment("SIXFOLD_THREADS") or min(
            _cores(), _threads_from_environment("OMP_NUM_THREADS") or MAX_THREADS
        )
    return int(chosen)


def _threads_from_environment(variable: str) -> int:
    """Return the number of threads that an environment variable asks for, 0 for none.

    OMP_NUM_THREADS may be a list, one number for each level of nesting: the first counts.
    """
    text = os.environ.get(variable, "").partition(",")[0].strip()
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _cores() -> int:
    """Return how many cores this process may run on."""
    count: Callable[[], int | None] | None = getattr(os, "process_cpu_count", None)  # Python 3.13
    if count is not None:
        return count() or 1
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def spread(
    ufunc: Any, arrays: list[Array], cores: list[int], lead: Shape, out: Array | tuple[Array, ...]
) -> None:
    """Evaluate a gufunc, in parts of the first leading axis on several threads if that pays.

    Args:
        ufunc: the gufunc.
        arrays: its inputs.
        cores: number of core axes of each input.
        lead: common leading shape.
        out: where results go, shape (*lead, ...); a tuple for several outputs.
    """
    read = sum(prod(x.shape[x.ndim - n :]) for x, n in zip(arrays, cores, strict=True))
    results = out if isinstance(out, tuple) else (out,)
    numbers, rows = prod(lead) * read + sum(x.size for x in results), lead[0] if lead else 1
    if numbers < MIN_SHARED_NUMBERS or rows == 1 or get_threads() == 1:
        ufunc(*arrays, out=out)
        return
    if any(np.may_share_memory(x, y) for x in arrays for y in results):
        # NumPy copies what overlaps within one call, not what other threads still have to read
        ufunc(*arrays, out=out)
        return

    def part(start: int, stop: int) -> None:
        pieces = [
            x[start:stop] if x.ndim - n == len(lead) and x.shape[0] == rows else x
            for x, n in zip(arrays, cores, strict=True)
        ]
        ufunc(*pieces, out=tuple(x[start:stop] for x in results))

    unit = max(1, LANES // max(1, prod(lead[1:])))
    share(part, cuts(rows, max(1, MIN_CHUNK_NUMBERS * rows // numbers), unit))


def run_kernel(kernel: Kernel, arrays: Sequence[Array], lead: Shape, out: Sequence[Array]) -> None:
    """Run a kernel on arrays of its dtype in C order, as fast as their size allows.

    Args:
        kernel: with at least one output.
        arrays: its inputs, each (*lead, ...).
        lead: common leading shape.
        out: one array for each output, apart from the inputs and from each other.
    """
    call = kernel.on_one_thread if get_threads() == 1 else kernel.quick
    if call is not None and call(*arrays, *out) is not None:
        return
    ufunc = kernel.ufunc_for(sum(x.nbytes for x in (*arrays, *out)), prod(lead))
    with np.errstate(all="ignore"):
        spread(ufunc, list(arrays), [len(core) for core in kernel.layout.inputs], lead, tuple(out))


def cuts(rows: int, least: int, unit: int = LANES) -> list[tuple[int, int]]:
    """Return where parts start and stop: large ones first, then smaller ones.

    Guided scheduling: parts shrink, so that no thread waits long for another at the end.
    All but the last have a multiple of the unit.
    """
    found, start, threads = [], 0, get_threads()
    while start < rows:
        size = max(least, (rows - start) // (4 * threads))
        stop = min(rows, start + -(-size // unit) * unit)
        found.append((start, stop))
        start = stop
    return found


def share(part: Callable[[int, int], None], parts: Sequence[tuple[int, int]]) -> None:
    """Do all parts, in any order, on several threads; this thread takes its share."""
    left, lock = iter(parts), Lock()

    def work() -> None:
        while True:
            with lock:
                found = next(left, None)
            if found is None:
                return
            part(*found)

    others = [pool().submit(work) for _ in range(min(get_threads(), len(parts)) - 1)]
    try:
        work()
    finally:
        for other in others:
            other.result()


def pool() -> ThreadPoolExecutor:
    """Return the thread pool for large batches."""
    count, futures = get_threads(), lazily("concurrent.futures")
    with _lock:
        if _state["pool"] is None or _state["size"] != count:
            _state["pool"] = futures.ThreadPoolExecutor(count, thread_name_prefix="sixfold")
            _state["size"] = count
        found: ThreadPoolExecutor = _state["pool"]
    return found
