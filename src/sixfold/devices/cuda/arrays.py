"""Arrays in the memory of Nvidia's cards: our own, and those of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sixfold.arrays import Shape
from sixfold.devices.cuda import dlpack
from sixfold.devices.cuda.driver import LEGACY, Device, Memory
from sixfold.errors import NumberError, OptionError, kind_of

_TYPES = {"<f8": "float64", "<f4": "float32"}


class CudaArray:
    """An array of float64 or float32 in a card's memory, in C order.

    Made by functions of `sixfold.cuda_function` and by `sixfold.cuda_rollout`.  Other libraries
    take it as it is, by `__cuda_array_interface__` or DLPack, without a copy: `cupy.asarray(x)`,
    `torch.from_dlpack(x)`.

    Attributes:
        shape: of the array.
        dtype: of its numbers.
        stream: handle of the stream on which it is computed.
    """

    def __init__(self, card: Device, shape: Shape, dtype: str, stream: int) -> None:
        """Allocate an array on a card, to be filled on a stream."""
        self.shape, self.dtype, self.stream = tuple(shape), np.dtype(dtype), stream
        self._memory = Memory(card, self.nbytes)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> int:
        """Number of the card."""
        return self._memory.card.number

    @property
    def pointer(self) -> int:
        """Address on the card."""
        return self._memory.pointer

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What version 3 of the interface says of an array."""
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "stream": self.stream,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind of device and its number."""
        return dlpack.CUDA, self.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return the array, or a copy of it, as a capsule of DLPack without version.

        Args:
            stream: of the caller's, on which it is ready; -1 if he takes care of that.
            max_version: not looked at, since every version takes such a capsule.
            dl_device: kind of device and its number, where the array has to be already.
            copy: True for a copy.
        """
        place = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != place:
            # the error that array libraries expect
            raise BufferError(f"CudaArray is on device {place}, not on {dl_device}: use get()")
        card, found = self._memory.card, self._copied() if copy else self
        if stream != -1:
            with card.current():
                card.wait(stream_of("CudaArray", stream) or LEGACY, self.stream)
        bits = 8 * self.dtype.itemsize
        return dlpack.capsule_of(found.pointer, self.shape, bits, place, found._memory)

    def _copied(self) -> CudaArray:
        card = self._memory.card
        found = CudaArray(card, self.shape, str(self.dtype), self.stream)
        if self.size:
            with card.current():
                where = (found.pointer, self.pointer, self.nbytes, self.stream)
                card.driver("cuMemcpyDtoDAsync_v2", *where)
        return found

    def keep(self, arrays: Sequence[CudaArray]) -> None:
        """Free other arrays no sooner than this one, so that nobody has to wait for their use."""
        self._memory.kept = tuple(x._memory for x in arrays)

    def get(self) -> NDArray[Any]:
        """Return a copy in host memory, as soon as it is computed."""
        return host_copy(self._memory.card, self.pointer, self.shape, self.dtype, self.stream)

    def put(self, host: NDArray[Any]) -> None:
        """Fill it from host memory; returns when that is done."""
        card = self._memory.card
        if self.size:
            with card.current():
                where = (self.pointer, host.ctypes.data, self.nbytes, self.stream)
                card.driver("cuMemcpyHtoDAsync_v2", *where)
                card.driver("cuStreamSynchronize", self.stream)

    def __repr__(self) -> str:
        """Say what it is and where."""
        card = self._memory.card
        return f"<CudaArray {self.shape} of {self.dtype} on card {card.number} ({card.name})>"


def host_copy(card: Device, pointer: int, shape: Shape, dtype: Any, stream: int) -> NDArray[Any]:
    """Return a copy of memory of a card in host memory, after what its stream was given so far."""
    host = np.empty(shape, dtype)
    if host.size:
        with card.current():
            card.driver("cuMemcpyDtoHAsync_v2", host.ctypes.data, pointer, host.nbytes, stream)
            card.driver("cuStreamSynchronize", stream)
    return host


class View(NamedTuple):
    """An array of any library in a card's memory."""

    pointer: int
    shape: Shape
    dtype: str
    in_order: bool
    """In C order, without gaps."""
    readonly: bool
    stream: int | None
    """On which it is computed, if the library says so."""
    release: Callable[[], None] | None = None
    """To be called after the launch."""


def is_on_card(x: Any) -> bool:
    """Return whether an object is an array in the memory of one of Nvidia's cards."""
    if isinstance(x, np.ndarray | np.generic | float | int | list | tuple):
        return False
    return _by_dlpack(x) or _interface(x) is not None


