"""Locks across a fork, and imports that a fork waits for.

A forked child has one thread: the one that called fork.  A lock that another thread held at that
moment stays locked in the child for ever, and what it guards may be half changed.  So the locks of
this library are taken before a fork and released after it, in the parent and in the child.

Locks are taken in the order of their ranks, which is the order in which they nest.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from importlib import import_module
from threading import RLock, get_ident
from typing import Any


class Rank(IntEnum):
    """What a lock guards, in the order in which locks nest."""

    IMPORTS = 0
    COMPILER = 1
    KERNELS = 2
    CODE = 3
    THREADS = 4


PATIENCE = 60.0  #: Seconds to wait for a lock before a fork; after that the child gets a new one.

_locks: dict[int, Any] = {}
#: By thread that forks: each lock, and whether it was to be had.
_taken: dict[int, list[tuple[Any, bool]]] = {}


def fork_lock(rank: Rank) -> Any:
    """Return a new reentrant lock that is taken before each fork."""
    return watch_lock(RLock(), rank)


def watch_lock(found: Any, rank: Rank) -> Any:
    """Take an existing lock before each fork too; return it."""
    _locks[rank] = found
    return found


def renew_in_child(renew: Callable[[], None]) -> None:
    """Call a function in each forked child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)


def _take_all() -> None:
    taken = _taken[get_ident()] = []
    for rank in sorted(_locks):
        found = _locks[rank]
        taken.append((found, found.acquire(timeout=PATIENCE)))


def _release_all(child: bool) -> None:
    # the child gets fresh locks where the parent's thread did not hold them
    for found, held in reversed(_taken.pop(get_ident(), [])):
        if held:
            found.release()
        elif child:
            found._at_fork_reinit()
    if child:
        _taken.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_take_all,
        after_in_parent=lambda: _release_all(child=False),
        after_in_child=lambda: _release_all(child=True),
    )


#: Held while a module is imported after the start: a child that is forked meanwhile could never
#: import it.
IMPORTS = fork_lock(Rank.IMPORTS)
_found: dict[str, Any] = {}


def lazily(name: str) -> Any:
    """Return a module, imported the first time."""
    found = _found.get(name)
    if found is None:
        with IMPORTS:
            found = _found[name] = import_module(name)
    return found


class Returns:
    """Takes back what finalisers give back.

    A finaliser may run at any point of any thread, inside a guarded section too, so it must not
    wait for a lock.  It leaves its thing in a queue; whoever can get the lock empties the queue.
    """

    def __init__(self, lock: Any, take_back: Callable[[Any], None]) -> None:
        """Take the lock of the guarded state and the function that puts a thing back into it."""
        self._lock, self._take_back = lock, take_back
        self._waiting: deque[Any] = deque()
        self._inside: int | None = None  #: The thread in the section; of use only to that thread.
        #: What it was before each section that is open; one thread changes it at a time.
        self._outer: list[int | None] = []

    def give(self, thing: Any) -> None:
        """Give something back; never waits."""
        self._waiting.append(thing)
        self._drain()

    def __enter__(self) -> None:
        """Start a guarded section; what was given back before is there inside it."""
        me = get_ident()
        self._lock.acquire()
        outer, self._inside = self._inside, me
        self._outer.append(outer)
        if outer != me and self._waiting:
            try:
                self._empty()
            except BaseException:
                self.__exit__()
                raise

    def __exit__(self, *_: object) -> None:
        """End a guarded section."""
        outer = self._outer.pop()
        self._inside = outer if outer == get_ident() else None
        self._lock.release()
        if self._waiting:
            self._drain()

    def _drain(self) -> None:
        # whoever was inside looks again after leaving, so that nothing is left behind
        me = get_ident()
        while self._waiting and self._inside != me and self._lock.acquire(blocking=False):
            self._inside = me
            try:
                self._empty()
            finally:
                self._inside = None
                self._lock.release()

    def _empty(self) -> None:
        while self._waiting:
            self._take_back(self._waiting.popleft())
