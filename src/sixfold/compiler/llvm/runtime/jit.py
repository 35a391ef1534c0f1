"""From LLVM text to object code, and from object code to a function pointer."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sixfold.compiler.llvm.modules import array_fields
from sixfold.compiler.llvm.runtime import code_pages
from sixfold.compiler.llvm.runtime.limits import check_limits
from sixfold.compiler.llvm.runtime.object_file import NotPlaceable, ObjectFile
from sixfold.compiler.llvm.text import environment
from sixfold.errors import OptionError
from sixfold.forks import Rank, watch_lock


@lru_cache(maxsize=1)
def binding() -> Any:
    """Return llvmlite's binding, ready for this machine."""
    import llvmlite.binding as llvm

    with contextlib.suppress(AttributeError):  # llvmlite lets one thread in at a time
        watch_lock(llvm.ffi.lib._lock._lock, Rank.COMPILER)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # what kernels call: Python's allocator, and NumPy and the interpreter for plain calls
    for name in ("PyMem_RawMalloc", "PyMem_RawFree"):
        function = getattr(ctypes.pythonapi, name)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    for name, address in array_fields.symbols().items():
        llvm.add_symbol(name, address)
    return llvm


@lru_cache(maxsize=1)
def host() -> tuple[str, str, str]:
    """Return triple, CPU name and feature string of this machine."""
    llvm = binding()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


#: Numbers of lanes that kernels can have; LLVM splits vectors that the processor does not have.
WIDTHS = (1, 2, 4, 8)


def lanes(dtype: str = "float64") -> int:
    """Return how many states are computed at once: what a vector holds; 1 without fused products.

    Single precision fills a vector of at most 8.  The environment variable SIXFOLD_LANES sets the
    number for both precisions; it is read whenever a kernel is made.
    """
    # the user's number wins
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
        cpu=cpu, features=features, opt=2, reloc="pic", codemodel="small"
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


class Loaded:
    """Object code in memory; keep it as long as its functions may be called."""

    def __init__(self, code: bytes) -> None:
        """Load and link object code."""
        self._pages: code_pages.Pages | None = None
        self._unwind = 0
        if code_pages.possible():
            with contextlib.suppress(NotPlaceable):
                self._place(ObjectFile(code))
        if self._pages is None:
            self._engine, self.size = _engine(code), len(code)

    def _place(self, found: ObjectFile) -> None:
        self._pages = code_pages.store(found.size, lambda base: found.image(base, _resolve))
        self.size, self._symbols = self._pages.size, found.symbols
        if found.unwind is not None and _unwinder():
            self._unwind = self._pages.address + found.unwind
            _unwinder()[0](self._unwind)

    def address(self, name: str) -> int:
        """Return the address of a function, 0 if there is none."""
        if self._pages is None:
            return int(self._engine.get_function_address(name))
        return self._pages.address + self._symbols[name] if name in self._symbols else 0

    def __del__(self, ending: Any = sys.is_finalizing) -> None:
        """Give the memory back; not at the end of the process, when threads may still be here."""
        pages = getattr(self, "_pages", None)
        if pages is None or ending():
            return
        if self._unwind:
            _unwinder()[1](self._unwind)
        code_pages.release(pages)


def _engine(code: bytes) -> Any:
    """Return LLVM's own loader with object code in it."""
    check_limits()
    llvm = binding()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _resolve(name: str) -> int:
    """Return the address of a symbol, 0 if there is none."""
    found = binding().address_of_symbol(name)
    if found:
        return int(found)
    for library in _libraries():
        with contextlib.suppress(AttributeError):
            return int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)
    return 0


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    found = [ctypes.CDLL(None)]
    with contextlib.suppress(OSError):
        found.append(ctypes.CDLL("libm.so.6"))
    return found


@lru_cache(maxsize=1)
def _unwinder() -> tuple[Any, ...]:
    """Return the functions that tell the unwinder of code, and that it is gone; () without them.

    When the interpreter ends, threads that want its lock are ended by unwinding their stacks, and
    the unwinder has to find its way through kernels.
    """
    try:
        library = ctypes.PyDLL("libgcc_s.so.1")
        found = (library["__register_frame"], library["__deregister_frame"])
    except (OSError, AttributeError):
        return ()
    for function in found:
        function.argtypes, function.restype = [ctypes.c_void_p], None
    return found


@contextmanager
def usual_environment() -> Iterator[None]:
    """Work in the default floating-point environment, and set the old one back.

    Constants are folded in Python: another rounding, or numbers flushed to zero, would go into the
    code, and with it into the cache.
    """
    # registers are kept in two words
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
