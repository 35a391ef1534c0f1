"""Batch-fastest results that the pieces of a program write themselves."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.errors import InternalError
from sixfold.graph import optimise, trace
from sixfold.llvm import Layout, build
from sixfold.llvm.layout import schedule, streaming
from sixfold.llvm.layout.schedule import plan
from sixfold.llvm.modules import straight
from tests.llvm.wide_results import growing

SHAPES = [((64,), (64,)), ((8, 9), (72,)), ((2, 5, 9), (9, 10))]
"""Of two results, as many numbers in each."""


def aligned(shape, rows, padded, offset=0):
    """Return a batch-fastest array with its memory, full of 7.5; each number has room for `padded`.

    It begins so many numbers after a cache line.
    """
    numbers = math.prod(shape)
    memory = np.full(numbers * padded + 32, 7.5)
    start = (-memory.ctypes.data % 64) // 8 + offset
    columns = memory[start : start + numbers * padded].reshape(*shape, padded)[..., :rows]
    return np.moveaxis(columns, -1, 0), memory


@pytest.mark.parametrize("zeros", [range(0), range(10, 45)])
@pytest.mark.parametrize("shapes", SHAPES)
def test_bits_are_those_of_one_lane(shapes, zeros):
    size = math.prod(shapes[0])
    program, layout = trace(growing(size, zeros), (3,)), Layout(((3,),), shapes)
    wide, one = (build("test", program, layout, lanes=lanes)[0] for lanes in (8, 1))
    assert "@by_columns_8" in wide.llvm_ir
    for rows, padded, offset in (
        (8, 8, 0),
        (23, 24, 0),
        (300, 304, 0),
        (300, 320, 2),
        (262, 264, 7),
    ):
        x = np.random.default_rng(rows).uniform(-1.0, 1.0, (rows, 3))
        wanted = one.ufunc(x)
        for call in (wide.ufunc, wide.ufunc_for(streaming.MIN_STREAMING_BYTES)):
            for given in (x, np.asfortranarray(x)):
                made = [aligned(shape, rows, padded, offset) for shape in shapes]
                out = tuple(array for array, _ in made)
                call(given, out=out)
                assert all(np.array_equal(a, b) for a, b in zip(out, wanted, strict=True))
                for array, memory in made:  # nothing beside them was written
                    array[...] = 7.5
                    assert (memory == 7.5).all()


def test_arrays_that_do_not_suit_go_another_way():
    program, layout = trace(growing(66), (3,)), Layout(((3,),), ((66,), (66,)))
    wide, one = (build("test", program, layout, lanes=lanes)[0] for lanes in (8, 1))
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 3))
    wanted = one.ufunc(x)
    dense = np.zeros((300, 66))
    every_second = np.zeros((66, 600))[:, ::2].T
    for other in (dense, every_second, aligned((66,), 300, 301)[0], aligned((66,), 300, 304, 1)[0]):
        for out in ((other, aligned((66,), 300, 304)[0]), (aligned((66,), 300, 304)[0], other)):
            wide.ufunc(x, out=out)
            assert all(np.array_equal(a, b) for a, b in zip(out, wanted, strict=True))


def test_results_are_stored_when_they_are_there():
    program = optimise(trace(growing(96), (3,)))
    layout = Layout(((3,),), ((96,), (96,)))
    cut = straight.with_columns(program, layout, plan(program, merge=True), 8)
    groups = [group for each in cut.columns.groups for group in each]
    numbers = list(itertools.chain.from_iterable(group.results for group in groups))
    constants = [n for n, k in enumerate(program.outputs) if program.nodes[k][0] == "const"]
    assert sorted((*numbers, *constants)) == list(range(192))
    early = (tuple(g._replace(after=0) for g in groups), *[()] * (len(cut.pieces) - 1))
    with pytest.raises(InternalError, match="a column reads node"):
        replace(cut, columns=replace(cut.columns, groups=early)).verify(program)


def test_long_programs_leave_it_to_others(monkeypatch):
    program = optimise(trace(growing(64), (3,)))
    monkeypatch.setattr(schedule, "MAX_OPERATIONS", 10)
    layout, cut = Layout(((3,),), ((64,), (64,))), plan(program, merge=True)
    assert straight.with_columns(program, layout, cut, 8).columns is None
    assert straight.with_lines(program, layout, cut, 8).lines is None


def test_derivatives_of_a_robot_are_the_same_in_every_order():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 1000, seed=1)
    wanted = sf.inverse_dynamics_derivatives(model, q, v, v)
    out = tuple(aligned((6, 6), 1000, 1008)[0] for _ in wanted)
    sf.inverse_dynamics_derivatives(model, q, v, v, out=out)
    assert all(np.array_equal(a, b) for a, b in zip(out, wanted, strict=True))


@pytest.mark.parametrize("rows", [5, 8, 300, 400])
def test_many_short_results_leave_memory_alone_that_nobody_set(rows):
    """What tells pieces where results go is set in every tile, whatever else is there."""
    shapes = ((9,),) * 30
    program = trace(lambda x: [sf.sin(x[0]) * k + x[k % 3] for k in range(270)], (3,))
    wide, one = (
        build("test", program, Layout(((3,),), shapes), lanes=lanes)[0] for lanes in (8, 1)
    )
    for name in ("usual", "streaming", "columns", "by_columns"):
        body = wide.llvm_ir.split(f" @{name}_8(ptr %args, ptr %steps, i64 %row", 1)[1]
        assert "@store_constants_8(" in body.split("\n}\n", 1)[0], name
    x = np.random.default_rng(rows).uniform(-1.0, 1.0, (rows, 3))
    wanted = one.ufunc(x)
    for call in (wide.ufunc, wide.ufunc_for(streaming.MIN_STREAMING_BYTES)):
        for _ in range(3):
            assert all(np.array_equal(a, b) for a, b in zip(call(x), wanted, strict=True))
        out = tuple(aligned((9,), rows, 400)[0] for _ in shapes)
        call(x, out=out)
        assert all(np.array_equal(a, b) for a, b in zip(out, wanted, strict=True))
