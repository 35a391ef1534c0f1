"""Graph to graph: derivatives of a program's results by its inputs, forward and reverse.

Forward mode takes one sweep for each input, reverse mode one for each weighted sum of results.
Either way it is one graph: what the derivatives share with the program and with each other is
computed once, and what is zero is never there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sixfold.graph.build import Graph, Node
from sixfold.graph.passes import live
from sixfold.graph.program import CONST, INPUT, Program
from sixfold.scalar import RULES, ZERO, Op, Scalar


def jacobian(program: Program, inputs: Sequence[int]) -> Program:
    """Return the program of all derivatives d result / d input, row by row (forward mode).

    Args:
        program: as traced, without fused operations.
        inputs: numbers of the inputs to differentiate by.
    """
    copy = _Copy.of(program)
    columns = [_along(program, copy.partials, wanted) for wanted in inputs]
    rows = [column[k] for k in program.outputs for column in columns]
    return live(copy.graph.finish(rows))


def gradient(program: Program, inputs: Sequence[int]) -> Program:
    """Return the program of d (weights . results) / d input for some inputs (reverse mode).

    It takes the program's inputs, then one weight for each result.  Its length is a few times the
    program's, however many inputs there are.

    Args:
        program: as traced, without fused operations.
        inputs: numbers of the inputs to differentiate by.
    """
    copy = _Copy.of(program)
    adjoint: list[Scalar] = [ZERO] * len(program.nodes)
    for k in program.outputs:
        adjoint[k] = adjoint[k] + copy.graph.input()
    # a node's adjoint is complete before any of its arguments is visited
    for k in range(len(program.nodes) - 1, -1, -1):
        for a, partial in zip(program.nodes[k][1:], copy.partials.get(k, ()), strict=False):
            if adjoint[k] is not ZERO and partial is not ZERO:
                adjoint[a] = adjoint[a] + partial * adjoint[k]
    place = {arguments[0]: k for k, (op, *arguments) in enumerate(program.nodes) if op == INPUT}
    found = [adjoint[place[n]] if n in place else ZERO for n in inputs]
    return live(copy.graph.finish(found))


@dataclass(frozen=True)
class _Copy:
    """The nodes of a program in a graph that can grow, with their partial derivatives."""

    graph: Graph
    partials: dict[int, tuple[Scalar, ...]]

    @classmethod
    def of(cls, program: Program) -> _Copy:
        graph = Graph()
        given = [graph.input() for _ in range(program.inputs)]
        value: list[Node] = []
        for op, *arguments in program.nodes:
            if op == INPUT:
                value.append(given[arguments[0]])
            elif op == CONST:
                value.append(Node(graph, graph.constant(arguments[0])))
            else:
                value.append(Node(graph, graph.operation(op, [value[a].index for a in arguments])))
        partials = {
            k: RULES[Op(op)].partials(*(value[a] for a in arguments))
            for k, (op, *arguments) in enumerate(program.nodes)
            if op not in (INPUT, CONST)
        }
        return cls(graph, partials)


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
