"""Graph to graph: share reciprocals, fuse multiply-adds, drop what no result needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sixfold.graph.build import Graph
from sixfold.graph.program import (
    ADD,
    CONST,
    COPY,
    DIV,
    FMA,
    FMS,
    FNMA,
    INPUT,
    MUL,
    SUB,
    Boundary,
    Program,
    Repeat,
    operands,
)

MAX_FUSE_DISTANCE = 16
"""Operations between a product and its last use, up to which it is fused into several sums."""


def optimise(program: Program) -> Program:
    """Run all passes; bodies of repetitions are optimised on their own."""
    program = with_bodies(program, optimise)
    return fuse(live(share_reciprocals(live(program)))).verify()


def live(program: Program) -> Program:
    """Keep only the nodes that results depend on, in the same order."""
    needed = set(program.outputs)
    for k in range(len(program.nodes) - 1, -1, -1):
        if k in needed:
            needed.update(operands(program.nodes[k]))
    renumbered: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []
    for k, node in enumerate(program.nodes):
        if k in needed:
            renumbered[k] = len(nodes)
            nodes.append(_moved(node, renumbered))
    return Program(program.inputs, tuple(nodes), tuple(renumbered[k] for k in program.outputs))


def with_bodies(program: Program, change: Callable[[Program], Program]) -> Program:
    """Return a program with each body of a repetition changed."""
    new = {body: change(body) for body in program.bodies()}
    if not new:
        return program
    nodes = tuple(
        (replace(op, body=new[op.body]), *rest) if isinstance(op, Repeat) else (op, *rest)
        for op, *rest in program.nodes
    )
    return replace(program, nodes=nodes)


def without_boundaries(program: Program) -> Program:
    """Return a program folded across the boundaries of its evaluations."""
    if not any(isinstance(op, Boundary) for op, *_ in program.nodes):
        return program
    return folded(program)


def folded(program: Program) -> Program:
    """Return a program traced anew: nothing twice, and folded across boundaries."""
    graph = Graph(inputs=program.inputs)
    number: dict[int, int] = {}
    for k, (op, *arguments) in enumerate(program.nodes):
        known = [_number(number, op, x) for x in arguments]
        number[k] = known[0] if isinstance(op, Boundary) else copied(graph, op, known)
    return Program(program.inputs, tuple(graph.nodes), tuple(number[k] for k in program.outputs))


def share_reciprocals(program: Program) -> Program:
    """Turn several divisions by the same number into one reciprocal and products."""
    divisors = Counter(node[2] for node in program.nodes if node[0] == DIV)
    graph = Graph(inputs=program.inputs)
    number: dict[int, int] = {}
    for k, node in enumerate(program.nodes):
        op, *arguments = node
        if op == DIV and divisors[arguments[1]] > 1:
            a, b = (number[x] for x in arguments)
            number[k] = graph.mul(a, graph.div(graph.constant(1.0), b))
        else:
            number[k] = copied(graph, op, [_number(number, op, x) for x in arguments])
    return Program(program.inputs, tuple(graph.nodes), tuple(number[k] for k in program.outputs))


def _number(number: dict[int, int], op: Any, x: Any) -> Any:
    return x if op in (INPUT, CONST) else number[x]


def copied(graph: Graph, op: Any, arguments: list[Any]) -> int:
    """Return an operation of another program on nodes of a graph."""
    if op in (INPUT, CONST, FMA, FMS, FNMA, COPY) or not isinstance(op, str):
        return graph.keep(op, *arguments)
    return graph.operation(op, arguments)


def fuse(program: Program) -> Program:
    """Fold products into the sums that use them: x y + z with one rounding.

    A product goes where all its uses are sums that hold no other product yet: then it need not be
    worked out by itself.  Products with one use come first; the others only where their uses are
    near, since both factors are kept until the last.
    """
    nodes = list(program.nodes)
    users: dict[int, list[int]] = {}
    for k, node in enumerate(nodes):
        for a in operands(node):
            users.setdefault(a, []).append(k)
    results = set(program.outputs)
    holds: dict[int, int] = {}

    def fits(product: int, uses: list[int]) -> bool:
        return product not in results and all(
            nodes[k][0] in (ADD, SUB) and k not in holds and nodes[k][1] != nodes[k][2]
            for k in uses
        )

    products = [k for k, node in enumerate(nodes) if node[0] == MUL]
    for product in sorted(products, key=lambda k: len(users.get(k, ()))):
        uses = users.get(product, [])
        near = len(uses) < 2 or uses[-1] - product <= MAX_FUSE_DISTANCE
        if near and fits(product, uses):
            holds.update(dict.fromkeys(uses, product))
    for k, product in holds.items():
        op, a, b = nodes[k]
        pair = nodes[product][1:]
        if op == ADD:
            nodes[k] = (FMA, *pair, a if b == product else b)
        else:
            nodes[k] = (FNMA, *pair, a) if b == product else (FMS, *pair, b)
    return live(Program(program.inputs, tuple(nodes), program.outputs))


def _moved(node: tuple[Any, ...], renumbered: dict[int, int]) -> tuple[Any, ...]:
    if node[0] in (INPUT, CONST):
        return node
    return (node[0], *(renumbered[a] for a in node[1:]))
