"""Programs as OpenCL C: one state, or one trajectory, a work item; one statement an operation.

Products are fused where the graph says so and nowhere else, constants are written in hexadecimal,
and elementary functions are those of the kernels: results have the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ctypes import c_float
from math import isfinite
from typing import Any

from sixfold.graph.program import (
    CONST,
    COPY,
    INPUT,
    Argument,
    Call,
    Final,
    Program,
    Repeat,
    Result,
)
from sixfold.graph.subroutines import Outlined
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.modules.scan import Scan
from sixfold.llvm.text.c_functions import FUNCTIONS, number
from sixfold.llvm.text.writer import SINCOS

OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt")
"""What the compiler of a device has to be told."""
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
_HEAD = "#pragma OPENCL FP_CONTRACT OFF\n"


def loop_source(program: Program, layout: Layout, name: str, own: bool = False) -> str:
    """Return the text of a kernel of arrays of states: inputs, outputs, number of states.

    The device's own elementary functions take the place of the kernels' if that is asked for; then
    single precision needs no double.
    """
    kind = layout.scalar
    dense = layout.dense
    inputs, outputs = dense.input_sizes, dense.output_sizes
    pointers = [
        *(f"__global const {kind} *a{k}" for k in range(len(inputs))),
        *(f"__global {kind} *r{k}" for k in range(len(outputs))),
    ]
    places = [f"a{k}[row * {n} + {i}]" for k, n in enumerate(inputs) for i in range(n)]
    writer = _Writer(kind, places, own=own)
    results = writer.run(program)
    targets = [f"r{k}[row * {n} + {i}]" for k, n in enumerate(outputs) for i in range(n)]
    stored = [f"{place} = {value};" for place, value in zip(targets, results, strict=True)]
    body = "\n".join(f"    {line}" for line in (*writer.lines, *stored))
    return f"""{_head(kind, own)}{_library([program], kind, own)}
__kernel void {name}({", ".join(pointers)}, const ulong states)
{{
    const ulong row = get_global_id(0);
    if (row >= states)
        return;
{body}
}}
"""


def scan_source(
    whole: Outlined, scan: Scan, name: str, shared: Sequence[bool], own: bool = False
) -> str:
    """Return the text of a kernel of trajectories: arrays, outputs, then rows, steps and every.

    Carried arrays have a row for each trajectory; fixed ones too, or one for all; the others one
    for each step, of each trajectory or of all.  Outputs have one for each trajectory and every so
    many steps.

    Args:
        whole: the step.
        scan: sizes of its arrays.
        name: of the kernel.
        shared: which of its arrays are the same for all trajectories.
        own: take the device's own elementary functions.
    """
    program, block = whole
    kind, n, carried = scan.scalar, len(scan.sizes), len(scan.carried)
    kept = carried + len(scan.fixed)
    pointers = [
        *(f"__global const {kind} *a{k}" for k in range(n)),
        *(f"__global {kind} *r{k}" for k in range(carried)),
    ]
    places: list[str] = []
    for k, size in enumerate(scan.sizes):
        if k < carried:
            places += [f"c{k}_{i}" for i in range(size)]
        else:
            first = "" if shared[k] else f"row * {size if k < kept else 'steps'}"
            if k >= kept:
                first = f"({first + ' + ' if first else ''}step) * {size}"
            places += [f"a{k}[{first + ' + ' if first else ''}{i}]" for i in range(size)]
    states = [(k, i, size) for k, size in enumerate(scan.carried) for i in range(size)]
    writer = _Writer(kind, places, own=own)
    results = writer.run(program)
    start = [f"{kind} c{k}_{i} = a{k}[row * {size} + {i}];" for k, i, size in states]
    # all results are there before the first carried number changes
    kept_now = [f"const {kind} n{m} = {value};" for m, value in enumerate(results)]
    moved = [f"c{k}_{i} = n{m};" for m, (k, i, _) in enumerate(states)]
    stored = [
        f"r{k}[(row * (steps / every) + step / every) * {size} + {i}] = c{k}_{i};"
        for k, i, size in states
    ]
    part = "" if block is None else _subroutine(kind, block, own)
    indented = "\n".join(f"        {line}" for line in (*writer.lines, *kept_now, *moved))
    return f"""{_head(kind, own)}{_library([p for p in whole if p is not None], kind, own)}
{part}
__kernel void {name}({", ".join(pointers)}, const ulong rows, const ulong steps, const ulong every)
{{
    const ulong row = get_global_id(0);
    if (row >= rows)
        return;
    {_lines(start, 4)}
    {_memory(kind, block)}
    for (ulong step = 0; step < steps; ++step) {{
{indented}
        if ((step + 1) % every == 0) {{
            {_lines(stored, 12)}
        }}
    }}
}}
"""


def _head(kind: str, own: bool) -> str:
    return _HEAD if own and kind == "float" else _DOUBLE + _HEAD


def _lines(lines: Sequence[str], indent: int) -> str:
    return f"\n{' ' * indent}".join(lines)


def _memory(kind: str, block: Program | None) -> str:
    if block is None:
        return ""
    return f"{kind} given[{block.inputs}], found[{len(block.outputs)}];"


def _subroutine(kind: str, block: Program, own: bool) -> str:
    writer = _Writer(kind, [f"given[{k}]" for k in range(block.inputs)], own=own)
    results = writer.run(block)
    lines = [*writer.lines, *(f"found[{k}] = {value};" for k, value in enumerate(results))]
    body = "\n".join(f"    {line}" for line in lines)
    return f"void sixfold_block(const {kind} *given, {kind} *found)\n{{\n{body}\n}}\n"


def _library(programs: Sequence[Program], kind: str, own: bool) -> str:
    """Return the functions that programs call, if they are not the device's own."""
    if own:
        return ""
    used = {op for program in programs for op in program.names()}
    names = [name for name in FUNCTIONS if name in used]
    if used & {"sin", "cos"}:
        names.insert(0, SINCOS[kind])
    return "\n".join(FUNCTIONS[name]() for name in names)


