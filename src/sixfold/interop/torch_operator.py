"""The operator that runs kernels inside PyTorch, with its derivatives; imported with torch.

All kernels are one operator that takes the key of what to run: `torch.compile` sees an operator
of known shapes.  Around it is an autograd function, because that alone goes with `torch.func` too.
Derivatives are kernels as well, and run by the same operator.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import torch

from sixfold.arrays import Shape
from sixfold.runtime import ArrayFunction, spread

#: What the operator runs, by key; a compiled graph may hold a key for as long as it likes.
_CORES: dict[str, ArrayFunction] = {}
_KEYS: dict[int, str] = {}


def key_of(core: ArrayFunction) -> str:
    """Return the key of a function."""
    if id(core) not in _KEYS:
        key = f"{core.name} {len(_CORES)}"
        _CORES[key], _KEYS[id(core)] = core, key
    return _KEYS[id(core)]


def _run(key: str, arrays: list[Any]) -> list[Any]:
    """Run a kernel on tensors with equal leading axes and one dtype."""
    core, first = _CORES[key], arrays[0]
    lead = tuple(first.shape[: first.dim() - len(core.inputs[0])])
    kernel = core.kernel(_DTYPES[first.dtype])
    plain = [x.detach().numpy() for x in arrays]
    shapes = kernel.layout.outputs
    found = kernel.quick(*plain, *(None,) * len(shapes)) if kernel.quick is not None else None
    if found is None:  # too many, too few or too scattered for the kernel's built-in function
        found = tuple(np.empty((*lead, *shape), plain[0].dtype) for shape in shapes)
        ufunc = kernel.ufunc_for(sum(x.nbytes for x in (*plain, *found)))
        spread(ufunc, plain, [len(shape) for shape in core.inputs], lead, found)
    results = found if isinstance(found, tuple) else (found,)
    return [
        torch.from_numpy(x if given == shape else x.reshape((*lead, *shape)))
        for x, given, shape in zip(results, shapes, core.outputs, strict=True)
    ]


_DTYPES = {torch.float64: "float64", torch.float32: "float32"}
# the schema comes from the annotations, which have to be types here, not texts
_run.__annotations__ |= {"key": str, "arrays": list[torch.Tensor], "return": list[torch.Tensor]}
torch.library.custom_op("sixfold::kernel", _run, mutates_args=())


@torch.library.register_fake("sixfold::kernel")  # type: ignore[untyped-decorator]
def _(key: str, arrays: list[Any]) -> list[Any]:
    core, first = _CORES[key], arrays[0]
    lead = first.shape[: first.dim() - len(core.inputs[0])]
    return [first.new_empty((*lead, *shape)) for shape in core.outputs]


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _derivative(key: str, by: tuple[int, ...]) -> str:
    return key_of(_CORES[key].derivative(by))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _shapes(key: str) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    return _CORES[key].inputs, _CORES[key].outputs


def call(key: str, *arrays: Any) -> tuple[Any, ...]:
    """Return the results of a kernel; the arrays have equal leading axes and one dtype."""
    compiling = torch.compiler.is_compiling()
    if torch.is_grad_enabled() and any(x.requires_grad for x in arrays):
        # torch.compile takes no function that has a rule for forward mode
        return tuple((_Reverse if compiling else _Both).apply(key, *arrays))
    if compiling:
        return tuple(torch.ops.sixfold.kernel(key, list(arrays)))
    if _is_plain_call() and all(type(x) is torch.Tensor for x in arrays):
        return tuple(_run(key, list(arrays)))
    return tuple(_Both.apply(key, *arrays))


def _is_plain_call() -> bool:
    """Return whether no transform, dispatch mode or tracer observes the operations.

    Then the operator may be left out, whose dispatch takes as long as the work of a small kernel.
    """
    try:
        transforms = torch._C._are_functorch_transforms_active()
        modes = torch._C._len_torch_dispatch_stack() or torch.jit.is_tracing()
        return not (transforms or modes or torch.autograd.forward_ad._current_level >= 0)
    except AttributeError:  # no part of torch's public interface: then it is not known
        return False


def _slopes(key: str, arrays: Any) -> Any:
    """Return derivatives, which have derivatives too; torch.compile differentiates only once."""
    if torch.compiler.is_compiling():
        return torch.ops.sixfold.kernel(key, list(arrays))
    return call(key, *arrays)


class _Reverse(torch.autograd.Function):  # type: ignore[misc]
    """The operator with reverse mode."""

    @staticmethod
    def forward(key: str, *arrays: Any) -> tuple[Any, ...]:
        """Run the kernel."""
        return tuple(torch.ops.sixfold.kernel(key, list(arrays)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the arguments for both directions."""
        ctx.key = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
        """Return the weighted sums of the derivatives."""
        arrays = ctx.saved_tensors
        # d (w . r) / d x = sum of w dr/dx over results
        by = tuple(k for k in range(len(arrays)) if ctx.needs_input_grad[k + 1])
        inputs, outputs = _shapes(ctx.key)
        slopes = iter(_slopes(_derivative(ctx.key, by), arrays))
        found: list[Any] = [None] * (len(arrays) + 1)
        for k in by:
            lead = arrays[k].shape[: arrays[k].dim() - len(inputs[k])]
            for weight, shape in zip(weights, outputs, strict=True):
                slope = next(slopes).reshape((*lead, prod(shape), prod(inputs[k])))
                part = (slope * weight.reshape((*lead, prod(shape), 1))).sum(-2)
                part = part.reshape((*lead, *inputs[k]))
                found[k + 1] = part if found[k + 1] is None else found[k + 1] + part
        return tuple(found)

    @staticmethod
    def vmap(info: Any, in_dims: Any, key: str, *arrays: Any) -> tuple[Any, Any]:
        """Take a batched axis as one more leading axis."""
        wide = [
            x.expand((info.batch_size, *x.shape)) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(arrays, in_dims[1:], strict=True)
        ]
        results = call(key, *wide)
        return results, (0,) * len(results)


class _Both(_Reverse):
    """The operator with reverse and forward mode."""

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
        """Return the derivatives along tangents."""
        arrays = ctx.saved_tensors
        # dr = sum of dr/dx dx over arguments
        by = tuple(k for k, tangent in enumerate(tangents) if tangent is not None)
        inputs, outputs = _shapes(ctx.key)
        slopes = iter(_slopes(_derivative(ctx.key, by), arrays))
        found: list[Any] = [None] * len(outputs)
        for k in by:
            lead = arrays[k].shape[: arrays[k].dim() - len(inputs[k])]
            for n, shape in enumerate(outputs):
                slope = next(slopes).reshape((*lead, prod(shape), prod(inputs[k])))
                part = (slope * tangents[k].reshape((*lead, 1, prod(inputs[k])))).sum(-1)
                part = part.reshape((*lead, *shape))
                found[n] = part if found[n] is None else found[n] + part
        return tuple(found)
