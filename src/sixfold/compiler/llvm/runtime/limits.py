"""Limits of the process, checked before LLVM meets them.

LLVM ends the process when it gets no memory.  So there has to be enough before it is called.
"""

from __future__ import annotations

import mmap
import os
from functools import lru_cache
from pathlib import Path

from sixfold.errors import KernelMemoryError

SPARE_MAPS = 512  #: Maps of memory that must be left before anything is compiled or loaded.
#: Memory that must be left for the compiler, and for each character of the text.
COMPILER_BYTES, BYTES_PER_CHARACTER = 64 << 20, 100
#: Text that a line of a program, and a result to be stored, become, roughly.
CHARACTERS_PER_LINE, CHARACTERS_PER_RESULT = 300, 80

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
            "no memory map for another kernel: the process is close to its limit",
            f"{held} of {most} maps",
            "drop kernels, find other users in /proc/self/maps, or raise sysctl vm.max_map_count",
        )
    size = COMPILER_BYTES + BYTES_PER_CHARACTER * characters
    _check_size(size)
    try:
        mmap.mmap(-1, size).close()  # asked for and given back untouched
    except (OSError, ValueError, OverflowError) as error:
        raise KernelMemoryError(
            f"no memory for the compiler: it may need {size >> 20} MiB", error, SMALLER
        ) from None


def check_length(lines: int, results: int) -> None:
    """Raise KernelMemoryError if a program is too long to be compiled, before its text is made."""
    characters = CHARACTERS_PER_LINE * lines + CHARACTERS_PER_RESULT * results
    _check_size(BYTES_PER_CHARACTER * characters, f" for {lines:,} operations, {results:,} results")


SMALLER = (
    "leave sf.compile and backend='unrolled' out, so that NumPy evaluates what is too long;"
    " ask for less (sparse=True, one frame, fewer bodies); or drop large arrays"
)


def _check_size(size: int, what: str = "") -> None:
    """Refuse what the machine does not have: asking for it would only swap or end the process."""
    most = machine_bytes()
    if most is not None and size > most:
        raise KernelMemoryError(
            f"too long to be compiled: the compiler may need {size >> 20} MiB{what}",
            f"a machine with {most >> 20} MiB",
            SMALLER,
        )


@lru_cache(maxsize=1)
def machine_bytes() -> int | None:
    """Return the memory of this machine; None where that is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
