"""Whether a callback may be compiled, and what identifies it: the program that it is traced to.

A compiled callback is called on symbols and never on the states of the motion.  That is the same
motion if the callback is pure.  It is taken for pure if

- all objects that it can reach can be saved (`purity`), and its calls leave them as they were;
- two traces give the same program;
- called twice on the same numbers it returns the same numbers, those that the program gives;
- it catches no exception that symbols raise and numbers do not.

All other callbacks run as Python, or are refused where they cannot.
"""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.errors import CallbackError, ShapeError
from sixfold.model import Model
from sixfold.quantities.configurations import random_state
from sixfold.runtime import KERNELS, FunctionProgram, program_of, user_kernel, without_compiling
from sixfold.simulation.callbacks import Callback
from sixfold.simulation.purity import Memory, Reach, of_library, reach_of

#: Difference between a callback's numbers and those of its program, by the largest of them, that is
#: taken for rounding.
SAME_VALUE = 1e-6

MAX_KNOWN = 1024  #: Callbacks that are remembered as pure.

#: Digests of programs, by all that their callbacks can reach: those that were found to be pure.
_PURE: OrderedDict[Any, str] = OrderedDict()


class Tracing:
    """A callback that is called on symbols, if it may be, and identified by its program."""

    def __init__(
        self,
        callback: Callback,
        model: Model,
        compiled: bool | None = None,
        others: Sequence[Callable[..., Any]] = (),
    ) -> None:
        """Trace a callback.

        Args:
            callback: the function.
            model: the robot, for the sizes of its arguments.
            compiled: True to insist, False to run it as Python, None to compile what is pure.
            others: further functions of the same run, called as Python while it runs compiled.
        """
        self.callback, self.model, self.compiled = callback, model, compiled
        self.reason = ""  #: Why it runs as Python; empty if it may be compiled.
        self.digest = ""  #: Of its program.
        self.reach = Reach() if compiled is False else reach_of(callback.function)
        if compiled is False:
            self.reason = "compiled=False"
        elif compiled is None:
            self.reason = self._doubt(others)
        if not self.reason:
            self._identify()

    def _doubt(self, others: Sequence[Callable[..., Any]]) -> str:
        """Return why the callback must not be called to see what it does."""
        if self.reach.reason:
            return f"it may remember something between calls: {self.reach.reason}"
        for other in map(reach_of, others):
            if other.reason and self.reach.shares(other):
                return "another function of this run may change what it reads"
        return ""

    def _identify(self) -> None:
        """Trace the callback, find out whether it is pure, and keep the digest of its program."""
        run, shapes = self.callback.traceable(self.model)
        sizes, key = tuple(shapes.items()), self.reach.key
        # a known function need not be traced again
        place = None if key is None else (key, sizes, self.model.digest, self.compiled)
        # a function that reaches the same code and values as before has the same program
        if self.reach.complete and place in _PURE:
            self.digest = _PURE[place]
            return
        self.attempt(lambda: self._trace(run, shapes, place))
        if not self.reason and place is not None:
            _PURE[place] = self.digest
            while len(_PURE) > MAX_KNOWN:
                _PURE.popitem(last=False)

    def _trace(self, run: Callable[..., Any], shapes: dict[str, Shape], place: Any) -> None:
        program = program_of(run, list(shapes.values()))
        self.digest = program.digest
        if place is not None and _PURE.get(place) == self.digest:
            return  # found to be pure before, with the same code and values, and the same program
        if program_of(run, list(shapes.values())).digest != self.digest:
            raise NotPureError("two calls with the same arguments do different things")
        if self.compiled is None and not self.reach.library:
            self._compare_numbers(program, run, shapes)

    def _compare_numbers(
        self, program: FunctionProgram, run: Callable[..., Any], shapes: dict[str, Shape]
    ) -> None:
        """Compare what the callback returns for numbers with what its program gives."""
        for seed, t in enumerate((0.375, 1e4)):
            numbers = _numbers(self.model, shapes, t, seed)
            with np.errstate(all="ignore"), warnings.catch_warnings(), without_compiling():
                warnings.simplefilter("ignore")
                first, second = (_flat(run(*(x.copy() for x in numbers))) for _ in range(2))
            if not np.array_equal(first, second, equal_nan=True):
                raise NotPureError("two calls with the same arguments return different numbers")
            # numbers take branches that symbols cannot: compare with what the program gives
            wanted = program.value(numbers)
            if self.reach.catches and seed == 0:
                self._compare_exceptions(run, shapes, numbers)
            known = np.isfinite(first) & np.isfinite(wanted)
            largest = np.abs(first[known]).max(initial=0.0)
            if np.abs(first - wanted)[known].max(initial=0.0) > SAME_VALUE * max(1.0, largest):
                raise NotPureError("it does with numbers what it does not do with symbols")

    def _compare_exceptions(
        self, run: Callable[..., Any], shapes: dict[str, Shape], numbers: Sequence[Array]
    ) -> None:
        """Refuse a callback that catches an exception which symbols raise and numbers do not.

        Its `except` clause would replace what it does with the states of the motion.
        """
        with np.errstate(all="ignore"), warnings.catch_warnings(), without_compiling():
            warnings.simplefilter("ignore")
            usual = exceptions_of(lambda: run(*(x.copy() for x in numbers)))
        for place in exceptions_of(lambda: program_of(run, list(shapes.values()))):
            if place not in usual:
                raise NotPureError(f"it catches a {place[2].__name__} that symbols raise")

    def is_disturbed_by(self, others: Iterable[Tracing]) -> bool:
        """Return whether one of the others runs as Python and may change what this one reads."""
        return not self.reason and any(
            other.reason and other is not self and self.reach.shares(other.reach)
            for other in others
        )

    def attempt(self, make: Callable[[], Any]) -> Any:
        """Return what is made by calling the function on symbols, or None and keep the reason.

        Objects that the function can reach are restored.
        """
        if self.reason:
            return None
        memory, made = self.reach.memory(), None
        try:
            made = make()
        except (ShapeError, CallbackError):
            raise
        except Exception as error:
            self.reason = str(error).partition("\n")[0].partition(": its program")[0]
            if self.compiled:
                raise self.refusal(f"{type(error).__name__}: {self.reason}") from error
        finally:
            changed = memory.describe_change()
            memory.restore()
        if changed and self.compiled is None:
            self.reason = f"it remembers something between calls: it changes '{changed}'"
        return None if self.reason else made

    def refusal(self, got: str = "") -> CallbackError:
        """Return the error that says why the callback cannot be compiled."""
        callback = self.callback
        remembers = "remember" in self.reason or "two calls" in self.reason
        if self.compiled:
            fix = "use sixfold.math.if_positive instead of `if`, or leave compiled=True out"
        elif remembers:
            fix = "keep no state between calls, or pass compiled=True if it keeps nothing"
        else:
            fix = "use sixfold.math.if_positive instead of `if`, and keep no state between calls"
        return CallbackError(
            f"{callback.caller}: {callback.name}{callback.takes} cannot be compiled",
            "a function built from arithmetic, sixfold functions and sixfold.math.if_positive, "
            "which remembers nothing between calls",
            got or self.reason,
            fix,
        )

    def kernel(self) -> Any:
        """Return the callback as a kernel of the arrays that it takes, or None."""
        if self.reason:
            return None
        run, shapes = self.callback.traceable(self.model)
        key = ("callback", self.callback.name, self.digest)
        known = KERNELS.find(key)
        if known is not None:
            return known[0]
        name, sizes = self.callback.name, list(shapes.values())
        kernel = self.attempt(lambda: user_kernel(run, name, sizes, "float64"))
        if kernel is not None:
            KERNELS.keep(key, kernel)
        return kernel