def _by_dlpack(x: Any) -> bool:
    try:
        kind = int(x.__dlpack_device__()[0])
    except Exception:  # no such method, or an object that cannot say where it is
        return False
    return kind in (dlpack.CUDA, dlpack.CUDA_MANAGED)


def _interface(x: Any) -> dict[str, Any] | None:
    try:
        found = x.__cuda_array_interface__
    except Exception:  # torch refuses tensors on the processor, and those with gradients
        return None
    return found if isinstance(found, dict) else None


def stream_of(function: str, given: Any) -> int | None:
    """Return the handle of a stream of any library; None for None."""
    if given is None:
        return None
    try:
        if hasattr(given, "__cuda_stream__"):
            handle = given.__cuda_stream__()[1]
        elif hasattr(given, "cuda_stream"):  # torch
            handle = given.cuda_stream
        else:  # cupy, or a handle
            handle = getattr(given, "ptr", given)
        if isinstance(handle, int | np.integer) and not isinstance(handle, bool) and handle >= 0:
            return int(handle) or LEGACY
    except Exception:  # objects that are no streams
        pass
    raise OptionError(function, "stream", "a stream of cupy or torch, or its handle", given)


def working_stream(function: str, stream: int | None, arrays: Sequence[Any]) -> int:
    """Return the stream to work on: the one asked for, else the first that an array names."""
    if stream is not None:
        return stream
    named = [(_interface(x) or {}).get("stream") for x in arrays]
    return next((stream_of(function, x) or LEGACY for x in named if x is not None), LEGACY)


def view(function: str, name: str, x: Any, stream: int) -> View:
    """Return what is known of an array, which is ready on a stream from then on.

    The interface of CUDA is taken where it names a stream, else DLPack, which knows of streams too.
    """
    described = _interface(x)
    where = f"{function}: argument '{name}'"
    if _by_dlpack(x) and (described is None or described.get("stream") is None):
        return _from_dlpack(where, x, stream)
    assert described is not None
    try:
        shape = tuple(map(int, described["shape"]))
        pointer, readonly = described["data"]
        kind, strides = str(described["typestr"]), described.get("strides")
        steps = None if strides is None else tuple(s // int(kind[2:]) for s in strides)
    except (KeyError, TypeError, ValueError) as error:
        got = f"{kind_of(x)} whose __cuda_array_interface__ is incomplete ({error!r})"
        raise NumberError(where, "shape, typestr and data", got, "make a copy by cupy") from None
    if described.get("mask") is not None:
        fix = "fill the masked elements, or leave those states out"
        raise NumberError(where, "an array without a mask", kind_of(x), fix)
    dtype = _TYPES.get(kind, kind)
    given = stream_of(function, described.get("stream"))
    return View(int(pointer or 0), shape, dtype, _dense(shape, steps), bool(readonly), given)


def _from_dlpack(where: str, x: Any, stream: int) -> View:
    try:
        found = dlpack.opened(x.__dlpack__(stream=stream))
        told = "a capsule of another version"
    except Exception as error:
        found, told = None, str(error).partition("\n")[0]
    if found is None:
        got = f"{kind_of(x)}, which does not give its numbers away ({told})"
        fix = "pass x.detach() of a tensor with gradients, or a copy"
        raise NumberError(where, "an array on a card", got, fix)
    in_order = _dense(found.shape, found.strides)
    return View(found.pointer, found.shape, found.dtype, in_order, False, None, found.release)


def refuse_view(where: str, x: View, card: Device) -> None:
    """Raise for an array with gaps or in another order, or of another card."""
    if not x.in_order:
        fix = "copy it on the card first: cupy.ascontiguousarray(x), x.contiguous()"
        raise NumberError(where, "an array in C order without gaps", "strides", fix)
    if not prod(x.shape):
        return
    owner = card.owner_of(x.pointer)
    if owner != card.number:
        got = "memory that the driver does not know" if owner is None else f"card {owner}"
        fix = f"copy it there, or pass device={owner or 0}"
        raise NumberError(where, f"memory of card {card.number}", got, fix)


def _dense(shape: Shape, strides: tuple[int, ...] | None) -> bool:
    """Return whether strides, in elements, are those of C order."""
    if strides is None or prod(shape) == 0:
        return True
    steps = [*accumulate(reversed(shape), lambda a, b: a * b, initial=1)][:-1][::-1]
    return len(strides) == len(steps) and all(
        n == 1 or found == step for n, found, step in zip(shape, strides, steps, strict=True)
    )
