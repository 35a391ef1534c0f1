"""When two spatial quantities are equal: of one kind, and equal in every number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

Kind = TypeVar("Kind", bound=type)


def compared(
    numbers: Callable[[Any], Sequence[Any]] = tuple, *, as_tuple: bool = False
) -> Callable[[Kind], Kind]:
    """Give a class `==`, `!=` and a hash that look at its numbers.

    Comparisons are always one bool.  Arrays are equal when their shapes and all their elements
    are, so that a quantity of many states is equal to another when it is so in every state.
    Symbols are compared as SymPy does, by form.  Graph nodes refuse to be compared.

    Args:
        numbers: how to get the numbers, or parts that are compared by themselves.
        as_tuple: whether a plain tuple of the same numbers is equal too.
    """

    def decorate(kind: Kind) -> Kind:
        others = (kind, tuple) if as_tuple else kind
        unlike = tuple if as_tuple else (tuple, np.ndarray)  # arrays would compare themselves

        def eq(self: Any, other: object) -> Any:
            if isinstance(other, others):
                return equal(numbers(self), numbers(other))
            return False if isinstance(other, unlike) else NotImplemented

        def ne(self: Any, other: object) -> Any:
            same = eq(self, other)
            return same if same is NotImplemented else not same

        def hashed(self: Any) -> int:
            return hash(tuple(numbers(self)))

        for name, method in (("__eq__", eq), ("__ne__", ne), ("__hash__", hashed)):
            setattr(kind, name, method)
        return kind

    return decorate


def equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether two sequences are equal, element by element."""
    return len(left) == len(right) and all(map(_same, left, right))


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)
