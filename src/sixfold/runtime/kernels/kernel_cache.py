"""The kernels that are in memory: one table for all of them, of limited size.

The kernel that has not been used for longest goes first.  A kernel that somebody still holds, or
that runs in another thread, stays valid: the table only lets go of it.

`SIXFOLD_KERNELS` sets how many are kept (1024), `SIXFOLD_KERNELS_MB` how much memory they may take
together (256).
"""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, TypeVar

from sixfold.forks import Rank, fork_lock
from sixfold.model import Model

Table = dict[Any, Any]
T = TypeVar("T")


def _setting(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else otherwise


class _Slot:
    """A kernel in the table, its size, and the short cuts to it: tables and places in them."""

    __slots__ = ("found", "kernel", "short_cuts", "size")

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.found = kernel, (kernel,)
        self.size = 256 if kernel is None else kernel.nbytes
        self.short_cuts: list[tuple[Table, Any]] = []


class KernelCache:
    """Kernels by key, the one used last at the end."""

    def __init__(self, most: int, most_bytes: int) -> None:
        """Take the limits: how many, and how many bytes."""
        self.most, self.most_bytes = most, most_bytes
        self.size = 0
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()
        #: What was used last, if that is known: most calls are for the same kernel again.
        self._newest: _Slot | None = None
        self._keys: dict[int, Hashable] = {}
        self._lock = fork_lock(Rank.KERNELS)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._slots)

    def find(self, key: Hashable) -> tuple[Any] | None:
        """Return the kernel of a key, in a tuple because it may be None; None if there is none."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        # the lock is needed only to move another kernel to the end of the order
        if slot is not self._newest:
            with self._lock:
                if key in self._slots:  # not dropped meanwhile
                    self._slots.move_to_end(key)
                    self._newest = slot
        return slot.found

    def keep(self, key: Hashable, kernel: Any) -> None:
        """Keep a kernel, and let go of others where the limits say so."""
        slot = _Slot(kernel)
        dropped: list[_Slot] = []  # freed when the lock is free again
        with self._lock:
            dropped += self._drop(key)
            self._slots[key] = self._newest = slot
            self.size += slot.size
            if kernel is not None:
                self._keys[id(kernel)] = key
            # the newest stays, however large it is: it is about to be used
            while len(self._slots) > max(self.most, 1) or (
                self.size > self.most_bytes and len(self._slots) > 1
            ):
                dropped += self._drop_oldest()

    def short_cut(self, kernel: Any, table: Table, place: Any, entry: Any) -> None:
        """Put an entry into a table for as long as the kernel is kept here.

        Calls that find the entry do not come here.  So a kernel with a short cut is not dropped
        when its turn comes: it loses the short cut, and has until its next turn to be used again.
        """
        with self._lock:
            slot = self._slots.get(self._keys.get(id(kernel)))
            if slot is not None and slot.kernel is kernel:
                table[place] = entry
                slot.short_cuts = [x for x in slot.short_cuts if x[1] in x[0]]
                slot.short_cuts.append((table, place))

    def clear(self) -> None:
        """Let go of all kernels."""
        with self._lock:
            dropped = [slot for key in list(self._slots) for slot in self._drop(key)]
        del dropped

    def _drop_oldest(self) -> list[_Slot]:
        key, slot = next(iter(self._slots.items()))
        # entries that are used again come back, those of an idle kernel do not
        used = [table.pop(place, None) for table, place in slot.short_cuts]
        slot.short_cuts = []
        # it had fast calls: it gets one more round
        if any(entry is not None for entry in used):
            self._slots.move_to_end(key)
            self._newest = slot
            return []
        return self._drop(key)

    def _drop(self, key: Hashable) -> list[_Slot]:
        slot = self._slots.pop(key, None)
        if slot is None:
            return []
        self.size -= slot.size
        if slot is self._newest:
            self._newest = None
        if self._keys.get(id(slot.kernel)) == key:
            del self._keys[id(slot.kernel)]
        for table, place in slot.short_cuts:
            table.pop(place, None)
        return [slot]


#: All kernels of models: of public functions, rollouts and simulations.
KERNELS = KernelCache(_setting("SIXFOLD_KERNELS", 1024), _setting("SIXFOLD_KERNELS_MB", 256) << 20)


def while_alive(model: T, table: Table, place: Any) -> weakref.ref[T]:
    """Return a reference to a model that removes a place from a table when the model goes.

    Keep it in that place.  The place may then hold the model's id: no other object gets that id
    before the place is empty.
    """
    return weakref.ref(model, lambda _: table.pop(place, None))


class PerModel(Generic[T]):
    """A function of a model that is evaluated once for each of the last models alive."""

    def __init__(self, function: Callable[..., T], most: int) -> None:
        """Take the function and how many results to keep."""
        self._function, self._most = function, most
        self._known: Table = {}
        wraps(function)(self)

    def __call__(self, model: Model, *rest: Any) -> T:
        """Return the function's value."""
        place = (id(model), *rest)
        found = self._known.get(place)
        if found is None:
            value = self._function(model, *rest)
            found = (while_alive(model, self._known, place), value)
            # the oldest models go first
            while len(self._known) >= self._most:
                self._known.pop(next(iter(self._known), None), None)
            self._known[place] = found
        return found[1]


def per_model(most: int = 64) -> Callable[[Callable[..., T]], PerModel[T]]:
    """Decorate a function of a model whose values are worth keeping."""
    return lambda function: PerModel(function, most)
