"""What a function can reach at one time: saved, compared, restored."""

from __future__ import annotations

from collections.abc import Sequence
from types import CellType
from typing import Any

import numpy as np

Container = list[Any] | dict[Any, Any] | set[Any] | np.ndarray

MISSING = object()
"""Stands for the value of a name that is not bound."""


class Memory:
    """Contents of lists, dictionaries, sets and arrays, and what names are bound to.

    Nested objects are saved one by one, so each is compared by the identity of its elements.
    """

    def __init__(
        self,
        containers: Sequence[tuple[Container, str]],
        bindings: Sequence[tuple[Any, str]] = (),
    ) -> None:
        """Save the contents of containers, and the values of names.

        Args:
            containers: objects with contents, each with the words that lead to it.
            bindings: owner and name: a dictionary of globals, a cell, a class, or the pair of a
                slot and its object.
        """
        self._kept = [(x, x.copy(), path) for x, path in containers]
        self._bound = [(owner, name, value_of(owner, name)) for owner, name in bindings]

    def changed(self) -> str:
        """Return the name of something that has changed since; empty if nothing has."""
        for owner, name, value in self._bound:
            if value_of(owner, name) is not value:
                return name
        for now, then, path in self._kept:
            if not _same(now, then):
                return path
        return ""

    def restore(self) -> None:
        """Restore everything."""
        for owner, name, value in self._bound:
            if value_of(owner, name) is not value:
                _bind(owner, name, value)
        for now, then, _ in self._kept:
            if _same(now, then):
                continue
            if isinstance(now, np.ndarray):
                now[...] = then
            elif isinstance(now, list):
                now[:] = then
            else:
                now.clear()
                now.update(then)


def value_of(owner: Any, name: str) -> Any:
    """Return what a name is bound to, or MISSING."""
    if isinstance(owner, dict):
        return owner.get(name, MISSING)
    try:
        if isinstance(owner, CellType):
            return owner.cell_contents
        if isinstance(owner, tuple):
            slot, holder = owner
            return slot.__get__(holder, type(holder))
    except (ValueError, AttributeError):
        return MISSING
    return vars(owner).get(name, MISSING)


def _bind(owner: Any, name: str, value: Any) -> None:
    """Bind a name to a value again; MISSING removes it."""
    if isinstance(owner, dict):
        owner[name] = value
        if value is MISSING:
            del owner[name]
    elif isinstance(owner, CellType):
        owner.cell_contents = value
        if value is MISSING:
            del owner.cell_contents
    elif isinstance(owner, tuple):
        slot, holder = owner
        slot.__set__(holder, value)
        if value is MISSING:
            slot.__delete__(holder)
    else:
        type.__setattr__(owner, name, value)
        if value is MISSING:
            type.__delattr__(owner, name)


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
