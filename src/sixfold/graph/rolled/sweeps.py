"""From graphs of kinds to sweeps over the tree: one small program for each kind and sweep.

Sweeps alternate between outward and inward.  Every value is computed in the first sweep in which
all its operands exist; loops of the source that can be fused therefore become one sweep.  A value
that a later sweep needs is stored for each item, unless it depends on inputs and constants only and
is cheap: then it is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.graph.passes import optimise
from sixfold.graph.program import CONST, INPUT, Program, verifying
from sixfold.graph.rolled.columns import ColumnGraph, Source
from sixfold.graph.rolled.program import Part, Rolled
from sixfold.graph.rolled.recorder import Item, Key, NotRolled, Recorder

CHEAP = frozenset({"add", "sub", "mul", "neg"})


@dataclass(frozen=True)
class Storage:
    """What the data of each item must hold, by sweep and kind."""

    columns: tuple[tuple[tuple[NDArray[np.float64], ...], ...], ...]
    """By sweep and kind: the columns that its program reads, in their places."""
    kept: tuple[int, ...]
    """Values stored for an item, by kind."""
    bases: tuple[tuple[float, ...], ...]
    """By sweep: what the root passes to its children."""


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
    kinds = [item for item in recorder.items if not item.witness]
    outs = [[_placed(c, o, k) for o, c, k in _numbered(outputs)] for outputs in items]
    ends = [_placed(c, o, k) for o, c, k in _numbered(wholes)]
    needed = _needed(recorder, kinds, outs, ends)
    sweep = _sweep_of_loops(recorder, kinds, needed)
    total = max(sweep.values(), default=0) + 1
    passed: list[list[Key]] = [[] for _ in range(total)]
    for key in sorted(needed):
        passed[sweep[key[0]]].append(key)
    place = {key: k for keys in passed for k, key in enumerate(keys)}

    parts: list[list[Part]] = [[] for _ in range(total)]
    columns: list[list[tuple[NDArray[np.float64], ...]]] = [[] for _ in range(total)]
    kept: list[int] = []
    for item, results in zip(kinds, outs, strict=True):
        split = _Split(item.graph, sweep)
        fixed: list[list[tuple[Source, int]]] = [[] for _ in range(total)]
        for sink, node in results:
            fixed[max(split.home[node], 0)].append((sink, node))
        for s, keys in enumerate(passed):
            for key in keys:
                down, up = ("publish", item.publishes), ("add", item.adds)
                name, values = down if recorder.loops[key[0]] else up
                fixed[s].append(((name, place[key]), values[key]))
        keeps = split.keeps(fixed)
        kept.append(len(keeps))
        for s in range(total):
            mine = [(("keep", k), node) for node, k in keeps.items() if split.home[node] == s]
            part, used = split.part(s, [*fixed[s], *mine], keeps, place)
            parts[s].append(part)
            columns[s].append(used)
    last = _last(recorder, ends, sweep, place)
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


Result = tuple[Source, int]
"""Where a result goes, and its node."""


def _numbered(outputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """Yield output array, component and node of all results."""
    for o, nodes in enumerate(outputs):
        for component, node in enumerate(nodes):
            yield o, component, node


def _placed(component: int, output: int, node: int) -> Result:
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


def _needed(
    recorder: Recorder, kinds: list[Item], outs: Sequence[Sequence[Result]], ends: Sequence[Result]
) -> set[Key]:
    """Return the values between parent and child that results depend on."""
    outside = recorder.outside
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

    def visited(self, s: int, starts: Iterable[int]) -> tuple[set[int], set[int]]:
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
                inside, earlier = self.visited(s, starts)
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
        inside, kept = self.visited(s, [node for _, node in results])
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
