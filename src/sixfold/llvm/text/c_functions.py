"""The elementary functions of kernels as OpenCL C, with the same bits.

They are translated from the LLVM text of one lane, instruction by instruction, so there is one
source for both.  Only the reduction of huge angles, whose whole numbers have 256 bits in LLVM, is
written out here with words of 64 bits.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from sixfold.llvm.text import atan2, elementary, huge_angles, sincos
from sixfold.llvm.text.instructions import Text
from sixfold.llvm.text.writer import SINCOS

_INFIX = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_WHOLE = {"and": "&", "or": "|", "xor": "^", "add": "+", "sub": "-", "shl": "<<", "lshr": ">>"}
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
"""Comparisons of reals, then of whole numbers."""
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


def translated(lines: Sequence[str]) -> list[str]:
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
    body = "\n".join(f"    {line}" for line in (*translated(lines), f"return {result};"))
    return f"{head}\n{{\n{body}\n}}\n"


@lru_cache(maxsize=1)
def huge_functions() -> str:
    """Return double2 sixfold_sincos_huge(double): sine and cosine of numbers beyond 1e5."""
    t = Text(1)
    s, c = sincos.polynomials(t, "%r", "%tail", "%quadrant")
    head = "double2 sixfold_polynomials(double r, double tail, long quadrant)"
    polynomials = _function(head, t.lines, f"(double2)({_operand(s)}, {_operand(c)})")
    words = ", ".join(f"0x{word:016X}UL" for word in huge_angles.two_over_pi_words())
    pi, pi_low = (number(float(x)) for x in (huge_angles.P1, huge_angles.REST))
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


def _elementary(name: str) -> str:
    """Return one of the other functions, from its text for one lane."""
    text = (atan2.library if name == "atan2" else elementary.library)(1)
    found = re.search(
        rf"define internal double @{name}_1\((.*?)\) noinline {{\n(.*?)\n}}", text, re.S
    )
    assert found is not None, name
    arguments = found[1].replace("%", "")
    *lines, last = found[2].splitlines()
    return _function(f"double sixfold_{name}({arguments})", lines, _operand(last.split()[-1]))


FUNCTIONS: dict[str, Callable[[], str]] = {
    "sincos": partial(sincos_functions, "double"),
    "sincos_single": partial(sincos_functions, "float"),
    **{name: partial(_elementary, name) for name in ("exp", "log", "tanh", "atan2")},
}
"""Texts of functions by name, `sixfold_` before it in C."""
