"""A program as LLVM text: W states at a time, one in each lane, and scalar code if it is short.

No fast-math flag is set and LLVM's middle end is not run, so the sequence of roundings is that of
the graph for every W.
"""

from __future__ import annotations

from dataclasses import replace

from sixfold.compiler.graph.program import Program, verifying
from sixfold.compiler.llvm.layout import lines, scratch, strided
from sixfold.compiler.llvm.layout.gather_scatter import (
    Scatter,
    Store,
    constants_in_tiles,
    gather,
    head,
    nan_without_scratch,
    scatter,
    scatter_short,
    store_constants,
    transfer_call,
)
from sixfold.compiler.llvm.layout.inner_loop import copies, direct_loop
from sixfold.compiler.llvm.layout.piece_lines import is_profitable, schedule_line_stores
from sixfold.compiler.llvm.layout.pieces import (
    blocks_per_group,
    count,
    every_block,
    library,
    piece,
    sincos_calls,
    tile_size,
)
from sixfold.compiler.llvm.layout.plan import Plan
from sixfold.compiler.llvm.layout.repeat_loops import routine_functions, run_calls
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.layout.signature import Layout, tag
from sixfold.compiler.llvm.modules import one_state, single_state
from sixfold.compiler.llvm.text.instructions import all_true
from sixfold.compiler.llvm.text.writer import SUPPORTED

#: Bytes of arguments and results from which lines go past the caches: an ordinary store first
#: fetches its line, half of the memory traffic. G1's mass matrices take 2.4 times as long without.
MIN_STREAMING_BYTES = 1 << 24

#: Rows below which a chunk is not streamed, even if it is part of a large batch.
MIN_STREAMING_ROWS = 256


def has_machine_code(program: Program) -> bool:
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
    # whole cache lines where the processor permutes two vectors, and rows are wide
    by_lines = lines.supports(layout, W, permutes)
    cut = plan(program, inner=layout.scalar == "double")
    cut = with_lines(program, layout, cut, W) if by_lines else cut
    used = program.names()
    # intrinsics, elementary functions, and the pieces with what moves rows in and out
    parts = [scratch.DECLARATIONS, "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]
    parts += [library(layout, width, used) for width in dict.fromkeys((1, W))]
    parts.append(gather(program, layout, cut, W, True))
    parts.append(scatter(program, layout, cut, W))
    parts.append(store_constants(program, layout, cut, W))
    parts += [piece(program, layout, cut, p, W) for p in range(len(cut.pieces))]
    parts += routine_functions(program, layout, cut, W)
    T = blocks_per_group(layout, cut, W)
    # drivers of dense rows: by transposes, and by lines into the caches or past them
    name = "scatter_rows" if by_lines else "rows"
    parts.append(_driver(name, layout, cut, W, T, Scatter(layout, cut, W, T)))
    if by_lines:
        parts.append(lines.functions(layout, cut, W))
        for past in (False, True):
            store = lines.Stream(layout, cut, W, T, past)
            parts.append(_driver("past_rows" if past else "line_rows", layout, cut, W, T, store))
        parts.append(_choice(layout, W))
    # the driver of strided arrays
    T = strided.blocks_per_group(layout, cut, W)
    parts.append(strided.moves(program, layout, cut, W))
    parts.append(_driver("columns", layout, cut, W, T, strided.Strided(layout, W)))
    parts.append(strided.aligned_rows(layout, W, _is_large(layout)))
    # scalar code for one or two states, and blocks with fewer rows than lanes
    few = W > 1 and not cut.large
    if few:
        parts.append(one_state.rows(program, layout))
    if W > 1:
        parts.append(gather(program, layout, cut, W, False))
        parts.append(scatter_short(layout, W))
    # what NumPy and the interpreter call
    parts.append(copies(layout.scalar, ["fill_nan"]))
    parts.append(direct_loop(layout, W, triple, few))
    if python:
        parts.append(single_state.text(layout))
    return "\n".join(parts)


def with_lines(program: Program, layout: Layout, cut: Plan, W: int) -> Plan:
    """Return the plan of a program whose pieces write lines, if blocks are computed one by one."""
    if blocks_per_group(layout, cut, W) > 1 or not is_profitable(cut, layout.output_sizes):
        return cut
    points = schedule_line_stores(program, cut, layout.output_sizes)
    found = replace(cut, lines=points).in_tile(cut.slots + 1)
    return found.verify(program) if verifying() else found


def _driver(name: str, layout: Layout, cut: Plan, W: int, T: int, store: Store) -> str:
    """Return @name_W(args, steps, row, stop, data, strided, past): rows, in groups of T blocks.

    Each group is gathered into tiles, goes through all pieces, and is stored by the strategy.

    Args:
        name: of the function.
        layout: of the arrays.
        cut: the program.
        W: rows of a block.
        T: blocks of a group.
        store: how results are stored.
    """
    # all tiles of a group, and what the strategy keeps behind them
    size, after = tile_size(layout, cut, W), f"before{len(cut.pieces)}"
    scratch_bytes = size * T + store.scratch_bytes
    arguments = "ptr %args, ptr %steps, i64 %row, i64 %stop"
    more = {"rows": ", ptr %data, i64 %strided"}.get(name, ", i64 %strided, i1 %past")
    text = [
        f"define internal void @{name}_{W}({arguments}{more}) {cut.driver} {{",
        "entry:",
        *scratch.alloc("%tiles", scratch_bytes),
        *nan_without_scratch(layout, "%tiles", "%start", strided=True),
        "start:",
        *constants_in_tiles(W, T, size),
        *store.begin(),
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %group_end]",
        "  %go = icmp slt i64 %at, %stop",
        "  br i1 %go, label %blocks, label %done",
        "blocks:",
        *count(W, T, "%stop"),
        *store.begin_group(),
        *strided.gather_call(layout, W, T),
        "  br label %first",
        *every_block("first", "inputs", transfer_call("gather", "first", W), "before0", size),
    ]
    for p in range(len(cut.pieces)):
        here = f"stage{p}"
        body = [*store.before_piece(p, here), f"  call void @piece_{p}_{W}(ptr %tile_{here})"]
        text += [f"before{p}:", *run_calls(cut, W, p), *sincos_calls(layout, cut, W, p)]
        text.append(f"  br label %{here}")
        text += every_block(here, f"before{p}", body, f"before{p + 1}", size)
    text += [
        f"{after}:",
        *store.end_of_group(after),
        "group_end:",
        f"  %next_group = add i64 %at, {T * W}",
        "  %over = icmp sgt i64 %next_group, %stop",
        "  %next = select i1 %over, i64 %stop, i64 %next_group",
        "  br label %group",
        "done:",
        *store.finish(),
        *scratch.free("%tiles", scratch_bytes),
        "  ret void",
        "}\n",
    ]
    return "\n".join(text)


