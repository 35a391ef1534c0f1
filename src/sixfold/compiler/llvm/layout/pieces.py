"""Pieces of a program as functions on tiles, and what they call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sixfold.compiler.graph.program import CONST, Program
from sixfold.compiler.llvm.layout.piece_lines import PieceLines
from sixfold.compiler.llvm.layout.plan import Plan
from sixfold.compiler.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.compiler.llvm.text import elementary, sincos
from sixfold.compiler.llvm.text.instructions import types
from sixfold.compiler.llvm.text.writer import WINDOW, Block, Value


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
            parts.append(_sincos_loop(W))
    parts.append(elementary.library(W, used))
    return "\n".join(parts)


def _sincos_loop(W: int) -> str:
    """Return @sincos_to_W: sines and cosines of n vectors in each of several tiles, in pairs."""
    real, _ = types(W)
    one = 8 * W
    return f"""
define internal void @sincos_to_{W}(ptr %angles, ptr %pairs, i64 %n, i64 %tiles, i64 %size)
                                   noinline {{
entry:
  br label %tile
tile:
  %t = phi i64 [0, %entry], [%t_next, %tile_end]
  %along = mul i64 %t, %size
  %more_tiles = icmp slt i64 %t, %tiles
  br i1 %more_tiles, label %angle, label %end
angle:
  %k = phi i64 [0, %tile], [%k_next, %angle_go]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %angle_go, label %tile_end
angle_go:
  %offset = mul i64 %k, {one}
  %from = add i64 %along, %offset
  %x_p = getelementptr i8, ptr %angles, i64 %from
  %x = load {real}, ptr %x_p, align {one}
  %both = call {{{real}, {real}}} @sincos_{W}({real} %x)
  %s = extractvalue {{{real}, {real}}} %both, 0
  %c = extractvalue {{{real}, {real}}} %both, 1
  %to = add i64 %from, %offset
  %s_p = getelementptr i8, ptr %pairs, i64 %to
  store {real} %s, ptr %s_p, align {one}
  %c_p = getelementptr i8, ptr %s_p, i64 {one}
  store {real} %c, ptr %c_p, align {one}
  %k_next = add i64 %k, 1
  br label %angle
tile_end:
  %t_next = add i64 %t, 1
  br label %tile
end:
  ret void
}}
"""


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
            lines.append(
                f"  call void @sincos_to_{W}(ptr %angles{n}{tag}, ptr %sines{n}{tag}, "
                f"i64 {len(group.nodes)}, i64 %count, i64 {tile_size(layout, cut, W)})"
            )
    return lines


def piece(program: Program, layout: Layout, cut: Plan, p: int, W: int, name: str = "piece") -> str:
    """Return @piece_p_W: one piece of the program on one tile.

    Pieces of a subroutine have another name.
    """
    block = tile_block(layout, cut, W)
    # values of this piece are registers; others are read from their slots once
    values: dict[int, str] = {}

    def value(k: int) -> str:
        if k not in values:
            op, *arguments = program.nodes[k]
            constant = op == CONST
            values[k] = block.splat(arguments[0]) if constant else block.read(cut.slot[k])
        return values[k]

    # lines of results that are due are written between the operations
    lines = PieceLines(block, layout, cut, p)
    for at, k in enumerate(cut.pieces[p]):
        lines.after(at)
        op, *arguments = program.nodes[k]
        values[k] = block.operation(op, [value(a) for a in arguments])
        if k in cut.slot:
            block.write(cut.slot[k], values[k])
    lines.after(len(cut.pieces[p]))
    parameters = "ptr %tile, ptr %returned" if cut.returns else "ptr %tile"
    return block.function(f"{name}_{p}_{W}({parameters})")


def tile_block(layout: Layout, cut: Plan, W: int) -> Block:
    """Return a writer of a function on a tile, with short addresses if the tile is long.

    Instructions of long programs come from the L2 cache, and their bytes count.
    """
    block = Block(W, layout.scalar)
    if W * layout.item == LINE_BYTES and cut.slots > WINDOW // 2:
        block.windows = set()
    return block


def tile_size(layout: Layout, cut: Plan, W: int) -> int:
    """Return the bytes of a tile."""
    return max(cut.slots, 1) * W * layout.item


#: Bytes of the L1 data cache. Where the tiles of a group do not fit, blocks go through all pieces
#: one by one: G1's inverse dynamics took 1.15 to 1.25 times as long in groups.
L1_BYTES = 32_768

MAX_BLOCKS = 4  #: Blocks of a group: panda's forward dynamics takes 1.11 times as long with one.


def blocks_per_group(layout: Layout, cut: Plan, W: int) -> int:
    """Return how many blocks go through the pieces together."""
    if W == 1 or (len(cut.pieces) == 1 and not cut.angles):
        return 1
    return MAX_BLOCKS if MAX_BLOCKS * tile_size(layout, cut, W) <= L1_BYTES else 1


def results(block: Block, program: Program, cut: Plan) -> list[Value]:
    """Return the results of a program, to be read from their slots."""
    return [partial(result, block, program, cut, n) for n in range(len(program.outputs))]


def result(block: Block, program: Program, cut: Plan, n: int) -> str:
    """Return one result of a program, read from its slot."""
    op, *arguments = program.nodes[program.outputs[n]]
    return block.splat(arguments[0]) if op == CONST else block.read(cut.results[n])


def count(W: int, T: int, stop: str) -> list[str]:
    """Return instructions that set %count to how many blocks a group at %at has, T at most."""
    return [
        f"  %left = sub i64 {stop}, %at",
        f"  %up = add i64 %left, {W - 1}",
        f"  %wide = sdiv i64 %up, {W}",
        f"  %few = icmp slt i64 %wide, {T}",
        f"  %count = select i1 %few, i64 %wide, i64 {T}",
    ]


def every_block(name: str, before: str, body: Sequence[str], after: str, size: int) -> list[str]:
    """Return a loop over the blocks of a group.

    Args:
        name: its label; in the body, %b_name is the number of a block, %tile_name its tile.
        before: the label from which it is entered.
        body: what is done for a block.
        after: the label to continue at.
        size: bytes of a tile.
    """
    return [
        f"{name}:",
        f"  %b_{name} = phi i64 [0, %{before}], [%n_{name}, %{name}_go]",
        f"  %c_{name} = icmp slt i64 %b_{name}, %count",
        f"  br i1 %c_{name}, label %{name}_go, label %{after}",
        f"{name}_go:",
        f"  %o_{name} = mul i64 %b_{name}, {size}",
        f"  %tile_{name} = getelementptr i8, ptr %tiles, i64 %o_{name}",
        *body,
        f"  %n_{name} = add i64 %b_{name}, 1",
        f"  br label %{name}",
    ]


def its_rows(name: str, W: int, stop: str) -> list[str]:
    """Return instructions for the body: %r_name is the block's first row, %v_name how many."""
    return [
        f"  %s_{name} = mul i64 %b_{name}, {W}",
        f"  %r_{name} = add i64 %at, %s_{name}",
        f"  %l_{name} = sub i64 {stop}, %r_{name}",
        f"  %f_{name} = icmp slt i64 %l_{name}, {W}",
        f"  %v_{name} = select i1 %f_{name}, i64 %l_{name}, i64 {W}",
    ]
