"""A program applied to its own results again and again: the time loop inside machine code.

The program takes what is carried from step to step, what stays fixed, and what comes anew at each
step, and returns what is carried on.  All of it stays in the tile of its block of rows; every so
many steps the carried values are written out.  A block's rows are independent lanes, so results are
the same bits for any number of rows, any split and any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sixfold.compiler.graph.passes import Outlined
from sixfold.compiler.graph.program import Program
from sixfold.compiler.llvm.layout import scratch
from sixfold.compiler.llvm.layout.pieces import (
    blocks_per_group,
    count,
    every_block,
    its_rows,
    library,
    piece,
    result,
    results,
    sincos_calls,
    tile_size,
)
from sixfold.compiler.llvm.layout.plan import Plan
from sixfold.compiler.llvm.layout.repeat_loops import routine_functions, run_calls
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.text import environment
from sixfold.compiler.llvm.text.writer import Block

#: What a kernel returns when it had no scratch, and when a row left the finite numbers.
NO_MEMORY, LOST = 1, 2


@dataclass(frozen=True)
class Scan:
    """Sizes of the arrays of a step, in the order of the program's inputs.

    The program returns the carried numbers, in the order in which it takes them.
    """

    carried: tuple[int, ...]
    fixed: tuple[int, ...]
    each: tuple[int, ...]
    dtype: str = "float64"

    @property
    def scalar(self) -> str:
        """LLVM's name of one element."""
        return {"float64": "double", "float32": "float"}[self.dtype]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of one row in each input array."""
        return (*self.carried, *self.fixed, *self.each)


def module(whole: Outlined, scan: Scan, W: int, triple: str = "") -> str:
    """Return the text of a module with @scan(arrays, strides, rows, steps, every).

    Arrays are the inputs, then one output for each carried array; strides are bytes from row to
    row and from step to step, two for each array.  It returns 0, NO_MEMORY or LOST.
    """
    program, block = whole
    layout = Layout(tuple((n,) for n in scan.sizes), ((sum(scan.carried),),), scan.dtype)
    # single precision computes sines and cosines where it reads the angles
    hoist = layout.scalar == "double"
    inner = plan(block, inner=hoist, hoist=hoist) if block is not None else None
    cut = plan(program, carried=sum(scan.carried), inner=hoist, block=inner, hoist=hoist)
    # intrinsics and elementary functions of the step and its subroutine
    parts_of = [part for part in whole if part is not None]
    used = {op for part in parts_of for op in part.names()}
    parts = [scratch.DECLARATIONS, environment.declarations(triple)]
    parts += [library(layout, width, used) for width in ((1,) if W == 1 else (1, W))]
    # carried and fixed arrays are read once, the others at each step
    kept = len(scan.carried) + len(scan.fixed)
    parts.append(_gather("begin", scan, cut, range(kept), W))
    parts.append(_gather("feed", scan, cut, range(kept, len(scan.sizes)), W))
    parts += [piece(program, layout, cut, p, W) for p in range(len(cut.pieces))]
    parts += routine_functions(program, layout, cut, W)
    # the subroutine's pieces work in the same tiles
    if block is not None and inner is not None:
        inner = inner.in_tile(cut.slots)  # they share their tiles
        parts += [piece(block, layout, inner, p, W, "block") for p in range(len(inner.pieces))]
        parts += routine_functions(block, layout, inner, W, "block")
    # what ends a step, and the check at the end
    parts.append(_advance(program, layout, cut, W))
    parts.append(_write(program, scan, cut, W))
    parts.append(_lost(program, layout, cut, W))
    parts.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n")
    # each piece prefetches its share of the output rows
    stages = _stages(cut, inner)
    number = len(stages)
    parts += [
        _prefetch(scan, W, n, number)
        for n in range(number)
        if _rows_to_prefetch(scan, W, n, number)
    ]
    parts.append(_driver(scan, cut, stages, layout, W, triple))
    return "\n".join(parts)


def _stages(cut: Plan, inner: Plan | None) -> list[tuple[str, Plan, int]]:
    """Return the pieces of a step as they are run: their name, plan and number in it."""
    stages: list[tuple[str, Plan, int]] = []
    for p in range(len(cut.pieces)):
        for _ in range(cut.calls.count(p)):
            assert inner is not None
            stages += [("block", inner, n) for n in range(len(inner.pieces))]
        stages.append(("piece", cut, p))
    return stages


_PLACE = "ptr %arrays, ptr %strides, i64 %row, i64 %valid, i64 %step, ptr %tile"


class _Rows(Block):
    """Writes functions that read and write rows of the arrays."""

    def lanes_of(self, array: int) -> list[str]:
        """Return a pointer to each lane's row at a step; lanes past the last row repeat it."""
        base = self.emit(f"load ptr, ptr {self.at('%arrays', array)}")
        by_row = self.emit(f"load i64, ptr {self.at('%strides', 2 * array)}")
        by_step = self.emit(f"load i64, ptr {self.at('%strides', 2 * array + 1)}")
        offset = self.emit(
            f"add i64 {self.emit(f'mul i64 %row, {by_row}')}, "
            f"{self.emit(f'mul i64 %step, {by_step}')}"
        )
        return self.lanes(base, by_row, offset)

    def from_column(self, lanes: list[str], first: int) -> list[str]:
        """Return pointers to a column of rows, of those to their first."""
        return [self.place(lane, first) for lane in lanes]


