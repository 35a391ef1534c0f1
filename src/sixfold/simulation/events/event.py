"""Events: functions of (t, q, v) whose zero crossings are found; some end or change a motion."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from sixfold.arrays import Array
from sixfold.errors import (
    ArgumentError,
    CallbackError,
    NotApplicableError,
    OptionError,
    yes_or_no,
)


@dataclass(frozen=True)
class Event:
    """A zero crossing to look for while simulating.

    Args:
        function: takes (t, q, v) of one state and returns a number; its sign changes are the event.
        name: what to call it; the function's name when left out.
        stop: end the motion at the first crossing.
        direction: 1 for rising through zero only, -1 for falling only, 0 for both.
        reset: takes (t, q, v) at a crossing and returns the (q, v) from which the motion goes on:
            an impact, a new footing.  Where it returns None the motion ends.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> bottom = sf.Event(lambda t, q, v: q[0], name="bottom", stop=True)
        >>> run = sf.simulate(sf.load("pendulum"), [0.01], None, 2.0, events=bottom)
        >>> run.events[0].name, bool(abs(run.q[-1, 0]) < 1e-9)
        ('bottom', True)
    """

    function: Callable[[float, Array, Array], Any]
    name: str = ""
    stop: bool = False
    direction: int = 0
    reset: Callable[[float, Array, Array], Any] | None = None

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
        if self.reset is not None and not callable(self.reset):
            raise OptionError("Event", "reset", "a function of (t, q, v), or None", self.reset)
        if self.reset is not None and self.stop:
            fix = "leave stop out; a reset that returns None ends the motion"
            raise NotApplicableError("Event: option 'stop'", "an event with a reset", fix)
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
    q_after: Array | None = field(default=None, repr=False)
    """Where the motion goes on from after a reset; None without one."""
    v_after: Array | None = field(default=None, repr=False)


def events_of(given: Any) -> tuple[Event, ...]:
    """Return events from one function or event, or from several."""
    if given is None:
        return ()
    listed = list(given) if isinstance(given, Iterable) else [given]
    result = tuple(item if isinstance(item, Event) else Event(item) for item in listed)
    for event in result:
        _check_signature(f"simulate: event '{event.name}'", event.function)
        if event.reset is not None:
            _check_signature(f"simulate: reset of event '{event.name}'", event.reset)
    return result


def _check_signature(where: str, function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError as error:
        fix = "write it as a function of (t, q, v)"
        raise CallbackError(where, "a function of (t, q, v)", error, fix) from None
    except ValueError:
        pass  # a function without a signature
