"""Numbers that keep a hash of how they were computed: the identity of a function is what it does.

A function of the user's own is called on such numbers.  Two functions whose results have the same
hashes do the same operations, in the same order, on the same constants, independent of
their text and of what they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sixfold.forks import lazily
from sixfold.scalar.operations import RULES, Op, register
from sixfold.scalar.zero import ZERO, Zero


class Recorded:
    """A number that is known by the operations that lead to it."""

    __slots__ = ("digest",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, digest: bytes) -> None:
        """Take the hash of the operations."""
        self.digest = digest

    def __mul__(self, other: Any) -> Any:
        """Record a product; one with an exact zero is zero."""
        return ZERO if isinstance(other, Zero) else _operation("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        """Record a product."""
        return ZERO if isinstance(other, Zero) else _operation("mul", other, self)

    def __pow__(self, exponent: Any) -> Any:
        """Record a power."""
        return _operation("pow", self, exponent)

    def __neg__(self) -> Recorded:
        """Record a change of sign."""
        return _operation("neg", self)

    def __pos__(self) -> Recorded:
        """Return the number itself."""
        return self

    def __abs__(self) -> Recorded:
        """Record a size."""
        return _operation("abs", self)

    def _refuse(self, *_: Any) -> Any:
        raise TypeError("a recorded number has no value to compare or convert")

    __bool__ = __float__ = __int__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __eq__ = _refuse
    __ne__ = _refuse


def recorded_inputs(name: str, size: int) -> tuple[Recorded, ...]:
    """Return inputs of a function: numbers known by a name and their place."""
    return tuple(Recorded(_hash(f"input {name} {k}".encode())) for k in range(size))


def digest_of_result(result: Any) -> str:
    """Return a hash of what a function returned for recorded numbers: numbers, vectors, tuples."""
    return _hash(b" ".join(_parts(result))).hex()


def _parts(x: Any) -> Iterator[bytes]:
    # containers count with their lengths, so that ((a), b) differs from (a, b)
    if x is None:
        yield b"none"
    elif isinstance(x, (tuple, list)):
        yield f"{len(x)}:".encode()
        for each in x:
            yield from _parts(each)
    elif hasattr(x, "columns"):  # a subspace
        yield from _parts(x.columns)
    elif isinstance(x, np.ndarray):
        yield from _parts(x.tolist())
    else:
        yield _digest(x)


def _digest(x: Any) -> bytes:
    """Return the hash of a number, recorded or plain."""
    if isinstance(x, Recorded):
        return x.digest
    if isinstance(x, (int, float, np.generic, Zero)):
        return _hash(f"const {(float(x) + 0.0).hex()}".encode())  # both zeros are one
    raise TypeError(f"a recorded number met {type(x).__name__}")


def _operation(name: str, *arguments: Any) -> Any:
    """Return the result of an operation; NotImplemented for kinds of numbers above ours."""
    try:
        return Recorded(_hash(b" ".join([name.encode(), *map(_digest, arguments)])))
    except TypeError:
        return NotImplemented


def _hash(content: bytes) -> bytes:
    digest: bytes = lazily("hashlib").blake2b(content, digest_size=16).digest()
    return digest


def _apply(op: Op, *arguments: Any) -> Recorded:
    return Recorded(_hash(b" ".join([op.value.encode(), *map(_digest, arguments)])))


def _method(op: Op) -> Callable[..., Any]:
    """Return the method by which NumPy asks the elements of an array for an operation."""
    return lambda self, *rest: _apply(op, self, *rest)


def _operator(name: str, swapped: bool) -> Callable[..., Any]:
    """Return the method of a binary operator of Python."""
    if swapped:
        return lambda self, other: _operation(name, other, self)
    return lambda self, other: _operation(name, self, other)


# sums, differences and quotients have no special cases
for _python, _name in (("add", "add"), ("sub", "sub"), ("truediv", "div")):
    setattr(Recorded, f"__{_python}__", _operator(_name, swapped=False))
    setattr(Recorded, f"__r{_python}__", _operator(_name, swapped=True))
for _op, _row in RULES.items():
    if _row.numpy and not hasattr(Recorded, _row.numpy):
        setattr(Recorded, _row.numpy, _method(_op))
register(Recorded, 5, _apply)
