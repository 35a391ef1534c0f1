"""Machine code for a core and a model: found in memory, then on disk, and only then compiled.

The compiler is imported when the first kernel is wanted.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.model import CustomJoint, Model

if TYPE_CHECKING:
    from sixfold.native import Kernel, Layout

MOST_NODES = 40_000
"""Largest traced program that is compiled as straight-line code; beyond, NumPy evaluates it."""

_READY: dict[tuple[Any, ...], Kernel | None] = {}
_LOCK = threading.Lock()


def _new_lock() -> None:
    """Give a forked child a lock of its own: the parent's may have been held."""
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def kernel_for(
    function: str,
    core: Callable[..., Any],
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    output: tuple[int, ...],
    dtype: str = "float64",
) -> Kernel | None:
    """Return the kernel of a core for a model, or None where it has to run on NumPy.

    Args:
        function: public name, for messages and the kernel.
        core: function of (model, tree, one list for each input), a partial when it has options.
        model: the robot.
        inputs: core shape of each input array, by name.
        output: core shape of the result.
        dtype: float64 or float32.
    """
    options = core.keywords if isinstance(core, partial) else {}
    body = core.func if isinstance(core, partial) else core
    key = (function, body, model, tuple(inputs.items()), tuple(options.items()), dtype)
    if key not in _READY:
        with _LOCK:
            if key not in _READY:
                _READY[key] = _made(function, core, options, model, inputs, output, dtype)
    return _READY[key]


def _made(
    function: str,
    core: Callable[..., Any],
    options: Mapping[str, Any],
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    output: tuple[int, ...],
    dtype: str,
) -> Kernel | None:
    from sixfold.native import Layout, build, cache, supported, toolchain, trace

    layout = Layout(tuple(inputs.values()), output, dtype)
    if 0 in layout.sizes:
        return None
    # a joint made of the user's own code is known by its trace only
    known = not any(isinstance(body.joint, CustomJoint) for body in model.bodies)
    name = cache.digest(
        "model", function, repr(sorted(options.items())), model.digest, repr(layout), *toolchain()
    )
    kept = cache.read(name) if known else None
    if kept is not None:
        return _unpacked(function, kept, layout)
    with announced(f"{function} for '{model.name}'"):
        program = trace(partial(core, model, model.tree), [prod(s) for s in layout.inputs])
        if not supported(program) or len(program.nodes) > MOST_NODES:
            return None
        kernel, code = build(function, program, layout)
    if known:
        text = kernel.text.encode()
        cache.write(name, len(text).to_bytes(8, "little") + text + code)
    return kernel


def _unpacked(function: str, kept: bytes, layout: Layout) -> Kernel:
    from sixfold.native import Kernel, lanes

    length = int.from_bytes(kept[:8], "little")
    text = kept[8 : 8 + length].decode()
    return Kernel(function, text, layout, lanes(layout.dtype), kept[8 + length :])


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Say what is being compiled when it takes longer than a second and somebody watches."""

    def say() -> None:
        if sys.stderr.isatty():
            print(f"sixfold: compiling {what} ...", file=sys.stderr)

    timer = threading.Timer(1.0, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def user_kernel(
    function: Callable[..., Any], name: str, shapes: Sequence[tuple[int, ...]], dtype: str
) -> Kernel:
    """Compile a function of the user's own, written with arrays and sixfold functions."""
    from sixfold.native import SUPPORTED, Layout, build, supported, trace

    found: list[tuple[int, ...]] = []

    def flat(*lists: list[Any]) -> list[Any]:
        arrays = []
        for values, shape in zip(lists, shapes, strict=True):
            array = np.empty(len(values), object)
            array[:] = values
            arrays.append(array.reshape(shape))
        result = np.asarray(function(*arrays), dtype=object)
        found.append(result.shape)
        return list(result.reshape(-1))

    program = trace(flat, [prod(shape) for shape in shapes])
    layout = Layout(tuple(shapes), found[0], dtype)
    if not supported(program):
        missing = sorted({op for op, *_ in program.nodes} - SUPPORTED)
        raise NotImplementedError(f"{name}: no machine code for {', '.join(missing)} yet")
    with announced(name):
        kernel, _ = build(name, program, layout, doc=function.__doc__ or "")
    return kernel
