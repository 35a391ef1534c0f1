"""A stand-in for Nvidia's driver: C functions whose device memory is memory of this process.

Streams are lazy: what is given to one waits until somebody synchronizes, so that an array that is
read too early has no numbers yet.  Launches run the PTX that was loaded, each thread of each block.
"""

from __future__ import annotations

import ctypes
from itertools import count

import numpy as np

from sixfold.devices.cuda import dlpack
from sixfold.devices.cuda.driver import PROTOTYPES
from tests.devices.ptx_machine import Machine

CODES = {
    0: b"CUDA_SUCCESS",
    1: b"CUDA_ERROR_INVALID_VALUE",
    2: b"CUDA_ERROR_OUT_OF_MEMORY",
    100: b"CUDA_ERROR_NO_DEVICE",
    201: b"CUDA_ERROR_INVALID_CONTEXT",
    218: b"CUDA_ERROR_INVALID_PTX",
    400: b"CUDA_ERROR_INVALID_HANDLE",
    700: b"CUDA_ERROR_ILLEGAL_ADDRESS",
}
PADDING = 64


class FakeCuda:
    """The functions of libcuda by name, as pointers to C functions."""

    def __init__(self, cards=1, capability=(8, 6), most_bytes=1 << 30):
        self.cards, self.capability, self.most_bytes = cards, capability, most_bytes
        self.calls, self.contexts, self.launches, self.sources = [], [], [], []
        self.memory, self.modules, self.events = {}, {}, {}
        self.waiting, self.done = {}, {}
        self.broken, self.refuses, self.names = {}, False, {}
        self._numbers = count(1000)
        self._functions = {}
        for name, kinds in PROTOTYPES.items():
            self._functions[name] = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self._entry(name))

    def __getattr__(self, name):
        try:
            return self.__dict__["_functions"][name]
        except KeyError:
            raise AttributeError(name) from None

    def _entry(self, name):
        function = getattr(self, f"_{name}")
        free = ("cuInit", "cuGet", "cuDevice", "cuCtx")

        def entry(*arguments):
            self.calls.append(name)
            if name in self.broken:
                return self.broken[name]
            if not name.startswith(free) and not self.contexts:
                return 201
            return function(*arguments) or 0

        return entry

    # what the driver does

    def _cuInit(self, flags):
        return 0 if self.cards else 100

    def _cuGetErrorName(self, code, place):
        place[0] = CODES[code]

    def _cuGetErrorString(self, code, place):
        place[0] = b"what the driver says"

    def _cuDeviceGetCount(self, place):
        place[0] = self.cards

    def _cuDeviceGet(self, place, number):
        place[0] = number

    def _cuDeviceGetName(self, text, size, device):
        ctypes.memmove(text, b"Fake 1000\0", 10)

    def _cuDeviceGetAttribute(self, place, attribute, device):
        place[0] = self.capability[{75: 0, 76: 1}[attribute]]

    def _cuDevicePrimaryCtxRetain(self, place, device):
        place[0] = 500 + device

    def _cuCtxPushCurrent_v2(self, context):
        self.contexts.append(context)

    def _cuCtxPopCurrent_v2(self, place):
        place[0] = self.contexts.pop()

    def _cuModuleLoadDataEx(self, place, text, n, options, values):
        assert list(options[:n]) == [5, 6] and values[1] > 23
        if self.refuses:
            ctypes.memmove(values[0], b"line 7: no such kernel\0", 23)
            return 218
        place[0] = number = next(self._numbers)
        self.modules[number] = Machine(text.decode())
        self.sources.append(text.decode())
        return 0

    def _cuModuleGetFunction(self, place, module, name):
        self.names[module] = name.decode()
        place[0] = module

    def _cuModuleUnload(self, module):
        del self.modules[module]

    def _cuMemAlloc_v2(self, place, size):
        if size + sum(x.nbytes for x, _ in self.memory.values()) > self.most_bytes:
            return 2
        block = np.full(size + PADDING, 0xFF, np.uint8)
        address = block.ctypes.data
        self.memory[address] = block, self.contexts[-1] - 500
        place[0] = address
        return 0

    def _cuMemFree_v2(self, pointer):
        for stream in list(self.waiting):
            self.drain(stream)
        return 0 if self.memory.pop(pointer, None) is not None else 1

    def _owner(self, pointer, size=1):
        """Return the card that owns some bytes, None if they are of none."""
        for start, (block, card) in self.memory.items():
            if start <= pointer and pointer + size <= start + block.nbytes - PADDING:
                return card
        return None

    def _cuPointerGetAttribute(self, place, attribute, pointer):
        assert attribute == 9
        owner = self._owner(pointer)
        if owner is None:
            return 1
        ctypes.c_int.from_address(place).value = owner
        return 0

    def _copy(self, stream, to, source, size, pointer):
        def copied():
            if self._owner(pointer, size) is None:
                return 700
            ctypes.memmove(to, source, size)
            return 0

        self.give(stream, copied)

    def _cuMemcpyHtoDAsync_v2(self, pointer, host, size, stream):
        self._copy(stream, pointer, host, size, pointer)

    def _cuMemcpyDtoHAsync_v2(self, host, pointer, size, stream):
        self._copy(stream, host, pointer, size, pointer)

    def _cuMemcpyDtoDAsync_v2(self, pointer, source, size, stream):
        self._copy(stream, pointer, source, size, pointer)

    def _cuEventCreate(self, place, flags):
        place[0] = next(self._numbers)

    def _cuEventRecord(self, event, stream):
        self.events[event] = stream, self.done.get(stream, 0) + len(self.waiting.get(stream, ()))

    def _cuStreamWaitEvent(self, stream, event, flags):
        other, upto = self.events[event]
        self.give(stream, lambda: self.drain(other, upto))

    def _cuEventDestroy_v2(self, event):
        del self.events[event]

    def _cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, places, extra):
        machine, name = self.modules[function], self.names[function]
        assert (gy, gz, by, bz, shared, bool(extra)) == (1, 1, 1, 1, 0, False)
        # values are taken when the launch is given, as the driver does
        count = len(machine.functions[name][0])
        values = [ctypes.c_uint64.from_address(places[k]).value for k in range(count)]
        pointers = values[: machine.arrays[name]]
        self.launches.append((gx, bx, values[len(pointers)], stream))

        def launched():
            if any(self._owner(x) is None for x in pointers):
                return 700
            machine.run(name, values, gx, bx)
            return 0

        self.give(stream, launched)

    def _cuStreamSynchronize(self, stream):
        return self.drain(stream)

    # streams

    def give(self, stream, work):
        """Put work at the end of a stream."""
        self.waiting.setdefault(stream, []).append(work)

    def drain(self, stream, upto=None):
        """Do what a stream has been given, up to so many pieces of work since its start."""
        code = 0
        while self.waiting.get(stream) and (upto is None or self.done.get(stream, 0) < upto):
            code = code or self.waiting[stream].pop(0)() or 0
            self.done[stream] = self.done.get(stream, 0) + 1
        return code


