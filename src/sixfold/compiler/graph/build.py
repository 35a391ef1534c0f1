"""A program under construction: operations on nodes, folded and shared while they are traced.

Equal operations on equal arguments are one node (hash-consing), and exact identities fold at once:
0 + x, 1 x, -(-x), x - x = 0, x / x = 1, constants, signs.  Folding never reorders a sum, so the
program computes what the source says, in the order it says it.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from sixfold.compiler.graph.program import (
    ADD,
    CONST,
    DIV,
    INPUT,
    MUL,
    NEG,
    SUB,
    Boundary,
    Evaluation,
    Program,
)
from sixfold.scalar import RULES, Op, Scalar, Zero, register
from sixfold.scalar.repeat import on_subroutine

NO_VALUE = (
    "a traced number has no value to compare, convert or print: its program must be the same for "
    "every input; use sixfold.math.if_positive(x, a, b) to choose by value"
)

#: A value that a round of a repetition begins with; in graphs only, see `repeat`.
CARRIED = "carried"


@dataclass
class Graph:
    """A program under construction: one table of shared nodes for each trace."""

    inputs: int = 0
    nodes: list[tuple[Any, ...]] = field(default_factory=list)
    table: dict[tuple[Any, ...], int] = field(default_factory=dict)
    evaluations: list[Evaluation] = field(default_factory=list)
    carried: int = 0  # values that bodies of repetitions began with
    #: The function compared, converted or printed a traced number, and went on.
    compared: bool = False

    def input(self) -> Node:
        """Return the next input."""
        node = self.keep(INPUT, self.inputs)
        self.inputs += 1
        return Node(self, node)

    def constant(self, value: float) -> int:
        """Return a constant; both zeros are one."""
        return self.keep(CONST, value + 0.0)

    def finish(self, outputs: Sequence[Scalar]) -> Program:
        """Return the program that computes these results."""
        if self.compared:
            raise TypeError(NO_VALUE)
        ends = tuple(self.lift(x) for x in outputs)
        program = Program(self.inputs, tuple(self.nodes), ends, tuple(self.evaluations))
        return _remove_bodies(program) if self.carried else program

    def carry(self) -> Node:
        """Return a value that is carried from round to round, for the body of a repetition."""
        self.carried += 1
        return Node(self, self.keep(CARRIED, self.carried))

    def evaluate(
        self,
        function: Callable[..., Sequence[Scalar]],
        lists: Sequence[Sequence[Scalar]],
        shared: bool = False,
    ) -> Sequence[Scalar]:
        """Return function(*lists), with boundaries between it and the rest.

        Nothing folds across a boundary, so that all evaluations of a function trace alike.

        Args:
            function: takes lists of numbers, returns one.
            lists: its arguments.
            shared: whether straight-line code too keeps equal evaluations once.
        """
        # boundaries are numbered in the order of arguments and results
        count, number = itertools.count(), len(self.evaluations)

        def add_boundaries(numbers: Sequence[Scalar]) -> list[Node]:
            return [
                Node(self, self.keep(Boundary(number, next(count)), self.lift(x))) for x in numbers
            ]

        inside = [add_boundaries(numbers) for numbers in lists]
        # a function that evaluates others inside would break the count of evaluations
        self.evaluations.append(Evaluation((), ()))
        results = add_boundaries(function(*inside))
        arguments = tuple(x.index for numbers in inside for x in numbers)
        self.evaluations[number] = Evaluation(arguments, tuple(x.index for x in results), shared)
        return results

    def lift(self, x: Any) -> int:
        """Return the node of a number: one of ours, or a constant."""
        if isinstance(x, Node):
            if x.graph is not self:
                raise TypeError("a number of one trace was used in another")
            return x.index
        if isinstance(x, Zero):
            return self.constant(0.0)
        return self.constant(float(x))

    def keep(self, *key: Any) -> int:
        """Return the node (operation, argument, ...), made at its first use."""
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def _value(self, k: int) -> float | None:
        op, x, *_ = self.nodes[k]
        return x if op == CONST else None

    def _negand(self, k: int) -> int | None:
        """Return x when node k is -x."""
        node = self.nodes[k]
        return node[1] if node[0] == NEG else None

    # -- folding

    def add(self, a: int, b: int) -> int:
        """A + b."""
        # constants fold, and zero drops out
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.constant(x + y)
        if x == 0.0:
            return b
        if y == 0.0:
            return a
        # a + (-b) = a - b
        minus_a, minus_b = self._negand(a), self._negand(b)
        if minus_b is not None:
            return self.sub(a, minus_b)
        if minus_a is not None:
            return self.sub(b, minus_a)
        return self.keep(ADD, a, b) if a <= b else self.keep(ADD, b, a)

    def sub(self, a: int, b: int) -> int:
        """A - b."""
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.constant(x - y)
        if y == 0.0:
            return a
        if x == 0.0:
            return self.neg(b)
        if a == b:
            return self.constant(0.0)
        minus_a, minus_b = self._negand(a), self._negand(b)
        if minus_b is not None:
            return self.add(a, minus_b)
        if minus_a is not None:
            return self.neg(self.add(minus_a, b))
        return self.keep(SUB, a, b)

    def mul(self, a: int, b: int) -> int:
        """A b."""
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.constant(x * y)
        if y is not None:
            a, b, x, y = b, a, y, x
        if x is not None:
            if x == 0.0:
                return a
            if x == 1.0:
                return b
            if x < 0.0:
                return self.neg(self.mul(self.constant(-x), b))
        minus_a, minus_b = self._negand(a), self._negand(b)
        if minus_a is not None:
            return self.neg(self.mul(minus_a, b))
        if minus_b is not None:
            return self.neg(self.mul(a, minus_b))
        return self.keep(MUL, a, b) if a <= b else self.keep(MUL, b, a)

    def div(self, a: int, b: int) -> int:
        """A / b."""
        x, y = self._value(a), self._value(b)
        if y == 0.0:
            raise ZeroDivisionError("a divisor is zero for every value of the inputs")
        if x is not None and y is not None:
            return self.constant(x / y)
        if a == b:
            return self.constant(1.0)
        if x == 0.0:
            return a
        # division by a power of two is exact as a product
        if y is not None and math.frexp(y)[0] in (0.5, -0.5):
            return self.mul(a, self.constant(1.0 / y))
        minus_a, minus_b = self._negand(a), self._negand(b)
        if minus_a is not None:
            return self.neg(self.div(minus_a, b))
        if minus_b is not None:
            return self.neg(self.div(a, minus_b))
        return self.keep(DIV, a, b)

    def neg(self, a: int) -> int:
        """-a."""
        x = self._value(a)
        if x is not None:
            return self.constant(-x)
        op, *arguments = self.nodes[a]
        if op == NEG:
            return arguments[0]
        if op == SUB:
            return self.keep(SUB, arguments[1], arguments[0])
        return self.keep(NEG, a)

    def operation(self, op: str, arguments: Sequence[int]) -> int:
        """Return an operation of another graph on nodes of this one."""
        if op in (ADD, SUB, MUL, DIV, NEG):
            return int(getattr(self, op)(*arguments))
        return self.apply(Op(op), *arguments)

    def apply(self, op: Op, *arguments: int) -> int:
        """Any other operation, folded on constants and by its symmetry under a change of sign."""
        values = [self._value(a) for a in arguments]
        if all(v is not None for v in values):
            return self.constant(RULES[op].value(*values))
        if op is Op.IF_POSITIVE:
            if arguments[1] == arguments[2]:
                return arguments[1]
            if values[0] is not None:
                return arguments[1] if values[0] > 0 else arguments[2]
        minus = self._negand(arguments[0])
        if minus is not None and RULES[op].parity == "odd":
            return self.neg(self.apply(op, minus))
        if minus is not None and RULES[op].parity == "even":
            return self.apply(op, minus)
        return self.keep(op.value, *arguments)


def inside(nodes: Sequence[tuple[Any, ...]], carried: Collection[int] | None = None) -> set[int]:
    """Return the nodes that depend on carried values: on those given, or on any."""
    found: set[int] = set()
    for k, (op, *arguments) in enumerate(nodes):
        if op == CARRIED:
            begins = carried is None or k in carried
        else:
            begins = op not in (INPUT, CONST) and not found.isdisjoint(arguments)
        if begins:
            found.add(k)
    return found


def _remove_bodies(program: Program) -> Program:
    """Leave out what bodies of repetitions did when they were traced."""
    # carried values exist while a body is traced only
    bodies = inside(program.nodes)
    if not bodies.isdisjoint(program.outputs):
        raise TypeError(
            "a number from inside sixfold.math.repeat was used outside: let the step return it"
        )
    number: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []
    for k, (op, *arguments) in enumerate(program.nodes):
        if k not in bodies:
            number[k] = len(nodes)
            leaf = op in (INPUT, CONST)
            nodes.append((op, *(arguments if leaf else (number[a] for a in arguments))))
    evaluations = tuple(
        Evaluation(
            tuple(number[k] for k in each.arguments),
            tuple(number[k] for k in each.results),
            each.shared,
        )
        for each in program.evaluations
        if bodies.isdisjoint((*each.arguments, *each.results))
    )
    ends = tuple(number[k] for k in program.outputs)
    return Program(program.inputs, tuple(nodes), ends, evaluations)


class Node:
    """A number that is being traced."""

    __slots__ = ("graph", "index")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, index: int) -> None:
        """Point at a node of a graph."""
        self.graph, self.index = graph, index

    @property
    def constant_value(self) -> float | None:
        """The number itself, if it is the same for every input."""
        return self.graph._value(self.index)

    def _with(self, fold: Any, other: Any, swapped: bool = False) -> Any:
        """Trace an operation with another number; leave it to kinds of numbers above ours."""
        if not isinstance(other, (Node, int, float, Zero)):
            return NotImplemented
        g = self.graph
        a, b = self.index, g.lift(other)
        return Node(g, fold(g, b, a) if swapped else fold(g, a, b))

    def __mul__(self, other: Any) -> Any:
        """Trace a multiplication; a product with an exact zero is one."""
        return other if isinstance(other, Zero) else self._with(Graph.mul, other)

    def __rmul__(self, other: Any) -> Any:
        """Trace a multiplication."""
        return self * other

    def __neg__(self) -> Node:
        """Trace a change of sign."""
        return Node(self.graph, self.graph.neg(self.index))

    def __pos__(self) -> Node:
        """Return the number itself."""
        return self

    def __pow__(self, exponent: Any) -> Node:
        """Trace a small whole power as products."""
        if not isinstance(exponent, int) or not 1 <= exponent <= 8:
            raise TypeError(f"power {exponent!r} of a traced number: use whole powers from 1 to 8")
        result = self
        for _ in range(exponent - 1):
            result = result * self
        return result

    def __abs__(self) -> Node:
        """Trace a size."""
        return _apply(Op.ABS, self)

    def _refuse(self, *_: Any) -> Any:
        self._note_use(sys._getframe(1))
        raise TypeError(NO_VALUE)

    def _note_use(self, caller: FrameType) -> None:
        """Record that code outside the library used a value, even if it continues."""
        if not caller.f_globals.get("__name__", "").startswith("sixfold."):
            self.graph.compared = True

    __bool__ = __float__ = __int__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __eq__ = _refuse
    __ne__ = _refuse

    def __repr__(self) -> str:
        """Print the node's number; a program whose function prints its numbers is not finished."""
        self._note_use(sys._getframe(1))
        return f"<node {self.index}>"


