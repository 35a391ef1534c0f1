"""Graph to graph: share reciprocals, fuse multiply-adds, keep repeated evaluations once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sixfold.compiler.graph.build import Graph
from sixfold.compiler.graph.program import (
    ADD,
    CONST,
    COPY,
    DIV,
    FMA,
    FMS,
    FNMA,
    INPUT,
    MUL,
    NEG,
    SUB,
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
from sixfold.errors import InternalError
from sixfold.scalar import Scalar

#: Operations between a product and its last use, up to which it is fused into several sums.
MAX_FUSE_DISTANCE = 16


def optimise(program: Program) -> Program:
    """Run all passes; bodies of repetitions are optimised on their own."""
    program = with_bodies(program, optimise)
    return fuse(live(share_reciprocals(live(program)))).verify()


def live(program: Program) -> Program:
    """Keep only the nodes that results depend on, in the same order."""
    # backwards from the results
    needed = set(program.outputs)
    for k in range(len(program.nodes) - 1, -1, -1):
        if k in needed:
            needed.update(operands(program.nodes[k]))
    renumbered: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []
    for k, node in enumerate(program.nodes):
        if k in needed:
            renumbered[k] = len(nodes)
            nodes.append(_renumber(node, renumbered))
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
    return fold(program)


def fold(program: Program) -> Program:
    """Return a program traced anew: nothing twice, and folded across boundaries."""
    graph = Graph(inputs=program.inputs)
    number: dict[int, int] = {}
    for k, (op, *arguments) in enumerate(program.nodes):
        known = [_number(number, op, x) for x in arguments]
        number[k] = known[0] if isinstance(op, Boundary) else copy_operation(graph, op, known)
    return Program(program.inputs, tuple(graph.nodes), tuple(number[k] for k in program.outputs))


def share_reciprocals(program: Program) -> Program:
    """Turn several divisions by the same number into one reciprocal and products."""
    # a / b and c / b become a r and c r with r = 1 / b
    divisors = Counter(node[2] for node in program.nodes if node[0] == DIV)
    graph = Graph(inputs=program.inputs)
    number: dict[int, int] = {}
    for k, node in enumerate(program.nodes):
        op, *arguments = node
        if op == DIV and divisors[arguments[1]] > 1:
            a, b = (number[x] for x in arguments)
            number[k] = graph.mul(a, graph.div(graph.constant(1.0), b))
        else:
            number[k] = copy_operation(graph, op, [_number(number, op, x) for x in arguments])
    return Program(program.inputs, tuple(graph.nodes), tuple(number[k] for k in program.outputs))


def _number(number: dict[int, int], op: Any, x: Any) -> Any:
    return x if op in (INPUT, CONST) else number[x]


def copy_operation(graph: Graph, op: Any, arguments: list[Any]) -> int:
    """Return an operation of another program on nodes of a graph."""
    if op in (INPUT, CONST, FMA, FMS, FNMA, COPY) or not isinstance(op, str):
        return graph.keep(op, *arguments)
    return graph.operation(op, arguments)


def fuse(program: Program) -> Program:
    """Fold products into the sums that use them: x y + z with one rounding.

    A product goes where all its uses are sums that hold no other product yet: then it need not be
    computed by itself.  Products with one use come first; the others only where their uses are
    near, since both factors are kept until the last.
    """
    nodes = list(program.nodes)
    # who reads each node
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

    # products with fewest uses first: each sum can hold one product
    products = [k for k, node in enumerate(nodes) if node[0] == MUL]
    for product in sorted(products, key=lambda k: len(users.get(k, ()))):
        uses = users.get(product, [])
        near = len(uses) < 2 or uses[-1] - product <= MAX_FUSE_DISTANCE
        if near and fits(product, uses):
            holds.update(dict.fromkeys(uses, product))
    # x y + z, x y - z or z - x y with one rounding
    for k, product in holds.items():
        op, a, b = nodes[k]
        pair = nodes[product][1:]
        if op == ADD:
            nodes[k] = (FMA, *pair, a if b == product else b)
        else:
            nodes[k] = (FNMA, *pair, a) if b == product else (FMS, *pair, b)
    return live(Program(program.inputs, tuple(nodes), program.outputs))


def _renumber(node: tuple[Any, ...], renumbered: dict[int, int]) -> tuple[Any, ...]:
    if node[0] in (INPUT, CONST):
        return node
    return (node[0], *(renumbered[a] for a in node[1:]))


# -- subroutines


MIN_OPERATIONS = 300  # operations of a subroutine that the step of a scan calls

#: Operations of a subroutine that straight-line code calls: some times what a call copies.
MIN_CALL_OPERATIONS = 64

#: Operations that calls save in straight-line code; fewer are compiled in a fraction of a second,
#: and without calls they stay in registers.
MIN_SAVED_OPERATIONS = 3_000


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

    arguments: tuple[int, ...]  # boundaries of the arguments
    results: tuple[int, ...]  # boundaries of the results
    values: tuple[int, ...]  # what the results are, but for signs, which go to those who use them
    own: tuple[int, ...]  # operations that depend on the arguments, in order
    outside: tuple[int, ...]  # values they need in addition to the arguments and constants
    form: tuple[int, ...]  # equal for copies that do the same

    def inputs(self, program: Program) -> list[int]:
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
    return live(fold(_calling(program, [], _apart(equal))))


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
    # walk back from the results to the arguments; what comes before is from outside
    place = {a: k for k, a in enumerate(arguments)}
    values = tuple(_strip_sign(program, nodes[k][1])[0] for k in results)
    first = min(arguments, default=0)  # what comes before depends on no argument
    needed: set[int] = set()
    stack = list(values)
    while stack:
        k = stack.pop()
        if k not in needed:
            needed.add(k)
            stack += () if k in place or k < first else operands(nodes[k])
    # number the form of each node: equal copies get equal numbers
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
    extra = tuple(k for k in outside if k in read)
    return _Copy(arguments, results, values, tuple(own), extra, tuple(form[k] for k in values))


def _strip_sign(program: Program, k: int) -> tuple[int, bool]:
    """Return x and whether node k is -x rather than x."""
    op, *arguments = program.nodes[k]
    return (arguments[0], True) if op == NEG else (k, False)


def _subroutine(program: Program, copy: _Copy) -> Program:
    """Return the operations of one copy as a program of their own."""
    # inputs first, then constants as they are met
    taken = copy.inputs(program)
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
    return fold(found) if inside else found


def _calling(program: Program, main: Sequence[_Copy], others: Sequence[Sequence[_Copy]]) -> Program:
    """Return the program with calls instead of the copies.

    Args:
        program: with boundaries.
        main: copies of the subroutine whose arguments are handed over one by one.
        others: copies of each of the others.
    """
    # where each result comes from, and which call its first result starts
    made: dict[int, tuple[int, int]] = {}  # boundary of a result: its call, its number there
    before: dict[int, int] = {}  # first boundary of the results of a call
    copies = [*main, *(copy for group in others for copy in group)]
    for c, copy in enumerate(copies):
        own = set(copy.own)
        theirs = [k for k, x in zip(copy.results, copy.values, strict=True) if x in own]
        made |= {k: (c, n) for n, k in enumerate(theirs)}
        before[theirs[0]] = c
    # the main subroutine has its own plan; the others are bodies of one round
    bodies: list[Program | None] = [None] * len(main)
    for group in others:
        bodies += [fold(live(_subroutine(program, group[0])))] * len(group)
    taken = [copy.inputs(program) for copy in copies]
    # what is needed when calls stand in for their operations
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
            if _strip_sign(program, arguments[0])[1]:
                number[k] = put(NEG, number[k])
        elif isinstance(op, Boundary):
            number[k] = number[arguments[0]]
        else:
            known = arguments if op in (INPUT, CONST) else [number[a] for a in arguments]
            number[k] = put(op, *known)
    return Program(program.inputs, tuple(nodes), tuple(number[k] for k in program.outputs))


# -- tracing


def trace(
    function: Callable[..., Sequence[Scalar]], sizes: Sequence[int], *, boundaries: bool = False
) -> Program:
    """Return the program of a function of several lists of numbers.

    Args:
        function: takes one list of numbers for each size, returns a sequence of numbers.
        sizes: length of each list.
        boundaries: keep those around functions that are evaluated several times, for the step of a
            scan; else what is worth calling is kept once, see `subroutines`.
    """
    graph = Graph()
    lists = [[graph.input() for _ in range(size)] for size in sizes]
    program = graph.finish(function(*lists))
    return program if boundaries else with_calls(program)