class Foreign:
    """An array of another library in device memory, which says so by CUDA's interface."""

    def __init__(self, fake, values, stream=None, card=0, **changes):
        values = np.asarray(values)
        place = ctypes.c_uint64()
        fake.contexts.append(500 + card)
        assert fake.cuMemAlloc_v2(ctypes.byref(place), values.nbytes) == 0
        fake.contexts.pop()
        self.pointer, self.values, self.fake = place.value, values, fake
        self.interface = {
            "version": 3,
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "stream": stream,
            **changes,
        }
        # its numbers come when its stream gets there
        plain = np.ascontiguousarray(values)
        fake.give(stream, lambda: ctypes.memmove(self.pointer, plain.ctypes.data, plain.nbytes) * 0)
        if stream is None:
            fake.drain(None)

    @property
    def __cuda_array_interface__(self):
        return self.interface

    def read(self):
        """Return its numbers as they are now."""
        block = np.empty_like(np.ascontiguousarray(self.values))
        ctypes.memmove(block.ctypes.data, self.pointer, block.nbytes)
        return block


class ByDlpack:
    """An array that is known by DLPack alone."""

    def __init__(self, foreign, kind=dlpack.CUDA):
        self.foreign, self.kind, self.streams = foreign, kind, []

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        array, place = self.foreign, self.__dlpack_device__()
        bits = 8 * array.values.dtype.itemsize
        return dlpack.capsule_of(array.pointer, array.values.shape, bits, place, array)