#: Columns that one function moves at most. LLVM takes its time by the square of a function without
#: branches: in one piece, the results of 128 free bodies took 21 of 31 s.
MAX_COLUMNS = 128

#: Columns of an array: which one, the first, the end.
_Columns = tuple[int, int, int]


def _in_parts(
    name: str, parameters: str, sizes: Sequence[int], part: Callable[[str, list[_Columns]], str]
) -> str:
    """Return @name, which moves rows of arrays of these sizes; if many, by functions of a part."""
    parts: list[list[_Columns]] = [[]]
    space = MAX_COLUMNS
    for a, size in enumerate(sizes):
        start = 0
        while start < size:
            stop = min(size, start + space)
            parts[-1].append((a, start, stop))
            space -= stop - start
            start = stop
            if not space:
                parts.append([])
                space = MAX_COLUMNS
    parts = [columns for columns in parts if columns] or [[]]
    if len(parts) == 1:
        return part(f"{name}({parameters})", parts[0])
    functions = [part(f"{name}_{n}({parameters})", columns) for n, columns in enumerate(parts)]
    calls = [f"  call void @{name}_{n}({parameters})" for n in range(len(parts))]
    whole = [f"define internal void @{name}({parameters}) noinline {{", *calls, "  ret void", "}\n"]
    return "\n".join([*functions, *whole])


def _gather(name: str, scan: Scan, cut: Plan, arrays: Sequence[int], W: int) -> str:
    """Return a function that reads rows of some arrays into the tile."""

    def part(head: str, columns: list[_Columns]) -> str:
        block = _Rows(W, scan.scalar)
        for a, first, end in columns:
            start = sum(scan.sizes[:a]) + first
            wanted = {k - start for k in cut.inputs if start <= k < start + end - first}
            if wanted:
                lanes = block.from_column(block.lanes_of(a), first)
                for k, value in block.columns(lanes, end - first, wanted):
                    block.write(cut.inputs[start + k], value)
        return block.function(head)

    sizes = [size if a in arrays else 0 for a, size in enumerate(scan.sizes)]
    return _in_parts(name, _PLACE, sizes, part)


def _results_to_move(cut: Plan) -> list[int]:
    """Return which carried results are not in place when a step is done."""
    return [n for n, slot in enumerate(cut.results) if cut.inputs.get(n, slot) != slot]


