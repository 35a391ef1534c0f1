"""A program as LLVM text: W states at a time, one in each lane, with a scalar twin.

No fast-math flag is set and LLVM's middle end is not run, so the sequence of roundings is that of
the graph for every W.  Rows are read and written through 4x4 transposes of their elements.
"""

from __future__ import annotations

from functools import partial

from sixfold.native import arctangent, elementary, entry, heap, sincos
from sixfold.native.block import SUPPORTED, Block, Value, types
from sixfold.native.chunks import Plan, plan
from sixfold.native.graph import CONST, INPUT, Program, kind
from sixfold.native.layout import Layout
from sixfold.native.loop import FLAGS, copies, loop, straight


def supported(program: Program) -> bool:
    """Return whether every operation of a program has machine code."""
    return all(kind(op) in SUPPORTED for op, *_ in program.nodes)


def module(program: Program, layout: Layout, W: int, triple: str = "") -> str:
    """Return the text of a module with the inner loop @loop of a NumPy gufunc.

    On processors it knows by their triple, the loop leaves the floating-point flags as it found
    them: a state that is not finite is an answer, not a reason for a warning.
    """
    cut = plan(program, inner=layout.scalar == "double")
    used = {op for op, *_ in program.nodes}
    parts = [heap.DECLARATIONS]
    for width in (1,) if W == 1 else (1, W):
        parts.append(library(layout, width, used))
        parts.append(_gather(program, layout, cut, width, True))
        parts.append(_scatter(program, layout, cut, width))
        if width > 1:
            parts.append(_gather(program, layout, cut, width, False))
            parts.append(_scatter_short(layout, width))
        parts += [piece(program, layout, cut, p, width) for p in range(len(cut.pieces))]
        parts.append(_rows(layout, cut, width))
    parts.append(copies(layout.scalar))
    parts.append(loop(layout, W, FLAGS.get(triple.partition("-")[0])))
    parts.append(entry.text(layout))
    return "\n".join(parts)


def library(layout: Layout, W: int, used: set[str]) -> str:
    """Return the intrinsics and elementary functions on W numbers that operations call."""
    parts = []
    for scalar in dict.fromkeys(("double", layout.scalar)):
        real, suffix = types(W, scalar)
        three = ", ".join([real] * 3)
        parts.append(f"declare {real} @llvm.fma.{suffix}({three})\n")
        parts.append(f"declare {real} @llvm.sqrt.{suffix}({real})\n")
        parts.append(f"declare {real} @llvm.fabs.{suffix}({real})\n")
    if used & {"sin", "cos"}:
        parts.append(sincos.library(W))
    if used & {"exp", "log", "tanh"}:
        parts.append(elementary.library(W))
    if "atan2" in used:
        parts.append(arctangent.library(W))
    return "\n".join(parts)


def _gather(program: Program, layout: Layout, cut: Plan, W: int, whole: bool) -> str:
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


def sines(layout: Layout, cut: Plan, W: int, p: int, tag: str = "") -> list[str]:
    """Return the call that works out sines and cosines in all tiles before a piece, if any.

    Single precision works them out where it reads the angles.  The tag keeps names apart.
    """
    lines = []
    for n, group in enumerate(cut.angles):
        if group.before == p and layout.scalar == "double":
            for name, place in (("angles", group.first), ("sines", group.pairs)):
                offset = place * W * layout.item
                lines.append(f"  %{name}{n}{tag} = getelementptr i8, ptr %tiles, i64 {offset}")
            lines.append(
                f"  call void @sincos_to_{W}(ptr %angles{n}{tag}, ptr %sines{n}{tag}, "
                f"i64 {len(group.nodes)}, i64 %count, i64 {tile_size(layout, cut, W)})"
            )
    return lines


