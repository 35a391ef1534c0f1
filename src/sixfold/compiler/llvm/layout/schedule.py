"""Cut a long program into pieces that fit the instruction cache.

Each piece loops over several blocks of rows, so its instructions are fetched once for all of them.
Values that one piece makes and a later one needs live in slots of a tile, one tile for each block;
a slot is reused when its value is not needed any more.  Sines and cosines are hoisted out of the
pieces and computed between them, for all blocks in one loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sixfold.compiler.graph.program import (
    CONST,
    COPY,
    INPUT,
    Argument,
    Call,
    Final,
    Program,
    Repeat,
    Result,
    operands,
    verifying,
)
from sixfold.compiler.llvm.layout.plan import (
    Angles,
    Plan,
    Routine,
    Run,
    outside_slot,
    returned_slot,
)

#: Operations in a piece: with 130, forward dynamics of panda and the G1 took 3 to 5 % longer, with
#: 300 panda's took 3 % longer (AVX-512).
PIECE_OPERATIONS = 200

MIN_CUT_PIECES = 1.9  #: Length of a program, in pieces, below which it is not cut.

#: Nodes up to which there is scalar code for one state too, and pieces store results themselves.
#: Longer programs take 5 s to compile without that; their scalar code is compiled by itself.
MAX_OPERATIONS = 25_000

CUT_PLAY = 0.35  #: Fraction of a piece by which a cut may move to where fewer values are live.

Nodes = Sequence[tuple[Any, ...]]
Piece = tuple[int, ...]


def plan(
    program: Program,
    piece: int = PIECE_OPERATIONS,
    carried: int = 0,
    inner: bool = True,
    block: Plan | None = None,
    hoist: bool = True,
    in_order: bool = False,
) -> Plan:
    """Return how to cut a program and where its values live.

    Args:
        program: to be cut.
        piece: operations in a piece.
        carried: number of results that are the next values of the first inputs; they take the
            inputs' slots where those are not read any more.
        inner: hoist sines and cosines of all angles out of the pieces, not of inputs alone.
        block: plan of the subroutine that it calls; its values live in the first slots.
        hoist: hoist sines and cosines at all.
        in_order: results lie side by side in the order of the outputs, where they can.
    """
    planner = _Planner(program, piece, inner, block, None, hoist)
    found = planner.plan(carried, in_order=in_order)
    found = found.in_tile(found.slots) if found.routines else found
    return found.verify(program, block) if verifying() else found


class _Planner:
    """Cuts a program and gives its values places."""

    def __init__(
        self,
        program: Program,
        piece: int,
        inner: bool,
        block: Plan | None,
        routine: tuple[int, Collection[int]] | None = None,
        hoist: bool = True,
    ) -> None:
        """Take the first slot and the inputs that lie outside, where it is a routine's program."""
        self.program, self.nodes = program, program.nodes
        # single precision computes sines in the pieces of a routine
        hoist = hoist and (inner or routine is None)
        self.level, self.hoisted_sincos = levels(self.nodes, inner, hoist)
        self.slot: dict[int, int] = {}
        #: Slots so far, and those of them that are the subroutine's.
        self.used = self.shared = 0 if block is None else block.slots
        if routine is not None:
            self.used, outside = routine
            inputs = {node[1]: k for k, node in enumerate(self.nodes) if node[0] == INPUT}
            self.slot = {inputs[n]: outside_slot(n) for n in outside if n in inputs}
        # bodies of repetitions come first: all of them share one region of slots
        self.routines = self._routines(piece, inner)
        self.used = max([self.used, *(r.region.stop for r in self.routines)])
        elsewhere = (
            self.hoisted_sincos if block is None else self.hoisted_sincos | self._join(block)
        )
        # what pieces compute: all but inputs, constants, calls and what has a place elsewhere
        work = [
            k
            for k, (op, *_) in enumerate(self.nodes)
            if op not in (INPUT, CONST)
            and not isinstance(op, (Call, Result, Repeat, Final))
            and k not in elsewhere
        ]
        # sines, calls and repetitions are barriers: each level between them is cut on its own
        self.pieces: list[tuple[int, ...]] = []
        self.start: dict[int, int] = {}  #: First piece of each level.
        repeats = [k for k, (op, *_) in enumerate(self.nodes) if isinstance(op, (Repeat, Final))]
        for level in sorted({0, *(self.level[k] for k in (*work, *self.hoisted_sincos, *repeats))}):
            self.start[level] = len(self.pieces)
            members = [k for k in work if self.level[k] == level]
            count = round(len(members) / piece) if len(members) >= MIN_CUT_PIECES * piece else 1
            self.pieces += equal_pieces(self.nodes, members, count)
        #: Repetitions that are run before a piece, and their results.
        self.begins: dict[int, list[int]] = {}
        for k in repeats:
            self.begins.setdefault(self.start[self.level[k]], []).append(k)
        # order of execution: what runs before a piece, then its members
        computed = [(*self.begins.get(p, ()), *members) for p, members in enumerate(self.pieces)]
        order = [k for members in computed for k in members]
        self.home = {k: p for p, members in enumerate(computed) for k in members}
        self.place = {k: n for n, k in enumerate(order)}
        #: The last operation that reads each value.
        self.final = {a: k for k in order for a in self.nodes[k][1:]}
        #: First slot of the results of each repetition whose routine returns them.
        self.returned: dict[int, int] = {}

    def _routines(self, piece: int, inner: bool) -> list[Routine]:
        """Plan the bodies of repetitions, equal ones once, all in the same slots."""
        found: list[Routine] = []
        self.routine_of: dict[int, int] = {}
        for body, each in repetitions(self.nodes).items():
            self.routine_of |= dict.fromkeys(each, len(found))
            # a single round is a call, whose results are not carried on
            feeds = any(self.nodes[k][0].rounds > 1 for k in each)
            carried = len(body.outputs) if feeds else 0
            outside = outside_inputs(self.nodes, body, each, carried)
            cut = _Planner(body, piece, inner, None, (self.used, outside)).plan(carried, not feeds)
            cut = cut.verify(body) if verifying() else cut
            # rounds may end early only where all repetitions of the body say so
            ends = {self.nodes[k][0].going for k in each}
            going = ends.pop() if len(ends) == 1 and feeds else None
            found.append(Routine(body, cut, feeds, range(self.used, cut.slots), going))
        return found

    def _join(self, block: Plan) -> set[int]:
        """Give arguments and results of calls the slots that the subroutine has for them.

        Return the arguments that need no copy, because they are computed directly into the slot.
        """
        # who reads each value, and which values each slot of the subroutine is given
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
        placed = {
            *self.program.outputs,
            *self.hoisted_sincos,
            *(self.nodes[k][1] for k in self.hoisted_sincos),
        }
        # values that only calls read are computed just before the first of these calls
        for k, those in users.items():
            op = self.nodes[k][0]
            computed = isinstance(op, str) and op not in (INPUT, CONST, COPY)
            handed_over = all(isinstance(self.nodes[u][0], Argument) for u in those)
            if computed and k not in placed and handed_over:
                self.level[k] = min(self.level[u] for u in those)
        handed: set[int] = set()
        for slot, each in given.items():
            handed |= self._place_directly(slot, each, users, placed)
        return handed

    def _place_directly(
        self, slot: int, each: list[int], users: dict[int, list[int]], placed: set[int]
    ) -> set[int]:
        """Compute values directly into a slot of the subroutine, where that is right.

        All their users must read them before the next comes.  Return the hand-overs that are done
        by that, out of those to this slot.
        """
        done: set[int] = set()
        sources = [self.nodes[k][1] for k in each]
        for n, (k, x) in enumerate(zip(each, sources, strict=True)):
            stop = next((m for m in range(n, len(each)) if sources[m] != x), len(each))
            op = self.nodes[x][0]
            # an input may live in the slot for good if every call takes the same one
            always = op == INPUT and stop - n == len(each)
            made = op not in (INPUT, CONST, COPY) and self.level[x] == self.level[k]
            made = made and not isinstance(op, Final)
            if not (always or made) or x in placed or x in self.slot:
                continue
            # the calls that take this value, and when the next value has to be there
            same = set(each[n:stop])
            end = (1 << 30, 0)
            if stop < len(each):
                # the next is written when it is computed, or at the latest when it is handed over
                level = self.level[each[stop]]
                comes = (each[stop], sources[stop])
                end = level, min(m for m in comes if self.level[m] == level)
            if all((self.level[u], u) < end for u in users[x] if u not in same):
                self.slot[x] = slot
                done |= same
        return done

    def plan(self, carried: int, returns: bool = False, in_order: bool = False) -> Plan:
        """Give every value its place.

        Args:
            carried: number of results that are the next values of the first inputs.
            returns: results have the slots that a run says, if they can have them.
            in_order: results lie side by side where they can.
        """
        nodes, outputs = self.nodes, self.program.outputs
        groups: dict[int, dict[int, None]] = {}
        for k in sorted(self.hoisted_sincos):
            groups.setdefault(self.level[k], {})[nodes[k][1]] = None
        inputs = [k for k, node in enumerate(nodes) if node[0] == INPUT]
        for k in groups.get(0, ()):  # angles first, one after the other
            if k not in self.slot:
                self.slot[k] = self._more(1)
        for k in inputs:
            if k not in self.slot:
                self.slot[k] = self._more(1)
        # slots of angles and of their sines; those of earlier groups are used again
        angles = self._groups(groups)
        # a carried result takes the slot of the input that it replaces, once that is read no more
        number = {nodes[k][1]: k for k in inputs}
        for n, k in enumerate(outputs[:carried]):
            old = number.get(n)
            if k not in self.home or k in self.slot or old is None or old in outputs:
                continue
            if self.slot[old] < self.shared:  # calls to come may need it
                continue
            if old not in self.final or self.place[self.final[old]] <= self.place[k]:
                self.slot[k] = self.slot[old]
        # results that the caller wants side by side
        computed = {k for members in self.pieces for k in members if k not in self.slot}
        if in_order:
            self.slot |= {k: self._more(1) for k in dict.fromkeys(outputs) if k in computed}
        returns = returns and len(computed.intersection(outputs)) == len(outputs)
        if returns:
            self.slot |= {k: returned_slot(n) for n, k in enumerate(outputs)}
        # values that cross from one piece to a later one
        self._crossing()
        # results that are constants need a slot of their own
        for k in outputs:
            if k not in self.slot:
                self.slot[k] = self._more(1)
        # gather the plan
        results = tuple(self.slot[k] for k in outputs)
        pieces = tuple(self.pieces)
        routines, runs = place_routines(
            nodes, self.routines, self.routine_of, self.slot, self.home, self.returned
        )
        large = self.program.length > MAX_OPERATIONS
        calls = tuple(
            self.start[self.level[k]] for k, (op, *_) in enumerate(nodes) if isinstance(op, Call)
        )
        places = {nodes[k][1]: self.slot[k] for k in inputs}
        return Plan(
            pieces,
            self.slot,
            tuple(angles),
            results,
            self.used,
            calls,
            places,
            large,
            routines,
            runs,
            returns=returns,
        )

    def _more(self, count: int) -> int:
        self.used += count
        return self.used - count

    def _groups(self, groups: dict[int, dict[int, None]]) -> list[Angles]:
        """Give angles, sines and cosines their places, where those of earlier groups were."""
        found: list[Angles] = []
        outputs = set(self.program.outputs)
        old: list[tuple[int, int, int]] = []  # size, last piece that reads it, first slot

        def block(size: int, since: int) -> int:
            for k, (length, end, start) in enumerate(old):
                if length >= size and end < since:
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
            size = len(these)
            start = self.slot[these[0]] if not level else block(size, since)
            angles = Angles(before, these, start, block(2 * size, before if level else -1))
            for n, a in enumerate(these):
                self.slot[a] = start + n
            made = [k for k in self.hoisted_sincos if self.level[k] == level]
            for k in made:
                op, a = self.nodes[k]
                self.slot[k] = angles.pair(these.index(a))[op == "cos"]
            found.append(angles)
            retire(angles.pairs, 2 * size, before, made)
            if level:  # inputs stay
                retire(start, size, before, these)
        return found

    def _crossing(self) -> None:
        """Give values that one piece makes and a later one reads, and results, their places."""
        outputs = set(self.program.outputs)
        free: list[int] = []
        ends: dict[int, list[int]] = {}
        for p, members in enumerate(self.pieces):
            free += ends.pop(p - 1, ())
            finals = self._place_results(p, outputs, ends)
            for k in (*finals, *members):
                last = self.home[self.final[k]] if k in self.final else -1
                kept = k in outputs or last > p or (last == p and k in finals)
                if k in self.slot or not kept:
                    continue
                self.slot[k] = free.pop() if free else self._more(1)
                if k not in outputs:
                    ends.setdefault(last, []).append(self.slot[k])

    def _place_results(self, p: int, outputs: set[int], ends: dict[int, list[int]]) -> list[int]:
        """Give results of the repetitions before a piece the slots that are returned to.

        Return all these results; those that need another slot have none yet.  Slots that are free
        again after a piece are added to its `ends`.
        """
        # nodes that read the results of each repetition before the piece
        finals: dict[int, list[int]] = {}
        for k in self.begins.get(p, ()):
            op, *arguments = self.nodes[k]
            each = finals.setdefault(arguments[0] if isinstance(op, Final) else k, [])
            each += [k] if isinstance(op, Final) else []
        for repeat, each in finals.items():
            routine = self.routines[self.routine_of[repeat]]
            if not routine.plan.returns:
                continue
            size = len(routine.plan.results)
            first = self.returned[repeat] = self._more(size)
            for k in each:
                self.slot.setdefault(k, first + self.nodes[k][0].place)
            if not outputs.intersection(each):
                # the slots are free again after the last piece that reads one of them
                last = max((self.home[self.final[k]] for k in each if k in self.final), default=p)
                ends.setdefault(last, []).extend(range(first, first + size))
        return [k for each in finals.values() for k in each]


