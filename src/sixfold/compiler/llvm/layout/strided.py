"""Arrays whose numbers of one state do not lie side by side, such as batch-fastest ones.

Where the batch axis is contiguous, one number of W states is a vector in memory already: it is
loaded and stored without transposes, number by number for a group of 64 states, so that whole cache
lines are written at a time.  Rows with any other step are walked lane by lane.

Which arrays are strided is known in each call: bit n of %strided tells of array n.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sixfold.compiler.graph.program import INPUT, Program
from sixfold.compiler.llvm.layout.gather_scatter import Store, head
from sixfold.compiler.llvm.layout.inner_loop import array_bit, loaded_strides, strided_extents
from sixfold.compiler.llvm.layout.pieces import tile_size
from sixfold.compiler.llvm.layout.plan import Plan
from sixfold.compiler.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.compiler.llvm.text.instructions import types
from sixfold.compiler.llvm.text.writer import table

#: States of a group: 512 bytes of each number. 256 bytes took up to a third longer.
GROUP_STATES = 64

MAX_GROUP_BYTES = 1 << 18  #: Bytes for the tiles of a group: they stay in the L2 cache.


def blocks_per_group(layout: Layout, cut: Plan, W: int) -> int:
    """Return how many blocks go through the pieces together where results are strided."""
    return max(1, min(GROUP_STATES // W, MAX_GROUP_BYTES // tile_size(layout, cut, W)))


def gather_call(layout: Layout, W: int, T: int) -> list[str]:
    """Return the start of a group of at most T blocks: strided inputs to its tiles, if any.

    It needs %at and %stop, sets %rows_here, and ends in the label %inputs.
    """
    return [
        "  %rows_left = sub i64 %stop, %at",
        f"  %rows_few = icmp slt i64 %rows_left, {T * W}",
        f"  %rows_here = select i1 %rows_few, i64 %rows_left, i64 {T * W}",
        "  %some_strided = icmp ne i64 %strided, 0",
        "  br i1 %some_strided, label %columns, label %inputs",
        "columns:",
        f"  call void @gather_strided_{W}"
        "(ptr %args, ptr %steps, i64 %at, i64 %rows_here, ptr %tiles, i64 %strided)",
        "  br label %inputs",
        "inputs:",
    ]


class Strided(Store):
    """Store strategy for results of any strides, at the end of a group."""

    def __init__(self, layout: Layout, W: int) -> None:
        self.layout, self.W = layout, W

    def end_of_group(self, after: str) -> list[str]:
        """Return what moves the results of a group; it goes to the label %group_end."""
        return [
            f"  call void @scatter_strided_{self.W}(ptr %args, ptr %steps, i64 %at, "
            "i64 %rows_here, ptr %tiles, i1 %past)",
            "  br label %group_end",
        ]

    def finish(self) -> list[str]:
        """Return what is done after the last group."""
        return ["  fence seq_cst"]  # non-temporal stores are visible before anything later


def moves(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @gather_strided_W and @scatter_strided_W, and what they call."""
    return "\n".join(
        [
            _move("load", layout, cut, W),
            _move("store", layout, cut, W),
            _gather(program, layout, cut, W),
            _scatter(layout, cut, W),
        ]
    )


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


_ROWS = "ptr %args, ptr %steps, i64 %row, i64 %rows, ptr %tiles"


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
            f"  %bit{a} = and i64 %strided, {array_bit(a)}",
            f"  %is{a} = icmp ne i64 %bit{a}, 0",
            f"  br i1 %is{a}, label %array{a}, label %after{a}",
            f"array{a}:",
            *_array(layout, a),
            f"  call void @load_strided_{W}(ptr %to{a}, i64 %step{a}, ptr %tiles, i64 %rows, "
            f"i1 false, ptr @input_places{a}_{W}, {strided_extents(layout, a)})",
            f"  br label %after{a}",
            f"after{a}:",
        ]
    start_of = f"define internal void @gather_strided_{W}({_ROWS}, i64 %strided)"
    start_of += " noinline optnone {"
    return "\n".join([*tables, start_of, *lines, "  ret void", "}\n"])


