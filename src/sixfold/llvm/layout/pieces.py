"""Pieces of a program as functions on tiles, and what they call."""

from __future__ import annotations

from functools import partial

from sixfold.graph.program import CONST, Program
from sixfold.llvm.layout.piece_stores.piece_columns import PieceColumns
from sixfold.llvm.layout.piece_stores.piece_lines import PieceLines
from sixfold.llvm.layout.plan import Plan, Routine
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.text import elementary, sincos, sincos_tiles
from sixfold.llvm.text.writer import WINDOW, Block, LanesBlock, Value, types


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
        parts.append(sincos.library(W, layout.scalar))
        if layout.scalar == "double":
            parts.append(sincos_tiles.stored(W))
    parts.append(elementary.library(W, used))
    return "\n".join(parts)


def sincos_calls(layout: Layout, cut: Plan, W: int, p: int, tag: str = "") -> list[str]:
    """Return the call that computes sines and cosines in all tiles before a piece, if any.

    Single precision computes them where it reads the angles.  The tag keeps names apart.
    """
    lines = []
    for n, group in enumerate(cut.angles):
        if group.before == p and layout.scalar == "double":
            for name, place in (("angles", group.first), ("sines", group.pairs)):
                offset = place * W * layout.item
                lines.append(f"  %{name}{n}{tag} = getelementptr i8, ptr %tiles, i64 {offset}")
            for k in range(len(group.nodes), group.filled):
                where = f"%zero{n}_{k}{tag}"
                lines.append(f"  {where} = getelementptr double, ptr %angles{n}{tag}, i64 {k}")
                lines.append(f"  store double 0.0, ptr {where}")
            lines.append(
                f"  call void @sincos_to_{W * group.lanes}(ptr %angles{n}{tag}, "
                f"ptr %sines{n}{tag}, i64 {group.filled // group.lanes}, i64 %count, "
                f"i64 {tile_size(layout, cut, W)})"
            )
    return lines


def piece(program: Program, layout: Layout, cut: Plan, p: int, W: int, name: str = "piece") -> str:
    """Return @piece_p_W: one piece of the program on one tile, or on two that are interleaved.

    Where every operation waits for the one before, operations on a second tile hide the latency.
    Pieces of a subroutine have another name.
    """
    return _piece(program, layout, cut, p, tile_block(layout, cut, W), name)


def piece_in_lanes(layout: Layout, routine: Routine, p: int, name: str) -> str:
    """Return @name_p_W: one piece of a routine that is run in W lanes on a tile of one state."""
    block = LanesBlock(routine.lanes, layout.scalar, routine.region)
    return _piece(routine.program, layout, routine.plan, p, block, name)


