"""Programs as OpenCL C: one state, or one trajectory, a work item; one statement an operation.

Products are fused where the graph says so and nowhere else, constants are written in hexadecimal,
and elementary functions are those of the kernels: results have the same bits.  These functions are
translated from their LLVM text for one lane, instruction by instruction, so there is one source
for both.  Only the reduction of huge angles, whose whole numbers have 256 bits in LLVM, is written
out here with words of 64 bits.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from ctypes import c_float
from functools import cache, lru_cache
from math import isfinite
from typing import Any

from sixfold.codegen.languages import Statements
from sixfold.compiler.graph.program import COPY, Argument, Call, Final, Program, Repeat, Result
from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.modules.scan import Scan
from sixfold.compiler.llvm.text import elementary, sincos
from sixfold.compiler.llvm.text.instructions import Text
from sixfold.compiler.llvm.text.writer import SINCOS
from sixfold.runtime import ArrayFunction

#: Options for the compiler of a device.
OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt")
_DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
_HEAD = "#pragma OPENCL FP_CONTRACT OFF\n"


# -- kernels


def function_source(core: ArrayFunction, dtype: str, own: bool) -> str:
    """Return the text of a kernel `run` of arrays of states: inputs, outputs, number of states.

    With `own`, elementary functions are the device's; then single precision needs no double.
    """
    program, layout = core.program, Layout(core.inputs, core.flat_outputs, dtype)
    kind = layout.scalar
    dense = layout.dense
    inputs, outputs = dense.input_sizes, dense.output_sizes
    # arrays of the kernel, and where each input and result lies
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
__kernel void run({", ".join(pointers)}, const ulong states)
{{
    const ulong row = get_global_id(0);
    if (row >= states)
        return;
{body}
}}
"""


