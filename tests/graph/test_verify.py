"""Every stage of the compiler finds what is wrong with what it made."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sixfold as sf
from sixfold.compiler.graph import Program, optimise, trace
from sixfold.compiler.graph.passes import Outlined, with_subroutine
from sixfold.compiler.graph.program import Argument, Boundary, Call, Result, verifying
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.errors import InternalError
from sixfold.quantities import readings
from sixfold.runtime.kernels.rolled_tree import trace_loops
from sixfold.runtime.kernels.scan import evaluate_once


def test_stages_verify_in_tests_and_only_on_request(monkeypatch):
    assert verifying()
    monkeypatch.delenv("SIXFOLD_VERIFY")
    assert not verifying()


DAMAGED = {
    "repeats": Program(1, (("input", 0), ("sin", 0), ("sin", 0)), (1, 2)),
    "later": Program(1, (("input", 0), ("add", 0, 2), ("sin", 0)), (1,)),
    "later node, or none": Program(1, (("input", 0), ("sin", -1)), (1,)),
    "unknown operation": Program(1, (("input", 0), ("sinh", 0)), (1,)),
    "2 arguments, sin takes 1": Program(1, (("input", 0), ("sin", 0, 0)), (1,)),
    "fma takes 3": Program(1, (("input", 0), ("fma", 0, 0)), (1,)),
    "of 1 inputs": Program(1, (("input", 1),), (0,)),
    "constant of": Program(0, (("const", "1"),), (0,)),
    "result 2 is not one": Program(1, (("input", 0),), (2,)),
    "result -1 is not one": Program(1, (("input", 0),), (-1,)),
}


@pytest.mark.parametrize("words", DAMAGED)
def test_a_damaged_program_does_not_verify(words):
    with pytest.raises(InternalError, match=words):
        DAMAGED[words].verify()


def changed(program, k, *node):
    nodes = list(program.nodes)
    nodes[k] = node
    return Program(program.inputs, tuple(nodes), program.outputs)


@pytest.fixture
def calling(monkeypatch):
    """Return a program that calls a subroutine three times."""
    monkeypatch.setattr("sixfold.compiler.graph.passes.MIN_OPERATIONS", 5)

    def pull(y, w):
        a, b = y[0] * w[0] - y[1], sf.math.sin(y[1]) + w[0]
        for _ in range(3):
            a, b = b * a + y[0], sf.math.cos(a) * 0.5 - b
        return [a, b]

    def step(x, h):
        for _ in range(3):
            found = evaluate_once(pull, x, h)
            x = [a + h[0] * b for a, b in zip(x, found, strict=True)]
        return x

    whole = with_subroutine(trace(step, (2, 1), boundaries=True))
    assert whole.subroutine is not None
    return Outlined(*map(optimise, whole))


def test_calls_print_and_read_back(calling):
    text = calling.program.text()
    assert "call(0)" in text and "argument(2,1)" in text and "result(1)" in text
    assert Program.parse(text) == calling.program
    counts = calling.program.counts()
    assert counts["call"] == 3 and counts["argument"] == 9 and counts["copy"] == counts["result"]
    calling.verify()


def test_kinds_of_nodes_are_told_apart():
    assert Call(1) != Result(1) and Argument(1, 2) != Boundary(1, 2)
    assert len({(Call(1), 5), (Result(1), 5)}) == 2


def test_damaged_calls_do_not_verify(calling):
    program, subroutine = calling
    kinds = {}
    for k, (op, *_) in enumerate(program.nodes):
        kinds.setdefault(type(op) if not isinstance(op, str) else op, []).append(k)
    call, result, copy = kinds[Call][1], kinds[Result][0], kinds["copy"][0]
    arguments = program.nodes[call][1:]
    cases = {
        "no subroutine": Outlined(program, None),
        "hand over": Outlined(changed(program, call, Call(1), *arguments[:-1]), subroutine),
        "result 9 of": Outlined(
            changed(program, result, Result(9), *program.nodes[result][1:]), subroutine
        ),
        "no result of the last call": Outlined(changed(program, copy, "copy", 0), subroutine),
        "boundary": Outlined(changed(program, copy, Boundary(0, 0), 0), subroutine),
        "not copied": Outlined(changed(program, copy, "sin", result), subroutine),
        "calls another": Outlined(program, changed(subroutine, -1, "copy", 0)),
        "before the last": Outlined(
            changed(program, kinds[Result][-1], Result(1), kinds[Call][0] - 1), subroutine
        ),
    }
    for words, damaged in cases.items():
        with pytest.raises(InternalError, match=words):
            damaged.verify()


def swapped(pieces):
    """Return pieces with the first and the last in each other's place."""
    return (pieces[-1], *pieces[1:-1], pieces[0])


