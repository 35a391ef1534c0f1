"""How NumPy's arrays lie in memory, and the functions of NumPy and Python that machine code calls.

The places of an array's fields are NumPy's public C interface; they are looked up on test arrays
first, and where anything differs nothing is promised.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bytes from the start of an array to its type, data, number of axes, sizes, dtype and flags.
TYPE, DATA, AXES, SIZES, KIND, FLAGS = 8, 16, 24, 32, 56, 64
#: Flags of an array in C order whose data is aligned; flag of one that may be written to.
PLAIN, WRITEABLE = 0x0101, 0x0400
_NEW = 93  # place of PyArray_New in NumPy's C interface


@lru_cache(maxsize=1)
def symbols() -> dict[str, int]:
    """Return the addresses that entries refer to, by name; empty where there is no short way."""
    if not _has_known_layout():
        return {}
    return {
        "sixfold_array_type": id(np.ndarray),
        "sixfold_float64": id(np.dtype(np.float64)),
        "sixfold_float32": id(np.dtype(np.float32)),
        "sixfold_none": id(None),
        "sixfold_array_new": _of_numpy(_NEW),
        "sixfold_vectorcall": _address("PyObject_Vectorcall"),
        "sixfold_incref": _address("Py_IncRef"),
        "sixfold_decref": _address("Py_DecRef"),
        "sixfold_tuple_new": _address("PyTuple_New"),
        "sixfold_tuple_set": _address("PyTuple_SetItem"),
        "sixfold_save_thread": _address("PyEval_SaveThread"),
        "sixfold_restore_thread": _address("PyEval_RestoreThread"),
    }


def _of_numpy(place: int) -> int:
    """Return what lies at a place of NumPy's table of C functions."""
    modern = int(np.__version__.partition(".")[0]) >= 2
    umath = import_module("numpy._core" if modern else "numpy.core")._multiarray_umath
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return int(table[place] or 0)


def data_pointers(arrays: Sequence[NDArray[Any]]) -> list[int]:
    """Return where the data of arrays lies, in a seventh of the time of `ctypes.data`."""
    if not symbols():
        return [int(array.ctypes.data) for array in arrays]
    word = ctypes.c_size_t.from_address
    return [word(id(array) + DATA).value for array in arrays]


def _address(name: str) -> int:
    """Return the address of a function of the interpreter."""
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)


def _has_known_layout() -> bool:
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
        turned = np.zeros((3, 5), dtype).T  # named, so that it lives while its flags are read
        if word(id(turned) + FLAGS, 4) & PLAIN == PLAIN:
            return False
    return True
