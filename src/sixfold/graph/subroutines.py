"""Keep once what a program does several times: the stages of a step, say.

`Graph.evaluate` puts boundaries around what a function does, wherever it is evaluated.  Copies of
the same operations between boundaries are found equal; one of them becomes a program of its own,
the subroutine, and all become calls of it.  In what is left,

- `Argument(c, k)` hands a value to input k of call c,
- `Call(c)` runs the subroutine on what was handed to it,
- `Result(k)` is result k of a call, there until the next call, and
- a copy takes it over.

What a copy needs beside its arguments is computed once, outside, and handed to each call too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sixfold.errors import InternalError
from sixfold.graph.passes import live, without_boundaries
from sixfold.graph.program import (
    ADD,
    CONST,
    COPY,
    INPUT,
    MUL,
    NEG,
    Argument,
    Boundary,
    Call,
    Program,
    Result,
    operands,
    verifying,
)

MIN_OPERATIONS = 300
"""Operations of a subroutine that is worth calling."""


class Outlined(NamedTuple):
    """A program, and the subroutine that it calls, if any."""

    program: Program
    subroutine: Program | None

    def verify(self) -> Outlined:
        """Return it if calls fit the subroutine; raise InternalError where they do not.

        Every call hands over all inputs of the subroutine, in order, just before it; results are
        copied before the next call.
        """
        program, subroutine = self.program.verify(), self.subroutine
        last = -1  # node of the last call
        for k, (op, *arguments) in enumerate(program.nodes):
            if isinstance(op, Boundary):
                raise _wrong(f"node {k} is a boundary")
            if isinstance(op, (Argument, Call, Result)) and subroutine is None:
                raise _wrong(f"node {k} belongs to a call, but there is no subroutine")
            if subroutine is None:
                continue
            if isinstance(op, Call):
                last = k
                wanted = [Argument(op.call, place) for place in range(subroutine.inputs)]
                if [program.nodes[a][0] for a in arguments] != wanted:
                    raise _wrong(f"call {op.call} does not hand over {subroutine.inputs} values")
            elif isinstance(op, Result):
                if not op.place < len(subroutine.outputs):
                    raise _wrong(f"node {k} is result {op.place} of {len(subroutine.outputs)}")
                if arguments != [last]:
                    raise _wrong(f"node {k} is a result of a call before the last")
            elif op == COPY:
                found, *of = program.nodes[arguments[0]]
                if not isinstance(found, Result) or of != [last]:
                    raise _wrong(f"node {k} copies what is no result of the last call")
            elif op not in (INPUT, CONST) and any(
                isinstance(program.nodes[a][0], (Call, Result)) for a in arguments
            ):
                raise _wrong(f"node {k} reads a result that was not copied")
        if subroutine is not None:
            subroutine.verify()
            parts = (Argument, Call, Result, Boundary)
            if any(op == COPY or isinstance(op, parts) for op, *_ in subroutine.nodes):
                raise _wrong("the subroutine calls another")
        return self


def _wrong(what: str) -> InternalError:
    return InternalError("subroutines", what)


@dataclass(frozen=True)
class _Copy:
    """One place where the subroutine's operations stand."""

    arguments: tuple[int, ...]
    """Boundaries of the arguments."""
    results: tuple[int, ...]
    """Boundaries of the results."""
    values: tuple[int, ...]
    """What the results are, but for signs, which go to those who use them."""
    own: tuple[int, ...]
    """Operations that depend on the arguments, in order."""
    outside: tuple[int, ...]
    """Values they need beside the arguments and constants."""
    form: tuple[int, ...]
    """Equal for copies that do the same."""

    def taken(self, program: Program) -> list[int]:
        """Return what the subroutine takes: arguments that it reads, then values from outside."""
        read = {a for k in self.own for a in program.nodes[k][1:]}
        return [*(a for a in self.arguments if a in read), *self.outside]


def with_subroutine(program: Program) -> Outlined:
    """Return a program with its largest subroutine kept once; as it is, where there is none."""
    forms: dict[tuple[Any, ...], int] = {}
    groups: dict[tuple[int, ...], list[_Copy]] = {}
    for places in program.evaluations:
        copy = _copy(program, *places, forms)
        groups.setdefault(copy.form, []).append(copy)
    equal = [g for g in groups.values() if len(g) > 1 and len(g[0].own) >= MIN_OPERATIONS]
    if not equal:
        return Outlined(without_boundaries(program), None)
    group = max(equal, key=lambda g: len(g) * len(g[0].own))
    found = Outlined(_calling(program, group), live(_subroutine(program, group[0])))
    return found.verify() if verifying() else found


