"""Rollouts as LLVM text for Nvidia's graphics cards: one trajectory a thread, its time loop inside.

What is carried from step to step stays in registers.  Subroutines of a step are functions that
every stage calls, and repetitions are loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sixfold.graph.program import CONST, INPUT, Call, Final, Program, Repeat, Result
from sixfold.graph.subroutines import Outlined
from sixfold.llvm.layout.pieces import library
from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.modules.ptx import fewest_live, kernel
from sixfold.llvm.modules.scan import Scan
from sixfold.llvm.text.writer import Block

Read = Callable[[int], str]
"""Returns the word of an input; what reads it from memory is written where it is needed."""


def module(whole: Outlined, scan: Scan, name: str, shared: Sequence[bool]) -> str:
    """Return the text of a kernel of trajectories: arrays, outputs, then rows, steps and every.

    Carried arrays have a row for each trajectory; fixed ones too, or one for all; the others one
    for each step, of each trajectory or of all.  Outputs have one for each trajectory and every so
    many steps, and do not overlap the others.  There is at least one step.

    Args:
        whole: the step.
        scan: sizes of its arrays.
        name: of the kernel.
        shared: which of its arrays are the same for all trajectories.
    """
    routines = _Routines(scan.scalar, whole.subroutine)
    arrays = _Arrays(scan, shared)
    thread = _Thread(scan.scalar, routines, "step")
    found = thread.run(fewest_live(whole.program), arrays.reading(thread))
    pointers = [f"a{k}" for k in range(len(scan.sizes))]
    pointers += [f"r{k}" for k in range(len(scan.carried))]
    used = {op for part in whole if part is not None for op in part.names()}
    layout = Layout(tuple((n,) for n in scan.sizes), ((sum(scan.carried),),), scan.dtype)
    body = [
        *arrays.start(),
        "  br label %step",
        "step:",
        "  %step_now = phi i64 [0, %work], [%step_next, %next]",
        "  %since = phi i64 [1, %work], [%since_next, %next]",
        "  %out = phi i64 [0, %work], [%out_next, %next]",
        *(
            f"  {old} = phi {scan.scalar} [{first}, %work], [{new}, %next]"
            for old, first, new in zip(arrays.carried, arrays.first, found, strict=True)
        ),
        *thread.lines,
        "  %due = icmp eq i64 %since, %every",
        "  br i1 %due, label %write, label %next",
        "write:",
        *arrays.written(found),
        "  br label %next",
        "next:",
        "  %since_more = add i64 %since, 1",
        "  %since_next = select i1 %due, i64 1, i64 %since_more",
        "  %out_more = add i64 %out, 1",
        "  %out_next = select i1 %due, i64 %out_more, i64 %out",
        "  %step_next = add i64 %step_now, 1",
        "  %on = icmp ult i64 %step_next, %steps",
        "  br i1 %on, label %step, label %end",
    ]
    functions = [library(layout, 1, used), *routines.texts.values()]
    return kernel(name, pointers, ("rows", "steps", "every"), functions, body)


class _Arrays:
    """Where the numbers of a trajectory are: pointers to its rows, and names of what it carries."""

    def __init__(self, scan: Scan, shared: Sequence[bool]) -> None:
        self.scan, self.shared = scan, shared
        places = [(k, i) for k, size in enumerate(scan.carried) for i in range(size)]
        self.carried = [f"%c{k}_{i}" for k, i in places]
        self.first = [f"%first{k}_{i}" for k, i in places]
        self.item = {"double": 8, "float": 4}[scan.scalar]

    def start(self) -> list[str]:
        """Return the lines before the first step: pointers to rows, what is carried at first."""
        scan, kept = self.scan, len(self.scan.carried) + len(self.scan.fixed)
        lines = ["  %written = udiv i64 %steps, %every"]
        for k, size in enumerate(scan.sizes):
            lines.append(f"  %at{k} = mul i64 %row, {0 if self.shared[k] else size}")
            if k >= kept:
                lines.append(f"  %all{k} = mul i64 %at{k}, %steps")
            index = f"%{'at' if k < kept else 'all'}{k}"
            lines.append(f"  %p{k} = {self._element(f'%a{k}', index)}")
        for k, size in enumerate(scan.carried):
            lines.append(f"  %to{k} = mul i64 %written, {size}")
            lines.append(f"  %rest{k} = mul i64 %to{k}, %row")
            lines.append(f"  %s{k} = {self._element(f'%r{k}', f'%rest{k}')}")
            for i in range(size):
                lines.append(f"  %from{k}_{i} = {self._element(f'%p{k}', i)}")
                lines.append(f"  %first{k}_{i} = {self._load(f'%from{k}_{i}')}")
        return lines

    def reading(self, thread: _Thread) -> Read:
        """Return what reads an input of a step."""
        scan, kept = self.scan, len(self.scan.carried) + len(self.scan.fixed)
        places = [(k, i) for k, size in enumerate(scan.sizes) for i in range(size)]
        now: dict[int, str] = {}

        def read(n: int) -> str:
            if n < len(self.carried):
                return self.carried[n]
            k, i = places[n]
            if k not in now:
                row = f"%p{k}"
                if k >= kept:
                    index = thread.emit(f"mul i64 %step_now, {scan.sizes[k]}")
                    row = thread.emit(self._element(row, index))
                now[k] = row
            return thread.emit(self._load(thread.emit(self._element(now[k], i))))

        return read

    def written(self, found: Sequence[str]) -> list[str]:
        """Return the lines that write what is carried on."""
        lines, n = [], 0
        for k, size in enumerate(self.scan.carried):
            lines.append(f"  %index{k} = mul i64 %out, {size}")
            lines.append(f"  %target{k} = {self._element(f'%s{k}', f'%index{k}')}")
            for i in range(size):
                lines.append(f"  %target{k}_{i} = {self._element(f'%target{k}', i)}")
                value, place = f"{self.scan.scalar} {found[n]}", f"%target{k}_{i}"
                lines.append(f"  store {value}, ptr addrspace(1) {place}, align {self.item}")
                n += 1
        return lines

    def _element(self, pointer: str, index: str | int) -> str:
        return f"getelementptr {self.scan.scalar}, ptr addrspace(1) {pointer}, i64 {index}"

    def _load(self, place: str) -> str:
        return f"load {self.scan.scalar}, ptr addrspace(1) {place}, align {self.item}"


class _Routines:
    """Functions of subroutines, each written once."""

    def __init__(self, scalar: str, main: Program | None) -> None:
        self.scalar, self.main = scalar, main
        self.names: dict[Program, str] = {}
        self.texts: dict[str, str] = {}

    def name(self, body: Program) -> str:
        """Return the name of the function of a subroutine."""
        if body in self.names:
            return self.names[body]
        name = self.names[body] = f"routine{len(self.names)}"
        thread = _Thread(self.scalar, self, "entry")
        found = thread.run(fewest_live(body), lambda n: f"%x{n}")
        kind, whole = self.result(body), "poison"
        for k, value in enumerate(found):
            whole = thread.emit(f"insertvalue {kind} {whole}, {self.scalar} {value}, {k}")
        given = ", ".join(f"{self.scalar} %x{n}" for n in range(body.inputs))
        head = f"define internal {kind} @{name}({given}) noinline {{"
        lines = [head, "entry:", *thread.lines, f"  ret {kind} {whole}", "}\n"]
        self.texts[name] = "\n".join(lines)
        return name

    def result(self, body: Program) -> str:
        """Return LLVM's type of the results of a subroutine."""
        return f"{{{', '.join([self.scalar] * len(body.outputs))}}}"


