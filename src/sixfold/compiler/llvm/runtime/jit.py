"""From LLVM text to object code, and from object code to a function pointer."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sixfold.compiler.llvm.modules import array_fields
from sixfold.compiler.llvm.runtime.limits import check_limits
from sixfold.compiler.llvm.text import environment
from sixfold.errors import KernelMemoryError, OptionError
from sixfold.forks import Rank, Returns, fork_lock, watch_lock


@lru_cache(maxsize=1)
def binding() -> Any:
    """Return llvmlite's binding, ready for this machine."""
    import llvmlite.binding as llvm

    with contextlib.suppress(AttributeError):  # llvmlite lets one thread in at a time
        watch_lock(llvm.ffi.lib._lock._lock, Rank.COMPILER)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@lru_cache(maxsize=1)
def host() -> tuple[str, str, str]:
    """Return triple, CPU name and feature string of this machine."""
    llvm = binding()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


WIDTHS = (1, 2, 4, 8)
"""Numbers of lanes that kernels can have; LLVM splits vectors that the processor does not have."""


def lanes(dtype: str = "float64") -> int:
    """Return how many states are computed at once: what a vector holds; 1 without fused products.

    Single precision fills a vector of at most 8.  The environment variable SIXFOLD_LANES sets the
    number for both precisions; it is read whenever a kernel is made.
    """
    forced = os.environ.get("SIXFOLD_LANES", "").strip()
    if forced:
        found = {str(width): width for width in WIDTHS}.get(forced)
        if found is None:
            known = "1, 2, 4 or 8, or nothing for the lanes of this processor"
            raise OptionError("environment", "SIXFOLD_LANES", known, forced)
        return found
    wide = _doubles()
    return wide if dtype == "float64" or wide == 1 else 8


def _doubles() -> int:
    _, _, features = host()
    flags = set(features.split(","))
    if "+avx512f" in flags:
        return 8
    return 4 if "+fma" in flags or "+neon" in flags else 1


def permutes() -> bool:
    """Return whether the processor permutes the eight numbers of two vectors (AVX-512)."""
    return "+avx512f" in host()[2].split(",")


def machine() -> Any:
    """Return what makes machine code for this processor."""
    llvm = binding()
    triple, cpu, features = host()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(
        cpu=cpu,
        features=features,
        opt=2,
        reloc="pic",
        codemodel="small",
    )


def object_code(text: str) -> bytes:
    """Compile LLVM text for this machine, code generation only."""
    check_limits(len(text))
    llvm = binding()
    # constants live as long as their context: one for each text, so that memory does not grow
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.verify()
        with machine() as target:
            return bytes(target.emit_object(module))


def assembly(text: str) -> str:
    """Return the machine code of LLVM text as assembly."""
    llvm = binding()
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        return str(machine().emit_assembly(module))


@lru_cache(maxsize=1)
def _linker() -> Any:
    """Return LLVM's just-in-time linker (ORC) for this process."""
    return binding().create_lljit_compiler(machine(), suppress_errors=True)


@lru_cache(maxsize=1)
def _imports() -> dict[str, int]:
    """Return the functions and objects outside that code may refer to, by name."""
    names = {
        ctypes.pythonapi: ("PyMem_RawMalloc", "PyMem_RawFree"),
        _c_library(): ("memcpy", "memset"),
    }
    found = {
        name: int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)
        for library, functions in names.items()
        for name in functions
    }
    return found | array_fields.symbols()


def _c_library() -> Any:
    """Return the C library."""
    return ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)


_numbers = itertools.count()
LIBRARY_BYTES = 90_000
"""Memory of a library of the linker next to its code: 1,024 small kernels took 122 MB."""


class Loaded:
    """Object code in memory; keep it as long as its functions may be called."""

    def __init__(self, code: bytes) -> None:
        """Load object code as a library of its own; it is linked when an address is wanted."""
        check_limits()
        self._name, self.size = f"kernel{next(_numbers)}", len(code) + LIBRARY_BYTES
        self._linker, self._trackers = _linker(), []
        self._addresses: dict[str, int] = {}
        library = binding().JITLibraryBuilder().add_object_img(code)
        for name, address in _imports().items():
            library.import_symbol(name, address)
        with _unloader():
            self._trackers.append(library.link(self._linker, self._name))

    def address(self, name: str) -> int:
        """Return the address of a function.

        Raises:
            KernelMemoryError: if the code cannot be linked.
        """
        if name not in self._addresses:
            try:
                found = self._linker.lookup(self._name, name)
            except RuntimeError as error:
                raise KernelMemoryError(
                    f"no kernel: LLVM cannot link {name!r}",
                    error,
                    "drop kernels and large arrays that are not needed any more, or raise the"
                    " limits of the process (ulimit -v, sysctl vm.max_map_count)",
                ) from None
            self._trackers.append(found)
            self._addresses[name] = found[name]
        return self._addresses[name]

    def __del__(self, ending: Any = sys.is_finalizing) -> None:
        """Unload the code, unless the process ends: threads may still be in it then."""
        for tracker in self.__dict__.get("_trackers", ()):
            if ending():
                tracker.detach()
            else:
                _unloader().give(tracker)


@lru_cache(maxsize=1)
def _unloader() -> Returns:
    """Return what unloads code as soon as no other thread is inside LLVM."""
    try:
        lock = binding().ffi.lib._lock._lock
    except AttributeError:
        lock = fork_lock(Rank.CODE)
    return Returns(lock, lambda tracker: tracker.close())


@contextmanager
def usual_environment() -> Iterator[None]:
    """Work in the default floating-point environment, and set the old one back.

    Constants are folded in Python: another rounding, or numbers flushed to zero, would go into the
    code, and with it into the cache.
    """
    enter, leave = _switches()
    place = (ctypes.c_int64 * 2)()
    enter(place)
    try:
        yield
    finally:
        leave(place)


@lru_cache(maxsize=1)
def _switches() -> tuple[Any, Any]:
    loaded = Loaded(object_code(environment.switches(host()[0])))
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    enter, leave = (kind(loaded.address(name)) for name in ("enter", "leave"))
    enter.keep = loaded  # type: ignore[attr-defined]
    return enter, leave
