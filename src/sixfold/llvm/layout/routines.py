"""Bodies of repetitions as routines: which there are, what they take, and when they are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sixfold.graph.program import CONST, INPUT, Final, Program, Repeat
from sixfold.llvm.layout.plan import Routine, Run

Nodes = Sequence[tuple[Any, ...]]


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


def placed_routines(
    nodes: Nodes,
    routines: Sequence[Routine],
    slot: Mapping[int, int],
    before: Mapping[int, int],
    returned: Mapping[int, int],
) -> tuple[tuple[Routine, ...], tuple[Run, ...]]:
    """Return routines with the slots of values from outside, and when they are run.

    Args:
        nodes: of the program that repeats them.
        routines: with inputs from outside that have no slots yet.
        slot: of each value of the program.
        before: piece that comes after each repetition.
        returned: first slot of the results of each repetition whose routine returns them.
    """
    runs: list[Run] = []
    placed = list(routines)
    number = {routine.program: r for r, routine in enumerate(routines)}
    finals: dict[int, list[tuple[int, int]]] = {}
    for f, (op, *arguments) in enumerate(nodes):
        if isinstance(op, Final) and f in slot:
            finals.setdefault(arguments[0], []).append((op.place, f))
    for k, (op, *arguments) in enumerate(nodes):
        if not isinstance(op, Repeat):
            continue
        r = number[op.body]
        region, inputs = routines[r].region, routines[r].plan.inputs.items()
        taken = tuple((s, arguments[n]) for n, s in inputs if s in region)
        outside = {s: slot[arguments[n]] for n, s in inputs if s not in region}
        placed[r] = replace(routines[r], plan=routines[r].plan.placed(outside))
        results = tuple(finals.get(k, ()))
        runs.append(Run(k, before[k], r, op.rounds, taken, results, returned.get(k)))
    return tuple(placed), tuple(runs)
