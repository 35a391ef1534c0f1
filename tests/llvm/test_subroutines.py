"""Subroutines in straight-line code and in scans: several, each compiled once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import jacobian, optimise, trace, unroll
from sixfold.compiler.graph.program import Call, Final, Repeat
from sixfold.compiler.llvm import Layout, Scan, build, build_scan
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.errors import InternalError
from sixfold.scalar import differentiate, subroutine
from tests.llvm.subroutine_functions import (
    COLUMNS,
    FUNCTIONS,
    N,
    as_argument,
    factor,
    from_outside,
    sides,
    solve,
    two_kinds,
)


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setenv("SIXFOLD_VERIFY", "1")


EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)


def kernel_of(program, lanes=None, dtype="float64"):
    layout = Layout(((N,),), ((len(program.outputs),),), dtype)
    return build("solves", program, layout, lanes=lanes)[0]


def states(rows, dtype="float64"):
    return np.random.default_rng(2).uniform(-1, 1, (rows, N)).astype(dtype)


def looped(function, x):
    found = function(list(x.astype(float).T))
    return np.stack([np.broadcast_to(y, x.shape[:1]) for y in found], -1)


def repeats(program):
    return [op for op, *_ in program.nodes if isinstance(op, Repeat)]


@EACH
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_calls_in_straight_line_code_equal_the_function(function, dtype):
    x = states(45, dtype)
    program = trace(function, [N]).verify()
    assert len(repeats(program)) >= COLUMNS
    tolerance = 1e-13 if dtype == "float64" else 1e-5
    results = [kernel_of(program, W, dtype)(x) for W in WIDTHS]
    np.testing.assert_allclose(results[0], looped(function, x), rtol=tolerance, atol=tolerance)
    for found in results[1:]:
        np.testing.assert_array_equal(found, results[0])
    np.testing.assert_array_equal(kernel_of(program, None, dtype)(x[3]), results[0][3])


@EACH
def test_operations_are_those_of_the_unrolled_program(function):
    program = trace(function, [N])
    flat = unroll(program)
    assert program.length < flat.length / 3
    x = states(20)
    np.testing.assert_allclose(kernel_of(program)(x), kernel_of(flat)(x), rtol=1e-13, atol=1e-13)
    # the first right-hand sides are partly zero, which only the unrolled program knows
    assert program.flops() >= flat.flops()


@pytest.mark.parametrize("function", [from_outside, as_argument])
def test_a_factor_stays_where_it_is(function):
    program = optimise(trace(function, [N]))
    cut = plan(program)
    (routine,) = cut.routines
    assert len(cut.runs) == COLUMNS
    assert len(routine.plan.inputs) == N * (N - 1) // 2 + 2 * N
    for run in cut.runs:
        assert len(run.taken) == N


@pytest.mark.parametrize("function", [from_outside, as_argument])
def test_results_are_computed_where_they_are_read(function):
    program = optimise(trace(function, [N]))
    cut = plan(program).verify(program)
    (routine,) = cut.routines
    assert routine.plan.returns
    starts = [run.returned for run in cut.runs]
    assert len(set(starts)) == COLUMNS
    for run in cut.runs:
        assert not run.results_to_copy(cut.slot)
        assert {cut.slot[k] for _, k in run.results} <= {*range(run.returned, run.returned + N)}
    assert "@piece_leave0_4" not in kernel_of(program, 4).llvm_ir


def test_a_plan_whose_results_go_astray_is_refused():
    program = optimise(trace(from_outside, [N]))
    cut = plan(program).verify(program)
    (routine,) = cut.routines
    first, run, *rest = cut.runs
    for place, words in [
        (None, "does not say where"),
        (routine.region.start, "returns results to"),
        (cut.slots - N + 1, "returns results to"),
        (first.returned, "reads node"),
    ]:
        bad = replace(cut, runs=(first, replace(run, returned=place), *rest))
        with pytest.raises(InternalError, match=words):
            bad.verify(program)


def test_two_subroutines_are_each_compiled_once():
    cut = plan(optimise(trace(two_kinds, [N])))
    assert len(cut.routines) == 2
    assert len(cut.runs) == 2 * COLUMNS + 10
    text = kernel_of(trace(two_kinds, [N]), 4).llvm_ir
    assert text.count("define internal void @piece_r0_0_4(") == 1
    assert text.count("define internal void @piece_r1_0_4(") == 1
    assert "@piece_r2_" not in text


def test_few_evaluations_are_written_out():
    def few(x):
        L, D = factor(x)
        return [y for b in sides(x)[:5] for y in subroutine(lambda b: solve(L, D, b), b)]

    def plain(x):
        L, D = factor(x)
        return [y for b in sides(x)[:5] for y in solve(L, D, b)]

    assert trace(few, [N]).counts() == trace(plain, [N]).counts()


def test_on_numbers_it_is_the_function_itself():
    assert subroutine(lambda a, b: [*a, *b], [1.0], (2, 3.0)) == [1.0, 2, 3.0]
    assert subroutine(lambda: [4.0]) == [4.0]


def test_derivatives_go_through_calls():
    program = trace(two_kinds, [N])
    slopes = jacobian(program, [3])
    x = states(1)[0]
    _, dots = differentiate(two_kinds, list(x), [float(k == 3) for k in range(N)])
    found = kernel_of(slopes)(x)
    np.testing.assert_allclose(found, [float(d) for d in dots], rtol=1e-11, atol=1e-12)


def test_calls_inside_the_body_of_a_repetition_are_written_out():
    def function(x):
        L, D = factor(x)
        return sf.math.repeat(20, lambda b: subroutine(lambda b: solve(L, D, b), b), list(x))

    program = trace(function, [N])
    assert [op.rounds for op in repeats(program)] == [20]
    x = states(9)
    np.testing.assert_allclose(kernel_of(program)(x), looped(function, x), rtol=1e-12, atol=1e-16)


def test_an_evaluation_inside_another_is_part_of_it():
    def function(x):
        L, D = factor(x)

        def twice(b):
            first = subroutine(lambda c: solve(L, D, c), b)
            return subroutine(lambda c: solve(L, D, c), first)

        return [y for b in sides(x) for y in subroutine(twice, b)]

    program = trace(function, [N]).verify()
    assert len(repeats(program)) == COLUMNS
    x = states(9)
    np.testing.assert_allclose(kernel_of(program)(x), looped(function, x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_scan_keeps_several_subroutines(lanes):
    def first(a):
        s = a[0]
        for k in range(200):
            s = s * 0.5 + sf.math.cos(a[1]) * 0.01 * k
        return [s, s * a[1]]

    def second(a):
        s = a[0]
        for k in range(170):
            s = s * 0.25 - a[0] * 0.01 * k
        return [s]

    def step(x, k, push):
        call = x[0].graph.evaluate if hasattr(x[0], "graph") else lambda f, lists: f(*lists)
        a, b = call(first, [[x[0], x[1]]])
        (c,) = call(second, [[a]])
        d, e = call(first, [[b, k[0]]])
        (f,) = call(second, [[e + push[0]]])
        return [0.1 * (a - c + d), x[1] * 0.5 - 0.1 * f]

    rows, steps = 10, 3
    x, k = states(rows)[:, :2], states(rows)[:, 2:3]
    push = np.random.default_rng(1).uniform(0.5, 2.0, (rows, steps, 1))
    scan = Scan(carried=(2,), fixed=(1,), each=(1,))
    kernel = build_scan(trace(step, [2, 1, 1], boundaries=True), scan, lanes=lanes)
    program, main = kernel.graph.verify()
    assert main is not None
    assert sum(isinstance(op, Call) for op, *_ in program.nodes) == 2
    assert len(repeats(program)) == 2
    assert sum(isinstance(op, Final) for op, *_ in program.nodes) == 2
    out = np.full((rows, steps, 2), np.nan)
    kernel([x, k, push], [out], steps, 1)
    state = list(x.T)
    for n in range(steps):
        state = step(state, k.T, push[:, n].T)
        np.testing.assert_allclose(out[:, n], np.transpose(state), rtol=1e-12, atol=1e-14)
