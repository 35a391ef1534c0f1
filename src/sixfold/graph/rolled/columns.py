"""Constants that differ from item to item: columns, folded like constants, read like inputs.

A graph of one kind of item is a program for every item of that kind.  A constant that is the same
for all of them is a plain constant; one that differs is a column, and arithmetic between columns
and constants is done once, for all items, while tracing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.graph.build import Graph, Node
from sixfold.graph.program import CONST, INPUT
from sixfold.scalar import RULES, ZERO, Op

Source = tuple[Any, ...]
"""Where an input comes from: ("array", a, c), ("column", j), ("parent", ...), ("sum", ...)."""


class ColumnGraph(Graph):
    """The graph of one kind of item; its inputs are described by their sources."""

    def __init__(self, count: int) -> None:
        """Start an empty graph for a kind of so many items."""
        super().__init__()
        self.count = count
        self.sources: list[Source] = []
        self.columns: list[NDArray[np.float64]] = []
        self._found: dict[Source, int] = {}
        self._by_content: dict[bytes, int] = {}

    def source(self, *source: Any) -> Node:
        """Return the input with this source, made at its first use."""
        found = self._found.get(source)
        if found is None:
            found = self._found[source] = self.input().index
            self.sources.append(source)
        return Node(self, found)

    def number(self, array: NDArray[np.float64]) -> Any:
        """Return a constant of all items: an exact zero, a plain number or a column."""
        if (array == array[0]).all():
            return ZERO if array[0] == 0.0 else float(array[0])
        return Node(self, self._column(array))

    def _column(self, array: NDArray[np.float64]) -> int:
        array = array + 0.0  # 0.0 and -0.0 count as equal
        if (array == array[0]).all():
            return self.constant(float(array[0]))
        number = self._by_content.setdefault(array.tobytes(), len(self.columns))
        if number == len(self.columns):
            self.columns.append(array)
        return self.source("column", number).index

    def _known(self, k: int) -> Any:
        """Return the values of a node that is a constant or a column, None for any other."""
        op, x, *_ = self.nodes[k]
        if op == CONST:
            return x
        if op == INPUT and self.sources[x][0] == "column":
            return self.columns[self.sources[x][1]]
        return None

    def _folded(self, rule: Callable[..., Any], *arguments: int) -> int | None:
        values = [self._known(k) for k in arguments]
        if any(x is None for x in values) or not any(isinstance(x, np.ndarray) for x in values):
            return None
        with np.errstate(all="ignore"):
            result = rule(*values)
        return self._column(result) if np.isfinite(result).all() else None

    def add(self, a: int, b: int) -> int:
        """A + b."""
        found = self._folded(np.add, a, b)
        return super().add(a, b) if found is None else found

    def sub(self, a: int, b: int) -> int:
        """A - b."""
        found = self._folded(np.subtract, a, b)
        return super().sub(a, b) if found is None else found

    def mul(self, a: int, b: int) -> int:
        """A b."""
        found = self._folded(np.multiply, a, b)
        return super().mul(a, b) if found is None else found

    def div(self, a: int, b: int) -> int:
        """A / b."""
        found = self._folded(np.divide, a, b)
        return super().div(a, b) if found is None else found

    def neg(self, a: int) -> int:
        """-a."""
        found = self._folded(np.negative, a)
        return super().neg(a) if found is None else found

    def apply(self, op: Op, *arguments: int) -> int:
        """Any other operation; those that NumPy rounds as kernels do are folded on columns."""
        exact = op in (Op.ABS, Op.SIGN, Op.SQRT)
        found = self._folded(getattr(np, RULES[op].numpy), *arguments) if exact else None
        return super().apply(op, *arguments) if found is None else found
