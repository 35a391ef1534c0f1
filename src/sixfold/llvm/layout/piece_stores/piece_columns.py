"""Results to arrays whose batch axis is contiguous, as the pieces of a program write them.

There a number of a block is a cache line in memory already, if the first state begins one.  It goes
from its slot to its place without transposes, while the processor computes.
"""

from __future__ import annotations

from sixfold.llvm.layout.block_lines import ALONG, MODE, ORDINARY, PAST, TABLE, ColumnGroup
from sixfold.llvm.layout.piece_stores.piece_lines import address
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES
from sixfold.llvm.text.writer import Block

STREAMED = f"align {LINE_BYTES}, !nontemporal !{{i32 1}}"
"""How a whole line is stored past the caches."""


class PieceColumns:
    """Writes groups of results between the operations of a piece, or skips all of them."""

    def __init__(self, block: Block, cut: Plan, p: int) -> None:
        self.block, self.results = block, cut.results
        self.left = list(cut.columns.groups[p]) if cut.columns else []
        self.passed = 0
        if self.left and cut.columns:
            words = block.slot(cut.columns.target)
            self.mode, self.table, self.along = (
                block.emit(f"load {kind}, ptr {address(block, words, 8 * word)}")
                for word, kind in ((MODE, "i64"), (TABLE, "ptr"), (ALONG, "i64"))
            )

    def after(self, operations: int) -> None:
        """Write what is due after so many operations of the piece."""
        due = [group for group in self.left if group.after <= operations]
        if not due:
            return
        self.left = self.left[len(due) :]
        self.passed += 1
        n, lines = self.passed, self.block.lines
        cases = f"i64 {ORDINARY}, label %stored{n} i64 {PAST}, label %streamed{n}"
        lines.append(f"  switch i64 {self.mode}, label %done{n} [{cases}]")
        ways = ("stored", f"align {LINE_BYTES}"), ("streamed", STREAMED)
        for label, how in ways:
            lines.append(f"{label}{n}:")
            for group in due:
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
