"""Streaming of batches larger than the caches: non-temporal stores and prefetch.

An ordinary store first reads the cache line that it writes to, which for large results is half of
the memory traffic.  Here rows are staged in scratch and written in whole lines by non-temporal
stores, which read nothing; a few lines at a time between the pieces of a program, so that writing
overlaps with computing.  Arguments of the next blocks are prefetched meanwhile.  In wide results,
columns that are zero in every state are written to the staging area once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd, lcm

from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.block_loops import every_block
from sixfold.llvm.layout.gather_scatter import head, store_constants_calls, varying_scatter
from sixfold.llvm.layout.pieces import (
    TILE_BYTES,
    interleaved_tiles,
    pairs_up,
    sincos_calls,
    tile_size,
)
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.repeat_loops import run_calls
from sixfold.llvm.layout.signature import LINE_BYTES, Layout, tag
from sixfold.llvm.layout.strided import fetch_call, gather_call
from sixfold.llvm.text.instructions import all_true

MIN_STREAMING_BYTES = 1 << 24
"""Bytes of arguments and results from which a batch is streamed."""

MIN_STREAMING_ROWS = 256
"""Rows below which a chunk is not streamed, even if it is part of a large batch."""

STAGING_BYTES = 1 << 16
"""Bytes of the staging area for rows; more if whole lines need more."""

MIN_DRAIN_LINES = 8
"""Least number of lines that are written at a time."""

DRAIN = f"""
define internal void @drain(ptr %way, i64 %most) noinline {{
entry:
  %to_p = getelementptr i64, ptr %way, i64 1
  %left_p = getelementptr i64, ptr %way, i64 2
  %from = load ptr, ptr %way
  %to = load ptr, ptr %to_p
  %left = load i64, ptr %left_p
  %few = icmp slt i64 %left, %most
  %lines = select i1 %few, i64 %left, i64 %most
  %rest = sub i64 %left, %lines
  store i64 %rest, ptr %left_p
  %bytes = mul i64 %lines, {LINE_BYTES}
  %from_next = getelementptr i8, ptr %from, i64 %bytes
  %to_next = getelementptr i8, ptr %to, i64 %bytes
  store ptr %from_next, ptr %way
  store ptr %to_next, ptr %to_p
  br label %line
line:
  %k = phi i64 [0, %entry], [%next, %go]
  %more = icmp slt i64 %k, %bytes
  br i1 %more, label %go, label %done
go:
  %near = getelementptr i8, ptr %from, i64 %k
  %far = getelementptr i8, ptr %to, i64 %k
  %x = load <{LINE_BYTES // 8} x i64>, ptr %near, align {LINE_BYTES}
  store <{LINE_BYTES // 8} x i64> %x, ptr %far, align {LINE_BYTES}, !nontemporal !{{i32 1}}
  %next = add i64 %k, {LINE_BYTES}
  br label %line
done:
  ret void
}}
"""
"""@drain(way, most): write some staged lines.  A way holds source, target and lines left."""


def together(layout: Layout, cut: Plan, W: int) -> int:
    """Return how many blocks go through the pieces together: their rows fill whole lines."""
    rows = [W * size * layout.item for size in layout.output_sizes]
    unit = lcm(*(LINE_BYTES // gcd(LINE_BYTES, size) for size in rows))
    if pairs_up(cut, W):
        unit = lcm(unit, 2)
    most = min(8, TILE_BYTES // tile_size(layout, cut, W), STAGING_BYTES // sum(rows))
    return max(1, most // unit) * unit


def streaming(layout: Layout, cut: Plan, W: int) -> str:
    """Return @streaming_W(args, steps, row, stop): rows of a large batch, by non-temporal stores.

    It computes as many rows as fill whole groups and returns the index of the first row left over.

    Rows of an output are contiguous.  They are staged at the same offset from the start of a line
    as in memory; an incomplete line at the end of a group moves to the front, where the next group
    completes it.  Bytes before the first whole line and after the last are stored as usual: other
    threads may be writing to the rest of those lines.
    """
    T, size = together(layout, cut, W), tile_size(layout, cut, W)
    totals = [(o, T * W * each * layout.item) for o, each in enumerate(layout.output_sizes)]
    tiles = -(-T * size // LINE_BYTES) * LINE_BYTES
    room = sum(total + LINE_BYTES for _, total in totals)
    scratch_bytes = tiles + room
    ends: list[str] = []
    for o, _ in totals:
        t = tag(o)
        ends += [
            f"  %tail_bytes{t} = select i1 %any, i64 %ahead{t}, i64 0",
            f"  %tail{t} = load ptr, ptr %to_p{t}",
            f"{_COPY}(ptr %tail{t}, ptr %over{t}, i64 %tail_bytes{t}, i1 false)",
        ]
    lines = [
        f"define internal i64 @streaming_{W}"
        f"(ptr %args, ptr %steps, i64 %row, i64 %stop, i64 %strided) {cut.driver} {{",
        "entry:",
        *scratch.alloc("%tiles", scratch_bytes),
        "  %none = icmp eq ptr %tiles, null",
        "  br i1 %none, label %failed, label %start",
        "failed:",
        "  ret i64 %row",
        "start:",
        f"  %count = add i64 0, {T}",
        *store_constants_calls(layout, cut, W, T, size),
        f"  %rows = getelementptr i8, ptr %tiles, i64 {tiles}",
        f"  call void @llvm.memset.p0.i64(ptr %rows, i8 0, i64 {room}, i1 false)",
        *_begin(layout, totals),
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %away]",
        f"  %next = add i64 %at, {T * W}",
        "  %go = icmp sle i64 %next, %stop",
        "  br i1 %go, label %fill, label %done",
        "fill:",
        *gather_call(layout, W, T),
        "  br label %first",
        *work(layout, cut, W, T, True),
        *[line for o, _ in totals for line in _turn(o)],
        "  br label %last",
        *every_block("last", f"before{len(cut.pieces)}", _put(layout, W), "away", size),
        "away:",
        "  %begins = icmp eq i64 %at, %row",
        *[line for o, total in totals for line in _away(o, total // LINE_BYTES)],
        "  br label %group",
        "done:",
        *[_drained(o) for o, _ in totals],
        "  %any = icmp ne i64 %at, %row",
        *ends,
        "  fence seq_cst",  # non-temporal stores are visible before anything later
        *scratch.free("%tiles", scratch_bytes),
        "  ret i64 %at",
        "}\n",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    ]
    return DRAIN + "\n".join(lines)


_COPY = "  call void @llvm.memcpy.p0.p0.i64"


def _drained(output: int) -> str:
    """Return the call that writes all staged lines of an output."""
    return f"  call void @drain(ptr %way{tag(output)}, i64 {1 << 60})"


def _turn(output: int) -> list[str]:
    """Return the end of a group: write all lines, move the incomplete one to the front."""
    t = tag(output)
    return [
        _drained(output),
        f"{_COPY}(ptr %rows{t}, ptr %over{t}, i64 %ahead{t}, i1 false)",
    ]


def _begin(layout: Layout, totals: Sequence[tuple[int, int]]) -> list[str]:
    """Return what is computed once: staging areas, targets and arguments."""
    n, arrays = len(layout.inputs), len(layout.shapes)
    lines = [f"  %new_args = alloca ptr, i64 {arrays}", f"  %new_steps = alloca i64, i64 {arrays}"]
    start = 0
    for o, total in totals:
        t, row = tag(o), layout.output_sizes[o] * layout.item
        if o:
            lines.append(f"  %rows{t} = getelementptr i8, ptr %rows, i64 {start}")
        lines += [
            f"  %out_p{t} = getelementptr ptr, ptr %args, i64 {n + o}",
            f"  %out{t} = load ptr, ptr %out_p{t}",
            f"  %before{t} = mul i64 %row, {row}",
            f"  %begin{t} = getelementptr i8, ptr %out{t}, i64 %before{t}",
            f"  %number{t} = ptrtoint ptr %begin{t} to i64",
            f"  %ahead{t} = and i64 %number{t}, {LINE_BYTES - 1}",
            f"  %back{t} = sub i64 0, %ahead{t}",
            f"  %line{t} = getelementptr i8, ptr %begin{t}, i64 %back{t}",
            f"  %new{t} = getelementptr i8, ptr %rows{t}, i64 %ahead{t}",
            f"  %over{t} = getelementptr i8, ptr %rows{t}, i64 {total}",
            f"  %way{t} = alloca i64, i64 3",
            f"  %to_p{t} = getelementptr i64, ptr %way{t}, i64 1",
            f"  %left_p{t} = getelementptr i64, ptr %way{t}, i64 2",
            f"  store ptr %rows{t}, ptr %way{t}",
            f"  store ptr %line{t}, ptr %to_p{t}",
            f"  store i64 0, ptr %left_p{t}",
            f"  %new_p{t} = getelementptr ptr, ptr %new_args, i64 {n + o}",
            f"  store ptr %new{t}, ptr %new_p{t}",
            f"  %step_p{t} = getelementptr i64, ptr %new_steps, i64 {n + o}",
            f"  store i64 {row}, ptr %step_p{t}",
        ]
        start += total + LINE_BYTES
    return lines + arguments(layout)


def work(layout: Layout, cut: Plan, W: int, T: int, drains: bool) -> list[str]:
    """Return the loops over the blocks of a group: rows to tiles, and all pieces of the program.

    With each block, some arguments of the next group are prefetched, and if it drains, some lines
    of the last group are written.
    """
    size, stages = tile_size(layout, cut, W), len(cut.pieces) + 1
    draining: list[tuple[int, int, set[int]]] = []  # output, lines at a time, stages
    for o, numbers in enumerate(layout.output_sizes if drains else ()):
        each = W * numbers * layout.item / LINE_BYTES
        share = max(MIN_DRAIN_LINES, ceil(each / stages))
        calls = min(stages, ceil(each / share))
        draining.append((o, share, {k * stages // calls for k in range(calls)}))
    lines: list[str] = []

    def stage(k: int, name: str, body: list[str], before: str, blocks: int = 1) -> None:
        for o, share, those in draining:
            if k in those:
                body.append(f"  call void @drain(ptr %way{tag(o)}, i64 {share * blocks})")
        body += _fetch(layout, W, k, stages, name, blocks)
        lines.extend(every_block(name, before, body, f"before{k}", size, blocks))
        lines.append(f"before{k}:")

    rows = [f"  %s_first = mul i64 %b_first, {W}", "  %r_first = add i64 %at, %s_first"]
    place = f"ptr %args, ptr %steps, i64 %r_first, i64 {W}, ptr %tile_first, i64 %strided"
    stage(0, "first", [*rows, f"  call void @gather_{W}({place})"], "inputs")
    for p in range(len(cut.pieces)):
        name = f"stage{p}"
        lines += [*run_calls(cut, W, p), *sincos_calls(layout, cut, W, p)]
        lines += [*fetch_call(W, T, p, "%some_strided", False), f"  br label %{name}"]
        body = [f"  call void @piece_{p}_{W}(ptr %tile_{name})"]
        stage(p + 1, name, body, f"go{p}", interleaved_tiles(cut, p, W))
    return lines


def arguments(layout: Layout) -> list[str]:
    """Return what loads the address and the step of each argument."""
    lines = []
    for a in range(len(layout.inputs)):
        lines += [
            f"  %base{a}_p = getelementptr ptr, ptr %args, i64 {a}",
            f"  %base{a} = load ptr, ptr %base{a}_p",
            f"  %step{a}_p = getelementptr i64, ptr %steps, i64 {a}",
            f"  %step{a} = load i64, ptr %step{a}_p",
        ]
    return lines


def _put(layout: Layout, W: int) -> list[str]:
    """Return the call that stages the results of a block."""
    place = f"ptr %new_args, ptr %new_steps, i64 %s_last, i64 {W}, ptr %tile_last"
    call = f"  call void @{varying_scatter(layout, W)}_{W}({place})"
    return [f"  %s_last = mul i64 %b_last, {W}", call]


def _away(output: int, lines: int) -> list[str]:
    """Return what makes the staged lines ready; the first line of all may be incomplete."""
    t = tag(output)
    return [
        f"  %within{t} = icmp ne i64 %ahead{t}, 0",
        f"  %odd{t} = and i1 %begins, %within{t}",
        f"  %short{t} = select i1 %odd{t}, i64 {LINE_BYTES}, i64 0",
        f"  %head{t} = sub i64 %short{t}, %ahead{t}",
        f"  %head_bytes{t} = select i1 %odd{t}, i64 %head{t}, i64 0",
        f"{_COPY}(ptr %begin{t}, ptr %new{t}, i64 %head_bytes{t}, i1 false)",
        f"  %from{t} = getelementptr i8, ptr %rows{t}, i64 %short{t}",
        f"  %to_old{t} = load ptr, ptr %to_p{t}",
        f"  %to{t} = getelementptr i8, ptr %to_old{t}, i64 %short{t}",
        f"  %lines{t} = select i1 %odd{t}, i64 {lines - 1}, i64 {lines}",
        f"  store ptr %from{t}, ptr %way{t}",
        f"  store ptr %to{t}, ptr %to_p{t}",
        f"  store i64 %lines{t}, ptr %left_p{t}",
    ]


def _fetch(layout: Layout, W: int, k: int, stages: int, name: str, blocks: int) -> list[str]:
    """Return the prefetches of a stage: its share of the arguments of the next group."""
    lines = [f"  %h_{name} = mul i64 %b_{name}, {W}", f"  %i_{name} = add i64 %next, %h_{name}"]
    for a, size in enumerate(layout.input_sizes):
        places = range(0, blocks * W * size * layout.item, LINE_BYTES)
        mine = places[-(-k * len(places) // stages) : -(-(k + 1) * len(places) // stages)]
        row = f"{name}_{a}"
        lines.append(f"  %j_{row} = mul i64 %i_{name}, %step{a}")
        lines.append(f"  %k_{row} = getelementptr i8, ptr %base{a}, i64 %j_{row}")
        for x in mine:
            lines.append(f"  %k_{row}_{x} = getelementptr i8, ptr %k_{row}, i64 {x}")
            lines.append(f"  call void @llvm.prefetch.p0(ptr %k_{row}_{x}, i32 0, i32 3, i32 1)")
    return lines


def is_large(layout: Layout) -> list[str]:
    """Return instructions that set %big to whether %count rows are, or belong to, a large batch."""
    bytes_each = sum(layout.sizes) * layout.item
    many = max(MIN_STREAMING_ROWS, -(-MIN_STREAMING_BYTES // bytes_each))
    return [
        "  %count = sub i64 %stop, %row",
        f"  %many = icmp sge i64 %count, {many}",
        "  %part = icmp ne ptr %data, null",
        f"  %some = icmp sge i64 %count, {MIN_STREAMING_ROWS}",
        "  %some_part = and i1 %part, %some",
        "  %big = or i1 %many, %some_part",
    ]


def choice(layout: Layout, W: int, by_lines: bool) -> str:
    """Return @rows_W: rows of large batches by @streaming_W, the rest by @usual_W.

    A batch is large by itself, or because %data is not null: then it is a chunk of a large one.
    By lines, batches of any size go there.
    """
    past = ", i1 %big" if by_lines else ""
    lines, names = [], []
    for o, size in enumerate(layout.output_sizes):
        t = tag(o)
        lines += [
            f"  %step_p{t} = getelementptr i64, ptr %steps, i64 {len(layout.inputs) + o}",
            f"  %step{t} = load i64, ptr %step_p{t}",
            f"  %dense{t} = icmp eq i64 %step{t}, {size * layout.item}",
        ]
        names.append(f"%dense{t}")
    large = "true" if by_lines else "%big"
    return "\n".join(
        [
            head("rows", W),
            "entry:",
            *lines,
            *is_large(layout),
            *all_true("%streams", [*names, large]),
            "  br i1 %streams, label %streaming, label %rest",
            "streaming:",
            f"  %done = call i64 @streaming_{W}"
            f"(ptr %args, ptr %steps, i64 %row, i64 %stop, i64 %strided{past})",
            "  br label %rest",
            "rest:",
            "  %from = phi i64 [%row, %entry], [%done, %streaming]",
            f"  call void @usual_{W}"
            "(ptr %args, ptr %steps, i64 %from, i64 %stop, ptr %data, i64 %strided)",
            "  ret void",
            "}\n",
        ]
    )
