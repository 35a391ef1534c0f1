"""Cut a long program into pieces that fit the instruction cache.

Each piece loops over several blocks of rows, so its instructions are fetched once for all of them.
Values that one piece makes and a later one needs live in slots of a tile, one tile for each block;
slots are used again when nobody needs their value any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sixfold.native.graph import CONST, FMA, FMS, FNMA, INPUT, Program

PIECE = 350
"""Operations in a piece."""


SERIAL = 1.0
"""Least ratio of the time that operations wait for one another to the time that they take."""

_LATENCY = {"mul": 3, "add": 3, "sub": 3, FMA: 4, FMS: 4, FNMA: 4, "div": 13, "sqrt": 20}
"""Cycles until a result can be used, on processors of today."""


@dataclass(frozen=True)
class Plan:
    """Pieces of a program, as node numbers in order, and where values live in a tile.

    Sine and cosine of inputs are worked out before the first piece; the angles have the first slots
    and their sines and cosines lie one after the other, so that one loop goes over them.
    """

    pieces: tuple[tuple[int, ...], ...]
    slot: dict[int, int]
    """Slot of each input, early sine or cosine, value that crosses pieces, and result."""
    angles: tuple[int, ...]
    """Input nodes whose sine and cosine are worked out early."""
    early: dict[int, tuple[int, int]]
    """Slots of sine and cosine of each such input."""
    results: tuple[int, ...]
    """Slot of each output, in order."""
    slots: int
    serial: tuple[bool, ...]
    """Which pieces take long because every operation waits for the one before."""


def plan(program: Program, piece: int = PIECE, again: int = 0) -> Plan:
    """Return how to cut a program and where its values live.

    Args:
        program: to be cut.
        piece: operations in a piece.
        again: the first so many results are the next values of the first so many inputs; they take
            the inputs' slots where those are read no more.
    """
    nodes = program.nodes
    angles = tuple(
        dict.fromkeys(
            node[1] for node in nodes if node[0] in ("sin", "cos") and nodes[node[1]][0] == INPUT
        )
    )
    is_early = {
        k for k, node in enumerate(nodes) if node[0] in ("sin", "cos") and node[1] in set(angles)
    }
    work = [
        k for k, node in enumerate(nodes) if node[0] not in (INPUT, CONST) and k not in is_early
    ]
    count = max(1, round(len(work) / piece))
    size = -(-len(work) // count) if work else 1
    pieces = tuple(tuple(work[i : i + size]) for i in range(0, len(work), size)) or ((),)
    home = {k: p for p, members in enumerate(pieces) for k in members}

    # the last operation that reads each value, and its piece
    final = {a: k for k in work for a in nodes[k][1:]}
    last = {a: home[k] for a, k in final.items()}

    slot: dict[int, int] = {}
    early: dict[int, tuple[int, int]] = {}
    inputs = [k for k, node in enumerate(nodes) if node[0] == INPUT and k not in angles]
    for k in (*angles, *inputs):
        slot[k] = len(slot)
    used = len(slot)
    for angle in angles:
        early[angle] = (used, used + 1)
        used += 2
    for k in is_early:
        slot[k] = early[nodes[k][1]][0 if nodes[k][0] == "sin" else 1]

    number = {node[1]: k for k, node in enumerate(nodes) if node[0] == INPUT}
    for n, k in enumerate(program.outputs[:again]):
        old = number.get(n)
        if k not in home or k in slot or old is None:
            continue
        if final.get(old, -1) <= k:
            slot[k] = slot[old]

    free: list[int] = []
    outputs = set(program.outputs)
    ends: dict[int, list[int]] = {}
    for p, members in enumerate(pieces):
        for s in ends.pop(p - 1, ()):
            free.append(s)
        for k in members:
            if k not in slot and (k in outputs or last.get(k, -1) > p):
                if free:
                    slot[k] = free.pop()
                else:
                    slot[k] = used
                    used += 1
                if k not in outputs:
                    ends.setdefault(last[k], []).append(slot[k])

    # results that are constants need a slot of their own
    constant: dict[int, int] = {}
    for k in program.outputs:
        if nodes[k][0] == CONST and k not in constant:
            constant[k] = used
            used += 1
    slot.update(constant)
    results = tuple(slot[k] for k in program.outputs)
    serial = tuple(_waiting(nodes, members) >= SERIAL for members in pieces)
    return Plan(pieces, slot, angles, early, results, used, serial)


def _waiting(nodes: Sequence[tuple[Any, ...]], members: Sequence[int]) -> float:
    """Return how long the longest chain of operations in a piece is, to half their number."""
    ready: dict[int, int] = {}
    for k in members:
        op, *arguments = nodes[k]
        ready[k] = max(ready.get(a, 0) for a in arguments) + _LATENCY.get(op, 40)
    return 2 * max(ready.values(), default=0) / max(len(members), 1)
