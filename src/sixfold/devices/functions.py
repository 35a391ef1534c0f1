"""`sf.opencl_function`: functions of many states on an OpenCL device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.bridges.arguments import by_place, leading_shape, refuse_dtype
from sixfold.choices import DeviceMath
from sixfold.devices.opencl import MATH, built, launch, program_of, queue_of, refuse_single
from sixfold.errors import ArgumentError, NumberError, ShapeError, one_of
from sixfold.evaluate import Argument, ArrayFunction, array_function, checked, opencl_source
from sixfold.model import Model
from sixfold.optional import optional

NAME = "opencl_function"


def opencl_function(
    function: Callable[..., Any],
    model: Model | None = None,
    *,
    inputs: Mapping[str, int | Shape] | None = None,
    math: DeviceMath = "kernel",
    device: Any = None,
) -> OpenclFunction:
    """Return a function of many states that runs on an OpenCL device, one state a work item.

    The program is the compiler's own graph: one statement an operation, products fused where the
    kernels fuse them, the same sine and cosine.  Results have the bits of the kernels of this
    machine (of `backend="unrolled"`, where a long tree has two forms).

    Args:
        function: one of sixfold's functions, such as `sixfold.inverse_dynamics`, with its options
            bound by `functools.partial` if there are any; or a function of arrays for one state, as
            `sixfold.compile` takes it.
        model: the robot; gives the sizes of arguments named q, v, a, tau and f_ext.
        inputs: sizes of other arguments, or of optional ones to be included, by name.
        math: "kernel" for the sines, logarithms and so on of the kernels, which are computed in
            double for the same bits; "device" for the device's own, in the precision of the arrays,
            which agree to some units in the last place.
        device: a `pyopencl.Device`; a graphics card if there is one, else any, if left out.

    Returns:
        A function of the arrays, by place or by name.  NumPy arrays are copied to the device and
        results back; arrays of `pyopencl.array` with equal leading axes stay where they are, and so
        do the results, which are computed on the queue of the first array after the call.

    Raises:
        NotApplicableError: if pyopencl is not installed, or no device has double precision, which
            only float32 arrays with math="device" can do without.
        ShapeError, NumberError: in a call, if an array does not fit.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("double_pendulum")
        >>> q, v = sf.random_state(model, 1000, seed=1)
        >>> on_device = sf.opencl_function(sf.inverse_dynamics, model)
        >>> np.allclose(on_device(q, v, np.zeros_like(v)), sf.bias_force(model, q, v))
        True
    """
    one_of(NAME, "math", MATH, math)
    queue = queue_of(NAME, device, double=math == "kernel")
    return OpenclFunction(array_function(NAME, function, model, inputs), queue, math)


class OpenclFunction:
    """A function on an OpenCL device; made by `sixfold.opencl_function`."""

    def __init__(self, core: ArrayFunction, queue: Any, math: str) -> None:
        """Take the function, the queue of the device and whose elementary functions it uses."""
        self.__name__ = core.name
        self._core, self.queue, self._own = core, queue, math == "device"
        self._kernels: dict[str, Any] = {}

    def source(self, dtype: str = "float64") -> str:
        """Return the OpenCL C of the function."""
        refuse_dtype(self._core, dtype)
        return opencl_source(self._core, dtype, self._own)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Return the result, or a tuple of results."""
        array = optional("pyopencl.array", NAME)
        given = by_place(self._core, arrays, named)
        there = [isinstance(x, array.Array) for x in given]
        if any(there) and not all(there):
            fix = "pass all arrays on the device, or all in host memory"
            expected = "arrays in one place"
            raise ArgumentError(f"{self.__name__}: arguments", expected, "some on a device", fix)
        results = self._on_device(given) if all(there) else self._from_host(given)
        return results if len(results) > 1 else results[0]

    def _from_host(self, given: list[Any]) -> tuple[Any, ...]:
        array, core = optional("pyopencl.array", NAME), self._core
        plain = [
            checked(core.name, name, Argument(x, shape, f"shape {shape} for one state"))
            for name, x, shape in zip(core.names, given, core.inputs, strict=True)
        ]
        dtype = np.result_type(*plain)
        refuse_dtype(core, str(dtype))
        lead = leading_shape(core, [x.shape for x in plain])
        wide = [
            np.ascontiguousarray(np.broadcast_to(x, (*lead, *shape)), dtype)
            for x, shape in zip(plain, core.inputs, strict=True)
        ]
        if prod(lead) == 0:
            return tuple(np.empty((*lead, *shape), dtype) for shape in core.outputs)
        queue = self.queue
        results = self._run(queue, [array.to_device(queue, x) for x in wide], lead, dtype)
        return tuple(x.get() for x in results)

    def _on_device(self, given: list[Any]) -> tuple[Any, ...]:
        core, first = self._core, given[0]
        lead = leading_shape(core, [x.shape for x in given])
        queue = first.queue or self.queue
        for name, x, shape in zip(core.names, given, core.inputs, strict=True):
            where = f"{core.name}: argument '{name}'"
            if x.shape != (*lead, *shape):
                expected = f"{(*lead, *shape)}, the leading axes of the others"
                fix = "broadcast on the device first"
                raise ShapeError(core.name, name, expected, x.shape, fix)
            if x.dtype != first.dtype:
                expected = f"{first.dtype}, like the first argument"
                raise NumberError(where, expected, str(x.dtype), "give all arrays the same dtype")
            if not x.flags.c_contiguous:
                fix = "copy it on the device first"
                raise NumberError(where, "an array in C order without gaps", "strides", fix)
            if x.context != queue.context:
                fix = "make all arrays with queues of one context"
                raise NumberError(where, "the context of the first argument", "another one", fix)
        refuse_dtype(core, str(first.dtype))
        # a kernel takes whole buffers
        whole = [x if x.offset == 0 else x.copy(queue) for x in given]
        return self._run(queue, whole, lead, first.dtype)

    def _run(self, queue: Any, arrays: list[Any], lead: Shape, dtype: Any) -> tuple[Any, ...]:
        array, core = optional("pyopencl.array", NAME), self._core
        key = f"{dtype} {queue.context.int_ptr}"
        if key not in self._kernels:
            if str(dtype) == "float64":
                refuse_single(self.__name__, queue.device)
            self._kernels[key] = built(
                program_of(queue, opencl_source(core, str(dtype), self._own))
            )
        results = [array.empty(queue, (*lead, *shape), dtype) for shape in core.outputs]
        if prod(lead):
            full, made = ([x for x in some if x.size] for some in (arrays, results))
            launch(queue, self._kernels[key], [*full, *made], len(made), prod(lead))
        return tuple(results)

    def __repr__(self) -> str:
        """Say what it computes, and where."""
        where = self.queue.device.name.strip()
        return f"<OpenCL function {self.__name__}({', '.join(self._core.names)}) on {where}>"
