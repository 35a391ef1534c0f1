"""Groups of results, each with its time in a piece, and how they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from sixfold.llvm.layout.block_lines import AnyGroup, due
from sixfold.llvm.layout.signature import LINE_BYTES
from sixfold.llvm.text.writer import Block

STREAMED = f"align {LINE_BYTES}, !nontemporal !{{i32 1}}"
"""How a whole line is stored past the caches."""


class PieceStores(Generic[AnyGroup]):
    """Writes groups between the operations of a piece."""

    def __init__(self, block: Block, groups: Sequence[AnyGroup]) -> None:
        self.block, self.passed = block, 0
        self.left: list[AnyGroup] = list(groups)

    def after(self, operations: int) -> None:
        """Write what is due after so many operations of the piece."""
        now, self.left = due(self.left, operations)
        if now:
            self.passed += 1
            self.write(now, self.passed)

    def write(self, groups: Sequence[AnyGroup], n: int) -> None:
        """Write some groups, with labels that end in n."""
        raise NotImplementedError


def address(block: Block, base: str, offset: int) -> str:
    """Return an address so many bytes on."""
    return block.emit(f"getelementptr i8, ptr {base}, i64 {offset}")


def store(block: Block, line: str, where: str) -> None:
    """Store a line past the caches."""
    block.lines.append(f"  store {block.real} {line}, ptr {where}, {STREAMED}")
