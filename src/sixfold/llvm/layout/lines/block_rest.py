"""Lines of wide results that the pieces of a program leave to the end of a block."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.llvm.layout.block_lines import LANES
from sixfold.llvm.layout.gather_scatter import table
from sixfold.llvm.layout.piece_stores.piece_lines import ITEM, targets
from sixfold.llvm.layout.piece_stores.stores import address, store
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.text.writer import Block


def rest_of_block(layout: Layout, cut: Plan, W: int) -> str:
    """Return @rest_of_block_W(tile): lines of two rows, and those of zeros, after all pieces."""
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
                _put_together(block, rows[o], ((row + 1) * size - part) * ITEM, numbers, slots)
    came = "entry"
    for o, zeros in enumerate(cut.lines.zeros):
        if zeros:
            name = f"zero_lines{o}_{W}"
            tables.append(table(name, [n * LINE_BYTES for n in zeros]))
            _zero_lines(block, rows[o], name, len(zeros), f"zeros{o}", came)
            came = f"zeros{o}_done"
    return "\n".join([*tables, block.function(f"rest_of_block_{W}(ptr %tile)")])


def _put_together(
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
