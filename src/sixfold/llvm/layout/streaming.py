"""Batches that no cache holds: what is between memory and the processor while it works.

An ordinary store fetches the line it writes to, which for big results is half of the traffic with
memory, and the processor has to wait for it.  Here rows are put together in scratch and go out in
whole lines, past the caches, which fetches nothing; a few at a time between the pieces of a
program, so that they are written while it works.  The arguments of the next blocks are fetched
meanwhile.  In wide results, zeros that every state has are put in their places once.
"""

from __future__ import annotations

from math import ceil, gcd, lcm

from sixfold.llvm.layout import scratch as heap
from sixfold.llvm.layout.block_loops import every_block
from sixfold.llvm.layout.gather_scatter import head, scatters_new, settled
from sixfold.llvm.layout.pieces import TILE_BYTES, abreast, sines, tile_size
from sixfold.llvm.layout.schedule import Plan
from sixfold.llvm.layout.signature import Layout

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
    rows = W * layout.sizes[-1] * layout.item
    unit = LINE // gcd(LINE, rows)
    if any(abreast(cut, p, W) == 2 for p in range(len(cut.pieces))):
        unit = lcm(unit, 2)
    most = min(8, TILE_BYTES // tile_size(layout, cut, W), ROOM // rows)
    return max(1, most // unit) * unit


def flow(layout: Layout, cut: Plan, W: int) -> str:
    """Return @flow_W(args, steps, row, stop): most rows of a big batch; the first that is left.

    Rows of the output lie one after the other.  They are put together in scratch as they will lie
    in memory, so many bytes after the start of a line; what begins a line at the end of a group is
    moved to the front, where the next group completes it.  The bytes before the first whole line
    and after the last are stored as usual: others may be writing to the rest of those lines.
    """
    T, size = together(layout, cut, W), tile_size(layout, cut, W)
    total = T * W * layout.sizes[-1] * layout.item
    tiles = -(-T * size // LINE) * LINE
    scratch = tiles + total + LINE
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
        f"  call void @llvm.memset.p0.i64(ptr %rows, i8 0, i64 {total + LINE}, i1 false)",
        *_begin(layout, total),
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %away]",
        f"  %next = add i64 %at, {T * W}",
        "  %go = icmp sle i64 %next, %stop",
        "  br i1 %go, label %first, label %done",
        *_work(layout, cut, W, T),
        _DRAINED,
        f"{_COPY}(ptr %rows, ptr %over, i64 %ahead, i1 false)",
        "  br label %last",
        *every_block("last", f"before{len(cut.pieces)}", _put(layout, W), "away", size),
        "away:",
        *_away(total // LINE),
        "  br label %group",
        "done:",
        _DRAINED,
        "  %any = icmp ne i64 %at, %row",
        "  %tail_bytes = select i1 %any, i64 %ahead, i64 0",
        "  %tail = load ptr, ptr %to_p",
        f"{_COPY}(ptr %tail, ptr %over, i64 %tail_bytes, i1 false)",
        "  fence seq_cst",  # what went past the caches is there for all before anything later
        *heap.give("%tiles", scratch),
        "  ret i64 %at",
        "}\n",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n",
    ]
    return DRAIN + "\n".join(lines) + "\n" + _choice(layout, W)


_COPY = "  call void @llvm.memcpy.p0.p0.i64"
_DRAINED = f"  call void @drain(ptr %way, i64 {1 << 60})"


def _begin(layout: Layout, total: int) -> list[str]:
    """Return what is worked out once: where rows are put together and go, where arguments are."""
    n, row = len(layout.inputs), layout.sizes[-1] * layout.item
    lines = [
        f"  %out_p = getelementptr ptr, ptr %args, i64 {n}",
        "  %out = load ptr, ptr %out_p",
        f"  %before = mul i64 %row, {row}",
        "  %begin = getelementptr i8, ptr %out, i64 %before",
        "  %number = ptrtoint ptr %begin to i64",
        f"  %ahead = and i64 %number, {LINE - 1}",
        "  %back = sub i64 0, %ahead",
        "  %line = getelementptr i8, ptr %begin, i64 %back",
        "  %new = getelementptr i8, ptr %rows, i64 %ahead",
        f"  %over = getelementptr i8, ptr %rows, i64 {total}",
        "  %way = alloca i64, i64 3",
        "  %to_p = getelementptr i64, ptr %way, i64 1",
        "  %left_p = getelementptr i64, ptr %way, i64 2",
        "  store ptr %rows, ptr %way",
        "  store ptr %line, ptr %to_p",
        "  store i64 0, ptr %left_p",
        f"  %new_args = alloca ptr, i64 {n + 1}",
        f"  %new_p = getelementptr ptr, ptr %new_args, i64 {n}",
        "  store ptr %new, ptr %new_p",
        f"  %new_steps = alloca i64, i64 {n + 1}",
        f"  %step_p = getelementptr i64, ptr %new_steps, i64 {n}",
        f"  store i64 {row}, ptr %step_p",
    ]
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
    each = W * layout.sizes[-1] * layout.item / LINE
    share = max(SHARE, ceil(each / stages))
    calls = min(stages, ceil(each / share))
    draining = {k * stages // calls for k in range(calls)}
    lines: list[str] = []

    def stage(k: int, name: str, body: list[str], before: str, blocks: int = 1) -> None:
        if k in draining:
            body.append(f"  call void @drain(ptr %way, i64 {share * blocks})")
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


def _away(lines: int) -> list[str]:
    """Return what makes the lines of a group ready to go; the first of all may be a part of one."""
    return [
        "  %begins = icmp eq i64 %at, %row",
        "  %within = icmp ne i64 %ahead, 0",
        "  %odd = and i1 %begins, %within",
        f"  %short = select i1 %odd, i64 {LINE}, i64 0",
        "  %head = sub i64 %short, %ahead",
        "  %head_bytes = select i1 %odd, i64 %head, i64 0",
        f"{_COPY}(ptr %begin, ptr %new, i64 %head_bytes, i1 false)",
        "  %from = getelementptr i8, ptr %rows, i64 %short",
        "  %to_old = load ptr, ptr %to_p",
        "  %to = getelementptr i8, ptr %to_old, i64 %short",
        f"  %lines = select i1 %odd, i64 {lines - 1}, i64 {lines}",
        "  store ptr %from, ptr %way",
        "  store ptr %to, ptr %to_p",
        "  store i64 %lines, ptr %left_p",
    ]


def _fetch(layout: Layout, W: int, k: int, stages: int, name: str, blocks: int) -> list[str]:
    """Return instructions by which a stage has its share of the next group's arguments fetched."""
    lines = [f"  %h_{name} = mul i64 %b_{name}, {W}", f"  %i_{name} = add i64 %next, %h_{name}"]
    for a, size in enumerate(layout.sizes[:-1]):
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
    row, all_rows = layout.sizes[-1] * layout.item, sum(layout.sizes) * layout.item
    return "\n".join(
        [
            head("rows", W),
            "entry:",
            f"  %step_p = getelementptr i64, ptr %steps, i64 {len(layout.inputs)}",
            "  %step = load i64, ptr %step_p",
            f"  %dense = icmp eq i64 %step, {row}",
            "  %count = sub i64 %stop, %row",
            f"  %many = icmp sge i64 %count, {max(FEW, -(-LEAST // all_rows))}",
            "  %part = icmp ne ptr %data, null",
            f"  %some = icmp sge i64 %count, {FEW}",
            "  %some_part = and i1 %part, %some",
            "  %big = or i1 %many, %some_part",
            "  %flows = and i1 %big, %dense",
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
