"""The reduction of angles in single precision, by pi/2 in three parts."""

from __future__ import annotations

from fractions import Fraction

from sixfold.llvm.text.huge_angles import HALF_PI
from sixfold.llvm.text.instructions import Text


def _cut(x: Fraction, bits: int) -> Fraction:
    """Return a positive number with so many binary places, the rest cut off."""
    return Fraction(int(x * 2**bits), 2**bits)


Q1 = _cut(HALF_PI, 23)
Q2 = _cut(HALF_PI - Q1, 47)
Q3 = _cut(HALF_PI - Q1 - Q2, 71)
"""Three parts of pi/2, each a number of single precision."""


def reduce_single(t: Text, x: str) -> tuple[str, str, str]:
    """Return x less the nearest multiple of pi/2: value, tail, and the quadrant in the lowest bits.

    Good to 2^-50 up to 2^17, where the nearest multiple is below 2^24.
    """
    magic = t.splat(1.5 * 2.0**23)
    shifted = t.fma(x, t.splat(float(1 / HALF_PI)), magic)
    quadrant = t.bits(shifted)
    k = t.op("fsub", shifted, magic)
    minus = t.neg(k)
    # x - k Q1 is exact, a multiple of 2^-24 below 1
    r1 = t.fma(minus, t.splat(float(Q1)), x)
    # k Q2 = second + low without error; what r loses of the difference is exact too
    second = t.op("fmul", k, t.splat(float(Q2)))
    low = t.fma(minus, t.splat(float(Q2)), second)
    r = t.op("fsub", r1, second)
    lost = t.op("fsub", t.op("fsub", r1, r), second)
    tail = t.fma(minus, t.splat(float(Q3)), t.op("fadd", lost, low))
    return r, tail, quadrant
