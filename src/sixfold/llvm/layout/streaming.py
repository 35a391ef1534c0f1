"""Batches that no cache holds: what is between memory and the processor while it works.

An ordinary store fetches the line it writes to, which for big results is half of the traffic with
memory, and the processor has to wait for it.  Here rows are put together in scratch and go out in
whole lines, past the caches, which fetches nothing; a few at a time between the pieces of a
program, so that they are written while it works.  The arguments of the next blocks are fetched
meanwhile.  In wide results, zeros that every state has are put in their places once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd, lcm

from sixfold.llvm.layout import scratch as heap
from sixfold.llvm.layout.block_loops import every_block
from sixfold.llvm.layout.gather_scatter import head, scatters_new, settled
from sixfold.llvm.layout.pieces import TILE_BYTES, abreast, sines, tile_size
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import Layout, tag

LEAST = 1 << 24
"""Bytes of arguments and results that take this way."""

FEW = 256
"""Rows below which a call goes the usual way, whatever they are part of."""

ROOM = 1 << 16
"""Bytes of rows that are put together, or as many as fill whole lines if that is more."""

LINE = 64
"""Bytes that go out at once."""

SHARE = 8
"""Lines that go out at a time, at least."""

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
  %bytes = mul i64 %lines, {LINE}
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
  %x = load <{LINE // 8} x i64>, ptr %near, align {LINE}
  store <{LINE // 8} x i64> %x, ptr %far, align {LINE}, !nontemporal !{{i32 1}}
  %next = add i64 %k, {LINE}
  br label %line
done:
  ret void
}}
"""
"""@drain(way, most): let some lines go.  A way is where they are, where they go, how many."""


