"""The lines of a block of rows, and when each of them is written.

The rows of a block lie one after the other.  If the first of them begins with a cache line, they
fill as many lines as a row has numbers, and it is known beforehand which columns a line holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

LANES = 8
"""Numbers of a line, and rows of a block."""


class Line(NamedTuple):
    """Eight numbers of one row."""

    row: int
    column: int
    """The first of them."""


class Group(NamedTuple):
    """Lines of about the same columns of one output, a line of each row."""

    after: int
    """Operations of the piece that come before."""
    output: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Lines:
    """When the lines of a block are written."""

    sizes: tuple[int, ...]
    """Columns of each output."""
    groups: tuple[tuple[Group, ...], ...]
    """Those that each piece writes, in order."""
    ends: tuple[tuple[int, ...], ...]
    """For each output, how many numbers of a line come from row n; the others from row n + 1."""
    zeros: tuple[tuple[int, ...], ...]
    """For each output, numbers of the lines that are zero in every state."""
    targets: int
    """The slot with the address of each output's rows; null where others write them."""

    def missing(self) -> list[tuple[int, int]]:
        """Return lines that are not written exactly once, by output and number."""
        count = Counter(
            (group.output, (line.row * self.sizes[group.output] + line.column) // LANES)
            for groups in self.groups
            for group in groups
            for line in group.lines
        )
        for o, size in enumerate(self.sizes):
            count.update((o, n) for n in self.zeros[o])
            count.update(
                (o, (n + 1) * size // LANES) for n, some in enumerate(self.ends[o]) if some
            )
        wanted = {(o, n) for o, size in enumerate(self.sizes) for n in range(size)}
        return [line for line in wanted | {*count} if count[line] != 1 or line not in wanted]


MAX_OUTPUTS = LANES
"""Outputs whose addresses fit in a slot."""


class ColumnGroup(NamedTuple):
    """Results that are written together, each a line of an array whose batch axis is contiguous."""

    after: int
    """Operations of the piece that come before."""
    results: tuple[int, ...]
    """Their numbers among the results of the program."""


@dataclass(frozen=True)
class BlockColumns:
    """When the results of a block go to arrays whose batch axis is contiguous."""

    groups: tuple[tuple[ColumnGroup, ...], ...]
    """Those that each piece writes, in order."""
    target: int
    """The slot with how and where: see MODE, TABLE and ALONG."""


MODE, TABLE, ALONG = range(3)
"""Words of that slot: one of SKIP, ORDINARY and PAST; the address of a table with that of the first
state of each result; bytes from there to the states of the block."""
SKIP, ORDINARY, PAST = range(3)
"""Others write the results; stores into the caches; stores past them."""


AnyGroup = TypeVar("AnyGroup", Group, ColumnGroup)


def due(groups: Sequence[AnyGroup], operations: int) -> tuple[list[AnyGroup], list[AnyGroup]]:
    """Return the groups that are written after so many operations of a piece, and those left."""
    now = [group for group in groups if group.after <= operations]
    return now, list(groups[len(now) :])


def row_lines(size: int, group: int) -> list[Line]:
    """Return the lines of a block that begin at a column, or up to seven before it."""
    starts = [(row, group - row * size % LANES) for row in range(LANES)]
    return [Line(row, column) for row, column in starts if 0 <= column <= size - LANES]
