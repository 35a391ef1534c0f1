"""Rows with wide results, written in whole cache lines: past the caches for large batches."""

from __future__ import annotations

from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.block_loops import every_block
from sixfold.llvm.layout.gather_scatter import constants_in_tiles
from sixfold.llvm.layout.lines import line_writer
from sixfold.llvm.layout.lines.block_rest import rest_of_block
from sixfold.llvm.layout.lines.line_writer import WRITER_BYTES
from sixfold.llvm.layout.pieces import tile_size, together
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.layout.streaming import arguments, work
from sixfold.llvm.layout.strided import gather_call
from sixfold.llvm.text.instructions import all_true


def streaming(layout: Layout, cut: Plan, W: int) -> str:
    """Return @streaming_W(args, steps, row, stop, strided, past): rows, with results in lines.

    It computes as many rows as fill whole groups and returns the index of the first row left over.
    Lines go past the caches or not.  Those that do, in arrays that begin with a line, are written
    by the pieces if these can; the others at the end of a block.
    """
    T, size = together(layout, cut, W), tile_size(layout, cut, W)
    tiles = T * size
    scratch_bytes = tiles + len(layout.outputs) * WRITER_BYTES
    begin, end, write = [], [], []
    for o, numbers in enumerate(layout.output_sizes):
        row, n = numbers * layout.item, len(layout.inputs) + o
        begin += [
            f"  %writer{o} = getelementptr i8, ptr %tiles, i64 {tiles + o * WRITER_BYTES}",
            f"  %out_p{o} = getelementptr ptr, ptr %args, i64 {n}",
            f"  %out{o} = load ptr, ptr %out_p{o}",
            f"  %passed{o} = mul i64 %row, {row}",
            f"  %begin{o} = getelementptr i8, ptr %out{o}, i64 %passed{o}",
            f"  call void @lines_begin(ptr %writer{o}, ptr %begin{o}, i64 {row})",
        ]
        begin.append(f"  %lines{o} = select i1 %past, ptr @lines_past_{o}, ptr @lines_{o}")
        write.append(f"  call void %lines{o}(ptr %writer{o}, ptr %tile_last)")
        end += [
            f"  %until{o} = mul i64 %at, {row}",
            f"  %end{o} = getelementptr i8, ptr %out{o}, i64 %until{o}",
            f"  call void @lines_end(ptr %writer{o}, ptr %begin{o}, ptr %end{o})",
        ]
    after = f"before{len(cut.pieces)}"
    lines = [
        f"define internal i64 @streaming_{W}"
        f"(ptr %args, ptr %steps, i64 %row, i64 %stop, i64 %strided, i1 %past) {cut.driver} {{",
        "entry:",
        f"  %least = add i64 %row, {T * W}",
        "  %some = icmp sle i64 %least, %stop",
        "  br i1 %some, label %enough, label %none",
        "none:",
        "  ret i64 %row",
        "enough:",
        *scratch.alloc("%tiles", scratch_bytes),
        "  %no_scratch = icmp eq ptr %tiles, null",
        "  br i1 %no_scratch, label %none, label %start",
        "start:",
        f"  %count = add i64 0, {T}",
        *constants_in_tiles(W, T, size),
        *begin,
        *(_aligned(layout) if cut.lines else ()),
        *arguments(layout),
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %away]",
        f"  %next = add i64 %at, {T * W}",
        "  %go = icmp sle i64 %next, %stop",
        "  br i1 %go, label %fill, label %done",
        "fill:",
        *(_set_targets(layout, cut.lines.targets, W) if cut.lines else ()),
        *gather_call(layout, W, T),
        "  br label %first",
        *work(layout, cut, W, T, False),
        *(_rest(W) if cut.lines else ["  br label %last"]),
        *every_block("last", after, write, "away", size),
        "away:",
        "  br label %group",
        "done:",
        *end,
        "  fence seq_cst",  # non-temporal stores are visible before anything later
        *scratch.free("%tiles", scratch_bytes),
        "  ret i64 %at",
        "}\n",
    ]
    rest = rest_of_block(layout, cut, W) if cut.lines else ""
    return rest + line_writer.functions(layout, cut) + "\n".join(lines)


def _aligned(layout: Layout) -> list[str]:
    """Return instructions that set %by_pieces to whether pieces write the lines."""
    lines = []
    for o in range(len(layout.outputs)):
        lines += [
            f"  %number{o} = ptrtoint ptr %begin{o} to i64",
            f"  %within{o} = and i64 %number{o}, {LINE_BYTES - 1}",
            f"  %whole{o} = icmp eq i64 %within{o}, 0",
        ]
    wholes = [f"%whole{o}" for o in range(len(layout.outputs))]
    return [*lines, *all_true("%by_pieces", ["%past", *wholes])]


def _set_targets(layout: Layout, slot: int, W: int) -> list[str]:
    """Return instructions that tell the pieces where the rows of a block are."""
    lines = []
    for o, numbers in enumerate(layout.output_sizes):
        lines += [
            f"  %along{o} = mul i64 %at, {numbers * layout.item}",
            f"  %rows{o} = getelementptr i8, ptr %out{o}, i64 %along{o}",
            f"  %target{o} = select i1 %by_pieces, ptr %rows{o}, ptr null",
            f"  %target_p{o} = getelementptr i8, ptr %tiles, i64 {slot * W * layout.item + 8 * o}",
            f"  store ptr %target{o}, ptr %target_p{o}",
        ]
    return lines


def _rest(W: int) -> list[str]:
    """Return the end of a block: what pieces leave, or everything."""
    return [
        "  br i1 %by_pieces, label %rest, label %last",
        "rest:",
        f"  call void @rest_of_block_{W}(ptr %tiles)",
        "  br label %away",
    ]
