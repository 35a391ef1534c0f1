"""Numbers of some rows between a strided array and tiles: one vector for a number of W states."""

from __future__ import annotations

from sixfold.llvm.layout.pieces import tile_size
from sixfold.llvm.layout.plan import Plan
from sixfold.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.llvm.text.writer import types


def move(name: str, layout: Layout, cut: Plan, W: int, several: int) -> str:
    """Return @load_strided_W or @store_strided_W: all numbers of some rows to or from tiles.

    A loop over the numbers of a state; axes that continue each other are walked as one.  Inside,
    whole blocks are moved as vectors where the batch axis is contiguous, other rows one by one.
    When loading, lanes past the last row repeat it.  So many blocks are moved without a test.
    """
    store = name == "store"
    test = [
        "  %unread = icmp slt i64 %place, 0",
        "  br i1 %unread, label %next, label %some",
    ]
    return "\n".join(
        [
            f"define internal void @{name}_strided_{W}(ptr %array, i64 %step, ptr %tiles, "
            "i64 %rows, i1 %streams, ptr %places, i64 %n2, i64 %s2, i64 %n0, i64 %s0, i64 %n1, "
            "i64 %s1) noinline optnone {",
            "entry:",
            f"  %contiguous = icmp eq i64 %step, {layout.item}",
            f"  %blocks_all = udiv i64 %rows, {W}",
            "  %blocks = select i1 %contiguous, i64 %blocks_all, i64 0",
            f"  %first_row = mul i64 %blocks, {W}",
            f"  %up = add i64 %rows, {0 if store else W - 1}",
            f"  %over = urem i64 %up, {1 if store else W}",
            "  %end = sub i64 %up, %over",
            "  %last = sub i64 %rows, 1",
            f"  %odd_blocks = urem i64 %blocks, {several}",
            "  %even = icmp eq i64 %odd_blocks, 0",
            "  %whole = icmp eq i64 %first_row, %rows",
            "  %exact = and i1 %even, %whole",
            # axes that continue each other are one
            "  %row1 = mul i64 %n1, %s1",
            "  %joins0 = icmp eq i64 %s0, %row1",
            "  %n01 = mul i64 %n0, %n1",
            "  %m1 = select i1 %joins0, i64 %n01, i64 %n1",
            "  %m0 = select i1 %joins0, i64 1, i64 %n0",
            "  br label %plane",
            "plane:",
            "  %p = phi i64 [0, %entry], [%p2, %plane_end]",
            "  %k0 = phi i64 [0, %entry], [%k1, %plane_end]",
            "  %plane_at = phi ptr [%array, %entry], [%plane_next, %plane_end]",
            "  %planes = icmp slt i64 %p, %n2",
            "  br i1 %planes, label %outer, label %done",
            "outer:",
            "  %a = phi i64 [0, %plane], [%a2, %outer_end]",
            "  %k1 = phi i64 [%k0, %plane], [%k2, %outer_end]",
            "  %outer_at = phi ptr [%plane_at, %plane], [%outer_next, %outer_end]",
            "  %outers = icmp slt i64 %a, %m0",
            "  br i1 %outers, label %inner, label %plane_end",
            "inner:",
            "  %b = phi i64 [0, %outer], [%b2, %next]",
            "  %k2 = phi i64 [%k1, %outer], [%k, %next]",
            "  %here = phi ptr [%outer_at, %outer], [%here_next, %next]",
            "  %inners = icmp slt i64 %b, %m1",
            "  br i1 %inners, label %number, label %outer_end",
            "number:",
            "  %place_p = getelementptr i64, ptr %places, i64 %k2",
            "  %place = load i64, ptr %place_p",
            "  %slot = getelementptr i8, ptr %tiles, i64 %place",
            *(["  br label %some"] if store else test),
            "some:",
            *_number(store, layout, tile_size(layout, cut, W), W, several),
            "next:",
            "  %b2 = add i64 %b, 1",
            "  %k = add i64 %k2, 1",
            "  %here_next = getelementptr i8, ptr %here, i64 %s1",
            "  br label %inner",
            "outer_end:",
            "  %a2 = add i64 %a, 1",
            "  %outer_next = getelementptr i8, ptr %outer_at, i64 %s0",
            "  br label %outer",
            "plane_end:",
            "  %p2 = add i64 %p, 1",
            "  %plane_next = getelementptr i8, ptr %plane_at, i64 %s2",
            "  br label %plane",
            "done:",
            "  ret void",
            "}\n",
        ]
    )


