"""Run a core as machine code: find its kernel, hand it the arrays, in threads when they are big."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sixfold.errors import OptionError
from sixfold.evaluate.arrays import Argument, Array, Shape
from sixfold.evaluate.kernels import result_memory
from sixfold.evaluate.kernels.kernels import FORMS, kernel_for
from sixfold.evaluate.kernels.threads import spread
from sixfold.evaluate.quaternions import watched_ufunc
from sixfold.model import Model

BACKENDS = ("native", "rolled", "unrolled", "numpy")
"""Machine code, in the form that suits the model or in one of its forms, or NumPy."""


def machine(
    function: str,
    core: Callable[..., Any],
    model: Model,
    arguments: Mapping[str, Argument],
    shape: Shape,
    backend: str | None,
) -> Callable[[Mapping[str, Array], Shape], Array | None] | None:
    """Return how to evaluate float arrays by machine code; None when NumPy is asked for."""
    if backend is not None and backend not in BACKENDS:
        raise OptionError(function, "backend", BACKENDS, backend)
    if backend == "numpy":
        return None
    form = backend if backend in FORMS else None

    def run(arrays: Mapping[str, Array], lead: Shape) -> Array | None:
        shapes = {name: given.shape for name, given in arguments.items()}
        inputs = list(arrays.values())
        dtype = inputs[0].dtype
        kernel = kernel_for(function, core, model, shapes, shape, dtype.name, form)
        if kernel is None:
            return None
        out = result_memory.empty((*lead, *shape), dtype)
        ufunc = kernel.ufunc_for(out.nbytes + sum(x.nbytes for x in inputs))
        watched = watched_ufunc(ufunc, function, model, arrays)
        spread(watched, inputs, [len(s) for s in shapes.values()], lead, out)
        return out

    return run
