"""Rows of arrays into a tile, and results from a tile into rows: transposes of small squares."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

from sixfold.graph.program import CONST, INPUT, Program
from sixfold.llvm.layout import scratch
from sixfold.llvm.layout.inner_loop import loaded_strides, straight, strided_extents
from sixfold.llvm.layout.pieces import results
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import Layout, tag
from sixfold.llvm.text import aligned_rows
from sixfold.llvm.text.writer import Block, side

PLACE = "ptr %args, ptr %steps, i64 %row, i64 %valid, ptr %tile"
"""Arguments of a function between rows and a tile."""


def gather(
    program: Program, layout: Layout, cut: Plan, W: int, whole: bool, strides: bool = True
) -> str:
    """Return @gather_W: rows of the input arrays to slots, with sines and cosines of angles.

    Strided arrays, if there can be any, are in their slots already.
    """
    block = Block(W, layout.scalar, whole)
    head = _named("gather", W, whole, f"{PLACE}, i64 %strided")
    number = {node[1]: k for k, node in enumerate(program.nodes) if node[0] == INPUT}
    values: dict[int, str] = {}
    start = 0
    for a, size in enumerate(layout.input_sizes):
        wanted = {k - start for k in number if start <= k < start + size}
        if wanted:
            if strides:
                block.lines += [
                    f"  %bit{a} = and i64 %strided, {1 << a}",
                    f"  %dense{a} = icmp eq i64 %bit{a}, 0",
                    f"  br i1 %dense{a}, label %rows{a}, label %after{a}",
                    f"rows{a}:",
                ]
            for n, name in block.columns(block.rows(a), size, wanted):
                k = number[start + n]
                values[k] = name
                block.write(cut.slot[k], name)
            if strides:
                block.lines += [f"  br label %after{a}", f"after{a}:"]
        start += size
    if layout.scalar != "double":
        for group in cut.angles:
            for n, k in enumerate(group.nodes):
                angle = block.read(cut.slot[k]) if strides else values[k]
                for slot, value in zip(group.pair(n), block.sincos(angle), strict=True):
                    block.write(slot, value)
    return block.function(head)


def _named(name: str, W: int, whole: bool, arguments: str = PLACE) -> str:
    """Return name and arguments of a function between rows and a tile."""
    label = f"{name}_{W}" if whole else f"{name}_short_{W}"
    return f"{label}({arguments})"


def scatter(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @scatter_W: results from slots to rows of the output arrays.

    With several outputs, each has a function of its own, which this one calls.
    """
    ends = list(itertools.accumulate(layout.output_sizes, initial=0))
    slices = [slice(a, b) for a, b in itertools.pairwise(ends)]
    texts = [
        aligned_rows.functions(size, W)
        for size in sorted(set(layout.output_sizes))
        if aligned_rows.possible(size, layout.item, W)
    ]
    if len(slices) == 1:
        texts.append(_scatter_output(program, layout, cut, W, 0, slices[0], ""))
        return "\n".join(texts)
    calls: dict[str, list[str]] = {"scatter": [], "scatter_varying": []}
    for o, part in enumerate(slices):
        mark = f"_of{o}"
        texts.append(_scatter_output(program, layout, cut, W, o, part, mark))
        calls["scatter"].append(f"  call void @scatter{mark}_{W}({PLACE})")
        varying = "scatter_varying" if _by_loops(layout, o, W) else "scatter"
        calls["scatter_varying"].append(f"  call void @{varying}{mark}_{W}({PLACE})")
    for name, lines in calls.items():
        block = Block(W, layout.scalar, True)
        block.lines += lines
        texts.append(block.function(_named(name, W, True)))
    return "\n".join(texts)


def _scatter_output(
    program: Program, layout: Layout, cut: Plan, W: int, output: int, part: slice, mark: str
) -> str:
    """Return the function that writes one output; its results are a part of the program's."""
    if aligned_rows.possible(layout.output_sizes[output], layout.item, W):
        return _scatter_aligned(program, layout, cut, W, output, part, mark)
    if _by_loops(layout, output, W):
        return _scatter_wide(program, layout, cut, W, output, part, mark)
    block = Block(W, layout.scalar, True)
    values = results(block, program, cut)[part]
    block.put([(block.rows(len(layout.inputs) + output), values)])
    return block.function(_named(f"scatter{mark}", W, True), ends=False)


