"""Sine and cosine as LLVM text: W lanes at a time, the same bits for every W.

Up to |x| = 1e5 the argument is reduced by three parts of pi/2 with fused multiply-adds, which
leaves r + l to about 110 bits; beyond, by multiplying with the needed bits of 2/pi in whole numbers
(Payne and Hanek).  Then the polynomials of fdlibm (Sun Microsystems, 1993) on [-pi/4, pi/4] with
the tail l.
"""

from __future__ import annotations

from typing import NamedTuple

from sixfold.llvm.text.huge_angles import HALF_PI, P1, P2, P3, reduce_huge, two_over_pi
from sixfold.llvm.text.instructions import Text
from sixfold.llvm.text.writer import types

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


def library(W: int) -> str:
    """Return the text of @sincos_W and @sincos_to_W; W = 1 has the slow path of all."""
    slow = f"{two_over_pi()}\ndeclare i256 @llvm.ctlz.i256(i256, i1)\n{_SLOW}" if W == 1 else ""
    return slow + _function(W) + _stored(W)


class _Reduced(NamedTuple):
    """An argument less a whole number of quarter turns."""

    r: str
    tail: str
    quadrant: str
    """In the lowest two bits."""


class _Begun(NamedTuple):
    """The square of a reduced argument, and the first steps of both polynomials in it."""

    z: str
    sine: str
    cosine: str


STEPS = 2
"""Of the polynomials, that are taken first."""


def _begun(t: Text, r: str) -> _Begun:
    """Begin with sine and cosine of r."""
    z = t.op("fmul", r, r)
    return _Begun(z, *(t.polynomial(z, x[-1 - STEPS :]) for x in (SIN, COS)))


def _polynomials(t: Text, reduced: _Reduced, begun: _Begun) -> tuple[str, str]:
    """Return sine and cosine of r + tail in a quadrant; the tail is below half a unit of r."""
    r, tail, quadrant = reduced
    z = begun.z
    half, one = t.splat(-0.5), t.splat(1.0)
    cubed, fourth = t.op("fmul", z, r), t.op("fmul", z, z)
    w = t.fma(z, half, one)
    rest = t.fma(z, half, t.op("fsub", one, w))
    sine, cosine = begun.sine, begun.cosine
    for k in reversed(range(len(SIN) - 1 - STEPS)):
        sine, cosine = t.fma(z, sine, t.splat(SIN[k])), t.fma(z, cosine, t.splat(COS[k]))
    # sin = r + (r^3 S + tail), where tail r^2/2 is below 0.16 units of the result
    s = t.op("fadd", r, t.fma(cubed, sine, tail))
    # cos = w + ((1 - w) - z/2 - r tail + z^2 C) with w = 1 - z/2 rounded
    c = t.op("fadd", w, t.fma(fourth, cosine, t.fma(t.neg(r), tail, rest)))
    odd = t.integer("and", quadrant, t.whole_splat(1))
    swap = t.emit(f"icmp ne {t.whole} {odd}, {t.whole_splat(0)}")
    s1, c1 = t.select(swap, c, s), t.select(swap, s, c)
    return _signed(t, s1, quadrant), _signed(t, c1, t.integer("add", quadrant, t.whole_splat(1)))


def polynomials(t: Text, r: str, tail: str, quadrant: str) -> tuple[str, str]:
    """Return sine and cosine of r + tail in a quadrant."""
    return _polynomials(t, _Reduced(r, tail, quadrant), _begun(t, r))


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


def fast(t: Text, x: str) -> tuple[str, str, str]:
    """Return sine, cosine, and where the argument is too large for this way, or not finite."""
    reduced, huge = _reduced(t, x)
    return *polynomials(t, *reduced), huge


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
    s, c, huge = fast(t, "%x")
    mask = _mask(t, huge)
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
        lines += [*_any(t, mask, "%some"), "  br i1 %some, label %slow, label %fast", "slow:"]
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
    """Return instructions that set a name where a lane of a mask is set."""
    bits, wide = f"{name}_bits", f"i{64 * t.W}"
    return [
        f"  {bits} = bitcast {t.whole} {huge} to {wide}",
        f"  {name} = icmp ne {wide} {bits}, 0",
    ]


