"""Random numbers that depend on (seed, row, episode) alone, whatever else is drawn beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, odd: Weyl's step of SplitMix64 (Steele, Lea, Flood 2014)."""

_SHIFTS = tuple(map(np.uint64, (30, 27, 31)))
_FACTORS = tuple(map(np.uint64, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))


def streams(seed: int, rows: Any) -> NDArray[np.uint64]:
    """Return a hash of (seed, row) for each of some rows: what `uniforms` starts from.

    Args:
        seed: from 0 to 2**64 - 1.
        rows: numbers of environments, shape (n,).
    """
    with np.errstate(over="ignore"):
        return _mixed(np.asarray(rows, np.uint64) + _mixed(np.uint64(seed) + _STRIDE))


def uniforms(streams: Any, episodes: Any, width: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1) for an episode of each stream, shape (len(streams), width).

    Each is SplitMix64 of a counter whose start is a hash of (seed, row, episode), so that results
    are the same bits for any batch, split and order.

    Args:
        streams: of `streams`, shape (n,).
        episodes: how many episodes each has had, whole numbers, shape (n,).
        width: numbers for each.
    """
    with np.errstate(over="ignore"):
        start = _mixed(streams + np.asarray(episodes, np.uint64) * _STRIDE)
        counters = start[:, None] + np.arange(1, width + 1, dtype=np.uint64) * _STRIDE
        counters = _mixed(counters)
        counters >>= np.uint64(11)
        return counters * 2.0**-53


def _mixed(x: Any) -> Any:
    """Return the hash of SplitMix64: every bit of x changes half of the bits of the result."""
    x = x ^ (x >> _SHIFTS[0])
    x *= _FACTORS[0]
    x ^= x >> _SHIFTS[1]
    x *= _FACTORS[1]
    x ^= x >> _SHIFTS[2]
    return x