def together(layout: Layout, cut: Plan, W: int) -> int:
    """Return how many blocks go through the pieces together: their rows fill whole lines."""
    rows = [W * size * layout.item for size in layout.output_sizes]
    unit = lcm(*(LINE // gcd(LINE, size) for size in rows))
    if any(abreast(cut, p, W) == 2 for p in range(len(cut.pieces))):
        unit = lcm(unit, 2)
    most = min(8, TILE_BYTES // tile_size(layout, cut, W), ROOM // sum(rows))
    return max(1, most // unit) * unit


def flow(layout: Layout, cut: Plan, W: int) -> str:
    """Return @flow_W(args, steps, row, stop): most rows of a big batch; the first that is left.

    Rows of an output lie one after the other.  They are put together in scratch as they will lie
    in memory, so many bytes after the start of a line; what begins a line at the end of a group is
    moved to the front, where the next group completes it.  The bytes before the first whole line
    and after the last are stored as usual: others may be writing to the rest of those lines.
    """
    T, size = together(layout, cut, W), tile_size(layout, cut, W)
    totals = [(o, T * W * each * layout.item) for o, each in enumerate(layout.output_sizes)]
    tiles = -(-T * size // LINE) * LINE
    room = sum(total + LINE for _, total in totals)
    scratch = tiles + room
    ends: list[str] = []
    for o, _ in totals:
        t = tag(o)
        ends += [
            f"  %tail_bytes{t} = select i1 %any, i64 %ahead{t}, i64 0",
            f"  %tail{t} = load ptr, ptr %to_p{t}",
            f"{_COPY}(ptr %tail{t}, ptr %over{t}, i64 %tail_bytes{t}, i1 false)",
        ]
    lines = [
        f"define internal i64 @flow_{W}(ptr %args, ptr %steps, i64 %row, i64 %stop) noinline {{",
        "entry:",
        *heap.take("%tiles", scratch),
        "  %none = icmp eq ptr %tiles, null",
        "  br i1 %none, label %failed, label %start",
        "failed:",
        "  ret i64 %row",
        "start:",
        f"  %count = add i64 0, {T}",
        *settled(layout, W, T, size),
        f"  %rows = getelementptr i8, ptr %tiles, i64 {tiles}",
        f"  call void @llvm.memset.p0.i64(ptr %rows, i8 0, i64 {room}, i1 false)",
        *_begin(layout, totals),
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %away]",
        f"  %next = add i64 %at, {T * W}",
        "  %go = icmp sle i64 %next, %stop",
        "  br i1 %go, label %first, label %done",
        *_work(layout, cut, W, T),
        *[line for o, _ in totals for line in _turn(o)],
        "  br label %last",
        *every_block("last", f"before{len(cut.pieces)}", _put(layout, W), "away", size),
        "away:",
        "  %begins = icmp eq i64 %at, %row",
        *[line for o, total in totals for line in _away(o, total // LINE)],
        "  br label %group",
        "done:",
        *[_drained(o) for o, _ in totals],
        "  %any = icmp ne i64 %at, %row",
        *ends,
        "  fence seq_cst",  # what went past the caches is there for all before anything later
        *heap.give("%tiles", scratch),
        "  ret i64 %at",
        "}\n",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n",
    ]
    return DRAIN + "\n".join(lines) + "\n" + _choice(layout, W)


_COPY = "  call void @llvm.memcpy.p0.p0.i64"


def _drained(output: int) -> str:
    """Return the call that lets all lines of an output go."""
    return f"  call void @drain(ptr %way{tag(output)}, i64 {1 << 60})"


def _turn(output: int) -> list[str]:
    """Return what ends a group: all lines go, and the part of a line at the end moves on."""
    t = tag(output)
    return [
        _drained(output),
        f"{_COPY}(ptr %rows{t}, ptr %over{t}, i64 %ahead{t}, i1 false)",
    ]


def _begin(layout: Layout, totals: Sequence[tuple[int, int]]) -> list[str]:
    """Return what is worked out once: where rows are put together and go, where arguments are."""
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
            f"  %ahead{t} = and i64 %number{t}, {LINE - 1}",
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
        start += total + LINE
    for a in range(n):
        lines += [
            f"  %base{a}_p = getelementptr ptr, ptr %args, i64 {a}",
            f"  %base{a} = load ptr, ptr %base{a}_p",
            f"  %step{a}_p = getelementptr i64, ptr %steps, i64 {a}",
            f"  %step{a} = load i64, ptr %step{a}_p",
        ]
    return lines


def _work(layout: Layout, cut: Plan, W: int, T: int) -> list[str]:
    """Return the loops over the blocks of a group: rows to tiles, and all pieces of the program.

    With each block, some lines of the last group go out, and some of the next come in.
    """
    size, stages = tile_size(layout, cut, W), len(cut.pieces) + 1
    draining: list[tuple[int, int, set[int]]] = []  # output, lines at a time, stages
    for o, numbers in enumerate(layout.output_sizes):
        each = W * numbers * layout.item / LINE
        share = max(SHARE, ceil(each / stages))
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
    place = f"ptr %args, ptr %steps, i64 %r_first, i64 {W}, ptr %tile_first"
    stage(0, "first", [*rows, f"  call void @gather_{W}({place})"], "group")
    for p in range(len(cut.pieces)):
        name = f"stage{p}"
        lines += [*sines(layout, cut, W, p), f"  br label %{name}"]
        body = [f"  call void @piece_{p}_{W}(ptr %tile_{name})"]
        stage(p + 1, name, body, f"before{p}", abreast(cut, p, W))
    return lines


def _put(layout: Layout, W: int) -> list[str]:
    """Return what puts the results of a block among the rows."""
    place = f"ptr %new_args, ptr %new_steps, i64 %s_last, i64 {W}, ptr %tile_last"
    call = f"  call void @{scatters_new(layout)}_{W}({place})"
    return [f"  %s_last = mul i64 %b_last, {W}", call]


def _away(output: int, lines: int) -> list[str]:
    """Return what makes the lines of a group ready to go; the first of all may be a part of one."""
    t = tag(output)
    return [
        f"  %within{t} = icmp ne i64 %ahead{t}, 0",
        f"  %odd{t} = and i1 %begins, %within{t}",
        f"  %short{t} = select i1 %odd{t}, i64 {LINE}, i64 0",
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
    """Return instructions by which a stage has its share of the next group's arguments fetched."""
    lines = [f"  %h_{name} = mul i64 %b_{name}, {W}", f"  %i_{name} = add i64 %next, %h_{name}"]
    for a, size in enumerate(layout.input_sizes):
        places = range(0, blocks * W * size * layout.item, LINE)
        mine = places[-(-k * len(places) // stages) : -(-(k + 1) * len(places) // stages)]
        row = f"{name}_{a}"
        lines.append(f"  %j_{row} = mul i64 %i_{name}, %step{a}")
        lines.append(f"  %k_{row} = getelementptr i8, ptr %base{a}, i64 %j_{row}")
        for x in mine:
            lines.append(f"  %k_{row}_{x} = getelementptr i8, ptr %k_{row}, i64 {x}")
            lines.append(f"  call void @llvm.prefetch.p0(ptr %k_{row}_{x}, i32 0, i32 3, i32 1)")
    return lines


def _choice(layout: Layout, W: int) -> str:
    """Return @rows_W: rows of big batches by @flow_W, as many as fit, and all others as usual.

    A batch is big by itself, or because %data is not null: then it is a part of a big one.
    """
    all_rows, dense, tests = sum(layout.sizes) * layout.item, "", []
    for o, size in enumerate(layout.output_sizes):
        t = tag(o)
        tests += [
            f"  %step_p{t} = getelementptr i64, ptr %steps, i64 {len(layout.inputs) + o}",
            f"  %step{t} = load i64, ptr %step_p{t}",
            f"  %dense{t} = icmp eq i64 %step{t}, {size * layout.item}",
        ]
        if dense:
            tests.append(f"  %all{t} = and i1 {dense}, %dense{t}")
        dense = f"%all{t}" if dense else f"%dense{t}"
    return "\n".join(
        [
            head("rows", W),
            "entry:",
            *tests,
            "  %count = sub i64 %stop, %row",
            f"  %many = icmp sge i64 %count, {max(FEW, -(-LEAST // all_rows))}",
            "  %part = icmp ne ptr %data, null",
            f"  %some = icmp sge i64 %count, {FEW}",
            "  %some_part = and i1 %part, %some",
            "  %big = or i1 %many, %some_part",
            f"  %flows = and i1 %big, {dense}",
            "  br i1 %flows, label %flow, label %rest",
            "flow:",
            f"  %done = call i64 @flow_{W}(ptr %args, ptr %steps, i64 %row, i64 %stop)",
            "  br label %rest",
            "rest:",
            "  %from = phi i64 [%row, %entry], [%done, %flow]",
            f"  call void @usual_{W}(ptr %args, ptr %steps, i64 %from, i64 %stop, ptr %data)",
            "  ret void",
            "}\n",
        ]
    )
