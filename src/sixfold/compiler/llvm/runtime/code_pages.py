"""Memory for machine code: kernels share a few large memory mappings.

The mappings of a process are limited (`vm.max_map_count`, some 65,000), and a loader that gives
each kernel mappings of its own runs into that limit.  It may also place code and constants of a
kernel more than 2 GiB apart, farther than code can refer to, and then end the process.  Here a
kernel takes whole pages of a shared mapping, with its constants next to its code.  Its pages are
writable while the code is copied there and executable afterwards, never both (W^X); adjacent pages
of equal protection count as one mapping.  Freed pages are returned to the system and reused by the
next kernel.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import platform
import sys
from functools import lru_cache
from typing import Any, NamedTuple

from sixfold.errors import KernelMemoryError
from sixfold.forks import Rank, Returns, fork_lock

MAP_BYTES = 1 << 22  #: Size of a shared mapping [bytes].
_ALONE = MAP_BYTES >> 2  # bytes from which a kernel has its own mapping

_READ, _WRITE, _RUN = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
_DONTNEED, _NO_HUGE_PAGES = 4, 15
_PRIVATE = 0x22  # anonymous
_NORESERVE = 0x4000
_FAILED = ctypes.c_void_p(-1).value


class Pages(NamedTuple):
    """Consecutive pages of a mapping."""

    home: Map
    start: int
    length: int

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return self.home.address + self.start * mmap.PAGESIZE

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.length * mmap.PAGESIZE


class Map:
    """A memory mapping and its runs of free pages, sorted by address."""

    def __init__(self, address: int, count: int) -> None:
        """Map so many new pages."""
        self.address, self.count = address, count
        self.free = [(0, count)]

    def take(self, count: int) -> Pages | None:
        """Allocate so many pages from the shortest run that is long enough (best fit)."""
        fitting = [run for run in self.free if run[1] >= count]
        if not fitting:
            return None
        start, length = run = min(fitting, key=lambda run: run[1])
        at = self.free.index(run)
        self.free[at : at + 1] = [(start + count, length - count)] if length > count else []
        return Pages(self, start, count)

    def give(self, pages: Pages) -> None:
        """Free pages, and merge them with adjacent free runs."""
        runs: list[tuple[int, int]] = []
        for start, length in sorted([*self.free, (pages.start, pages.length)]):
            if runs and sum(runs[-1]) == start:
                runs[-1] = (runs[-1][0], runs[-1][1] + length)
            else:
                runs.append((start, length))
        self.free = runs


_maps: list[Map] = []


@lru_cache(maxsize=1)
def _system() -> Any:
    """Return the C library's functions for memory."""
    system = ctypes.CDLL(None, use_errno=True)
    word, pointer, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
    system.mmap.restype = pointer
    system.mmap.argtypes = [pointer, word, number, number, number, ctypes.c_long]
    for name in ("mprotect", "madvise"):
        getattr(system, name).argtypes = [pointer, word, number]
    system.munmap.argtypes = [pointer, word]
    return system


@lru_cache(maxsize=1)
def possible() -> bool:
    """Return whether code can be placed here: Linux on x86-64 that permits executable pages."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 2**32:
        return False
    try:
        release(store(1, lambda _: b"\xc3"))
    except PermissionError:
        return False
    except KernelMemoryError:
        pass  # raised again when a kernel is placed
    return True


def store(size: int, image: Any) -> Pages:
    """Return pages with code in them.

    Args:
        size: of the code, in bytes.
        image: gives the code for the address that it will have.

    Raises:
        KernelMemoryError: if the system has no memory or no mapping left.
        PermissionError: if the system permits no executable pages.
    """
    count = -(-size // mmap.PAGESIZE)
    with _returns:
        pages = next(filter(None, (home.take(count) for home in _maps)), None)
        if pages is None:
            whole = size if size > _ALONE else MAP_BYTES
            home = _new_map(-(-whole // mmap.PAGESIZE))
            _maps.append(home)
            pages = home.take(count)
            assert pages is not None
    try:
        code = image(pages.address)
        assert len(code) <= pages.size
        _protect(pages.address, pages.size, _READ | _WRITE)
        ctypes.memmove(pages.address, code, len(code))
        _protect(pages.address, pages.size, _READ | _RUN)
    except BaseException:
        release(pages)
        raise
    return pages


def release(pages: Pages) -> None:
    """Free pages; safe in finalisers and in any thread."""
    _returns.give(pages)


def _new_map(count: int) -> Map:
    system, size = _system(), count * mmap.PAGESIZE
    address = system.mmap(None, size, _READ | _WRITE, _PRIVATE | _NORESERVE, -1, 0)
    if address == _FAILED:
        raise _no_memory(f"a map of {size} bytes")
    system.madvise(address, size, _NO_HUGE_PAGES)
    # once written to, a mapping has an anon_vma in the system's kernel, which its parts inherit:
    # after mprotect has split it, parts of equal protection are merged again
    ctypes.memset(address, 0, 1)
    try:
        _protect(address, size, _READ | _RUN)
    except BaseException:
        system.munmap(address, size)
        raise
    return Map(address, count)


def _take_back(pages: Pages) -> None:
    """Add pages to the free ones; unmap a mapping that holds no kernel."""
    system, home = _system(), pages.home
    home.give(pages)
    system.madvise(pages.address, pages.size, _DONTNEED)
    idle = home.free == [(0, home.count)]
    spare = any(other.count == home.count for other in _maps if other is not home)
    if idle and (spare or home.count * mmap.PAGESIZE != MAP_BYTES):
        _maps.remove(home)
        if system.munmap(home.address, home.count * mmap.PAGESIZE):
            _maps.append(home)  # not even a mapping left for that


_returns = Returns(fork_lock(Rank.CODE), _take_back)


def _protect(address: int, size: int, protection: int) -> None:
    if _system().mprotect(address, size, protection):
        code = ctypes.get_errno()
        if code in (errno.EACCES, errno.EPERM):
            raise PermissionError(code, "the system lets no code be made")
        raise _no_memory(f"protection for {size} bytes")


def _no_memory(what: str) -> KernelMemoryError:
    return KernelMemoryError(
        f"no memory for a kernel: the system refused {what}",
        f"{sum(home.count for home in _maps) * mmap.PAGESIZE} bytes in {len(_maps)} maps for code",
        "drop kernels and large arrays that are not needed any more, or raise the limits of the"
        " process (ulimit -v, sysctl vm.max_map_count)",
    )
