"""Repetitions between the pieces of a program: loops over rounds, in which routines run in place.

Before the first round values are copied into the region of the routine.  After the last one results
are copied out of it, unless they were computed in their places.  Each stage of a round is a loop
over the blocks of the group, like any piece.  All of it is in functions of the tiles of a group:
however many repetitions there are, the function that drives the pieces stays short, and a routine
is there once.
"""

from __future__ import annotations

from collections.abc import Callable

from sixfold.compiler.graph.program import CONST, Program
from sixfold.compiler.llvm.layout.pieces import (
    every_block,
    piece,
    result,
    sincos_calls,
    tile_block,
    tile_size,
)
from sixfold.compiler.llvm.layout.plan import Plan, Routine, Run
from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.text.instructions import types
from sixfold.compiler.llvm.text.writer import Block


def routine_functions(
    program: Program, layout: Layout, cut: Plan, W: int, name: str = "piece"
) -> list[str]:
    """Return what repetitions of a program call: pieces of routines, and copies.

    Args:
        program: that has the repetitions.
        layout: gives the type of numbers.
        cut: the plan of the program, in its tile.
        W: lanes.
        name: of the program's own pieces.
    """
    texts: list[str] = []
    for r, routine in enumerate(cut.routines):
        own = f"{name}_r{r}"
        body, how = routine.program, routine.plan
        texts += [piece(body, layout, how, p, W, own) for p in range(len(how.pieces))]
        if routine.results_to_move():
            texts.append(_advance(routine, layout, W, own))
        if routine.going is not None:
            texts.append(_going(routine, routine.going, layout, W, own))
        texts += routine_functions(body, layout, how, W, own)
        texts.append(_rounds(routine, layout, W, own))
    for i, run in enumerate(cut.runs):
        routine = cut.routines[run.routine]
        texts.append(_run(layout, cut, run, W, name, i))
        texts.append(_enter(program, layout, cut, run, W, f"{name}_enter{i}"))
        if run.results_to_copy(cut.slot):
            texts.append(_leave(routine, layout, cut, run, W, f"{name}_leave{i}"))
    return texts


def _enter(program: Program, layout: Layout, cut: Plan, run: Run, W: int, name: str) -> str:
    """Return the function that copies what a routine takes into its region."""

    def copy(block: Block, place: tuple[int, int]) -> None:
        slot, a = place
        op, *arguments = program.nodes[a]
        value = block.splat(arguments[0]) if op == CONST else block.read(cut.slot[a])
        block.write(slot, value)

    return _copies(layout, cut, W, f"{name}_{W}", list(run.taken), copy)


def _leave(routine: Routine, layout: Layout, cut: Plan, run: Run, W: int, name: str) -> str:
    """Return the function that copies results of the last round out of the region."""

    def copy(block: Block, place: tuple[int, int]) -> None:
        n, k = place
        if run.returned is not None:
            value = block.read(run.returned + n)
        elif n in routine.plan.inputs and routine.feeds:
            value = block.read(routine.plan.inputs[n])
        else:
            value = result(block, routine.program, routine.plan, n)
        block.write(cut.slot[k], value)

    return _copies(layout, cut, W, f"{name}_{W}", list(run.results_to_copy(cut.slot)), copy)


#: Values that one function copies at most: LLVM takes its time by the square of a long function.
MAX_COPIES = 256


def _copies(
    layout: Layout,
    cut: Plan,
    W: int,
    name: str,
    places: list[tuple[int, int]],
    copy: Callable[[Block, tuple[int, int]], None],
) -> str:
    """Return @name(tile), which copies values; many by functions of a part each."""
    starts = range(0, len(places), MAX_COPIES) or range(1)
    texts = []
    for n, start in enumerate(starts):
        block = tile_block(layout, cut, W)
        for place in places[start : start + MAX_COPIES]:
            copy(block, place)
        texts.append(block.function(f"{name}{f'_{n}' if len(starts) > 1 else ''}(ptr %tile)"))
    if len(starts) > 1:
        block = tile_block(layout, cut, W)
        block.lines += [f"  call void @{name}_{n}(ptr %tile)" for n in range(len(starts))]
        texts.append(block.function(f"{name}(ptr %tile)"))
    return "\n".join(texts)


def _advance(routine: Routine, layout: Layout, W: int, name: str) -> str:
    """Return the function by which results become the inputs of the next round."""
    block = tile_block(layout, routine.plan, W)
    values = {n: result(block, routine.program, routine.plan, n) for n in routine.results_to_move()}
    for n, value in values.items():
        block.write(routine.plan.inputs[n], value)
    return block.function(f"{name}_advance_{W}(ptr %tile)")