MAX_STRAIGHT_COLUMNS = 64
"""Columns of an output up to which it is written by straight-line code."""


def _by_loops(layout: Layout, output: int, W: int) -> bool:
    """Return whether an output is written by loops over its columns, with tables of their slots."""
    size = layout.output_sizes[output]
    return size > MAX_STRAIGHT_COLUMNS or aligned_rows.possible(size, layout.item, W)


def _scatter_aligned(
    program: Program, layout: Layout, cut: Plan, W: int, output: int, part: slice, mark: str
) -> str:
    """Return @scatter_W and @scatter_varying_W: by chunks of lines where rows allow, or as usual.

    Rows must lie one after the other, and begin at one of the places that chunks are made for.
    """
    size, slots, array = layout.output_sizes[output], cut.results[part], len(layout.inputs) + output
    some, none = aligned_rows.groups(_zeros(program, part))
    names = [f"{name}{mark}_{W}" for name in ("chunk_places", "chunks", "chunks_of_zeros")]
    found = [
        _scatter_wide(program, layout, cut, W, output, part, f"_any{mark}"),
        table(names[0], aligned_rows.places(slots, W)),
        *(
            table(name, [k * layout.item for k in starts])
            for name, starts in zip(names[1:], (some, none), strict=True)
        ),
    ]
    for name, zeros in (("scatter", len(none)), ("scatter_varying", 0)):
        block = Block(W, layout.scalar, True)
        base = block.emit(f"load ptr, ptr {block.at('%args', array)}")
        step = block.emit(f"load i64, ptr {block.at('%steps', array)}")
        rows = block.emit(
            f"getelementptr i8, ptr {base}, i64 {block.emit(f'mul i64 %row, {step}')}"
        )
        within = block.emit(f"and i64 {block.emit(f'ptrtoint ptr {rows} to i64')}, 31")
        dense = block.emit(f"icmp eq i64 {step}, {size * layout.item}")
        phase = block.emit(f"select i1 {dense}, i64 {within}, i64 -1")
        cases = " ".join(f"i64 {p * layout.item}, label %from{p}" for p in aligned_rows.PHASES)
        block.lines.append(f"  switch i64 {phase}, label %any [{cases}]")
        for p in aligned_rows.PHASES:
            block.lines.append(f"from{p}:")
            ends = [
                block.at(f"@{table_name}", count)
                for table_name, count in ((names[1], len(some)), (names[2], zeros))
            ]
            block.lines += [
                f"  call void @{aligned_rows.function_name(size, p, W)}(ptr {rows}, ptr %tile, "
                f"ptr @{names[0]}, ptr @{names[1]}, ptr {ends[0]}, ptr @{names[2]}, ptr {ends[1]})",
                "  ret void",
            ]
        block.lines += ["any:", f"  call void @{name}_any{mark}_{W}({PLACE})"]
        found.append(block.function(_named(f"{name}{mark}", W, True)))
    return "\n".join(found)


def _zeros(program: Program, part: slice) -> list[bool]:
    """Return which results are zero in every state."""
    nodes = [program.nodes[k] for k in program.outputs[part]]
    return [op == CONST and repr(arguments[0]) == "0.0" for op, *arguments in nodes]


