"""How long operations wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sixfold.graph.program import COPY, FMA, FMS, FNMA, Argument

_LATENCY_CYCLES = {COPY: 0, "mul": 3, "add": 3, "sub": 3, FMA: 4, FMS: 4, FNMA: 4}
_LATENCY_CYCLES |= {"div": 13, "sqrt": 20}
"""Latency of operations in cycles, on current processors; 40 for those that are not listed."""


def _latency(op: Any) -> int:
    return 0 if isinstance(op, Argument) else _LATENCY_CYCLES.get(op, 40)


def latency_ratio(nodes: Sequence[tuple[Any, ...]], members: Sequence[int]) -> float:
    """Return how long the longest chain of operations in a piece is, to half their number."""
    ready: dict[int, int] = {}
    for k in members:
        op, *arguments = nodes[k]
        ready[k] = max(ready.get(a, 0) for a in arguments) + _latency(op)
    return 2 * max(ready.values(), default=0) / max(len(members), 1)
