"""A program that sweeps over the items of a tree: data, text and counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
    """No item has two children: what is added to the parent is all there is."""
    items: tuple[int, ...]
    """Items of each kind, for counting operations."""
    arrays: int
    """Input arrays."""
    outputs: int = 1
    """Output arrays."""

    def text(self) -> str:
        """Print; equal programs print equal texts."""
        # one output is the rule and leaves the text as it is
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