def _scatter_wide(
    program: Program, layout: Layout, cut: Plan, W: int, output: int, part: slice, mark: str
) -> str:
    """Return @scatter_W as two loops over groups of columns: of zeros, and by @scatter_new_W.

    The latter writes columns that are not zero in every state; a table has their slots.
    """
    group, item = side(W), layout.item
    slots = cut.results[part]
    some, none = column_groups(_zeros(program, part), group)
    array = len(layout.inputs) + output
    starts, zeros, places = (f"{name}{mark}_{W}" for name in ("starts", "zeros", "places"))
    tables = [
        table(starts, [k * item for k in some]),
        table(zeros, [k * item for k in none]),
        table(places, [slots[k + j] * W * item for k in some for j in range(group)]),
    ]
    block = Block(W, layout.scalar, True)
    pointers = _walk(block, block.rows(array), starts, len(some))
    columns = []
    for j in range(group):
        n = block.emit(f"add i64 {block.emit(f'mul i64 %k, {group}')}, {j}")
        where = block.emit(f"load i64, ptr {block.at(f'@{places}', n)}")
        found = block.emit(f"getelementptr i8, ptr %tile, i64 {where}")
        columns.append(block.emit(f"load {block.real}, ptr {found}, align {item * W}"))
    block.store(pointers, [partial(str, column) for column in columns])
    block.lines += _LOOP_END
    new = block.function(_named(f"scatter_varying{mark}", W, True))

    block = Block(W, layout.scalar, True)
    pointers = _walk(block, block.rows(array), zeros, len(none))
    for pointer in pointers:
        block.lines.append(f"  store {block.few} zeroinitializer, ptr {pointer}, align {item}")
    block.lines += _LOOP_END
    block.lines.append(f"  call void @scatter_varying{mark}_{W}({PLACE})")
    whole = block.function(_named(f"scatter{mark}", W, True))
    return "\n".join([*tables, new, whole])


