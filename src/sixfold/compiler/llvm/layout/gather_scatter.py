"""Rows of arrays into a tile, and results from a tile into rows: transposes of small squares."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from functools import partial

from sixfold.compiler.graph.program import CONST, INPUT, Program
from sixfold.compiler.llvm.layout import scratch
from sixfold.compiler.llvm.layout.inner_loop import loaded_strides, straight, strided_extents
from sixfold.compiler.llvm.layout.pieces import every_block, its_rows, results, tile_size
from sixfold.compiler.llvm.layout.plan import Plan
from sixfold.compiler.llvm.layout.signature import LINE_BYTES, Layout, tag
from sixfold.compiler.llvm.text.writer import Block, side, table

#: Arguments of a function between rows and a tile.
PLACE = "ptr %args, ptr %steps, i64 %row, i64 %valid, ptr %tile"


def gather(
    program: Program, layout: Layout, cut: Plan, W: int, whole: bool, strides: bool = True
) -> str:
    """Return @gather_W: rows of the input arrays to slots, with sines and cosines of angles.

    Strided arrays, if there can be any, are in their slots already.
    """
    block = Block(W, layout.scalar, whole)
    head = _header("gather", W, whole, f"{PLACE}, i64 %strided")
    # inputs that the program reads; others are not gathered
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
    # single precision computes sines as it gathers; double does it between the pieces
    if layout.scalar != "double":
        for group in cut.angles:
            for n, k in enumerate(group.nodes):
                angle = block.read(cut.slot[k]) if strides else values[k]
                for slot, value in zip(group.pair(n), block.sincos(angle), strict=True):
                    block.write(slot, value)
    return block.function(head)


def _header(name: str, W: int, whole: bool, arguments: str = PLACE) -> str:
    """Return name and arguments of a function between rows and a tile."""
    label = f"{name}_{W}" if whole else f"{name}_short_{W}"
    return f"{label}({arguments})"


def scatter(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @scatter_W: results from slots to rows of the output arrays.

    With several outputs, each has a function of its own, which this one calls.
    """
    ends = list(itertools.accumulate(layout.output_sizes, initial=0))
    slices = [slice(a, b) for a, b in itertools.pairwise(ends)]
    if len(slices) == 1:
        return _scatter_output(program, layout, cut, W, 0, slices[0], "")
    texts = []
    block = Block(W, layout.scalar, True)
    for o, part in enumerate(slices):
        texts.append(_scatter_output(program, layout, cut, W, o, part, f"_of{o}"))
        block.lines.append(f"  call void @scatter_of{o}_{W}({PLACE})")
    return "\n".join([*texts, block.function(_header("scatter", W, True))])


def _scatter_output(
    program: Program, layout: Layout, cut: Plan, W: int, output: int, part: slice, mark: str
) -> str:
    """Return the function that writes one output; its results are a part of the program's."""
    if layout.output_sizes[output] > MAX_STRAIGHT_COLUMNS:
        return _scatter_wide(program, layout, cut, W, output, part, mark)
    block = Block(W, layout.scalar, True)
    values = results(block, program, cut)[part]
    block.put([(block.rows(len(layout.inputs) + output), values)])
    return block.function(_header(f"scatter{mark}", W, True), ends=False)


MAX_STRAIGHT_COLUMNS = 64  #: Columns of an output up to which it is written by straight-line code.

#: Lines of a block up to which they are prefetched: as many as the L1 cache has.
MAX_PREFETCH_LINES = 512


