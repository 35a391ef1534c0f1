"""Machine code of scans: loaded, called, and built or found in the cache."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.compiler.graph.passes import Outlined, optimise, with_subroutine
from sixfold.compiler.graph.program import Program
from sixfold.compiler.llvm.modules.array_fields import data_pointers
from sixfold.compiler.llvm.modules.scan import LOST, NO_MEMORY, Scan, module
from sixfold.compiler.llvm.runtime import cache, jit
from sixfold.compiler.llvm.runtime.kernel import toolchain
from sixfold.errors import KernelMemoryError


class ScanKernel:
    """Machine code of a scan."""

    def __init__(self, texts: Sequence[str], scan: Scan, lanes: int, code: bytes) -> None:
        """Load object code; the texts are those of the step and of its block, if it has one."""
        self.texts, self.scan, self.lanes = tuple(texts), scan, lanes
        self._loaded, self._dtype = jit.Loaded(code), np.dtype(scan.dtype)
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        arrays = len(scan.sizes) + len(scan.carried)
        self._pointers, self._words = pointer * arrays, word * (2 * arrays)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, word, word, word)
        self._run = kind(self._loaded.address("scan"))

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes, roughly."""
        return self._loaded.size + sum(map(len, self.texts)) + 4096

    @property
    def operations(self) -> int:
        """Operations of a step, roughly; a block that it calls counts once."""
        return sum(text.count("\n") for text in self.texts)

    @property
    def graph(self) -> Outlined:
        """The optimised program of one step, and the block that it calls."""
        return parse_step(self.texts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as texts; the code is made again, or found in the cache, where it is loaded."""
        return rebuild_scan, (self.texts, self.scan, self.lanes)

    def __call__(
        self,
        arrays: Sequence[NDArray[Any]],
        outputs: Sequence[NDArray[Any]],
        steps: int,
        every: int,
    ) -> bool:
        """Run all steps of all rows; the interpreter lock is free meanwhile.

        Args:
            arrays: (rows, size) for carried and fixed arrays, (rows, steps, size) for the others,
                in the order of the program; rows and steps may have any strides, 0 included.
            outputs: (rows, steps // every, size), one for each carried array.
            steps: how often.
            every: steps from one written state to the next.

        Returns:
            Whether what is carried has left the finite numbers in the end, in any row.
        """
        if len(outputs[0]) == 0 or steps == 0:
            return False
        return self.prepare(arrays, outputs, steps, every)()

    def prepare(
        self,
        arrays: Sequence[NDArray[Any]],
        outputs: Sequence[NDArray[Any]],
        steps: int,
        every: int,
    ) -> Callable[[], bool]:
        """Return the call on these arrays, for many calls on the same memory; it keeps them alive.

        Takes at least one row and one step.
        """
        strides = self._words(*self._strides(arrays, outputs, steps, every))
        held = (*arrays, *outputs)
        pointers = self._pointers(*data_pointers(held))

        def call(_: Any = held) -> bool:
            return _check_code(self._run(pointers, strides, len(outputs[0]), steps, every))

        return call

    def _strides(
        self,
        arrays: Sequence[NDArray[Any]],
        outputs: Sequence[NDArray[Any]],
        steps: int,
        every: int,
    ) -> list[int]:
        """Return bytes from row to row and from step to step, two for each array."""
        scan, rows, dtype = self.scan, outputs[0].shape[0], self._dtype
        # carried and fixed arrays need no step axis, the others one row for each step
        kept = len(scan.carried) + len(scan.fixed)
        strides: list[int] = []
        least = [0] * kept + [steps] * len(scan.each) + [steps // every] * len(outputs)
        sizes = (*scan.sizes, *scan.carried)
        for array, size, times in zip((*arrays, *outputs), sizes, least, strict=True):
            shape, along = array.shape, array.strides
            assert array.dtype == dtype and shape[0] == rows and shape[-1] == size
            assert size <= 1 or along[-1] == dtype.itemsize
            assert not times or shape[1] >= times
            strides.append(along[0])
            strides.append(along[1] if len(shape) > 2 else 0)
        return strides

    def run(
        self,
        arrays: Sequence[NDArray[Any]],
        strides: Sequence[int],
        rows: int,
        steps: int,
        every: int,
    ) -> bool:
        """Run all steps as `__call__` does, without validation, for at least one row.

        Args:
            arrays: all of them, outputs last.
            strides: bytes from row to row and from step to step, two for each array.
            rows: how many.
            steps: how often.
            every: steps from one written state to the next.

        Returns:
            Whether what is carried has left the finite numbers in the end.
        """
        pointers = self._pointers(*data_pointers(arrays))
        return _check_code(self._run(pointers, self._words(*strides), rows, steps, every))


def _check_code(code: int) -> bool:
    """Return whether what is carried has left the finite numbers, by what a run returns."""
    if code == NO_MEMORY:
        raise KernelMemoryError(
            "no memory for the scratch of a kernel",
            "none from the allocator",
            "drop large arrays that are not needed any more, or use fewer threads",
        )
    return code == LOST


def build_scan(program: Program, scan: Scan, *, lanes: int | None = None) -> ScanKernel:
    """Compile a step that takes what `scan` says, or find its code by its text."""
    assert len(program.outputs) == sum(scan.carried) and program.inputs == sum(scan.sizes)
    texts = [optimise(part).text() for part in with_subroutine(program) if part is not None]
    return _build(texts, scan, lanes or jit.lanes(scan.dtype))


def rebuild_scan(texts: Sequence[str], scan: Scan, lanes: int) -> ScanKernel:
    """Return the kernel of a step's optimised texts, as pickles keep it."""
    return _build(texts, scan, min(lanes, jit.lanes(scan.dtype)))


def _build(texts: Sequence[str], scan: Scan, W: int) -> ScanKernel:
    key = cache.digest("scan", *texts, repr(scan), str(W), *toolchain())
    code = cache.read(key)
    if code is None:
        code = jit.object_code(module(parse_step(texts), scan, W, jit.host()[0]))
        cache.write(key, code)
    return ScanKernel(texts, scan, W, code)


def parse_step(texts: Sequence[str]) -> Outlined:
    """Return the optimised program of a step, and the block that it calls, from their texts."""
    step, *block = map(Program.parse, texts)
    return Outlined(step, block[0] if block else None)