class _Writer:
    """Collects the statements of a program."""

    def __init__(
        self, kind: str, places: Sequence[str], mark: str = "", *, own: bool = False
    ) -> None:
        """Take the kind of numbers, where inputs are, and what sets its names apart."""
        self.kind, self.places, self.mark, self.own = kind, places, mark, own
        self.lines: list[str] = []
        self.pairs: dict[str, str] = {}

    def run(self, program: Program) -> list[str]:
        """Write all nodes; return the expressions of the results."""
        words: list[str] = []
        for k, (op, *arguments) in enumerate(program.nodes):
            given = [] if op in (INPUT, CONST) else [words[a] for a in arguments]
            if op == CONST:
                words.append(self._constant(arguments[0]))
            elif isinstance(op, Argument):
                self.lines.append(f"given[{op.place}] = {given[0]};")
                words.append("")
            elif isinstance(op, Call):
                self.lines.append("sixfold_block(given, found);")
                words.append("")
            elif isinstance(op, Repeat):
                words.append(self._repeated(op, f"b{self.mark}{k}", given))
            elif isinstance(op, Final):
                words.append(f"{given[0]}[{op.place}]")
            else:
                name = f"t{self.mark}{k}"
                value = (
                    self.places[arguments[0]]
                    if op == INPUT
                    else f"found[{op.place}]"
                    if isinstance(op, Result)
                    else self._operation(op, k, given)
                )
                self.lines.append(f"const {self.kind} {name} = {value};")
                words.append(name)
        return [words[k] for k in program.outputs]

    def _repeated(self, op: Repeat, name: str, given: Sequence[str]) -> str:
        """Write a repetition; return the array of its results."""
        results, looped = len(op.body.outputs), op.rounds > 1
        places = [f"{name}[{k}]" for k in range(results)] if looped else []
        inner = _Writer(self.kind, [*places, *given[len(places) :]], f"{name}_", own=self.own)
        found = inner.run(op.body)
        start = [f"{place} = {value};" for place, value in zip(places, given, strict=False)]
        # all results are there before the first carried number changes
        new = [f"const {self.kind} n{name}_{k} = {value};" for k, value in enumerate(found)]
        moved = [f"{name}[{k}] = n{name}_{k};" for k in range(results)]
        loop = f"for (int r{name} = 0; r{name} < {op.rounds}; ++r{name}) {{" if looped else "{"
        self.lines += [f"{self.kind} {name}[{results}];", *start, loop]
        stop = [] if op.going is None else [f"if (!({name}[{op.going}] > 0)) break;"]
        self.lines += [f"    {line}" for line in (*stop, *inner.lines, *new, *moved)] + ["}"]
        return name

    def _constant(self, x: float) -> str:
        if self.kind == "double":
            return number(x)
        rounded = c_float(x).value
        if self.own and isfinite(rounded):
            text = f"{rounded.hex()}f"
            return f"({text})" if text.startswith("-") else text
        return f"as_float({_bits(rounded)})" if self.own else f"(float){number(rounded)}"

    def _operation(self, op: Any, k: int, x: list[str]) -> str:
        if op == COPY:
            return x[0]
        if op in _INFIX:
            return f"{x[0]} {_INFIX[op]} {x[1]}"
        if self.own and (op in FUNCTIONS or op in ("sin", "cos")):
            return f"{op}({', '.join(x)})"
        if op in ("sin", "cos"):
            if x[0] not in self.pairs:
                self.pairs[x[0]] = f"p{self.mark}{k}"
                pair = f"{self.kind}2 {self.pairs[x[0]]}"
                self.lines.append(f"const {pair} = sixfold_{SINCOS[self.kind]}({x[0]});")
            return f"{self.pairs[x[0]]}.{'x' if op == 'sin' else 'y'}"
        if op in FUNCTIONS:
            return f"({self.kind})sixfold_{op}({', '.join(x)})"
        zero = self._constant(0.0)
        one, minus = self._constant(1.0), self._constant(-1.0)
        return {
            "neg": "-({0})",
            "fma": "fma({0}, {1}, {2})",
            "fms": "fma({0}, {1}, -({2}))",
            "fnma": "fma(-({0}), {1}, {2})",
            "sqrt": "sqrt({0})",
            "abs": "fabs({0})",
            "sign": f"{{0}} > {zero} ? {one} : ({{0}} < {zero} ? {minus} : {{0}} * {zero})",
            "if_positive": f"{{0}} > {zero} ? {{1}} : ({{0}} <= {zero} ? {{2}} : {{0}})",
        }[op].format(*x)


def _bits(x: float) -> str:
    return f"0x{struct.unpack('>I', struct.pack('>f', x))[0]:08X}"
