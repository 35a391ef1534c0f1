"""Sine and cosine of every number of single precision, against those of double precision.

python -m tests.long.single_sincos, about four minutes on one core.  The kernels of double precision
are right to one unit in their last place (tests/llvm/test_sincos.py), 2^-29 of a unit here.
"""

from __future__ import annotations

import numpy as np

import sixfold as sf

CHUNK = 1 << 22
LARGEST = np.array([np.finfo(np.float32).max], np.float32).view(np.uint32)[0]


def pair(x):
    """Return sine and cosine of one number."""
    return np.array([sf.math.sin(x[0]), sf.math.cos(x[0])])


def main() -> None:
    """Print the largest error in each decade, in units of the last place of the true value."""
    single, double = (
        sf.compile(pair, inputs={"x": 1}, dtype=dtype) for dtype in ("float32", "float64")
    )
    ends = np.array([0.0, 0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, np.inf], np.float32)
    worst, inexact = np.zeros((len(ends) - 1, 2)), 0
    for first in range(0, int(LARGEST) + 1, CHUNK):
        last = min(first + CHUNK, int(LARGEST) + 1)
        x = np.arange(first, last, dtype=np.uint32).view(np.float32)
        found, true = single(x[:, None]), double(x.astype(np.float64)[:, None])
        minus = single(-x[:, None])
        assert np.array_equal(minus[:, 0], -found[:, 0])
        assert np.array_equal(minus[:, 1], found[:, 1])
        unit = np.spacing(np.abs(true).astype(np.float32)).astype(np.float64)
        error = np.abs(found - true) / unit
        decade = np.searchsorted(ends, x[0], "right") - 1, np.searchsorted(ends, x[-1], "right")
        for k in range(*decade):
            there = error[(x >= ends[k]) & (x < ends[k + 1])]
            worst[k] = np.maximum(worst[k], there.max(axis=0, initial=0.0))
        inexact += int((found != true.astype(np.float32)).sum())
    for a, b, (sine, cosine) in zip(ends, ends[1:], worst, strict=False):
        print(f"{a:9.3g} to {b:9.3g}: sine {sine:.4f}, cosine {cosine:.4f} units")
    print(f"{inexact} of {2 * (int(LARGEST) + 1)} values are not the nearest")
    assert worst.max() < 0.85


if __name__ == "__main__":
    main()
