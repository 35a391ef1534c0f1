"""Programs that loop over the items of a tree: traced, arranged in sweeps, stored.

The function sees `items`, whose loops yield one `Item` a kind, and tables that it reads and writes
at an item, reads at the item's parent, and adds to at the parent.  What it does to an item becomes
the graph of that item's kind; what passes between parent and child becomes a source of the child's
graph (or of the parent's, for sums) and a sink of the other's.

Rules, checked here: a value read at the parent is of a table with a value at the root, in a loop
from the root to the tips; only `T[parent] += x` writes to the parent, in a loop from the tips to
the root; and an item's graph depends on no loop-carried variable of the function: every kind is
traced twice, and the two graphs must be equal and share no node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.compiler.graph.build import Graph, Node
from sixfold.compiler.graph.passes import optimise
from sixfold.compiler.graph.program import ADD, CONST, INPUT, SUB, Program, verifying
from sixfold.errors import InternalError
from sixfold.scalar import RULES, ZERO, Op

# -- columns: constants that differ from item to item


#: Where an input comes from: ("array", a, c), ("column", j), ("parent", ...), ("sum", ...).
Source = tuple[Any, ...]


class ColumnGraph(Graph):
    """The graph of one kind of item; its inputs are described by their sources."""

    def __init__(self, count: int) -> None:
        """Start an empty graph for a kind with `count` items."""
        super().__init__()
        self.count = count
        self.sources: list[Source] = []
        self.columns: list[NDArray[np.float64]] = []
        self._found: dict[Source, int] = {}
        self._by_content: dict[bytes, int] = {}

    def source(self, *source: Any) -> Node:
        """Return the input with this source, made at its first use."""
        found = self._found.get(source)
        if found is None:
            found = self._found[source] = self.input().index
            self.sources.append(source)
        return Node(self, found)

    def number(self, array: NDArray[np.float64]) -> Any:
        """Return a constant of all items: an exact zero, a plain number or a column."""
        if (array == array[0]).all():
            return ZERO if array[0] == 0.0 else float(array[0])
        return Node(self, self._column(array))

    def _column(self, array: NDArray[np.float64]) -> int:
        array = array + 0.0  # 0.0 and -0.0 count as equal
        if (array == array[0]).all():
            return self.constant(float(array[0]))
        # equal columns are one
        number = self._by_content.setdefault(array.tobytes(), len(self.columns))
        if number == len(self.columns):
            self.columns.append(array)
        return self.source("column", number).index

    def _constants(self, k: int) -> Any:
        """Return the values of a node that is a constant or a column, None for any other."""
        op, x, *_ = self.nodes[k]
        if op == CONST:
            return x
        if op == INPUT and self.sources[x][0] == "column":
            return self.columns[self.sources[x][1]]
        return None

    def _fold_columns(self, rule: Callable[..., Any], *arguments: int) -> int | None:
        values = [self._constants(k) for k in arguments]
        if any(x is None for x in values) or not any(isinstance(x, np.ndarray) for x in values):
            return None
        with np.errstate(all="ignore"):
            result = rule(*values)
        return self._column(result) if np.isfinite(result).all() else None

    def add(self, a: int, b: int) -> int:
        """A + b."""
        found = self._fold_columns(np.add, a, b)
        return super().add(a, b) if found is None else found

    def sub(self, a: int, b: int) -> int:
        """A - b."""
        found = self._fold_columns(np.subtract, a, b)
        return super().sub(a, b) if found is None else found

    def mul(self, a: int, b: int) -> int:
        """A b."""
        found = self._fold_columns(np.multiply, a, b)
        return super().mul(a, b) if found is None else found

    def div(self, a: int, b: int) -> int:
        """A / b."""
        found = self._fold_columns(np.divide, a, b)
        return super().div(a, b) if found is None else found

    def neg(self, a: int) -> int:
        """-a."""
        found = self._fold_columns(np.negative, a)
        return super().neg(a) if found is None else found

    def apply(self, op: Op, *arguments: int) -> int:
        """Any other operation; those that NumPy rounds as kernels do are folded on columns."""
        exact = op in (Op.ABS, Op.SIGN, Op.SQRT)
        found = self._fold_columns(getattr(np, RULES[op].numpy), *arguments) if exact else None
        return super().apply(op, *arguments) if found is None else found


# -- the program


@dataclass(frozen=True)
class Part:
    """What one sweep does to an item of one kind: a program, its inputs and its results.

    Sources are ("array", number, component), ("column", place), ("kept", place), ("parent", place)
    and ("sum", place); sinks are ("out", component), ("keep", place), ("publish", place) and
    ("add", place).  A component of another output than the first is ("out", component, output).
    """

    program: Program
    sources: tuple[Source, ...]
    sinks: tuple[Source, ...]


def output_of(sink: Source) -> int:
    """Return the output array of a sink "out"."""
    return int(sink[2]) if len(sink) > 2 else 0


@dataclass(frozen=True)
class Rolled:
    """A program that sweeps over the items of a tree."""

    parts: tuple[tuple[Part, ...], ...]  # by sweep, then kind
    outward: tuple[bool, ...]  # direction of each sweep
    passed: tuple[int, ...]  # how many values each sweep passes between parent and child
    last: Part  # what is done once at the end, with ("sum", sweep, place) of the root as sources
    single: bool  # no item has two children: a sum at the parent has one term
    items: tuple[int, ...]  # items of each kind, for counting operations
    arrays: int  # input arrays
    outputs: int = 1  # output arrays

    def text(self) -> str:
        """Print; equal programs print equal texts."""
        # a single output, the usual case, adds nothing to the text
        arrays = self.arrays if self.outputs == 1 else (self.arrays, self.outputs)
        head = (self.outward, self.passed, self.single, arrays)
        lines = ["rolled " + " ".join(str(int(x)) for x in (len(self.outward), len(self.items)))]
        lines += [" ".join(str(int(x)) for x in _as_tuple(part)) or "-" for part in head]
        lines.append(" ".join(map(str, self.items)))
        for part in [*(p for sweep in self.parts for p in sweep), self.last]:
            lines.append(" ".join(":".join(map(str, s)) for s in part.sources) or "-")
            lines.append(" ".join(":".join(map(str, s)) for s in part.sinks) or "-")
            lines += [part.program.text(), "end"]
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> Rolled:
        """Read what `text` printed."""
        lines = iter(text.splitlines())
        sweeps, kinds = map(int, next(lines).split()[1:])
        outward, passed, single, arrays, counts = (_numbers(next(lines)) for _ in range(5))
        parts = [_part(lines) for _ in range(sweeps * kinds + 1)]
        return cls(
            tuple(tuple(parts[s * kinds : (s + 1) * kinds]) for s in range(sweeps)),
            tuple(map(bool, outward)),
            passed,
            parts[-1],
            bool(single[0]),
            counts,
            *arrays,
        )

    def verify(self) -> Rolled:
        """Return the program if it is valid; raise InternalError otherwise.

        Parts read and write what exists: arrays, values that their sweep passes in its direction,
        and values that an earlier sweep has kept.
        """
        sweeps, kinds = len(self.parts), len(self.items)
        if len(self.outward) != sweeps or len(self.passed) != sweeps:
            raise _wrong(f"{sweeps} sweeps, {len(self.outward)} directions")
        if any(len(sweep) != kinds for sweep in self.parts):
            raise _wrong(f"a sweep has not one part for each of {kinds} kinds")
        for kind in range(kinds):
            kept: set[Source] = set()
            written: list[Source] = []
            for s in range(sweeps):
                part = self.parts[s][kind]
                self._verify_part(part, s, kept)
                kept |= {sink[1:] for sink in part.sinks if sink[0] == "keep"}
                written += [sink for sink in part.sinks if sink[0] == "out"]
            if len(set(written)) != len(written):
                raise _wrong(f"an item of kind {kind} writes a result twice")
        used = {node[1] for node in self.last.program.nodes if node[0] == INPUT}
        _verify_ends(self.last)
        for n in used:
            name, sweep, place = self.last.sources[n]
            if name != "sum" or not sweep < sweeps or not place < self.passed[sweep]:
                raise _wrong(f"the last part reads {self.last.sources[n]}")
        if any(sink[0] != "out" or output_of(sink) >= self.outputs for sink in self.last.sinks):
            raise _wrong("the last part writes what is no result")
        return self

    def _verify_part(self, part: Part, s: int, kept: set[Source]) -> None:
        """Check sources and sinks of a part of sweep s."""
        _verify_ends(part)
        down, passed = self.outward[s], self.passed[s]
        for source in part.sources:
            name, place, *_ = source
            there = {
                "array": place < self.arrays,
                "column": True,
                "kept": source[1:] in kept,
                "parent": down and place < passed,
                "sum": not down and place < passed,
            }
            if not there.get(name, False):
                raise _wrong(f"a part of sweep {s} reads {source}, which is not there")
        for sink in part.sinks:
            name, place, *_ = sink
            there = {
                "out": output_of(sink) < self.outputs,
                "keep": True,
                "publish": down and place < passed,
                "add": not down and place < passed,
            }
            if not there.get(name, False):
                raise _wrong(f"a part of sweep {s} writes {sink}, which is not there")

    def counts(self) -> dict[str, int]:
        """Return how many operations of each kind one row takes."""
        totals: dict[str, int] = {}
        for sweep in self.parts:
            for n, part in zip(self.items, sweep, strict=True):
                for op, k in part.program.counts().items():
                    totals[op] = totals.get(op, 0) + n * k
        for op, k in self.last.program.counts().items():
            totals[op] = totals.get(op, 0) + k
        return totals

    def work(self) -> int:
        """Return how many operations one row takes."""
        return sum(n for op, n in self.counts().items() if op not in (INPUT, CONST))

    def flops(self) -> int:
        """Return additions plus multiplications plus divisions of one row."""
        work = [
            n * part.program.flops()
            for sweep in self.parts
            for n, part in zip(self.items, sweep, strict=True)
        ]
        return sum(work) + self.last.program.flops()


def _wrong(what: str) -> InternalError:
    return InternalError("rolled program", what)


def _verify_ends(part: Part) -> None:
    """Check that a part has a source for each input and a sink for each result."""
    program = part.program.verify()
    if program.inputs != len(part.sources) or len(program.outputs) != len(part.sinks):
        raise _wrong("a part has not one source for each input and one sink for each result")


def _as_tuple(x: Any) -> Sequence[Any]:
    return x if isinstance(x, tuple) else (x,)


def _numbers(line: str) -> tuple[int, ...]:
    return () if line == "-" else tuple(map(int, line.split()))


def _part(lines: Iterator[str]) -> Part:
    def places() -> tuple[Source, ...]:
        line = next(lines)
        if line == "-":
            return ()
        words = (entry.split(":") for entry in line.split())
        return tuple((kind, *map(int, rest)) for kind, *rest in words)

    sources, sinks = places(), places()
    body: list[str] = []
    for line in lines:
        if line == "end":
            break
        body.append(line)
    return Part(Program.parse("\n".join(body)), sources, sinks)


# -- tracing


#: Loop, table and component of a value that passes between parent and child.
Key = tuple[int, int, int]


class NotRolled(Exception):
    """A function that cannot be traced in rolled form; the message says why."""


@dataclass(eq=False)
class Item:
    """The current item of a loop: a symbol for every item of its kind."""

    kind: int
    graph: ColumnGraph
    witness: bool
    publishes: dict[Key, int] = field(default_factory=dict)
    adds: dict[Key, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Parent:
    """The parent of the current item of a loop."""

    item: Item


class Items:
    """All items, parents before children; a loop over them is traced once for each kind."""

    def __init__(self, recorder: Recorder) -> None:
        """Take the recorder."""
        self.recorder = recorder

    def __iter__(self) -> Iterator[Item]:
        """Loop from the root to the tips."""
        return self.recorder.loop(outward=True)

    def __reversed__(self) -> Iterator[Item]:
        """Loop from the tips to the root."""
        return self.recorder.loop(outward=False)


class Table:
    """One value for each item, and perhaps one for the root."""

    def __init__(self, recorder: Recorder, base: Any) -> None:
        """Start empty."""
        self.recorder, self.base, self.number = recorder, base, recorder.tables
        recorder.tables += 1
        self.own: dict[Item, Any] = {}
        self.whole: set[Item] = set()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set the item's value, or add to the parent's."""
        if isinstance(key, Item):
            self.own[key] = value
            if self.recorder.current >= self.recorder.adding.get(self.number, _NEVER):
                self.whole.add(key)
        elif isinstance(key, Parent):
            self.recorder.add(self, key.item, value)
        else:
            raise NotRolled(f"a table was written at {key!r}, which is no item of a loop")

    def __getitem__(self, key: Any) -> Any:
        """Return the item's value, its parent's, or the root's."""
        recorder = self.recorder
        loop = recorder.adding.get(self.number)
        if isinstance(key, Item):
            value = self.own[key]
            if recorder.first and self.base is not None and not recorder.loops[-1]:
                loop = recorder.current  # the loop may add to this table
            if loop is not None and recorder.current >= loop and key not in self.whole:
                value = value + self._sources(key.graph, "sum", loop)
            return value
        if isinstance(key, Parent):
            graph, current = key.item.graph, recorder.current
            if loop == current:
                return self._sources(graph, "onto", current)
            if not recorder.first:
                recorder.reads[current, self.number] = self
            return self._sources(graph, "parent", current)
        if key == 0:
            loop, total = recorder.found.get(self.number), self.base
            return total if loop is None else total + self._sources(recorder.outside, "sum", loop)
        raise NotRolled(f"a table was read at {key!r}, which is no item of a loop")

    def _sources(self, graph: ColumnGraph, kind: str, loop: int) -> Any:
        """Return a value of the root value's structure; each of its numbers is a source."""
        if self.base is None:
            raise NotRolled("a table that passes between items needs a value at the root")
        count = iter(range(1_000_000))
        return over(self.base, lambda _: graph.source(kind, loop, self.number, next(count)))


