"""A program as LLVM text: W states at a time, one in each lane, and scalar code if it is short.

No fast-math flag is set and LLVM's middle end is not run, so the sequence of roundings is that of
the graph for every W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sixfold.graph.program import Program, verifying
from sixfold.llvm.layout import scratch, streaming, strided
from sixfold.llvm.layout.block_loops import count, every_block, its_rows
from sixfold.llvm.layout.gather_scatter import (
    constants_in_tiles,
    gather,
    head,
    nan_without_scratch,
    scatter,
    scatter_short,
    store_constants,
    store_constants_calls,
)
from sixfold.llvm.layout.inner_loop import copies, direct_loop
from sixfold.llvm.layout.lines import column_streaming, line_streaming, line_writer
from sixfold.llvm.layout.lines.result_prefetch import prefetch
from sixfold.llvm.layout.piece_stores.line_points import column_points, line_points, pays
from sixfold.llvm.layout.pieces import (
    interleaved_tiles,
    library,
    piece,
    sincos_calls,
    tile_size,
    together,
)
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.repeat_loops import routine_functions, run_calls
from sixfold.llvm.layout.schedule import plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.layout.streaming import is_large
from sixfold.llvm.modules import one_state, single_state
from sixfold.llvm.text.writer import SUPPORTED


def supported(program: Program) -> bool:
    """Return whether every operation of a program has machine code."""
    return program.names() <= SUPPORTED


def module(
    program: Program,
    layout: Layout,
    W: int,
    triple: str = "",
    permutes: bool = False,
    *,
    python: bool = True,
) -> str:
    """Return the text of a module with the inner loop @loop of a NumPy gufunc.

    The loop works in the default floating-point environment of the processors that are known by
    their triple, and leaves everything as it found it.  With `permutes`, the processor permutes
    eight numbers of two vectors; with `python`, there is the plain call for the interpreter too.
    """
    by_lines = line_writer.possible(layout, W, permutes)
    cut = plan(program, inner=layout.scalar == "double", merge=merges(layout, W))
    cut = with_lines(program, layout, cut, W) if by_lines else cut
    cut = with_columns(program, layout, cut, W)
    used = program.names()
    parts = [scratch.DECLARATIONS]
    parts += [library(layout, width, used) for width in dict.fromkeys((1, W))]
    parts.append(gather(program, layout, cut, W, True))
    parts.append(scatter(program, layout, cut, W))
    parts.append(store_constants(program, layout, cut, W))
    parts += [piece(program, layout, cut, p, W) for p in range(len(cut.pieces))]
    parts += routine_functions(program, layout, cut, W)
    parts.append(_rows("usual" if W > 1 else "rows", layout, cut, W))
    few = W > 1 and not cut.large
    if few:
        parts.append(one_state.rows(program, layout, W))
    if W > 1:
        parts.append(gather(program, layout, cut, W, False))
        parts.append(scatter_short(layout, W))
        way = line_streaming if by_lines else streaming
        parts.append(way.streaming(layout, cut, W))
        parts.append(streaming.choice(layout, W, by_lines))
    groups = [together(layout, cut, W), *([streaming.together(layout, cut, W)] if W > 1 else ())]
    parts.append(strided.moves(program, layout, cut, W, groups))
    parts.append(_columns(layout, cut, W))
    if cut.columns:
        parts += [column_streaming.fills(program, layout, cut, W), _by_columns(layout, cut, W)]
    parts.append(_strided(layout, cut, W))
    parts.append(copies(layout.scalar, ["fill_nan", *(["addresses"] if cut.columns else ())]))
    parts.append(direct_loop(layout, W, triple, few))
    if python:
        parts.append(single_state.text(layout))
    return "\n".join(parts)


def with_lines(program: Program, layout: Layout, cut: Plan, W: int) -> Plan:
    """Return the plan of a program whose pieces write lines, if blocks are computed one by one."""
    if together(layout, cut, W) > 1 or not pays(cut, layout.output_sizes):
        return cut
    lines = line_points(program, cut, layout.output_sizes)
    found = replace(cut, lines=lines).in_tile(cut.slots + 1)
    return found.verify(program) if verifying() else found


def with_columns(program: Program, layout: Layout, cut: Plan, W: int) -> Plan:
    """Return the plan of a program whose pieces write batch-fastest results, if that suits it."""
    lines = merges(layout, W) and layout.scalar == "double"
    if not lines or not cut.alone or cut.large or together(layout, cut, W) > 1:
        return cut
    found = replace(cut, columns=column_points(program, cut)).in_tile(cut.slots + 1)
    return found.verify(program) if verifying() else found


def merges(layout: Layout, W: int) -> bool:
    """Return whether vectors are so long that there are 32 registers for them (AVX-512)."""
    return W * layout.item == LINE_BYTES


def _rows(name: str, layout: Layout, cut: Plan, W: int) -> str:
    """Return @name_W(args, steps, row, stop): all rows from row to stop, in blocks of W.

    Results are dense; arguments need not be.
    """
    T, size = together(layout, cut, W), tile_size(layout, cut, W)
    start = [
        head(name, W, driver=cut.driver),
        "entry:",
        *scratch.alloc("%tiles", size * T),
        *nan_without_scratch(layout, "%tiles", "%start"),
        "start:",
        *store_constants_calls(layout, cut, W, T, size),
    ]
    last = [
        "  br label %last",
        *every_block("last", _after(cut), _ends("scatter", "last", W), "group_end", size),
    ]
    return _groups(layout, cut, W, T, start, last, dense=True)


def _columns(layout: Layout, cut: Plan, W: int) -> str:
    """Return @columns_W(args, steps, row, stop, streams): rows where some result is not dense."""
    T, size = strided.together(layout, cut, W), tile_size(layout, cut, W)
    start = [
        f"define internal void @columns_{W}(ptr %args, ptr %steps, i64 %row, i64 %stop, "
        f"i1 %streams, i64 %strided) {cut.driver} {{",
        "entry:",
        *scratch.alloc("%tiles", size * T),
        *nan_without_scratch(layout, "%tiles", "%start", strided=True),
        "start:",
        *constants_in_tiles(W, T, size),
    ]
    last = [
        f"  call void @scatter_strided_{W}(ptr %args, ptr %steps, i64 %at, i64 %rows_here, "
        "ptr %tiles, i64 %strided, i1 %streams)",
        "  br label %group_end",
    ]
    return _groups(layout, cut, W, T, start, last, "%streams")


def _by_columns(layout: Layout, cut: Plan, W: int) -> str:
    """Return @by_columns_W: whole blocks of rows, whose results the pieces write."""
    start = column_streaming.start(layout, cut, W)
    each = column_streaming.each_block(layout)
    last, done = ["  br label %group_end"], column_streaming.end(layout, cut, W)
    return _groups(layout, cut, W, 1, start, last, "%streams", each, done)


def _after(cut: Plan) -> str:
    """Return the label after all pieces."""
    return f"before{len(cut.pieces)}"


def _groups(
    layout: Layout,
    cut: Plan,
    W: int,
    T: int,
    start: Sequence[str],
    last: Sequence[str],
    fetches: str = "",
    each: Sequence[str] = (),
    done: Sequence[str] | None = None,
    dense: bool = False,
) -> str:
    """Return a function that computes rows in groups of at most T blocks.

    Args:
        layout: of the arrays.
        cut: the program.
        W: rows of a block.
        T: blocks of a group.
        start: up to the label %start, whose end is the first group.
        last: from tiles to results; goes to the label %group_end.
        fetches: a condition on which the next group's arguments are prefetched, if there is one.
        each: what is done before each group.
        done: what is done after all groups, if it is more than to free the tiles.
        dense: whether results are dense, and written at the end of a group.
    """
    size = tile_size(layout, cut, W)
    lines = [
        *start,
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %group_end]",
        "  %go = icmp slt i64 %at, %stop",
        "  br i1 %go, label %blocks, label %done",
        "blocks:",
        *count(W, T, "%stop"),
        *each,
        *strided.gather_call(layout, W, T, "before0"),
        "  br label %first",
        *every_block("first", "inputs", _ends("gather", "first", W), "before0", size),
    ]
    for p in range(len(cut.pieces)):
        here, after = f"stage{p}", f"before{p + 1}"
        body = [f"  call void @piece_{p}_{W}(ptr %tile_{here})"]
        blocks = interleaved_tiles(cut, p, W)
        if dense:
            body = [*prefetch(layout, W, p, len(cut.pieces), here, blocks), *body]
        lines += [f"before{p}:", *run_calls(cut, W, p), *sincos_calls(layout, cut, W, p)]
        lines += strided.fetch_call(W, T, p, fetches, True) if fetches else []
        lines.append(f"  br label %{here}")
        before = f"go{p}" if fetches else f"before{p}"
        lines += every_block(here, before, body, after, size, blocks)
    lines += [
        f"{_after(cut)}:",
        *last,
        "group_end:",
        f"  %next = add i64 %at, {T * W}",
        "  br label %group",
        "done:",
        *(done or [*scratch.free("%tiles", size * T), "  ret void"]),
        "}\n",
    ]
    return "\n".join(lines)


def _ends(function: str, name: str, W: int) -> list[str]:
    """Return the call of a function between rows and a tile; a block may have fewer than W rows."""
    short = f"{function}_{W}" if W == 1 else f"{function}_short_{W}"
    more = ", i64 %strided" if function == "gather" else ""
    return [
        *its_rows(name, W, "%stop"),
        f"  %g_{name} = select i1 %f_{name}, ptr @{short}, ptr @{function}_{W}",
        f"  call void %g_{name}"
        f"(ptr %args, ptr %steps, i64 %r_{name}, i64 %v_{name}, ptr %tile_{name}{more})",
    ]


def _strided(layout: Layout, cut: Plan, W: int) -> str:
    """Return @strided_W: rows where some result is not dense, the first ones up to a cache line.

    The other rows of the longest result then start with a line; those of a large batch are written
    past the caches.
    """
    longest = max(range(len(layout.outputs)), key=layout.output_sizes.__getitem__)
    a, item = len(layout.inputs) + longest, layout.item
    arguments, others = "ptr %args, ptr %steps, i64", "%others" if cut.columns else "%from"
    return "\n".join(
        [
            head("strided", W),
            "entry:",
            *is_large(layout),
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
            f"  %enough = icmp sge i64 %count, {strided.MIN_ALIGNED_ROWS}",
            "  %within = icmp ne i64 %until, 0",
            "  %aligns = and i1 %contiguous, %enough",
            "  %apart = and i1 %aligns, %within",
            "  br i1 %apart, label %odd, label %rest",
            "odd:",
            "  %line = add i64 %row, %until",
            f"  call void @columns_{W}({arguments} %row, i64 %line, i1 false, i64 %strided)",
            "  br label %rest",
            "rest:",
            "  %from = phi i64 [%row, %entry], [%line, %odd]",
            *(_whole_blocks(layout, W) if cut.columns else ()),
            f"  call void @columns_{W}({arguments} {others}, i64 %stop, i1 %big, i64 %strided)",
            "  fence seq_cst",  # non-temporal stores are visible before anything later
            "  ret void",
            "}\n",
        ]
    )


def _whole_blocks(layout: Layout, W: int) -> list[str]:
    """Return what computes whole blocks from %from on by @by_columns_W, and sets %others."""
    return [
        *column_streaming.suits(layout, "%from"),
        "  br i1 %suits, label %by_columns, label %by_groups",
        "by_columns:",
        "  %rows_left = sub i64 %stop, %from",
        f"  %rows_whole = and i64 %rows_left, {-W}",
        "  %until_whole = add i64 %from, %rows_whole",
        f"  %done = call i64 @by_columns_{W}"
        "(ptr %args, ptr %steps, i64 %from, i64 %until_whole, i1 %big, i64 %strided)",
        "  br label %by_groups",
        "by_groups:",
        "  %others = phi i64 [%from, %rest], [%done, %by_columns]",
    ]
