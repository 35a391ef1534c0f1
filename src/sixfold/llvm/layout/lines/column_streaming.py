"""Rows whose results all have a contiguous batch axis: the pieces of a program write them."""

from __future__ import annotations

from sixfold.graph.program import CONST, Program
from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.block_lines import ALONG, MODE, ORDINARY, PAST, TABLE
from sixfold.llvm.layout.gather_scatter import constants_in_tiles, table
from sixfold.llvm.layout.inner_loop import loaded_strides, strided_extents
from sixfold.llvm.layout.piece_stores.stores import STREAMED
from sixfold.llvm.layout.pieces import tile_size
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.text.instructions import all_true
from sixfold.llvm.text.writer import types


def fills(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @fill_columns_W and @fill_columns_past_W: results that are constants."""
    numbers = [n for n, k in enumerate(program.outputs) if program.nodes[k][0] == CONST]
    places = [cut.results[n] * W * layout.item for n in numbers]
    texts = [table(f"constant_columns_{W}", numbers), table(f"constant_places_{W}", places)]
    return "\n".join([*texts, *(_fill(layout, W, len(numbers), past) for past in (False, True))])


def _fill(layout: Layout, W: int, count: int, past: bool) -> str:
    """Return @fill_columns_W(table, tile, row, stop): constants from slots, for whole blocks."""
    name = f"fill_columns_past_{W}" if past else f"fill_columns_{W}"
    real, _ = types(W, layout.scalar)
    how = STREAMED if past else f"align {LINE_BYTES}"
    return f"""
define internal void @{name}(ptr %table, ptr %tile, i64 %row, i64 %stop) noinline {{
entry:
  br label %column
column:
  %k = phi i64 [0, %entry], [%k_next, %column_end]
  %more = icmp slt i64 %k, {count}
  br i1 %more, label %go, label %done
go:
  %n_p = getelementptr i64, ptr @constant_columns_{W}, i64 %k
  %n = load i64, ptr %n_p
  %first_p = getelementptr ptr, ptr %table, i64 %n
  %first = load ptr, ptr %first_p
  %place_p = getelementptr i64, ptr @constant_places_{W}, i64 %k
  %place = load i64, ptr %place_p
  %slot = getelementptr i8, ptr %tile, i64 %place
  %line = load {real}, ptr %slot, align {LINE_BYTES}
  br label %block
block:
  %at = phi i64 [%row, %go], [%at_next, %block_go]
  %blocks = icmp slt i64 %at, %stop
  br i1 %blocks, label %block_go, label %column_end
block_go:
  %along = mul i64 %at, {layout.item}
  %to = getelementptr i8, ptr %first, i64 %along
  store {real} %line, ptr %to, {how}
  %at_next = add i64 %at, {W}
  br label %block
column_end:
  %k_next = add i64 %k, 1
  br label %column
done:
  ret void
}}
"""


def start(layout: Layout, cut: Plan, W: int) -> list[str]:
    """Return the start of @by_columns_W(args, steps, row, stop, streams, strided), to its label.

    It computes whole blocks.  Without scratch it returns the first row, else the last.
    """
    assert cut.columns is not None
    size = tile_size(layout, cut, W)
    lines = [
        f"define internal i64 @by_columns_{W}(ptr %args, ptr %steps, i64 %row, i64 %stop, "
        f"i1 %streams, i64 %strided) {cut.driver} {{",
        "entry:",
        *scratch.alloc("%tiles", _scratch_bytes(layout, cut, W)),
        "  %none = icmp eq ptr %tiles, null",
        "  br i1 %none, label %failed, label %start",
        "failed:",
        "  ret i64 %row",
        "start:",
        f"  %table = getelementptr i8, ptr %tiles, i64 {size}",
    ]
    first = 0
    for o, numbers in enumerate(layout.output_sizes):
        a = len(layout.inputs) + o
        lines += [
            *loaded_strides(layout, a),
            f"  %out_p{o} = getelementptr ptr, ptr %args, i64 {a}",
            f"  %out{o} = load ptr, ptr %out_p{o}",
            f"  %table{o} = getelementptr ptr, ptr %table, i64 {first}",
            f"  call void @addresses(ptr %table{o}, ptr %out{o}, i64 1, i64 0, "
            f"{strided_extents(layout, a)})",
        ]
        first += numbers
    words = cut.columns.target * W * layout.item
    return [
        *lines,
        *constants_in_tiles(W, 1, size),
        f"  %mode = select i1 %streams, i64 {PAST}, i64 {ORDINARY}",
        f"  %mode_p = getelementptr i8, ptr %tiles, i64 {words + 8 * MODE}",
        "  store i64 %mode, ptr %mode_p",
        f"  %table_p = getelementptr i8, ptr %tiles, i64 {words + 8 * TABLE}",
        "  store ptr %table, ptr %table_p",
        f"  %along_p = getelementptr i8, ptr %tiles, i64 {words + 8 * ALONG}",
        f"  %fill = select i1 %streams, ptr @fill_columns_past_{W}, ptr @fill_columns_{W}",
        "  call void %fill(ptr %table, ptr %tiles, i64 %row, i64 %stop)",
    ]


def end(layout: Layout, cut: Plan, W: int) -> list[str]:
    """Return the end of that function."""
    return [
        "  fence seq_cst",  # non-temporal stores are visible before anything later
        *scratch.free("%tiles", _scratch_bytes(layout, cut, W)),
        "  ret i64 %at",
    ]


def _scratch_bytes(layout: Layout, cut: Plan, W: int) -> int:
    """Return the bytes of a tile and of the table of addresses."""
    return tile_size(layout, cut, W) + 8 * sum(layout.output_sizes)


def each_block(layout: Layout) -> list[str]:
    """Return what tells the pieces where the rows of a block are."""
    return [f"  %along = mul i64 %at, {layout.item}", "  store i64 %along, ptr %along_p"]


def suits(layout: Layout, rows: str) -> list[str]:
    """Return instructions that set %suits to whether pieces can write all results.

    Their batch axes are contiguous, and all numbers of the state %rows begin with a line: a store
    across two lines, often a power of two from the next, would take longer than a detour.
    """
    lines = [f"  %along_rows = mul i64 {rows}, {layout.item}"]
    tests: list[str] = []
    for o, shape in enumerate(layout.outputs):
        a = len(layout.inputs) + o
        lines += [
            *loaded_strides(layout, a),
            f"  %suit_p{o} = getelementptr ptr, ptr %args, i64 {a}",
            f"  %suit_a{o} = load ptr, ptr %suit_p{o}",
            f"  %suit_n{o} = ptrtoint ptr %suit_a{o} to i64",
            f"  %suit_b{o} = add i64 %suit_n{o}, %along_rows",
            f"  %suit_s{o} = getelementptr i64, ptr %steps, i64 {a}",
            f"  %suit_t{o} = load i64, ptr %suit_s{o}",
            f"  %suit_u{o} = icmp eq i64 %suit_t{o}, {layout.item}",
        ]
        bits = f"%suit_b{o}"
        for axis in range(len(shape)):
            lines.append(f"  %suit_o{o}_{axis} = or i64 {bits}, %stride{a}_{axis}")
            bits = f"%suit_o{o}_{axis}"
        lines += [
            f"  %suit_m{o} = and i64 {bits}, {LINE_BYTES - 1}",
            f"  %suit_z{o} = icmp eq i64 %suit_m{o}, 0",
        ]
        tests += [f"%suit_u{o}", f"%suit_z{o}"]
    return [*lines, *all_true("%suits", tests)]
