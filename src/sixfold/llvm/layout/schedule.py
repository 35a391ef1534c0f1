"""Cut a long program into pieces that fit the instruction cache.

Each piece loops over several blocks of rows, so its instructions are fetched once for all of them.
Values that one piece makes and a later one needs live in slots of a tile, one tile for each block;
slots are used again when nobody needs their value any more.  Sines and cosines are worked out
between the pieces, for all blocks in one loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from sixfold.graph.program import (
    CONST,
    COPY,
    FMA,
    FMS,
    FNMA,
    INPUT,
    Argument,
    Call,
    Program,
    Result,
    operands,
    verifying,
)
from sixfold.llvm.layout.plan import Angles, Plan

PIECE = 130
"""Operations in a piece."""

WHOLE = 1.9
"""Pieces that operations must fill to be cut at all."""

LARGE = 7_000
"""Operations beyond which the time to compile counts more than the last tenth of speed."""

PLAY = 0.35
"""Part of a piece by which its end may move to where fewer values cross."""

SERIAL = 1.6
"""Least ratio of the time that operations wait for one another to the time that they take."""

_LATENCY = {COPY: 0, "mul": 3, "add": 3, "sub": 3, FMA: 4, FMS: 4, FNMA: 4}
_LATENCY |= {"div": 13, "sqrt": 20}
"""Cycles until a result can be used, on processors of today."""


def plan(
    program: Program,
    piece: int = PIECE,
    again: int = 0,
    inner: bool = True,
    block: Plan | None = None,
) -> Plan:
    """Return how to cut a program and where its values live.

    Args:
        program: to be cut.
        piece: operations in a piece.
        again: the first so many results are the next values of the first so many inputs; they take
            the inputs' slots where those are read no more.
        inner: work out sines and cosines apart for all angles, not for inputs alone.
        block: how the block that it calls was cut; its values live in the first slots.
    """
    found = _Planner(program, piece, inner, block).plan(again)
    return found.verify(program, block) if verifying() else found


class _Planner:
    """Cuts a program and gives its values places."""

    def __init__(self, program: Program, piece: int, inner: bool, block: Plan | None) -> None:
        self.program, self.nodes = program, program.nodes
        self.level, self.apart = self._levels(inner)
        self.slot: dict[int, int] = {}
        self.used = self.shared = 0 if block is None else block.slots
        """Slots so far, and those of them that are the block's."""
        elsewhere = self.apart if block is None else self.apart | self._join(block)
        work = [
            k
            for k, (op, *_) in enumerate(self.nodes)
            if op not in (INPUT, CONST)
            and not isinstance(op, (Call, Result))
            and k not in elsewhere
        ]
        self.pieces: list[tuple[int, ...]] = []
        self.start: dict[int, int] = {}
        """First piece of each level."""
        for level in sorted({0, *(self.level[k] for k in (*work, *self.apart))}):
            self.start[level] = len(self.pieces)
            members = [k for k in work if self.level[k] == level]
            count = round(len(members) / piece) if len(members) >= WHOLE * piece else 1
            self.pieces += self._cut(members, count)
        order = [k for members in self.pieces for k in members]
        self.home = {k: p for p, members in enumerate(self.pieces) for k in members}
        self.place = {k: n for n, k in enumerate(order)}
        self.final = {a: k for k in order for a in self.nodes[k][1:]}
        """The last operation that reads each value."""

    def _join(self, block: Plan) -> set[int]:
        """Give what passes to and from calls the places where the block has it.

        Return what need not be handed over, since it is put there as soon as it is worked out.
        """
        users: dict[int, list[int]] = {}
        given: dict[int, list[int]] = {}
        for k, (op, *arguments) in enumerate(self.nodes):
            if isinstance(op, Argument):
                self.slot[k] = block.inputs[op.place]
                given.setdefault(self.slot[k], []).append(k)
            elif isinstance(op, Result):
                self.slot[k] = block.results[op.place]
            for a in operands((op, *arguments)):
                users.setdefault(a, []).append(k)
        # results have places of their own, and so have sines and their angles
        placed = {*self.program.outputs, *self.apart, *(self.nodes[k][1] for k in self.apart)}
        # what calls alone take is worked out no sooner than they take it
        for k, those in users.items():
            op = self.nodes[k][0]
            computed = isinstance(op, str) and op not in (INPUT, CONST, COPY)
            handed_over = all(isinstance(self.nodes[u][0], Argument) for u in those)
            if computed and k not in placed and handed_over:
                self.level[k] = min(self.level[u] for u in those)
        handed: set[int] = set()
        for slot, each in given.items():
            handed |= self._at_once(slot, each, users, placed)
        return handed

    def _at_once(
        self, slot: int, each: list[int], users: dict[int, list[int]], placed: set[int]
    ) -> set[int]:
        """Put values in a slot of the block as soon as they are worked out, where that is right.

        All their users must read them before the next comes.  Return the hand-overs that are done
        by that, out of those to this slot.
        """
        done: set[int] = set()
        sources = [self.nodes[k][1] for k in each]
        for n, (k, x) in enumerate(zip(each, sources, strict=True)):
            stop = next((m for m in range(n, len(each)) if sources[m] != x), len(each))
            op = self.nodes[x][0]
            always = op == INPUT and stop - n == len(each)
            made = op not in (INPUT, CONST, COPY) and self.level[x] == self.level[k]
            if not (always or made) or x in placed or x in self.slot:
                continue
            same = set(each[n:stop])
            end = (1 << 30, 0)
            if stop < len(each):
                # the next comes when it is worked out, or at the latest when it is handed over
                level = self.level[each[stop]]
                comes = (each[stop], sources[stop])
                end = level, min(m for m in comes if self.level[m] == level)
            if all((self.level[u], u) < end for u in users[x] if u not in same):
                self.slot[x] = slot
                done |= same
        return done

    def _cut(self, members: list[int], count: int) -> list[tuple[int, ...]]:
        """Return about equal pieces, cut where few values have to be kept for later."""
        place = {k: n for n, k in enumerate(members)}
        final = {a: n for n, k in enumerate(members) for a in self.nodes[k][1:]}
        change = [0] * (len(members) + 1)
        for k, n in place.items():
            if final.get(k, n) > n:
                change[n + 1] += 1
                change[final[k]] -= 1
        alive = list(itertools.accumulate(change))
        ends = [0]
        for p in range(1, count):
            aim, play = p * len(members) // count, int(PLAY * len(members) / count)
            ends.append(min(range(aim - play, aim + play + 1), key=lambda n: alive[n]))
        ends.append(len(members))
        return [tuple(members[a:b]) for a, b in itertools.pairwise(ends)]

    def _levels(self, inner: bool) -> tuple[dict[int, int], set[int]]:
        """Return how many groups of angles or calls come before each value, and sines apart."""
        level: dict[int, int] = {}
        apart: set[int] = set()
        called = 0
        for k, (op, *arguments) in enumerate(self.nodes):
            if op in (INPUT, CONST):
                level[k] = 0
                continue
            level[k] = max(level[a] for a in arguments)
            if isinstance(
                op, Call
            ):  # after the call before; what it takes is handed over just before
                called = level[k] = max(level[k], called) + 1
                level |= dict.fromkeys(arguments, called - 1)
            if op in ("sin", "cos") and arguments[0] not in apart:
                of_input = self.nodes[arguments[0]][0] == INPUT
                if of_input or inner:
                    apart.add(k)
                    level[k] += 0 if of_input else 1
        return level, apart

    def plan(self, again: int) -> Plan:
        """Give every value its place."""
        nodes, outputs = self.nodes, self.program.outputs
        groups: dict[int, dict[int, None]] = {}
        for k in sorted(self.apart):
            groups.setdefault(self.level[k], {})[nodes[k][1]] = None
        inputs = [k for k, node in enumerate(nodes) if node[0] == INPUT]
        for k in dict.fromkeys((*groups.get(0, ()), *inputs)):  # angles first, one after the other
            if k not in self.slot:
                self.slot[k] = self._more(1)
        angles = self._groups(groups)
        number = {nodes[k][1]: k for k in inputs}
        for n, k in enumerate(outputs[:again]):
            old = number.get(n)
            if k not in self.home or k in self.slot or old is None or old in outputs:
                continue
            if self.slot[old] < self.shared:  # calls to come may need it
                continue
            if old not in self.final or self.place[self.final[old]] <= self.place[k]:
                self.slot[k] = self.slot[old]
        self._crossing()
        # results that are constants need a slot of their own
        for k in outputs:
            if k not in self.slot:
                self.slot[k] = self._more(1)
        results = tuple(self.slot[k] for k in outputs)
        pieces = tuple(self.pieces)
        large = len(self.home) > LARGE
        serial = tuple(not large and _waiting(nodes, members) >= SERIAL for members in pieces)
        calls = tuple(
            self.start[self.level[k]] for k, (op, *_) in enumerate(nodes) if isinstance(op, Call)
        )
        places = {nodes[k][1]: self.slot[k] for k in inputs}
        angled = tuple(angles)
        return Plan(pieces, self.slot, angled, results, self.used, serial, calls, places, large)

    def _more(self, count: int) -> int:
        self.used += count
        return self.used - count

    def _groups(self, groups: dict[int, dict[int, None]]) -> list[Angles]:
        """Give angles, sines and cosines their places, where those of earlier groups were."""
        found: list[Angles] = []
        outputs = set(self.program.outputs)
        old: list[tuple[int, int, int]] = []  # size, last piece that reads it, first slot

        def block(size: int, since: int) -> int:
            for k, (room, end, start) in enumerate(old):
                if room >= size and end < since:
                    del old[k]
                    return start
            return self._more(size)

        def retire(start: int, size: int, before: int, owners: Sequence[int]) -> None:
            if outputs.isdisjoint(owners):
                ends = [self.home[self.final[k]] for k in owners if k in self.final]
                old.append((size, max([before, *ends]), start))

        for level, members in sorted(groups.items()):
            these, before = tuple(members), self.start[level]
            since = self.start[max(x for x in self.start if x < level)] if level else -1
            start = self.slot[these[0]] if not level else block(len(these), since)
            pairs = block(2 * len(these), before if level else -1)
            for n, a in enumerate(these):
                self.slot[a] = start + n
            made = [k for k in self.apart if self.level[k] == level]
            for k in made:
                op, a = self.nodes[k]
                self.slot[k] = pairs + 2 * these.index(a) + (op == "cos")
            found.append(Angles(before, these, start, pairs))
            retire(pairs, 2 * len(these), before, made)
            if level:  # inputs stay
                retire(start, len(these), before, these)
        return found

    def _crossing(self) -> None:
        """Give values that one piece makes and a later one reads, and results, their places."""
        outputs = set(self.program.outputs)
        free: list[int] = []
        ends: dict[int, list[int]] = {}
        for p, members in enumerate(self.pieces):
            free += ends.pop(p - 1, ())
            for k in members:
                last = self.home[self.final[k]] if k in self.final else -1
                if k in self.slot or not (k in outputs or last > p):
                    continue
                self.slot[k] = free.pop() if free else self._more(1)
                if k not in outputs:
                    ends.setdefault(last, []).append(self.slot[k])


def _latency(op: Any) -> int:
    return 0 if isinstance(op, Argument) else _LATENCY.get(op, 40)


def _waiting(nodes: Sequence[tuple[Any, ...]], members: Sequence[int]) -> float:
    """Return how long the longest chain of operations in a piece is, to half their number."""
    ready: dict[int, int] = {}
    for k in members:
        op, *arguments = nodes[k]
        ready[k] = max(ready.get(a, 0) for a in arguments) + _latency(op)
    return 2 * max(ready.values(), default=0) / max(len(members), 1)
