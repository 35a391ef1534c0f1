"""The arrays around a program: how many elements of each, and the signature NumPy sees."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sixfold.errors import ShapeError

#: Bytes of all results of a call from which their memory is kept. The C library keeps arrays of up
#: to 32 MiB, but returns memory to the system when twice the largest is free: without the pool,
#: derivatives of ur5's inverse dynamics of 4,096 states (3 x 1.2 MB) took 4.7 times as long.
#: Panda's mass matrices (1.6 MB) took the same time.
MIN_POOLED_BYTES = 1 << 21
LINE_BYTES = 64  #: Bytes of a cache line.

MAX_CORE_AXES = 3  #: Core axes that the inner loop can walk.

#: Arguments and results that NumPy allows a ufunc.
MAX_ARRAYS = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """The arrays around a program: core shape of each input array and of each output array.

    The program's results are those of the first output, then those of the second, and so on.
    """

    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    dtype: str = "float64"
    #: Numbers, by input array and place, that the plain call looks at: it takes no states where one
    #: of them is zero, and leaves them to the caller.
    nonzero: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        """Refuse arrays of more core axes than the inner loop can walk, and too many arrays."""
        if any(len(shape) > MAX_CORE_AXES for shape in self.shapes):
            raise ShapeError(
                "kernel",
                "arrays",
                f"at most {MAX_CORE_AXES} axes for one state",
                self.shapes,
                "reshape the arrays of one state to fewer axes",
            )
        if not self.outputs or len(self.shapes) > MAX_ARRAYS:
            raise ShapeError(
                "kernel",
                "arrays",
                f"at least one result, at most {MAX_ARRAYS} arguments and results together",
                self.shapes,
                "join arrays into fewer, longer ones",
            )

    @property
    def scalar(self) -> str:
        """LLVM's name of one element."""
        return {"float64": "double", "float32": "float"}[self.dtype]

    @property
    def item(self) -> int:
        """Bytes of one element."""
        return {"float64": 8, "float32": 4}[self.dtype]

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """Elements of a state in each input array."""
        return tuple(map(prod, self.inputs))

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """Elements of a state in each output array."""
        return tuple(map(prod, self.outputs))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Elements of a state in each array, outputs last."""
        return (*self.input_sizes, *self.output_sizes)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Core shapes, outputs last."""
        return (*self.inputs, *self.outputs)

    @property
    def dense(self) -> Layout:
        """The same without empty arrays: what kernels are made for.

        A program is the same for both, since it counts elements.
        """
        if all(self.sizes):
            return self
        inputs = tuple(shape for shape in self.inputs if prod(shape))
        outputs = tuple(shape for shape in self.outputs if prod(shape))
        if not inputs or not outputs:
            raise ShapeError(
                "kernel",
                "arrays",
                "at least one number in the arguments and one in the results",
                self.shapes,
                "leave out what has no numbers: there is nothing to compute",
            )
        return Layout(inputs, outputs, self.dtype)

    @property
    def steps(self) -> list[int]:
        """Bytes from state to state in each dense array, then the strides of all core axes."""
        own = [size * self.item for size in self.sizes]
        return [*own, *(x for shape in self.shapes for x in dense_strides(shape, self.item))]

    @property
    def signature(self) -> str:
        """The NumPy signature with the sizes in it."""
        texts = ["(" + ",".join(map(str, shape)) + ")" for shape in self.shapes]
        count = len(self.inputs)
        return ",".join(texts[:count]) + "->" + ",".join(texts[count:])


def dense_strides(shape: Shape, item: int) -> list[int]:
    """Return the strides of axes in C order without gaps, in bytes."""
    return [item * prod(max(size, 1) for size in shape[axis + 1 :]) for axis in range(len(shape))]


def tag(output: int) -> str:
    """Return what tells the names of an output apart in LLVM text; the first has plain names."""
    return f"_{output}" if output else ""
