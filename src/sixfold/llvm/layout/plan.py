"""Pieces of a program and places of its values in a tile: what `schedule` makes, verified."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sixfold.errors import InternalError
from sixfold.graph.program import (
    CONST,
    INPUT,
    Argument,
    Call,
    Final,
    Program,
    Repeat,
    Result,
)
from sixfold.llvm.layout.block_lines import LANES, BlockColumns, ColumnGroup, Group, Lines, due
from sixfold.llvm.layout.cuts import Angles
from sixfold.llvm.text.writer import RETURNED


@dataclass(frozen=True)
class Routine:
    """A body that is run in the same tile, for some rounds: its program and its own plan.

    Values from outside that are the same whenever it is run stay where they are: its inputs have
    the slots of those values.  Results go to slots that every run has of its own, if the plan
    `returns` them.  All other values are in a region that all routines share.
    """

    program: Program
    plan: Plan
    feeds: bool
    """Whether results are the first inputs of the next round."""
    region: range
    """Slots that it writes to."""
    lanes: int = 1
    """Runs side by side: in code for one state, a value of the routine has a number in so many
    slots, one for each run.  Values from outside are one number for all."""
    going: int | None = None
    """Place of a carried value; rounds end when it is positive in no lane of a group."""

    def moved(self) -> list[int]:
        """Return which results are not in the place of the next round's input."""
        if not self.feeds:
            return []
        inputs, results = self.plan.inputs, self.plan.results
        return [n for n, slot in enumerate(results) if inputs.get(n, slot) != slot]


