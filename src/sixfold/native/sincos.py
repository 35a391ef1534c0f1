"""Sine and cosine as LLVM text: W lanes at a time, the same bits for every W.

Up to |x| = 1e5 the argument is reduced by three parts of pi/2 with fused multiply-adds, which
leaves r + l to about 110 bits; beyond, by multiplying with the needed bits of 2/pi in whole numbers
(Payne and Hanek).  Then the polynomials of fdlibm (Sun Microsystems, 1993) on [-pi/4, pi/4] with
the tail l.
"""

from __future__ import annotations

from fractions import Fraction

from sixfold.native.text import Text, hexadecimal

FAST_LIMIT = 1e5
_BITS = 1408  # of 2/pi and pi/2 worked out below

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


def _half_pi() -> Fraction:
    """Return pi/2 to _BITS bits by Machin's formula."""
    one = 1 << (_BITS + 64)

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
P2 = Fraction(float(HALF_PI - P1))
P3 = Fraction(float(HALF_PI - P1 - P2))


def _table() -> str:
    """Return 64 zero bits and then the bits of 2/pi, as 64-bit words."""
    bits = int(Fraction(2**1280) / HALF_PI)
    words = [0] + [(bits >> (1280 - 64 * (k + 1))) & (2**64 - 1) for k in range(20)]
    return (
        f"@two_over_pi = internal constant [{len(words)} x i64] ["
        + ", ".join(f"i64 {word}" for word in words)
        + "]"
    )


def library(W: int) -> str:
    """Return the text of @sincos_W, with the slow path for huge arguments."""
    return (_SLOW if W == 1 else "") + _function(W) + _stored(W, 1) + _stored(W, 2)


def shared() -> str:
    """Return what a module needs once: the table and the scalar parts."""
    return _table() + "\ndeclare i256 @llvm.ctlz.i256(i256, i1)\n"


def _polynomials(t: Text, r: str, tail: str, quadrant: str) -> tuple[str, str]:
    """Return sine and cosine of r + tail in a quadrant."""
    z = t.op("fmul", r, r)
    p = t.splat(SIN[5])
    for c in reversed(SIN[1:5]):
        p = t.fma(z, p, t.splat(c))
    v = t.op("fmul", z, r)
    # sin = r - ((z (tail/2 - v p) - tail) - v S1)
    inner = t.fma(t.emit(f"fneg {t.real} {v}"), p, t.op("fmul", t.splat(0.5), tail))
    inner = t.fma(z, inner, t.emit(f"fneg {t.real} {tail}"))
    inner = t.fma(v, t.splat(-SIN[0]), inner)
    s = t.op("fsub", r, inner)
    p = t.splat(COS[5])
    for c in reversed(COS[:5]):
        p = t.fma(z, p, t.splat(c))
    half = t.op("fmul", t.splat(0.5), z)
    w = t.op("fsub", t.splat(1.0), half)
    rest = t.op("fsub", t.op("fsub", t.splat(1.0), w), half)
    cross = t.fma(t.emit(f"fneg {t.real} {r}"), tail, rest)
    c = t.op("fadd", w, t.fma(t.op("fmul", z, z), p, cross))
    odd = t.emit(f"and {t.whole} {quadrant}, {t.whole_splat(1)}")
    swap = t.emit(f"icmp ne {t.whole} {odd}, {t.whole_splat(0)}")
    s1 = t.emit(f"select {t.bit} {swap}, {t.real} {c}, {t.real} {s}")
    c1 = t.emit(f"select {t.bit} {swap}, {t.real} {s}, {t.real} {c}")
    next_one = t.emit(f"add {t.whole} {quadrant}, {t.whole_splat(1)}")
    return _signed(t, s1, quadrant), _signed(t, c1, next_one)


def _signed(t: Text, x: str, quadrant: str) -> str:
    """Change the sign of x where bit 1 of the quadrant is set."""
    up = t.emit(f"shl {t.whole} {quadrant}, {t.whole_splat(62)}")
    flip = t.emit(f"and {t.whole} {up}, {t.whole_splat(-(2**63))}")
    bits = t.emit(f"bitcast {t.real} {x} to {t.whole}")
    turned = t.emit(f"xor {t.whole} {bits}, {flip}")
    return t.emit(f"bitcast {t.whole} {turned} to {t.real}")