def piece(program: Program, layout: Layout, cut: Plan, p: int, W: int, name: str = "piece") -> str:
    """Return @piece_p_W: one piece of the program on one tile, or on two in turns.

    Where every operation waits for the one before, the operations on another tile fill the time.
    Pieces of a block have another name.
    """
    blocks = [Block(W, layout.scalar)]
    if abreast(cut, p, W) == 2:
        blocks.append(blocks[0].beside(tile_size(layout, cut, W)))
    values: list[dict[int, str]] = [{} for _ in blocks]
    table: dict[tuple[float, int], int] = {}

    seen: dict[int, int] = {}

    def value(b: int, k: int, at: int) -> str:
        block, known = blocks[b], values[b]
        if k in cut.slot and at - seen.get(k, at) > FAR:
            known.pop(k, None)
        if b == len(blocks) - 1:
            seen[k] = at
        if k not in known:
            op, *arguments = program.nodes[k]
            if op == CONST and W > 1:
                n = table.setdefault((arguments[0], b), len(table))
                where = block.emit(
                    f"getelementptr {block.real}, ptr @{name}_constants_{p}_{W}, i64 {n}"
                )
                known[k] = block.emit(f"load {block.real}, ptr {where}, align {layout.item * W}")
            elif op == CONST:
                known[k] = block.constant(arguments[0])
            else:
                known[k] = block.read(cut.slot[k])
        return known[k]

    for at, k in enumerate(cut.pieces[p]):
        op, *arguments = program.nodes[k]
        for b, block in enumerate(blocks):
            values[b][k] = block.operation(op, [value(b, a, at) for a in arguments])
            if b == len(blocks) - 1:
                seen[k] = at
            if k in cut.slot:
                block.write(cut.slot[k], values[b][k])
    first = blocks[0]
    text = first.function(f"{name}_{p}_{W}(ptr %tile)")
    if table:
        listed = ", ".join(f"{first.real} {first.constant(x)}" for x, _ in table)
        array = f"[{len(table)} x {first.real}]"
        text += f"@{name}_constants_{p}_{W} = internal constant {array} [{listed}]\n"
    return text


FAR = 24
"""Operations after which a value that lies in the tile is read again, rather than kept."""


def abreast(cut: Plan, p: int, W: int) -> int:
    """Return how many tiles a piece works on in turns: one or two."""
    return 2 if W > 1 and cut.serial[p] else 1


def tile_size(layout: Layout, cut: Plan, W: int) -> int:
    """Return the bytes of a tile."""
    return max(cut.slots, 1) * W * layout.item


def _named(name: str, W: int, whole: bool) -> str:
    """Return name and arguments of a function between rows and a tile."""
    label = f"{name}_{W}" if whole else f"{name}_short_{W}"
    return f"{label}(ptr %args, ptr %steps, i64 %row, i64 %valid, ptr %tile)"


def _scatter(program: Program, layout: Layout, cut: Plan, W: int) -> str:
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
    """Return @scatter_W as a loop over groups of columns; a table says where each is in the tile.

    @settle_W puts those that are constant there, once for a tile.
    """
    n, item = layout.sizes[-1], layout.item
    group = 1 if W == 1 else 4
    block = Block(W, layout.scalar, True)
    pointers = block.rows(len(layout.inputs))
    block.lines += [
        "  br label %columns",
        "columns:",
        "  %k = phi i64 [0, %entry], [%next, %columns]",
        f"  %late = icmp sgt i64 %k, {n - group}",
        f"  %first = select i1 %late, i64 {n - group}, i64 %k",
    ]
    values = []
    for j in range(group):
        column = block.emit(f"add i64 %first, {j}")
        place = block.emit(f"getelementptr i64, ptr @places_{W}, i64 {column}")
        where = block.emit(f"load i64, ptr {place}")
        found = block.emit(f"getelementptr i8, ptr %tile, i64 {where}")
        values.append(block.emit(f"load {block.real}, ptr {found}, align {item * W}"))
    along = block.emit(f"mul i64 %first, {item}")
    moved = [block.emit(f"getelementptr i8, ptr {p}, i64 {along}") for p in pointers]
    block.store(moved, [partial(str, value) for value in values])
    block.lines += [
        f"  %next = add i64 %k, {group}",
        f"  %more = icmp slt i64 %next, {n}",
        "  br i1 %more, label %columns, label %done",
        "done:",
    ]
    block.lines.insert(0, "entry:")
    listed = ", ".join(f"i64 {slot * W * item}" for slot in cut.results)
    table = f"@places_{W} = internal constant [{n} x i64] [{listed}]\n"
    text = block.function(_named("scatter", W, True))
    settle = Block(W, layout.scalar)
    for k, slot in dict(zip(program.outputs, cut.results, strict=True)).items():
        if program.nodes[k][0] == CONST:
            settle.write(slot, settle.constant(program.nodes[k][1]))
    return table + text + settle.function(f"settle_{W}(ptr %tile)")


def _scatter_short(layout: Layout, W: int) -> str:
    """Return @scatter_short_W: the same for fewer rows than lanes, by way of spare rows."""
    n, size = len(layout.inputs), layout.sizes[-1] * layout.item
    lines = [
        f"define internal void @{_named('scatter', W, False)} noinline {{",
        "entry:",
        *heap.take("%spare", max(W * size, 1)),
        "  %stop = add i64 %row, %valid",
        *room(layout, "%spare", "%there"),
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
        *heap.give("%spare", max(W * size, 1)),
        "  ret void",
        "}\n",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
    ]
    return "\n".join(lines)


def results(block: Block, program: Program, cut: Plan) -> list[Value]:
    """Return the results of a program, to be read from their slots."""
    return [partial(result, block, program, cut, n) for n in range(len(program.outputs))]


