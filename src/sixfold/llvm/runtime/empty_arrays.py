"""Kernels some of whose arrays are empty, which NumPy's signatures cannot say.

The gufunc has the other arrays; empty arguments are checked and empty results made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import ShapeError
from sixfold.llvm.layout.signature import Layout, Shape


class WithEmptyArrays:
    """Called like a gufunc with all arrays of a layout; `out=` takes an array or a tuple."""

    def __init__(self, ufunc: np.ufunc, name: str, layout: Layout) -> None:
        """Take the gufunc of `layout.dense`."""
        self.ufunc, self.name, self.layout = ufunc, name, layout
        self.signature = layout.signature
        self.nin, self.nout = len(layout.inputs), len(layout.outputs)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Return the result, or a tuple of results."""
        if not self.nin <= len(arrays) <= self.nin + self.nout:
            raise TypeError(f"{self.name}() takes {self.nin} arrays, got {len(arrays)}")
        given = arrays[self.nin :] if out is None else out if isinstance(out, tuple) else (out,)
        results = [*given, *[None] * (self.nout - len(given))]
        inputs = [np.asarray(x) for x in arrays[: self.nin]]
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
            raise ShapeError(self.name, self.signature, f"(..., {_listed(core)})", x.shape, fix)
        return x.shape[:start]

    def _empty(self, given: Any, shape: Shape) -> Any:
        """Return an empty result: the one that is given, or a new one."""
        if given is None:
            return np.empty(shape, self.layout.dtype)
        if given.shape != shape:
            raise ShapeError(self.name, "out", f"({_listed(shape)})", given.shape, "make it that")
        return given


def _listed(shape: Sequence[int]) -> str:
    return ", ".join(map(str, shape))
