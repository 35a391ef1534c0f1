"""Where a program is cut: levels, between which sines, calls and routines run, and pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sixfold.graph.program import CONST, COPY, FMA, FMS, FNMA, INPUT, Argument, Call, Repeat

CUT_PLAY = 0.35
"""Fraction of a piece by which a cut may move to where fewer values are live."""

MIN_SERIAL_RATIO = 1.6
"""Ratio of latency to throughput from which two tiles are interleaved."""

MAX_MERGED_OPERATIONS = 400
"""Operations up to which pieces that do not wait are merged, with 32 registers."""

MAX_MERGED_SERIAL = 1 / 8
"""Part of the pieces that wait from which none are merged."""

MAX_MERGED_RATIO = 1.0
"""Ratio of latency to throughput below which a piece does not wait."""

_LATENCY_CYCLES = {COPY: 0, "mul": 3, "add": 3, "sub": 3, FMA: 4, FMS: 4, FNMA: 4}
_LATENCY_CYCLES |= {"div": 13, "sqrt": 20}
"""Latency of operations in cycles, on current processors; 40 for those that are not listed."""

Nodes = Sequence[tuple[Any, ...]]
Piece = tuple[int, ...]


@dataclass(frozen=True)
class Angles:
    """Values whose sine and cosine are computed together, between two pieces.

    They lie one after the other: one loop goes over them.  In code for one state, a vector of them
    is worked out at once, and its sines lie before its cosines.
    """

    before: int
    """The piece that comes after."""
    nodes: tuple[int, ...]
    first: int
    """Slot of the first angle; the others follow."""
    pairs: int
    """Slot of the first sine; its cosine and the other pairs follow."""
    lanes: int = 1
    """Angles of a vector; the last vector is filled up with zeros."""

    @property
    def filled(self) -> int:
        """Slots of the angles, with the zeros."""
        return -(-len(self.nodes) // self.lanes) * self.lanes

    def pair(self, n: int) -> tuple[int, int]:
        """Return the slots of the sine and of the cosine of angle n."""
        vector, lane = divmod(n, self.lanes)
        sine = self.pairs + 2 * self.lanes * vector + lane
        return sine, sine + self.lanes


def levels(
    nodes: Nodes,
    order: Iterable[int],
    group: Mapping[int, tuple[int, ...]],
    inner: bool,
    hoist: bool,
) -> tuple[dict[int, int], set[int]]:
    """Return how many groups of angles or calls precede each value, and the hoisted sincos.

    Args:
        nodes: of the program.
        order: in which what a group of repetitions needs comes before all of it.
        group: the repetitions that each one is run with.
        inner: hoist sines and cosines of all angles, not of inputs alone.
        hoist: hoist sines and cosines at all.
    """
    level: dict[int, int] = {}
    hoisted: set[int] = set()
    called = 0
    for k in order:
        op, *arguments = nodes[k]
        if op in (INPUT, CONST):
            level[k] = 0
            continue
        if isinstance(op, Repeat):  # after whatever was run before in the same slots
            if k not in level:
                called = max([called, *(level[a] for m in group[k] for a in nodes[m][1:])]) + 1
                level |= dict.fromkeys(group[k], called)
            continue
        level[k] = max(level[a] for a in arguments)
        if isinstance(op, Call):  # after the call before; what it takes is handed over just before
            called = level[k] = max(level[k], called) + 1
            level |= dict.fromkeys(arguments, called - 1)
        if op in ("sin", "cos") and arguments[0] not in hoisted:
            of_input = nodes[arguments[0]][0] == INPUT
            if hoist and (of_input or inner):
                hoisted.add(k)
                level[k] += 0 if of_input else 1
    return level, hoisted


def equal_pieces(nodes: Nodes, members: Sequence[int], count: int) -> list[Piece]:
    """Return about equal pieces, cut where few values have to be kept for later."""
    place = {k: n for n, k in enumerate(members)}
    final = {a: n for n, k in enumerate(members) for a in nodes[k][1:]}
    change = [0] * (len(members) + 1)
    for k, n in place.items():
        if final.get(k, n) > n:
            change[n + 1] += 1
            change[final[k]] -= 1
    alive = list(itertools.accumulate(change))
    ends = [0]
    for p in range(1, count):
        aim, play = p * len(members) // count, int(CUT_PLAY * len(members) / count)
        ends.append(min(range(aim - play, aim + play + 1), key=lambda n: alive[n]))
    ends.append(len(members))
    return [tuple(members[a:b]) for a, b in itertools.pairwise(ends)]


def merged(nodes: Nodes, pieces: list[Piece], alone: bool) -> list[Piece]:
    """Join neighbours that do not wait: less has to be kept for later in memory.

    Short pieces let the processor begin with the next block where it would wait, unless blocks go
    through all pieces one by one (`alone`).
    """
    waiting = [0.0 if alone else latency_ratio(nodes, members) for members in pieces]
    serial = sum(ratio >= MIN_SERIAL_RATIO for ratio in waiting)
    if serial >= MAX_MERGED_SERIAL * len(pieces):
        return pieces
    found: list[Piece] = []
    joins = False
    for members, ratio in zip(pieces, waiting, strict=True):
        goes_on = ratio < MAX_MERGED_RATIO
        if joins and goes_on and len(found[-1]) + len(members) <= MAX_MERGED_OPERATIONS:
            found[-1] += members
        else:
            found.append(members)
        joins = goes_on
    return found


def _latency(op: Any) -> int:
    return 0 if isinstance(op, Argument) else _LATENCY_CYCLES.get(op, 40)


def latency_ratio(nodes: Nodes, members: Sequence[int]) -> float:
    """Return how long the longest chain of operations in a piece is, to half their number."""
    ready: dict[int, int] = {}
    for k in members:
        op, *arguments = nodes[k]
        ready[k] = max(ready.get(a, 0) for a in arguments) + _latency(op)
    return 2 * max(ready.values(), default=0) / max(len(members), 1)
