"""Bad calls, one after another from a seed, and what comes of them."""

from __future__ import annotations

import random
import re
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sixfold.errors import SixfoldError
from tests.battery.surface import Target
from tests.battery.values import BAD, Own, spoilt

SECONDS = 2.0
"""Processor time that a bad call may take."""
WALL = 30.0
"""Time on the clock, for a call that waits; a busy machine takes its part of it."""
SIGNATURE = re.compile(
    r"missing \d+ required|takes (from )?\d+ (to \d+ )?positional|takes no arguments|"
    r"unexpected keyword|multiple values for|positional-only|takes exactly|"
    r"expected \d+ arguments?|takes \d+ positional|abstract class"
)


class Hang(BaseException):
    """A call that took longer than it may."""


@dataclass(frozen=True)
class Call:
    """One bad call."""

    label: str
    how: str
    places: tuple[Any, ...]
    names: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a call came to: "answer", "refused", "signature", "own", or what was found wrong."""

    kind: str
    text: str = ""

    @property
    def bad(self) -> bool:
        return self.kind in ("foreign", "hang")


def call(target: Target, seed: object) -> Call:
    """Return the bad call of a target that a seed stands for."""
    rng = random.Random(f"{target.label}:{seed}")
    given = {name: target.good[name]() for name in target.required if name in target.good}
    for name in target.optional:
        if name in target.good and rng.random() < 0.3:
            given[name] = target.good[name]()
    every = (*target.required, *target.optional)
    way = rng.random()
    count = 1 if way < 0.6 else 2 if way < 0.75 else len(every) if way < 0.85 else 0
    wrong = rng.sample(every, min(count, len(every)))
    said = []
    for name in wrong:
        label, given[name] = _bad(target, name, rng)
        said.append(f"{name}: {label}")
    for name in target.required:
        if name not in given:
            label, given[name] = _bad(target, name, rng)
            said.append(f"{name}: {label}")
    given.update(target.forced)
    places: list[Any] = []
    for name in target.positional:
        if name not in given or (name not in target.required and rng.random() < 0.5):
            break
        places.append(given.pop(name))
    if count == 0:
        said.append(_signature(given, places, rng))
    return Call(target.label, "; ".join(said), tuple(places), given)


def _bad(target: Target, name: str, rng: random.Random) -> tuple[str, Any]:
    if name in target.good and rng.random() < 0.4:
        return spoilt(target.good[name](), rng)
    label = rng.choice(sorted(BAD))
    return label, BAD[label]()


def _signature(given: dict[str, Any], places: list[Any], rng: random.Random) -> str:
    """Spoil how a call is written, and say how."""
    way = rng.choice(("missing", "unknown", "one more"))
    if way == "missing" and places:
        places.pop()
    elif way == "missing" and given:
        given.pop(rng.choice(sorted(given)))
    elif way == "one more":
        places.append(rng.choice(list(BAD.values()))())
    else:
        given["no_such_option"] = 1
    return way


def outcome(target: Target, made: Call) -> Outcome:
    """Make the call and say what came of it."""
    function = target.make()
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*made.places, **made.names)
    except Hang:
        return Outcome("hang", f"over {SECONDS} s of processor time")
    except SixfoldError as error:
        return _message(error)
    except Own:
        return Outcome("own")
    except Exception as error:
        if isinstance(error, TypeError) and SIGNATURE.search(str(error)) and _shallow(error):
            return Outcome("signature")
        if target.type_errors and isinstance(error, (TypeError, MemoryError, ArithmeticError)):
            return Outcome("refused")  # as arithmetic says it
        if target.numpy_errors and isinstance(error, (TypeError, ValueError, MemoryError)):
            return Outcome("refused")
        return Outcome("foreign", _told(error))
    return Outcome("answer")


def _message(error: SixfoldError) -> Outcome:
    """Refuse a message that cannot be printed, or that nobody would read."""
    try:
        text = str(error)
        text.encode()
    except Exception as another:
        return Outcome("foreign", f"message of {type(error).__name__} fails: {another!r}"[:200])
    if len(text) > 4000:
        return Outcome("foreign", f"message of {type(error).__name__} has {len(text)} characters")
    return Outcome("refused")


def _shallow(error: BaseException) -> bool:
    """Return whether an error comes from the call itself and not from deep inside."""
    return len(traceback.extract_tb(error.__traceback__)) <= 3


def _told(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/sixfold/" in f.filename]
    where = ours[-1] if ours else frames[-1]
    place = f"{where.filename.rpartition('/sixfold/')[2]}:{where.lineno} {where.name}"
    try:
        said = str(error)
    except Exception:
        said = "?"
    return f"{type(error).__name__} at {place}: {said[:120]!r}"


@contextmanager
def limited() -> Iterator[None]:
    """Raise Hang in a call that takes too long."""

    def over(*_: Any) -> None:
        raise Hang

    old = [signal.signal(s, over) for s in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WALL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), old, strict=True):
            signal.signal(number, handler)


def spread(targets: Sequence[Target], count: int) -> list[tuple[int, int]]:
    """Return (number of target, seed) for so many calls, all targets alike."""
    return [(k % len(targets), k // len(targets)) for k in range(count)]
