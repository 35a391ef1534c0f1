"""Nvidia's driver (libcuda) by ctypes: cards, memory, streams and launches.

The toolkit is not needed: the driver compiles the text of a kernel for the card that is there.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

import numpy as np

from sixfold.errors import DeviceError, NotApplicableError, OptionError, TooLargeError

GROUP = 128
"""Threads of a block; two blocks fit a multiprocessor where each thread has 255 registers."""
LEGACY, PER_THREAD = 1, 2
"""Handles of the two default streams."""
_PLACE = POINTER(c_void_p)
_OUT_OF_MEMORY = 2
_MAJOR, _MINOR, _ORDINAL = 75, 76, 9
_LEAST = (8, 0)
"""Compute capability that the text of kernels is made for, which later cards take too."""
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6
_LOG_BYTES = 4096
_NO_TIMING = 2

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_void_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_PLACE, c_int),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (_PLACE,),
    "cuModuleLoadDataEx": (_PLACE, c_char_p, c_uint, POINTER(c_int), _PLACE),
    "cuModuleGetFunction": (_PLACE, c_void_p, c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuEventCreate": (_PLACE, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventDestroy_v2": (c_void_p,),
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, _PLACE, _PLACE),
}
"""Arguments of the functions that are used; each returns a code, 0 if all went well."""


def open_library() -> Any:
    """Return Nvidia's driver as a library of C functions; raises OSError if there is none."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


