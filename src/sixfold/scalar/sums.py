"""Sums of products over any kind of number; exact zeros drop out."""

from __future__ import annotations

from collections.abc import Iterable

from sixfold.scalar.functions import if_positive
from sixfold.scalar.ops import Scalar
from sixfold.scalar.zero import ZERO


def total(values: Iterable[Scalar]) -> Scalar:
    """Return the sum."""
    found: Scalar = ZERO
    for x in values:
        found = found + x
    return found


def dot(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """Return the sum of products."""
    return total(x * y for x, y in zip(a, b, strict=True))


def positive(x: Scalar) -> Scalar:
    """Return x, or zero where it is negative."""
    return if_positive(x, x, 0.0)
