"""Rows of arrays into a tile, and results from a tile into rows: transposes of small squares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sixfold.graph.program import CONST, INPUT, Program
from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.inner_loop import straight
from sixfold.llvm.layout.pieces import results
from sixfold.llvm.layout.schedule import Plan
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.text.writer import Block, side


def gather(program: Program, layout: Layout, cut: Plan, W: int, whole: bool) -> str:
    """Return @gather_W: rows of the input arrays to slots, with sines and cosines of angles."""
    block = Block(W, layout.scalar, whole)
    head = _named("gather", W, whole)
    number = {node[1]: k for k, node in enumerate(program.nodes) if node[0] == INPUT}
    values: dict[int, str] = {}
    start = 0
    for a, size in enumerate(layout.sizes[:-1]):
        wanted = {k - start for k in number if start <= k < start + size}
        if wanted:
            for n, name in block.columns(block.rows(a), size, wanted):
                k = number[start + n]
                values[k] = name
                block.write(cut.slot[k], name)
        start += size
    if layout.scalar != "double":
        for group in cut.angles:
            for n, k in enumerate(group.nodes):
                for m, value in enumerate(block.sincos(values[k])):
                    block.write(group.pairs + 2 * n + m, value)
    return block.function(head)


def _named(name: str, W: int, whole: bool) -> str:
    """Return name and arguments of a function between rows and a tile."""
    label = f"{name}_{W}" if whole else f"{name}_short_{W}"
    return f"{label}(ptr %args, ptr %steps, i64 %row, i64 %valid, ptr %tile)"


def scatter(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @scatter_W: results from slots to rows of the output array."""
    if layout.sizes[-1] > WIDE:
        return _scatter_wide(program, layout, cut, W)
    block = Block(W, layout.scalar, True)
    values = results(block, program, cut)
    block.put([(block.rows(len(layout.inputs)), values)])
    return block.function(_named("scatter", W, True), ends=False)


WIDE = 64
"""Columns of an output up to which writing them is straight-line code."""