def exceptions_of(call: Callable[[], Any]) -> set[tuple[CodeType, int, type]]:
    """Return where the user's code sees exceptions during a call: function, line, and type."""
    found: set[tuple[CodeType, int, type]] = set()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if of_library(frame.f_globals.get("__name__")):
            return None  # calls from inside it still come here
        frame.f_trace_lines = False
        # an iterator ends by an exception of its own
        if event == "exception" and not issubclass(argument[0], StopIteration):
            found.add((frame.f_code, frame.f_lineno, argument[0]))
        return trace

    # a debugger or coverage tool may trace as well: put its function back
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


class NotPureError(Exception):
    """A callback whose calls are not all the same; the text says why."""


def digests(tracings: Iterable[Tracing]) -> tuple[tuple[str, str], ...]:
    """Return what identifies callbacks: their names and the digests of their programs."""
    return tuple((each.callback.name, each.digest) for each in tracings)


def memory_of(functions: Iterable[Callable[..., Any]]) -> Memory:
    """Save all that some functions can reach."""
    found = Reach()
    for each in map(reach_of, functions):
        found.containers |= each.containers
        found.bindings |= each.bindings
    return found.memory()


def _numbers(model: Model, shapes: dict[str, Shape], t: float, seed: int) -> list[Array]:
    """Return arguments of a callback: a random configuration, and other random numbers."""
    rng = np.random.default_rng(seed)
    q, v = random_state(model, seed=seed)
    known = {"t": np.asarray(t), "q": q, "v": v}
    return [
        known[name] if name in known else rng.uniform(0.25, 1.0, shape)
        for name, shape in shapes.items()
    ]


def _flat(result: Any) -> Array:
    return np.asarray(result, float).reshape(-1)


def identify(
    model: Model, callbacks: list[Callback], compiled: bool | None
) -> tuple[list[Tracing], tuple[tuple[str, str], ...]]:
    """Return the traces of callbacks, and what tells them from others: what they do.

    A function whose program is known needs no new kernel, so a descent compiles once although its
    functions are traced again in every iteration.
    """
    tracings: list[Tracing] = []
    for callback in callbacks:
        others = [each.function for each in callbacks if each is not callback]
        tracing = Tracing(callback, model, compiled, others)
        if tracing.reason:
            raise tracing.refusal()
        tracings.append(tracing)
    return tracings, digests(tracings)


def trace_together(
    model: Model, callbacks: Sequence[Callback], compiled: bool | None, make: Callable[[], Any]
) -> tuple[Any, tuple[tuple[str, str], ...]]:
    """Return what is made by calling the functions on symbols, and what identifies them.

    Args:
        model: the robot.
        callbacks: the functions; each must be pure.
        compiled: True if the user says that they remember nothing.
        make: calls all of them once.

    Raises:
        CallbackError: if one cannot be compiled, or may remember something between calls.
    """
    tracings, known = identify(model, list(callbacks), compiled)
    made = make
    for tracing in tracings:
        made = partial(tracing.attempt, made)
    found = made()
    for tracing in tracings:
        if tracing.reason:
            raise tracing.refusal()
    return found, known
