"""Sine and cosine as LLVM text: W lanes at a time, the same bits for every W.

Up to |x| = 1e5 the argument is reduced by three parts of pi/2 with fused multiply-adds, which
leaves r + l to about 110 bits; beyond, by multiplying with the needed bits of 2/pi in whole numbers
(Payne and Hanek).  Then the polynomials of fdlibm (Sun Microsystems, 1993) on [-pi/4, pi/4] with
the tail l.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from sixfold.native.block import types
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
P2 = Fraction(round((HALF_PI - P1) * 2**90), 2**90)
"""37 bits, so that its product with any whole number up to 2^16 is exact."""
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
    """Return the text of @sincos_W and @sincos_to_W; W = 1 has the slow path of all."""
    slow = f"{_table()}\ndeclare i256 @llvm.ctlz.i256(i256, i1)\n{_SLOW}" if W == 1 else ""
    return slow + _function(W) + _stored(W)


def _polynomials(t: Text, r: str, tail: str, quadrant: str) -> tuple[str, str]:
    """Return sine and cosine of r + tail in a quadrant; the tail is below half a unit of r."""
    z = t.op("fmul", r, r)
    # sin = r + (r^3 S + tail), where tail r^2/2 is below 0.16 units of the result
    s = t.op("fadd", r, t.fma(t.op("fmul", z, r), t.polynomial(z, SIN), tail))
    # cos = w + ((1 - w) - z/2 - r tail + z^2 C) with w = 1 - z/2 rounded
    half, one = t.splat(-0.5), t.splat(1.0)
    w = t.fma(z, half, one)
    rest = t.fma(z, half, t.op("fsub", one, w))
    cross = t.fma(t.neg(r), tail, rest)
    c = t.op("fadd", w, t.fma(t.op("fmul", z, z), t.polynomial(z, COS), cross))
    odd = t.integer("and", quadrant, t.whole_splat(1))
    swap = t.emit(f"icmp ne {t.whole} {odd}, {t.whole_splat(0)}")
    s1, c1 = t.select(swap, c, s), t.select(swap, s, c)
    return _signed(t, s1, quadrant), _signed(t, c1, t.integer("add", quadrant, t.whole_splat(1)))


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


class _Reduced(NamedTuple):
    """An argument less a whole number of quarter turns."""

    r: str
    tail: str
    quadrant: str
    """In the lowest two bits."""


def _fast(t: Text, x: str) -> tuple[str, str, str]:
    """Return sine, cosine, and where the argument is too large for this way, or not finite."""
    reduced, huge = _reduced(t, x)
    return *_polynomials(t, *reduced), huge


def _reduced(t: Text, x: str) -> tuple[_Reduced, str]:
    """Return the reduced argument, and where it is too large for this way, or not finite."""
    magic = t.splat(1.5 * 2.0**52)
    shifted = t.fma(x, t.splat(float(1 / HALF_PI)), magic)
    quadrant = t.bits(shifted)
    k = t.op("fsub", shifted, magic)
    minus = t.neg(k)
    # x - k P1 is exact, a multiple of 2^-52 below 1; k P2 is exact, and what r loses of it, too
    r1 = t.fma(minus, t.splat(float(P1)), x)
    second = t.op("fmul", k, t.splat(float(P2)))
    r = t.op("fsub", r1, second)
    lost = t.op("fsub", t.op("fsub", r1, r), second)
    tail = t.fma(minus, t.splat(float(P3)), lost)
    size = t.emit(f"call {t.real} @llvm.fabs.{t.suffix}({t.real} {x})")
    return _Reduced(r, tail, quadrant), t.compare("ugt", size, t.splat(FAST_LIMIT))


class _Tabled(Text):
    """Text whose constants lie in memory as whole vectors, where instructions take them from.

    Left to itself, LLVM holds them in registers, which it then has too few of.
    """

    def __init__(self, W: int) -> None:
        super().__init__(W)
        self.table: dict[str, int] = {}

    def splat(self, x: float) -> str:
        """Return a constant in every lane."""
        if self.W == 1:
            return super().splat(x)
        n = self.table.setdefault(super().splat(x), len(self.table))
        where = self.emit(f"getelementptr {self.real}, ptr @sincos_table_{self.W}, i64 {n}")
        return self.emit(f"load {self.real}, ptr {where}, align {8 * self.W}")

    def constants(self) -> str:
        """Return the table."""
        if not self.table:
            return ""
        listed = ", ".join(f"{self.real} {text}" for text in self.table)
        kind = f"[{len(self.table)} x {self.real}]"
        return f"@sincos_table_{self.W} = internal constant {kind} [{listed}]\n"


def _function(W: int) -> str:
    """Return @sincos_W: sine and cosine of W numbers."""
    t = Text(W)
    s, c, huge = _fast(t, "%x")
    pair = f"{{{t.real}, {t.real}}}"
    lines = [f"define internal {pair} @sincos_{W}({t.real} %x) {{", *t.lines]
    if W == 1:
        lines += [
            f"  br i1 {huge}, label %far, label %fast",
            "far:",
            "  %none = fsub double %x, %x",  # NaN for what is not finite
            "  %finite = fcmp oeq double %none, 0.0",
            "  br i1 %finite, label %slow, label %fast",
            "slow:",
            "  %there = call {double, double} @sincos_huge(double %x)",
            "  ret {double, double} %there",
        ]
    else:
        lines += [*_any(t, huge, "%some"), "  br i1 %some, label %slow, label %fast", "slow:"]
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
        lines += [*_returned(pair, t.real, "p", s_now, c_now)]
    lines += ["fast:", *_returned(pair, t.real, "q", s, c), "}"]
    return "\n".join(lines) + "\n"


def _any(t: Text, huge: str, name: str) -> list[str]:
    """Return instructions that set a name where a lane is huge."""
    if t.W == 1:
        return [f"  {name} = icmp ne i1 {huge}, 0"]
    bits = f"{name}_bits"
    return [
        f"  {bits} = bitcast {t.bit} {huge} to i{t.W}",
        f"  {name} = icmp ne i{t.W} {bits}, 0",
    ]


def _returned(pair: str, real: str, tag: str, s: str, c: str) -> list[str]:
    return [
        f"  %{tag}0 = insertvalue {pair} undef, {real} {s}, 0",
        f"  %{tag}1 = insertvalue {pair} %{tag}0, {real} {c}, 1",
        f"  ret {pair} %{tag}1",
    ]


def _stored(W: int) -> str:
    """Return @sincos_to_W: sines and cosines of n vectors in each of several tiles, side by side.

    While the polynomials of one vector are worked out, the next is reduced: one alone would leave
    the processor waiting.
    """
    real, _ = types(W)
    pair, align = f"{{{real}, {real}}}", 8 * W
    t = _Tabled(W)
    now, huge_now = _reduced(t, "%x0")
    before, t.lines = t.lines, []
    s, c = _polynomials(t, "%r", "%tail", "%quadrant")
    later, huge_later = _reduced(t, "%x")
    inside, t.lines = t.lines, []
    kinds = (t.real, t.real, t.whole)
    lines = [
        f"define internal void @sincos_to_{W}"
        "(ptr %angles, ptr %pairs, i64 %n, i64 %tiles, i64 %size) noinline {",
        "entry:",
        "  %all = mul i64 %n, %tiles",
        f"  %x0 = load {real}, ptr %angles, align {align}",
        *before,
        *_any(t, huge_now, "%some0"),
        "  br i1 %some0, label %slow, label %each",
        "each:",
        "  %done = phi i64 [1, %entry], [%done_next, %each]",
        *_place("", "each", "%next_row", "%next_col"),
    ]
    for name, kind, first, then in zip(_Reduced._fields, kinds, now, later, strict=True):
        lines.append(f"  %{name} = phi {kind} [{first}, %entry], [{then}, %each]")
    lines += [
        *_following(""),
        "  %more = icmp slt i64 %done, %all",
        "  %done_next = add i64 %done, 1",
        # past the last, that one again
        "  %ahead_row = select i1 %more, i64 %next_row, i64 %row",
        "  %ahead_col = select i1 %more, i64 %next_col, i64 %col",
        "  %angles_then = getelementptr i8, ptr %angles, i64 %ahead_row",
        f"  %angle = getelementptr {real}, ptr %angles_then, i64 %ahead_col",
        f"  %x = load {real}, ptr %angle, align {align}",
        *inside,
        "  %pairs_now = getelementptr i8, ptr %pairs, i64 %row",
        f"  %sine = getelementptr {pair}, ptr %pairs_now, i64 %col",
        f"  %cosine = getelementptr {real}, ptr %sine, i64 1",
        f"  store {real} {s}, ptr %sine, align {align}",
        f"  store {real} {c}, ptr %cosine, align {align}",
        *_any(t, huge_later, "%some"),
        "  %usual = xor i1 %some, 1",
        "  %on = and i1 %more, %usual",
        "  br i1 %on, label %each, label %out",
        "out:",
        "  br i1 %some, label %slow, label %end",
        # one of them is huge: all of them once more, by the way that takes every number
        "slow:",
        "  %done2 = phi i64 [1, %entry], [1, %out], [%done2_next, %slow]",
        *_place("2", "slow", "%next_row2", "%next_col2", "[0, %out], "),
        *_following("2"),
        "  %angles2 = getelementptr i8, ptr %angles, i64 %row2",
        f"  %angle2 = getelementptr {real}, ptr %angles2, i64 %col2",
        f"  %x2 = load {real}, ptr %angle2, align {align}",
        f"  %both = call {pair} @sincos_{W}({real} %x2)",
        f"  %s2 = extractvalue {pair} %both, 0",
        f"  %c2 = extractvalue {pair} %both, 1",
        "  %pairs2 = getelementptr i8, ptr %pairs, i64 %row2",
        f"  %sine2 = getelementptr {pair}, ptr %pairs2, i64 %col2",
        f"  %cosine2 = getelementptr {real}, ptr %sine2, i64 1",
        f"  store {real} %s2, ptr %sine2, align {align}",
        f"  store {real} %c2, ptr %cosine2, align {align}",
        "  %more2 = icmp slt i64 %done2, %all",
        "  %done2_next = add i64 %done2, 1",
        "  br i1 %more2, label %slow, label %end",
        "end:",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines) + t.constants()


def _place(tag: str, loop: str, row: str, column: str, also: str = "") -> list[str]:
    """Return where a loop over the vectors of all tiles is: bytes to the tile, place in it."""
    return [
        f"  %row{tag} = phi i64 [0, %entry], {also}[{row}, %{loop}]",
        f"  %col{tag} = phi i64 [0, %entry], {also}[{column}, %{loop}]",
    ]


def _following(tag: str) -> list[str]:
    """Return instructions that set the next place."""
    return [
        f"  %beside{tag} = add i64 %col{tag}, 1",
        f"  %full{tag} = icmp eq i64 %beside{tag}, %n",
        f"  %below{tag} = add i64 %row{tag}, %size",
        f"  %next_col{tag} = select i1 %full{tag}, i64 0, i64 %beside{tag}",
        f"  %next_row{tag} = select i1 %full{tag}, i64 %below{tag}, i64 %row{tag}",
    ]


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
    pi, pi_low = t.splat(float(P1)), t.splat(float(HALF_PI - P1))
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
