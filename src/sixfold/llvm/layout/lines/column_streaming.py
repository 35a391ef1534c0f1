"""Rows whose results all have a contiguous batch axis: the pieces of a program write them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sixfold.graph.program import CONST, Program
from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.block_lines import ALONG, MODE, ORDINARY, PAST, TABLE
from sixfold.llvm.layout.gather_scatter import constants_in_tiles, table
from sixfold.llvm.layout.inner_loop import extents, loaded_strides
from sixfold.llvm.layout.piece_stores.piece_columns import STREAMED
from sixfold.llvm.layout.pieces import tile_size
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.text.instructions import hexadecimal
from sixfold.llvm.text.writer import types

_ADDRESSES = """
define internal void @column_addresses(ptr %table, ptr %first, i64 %n2, i64 %s2, i64 %n0, i64 %s0,
                                       i64 %n1, i64 %s1) noinline {
entry:
  br label %plane
plane:
  %p = phi i64 [0, %entry], [%p_next, %plane_end]
  %k0 = phi i64 [0, %entry], [%k1, %plane_end]
  %planes = icmp slt i64 %p, %n2
  br i1 %planes, label %plane_go, label %done
plane_go:
  %p_bytes = mul i64 %p, %s2
  br label %outer
outer:
  %a = phi i64 [0, %plane_go], [%a_next, %outer_end]
  %k1 = phi i64 [%k0, %plane_go], [%k2, %outer_end]
  %outers = icmp slt i64 %a, %n0
  br i1 %outers, label %outer_go, label %plane_end
outer_go:
  %a_bytes = mul i64 %a, %s0
  %pa_bytes = add i64 %p_bytes, %a_bytes
  br label %inner
inner:
  %b = phi i64 [0, %outer_go], [%b_next, %inner_go]
  %k2 = phi i64 [%k1, %outer_go], [%k_next, %inner_go]
  %inners = icmp slt i64 %b, %n1
  br i1 %inners, label %inner_go, label %outer_end
inner_go:
  %b_bytes = mul i64 %b, %s1
  %bytes = add i64 %pa_bytes, %b_bytes
  %here = getelementptr i8, ptr %first, i64 %bytes
  %to = getelementptr ptr, ptr %table, i64 %k2
  store ptr %here, ptr %to
  %k_next = add i64 %k2, 1
  %b_next = add i64 %b, 1
  br label %inner
outer_end:
  %a_next = add i64 %a, 1
  br label %outer
plane_end:
  %p_next = add i64 %p, 1
  br label %plane
done:
  ret void
}
"""
"""@column_addresses: the address of each number of the first state, by three core axes."""


def functions(program: Program, layout: Layout, W: int) -> str:
    """Return what the rows of `streaming` call: addresses, and results that are constants."""
    numbers = [n for n, k in enumerate(program.outputs) if program.nodes[k][0] == CONST]
    values = [program.nodes[program.outputs[n]][1] for n in numbers]
    listed = (
        ", ".join(f"{layout.scalar} {hexadecimal(x)}" for x in values) or f"{layout.scalar} 0.0"
    )
    texts = [
        _ADDRESSES,
        table(f"constant_columns_{W}", numbers),
        f"@constant_values_{W} = internal constant [{max(1, len(values))} x {layout.scalar}] "
        f"[{listed}]",
        *(_fill(layout, W, len(numbers), past) for past in (False, True)),
    ]
    return "\n".join(texts)


def _fill(layout: Layout, W: int, count: int, past: bool) -> str:
    """Return @fill_columns_W(table, row, stop): results that are constants, for whole blocks."""
    name = f"fill_columns_past_{W}" if past else f"fill_columns_{W}"
    real, _ = types(W, layout.scalar)
    how = STREAMED if past else f"align {LINE_BYTES}"
    return f"""
define internal void @{name}(ptr %table, i64 %row, i64 %stop) noinline {{
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
  %x_p = getelementptr {layout.scalar}, ptr @constant_values_{W}, i64 %k
  %x = load {layout.scalar}, ptr %x_p
  %one = insertelement {real} undef, {layout.scalar} %x, i32 0
  %line = shufflevector {real} %one, {real} undef, <{W} x i32> zeroinitializer
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
        "i1 %streams, i64 %strided) noinline {",
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
        shape = layout.shapes[a]
        strides = [f"%stride{a}_{axis}" for axis in range(len(shape))]
        lines += [
            *loaded_strides(layout, a),
            f"  %out_p{o} = getelementptr ptr, ptr %args, i64 {a}",
            f"  %out{o} = load ptr, ptr %out_p{o}",
            f"  %table{o} = getelementptr ptr, ptr %table, i64 {first}",
            f"  call void @column_addresses(ptr %table{o}, ptr %out{o}, {extents(shape, strides)})",
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
        "  call void %fill(ptr %table, i64 %row, i64 %stop)",
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
        addresses = [f"%suit_b{o}", *(f"%stride{a}_{axis}" for axis in range(len(shape)))]
        for n, each in enumerate(itertools.pairwise(addresses)):
            left = each[0] if n == 0 else f"%suit_o{o}_{n - 1}"
            lines.append(f"  %suit_o{o}_{n} = or i64 {left}, {each[1]}")
        last = addresses[0] if len(addresses) == 1 else f"%suit_o{o}_{len(addresses) - 2}"
        lines += [
            f"  %suit_m{o} = and i64 {last}, {LINE_BYTES - 1}",
            f"  %suit_z{o} = icmp eq i64 %suit_m{o}, 0",
            f"  %suit_w{o} = and i1 %suit_u{o}, %suit_z{o}",
        ]
        tests.append(f"%suit_w{o}")
    return [*lines, *_all("%suits", tests)]


def _all(name: str, tests: Sequence[str]) -> list[str]:
    """Return instructions that set a name to whether all tests are true."""
    lines, known = [], "true"
    for n, test in enumerate(tests):
        result = name if n == len(tests) - 1 else f"{name}_{n}"
        lines.append(f"  {result} = and i1 {known}, {test}")
        known = result
    return lines