class _Thread(Block):
    """Writes programs for one thread."""

    def __init__(self, scalar: str, routines: _Routines, label: str) -> None:
        """Take what knows the subroutines, and the name of the basic block that is written."""
        super().__init__(1, scalar)
        self.routines, self.label = routines, label

    def run(self, program: Program, read: Read) -> list[str]:
        """Write all nodes; return the words of the results."""
        words: dict[int, str] = {}
        found: dict[int, list[str]] = {}  # results of calls and repetitions

        def value(n: int) -> str:
            # inputs are read where they are first needed, which takes fewer registers
            if n not in words:
                words[n] = read(program.nodes[n][1])
            return words[n]

        for n, (op, *arguments) in enumerate(program.nodes):
            if op == CONST:
                words[n] = self.constant(arguments[0])
            elif isinstance(op, (Final, Result)):
                words[n] = found[arguments[0]][op.place]
            elif isinstance(op, (Call, Repeat)):
                found[n] = self.subprogram(op, [value(a) for a in arguments])
            elif op != INPUT:
                words[n] = self.operation(op, [value(a) for a in arguments])
        return [value(n) for n in program.outputs]

    def subprogram(self, op: Call | Repeat, given: list[str]) -> list[str]:
        """Write a call or a loop; return its results."""
        if isinstance(op, Repeat):
            return self.repeated(op, given) if op.rounds > 1 else self.called(op.body, given)
        assert self.routines.main is not None
        return self.called(self.routines.main, given)

    def called(self, body: Program, given: Sequence[str]) -> list[str]:
        """Write the call of a subroutine."""
        kind, listed = self.routines.result(body), ", ".join(f"{self.scalar} {x}" for x in given)
        both = self.emit(f"call {kind} @{self.routines.name(body)}({listed})")
        return [self.emit(f"extractvalue {kind} {both}, {k}") for k in range(len(body.outputs))]

    def repeated(self, op: Repeat, given: list[str]) -> list[str]:
        """Write a loop of several rounds, whose carried values are its results."""
        name, before, count = f"loop{self.count}", self.label, len(op.body.outputs)
        carried = [f"%{name}_{k}" for k in range(count)]
        words: list[Any] = [*carried, *given[count:]]
        self.lines += [f"  br label %{name}", f"{name}:"]
        self.label, start = name, len(self.lines)
        found = self.run(fewest_live(op.body), words.__getitem__)
        self.lines[start:start] = [
            f"  %{name}_round = phi i32 [1, %{before}], [%{name}_next, %{self.label}]",
            *(
                f"  {old} = phi {self.real} [{first}, %{before}], [{new}, %{self.label}]"
                for old, first, new in zip(carried, given, found, strict=False)
            ),
        ]
        self.lines += [
            f"  %{name}_next = add i32 %{name}_round, 1",
            f"  %{name}_more = icmp ule i32 %{name}_next, {op.rounds}",
            f"  br i1 %{name}_more, label %{name}, label %{name}_end",
            f"{name}_end:",
        ]
        self.label = f"{name}_end"
        return found
