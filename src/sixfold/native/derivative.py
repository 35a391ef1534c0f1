"""Graph to graph: the derivatives of a program's results along some of its inputs.

Forward differentiation, one sweep for each input, in one graph: what the derivatives share with the
program and with each other is worked out once, and what is zero is never there.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.native.graph import CONST, INPUT, Graph, Node, Program
from sixfold.native.passes import live
from sixfold.scalar import RULES, ZERO, Op, Scalar


def jacobian(program: Program, inputs: Sequence[int]) -> Program:
    """Return the program of all derivatives d result / d input, row by row.

    Args:
        program: as traced, without fused operations.
        inputs: numbers of the inputs to differentiate by.
    """
    graph = Graph()
    given = [graph.input() for _ in range(program.inputs)]
    value: list[Node] = []
    for op, *arguments in program.nodes:
        if op == INPUT:
            value.append(given[arguments[0]])
        elif op == CONST:
            value.append(Node(graph, graph.constant(arguments[0])))
        else:
            value.append(Node(graph, graph.again(op, [value[a].index for a in arguments])))
    partials = {
        k: RULES[Op(op)].partials(*(value[a] for a in arguments))
        for k, (op, *arguments) in enumerate(program.nodes)
        if op not in (INPUT, CONST)
    }
    columns = [_along(program, partials, wanted) for wanted in inputs]
    rows = [column[k] for k in program.outputs for column in columns]
    return live(graph.finish(rows))


def _along(program: Program, partials: dict[int, tuple[Scalar, ...]], wanted: int) -> list[Scalar]:
    """Return the derivative of every node along one input."""
    slope: list[Scalar] = []
    for k, (op, *arguments) in enumerate(program.nodes):
        total: Scalar = ZERO
        if op == INPUT:
            total = 1.0 if arguments[0] == wanted else ZERO
        elif op != CONST:
            for a, partial in zip(arguments, partials[k], strict=True):
                if slope[a] is not ZERO and partial is not ZERO:
                    total = total + partial * slope[a]
        slope.append(total)
    return slope