def levels(nodes: Nodes, inner: bool, hoist: bool) -> tuple[dict[int, int], set[int]]:
    """Return how many groups of angles or calls precede each value, and the hoisted sincos.

    Args:
        nodes: of the program.
        inner: hoist sines and cosines of all angles, not of inputs alone.
        hoist: hoist sines and cosines at all.
    """
    level: dict[int, int] = {}
    hoisted: set[int] = set()
    called = 0
    for k, (op, *arguments) in enumerate(nodes):
        if op in (INPUT, CONST):
            level[k] = 0
            continue
        if isinstance(op, Repeat):  # after the run before in the same slots
            called = level[k] = max([called, *(level[a] for a in arguments)]) + 1
            continue
        # a value is as deep as what it reads
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
    # how many values are live at each possible cut
    change = [0] * (len(members) + 1)
    for k, n in place.items():
        if final.get(k, n) > n:
            change[n + 1] += 1
            change[final[k]] -= 1
    alive = list(itertools.accumulate(change))
    # cut near equal lengths, where the fewest values are live
    ends = [0]
    for p in range(1, count):
        aim, play = p * len(members) // count, int(CUT_PLAY * len(members) / count)
        ends.append(min(range(aim - play, aim + play + 1), key=lambda n: alive[n]))
    ends.append(len(members))
    return [tuple(members[a:b]) for a, b in itertools.pairwise(ends)]