def rollout_source(texts: Sequence[str], scan: Scan, shared: Sequence[bool], own: bool) -> str:
    """Return the text of a kernel `run` of trajectories: arrays, outputs, rows, steps and every.

    Carried arrays have a row for each trajectory; fixed ones too, or one for all; the others one
    for each step, of each trajectory or of all.  Outputs have one for each trajectory and every so
    many steps.

    Args:
        texts: of the step and its subroutine, as `ScanKernel` keeps them.
        scan: sizes of its arrays.
        shared: which of its arrays are the same for all trajectories.
        own: whether elementary functions are the device's.
    """
    # the step, and the subroutine that it calls, if any
    program, *blocks = map(Program.parse, texts)
    block = blocks[0] if blocks else None
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
    # carried numbers are variables of the work item
    states = [(k, i, size) for k, size in enumerate(scan.carried) for i in range(size)]
    writer = _Writer(kind, places, own=own)
    results = writer.run(program)
    start = [f"{kind} c{k}_{i} = a{k}[row * {size} + {i}];" for k, i, size in states]
    # compute all results before the first carried number changes
    kept_now = [f"const {kind} n{m} = {value};" for m, value in enumerate(results)]
    moved = [f"c{k}_{i} = n{m};" for m, (k, i, _) in enumerate(states)]
    stored = [
        f"r{k}[(row * (steps / every) + step / every) * {size} + {i}] = c{k}_{i};"
        for k, i, size in states
    ]
    part = "" if block is None else _subroutine(kind, block, own)
    indented = "\n".join(f"        {line}" for line in (*writer.lines, *kept_now, *moved))
    return f"""{_head(kind, own)}{_library([program, *blocks], kind, own)}
{part}
__kernel void run({", ".join(pointers)}, const ulong rows, const ulong steps, const ulong every)
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
    # a function of the arrays `given` and `found`
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
    parts = [sincos_functions(kind)] if used & {"sin", "cos"} else []
    parts += [elementary_function(name) for name in elementary.FUNCTIONS if name in used]
    return "\n".join(parts)


class _Writer(Statements):
    """Writes the statements of a program, repetitions and calls of the subroutine included."""

    def __init__(self, kind: str, inputs: Sequence[str], mark: str = "", *, own: bool) -> None:
        """Take the type of numbers; `own` selects the device's own elementary functions."""
        super().__init__("opencl", inputs, declare=f"const {kind} ", end=";", mark=mark)
        self.kind, self.own = kind, own
        self.pairs: dict[str, str] = {}  # sine and cosine by the angle

    def input(self, place: str, k: int) -> str:
        """Read an input into a variable."""
        return self.assign(k, place)

    def node(self, op: Any, k: int, given: list[str]) -> str:
        """Write a node; return its name."""
        if isinstance(op, Argument):
            self.lines.append(f"given[{op.place}] = {given[0]};")
            return ""
        if isinstance(op, Call):
            self.lines.append("sixfold_block(given, found);")
            return ""
        if isinstance(op, Repeat):
            return self._repeat(op, f"b{self.mark}{k}", given)
        if isinstance(op, Final):
            return f"{given[0]}[{op.place}]"
        if isinstance(op, Result):
            return self.assign(k, f"found[{op.place}]")
        if op == COPY:
            return self.assign(k, given[0])
        if op in ("sin", "cos") and not self.own:
            return self.assign(k, self._sine(op, k, given[0]))
        constants = {"zero": 0.0, "one": 1.0, "minus_one": -1.0}
        words = {name: self.constant(x) for name, x in constants.items()}
        return self.assign(k, self.operation(op).format(*given, **words))

    def operation(self, op: str) -> str:
        """Return the text of an operation; functions of the kernels have a prefix."""
        text = super().operation(op)
        return (
            f"({self.kind})sixfold_{text}" if op in elementary.FUNCTIONS and not self.own else text
        )

    def _sine(self, op: str, k: int, x: str) -> str:
        """Return the sine or cosine of an angle; both are computed together, once."""
        if x not in self.pairs:
            pair = self.pairs[x] = f"p{self.mark}{k}"
            call = f"sixfold_{SINCOS[self.kind]}({x})"
            self.lines.append(f"const {self.kind}2 {pair} = {call};")
        return f"{self.pairs[x]}.{'x' if op == 'sin' else 'y'}"

    def _repeat(self, op: Repeat, name: str, given: Sequence[str]) -> str:
        """Write a repetition; return the name of the array of its results."""
        # carried values in an array; values from outside are used where they are
        results, looped = len(op.body.outputs), op.rounds > 1
        places = [f"{name}[{k}]" for k in range(results)] if looped else []
        inner = _Writer(self.kind, [*places, *given[len(places) :]], f"{name}_", own=self.own)
        found = inner.run(op.body)
        start = [f"{place} = {value};" for place, value in zip(places, given, strict=False)]
        # compute all results before the first carried number changes
        new = [f"const {self.kind} n{name}_{k} = {value};" for k, value in enumerate(found)]
        moved = [f"{name}[{k}] = n{name}_{k};" for k in range(results)]
        loop = f"for (int r{name} = 0; r{name} < {op.rounds}; ++r{name}) {{" if looped else "{"
        self.lines += [f"{self.kind} {name}[{results}];", *start, loop]
        stop = [] if op.going is None else [f"if (!({name}[{op.going}] > 0)) break;"]
        self.lines += [f"    {line}" for line in (*stop, *inner.lines, *new, *moved)] + ["}"]
        return name

    def constant(self, x: float) -> str:
        """Return a constant without rounding."""
        if self.kind == "double":
            return number(x)
        rounded = c_float(x).value
        if self.own and isfinite(rounded):
            text = f"{rounded.hex()}f"
            return f"({text})" if text.startswith("-") else text
        return f"as_float({_bits(rounded)})" if self.own else f"(float){number(rounded)}"


def _bits(x: float) -> str:
    return f"0x{struct.unpack('>I', struct.pack('>f', x))[0]:08X}"


# -- elementary functions, translated from LLVM