def _piece(program: Program, layout: Layout, cut: Plan, p: int, first: Block, name: str) -> str:
    blocks, W = [first], first.W
    if interleaved_tiles(cut, p, W) == 2:
        blocks.append(blocks[0].beside(tile_size(layout, cut, W), cut.returns))
    values: list[dict[int, str]] = [{} for _ in blocks]
    # a vector for each constant would fill the L1 cache, where vectors are as long as its lines
    broadcasts = W * layout.item == LINE_BYTES
    stored = Block(1, layout.scalar) if broadcasts else blocks[0]
    table: dict[str, int] = {}

    seen: dict[int, int] = {}

    def value(b: int, k: int, at: int) -> str:
        block, known = blocks[b], values[b]
        if k in cut.slot and at - seen.get(k, at) > RELOAD_DISTANCE:
            known.pop(k, None)
        if b == len(blocks) - 1:
            seen[k] = at
        if k not in known:
            op, *arguments = program.nodes[k]
            if op == CONST and W > 1:
                n = table.setdefault(stored.constant(arguments[0]), len(table))
                where = block.emit(
                    f"getelementptr {stored.real}, ptr @{name}_constants_{p}_{W}, i64 {n}"
                )
                known[k] = block.broadcast(where) if broadcasts else block.load(where)
            elif op == CONST:
                known[k] = block.constant(arguments[0])
            else:
                known[k] = block.read(cut.slot[k])
        return known[k]

    lines = PieceLines(blocks[0], layout, cut, p)
    columns = PieceColumns(blocks[0], cut, p)
    for at, k in enumerate(cut.pieces[p]):
        lines.after(at)
        columns.after(at)
        op, *arguments = program.nodes[k]
        for b, block in enumerate(blocks):
            values[b][k] = block.operation(op, [value(b, a, at) for a in arguments])
            if b == len(blocks) - 1:
                seen[k] = at
            if k in cut.slot:
                block.write(cut.slot[k], values[b][k])
    lines.after(len(cut.pieces[p]))
    columns.after(len(cut.pieces[p]))
    parameters = "ptr %tile, ptr %returned" if cut.returns else "ptr %tile"
    text = blocks[0].function(f"{name}_{p}_{W}({parameters})")
    if table:
        listed = ", ".join(f"{stored.real} {x}" for x in table)
        array = f"[{len(table)} x {stored.real}]"
        text += f"@{name}_constants_{p}_{W} = internal constant {array} [{listed}]\n"
    return text


def tile_block(layout: Layout, cut: Plan, W: int) -> Block:
    """Return a writer of a function on a tile, with short addresses if the tile is long.

    Instructions of long programs come from the L2 cache, and their bytes count.
    """
    block = Block(W, layout.scalar)
    if W * layout.item == LINE_BYTES and cut.slots > WINDOW // 2:
        block.windows = set()
    return block


RELOAD_DISTANCE = 24
"""Operations after which a value is reloaded from its slot rather than kept in a register."""


def interleaved_tiles(cut: Plan, p: int, W: int) -> int:
    """Return how many tiles a piece interleaves: two where it is bound by latency, else one."""
    return 2 if W > 1 and cut.serial[p] else 1


def tile_size(layout: Layout, cut: Plan, W: int) -> int:
    """Return the bytes of a tile."""
    return max(cut.slots, 1) * W * layout.item


TILE_BYTES = 65_536
"""Bytes for the tiles of the blocks that go through the pieces together."""


LONG_TILE_BYTES, TWO_TILES_BYTES = 49_152, 262_144
"""Tiles from the first size on are not in the L1 cache anyway: with AVX-512 there are two, as long
as the L2 cache holds them beside the instructions, which then are fetched once for both."""


def pairs_up(cut: Plan, W: int) -> bool:
    """Return whether some piece interleaves two tiles, those of routines included."""
    return any(
        interleaved_tiles(how, p, W) == 2 for how in cut.all_plans() for p in range(len(how.pieces))
    )


def together(layout: Layout, cut: Plan, W: int, pairs: bool = False) -> int:
    """Return how many blocks go through the pieces together; an even number where some pair up."""
    pairs = pairs or pairs_up(cut, W)
    if W == 1 or (len(cut.pieces) == 1 and not pairs and not cut.angles):
        return 1
    if cut.alone and not pairs:
        return 1
    size = tile_size(layout, cut, W)
    most = max(1, min(8, TILE_BYTES // size))
    if W * layout.item == LINE_BYTES and LONG_TILE_BYTES <= size <= TWO_TILES_BYTES // 2:
        most = 2
    return most + most % 2 if pairs else most


def results(block: Block, program: Program, cut: Plan) -> list[Value]:
    """Return the results of a program, to be read from their slots."""
    return [partial(result, block, program, cut, n) for n in range(len(program.outputs))]


def result(block: Block, program: Program, cut: Plan, n: int) -> str:
    """Return one result of a program, read from its slot."""
    op, *arguments = program.nodes[program.outputs[n]]
    return block.constant(arguments[0]) if op == CONST else block.read(cut.results[n])
