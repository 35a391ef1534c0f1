"""Where a program writes the lines of wide results: soon after their columns are there.

Lines that the pieces write themselves are on their way while the processor computes.  A line past
the caches takes about as long as eight operations, and stores are done in order: behind many lines
at once, all other stores wait.  So there are some operations between groups of lines.  Lines of
zeros are for the end of a block: one after the other they take a third of the time.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sixfold.graph.program import CONST, Program
from sixfold.llvm.layout.block_lines import (
    LANES,
    MAX_OUTPUTS,
    BlockColumns,
    ColumnGroup,
    Group,
    Line,
    Lines,
    row_lines,
)
from sixfold.llvm.layout.plan import Plan

SPREAD = 0.7
"""Part of the operations after the first group is there, over which groups are spread."""

GROUP_RESULTS = 8
"""Results that go to batch-fastest arrays together: each group is a branch."""

MAX_OPERATIONS_PER_LINE = 20
"""Operations for each line up to which pieces write lines: beyond, lines are little of the time."""


def pays(cut: Plan, sizes: Sequence[int]) -> bool:
    """Return whether pieces write the lines of a block, and not what comes after them."""
    operations = sum(map(len, cut.pieces))
    for run in cut.runs:
        operations += run.rounds * sum(map(len, cut.routines[run.routine].plan.pieces))
    few = operations <= MAX_OPERATIONS_PER_LINE * sum(sizes)
    return few and len(sizes) <= MAX_OUTPUTS and not cut.large


def line_points(program: Program, cut: Plan, sizes: Sequence[int]) -> Lines:
    """Return when lines are written.

    Args:
        program: whose results they are.
        cut: its plan; the slot behind its last is for addresses.
        sizes: columns of each output.
    """
    starts = list(itertools.accumulate((len(p) + 1 for p in cut.pieces), initial=0))
    there = _there(program, cut, starts)
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
            due.append((max(there.get(k, 0) for k in read), output, lines))
        ends.append(_ends(zero))
        zeros.append(_zeros(zero))
    groups: list[list[Group]] = [[] for _ in cut.pieces]
    begin, end = min((ready for ready, *_ in due), default=0), starts[-1] - 1
    apart = int(SPREAD * (end - begin) / max(1, len(due)))
    time, p = -apart, 0
    for ready, output, lines in sorted(due):
        time = min(max(ready, time + apart), end)
        while time >= starts[p + 1]:
            p += 1
        groups[p].append(Group(time - starts[p], output, lines))
    return Lines(tuple(sizes), tuple(map(tuple, groups)), tuple(ends), tuple(zeros), cut.slots)


def column_points(program: Program, cut: Plan) -> BlockColumns:
    """Return when results go to arrays whose batch axis is contiguous.

    The slot behind the last of the plan says where.
    """
    starts = list(itertools.accumulate((len(p) + 1 for p in cut.pieces), initial=0))
    there = _there(program, cut, starts)
    varying = [n for n, k in enumerate(program.outputs) if program.nodes[k][0] != CONST]
    ready = sorted((there.get(program.outputs[n], 0), n) for n in varying)
    groups: list[list[ColumnGroup]] = [[] for _ in cut.pieces]
    p = 0
    for first in range(0, len(ready), GROUP_RESULTS):
        some = ready[first : first + GROUP_RESULTS]
        time, _ = some[-1]
        while time >= starts[p + 1]:
            p += 1
        groups[p].append(ColumnGroup(time - starts[p], tuple(n for _, n in some)))
    return BlockColumns(tuple(map(tuple, groups)), cut.slots)


def _varying(zero: Sequence[bool]) -> list[tuple[Line, ...]]:
    """Return groups of lines within rows; columns are known to be zero or not."""
    groups = (row_lines(len(zero), k) for k in range(0, len(zero), LANES))
    some = (
        tuple(line for line in lines if not all(zero[line.column : line.column + LANES]))
        for lines in groups
    )
    return [lines for lines in some if lines]


def _ends(zero: Sequence[bool]) -> tuple[int, ...]:
    """Return how many numbers of a line come from each row, where it goes on in the next."""
    parts = [(row + 1) * len(zero) % LANES for row in range(LANES - 1)]
    return tuple(0 if all((*zero[-k:], *zero[: LANES - k])) else k for k in parts)


def _zeros(zero: Sequence[bool]) -> tuple[int, ...]:
    """Return the lines of a block that are zero."""
    rows = [*zero] * LANES
    return tuple(n for n in range(len(zero)) if all(rows[LANES * n : LANES * n + LANES]))


def _there(program: Program, cut: Plan, starts: Sequence[int]) -> dict[int, int]:
    """Return when each value is in its slot; those that are not listed are there at the start.

    Times count the operations of all pieces, and one for the end of each piece.
    """
    found = {k: starts[run.before] for run in cut.runs for _, k in run.results}
    before = {angle: group.before for group in cut.angles for angle in group.nodes}
    for k, (op, *arguments) in enumerate(program.nodes):
        if op in ("sin", "cos") and arguments[0] in before:
            found[k] = starts[before[arguments[0]]]
    for start, members in zip(starts, cut.pieces, strict=False):
        found |= {k: start + n + 1 for n, k in enumerate(members)}
    return found