def _operator(fold: Callable[..., int], swapped: bool) -> Callable[[Node, Any], Any]:
    """Return the method of a binary operator of Python that has no special cases."""
    return lambda self, other: self._with(fold, other, swapped)


for _name, _fold in (("add", Graph.add), ("sub", Graph.sub), ("truediv", Graph.div)):
    setattr(Node, f"__{_name}__", _operator(_fold, swapped=False))
    setattr(Node, f"__r{_name}__", _operator(_fold, swapped=True))


def _apply(op: Op, *arguments: Any) -> Node:
    graph = next(x.graph for x in arguments if isinstance(x, Node))
    indices = [graph.lift(x) for x in arguments]
    if op in _OPERATORS:
        return Node(graph, getattr(graph, op.value)(*indices))
    return Node(graph, graph.apply(op, *indices))


def _evaluate(
    function: Callable[..., Sequence[Scalar]], lists: Sequence[Sequence[Scalar]]
) -> Sequence[Scalar]:
    graph: Graph = next(x.graph for numbers in lists for x in numbers if isinstance(x, Node))
    if type(graph) is not Graph:  # the rolled form has loops of its own
        return function(*lists)
    return graph.evaluate(function, lists, shared=True)


_OPERATORS = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG)
register(Node, 5, _apply)
on_subroutine(Node, _evaluate)
