"""The data of a rolled kernel: for each item its kind, its constants and where its values live.

Values that pass from parent to child live in slots that are reused once no child needs them: a
chain of any length takes two slots.  So do the partial sums that pass from children to parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sixfold.graph.rolled.program import Rolled
from sixfold.graph.rolled.sweeps import Storage

KIND, COLUMNS, KEPT, ARRAYS = 0, 1, 2, 3
"""Words of an item's record: its kind, where its columns and kept values begin, and where its
elements of each array begin, outputs last; then three slots."""
WORDS_BEFORE, WORDS_EACH = 2, 4
"""Header: items, vectors of scratch; for each sweep: its records, columns, root slot and area."""


def words(rolled: Rolled) -> int:
    """Return how many words an item's record has."""
    return ARRAYS + rolled.arrays + rolled.outputs + 3


@dataclass(frozen=True)
class Shape:
    """The tree that a rolled program sweeps over, item by item, parents first."""

    parent: Sequence[int]
    """Number of each item's parent; items count from 1, the root is 0."""
    kind: Sequence[int]
    starts: Sequence[NDArray[np.int_]]
    """For each input array and then each output: where each item's elements begin."""


def pack(rolled: Rolled, storage: Storage, shape: Shape) -> bytes:
    """Return all data of a kernel in its memory layout."""
    n, total = len(shape.parent), len(rolled.outward)
    kind = np.asarray(shape.kind)
    sizes = np.asarray(storage.kept)[kind]
    kept = np.concatenate([[0], np.cumsum(sizes)])
    header = np.zeros(WORDS_BEFORE + WORDS_EACH * total, np.int64)
    scratch = int(kept[-1])
    body = [b"".join(np.asarray(base, np.float64).tobytes() for base in storage.bases)]
    for s, outward in enumerate(rolled.outward):
        slots, count, root = (_outward if outward else _inward)(shape.parent)
        each = rolled.passed[s]
        record = np.zeros((n, words(rolled)), np.int32)
        record[:, KIND] = kind
        record[:, KEPT] = kept[:-1]
        for a, starts in enumerate(shape.starts):
            record[:, ARRAYS + a] = starts
        record[:, -3:] = scratch + slots * each
        columns, starts = _columns(storage.columns[s], kind)
        record[:, COLUMNS] = starts
        _align(body)
        at = WORDS_BEFORE + WORDS_EACH * s
        header[at] = header.nbytes + sum(map(len, body))
        body.append(record.tobytes())
        _align(body)
        header[at + 1] = header.nbytes + sum(map(len, body))
        body.append(columns.tobytes())
        header[at + 2] = scratch + root * each
        header[at + 3] = scratch
        scratch += count * each
    header[0], header[1] = n, scratch
    return header.tobytes() + b"".join(body)


def _align(body: list[bytes]) -> None:
    """Pad, so that what follows is aligned to a word."""
    body.append(b"\0" * (-sum(map(len, body)) % 8))


def _columns(
    by_kind: Sequence[Sequence[NDArray[np.float64]]], kind: NDArray[np.int_]
) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """Return the constants of all items, one row after the other, and where each row begins."""
    widths = np.asarray([len(columns) for columns in by_kind])[kind]
    starts = np.concatenate([[0], np.cumsum(widths)])
    flat = np.zeros(int(starts[-1]))
    for k, columns in enumerate(by_kind):
        first = starts[:-1][kind == k]
        for j, column in enumerate(columns):
            flat[first + j] = column
    return flat, starts[:-1]


class _Slots:
    """Allocates slot numbers, the lowest free one first."""

    def __init__(self, reserved: int) -> None:
        self.free: list[int] = []
        self.count = reserved

    def take(self) -> int:
        if self.free:
            return self.free.pop()
        self.count += 1
        return self.count - 1

    def give(self, slot: int) -> None:
        self.free.append(slot)


def _outward(parent: Sequence[int]) -> tuple[NDArray[np.int_], int, int]:
    """Return (own, parent's, 0) slots for values from parents to children; slot 0 is unused."""
    last = {p: i for i, p in enumerate(parent, 1)}
    slots, used = np.zeros((len(parent), 3), int), _Slots(1)
    mine = {0: used.take()}
    for i, p in enumerate(parent, 1):
        slots[i - 1, 1] = mine[p]
        if i in last:
            mine[i] = slots[i - 1, 0] = used.take()
        if last[p] == i:
            used.give(mine.pop(p))
    return slots, used.count, 1


def _inward(parent: Sequence[int]) -> tuple[NDArray[np.int_], int, int]:
    """Return (own sum, parent's sum before, parent's sum after) slots; slot 0 holds zeros."""
    slots, used = np.zeros((len(parent), 3), int), _Slots(1)
    sums: dict[int, int] = {0: used.take()}
    begun: set[int] = set()
    for i in range(len(parent), 0, -1):
        p = parent[i - 1]
        slots[i - 1, 0] = sums.get(i, 0)
        slots[i - 1, 1] = sums[p] if p in begun else 0
        if p not in sums:
            sums[p] = used.take()
        begun.add(p)
        slots[i - 1, 2] = sums[p]
        if i in sums:
            used.give(sums.pop(i))
    return slots, used.count, 1