def _scatter(layout: Layout, cut: Plan, W: int) -> str:
    """Return @scatter_strided_W: results of a group of blocks to arrays of any strides."""
    tables, lines = [], []
    ends = list(itertools.accumulate(layout.output_sizes, initial=0))
    for o, (start, end) in enumerate(itertools.pairwise(ends)):
        a = len(layout.inputs) + o
        tables.append(_places(f"output_places{o}", cut.results[start:end], layout, W))
        lines += [
            *_array(layout, a),
            f"  call void @store_strided_{W}(ptr %to{a}, i64 %step{a}, ptr %tiles, i64 %rows, "
            f"i1 %past, ptr @output_places{o}_{W}, {strided_extents(layout, a)})",
        ]
    start_of = f"define internal void @scatter_strided_{W}({_ROWS}, i1 %past) noinline optnone {{"
    return "\n".join([*tables, start_of, *lines, "  ret void", "}\n"])


def _places(name: str, slots: Sequence[int | None], layout: Layout, W: int) -> str:
    """Return a table of where numbers lie in a tile, in bytes; -1 for those that are not read."""
    size = W * layout.item
    return table(f"{name}_{W}", [-1 if slot is None else slot * size for slot in slots])


def _move(name: str, layout: Layout, cut: Plan, W: int) -> str:
    """Return @load_strided_W or @store_strided_W: all numbers of some rows to or from tiles.

    The outer loop is over the numbers of a state, in C order of their three axes.  Inside, whole
    blocks are moved as vectors where the batch axis is contiguous, other rows one by one.  When
    loading, lanes past the last row repeat it.  With %past, whole lines go past the caches.
    """
    item, scalar, size = layout.item, layout.scalar, tile_size(layout, cut, W)
    real, _ = types(W, scalar)
    source, target = ("near", "far") if name == "store" else ("far", "near")
    align = {"near": W * item, "far": item}
    store = f"store {real} %x, ptr %{target}, align {align[target]}"
    end = "%rows"
    if name == "load":
        store, end = f"{store}\n  br label %block_end", "%rounded"
    else:
        past = f"store {real} %x, ptr %far, align {W * item}, !nontemporal !{{i32 1}}"
        store = f"""br i1 %by_lines, label %around, label %through
around:
  {past}
  br label %block_end
through:
  {store}
  br label %block_end"""
    return f"""
define internal void @{name}_strided_{W}(ptr %array, i64 %step, ptr %tiles, i64 %rows, i1 %past,
    ptr %places, i64 %n2, i64 %s2, i64 %n0, i64 %s0, i64 %n1, i64 %s1) noinline {{
entry:
  %contiguous = icmp eq i64 %step, {item}
  %blocks_all = udiv i64 %rows, {W}
  %blocks = select i1 %contiguous, i64 %blocks_all, i64 0
  %first_row = mul i64 %blocks, {W}
  %up = add i64 %rows, {W - 1}
  %rounded = and i64 %up, {-W}
  %last = sub i64 %rows, 1
  %planes = mul i64 %n2, %n0
  %count = mul i64 %planes, %n1
  br label %number
number:
  %k = phi i64 [0, %entry], [%k_next, %next]
  %i2 = phi i64 [0, %entry], [%i2_next, %next]
  %i0 = phi i64 [0, %entry], [%i0_next, %next]
  %i1 = phi i64 [0, %entry], [%i1_next, %next]
  %some = icmp slt i64 %k, %count
  br i1 %some, label %find, label %done
find:
  %place_p = getelementptr i64, ptr %places, i64 %k
  %place = load i64, ptr %place_p
  %slot = getelementptr i8, ptr %tiles, i64 %place
  %o2 = mul i64 %i2, %s2
  %o0 = mul i64 %i0, %s0
  %o1 = mul i64 %i1, %s1
  %o20 = add i64 %o2, %o0
  %offset = add i64 %o20, %o1
  %here = getelementptr i8, ptr %array, i64 %offset
  %address = ptrtoint ptr %here to i64
  %within = and i64 %address, {LINE_BYTES - 1}
  %at_line = icmp eq i64 %within, 0
  %by_lines = and i1 %at_line, %past
  %unread = icmp slt i64 %place, 0
  br i1 %unread, label %next, label %block
block:
  %b = phi i64 [0, %find], [%b_next, %block_end]
  %more = icmp slt i64 %b, %blocks
  br i1 %more, label %block_go, label %rest
block_go:
  %tile_bytes = mul i64 %b, {size}
  %far_bytes = mul i64 %b, {W * item}
  %near = getelementptr i8, ptr %slot, i64 %tile_bytes
  %far = getelementptr i8, ptr %here, i64 %far_bytes
  %x = load {real}, ptr %{source}, align {align[source]}
  {store}
block_end:
  %b_next = add i64 %b, 1
  br label %block
rest:
  %r = phi i64 [%first_row, %block], [%r_next, %rest_go]
  %r_more = icmp slt i64 %r, {end}
  br i1 %r_more, label %rest_go, label %next
rest_go:
  %r_block = udiv i64 %r, {W}
  %r_lane = urem i64 %r, {W}
  %r_tile = mul i64 %r_block, {size}
  %r_bytes = mul i64 %r_lane, {item}
  %r_place = add i64 %r_tile, %r_bytes
  %r_past = icmp sgt i64 %r, %last
  %r_row = select i1 %r_past, i64 %last, i64 %r
  %r_far = mul i64 %r_row, %step
  %near_r = getelementptr i8, ptr %slot, i64 %r_place
  %far_r = getelementptr i8, ptr %here, i64 %r_far
  %y = load {scalar}, ptr %{source}_r, align {item}
  store {scalar} %y, ptr %{target}_r, align {item}
  %r_next = add i64 %r, 1
  br label %rest
next:
  %k_next = add i64 %k, 1
  %i1_up = add i64 %i1, 1
  %i1_over = icmp eq i64 %i1_up, %n1
  %i1_next = select i1 %i1_over, i64 0, i64 %i1_up
  %i1_carry = zext i1 %i1_over to i64
  %i0_up = add i64 %i0, %i1_carry
  %i0_over = icmp eq i64 %i0_up, %n0
  %i0_next = select i1 %i0_over, i64 0, i64 %i0_up
  %i0_carry = zext i1 %i0_over to i64
  %i2_next = add i64 %i2, %i0_carry
  br label %number
done:
  ret void
}}
"""


