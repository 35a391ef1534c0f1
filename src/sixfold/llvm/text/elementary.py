"""Exponential, logarithm and hyperbolic tangent as LLVM text: the same bits for every W."""

from __future__ import annotations

import math
from fractions import Fraction

from sixfold.llvm.text.instructions import Text

_ROUND = 1.5 * 2.0**52  # adding it rounds to a whole number in the low bits
LN2 = sum((Fraction(1, k * 2**k) for k in range(1, 200)), Fraction(0))
LN2_HIGH = Fraction(int(LN2 * 2**32), 2**32)  # times a whole number below 2^20: exact
LN2_LOW = float(LN2 - LN2_HIGH)
TAYLOR = tuple(1.0 / math.factorial(n) for n in range(2, 15))
"""(e^r - 1 - r) / r^2 on |r| <= ln(2)/2, where the next term is below 1e-18 of the sum."""
LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
"""Coefficients of fdlibm's logarithm (Sun Microsystems, 1993)."""


def library(W: int) -> str:
    """Return the text of @exp_W, @log_W and @tanh_W."""
    return _exp(W) + _log(W) + _tanh(W)


def _wrap(t: Text, name: str, result: str) -> str:
    head = f"define internal {t.real} @{name}_{t.W}({t.real} %x) noinline {{"
    return "\n".join([head, *t.lines, f"  ret {t.real} {result}", "}\n"])


def _reduced(t: Text, x: str) -> tuple[str, str, str]:
    """Return k as a whole number, and r + low with x = k ln 2 + r + low, |r| <= ln(2)/2."""
    shifted = t.fma(x, t.splat(float(1 / LN2)), t.splat(_ROUND))
    k = t.op("fsub", shifted, t.splat(_ROUND))
    high = t.fma(t.neg(k), t.splat(float(LN2_HIGH)), x)  # exact
    lower = t.op("fmul", k, t.splat(LN2_LOW))
    r = t.op("fsub", high, lower)
    low = t.op("fsub", t.op("fsub", high, r), lower)
    whole = t.integer("sub", t.bits(shifted), t.bits(t.splat(_ROUND)))
    return whole, r, low


def _power(t: Text, k: str) -> str:
    """Return 2^k for a whole k in the normal range."""
    biased = t.integer("add", k, t.whole_splat(1023))
    return t.value(t.integer("shl", biased, t.whole_splat(52)))


def _exp(W: int) -> str:
    t = Text(W)
    # beyond +-750 the result is inf or 0 anyway; NaN stays
    x = t.select(t.compare("ogt", "%x", t.splat(750.0)), t.splat(750.0), "%x")
    x = t.select(t.compare("olt", x, t.splat(-750.0)), t.splat(-750.0), x)
    k, r, low = _reduced(t, x)
    square = t.op("fmul", r, r)
    s = t.op("fadd", r, t.fma(square, t.polynomial(r, TAYLOR), low))
    y = t.op("fadd", t.splat(1.0), s)
    half = t.integer("ashr", k, t.whole_splat(1))
    y = t.op("fmul", y, _power(t, half))
    y = t.op("fmul", y, _power(t, t.integer("sub", k, half)))
    return _wrap(t, "exp", y)


def _log(W: int) -> str:
    t = Text(W)
    tiny = t.compare("olt", "%x", t.splat(2.0**-1022))
    x = t.select(tiny, t.op("fmul", "%x", t.splat(2.0**54)), "%x")
    shift = t.select(tiny, t.splat(-54.0), t.splat(0.0))
    # x = 2^k m with m in [sqrt(1/2), sqrt(2))
    bits = t.bits(x)
    offset = t.integer("sub", bits, t.bits(t.splat(math.sqrt(0.5))))
    k = t.integer("ashr", offset, t.whole_splat(52))
    m = t.value(t.integer("sub", bits, t.integer("shl", k, t.whole_splat(52))))
    magic = t.integer("add", k, t.bits(t.splat(_ROUND)))
    e = t.op("fadd", t.op("fsub", t.value(magic), t.splat(_ROUND)), shift)
    f = t.op("fsub", m, t.splat(1.0))
    s = t.op("fdiv", f, t.op("fadd", f, t.splat(2.0)))
    z = t.op("fmul", s, s)
    R = t.op("fmul", z, t.polynomial(z, LOG))
    half = t.op("fmul", t.op("fmul", f, f), t.splat(0.5))
    inner = t.fma(s, t.op("fadd", half, R), t.op("fmul", e, t.splat(LN2_LOW)))
    y = t.op("fsub", half, inner)
    y = t.op("fsub", t.op("fmul", e, t.splat(float(LN2_HIGH))), t.op("fsub", y, f))
    # what is not a positive finite number
    infinite = t.splat(math.inf)
    y = t.select(t.compare("oeq", "%x", infinite), infinite, y)
    y = t.select(t.compare("oeq", "%x", t.splat(0.0)), t.splat(-math.inf), y)
    not_real = t.compare("ult", "%x", t.splat(0.0))
    return _wrap(t, "log", t.select(not_real, t.splat(math.nan), y))


def _tanh(W: int) -> str:
    """Tanh = E / (E + 2) with E = exp(2|x|) - 1 in two parts, and one step of correction."""
    t = Text(W)
    size = t.emit(f"call {t.real} @llvm.fabs.{t.suffix}({t.real} %x)")
    y = t.op("fadd", size, size)
    y = t.select(t.compare("ogt", y, t.splat(48.0)), t.splat(48.0), y)  # 1 to the last bit
    k, r, low = _reduced(t, y)
    square = t.op("fmul", r, r)
    rest = t.fma(square, t.polynomial(r, TAYLOR), low)
    s = t.op("fadd", r, rest)
    s_low = t.op("fadd", t.op("fsub", r, s), rest)
    p = _power(t, k)
    # E = p s + (p - 1): the larger first
    whole = t.op("fsub", p, t.splat(1.0))
    ps, ps_low = t.op("fmul", p, s), t.op("fmul", p, s_low)
    E = t.op("fadd", whole, ps)
    back = t.op("fsub", E, whole)
    lost = t.op("fadd", t.op("fsub", whole, t.op("fsub", E, back)), t.op("fsub", ps, back))
    E_low = t.op("fadd", lost, ps_low)
    d = t.op("fadd", E, t.splat(2.0))
    d_back = t.op("fsub", d, t.splat(2.0))
    d_low = t.op("fadd", t.op("fsub", E, d_back), E_low)
    q = t.op("fdiv", E, d)
    residue = t.op("fadd", t.fma(t.neg(q), d, E), t.fma(t.neg(q), d_low, E_low))
    q = t.op("fadd", q, t.op("fdiv", residue, d))
    sign = t.integer("and", t.bits("%x"), t.whole_splat(-(2**63)))
    signed = t.value(t.integer("or", t.bits(q), sign))
    # below 2^-28 tanh x = x (1 - x^2/3) is x; a number that is none stays none
    small = t.compare("olt", size, t.splat(2.0**-28))
    result = t.select(small, "%x", signed)
    none = t.compare("uno", "%x", "%x")
    return _wrap(t, "tanh", t.select(none, "%x", result))
