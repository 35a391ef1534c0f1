"""Pieces of a program and places of its values in a tile: what `schedule` makes, verified."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sixfold.compiler.graph.program import (
    CONST,
    INPUT,
    Argument,
    Call,
    Final,
    Program,
    Repeat,
    Result,
)
from sixfold.compiler.llvm.text.writer import RETURNED
from sixfold.errors import InternalError

LANES = 8  #: Numbers of a line, and rows of a block.


class Line(NamedTuple):
    """Eight numbers of one row."""

    row: int
    column: int  #: The first of them.


class Group(NamedTuple):
    """Lines of about the same columns of one output, a line of each row."""

    after: int  #: Operations of the piece that come before.
    output: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Lines:
    """When the lines of a block are written."""

    sizes: tuple[int, ...]  #: Columns of each output.
    groups: tuple[tuple[Group, ...], ...]  #: Those that each piece writes, in order.
    #: For each output, how many numbers of a line come from row n; the others from row n + 1.
    ends: tuple[tuple[int, ...], ...]
    #: For each output, numbers of the lines that are zero in every state.
    zeros: tuple[tuple[int, ...], ...]
    targets: int  #: The slot with the address of each output's rows; null where others write them.

    def missing(self) -> list[tuple[int, int]]:
        """Return lines that are not written exactly once, by output and number."""
        # lines that pieces write, zero lines, and lines across two rows
        count = Counter(
            (group.output, (line.row * self.sizes[group.output] + line.column) // LANES)
            for groups in self.groups
            for group in groups
            for line in group.lines
        )
        for o, size in enumerate(self.sizes):
            count.update((o, n) for n in self.zeros[o])
            count.update(
                (o, (n + 1) * size // LANES) for n, some in enumerate(self.ends[o]) if some
            )
        wanted = {(o, n) for o, size in enumerate(self.sizes) for n in range(size)}
        return [line for line in wanted | {*count} if count[line] != 1 or line not in wanted]


MAX_OUTPUTS = LANES  #: Outputs whose addresses fit in a slot.


def due(groups: Sequence[Group], operations: int) -> tuple[list[Group], list[Group]]:
    """Return the groups that are due after a number of operations of a piece, and those left."""
    now = [group for group in groups if group.after <= operations]
    return now, list(groups[len(now) :])


def row_lines(size: int, group: int) -> list[Line]:
    """Return the lines of a block that begin at a column, or up to seven before it."""
    starts = [(row, group - row * size % LANES) for row in range(LANES)]
    return [Line(row, column) for row, column in starts if 0 <= column <= size - LANES]


@dataclass(frozen=True)
class Angles:
    """Values whose sine and cosine are computed together, between two pieces.

    They lie one after the other: one loop goes over them.
    """

    before: int  #: The piece that comes after.
    nodes: tuple[int, ...]
    first: int  #: Slot of the first angle; the others follow.
    pairs: int  #: Slot of the first sine; its cosine and the other pairs follow.

    def pair(self, n: int) -> tuple[int, int]:
        """Return the slots of the sine and of the cosine of angle n."""
        return self.pairs + 2 * n, self.pairs + 2 * n + 1


@dataclass(frozen=True)
class Routine:
    """A body that is run in the same tile, for some rounds: its program and its own plan.

    Values from outside that are the same whenever it is run stay where they are: its inputs have
    the slots of those values.  Results go to slots that every run has of its own, if the plan
    `returns` them.  All other values are in a region that all routines share.
    """

    program: Program
    plan: Plan
    feeds: bool  #: Whether results are the first inputs of the next round.
    region: range  #: Slots that it writes to.
    #: Place of a carried value; rounds end when it is positive in no lane of a group.
    going: int | None = None

    def results_to_move(self) -> list[int]:
        """Return which results are not in the place of the next round's input."""
        if not self.feeds:
            return []
        inputs, results = self.plan.inputs, self.plan.results
        return [n for n, slot in enumerate(results) if inputs.get(n, slot) != slot]


