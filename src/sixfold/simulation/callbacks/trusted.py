"""What a controller may use and still be proved pure: functions and types known by name."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from functools import lru_cache
from importlib import import_module
from types import BuiltinFunctionType, EllipsisType, NoneType, NotImplementedType
from typing import Any

import numpy as np

from sixfold.evaluate import neutral
from sixfold.model import Joint, Model
from sixfold.scalar import (
    Zero,
    absolute,
    atan2,
    cos,
    exp,
    if_positive,
    log,
    repeat,
    sign,
    sin,
    sqrt,
    tanh,
)
from sixfold.spatial import (
    ArticulatedInertia,
    Force,
    ForceSubspace,
    Inertia,
    Matrix3,
    Motion,
    Subspace,
    Transform,
    Vector3,
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_BUILTINS = _words(
    "abs all any bool complex dict divmod enumerate filter float frozenset int iter len list map"
    " hash max min next object pow range reversed round set slice sorted sum super tuple zip"
)

_NUMPY = _words(
    "append arange array asarray atleast_1d atleast_2d atleast_3d block broadcast_to clip"
    " column_stack concatenate copy cross cumprod cumsum diag diagonal diff dot einsum empty"
    " empty_like expand_dims eye fill_diagonal flip full full_like hstack identity inner interp"
    " kron linspace mean moveaxis ones ones_like outer polyval prod ravel repeat reshape roll"
    " split squeeze stack sum swapaxes take tensordot tile trace transpose tri tril triu vdot"
    " vstack where zeros zeros_like"
)

_LINALG = _words("cholesky det eigh inv lstsq matrix_power multi_dot norm pinv solve svd")

_SCALAR = (absolute, atan2, cos, exp, if_positive, log, repeat, sign, sin, sqrt, tanh)
_SPATIAL = (
    *(ArticulatedInertia, Force, ForceSubspace, Inertia, Matrix3, Motion, Subspace),
    *(Transform, Vector3),
)

_EXACTLY = {int, float, complex, bool, str, bytes, range, slice}
_EXACTLY |= {NoneType, EllipsisType, NotImplementedType}


def is_immutable(x: Any) -> bool:
    """Return true for immutable values; a class derived from float may be mutable."""
    if type(x) in _EXACTLY or isinstance(x, (Model, Joint, Zero, *_SPATIAL)):
        return True
    return isinstance(x, (np.generic, np.dtype)) and type(x).__module__.startswith("numpy")


DUNDERS = ("__call__", "__name__", "__doc__", "__len__", "__getitem__", "__matmul__")
"""Attributes with such names that lead nowhere else."""

KINDS = ("itemsize", "nbytes", "strides", "flags", "kind")
"""Attributes by which a traced number differs from a float."""

EFFECTS = ("tofile", "dump", "dumps", "save", "ctypes", "setflags", "base", "data")
"""Attributes that reach beyond the function, or bypass a check."""

MUTATORS = _words(
    "append appendleft add clear copyto discard extend fill fill_diagonal insert itemset partition"
    " pop popitem popleft put remove resize reverse rotate setdefault sort update"
)
"""Methods that change their object."""


@lru_cache(maxsize=1)
def trusted() -> dict[int, Any]:
    """Return pure functions and classes, by identity."""
    listed: list[Any] = [getattr(builtins, name) for name in _BUILTINS]
    listed += [x for x in vars(builtins).values() if isinstance(x, type) and _is_error(x)]
    listed += [x for x in vars(math).values() if isinstance(x, BuiltinFunctionType)]
    listed += [x for x in vars(operator).values() if isinstance(x, BuiltinFunctionType)]
    listed += [getattr(np, name) for name in _NUMPY]
    listed += [getattr(np.linalg, name) for name in _LINALG]
    listed += [x for x in vars(np).values() if isinstance(x, np.ufunc)]
    listed += [x for x in vars(np).values() if isinstance(x, type) and issubclass(x, np.generic)]
    listed += [np.ndarray, np.dtype, functools.reduce, functools.partial, neutral]
    evaluate = import_module("sixfold.evaluate")
    names = evaluate.all_quantities()
    listed += [getattr(evaluate, name) for name in names if hasattr(evaluate, name)]
    listed += [evaluate.delassus_matrix, evaluate.impact]
    listed += [*_SCALAR, *_SPATIAL]
    return {id(x): x for x in listed}


def _is_error(kind: type) -> bool:
    return issubclass(kind, BaseException)
