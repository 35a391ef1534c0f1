"""Events: zero crossings found while simulating, and resets of the state at them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import (
    ArgumentError,
    CallbackError,
    NotApplicableError,
    OptionError,
    SimulationError,
    SixfoldError,
    whole_number,
    yes_or_no,
)
from sixfold.model import Model
from sixfold.quantities.configurations import integrate
from sixfold.runtime import in_order


@dataclass(frozen=True)
class Event:
    """A zero crossing to look for while simulating.

    Args:
        function: takes (t, q, v) of one state and returns a number; its sign changes are the event.
        name: name of the event; that of the function by default.
        stop: end the motion at the first crossing.
        direction: 1 for rising through zero only, -1 for falling only, 0 for both.
        reset: takes (t, q, v) at a crossing and returns the (q, v) with which the motion continues:
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
                "write def height(t, q, v): return q[2], for example",
            )
        whole_number("Event", "direction", self.direction, -1, 1, "-1, 0 or 1")
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
    #: State with which the motion continues after a reset; None without one.
    q_after: Array | None = field(default=None, repr=False)
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


HALVINGS = 80  #: Largest number of evaluations for one crossing.

MAX_RESETS = 10_000  #: Resets in one step.

MAX_RESETS_AT_ONCE = 100  #: Resets at one time: feet that strike together, or in turn, make a few.

#: Share of an event's values in a step up to which its value at the start, or after a reset, counts
#: as zero.
ON_SURFACE = 1e-9

PROBE = 1e-3  #: Share of a step to look ahead and back for the direction of an event after a reset.

Advance = Callable[[float, float, Array], Array]


class Stepped(NamedTuple):
    """Where a step ends."""

    t: float
    x: Array
    stopped: bool = False


