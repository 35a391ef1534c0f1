"""Prefetch of the lines that results will be written to, while the pieces compute.

The processor must own a line before it writes to it.  Results of a batch are seldom in the L1
cache, and at the end of a block there are more stores than it can keep waiting.
"""

from __future__ import annotations

from sixfold.llvm.layout.signature import LINE_BYTES, Layout

MAX_LINES = 512
"""Lines of a block up to which they are prefetched: as many as the L1 cache has."""


def prefetch(layout: Layout, W: int, p: int, pieces: int, name: str, blocks: int) -> list[str]:
    """Return the start of what piece p does for blocks: its share of their lines is prefetched.

    Results are dense.  A prefetch past the end of an array is harmless.

    Args:
        layout: of the arrays.
        W: rows of a block.
        p: number of the piece.
        pieces: how many there are.
        name: label of the loop over blocks (`every_block`).
        blocks: how many the piece does at a time.
    """
    sizes = [size * layout.item * W for size in layout.output_sizes]
    lines = [(o, at) for o, size in enumerate(sizes) for at in range(0, size, LINE_BYTES)]
    if W == 1 or len(lines) > MAX_LINES:
        return []
    share = lines[p * len(lines) // pieces : (p + 1) * len(lines) // pieces]
    share = [(o, b * sizes[o] + at) for b in range(blocks) for o, at in share]
    text = []
    if share:
        text += [f"  %first_{name} = mul i64 %b_{name}, {W}"]
        text += [f"  %row_{name} = add i64 %at, %first_{name}"]
    for o in dict.fromkeys(o for o, _ in share):
        tag, bytes_each = f"{name}_{o}", layout.output_sizes[o] * layout.item
        text += [
            f"  %array_p_{tag} = getelementptr ptr, ptr %args, i64 {len(layout.inputs) + o}",
            f"  %array_{tag} = load ptr, ptr %array_p_{tag}",
            f"  %along_{tag} = mul i64 %row_{name}, {bytes_each}",
            f"  %rows_{tag} = getelementptr i8, ptr %array_{tag}, i64 %along_{tag}",
        ]
    for o, at in share:
        line = f"%line_{name}_{o}_{at}"
        text += [
            f"  {line} = getelementptr i8, ptr %rows_{name}_{o}, i64 {at}",
            f"  call void @llvm.prefetch.p0(ptr {line}, i32 1, i32 3, i32 1)",
        ]
    return text