_NEVER = 1 << 60


class Recorder:
    """Records what a function does to the items of a tree."""

    def __init__(self, counts: Sequence[int], adding: dict[int, int] | None = None) -> None:
        """Take how many items there are of each kind, and which loop adds to which table.

        Without the latter this is the first pass, which finds the tables.
        """
        self.items = [
            Item(kind, ColumnGraph(n), witness)
            for kind, n in enumerate(counts)
            for witness in (False, True)
        ]
        self.outside = ColumnGraph(1)
        self.first = adding is None
        self.adding: dict[int, int] = adding or {}
        self.found: dict[int, int] = {}
        self.tables, self.current = 0, -1
        self.loops: list[bool] = []
        self.reads: dict[tuple[int, int], Table] = {}
        self.bases: dict[Key, float] = {}
        self._inside = False

    def loop(self, outward: bool) -> Iterator[Item]:
        """Yield one item of each kind, and the second one that it is compared with."""
        if self._inside:
            raise NotRolled("a loop over all items inside another, or left early")
        self._inside = True
        self.loops.append(outward)
        self.current = len(self.loops) - 1
        for item in self.items:
            yield item
            self._publish(item)
        self._inside = False

    def _publish(self, item: Item) -> None:
        """Record what the item's children read of it in this loop."""
        for (loop, _), table in self.reads.items():
            if loop != self.current:
                continue
            if not self.loops[loop]:
                raise NotRolled("a value is read at the parent in a loop from the tips to the root")
            if item not in table.own:
                raise NotRolled("a table read at the parent has no value at the item")
            for component, x in enumerate(leaves(table.own[item])):
                item.publishes[loop, table.number, component] = item.graph.lift(x)
            for component, x in enumerate(leaves(table.base)):
                self.bases[loop, table.number, component] = float(x)

    def add(self, table: Table, item: Item, value: Any) -> None:
        """Record `T[parent] += x`, with value = T[parent] + x."""
        loop, graph = self.current, item.graph
        if self.loops[loop]:
            raise NotRolled("a loop from the root to the tips adds to the parent")
        if self.found.setdefault(table.number, loop) != loop:
            raise NotRolled("two loops add to one table")
        if self.first:
            return
        for component, x in enumerate(leaves(value)):
            key = (loop, table.number, component)
            onto = graph.source("onto", *key).index
            term = _term(graph, graph.lift(x), onto)
            if term is None:
                raise NotRolled("the parent's value is changed other than by +=")
            before = item.adds.get(key)
            item.adds[key] = term if before is None else graph.add(before, term)

    def finish(self) -> None:
        """Check that both traces of each kind are equal."""
        for item, witness in zip(self.items[::2], self.items[1::2], strict=True):
            same = item.graph.nodes == witness.graph.nodes and item.adds == witness.adds
            if not same or item.publishes != witness.publishes:
                raise NotRolled("a variable is carried from one item to the next")