class Watch:
    """Follows the sign of every event from step to step."""

    def __init__(
        self,
        model: Model,
        events: tuple[Event, ...],
        t: float,
        x: Array,
        states: int = 0,
        restart: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the initial state.

        Args:
            model: the robot.
            events: what to look for.
            t: time at the start.
            x: state at the start: q, v, states of the controller, then sums of rounding errors.
            states: how many states the controller has.
            restart: called after a reset, for a method that looks back.
        """
        self._model, self._events = model, events
        self._kept = model.nq + model.nv + states
        self._restart = restart
        self._start: list[float] | None = [self._value(event, t, x) for event in events]
        self._signs = [_sign(value) for value in self._start]
        self._last, self._still = -math.inf, 0
        self.crossings: list[Crossing] = []
        self.jumps: list[tuple[float, Array]] = []  #: Times and states before and after each reset.

    def step(self, t: float, h: float, x: Array, after: Array, advance: Advance) -> Stepped:
        """Check one step from x to `after`, and go on after resets in it.

        Raises:
            SimulationError: if resets follow each other without end.
        """
        begin, end = t, t + h
        for _ in range(MAX_RESETS):
            # the first crossing that resets ends this part of the step; the rest starts behind it
            signs = list(self._signs)
            for s, k in self._crossings_in(t, h, x, after, advance):
                event = self._events[k]
                at = after if s == h else advance(t, s, x)
                moved = None if event.reset is None else self._apply_reset(event, t + s, at)
                self._note(event, t + s, at, moved)
                if event.stop or (event.reset is not None and moved is None):
                    return Stepped(t + s, at, stopped=True)
                if moved is not None:
                    self._check_progress(event, t + s)
                    self._signs = self._signs_after(
                        k, signs, (t, x), (t + h, after), (t + s, moved), PROBE * (end - begin)
                    )
                    self._restart()
                    t, x = t + s, moved
                    break
            else:
                return Stepped(end, after)
            h = end - t
            if h <= 0:
                return Stepped(end, x)
            after = advance(t, h, x)
        raise self._endless(self._events[k], t, f"{MAX_RESETS:,} resets in one step")

    def _crossings_in(
        self, t: float, h: float, x: Array, after: Array, advance: Advance
    ) -> list[tuple[float, int]]:
        """Return the crossings of a step in the order of time: when, and of which event."""
        found: list[tuple[float, int]] = []
        for k, event in enumerate(self._events):
            value = self._value(event, t + h, after)
            if self._start and abs(self._start[k]) <= ON_SURFACE * abs(value):
                self._signs[k] = 0  # a start on the zero but for rounding, which is no event
            before, now = self._signs[k], _sign(value)
            if before and now != before:
                self._signs[k] = now = -before
                if event.direction in (0, now):
                    found.append((self._locate(event, t, h, x, before, value, advance), k))
            elif now:
                self._signs[k] = now
        self._start = None
        return sorted(found, key=lambda pair: pair[0])

    def _signs_after(
        self,
        fired: int,
        signs: list[int],
        start: tuple[float, Array],
        end: tuple[float, Array],
        now: tuple[float, Array],
        short: float,
    ) -> list[int]:
        """Return the signs after a reset.

        An event that is still at its zero keeps the sign it had before: it turns back, or is found
        again.  But the one whose reset it was may go on in its direction, as the feet of a walker
        that change roles do: that is a start on the zero, which is no event.

        Args:
            fired: the event whose reset it was.
            signs: before the step.
            start: time and state at the start of the step.
            end: at its end, without the reset.
            now: after the reset.
            short: a time to look ahead and back.
        """
        found = []
        for k, (event, before) in enumerate(zip(self._events, signs, strict=True)):
            # a value within rounding of zero has no sign of its own
            value = self._value(event, *now)
            scale = max(abs(self._value(event, *start)), abs(self._value(event, *end)))
            if abs(value) > ON_SURFACE * scale:
                found.append(_sign(value))
            elif k == fired and self._slope(event, *now, short) == -before:
                found.append(0)
            else:
                found.append(before)
        return found

    def _slope(self, event: Event, t: float, x: Array, short: float) -> int:
        """Return the sign of an event's rate while velocities stay as they are."""
        nq = self._model.nq
        q, v = self._parts(x)
        values = []
        for dt in (-short, short):
            near = x.copy()
            near[:nq] = integrate(self._model, q, v, dt)
            values.append(self._value(event, t + dt, near))
        return _sign(values[1] - values[0])

    def _apply_reset(self, event: Event, t: float, x: Array) -> Array | None:
        """Return the state that a reset leads to; None where the motion ends."""
        assert event.reset is not None
        nq, nv = self._model.nq, self._model.nv
        where = f"simulate: reset of event '{event.name}' at t = {t:.9g} s"
        expected, fix = f"(q, v) with {nq} and {nv} numbers, or None", "return the state after it"
        try:
            # tables are put in the model's order; anything else that fails is the callback's error
            given = event.reset(t, *self._parts(x))
            if given is None:
                return None
            names = self._model.coordinates.q_names, self._model.coordinates.v_names
            q, v = (
                np.asarray(in_order(where, name, part, [labels]), float)
                for name, part, labels in zip("qv", given, names, strict=True)
            )
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise CallbackError(where, expected, got, fix) from error
        if q.shape != (nq,) or v.shape != (nv,):
            raise CallbackError(where, expected, f"shapes {q.shape} and {v.shape}", fix)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise CallbackError(where, "finite numbers", f"{q} and {v}", fix)
        moved = x.copy()
        try:
            moved[:nq] = integrate(self._model, q, np.zeros(nv))  # unit quaternions
        except SixfoldError as error:
            raise CallbackError(where, "a configuration", error, fix) from error
        moved[nq : nq + nv] = v
        moved[self._kept :] = 0.0  # what rounding took belongs to the motion before
        return moved

    def _note(self, event: Event, t: float, at: Array, moved: Array | None) -> None:
        if moved is None:
            self.crossings.append(Crossing(event.name, t, *self._parts(at)))
        else:
            crossing = Crossing(event.name, t, *self._parts(at), *self._parts(moved))
            self.crossings.append(crossing)
            self.jumps += [(t, at), (t, moved)]

    def _check_progress(self, event: Event, t: float) -> None:
        """Refuse resets that time stands still for: a few may follow each other at once."""
        still = t - self._last <= 4.0 * math.ulp(abs(t))
        self._last, self._still = t, self._still + 1 if still else 0
        if self._still >= MAX_RESETS_AT_ONCE:
            raise self._endless(event, t, f"{self._still} resets at this time")

    def _endless(self, event: Event, t: float, got: str) -> SimulationError:
        fix = (
            "the motion comes to rest there (as a ball that bounces ever lower), or the reset "
            "leaves the state where it crosses again: end the motion by returning None, for "
            "example below some speed"
        )
        what = f"simulate: resets of event '{event.name}' follow each other without end"
        return SimulationError(what, time=t, got=got, fix=fix, trajectory=None)

    def _locate(
        self, event: Event, t: float, h: float, x: Array, sign: int, end: float, advance: Advance
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
            # two secant steps, then one bisection: a flat function cannot hold the search up
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
        fix, found = "return one finite number for every state", math.nan
        try:
            found = event.function(t, q, v)
            if found is None:
                fix = "end the function with 'return distance', or what else crosses zero"
            value = float(found)
        except Exception as error:
            nothing = found is None
            got = "nothing" if nothing else f"{type(error).__name__}: {error}"
            raise CallbackError(where, "a number", got, fix) from error
        if not math.isfinite(value):
            raise CallbackError(where, "a finite number", value, fix)
        return value

    def _parts(self, x: Array) -> tuple[Array, Array]:
        nq, nv = self._model.nq, self._model.nv
        return x[:nq].copy(), x[nq : nq + nv].copy()


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


__all__ = ["Crossing", "Event", "events_of"]
