"""A function pointer as a real `numpy.ufunc`, through NumPy's own table of C functions.

The sizes stand in the signature, such as `(7),(7)->(7)`, so that NumPy refuses an array of another
width; broadcasting, `out=`, casting and strides are NumPy's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.compiler.llvm.layout.signature import Layout, Shape
from sixfold.errors import ShapeError

_FROM_SIGNATURE = 31  # place of PyUFunc_FromFuncAndDataAndSignature in NumPy's ufunc table
_NONE = -1  # PyUFunc_None: no identity


@lru_cache(maxsize=1)
def _constructor() -> Any:
    modern = int(np.__version__.partition(".")[0]) >= 2
    umath = import_module("numpy._core" if modern else "numpy.core")._multiarray_umath
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p,  # loops
        ctypes.c_void_p,  # data
        ctypes.c_void_p,  # types
        ctypes.c_int,  # number of loops
        ctypes.c_int,  # inputs
        ctypes.c_int,  # outputs
        ctypes.c_int,  # identity
        ctypes.c_char_p,  # name
        ctypes.c_char_p,  # documentation
        ctypes.c_int,
        ctypes.c_char_p,  # signature
    )
    return prototype(table[_FROM_SIGNATURE])


def gufunc(
    address: int,
    name: str,
    doc: str,
    signature: str,
    keep: Any,
    dtype: str = "float64",
    data: bytes | None = None,
) -> np.ufunc:
    """Return a ufunc whose inner loop is at an address.

    Args:
        address: the inner loop, `void loop(char **args, npy_intp *dims, npy_intp *steps, void *)`.
        name: its name.
        doc: its documentation.
        signature: core sizes, for example "(7),(7)->(7)".
        dtype: float64 or float32, of all arrays.
        keep: objects that must live as long as the ufunc, such as the loaded code.
        data: bytes whose address the loop gets as its last argument.
    """
    inputs, outputs = (side.count("(") for side in signature.split("->"))
    # NumPy keeps these pointers, so that what they point at must live as long as the ufunc
    loops = (ctypes.c_void_p * 1)(address)
    block = None if data is None else np.frombuffer(data, np.uint8)
    pointers = (ctypes.c_void_p * 1)(None if block is None else block.ctypes.data)
    kinds = np.full(inputs + outputs, np.dtype(dtype).num, np.uint8)
    texts = [text.encode() for text in (name, doc, signature)]
    ufunc = _constructor()(
        ctypes.addressof(loops),
        ctypes.addressof(pointers),
        kinds.ctypes.data,
        1,
        inputs,
        outputs,
        _NONE,
        *texts[:2],
        0,
        texts[2],
    )
    kept = (loops, pointers, block, kinds, texts, keep)
    try:
        ufunc.__dict__["kept by sixfold"] = kept  # lives and dies with the ufunc
    except AttributeError:  # ufuncs of NumPy before 2 carry no attributes
        _attach(ufunc, kept)
    return ufunc


#: Bytes from the start of a ufunc to its loops, their data, their types, and an object of its own.
#: They are NumPy's public C interface. The object is that of `numpy.frompyfunc`, None elsewhere; a
#: ufunc releases it when it is freed.
_LOOPS, _POINTERS, _TYPES, _OBJECT = 32, 40, 64, 88


def _attach(ufunc: Any, kept: tuple[Any, ...]) -> None:
    """Let a ufunc hold an object, in the place that it has for one."""
    loops, pointers, _, kinds, *_ = kept

    def word(offset: int) -> Any:
        return ctypes.c_void_p.from_address(id(ufunc) + offset)

    found = [word(offset).value for offset in (_LOOPS, _POINTERS, _TYPES, _OBJECT)]
    if found == [ctypes.addressof(loops), ctypes.addressof(pointers), kinds.ctypes.data, None]:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        word(_OBJECT).value = id(kept)
    else:
        _KEPT.append((ufunc, kept))


#: Ufuncs that cannot hold what they point at, and so are never freed.
_KEPT: list[tuple[Any, ...]] = []


class WithEmptyArrays:
    """A kernel some of whose arrays are empty, which NumPy's signatures cannot say.

    It is called like a gufunc with all arrays of a layout.  The gufunc has those that are not
    empty; empty arguments are checked and empty results made here.
    """

    def __init__(self, ufunc: np.ufunc, name: str, layout: Layout) -> None:
        """Take the gufunc of `layout.dense`."""
        self.ufunc, self.name, self.layout = ufunc, name, layout
        self.signature = layout.signature
        self.nin, self.nout = len(layout.inputs), len(layout.outputs)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Return the result, or a tuple of results."""
        if not self.nin <= len(arrays) <= self.nin + self.nout:
            raise TypeError(f"{self.name}() takes {self.nin} arrays, got {len(arrays)}")
        # results may be given by place or by `out`
        given = arrays[self.nin :] if out is None else out if isinstance(out, tuple) else (out,)
        results = [*given, *[None] * (self.nout - len(given))]
        inputs = [np.asarray(x) for x in arrays[: self.nin]]
        # the gufunc sees no empty array, so its leading axes are found here
        leads = [self._lead(x, core) for x, core in zip(inputs, self.layout.inputs, strict=True)]
        lead = np.broadcast_shapes(*leads)
        dense = [x for x, core in zip(inputs, self.layout.inputs, strict=True) if prod(core)]
        dense[0] = np.broadcast_to(dense[0], (*lead, *self.layout.dense.inputs[0]))
        wanted = [x for x, core in zip(results, self.layout.outputs, strict=True) if prod(core)]
        found = self.ufunc(*dense, out=tuple(wanted))
        rest = iter(found if len(wanted) > 1 else (found,))
        made = [
            next(rest) if prod(core) else self._empty(x, (*lead, *core))
            for x, core in zip(results, self.layout.outputs, strict=True)
        ]
        return made[0] if self.nout == 1 else tuple(made)

    def _lead(self, x: NDArray[Any], core: Shape) -> Shape:
        """Return the leading shape of an argument."""
        start = x.ndim - len(core)
        if start < 0 or x.shape[start:] != core:
            fix = "pass arrays whose last axes have the sizes of the signature"
            raise ShapeError(self.name, self.signature, f"(..., {_as_list(core)})", x.shape, fix)
        return x.shape[:start]

    def _empty(self, given: Any, shape: Shape) -> Any:
        """Return an empty result: the one that is given, or a new one."""
        if given is None:
            return np.empty(shape, self.layout.dtype)
        if given.shape != shape:
            raise ShapeError(self.name, "out", f"({_as_list(shape)})", given.shape, "make it that")
        return given


def _as_list(shape: Sequence[int]) -> str:
    return ", ".join(map(str, shape))
