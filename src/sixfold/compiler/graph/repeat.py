"""A fixed number of rounds: recorded as one node with a body of its own, or unrolled.

The step is traced once, on carried values, in the graph that it is called in.  What depends on
carried values becomes the body; everything else stays outside and is computed once (loop-invariant
code motion), so a step may use any number of the functions around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sixfold.compiler.graph.build import Graph, Node, inside
from sixfold.compiler.graph.numpy_functions import traced_array
from sixfold.compiler.graph.passes import copy_operation, live
from sixfold.compiler.graph.program import CONST, INPUT, Boundary, Final, Program, Repeat, operands
from sixfold.errors import ArgumentError
from sixfold.scalar import Scalar, Zero
from sixfold.scalar.repeat import on_repeat, repeat

#: Operations up to which all rounds are written out: the size of a piece, which keeps its values in
#: registers, where rounds pass theirs through memory.
MAX_UNROLLED_OPERATIONS = 130

#: One round: takes what is carried, returns what is carried on.
Step = Callable[[Sequence[Scalar]], Sequence[Scalar]]


def record(
    graph: Graph, rounds: int, step: Step, values: Sequence[Scalar], going: int | None = None
) -> Sequence[Scalar] | None:
    """Return what is carried after n rounds, or None where the rounds must be unrolled.

    Once the carried value `going` is not positive, a step must return what it takes.
    """
    # trace until it is known which values no round changes
    constant: set[int] = set()  # numbers that no round changes
    while True:
        begin = [x if n in constant else graph.carry() for n, x in enumerate(values)]
        results = step(begin)
        if not all(map(_is_ours, results)):
            return None
        first, last = [graph.lift(x) for x in begin], [graph.lift(x) for x in results]
        unchanged = {n for n, k in enumerate(last) if k == first[n]}
        if unchanged <= constant:
            break
        constant |= unchanged
    # the body works on the others alone
    moving = [n for n in range(len(values)) if n not in constant]
    body, outside = _body(graph, [first[n] for n in moving], [last[n] for n in moving])
    operations = sum(n for op, n in body.counts().items() if op not in (INPUT, CONST))
    if rounds * operations <= MAX_UNROLLED_OPERATIONS:
        return None
    # one node for all rounds, and one for each of its results
    given = [graph.lift(values[n]) for n in moving]
    place = moving.index(going) if going in moving else None
    node = graph.keep(Repeat(rounds, body, place), *given, *outside)
    found = {n: Node(graph, graph.keep(Final(k), node)) for k, n in enumerate(moving)}
    return [found.get(n, x) for n, x in enumerate(values)]


def _body(graph: Graph, first: list[int], last: list[int]) -> tuple[Program, list[int]]:
    """Return what leads from carried values to the next, and which values it needs from outside."""
    nodes, begin = graph.nodes, set(first)
    depends = inside(nodes, begin)
    # operations between the carried values and the results
    own: set[int] = set()
    stack = [k for k in last if k in depends]
    while stack:
        k = stack.pop()
        if k not in own and k not in begin:
            own.add(k)
            stack += [a for a in operands(nodes[k]) if a in depends]
    # equal steps have equal bodies: everything is numbered in the order of its first use
    read = [a for k in sorted(own) for a in operands(nodes[k])] + last
    outside = list(dict.fromkeys(a for a in read if a not in depends and nodes[a][0] != CONST))
    body = Graph()
    number = {a: body.input().index for a in (*first, *outside)}

    def lift(a: int) -> int:
        if a not in number:
            assert nodes[a][0] == CONST
            number[a] = body.constant(nodes[a][1])
        return number[a]

    for k in sorted(own):
        op, *arguments = nodes[k]
        known = [lift(a) for a in arguments]
        # subroutines are not looked for inside
        number[k] = known[0] if isinstance(op, Boundary) else copy_operation(body, op, known)
    ends = tuple(lift(k) for k in last)
    return live(Program(body.inputs, tuple(body.nodes), ends)), outside


def unroll(program: Program) -> Program:
    """Return a program with all rounds of its repetitions written out."""
    if not program.bodies():
        return program
    graph = Graph()
    given = [graph.input().index for _ in range(program.inputs)]
    ends = tuple(_inline(graph, program, given))
    return live(Program(program.inputs, tuple(graph.nodes), ends))


def value_at(program: Program, numbers: Sequence[float]) -> list[float]:
    """Return the results of a program for numbers, by folding constants."""
    graph = Graph()
    ends = _inline(graph, program, [graph.constant(x) for x in numbers])
    return [graph.nodes[k][1] for k in ends]


def _inline(graph: Graph, program: Program, given: Sequence[int]) -> list[int]:
    """Write the operations of a program on other nodes; return its results."""
    number: dict[int, Any] = {}
    for k, (op, *arguments) in enumerate(program.nodes):
        if op == INPUT:
            number[k] = given[arguments[0]]
        elif isinstance(op, Repeat):
            values = [number[a] for a in arguments]
            for _ in range(op.rounds):
                new = _inline(graph, op.body, values)
                values = [*new, *values[len(new) :]]
            number[k] = new
        elif isinstance(op, Final):
            number[k] = number[arguments[0]][op.place]
        else:
            known = arguments if op == CONST else [number[a] for a in arguments]
            number[k] = copy_operation(graph, op, known)
    return [number[k] for k in program.outputs]


def _numbers(carried: Any) -> Iterator[Any]:
    """Yield every number of what is carried."""
    if isinstance(carried, (tuple, list)):
        for x in carried:
            yield from _numbers(x)
    elif isinstance(carried, np.ndarray):
        yield from (x.item() if isinstance(x, np.generic) else x for x in carried.reshape(-1))
    else:
        yield carried.item() if isinstance(carried, np.generic) else carried


def _form(carried: Any) -> Any:
    """Return the shapes of what is carried."""
    if isinstance(carried, (tuple, list)):
        return [_form(x) for x in carried]
    return carried.shape if isinstance(carried, np.ndarray) else ()


def _restore_form(form: Any, numbers: Iterator[Any]) -> Any:
    """Return numbers in the form of something else."""
    if isinstance(form, (tuple, list)):
        return type(form)(_restore_form(x, numbers) for x in form)
    if isinstance(form, np.ndarray):
        return traced_array([next(numbers) for _ in range(form.size)], form.shape)
    return next(numbers)


def _repeat(
    rounds: int, step: Callable[[Any], Any], carried: Any, while_positive: int | None
) -> Any:
    """Carry out `sixfold.math.repeat` on traced numbers."""
    values = list(_numbers(carried))
    graph = next(x.graph for x in values if isinstance(x, Node))

    def flat(numbers: Sequence[Scalar]) -> Sequence[Scalar]:
        result = step(_restore_form(carried, iter(numbers)))
        if _form(result) != _form(carried):
            raise ArgumentError(
                "repeat: argument 'step' returned another form than it takes",
                f"{_form(carried)}",
                f"{_form(result)}",
                "return as many numbers as are carried, in arrays of the same shapes",
            )
        return list(_numbers(result))

    # `repeat` takes numbers alone with while_positive: their places are those of the flat list
    recorded = type(graph) is Graph
    found = record(graph, rounds, flat, values, while_positive) if recorded else None
    if found is None:
        for left in range(rounds - 1, -1, -1):
            values = list(flat(values))
            if not all(map(_is_ours, values)):
                return repeat(left, step, _restore_form(carried, iter(values)))
        found = values
    return _restore_form(carried, iter(found))


def _is_ours(x: Any) -> bool:
    """Return whether a number can be traced; dual numbers over ours repeat by themselves."""
    return isinstance(x, (Node, int, float, Zero))


on_repeat(Node, _repeat)
