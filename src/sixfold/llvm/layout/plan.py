"""Pieces of a program and places of its values in a tile: what `schedule` makes, verified."""

from __future__ import annotations

from dataclasses import dataclass, field

from sixfold.errors import InternalError
from sixfold.graph.program import CONST, INPUT, Argument, Call, Program, Result


@dataclass(frozen=True)
class Angles:
    """Values whose sine and cosine are computed together, between two pieces.

    They lie one after the other, and so do their sines and cosines: one loop goes over them.
    """

    before: int
    """The piece that comes after."""
    nodes: tuple[int, ...]
    first: int
    """Slot of the first angle; the others follow."""
    pairs: int
    """Slot of the first sine; its cosine and the other pairs follow."""


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
    """Whether the program is too long to be compiled for vectors and for scalars."""

    def verify(self, program: Program, block: Plan | None = None) -> Plan:
        """Return the plan if it computes the program; raise InternalError where it does not.

        Runs the pieces on a tile of node numbers: whatever is read must be there.

        Args:
            program: that was cut.
            block: the plan of the subroutine that it calls.
        """
        _Check(self, program, block).run()
        return self


def _wrong(what: str) -> InternalError:
    return InternalError("schedule", what)


class _Check:
    """Runs a plan on a tile that holds the numbers of nodes instead of values."""

    def __init__(self, plan: Plan, program: Program, block: Plan | None) -> None:
        self.plan, self.nodes, self.outputs = plan, program.nodes, program.outputs
        self.block = block
        self.tile: dict[int, int] = {}
        self.sines = [(k, node) for k, node in enumerate(self.nodes) if node[0] in ("sin", "cos")]
        self.calls = [k for k, (op, *_) in enumerate(self.nodes) if isinstance(op, Call)]

    def run(self) -> None:
        """Check the numbers, then every read of every piece."""
        plan = self.plan
        slots = [*plan.slot.values(), *plan.results, *plan.inputs.values()]
        if not all(0 <= slot < plan.slots for slot in slots):
            raise _wrong(f"a slot is none of {plan.slots}")
        if len(plan.serial) != len(plan.pieces) or len(plan.results) != len(self.outputs):
            raise _wrong("the numbers of pieces or of results do not fit the program")
        if len(plan.calls) != len(self.calls) or sorted(plan.calls) != list(plan.calls):
            raise _wrong(f"{len(self.calls)} calls are made before the pieces {plan.calls}")
        if plan.calls and (self.block is None or max(plan.calls) >= len(plan.pieces)):
            raise _wrong("a call without a subroutine, or after all pieces")
        for k, (op, *arguments) in enumerate(self.nodes):
            if op == INPUT:
                self._write(k, plan.inputs.get(arguments[0], -1))
        done: set[int] = set()
        calls = iter(self.calls)
        for p, members in enumerate(plan.pieces):
            for _ in range(plan.calls.count(p)):
                self._call(next(calls))
            done |= self._sines(p)
            here: set[int] = set()
            for k in members:
                if k in done:
                    raise _wrong(f"node {k} is computed twice")
                self._compute(k, here)
                here.add(k)
                done.add(k)
        self._results(done)

    def _write(self, k: int, slot: int) -> None:
        if slot < 0 or self.plan.slot.get(k) != slot:
            raise _wrong(f"node {k} has no slot, or another than slot {slot}")
        self.tile[slot] = k

    def _same(self, k: int) -> int:
        """Return the node whose value a node passes on."""
        while isinstance(self.nodes[k][0], Argument):
            k = self.nodes[k][1]
        return k

    def _read(self, k: int, reader: str) -> None:
        """Check that a slot holds a node's value."""
        slot = self.plan.slot.get(k, -1)
        held = self.tile.get(slot, -1)
        if held < 0 or self._same(held) != self._same(k):
            raise _wrong(f"{reader} reads node {k} in slot {slot}, which holds {held}")

    def _compute(self, k: int, here: set[int]) -> None:
        """Check what a node reads, after others of its piece, and note where it goes."""
        op, *arguments = self.nodes[k]
        if op in (INPUT, CONST) or isinstance(op, (Call, Result)):
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
                (op, angle): group.pairs + 2 * n + (op == "cos")
                for n, angle in enumerate(group.nodes)
                for op in ("sin", "cos")
            }
            for slot in pairs.values():
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

    def _results(self, done: set[int]) -> None:
        """Check that everything was computed and that results are in their places."""
        for k, (op, *_) in enumerate(self.nodes):
            passive = op in (INPUT, CONST) or isinstance(op, (Argument, Call, Result))
            if not passive and k not in done:
                raise _wrong(f"node {k} is in no piece")
        for k, slot in zip(self.outputs, self.plan.results, strict=True):
            if self.plan.slot.get(k) != slot:
                raise _wrong(f"result {k} is not in slot {slot}")
            if self.nodes[k][0] != CONST:
                self._read(k, "the end")