def _is_large(layout: Layout) -> list[str]:
    """Return instructions that set %big to whether %count rows are, or belong to, a large batch.

    A batch is large by itself, or because %data is not null: then it is a chunk of a large one.
    """
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


def _choice(layout: Layout, W: int) -> str:
    """Return @rows_W: whole blocks by lines where that is faster, other rows by scatter."""
    # lines need dense rows: the step of each result is the size of its row
    text, names = [], []
    for o, size in enumerate(layout.output_sizes):
        t = tag(o)
        text += [
            f"  %step_p{t} = getelementptr i64, ptr %steps, i64 {len(layout.inputs) + o}",
            f"  %step{t} = load i64, ptr %step_p{t}",
            f"  %dense{t} = icmp eq i64 %step{t}, {size * layout.item}",
        ]
        names.append(f"%dense{t}")
    arguments = "ptr %args, ptr %steps, i64"
    return "\n".join(
        [
            head("rows", W),
            "entry:",
            *text,
            *_is_large(layout),
            f"  %whole = and i64 %count, {-W}",
            "  %enough = icmp ne i64 %whole, 0",
            *all_true("%streams", [*names, "%enough"]),
            "  br i1 %streams, label %stream, label %rest",
            "stream:",
            "  %until = add i64 %row, %whole",
            f"  %way = select i1 %big, ptr @past_rows_{W}, ptr @line_rows_{W}",
            f"  call void %way({arguments} %row, i64 %until, i64 %strided, i1 %big)",
            "  br label %rest",
            "rest:",
            "  %from = phi i64 [%row, %entry], [%until, %stream]",
            "  %left = icmp slt i64 %from, %stop",
            "  br i1 %left, label %others, label %end",
            "others:",
            f"  call void @scatter_rows_{W}({arguments} %from, i64 %stop, i64 %strided, i1 false)",
            "  br label %end",
            "end:",
            "  ret void",
            "}\n",
        ]
    )
