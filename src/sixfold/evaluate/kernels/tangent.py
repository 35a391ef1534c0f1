"""Derivatives along the motion subspaces: the columns are velocities, not coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sixfold.evaluate.kernels.lazily import graphs
from sixfold.evaluate.kernels.trace_function import numbers_array, traced
from sixfold.evaluate.scalar_functions import position_rate
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.graph import Program

INPUT, CONST = "input", "const"


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

    def moved(*arrays: Any) -> Any:
        *given, e = arrays
        q = list(given[along])
        rate = position_rate(model, model.tree, q, list(e))
        given[along] = numbers_array([x + dx for x, dx in zip(q, rate, strict=True)])
        return function(*given)

    program, outputs = traced(moved, [*shapes, (model.nv,)])
    start = program.inputs - model.nv
    slopes = graphs().jacobian(program, range(start, program.inputs))
    return _last_inputs_zero(slopes, start), tuple((*shape, model.nv) for shape in outputs)


def _last_inputs_zero(program: Program, kept: int) -> Program:
    """Return a program with its inputs from number `kept` on replaced by zero, and folded."""
    graph = graphs().Graph(inputs=kept)
    number: list[int] = []
    for op, *arguments in program.nodes:
        if op == INPUT and arguments[0] >= kept:
            number.append(graph.constant(0.0))
        elif op in (INPUT, CONST):
            number.append(graph.keep(op, *arguments))
        else:
            number.append(graph.operation(op, [number[k] for k in arguments]))
    return graphs().Program(kept, tuple(graph.nodes), tuple(number[k] for k in program.outputs))