def _copy(
    program: Program,
    arguments: tuple[int, ...],
    results: tuple[int, ...],
    forms: dict[tuple[Any, ...], int],
) -> _Copy:
    """Return what lies between arguments and results, and its form."""
    nodes = program.nodes
    place = {a: k for k, a in enumerate(arguments)}
    values = tuple(_unsigned(program, nodes[k][1])[0] for k in results)
    needed: set[int] = set()
    stack = list(values)
    while stack:
        k = stack.pop()
        if k not in needed:
            needed.add(k)
            stack += () if k in place else operands(nodes[k])
    own: list[int] = []
    outside: list[int] = []
    form: dict[int, int] = {}
    depends = set(place)
    for k in sorted(needed):
        op, *inner = nodes[k]
        key: tuple[Any, ...]
        if k in place:
            key = ("argument", place[k])
        elif op == CONST:
            key = (CONST, inner[0])
        elif op == INPUT or depends.isdisjoint(inner):
            key = ("outside", k)
            outside.append(k)
        else:
            depends.add(k)
            own.append(k)
            parts = [form[a] for a in inner]
            key = (op, *(sorted(parts) if op in (ADD, MUL) else parts))
        form[k] = forms.setdefault(key, len(forms))
    read = {a for k in own for a in nodes[k][1:]}
    beside = tuple(k for k in outside if k in read)
    return _Copy(arguments, results, values, tuple(own), beside, tuple(form[k] for k in values))


def _unsigned(program: Program, k: int) -> tuple[int, bool]:
    """Return x and whether node k is -x rather than x."""
    op, *arguments = program.nodes[k]
    return (arguments[0], True) if op == NEG else (k, False)


def _subroutine(program: Program, copy: _Copy) -> Program:
    """Return the operations of one copy as a program of their own."""
    taken = copy.taken(program)
    nodes: list[tuple[Any, ...]] = [(INPUT, k) for k in range(len(taken))]
    number = {a: k for k, a in enumerate(taken)}

    def lift(a: int) -> int:
        if a not in number:
            assert program.nodes[a][0] == CONST
            number[a] = len(nodes)
            nodes.append(program.nodes[a])
        return number[a]

    for k in copy.own:
        node = (program.nodes[k][0], *(lift(a) for a in program.nodes[k][1:]))
        number[k] = len(nodes)
        nodes.append(node)
    own = set(copy.own)
    return Program(len(taken), tuple(nodes), tuple(number[k] for k in copy.values if k in own))


def _calling(program: Program, group: Sequence[_Copy]) -> Program:
    """Return the program with calls in place of the copies."""
    made: dict[int, tuple[int, int]] = {}  # boundary of a result: its call, its number there
    before: dict[int, int] = {}  # first boundary of the results of a call
    for c, copy in enumerate(group):
        own = set(copy.own)
        theirs = [k for k, x in zip(copy.results, copy.values, strict=True) if x in own]
        made |= {k: (c, n) for n, k in enumerate(theirs)}
        before[theirs[0]] = c
    taken = [copy.taken(program) for copy in group]
    needed: set[int] = set()
    stack = list(program.outputs)
    while stack:
        k = stack.pop()
        if k not in needed:
            needed.add(k)
            stack += taken[made[k][0]] if k in made else operands(program.nodes[k])
    nodes: list[tuple[Any, ...]] = []
    number: dict[int, int] = {}
    calls: dict[int, int] = {}
    called = {made[k][0] for k in needed if k in made}

    def put(*node: Any) -> int:
        nodes.append(node)
        return len(nodes) - 1

    for k, (op, *arguments) in enumerate(program.nodes):
        c = before.get(k, -1)
        if c in called:
            given = [put(Argument(c, n), number[a]) for n, a in enumerate(taken[c])]
            calls[c] = put(Call(c), *given)
        if k not in needed:
            continue
        if k in made:
            there, n = made[k]
            number[k] = put(COPY, put(Result(n), calls[there]))
            if _unsigned(program, arguments[0])[1]:
                number[k] = put(NEG, number[k])
        elif isinstance(op, Boundary):
            number[k] = number[arguments[0]]
        else:
            known = arguments if op in (INPUT, CONST) else [number[a] for a in arguments]
            number[k] = put(op, *known)
    return Program(program.inputs, tuple(nodes), tuple(number[k] for k in program.outputs))
