"""Results to arrays whose batch axis is contiguous, as the pieces of a program write them.

There a number of a block is a cache line in memory already, if the first state begins one.  It goes
from its slot to its place without transposes, while the processor computes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.llvm.layout.block_lines import ALONG, MODE, ORDINARY, PAST, TABLE, ColumnGroup
from sixfold.llvm.layout.piece_stores.stores import STREAMED, PieceStores, address
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES
from sixfold.llvm.text.writer import Block


class PieceColumns(PieceStores[ColumnGroup]):
    """Writes groups of results between the operations of a piece, or skips all of them."""

    def __init__(self, block: Block, cut: Plan, p: int) -> None:
        super().__init__(block, cut.columns.groups[p] if cut.columns else ())
        self.results = cut.results
        if self.left and cut.columns:
            words = block.slot(cut.columns.target)
            self.mode, self.table, self.along = (
                block.emit(f"load {kind}, ptr {address(block, words, 8 * word)}")
                for word, kind in ((MODE, "i64"), (TABLE, "ptr"), (ALONG, "i64"))
            )

    def write(self, groups: Sequence[ColumnGroup], n: int) -> None:
        """Write some groups, into the caches or past them."""
        lines = self.block.lines
        cases = f"i64 {ORDINARY}, label %stored{n} i64 {PAST}, label %streamed{n}"
        lines.append(f"  switch i64 {self.mode}, label %done{n} [{cases}]")
        for label, how in (("stored", f"align {LINE_BYTES}"), ("streamed", STREAMED)):
            lines.append(f"{label}{n}:")
            for group in groups:
                self._write(group, how)
            lines.append(f"  br label %done{n}")
        lines.append(f"done{n}:")

    def _write(self, group: ColumnGroup, how: str) -> None:
        block = self.block
        for n in group.results:
            first = block.emit(f"load ptr, ptr {address(block, self.table, 8 * n)}")
            where = block.emit(f"getelementptr i8, ptr {first}, i64 {self.along}")
            value = block.read(self.results[n])
            block.lines.append(f"  store {block.real} {value}, ptr {where}, {how}")
