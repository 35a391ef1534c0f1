"""Sine and cosine as LLVM text: W lanes at a time, the same bits for every W.

Up to |x| = 1e5 the argument is reduced by three parts of pi/2 with fused multiply-adds, which
leaves r + l to about 110 bits; beyond, by multiplying with the needed bits of 2/pi in whole numbers
(Payne and Hanek).  Then the polynomials of fdlibm (Sun Microsystems, 1993) on [-pi/4, pi/4] with
the tail l.

Single precision goes the same way with numbers of its own: the first four terms of the polynomials,
and beyond 1e5 the sine and cosine in double.
"""

from __future__ import annotations

from fractions import Fraction

from sixfold.compiler.llvm.text.instructions import Text, hexadecimal
from sixfold.compiler.llvm.text.writer import SINCOS

# -- pi/2 and 2/pi to many bits

PI_BITS = 1408  # bits of pi/2 that are computed below


def _half_pi() -> Fraction:
    """Return pi/2 to PI_BITS bits by Machin's formula."""
    # pi / 4 = 4 arctan(1/5) - arctan(1/239)
    one = 1 << (PI_BITS + 64)

    def arctan_inverse(n: int) -> int:
        term, total, k = one // n, one // n, 1
        while term:
            term //= n * n
            k += 2
            total += -(term // k) if k % 4 == 3 else term // k
        return total

    return Fraction(2 * (4 * arctan_inverse(5) - arctan_inverse(239)), one)


HALF_PI = _half_pi()


P1 = Fraction(float(HALF_PI))
#: 37 bits, so that its product with any whole number up to 2^16 is exact.
P2 = Fraction(round((HALF_PI - P1) * 2**90), 2**90)
P3 = Fraction(float(HALF_PI - P1 - P2))


def _cut(x: Fraction, bits: int) -> Fraction:
    """Return a positive number truncated to some binary places."""
    return Fraction(int(x * 2**bits), 2**bits)


Q1 = _cut(HALF_PI, 23)
Q2 = _cut(HALF_PI - Q1, 47)
Q3 = _cut(HALF_PI - Q1 - Q2, 71)  # three parts of pi/2, each a number of single precision

REST = HALF_PI - P1  # pi/2 - P1


def two_over_pi_words() -> list[int]:
    """Return 64 zero bits and then the bits of 2/pi, as 64-bit words."""
    bits = int(Fraction(2**1280) / HALF_PI)
    return [0] + [(bits >> (1280 - 64 * (k + 1))) & (2**64 - 1) for k in range(20)]


def two_over_pi() -> str:
    """Return the words as a constant."""
    words = two_over_pi_words()
    return (
        f"@two_over_pi = internal constant [{len(words)} x i64] ["
        + ", ".join(f"i64 {word}" for word in words)
        + "]"
    )


def reduce_huge(t: Text) -> tuple[str, str, str, str]:
    """Return |%x| less the nearest multiple of pi/2: value, tail, quadrant, and whether negative.

    Value and tail are without sign.
    """
    e = t.emit
    # |x| = mantissa 2^exponent as whole numbers
    size = e("call double @llvm.fabs.f64(double %x)")
    bits = e(f"bitcast double {size} to i64")
    raised = e(f"lshr i64 {bits}, 52")
    fraction = e(f"and i64 {bits}, {2**52 - 1}")
    mantissa = e(f"or i64 {fraction}, {2**52}")
    # x = mantissa 2^exponent; bits of 2/pi above weight 2^(2 - exponent) only add whole turns
    start = e(f"sub i64 {raised}, {1075 + 2 - 64}")
    word = e(f"lshr i64 {start}, 6")
    shift = e(f"and i64 {start}, 63")
    # 256 bits of 2/pi from the first that counts
    window = "0"
    for k in range(4):
        index = e(f"add i64 {word}, {k}")
        place = e(f"getelementptr i64, ptr @two_over_pi, i64 {index}")
        part = e(f"load i64, ptr {place}")
        wide = e(f"zext i64 {part} to i256")
        moved = e(f"shl i256 {wide}, {192 - 64 * k}")
        window = moved if k == 0 else e(f"or i256 {window}, {moved}")
    shift_wide = e(f"zext i64 {shift} to i256")
    # the product in quadrants, without whole turns
    aligned = e(f"lshr i256 {e(f'shl i256 {window}, {shift_wide}')}, 64")
    product = e(f"mul i256 {aligned}, {e(f'zext i64 {mantissa} to i256')}")
    turns = e(f"and i256 {product}, {2**192 - 1}")  # position in one turn, unit 2^-190 quadrants
    # nearest quadrant, and what is left, perhaps negative
    nearest = e(f"lshr i256 {e(f'add i256 {turns}, {2**189}')}, 190")
    quadrant = e(f"trunc i256 {nearest} to i64")
    rest = e(f"sub i256 {turns}, {e(f'shl i256 {nearest}, 190')}")
    below = e(f"icmp slt i256 {rest}, 0")
    positive = e(f"select i1 {below}, i256 {e(f'sub i256 0, {rest}')}, i256 {rest}")
    # as two doubles: the highest 53 bits and the next
    zeros = e(f"call i256 @llvm.ctlz.i256(i256 {positive}, i1 false)")
    norm = e(f"shl i256 {positive}, {zeros}")
    high = e(f"trunc i256 {e(f'lshr i256 {norm}, {256 - 53}')} to i64")
    low_wide = e(f"lshr i256 {e(f'shl i256 {norm}, 53')}, {256 - 53}")
    low = e(f"trunc i256 {low_wide} to i64")
    # rest = high 2^(203 - zeros) + low 2^(150 - zeros), in units of 2^-190
    zeros64 = e(f"trunc i256 {zeros} to i64")
    power = e(f"sub i64 {1023 + 203 - 190}, {zeros64}")
    scale = e(f"bitcast i64 {e(f'shl i64 {power}, 52')} to double")
    high_f = e(f"fmul double {e(f'uitofp i64 {high} to double')}, {scale}")
    small = e(f"fmul double {scale}, {hexadecimal(2.0**-53)}")
    low_f = e(f"fmul double {e(f'uitofp i64 {low} to double')}, {small}")
    # times pi/2 in two parts
    pi, pi_low = t.splat(float(P1)), t.splat(float(REST))
    r = t.op("fmul", high_f, pi)
    tail = t.fma(high_f, pi, e(f"fneg double {r}"))
    tail = t.fma(high_f, pi_low, t.fma(low_f, pi, tail))
    return r, tail, quadrant, below


# -- sine and cosine

FAST_LIMIT = 1e5

SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


def library(W: int, scalar: str = "double") -> str:
    """Return the text of @sincos_W or @sincos_single_W; W = 1 has the slow path of all."""
    slow = f"{two_over_pi()}\ndeclare i256 @llvm.ctlz.i256(i256, i1)\n{_SLOW}" if W == 1 else ""
    if scalar == "float" and W == 1:
        slow += _SLOW_SINGLE
    return slow + _function(W, scalar)


SINGLE_TERMS = 4  # of each polynomial, that single precision takes: the next are below 0.04 units


def polynomials(t: Text, r: str, tail: str, quadrant: str) -> tuple[str, str]:
    """Return sine and cosine of r + tail in a quadrant; the tail is below half a unit of r."""
    terms = {"double": len(SIN), "float": SINGLE_TERMS}[t.scalar]
    # S and C, the polynomials in z = r^2
    z = t.op("fmul", r, r)
    sine, cosine = t.polynomial(z, SIN[:terms][-3:]), t.polynomial(z, COS[:terms][-3:])
    half, one = t.splat(-0.5), t.splat(1.0)
    cubed, fourth = t.op("fmul", z, r), t.op("fmul", z, z)
    w = t.fma(z, half, one)
    rest = t.fma(z, half, t.op("fsub", one, w))
    for a, b in reversed(list(zip(SIN, COS, strict=True))[: terms - 3]):
        sine, cosine = t.fma(z, sine, t.splat(a)), t.fma(z, cosine, t.splat(b))
    # sin = r + (r^3 S + tail), where tail r^2/2 is below 0.16 units of the result
    s = t.op("fadd", r, t.fma(cubed, sine, tail))
    # cos = w + ((1 - w) - z/2 - r tail + z^2 C) with w = 1 - z/2 rounded
    c = t.op("fadd", w, t.fma(fourth, cosine, t.fma(t.neg(r), tail, rest)))
    # odd quadrants swap the two, and two quadrants on their signs change
    odd = t.integer("and", quadrant, t.whole_splat(1))
    swap = t.emit(f"icmp ne {t.whole} {odd}, {t.whole_splat(0)}")
    s1, c1 = t.select(swap, c, s), t.select(swap, s, c)
    return _sign(t, s1, quadrant), _sign(t, c1, t.integer("add", quadrant, t.whole_splat(1)))


def _sign(t: Text, x: str, quadrant: str) -> str:
    """Change the sign of x where bit 1 of the quadrant is set."""
    up = t.emit(f"shl {t.whole} {quadrant}, {t.whole_splat(t.width - 2)}")
    flip = t.emit(f"and {t.whole} {up}, {t.whole_splat(-(2 ** (t.width - 1)))}")
    bits = t.emit(f"bitcast {t.real} {x} to {t.whole}")
    turned = t.emit(f"xor {t.whole} {bits}, {flip}")
    return t.emit(f"bitcast {t.whole} {turned} to {t.real}")


def _renormalise(t: Text, r: str, tail: str) -> tuple[str, str]:
    total = t.op("fadd", r, tail)
    return total, t.op("fadd", t.op("fsub", r, total), tail)


def fast(t: Text, x: str) -> tuple[str, str, str]:
    """Return sine, cosine, and where the argument is too large for this way, or not finite."""
    reduced = _subtract_quarter_turns(t, x)
    size = t.emit(f"call {t.real} @llvm.fabs.{t.suffix}({t.real} {x})")
    huge = t.compare("ugt", size, t.splat(FAST_LIMIT))
    return *polynomials(t, *reduced), huge


#: Binary places of a number between 1 and 2, and pi/2 in three parts.
_PARTS = {"double": (52, P1, P2, P3), "float": (23, Q1, Q2, Q3)}


def _subtract_quarter_turns(t: Text, x: str) -> tuple[str, str, str]:
    """Return x less the nearest multiple k of pi/2: value, tail, and k in the lowest two bits.

    In single precision it is good to 2^-50 up to 2^17, where k is below 2^24.
    """
    places, *parts = _PARTS[t.scalar]
    first, middle, last = (t.splat(float(part)) for part in parts)
    magic = t.splat(1.5 * 2.0**places)
    shifted = t.fma(x, t.splat(float(1 / HALF_PI)), magic)
    quadrant = t.bits(shifted)
    k = t.op("fsub", shifted, magic)
    minus = t.neg(k)
    # x - k times the first part is exact, a multiple of 2^-52 or 2^-24 below 1
    r1 = t.fma(minus, first, x)
    # what r loses of k times the middle part is exact
    second = t.op("fmul", k, middle)
    r = t.op("fsub", r1, second)
    lost = t.op("fsub", t.op("fsub", r1, r), second)
    if t.scalar == "float":  # and so is that product in double, but not in single precision
        lost = t.op("fadd", lost, t.fma(minus, middle, second))
    return r, t.fma(minus, last, lost), quadrant


def _return_pair(pair: str, real: str, tag: str, s: str, c: str) -> list[str]:
    return [
        f"  %{tag}0 = insertvalue {pair} undef, {real} {s}, 0",
        f"  %{tag}1 = insertvalue {pair} %{tag}0, {real} {c}, 1",
        f"  ret {pair} %{tag}1",
    ]


def _function(W: int, scalar: str = "double") -> str:
    """Return @sincos_W or @sincos_single_W: sine and cosine of W numbers."""
    t, name = Text(W, scalar), SINCOS[scalar]
    s, c, huge = fast(t, "%x")
    pair, one = f"{{{t.real}, {t.real}}}", f"{{{scalar}, {scalar}}}"
    if W > 1:  # whether any lane is huge
        lanes, bits = t.emit(f"sext {t.bit} {huge} to {t.whole}"), f"i{t.width * W}"
        t.lines.append(f"  %some_bits = bitcast {t.whole} {lanes} to {bits}")
        t.lines.append(f"  %some = icmp ne {bits} %some_bits, 0")
    lines = [f"define internal {pair} @{name}_{W}({t.real} %x) {{", *t.lines]
    if W == 1:
        lines += [
            f"  br i1 {huge}, label %far, label %fast",
            "far:",
            f"  %none = fsub {scalar} %x, %x",  # NaN for what is not finite
            f"  %finite = fcmp oeq {scalar} %none, 0.0",
            "  br i1 %finite, label %slow, label %fast",
            "slow:",
            f"  %there = call {one} @{name}_huge({scalar} %x)",
            f"  ret {one} %there",
        ]
    else:
        lines += ["  br i1 %some, label %slow, label %fast", "slow:"]
        s_now, c_now = s, c
        for lane in range(W):
            lines += [
                f"  %x{lane} = extractelement {t.real} %x, i32 {lane}",
                f"  %far{lane} = call {one} @{name}_1({scalar} %x{lane})",
                f"  %fs{lane} = extractvalue {one} %far{lane}, 0",
                f"  %fc{lane} = extractvalue {one} %far{lane}, 1",
                f"  %vs{lane} = insertelement {t.real} {s_now}, {scalar} %fs{lane}, i32 {lane}",
                f"  %vc{lane} = insertelement {t.real} {c_now}, {scalar} %fc{lane}, i32 {lane}",
            ]
            s_now, c_now = f"%vs{lane}", f"%vc{lane}"
        lines += [*_return_pair(pair, t.real, "p", s_now, c_now)]
    lines += ["fast:", *_return_pair(pair, t.real, "q", s, c), "}"]
    return "\n".join(lines) + "\n"


def _slow() -> str:
    t = Text(1)
    e = t.emit
    r, tail, quadrant, below = reduce_huge(t)
    r, tail = _renormalise(t, r, tail)
    r = e(f"select i1 {below}, double {e(f'fneg double {r}')}, double {r}")
    tail = e(f"select i1 {below}, double {e(f'fneg double {tail}')}, double {tail}")
    s, c = polynomials(t, r, tail, quadrant)
    negative = e("fcmp olt double %x, 0.0")
    s = e(f"select i1 {negative}, double {e(f'fneg double {s}')}, double {s}")
    return "\n".join(
        [
            "define internal {double, double} @sincos_huge(double %x) noinline {",
            *t.lines,
            f"  %q0 = insertvalue {{double, double}} undef, double {s}, 0",
            f"  %q1 = insertvalue {{double, double}} %q0, double {c}, 1",
            "  ret {double, double} %q1",
            "}\n",
        ]
    )


_SLOW = _slow()
_SLOW_SINGLE = """
define internal {float, float} @sincos_single_huge(float %x) noinline {
  %wide = fpext float %x to double
  %there = call {double, double} @sincos_huge(double %wide)
  %s = extractvalue {double, double} %there, 0
  %c = extractvalue {double, double} %there, 1
  %narrow_s = fptrunc double %s to float
  %narrow_c = fptrunc double %c to float
  %p0 = insertvalue {float, float} undef, float %narrow_s, 0
  %p1 = insertvalue {float, float} %p0, float %narrow_c, 1
  ret {float, float} %p1
}
"""