def _scatter_wide(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @scatter_W as two loops over groups of columns: of zeros, and by @scatter_new_W.

    The latter writes what is not zero in every state; a table says where it is in the tile.
    @settle_W puts those that are constant there, once for a tile.
    """
    group, item = side(W), layout.item
    values = [
        program.nodes[k][1] if program.nodes[k][0] == CONST else None for k in program.outputs
    ]
    some, none = windows([repr(x) == "0.0" for x in values], group)
    output = len(layout.inputs)
    tables = [
        _table(f"starts_{W}", [k * item for k in some]),
        _table(f"zeros_{W}", [k * item for k in none]),
        _table(f"places_{W}", [cut.results[k + j] * W * item for k in some for j in range(group)]),
    ]
    block = Block(W, layout.scalar, True)
    pointers = _walk(block, block.rows(output), f"starts_{W}", len(some))
    columns = []
    for j in range(group):
        n = block.emit(f"add i64 {block.emit(f'mul i64 %k, {group}')}, {j}")
        where = block.emit(f"load i64, ptr {block.at(f'@places_{W}', n)}")
        found = block.emit(f"getelementptr i8, ptr %tile, i64 {where}")
        columns.append(block.emit(f"load {block.real}, ptr {found}, align {item * W}"))
    block.store(pointers, [partial(str, column) for column in columns])
    block.lines += _AGAIN
    new = block.function(_named("scatter_new", W, True))

    block = Block(W, layout.scalar, True)
    pointers = _walk(block, block.rows(output), f"zeros_{W}", len(none))
    for pointer in pointers:
        block.lines.append(f"  store {block.few} zeroinitializer, ptr {pointer}, align {item}")
    block.lines += _AGAIN
    block.lines.append(
        f"  call void @scatter_new_{W}(ptr %args, ptr %steps, i64 %row, i64 %valid, ptr %tile)"
    )
    whole = block.function(_named("scatter", W, True))

    settle = Block(W, layout.scalar)
    for slot, x in dict(zip(cut.results, values, strict=True)).items():
        if x is not None:
            settle.write(slot, settle.constant(x))
    return "\n".join([*tables, new, whole, settle.function(f"settle_{W}(ptr %tile)")])


def windows(zero: Sequence[bool], group: int) -> tuple[list[int], list[int]]:
    """Return where groups of columns start: those that hold all that is not zero, and the others.

    Groups may overlap; every column is in some group, and the others hold nothing but zeros.
    """
    size = len(zero)
    some: list[int] = []
    none: list[int] = []
    left = set(range(size))

    def take(starts: list[int], k: int) -> None:
        starts.append(k)
        left.difference_update(range(k, k + group))

    for k in range(size):
        if k in left and not zero[k]:
            take(some, min(k, size - group))
    for k in range(size):
        if k in left:
            starts = range(min(k, size - group), max(k - group, -1), -1)
            blank = [n for n in starts if all(zero[n : n + group])]
            take(none if blank else some, blank[0] if blank else starts[0])
    return some, none


def _table(name: str, words: Sequence[int]) -> str:
    """Return a table of 64-bit words."""
    listed = ", ".join(f"i64 {word}" for word in words or [0])
    return f"@{name} = internal constant [{max(1, len(words))} x i64] [{listed}]"


def _walk(block: Block, pointers: list[str], table: str, count: int) -> list[str]:
    """Begin a loop over the words of a table, and return the pointers moved on by so many bytes."""
    block.lines.insert(0, "entry:")
    block.lines += [
        "  br label %columns",
        "columns:",
        "  %k = phi i64 [0, %entry], [%next, %go]",
        f"  %more = icmp slt i64 %k, {count}",
        "  br i1 %more, label %go, label %done",
        "go:",
    ]
    along = block.emit(f"load i64, ptr {block.at(f'@{table}', '%k')}")
    return [block.emit(f"getelementptr i8, ptr {pointer}, i64 {along}") for pointer in pointers]


_AGAIN = ("  %next = add i64 %k, 1", "  br label %columns", "done:")
"""The end of that loop."""


def scatters_new(layout: Layout) -> str:
    """Return the name of a function that writes all but, in wide results, zeros of all states."""
    return "scatter_new" if layout.sizes[-1] > WIDE else "scatter"


def settled(layout: Layout, W: int, T: int, size: int) -> list[str]:
    """Return calls of @settle_W for so many tiles, if there is such a function."""
    lines = []
    for t in range(T) if layout.sizes[-1] > WIDE else ():
        lines.append(f"  %settle{t} = getelementptr i8, ptr %tiles, i64 {t * size}")
        lines.append(f"  call void @settle_{W}(ptr %settle{t})")
    return lines


def scatter_short(layout: Layout, W: int) -> str:
    """Return @scatter_short_W: the same for fewer rows than lanes, by way of spare rows."""
    n, size = len(layout.inputs), layout.sizes[-1] * layout.item
    lines = [
        f"define internal void @{_named('scatter', W, False)} noinline {{",
        "entry:",
        *scratch.take("%spare", max(W * size, 1)),
        "  %stop = add i64 %row, %valid",
        *or_spoil(layout, "%spare", "%there"),
        "there:",
        f"  %spare_args = alloca ptr, i64 {n + 1}",
        f"  %spare_steps = alloca i64, i64 {n + 1}",
        f"  %spare_p = getelementptr ptr, ptr %spare_args, i64 {n}",
        "  store ptr %spare, ptr %spare_p",
        f"  %spare_s = getelementptr i64, ptr %spare_steps, i64 {n}",
        f"  store i64 {size}, ptr %spare_s",
        f"  call void @scatter_{W}(ptr %spare_args, ptr %spare_steps, i64 0, i64 {W}, ptr %tile)",
        f"  %out_p = getelementptr ptr, ptr %args, i64 {n}",
        "  %out = load ptr, ptr %out_p",
        f"  %step_p = getelementptr i64, ptr %steps, i64 {n}",
        "  %step = load i64, ptr %step_p",
        "  br label %copy",
        "copy:",
        "  %i = phi i64 [0, %there], [%j, %copy]",
        "  %at = add i64 %row, %i",
        "  %far = mul i64 %at, %step",
        "  %to = getelementptr i8, ptr %out, i64 %far",
        f"  %near = mul i64 %i, {size}",
        "  %from = getelementptr i8, ptr %spare, i64 %near",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 {size}, i1 false)",
        "  %j = add i64 %i, 1",
        "  %more = icmp slt i64 %j, %valid",
        "  br i1 %more, label %copy, label %done",
        "done:",
        *scratch.give("%spare", max(W * size, 1)),
        "  ret void",
        "}\n",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
    ]
    return "\n".join(lines)


def head(name: str, W: int) -> str:
    """Return the first line of a function of all rows from row to stop, in blocks of W."""
    arguments = "ptr %args, ptr %steps, i64 %row, i64 %stop, ptr %data"
    return f"define internal void @{name}_{W}({arguments}) noinline {{"


def or_spoil(layout: Layout, scratch: str, then: str) -> list[str]:
    """Return instructions that go on when there is scratch, and else spoil the rows and return."""
    n = len(layout.inputs)
    return [
        f"  %no_scratch = icmp eq ptr {scratch}, null",
        f"  br i1 %no_scratch, label %spoiled, label {then}",
        "spoiled:",
        f"  %spoil_p = getelementptr ptr, ptr %args, i64 {n}",
        "  %spoil_a = load ptr, ptr %spoil_p",
        f"  %spoil_s = getelementptr i64, ptr %steps, i64 {n}",
        "  %spoil_t = load i64, ptr %spoil_s",
        "  %spoil_o = mul i64 %row, %spoil_t",
        "  %spoil_b = getelementptr i8, ptr %spoil_a, i64 %spoil_o",
        "  %spoil_n = sub i64 %stop, %row",
        "  call void @spoil(ptr null, ptr %spoil_b, i64 %spoil_n, i64 %spoil_t, "
        f"{straight(layout, n)})",
        "  ret void",
    ]
