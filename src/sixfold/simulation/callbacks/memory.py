"""Mutable objects that a function can reach: recorded, compared, restored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Changeable = list[Any] | dict[Any, Any] | set[Any] | np.ndarray


class Memory:
    """The contents of lists, dictionaries, sets and arrays at one time.

    Nested objects are recorded one by one, so each is compared by the identity of its elements.
    """

    def __init__(self, objects: Iterable[Changeable]) -> None:
        """Record their contents."""
        self._kept = [(x, x.copy()) for x in objects]

    def changed(self) -> bool:
        """Return whether the contents of any of them have changed."""
        return not all(_same(now, then) for now, then in self._kept)

    def restore(self) -> None:
        """Restore their contents."""
        for now, then in self._kept:
            if _same(now, then):
                continue
            if isinstance(now, np.ndarray):
                now[...] = then
            elif isinstance(now, list):
                now[:] = then
            else:
                now.clear()
                now.update(then)


def _same(now: Any, then: Any) -> bool:
    if isinstance(now, np.ndarray):
        if now.shape != then.shape or now.dtype != then.dtype:
            return False
        if now.dtype.hasobject:
            return all(x is y for x, y in zip(now.flat, then.flat, strict=True))
        return now.tobytes() == then.tobytes()
    if len(now) != len(then):
        return False
    if isinstance(now, dict):
        return all(key in now and now[key] is value for key, value in then.items())
    if isinstance(now, set):
        return bool(now == then)
    return all(x is y for x, y in zip(now, then, strict=True))
