"""Arrays whose numbers of one state do not lie side by side, such as batch-fastest ones.

Where the batch axis is contiguous, one number of W states is a vector in memory already: it is
loaded and stored as it is, without transposes.  A group of blocks is moved number by number, so
that whole cache lines are written at a time: rows of a large batch lie far apart, often by a power
of two, and would push each other out of the caches.  Any other strides are walked lane by lane.

Which arrays are like that is known in each call: bit n of %strided tells of array n.

Functions here only call others or run loops that are written as they should be.  So LLVM may skip
its own work on them (optnone), which saves a tenth of the time to compile a small kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import gcd

from sixfold.graph.program import INPUT, Program
from sixfold.llvm.layout import pieces
from sixfold.llvm.layout.block_loops import every_block
from sixfold.llvm.layout.gather_scatter import table
from sixfold.llvm.layout.inner_loop import array_bit, loaded_strides, strided_extents
from sixfold.llvm.layout.pieces import interleaved_tiles, tile_size
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.layout.strided_moves import move

RUN_BYTES = 512
"""Bytes of one result that a group of blocks writes at a time, if the tiles are not too large."""

MAX_GROUP_BYTES = 1 << 18
"""Bytes for the tiles of such a group: they stay in the L2 cache."""

MIN_ALIGNED_ROWS = 128
"""Rows from which the first ones are done apart, so that the others start with a cache line."""

GROUP = "ptr %args, ptr %steps, i64 %row, i64 %rows, ptr %tiles, i64 %strided"
"""Arguments of a function between strided arrays and the tiles of a group of blocks."""


def together(layout: Layout, cut: Plan, W: int) -> int:
    """Return how many blocks go through the pieces together: their results fill whole lines.

    Where most of a tile is results, which are read once more to be stored, it pays to write longer
    runs than tiles in the L1 cache would allow.
    """
    line = max(1, LINE_BYTES // (W * layout.item))
    if any(interleaved_tiles(cut, p, W) == 2 for p in range(len(cut.pieces))):
        line += line % 2
    most = pieces.together(layout, cut, W)
    if 2 * sum(layout.output_sizes) >= cut.slots or most == 1:
        size = tile_size(layout, cut, W)
        most = max(most, min(RUN_BYTES // (W * layout.item), MAX_GROUP_BYTES // size))
    return max(1, most // line) * line


def moves(program: Program, layout: Layout, cut: Plan, W: int, groups: Sequence[int]) -> str:
    """Return @gather_strided_W and @scatter_strided_W, and what they call.

    Args:
        program: whose arguments and results are moved.
        layout: of the arrays.
        cut: the plan of the program.
        W: rows of a block.
        groups: how many blocks the functions that compute rows take together.
    """
    several = together(layout, cut, W)
    return "\n".join(
        [
            move("load", layout, cut, W, gcd(several, *groups)),
            move("store", layout, cut, W, several),
            _gather(program, layout, cut, W),
            _scatter(layout, cut, W),
            _fetch(layout, cut, W),
        ]
    )


def gather_call(layout: Layout, W: int, T: int, after: str = "inputs") -> list[str]:
    """Return the start of a group of at most T blocks: strided inputs to its tiles, if any.

    It needs %at and %stop, sets %rows_here, and ends in the label %inputs.  Where nothing is left
    to gather, it goes to the label %after.
    """
    if layout.scalar != "double":  # sines and cosines are left
        after = "inputs"
    inputs = sum(map(array_bit, range(len(layout.inputs))))
    return [
        "  %rows_left = sub i64 %stop, %at",
        f"  %rows_few = icmp slt i64 %rows_left, {T * W}",
        f"  %rows_here = select i1 %rows_few, i64 %rows_left, i64 {T * W}",
        "  %some_strided = icmp ne i64 %strided, 0",
        "  br i1 %some_strided, label %columns, label %inputs",
        "columns:",
        f"  call void @gather_strided_{W}"
        "(ptr %args, ptr %steps, i64 %at, i64 %rows_here, ptr %tiles, i64 %strided)",
        f"  %strided_inputs = and i64 %strided, {inputs}",
        f"  %all_strided = icmp eq i64 %strided_inputs, {inputs}",
        f"  br i1 %all_strided, label %{after}, label %inputs",
        "inputs:",
    ]


def fetch_call(W: int, T: int, p: int, when: str, every: bool) -> list[str]:
    """Return the start of piece p: its share of the next group's arguments is prefetched.

    Args:
        W: rows of a block.
        T: blocks of a group.
        p: number of the piece; the instructions end in the label %go{p}.
        when: a condition.
        every: whether dense arguments are prefetched too.
    """
    arguments = f"i64 %soon{p}, i64 {T * W}, i64 {p}, i64 %strided, i1 {str(every).lower()}"
    return [
        f"  br i1 {when}, label %fetch{p}, label %go{p}",
        f"fetch{p}:",
        f"  %soon{p} = add i64 %at, {T * W}",
        f"  call void @fetch_{W}(ptr %args, ptr %steps, {arguments})",
        f"  br label %go{p}",
        f"go{p}:",
    ]


_FETCH_RUNS = f"""
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