def _returned(pair: str, real: str, tag: str, s: str, c: str) -> list[str]:
    return [
        f"  %{tag}0 = insertvalue {pair} undef, {real} {s}, 0",
        f"  %{tag}1 = insertvalue {pair} %{tag}0, {real} {c}, 1",
        f"  ret {pair} %{tag}1",
    ]


def _stored(W: int) -> str:
    """Return @sincos_to_W: sines and cosines of n vectors in each of several tiles, side by side.

    Three are on their way: one is finished while the polynomials of the next begin and the one
    after is reduced, since each alone would leave the processor waiting.  Past the last vector,
    that one is read again.  Where any turns out huge, all are worked out once more.
    """
    real, _ = types(W)
    pair, one = f"{{{real}, {real}}}", 8 * W
    t = _Tabled(W)

    def taken() -> list[str]:
        lines, t.lines = t.lines, []
        return lines

    first, huge0 = _reduced(t, "%x0")
    begun = _begun(t, first.r)
    second, huge1 = _reduced(t, "%x1")
    start = t.integer("or", _mask(t, huge0), _mask(t, huge1))
    before = taken()
    after = _Reduced(*(f"%after_{x}" for x in _Reduced._fields))
    now = _Reduced(*(f"%now_{x}" for x in _Reduced._fields))
    s, c = _polynomials(t, now, _Begun(*(f"%now_{x}" for x in _Begun._fields)))
    finish = [*taken(), *_put(real, one, s, c, "%pairs_now")]
    begin = _begun(t, after.r)
    middle = taken()
    later, huge = _reduced(t, "%x")
    found = t.integer("or", "%huge", _mask(t, huge))
    reduce = taken()
    kinds = dict(zip(_Reduced._fields, (t.real, t.real, t.whole), strict=True))
    carried = [("huge", t.whole, start, found)]
    for k, (name, kind) in enumerate(kinds.items()):
        carried.append((f"after_{name}", kind, second[k], later[k]))
        carried.append((f"now_{name}", kind, first[k], after[k]))
    for k, name in enumerate(_Begun._fields):
        carried.append((f"now_{name}", t.real, begun[k], begin[k]))
    lines = [
        f"define internal void @sincos_to_{W}"
        "(ptr %angles, ptr %pairs, i64 %n, i64 %tiles, i64 %size) noinline {",
        "entry:",
        "  %all = mul i64 %n, %tiles",
        "  %others = sub i64 %n, 1",
        # from the last vector of a tile to the first of the next
        f"  %row = mul i64 %others, {one}",
        "  %jump = sub i64 %size, %row",
        "  %jump_pairs = sub i64 %jump, %row",
        *_following(one, "0", "%n", "%angles", "%pairs", "%all"),
        f"  %x0 = load {real}, ptr %angles, align {one}",
        f"  %x1 = load {real}, ptr %angles_next0, align {one}",
        *before,
        "  br label %each",
        "each:",
        "  %left = phi i64 [%left_next0, %entry], [%left_next, %each]",
        "  %count = phi i64 [%all, %entry], [%count_next, %each]",
        "  %k = phi i64 [%k_next0, %entry], [%k_next, %each]",
        "  %angles_now = phi ptr [%angles_next0, %entry], [%angles_next, %each]",
        "  %pairs_after = phi ptr [%pairs_next0, %entry], [%pairs_next, %each]",
        "  %pairs_now = phi ptr [%pairs, %entry], [%pairs_after, %each]",
        *(f"  %{x} = phi {kind} [{a}, %entry], [{b}, %each]" for x, kind, a, b in carried),
        *_following(one, "", "%k", "%angles_now", "%pairs_after", "%left"),
        f"  %x = load {real}, ptr %angles_next, align {one}",
        *_alike(finish, middle, reduce),
        "  %count_next = sub i64 %count, 1",
        "  %more = icmp sgt i64 %count_next, 0",
        "  br i1 %more, label %each, label %all_done",
        "all_done:",
        *_any(t, found, "%some"),
        "  br i1 %some, label %slow, label %end",
        # one of them is huge: all of them once more, by the way that takes every number
        "slow:",
        "  %left2 = phi i64 [%all, %all_done], [%left_next2, %slow]",
        "  %k2 = phi i64 [%n, %all_done], [%k_next2, %slow]",
        "  %angles2 = phi ptr [%angles, %all_done], [%angles_next2, %slow]",
        "  %pairs2 = phi ptr [%pairs, %all_done], [%pairs_next2, %slow]",
        *_following(one, "2", "%k2", "%angles2", "%pairs2", "%left2"),
        f"  %x2 = load {real}, ptr %angles2, align {one}",
        f"  %both = call {pair} @sincos_{W}({real} %x2)",
        f"  %s2 = extractvalue {pair} %both, 0",
        f"  %c2 = extractvalue {pair} %both, 1",
        *_put(real, one, "%s2", "%c2", "%pairs2"),
        "  %more2 = icmp sgt i64 %left2, 1",
        "  br i1 %more2, label %slow, label %end",
        "end:",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines) + t.constants()


