"""Keep once what a program does several times: the stages of a step, say.

`Graph.evaluate` puts boundaries around what a function does, wherever it is evaluated.  Copies of
the same operations between boundaries are found equal; one of them becomes a program of its own,
the subroutine, and all become calls of it.  In what is left,

- `Argument(c, k)` hands a value to input k of call c,
- `Call(c)` runs the subroutine on what was handed to it,
- `Result(k)` is result k of a call, there until the next call, and
- a copy takes it over.

What a copy needs beside its arguments is computed once, outside, and handed to each call too.

All other subroutines, and those of straight-line code, are repetitions of one round: they take
values from outside where these are, and may be any number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sixfold.errors import InternalError
from sixfold.graph.passes import folded, live, without_boundaries
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
    Evaluation,
    Final,
    Program,
    Repeat,
    Result,
    operands,
    verifying,
)

MIN_OPERATIONS = 300
"""Operations of a subroutine that the step of a scan calls."""

MIN_CALL_OPERATIONS = 64
"""Operations of a subroutine that straight-line code calls: some times what a call copies."""

MIN_SAVED_OPERATIONS = 3_000
"""Operations that calls save in straight-line code; fewer are compiled in a fraction of a second,
and without calls they stay in registers."""


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
    """Return a program with its subroutines kept once; as it is, where there are none.

    The largest has its arguments computed in place; others are repetitions of one round.
    """
    equal = [
        group
        for group in _groups(program, program.evaluations)
        if len(group[0].own) >= MIN_OPERATIONS
    ]
    if not equal:
        return Outlined(without_boundaries(program), None)
    main, *others = _apart(equal)
    found = Outlined(_calling(program, main, others), live(_subroutine(program, main[0])))
    return found.verify() if verifying() else found


def with_calls(program: Program) -> Program:
    """Return a straight-line program with what it evaluates several times kept once.

    Boundaries are gone; where nothing is worth calling, everything is folded across them.
    """
    shared = [places for places in program.evaluations if places.shared]
    equal = [
        group
        for group in _groups(program, shared)
        if len(group[0].own) >= MIN_CALL_OPERATIONS
        and (len(group) - 1) * len(group[0].own) >= MIN_SAVED_OPERATIONS
    ]
    if not equal:
        return without_boundaries(program)
    return live(folded(_calling(program, [], _apart(equal))))


def _groups(program: Program, evaluations: Sequence[Evaluation]) -> list[list[_Copy]]:
    """Return evaluations that do the same, where there are several, the most work first."""
    forms: dict[tuple[Any, ...], int] = {}
    groups: dict[tuple[int, ...], list[_Copy]] = {}
    for places in evaluations:
        copy = _copy(program, places.arguments, places.results, forms)
        groups.setdefault(copy.form, []).append(copy)
    several = [group for group in groups.values() if len(group) > 1]
    return sorted(several, key=lambda group: -len(group) * len(group[0].own))


def _apart(groups: Sequence[list[_Copy]]) -> list[list[_Copy]]:
    """Return groups no operation of which belongs to two copies; the first is always there."""
    taken: set[int] = set()
    found: list[list[_Copy]] = []
    for group in groups:
        own = [k for copy in group for k in copy.own]
        if not found or (len(set(own)) == len(own) and taken.isdisjoint(own)):
            found.append(group)
            taken.update(own)
    return found


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
    first = min(arguments, default=0)  # what comes before depends on no argument
    needed: set[int] = set()
    stack = list(values)
    while stack:
        k = stack.pop()
        if k not in needed:
            needed.add(k)
            stack += () if k in place or k < first else operands(nodes[k])
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
            if isinstance(op, Boundary):  # of an evaluation inside
                form[k] = parts[0]
                continue
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

    inside = False
    for k in copy.own:
        op, *arguments = program.nodes[k]
        known = [lift(a) for a in arguments]
        if isinstance(op, Boundary):  # of an evaluation inside
            number[k], inside = known[0], True
            continue
        number[k] = len(nodes)
        nodes.append((op, *known))
    own = set(copy.own)
    ends = tuple(number[k] for k in copy.values if k in own)
    found = Program(len(taken), tuple(nodes), ends)
    return folded(found) if inside else found


def _calling(program: Program, main: Sequence[_Copy], others: Sequence[Sequence[_Copy]]) -> Program:
    """Return the program with calls in place of the copies.

    Args:
        program: with boundaries.
        main: copies of the subroutine whose arguments are handed over one by one.
        others: copies of each of the others.
    """
    made: dict[int, tuple[int, int]] = {}  # boundary of a result: its call, its number there
    before: dict[int, int] = {}  # first boundary of the results of a call
    copies = [*main, *(copy for group in others for copy in group)]
    for c, copy in enumerate(copies):
        own = set(copy.own)
        theirs = [k for k, x in zip(copy.results, copy.values, strict=True) if x in own]
        made |= {k: (c, n) for n, k in enumerate(theirs)}
        before[theirs[0]] = c
    bodies: list[Program | None] = [None] * len(main)
    for group in others:
        bodies += [folded(live(_subroutine(program, group[0])))] * len(group)
    taken = [copy.taken(program) for copy in copies]
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

    def call(c: int) -> int:
        body = bodies[c]
        if body is not None:
            return put(Repeat(1, body), *(number[a] for a in taken[c]))
        return put(Call(c), *[put(Argument(c, n), number[a]) for n, a in enumerate(taken[c])])

    for k, (op, *arguments) in enumerate(program.nodes):
        c = before.get(k, -1)
        if c in called:
            calls[c] = call(c)
        if k not in needed:
            continue
        if k in made:
            there, n = made[k]
            if bodies[there] is not None:
                number[k] = put(Final(n), calls[there])
            else:
                number[k] = put(COPY, put(Result(n), calls[there]))
            if _unsigned(program, arguments[0])[1]:
                number[k] = put(NEG, number[k])
        elif isinstance(op, Boundary):
            number[k] = number[arguments[0]]
        else:
            known = arguments if op in (INPUT, CONST) else [number[a] for a in arguments]
            number[k] = put(op, *known)
    return Program(program.inputs, tuple(nodes), tuple(number[k] for k in program.outputs))
