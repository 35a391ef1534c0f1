"""Trace a function that loops over the items of a tree, one symbolic item for each kind.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sixfold.graph.program import ADD, SUB
from sixfold.graph.rolled.columns import ColumnGraph

Key = tuple[int, int, int]
"""Loop, table and component of a value that passes between parent and child."""


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
