"""`repeat` and `subroutine`: on numbers a loop and a call, in a traced program kept once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from sixfold.errors import ArgumentError, SixfoldError, TooLargeError, kind_of, quote
from sixfold.scalar.check import is_number
from sixfold.scalar.operations import Scalar, if_positive, reading_of

T = TypeVar("T")
#: Takes rounds, step, what is carried and `while_positive`; returns what is carried in the end.
Recorder = Callable[[int, Callable[[Any], Any], Any, int | None], Any]
#: Most rounds: a solver in a step takes a few; more would look like a program that hangs.
MAX_ROUNDS = 1_000_000
MAX_DEPTH = 32  # most lists inside each other
_RECORDERS: dict[type, Recorder] = {}


def on_repeat(kind: type, recorder: Recorder) -> None:
    """Let a kind of number record a repetition instead of running it round by round."""
    _RECORDERS[kind] = recorder


def repeat(
    rounds: int, step: Callable[[T], T], carried: T, *, while_positive: int | None = None
) -> T:
    """Return what is carried after a fixed number of rounds: carried = step(carried) in each.

    On plain numbers, arrays, SymPy expressions and MPFR numbers this is a Python loop.  In a
    function that is compiled it becomes a loop in machine code: the size of the code and the time
    to compile do not grow with the number of rounds.  There the step must return what it takes: as
    many numbers, in arrays of the same shapes.

    Args:
        rounds: how often, from 0 to 1,000,000.
        step: one round; it may use any number of the functions around it, and is traced once.
        carried: a number, an array, or a tuple or list of them.
        while_positive: place of a number in `carried`, which then is a tuple or list of numbers.
            A row for which that number is not positive keeps what it has; when no row has one,
            the remaining rounds are skipped.  The result of a row does not depend on other rows.

    Returns:
        What the last step returned, or `carried` itself after no rounds.

    Example:
        >>> import sixfold as sf
        >>> root = sf.math.repeat(6, lambda x: (x + 2.0 / x) / 2, 1.0)  # Newton's method
        >>> round(root, 12) == round(sf.math.sqrt(2.0), 12)
        True
        >>> sf.math.repeat(5, lambda s: (s[1], s[0] + s[1]), (0, 1))  # Fibonacci's numbers
        (5, 8)
        >>> half = lambda s: (s[0] / 2, s[0] / 2 - 6.0)
        >>> sf.math.repeat(50, half, (100.0, 1.0), while_positive=1)  # until it is not above 6
        (3.125, -2.875)
    """
    if not isinstance(rounds, Integral) or isinstance(rounds, bool) or rounds < 0:
        fix = "pass how often the step is applied, the same for every state"
        raise ArgumentError("repeat: argument 'rounds'", "a whole number from 0", rounds, fix)
    if rounds > MAX_ROUNDS:
        what = f"{quote(rounds)} rounds"
        raise TooLargeError("repeat", what, f"take at most {MAX_ROUNDS:,} rounds in one call")
    if not callable(step):
        fix = "pass a function that takes and returns what is carried"
        raise ArgumentError("repeat: argument 'step'", "a function", step, fix)
    for x in _numbers(carried):
        if not is_number(x):
            fix = "pass a number, an array, or a tuple or list of them"
            raise ArgumentError("repeat: argument 'carried'", "numbers", x, fix)
    if while_positive is not None:
        step = _freezing(step, carried, while_positive)
    # plain numbers: a loop; traced numbers: their recorder takes the rest of the rounds
    for done in range(int(rounds)):
        # numbers of the functions around may come in with the first round
        recorder = _recorder(carried) if done < 2 else None
        if recorder is not None:
            recorded: T = recorder(int(rounds) - done, step, carried, while_positive)
            return recorded
        if while_positive is not None and not _any_positive(carried[while_positive]):
            break
        carried = _next(step, carried, done)
    return carried


def _freezing(step: Callable[[T], T], carried: T, place: int) -> Callable[[T], T]:
    """Return a step that leaves rows as they are where the number at a place is not positive."""
    flat = isinstance(carried, (tuple, list))
    if not flat or any(isinstance(x, (tuple, list)) for x in carried):  # type: ignore[attr-defined]
        fix = "carry a tuple or list of numbers, one of which is `while_positive`"
        raise ArgumentError("repeat: argument 'carried'", "a flat list of numbers", carried, fix)
    count = len(carried)  # type: ignore[arg-type]
    if not isinstance(place, Integral) or isinstance(place, bool) or not 0 <= place < count:
        fix = "pass the place of a number in `carried`"
        expected = f"a whole number from 0 to {count - 1}"
        raise ArgumentError("repeat: argument 'while_positive'", expected, place, fix)

    def frozen_or_next(old: Any) -> Any:
        new = step(old)
        pairs = zip(old, new, strict=True)
        return type(old)([if_positive(old[place], after, before) for before, after in pairs])

    return frozen_or_next


def _any_positive(x: Any) -> bool:
    """Return whether some row of a number is positive; True where that is not known."""
    if not isinstance(x, (int, float, np.ndarray, np.generic)):
        return True
    return bool((np.asarray(x) > 0).any())


def _next(step: Callable[[T], T], carried: T, done: int) -> T:
    """Run one round."""
    try:
        return step(carried)
    except SixfoldError:
        raise
    except Exception as error:
        fix = "pass a function that takes and returns what is carried"
        where = f"repeat: argument 'step' failed in round {done + 1}"
        got = f"{kind_of(error)}: {error}"
        raise ArgumentError(where, "a function of what is carried", got, fix) from error


def _recorder(carried: Any) -> Recorder | None:
    """Return that of the highest-ranked kind of number, if it has one."""
    # several kinds may meet: the highest records
    kinds = {type(x) for x in _numbers(carried)} & _RECORDERS.keys()
    return _RECORDERS[max(kinds, key=lambda kind: reading_of(kind).rank)] if kinds else None


def _numbers(carried: Any, depth: int = 0) -> Iterator[Any]:
    """Yield what is carried: numbers, arrays of numbers, and elements of other arrays."""
    if depth > MAX_DEPTH:
        fix = "carry a tuple or list of numbers and arrays"
        raise ArgumentError("repeat: argument 'carried'", "numbers", "lists without end", fix)
    if isinstance(carried, (tuple, list)):
        for x in carried:
            yield from _numbers(x, depth + 1)
    elif isinstance(carried, np.ndarray):
        yield from carried.reshape(-1) if carried.dtype == object else (carried,)
    else:
        yield carried


# -- subroutines

Numbers = Sequence[Scalar]
#: Takes a function of lists of numbers and its arguments; returns its results.
SubroutineRecorder = Callable[[Callable[..., Numbers], Sequence[Numbers]], Numbers]
_SUBROUTINE_RECORDERS: dict[type, SubroutineRecorder] = {}


def on_subroutine(kind: type, recorder: SubroutineRecorder) -> None:
    """Let a kind of number mark the evaluations of a function."""
    _SUBROUTINE_RECORDERS[kind] = recorder


def subroutine(function: Callable[..., Numbers], *lists: Numbers) -> Numbers:
    """Return function(*lists), whose operations a program keeps once, however often it is called.

    For repeated solves and the like in compiled algorithms.  All evaluations must do the same
    operations: in a program nothing is folded across the call, so zeros cost as much as other
    numbers.  Numbers that the function uses in addition to its arguments, and arguments that are
    equal in each call, are not copied.  With plain numbers the function is called directly.

    Args:
        function: takes as many lists of numbers, returns one.
        lists: the arguments.
    """
    kinds: set[Any] = {type(x) for numbers in lists for x in numbers}
    highest = max(kinds, key=lambda kind: reading_of(kind).rank, default=float)
    recorder = _SUBROUTINE_RECORDERS.get(highest)
    return function(*lists) if recorder is None else recorder(function, lists)
