"""Code for one state: the bits of code for many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.compiler.graph.program import Repeat
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.modules import one_state
from sixfold.compiler.llvm.runtime import jit
from sixfold.compiler.llvm.runtime.kernel import Kernel
from sixfold.errors import InternalError
from sixfold.scalar import subroutine
from tests.llvm.subroutine_functions import N, as_argument, from_outside, two_kinds
from tests.llvm.wide_results import growing

EACH = pytest.mark.parametrize("function", [from_outside, as_argument, two_kinds])


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setenv("SIXFOLD_VERIFY", "1")


def one_state_kernel(program, layout):
    """Return a kernel whose only code is the one for one state."""
    program = optimise(program)
    code = jit.object_code(one_state.module(program, layout, jit.host()[0]))
    return Kernel("one", program.text(), layout, 1, code)


def inputs(dtype, count=5, size=N):
    return np.random.default_rng(7).uniform(-1.5, 1.5, (count, size)).astype(dtype)


@EACH
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_are_those_of_vectors_of_states(function, dtype):
    program = trace(function, [N])
    layout = Layout(((N,),), ((len(program.outputs),),), dtype)
    many, _ = build("many", program, layout)
    few = one_state_kernel(program, layout)
    x = inputs(dtype)
    expected = many(x)
    for k, row in enumerate(x):
        assert np.array_equal(few(row), expected[k])
    assert np.array_equal(few(x[:2]), expected[:2])
    assert np.array_equal(few.ufunc(x), expected)
    assert np.array_equal(few(x[::-1][:2]), expected[::-1][:2])
    assert np.array_equal(few(np.asfortranarray(x)[1:3]), expected[1:3])


def test_several_results_constants_and_repeated_ones():
    def function(x):
        found = from_outside(x)
        return [*found, 0.0, 0.0, 0.0, 2.5, *found[3:9], x[1], 0.0, found[4]]

    program = trace(function, [N])
    size = len(program.outputs)
    layout = Layout(((N,),), ((5,), (size - 5,)))
    many, _ = build("many", program, layout)
    few = one_state_kernel(program, layout)
    x = inputs("float64")
    for found, expected in zip(few(x[0]), many(x), strict=True):
        assert np.array_equal(found, expected[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_programs_without_routines(dtype):
    program, layout = trace(growing(150), (3,)), Layout(((3,),), ((150,), (150,)), dtype)
    many, _ = build("many", program, layout)
    x = inputs(dtype, 4, 3)
    found, expected = one_state_kernel(program, layout)(x[1]), many(x)
    assert all(np.array_equal(a, b[1]) for a, b in zip(found, expected, strict=True))


def angles(x):
    """Angles of two levels, some of them given; one sine is a result."""
    first = [(sf.math.sin(a), sf.math.cos(a)) for a in x]
    second = [s * 3.0 + c * x[k] for k, (s, c) in enumerate(first)]
    third = [sf.math.cos(a + 0.5) * sf.math.sin(2.0 * a) for a in second]
    return [first[0][0], first[-1][1], *third, sf.math.sin(sum(third) * 1e3)]


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 29])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sines_of_several_angles(size, dtype):
    program = trace(angles, [size])
    layout = Layout(((size,),), ((len(program.outputs),),), dtype)
    many, _ = build("many", program, layout)
    few = one_state_kernel(program, layout)
    x = inputs(dtype, 6, size)
    x[1] *= 1e7
    x[2, -1] = 1e30  # beyond the usual reduction
    x[3, 0], x[3, -1] = -0.0, np.inf
    x[4] = np.nan
    expected = many(x)
    for k, row in enumerate(x):
        np.testing.assert_array_equal(few(row), expected[k])


def test_not_a_number_stays_in_its_state():
    program = trace(from_outside, [N])
    layout = Layout(((N,),), ((len(program.outputs),),))
    few = one_state_kernel(program, layout)
    x = inputs("float64", 2)
    clean = few(x)
    x[0] = np.nan
    found = few(x)
    assert np.isnan(found[0]).all()
    assert np.array_equal(found[1], clean[1])


def test_plain_calls_of_more_states_are_left_to_others():
    program = trace(from_outside, [N])
    few = one_state_kernel(program, Layout(((N,),), ((len(program.outputs),),)))
    x = inputs("float64", 3)
    assert few.quick(x[0]) is not None
    assert few.quick(x[:2]) is not None
    assert few.quick(x) is None
    assert few.on_one_thread(x) is None
    assert few.quick(x[:0]) is None


def test_what_needs_results_of_another_run_comes_after_it():
    def chained(x):
        L = [[0.1 * sf.math.sin(x[i] + j) for j in range(i)] for i in range(N)]

        def solve(b):
            y = list(b)
            for i in range(N):
                for j in range(i):
                    y[i] = y[i] - L[i][j] * y[j]
            for i in reversed(range(N)):
                for j in range(i):
                    y[j] = y[j] - L[i][j] * y[i]
            return y

        first = [subroutine(solve, [x[k] * (n + 1) for k in range(N)]) for n in range(8)]
        second = [subroutine(solve, [a + b for a, b in zip(y, x, strict=True)]) for y in first]
        return [z for y in (*second, *first) for z in y]

    program = optimise(trace(chained, [N]))
    repeats = [k for k, (op, *_) in enumerate(program.nodes) if isinstance(op, Repeat)]
    assert len(repeats) == 16
    assert {run.node for run in plan(program).runs} == {*repeats}
    layout = Layout(((N,),), ((len(program.outputs),),))
    x = inputs("float64")
    many, _ = build("many", trace(chained, [N]), layout)
    few = one_state_kernel(trace(chained, [N]), layout)
    assert np.array_equal(few(x[2]), many(x)[2])


def test_a_plan_whose_runs_are_wrong_is_refused():
    program = optimise(trace(from_outside, [N]))
    cut = plan(program).verify(program)
    run, *rest = cut.runs
    other = rest[-1]
    for bad, words in [
        (replace(run, node=other.node), "others are run"),
        (replace(run, taken=other.taken), "as input"),
        (replace(run, results=run.results[:-1]), "reads node|is not in slot"),
        (replace(run, results=tuple((n + 1, k) for n, k in run.results)), "is not result"),
    ]:
        with pytest.raises(InternalError, match=words):
            replace(cut, runs=(bad, *rest)).verify(program)
