"""Reductions in a fixed order: a binary tree over leaves of rows, whatever the blocks were.

A node (level, index) covers the leaves from index * 2**level on.  A block reduces what it holds to
the largest nodes inside it; nodes are joined when both halves are there.  Each sum is the same one
in the same order, so the bits do not depend on blocks, workers or the order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

MAX_LEAF = 1024
"""Rows of a leaf, at most."""
MIN_LEAVES = 256
"""Leaves of a sweep, at least, if it has so many rows: slow functions need small blocks."""

Node = tuple[int, int]
Combine = Callable[[Any, Any], Any]


def leaf_size(rows: int) -> int:
    """Return how many rows a leaf has: a power of two that depends on nothing but the sweep."""
    size = max(1, min(MAX_LEAF, rows // MIN_LEAVES))
    return 1 << (size.bit_length() - 1)


class Tree:
    """Nodes that wait for their other half."""

    def __init__(self, combine: Combine) -> None:
        """Take the function that joins two neighbours, the left one first."""
        self._combine = combine
        self.nodes: dict[Node, Any] = {}

    def add(self, nodes: Iterable[tuple[Node, Any]]) -> None:
        """Take nodes in any order, and join those whose other half is there."""
        for (level, index), state in nodes:
            while (other := (level, index ^ 1)) in self.nodes:
                beside = self.nodes.pop(other)
                pair = (beside, state) if index & 1 else (state, beside)
                state = self._combine(*pair)
                level, index = level + 1, index >> 1
            self.nodes[level, index] = state

    def total(self) -> Any:
        """Join what is left, from the right: the whole of a number of leaves that is no power."""
        left = sorted(self.nodes, key=lambda node: node[1] << node[0])
        state = self.nodes[left[-1]]
        for node in reversed(left[:-1]):
            state = self._combine(self.nodes[node], state)
        return state


class Pile(Tree):
    """Takes states in any order: for those that are joined without rounding."""

    def add(self, nodes: Iterable[tuple[Node, Any]]) -> None:
        """Join all of them as they come."""
        for _, state in nodes:
            known = self.nodes.get(_TOP)
            self.nodes[_TOP] = state if known is None else self._combine(known, state)


_TOP: Node = (0, 0)