class Driver:
    """The functions of the driver, with errors in words."""

    def __init__(self, library: Any, caller: str) -> None:
        """Bind the functions, and start the driver; the caller is named by errors."""
        self._functions, self.caller = {}, caller
        for name, kinds in PROTOTYPES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = kinds, c_int
            self._functions[name] = function
        self("cuInit", 0)

    def code(self, name: str, *arguments: Any) -> int:
        """Call a function and return its code."""
        return int(self._functions[name](*arguments))

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call a function; raise for what is not 0."""
        found = self.code(name, *arguments)
        if found:
            raise self.error(name, found)

    def error(self, name: str, code: int, more: str = "") -> Exception:
        """Return the error for a code that a function returned."""
        words = c_char_p(), c_char_p()
        for function, place in zip(("cuGetErrorName", "cuGetErrorString"), words, strict=True):
            self.code(function, code, byref(place))
        title, told = ((x.value or b"unknown").decode() for x in words)
        if code == _OUT_OF_MEMORY:
            what = f"{name} found no memory on the card ({title})"
            fix = "use fewer states at a time, or free other arrays"
            return TooLargeError(self.caller, what, fix)
        return DeviceError(f"{self.caller}: {name}", f"{title}, {told}{more and f': {more}'}")


_ELSEWHERE = {
    "cuda_function": ("sixfold.opencl_function", "sixfold.compile"),
    "cuda_rollout": ("sixfold.opencl_rollout", "sixfold.rollout"),
}
"""What does the same on other devices, and on the processor."""


@cache
def driver(caller: str) -> Driver:
    """Return the driver of this machine for a public function, or say that there is none."""
    other, here = _ELSEWHERE[caller]
    fix = (
        f"install Nvidia's driver and use a machine with one of its cards; {other} runs on other "
        f"devices, {here} on the processor"
    )
    try:
        return Driver(open_library(), caller)
    except OSError:
        where = "a machine without Nvidia's driver (libcuda)"
        raise NotApplicableError(caller, where, fix) from None
    except AttributeError as error:
        where = f"a driver that is too old ({error})"
        raise NotApplicableError(caller, where, "install a later driver") from None
    except DeviceError as error:
        where = f"a machine whose driver does not start ({str(error).splitlines()[0]})"
        raise NotApplicableError(caller, where, fix) from None


class Device:
    """One card, by its primary context, which other libraries of the process use too."""

    def __init__(self, number: int, caller: str) -> None:
        """Take the card with this number, or say which there are."""
        self.driver, self.number = driver(caller), number
        count, handle, context = c_int(), c_int(), c_void_p()
        self.driver("cuDeviceGetCount", byref(count))
        if not 0 <= number < count.value:
            wanted = f"the number of a card, below {count.value}"
            raise OptionError(caller, "device", wanted, number)
        self.driver("cuDeviceGet", byref(handle), number)
        name = ctypes.create_string_buffer(256)
        self.driver("cuDeviceGetName", name, len(name), handle)
        self.name = name.value.decode()
        found = c_int(), c_int()
        for place, attribute in zip(found, (_MAJOR, _MINOR), strict=True):
            self.driver("cuDeviceGetAttribute", byref(place), attribute, handle)
        self.capability = (found[0].value, found[1].value)
        if self.capability < _LEAST:
            what = "card '{}' of compute capability {}.{}".format(self.name, *self.capability)
            fix = f"use one of 8.0 or more (Ampere and later), or {_ELSEWHERE[caller][0]}"
            raise NotApplicableError(caller, what, fix)
        self.driver("cuDevicePrimaryCtxRetain", byref(context), handle)
        self._context = context

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the card's context that of this thread, for a while."""
        self.driver("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self.driver.code("cuCtxPopCurrent_v2", byref(c_void_p()))

    def load(self, text: str, name: str) -> Kernel:
        """Return a kernel of PTX, compiled by the driver."""
        module, function = c_void_p(), c_void_p()
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        with self.current():
            source = (byref(module), text.encode(), 2, options, values)
            code = self.driver.code("cuModuleLoadDataEx", *source)
            if code:
                raise self.driver.error("cuModuleLoadDataEx", code, log.value.decode().strip())
            self.driver("cuModuleGetFunction", byref(function), module, name.encode())
        return Kernel(self, module, function)

    def owner_of(self, pointer: int) -> int | None:
        """Return the number of the card that a pointer belongs to, None if it is of none."""
        number = c_int(-1)
        arguments = (ctypes.addressof(number), _ORDINAL, pointer)
        with self.current():
            failed = self.driver.code("cuPointerGetAttribute", *arguments)
        return None if failed else number.value

    def wait(self, stream: int, other: int) -> None:
        """Let a stream wait for what another one has been given so far."""
        if stream == other:
            return
        event = c_void_p()
        self.driver("cuEventCreate", byref(event), _NO_TIMING)
        try:
            self.driver("cuEventRecord", event, other)
            self.driver("cuStreamWaitEvent", stream, event, 0)
        finally:
            self.driver.code("cuEventDestroy_v2", event)


@cache
def device(number: int, caller: str) -> Device:
    """Return a card by its number, for a public function, which errors name."""
    return Device(number, caller)


def card_of(number: Any, caller: str) -> Device:
    """Return the card that a public function is asked for, or say why there is none."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise OptionError(caller, "device", "the number of a card", number)
    return device(int(number), caller)


class Kernel:
    """A compiled kernel, kept as long as it is used."""

    def __init__(self, card: Device, module: c_void_p, function: c_void_p) -> None:
        """Take the module it came with."""
        self._card, self._function = card, function
        weakref.finalize(self, _unload, card, module).atexit = False

    def launch(self, pointers: Sequence[int], counts: Sequence[int], stream: int) -> None:
        """Run one thread for each of the first count on a stream.

        The card's context has to be current.
        """
        values = [c_uint64(x) for x in (*pointers, *counts)]
        places = (c_void_p * len(values))(*(ctypes.addressof(x) for x in values))
        blocks = -(-counts[0] // GROUP)
        shape = (blocks, 1, 1, GROUP, 1, 1, 0)
        self._card.driver("cuLaunchKernel", self._function, *shape, stream, places, None)


class Memory:
    """Bytes on a card, freed with this object: the driver then waits for those who use them."""

    def __init__(self, card: Device, size: int) -> None:
        """Take so many bytes; none for 0."""
        self.card, self.pointer = card, 0
        self.kept: tuple[Memory, ...] = ()
        if size:
            place = c_uint64()
            with card.current():
                card.driver("cuMemAlloc_v2", byref(place), size)
            self.pointer = int(place.value)
            weakref.finalize(self, _free, card, self.pointer).atexit = False


def _free(card: Device, pointer: int) -> None:
    with card.current():
        card.driver.code("cuMemFree_v2", pointer)


def _unload(card: Device, module: c_void_p) -> None:
    with card.current():
        card.driver.code("cuModuleUnload", module)