define internal void @fetch_runs(ptr %first, i64 %stride, i64 %from, i64 %to, i64 %bytes)
                                 noinline {{
entry:
  br label %run
run:
  %k = phi i64 [%from, %entry], [%k_next, %run_end]
  %more = icmp slt i64 %k, %to
  br i1 %more, label %go, label %done
go:
  %far = mul i64 %k, %stride
  %here = getelementptr i8, ptr %first, i64 %far
  br label %line
line:
  %x = phi i64 [0, %go], [%x_next, %line_go]
  %within = icmp slt i64 %x, %bytes
  br i1 %within, label %line_go, label %run_end
line_go:
  %there0 = getelementptr i8, ptr %here, i64 %x
  call void @llvm.prefetch.p0(ptr %there0, i32 0, i32 3, i32 1)
  %there1 = getelementptr i8, ptr %there0, i64 {LINE_BYTES}
  call void @llvm.prefetch.p0(ptr %there1, i32 0, i32 3, i32 1)
  %there2 = getelementptr i8, ptr %there0, i64 {2 * LINE_BYTES}
  call void @llvm.prefetch.p0(ptr %there2, i32 0, i32 3, i32 1)
  %there3 = getelementptr i8, ptr %there0, i64 {3 * LINE_BYTES}
  call void @llvm.prefetch.p0(ptr %there3, i32 0, i32 3, i32 1)
  %x_next = add i64 %x, {4 * LINE_BYTES}
  br label %line
run_end:
  %k_next = add i64 %k, 1
  br label %run
done:
  ret void
}}
"""
"""@fetch_runs: prefetch runs of so many bytes, a stride apart."""


def _fetch(layout: Layout, cut: Plan, W: int) -> str:
    """Return @fetch_W: prefetch a piece's share of the arguments of some rows, or strided ones.

    A few lines at each piece, since the processor waits where too many are on their way.  Numbers
    of a state are taken to be one stride apart; where they are not, a prefetch is in vain.
    """
    lines = [
        f"define internal void @fetch_{W}(ptr %args, ptr %steps, i64 %row, i64 %rows, i64 %piece, "
        "i64 %strided, i1 %every) noinline optnone {",
        f"  %bytes = mul i64 %rows, {layout.item}",
        "  %piece_next = add i64 %piece, 1",
    ]
    for a, size in enumerate(layout.input_sizes):
        lines += _array(layout, a)
        stride = f"%stride{a}_{len(layout.shapes[a]) - 1}" if layout.shapes[a] else "%bytes"
        lines += [
            f"  %bit{a} = and i64 %strided, {array_bit(a)}",
            f"  %is{a} = icmp ne i64 %bit{a}, 0",
            f"  %apart{a} = select i1 %is{a}, i64 {stride}, i64 %bytes",
            f"  %from_all{a} = mul i64 %piece, {size}",
            f"  %from{a} = udiv i64 %from_all{a}, {len(cut.pieces)}",
            f"  %until_all{a} = mul i64 %piece_next, {size}",
            f"  %until_if{a} = udiv i64 %until_all{a}, {len(cut.pieces)}",
            f"  %wanted{a} = or i1 %is{a}, %every",
            f"  %until{a} = select i1 %wanted{a}, i64 %until_if{a}, i64 %from{a}",
            f"  call void @fetch_runs"
            f"(ptr %to{a}, i64 %apart{a}, i64 %from{a}, i64 %until{a}, i64 %bytes)",
        ]
    return _FETCH_RUNS + "\n".join([*lines, "  ret void", "}\n"])


def _array(layout: Layout, a: int) -> list[str]:
    """Return instructions that find array a: %to{a} is its first row, %step{a} its step."""
    return [
        f"  %base_p{a} = getelementptr ptr, ptr %args, i64 {a}",
        f"  %base{a} = load ptr, ptr %base_p{a}",
        f"  %step_p{a} = getelementptr i64, ptr %steps, i64 {a}",
        f"  %step{a} = load i64, ptr %step_p{a}",
        f"  %along{a} = mul i64 %row, %step{a}",
        f"  %to{a} = getelementptr i8, ptr %base{a}, i64 %along{a}",
        *loaded_strides(layout, a),
    ]


def _chosen(a: int, then: str, other: str) -> list[str]:
    """Return the branch on whether array a is strided."""
    return [
        f"  %bit{a} = and i64 %strided, {array_bit(a)}",
        f"  %is{a} = icmp ne i64 %bit{a}, 0",
        f"  br i1 %is{a}, label %{then}, label %{other}",
    ]


def _gather(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @gather_strided_W: strided inputs of a group of blocks to its tiles."""
    slots = {node[1]: cut.slot[k] for k, node in enumerate(program.nodes) if node[0] == INPUT}
    tables, lines, start = [], [], 0
    for a, size in enumerate(layout.input_sizes):
        numbers = range(start, start + size)
        start += size
        if slots.keys().isdisjoint(numbers):
            continue
        tables.append(_places(f"input_places{a}", [slots.get(k) for k in numbers], layout, W))
        lines += [
            *_chosen(a, f"array{a}", f"after{a}"),
            f"array{a}:",
            *_array(layout, a),
            f"  call void @load_strided_{W}(ptr %to{a}, i64 %step{a}, ptr %tiles, i64 %rows, "
            f"i1 false, ptr @input_places{a}_{W}, {strided_extents(layout, a)})",
            f"  br label %after{a}",
            f"after{a}:",
        ]
    head = f"define internal void @gather_strided_{W}({GROUP}) noinline optnone {{"
    return "\n".join([*tables, head, *lines, "  ret void", "}\n"])


