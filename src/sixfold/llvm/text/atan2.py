"""The angle of a point as LLVM text: no branch, the same bits for every W.

With a <= b the sizes of the two coordinates, the angle is that of one of three tangents (0, 1/2, 1)
and the arctangent of what is left, n / d, where n is exact; sums and the quotient are carried in
two parts.  Polynomial and constants are fdlibm's (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math
from fractions import Fraction

from sixfold.llvm.text.huge_angles import HALF_PI
from sixfold.llvm.text.instructions import Text

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
HALF = (4.63647609000806093515e-01, 2.26987774529616870924e-17)
"""arctan(1/2) in two parts."""
Pair = tuple[str, str]


def _parts(x: Fraction) -> tuple[float, float]:
    high = float(x)
    return high, float(x - Fraction(high))


def library(W: int) -> str:
    """Return the text of @atan2_W(y, x)."""
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
    head = f"define internal {t.real} @atan2_{W}({t.real} %y, {t.real} %x) noinline {{"
    return "\n".join([head, *t.lines, f"  ret {t.real} {result}", "}\n"])


def _sizes(t: Text) -> tuple[str, str, str]:
    """Return the smaller and the larger size, scaled away from the ends, and whether |y| > |x|."""
    ax, ay = (
        t.emit(f"call {t.real} @llvm.fabs.{t.suffix}({t.real} {name})") for name in ("%x", "%y")
    )
    steep = t.compare("ogt", ay, ax)
    a, b = t.select(steep, ax, ay), t.select(steep, ay, ax)
    infinite = t.splat(math.inf)
    endless = t.compare("oeq", b, infinite)
    both = t.compare("oeq", a, infinite)
    one = t.select(both, t.splat(1.0), t.splat(0.0))
    a, b = t.select(endless, one, a), t.select(endless, t.splat(1.0), b)
    b = t.select(t.compare("oeq", b, t.splat(0.0)), t.splat(1.0), b)  # the origin itself: angle 0
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
