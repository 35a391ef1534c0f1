"""Kernels inside PyTorch: autograd, torch.func and torch.compile at the speed of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import NumberError
from sixfold.interop.array_api import LibraryFunction, in_order, leading_shape, refuse_dtype
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.runtime import ArrayFunction, array_function


def torch_function(
    function: Callable[..., Any],
    model: Model | None = None,
    *,
    inputs: Mapping[str, int | Shape] | None = None,
) -> TorchFunction:
    """Return a function of torch tensors on the CPU that runs as a kernel and has derivatives.

    Autograd forward and backward, `torch.func` (vmap, grad, jacfwd, jacrev, hessian) and
    `torch.compile` work.  Derivatives by q are by its coordinates, nq of them, as torch has it; a
    quaternion may have any length, and results do not depend on it.

    Args:
        function: one of sixfold's functions, such as `sixfold.inverse_dynamics`, with its options
            bound by `functools.partial` if there are any; or a function of arrays for one state, as
            `sixfold.compile` takes it.
        model: the robot; gives the sizes of arguments named q, v, a, tau and f_ext.
        inputs: sizes of other arguments, or of optional ones to be included, by name.

    Returns:
        A function of the tensors, by place or by name.  Leading axes broadcast.  The kernel is
        chosen by the dtype of the tensors, float64 or float32.  Results have the bits of the same
        function on NumPy arrays.  A state that has no result gives NaN.

    Raises:
        NotApplicableError: if torch is not installed, or there is no machine code for the function.
        ShapeError, NumberError: in a call, if a tensor does not fit.

    Example:
        >>> import numpy as np, sixfold as sf, torch
        >>> model = sf.load("double_pendulum")
        >>> energy = sf.interop.torch_function(sf.potential_energy, model)
        >>> q = torch.tensor([0.3, 0.5], dtype=torch.float64, requires_grad=True)
        >>> energy(q).backward()
        >>> np.allclose(q.grad, sf.gravity_force(model, [0.3, 0.5]))
        True
    """
    optional("torch", "torch_function")
    core = array_function("torch_function", function, model, inputs)
    return TorchFunction(core, (function, model, inputs))


class TorchFunction(LibraryFunction):
    """A kernel as a function of torch tensors; made by `sixfold.interop.torch_function`."""

    kind, maker = "torch", staticmethod(torch_function)

    def __init__(self, core: ArrayFunction, made_of: tuple[Any, ...]) -> None:
        super().__init__(core, made_of)
        self._torch = optional("torch", "torch_function")
        operator = import_module("sixfold.interop.torch_operator")
        self._key, self._run = operator.key_of(core), operator.call

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        """Return the result, or a tuple of results."""
        arrays = tensors if not named and self._ready(tensors) else self._convert(tensors, named)
        results = self._run(self._key, *arrays)
        return results if len(results) > 1 else results[0]

    def _ready(self, tensors: tuple[Any, ...]) -> bool:
        """Return whether tensors need no conversion: one dtype, one leading shape, on the CPU."""
        core, Tensor = self._core, self._torch.Tensor
        if len(tensors) != len(core.inputs) or not all(isinstance(x, Tensor) for x in tensors):
            return False
        # the fast way: nothing has to be converted or broadcast
        dtype, lead = tensors[0].dtype, tensors[0].shape[: tensors[0].dim() - len(core.inputs[0])]
        if dtype not in (self._torch.float64, self._torch.float32):
            return False
        for x, shape in zip(tensors, core.inputs, strict=True):
            if x.dtype is not dtype or not x.is_cpu or x.shape != lead + shape:
                return False
        return True

    def _convert(self, tensors: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """Return the arguments with one dtype and one leading shape, or say what does not fit."""
        torch, core = self._torch, self._core
        listed = in_order(core, tensors, named)
        # numbers in lists take the dtype of the arrays next to them
        arrays = [isinstance(x, torch.Tensor) or hasattr(x, "dtype") for x in listed]
        given = [
            torch.as_tensor(x if array else np.asarray(x))
            for x, array in zip(listed, arrays, strict=True)
        ]
        dtype = self._common([x for x, array in zip(given, arrays, strict=True) if array])
        refuse_dtype(core, str(dtype).removeprefix("torch."))
        for name, x in zip(core.names, given, strict=True):
            if x.device.type != "cpu":
                where = f"{core.name}: argument '{name}'"
                fix = "bring it over with x.cpu(), and the result back with .to(device)"
                raise NumberError(where, "a tensor on the CPU", f"one on {x.device}", fix)
        lead = leading_shape(core, [tuple(x.shape) for x in given])
        return [
            x.to(dtype).expand((*lead, *shape)) for x, shape in zip(given, core.inputs, strict=True)
        ]

    def _common(self, tensors: list[Any]) -> Any:
        """Return the dtype that tensors are worked with in."""
        torch = self._torch
        found = tensors[0].dtype if tensors else torch.int64
        for x in tensors[1:]:
            found = torch.promote_types(found, x.dtype)
        real = found.is_floating_point or found.is_complex
        return found if real else torch.get_default_dtype()
