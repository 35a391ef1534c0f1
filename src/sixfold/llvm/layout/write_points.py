"""After which piece wide results are written: as soon as runs of columns are complete.

Lines that go past the caches drain while the processor computes.  So results are written between
pieces and not all at the end, and their slots are free from then on, which keeps the tile short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sixfold.graph.program import CONST, Program

GROUP_COLUMNS = 8
"""Columns that are transposed together: as many as a line has numbers."""

MIN_RUN_GROUPS = 4
"""Groups from which a run is written before the last piece: each run transposes one group more."""


MIN_VARYING_SHARE = 0.55
"""Share of the results that are not zero for every state, from which this pays.

Zeros are cheaper at the end of a block.  Measured on Zen 4: a line of zeros takes a third of the
time of any other if one comes after the other, and the same time if operations are between them.
"""


def pays(program: Program) -> bool:
    """Return whether results are written between pieces, and not all at the end."""
    nodes = [program.nodes[k] for k in program.outputs]
    varying = sum(node != (CONST, 0.0) for node in nodes)
    return varying >= MIN_VARYING_SHARE * len(nodes)


class Write(NamedTuple):
    """A run of groups of columns of one output."""

    output: int
    first: int
    stop: int


def columns(size: int, group: int) -> list[int]:
    """Return the columns that the lines of a group take: its own, and those of the group before.

    The lines of the first group begin with the end of the row before.
    """
    own = GROUP_COLUMNS * group
    before = range(own - GROUP_COLUMNS, own) if group else end_columns(size)[-GROUP_COLUMNS:]
    return [*before, *range(own, own + GROUP_COLUMNS)]


def end_columns(size: int) -> range:
    """Return the columns that are read after all groups: the last lines of rows begin with them."""
    return range(size - size % GROUP_COLUMNS - GROUP_COLUMNS, size)


def write_points(
    outputs: Sequence[int], sizes: Sequence[int], home: Mapping[int, int], pieces: int
) -> tuple[tuple[tuple[Write, ...], ...], dict[int, int]]:
    """Return the runs that are written after each piece, and the last piece that keeps a result.

    Args:
        outputs: nodes of the results, those of the first output first.
        sizes: columns of each output.
        home: the piece that makes each node; others are there from the start.
        pieces: how many there are.
    """
    writes: list[list[Write]] = [[] for _ in range(pieces)]
    kept: dict[int, int] = {}
    start = 0
    for output, size in enumerate(sizes):
        nodes = outputs[start : start + size]
        start += size
        reads = [[nodes[k] for k in columns(size, g)] for g in range(size // GROUP_COLUMNS)]
        complete = [max(home.get(k, 0) for k in each) for each in reads]
        left = set(range(len(reads)))
        for p in range(pieces):
            for run in _runs(sorted(g for g in left if complete[g] <= p)):
                if len(run) < MIN_RUN_GROUPS and p < pieces - 1:
                    continue
                writes[p].append(Write(output, run.start, run.stop))
                left.difference_update(run)
                for g in run:
                    kept |= dict.fromkeys(reads[g], p)
        kept |= dict.fromkeys((nodes[k] for k in end_columns(size)), pieces - 1)
    return tuple(map(tuple, writes)), kept


def _runs(numbers: Sequence[int]) -> list[range]:
    """Return sorted numbers as runs without gaps."""
    found: list[range] = []
    for n in numbers:
        if found and found[-1].stop == n:
            found[-1] = range(found[-1].start, n + 1)
        else:
            found.append(range(n, n + 1))
    return found