def _term(graph: ColumnGraph, total: int, onto: int) -> int | None:
    """Return x of onto + x, None for anything else."""
    if total == onto:
        return graph.constant(0.0)
    op, *arguments = graph.nodes[total]
    if op == ADD and onto in arguments:
        return int(arguments[1] if arguments[0] == onto else arguments[0])
    if op == SUB and arguments[0] == onto:
        return graph.neg(arguments[1])
    return None


def over(value: Any, convert: Any) -> Any:
    """Return a value of any shape with each of its numbers converted."""
    if hasattr(value, "map"):
        return value.map(convert)
    if isinstance(value, tuple):
        return type(value)(map(convert, value))
    return convert(value)


def leaves(value: Any) -> list[Any]:
    """Return the numbers of a value, in the order in which `over` meets them."""
    found: list[Any] = []
    if isinstance(value, tuple) and not hasattr(value, "map"):
        for x in value:
            found += leaves(x) if isinstance(x, tuple) else (x,)
        return found

    def keep(x: Any) -> Any:
        found.append(x)
        return x

    over(value, keep)
    return found


# -- sweeps: one small program for each kind and direction


CHEAP = frozenset({"add", "sub", "mul", "neg"})


@dataclass(frozen=True)
class Storage:
    """What the data of each item must hold, by sweep and kind."""

    #: By sweep and kind: the columns that its program reads, in their places.
    columns: tuple[tuple[tuple[NDArray[np.float64], ...], ...], ...]
    kept: tuple[int, ...]  # values stored for an item, by kind
    bases: tuple[tuple[float, ...], ...]  # by sweep: what the root passes to its children


