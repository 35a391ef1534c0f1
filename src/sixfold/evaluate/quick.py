"""A short way for plain calls: straight to the kernel when all arguments are float64 arrays.

The long way checks shapes and dtypes and says clearly what is wrong; it is taken whenever anything
is out of the ordinary, an error of NumPy's included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from sixfold.evaluate.kernels.kernel_cache import KERNELS, while_alive
from sixfold.evaluate.kernels.kernels import kernel_for
from sixfold.evaluate.kernels.threads import SHARED
from sixfold.evaluate.quaternions import last_numbers, refuse_zero, some_zero, watched_call
from sixfold.evaluate.singular.pivot_margin import unproved_joints
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.llvm import Kernel

P = ParamSpec("P")
R = TypeVar("R")
Entry = tuple[Any, "Kernel | None", Callable[..., Any], tuple[int, ...]]
"""A weak reference to a model, its kernel, the kernel's short way for one state, where in q a w
lies."""
_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_MOST = 4096  # models remembered for each function
_FEW = 8192  # numbers in an array


def quick(
    core: Callable[..., Any], inputs: str, output: str, *, solves: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a public function whose plain call is a kernel.

    Args:
        core: the core of the plain call, with the options that the public function gives it; with
            `solves`, a function of the model that returns it.
        inputs: letters of its arrays, for example "qvv".
        output: letters of its result, for example "vv" for a matrix.
        solves: whether it divides by pivots; models that need them tested take the long way.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        ready: dict[Any, Entry] = {}  # by id of the model, and dtype unless float64
        name, count = function.__name__, len(inputs) + 1

        def prepare(model: Model, dtype: str, key: Any) -> Entry:
            kernel = None
            if model.nb and not (solves and unproved_joints(model)):
                size = {"q": model.nq, "v": model.nv}
                names = dict(zip(_NAMES[name], [(size[x],) for x in inputs], strict=True))
                shape = tuple(size[x] for x in output)
                chosen = core(model) if solves else core
                kernel = kernel_for(name, chosen, model, names, shape, dtype)
            one = kernel.quick if kernel is not None and kernel.quick is not None else _nothing
            short = watched_call(one, name, model, _NAMES[name])
            entry = (while_alive(model, ready, key), kernel, short, last_numbers(model))
            if kernel is not None:
                KERNELS.short_cut(kernel, ready, key, entry)
            else:
                if len(ready) >= _MOST:
                    ready.clear()
                ready[key] = entry
            return entry

        def some(model: Model, arrays: tuple[Any, ...]) -> Any:
            """Return the result for several states, or None where the long way has to explain."""
            dtype = _common(arrays)
            if dtype is None or not isinstance(model, Model):
                return None
            key = id(model) if dtype == "float64" else (id(model), dtype)
            entry = ready.get(key)
            if entry is None:
                entry = prepare(model, dtype, key)
            kernel = entry[1]
            if kernel is None or _many(kernel.layout.sizes, arrays):
                return None
            try:
                result = kernel(*arrays)
            except ValueError:
                return None
            if entry[3] and some_zero(arrays[0], entry[3]):
                refuse_zero(name, model, {"q": arrays[0]})
            return result

        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> R:
            if not options and len(arguments) == count:
                entry = ready.get(id(arguments[0]))
                if entry is not None:
                    result = entry[2](*arguments[1:])
                    if result is not None:
                        return result
                result = some(arguments[0], arguments[1:])  # type: ignore[arg-type]
                if result is not None:
                    return result
            return function(*arguments, **options)

        return call

    return decorate


def _nothing(*_: Any) -> None:
    """Take the place of a kernel's short way where there is none."""


def _common(arrays: tuple[Any, ...]) -> str | None:
    """Return the dtype of plain arrays of one kind that are not large."""
    for kind in (_DOUBLE, _SINGLE):
        if all(
            type(x) is np.ndarray and x.dtype is kind and x.ndim <= 2 and x.size <= _FEW
            for x in arrays
        ):
            return kind.name
    return None


def _many(sizes: tuple[int, ...], arrays: tuple[Any, ...]) -> bool:
    """Return whether arguments and results have numbers enough for several threads."""
    states = max(x.size // size for x, size in zip(arrays, sizes, strict=False))
    return bool(states * sum(sizes) >= SHARED)


_NAMES = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "bias_force": ("q", "v"),
    "gravity_force": ("q",),
}
