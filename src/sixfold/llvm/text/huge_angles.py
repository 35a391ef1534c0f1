"""pi/2 and 2/pi to many bits, and the reduction of huge angles by them (Payne and Hanek)."""

from __future__ import annotations

from fractions import Fraction

from sixfold.llvm.text.instructions import Text, hexadecimal

PI_BITS = 1408
"""Bits of pi/2 that are computed below."""


def _half_pi() -> Fraction:
    """Return pi/2 to PI_BITS bits by Machin's formula."""
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
P2 = Fraction(round((HALF_PI - P1) * 2**90), 2**90)
"""37 bits, so that its product with any whole number up to 2^16 is exact."""
P3 = Fraction(float(HALF_PI - P1 - P2))


def _cut(x: Fraction, bits: int) -> Fraction:
    """Return a positive number with so many binary places, the rest cut off."""
    return Fraction(int(x * 2**bits), 2**bits)


Q1 = _cut(HALF_PI, 23)
Q2 = _cut(HALF_PI - Q1, 47)
Q3 = _cut(HALF_PI - Q1 - Q2, 71)
"""Three parts of pi/2, each a number of single precision."""

REST = HALF_PI - P1
"""What P1 alone leaves of pi/2."""


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
    pi, pi_low = t.splat(float(P1)), t.splat(float(REST))
    r = t.op("fmul", high_f, pi)
    tail = t.fma(high_f, pi, e(f"fneg double {r}"))
    tail = t.fma(high_f, pi_low, t.fma(low_f, pi, tail))
    return r, tail, quadrant, below