def result(block: Block, program: Program, cut: Plan, n: int) -> str:
    """Return one result of a program, read from its slot."""
    op, *arguments = program.nodes[program.outputs[n]]
    return block.constant(arguments[0]) if op == CONST else block.read(cut.results[n])


TILE_BYTES = 65_536
"""Room for the tiles of the blocks that go through the pieces together."""


def together(layout: Layout, cut: Plan, W: int, pairs: bool = False) -> int:
    """Return how many blocks go through the pieces together; an even number where some pair up."""
    pairs = pairs or any(abreast(cut, p, W) == 2 for p in range(len(cut.pieces)))
    if W == 1 or (len(cut.pieces) == 1 and not pairs and not cut.angles):
        return 1
    most = max(1, min(8, TILE_BYTES // tile_size(layout, cut, W)))
    return most + most % 2 if pairs else most


def _rows(layout: Layout, cut: Plan, W: int) -> str:
    """Return @rows_W(args, steps, row, stop): all rows from row to stop, in blocks of W."""
    T = together(layout, cut, W)
    size = tile_size(layout, cut, W)
    settled = []
    for t in range(T) if layout.sizes[-1] > WIDE else ():
        settled.append(f"  %settle{t} = getelementptr i8, ptr %tiles, i64 {t * size}")
        settled.append(f"  call void @settle_{W}(ptr %settle{t})")
    lines = [
        head(W),
        "entry:",
        *heap.take("%tiles", size * T),
        *room(layout, "%tiles", "%start"),
        "start:",
        *settled,
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %group_end]",
        "  %go = icmp slt i64 %at, %stop",
        "  br i1 %go, label %blocks, label %done",
        "blocks:",
        "  %left = sub i64 %stop, %at",
        f"  %up = add i64 %left, {W - 1}",
        f"  %wide = sdiv i64 %up, {W}",
        f"  %few = icmp slt i64 %wide, {T}",
        f"  %count = select i1 %few, i64 %wide, i64 {T}",
        "  br label %stage0",
    ]

    def stage(n: int, body: list[str], blocks: int = 1) -> None:
        """Write a loop over the blocks of the group, and what comes once before it."""
        lines.extend(
            [
                f"stage{n}:",
                *(sines(layout, cut, W, n - 1) if n else ()),
                f"  br label %stage{n}_all",
                f"stage{n}_all:",
                f"  %b{n} = phi i64 [0, %stage{n}], [%b{n}n, %stage{n}_go]",
                f"  %c{n} = icmp slt i64 %b{n}, %count",
                f"  br i1 %c{n}, label %stage{n}_go, label %stage{n + 1}",
                f"stage{n}_go:",
                f"  %o{n} = mul i64 %b{n}, {size}",
                f"  %tile{n} = getelementptr i8, ptr %tiles, i64 %o{n}",
                *body,
                f"  %b{n}n = add i64 %b{n}, {blocks}",
                f"  br label %stage{n}_all",
            ]
        )

    def ends(n: int, function: str) -> list[str]:
        short = f"{function}_{W}" if W == 1 else f"{function}_short_{W}"
        return [
            f"  %s{n} = mul i64 %b{n}, {W}",
            f"  %r{n} = add i64 %at, %s{n}",
            f"  %l{n} = sub i64 %stop, %r{n}",
            f"  %f{n} = icmp slt i64 %l{n}, {W}",
            f"  %v{n} = select i1 %f{n}, i64 %l{n}, i64 {W}",
            f"  %g{n} = select i1 %f{n}, ptr @{short}, ptr @{function}_{W}",
            f"  call void %g{n}(ptr %args, ptr %steps, i64 %r{n}, i64 %v{n}, ptr %tile{n})",
        ]

    pieces = len(cut.pieces)
    stage(0, ends(0, "gather"))
    for p in range(pieces):
        call = f"  call void @piece_{p}_{W}(ptr %tile{p + 1})"
        stage(p + 1, [call], abreast(cut, p, W))
    stage(pieces + 1, ends(pieces + 1, "scatter"))
    lines += [
        f"stage{pieces + 2}:",
        "  br label %group_end",
        "group_end:",
        f"  %next = add i64 %at, {T * W}",
        "  br label %group",
        "done:",
        *heap.give("%tiles", size * T),
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)


def head(W: int) -> str:
    """Return the first line of @rows_W: all rows from row to stop, in blocks of W."""
    arguments = "ptr %args, ptr %steps, i64 %row, i64 %stop, ptr %data"
    return f"define internal void @rows_{W}({arguments}) noinline {{"


def room(layout: Layout, scratch: str, then: str) -> list[str]:
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
