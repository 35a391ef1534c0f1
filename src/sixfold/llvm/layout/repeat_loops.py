"""Repetitions between the pieces of a program: loops over rounds, in which routines run in place.

Before the first round values are copied into the region of the routine, after the last one results
are copied out of it.  Each stage of a round is a loop over the blocks of the group, like any piece.
"""

from __future__ import annotations

from sixfold.graph.program import CONST, Program
from sixfold.llvm.layout.block_loops import every_block
from sixfold.llvm.layout.pieces import interleaved_tiles, piece, result, sincos_calls, tile_size
from sixfold.llvm.layout.plan import Plan, Routine, Run
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.text.writer import Block


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
        own = _routine_name(name, r)
        body, how = routine.program, routine.plan
        texts += [piece(body, layout, how, p, W, own) for p in range(len(how.pieces))]
        if routine.moved():
            texts.append(_advance(routine, layout, W, own))
        texts += routine_functions(body, layout, how, W, own)
    for i, run in enumerate(cut.runs):
        routine = cut.routines[run.routine]
        texts.append(_enter(program, layout, cut, run, W, f"{name}_enter{i}"))
        texts.append(_leave(routine, layout, cut, run, W, f"{name}_leave{i}"))
    return texts


def _routine_name(name: str, routine: int) -> str:
    return f"{name}_r{routine}"


def _enter(program: Program, layout: Layout, cut: Plan, run: Run, W: int, name: str) -> str:
    """Return the function that copies what a routine takes into its region."""
    block = Block(W, layout.scalar)
    for slot, a in run.taken:
        op, *arguments = program.nodes[a]
        known = op == CONST
        block.write(slot, block.constant(arguments[0]) if known else block.read(cut.slot[a]))
    return block.function(f"{name}_{W}(ptr %tile)")


def _leave(routine: Routine, layout: Layout, cut: Plan, run: Run, W: int, name: str) -> str:
    """Return the function that copies results of the last round out of the region."""
    block = Block(W, layout.scalar)
    for n, k in run.results:
        if n in routine.plan.inputs and routine.feeds:
            value = block.read(routine.plan.inputs[n])
        else:
            value = result(block, routine.program, routine.plan, n)
        block.write(cut.slot[k], value)
    return block.function(f"{name}_{W}(ptr %tile)")


def _advance(routine: Routine, layout: Layout, W: int, name: str) -> str:
    """Return the function by which results become the inputs of the next round."""
    block = Block(W, layout.scalar)
    values = {n: result(block, routine.program, routine.plan, n) for n in routine.moved()}
    for n, value in values.items():
        block.write(routine.plan.inputs[n], value)
    return block.function(f"{name}_advance_{W}(ptr %tile)")


def runs_before(
    layout: Layout, cut: Plan, W: int, p: int, label: str, name: str = "piece", tag: str = ""
) -> tuple[list[str], str]:
    """Return the repetitions before a piece, and the label of the block they end in.

    Args:
        layout: gives the type of numbers.
        cut: the plan of the program, in its tile.
        W: lanes.
        p: the piece.
        label: of the block they begin in.
        name: of the program's pieces.
        tag: keeps names apart.
    """
    lines: list[str] = []
    for i, run in enumerate(cut.runs):
        if run.before == p:
            one = _Rounds(layout, cut, W, f"{tag}_{p}", label)
            one.write(run, i, name)
            lines, label = [*lines, *one.lines], one.label
    return lines, label


class _Rounds:
    """Writes one repetition."""

    def __init__(self, layout: Layout, cut: Plan, W: int, tag: str, label: str) -> None:
        self.layout, self.cut, self.W, self.tag = layout, cut, W, tag
        self.label = label
        """Of the block that is being written."""
        self.lines: list[str] = []

    def every_tile(self, stage: str, function: str, blocks: int = 1) -> None:
        """Call a function on every tile of the group."""
        stage = f"{stage}{self.tag}"
        body = [f"  call void @{function}_{self.W}(ptr %tile_{stage})"]
        size = tile_size(self.layout, self.cut, self.W)
        self.lines.append(f"  br label %{stage}")
        self.lines += every_block(stage, self.label, body, f"{stage}_end", size, blocks)
        self.begin(f"{stage}_end")

    def begin(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.label = label

    def write(self, run: Run, i: int, name: str) -> None:
        """Write the copies before and after, and the rounds between them."""
        t, routine = self.tag, self.cut.routines[run.routine]
        self.every_tile("enter", f"{name}_enter{i}")
        if run.rounds == 1:
            self._round(routine, _routine_name(name, run.routine))
        else:
            before = self.label
            self.lines.append(f"  br label %round{t}")
            self.begin(f"round{t}")
            self.lines.append(f"  %done{t} = phi i64 [0, %{before}], [%more{t}, %again{t}]")
            self._round(routine, _routine_name(name, run.routine))
            self.lines.append(f"  br label %again{t}")
            self.begin(f"again{t}")
            self.lines += [
                f"  %more{t} = add i64 %done{t}, 1",
                f"  %go{t} = icmp slt i64 %more{t}, {run.rounds}",
                f"  br i1 %go{t}, label %round{t}, label %rounds_end{t}",
            ]
            self.begin(f"rounds_end{t}")
        self.every_tile("leave", f"{name}_leave{i}")

    def _round(self, routine: Routine, name: str) -> None:
        """Write one round: the pieces of the routine, then what becomes its inputs."""
        layout, how, W = self.layout, routine.plan, self.W
        for p, members in enumerate(how.pieces):
            tag = f"{self.tag}_{p}"
            lines, self.label = runs_before(layout, how, W, p, self.label, name, tag)
            self.lines += [*lines, *sincos_calls(layout, how, W, p, tag)]
            if members:
                self.every_tile(f"routine{p}", f"{name}_{p}", interleaved_tiles(how, p, W))
        if routine.moved():
            self.every_tile("advance", f"{name}_advance")