def _scatter(layout: Layout, cut: Plan, W: int) -> str:
    """Return @scatter_strided_W: results of a group of blocks to arrays, strided or not.

    With %streams, whole cache lines are written by non-temporal stores.
    """
    tables, lines, size = [], ["  %count = sdiv i64 %rows, " + str(W)], tile_size(layout, cut, W)
    ends = list(itertools.accumulate(layout.output_sizes, initial=0))
    several = len(layout.outputs) > 1
    for o, (start, end) in enumerate(itertools.pairwise(ends)):
        a = len(layout.inputs) + o
        tables.append(_places(f"output_places{o}", cut.results[start:end], layout, W))
        store = (
            f"  call void @store_strided_{W}(ptr %to{a}{{0}}, i64 %step{a}, ptr {{1}}, i64 {{2}}"
        )
        store += f", i1 %streams, ptr @output_places{o}_{W}, "
        store += f"{strided_extents(layout, a)})"
        lines += _array(layout, a)
        if not several:
            lines.append(store.format("", "%tiles", "%rows"))
            continue
        # rows that are contiguous are written as ever, those of an incomplete block one by one
        place = f"ptr %args, ptr %steps, i64 %r_rows{o}, i64 {W}, ptr %tile_rows{o}"
        body = [
            f"  %s_rows{o} = mul i64 %b_rows{o}, {W}",
            f"  %r_rows{o} = add i64 %row, %s_rows{o}",
            f"  call void @scatter_of{o}_{W}({place})",
        ]
        lines += [
            *_chosen(a, f"array{o}", f"dense{o}"),
            f"array{o}:",
            store.format("", "%tiles", "%rows"),
            f"  br label %after{o}",
            f"dense{o}:",
            f"  br label %rows{o}",
            *every_block(f"rows{o}", f"dense{o}", body, f"rest{o}", size),
            f"rest{o}:",
            f"  %done{o} = mul i64 %count, {W}",
            f"  %left{o} = sub i64 %rows, %done{o}",
            f"  %past{o} = mul i64 %done{o}, %step{a}",
            f"  %to{a}_rest = getelementptr i8, ptr %to{a}, i64 %past{o}",
            f"  %tile_past{o} = mul i64 %count, {size}",
            f"  %tile_rest{o} = getelementptr i8, ptr %tiles, i64 %tile_past{o}",
            store.format("_rest", f"%tile_rest{o}", f"%left{o}"),
            f"  br label %after{o}",
            f"after{o}:",
        ]
    head = f"define internal void @scatter_strided_{W}({GROUP}, i1 %streams) noinline optnone {{"
    return "\n".join([*tables, head, *lines, "  ret void", "}\n"])


def _places(name: str, slots: Sequence[int | None], layout: Layout, W: int) -> str:
    """Return a table of where numbers lie in a tile, in bytes; -1 for those that nobody reads."""
    size = W * layout.item
    return table(f"{name}_{W}", [-1 if slot is None else slot * size for slot in slots])
