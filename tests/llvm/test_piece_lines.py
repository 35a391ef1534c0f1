"""Lines of wide results that the pieces of a program write themselves."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout.piece_lines import (
    MAX_OPERATIONS_PER_LINE,
    is_profitable,
    schedule_line_stores,
)
from sixfold.compiler.llvm.layout.plan import LANES, MAX_OUTPUTS, row_lines
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.modules import straight
from sixfold.errors import InternalError
from tests.llvm.wide_results import growing


def program_of(size, zeros=range(0)):
    return optimise(trace(growing(size, zeros), (3,)))


def layout_of(size):
    return Layout(((3,),), ((size,), (size,)))


def plan_of(size, zeros=range(0)):
    program = program_of(size, zeros)
    found = straight.with_lines(program, layout_of(size), plan(program), 8)
    assert found.lines is not None
    return program, found


SIZES = [64, 67, 68, 96, 131]


@pytest.mark.parametrize("size", SIZES)
def test_every_line_is_written_once_when_its_columns_are_there(size):
    program, cut = plan_of(size, range(10, 45))
    cut.verify(program)
    assert not cut.lines.missing()
    assert sum(bool(groups) for groups in cut.lines.groups) > 1
    assert cut.lines.zeros[1] and not cut.lines.zeros[0]
    assert cut.slots == cut.lines.targets + 1


def test_the_rows_of_a_block_fill_as_many_lines_as_a_row_has_numbers():
    for size in SIZES:
        lines = [line for k in range(0, size, LANES) for line in row_lines(size, k)]
        within = [(row * size + column, row, column) for row, column in lines]
        assert len(set(within)) == len(within)
        assert all(start % LANES == 0 and 0 <= c <= size - LANES for start, _, c in within)
        crossing = sum((row + 1) * size % LANES > 0 for row in range(LANES - 1))
        assert len(within) + crossing == size


def test_a_line_that_comes_too_early_is_found():
    program, cut = plan_of(96)
    p = next(p for p, groups in enumerate(cut.lines.groups) if groups)
    early = tuple(g._replace(after=0) for g in cut.lines.groups[p])
    first = (early, *cut.lines.groups[1:p], (), *cut.lines.groups[p + 1 :])
    with pytest.raises(InternalError, match="a line reads node"):
        replace(cut, lines=replace(cut.lines, groups=first)).verify(program)


def test_lines_that_are_left_out_or_written_twice_are_found():
    program, cut = plan_of(67)
    p = next(p for p, groups in enumerate(cut.lines.groups) if groups)
    without = (*cut.lines.groups[:p], cut.lines.groups[p][1:], *cut.lines.groups[p + 1 :])
    for wrong in (
        replace(cut.lines, groups=without),
        replace(cut.lines, zeros=((0,), ())),
        replace(cut.lines, ends=((0,) * 7, cut.lines.ends[1])),
    ):
        assert wrong.missing()
        with pytest.raises(InternalError, match="are not written once"):
            replace(cut, lines=wrong).verify(program)
    last = tuple(g._replace(after=10**6) for g in cut.lines.groups[-1])
    late = replace(cut.lines, groups=(*cut.lines.groups[:-1], last))
    with pytest.raises(InternalError, match="more operations than piece"):
        replace(cut, lines=late).verify(program)


def test_groups_are_spread_over_the_program():
    _, cut = plan_of(131)
    pieces = [len(groups) for groups in cut.lines.groups]
    assert max(pieces) <= sum(pieces) / 2


def test_long_programs_and_many_outputs_leave_lines_to_the_end_of_a_block():
    _, cut = plan_of(64)
    assert is_profitable(cut, (64, 64))
    few = sum(map(len, cut.pieces)) // MAX_OPERATIONS_PER_LINE - 1
    assert not is_profitable(cut, (few,))
    assert not is_profitable(cut, (64,) * (MAX_OUTPUTS + 1))


def test_results_of_repetitions_are_there_when_these_have_run():
    def rounds(x):
        def step(y):
            return [a * 0.5 + b for a, b in zip(y, [*y[1:], y[0]], strict=True)]

        start = [x[k % 3] + float(k) for k in range(70)]
        return [*sf.math.repeat(3, step, start), *start]

    program = optimise(trace(rounds, (3,)))
    cut = plan(program)
    assert cut.runs
    found = replace(cut, lines=schedule_line_stores(program, cut, (70, 70))).in_tile(cut.slots + 1)
    found.verify(program)


@pytest.mark.parametrize("zeros", [range(0), range(10, 45), range(64)])
@pytest.mark.parametrize("size", SIZES)
def test_bits_are_those_of_one_lane_wherever_results_lie(size, zeros):
    program, layout = trace(growing(size, zeros), (3,)), layout_of(size)
    wide, one = (build("test", program, layout, lanes=lanes)[0] for lanes in (8, 1))
    for rows, offset in itertools.product((1, 7, 8, 23, 130, 264), (0, 1, 6)):
        x = np.random.default_rng(rows).uniform(-1.0, 1.0, (rows, 3))
        wanted = one.ufunc(x)
        for call in (wide.ufunc, wide.ufunc_for(straight.MIN_STREAMING_BYTES)):
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


def test_only_the_outputs_that_all_begin_with_a_line_are_written_by_pieces():
    program, layout = trace(growing(67), (3,)), layout_of(67)
    wide, one = (build("test", program, layout, lanes=lanes)[0] for lanes in (8, 1))
    call = wide.ufunc_for(straight.MIN_STREAMING_BYTES)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 3))
    for offsets in ((0, 2), (2, 0), (0, 0), (4, 4)):
        out = tuple(np.zeros(300 * 67 + 16) for _ in offsets)
        starts = [(-a.ctypes.data % 64) // 8 + n for a, n in zip(out, offsets, strict=True)]
        rows = tuple(a[s : s + 300 * 67].reshape(300, 67) for a, s in zip(out, starts, strict=True))
        call(x, out=rows)
        assert all(np.array_equal(a, b) for a, b in zip(rows, one.ufunc(x), strict=True))