def sweeps(
    recorder: Recorder,
    items: Sequence[Sequence[Sequence[int]]],
    wholes: Sequence[Sequence[int]],
    *,
    arrays: int,
    single: bool,
) -> tuple[Rolled, Storage]:
    """Arrange what was recorded in sweeps.

    Args:
        recorder: after its second pass.
        items: by kind and output array, the nodes that are an item's results.
        wholes: by output array, the nodes of the outside graph that are results.
        arrays: number of input arrays.
        single: no item has two children.
    """
    # witnesses are of the second trace, which only checks the first
    kinds = [item for item in recorder.items if not item.witness]
    outs = [[_result(c, o, k) for o, c, k in _flat_results(outputs)] for outputs in items]
    ends = [_result(c, o, k) for o, c, k in _flat_results(wholes)]
    needed = _needed_values(recorder, kinds, outs, ends)
    sweep = _sweep_of_loops(recorder, kinds, needed)
    total = max(sweep.values(), default=0) + 1
    # values that each sweep passes between parent and child, and their places
    passed: list[list[Key]] = [[] for _ in range(total)]
    for key in sorted(needed):
        passed[sweep[key[0]]].append(key)
    place = {key: k for keys in passed for k, key in enumerate(keys)}

    parts: list[list[Part]] = [[] for _ in range(total)]
    columns: list[list[tuple[NDArray[np.float64], ...]]] = [[] for _ in range(total)]
    kept: list[int] = []
    for item, results in zip(kinds, outs, strict=True):
        # results go out in the sweep that computes them; passed values have their own sweep
        split = _Split(item.graph, sweep)
        fixed: list[list[tuple[Source, int]]] = [[] for _ in range(total)]
        for sink, node in results:
            fixed[max(split.home[node], 0)].append((sink, node))
        for s, keys in enumerate(passed):
            for key in keys:
                down, up = ("publish", item.publishes), ("add", item.adds)
                name, values = down if recorder.loops[key[0]] else up
                fixed[s].append(((name, place[key]), values[key]))
        # values of earlier sweeps are kept in the item's own vectors
        keeps = split.keeps(fixed)
        kept.append(len(keeps))
        for s in range(total):
            mine = [(("keep", k), node) for node, k in keeps.items() if split.home[node] == s]
            part, used = split.part(s, [*fixed[s], *mine], keeps, place)
            parts[s].append(part)
            columns[s].append(used)
    last = _last(recorder, ends, sweep, place)
    # sweeps alternate: outward first
    outward = tuple(s % 2 == 0 for s in range(total))
    rolled = Rolled(
        tuple(map(tuple, parts)),
        outward,
        tuple(map(len, passed)),
        last,
        single,
        tuple(item.graph.count for item in kinds),
        arrays,
        len(wholes),
    )
    if verifying():
        rolled.verify()
    bases = tuple(tuple(recorder.bases.get(key, 0.0) for key in keys) for keys in passed)
    return rolled, Storage(tuple(map(tuple, columns)), tuple(kept), bases)


