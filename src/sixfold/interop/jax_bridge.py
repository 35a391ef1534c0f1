"""Kernels inside JAX: jit, vmap, scan, grad, jacfwd and jacrev at the kernels' own speed.

A kernel is a custom call of XLA on the CPU, made of LLVM text.  On accelerators the operations of
the program are JAX's own.  Derivatives are kernels too: the
tangent of a result is the product of its Jacobian and the tangents of the arguments, which JAX can
transpose, and the Jacobian is again a function of this kind.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from sixfold.arrays import Shape
from sixfold.interop.array_api import (
    ArrayApiFunction,
    LibraryFunction,
    in_order,
    leading_shape,
    refuse_dtype,
)
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.runtime import ArrayFunction, array_function, xla_handler


def jax_function(
    function: Callable[..., Any],
    model: Model | None = None,
    *,
    inputs: Mapping[str, int | Shape] | None = None,
) -> JaxFunction:
    """Return a function of JAX arrays that runs as a kernel inside `jax.jit` on the CPU.

    Where JAX's default device is an accelerator, programs for it carry out the operations one by
    one, as those of `array_api_function` do, and programs for the CPU run the kernel.

    `jax.vmap`, `jax.lax.scan`, `jax.grad`, `jax.jacfwd`, `jax.jacrev` and `jax.hessian` work.
    Derivatives by q are by its coordinates, nq of them, as JAX has it; a quaternion may have any
    length, and results do not depend on it.

    Args:
        function: one of sixfold's functions, such as `sixfold.inverse_dynamics`, with its options
            bound by `functools.partial` if there are any; or a function of arrays for one state, as
            `sixfold.compile` takes it.
        model: the robot; gives the sizes of arguments named q, v, a, tau and f_ext.
        inputs: sizes of other arguments, or of optional ones to be included, by name.

    Returns:
        A function of the arrays, by place or by name.  Leading axes broadcast.  The kernel is
        chosen by the dtype of the arrays: float32 unless JAX runs with 64 bits.  Results have the
        bits of the same function on NumPy arrays.  A state that has no result gives NaN.

    Raises:
        NotApplicableError: if JAX is not installed, or there is no machine code for the function.
        ShapeError, NumberError: in a call, if an array does not fit.

    Example:
        >>> import jax, numpy as np, sixfold as sf
        >>> model = sf.load("double_pendulum")
        >>> energy = sf.interop.jax_function(sf.potential_energy, model)
        >>> q = np.array([0.3, 0.5], np.float32)
        >>> np.allclose(jax.jit(jax.grad(energy))(q), sf.gravity_force(model, q), atol=1e-4)
        True
    """
    optional("jax", "jax_function")
    core = array_function("jax_function", function, model, inputs)
    return JaxFunction(core, (function, model, inputs))


class JaxFunction(LibraryFunction):
    """A kernel as a function of JAX arrays; made by `sixfold.interop.jax_function`."""

    kind, maker = "JAX", staticmethod(jax_function)

    def __init__(self, core: ArrayFunction, made_of: tuple[Any, ...]) -> None:
        super().__init__(core, made_of)
        self._call = _differentiable(core)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Return the result, or a tuple of results."""
        jnp = optional("jax.numpy", "jax_function")
        core = self._core
        given = [jnp.asarray(x) for x in in_order(core, arrays, named)]
        dtype = jnp.result_type(*given)
        if jnp.issubdtype(dtype, jnp.integer) or jnp.issubdtype(dtype, jnp.bool_):
            dtype = jnp.result_type(float)
        refuse_dtype(core, str(dtype))
        lead = leading_shape(core, [x.shape for x in given])
        results = self._call(
            *(
                jnp.broadcast_to(x, (*lead, *shape)).astype(dtype)
                for x, shape in zip(given, core.inputs, strict=True)
            )
        )
        return results if len(results) > 1 else results[0]


def _differentiable(core: ArrayFunction) -> Callable[..., tuple[Any, ...]]:
    """Return a function of arrays with equal leading axes and one dtype, and its JVP rule."""
    jax, zero = optional("jax", "jax_function"), _symbolic_zero()
    derivatives: dict[tuple[int, ...], Callable[..., tuple[Any, ...]]] = {}

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def call(*arrays: Any) -> tuple[Any, ...]:
        return _foreign_call(core, arrays)

    def rule(arrays: Any, tangents: Any) -> tuple[Any, Any]:
        # dr = sum of dr/dx dx over the arguments that move
        by = tuple(k for k, t in enumerate(tangents) if not isinstance(t, zero))
        results = call(*arrays)
        if by not in derivatives:
            derivatives[by] = _differentiable(core.derivative(by))
        slopes = iter(derivatives[by](*arrays))
        moved = [jax.numpy.zeros_like(x) for x in results]
        for k in by:
            for n, shape in enumerate(core.outputs):
                part = _product(next(slopes), tangents[k], shape, core.inputs[k])
                moved[n] = part if k == by[0] else moved[n] + part
        return results, tuple(moved)

    call.defjvp(rule, symbolic_zeros=True)
    made: Callable[..., tuple[Any, ...]] = call
    return made


def _product(slope: Any, tangent: Any, output: Shape, argument: Shape) -> Any:
    """Return the sum over an argument's axes of slope times tangent."""
    lead = tangent.shape[: tangent.ndim - len(argument)]
    flat = slope.reshape((*lead, prod(output), prod(argument)))
    moved = (flat * tangent.reshape((*lead, 1, prod(argument)))).sum(axis=-1)
    return moved.reshape((*lead, *output))


def _foreign_call(core: ArrayFunction, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run a kernel on arrays with equal leading axes."""
    jax, ffi = optional("jax", "jax_function"), optional("jax.ffi", "jax_function")
    first = arrays[0]
    lead = first.shape[: first.ndim - len(core.inputs[0])]
    # a custom call of XLA, which batches by adding leading axes
    target = _register(core.kernel(str(first.dtype)))
    kinds = [jax.ShapeDtypeStruct((*lead, *shape), first.dtype) for shape in core.outputs]
    kernel = ffi.ffi_call(target, kinds, vmap_method="broadcast_all")
    if not _has_accelerator():
        return tuple(kernel(*arrays))
    # which of both is compiled depends on the device that the program is for
    reading = ArrayApiFunction(core, ())
    found = jax.lax.platform_dependent(
        *arrays, cpu=lambda *x: tuple(kernel(*x)), default=lambda *x: reading.evaluate(jax.numpy, x)
    )
    return tuple(found)


def _has_accelerator() -> bool:
    """Return whether programs may be compiled for something else than the CPU."""
    return bool(optional("jax", "jax_function").default_backend() != "cpu")


#: Handlers by their names in XLA, which holds their addresses for good.
_REGISTERED: dict[str, Any] = {}
_lock = threading.Lock()


def _register(kernel: Any) -> str:
    """Return the name under which XLA knows a kernel."""
    known: str | None = getattr(kernel, "xla_target", None)
    if known is not None:
        return known
    name, handler = xla_handler(kernel)
    with _lock:
        if name not in _REGISTERED:
            new = ctypes.pythonapi.PyCapsule_New
            new.restype = ctypes.py_object
            new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            capsule = new(handler.address, b"xla._CUSTOM_CALL_TARGET", None)
            ffi = optional("jax.ffi", "jax_function")
            ffi.register_ffi_target(name, capsule, platform="cpu")
            _REGISTERED[name] = (handler, capsule)
    kernel.xla_target = name
    return name


def _symbolic_zero() -> Any:
    """Return the class of tangents that are known to be zero."""
    return optional("jax.custom_derivatives", "jax_function").SymbolicZero
