"""Functions as graphs of operations, without compiling them: for those who write other code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.errors import ArgumentError, ShapeError
from sixfold.forks import lazily
from sixfold.model import Model
from sixfold.runtime.lazy_import import compiler, graphs
from sixfold.runtime.quantity import QUANTITIES
from sixfold.scalar.check import is_number

if TYPE_CHECKING:
    from sixfold.compiler.graph.program import Program as Program


def graph_of(
    function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]
) -> tuple[Program, tuple[tuple[int, ...], ...]]:
    """Return the optimised program of a function of arrays, and the shape of each result.

    Args:
        function: takes one array for each shape, as `sixfold.compile` does.
        shapes: shapes of one state's arguments.
    """
    program, outputs = trace(function, shapes)
    return graphs().optimise(graphs().unroll(program)), outputs


@dataclass(frozen=True)
class FunctionProgram:
    """What a function of arrays does: its program, and the shape of each result."""

    program: Program
    outputs: tuple[tuple[int, ...], ...]

    @cached_property
    def digest(self) -> str:
        """Hash of operations and constants, equal for functions that do the same."""
        text = f"{self.outputs}\n{self.program.text()}"
        return str(lazily("hashlib").sha256(text.encode()).hexdigest())

    def value(self, arrays: Sequence[Any]) -> Any:
        """Return the results for arrays of numbers, one after the other; NaN where undefined."""
        numbers = [float(x) for array in arrays for x in np.reshape(array, -1)]
        try:
            return np.array(graphs().value_at(self.program, numbers))
        except (ArithmeticError, ValueError):
            return np.full(len(self.program.outputs), np.nan)


def program_of(function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> FunctionProgram:
    """Trace a function of arrays, shapes being those of one state's arguments.

    Constants are folded in the default floating-point environment.
    """
    with compiler().usual_environment():
        return FunctionProgram(*trace(function, shapes))


def numbers_array(values: Sequence[Any]) -> Any:
    """Return numbers as an array: of floats, of objects, or of traced numbers."""
    if all(isinstance(x, (float, int)) for x in values):
        return np.array(values, float)
    if any(hasattr(x, "graph") for x in values):
        return graphs().traced_array(list(values), (len(values),))
    array = np.empty(len(values), object)
    array[:] = values
    return array


def trace(
    function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]
) -> tuple[Program, tuple[tuple[int, ...], ...]]:
    """Return the program of a function of arrays as it was traced, and the shape of each output.

    A tuple with an array or a list in it is several outputs; anything else is one, a tuple of
    numbers included.
    """
    found: list[tuple[int, ...]] = []

    def flat(*lists: list[Any]) -> list[Any]:
        arrays = [graphs().traced_array(x, shape) for x, shape in zip(lists, shapes, strict=True)]
        outputs = [_output(x) for x in _parts(function(*arrays))]
        found.extend(output.shape for output in outputs)
        return [x for output in outputs for x in output.reshape(-1)]

    program = graphs().trace(flat, [prod(shape) for shape in shapes])
    return program, tuple(found)


def _parts(result: Any) -> Sequence[Any]:
    """Return the outputs of a function, each a number, an array or nested lists of numbers."""
    return result if _several(result) else (result,)


def _several(result: Any) -> bool:
    return isinstance(result, tuple) and any(isinstance(x, (np.ndarray, list)) for x in result)


def _output(result: Any) -> Any:
    """Return one output as an array of numbers."""
    where = "compile: argument 'function' returned"
    if _several(result):
        fix = "return a tuple of arrays, with no tuple of arrays in it"
        raise ArgumentError(f"{where} a tuple with a tuple in it", "arrays", result, fix)
    try:
        array = np.asarray(result, dtype=object).view(np.ndarray)
    except ValueError:  # arrays of several axes that differ in more than the first
        raise _ragged_rows_error(result) from None
    for x in array.reshape(-1):
        if isinstance(x, (list, tuple, np.ndarray)):
            raise _ragged_rows_error(result)
        if not is_number(x):
            raise ArgumentError(where, "numbers", x, "return numbers, or an array of them")
    return array


def _ragged_rows_error(result: Any) -> ShapeError:
    fix = "return rows of one length, or a tuple of arrays to get several results"
    shapes = [np.shape(x) if isinstance(x, np.ndarray) else f"({len(x)},)" for x in result]
    return ShapeError("compile", "function", "a result with rows of one length", shapes, fix)


# -- along the motion subspaces: the columns are velocities, not coordinates


def tangent_derivative(
    function: Callable[..., Any], shapes: Sequence[tuple[int, ...]], along: int, model: Model
) -> tuple[Program, tuple[tuple[int, ...], ...]]:
    """Return the program of a function's derivatives by q along the motion subspaces, with shapes.

    The function is traced at q + dq/dt e, differentiated by e, and e is zero then.

    Args:
        function: takes one array for each shape; a tuple of arrays is several results.
        shapes: shapes of one state's arguments.
        along: which argument is q.
        model: gives dq/dt for each velocity.
    """

    def at_displacement(*arrays: Any) -> Any:
        *given, e = arrays
        q = list(given[along])
        rate = QUANTITIES["position_rate"].reading(model, model.tree, q, list(e))
        given[along] = numbers_array([x + dx for x, dx in zip(q, rate, strict=True)])
        return function(*given)

    program, outputs = trace(at_displacement, [*shapes, (model.nv,)])
    start = program.inputs - model.nv
    slopes = graphs().jacobian(program, range(start, program.inputs))
    return _last_inputs_zero(slopes, start), tuple((*shape, model.nv) for shape in outputs)


def _last_inputs_zero(program: Program, kept: int) -> Program:
    """Return a program with its inputs from number `kept` on replaced by zero, and folded."""
    graph = graphs().Graph(inputs=kept)
    number: list[int] = []
    for op, *arguments in program.nodes:
        if op == "input" and arguments[0] >= kept:
            number.append(graph.constant(0.0))
        elif op in ("input", "const"):
            number.append(graph.keep(op, *arguments))
        else:
            number.append(graph.operation(op, [number[k] for k in arguments]))
    return graphs().Program(kept, tuple(graph.nodes), tuple(number[k] for k in program.outputs))