def _renormalised(t: Text, r: str, tail: str) -> tuple[str, str]:
    total = t.op("fadd", r, tail)
    return total, t.op("fadd", t.op("fsub", r, total), tail)


def _fast(t: Text, x: str) -> tuple[str, str, str]:
    """Return sine, cosine, and where the argument is too large for this way."""
    magic = 1.5 * 2.0**52
    shifted = t.fma(x, t.splat(float(1 / HALF_PI)), t.splat(magic))
    quadrant = t.emit(f"bitcast {t.real} {shifted} to {t.whole}")
    k = t.op("fsub", shifted, t.splat(magic))
    minus = t.emit(f"fneg {t.real} {k}")
    # x - k P1 is exact: a multiple of 2^-52 below 1; then k P2 in two parts, and k P3
    r1 = t.fma(minus, t.splat(float(P1)), x)
    high = t.op("fmul", k, t.splat(float(P2)))
    low = t.fma(minus, t.splat(float(P2)), high)
    r = t.op("fsub", r1, high)
    lost = t.op("fsub", t.op("fsub", r1, r), high)
    r, tail = _renormalised(t, r, t.fma(minus, t.splat(float(P3)), t.op("fadd", lost, low)))
    s, c = _polynomials(t, r, tail, quadrant)
    size = t.emit(f"call {t.real} @llvm.fabs.{t.suffix}({t.real} {x})")
    big = t.emit(f"fcmp ogt {t.real} {size}, {t.splat(FAST_LIMIT)}")
    finite = t.emit(f"fcmp one {t.real} {size}, {t.splat(float('inf'))}")
    return s, c, t.emit(f"and {t.bit} {big}, {finite}")


