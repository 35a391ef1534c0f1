"""Functions as graphs of operations, without compiling them: for those who write other code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.errors import ArgumentError
from sixfold.evaluate.kernels.lazily import graphs
from sixfold.scalar.check import is_number

if TYPE_CHECKING:
    from sixfold.graph import Program as Program


def graph_of(
    function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]
) -> tuple[Program, tuple[int, ...]]:
    """Return the optimised program of a function of arrays, and the shape of its result.

    Args:
        function: takes one array for each shape, as `sixfold.compile` does.
        shapes: shapes of one state's arguments.
    """
    program, shape = traced(function, shapes)
    return graphs().optimise(program), shape


def traced(
    function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]
) -> tuple[Program, tuple[int, ...]]:
    """Return the program of a function of arrays as it was traced, and the shape of its result."""
    found: list[tuple[int, ...]] = []

    def flat(*lists: list[Any]) -> list[Any]:
        arrays = []
        for values, shape in zip(lists, shapes, strict=True):
            array = np.empty(len(values), object)
            array[:] = values
            arrays.append(array.reshape(shape))
        result = np.asarray(function(*arrays), dtype=object)
        for x in result.reshape(-1):
            if not is_number(x):
                where, fix = "compile: argument 'function'", "return numbers, or an array of them"
                raise ArgumentError(f"{where} returned", "numbers", x, fix)
        found.append(result.shape)
        return list(result.reshape(-1))

    program = graphs().trace(flat, [prod(shape) for shape in shapes])
    return program, found[0]
