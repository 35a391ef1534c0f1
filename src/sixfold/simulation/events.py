"""Events: functions of (t, q, v) whose zero crossings are found, noted, and may end a motion."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, CallbackError, OptionError, yes_or_no
from sixfold.model import Model

HALVINGS = 80
"""Largest number of evaluations for one crossing."""

Advance = Callable[[float, float, Array], Array]


@dataclass(frozen=True)
class Event:
    """A zero crossing to look for while simulating.

    Args:
        function: takes (t, q, v) of one state and returns a number; its sign changes are the event.
        name: what to call it; the function's name when left out.
        stop: end the motion at the first crossing.
        direction: 1 for rising through zero only, -1 for falling only, 0 for both.
    """

    function: Callable[[float, Array, Array], Any]
    name: str = ""
    stop: bool = False
    direction: int = 0

    def __post_init__(self) -> None:
        """Check the function and the direction; fill in the name."""
        if not callable(self.function):
            raise ArgumentError(
                "Event: argument 'function'",
                "a function of (t, q, v)",
                self.function,
                "pass a function",
            )
        whole = isinstance(self.direction, int) and not isinstance(self.direction, bool)
        if not whole or self.direction not in (-1, 0, 1):
            raise OptionError("Event", "direction", (-1, 0, 1), self.direction)
        yes_or_no("Event", stop=self.stop)
        if not isinstance(self.name, str):
            raise OptionError("Event", "name", "a text", self.name)
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", "event"))


@dataclass(frozen=True)
class Crossing:
    """An event that happened: its name, time and state."""

    name: str
    t: float
    q: Array = field(repr=False)
    v: Array = field(repr=False)


def events_of(given: Any) -> tuple[Event, ...]:
    """Return events from one function or event, or from several."""
    if given is None:
        return ()
    listed = list(given) if isinstance(given, Iterable) else [given]
    result = tuple(item if isinstance(item, Event) else Event(item) for item in listed)
    for event in result:
        try:
            inspect.signature(event.function).bind(None, None, None)
        except TypeError as error:
            where = f"simulate: event '{event.name}'"
            fix = "write the event as a function of (t, q, v)"
            raise CallbackError(where, "a function of (t, q, v)", error, fix) from None
        except ValueError:
            pass  # a function without a signature
    return result


class Watch:
    """Follows the sign of every event from step to step."""

    def __init__(self, model: Model, events: tuple[Event, ...], t: float, x: Array) -> None:
        """Take the initial state."""
        self._model, self._events = model, events
        self._signs = [_sign(self._value(event, t, x)) for event in events]
        self.crossings: list[Crossing] = []

    def step(self, t: float, h: float, x: Array, after: Array, advance: Advance) -> Any:
        """Check one step from x to `after`; return (t, x) where the motion stops, or None."""
        found: list[tuple[float, Event]] = []
        for k, event in enumerate(self._events):
            value = self._value(event, t + h, after)
            before, now = self._signs[k], _sign(value)
            if before and now != before:
                self._signs[k] = now = -before
                if event.direction in (0, now):
                    found.append((self._locate(event, t, h, x, before, value, advance), event))
            elif now:
                self._signs[k] = now
        for s, event in sorted(found, key=lambda pair: pair[0]):
            at = after if s == h else advance(t, s, x)
            q, v = self._parts(at)
            self.crossings.append(Crossing(event.name, t + s, q, v))
            if event.stop:
                return t + s, at
        return None

    def _locate(
        self,
        event: Event,
        t: float,
        h: float,
        x: Array,
        sign: int,
        end: float,
        advance: Advance,
    ) -> float:
        """Return the length of the step that ends at the zero: secant method with bisection."""
        low, high, f_high = 0.0, h, end
        f_low = self._value(event, t, x)
        if f_high == 0.0:
            return h
        closest = 2.0 * math.ulp(max(abs(t + h), h))
        for k in range(HALVINGS):
            if high - low <= closest:
                break
            s = 0.5 * (low + high)
            if k % 3 and f_low != f_high:
                secant = (low * f_high - high * f_low) / (f_high - f_low)
                s = secant if low < secant < high else s
            value = self._value(event, t + s, advance(t, s, x))
            if value == 0.0:
                return s
            if _sign(value) == sign:
                low, f_low = s, value
            else:
                high, f_high = s, value
        return high

    def _value(self, event: Event, t: float, x: Array) -> float:
        q, v = self._parts(x)
        where = f"simulate: event '{event.name}' at t = {t:.9g} s"
        fix = "return one finite number for every state"
        try:
            value = float(event.function(t, q, v))
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise CallbackError(where, "a number", got, fix) from error
        if not math.isfinite(value):
            raise CallbackError(where, "a finite number", value, fix)
        return value

    def _parts(self, x: Array) -> tuple[Array, Array]:
        nq, nv = self._model.nq, self._model.nv
        return x[:nq].copy(), x[nq : nq + nv].copy()


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
