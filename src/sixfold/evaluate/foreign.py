"""Arrays of other libraries: those that hold plain numbers are taken, the others get advice.

None of these libraries is imported: an object is known by the module of its type and by the
protocols that it follows.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Set
from types import GeneratorType, NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import NumberError, TooLargeError, kind_of

MAX_ITEMS = 10**8
"""Items of a sequence that is no array, at most: each is an object of Python's."""
_PLAIN = (np.ndarray, list, tuple, float, int, NoneType)
MAX_AXES = 64
"""Axes of a NumPy array; lists that are nested deeper are none."""
_LIBRARIES = frozenset(
    ("jax", "jaxlib", "torch", "dask", "xarray", "scipy", "pyopencl", "pandas", "polars", "pyarrow")
)
_ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")


def as_array(function: str, name: str, value: Any) -> NDArray[Any]:
    """Return any array-like object as a NumPy array, or say what the object is and what to do."""
    if type(value) not in (list, tuple, float, int):
        refuse(function, name, value)
    elif type(value) in (list, tuple) and _holds_dask_arrays(value):
        raise NumberError(f"{function}: argument '{name}'", "numbers in a NumPy array", *_DASK_LIST)
    try:
        array = np.asarray(value)
    except Exception:
        # a list may hold objects that have to be explained
        for item in _items(value):
            refuse(function, name, item)
        raise
    # NumPy takes a masked number in a list for NaN
    if array.dtype.kind == "f" and type(value) in (list, tuple) and np.isnan(array).any():
        for item in _items(value):
            if isinstance(item, np.ma.MaskedArray):
                refuse(function, name, item)
    return array


def refuse(function: str, name: str, value: Any) -> None:
    """Raise for an object whose numbers are not here, or are not all to be used."""
    where = f"{function}: argument '{name}'"
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            fix = "fill the masked elements, or leave those states out"
            place = f"{where} does not hold real numbers"
            raise NumberError(place, "an array without masked elements", "masked elements", fix)
        return
    if isinstance(value, np.ndarray | np.generic):
        return
    told = _told(value)
    if told is not None:
        raise NumberError(where, "numbers in a NumPy array", *told)
    if isinstance(value, (Mapping, Set, GeneratorType)) or callable(value) is True:
        fix = "pass a list or an array of numbers"
        raise NumberError(where, "numbers in a NumPy array", kind_of(value), fix)
    if not any(hasattr(value, protocol) for protocol in _ARRAYS):
        _refuse_endless(where, value)


def _refuse_endless(where: str, value: Any) -> None:
    try:
        count = len(value)
    except Exception:  # no sequence, or one whose own length fails
        return
    if count > MAX_ITEMS:
        raise TooLargeError(where, f"a sequence of {count:.3g} items", "pass a NumPy array")


def _told(value: Any) -> tuple[str, str] | None:
    """Return what an object of another library is and the way out; None if it may be tried."""
    library = library_of(value)
    if library == "jax" and _is_tracer(value):
        return (
            "a JAX tracer: jax.jit, jax.grad or jax.vmap is looking at the function, and there "
            "are no numbers yet",
            "call a function made by sixfold.jax_function, such as "
            "sixfold.jax_function(sixfold.inverse_dynamics, model), which takes such arrays",
        )
    if library == "torch":
        return _torch(value)
    if library == "pyopencl":
        what = f"{kind_of(value)}, whose numbers are in the memory of an OpenCL device"
        fix = (
            "call a function made by sixfold.opencl_function, or sixfold.opencl_rollout, which "
            "take it; or pass x.get()"
        )
        return what, fix
    if library == "dask":
        return _DASK
    if library == "xarray" and library_of(_data_of(value)) == "dask":
        return _DASK
    if library == "scipy" and hasattr(value, "toarray"):
        return "a sparse matrix", "pass x.toarray()"
    if _on_a_device(value):
        return (
            f"{kind_of(value)}, whose numbers are in the memory of a graphics card",
            f"{_READING}; or bring it over: cupy.asnumpy(x), x.get(), x.copy_to_host() or x.cpu()",
        )
    return None


