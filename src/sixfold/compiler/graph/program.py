"""A straight-line program as a list of operations: data, text, counts and verification.

Each node is an operation on earlier nodes, so the order of nodes is an order of evaluation.
`build` makes programs, `passes` changes them, `llvm` and `codegen` read them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sixfold.errors import InternalError
from sixfold.scalar import BY_NAME, Op

INPUT, CONST = "input", "const"
ADD, SUB, MUL, DIV, NEG = (op.value for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG))
#: x y + z, x y - z and z - x y with one rounding; chosen by a pass, never traced.
FMA, FMS, FNMA = "fma", "fms", "fnma"
COPY = "copy"  # the value itself, in a place of its own; see `Result`


@dataclass(frozen=True)
class Boundary:
    """Operation: pass a value into an evaluation of a function, or out of it.

    Nothing folds across boundaries; `subroutines` makes calls of equal evaluations.
    """

    evaluation: int
    place: int


@dataclass(frozen=True)
class Argument:
    """Operation: hand a value to an input of the subroutine, for one call."""

    call: int
    place: int


@dataclass(frozen=True)
class Call:
    """Operation: run the subroutine on the arguments of a call."""

    call: int


@dataclass(frozen=True)
class Result:
    """Operation: a result of a call, there until the next call; a copy takes it over."""

    place: int


@dataclass(frozen=True)
class Repeat:
    """Operation: run a body for a fixed number of rounds, with carried values.

    Operands are the carried values before the first round, then values from outside, which stay.
    The body's results are the carried values of the next round.  One round is the call of a
    subroutine; then there may be any number of results.
    """

    rounds: int
    body: Program
    #: Place of a carried value: once it is not positive, a round changes nothing, so that the
    #: remaining rounds may be skipped.
    going: int | None = None


@dataclass(frozen=True)
class Final:
    """Operation: a result of the last round of a repetition."""

    place: int


#: What a node does: an operation on numbers by its name, or a part of a call or repetition.
Operation = str | Boundary | Argument | Call | Result | Repeat | Final

_KINDS: dict[str, Callable[..., Any]] = {
    "boundary": Boundary,
    "argument": Argument,
    "call": Call,
    "result": Result,
    "final": Final,
}
_BODY = "> "  # begins each line of a body, below the node that repeats it


class Evaluation(NamedTuple):
    """Nodes at the boundaries of an evaluation of a function."""

    arguments: tuple[int, ...]
    results: tuple[int, ...]
    shared: bool = False  # whether straight-line code too keeps equal evaluations once


@dataclass(frozen=True)
class Program:
    """Nodes in order, each (operation, argument, argument, ...), and which of them are results.

    An input's argument is its number; a constant's is its value.
    """

    inputs: int
    nodes: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...]
    #: Boundaries of each `Graph.evaluate`.
    evaluations: tuple[Evaluation, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        """Say how long it is; `text` prints it."""
        sizes = f"{self.inputs} inputs, {len(self.nodes)} nodes, {len(self.outputs)} results"
        return f"<program: {sizes}>"

    def text(self) -> str:
        """Print one line for each node; equal programs print equal texts.

        A body is printed below the first node that repeats it; others name that node.
        """
        lines = [f"inputs {self.inputs}"]
        # bodies are printed once, indented below their first repetition
        first: dict[Program, int] = {}
        for k, (op, *arguments) in enumerate(self.nodes):
            shown = float(arguments[0]).hex() if op == CONST else " ".join(map(str, arguments))
            if not isinstance(op, Repeat):
                lines.append(f"{k} {op if isinstance(op, str) else _operation_text(op)} {shown}")
                continue
            same = first.setdefault(op.body, k)
            going = "" if op.going is None else f"+{op.going}"
            lines.append(f"{k} repeat({op.rounds}{going}{f',{same}' if same < k else ''}) {shown}")
            if same == k:
                lines += [_BODY + line for line in op.body.text().splitlines()]
        lines.append("outputs " + " ".join(map(str, self.outputs)))
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> Program:
        """Read what `text` printed."""
        # indented lines belong to the body of the repetition above
        first, *body, last = text.splitlines()
        nodes: list[tuple[Any, ...]] = []
        for n, line in enumerate(body):
            if line.startswith(_BODY):
                continue
            _, op, *arguments = line.split()
            if op == CONST:
                nodes.append((op, float.fromhex(arguments[0])))
            elif op.startswith("repeat("):
                rounds, _, same = op[7:-1].partition(",")
                rounds, _, going = rounds.partition("+")
                inner = itertools.takewhile(lambda x: x.startswith(_BODY), body[n + 1 :])
                repeated = (
                    nodes[int(same)][0].body
                    if same
                    else cls.parse("\n".join(x[len(_BODY) :] for x in inner))
                )
                place = int(going) if going else None
                nodes.append((Repeat(int(rounds), repeated, place), *map(int, arguments)))
            else:
                nodes.append((op if op[-1] != ")" else _parse_operation(op), *map(int, arguments)))
        return cls(int(first.split()[1]), tuple(nodes), tuple(map(int, last.split()[1:])))

    def counts(self) -> dict[str, int]:
        """Return how many nodes there are of each operation; those of bodies count every round."""
        # operations of a body count in every round
        totals: dict[str, int] = {}
        for op, *_ in self.nodes:
            if isinstance(op, Final):
                continue
            name = op if isinstance(op, str) else type(op).__name__.lower()
            totals[name] = totals.get(name, 0) + 1
            if isinstance(op, Repeat):
                for inner, count in op.body.counts().items():
                    if inner not in (INPUT, CONST):
                        totals[inner] = totals.get(inner, 0) + op.rounds * count
        return totals

    @property
    def length(self) -> int:
        """How many nodes it has, with those of its bodies."""
        return len(self.nodes) + sum(body.length for body in self.bodies())

    def bodies(self) -> list[Program]:
        """Return what its nodes repeat, equal bodies once."""
        return list(dict.fromkeys(op.body for op, *_ in self.nodes if isinstance(op, Repeat)))

    def names(self) -> set[str]:
        """Return the operations on numbers by name, those of bodies included."""
        own = {op for op, *_ in self.nodes if isinstance(op, str)}
        return own.union(*(body.names() for body in self.bodies()))

    def flops(self) -> int:
        """Return additions plus multiplications plus divisions; a fused one counts as two."""
        counts = self.counts()
        single = sum(counts.get(op, 0) for op in (ADD, SUB, MUL, DIV))
        return single + 2 * sum(counts.get(op, 0) for op in (FMA, FMS, FNMA))

    def verify(self) -> Program:
        """Return the program if it is one; raise InternalError where it is not.

        Operations are known and have as many arguments as they take, arguments come earlier,
        inputs and results exist, and no node repeats another.
        """
        seen: set[tuple[Any, ...]] = set()
        for body in self.bodies():
            body.verify()
        for k, node in enumerate(self.nodes):
            op, *arguments = node
            if node in seen and op != CONST:
                raise _invalid(f"node {k} repeats an earlier one: {node}")
            seen.add(node)
            if op == INPUT:
                if len(arguments) != 1 or not 0 <= arguments[0] < self.inputs:
                    raise _invalid(f"node {k} reads input {arguments}, of {self.inputs} inputs")
            elif op == CONST:
                if len(arguments) != 1 or not isinstance(arguments[0], float):
                    raise _invalid(f"node {k} is a constant of {arguments}")
            else:
                arity = _ARITY.get(op, 1) if isinstance(op, str) else 1
                if isinstance(op, str) and op not in _ARITY:
                    raise _invalid(f"node {k} has an unknown operation: {op!r}")
                if isinstance(op, Repeat):
                    arity = _check_repeat(op, k).inputs
                if len(arguments) != arity and not isinstance(op, Call):
                    raise _invalid(f"node {k} has {len(arguments)} arguments, {op} takes {arity}")
                if not all(isinstance(a, int) and 0 <= a < k for a in arguments):
                    raise _invalid(f"node {k} reads a later node, or none: {node}")
                # only `Final` may read a repetition
                repeats = [r for r in arguments if isinstance(self.nodes[r][0], Repeat)]
                if repeats and not isinstance(op, Final):
                    raise _invalid(f"node {k} reads a repetition as a number")
                if isinstance(op, Final) and not (
                    repeats and 0 <= op.place < len(self.nodes[repeats[0]][0].body.outputs)
                ):
                    raise _invalid(f"node {k} is no result of a repetition")
        for k in self.outputs:
            if not 0 <= k < len(self.nodes):
                raise _invalid(f"result {k} is not one of the {len(self.nodes)} nodes")
        return self


_ARITY = {name: row.arity for name, row in BY_NAME.items()} | {COPY: 1}


def _check_repeat(op: Repeat, k: int) -> Program:
    """Return the body of a repetition, if it fits the rounds."""
    body = op.body
    if op.rounds < 1 or (op.rounds > 1 and len(body.outputs) > body.inputs):
        what = f"{op.rounds} rounds of {body.inputs} inputs and {len(body.outputs)} results"
        raise _invalid(f"node {k} repeats {what}")
    if op.going is not None and not 0 <= op.going < len(body.outputs):
        raise _invalid(f"node {k} ends by carried value {op.going} of {len(body.outputs)}")
    if any(isinstance(inner, (Boundary, Argument, Call, Result)) for inner, *_ in body.nodes):
        raise _invalid(f"node {k} repeats a part of a call")
    return body


def operands(node: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the nodes that a node reads."""
    return () if node[0] in (INPUT, CONST) else node[1:]


def _operation_text(op: Any) -> str:
    return f"{type(op).__name__.lower()}({','.join(map(str, vars(op).values()))})"


def _parse_operation(text: str) -> Any:
    name, _, numbers = text[:-1].partition("(")
    return _KINDS[name](*map(int, numbers.split(",")))


def _invalid(what: str) -> InternalError:
    return InternalError("program", what)


def verifying() -> bool:
    """Return whether stages verify what they make: SIXFOLD_VERIFY=1 in the environment."""
    return os.environ.get("SIXFOLD_VERIFY", "") == "1"