_INFIX = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_WHOLE = {"and": "&", "or": "|", "xor": "^", "add": "+", "sub": "-", "shl": "<<", "lshr": ">>"}
#: Comparisons of reals, then of whole numbers.
_TESTS = {
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "oeq": "{0} == {1}",
    "ult": "!({0} >= {1})",
    "ugt": "!({0} <= {1})",
    "uno": "isnan({0}) || isnan({1})",
    "ne": "{0} != {1}",
    "slt": "{0} < {1}",
}
_KINDS = {"double": "double", "float": "float", "i64": "long", "i32": "int", "i1": "int"}


def number(x: float) -> str:
    """Return a double without rounding; in brackets if negative."""
    if x != x or x in (float("inf"), float("-inf")):
        return f"as_double(0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}UL)"
    text = x.hex()
    return f"({text})" if text.startswith("-") else text


def _operand(text: str, kind: str = "double") -> str:
    text = text.strip()
    if text.startswith("%"):
        return text[1:]
    if text.startswith("0x"):
        value = number(struct.unpack(">d", bytes.fromhex(text[2:]))[0])
        return f"(float){value}" if kind == "float" else value
    whole = int(text)
    if kind == "i32":
        return f"as_int(0x{whole & (2**32 - 1):08X}U)" if abs(whole) >= 2**31 else str(whole)
    return f"as_long(0x{whole & (2**64 - 1):016X}UL)" if abs(whole) > 2**31 else str(whole)


def translate(lines: Sequence[str]) -> list[str]:
    """Return straight-line instructions of LLVM on one lane as statements of OpenCL C."""
    return [_statement(*line.strip().split(" = ", 1)) for line in lines]


def _statement(name: str, text: str) -> str:
    op, _, rest = text.partition(" ")
    kind, _, operands = rest.partition(" ")
    infix = op in {**_INFIX, **_WHOLE}
    x = [_operand(part, kind) for part in operands.split(",")] if infix else []
    if op in _INFIX:
        value = f"{x[0]} {_INFIX[op]} {x[1]}"
    elif op in _WHOLE:
        whole = _KINDS[kind]
        value = f"({whole})((u{whole})({x[0]}) {_WHOLE[op]} (u{whole})({x[1]}))"
    elif op == "ashr":
        value = " >> ".join(_operand(part) for part in operands.split(","))
    elif op == "fneg":
        value = f"-{_operand(operands)}"
    elif op == "call":
        function = re.fullmatch(rf"{kind} @llvm\.(\w+)\.f(?:64|32)\((.*)\)", rest)
        assert function is not None, text
        parts = [_operand(part.replace(kind, ""), kind) for part in function[2].split(",")]
        value = f"{function[1]}({', '.join(parts)})"
    elif op in ("fcmp", "icmp"):
        of, _, both = operands.partition(" ")
        a, b = (_operand(part, of) for part in both.split(","))
        return f"const int {name[1:]} = {_TESTS[kind].format(a, b)};"
    elif op == "select":
        test, a, b = operands.split(",")
        kind = a.split()[0]
        first, second = (_operand(part.split()[1], kind) for part in (a, b))
        value = f"{_operand(test)} ? {first} : {second}"
    elif op == "bitcast":
        given, to = operands.split(" to ")
        kind = to
        value = f"as_{_KINDS[to]}({_operand(given)})"
    else:
        raise AssertionError(f"no C for {text}")
    return f"const {_KINDS[kind]} {name[1:]} = {value};"


def _function(head: str, lines: Sequence[str], result: str) -> str:
    body = "\n".join(f"    {line}" for line in (*translate(lines), f"return {result};"))
    return f"{head}\n{{\n{body}\n}}\n"


@lru_cache(maxsize=1)
def huge_functions() -> str:
    """Return double2 sixfold_sincos_huge(double): sine and cosine of numbers beyond 1e5."""
    t = Text(1)
    s, c = sincos.polynomials(t, "%r", "%tail", "%quadrant")
    head = "double2 sixfold_polynomials(double r, double tail, long quadrant)"
    polynomials = _function(head, t.lines, f"(double2)({_operand(s)}, {_operand(c)})")
    words = ", ".join(f"0x{word:016X}UL" for word in sincos.two_over_pi_words())
    pi, pi_low = (number(float(x)) for x in (sincos.P1, sincos.REST))
    return polynomials + "\n" + _HUGE.format(words=words, pi=pi, pi_low=pi_low)


