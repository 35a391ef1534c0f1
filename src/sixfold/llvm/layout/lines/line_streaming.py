"""Rows with wide results, written in whole cache lines: past the caches for large batches."""

from __future__ import annotations

from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.block_loops import every_block
from sixfold.llvm.layout.gather_scatter import constants_in_tiles
from sixfold.llvm.layout.lines import line_writer
from sixfold.llvm.layout.lines.line_writer import WRITER_BYTES
from sixfold.llvm.layout.pieces import tile_size, together
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.layout.streaming import arguments, work
from sixfold.llvm.layout.strided import gather_call
from sixfold.llvm.layout.write_points import GROUP_COLUMNS, Write


def streaming(layout: Layout, cut: Plan, W: int) -> str:
    """Return @streaming_W(args, steps, row, stop, strided, past): rows, with results in lines.

    It computes as many rows as fill whole groups and returns the index of the first row left over.
    Lines go past the caches or not.
    """
    T, size = together(layout, cut, W), tile_size(layout, cut, W)
    tiles = T * size
    scratch_bytes = tiles + len(layout.outputs) * WRITER_BYTES
    begin, end, last = [], [], []
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
        for name in ("lines", "lines_next"):
            begin.append(f"  %{name}{o} = select i1 %past, ptr @{name}_past_{o}, ptr @{name}_{o}")
        if not cut.writes:
            last.append(_write(Write(o, 0, numbers // GROUP_COLUMNS), "last"))
        last.append(f"  call void %lines_next{o}(ptr %writer{o}, ptr %tile_last)")
        end += [
            f"  %until{o} = mul i64 %at, {row}",
            f"  %end{o} = getelementptr i8, ptr %out{o}, i64 %until{o}",
            f"  call void @lines_end(ptr %writer{o}, ptr %begin{o}, ptr %end{o})",
        ]
    after = f"before{len(cut.pieces)}"
    writes = [[_write(w, f"stage{p}") for w in those] for p, those in enumerate(cut.writes)]
    lines = [
        f"define internal i64 @streaming_{W}"
        "(ptr %args, ptr %steps, i64 %row, i64 %stop, i64 %strided, i1 %past) noinline {",
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
        *arguments(layout),
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %away]",
        f"  %next = add i64 %at, {T * W}",
        "  %go = icmp sle i64 %next, %stop",
        "  br i1 %go, label %fill, label %done",
        "fill:",
        *gather_call(layout, W, T),
        "  br label %first",
        *work(layout, cut, W, T, False, writes),
        "  br label %last",
        *every_block("last", after, last, "away", size),
        "away:",
        "  br label %group",
        "done:",
        *end,
        "  fence seq_cst",  # non-temporal stores are visible before anything later
        *scratch.free("%tiles", scratch_bytes),
        "  ret i64 %at",
        "}\n",
    ]
    return line_writer.functions(layout, cut) + "\n".join(lines)


def _write(write: Write, stage: str) -> str:
    """Return the call that writes a run of groups of a block."""
    o, first, stop = write
    where = f"ptr %writer{o}, ptr %tile_{stage}"
    return f"  call void %lines{o}({where}, i64 {first}, i64 {stop})"
