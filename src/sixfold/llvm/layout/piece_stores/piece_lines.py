"""Lines of wide results, as the pieces of a program write them: past the caches, from slots."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sixfold.llvm.layout.block_lines import LANES, Group
from sixfold.llvm.layout.piece_stores.stores import PieceStores, address, store
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.text.aligned_rows import SIDE, Columns
from sixfold.llvm.text.writer import Block

ITEM = LINE_BYTES // LANES
"""Bytes of a number."""


class PieceLines(PieceStores[Group]):
    """Writes groups of lines between the operations of a piece.

    All of them are skipped where the addresses of the rows are null.
    """

    def __init__(self, block: Block, layout: Layout, cut: Plan, p: int) -> None:
        super().__init__(block, cut.lines.groups[p] if cut.lines else ())
        self.sizes, self.results = layout.output_sizes, cut.results
        self.starts = list(itertools.accumulate(self.sizes, initial=0))
        if self.left and cut.lines:
            self.targets = targets(block, cut.lines.targets, len(self.sizes))
            self.writes = block.emit(f"icmp ne ptr {self.targets[0]}, null")

    def write(self, groups: Sequence[Group], n: int) -> None:
        """Write some groups."""
        lines = self.block.lines
        lines += [f"  br i1 {self.writes}, label %lines{n}, label %on{n}", f"lines{n}:"]
        for group in groups:
            self._write(group)
        lines += [f"  br label %on{n}", f"on{n}:"]

    def _write(self, group: Group) -> None:
        start, size = self.starts[group.output], self.sizes[group.output]
        columns = Columns(self.block, lambda c: self.block.slot(self.results[start + c]))
        for row, column in group.lines:
            line = self.block.joined(
                [columns.chunk(c, row) for c in range(column, column + LANES, SIDE)]
            )
            place = (row * size + column) * ITEM
            store(self.block, line, address(self.block, self.targets[group.output], place))


def targets(block: Block, slot: int, count: int) -> list[str]:
    """Return the addresses of rows that a tile has in a slot."""
    where = block.slot(slot)
    return [block.emit(f"load ptr, ptr {address(block, where, 8 * o)}") for o in range(count)]