def _advance(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @advance: results become what is carried, where they are not in place already."""
    block = Block(W, layout.scalar)
    values = {n: result(block, program, cut, n) for n in _results_to_move(cut)}
    for n, value in values.items():
        block.write(cut.inputs[n], value)
    return block.function("advance(ptr %tile)")


def _write(program: Program, scan: Scan, cut: Plan, W: int) -> str:
    """Return @write: the results to a step of the output arrays; the last block may be short."""

    def part(head: str, columns: list[_Columns]) -> str:
        block = _Rows(W, scan.scalar)
        values = results(block, program, cut)
        groups = []
        for a, first, end in columns:
            start = sum(scan.carried[:a])
            lanes = block.from_column(block.lanes_of(len(scan.sizes) + a), first)
            groups.append((lanes, values[start + first : start + end]))
        block.put(groups)
        return block.function(head, ends=False)

    return _in_parts("write", _PLACE, scan.carried, part)


def _lost(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @lost: note whether a result in the tile is not a finite number."""

    def part(head: str, columns: list[_Columns]) -> str:
        block = Block(W, layout.scalar)
        total = block.splat(0.0)
        for n in (n for _, first, end in columns for n in range(first, end)):
            x = result(block, program, cut, n)
            nothing = block.emit(f"fsub {block.real} {x}, {x}")  # NaN where x is not finite
            total = block.emit(f"fadd {block.real} {total}, {nothing}")
        bits = "i1" if W == 1 else f"<{W} x i1>"
        lanes = block.emit(f"fcmp uno {block.real} {total}, {total}")
        packed = block.emit(f"bitcast {bits} {lanes} to i{W}")
        some = block.emit(f"icmp ne i{W} {packed}, 0")
        before = block.emit("load i32, ptr %found")
        after = block.emit(f"select i1 {some}, i32 {LOST}, i32 {before}")
        block.lines.append(f"  store i32 {after}, ptr %found")
        return block.function(head)

    return _in_parts("lost", "ptr %tile, ptr %found", [len(program.outputs)], part)


_LINE = 64  #: Bytes that a processor fetches at once.


def _prefetch(scan: Scan, W: int, p: int, pieces: int) -> str:
    """Return @prefetch_p: have output rows of a step fetched while the step is computed.

    Each piece fetches its share; a processor waits for no more than a few lines at a time.
    """
    block = _Rows(W, scan.scalar, whole=True)  # to fetch what is not there does no harm
    for a, lane in _rows_to_prefetch(scan, W, p, pieces):
        pointer = block.lanes_of(len(scan.sizes) + a)[lane]
        size = block.item * scan.carried[a]
        for offset in (*range(0, size, _LINE), size - 1):
            where = block.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")
            block.lines.append(f"  call void @llvm.prefetch.p0(ptr {where}, i32 1, i32 3, i32 1)")
    return block.function(f"prefetch_{p}({_PLACE})")


def _rows_to_prefetch(scan: Scan, W: int, p: int, pieces: int) -> list[tuple[int, int]]:
    """Return the output rows that a piece has fetched: which array, which lane."""
    rows = [(a, lane) for a in range(len(scan.carried)) for lane in range(W)]
    return rows[p * len(rows) // pieces : (p + 1) * len(rows) // pieces]


def _driver(
    scan: Scan,
    cut: Plan,
    stages: Sequence[tuple[str, Plan, int]],
    layout: Layout,
    W: int,
    triple: str,
) -> str:
    """Return @scan: groups of blocks, each through all steps."""
    T = blocks_per_group(layout, cut, W)
    size = tile_size(layout, cut, W)
    lines = [
        "define i32 @scan(ptr %arrays, ptr %strides, i64 %rows, i64 %steps, i64 %every) {",
        "entry:",
        "  %found = alloca i32",
        "  store i32 0, ptr %found",
        *scratch.alloc("%tiles", size * T),
        "  %none = icmp eq ptr %tiles, null",
        "  br i1 %none, label %failed, label %ready",
        "failed:",
        f"  ret i32 {NO_MEMORY}",
        "ready:",
        environment.enter(triple),
        "  br label %group",
        "group:",
        "  %at = phi i64 [0, %fp_work], [%next, %group_end]",
        "  %go = icmp slt i64 %at, %rows",
        "  br i1 %go, label %blocks, label %done",
        "blocks:",
        *count(W, T, "%rows"),
        "  br label %first",
    ]

    def each(name: str, before: str, calls: list[str], after: str) -> None:
        """Write a loop over the blocks of the group."""
        body = [*its_rows(name, W, "%rows"), *calls]
        lines.extend(every_block(name, before, body, after, size))

    def with_rows(function: str, name: str, step: str) -> str:
        place = f"ptr %arrays, ptr %strides, i64 %r_{name}, i64 %v_{name}, i64 {step}"
        return f"  call void @{function}({place}, ptr %tile_{name})"

    # read carried and fixed arrays of a group
    each("first", "blocks", [with_rows("begin", "first", "0")], "loop")
    lines += [
        "loop:",
        "  %step = phi i64 [0, %first], [%step_next, %step_end]",
        "  %since = phi i64 [1, %first], [%since_next, %step_end]",
        "  %out = phi i64 [0, %first], [%out_next, %step_end]",
        "  %on = icmp slt i64 %step, %steps",
        "  br i1 %on, label %prepare_in, label %ending_in",
        "prepare_in:",
        "  br label %prepare",
    ]
    # read the arrays of this step
    each("prepare", "prepare_in", [with_rows("feed", "prepare", "%step")], "early0")
    # all pieces, with what runs before each
    last = len(stages) - 1
    for n, (kind, how, p) in enumerate(stages):
        name, after = f"stage{n}", "finish" if n == last else f"early{n + 1}"
        before = [*run_calls(how, W, p, kind), *sincos_calls(layout, how, W, p, f"_{n}")]
        lines += [f"early{n}:", *before, f"  br label %{name}"]
        calls = []
        if _rows_to_prefetch(scan, W, n, len(stages)):
            calls.append(with_rows(f"prefetch_{n}", name, "%out"))
        calls.append(f"  call void @{kind}_{p}_{W}(ptr %tile_{name})")
        each(name, f"early{n}", calls, after)
    lines += [
        "finish:",
        "  %due = icmp eq i64 %since, %every",
        "  br i1 %due, label %writing, label %carry_in",
        "writing:",
        "  br label %put",
    ]
    each("put", "writing", [with_rows("write", "put", "%out")], "carry_in")
    # results become what is carried
    if _results_to_move(cut):
        lines += ["carry_in:", "  br label %carry"]
        each("carry", "carry_in", ["  call void @advance(ptr %tile_carry)"], "step_end")
    else:
        lines += ["carry_in:", "  br label %step_end"]
    lines += [
        "step_end:",
        "  %step_next = add i64 %step, 1",
        "  %since_more = add i64 %since, 1",
        "  %since_next = select i1 %due, i64 1, i64 %since_more",
        "  %out_more = add i64 %out, 1",
        "  %out_next = select i1 %due, i64 %out_more, i64 %out",
        "  br label %loop",
        "ending_in:",
        "  br label %ending",
    ]
    # after the last step: is everything finite?
    look = "  call void @lost(ptr %tile_ending, ptr %found)"
    each("ending", "ending_in", [look], "group_end")
    lines += [
        "group_end:",
        f"  %next = add i64 %at, {T * W}",
        "  br label %group",
        "done:",
        environment.leave(triple),
        *scratch.free("%tiles", size * T),
        "  %code = load i32, ptr %found",
        "  ret i32 %code",
        "}\n",
    ]
    return "\n".join(lines)