def test_a_damaged_plan_does_not_verify():
    model = sf.load("puma560")
    program = sf.compile(sf.forward_dynamics, model).graph
    right = plan(program, 60)
    assert right.verify(program) is right and len(right.pieces) > 3 and right.angles
    crossing = next(k for k in right.pieces[0] if k in right.slot)
    other = next(k for k in right.pieces[1] if k in right.slot)
    group = right.angles[0]
    last = right.pieces[-1]
    damaged = {
        "another piece, which has no slot": {
            "slot": {k: s for k, s in right.slot.items() if k != crossing}
        },
        "which holds": {"slot": {**right.slot, other: right.slot[crossing]}},
        "in no piece": {"pieces": (*right.pieces[:-1], last[:-1])},
        "computed twice": {"pieces": (*right.pieces[:-1], (*last, last[0]))},
        "reads node": {"pieces": swapped(right.pieces)},
        "not one of": {"slots": right.slots - 1},
        "does not fit": {"results": right.results[1:]},
        "among its group": {"angles": (replace(group, first=group.first + 1), *right.angles[1:])},
        "not in slot": {"results": right.results[::-1]},
        "has no slot, or another": {"inputs": dict.fromkeys(right.inputs, 0)},
        "calls are made": {"calls": (1,)},
    }
    for words, fields in damaged.items():
        with pytest.raises(InternalError, match=words):
            replace(right, **fields).verify(program)
    with pytest.raises(InternalError, match="reads node"):
        replace(right, angles=()).verify(program)


def test_a_damaged_plan_with_calls_does_not_verify(calling):
    program, subroutine = calling
    inner = plan(subroutine, 7)
    right = plan(program, 5, block=inner)
    right.verify(program, inner)
    late = (len(right.pieces) - 1,) * 3
    for fields in ({"calls": late}, {"calls": (0, 0, 0)}, {"calls": right.calls[::-1]}):
        with pytest.raises(InternalError):
            replace(right, **fields).verify(program, inner)
    with pytest.raises(InternalError, match="without a subroutine"):
        right.verify(program)
    places = {k: inner.slots - 1 for k in inner.inputs}
    with pytest.raises(InternalError):
        right.verify(program, replace(inner, inputs=places))


def test_a_damaged_rolled_program_does_not_verify():
    model = sf.load("planar_chain:6")
    names = ["q", "v", "a"]
    rolled, _ = trace_loops(readings.inverse_dynamics, model, names)
    assert rolled.verify() is rolled
    (down,), (up,), *_ = rolled.parts
    assert rolled.outward[:2] == (True, False)

    def with_first(part):
        return {"parts": ((part,), *rolled.parts[1:])}

    kept = next(k for k, source in enumerate(up.sources) if source[0] == "kept")
    broken = (*up.sources[:kept], ("kept", 999), *up.sources[kept + 1 :])
    damaged = {
        "directions": {"outward": rolled.outward[1:]},
        "each of 2 kinds": {"items": (3, 3)},
        "not there": {"arrays": 1},
        "reads .'kept', 999.": {"parts": (rolled.parts[0], (replace(up, sources=broken),))},
        "reads .'kept', 0.": {"parts": rolled.parts[::-1]},
        "one source for each input": with_first(replace(down, sources=down.sources[1:])),
        "one sink for each result": with_first(replace(down, sinks=down.sinks[1:])),
        "writes": with_first(replace(down, sinks=(("out", 0, 5), *down.sinks[1:]))),
        "which is not there": {"passed": (0,) * len(rolled.passed)},
        "the last part reads": {"last": down},
    }
    for words, fields in damaged.items():
        with pytest.raises(InternalError, match=words):
            replace(rolled, **fields).verify()
    twice = replace(up, sinks=tuple(("out", 0) for _ in up.sinks))
    with pytest.raises(InternalError, match="twice"):
        replace(rolled, parts=(rolled.parts[0], (twice,), *rolled.parts[2:])).verify()
