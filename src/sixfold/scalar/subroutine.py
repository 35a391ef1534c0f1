"""A function that a program evaluates several times: called on numbers, kept once in a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sixfold.scalar.functions import reading_of
from sixfold.scalar.ops import Scalar

Numbers = Sequence[Scalar]
Recorder = Callable[[Callable[..., Numbers], Sequence[Numbers]], Numbers]
"""Takes a function of lists of numbers and its arguments; returns its results."""
_RECORDERS: dict[type, Recorder] = {}


def on_subroutine(kind: type, recorder: Recorder) -> None:
    """Let a kind of number mark the evaluations of a function."""
    _RECORDERS[kind] = recorder


def subroutine(function: Callable[..., Numbers], *lists: Numbers) -> Numbers:
    """Return function(*lists), whose operations a program keeps once, however often it is called.

    For repeated solves and the like, on pages that are compiled.  All evaluations must do the same
    operations: in a program nothing is folded across the call, so a number that is zero in one of
    them costs what any other costs.  Numbers that the function uses beside its arguments, and
    arguments that are the same each time, are not copied.  A call whose arguments are all plain
    numbers is carried out at once.

    Args:
        function: takes as many lists of numbers, returns one.
        lists: the arguments.
    """
    kinds: set[Any] = {type(x) for numbers in lists for x in numbers}
    highest = max(kinds, key=lambda kind: reading_of(kind).rank, default=float)
    recorder = _RECORDERS.get(highest)
    return function(*lists) if recorder is None else recorder(function, lists)
