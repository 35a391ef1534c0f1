"""A program as LLVM text: W states at a time, one in each lane, with a scalar twin if it is short.

No fast-math flag is set and LLVM's middle end is not run, so the sequence of roundings is that of
the graph for every W.
"""

from __future__ import annotations

from sixfold.graph.program import Program
from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.block_loops import count, every_block, its_rows
from sixfold.llvm.layout.gather_scatter import (
    gather,
    head,
    nan_without_scratch,
    scatter,
    scatter_short,
    store_constants_calls,
)
from sixfold.llvm.layout.inner_loop import copies, loop
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
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.layout.streaming import streaming
from sixfold.llvm.modules import single_state
from sixfold.llvm.text.writer import SUPPORTED


def supported(program: Program) -> bool:
    """Return whether every operation of a program has machine code."""
    return program.names() <= SUPPORTED


def module(program: Program, layout: Layout, W: int, triple: str = "") -> str:
    """Return the text of a module with the inner loop @loop of a NumPy gufunc.

    The loop works in the default floating-point environment of the processors that are known by
    their triple, and leaves everything as it found it.
    """
    cut = plan(program, inner=layout.scalar == "double")
    used = program.names()
    parts = [scratch.DECLARATIONS]
    twin = W == 1 or not cut.large
    parts += [library(layout, width, used) for width in dict.fromkeys((1, W))]
    for width in dict.fromkeys((1, W) if twin else (W,)):
        parts.append(gather(program, layout, cut, width, True))
        parts.append(scatter(program, layout, cut, width))
        if width > 1:
            parts.append(gather(program, layout, cut, width, False))
            parts.append(scatter_short(layout, width))
        parts += [piece(program, layout, cut, p, width) for p in range(len(cut.pieces))]
        parts += routine_functions(program, layout, cut, width)
        streams = width > 1
        parts.append(_rows("usual" if streams else "rows", layout, cut, width))
        if streams:
            parts.append(streaming(layout, cut, width))
    parts.append(copies(layout.scalar))
    parts.append(loop(layout, W, triple, twin))
    parts.append(single_state.text(layout))
    return "\n".join(parts)


def _rows(name: str, layout: Layout, cut: Plan, W: int) -> str:
    """Return @name_W(args, steps, row, stop): all rows from row to stop, in blocks of W."""
    T = together(layout, cut, W)
    size = tile_size(layout, cut, W)
    lines = [
        head(name, W),
        "entry:",
        *scratch.alloc("%tiles", size * T),
        *nan_without_scratch(layout, "%tiles", "%start"),
        "start:",
        *store_constants_calls(layout, W, T, size),
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %group_end]",
        "  %go = icmp slt i64 %at, %stop",
        "  br i1 %go, label %blocks, label %done",
        "blocks:",
        *count(W, T, "%stop"),
        "  br label %first",
        *every_block("first", "blocks", _ends("gather", "first", W), "before0", size),
    ]
    for p in range(len(cut.pieces)):
        here, after = f"stage{p}", f"before{p + 1}"
        body = [f"  call void @piece_{p}_{W}(ptr %tile_{here})"]
        before = [*run_calls(cut, W, p), *sincos_calls(layout, cut, W, p)]
        lines += [f"before{p}:", *before, f"  br label %{here}"]
        lines += every_block(here, f"before{p}", body, after, size, interleaved_tiles(cut, p, W))
    last = f"before{len(cut.pieces)}"
    lines += [
        f"{last}:",
        "  br label %last",
        *every_block("last", last, _ends("scatter", "last", W), "group_end", size),
        "group_end:",
        f"  %next = add i64 %at, {T * W}",
        "  br label %group",
        "done:",
        *scratch.free("%tiles", size * T),
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)


def _ends(function: str, name: str, W: int) -> list[str]:
    """Return the call of a function between rows and a tile; a block may have fewer than W rows."""
    short = f"{function}_{W}" if W == 1 else f"{function}_short_{W}"
    return [
        *its_rows(name, W, "%stop"),
        f"  %g_{name} = select i1 %f_{name}, ptr @{short}, ptr @{function}_{W}",
        f"  call void %g_{name}"
        f"(ptr %args, ptr %steps, i64 %r_{name}, i64 %v_{name}, ptr %tile_{name})",
    ]