def prefetch(layout: Layout, W: int, p: int, pieces: int, name: str) -> list[str]:
    """Return prefetches of the lines that a block's results go to: the share of piece p.

    The processor must own a line before it writes to it, and at the end of a block there are more
    stores than it can keep waiting.  Without that, derivatives of panda's inverse dynamics take
    1.24 to 1.39 times as long.  A prefetch past the end of an array is harmless.

    Args:
        layout: of the arrays.
        W: rows of a block.
        p: number of the piece.
        pieces: how many there are.
        name: label of the loop over blocks (`every_block`).
    """
    # all lines that a block's results lie in, and the share of this piece
    sizes = [size * layout.item * W for size in layout.output_sizes]
    lines = [(o, at) for o, size in enumerate(sizes) for at in range(0, size, LINE_BYTES)]
    share = lines[p * len(lines) // pieces : (p + 1) * len(lines) // pieces]
    if W == 1 or len(lines) > MAX_PREFETCH_LINES or not share:
        return []
    text = [f"  %first_{name} = mul i64 %b_{name}, {W}"]
    text += [f"  %row_{name} = add i64 %at, %first_{name}"]
    for o in dict.fromkeys(o for o, _ in share):
        here, bytes_each = f"{name}_{o}", layout.output_sizes[o] * layout.item
        text += [
            f"  %array_p_{here} = getelementptr ptr, ptr %args, i64 {len(layout.inputs) + o}",
            f"  %array_{here} = load ptr, ptr %array_p_{here}",
            f"  %along_{here} = mul i64 %row_{name}, {bytes_each}",
            f"  %rows_{here} = getelementptr i8, ptr %array_{here}, i64 %along_{here}",
        ]
    for o, at in share:
        line = f"%line_{name}_{o}_{at}"
        text += [
            f"  {line} = getelementptr i8, ptr %rows_{name}_{o}, i64 {at}",
            f"  call void @llvm.prefetch.p0(ptr {line}, i32 1, i32 3, i32 1)",
        ]
    return text


class Store(ABC):
    """How a driver stores the results of a group of blocks: the text at each place of its loop."""

    scratch_bytes = 0  #: Memory behind the tiles.

    def begin(self) -> list[str]:
        """Return what is done before the first group."""
        return []

    def begin_group(self) -> list[str]:
        """Return what is done before each group."""
        return []

    def before_piece(self, p: int, name: str) -> list[str]:
        """Return what is done for a block before piece p."""
        return []

    @abstractmethod
    def end_of_group(self, after: str) -> list[str]:
        """Return what writes the rows of a group; it goes to the label %group_end."""

    def finish(self) -> list[str]:
        """Return what is done after the last group."""
        return []


class Scatter(Store):
    """Store strategy for dense rows, of any number, by transposes at the end of a group."""

    def __init__(self, layout: Layout, cut: Plan, W: int, T: int) -> None:
        self.layout, self.cut, self.W, self.T = layout, cut, W, T
        self.size = tile_size(layout, cut, W)

    def before_piece(self, p: int, name: str) -> list[str]:
        """Prefetch this piece's share of the lines that the results go to."""
        return prefetch(self.layout, self.W, p, len(self.cut.pieces), name)

    def end_of_group(self, after: str) -> list[str]:
        """Write the rows of a group by transposes."""
        calls = transfer_call("scatter", "last", self.W)
        return ["  br label %last", *every_block("last", after, calls, "group_end", self.size)]


def transfer_call(function: str, name: str, W: int) -> list[str]:
    """Return the call of @gather or @scatter in a loop over blocks; one may have fewer rows."""
    short = f"{function}_{W}" if W == 1 else f"{function}_short_{W}"
    more = ", i64 %strided" if function == "gather" else ""
    return [
        *its_rows(name, W, "%stop"),
        f"  %g_{name} = select i1 %f_{name}, ptr @{short}, ptr @{function}_{W}",
        f"  call void %g_{name}"
        f"(ptr %args, ptr %steps, i64 %r_{name}, i64 %v_{name}, ptr %tile_{name}{more})",
    ]


def _scatter_wide(
    program: Program, layout: Layout, cut: Plan, W: int, output: int, part: slice, mark: str
) -> str:
    """Return @scatter_W as a loop over groups of columns; a table has their slots."""
    # groups of columns that cover a row, the last one overlapping
    group, item, size = side(W), layout.item, layout.output_sizes[output]
    slots = cut.results[part]
    starts = [*range(0, size - group + 1, group), *([size - group] if size % group else [])]
    names = [f"{name}{mark}_{W}" for name in ("starts", "places")]
    tables = [
        table(names[0], [k * item for k in starts]),
        table(names[1], [slots[k + j] * W * item for k in starts for j in range(group)]),
    ]
    block = Block(W, layout.scalar, True)
    rows = block.rows(len(layout.inputs) + output)
    block.lines.insert(0, "entry:")
    block.lines += [
        "  br label %columns",
        "columns:",
        "  %k = phi i64 [0, %entry], [%next, %go]",
        f"  %more = icmp slt i64 %k, {len(starts)}",
        "  br i1 %more, label %go, label %done",
        "go:",
    ]
    along = block.emit(f"load i64, ptr {block.at(f'@{names[0]}', '%k')}")
    pointers = [block.emit(f"getelementptr i8, ptr {row}, i64 {along}") for row in rows]
    # read a group of columns, transpose and store it
    columns = []
    for j in range(group):
        n = block.emit(f"add i64 {block.emit(f'mul i64 %k, {group}')}, {j}")
        where = block.emit(f"load i64, ptr {block.at(f'@{names[1]}', n)}")
        found = block.emit(f"getelementptr i8, ptr %tile, i64 {where}")
        columns.append(block.emit(f"load {block.real}, ptr {found}, align {item * W}"))
    block.store(pointers, [partial(str, column) for column in columns])
    block.lines += ["  %next = add i64 %k, 1", "  br label %columns", "done:"]
    return "\n".join([*tables, block.function(_header(f"scatter{mark}", W, True))])


def store_constants(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @store_constants_W: results that are constants to their slots, once for a tile.

    Where pieces write results, no addresses are set yet.
    """
    block = Block(W, layout.scalar)
    if cut.lines:
        block.write(cut.lines.targets, "zeroinitializer")
    for k, slot in dict(zip(program.outputs, cut.results, strict=True)).items():
        op, *arguments = program.nodes[k]
        if op == CONST:
            block.write(slot, block.splat(arguments[0]))
    return block.function(f"store_constants_{W}(ptr %tile)")


def constants_in_tiles(W: int, T: int, size: int) -> list[str]:
    """Return calls of @store_constants_W for T tiles."""
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
        f"define internal void @{_header('scatter', W, False)} noinline {{",
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
