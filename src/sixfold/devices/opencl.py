"""OpenCL devices: which one is used, its queue, and programs built for it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sixfold.errors import NotApplicableError, OptionError
from sixfold.evaluate import opencl_options
from sixfold.optional import optional

GROUP = 64
"""Work items of a group."""


MATH = ("kernel", "device")
"""Elementary functions of a program: those of the kernels, in double, or the device's own."""


def queue_of(function: str, device: Any, double: bool = True) -> Any:
    """Return the queue of a device: the one that is given, else a graphics card, else any.

    It has to have double precision, if that is needed.
    """
    cl = optional("pyopencl", function)
    if device is not None and not isinstance(device, cl.Device):
        raise OptionError(function, "device", "a pyopencl.Device", device)
    found = device if device is not None else _default(function, double)
    if double:
        refuse_single(function, found)
    return _queue(found)


def refuse_single(function: str, device: Any) -> None:
    """Refuse a device that has no double precision."""
    if "cl_khr_fp64" not in device.extensions.split():
        where = f"device '{device.name.strip()}', which has no double precision"
        fix = "pass another device, or float32 arrays and math='device'"
        raise NotApplicableError(function, where, fix)


@lru_cache(maxsize=2)
def _default(function: str, double: bool) -> Any:
    cl = optional("pyopencl", function)
    try:
        devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:
        devices = []
    devices = [d for d in devices if not double or "cl_khr_fp64" in d.extensions.split()]
    if not devices:
        fix = "install the driver of your graphics card, or PoCL for the processor"
        raise NotApplicableError(function, "a machine without an OpenCL device", fix)
    cards = [d for d in devices if d.type & cl.device_type.GPU]
    return (cards or devices)[0]


@lru_cache(maxsize=8)
def _queue(device: Any) -> Any:
    cl = optional("pyopencl", "opencl")
    return cl.CommandQueue(cl.Context([device]))


def program_of(queue: Any, source: str) -> Any:
    """Return a source text compiled for a queue's device."""
    cl = optional("pyopencl", "opencl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the device's compiler remarks
        return cl.Program(queue.context, source).build(options=list(opencl_options()))


def built(program: Any) -> Any:
    """Return a new kernel `run` of a program; it holds the arguments of a call."""
    return optional("pyopencl", "opencl").Kernel(program, "run")


def launch(queue: Any, kernel: Any, arrays: Sequence[Any], results: int, *counts: int) -> None:
    """Start a kernel with one work item for each of the first count.

    It begins when all arrays are there; the last ones, its results, are when it ends.
    """
    rows = -(-counts[0] // GROUP) * GROUP
    ready = [event for x in arrays for event in x.events]
    data = [x.data for x in arrays]
    event = kernel(queue, (rows,), (GROUP,), *data, *map(np.uint64, counts), wait_for=ready)
    for x in arrays[-results:]:
        x.add_event(event)
