"""Validate numbers and sequences of numbers; named constructors call this once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from decimal import Decimal
from numbers import Complex, Real
from typing import Any

import numpy as np

from sixfold.errors import (
    ArgumentError,
    CallbackError,
    NumberError,
    ShapeError,
    SixfoldError,
    TooLargeError,
    kind_of,
    quote,
)
from sixfold.scalar.zero import Zero

_PLAIN = frozenset((float, int, Zero))
_LARGEST = 2**1023
_CONTAINERS = (str, bytes, bytearray, memoryview, list, tuple, Mapping, Set, type, Decimal)
_ARITHMETIC = ("__add__", "__mul__", "__neg__")


def is_number(x: Any) -> bool:
    """Return whether something is a real number of any kind: a float, an array, a symbol.

    An array counts as one number that holds a batch.
    """
    if type(x) in _PLAIN:
        return not isinstance(x, int) or -_LARGEST < x < _LARGEST
    if isinstance(x, bool) or (isinstance(x, Complex) and not isinstance(x, Real)):
        return False
    if isinstance(x, np.matrix):  # its products are not those of numbers
        return False
    # arrays of floats and integers, and of objects that are numbers
    kind = getattr(getattr(x, "dtype", None), "kind", None)
    if isinstance(kind, str):
        return kind in "fiu" or (kind == "O" and all(map(is_number, x.reshape(-1))))
    if isinstance(x, _CONTAINERS):
        return False
    return all(hasattr(type(x), name) for name in _ARITHMETIC)


def number_of(where: str, argument: str, x: Any) -> Any:
    """Return a number; raise NumberError for anything else."""
    if not is_number(x):
        place = f"{where}: argument '{argument}' is no number"
        raise NumberError(place, "a real number", _text_of(x), "pass a float, an array or a symbol")
    return x


def several_numbers(where: str, argument: str, values: Any, n: int, fix: str) -> tuple[Any, ...]:
    """Return n numbers of a sequence; raise for anything else."""
    listed = items_of(where, argument, values, n, f"{n} numbers", fix)
    for x in listed:
        if not is_number(x):
            place = f"{where}: argument '{argument}' does not hold real numbers"
            raise NumberError(place, f"{n} numbers", _text_of(x), fix)
    return listed


def items_of(
    where: str, argument: str, values: Any, n: int, expected: str, fix: str
) -> tuple[Any, ...]:
    """Return the n items of a sequence of any objects."""
    if type(values) not in (list, tuple) and not _is_sequence(values):
        raise ArgumentError(f"{where}: argument '{argument}'", expected, values, fix)
    if len(values) != n:
        raise ShapeError(where, argument, expected, f"{len(values)}", fix)
    return tuple(values)


def mistaken(error: Exception, where: str, wanted: type | tuple[type, ...], got: Any) -> Exception:
    """Return the error to raise when a method failed: the original, if its argument was right.

    For methods that algorithms call millions of times: they check an argument only after a failure.
    """
    if isinstance(got, wanted):
        return error
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    expected = " or ".join(f"a {kind.__name__}" for kind in kinds)
    made = f"{kinds[0].__name__}.of(...)" if hasattr(kinds[0], "of") else kinds[0].__name__
    return ArgumentError(where, expected, got, f"make one, for example with {made}")


def conversion_error(error: Exception, convert: Callable[..., Any]) -> Exception:
    """Return the error to raise when a conversion of numbers failed."""
    if isinstance(error, SixfoldError):
        return error
    where, expected = "map: argument 'convert'", "a function of one number"
    if not callable(convert):
        return ArgumentError(where, expected, convert, "pass a function such as float")
    got = f"{kind_of(error)}: {error}"
    return CallbackError(where, expected, got, "pass a function that takes each of the numbers")


@contextmanager
def together(where: str) -> Iterator[None]:
    """Raise errors of numbers that cannot be combined as errors of the library."""
    try:
        yield
    except SixfoldError:
        raise
    except (ArithmeticError, TypeError, ValueError) as error:
        fix = "pass floats or arrays of one shape, and no zero where there is a division"
        place = f"{where}: these numbers cannot be combined"
        raise NumberError(
            place, "numbers of one kind, arrays that broadcast", error, fix
        ) from error
    except MemoryError as error:
        raise TooLargeError(where, f"{error}", "pass fewer numbers at a time") from None


def _is_sequence(values: Any) -> bool:
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping, Set, type)):
        return False
    if getattr(values, "ndim", 1) == 0:
        return False
    if not (isinstance(values, Sequence) or hasattr(values, "__getitem__")):
        return False
    try:
        return len(values) >= 0
    except Exception:  # an object whose own length fails
        return False


def _text_of(x: Any) -> str:
    plain = isinstance(x, (str, bytes, bool, complex, Decimal)) or x is None
    return quote(x) if plain else kind_of(x)
