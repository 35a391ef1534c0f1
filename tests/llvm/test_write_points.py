"""Wide results that are written between the pieces of a program."""

import itertools
import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.errors import InternalError
from sixfold.graph import optimise, trace
from sixfold.graph.program import CONST
from sixfold.llvm import Layout, build
from sixfold.llvm.layout import streaming
from sixfold.llvm.layout.schedule import plan
from sixfold.llvm.layout.write_points import (
    GROUP_COLUMNS,
    columns,
    end_columns,
    pays,
    write_points,
)


def growing(size):
    """Return a function of two wide results, the last numbers of which are complete first.

    Some are arguments, sines, constants, the same value twice, or used again later.
    """

    def function(x):
        found = [sf.sin(x[0]), x[1], x[2] * 0.5]
        for k in range(6 * size):
            found.append(found[-1] * x[k % 3] - found[k // 2] * 0.125)
        first = found[:-size:-3][:size] + found[: size - len(found[:-size:-3][:size])]
        second = [found[-1 - 5 * k] for k in range(size)]
        first[3], first[40], second[7], second[50] = x[0], sf.cos(x[0]), 1.5, 0.0
        return [*first[::-1], *second[::-1]]

    return function


def program_of(size):
    return optimise(trace(growing(size), (3,)))


def layout_of(size):
    return Layout(((3,),), ((size,), (size,)))


@pytest.mark.parametrize("size", [64, 67, 96, 131])
def test_every_group_is_written_once_when_its_columns_are_there(size):
    program = program_of(size)
    sizes = layout_of(size).output_sizes
    cut = plan(program, 130, merge=True, written=sizes).verify(program)
    assert sum(bool(runs) for runs in cut.writes) > 1
    groups = [(w.output, g) for runs in cut.writes for w in runs for g in range(w.first, w.stop)]
    assert sorted(groups) == [(o, g) for o in (0, 1) for g in range(size // GROUP_COLUMNS)]
    assert cut.slots < plan(program, 130, merge=True).slots
    kept = cut.keeping_results(program)
    assert kept.pieces == cut.pieces and kept.slot == cut.slot


def test_a_slot_that_is_taken_before_its_line_is_written_is_found():
    program = program_of(96)
    cut = plan(program, 130, merge=True, written=layout_of(96).output_sizes)
    p = next(p for p, runs in enumerate(cut.writes) if runs)
    late = (*cut.writes[:p], (), *cut.writes[p + 1 : -1], cut.writes[-1] + cut.writes[p])
    with pytest.raises(InternalError, match="a line reads node"):
        type(cut)(**{**vars(cut), "writes": late}).verify(program)
    with pytest.raises(InternalError, match="are not written"):
        type(cut)(**{**vars(cut), "writes": ((),) * len(cut.pieces)}).verify(program)


def test_a_group_takes_the_columns_before_it_and_the_first_one_those_at_the_end():
    assert columns(67, 2) == list(range(8, 24))
    assert columns(67, 0) == [*range(59, 67), *range(8)]
    assert list(end_columns(67)) == list(range(56, 67))
    assert list(end_columns(64)) == list(range(56, 64))


def test_runs_wait_until_they_are_worth_a_call():
    nodes = list(range(64))
    home = {k: k // 8 for k in nodes}  # one group in each of eight pieces
    writes, kept = write_points(nodes, (64,), home, 8)
    assert {p: runs for p, runs in enumerate(writes) if runs} == {
        4: ((0, 1, 5),),
        7: ((0, 0, 1), (0, 5, 8)),
    }
    assert all(kept[k] >= home[k] for k in nodes)


@pytest.mark.parametrize("size", [64, 67, 96, 131])
def test_bits_are_those_of_one_lane_wherever_results_lie(size):
    program, layout = trace(growing(size), (3,)), layout_of(size)
    assert pays(optimise(program))
    wide, one = (build("test", program, layout, lanes=lanes)[0] for lanes in (8, 1))
    for rows, offset in itertools.product((1, 7, 8, 23, 130), (0, 1, 6)):
        x = np.random.default_rng(rows).uniform(-1.0, 1.0, (rows, 3))
        wanted = one.ufunc(x)
        for call in (wide.ufunc, wide.ufunc_for(streaming.MIN_STREAMING_BYTES)):
            around = [np.full(rows * size + 80, 7.5) for _ in wanted]
            starts = [(-a.ctypes.data % 64) // 8 + offset for a in around]
            dense = tuple(
                a[s : s + rows * size].reshape(rows, size)
                for a, s in zip(around, starts, strict=True)
            )
            apart = tuple(np.zeros((rows, 2, size))[:, 1] for _ in wanted)
            by_batch = tuple(np.zeros((size, rows)).T for _ in wanted)
            for out in (dense, apart, by_batch):
                call(x, out=out)
                assert all(np.array_equal(a, b) for a, b in zip(out, wanted, strict=True))
            for a, s in zip(around, starts, strict=True):
                assert (a[:s] == 7.5).all() and (a[s + rows * size :] == 7.5).all()


def test_mostly_zeros_are_written_at_the_end_of_a_block():
    few = optimise(trace(lambda x: [x[0] * k if k % 3 == 0 else 0.0 for k in range(90)], (3,)))
    assert not pays(few)
    assert math.isclose(sum(few.nodes[k][0] == CONST for k in few.outputs) / 90, 61 / 90)