def _mask(t: Text, bits: str) -> str:
    """Return bits as whole lanes."""
    return t.emit(f"sext {t.bit} {bits} to {t.whole}")


def _alike(*parts: list[str]) -> list[str]:
    """Return the lines of several parts in turns, so that all end together."""
    longest = max(map(len, parts))
    placed = [
        (k * longest / len(part), n) for n, part in enumerate(parts) for k in range(len(part))
    ]
    left = [iter(part) for part in parts]
    return [next(left[n]) for _, n in sorted(placed)]


def _put(real: str, one: int, s: str, c: str, where: str) -> list[str]:
    """Return instructions that write sine and cosine side by side."""
    return [
        f"  store {real} {s}, ptr {where}, align {one}",
        f"  {where}_c = getelementptr i8, ptr {where}, i64 {one}",
        f"  store {real} {c}, ptr {where}_c, align {one}",
    ]


def _following(one: int, tag: str, k: str, angles: str, pairs: str, left: str) -> list[str]:
    """Return instructions that set the next place: in this tile, in the next, or here at the end.

    k vectors are left in the tile and `left` in all tiles, this one included.
    """
    return [
        f"  %left_next{tag} = sub i64 {left}, 1",
        f"  %last{tag} = icmp slt i64 %left_next{tag}, 1",
        f"  %k_less{tag} = sub i64 {k}, 1",
        f"  %full{tag} = icmp eq i64 %k_less{tag}, 0",
        f"  %k_next{tag} = select i1 %full{tag}, i64 %n, i64 %k_less{tag}",
        f"  %step{tag} = select i1 %full{tag}, i64 %jump, i64 {one}",
        f"  %step_pairs{tag} = select i1 %full{tag}, i64 %jump_pairs, i64 {2 * one}",
        f"  %on{tag} = select i1 %last{tag}, i64 0, i64 %step{tag}",
        f"  %on_pairs{tag} = select i1 %last{tag}, i64 0, i64 %step_pairs{tag}",
        f"  %angles_next{tag} = getelementptr i8, ptr {angles}, i64 %on{tag}",
        f"  %pairs_next{tag} = getelementptr i8, ptr {pairs}, i64 %on_pairs{tag}",
    ]


def _slow() -> str:
    t = Text(1)
    e = t.emit
    r, tail, quadrant, below = reduce_huge(t)
    r, tail = _renormalised(t, r, tail)
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
