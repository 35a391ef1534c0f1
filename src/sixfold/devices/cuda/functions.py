"""`sf.cuda_function`: functions of many states on one of Nvidia's cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.bridges.arguments import by_place, leading_shape, refuse_dtype
from sixfold.devices.cuda.arrays import (
    CudaArray,
    View,
    is_on_card,
    refuse_view,
    stream_of,
    view,
    working_stream,
)
from sixfold.devices.cuda.driver import LEGACY, Device, Kernel, card_of
from sixfold.errors import ArgumentError, NotApplicableError, NumberError, ShapeError
from sixfold.evaluate import Argument, ArrayFunction, array_function, checked, ptx_source
from sixfold.model import Model

NAME = "cuda_function"
_ENTRY = "sixfold_run"


def cuda_function(
    function: Callable[..., Any],
    model: Model | None = None,
    *,
    inputs: Mapping[str, int | Shape] | None = None,
    device: int = 0,
) -> CudaFunction:
    """Return a function of many states that runs on one of Nvidia's cards, one state a thread.

    Nvidia's driver is all it needs, neither the CUDA toolkit nor another library.  The program is
    the compiler's own graph, as in `sixfold.export` with target="ptx": one instruction an
    operation, products fused where the kernels fuse them, the same sine and cosine.

    Args:
        function: one of sixfold's functions, such as `sixfold.inverse_dynamics`, with its options
            bound by `functools.partial` if there are any; or a function of arrays for one state, as
            `sixfold.compile` takes it.
        model: the robot; gives the sizes of arguments named q, v, a, tau and f_ext.
        inputs: sizes of other arguments, or of optional ones to be included, by name.
        device: number of the card, of compute capability 8.0 or more.

    Returns:
        A function of the arrays, by place or by name.  Arrays in the card's memory, of any library
        that has `__cuda_array_interface__` or DLPack (cupy, torch, JAX, numba), stay where they
        are, and so do the results; they have equal leading axes and dtypes, in C order.  NumPy
        arrays are copied to the card, and results back.

    Raises:
        NotApplicableError: if there is no driver, or the card is too old.
        OptionError: if there is no card of that number.
        ShapeError, NumberError: in a call, if an array does not fit.
        DeviceError: in a call, if the driver reports an error.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, 100_000, seed=1)
        >>> on_card = sf.cuda_function(sf.inverse_dynamics, arm)
        >>> np.allclose(on_card(q, v, np.zeros_like(v)), sf.bias_force(arm, q, v))
        True
    """
    core = array_function(NAME, function, model, inputs)
    return CudaFunction(core, card_of(device, NAME))


class CudaFunction:
    """A function on one of Nvidia's cards; made by `sixfold.cuda_function`."""

    def __init__(self, core: ArrayFunction, card: Device) -> None:
        """Take the function and the card."""
        self.__name__ = core.name
        self._core, self._card = core, card
        self._kernels: dict[str, Kernel] = {}

    @property
    def device(self) -> int:
        """Number of the card."""
        return self._card.number

    def source(self, dtype: str = "float64") -> str:
        """Return the PTX of the function."""
        refuse_dtype(self._core, dtype)
        return ptx_source(self._core, dtype, _ENTRY)

    def to_device(self, array: Any) -> CudaArray:
        """Return a copy of a NumPy array, or of numbers, in the card's memory."""
        given = checked(f"{self.__name__}: to_device", "array", Argument(array, (), "numbers"))
        refuse_dtype(self._core, str(given.dtype))
        found = CudaArray(self._card, given.shape, str(given.dtype), LEGACY)
        found.put(np.ascontiguousarray(given))
        return found

    def __call__(self, *arrays: Any, out: Any = None, stream: Any = None, **named: Any) -> Any:
        """Return the result, or a tuple of results.

        Args:
            arrays: the arguments, by place or by name.
            named: those by name.
            out: array on the card that takes the result, or a tuple of them; apart from the
                arguments.
            stream: a stream of cupy or torch, or its handle, on which to work; the call does not
                wait for it.  That of the first array which names one, else the default stream, if
                left out.
        """
        given = by_place(self._core, arrays, named)
        handle = stream_of(NAME, stream)
        there = [is_on_card(x) for x in given]
        if any(there) and not all(there):
            fix = "pass all arrays on the card, or all in host memory"
            raise ArgumentError(
                f"{self.__name__}: arguments", "arrays in one place", "some on a card", fix
            )
        if all(there):
            results = self._on_card(given, out, handle)
        elif out is not None or handle is not None:
            option = "stream=" if out is None else "out="
            where = f"arrays in host memory with {option}, which has no effect there"
            raise NotApplicableError(self.__name__, where, "leave it out, or pass device arrays")
        else:
            results = self._from_host(given)
        return results if len(results) > 1 else results[0]

    def _from_host(self, given: Sequence[Any]) -> tuple[Any, ...]:
        core = self._core
        plain = [
            checked(core.name, name, Argument(x, shape, f"shape {shape} for one state"))
            for name, x, shape in zip(core.names, given, core.inputs, strict=True)
        ]
        dtype = str(np.result_type(*plain))
        refuse_dtype(core, dtype)
        lead = leading_shape(core, [x.shape for x in plain])
        wide = [
            np.ascontiguousarray(np.broadcast_to(x, (*lead, *shape)), dtype)
            for x, shape in zip(plain, core.inputs, strict=True)
        ]
        there = [self.to_device(x) for x in wide]
        return tuple(x.get() for x in self._on_card(there, None, LEGACY))

    def _on_card(self, given: Sequence[Any], out: Any, stream: int | None) -> tuple[Any, ...]:
        core = self._core
        targets = self._targets(out)
        handle = working_stream(NAME, stream, [*given, *targets])
        views: list[View] = []
        try:
            for name, x in zip(core.names, given, strict=True):
                views.append(view(core.name, name, x, handle))
            dtype, lead = self._fitting(views)
            for x in targets:
                views.append(view(core.name, "out", x, handle))
            self._refuse_targets(views, lead, dtype)
            results = targets or tuple(
                CudaArray(self._card, (*lead, *shape), dtype, handle) for shape in core.outputs
            )
            found = [x.pointer for x in views if prod(x.shape)]
            found += [x.pointer for x in results if not targets and x.size]
            self._launch(found, prod(lead), dtype, handle, views)
        finally:
            for x in views:
                if x.release is not None:
                    x.release()
        return results

    def _launch(
        self, pointers: Sequence[int], states: int, dtype: str, stream: int, views: Sequence[View]
    ) -> None:
        if dtype not in self._kernels:
            self._kernels[dtype] = self._card.load(self.source(dtype), _ENTRY)
        if not states:
            return
        with self._card.current():
            for other in dict.fromkeys(x.stream for x in views):
                if other is not None:
                    self._card.wait(stream, other)
            self._kernels[dtype].launch(pointers, [states], stream)

    def _targets(self, out: Any) -> tuple[Any, ...]:
        """Return the arrays that take the results; none if they are to be made."""
        if out is None:
            return ()
        found = out if isinstance(out, tuple) else (out,)
        if len(found) != len(self._core.outputs) or not all(map(is_on_card, found)):
            wanted = f"{len(self._core.outputs)} arrays on the card"
            fix = "pass a writable array on the card for each result, as a tuple if several"
            raise ArgumentError(f"{self.__name__}: argument 'out'", wanted, out, fix)
        return found

    def _fitting(self, views: Sequence[View]) -> tuple[str, Shape]:
        """Return dtype and leading axes that all arguments have, or say which does not fit."""
        core, dtype = self._core, views[0].dtype
        lead = leading_shape(core, [x.shape for x in views])
        for name, x, shape in zip(core.names, views, core.inputs, strict=True):
            if x.shape != (*lead, *shape):
                expected = f"{(*lead, *shape)}, the leading axes of the others"
                fix = "broadcast on the card first"
                raise ShapeError(core.name, name, expected, x.shape, fix)
            self._refuse(name, x, dtype)
        refuse_dtype(core, dtype)
        return dtype, lead

    def _refuse_targets(self, views: Sequence[View], lead: Shape, dtype: str) -> None:
        core, count = self._core, len(self._core.names)
        size = np.dtype(dtype).itemsize
        ends = [(x.pointer, x.pointer + size * prod(x.shape)) for x in views]
        for k, x in enumerate(views[count:]):
            wanted, where = (*lead, *core.outputs[k]), f"{core.name}: argument 'out'"
            if x.shape != wanted:
                fix = "give it the shape of the result"
                raise ShapeError(core.name, "out", str(wanted), x.shape, fix)
            self._refuse("out", x, dtype)
            if x.readonly:
                fix = "pass another array"
                raise NumberError(where, "an array that may be written", "a read-only one", fix)
            start, end = ends[count + k]
            others = [*ends[: count + k], *ends[count + k + 1 :]]
            if any(start < b and a < end for a, b in others):
                fix = "pass another array"
                expected = "memory apart from the arguments and other results"
                raise NumberError(where, expected, "memory that overlaps", fix)

    def _refuse(self, name: str, x: View, dtype: str) -> None:
        """Raise for an array of another dtype, order or place."""
        where = f"{self.__name__}: argument '{name}'"
        if x.dtype != dtype:
            fix = "give all arrays the same dtype"
            raise NumberError(where, f"{dtype}, like the first argument", x.dtype, fix)
        refuse_view(where, x, self._card)

    def __repr__(self) -> str:
        """Say what it computes, and where."""
        where = f"card {self._card.number} ({self._card.name})"
        return f"<CUDA function {self.__name__}({', '.join(self._core.names)}) on {where}>"