Result = tuple[Source, int]  # where a result goes, and its node


def _flat_results(outputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """Yield output array, component and node of all results."""
    for o, nodes in enumerate(outputs):
        for component, node in enumerate(nodes):
            yield o, component, node


def _result(component: int, output: int, node: int) -> Result:
    sink: Source = ("out", component, output) if output else ("out", component)
    return sink, node


def _cone(graph: ColumnGraph, starts: Iterable[int]) -> set[int]:
    """Return all nodes that some nodes depend on, themselves included."""
    seen: set[int] = set()
    stack = list(starts)
    while stack:
        k = stack.pop()
        if k not in seen:
            seen.add(k)
            op, *arguments = graph.nodes[k]
            if op not in (INPUT, CONST):
                stack += arguments
    return seen


def _passes(graph: ColumnGraph, nodes: Iterable[int]) -> set[Key]:
    """Return what a set of nodes reads of parents and children."""
    found: set[Key] = set()
    for k in nodes:
        op, x, *_ = graph.nodes[k]
        if op == INPUT:
            kind, *key = graph.sources[x]
            if kind == "onto":
                raise NotRolled("the parent's value is read where it is still being summed")
            if kind in ("parent", "sum"):
                found.add((key[0], key[1], key[2]))
    return found


def _needed_values(
    recorder: Recorder, kinds: list[Item], outs: Sequence[Sequence[Result]], ends: Sequence[Result]
) -> set[Key]:
    """Return the values between parent and child that results depend on."""
    outside = recorder.outside
    # what the results read of parents and children, and so on backwards
    fresh = _passes(outside, _cone(outside, [node for _, node in ends]))
    for item, results in zip(kinds, outs, strict=True):
        fresh |= _passes(item.graph, _cone(item.graph, [node for _, node in results]))
    needed: set[Key] = set()
    while fresh:
        needed |= fresh
        more: set[Key] = set()
        for item in kinds:
            starts = [_sent(item, key) for key in fresh]
            more |= _passes(item.graph, _cone(item.graph, starts))
        fresh = more - needed
    return needed


def _sent(item: Item, key: Key) -> int:
    found = item.publishes.get(key)
    return item.adds[key] if found is None else found


def _sweep_of_loops(recorder: Recorder, kinds: list[Item], needed: set[Key]) -> dict[int, int]:
    """Return the sweep of each loop that passes values: the first that has all it depends on."""
    sweep: dict[int, int] = {}
    for loop in sorted({key[0] for key in needed}):
        after = 0
        for item in kinds:
            starts = [_sent(item, key) for key in needed if key[0] == loop]
            for other, *_ in _passes(item.graph, _cone(item.graph, starts)):
                after = max(after, sweep.get(other, 0))
        # outward loops are even sweeps
        parity = 0 if recorder.loops[loop] else 1
        sweep[loop] = after if after % 2 == parity else after + 1
    return sweep


class _Split:
    """Cuts the graph of one kind into sweeps."""

    def __init__(self, graph: ColumnGraph, sweep: dict[int, int]) -> None:
        self.graph, self.sweep = graph, sweep
        self.home: list[int] = []
        for op, *arguments in graph.nodes:
            if op == CONST:
                self.home.append(-1)
            elif op == INPUT:
                kind, *key = graph.sources[arguments[0]]
                passes = kind in ("parent", "sum")
                self.home.append(self.sweep.get(key[0], -1) if passes else -1)
            else:
                self.home.append(max(self.home[a] for a in arguments))

    def visit(self, s: int, starts: Iterable[int]) -> tuple[set[int], set[int]]:
        """Return the nodes that sweep s computes for some results, and the stored ones it reads."""
        inside: set[int] = set()
        kept: set[int] = set()
        stack = list(starts)
        while stack:
            k = stack.pop()
            if k in inside or k in kept:
                continue
            if 0 <= self.home[k] < s:
                kept.add(k)
                continue
            inside.add(k)
            op, *arguments = self.graph.nodes[k]
            if op not in (INPUT, CONST):
                stack += arguments
        return inside, kept

    def keeps(self, fixed: list[list[tuple[Source, int]]]) -> dict[int, int]:
        """Return the place of each value that later sweeps need.

        Expensive values of inputs alone are computed in the first sweep that needs them.
        """
        for _ in range(2):
            kept: set[int] = set()
            first: dict[int, int] = {}
            for s in reversed(range(len(fixed))):
                starts = [node for _, node in fixed[s]]
                starts += [k for k in kept if self.home[k] == s]
                inside, earlier = self.visit(s, starts)
                kept |= earlier
                for k in inside:
                    if self.home[k] < 0 and self.graph.nodes[k][0] not in CHEAP | {INPUT, CONST}:
                        first[k] = s
            for k, s in first.items():
                self.home[k] = s
        return {k: place for place, k in enumerate(sorted(kept))}

    def part(
        self,
        s: int,
        results: list[tuple[Source, int]],
        keeps: dict[int, int],
        place: dict[Key, int],
    ) -> tuple[Part, tuple[NDArray[np.float64], ...]]:
        """Return the program of sweep s and the columns it reads."""
        inside, kept = self.visit(s, [node for _, node in results])
        sources: list[Source] = []
        columns: dict[int, int] = {}
        number: dict[int, int] = {}
        nodes: list[tuple[Any, ...]] = []
        for k in sorted(inside | kept):
            op, *arguments = self.graph.nodes[k]
            if k in kept or op == INPUT:
                source: Source = ("kept", keeps.get(k))
                if k not in kept:
                    source = self.graph.sources[arguments[0]]
                if source[0] == "column":
                    source = ("column", columns.setdefault(source[1], len(columns)))
                elif source[0] in ("parent", "sum"):
                    source = (source[0], place[source[1], source[2], source[3]])
                node: tuple[Any, ...] = (INPUT, len(sources))
                sources.append(source)
            elif op == CONST:
                node = (CONST, *arguments)
            else:
                node = (op, *(number[a] for a in arguments))
            number[k] = len(nodes)
            nodes.append(node)
        ends = tuple(number[node] for _, node in results)
        program = optimise(Program(len(sources), tuple(nodes), ends))
        used = tuple(self.graph.columns[c] for c in columns)
        return Part(program, tuple(sources), tuple(sink for sink, _ in results)), used


def _last(
    recorder: Recorder, ends: Sequence[Result], sweep: dict[int, int], place: dict[Key, int]
) -> Part:
    """Return the program that runs once at the end, on the sums at the root."""
    graph = recorder.outside
    sources: list[Source] = []
    for kind, loop, table, component in graph.sources:
        if kind != "sum":
            raise NotRolled(f"a {kind} outside of all loops")
        there = (loop, table, component)
        sources.append(("sum", sweep[loop], place[there]) if there in place else ("sum", 0, 0))
    program = optimise(Program(len(sources), tuple(graph.nodes), tuple(k for _, k in ends)))
    return Part(program, tuple(sources), tuple(sink for sink, _ in ends))


# -- the data of each item: kind, constants and where its values are


#: Words of an item's record: its kind, where its columns and kept values begin, and where its
#: elements of each array begin, outputs last; then three slots.
KIND, COLUMNS, KEPT, ARRAYS = 0, 1, 2, 3
#: Header: items, vectors of scratch; for each sweep: its records, columns, root slot and area.
WORDS_BEFORE, WORDS_EACH = 2, 4


def words(rolled: Rolled) -> int:
    """Return how many words an item's record has."""
    return ARRAYS + rolled.arrays + rolled.outputs + 3


@dataclass(frozen=True)
class Shape:
    """The tree that a rolled program sweeps over, item by item, parents first."""

    parent: Sequence[int]  # number of each item's parent; items count from 1, the root is 0
    kind: Sequence[int]
    #: For each input array and then each output: where each item's elements begin.
    starts: Sequence[NDArray[np.int_]]


def pack(rolled: Rolled, storage: Storage, shape: Shape) -> bytes:
    """Return all data of a kernel in its memory layout."""
    # kept values of all items, one item after the other
    n, total = len(shape.parent), len(rolled.outward)
    kind = np.asarray(shape.kind)
    sizes = np.asarray(storage.kept)[kind]
    kept = np.concatenate([[0], np.cumsum(sizes)])
    header = np.zeros(WORDS_BEFORE + WORDS_EACH * total, np.int64)
    scratch = int(kept[-1])
    body = [b"".join(np.asarray(base, np.float64).tobytes() for base in storage.bases)]
    # records and constants of each sweep, aligned to words
    for s, outward in enumerate(rolled.outward):
        slots, count, root = (_outward if outward else _inward)(shape.parent)
        each = rolled.passed[s]
        record = np.zeros((n, words(rolled)), np.int32)
        record[:, KIND] = kind
        record[:, KEPT] = kept[:-1]
        for a, starts in enumerate(shape.starts):
            record[:, ARRAYS + a] = starts
        record[:, -3:] = scratch + slots * each
        columns, starts = _columns(storage.columns[s], kind)
        record[:, COLUMNS] = starts
        _align(body)
        at = WORDS_BEFORE + WORDS_EACH * s
        header[at] = header.nbytes + sum(map(len, body))
        body.append(record.tobytes())
        _align(body)
        header[at + 1] = header.nbytes + sum(map(len, body))
        body.append(columns.tobytes())
        header[at + 2] = scratch + root * each
        header[at + 3] = scratch
        scratch += count * each
    header[0], header[1] = n, scratch
    return header.tobytes() + b"".join(body)


def _align(body: list[bytes]) -> None:
    """Pad, so that what follows is aligned to a word."""
    body.append(b"\0" * (-sum(map(len, body)) % 8))


def _columns(
    by_kind: Sequence[Sequence[NDArray[np.float64]]], kind: NDArray[np.int_]
) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """Return the constants of all items, one row after the other, and where each row begins."""
    # each item has as many constants as its kind
    widths = np.asarray([len(columns) for columns in by_kind])[kind]
    starts = np.concatenate([[0], np.cumsum(widths)])
    flat = np.zeros(int(starts[-1]))
    for k, columns in enumerate(by_kind):
        first = starts[:-1][kind == k]
        for j, column in enumerate(columns):
            flat[first + j] = column
    return flat, starts[:-1]


class _Slots:
    """Allocates slot numbers, the lowest free one first."""

    def __init__(self, reserved: int) -> None:
        self.free: list[int] = []
        self.count = reserved

    def take(self) -> int:
        if self.free:
            return self.free.pop()
        self.count += 1
        return self.count - 1

    def give(self, slot: int) -> None:
        self.free.append(slot)


def _outward(parent: Sequence[int]) -> tuple[NDArray[np.int_], int, int]:
    """Return (own, parent's, 0) slots for values from parents to children; slot 0 is unused."""
    # a parent's slot is free after its last child
    last = {p: i for i, p in enumerate(parent, 1)}
    slots, used = np.zeros((len(parent), 3), int), _Slots(1)
    mine = {0: used.take()}
    for i, p in enumerate(parent, 1):
        slots[i - 1, 1] = mine[p]
        if i in last:
            mine[i] = slots[i - 1, 0] = used.take()
        if last[p] == i:
            used.give(mine.pop(p))
    return slots, used.count, 1


def _inward(parent: Sequence[int]) -> tuple[NDArray[np.int_], int, int]:
    """Return (own sum, parent's sum before, parent's sum after) slots; slot 0 holds zeros."""
    slots, used = np.zeros((len(parent), 3), int), _Slots(1)
    # children come first: a sum begins with the last child and ends at the parent
    sums: dict[int, int] = {0: used.take()}
    begun: set[int] = set()
    for i in range(len(parent), 0, -1):
        p = parent[i - 1]
        slots[i - 1, 0] = sums.get(i, 0)
        slots[i - 1, 1] = sums[p] if p in begun else 0
        if p not in sums:
            sums[p] = used.take()
        begun.add(p)
        slots[i - 1, 2] = sums[p]
        if i in sums:
            used.give(sums.pop(i))
    return slots, used.count, 1