def _function(W: int) -> str:
    t = Text(W)
    s, c, huge = _fast(t, "%x")
    pair = f"{{{t.real}, {t.real}}}"
    lines = [f"define internal {pair} @sincos_{W}({t.real} %x) {{", *t.lines]
    if W == 1:
        lines += [
            f"  br i1 {huge}, label %slow, label %fast",
            "slow:",
            "  %far = call {double, double} @sincos_huge(double %x)",
            "  ret {double, double} %far",
        ]
    else:
        lines += [
            f"  %any = bitcast {t.bit} {huge} to i{W}",
            f"  %some = icmp ne i{W} %any, 0",
            "  br i1 %some, label %slow, label %fast",
            "slow:",
        ]
        s_now, c_now = s, c
        for lane in range(W):
            lines += [
                f"  %x{lane} = extractelement {t.real} %x, i32 {lane}",
                f"  %far{lane} = call {{double, double}} @sincos_1(double %x{lane})",
                f"  %fs{lane} = extractvalue {{double, double}} %far{lane}, 0",
                f"  %fc{lane} = extractvalue {{double, double}} %far{lane}, 1",
                f"  %vs{lane} = insertelement {t.real} {s_now}, double %fs{lane}, i32 {lane}",
                f"  %vc{lane} = insertelement {t.real} {c_now}, double %fc{lane}, i32 {lane}",
            ]
            s_now, c_now = f"%vs{lane}", f"%vc{lane}"
        lines += [
            f"  %p0 = insertvalue {pair} undef, {t.real} {s_now}, 0",
            f"  %p1 = insertvalue {pair} %p0, {t.real} {c_now}, 1",
            f"  ret {pair} %p1",
        ]
    lines += [
        "fast:",
        f"  %q0 = insertvalue {pair} undef, {t.real} {s}, 0",
        f"  %q1 = insertvalue {pair} %q0, {t.real} {c}, 1",
        f"  ret {pair} %q1",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _stored(W: int, n: int) -> str:
    """Return @sincosN_W: sine and cosine of N vectors at once, written side by side."""
    t = Text(W)
    arguments = ", ".join(f"{t.real} %x{i}" for i in range(n))
    places = ", ".join(f"ptr %p{i}" for i in range(n))
    kept = []
    huge = []
    for i in range(n):
        s, c, far = _fast(t, f"%x{i}")
        kept.append((s, c))
        huge.append(far)
    some = huge[0]
    for far in huge[1:]:
        some = t.emit(f"or {t.bit} {some}, {far}")
    lines = [f"define internal void @sincos{n}_{W}({arguments}, {places}) noinline {{", *t.lines]
    if W > 1:
        lines += [f"  %any = bitcast {t.bit} {some} to i{W}", f"  %far = icmp ne i{W} %any, 0"]
        some = "%far"
    lines.append(f"  br i1 {some}, label %slow, label %fast")

    def stores(tag: str, pairs: list[tuple[str, str]]) -> list[str]:
        text = []
        for i, (s, c) in enumerate(pairs):
            text += [
                f"  store {t.real} {s}, ptr %p{i}, align {8 * W}",
                f"  %{tag}{i} = getelementptr {t.real}, ptr %p{i}, i64 1",
                f"  store {t.real} {c}, ptr %{tag}{i}, align {8 * W}",
            ]
        return [*text, "  ret void"]

    pair = f"{{{t.real}, {t.real}}}"
    lines.append("slow:")
    for i in range(n):
        lines += [
            f"  %d{i} = call {pair} @sincos_{W}({t.real} %x{i})",
            f"  %ds{i} = extractvalue {pair} %d{i}, 0",
            f"  %dc{i} = extractvalue {pair} %d{i}, 1",
        ]
    lines += stores("u", [(f"%ds{i}", f"%dc{i}") for i in range(n)])
    lines += ["fast:", *stores("w", kept), "}"]
    return "\n".join(lines) + "\n"


def _slow() -> str:
    t = Text(1)
    e = t.emit
    size = e("call double @llvm.fabs.f64(double %x)")
    bits = e(f"bitcast double {size} to i64")
    raised = e(f"lshr i64 {bits}, 52")
    fraction = e(f"and i64 {bits}, {2**52 - 1}")
    mantissa = e(f"or i64 {fraction}, {2**52}")
    # x = mantissa 2^exponent; bits of 2/pi above weight 2^(2 - exponent) only add whole turns
    start = e(f"sub i64 {raised}, {1075 + 2 - 64}")
    word = e(f"lshr i64 {start}, 6")
    shift = e(f"and i64 {start}, 63")
    window = "0"
    for k in range(4):
        index = e(f"add i64 {word}, {k}")
        place = e(f"getelementptr i64, ptr @two_over_pi, i64 {index}")
        part = e(f"load i64, ptr {place}")
        wide = e(f"zext i64 {part} to i256")
        moved = e(f"shl i256 {wide}, {192 - 64 * k}")
        window = moved if k == 0 else e(f"or i256 {window}, {moved}")
    shift_wide = e(f"zext i64 {shift} to i256")
    aligned = e(f"lshr i256 {e(f'shl i256 {window}, {shift_wide}')}, 64")
    product = e(f"mul i256 {aligned}, {e(f'zext i64 {mantissa} to i256')}")
    turns = e(f"and i256 {product}, {2**192 - 1}")  # position in one turn, unit 2^-190 quadrants
    nearest = e(f"lshr i256 {e(f'add i256 {turns}, {2**189}')}, 190")
    quadrant = e(f"trunc i256 {nearest} to i64")
    rest = e(f"sub i256 {turns}, {e(f'shl i256 {nearest}, 190')}")
    below = e(f"icmp slt i256 {rest}, 0")
    positive = e(f"select i1 {below}, i256 {e(f'sub i256 0, {rest}')}, i256 {rest}")
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
    pi, pi_low = t.splat(float(P1)), t.splat(float(P2))
    r = t.op("fmul", high_f, pi)
    tail = t.fma(high_f, pi, e(f"fneg double {r}"))
    tail = t.fma(high_f, pi_low, t.fma(low_f, pi, tail))
    r, tail = _renormalised(t, r, tail)
    r = e(f"select i1 {below}, double {e(f'fneg double {r}')}, double {r}")
    tail = e(f"select i1 {below}, double {e(f'fneg double {tail}')}, double {tail}")
    s, c = _polynomials(t, r, tail, quadrant)
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
