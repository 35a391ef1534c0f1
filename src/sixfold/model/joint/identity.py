"""What identifies a joint made of the user's own code: the programs of its functions.

Each function is called on numbers that record how they are computed.  One that cannot be recorded,
because it chooses by value, is known by its values at a few random coordinates and by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixfold.errors import ModelError
from sixfold.scalar.record import digest_of_result, recorded

SAMPLES = 8
"""Random coordinates at which a function is evaluated that cannot be recorded."""

_KEPT: dict[int, Any] = {}
"""Functions known by identity; kept, so that no other object gets their id."""


def identity_of(
    where: str, function: Callable[..., Any], arguments: Sequence[tuple[str, int]], owner: Any
) -> str:
    """Return a hash of what a function of coordinates does.

    Args:
        where: the joint and its function, for messages.
        function: takes one tuple of numbers for each argument.
        arguments: names and sizes.
        owner: what the function is known by if it cannot be recorded.

    Raises:
        ModelError: if a second call does something else.
    """
    given = [recorded(name, size) for name, size in arguments]
    try:
        first, second = (digest_of_result(function(*given)) for _ in range(2))
    except Exception:  # it chooses by value, or is not defined for all kinds of numbers
        first, second = (_values(function, arguments) for _ in range(2))
        first, second = (f"{id(_KEPT.setdefault(id(owner), owner))} {x}" for x in (first, second))
    if first != second:
        what = "a second call with the same arguments does something else"
        fix = "write a function without a memory, a clock and random numbers"
        raise ModelError(where, what, fix)
    return first


def _values(function: Callable[..., Any], arguments: Sequence[tuple[str, int]]) -> str:
    """Return a hash of a function's values at random coordinates."""
    rng = np.random.default_rng(0)
    found: list[Any] = []
    for _ in range(SAMPLES):
        given = [tuple(rng.uniform(-1.0, 1.0, size).tolist()) for _, size in arguments]
        try:
            found.append(digest_of_result(function(*given)))
        except Exception as error:  # not defined there
            found.append(type(error).__name__)
    return " ".join(found)
