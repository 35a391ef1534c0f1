"""Elementary functions but sine and cosine as LLVM text: the same bits for every W.

`FUNCTIONS` has those whose `llvm` in the table of operations begins with "@".  The arctangent and
the coefficients of the logarithm are fdlibm's (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from fractions import Fraction

from sixfold.compiler.llvm.text.instructions import Text
from sixfold.compiler.llvm.text.sincos import HALF_PI

_ROUND = 1.5 * 2.0**52  # adding it rounds to a whole number in the low bits
LN2 = sum((Fraction(1, k * 2**k) for k in range(1, 200)), Fraction(0))
LN2_HIGH = Fraction(int(LN2 * 2**32), 2**32)  # times a whole number below 2^20: exact
LN2_LOW = float(LN2 - LN2_HIGH)
#: (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, where the next term is below 1e-18 of the sum.
TAYLOR = tuple(1.0 / math.factorial(n) for n in range(2, 15))
#: Coefficients of fdlibm's logarithm (Sun Microsystems, 1993).
LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def library(W: int, used: Set[str]) -> str:
    """Return the text of the functions on W numbers that operations with these names call."""
    return "\n".join(write(W) for name, write in FUNCTIONS.items() if name in used)


def _function(t: Text, name: str, result: str, *arguments: str) -> str:
    given = ", ".join(f"{t.real} {x}" for x in arguments or ("%x",))
    head = f"define internal {t.real} @{name}_{t.W}({given}) noinline {{"
    return "\n".join([head, *t.lines, f"  ret {t.real} {result}", "}\n"])


def _subtract_ln2(t: Text, x: str) -> tuple[str, str, str]:
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
    # e^x = 2^k e^(r + low), 2^k in two factors because k may leave the range of exponents
    k, r, low = _subtract_ln2(t, x)
    square = t.op("fmul", r, r)
    s = t.op("fadd", r, t.fma(square, t.polynomial(r, TAYLOR), low))
    y = t.op("fadd", t.splat(1.0), s)
    half = t.integer("ashr", k, t.whole_splat(1))
    y = t.op("fmul", y, _power(t, half))
    y = t.op("fmul", y, _power(t, t.integer("sub", k, half)))
    return _function(t, "exp", y)


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
    # log m = f - (f^2/2 - s (f^2/2 + R)) with f = m - 1, s = f / (2 + f)
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
    return _function(t, "log", t.select(not_real, t.splat(math.nan), y))


def _tanh(W: int) -> str:
    """Tanh = E / (E + 2) with E = exp(2|x|) - 1 in two parts, and one step of correction."""
    t = Text(W)
    size = t.emit(f"call {t.real} @llvm.fabs.{t.suffix}({t.real} %x)")
    y = t.op("fadd", size, size)
    y = t.select(t.compare("ogt", y, t.splat(48.0)), t.splat(48.0), y)  # 1 to the last bit
    k, r, low = _subtract_ln2(t, y)
    square = t.op("fmul", r, r)
    rest = t.fma(square, t.polynomial(r, TAYLOR), low)
    s = t.op("fadd", r, rest)
    # e^r - 1 = s + s_low
    s_low = t.op("fadd", t.op("fsub", r, s), rest)
    p = _power(t, k)
    # E = p s + (p - 1): the larger first
    whole = t.op("fsub", p, t.splat(1.0))
    ps, ps_low = t.op("fmul", p, s), t.op("fmul", p, s_low)
    E = t.op("fadd", whole, ps)
    back = t.op("fsub", E, whole)
    lost = t.op("fadd", t.op("fsub", whole, t.op("fsub", E, back)), t.op("fsub", ps, back))
    E_low = t.op("fadd", lost, ps_low)
    # q = E / (E + 2), and one step of correction with the low parts
    d = t.op("fadd", E, t.splat(2.0))
    d_back = t.op("fsub", d, t.splat(2.0))
    d_low = t.op("fadd", t.op("fsub", E, d_back), E_low)
    q = t.op("fdiv", E, d)
    residue = t.op("fadd", t.fma(t.neg(q), d, E), t.fma(t.neg(q), d_low, E_low))
    q = t.op("fadd", q, t.op("fdiv", residue, d))
    # tanh is odd
    sign = t.integer("and", t.bits("%x"), t.whole_splat(-(2**63)))
    signed = t.value(t.integer("or", t.bits(q), sign))
    # below 2^-28 tanh x = x (1 - x^2/3) is x; NaN stays NaN
    small = t.compare("olt", size, t.splat(2.0**-28))
    result = t.select(small, "%x", signed)
    none = t.compare("uno", "%x", "%x")
    return _function(t, "tanh", t.select(none, "%x", result))


# -- the angle of a point

ARCTAN = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)
HALF = (4.63647609000806093515e-01, 2.26987774529616870924e-17)  # arctan(1/2) in two parts
Pair = tuple[str, str]


def _parts(x: Fraction) -> tuple[float, float]:
    high = float(x)
    return high, float(x - Fraction(high))


def _atan2(W: int) -> str:
    """Return @atan2_W(y, x), which has no branch.

    With a <= b the sizes of the two coordinates, the angle is that of one of three tangents
    (0, 1/2, 1) and the arctangent of what is left, n / d, where n is exact; sums and the quotient
    are carried in two parts.
    """
    t = Text(W)
    a, b, steep = _sizes(t)

    # 0 <= a/b <= 1: choose the tangent next to it, and what is left as n / d
    first = t.compare("oge", a, t.op("fmul", b, t.splat(7 / 16)))
    second = t.compare("oge", a, t.op("fmul", b, t.splat(11 / 16)))
    twice_a, twice_b = t.op("fadd", a, a), t.op("fadd", b, b)
    n = t.select(second, t.op("fsub", a, b), t.select(first, t.op("fsub", twice_a, b), a))
    large = t.select(second, b, t.select(first, twice_b, b))
    small = t.select(first, a, t.splat(0.0))
    d = t.op("fadd", large, small)
    d_low = t.op("fadd", t.op("fsub", large, d), small)

    # arctan q = q - q z P(z) with z = q^2
    q = t.op("fdiv", n, d)
    residue = t.fma(t.neg(q), d_low, t.fma(t.neg(q), d, n))
    q_low = t.op("fdiv", residue, d)
    z = t.op("fmul", q, q)
    series = t.op("fmul", t.op("fmul", z, t.polynomial(z, ARCTAN)), q)

    quarter = _parts(HALF_PI / 2)
    high = t.select(second, t.splat(quarter[0]), t.select(first, t.splat(HALF[0]), t.splat(0.0)))
    low = t.select(second, t.splat(quarter[1]), t.select(first, t.splat(HALF[1]), t.splat(0.0)))
    rest = t.op("fsub", t.op("fadd", low, q_low), series)
    angle = _sum(t, high, q, rest)

    # the other half of the quarter turn, and the other side
    angle = _choose(t, steep, _from(t, HALF_PI, angle), angle)
    behind = t.emit(f"icmp slt {t.whole} {t.bits('%x')}, {t.whole_splat(0)}")
    angle = _choose(t, behind, _from(t, 2 * HALF_PI, angle), angle)
    total = t.op("fadd", *angle)
    sign = t.integer("and", t.bits("%y"), t.whole_splat(-(2**63)))
    result = t.value(t.integer("or", t.bits(total), sign))
    none = t.compare("uno", "%x", "%y")
    result = t.select(none, t.op("fadd", "%x", "%y"), result)
    return _function(t, "atan2", result, "%y", "%x")


def _sizes(t: Text) -> tuple[str, str, str]:
    """Return the smaller and the larger size, scaled away from the ends, and whether |y| > |x|."""
    ax, ay = (
        t.emit(f"call {t.real} @llvm.fabs.{t.suffix}({t.real} {name})") for name in ("%x", "%y")
    )
    steep = t.compare("ogt", ay, ax)
    a, b = t.select(steep, ax, ay), t.select(steep, ay, ax)
    # infinite coordinates stand for 1, next to 0 or 1
    infinite = t.splat(math.inf)
    endless = t.compare("oeq", b, infinite)
    both = t.compare("oeq", a, infinite)
    one = t.select(both, t.splat(1.0), t.splat(0.0))
    a, b = t.select(endless, one, a), t.select(endless, t.splat(1.0), b)
    b = t.select(t.compare("oeq", b, t.splat(0.0)), t.splat(1.0), b)  # the origin itself: angle 0
    # scale so that no product leaves the range of numbers
    down = t.compare("ogt", b, t.splat(2.0**900))
    up = t.compare("olt", b, t.splat(2.0**-900))
    scale = t.select(down, t.splat(2.0**-150), t.select(up, t.splat(2.0**120), t.splat(1.0)))
    return t.op("fmul", a, scale), t.op("fmul", b, scale), steep


def _sum(t: Text, high: str, q: str, rest: str) -> Pair:
    """Return high + q + rest in two parts; high is zero or the largest."""
    total = t.op("fadd", high, q)
    return total, t.op("fadd", t.op("fadd", t.op("fsub", high, total), q), rest)


def _from(t: Text, turn: Fraction, angle: Pair) -> Pair:
    """Return a constant angle less another, in two parts."""
    high, low = _parts(turn)
    left = t.op("fsub", t.splat(high), angle[0])
    lost = t.op("fsub", t.op("fsub", t.splat(high), left), angle[0])
    return left, t.op("fadd", lost, t.op("fsub", t.splat(low), angle[1]))


def _choose(t: Text, test: str, a: Pair, b: Pair) -> Pair:
    return t.select(test, a[0], b[0]), t.select(test, a[1], b[1])


#: Writers of @name_W by the name of the operation.
FUNCTIONS: dict[str, Callable[[int], str]] = {
    "exp": _exp,
    "log": _log,
    "tanh": _tanh,
    "atan2": _atan2,
}