def aligned_rows(layout: Layout, W: int, large: Sequence[str]) -> str:
    """Return @strided_W: all rows, the first ones apart, up to a cache line.

    The other rows of the longest result then start with a line; those of a large batch are written
    past the caches.

    Args:
        layout: of the arrays.
        W: rows of a block.
        large: instructions that set %big, and %count to the number of rows.
    """
    # the longest result decides where lines begin
    longest = max(range(len(layout.outputs)), key=layout.output_sizes.__getitem__)
    a, item = len(layout.inputs) + longest, layout.item
    arguments = "ptr %args, ptr %steps, i64"
    lines = [
        head("strided", W),
        "entry:",
        *large,
        f"  %array_p = getelementptr ptr, ptr %args, i64 {a}",
        "  %array = load ptr, ptr %array_p",
        f"  %step_p = getelementptr i64, ptr %steps, i64 {a}",
        "  %step = load i64, ptr %step_p",
        "  %along = mul i64 %row, %step",
        "  %first = getelementptr i8, ptr %array, i64 %along",
        "  %address = ptrtoint ptr %first to i64",
        "  %negative = sub i64 0, %address",
        f"  %up = and i64 %negative, {LINE_BYTES - 1}",
        f"  %until = udiv i64 %up, {item}",
        f"  %contiguous = icmp eq i64 %step, {item}",
        f"  %enough = icmp sge i64 %count, {2 * GROUP_STATES}",
        "  %aligns = and i1 %contiguous, %enough",
        "  %skipped = select i1 %aligns, i64 %until, i64 0",
        "  %line = add i64 %row, %skipped",
        f"  call void @columns_{W}({arguments} %row, i64 %line, i64 %strided, i1 false)",
        f"  call void @columns_{W}({arguments} %line, i64 %stop, i64 %strided, i1 %big)",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)