def _going(routine: Routine, place: int, layout: Layout, W: int, name: str) -> str:
    """Return @name_going_W(tiles, count): whether a carried value is positive in any lane."""
    real, _ = types(W, layout.scalar)
    size, offset = tile_size(layout, routine.plan, W), routine.plan.inputs[place] * W * layout.item
    mask = f"i{W}"
    compared = "zeroinitializer" if W > 1 else "0.0"
    lines = [
        f"define internal i1 @{name}_going_{W}(ptr %tiles, i64 %count) noinline {{",
        "entry:",
        "  br label %tile",
        "tile:",
        "  %b = phi i64 [0, %entry], [%next, %tile]",
        f"  %o = mul i64 %b, {size}",
        f"  %from = add i64 %o, {offset}",
        "  %at = getelementptr i8, ptr %tiles, i64 %from",
        f"  %x = load {real}, ptr %at, align {layout.item}",
        f"  %on = fcmp ogt {real} %x, {compared}",
        f"  %bits = bitcast {f'<{W} x i1>' if W > 1 else 'i1'} %on to {mask}",
        f"  %some = icmp ne {mask} %bits, 0",
        "  %next = add i64 %b, 1",
        "  %rest = icmp slt i64 %next, %count",
        "  %none = xor i1 %some, true",
        "  %more = and i1 %rest, %none",
        "  br i1 %more, label %tile, label %end",
        "end:",
        "  ret i1 %some",
        "}\n",
    ]
    return "\n".join(lines)


def run_calls(cut: Plan, W: int, p: int, name: str = "piece") -> list[str]:
    """Return the calls that run repetitions before a piece, in all tiles.

    Args:
        cut: the plan of the program.
        W: lanes.
        p: the piece.
        name: of the program's pieces.
    """
    return [
        f"  call void @{name}_run{i}_{W}(ptr %tiles, i64 %count)"
        for i, run in enumerate(cut.runs)
        if run.before == p
    ]


def _run(layout: Layout, cut: Plan, run: Run, W: int, name: str, i: int) -> str:
    """Return @name_run_W(tiles, count): one repetition, with the copies before and after it."""
    size = tile_size(layout, cut, W)
    enter = [f"  call void @{name}_enter{i}_{W}(ptr %tile_enter)"]
    leave = [f"  call void @{name}_leave{i}_{W}(ptr %tile_leave)"]
    rounds = f"@{name}_r{run.routine}_rounds_{W}"
    place = (run.returned or 0) * W * layout.item
    ends = (
        every_block("leave", "between", leave, "end", size) if run.results_to_copy(cut.slot) else ()
    )
    lines = [
        f"define internal void @{name}_run{i}_{W}(ptr %tiles, i64 %count) noinline {{",
        "entry:",
        "  br label %enter",
        *every_block("enter", "entry", enter, "between", size),
        "between:",
        f"  call void {rounds}(ptr %tiles, i64 %count, i64 {run.rounds}, i64 {place})",
        f"  br label %{'leave' if ends else 'end'}",
        *ends,
        "end:",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)


def _rounds(routine: Routine, layout: Layout, W: int, name: str) -> str:
    """Return @name_rounds_W(tiles, count, rounds, place): pieces, then the next inputs.

    Results go to `place` bytes after the start of a tile, if the routine returns them.
    """
    # all pieces of a round, each for all blocks of the group
    how = routine.plan
    size, label = tile_size(layout, how, W), "round"
    ends_early = routine.going is not None
    going = f"call i1 @{name}_going_{W}(ptr %tiles, i64 %count)"
    lines = [
        f"define internal void @{name}_rounds_{W}"
        "(ptr %tiles, i64 %count, i64 %rounds, i64 %place) noinline {",
        "entry:",
        *([f"  %any = {going}"] if ends_early else ()),
        f"  br {'i1 %any, label %round, label %end' if ends_early else 'label %round'}",
        "round:",
        "  %done = phi i64 [0, %entry], [%more, %again]",
    ]
    for p, members in enumerate(how.pieces):
        lines += [*run_calls(how, W, p, name), *sincos_calls(layout, how, W, p)]
        if members:
            here, after = f"stage{p}", f"after{p}"
            function = f"{name}_{p}_{W}"
            body = [f"  call void @{function}(ptr %tile_{here})"]
            if how.returns:
                body = [
                    f"  %returned_{here} = getelementptr i8, ptr %tile_{here}, i64 %place",
                    f"  call void @{function}(ptr %tile_{here}, ptr %returned_{here})",
                ]
            lines.append(f"  br label %{here}")
            lines += every_block(here, label, body, after, size)
            lines.append(f"{after}:")
            label = after
    if routine.results_to_move():
        body = [f"  call void @{name}_advance_{W}(ptr %tile_advance)"]
        lines.append("  br label %advance")
        lines += every_block("advance", label, body, "again", size)
    else:
        lines.append("  br label %again")
    lines += [
        "again:",
        "  %more = add i64 %done, 1",
        "  %left = icmp slt i64 %more, %rounds",
        *([f"  %still = {going}"] if ends_early else ()),
        f"  %go = and i1 %left, {'%still' if ends_early else 'true'}",
        "  br i1 %go, label %round, label %end",
        "end:",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)
