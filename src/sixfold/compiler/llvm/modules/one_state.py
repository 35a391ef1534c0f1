"""A program as LLVM text for one state: scalar code, with the bits of the kernel for many."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sixfold.compiler.graph.program import CONST, Program
from sixfold.compiler.llvm.layout import scratch
from sixfold.compiler.llvm.layout.gather_scatter import PLACE, gather, head, nan_without_scratch
from sixfold.compiler.llvm.layout.inner_loop import copies, tiled_loop
from sixfold.compiler.llvm.layout.pieces import library, piece, sincos_calls, tile_size
from sixfold.compiler.llvm.layout.plan import Plan
from sixfold.compiler.llvm.layout.repeat_loops import routine_functions, run_calls
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.compiler.llvm.modules import single_state
from sixfold.compiler.llvm.text.writer import Block

MAX_STATES = 2  #: States up to which scalar code is faster than vectors of states.

#: Operations in a piece: nothing loops over pieces, so they are as long as LLVM takes well.
PIECE_OPERATIONS = 250


def module(program: Program, layout: Layout, triple: str = "") -> str:
    """Return the text of a module with the inner loop @loop of a NumPy gufunc, and @entry.

    Args:
        program: optimised.
        layout: of the arrays.
        triple: of the processor.
    """
    used = program.names()
    return "\n".join(
        [
            scratch.DECLARATIONS,
            library(layout, 1, used),
            rows(program, layout, ""),
            copies(layout.scalar),
            tiled_loop(layout, 1, triple),
            single_state.text(layout, MAX_STATES),
        ]
    )


def rows(program: Program, layout: Layout, more: str = ", i64 %strided") -> str:
    """Return @rows_1(args, steps, row, stop, data, more): dense rows, one after the other."""
    inner = layout.scalar == "double"
    cut = plan(program, PIECE_OPERATIONS, inner=inner, in_order=True)
    return "\n".join(
        [
            gather(program, layout, cut, 1, True, False),
            _scatter(program, layout, cut),
            *(piece(program, layout, cut, p, 1) for p in range(len(cut.pieces))),
            *routine_functions(program, layout, cut, 1),
            _rows(layout, cut, more),
        ]
    )


def _rows(layout: Layout, cut: Plan, more: str) -> str:
    # one tile, used for one row after the other
    size = tile_size(layout, cut, 1)
    place = "ptr %args, ptr %steps, i64 %at, i64 1, ptr %tiles"
    lines = [
        head("rows", 1, more),
        "entry:",
        *scratch.alloc("%tiles", size),
        *nan_without_scratch(layout, "%tiles", "%start"),
        "start:",
        "  %count = add i64 0, 1",
        "  br label %each",
        "each:",
        "  %at = phi i64 [%row, %start], [%next, %one]",
        "  %go = icmp slt i64 %at, %stop",
        "  br i1 %go, label %one, label %done",
        "one:",
        f"  call void @gather_1({place}, i64 0)",
    ]
    # repetitions and sines run before the piece that reads them
    for p, members in enumerate(cut.pieces):
        lines += [*run_calls(cut, 1, p), *sincos_calls(layout, cut, 1, p)]
        lines += [f"  call void @piece_{p}_1(ptr %tiles)"] if members else []
    lines += [
        f"  call void @scatter_1({place})",
        "  %next = add i64 %at, 1",
        "  br label %each",
        "done:",
        *scratch.free("%tiles", size),
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)


def _scatter(program: Program, layout: Layout, cut: Plan) -> str:
    """Return @scatter_1: results from slots to the rows of outputs, by vectors where it can."""
    # results that lie side by side in the tile are moved as vectors
    block = Block(1, layout.scalar)
    first = 0
    for o, size in enumerate(layout.output_sizes):
        (row,) = block.rows(len(layout.inputs) + o)
        for n, count, slot in _runs(program, cut, first, size, LINE_BYTES // layout.item):
            kind = f"<{count} x {layout.scalar}>" if count > 1 else layout.scalar
            if slot is None:
                value = "zeroinitializer" if count > 1 else block.splat(_constant(program, n))
            else:
                value = block.emit(f"load {kind}, ptr {block.slot(slot)}, align {layout.item}")
            where = block.place(row, n - first)
            block.lines.append(f"  store {kind} {value}, ptr {where}, align {layout.item}")
        first += size
    return block.function(f"scatter_1({PLACE})")


def _runs(
    program: Program, cut: Plan, first: int, size: int, most: int
) -> Iterator[tuple[int, int, int | None]]:
    """Yield results of an output that are moved together: the first, how many, and the first slot.

    They are zeros or other constants where there is no slot.
    """

    def key(n: int) -> tuple[str, int]:
        """Return what is equal for results that go together."""
        if program.nodes[program.outputs[n]][0] != CONST:
            return "slot", cut.results[n] - n
        zero = repr(_constant(program, n)) == "0.0"
        return ("zero", 0) if zero else ("constant", n)

    for (kind, _), group in itertools.groupby(range(first, first + size), key):
        members = list(group)
        for k in range(0, len(members), most):
            part = members[k : k + most]
            yield part[0], len(part), cut.results[part[0]] if kind == "slot" else None


def _constant(program: Program, n: int) -> float:
    """Return a result that is a constant."""
    found: float = program.nodes[program.outputs[n]][1]
    return found