@dataclass(frozen=True)
class Run:
    """A repetition: which routine, when, and what is copied to it and from it."""

    node: int  #: The repetition.
    before: int  #: The piece that comes after.
    routine: int
    rounds: int
    #: Slots of the routine's inputs, each with the node that is copied there.
    taken: tuple[tuple[int, int], ...]
    #: Numbers of the routine's results, each with the node that takes it over.
    results: tuple[tuple[int, int], ...]
    returned: int | None = None  #: The first slot of its results, where the routine returns them.

    def results_to_copy(self, slot: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return which results have to be copied, because their nodes have other slots."""
        first = self.returned
        return [(n, k) for n, k in self.results if first is None or slot[k] != first + n]


@dataclass(frozen=True)
class Plan:
    """Pieces of a program, as node numbers in order, and where values live in a tile."""

    pieces: tuple[tuple[int, ...], ...]
    #: Slot of each input, angle, its sine and cosine, value live across pieces, and result.
    slot: dict[int, int]
    angles: tuple[Angles, ...]
    results: tuple[int, ...]  #: Slot of each output, in order.
    slots: int
    calls: tuple[int, ...] = ()  #: The pieces before which the subroutine is called.
    inputs: dict[int, int] = field(default_factory=dict)  #: Slot of each input, by its number.

    #: Whether the program is so long that nothing is compiled that it can do without.
    large: bool = False
    routines: tuple[Routine, ...] = ()  #: Bodies of repetitions; equal ones are one.
    runs: tuple[Run, ...] = ()  #: Repetitions in order, one at most before a piece.
    lines: Lines | None = None  #: Lines of results that pieces write, if any do.
    returns: bool = False  #: Whether the slots of results are `returned_slot`, of a routine.

    @property
    def driver(self) -> str:
        """Attributes of a function that runs all pieces.

        It does little but call them, and with many of them LLVM's work on its loops takes seconds.
        """
        return "noinline optnone" if len(self.pieces) > MANY_PIECES else "noinline"

    def with_slots(self, outside: dict[int, int], slots: int | None = None) -> Plan:
        """Return the plan with other slots for values from outside, and perhaps another tile size.

        Args:
            outside: new slot for each slot that stands for a value from outside.
            slots: of the whole tile.
        """

        def new(slot: int) -> int:
            return outside.get(slot, slot)

        return replace(
            self,
            slot={k: new(slot) for k, slot in self.slot.items()},
            inputs={k: new(slot) for k, slot in self.inputs.items()},
            results=tuple(map(new, self.results)),
            slots=self.slots if slots is None else slots,
            routines=tuple(
                replace(r, plan=r.plan.with_slots(outside, slots)) for r in self.routines
            ),
        )

    def in_tile(self, slots: int) -> Plan:
        """Return the plan, with its routines, in a tile of another size."""
        return self.with_slots({}, slots)

    def verify(self, program: Program, block: Plan | None = None) -> Plan:
        """Return the plan if it computes the program; raise InternalError where it does not.

        Runs the pieces on a tile of node numbers: what is read must be there.

        Args:
            program: that was cut.
            block: the plan of the subroutine that it calls.
        """
        _Check(self, program, block).run()
        return self


MANY_PIECES = 48  #: Pieces beyond which LLVM does not optimise what runs them.

_NOT_IN_PIECES = (Argument, Call, Result, Repeat, Final)


def outside_slot(n: int) -> int:
    """Return what stands for the slot of an input of a routine until that slot is known."""
    return -1 - n


def returned_slot(n: int) -> int:
    """Return what stands for the slot of a result of a routine: each run has its own."""
    return RETURNED + n


def _wrong(what: str) -> InternalError:
    return InternalError("schedule", what)


class _Check:
    """Runs a plan on a tile that holds the numbers of nodes instead of values."""

    def __init__(self, plan: Plan, program: Program, block: Plan | None) -> None:
        self.plan, self.nodes, self.outputs = plan, program.nodes, program.outputs
        self.block = block
        self.tile: dict[int, int] = {}
        self.sines = [(k, node) for k, node in enumerate(self.nodes) if node[0] in ("sin", "cos")]
        self.repeats = [k for k, (op, *_) in enumerate(self.nodes) if isinstance(op, Repeat)]
        self.calls = [k for k, (op, *_) in enumerate(self.nodes) if isinstance(op, Call)]
        self.starts = list(itertools.accumulate(plan.lines.sizes if plan.lines else (), initial=0))

    def run(self) -> None:
        """Check the numbers, then every read of every piece."""
        plan = self.plan
        # numbers of slots, results, calls and repetitions
        slots = {*plan.slot.values(), *plan.results, *plan.inputs.values()}
        elsewhere = {outside_slot(n) for n in plan.inputs}
        elsewhere |= {returned_slot(n) for n in range(len(plan.results)) if plan.returns}
        if not all(0 <= slot < plan.slots for slot in slots - elsewhere):
            raise _wrong(f"a slot is not one of the {plan.slots} of the tile")
        if len(plan.results) != len(self.outputs):
            raise _wrong("the number of results does not fit the program")
        if len(plan.calls) != len(self.calls) or sorted(plan.calls) != list(plan.calls):
            raise _wrong(f"{len(self.calls)} calls are made before the pieces {plan.calls}")
        if sorted(run.node for run in plan.runs) != self.repeats:
            raise _wrong(f"{len(self.repeats)} repetitions, but others are run")
        if plan.lines and (missing := plan.lines.missing()):
            raise _wrong(f"lines {sorted(missing)} are not written once")
        if plan.calls and (self.block is None or max(plan.calls) >= len(plan.pieces)):
            raise _wrong("a call without a subroutine, or after all pieces")
        # inputs are in their slots before the first piece
        for k, (op, *arguments) in enumerate(self.nodes):
            if op == INPUT:
                self._write(k, plan.inputs.get(arguments[0]))
        # run the plan: calls, repetitions and sines before each piece, then its operations
        done: set[int] = set()
        calls = iter(self.calls)
        for p, members in enumerate(plan.pieces):
            for _ in range(plan.calls.count(p)):
                self._call(next(calls))
            for run in plan.runs:
                if run.before == p:
                    self._repeat(run)
            done |= self._sines(p)
            here: set[int] = set()
            lines: Sequence[Group] = plan.lines.groups[p] if plan.lines else ()
            for n, k in enumerate(members):
                lines = self._check_lines(lines, n)
                if k in done:
                    raise _wrong(f"node {k} is computed twice")
                self._compute(k, here)
                here.add(k)
                done.add(k)
            if self._check_lines(lines, len(members)):
                raise _wrong(f"lines are written after more operations than piece {p} has")
        self._results(done)

    def _write(self, k: int, slot: int | None) -> None:
        if slot is None or self.plan.slot.get(k) != slot:
            raise _wrong(f"node {k} has no slot, or another than slot {slot}")
        self.tile[slot] = k

    def _same(self, k: int) -> int:
        """Return the node whose value a node passes on."""
        while isinstance(self.nodes[k][0], Argument):
            k = self.nodes[k][1]
        return k

    def _read(self, k: int, reader: str) -> None:
        """Check that a slot holds a node's value."""
        slot = self.plan.slot.get(k)
        held = -1 if slot is None else self.tile.get(slot, -1)
        if held < 0 or self._same(held) != self._same(k):
            raise _wrong(f"{reader} reads node {k} in slot {slot}, which holds {held}")

    def _compute(self, k: int, here: set[int]) -> None:
        """Check what a node reads, after others of its piece, and note where it goes."""
        op, *arguments = self.nodes[k]
        if op in (INPUT, CONST) or isinstance(op, (Call, Result, Repeat, Final)):
            raise _wrong(f"node {k} in a piece is no operation: {op}")
        for a in arguments:
            if self.nodes[a][0] == CONST:
                continue
            if a in self.plan.slot:
                self._read(a, f"node {k}")
            elif a not in here:
                raise _wrong(f"node {k} reads node {a} of another piece, which has no slot")
        if k in self.plan.slot:
            self._write(k, self.plan.slot[k])

    def _sines(self, p: int) -> set[int]:
        """Compute the sines and cosines before a piece; return their nodes."""
        # angles of a group lie one after the other, their pairs too
        made: set[int] = set()
        for group in self.plan.angles:
            if group.before != p:
                continue
            for n, angle in enumerate(group.nodes):
                if self.plan.slot.get(angle) != group.first + n:
                    raise _wrong(f"angle {angle} does not lie among its group")
                self._read(angle, "a sine")
            # the slots of a group's pairs lose what they held
            pairs = {
                (op, angle): slot
                for n, angle in enumerate(group.nodes)
                for op, slot in zip(("sin", "cos"), group.pair(n), strict=True)
            }
            for slot in range(group.pairs, group.pairs + 2 * len(group.nodes)):
                self.tile.pop(slot, None)
            for k, node in self.sines:
                if node in pairs and self.plan.slot.get(k) == pairs[node]:
                    self._write(k, pairs[node])
                    made.add(k)
        return made

    def _call(self, call: int) -> None:
        """Check the arguments of a call, and note its results."""
        assert self.block is not None
        for a in self.nodes[call][1:]:
            self._read(a, f"call {call}")
        # the subroutine leaves its inputs as they are
        kept = {slot: self.tile.get(slot, -1) for slot in self.block.inputs.values()}
        for slot in range(self.block.slots):
            self.tile.pop(slot, None)
        self.tile |= kept
        for k, (op, *arguments) in enumerate(self.nodes):
            if isinstance(op, Result) and arguments == [call]:
                self._write(k, self.block.results[op.place])

    def _repeat(self, run: Run) -> None:
        """Check what a repetition reads, and note its results."""
        routine, node = self.plan.routines[run.routine], run.node
        taken = dict(run.taken)
        op, *arguments = self.nodes[node]
        if routine.program != op.body or run.rounds != op.rounds:
            raise _wrong(f"repetition {node} runs another body, or for other rounds")
        if op.rounds > 1 and not routine.feeds:
            raise _wrong(f"repetition {node} does not carry its results on")
        # each input is copied into the region, or stays in a slot outside it
        for n, slot in routine.plan.inputs.items():
            a = arguments[n]
            copied = slot in taken
            if copied and (taken[slot] != a or slot not in routine.region):
                raise _wrong(f"repetition {node} takes node {taken[slot]} as input {n}")
            if not copied and (self.plan.slot.get(a) != slot or slot in routine.region):
                raise _wrong(f"repetition {node} reads node {a} in slot {slot}")
            if self.nodes[a][0] != CONST:
                self._read(a, f"repetition {node}")
        if routine.plan.returns != (run.returned is not None):
            raise _wrong(f"repetition {node} does not say where its results go")
        # results go to slots that every run has of its own
        results = range(0)
        if run.returned is not None:
            results = range(run.returned, run.returned + len(routine.plan.results))
        if not all(0 <= slot < self.plan.slots and slot not in routine.region for slot in results):
            raise _wrong(f"repetition {node} returns results to slots {results}")
        # the region keeps nothing from before
        for slot in (*routine.region, *results):
            self.tile.pop(slot, None)
        for place, k in run.results:
            if self.nodes[k] != (Final(place), node):
                raise _wrong(f"node {k} is not result {place} of repetition {node}")
            self._write(k, self.plan.slot.get(k))

    def _check_lines(self, groups: Sequence[Group], operations: int) -> list[Group]:
        """Check the columns of lines that are due after a number of operations; return the rest."""
        now, left = due(groups, operations)
        for group in now:
            start = self.starts[group.output]
            for line in group.lines:
                for k in self.outputs[start + line.column : start + line.column + LANES]:
                    if self.nodes[k][0] != CONST:
                        self._read(k, "a line")
        return left

    def _results(self, done: set[int]) -> None:
        """Check that everything was computed and that results are in their places."""
        for k, (op, *_) in enumerate(self.nodes):
            passive = op in (INPUT, CONST) or isinstance(op, _NOT_IN_PIECES)
            if not passive and k not in done:
                raise _wrong(f"node {k} is in no piece")
        for k, slot in zip(self.outputs, self.plan.results, strict=True):
            if self.plan.slot.get(k) != slot:
                raise _wrong(f"result {k} is not in slot {slot}")
            if self.nodes[k][0] != CONST:
                self._read(k, "the end")
