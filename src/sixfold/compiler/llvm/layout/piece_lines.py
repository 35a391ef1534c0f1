"""Lines of wide results that the pieces of a program write themselves, past the caches.

They are on their way while the processor computes: with results of 16 MiB or more, matrices of the
G1 take 1.11 times as long without, its derivatives 1.13 to 1.21 times.

A line past the caches takes about as long as eight operations, and stores are done in order: behind
many lines at once, all other stores wait.  So there are some operations between groups of lines.
Lines of two rows and of zeros are for the end of a block: one after the other they take a third of
the time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from sixfold.compiler.graph.program import CONST, Program
from sixfold.compiler.llvm.layout.plan import (
    LANES,
    MAX_OUTPUTS,
    Group,
    Line,
    Lines,
    Plan,
    due,
    row_lines,
)
from sixfold.compiler.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.compiler.llvm.text.writer import Block, table

SIDE = 4  #: Columns that become rows at a time.

ITEM = LINE_BYTES // LANES  #: Bytes of a number.

#: Part of the operations after the first group is there, over which groups are spread.
STORE_WINDOW = 0.7

#: Operations for each line up to which pieces write lines: beyond, lines are little of the time.
MAX_OPERATIONS_PER_LINE = 20


def is_profitable(cut: Plan, sizes: Sequence[int]) -> bool:
    """Return whether pieces write the lines of a block, and not what comes after them."""
    operations = sum(map(len, cut.pieces))
    for run in cut.runs:
        operations += run.rounds * sum(map(len, cut.routines[run.routine].plan.pieces))
    few = operations <= MAX_OPERATIONS_PER_LINE * sum(sizes)
    return few and len(sizes) <= MAX_OUTPUTS and not cut.large


def schedule_line_stores(program: Program, cut: Plan, sizes: Sequence[int]) -> Lines:
    """Return when lines are written.

    Args:
        program: whose results they are.
        cut: its plan; the slot behind its last is for addresses.
        sizes: columns of each output.
    """
    starts = list(itertools.accumulate((len(p) + 1 for p in cut.pieces), initial=0))
    # each group of lines is ready when its last result is
    ready_at = _ready_at(program, cut, starts)
    due: list[tuple[int, int, tuple[Line, ...]]] = []
    ends: list[tuple[int, ...]] = []
    zeros: list[tuple[int, ...]] = []
    first = 0
    for output, size in enumerate(sizes):
        nodes = program.outputs[first : first + size]
        first += size
        zero = [program.nodes[k] == (CONST, 0.0) for k in nodes]
        for lines in _varying(zero):
            read = {nodes[line.column + j] for line in lines for j in range(LANES)}
            due.append((max(ready_at.get(k, 0) for k in read), output, lines))
        ends.append(_ends(zero))
        zeros.append(_zeros(zero))
    # spread them evenly over the operations that remain
    groups: list[list[Group]] = [[] for _ in cut.pieces]
    begin, end = min((ready for ready, *_ in due), default=0), starts[-1] - 1
    apart = int(STORE_WINDOW * (end - begin) / max(1, len(due)))
    time, p = -apart, 0
    for ready, output, lines in sorted(due):
        time = min(max(ready, time + apart), end)
        while time >= starts[p + 1]:
            p += 1
        groups[p].append(Group(time - starts[p], output, lines))
    return Lines(tuple(sizes), tuple(map(tuple, groups)), tuple(ends), tuple(zeros), cut.slots)


def _varying(zero: Sequence[bool]) -> list[tuple[Line, ...]]:
    """Return groups of lines within rows; columns are known to be zero or not."""
    groups = (row_lines(len(zero), k) for k in range(0, len(zero), LANES))
    some = (
        tuple(line for line in lines if not all(zero[line.column : line.column + LANES]))
        for lines in groups
    )
    return [lines for lines in some if lines]


def _ends(zero: Sequence[bool]) -> tuple[int, ...]:
    """Return how many numbers of a line come from each row, if the rest is of the next row."""
    parts = [(row + 1) * len(zero) % LANES for row in range(LANES - 1)]
    return tuple(0 if all((*zero[-k:], *zero[: LANES - k])) else k for k in parts)


def _zeros(zero: Sequence[bool]) -> tuple[int, ...]:
    """Return the lines of a block that are zero."""
    rows = [*zero] * LANES
    return tuple(n for n in range(len(zero)) if all(rows[LANES * n : LANES * n + LANES]))


def _ready_at(program: Program, cut: Plan, starts: Sequence[int]) -> dict[int, int]:
    """Return when each value is in its slot; those that are not listed are there at the start.

    Times count the operations of all pieces, and one for the end of each piece.
    """
    found = {k: starts[run.before] for run in cut.runs for _, k in run.results}
    # results of repetitions and sines are there before a piece, others after their operation
    before = {angle: group.before for group in cut.angles for angle in group.nodes}
    for k, (op, *arguments) in enumerate(program.nodes):
        if op in ("sin", "cos") and arguments[0] in before:
            found[k] = starts[before[arguments[0]]]
    for start, members in zip(starts, cut.pieces, strict=False):
        found |= {k: start + n + 1 for n, k in enumerate(members)}
    return found


class Columns:
    """Columns of a tile as chunks of rows; four columns become four rows in two steps."""

    def __init__(self, block: Block, address: Callable[[int], str]) -> None:
        """Take what writes the address of a column."""
        self.block, self.address = block, address
        self.starts: dict[int, str] = {}
        self.halves: dict[tuple[int, int], str] = {}
        self.pairs: dict[tuple[int, int, int], str] = {}

    def column(self, c: int) -> str:
        """Return the address of a column."""
        if c not in self.starts:
            self.starts[c] = self.address(c)
        return self.starts[c]

    def number(self, c: int, s: int) -> str:
        """Return column c of row s."""
        where = self.block.emit(f"getelementptr i8, ptr {self.column(c)}, i64 {s * ITEM}")
        return self.block.emit(f"load double, ptr {where}, align {ITEM}")

    def half(self, c: int, lane: int) -> str:
        """Return four rows of a column."""
        if (c, lane) not in self.halves:
            emit, few = self.block.emit, self.block.few
            where = emit(f"getelementptr i8, ptr {self.column(c)}, i64 {lane * ITEM}")
            self.halves[c, lane] = emit(f"load {few}, ptr {where}, align {SIDE * ITEM}")
        return self.halves[c, lane]

    def pair(self, c: int, lane: int, odd: int) -> str:
        """Return two columns of the even rows of four, or of the odd ones."""
        key = c, lane, odd
        if key not in self.pairs:
            mask = (1, 5, 3, 7) if odd else (0, 4, 2, 6)
            halves = self.half(c, lane), self.half(c + 1, lane)
            self.pairs[key] = self.block.shuffle(*halves, mask)
        return self.pairs[key]

    def chunk(self, c: int, s: int) -> str:
        """Return four columns of row s, from column c on."""
        lane, mask = s - s % SIDE, (2, 3, 6, 7) if s % SIDE > 1 else (0, 1, 4, 5)
        return self.block.shuffle(self.pair(c, lane, s % 2), self.pair(c + 2, lane, s % 2), mask)


class PieceLines:
    """Writes groups of lines between the operations of a piece.

    All of them are skipped where the addresses of the rows are null.
    """

    def __init__(self, block: Block, layout: Layout, cut: Plan, p: int) -> None:
        self.block, self.labels = block, 0
        self.left: list[Group] = list(cut.lines.groups[p]) if cut.lines else []
        self.sizes, self.results = layout.output_sizes, cut.results
        self.starts = list(itertools.accumulate(self.sizes, initial=0))
        if self.left and cut.lines:
            self.targets = targets(block, cut.lines.targets, len(self.sizes))
            self.writes = block.emit(f"icmp ne ptr {self.targets[0]}, null")

    def after(self, operations: int) -> None:
        """Write the lines that are due after a number of operations of the piece."""
        now, self.left = due(self.left, operations)
        if not now:
            return
        self.labels += 1
        n, lines = self.labels, self.block.lines
        lines += [f"  br i1 {self.writes}, label %lines{n}, label %on{n}", f"lines{n}:"]
        for group in now:
            self._write(group)
        lines += [f"  br label %on{n}", f"on{n}:"]

    def _write(self, group: Group) -> None:
        start, size = self.starts[group.output], self.sizes[group.output]
        columns = Columns(self.block, lambda c: self.block.slot(self.results[start + c]))
        for row, column in group.lines:
            line = self.block.join_parts(
                [columns.chunk(c, row) for c in range(column, column + LANES, SIDE)]
            )
            place = (row * size + column) * ITEM
            store(self.block, line, address(self.block, self.targets[group.output], place))


def targets(block: Block, slot: int, count: int) -> list[str]:
    """Return the addresses of rows that a tile has in a slot."""
    where = block.slot(slot)
    return [block.emit(f"load ptr, ptr {address(block, where, 8 * o)}") for o in range(count)]


def address(block: Block, base: str, offset: int) -> str:
    """Return an address, offset in bytes."""
    return block.emit(f"getelementptr i8, ptr {base}, i64 {offset}")


def store(block: Block, line: str, where: str) -> None:
    """Store a line past the caches."""
    how = f"align {LINE_BYTES}, !nontemporal !{{i32 1}}"
    block.lines.append(f"  store {block.real} {line}, ptr {where}, {how}")


def store_remaining_lines(layout: Layout, cut: Plan, W: int) -> str:
    """Return @store_remaining_lines_W(tile): lines of two rows and of zeros, after all pieces."""
    assert cut.lines is not None
    block = Block(W, layout.scalar, True)
    block.lines.append("entry:")
    rows = targets(block, cut.lines.targets, len(layout.outputs))
    tables, start = [], 0
    for o, size in enumerate(layout.output_sizes):
        slots = cut.results[start : start + size]
        start += size
        for row, part in enumerate(cut.lines.ends[o]):
            if part:
                numbers = [(row, size - part + n) for n in range(part)]
                numbers += [(row + 1, n) for n in range(LANES - part)]
                assemble_line(block, rows[o], ((row + 1) * size - part) * ITEM, numbers, slots)
    came = "entry"
    for o, zeros in enumerate(cut.lines.zeros):
        if zeros:
            name = f"zero_lines{o}_{W}"
            tables.append(table(name, [n * LINE_BYTES for n in zeros]))
            _zero_lines(block, rows[o], name, len(zeros), f"zeros{o}", came)
            came = f"zeros{o}_done"
    return "\n".join([*tables, block.function(f"store_remaining_lines_{W}(ptr %tile)")])


def assemble_line(
    block: Block, rows: str, offset: int, numbers: Sequence[tuple[int, int]], slots: Sequence[int]
) -> None:
    """Write a line number by number, each given by its row and column."""
    line = "undef"
    for n, (row, column) in enumerate(numbers):
        where = address(block, block.slot(slots[column]), row * ITEM)
        x = block.emit(f"load {block.scalar}, ptr {where}, align {ITEM}")
        line = block.emit(f"insertelement {block.real} {line}, {block.scalar} {x}, i32 {n}")
    store(block, line, address(block, rows, offset))


def _zero_lines(block: Block, rows: str, name: str, count: int, label: str, came: str) -> None:
    """Write the loop over a table of lines that are zero."""
    block.lines += [
        f"  br label %{label}",
        f"{label}:",
        f"  %{label}_n = phi i64 [0, %{came}], [%{label}_next, %{label}]",
    ]
    place = block.emit(f"load i64, ptr {block.at(f'@{name}', f'%{label}_n')}")
    store(block, "zeroinitializer", block.emit(f"getelementptr i8, ptr {rows}, i64 {place}"))
    block.lines += [
        f"  %{label}_next = add i64 %{label}_n, 1",
        f"  %{label}_more = icmp slt i64 %{label}_next, {count}",
        f"  br i1 %{label}_more, label %{label}, label %{label}_done",
        f"{label}_done:",
    ]
