"""A short way for plain calls: straight to the gufunc when all arguments are float64 arrays.

The long way checks shapes and dtypes and says clearly what is wrong; it is taken whenever anything
is out of the ordinary, an error of NumPy's included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sixfold.evaluate.kernels import kernel_for
from sixfold.evaluate.singular import unproved_joints
from sixfold.evaluate.threads import CHUNK
from sixfold.model import Model

P = ParamSpec("P")
R = TypeVar("R")
_DOUBLE = np.dtype(np.float64)
_MOST = 256  # models remembered for each function


def quick(
    core: Callable[..., Any], inputs: str, output: str, *, solves: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a public function whose plain call is a kernel.

    Args:
        core: the core of the plain call, with the options that the public function gives it.
        inputs: letters of its arrays, for example "qvv".
        output: letters of its result, for example "vv" for a matrix.
        solves: whether it divides by pivots; models that need them tested take the long way.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        ready: dict[int, tuple[Model, np.ufunc | None]] = {}
        name = function.__name__

        def prepare(model: Any) -> np.ufunc | None:
            if not isinstance(model, Model):
                return None
            if len(ready) >= _MOST:
                ready.clear()
            ufunc = None
            if model.nb and not (solves and unproved_joints(model)):
                size = {"q": model.nq, "v": model.nv}
                names = dict(zip(_NAMES[name], [(size[x],) for x in inputs], strict=True))
                kernel = kernel_for(name, core, model, names, tuple(size[x] for x in output))
                ufunc = kernel.ufunc if kernel else None
            ready[id(model)] = (model, ufunc)
            return ufunc

        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> R:
            if not options and len(arguments) == len(inputs) + 1:
                model, *arrays = arguments
                for x in arrays:
                    if type(x) is not np.ndarray or x.dtype is not _DOUBLE or x.size > CHUNK:
                        break
                else:
                    entry = ready.get(id(model))
                    ufunc = entry[1] if entry and entry[0] is model else prepare(model)
                    if ufunc is not None:
                        try:
                            return ufunc(*arrays)
                        except ValueError:
                            pass  # the long way explains
            return function(*arguments, **options)

        return call

    return decorate


_NAMES = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "bias_force": ("q", "v"),
    "gravity_force": ("q",),
}