def repetitions(nodes: Nodes) -> dict[Program, list[int]]:
    """Return the bodies of a program's repetitions, each with the nodes that repeat it."""
    found: dict[Program, list[int]] = {}
    for k, (op, *_) in enumerate(nodes):
        if isinstance(op, Repeat):
            found.setdefault(op.body, []).append(k)
    return found


def outside_inputs(nodes: Nodes, body: Program, each: Sequence[int], first: int) -> list[int]:
    """Return the inputs of a body whose values stay where they are, from some input on.

    They are the same values for all its repetitions.  Angles lie side by side, so they are copied.
    """
    angles = {a for op, a, *_ in body.nodes if op in ("sin", "cos")}
    angles = {body.nodes[a][1] for a in angles if body.nodes[a][0] == INPUT}
    return [
        n
        for n in range(first, body.inputs)
        if n not in angles
        and len({nodes[k][1 + n] for k in each}) == 1
        and nodes[nodes[each[0]][1 + n]][0] != CONST
    ]


def place_routines(
    nodes: Nodes,
    routines: Sequence[Routine],
    routine_of: Mapping[int, int],
    slot: Mapping[int, int],
    before: Mapping[int, int],
    returned: Mapping[int, int],
) -> tuple[tuple[Routine, ...], tuple[Run, ...]]:
    """Return routines with the slots of values from outside, and when they are run.

    Args:
        nodes: of the program that repeats them.
        routines: with inputs from outside that have no slots yet.
        routine_of: number of the routine of each repetition.
        slot: of each value of the program.
        before: piece that comes after each repetition.
        returned: first slot of the results of each repetition whose routine returns them.
    """
    runs: list[Run] = []
    placed = list(routines)
    # results that are read, by repetition
    finals: dict[int, list[tuple[int, int]]] = {}
    for f, (op, *arguments) in enumerate(nodes):
        if isinstance(op, Final) and f in slot:
            finals.setdefault(arguments[0], []).append((op.place, f))
    for k, r in routine_of.items():
        op, *arguments = nodes[k]
        region, inputs = routines[r].region, routines[r].plan.inputs.items()
        # inputs inside the region are copied in, those outside stay where they are
        taken = tuple((s, arguments[n]) for n, s in inputs if s in region)
        outside = {s: slot[arguments[n]] for n, s in inputs if s not in region}
        placed[r] = replace(routines[r], plan=routines[r].plan.with_slots(outside))
        results = tuple(finals.get(k, ()))
        runs.append(Run(k, before[k], r, op.rounds, taken, results, returned.get(k)))
    return tuple(placed), tuple(sorted(runs, key=lambda run: run.before))
