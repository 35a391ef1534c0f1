"""A short way into a kernel for one state: a built-in function that takes plain arrays.

A gufunc finds out about broadcasting, casting and strides before it does any work, which takes
longer than the work of a small kernel.  For one state in plain arrays (float64 or float32, aligned,
C order, of exactly the core shapes) there is nothing to find out: this function reads the arrays'
data pointers, makes the result and runs the kernel's own loop.  Anything else goes to the gufunc.

The places of an array's fields are NumPy's public C interface; they are looked up on test arrays
first, and where anything differs there is no short way.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from sixfold.native.layout import Layout

TYPE, DATA, AXES, SIZES, KIND, FLAGS = 8, 16, 24, 32, 56, 64
"""Bytes from the start of an array to its type, data, number of axes, sizes, dtype and flags."""
PLAIN = 0x0101
"""Flags of an array in C order whose data is aligned."""
_NEW = 93  # place of PyArray_New in NumPy's table of C functions
_FASTCALL_KEYWORDS = 0x0082


@lru_cache(maxsize=1)
def symbols() -> dict[str, int]:
    """Return the addresses that entries refer to, by name; empty where there is no short way."""
    if not _as_expected():
        return {}
    modern = int(np.__version__.partition(".")[0]) >= 2
    umath = import_module("numpy._core" if modern else "numpy.core")._multiarray_umath
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return {
        "sixfold_array_type": id(np.ndarray),
        "sixfold_float64": id(np.dtype(np.float64)),
        "sixfold_float32": id(np.dtype(np.float32)),
        "sixfold_none": id(None),
        "sixfold_array_new": int(table[_NEW] or 0),
        "sixfold_vectorcall": _address("PyObject_Vectorcall"),
        "sixfold_incref": _address("Py_IncRef"),
    }


def _address(name: str) -> int:
    """Return the address of a function of the interpreter."""
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)


def _as_expected() -> bool:
    """Return whether arrays lie in memory as the code takes them to."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.byteorder != "little":
        return False

    def word(address: int, size: int = 8) -> int:
        return int.from_bytes(ctypes.string_at(address, size), "little")

    for dtype in (np.float64, np.float32):
        for array in (np.zeros((3, 5), dtype), np.ones(4, dtype)):
            here = id(array)
            sizes = [word(word(here + SIZES) + 8 * k) for k in range(array.ndim)]
            found = (word(here + TYPE), word(here + DATA), word(here + AXES, 4), sizes)
            wanted = (id(np.ndarray), array.ctypes.data, array.ndim, list(array.shape))
            if found != wanted or word(here + KIND) != id(array.dtype):
                return False
            if array.dtype is not np.dtype(dtype) or word(here + FLAGS, 4) & PLAIN != PLAIN:
                return False
        if word(id(np.zeros((3, 5), dtype).T) + FLAGS, 4) & PLAIN == PLAIN:
            return False
    return True


def text(layout: Layout) -> str:
    """Return @entry(self, args, count, keywords): the built-in function of a kernel.

    Where the arrays are not plain it calls `self` with the same arguments, or returns None when
    `self` is None.
    """
    if not possible(layout):
        return ""
    lines: list[str] = []
    count = 0

    def emit(instruction: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"  %e{count} = {instruction}")
        return f"%e{count}"

    def at(pointer: str, offset: int, kind: str) -> str:
        return emit(f"load {kind}, ptr {emit(f'getelementptr i8, ptr {pointer}, i64 {offset}')}")

    def need(test: str) -> None:
        lines.append(f"  br i1 {test}, label %ok{count}, label %other")
        lines.append(f"ok{count}:")

    inputs = len(layout.inputs)
    need(emit("icmp eq ptr %keywords, null"))
    need(emit(f"icmp eq i64 %count, {inputs}"))
    pointers = []
    for k, shape in enumerate(layout.inputs):
        array = at("%args", 8 * k, "ptr")
        need(emit(f"icmp eq ptr {at(array, TYPE, 'ptr')}, @sixfold_array_type"))
        need(emit(f"icmp eq ptr {at(array, KIND, 'ptr')}, @sixfold_{layout.dtype}"))
        need(emit(f"icmp eq i32 {at(array, AXES, 'i32')}, {len(shape)}"))
        flags = emit(f"and i32 {at(array, FLAGS, 'i32')}, {PLAIN}")
        need(emit(f"icmp eq i32 {flags}, {PLAIN}"))
        sizes = at(array, SIZES, "ptr")
        for axis, size in enumerate(shape):
            need(emit(f"icmp eq i64 {at(sizes, 8 * axis, 'i64')}, {size}"))
        pointers.append(at(array, DATA, "ptr"))
    axes, number = len(layout.output), np.dtype(layout.dtype).num
    out = emit(
        f"call ptr @sixfold_array_new(ptr @sixfold_array_type, i32 {axes}, ptr @entry_sizes, "
        f"i32 {number}, ptr null, ptr null, i32 0, i32 0, ptr null)"
    )
    some = emit(f"icmp ne ptr {out}, null")
    lines.append(f"  br i1 {some}, label %work, label %failed")
    lines.append("work:")
    pointers.append(at(out, DATA, "ptr"))
    lines.append(f"  %data = alloca ptr, i64 {len(pointers)}")
    for k, pointer in enumerate(pointers):
        lines.append(f"  store ptr {pointer}, ptr {emit(f'getelementptr ptr, ptr %data, i64 {k}')}")
    lines.append("  call void @loop(ptr %data, ptr @entry_dims, ptr @entry_steps, ptr null)")
    steps = [0] * len(pointers)
    for shape in layout.shapes:
        steps += [layout.item * prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return "\n".join(
        [
            "@sixfold_array_type = external global i8",
            f"@sixfold_{layout.dtype} = external global i8",
            "@sixfold_none = external global i64",
            "declare ptr @sixfold_array_new(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
            "declare ptr @sixfold_vectorcall(ptr, ptr, i64, ptr)",
            _words("entry_sizes", layout.output),
            _words("entry_dims", [1]),
            _words("entry_steps", steps),
            "define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords) {",
            *lines,
            f"  ret ptr {out}",
            "failed:",
            "  ret ptr null",
            "other:",
            "  %none = icmp eq ptr %self, @sixfold_none",
            "  br i1 %none, label %nothing, label %whole",
            "whole:",
            "  %result = call ptr @sixfold_vectorcall"
            "(ptr %self, ptr %args, i64 %count, ptr %keywords)",
            "  ret ptr %result",
            "nothing:",
            "  call void @sixfold_incref(ptr @sixfold_none)",
            "  ret ptr @sixfold_none",
            "}\n",
            "declare void @sixfold_incref(ptr)",
        ]
    )


def _words(name: str, values: Any) -> str:
    listed = ", ".join(f"i64 {x}" for x in values)
    return f"@{name} = internal constant [{len(values)} x i64] [{listed}]"


def builtin(address: int, name: str, otherwise: Any, keep: Any) -> Any:
    """Return the built-in function at an address.

    Args:
        address: of an @entry.
        name: its name.
        otherwise: called where the arrays are not plain; None to return None then.
        keep: whatever must live as long as the function.
    """
    method = _Method(name.encode(), address, _FASTCALL_KEYWORDS, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return make(ctypes.addressof(method), otherwise, (method, keep))


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def possible(layout: Layout) -> bool:
    """Return whether kernels of a layout have a short way."""
    return bool(symbols()) and len(layout.output) > 0 and 0 not in layout.sizes
