"""Groups of blocks through stages: each stage is a loop over the blocks of the group."""

from __future__ import annotations

from collections.abc import Sequence


def count(W: int, T: int, stop: str) -> list[str]:
    """Return instructions that set %count to how many blocks a group at %at has, T at most."""
    return [
        f"  %left = sub i64 {stop}, %at",
        f"  %up = add i64 %left, {W - 1}",
        f"  %wide = sdiv i64 %up, {W}",
        f"  %few = icmp slt i64 %wide, {T}",
        f"  %count = select i1 %few, i64 %wide, i64 {T}",
    ]


def every_block(
    name: str, before: str, body: Sequence[str], after: str, size: int, blocks: int = 1
) -> list[str]:
    """Return a loop over the blocks of a group.

    Args:
        name: its label; in the body, %b_name is the number of a block, %tile_name its tile.
        before: the label from which it is entered.
        body: what is done for a block.
        after: the label where it goes on.
        size: bytes of a tile.
        blocks: how many the body does at a time.
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
        f"  %n_{name} = add i64 %b_{name}, {blocks}",
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
