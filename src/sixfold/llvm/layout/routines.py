"""Bodies of repetitions as routines: which there are, what they take, and when they are run."""

from __future__ import annotations

import itertools
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


def side_by_side(nodes: Nodes, lanes: int) -> tuple[dict[int, tuple[int, ...]], list[int]]:
    """Return with which others each repetition is run, one in a lane, and an order of all nodes.

    Those of a group have the same body, and none needs results of another.  In that order, whatever
    a group needs comes before all of it.

    Args:
        nodes: of a program.
        lanes: the largest number of a group.
    """
    depth: dict[int, int] = {}
    alike: dict[Any, list[int]] = {}
    for k, (op, *arguments) in enumerate(nodes):
        depth[k] = 0 if op in (INPUT, CONST) else max(depth[a] for a in arguments)
        if isinstance(op, Repeat):
            depth[k] += 1
            together = lanes > 1 and op.rounds == 1 and _in_lanes(op.body)
            alike.setdefault((depth[k], op.body) if together else k, []).append(k)
    group: dict[int, tuple[int, ...]] = {}
    for each in alike.values():
        count = -(-len(each) // lanes)  # groups of about equal size
        ends = [len(each) * n // count for n in range(count + 1)]
        for a, b in itertools.pairwise(ends):
            group |= dict.fromkeys(each[a:b], tuple(each[a:b]))
    if lanes == 1:
        return group, list(depth)
    return group, sorted(depth, key=lambda k: (depth[k], k not in group))


def _in_lanes(body: Program) -> bool:
    """Return whether runs of a body can be side by side: its results are just computed."""
    computed = all(body.nodes[k][0] not in (INPUT, CONST) for k in body.outputs)
    distinct = len(set(body.outputs)) == len(body.outputs)
    return computed and distinct and not body.bodies() and not body.names() & {"sin", "cos"}


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
    groups: Mapping[tuple[int, ...], int],
    slot: Mapping[int, int],
    before: Mapping[int, int],
    returned: Mapping[tuple[int, ...], int],
) -> tuple[tuple[Routine, ...], tuple[Run, ...]]:
    """Return routines with the slots of values from outside, and when they are run.

    Args:
        nodes: of the program that repeats them.
        routines: with inputs from outside that have no slots yet.
        groups: repetitions that are run side by side, with the number of their routine.
        slot: of each value of the program.
        before: piece that comes after each repetition.
        returned: first slot of the results of each group whose routine returns them.
    """
    runs: list[Run] = []
    placed = list(routines)
    finals: dict[int, list[tuple[int, int]]] = {}
    for f, (op, *arguments) in enumerate(nodes):
        if isinstance(op, Final) and f in slot:
            finals.setdefault(arguments[0], []).append((op.place, f))
    for group, r in groups.items():
        (op, *arguments), lanes = nodes[group[0]], routines[r].lanes
        region, inputs = routines[r].region, routines[r].plan.inputs.items()
        taken = tuple((s, tuple(nodes[k][1 + n] for k in group)) for n, s in inputs if s in region)
        outside = {s: slot[arguments[n]] for n, s in inputs if s not in region}
        placed[r] = replace(routines[r], plan=routines[r].plan.placed(outside))
        results = tuple(
            (place * lanes + lane, f)
            for lane, k in enumerate(group)
            for place, f in finals.get(k, ())
        )
        runs.append(Run(group, before[group[0]], r, op.rounds, taken, results, returned.get(group)))
    return tuple(placed), tuple(sorted(runs, key=lambda run: run.before))
