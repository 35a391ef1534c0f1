"""Programs as LLVM text for Nvidia GPUs: one state a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sixfold.compiler.graph.program import CONST, INPUT, Program
from sixfold.compiler.llvm.layout.pieces import library
from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.text.writer import Block

#: Registers with a thread's number in its block, the block's number, and threads of a block.
_PLACES = ("tid", "ctaid", "ntid")


def module(program: Program, layout: Layout, name: str) -> str:
    """Return the text of a kernel of arrays in global memory: inputs, outputs, number of states.

    Results must not overlap arguments.
    """
    program, dense = fewest_live(program), layout.dense
    inputs, outputs = dense.input_sizes, dense.output_sizes
    block = Block(1, layout.scalar)
    # array, size and place of each input and result
    numbers = [(k, n, i) for k, n in enumerate(inputs) for i in range(n)]
    targets: dict[int, list[tuple[int, int, int]]] = {}
    places = [(k, n, i) for k, n in enumerate(outputs) for i in range(n)]
    for found, target in zip(program.outputs, places, strict=True):
        targets.setdefault(found, []).append(target)
    words: dict[int, str] = {}

    def value(n: int) -> str:
        # arguments are loaded where they are first needed, which takes fewer registers
        if n not in words:
            place = _place(block, layout, "a", *numbers[program.nodes[n][1]])
            load = f"load {layout.scalar}, ptr addrspace(1) {place}, align {layout.item}"
            words[n] = block.emit(load)
        return words[n]

    for n, (op, *arguments) in enumerate(program.nodes):
        if op == CONST:
            words[n] = block.splat(arguments[0])
        elif op != INPUT:
            words[n] = block.operation(op, [value(a) for a in arguments])
        # store results as soon as they are known, which frees registers
        for target in targets.get(n, ()):
            place = _place(block, layout, "r", *target)
            stored = f"{layout.scalar} {value(n)}"
            block.lines.append(f"  store {stored}, ptr addrspace(1) {place}, align {layout.item}")
    pointers = [f"a{k}" for k in range(len(inputs))] + [f"r{k}" for k in range(len(outputs))]
    given = ", ".join(f"ptr addrspace(1) noalias %{x}" for x in pointers)
    registers = "\n".join(
        f"  %{x} = call i32 @llvm.nvvm.read.ptx.sreg.{x}.x()\n  %{x}_wide = zext i32 %{x} to i64"
        for x in _PLACES
    )
    declared = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{x}.x()" for x in _PLACES)
    body = "\n".join(block.lines)
    return f"""{library(dense, 1, program.names())}
{declared}
define ptx_kernel void @{name}({given}, i64 %states) {{
entry:
{registers}
  %before = mul i64 %ctaid_wide, %ntid_wide
  %row = add i64 %before, %tid_wide
  %there = icmp ult i64 %row, %states
  br i1 %there, label %work, label %end
work:
{body}
  br label %end
end:
  ret void
}}
"""


def fewest_live(program: Program) -> Program:
    """Return the program in the order that keeps the fewest values at once; the bits are the same.

    A thread has 255 registers.  Three orders are tried: that of the trace, and those in which each
    result is preceded by what it needs, from the first result on or from the last.
    """
    wanted = program.outputs
    return min(
        program,
        _ordered_by_demand(program, wanted),
        _ordered_by_demand(program, wanted[::-1]),
        key=_peak,
    )


def _ordered_by_demand(program: Program, outputs: Sequence[int]) -> Program:
    """Return the program with each node just before the first that needs it."""
    # depth first from the results, with an explicit stack
    place: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []
    pending = list(reversed(outputs))
    while pending:
        n = pending[-1]
        op, *arguments = program.nodes[n]
        leaf = op in (INPUT, CONST)
        missing = [] if leaf or n in place else [a for a in arguments if a not in place]
        if missing:
            pending += reversed(missing)
            continue
        pending.pop()
        if n not in place:
            place[n] = len(nodes)
            nodes.append((op, *(arguments if leaf else [place[a] for a in arguments])))
    return Program(program.inputs, tuple(nodes), tuple(place[n] for n in program.outputs))


def _peak(program: Program) -> int:
    """Return the largest number of values that are live at once."""
    # the last operation that reads each value
    last: dict[int, int] = {}
    for n, (op, *arguments) in enumerate(program.nodes):
        if op not in (INPUT, CONST):
            last.update(dict.fromkeys(arguments, n))
    live: set[int] = set()
    peak = 0
    for n, (op, *arguments) in enumerate(program.nodes):
        if op in (INPUT, CONST):
            continue
        live.update(a for a in arguments if program.nodes[a][0] == INPUT)
        live.add(n)
        peak = max(peak, len(live))
        live -= {a for a in arguments if last[a] == n}
        if n not in last:
            live.discard(n)  # a result, which is in memory
    return peak


def _place(block: Block, layout: Layout, letter: str, k: int, size: int, i: int) -> str:
    """Return a pointer to element i of this thread's row of an array."""
    start = block.emit(f"mul i64 %row, {size}")
    index = block.emit(f"add i64 {start}, {i}")
    kind = layout.scalar
    return block.emit(f"getelementptr {kind}, ptr addrspace(1) %{letter}{k}, i64 {index}")