@lru_cache(maxsize=2)
def sincos_functions(kind: str) -> str:
    """Return double2 sixfold_sincos(double) or float2 sixfold_sincos_single(float)."""
    t = Text(1, kind)
    s, c, huge = sincos.fast(t, "%x")
    slow = "sixfold_sincos_huge(x)"
    if kind == "float":
        slow = f"convert_float2({slow})"
    fast = f"({kind}2)({_operand(s)}, {_operand(c)})"
    result = f"{_operand(huge)} && x - x == ({kind})0 ? {slow} : {fast}"
    head = f"{kind}2 sixfold_{SINCOS[kind]}({kind} x)"
    return huge_functions() + "\n" + _function(head, t.lines, result)


_HUGE = """
__constant ulong sixfold_two_over_pi[] = {{{words}}};

double2 sixfold_sincos_huge(double x)
{{
    const ulong bits = as_ulong(fabs(x));
    const ulong m = (bits & 0xFFFFFFFFFFFFFUL) | 0x10000000000000UL;
    const ulong start = (bits >> 52) - 1013UL;
    const ulong shift = start & 63UL;
    __constant const ulong *w = sixfold_two_over_pi + (start >> 6);
    ulong a[3], p[3];
    for (int k = 0; k < 3; ++k)
        a[k] = shift ? (w[k] << shift) | (w[k + 1] >> (64UL - shift)) : w[k];
    /* position in one turn, 192 bits, unit 2^-190 quadrants */
    p[2] = a[2] * m;
    const ulong carry = mul_hi(a[2], m);
    p[1] = a[1] * m + carry;
    p[0] = a[0] * m + mul_hi(a[1], m) + (p[1] < carry ? 1UL : 0UL);
    const ulong rounded = p[0] + (1UL << 61);
    const long quadrant = (long)((rounded >> 62) | (rounded < p[0] ? 4UL : 0UL));
    /* less the nearest quadrant, without its sign */
    p[0] -= (ulong)quadrant << 62;
    const int below = as_long(p[0]) < 0;
    if (below) {{
        p[2] = ~p[2] + 1UL;
        p[1] = ~p[1] + (p[2] == 0UL ? 1UL : 0UL);
        p[0] = ~p[0] + (p[2] == 0UL && p[1] == 0UL ? 1UL : 0UL);
    }}
    ulong zeros = 64UL;
    while (p[0] == 0UL) {{
        p[0] = p[1];
        p[1] = p[2];
        p[2] = 0UL;
        zeros += 64UL;
    }}
    const ulong left = clz(p[0]);
    if (left) {{
        p[0] = (p[0] << left) | (p[1] >> (64UL - left));
        p[1] = (p[1] << left) | (p[2] >> (64UL - left));
    }}
    zeros += left;
    const double scale = as_double((1036UL - zeros) << 52);
    const double high = (double)(p[0] >> 11) * scale;
    const double low = (double)(((p[0] << 53) | (p[1] >> 11)) >> 11) * (scale * 0x1p-53);
    const double r0 = high * {pi};
    const double t0 = fma(high, {pi_low}, fma(low, {pi}, fma(high, {pi}, -r0)));
    const double r1 = r0 + t0;
    const double t1 = (r0 - r1) + t0;
    const double2 found =
        sixfold_polynomials(below ? -r1 : r1, below ? -t1 : t1, quadrant);
    return (double2)(x < 0.0 ? -found.x : found.x, found.y);
}}
"""


@cache
def elementary_function(name: str) -> str:
    """Return double sixfold_name(double, ...): a function but sine and cosine."""
    head = rf"define internal double @{name}_1\((.*?)\) noinline {{\n(.*?)\n}}"
    found = re.search(head, elementary.FUNCTIONS[name](1), re.S)
    assert found is not None, name
    arguments = found[1].replace("%", "")
    *lines, last = found[2].splitlines()
    return _function(f"double sixfold_{name}({arguments})", lines, _operand(last.split()[-1]))