def _number(store: bool, layout: Layout, size: int, W: int, several: int) -> list[str]:
    """Return the moves of one number of all rows, from %slot to %here or back, then to %next."""
    item, scalar = layout.item, layout.scalar
    real, _ = types(W, scalar)
    source, target = ("near", "far") if store else ("far", "near")
    aligned = {"near": W * item, "far": item}

    def moved(label: str, far: int, note: str) -> list[str]:
        aligned = {"near": W * item, "far": far}
        lines = [f"{label}:"]
        for b in range(several):
            at = f"{label}{b}"
            lines += [
                f"  %near_{at} = getelementptr i8, ptr %near_n, i64 {b * size}",
                f"  %far_{at} = getelementptr i8, ptr %far_n, i64 {b * W * item}",
                f"  %x_{at} = load {real}, ptr %{source}_{at}, align {aligned[source]}",
                f"  store {real} %x_{at}, ptr %{target}_{at}, align {aligned[target]}{note}",
            ]
        return [*lines, "  br label %several_end"]

    choice = ["  br label %usual"]
    ways = moved("usual", item, "")
    if store:
        choice = ["  br i1 %by_lines, label %past, label %usual"]
        ways += moved("past", W * item, ", !nontemporal !{i32 1}")
    return [
        "  %address = ptrtoint ptr %here to i64",
        f"  %within = and i64 %address, {LINE_BYTES - 1}",
        "  %at_line = icmp eq i64 %within, 0",
        "  %by_lines = and i1 %at_line, %streams",
        "  br label %several",
        "several:",
        "  %n = phi i64 [0, %some], [%n_next, %several_end]",
        "  %near_n = phi ptr [%slot, %some], [%near_next, %several_end]",
        "  %far_n = phi ptr [%here, %some], [%far_next, %several_end]",
        f"  %n_next = add i64 %n, {several}",
        "  %n_more = icmp sle i64 %n_next, %blocks",
        "  br i1 %n_more, label %several_go, label %several_done",
        "several_go:",
        *choice,
        *ways,
        "several_end:",
        f"  %near_next = getelementptr i8, ptr %near_n, i64 {several * size}",
        f"  %far_next = getelementptr i8, ptr %far_n, i64 {several * W * item}",
        "  br label %several",
        "several_done:",
        "  br i1 %exact, label %next, label %single",
        "single:",
        "  %m = phi i64 [%n, %several_done], [%m_next, %single_go]",
        "  %m_more = icmp slt i64 %m, %blocks",
        "  br i1 %m_more, label %single_go, label %rest",
        "single_go:",
        f"  %tile_bytes = mul i64 %m, {size}",
        f"  %far_bytes = mul i64 %m, {W * item}",
        "  %near = getelementptr i8, ptr %slot, i64 %tile_bytes",
        "  %far = getelementptr i8, ptr %here, i64 %far_bytes",
        f"  %x = load {real}, ptr %{source}, align {aligned[source]}",
        f"  store {real} %x, ptr %{target}, align {aligned[target]}",
        "  %m_next = add i64 %m, 1",
        "  br label %single",
        "rest:",
        "  %r = phi i64 [%first_row, %single], [%r_next, %rest_go]",
        "  %r_more = icmp slt i64 %r, %end",
        "  br i1 %r_more, label %rest_go, label %next",
        "rest_go:",
        f"  %r_block = udiv i64 %r, {W}",
        f"  %r_lane = urem i64 %r, {W}",
        f"  %r_tile = mul i64 %r_block, {size}",
        f"  %r_bytes = mul i64 %r_lane, {item}",
        "  %r_place = add i64 %r_tile, %r_bytes",
        "  %r_past = icmp sgt i64 %r, %last",
        "  %r_row = select i1 %r_past, i64 %last, i64 %r",
        "  %r_far = mul i64 %r_row, %step",
        "  %near_r = getelementptr i8, ptr %slot, i64 %r_place",
        "  %far_r = getelementptr i8, ptr %here, i64 %r_far",
        f"  %y = load {scalar}, ptr %{source}_r, align {item}",
        f"  store {scalar} %y, ptr %{target}_r, align {item}",
        "  %r_next = add i64 %r, 1",
        "  br label %rest",
    ]
