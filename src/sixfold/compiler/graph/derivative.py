"""Graph to graph: derivatives of a program's results by its inputs, forward and reverse.

Forward mode takes one sweep for each input, reverse mode one for each weighted sum of results.
Either way it is one graph: what the derivatives share with the program and with each other is
computed once, and what is zero is never there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sixfold.compiler.graph.build import Graph, Node
from sixfold.compiler.graph.passes import live
from sixfold.compiler.graph.program import CONST, INPUT, Final, Program, Repeat, operands
from sixfold.compiler.graph.repeat import record, unroll
from sixfold.scalar import RULES, ZERO, Op, Scalar


def jacobian(program: Program, inputs: Sequence[int]) -> Program:
    """Return the program of all derivatives d result / d input, row by row (forward mode).

    The derivative of a repetition is one of values and tangents, all columns in one body.

    Args:
        program: as traced, without fused operations.
        inputs: numbers of the inputs to differentiate by.
    """
    if program.bodies():
        return _jacobian_of_rounds(program, inputs)
    copy = _Copy.of(program)
    columns = [_slopes(program, copy.partials, wanted) for wanted in inputs]
    rows = [column[k] for k in program.outputs for column in columns]
    return live(copy.graph.finish(rows))


def gradient(program: Program, inputs: Sequence[int]) -> Program:
    """Return the program of d (weights . results) / d input for some inputs (reverse mode).

    It takes the program's inputs, then one weight for each result.  Its length is a few times the
    program's, however many inputs there are.  Repetitions are unrolled first: the reverse sweep
    needs the values of every round.

    Args:
        program: as traced, without fused operations.
        inputs: numbers of the inputs to differentiate by.
    """
    program = unroll(program)
    copy = _Copy.of(program)
    # adjoint of a node: d (weights . results) / d node
    adjoint: list[Scalar] = [ZERO] * len(program.nodes)
    for k in program.outputs:
        adjoint[k] = adjoint[k] + copy.graph.input()
    # a node's adjoint is complete before any of its arguments is visited
    for k in range(len(program.nodes) - 1, -1, -1):
        for a, partial in zip(program.nodes[k][1:], copy.partials.get(k, ()), strict=False):
            if adjoint[k] is not ZERO and partial is not ZERO:
                adjoint[a] = adjoint[a] + partial * adjoint[k]
    # adjoints of the inputs; zero for those that no result depends on
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
        # copy every node, then take its partial derivatives
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


def _slopes(program: Program, partials: dict[int, tuple[Scalar, ...]], wanted: int) -> list[Scalar]:
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


Slopes = list[Scalar]  # derivatives of one number, one for each column


def _jacobian_of_rounds(program: Program, inputs: Sequence[int]) -> Program:
    """Return the derivatives of a program with repetitions: one sweep for all columns."""
    graph = Graph()
    given = [graph.input() for _ in range(program.inputs)]
    # each column starts with one input's unit tangent
    unit = [[1.0 if n == wanted else ZERO for wanted in inputs] for n in range(program.inputs)]
    _, slopes = _propagate(graph, program, given, unit, len(inputs))
    return live(graph.finish([x for row in slopes for x in row]))


def _propagate(
    graph: Graph, program: Program, given: Sequence[Scalar], along: Sequence[Slopes], columns: int
) -> tuple[list[Scalar], list[Slopes]]:
    """Return the results of a program on other numbers, and their slopes."""
    value: list[Any] = []
    slope: list[Any] = []
    for op, *arguments in program.nodes:
        numbers = [value[a] for a in operands((op, *arguments))]
        rates = [slope[a] for a in operands((op, *arguments))]
        x: Any
        s: Any = [ZERO] * columns
        if op == INPUT:
            x, s = given[arguments[0]], along[arguments[0]]
        elif op == CONST:
            x = arguments[0]
        elif isinstance(op, Repeat):
            x, s = _propagate_rounds(graph, op, numbers, rates, columns)
        elif isinstance(op, Final):
            x, s = numbers[0][op.place], rates[0][op.place]
        else:
            x = Node(graph, graph.operation(op, [graph.lift(y) for y in numbers]))
            partials = RULES[Op(op)].partials(*numbers)
            s = [_chain(partials, [rate[j] for rate in rates]) for j in range(columns)]
        value.append(x)
        slope.append(s)
    return [value[k] for k in program.outputs], [slope[k] for k in program.outputs]


def _chain(partials: Sequence[Scalar], rates: Sequence[Scalar]) -> Scalar:
    total: Scalar = ZERO
    for partial, rate in zip(partials, rates, strict=True):
        if rate is not ZERO and partial is not ZERO:
            total = total + partial * rate
    return total


def _propagate_rounds(
    graph: Graph, op: Repeat, values: list[Scalar], slopes: list[Slopes], columns: int
) -> tuple[list[Scalar], list[Slopes]]:
    """Repeat a body on values and tangents; tangents that stay zero are not carried."""
    body, size = op.body, len(op.body.outputs)
    if op.rounds == 1:
        return _propagate(graph, body, values, slopes, columns)
    # carried tangents: a column may move some values and leave others at zero
    moving = [
        (n, j)
        for j in range(columns)
        for n in sorted(_dependents(body, {n for n, s in enumerate(slopes) if s[j] is not ZERO}))
    ]
    tangents = [slopes[n][j] for n, j in moving]

    def step(carried: Sequence[Scalar]) -> list[Scalar]:
        rates = [[ZERO] * columns for _ in range(size)]
        for (n, j), x in zip(moving, carried[size:], strict=True):
            rates[n][j] = x
        given, along = [*carried[:size], *values[size:]], [*rates, *slopes[size:]]
        new, rates = _propagate(graph, body, given, along, columns)
        return [*new, *(rates[n][j] for n, j in moving)]

    # record the loop, or write it out where it is short
    carried: list[Scalar] = [*values[:size], *tangents]
    found = record(graph, op.rounds, step, carried)
    if found is None:
        found = carried
        for _ in range(op.rounds):
            found = step(found)
    rates: list[Slopes] = [[ZERO] * columns for _ in range(size)]
    for (n, j), x in zip(moving, found[size:], strict=True):
        rates[n][j] = x
    return list(found[:size]), rates


def _dependents(body: Program, inputs: set[int]) -> set[int]:
    """Return the carried values that depend on some inputs of a body, after any rounds."""
    # repeat until no more carried values depend on them
    size = len(body.outputs)
    while True:
        found: set[int] = set()
        for k, node in enumerate(body.nodes):
            begins = node[0] == INPUT and node[1] in inputs
            if begins or not found.isdisjoint(operands(node)):
                found.add(k)
        more = {n for n, k in enumerate(body.outputs) if k in found}
        if more <= inputs:
            return {n for n in inputs if n < size}
        inputs = inputs | more
