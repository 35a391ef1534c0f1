"""From LLVM text to object code, and from object code to a function pointer."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sixfold.errors import OptionError
from sixfold.native import entry, environment


@lru_cache(maxsize=1)
def binding() -> Any:
    """Return llvmlite's binding, ready for this machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in ("PyMem_RawMalloc", "PyMem_RawFree"):
        function = getattr(ctypes.pythonapi, name)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    for name, address in entry.symbols().items():
        llvm.add_symbol(name, address)
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
    """Return how many states are worked out at once: what a vector holds; 1 without fused products.

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


LONG = 2_500_000
"""Bytes of text beyond which LLVM takes less trouble: a sixth less time, code 1 % slower."""


def _machine(text: str = "") -> Any:
    """Return what makes machine code of a text."""
    llvm = binding()
    triple, cpu, features = host()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(
        cpu=cpu,
        features=features,
        opt=1 if len(text) > LONG else 2,
        reloc="pic",
        codemodel="small",
    )


def object_code(text: str) -> bytes:
    """Compile LLVM text for this machine, code generation only."""
    llvm = binding()
    module = llvm.parse_assembly(text)
    module.verify()
    return bytes(_machine(text).emit_object(module))


def assembly(text: str) -> str:
    """Return the machine code of LLVM text as assembly."""
    return str(_machine(text).emit_assembly(binding().parse_assembly(text)))


class Loaded:
    """Object code in memory; keep it as long as its functions may be called."""

    def __init__(self, code: bytes) -> None:
        """Load and link object code."""
        llvm = binding()
        empty = llvm.parse_assembly("")
        self.engine = llvm.create_mcjit_compiler(empty, _machine())
        self.engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        self.engine.finalize_object()

    def address(self, name: str) -> int:
        """Return the address of a function, 0 if there is none."""
        return int(self.engine.get_function_address(name))


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
