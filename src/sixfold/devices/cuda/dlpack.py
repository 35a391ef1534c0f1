"""Tensors of DLPack, read from and put into the capsules that array libraries hand to each other.

The structures are those of dlpack.h, without version: a tensor, and a manager with a function that
says that the tensor is not needed any more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, c_char_p, c_int, c_int32, c_void_p
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

CUDA, CUDA_MANAGED = 2, 13
"""Kinds of devices: the memory of a card, and memory that the driver moves to and from it."""
_FLOAT = 2
_NAME, _USED = b"dltensor", b"used_dltensor"


class _Device(ctypes.Structure):
    _fields_ = (("kind", c_int32), ("number", c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", _Device),
        ("axes", c_int32),
        ("type", _Type),
        ("shape", POINTER(ctypes.c_int64)),
        ("strides", POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("manager", c_void_p), ("deleter", c_void_p))


def _of_python(name: str, result: Any, *kinds: Any) -> Any:
    return PYFUNCTYPE(result, *kinds)((name, ctypes.pythonapi))


_new = _of_python("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
_pointer = _of_python("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
_is_valid = _of_python("PyCapsule_IsValid", c_int, ctypes.py_object, c_char_p)
_rename = _of_python("PyCapsule_SetName", c_int, ctypes.py_object, c_char_p)
# a capsule that goes away must not be counted again, so its address is taken
_pointer_there = _of_python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
_is_valid_there = _of_python("PyCapsule_IsValid", c_int, c_void_p, c_char_p)


class Tensor(NamedTuple):
    """What a capsule says of an array."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In elements; None in C order."""
    dtype: str
    device: tuple[int, int]
    release: Callable[[], None]
    """Says that the array is not needed any more."""


def opened(capsule: Any) -> Tensor | None:
    """Take the array of a capsule; None if it is of a later kind, or was taken before."""
    if not _is_valid(capsule, _NAME):
        return None
    managed = _Managed.from_address(_pointer(capsule, _NAME))
    _rename(capsule, _USED)
    tensor = managed.tensor
    axes, kind = range(tensor.axes), tensor.type
    plain = kind.code == _FLOAT and kind.lanes == 1
    return Tensor(
        (tensor.data or 0) + tensor.offset,
        tuple(tensor.shape[k] for k in axes),
        tuple(tensor.strides[k] for k in axes) if tensor.strides else None,
        f"float{kind.bits}" if plain else f"DLPack's kind {kind.code} of {kind.bits} bits",
        (tensor.device.kind, tensor.device.number),
        partial(_released, managed),
    )


def _released(managed: _Managed) -> None:
    if managed.deleter:
        _OF_ADDRESS(managed.deleter)(ctypes.addressof(managed))


_KEPT: dict[int, tuple[Any, ...]] = {}
"""Tensors that other libraries hold, with all that has to stay."""


def _delete(managed: int) -> None:
    _KEPT.pop(managed, None)


def _destroy(capsule: int) -> None:
    # nobody took the tensor
    if _is_valid_there(capsule, _NAME):
        _KEPT.pop(_pointer_there(capsule, _NAME), None)


_OF_ADDRESS = CFUNCTYPE(None, c_void_p)
_DELETE, _DESTROY = _OF_ADDRESS(_delete), _OF_ADDRESS(_destroy)


def capsule_of(
    pointer: int, shape: Sequence[int], bits: int, device: tuple[int, int], owner: object
) -> Any:
    """Return a capsule with an array in C order, whose owner lives until it is released."""
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    steps = [*accumulate(reversed(shape), lambda a, b: a * b, initial=1)][:-1][::-1]
    strides = (ctypes.c_int64 * len(shape))(*steps)
    tensor = _Tensor(
        pointer or None, _Device(*device), len(shape), _Type(_FLOAT, bits, 1), sizes, strides, 0
    )
    managed = _Managed(tensor, None, ctypes.cast(_DELETE, c_void_p).value)
    address = ctypes.addressof(managed)
    _KEPT[address] = (managed, sizes, strides, owner)
    return _new(address, _NAME, ctypes.cast(_DESTROY, c_void_p).value)