@dataclass(frozen=True)
class Run:
    """Repetitions side by side: which routine, when, and what is copied to it and from it."""

    nodes: tuple[int, ...]
    """The repetitions, one in each lane of the routine; there may be fewer than lanes."""
    before: int
    """The piece that comes after."""
    routine: int
    rounds: int
    taken: tuple[tuple[int, tuple[int, ...]], ...]
    """Slots of the routine's inputs, each with the nodes that are copied to its lanes."""
    results: tuple[tuple[int, int], ...]
    """Numbers of the routine's results, lane by lane, each with the node that takes it over."""
    returned: int | None = None
    """The first slot of its results, where the routine returns them."""

    def left(self, slot: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return which results have to be copied, because their nodes have other slots."""
        first = self.returned
        return [(n, k) for n, k in self.results if first is None or slot[k] != first + n]


@dataclass(frozen=True)
class Plan:
    """Pieces of a program, as node numbers in order, and where values live in a tile."""

    pieces: tuple[tuple[int, ...], ...]
    slot: dict[int, int]
    """Slot of each input, angle, its sine and cosine, value live across pieces, and result."""
    angles: tuple[Angles, ...]
    results: tuple[int, ...]
    """Slot of each output, in order."""
    slots: int
    serial: tuple[bool, ...]
    """Which pieces are bound by latency: every operation waits for the one before."""
    calls: tuple[int, ...] = ()
    """The pieces before which the subroutine is called."""
    inputs: dict[int, int] = field(default_factory=dict)
    """Slot of each input, by its number."""

    large: bool = False
    """Whether the program is so long that nothing is compiled that it can do without."""
    routines: tuple[Routine, ...] = ()
    """Bodies of repetitions; equal ones are one."""
    runs: tuple[Run, ...] = ()
    """Repetitions in order, one at most before a piece."""
    alone: bool = False
    """Whether one block fills the L1 cache: blocks go through all pieces one by one."""
    lines: Lines | None = None
    """Lines of results that pieces write, if any do."""
    columns: BlockColumns | None = None
    """Results that pieces write to arrays whose batch axis is contiguous, if any do."""
    returns: bool = False
    """Whether the slots of results are `returned_slot`, of a routine."""

    @property
    def driver(self) -> str:
        """Attributes of a function that runs all pieces.

        It does little but call them, and with many of them LLVM's work on its loops takes seconds.
        """
        return "noinline optnone" if len(self.pieces) > MANY_PIECES else "noinline"

    def all_plans(self) -> list[Plan]:
        """Return this plan and those of routines, at any depth."""
        return [self, *(plan for r in self.routines for plan in r.plan.all_plans())]

    def placed(self, outside: dict[int, int], slots: int | None = None) -> Plan:
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
            routines=tuple(replace(r, plan=r.plan.placed(outside, slots)) for r in self.routines),
        )

    def in_tile(self, slots: int) -> Plan:
        """Return the plan, with its routines, in a tile of so many slots."""
        return self.placed({}, slots)

    def verify(self, program: Program, block: Plan | None = None) -> Plan:
        """Return the plan if it computes the program; raise InternalError where it does not.

        Runs the pieces on a tile of node numbers: whatever is read must be there.

        Args:
            program: that was cut.
            block: the plan of the subroutine that it calls.
        """
        _Check(self, program, block).run()
        return self


MANY_PIECES = 48
"""Pieces beyond which LLVM does not optimise what runs them."""

_NOT_IN_PIECES = (Argument, Call, Result, Repeat, Final)


def numbers(program: Program) -> int:
    """Return how many numbers of a state a tile and rows hold: inputs, sines, results in both."""
    sines = sum(node[0] in ("sin", "cos") for node in program.nodes)
    results = [k for k in program.outputs if program.nodes[k][0] != CONST]
    return program.inputs + sines + len(set(results)) + len(results)


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
        slots = {*plan.slot.values(), *plan.results, *plan.inputs.values()}
        elsewhere = {outside_slot(n) for n in plan.inputs}
        elsewhere |= {returned_slot(n) for n in range(len(plan.results)) if plan.returns}
        if not all(0 <= slot < plan.slots for slot in slots - elsewhere):
            raise _wrong(f"a slot is none of {plan.slots}")
        if len(plan.serial) != len(plan.pieces) or len(plan.results) != len(self.outputs):
            raise _wrong("the numbers of pieces or of results do not fit the program")
        if len(plan.calls) != len(self.calls) or sorted(plan.calls) != list(plan.calls):
            raise _wrong(f"{len(self.calls)} calls are made before the pieces {plan.calls}")
        if sorted(k for run in plan.runs for k in run.nodes) != self.repeats:
            raise _wrong(f"{len(self.repeats)} repetitions, but others are run")
        if plan.lines and (missing := plan.lines.missing()):
            raise _wrong(f"lines {sorted(missing)} are not written once")
        if plan.calls and (self.block is None or max(plan.calls) >= len(plan.pieces)):
            raise _wrong("a call without a subroutine, or after all pieces")
        for k, (op, *arguments) in enumerate(self.nodes):
            if op == INPUT:
                self._write(k, plan.inputs.get(arguments[0]))
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
            columns: Sequence[ColumnGroup] = plan.columns.groups[p] if plan.columns else ()
            for n, k in enumerate(members):
                lines, columns = self._written(lines, n), self._stored(columns, n)
                if k in done:
                    raise _wrong(f"node {k} is computed twice")
                self._compute(k, here)
                here.add(k)
                done.add(k)
            if self._written(lines, len(members)) or self._stored(columns, len(members)):
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
        made: set[int] = set()
        for group in self.plan.angles:
            if group.before != p:
                continue
            for n, angle in enumerate(group.nodes):
                if self.plan.slot.get(angle) != group.first + n:
                    raise _wrong(f"angle {angle} does not lie among its group")
                self._read(angle, "a sine")
            pairs = {
                (op, angle): slot
                for n, angle in enumerate(group.nodes)
                for op, slot in zip(("sin", "cos"), group.pair(n), strict=True)
            }
            if group.first % group.lanes or group.pairs % group.lanes:
                raise _wrong(f"angles {group.nodes} do not have aligned slots")
            written = range(group.pairs, group.pairs + 2 * group.filled)
            zeros = range(group.first + len(group.nodes), group.first + group.filled)
            for slot in (*written, *zeros):
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
        """Check what repetitions read, and note their results."""
        routine, lanes = self.plan.routines[run.routine], self.plan.routines[run.routine].lanes
        if not 0 < len(run.nodes) <= lanes:
            raise _wrong(f"repetitions {run.nodes} are run in {lanes} lanes")
        taken = dict(run.taken)
        for lane, node in enumerate(run.nodes):
            op, *arguments = self.nodes[node]
            if routine.program != op.body or run.rounds != op.rounds:
                raise _wrong(f"repetition {node} runs another body, or for other rounds")
            if op.rounds > 1 and not routine.feeds:
                raise _wrong(f"repetition {node} does not carry its results on")
            for n, slot in routine.plan.inputs.items():
                a = arguments[n]
                copied = slot in taken
                if copied and (taken[slot][lane] != a or slot not in routine.region):
                    raise _wrong(f"repetition {node} takes node {taken[slot][lane]} as input {n}")
                if not copied and (self.plan.slot.get(a) != slot or slot in routine.region):
                    raise _wrong(f"repetition {node} reads node {a} in slot {slot}")
                if self.nodes[a][0] != CONST:
                    self._read(a, f"repetition {node}")
        if routine.plan.returns != (run.returned is not None):
            raise _wrong(f"repetitions {run.nodes} do not say where their results go")
        results = range(0)
        if run.returned is not None:
            results = range(run.returned, run.returned + lanes * len(routine.plan.results))
        if not all(0 <= slot < self.plan.slots and slot not in routine.region for slot in results):
            raise _wrong(f"repetitions {run.nodes} return results to slots {results}")
        if lanes > 1 and (results.start % lanes or routine.region.start % lanes):
            raise _wrong(f"repetitions {run.nodes} do not have aligned slots")
        for slot in (*routine.region, *results):
            self.tile.pop(slot, None)
        for number, k in run.results:
            place, lane = divmod(number, lanes)
            if lane >= len(run.nodes) or self.nodes[k] != (Final(place), run.nodes[lane]):
                raise _wrong(f"node {k} is not result {place} of lane {lane} of {run.nodes}")
            self._write(k, self.plan.slot.get(k))

    def _written(self, groups: Sequence[Group], operations: int) -> list[Group]:
        """Check the columns of lines that are due after so many operations; return the rest."""
        now, left = due(groups, operations)
        for group in now:
            start = self.starts[group.output]
            for line in group.lines:
                for k in self.outputs[start + line.column : start + line.column + LANES]:
                    if self.nodes[k][0] != CONST:
                        self._read(k, "a line")
        return left

    def _stored(self, groups: Sequence[ColumnGroup], operations: int) -> list[ColumnGroup]:
        """The same for results that go to arrays whose batch axis is contiguous."""
        now, left = due(groups, operations)
        for n in (n for group in now for n in group.results):
            self._read(self.outputs[n], "a column")
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
