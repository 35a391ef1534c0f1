"""A program that sweeps over the items of a tree: data, text and counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sixfold.errors import InternalError
from sixfold.graph.program import CONST, INPUT, Program
from sixfold.graph.rolled.columns import Source


@dataclass(frozen=True)
class Part:
    """What one sweep does to an item of one kind: a program, its inputs and its results.

    Sources are ("array", number, component), ("column", place), ("kept", place), ("parent", place)
    and ("sum", place); sinks are ("out", component), ("keep", place), ("publish", place) and
    ("add", place).  A component of another output than the first is ("out", component, output).
    """

    program: Program
    sources: tuple[Source, ...]
    sinks: tuple[Source, ...]


def output_of(sink: Source) -> int:
    """Return the output array of a sink "out"."""
    return int(sink[2]) if len(sink) > 2 else 0


@dataclass(frozen=True)
class Rolled:
    """A program that sweeps over the items of a tree."""

    parts: tuple[tuple[Part, ...], ...]
    """By sweep, then kind."""
    outward: tuple[bool, ...]
    """Direction of each sweep."""
    passed: tuple[int, ...]
    """How many values each sweep passes between parent and child."""
    last: Part
    """What is done once at the end, with ("sum", sweep, place) of the root as sources."""
    single: bool
    """No item has two children: a sum at the parent has one term."""
    items: tuple[int, ...]
    """Items of each kind, for counting operations."""
    arrays: int
    """Input arrays."""
    outputs: int = 1
    """Output arrays."""

    def text(self) -> str:
        """Print; equal programs print equal texts."""
        # a single output, the usual case, adds nothing to the text
        arrays = self.arrays if self.outputs == 1 else (self.arrays, self.outputs)
        head = (self.outward, self.passed, self.single, arrays)
        lines = ["rolled " + " ".join(str(int(x)) for x in (len(self.outward), len(self.items)))]
        lines += [" ".join(str(int(x)) for x in _listed(part)) or "-" for part in head]
        lines.append(" ".join(map(str, self.items)))
        for part in [*(p for sweep in self.parts for p in sweep), self.last]:
            lines.append(" ".join(":".join(map(str, s)) for s in part.sources) or "-")
            lines.append(" ".join(":".join(map(str, s)) for s in part.sinks) or "-")
            lines += [part.program.text(), "end"]
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> Rolled:
        """Read what `text` printed."""
        lines = iter(text.splitlines())
        sweeps, kinds = map(int, next(lines).split()[1:])
        outward, passed, single, arrays, counts = (_numbers(next(lines)) for _ in range(5))
        parts = [_part(lines) for _ in range(sweeps * kinds + 1)]
        return cls(
            tuple(tuple(parts[s * kinds : (s + 1) * kinds]) for s in range(sweeps)),
            tuple(map(bool, outward)),
            passed,
            parts[-1],
            bool(single[0]),
            counts,
            *arrays,
        )

    def verify(self) -> Rolled:
        """Return the program if it is valid; raise InternalError otherwise.

        Parts read and write what exists: arrays, values that their sweep passes in its direction,
        and values that an earlier sweep has kept.
        """
        sweeps, kinds = len(self.parts), len(self.items)
        if len(self.outward) != sweeps or len(self.passed) != sweeps:
            raise _wrong(f"{sweeps} sweeps, {len(self.outward)} directions")
        if any(len(sweep) != kinds for sweep in self.parts):
            raise _wrong(f"a sweep has not one part for each of {kinds} kinds")
        for kind in range(kinds):
            kept: set[Source] = set()
            written: list[Source] = []
            for s in range(sweeps):
                part = self.parts[s][kind]
                self._verify_part(part, s, kept)
                kept |= {sink[1:] for sink in part.sinks if sink[0] == "keep"}
                written += [sink for sink in part.sinks if sink[0] == "out"]
            if len(set(written)) != len(written):
                raise _wrong(f"an item of kind {kind} writes a result twice")
        used = {node[1] for node in self.last.program.nodes if node[0] == INPUT}
        _verify_ends(self.last)
        for n in used:
            name, sweep, place = self.last.sources[n]
            if name != "sum" or not sweep < sweeps or not place < self.passed[sweep]:
                raise _wrong(f"the last part reads {self.last.sources[n]}")
        if any(sink[0] != "out" or output_of(sink) >= self.outputs for sink in self.last.sinks):
            raise _wrong("the last part writes what is no result")
        return self

    def _verify_part(self, part: Part, s: int, kept: set[Source]) -> None:
        """Check sources and sinks of a part of sweep s."""
        _verify_ends(part)
        down, passed = self.outward[s], self.passed[s]
        for source in part.sources:
            name, place, *_ = source
            there = {
                "array": place < self.arrays,
                "column": True,
                "kept": source[1:] in kept,
                "parent": down and place < passed,
                "sum": not down and place < passed,
            }
            if not there.get(name, False):
                raise _wrong(f"a part of sweep {s} reads {source}, which is not there")
        for sink in part.sinks:
            name, place, *_ = sink
            there = {
                "out": output_of(sink) < self.outputs,
                "keep": True,
                "publish": down and place < passed,
                "add": not down and place < passed,
            }
            if not there.get(name, False):
                raise _wrong(f"a part of sweep {s} writes {sink}, which is not there")

    def counts(self) -> dict[str, int]:
        """Return how many operations of each kind one row takes."""
        totals: dict[str, int] = {}
        for sweep in self.parts:
            for n, part in zip(self.items, sweep, strict=True):
                for op, k in part.program.counts().items():
                    totals[op] = totals.get(op, 0) + n * k
        for op, k in self.last.program.counts().items():
            totals[op] = totals.get(op, 0) + k
        return totals

    def work(self) -> int:
        """Return how many operations one row takes."""
        return sum(n for op, n in self.counts().items() if op not in (INPUT, CONST))

    def flops(self) -> int:
        """Return additions plus multiplications plus divisions of one row."""
        work = [
            n * part.program.flops()
            for sweep in self.parts
            for n, part in zip(self.items, sweep, strict=True)
        ]
        return sum(work) + self.last.program.flops()


def _wrong(what: str) -> InternalError:
    return InternalError("rolled program", what)


def _verify_ends(part: Part) -> None:
    """Check that a part has a source for each input and a sink for each result."""
    program = part.program.verify()
    if program.inputs != len(part.sources) or len(program.outputs) != len(part.sinks):
        raise _wrong("a part has not one source for each input and one sink for each result")


def _listed(x: Any) -> Sequence[Any]:
    return x if isinstance(x, tuple) else (x,)


def _numbers(line: str) -> tuple[int, ...]:
    return () if line == "-" else tuple(map(int, line.split()))


def _part(lines: Iterator[str]) -> Part:
    def places() -> tuple[Source, ...]:
        line = next(lines)
        if line == "-":
            return ()
        words = (entry.split(":") for entry in line.split())
        return tuple((kind, *map(int, rest)) for kind, *rest in words)

    sources, sinks = places(), places()
    body: list[str] = []
    for line in lines:
        if line == "end":
            break
        body.append(line)
    return Part(Program.parse("\n".join(body)), sources, sinks)