_READING = (
    "call a function made by sixfold.array_api_function, such as "
    "sixfold.array_api_function(sixfold.inverse_dynamics, model), which leaves it there"
)
_DASK = (
    "a Dask array, which is not computed yet",
    "pass x.compute(); quantities and rollout take Dask arrays as they are",
)
_DASK_LIST = (
    "a list of Dask arrays, which are not computed yet",
    "join them with dask.array.stack",
)


def _holds_dask_arrays(value: list[Any] | tuple[Any, ...], depth: int = 0) -> bool:
    """Return whether nested lists hold Dask arrays, which NumPy would compute."""
    if not value or type(value[0]) in (float, int) or depth > MAX_AXES:
        return False
    return any(
        _holds_dask_arrays(x, depth + 1) if type(x) in (list, tuple) else is_dask_array(x)
        for x in value
    )


def is_dask_array(value: Any) -> bool:
    """Return whether an object is a Dask array, which must not be computed unasked."""
    return library_of(value) == "dask" and hasattr(value, "chunks") and hasattr(value, "dtype")


def is_labelled(value: Any) -> bool:
    """Return whether an object is an xarray.DataArray."""
    return library_of(value) == "xarray" and hasattr(value, "variable") and hasattr(value, "dims")


def is_container(value: Any) -> bool:
    """Return whether an object is one of both: a call with one returns the same kind."""
    return type(value) not in _PLAIN and (is_dask_array(value) or is_labelled(value))


def _data_of(value: Any) -> Any:
    """Return the array inside an array of xarray's."""
    return getattr(getattr(value, "variable", value), "_data", None)


def _torch(value: Any) -> tuple[str, str] | None:
    fix = (
        "call a function made by sixfold.torch_function, such as "
        "sixfold.torch_function(sixfold.inverse_dynamics, model), which does"
    )
    device = getattr(getattr(value, "device", None), "type", "cpu")
    if device != "cpu":  # with or without gradients
        return f"a torch tensor on device '{device}'", f"{_READING}; or pass x.cpu().numpy()"
    if getattr(value, "requires_grad", False):
        what = "a torch tensor that requires gradients, which this function does not carry on"
        return what, f"{fix}; or pass x.detach().numpy()"
    if _torch_transforms(value):
        return "a torch tensor inside torch.func or forward mode, which it does not carry on", fix
    return None


def _torch_transforms(value: Any) -> bool:
    """Return whether a tensor stands for more than its numbers: a batch, a tangent."""
    torch = sys.modules.get("torch")
    try:
        inner = torch._C._functorch  # type: ignore[union-attr]
        if inner.is_functorch_wrapped_tensor(value):
            return True
        return torch.autograd.forward_ad.unpack_dual(value).tangent is not None  # type: ignore[union-attr]
    except Exception:  # another version of torch, or no torch: it may be tried
        return False


def library_of(value: Any) -> str:
    """Return the name of the library that an object's type, or a type it derives from, is of."""
    for kind in type(value).__mro__:
        top = (getattr(kind, "__module__", None) or "").partition(".")[0]
        if top in _LIBRARIES:
            return "jax" if top == "jaxlib" else top
    return ""


def _is_tracer(value: Any) -> bool:
    return any(kind.__name__.endswith("Tracer") for kind in type(value).__mro__)


def _on_a_device(value: Any) -> bool:
    try:
        return getattr(value, "__cuda_array_interface__", None) is not None
    except Exception:  # the property of an object that cannot tell
        return False


def _items(value: Any) -> list[Any]:
    """Return what nested lists hold, the first million of it."""
    found: list[Any] = []
    pending, seen = [value], set()
    while pending and len(found) < 1_000_000:
        item = pending.pop()
        if isinstance(item, (list, tuple)):
            if id(item) not in seen:
                seen.add(id(item))
                pending.extend(item)
        else:
            found.append(item)
    return found
