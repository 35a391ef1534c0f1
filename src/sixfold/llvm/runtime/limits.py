"""What the system lets a process have, looked at before LLVM meets the limit.

LLVM ends the process when it gets no memory.  So there has to be enough before it is called.
"""

from __future__ import annotations

import mmap
from functools import lru_cache
from pathlib import Path

from sixfold.errors import KernelMemoryError

SPARE_MAPS = 512
"""Maps of memory that must be left before anything is compiled or loaded."""
COMPILER_BYTES, BYTES_PER_CHARACTER = 64 << 20, 100
"""Memory that must be left for the compiler, and for each character of the text."""

_MAPS = Path("/proc/self/maps")


@lru_cache(maxsize=1)
def most_maps() -> int | None:
    """Return how many maps of memory a process may have; None where that is not known."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return None


def maps() -> int:
    """Return how many maps of memory this process has."""
    with _MAPS.open("rb", buffering=0) as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 16), b""))


def check_limits(characters: int = 0) -> None:
    """Raise KernelMemoryError if there is too little left to compile so long a text."""
    most = most_maps()
    try:
        held = 0 if most is None else maps()
    except OSError:
        held = 0
    if most is not None and held > most - min(SPARE_MAPS, most // 8):
        raise KernelMemoryError(
            "no room for another kernel: the process has nearly as many maps of memory as it may",
            f"{held} of {most} maps",
            "find what keeps so many (/proc/self/maps), or raise sysctl vm.max_map_count",
        )
    size = COMPILER_BYTES + BYTES_PER_CHARACTER * characters
    try:
        mmap.mmap(-1, size).close()  # asked for and given back untouched
    except (OSError, ValueError, OverflowError) as error:
        raise KernelMemoryError(
            f"no memory for the compiler: it may need {size >> 20} MiB",
            error,
            "drop large arrays that are not needed any more, or raise the limit (ulimit -v)",
        ) from None