def store_constants(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @store_constants_W: results that are constants to their slots, once for a tile.

    Where pieces write results, no addresses are set yet.
    """
    block = Block(W, layout.scalar)
    if cut.lines:
        block.write(cut.lines.targets, "zeroinitializer")
    if cut.columns:
        block.write(cut.columns.target, "zeroinitializer")
    for k, slot in dict(zip(program.outputs, cut.results, strict=True)).items():
        op, *arguments = program.nodes[k]
        if op == CONST:
            block.write(slot, block.constant(arguments[0]))
    return block.function(f"store_constants_{W}(ptr %tile)")


def column_groups(zero: Sequence[bool], group: int) -> tuple[list[int], list[int]]:
    """Return where groups of columns start: those with values that vary, and those of zeros.

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


def table(name: str, words: Sequence[int]) -> str:
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


_LOOP_END = ("  %next = add i64 %k, 1", "  br label %columns", "done:")
"""The end of that loop."""


def varying_scatter(layout: Layout, W: int) -> str:
    """Return the name of the function that writes all columns but the zeros of wide results."""
    return "scatter_varying" if _wide(layout, W) else "scatter"


def _wide(layout: Layout, W: int) -> bool:
    """Return whether any output is written by loops over its columns."""
    return any(_by_loops(layout, o, W) for o in range(len(layout.outputs)))


def store_constants_calls(layout: Layout, cut: Plan, W: int, T: int, size: int) -> list[str]:
    """Return calls of @store_constants_W for so many tiles, if anything reads what it stores."""
    read = _wide(layout, W) or cut.lines or cut.columns
    return constants_in_tiles(W, T, size) if read else []


def constants_in_tiles(W: int, T: int, size: int) -> list[str]:
    """Return calls of @store_constants_W for so many tiles."""
    lines = []
    for t in range(T):
        lines.append(f"  %constants_tile{t} = getelementptr i8, ptr %tiles, i64 {t * size}")
        lines.append(f"  call void @store_constants_{W}(ptr %constants_tile{t})")
    return lines


def scatter_short(layout: Layout, W: int) -> str:
    """Return @scatter_short_W: the same for fewer rows than lanes, through scratch rows."""
    n, arrays = len(layout.inputs), len(layout.shapes)
    sizes = [size * layout.item for size in layout.output_sizes]
    starts = list(itertools.accumulate((W * size for size in sizes), initial=0))
    total = max(starts[-1], 1)
    lines = [
        f"define internal void @{_named('scatter', W, False)} noinline {{",
        "entry:",
        *scratch.alloc("%spare", total),
        "  %stop = add i64 %row, %valid",
        *nan_without_scratch(layout, "%spare", "%there"),
        "there:",
        f"  %spare_args = alloca ptr, i64 {arrays}",
        f"  %spare_steps = alloca i64, i64 {arrays}",
    ]
    for o, size in enumerate(sizes):
        t, here = tag(o), "%spare"
        if o:
            here = f"%spare{t}"
            lines.append(f"  {here} = getelementptr i8, ptr %spare, i64 {starts[o]}")
        lines += [
            f"  %spare_p{t} = getelementptr ptr, ptr %spare_args, i64 {n + o}",
            f"  store ptr {here}, ptr %spare_p{t}",
            f"  %spare_s{t} = getelementptr i64, ptr %spare_steps, i64 {n + o}",
            f"  store i64 {size}, ptr %spare_s{t}",
        ]
    place = f"ptr %spare_args, ptr %spare_steps, i64 0, i64 {W}, ptr %tile"
    lines.append(f"  call void @scatter_{W}({place})")
    for o in range(len(sizes)):
        t = tag(o)
        lines += [
            f"  %out_p{t} = getelementptr ptr, ptr %args, i64 {n + o}",
            f"  %out{t} = load ptr, ptr %out_p{t}",
            f"  %step_p{t} = getelementptr i64, ptr %steps, i64 {n + o}",
            f"  %step{t} = load i64, ptr %step_p{t}",
        ]
    lines += [
        "  br label %copy",
        "copy:",
        "  %i = phi i64 [0, %there], [%j, %copy]",
        "  %at = add i64 %row, %i",
    ]
    for o, size in enumerate(sizes):
        t = tag(o)
        lines += [
            f"  %far{t} = mul i64 %at, %step{t}",
            f"  %to{t} = getelementptr i8, ptr %out{t}, i64 %far{t}",
            f"  %near{t} = mul i64 %i, {size}",
            f"  %from{t} = getelementptr i8, ptr %spare{t}, i64 %near{t}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %to{t}, ptr %from{t}, i64 {size}, i1 false)",
        ]
    lines += [
        "  %j = add i64 %i, 1",
        "  %more = icmp slt i64 %j, %valid",
        "  br i1 %more, label %copy, label %done",
        "done:",
        *scratch.free("%spare", total),
        "  ret void",
        "}\n",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
    ]
    return "\n".join(lines)


def head(name: str, W: int, more: str = ", i64 %strided", driver: str = "noinline") -> str:
    """Return the first line of a function of all rows from row to stop, in blocks of W."""
    arguments = f"ptr %args, ptr %steps, i64 %row, i64 %stop, ptr %data{more}"
    return f"define internal void @{name}_{W}({arguments}) {driver} {{"


def nan_without_scratch(
    layout: Layout, scratch: str, then: str, strided: bool = False
) -> list[str]:
    """Return instructions that fill the rows with NaN and return if there is no scratch.

    Results are dense, or of the strides that NumPy gave.
    """
    lines = [
        f"  %no_scratch = icmp eq ptr {scratch}, null",
        f"  br i1 %no_scratch, label %spoiled, label {then}",
        "spoiled:",
    ]
    for o in range(len(layout.outputs)):
        n, t = len(layout.inputs) + o, tag(o)
        place = strided_extents(layout, n) if strided else straight(layout, n)
        lines += loaded_strides(layout, n) if strided else []
        lines += [
            f"  %spoil_p{t} = getelementptr ptr, ptr %args, i64 {n}",
            f"  %spoil_a{t} = load ptr, ptr %spoil_p{t}",
            f"  %spoil_s{t} = getelementptr i64, ptr %steps, i64 {n}",
            f"  %spoil_t{t} = load i64, ptr %spoil_s{t}",
            f"  %spoil_o{t} = mul i64 %row, %spoil_t{t}",
            f"  %spoil_b{t} = getelementptr i8, ptr %spoil_a{t}, i64 %spoil_o{t}",
            f"  %spoil_n{t} = sub i64 %stop, %row",
            f"  call void @fill_nan(ptr null, ptr %spoil_b{t}, i64 %spoil_n{t}, i64 %spoil_t{t}, "
            f"{place})",
        ]
    return [*lines, "  ret void"]
