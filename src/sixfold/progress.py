"""Progress bars with the time left, on terminals and in notebooks.

Nothing is shown elsewhere, and nothing before two seconds unless a bar was asked for.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from sixfold.errors import ArgumentError, visible

#: Called with the amount done and the total, None if unknown.
Told = Callable[[float, float | None], object]

DELAY = 2.0  #: Delay before the automatic progress bar [s].
EVERY = 0.1  #: Interval between two redraws of a bar [s].
WIDTH = 32
LONGEST = 20  #: Characters of a label.

_listener: ContextVar[Told | None] = ContextVar("listener", default=None)
_counting: ContextVar[bool] = ContextVar("counting", default=False)


class Bar:
    """A bar with the time left, drawn at most ten times a second."""

    def __init__(
        self,
        label: str = "",
        *,
        known: float = 0.0,
        delay: float = 0.0,
        stream: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to draw.

        Args:
            label: what is done; cleaned and cut.
            known: how much was done before the work began, which says nothing of its speed.
            delay: seconds before the first picture.
            stream: where to draw; default: the standard error stream.
            clock: tells the time [s].
        """
        self._label = visible(label)[:LONGEST]
        self._known, self._clock = known, clock
        self._stream = sys.stderr if stream is None else stream
        self._begun = clock()
        self._next = self._begun + delay if delay else float("-inf")
        self._shown = False

    def __call__(self, done: float, total: float | None) -> None:
        """Draw; go to a new line at the end."""
        now = self._clock()
        end = total is not None and done >= total
        if (now < self._next and not end) or (end and not self._shown and now < self._next):
            return
        self._next, self._shown = now + EVERY, True
        self._draw(done, total, now - self._begun, end)

    def _draw(self, done: float, total: float | None, spent: float, end: bool) -> None:
        self._stream.write(f"\r{self._text(done, total, spent, end)}" + ("\n" if end else ""))
        self._stream.flush()

    def _text(self, done: float, total: float | None, spent: float, end: bool) -> str:
        label = f"{self._label} " if self._label else ""
        if total is None:
            return f"{label}{done:,.0f}, {duration(spent)}   "
        share = min(1.0, done / total) if total > 0 else 1.0
        full = int(WIDTH * share)
        bar = "#" * full + "-" * (WIDTH - full)
        fresh = done - self._known
        tail = f"{duration(spent * (total - done) / fresh)} left" if fresh > 0 else ""
        if end:
            tail = f"{duration(spent)} in all"
        return f"{label}[{bar}] {int(100 * share):3d} %  {tail:<16}"


class NotebookBar(Bar):
    """The same as an HTML element of a notebook, updated in place."""

    def __init__(self, label: str = "", **options: Any) -> None:
        """Prepare to draw; options as in `Bar`."""
        super().__init__(label, **options)
        self._handle: Any = None

    def _draw(self, done: float, total: float | None, spent: float, end: bool) -> None:
        from html import escape

        shown = import_module("IPython.display")
        top = 'max="1"' if total is None else f'value="{done}" max="{total}"'
        words = escape(self._text(done, total, spent, end)).replace("#", "").replace("[", "")
        words = words.replace("-", "").replace("]", "")
        page = shown.HTML(f'<progress {top} style="width:16em"></progress> <code>{words}</code>')
        if self._handle is None:
            self._handle = shown.display(page, display_id=True)
        else:
            self._handle.update(page)


def bar(label: str = "", *, known: float = 0.0, delay: float = 0.0) -> Bar | None:
    """Return a bar for where this runs: a terminal or a notebook; None elsewhere."""
    if in_notebook():
        return NotebookBar(label, known=known, delay=delay)
    return Bar(label, known=known, delay=delay) if on_terminal() else None


def callback_of(
    caller: str, given: Any, words: str, *, known: float = 0.0
) -> Callable[[float, float], object] | None:
    """Return what an option `progress` asks for: a bar for True, if there is a place for one.

    Args:
        caller: the public function, for messages; also the label of the bar.
        given: True, None, False or a function.
        words: what a function is called with.
        known: how much was done before.
    """
    if given is None or given is False:
        return None
    if given is True:
        return bar(caller, known=known)
    if not callable(given) or not _takes_two(given):
        where, fix = f"{caller}: argument 'progress'", "pass progress=True for a bar"
        raise ArgumentError(where, f"True, or a function of ({words})", given, fix)
    found: Callable[[float, float], object] = given
    return found


def _takes_two(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(0.0, 1.0)
    except TypeError:
        return False
    except ValueError:  # a built-in without a signature
        return True
    return True


def on_terminal() -> bool:
    """Return whether the standard error stream is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def in_notebook() -> bool:
    """Return whether this runs in a notebook's kernel."""
    known = sys.modules.get("IPython")
    shell = None if known is None else known.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def tell(done: float, total: float | None) -> None:
    """Report progress to the bar of `showing`, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)


@contextmanager
def showing(label: str) -> Iterator[None]:
    """Show a bar for the progress reported inside the `with`, if it takes long."""
    token = _listener.set(bar(label, delay=DELAY))
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal what is done and for how long, if it takes over two seconds.

    Nested calls print nothing.
    """
    if _counting.get() or not on_terminal():
        yield
        return
    over = threading.Event()
    stream, text = sys.stderr, f"sixfold: {visible(what)}"[:66]

    def count() -> None:
        begun, shown = time.monotonic(), False
        while not over.wait(DELAY if not shown else 0.5):
            stream.write(f"\r{text} {duration(time.monotonic() - begun)} ")
            stream.flush()
            shown = True
        if shown:
            stream.write(f"\r{text} {duration(time.monotonic() - begun)} \n")
            stream.flush()

    thread = threading.Thread(target=count, name="sixfold-working", daemon=True)
    thread.start()
    token = _counting.set(True)
    try:
        yield
    finally:
        _counting.reset(token)
        over.set()
        thread.join(timeout=1.0)


def duration(seconds: float) -> str:
    """Format a duration, such as "3 min 07 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
