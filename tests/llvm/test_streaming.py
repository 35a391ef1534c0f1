"""Batches that no cache holds: the same bits as the usual way, and not a byte beside them."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout.signature import LINE_BYTES
from sixfold.compiler.llvm.modules.straight import MIN_STREAMING_BYTES, MIN_STREAMING_ROWS
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from tests.cases import some

BIG = MIN_STREAMING_BYTES


def sparse(columns):
    """Return a function whose results are values, zeros, other constants, and a negative zero."""

    def function(x):
        kinds = np.random.default_rng(columns).integers(0, 8, columns)
        values = [sf.math.sin(x[0]) * x[1], x[2] + x[0], x[1] / (x[2] * x[2] + 1.0), 1.5, -0.0]
        return [values[kind] if kind < len(values) else 0.0 for kind in kinds]

    return function


def dense(columns):
    return lambda x: [x[k % 3] * (k + 0.5) + x[(k + 1) % 3] for k in range(columns)]


def long(columns):
    """Return a function of many operations that wait for one another: several pieces."""

    def function(x):
        found = [x[0]]
        for k in range(400):
            found.append(found[-1] * x[k % 3] + 0.25)
        return [found[-1 - 7 * k] for k in range(columns)]

    return function


def kernel(function, dtype="float64", lanes=None, shape=None):
    program = trace(function, (3,))
    layout = Layout(((3,),), (shape or (len(program.outputs),),), dtype)
    return build("test", program, layout, lanes=lanes)[0]


def states(rows, dtype="float64"):
    return np.random.default_rng(0).uniform(-2.0, 2.0, (rows, 3)).astype(dtype)


def bytes_of(array):
    return np.ascontiguousarray(array).view(np.uint8)


def framed(rows, shape, dtype, offset):
    """Return room for results, so many elements after the start of a line, and all around it."""
    size = rows * int(np.prod(shape))
    around = np.full(size + 64, 7.5, dtype)
    first = (-around.ctypes.data % LINE_BYTES) // around.itemsize + offset
    return around[first : first + size].reshape(rows, *shape), around, first


FUNCTIONS = [
    *(dense(n) for n in (1, 2, 3, 5, 6, 36, 49, 64, 65)),
    *(sparse(n) for n in (7, 66, 97, 601, 2051)),
    *(long(n) for n in (6, 50)),
]


@pytest.mark.parametrize("lanes", WIDTHS[1:])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", some(FUNCTIONS, 5))
def test_the_bits_are_those_of_the_usual_way_wherever_a_result_lies(function, dtype, lanes):
    k = kernel(function, dtype, lanes)
    shape = k.layout.outputs[0]
    for rows in (MIN_STREAMING_ROWS, 259, 517):
        x = states(rows, dtype)
        usual = k.ufunc(x)
        assert np.array_equal(k(x[:1])[0], usual[0])
        for offset in (0, 1, 5, 8 * 8 // usual.itemsize - 1):
            out, around, first = framed(rows, shape, dtype, offset)
            k.ufunc_for(BIG)(x, out=out)
            assert (bytes_of(out) == bytes_of(usual)).all()
            assert (around[:first] == 7.5).all() and (around[first + out.size :] == 7.5).all()


@pytest.mark.parametrize("columns", [64, 65, 71, 97, 601])
def test_rows_written_by_lines_are_those_of_one_lane(columns):
    """Rows of two wide results begin and end anywhere in a line; batches are small or large."""
    program = trace(lambda x: [*sparse(columns)(x), *dense(columns + 3)(x)], (3,))
    layout = Layout(((3,),), ((columns,), (columns + 3,)))
    wide, one = (build("test", program, layout, lanes=lanes)[0] for lanes in (8, 1))
    for rows, offset in itertools.product((7, 8, 23, 64, 130, 261), (0, 1, 6, 7)):
        x = states(rows)
        wanted = one.ufunc(x)
        for call in (wide.ufunc, wide.ufunc_for(BIG)):
            rooms = [framed(rows, shape, "float64", offset) for shape in layout.outputs]
            call(x, out=tuple(out for out, _, _ in rooms))
            for (out, around, first), want in zip(rooms, wanted, strict=True):
                assert (bytes_of(out) == bytes_of(want)).all()
                assert (around[:first] == 7.5).all() and (around[first + out.size :] == 7.5).all()


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("columns", [16, 17, 19, 66])
def test_rows_of_few_columns_are_those_of_one_lane(columns, lanes):
    """Rows begin at any number of a line, or lie apart."""
    program = trace(lambda x: [*sparse(columns)(x), *dense(columns + 2)(x)], (3,))
    layout = Layout(((3,),), ((columns,), (columns + 2,)))
    wide, one = (build("test", program, layout, lanes=n)[0] for n in (lanes, 1))
    for rows, offset in itertools.product((7, 8, 43), range(8)):
        x = states(rows)
        wanted = one.ufunc(x)
        rooms = [framed(rows, shape, "float64", offset) for shape in layout.outputs]
        wide.ufunc(x, out=tuple(out for out, _, _ in rooms))
        for (out, around, first), want in zip(rooms, wanted, strict=True):
            assert (bytes_of(out) == bytes_of(want)).all()
            assert (around[:first] == 7.5).all() and (around[first + out.size :] == 7.5).all()
    apart = [np.full((43, shape[0] + 3), 7.5) for shape in layout.outputs]
    wide.ufunc(x, out=tuple(room[:, :-3] for room in apart))
    for room, want in zip(apart, wanted, strict=True):
        assert (bytes_of(room[:, :-3]) == bytes_of(want)).all() and (room[:, -3:] == 7.5).all()


def test_a_batch_is_big_by_itself_too():
    """The way is chosen by the kernel: a call with so many rows, or a part of such a call."""
    k = kernel(dense(65))
    rows = BIG // (68 * 8) + 131
    x = states(rows)
    parts = np.concatenate([k.ufunc(x[n : n + 5000]) for n in range(0, rows, 5000)])
    assert (bytes_of(k.ufunc(x)) == bytes_of(parts)).all()
    assert k.ufunc_for(BIG - 1) is k.ufunc
    assert k.ufunc_for(BIG) is k.ufunc_for(2 * BIG) is not k.ufunc


def test_rows_that_do_not_lie_one_after_the_other_go_the_usual_way():
    k = kernel(sparse(97))
    x = states(300)
    usual = k.ufunc(x)
    flows = k.ufunc_for(BIG)
    apart = np.full((300, 100), 7.5)
    flows(x, out=apart[:, :97])
    assert (apart[:, :97] == usual).all() and (apart[:, 97:] == 7.5).all()
    backward = np.empty((300, 97))
    flows(x, out=backward[::-1])
    assert (backward[::-1] == usual).all()
    across = np.empty((97, 300))
    flows(x, out=across.T)
    assert (usual == across.T).all()
    assert (flows(x[::2]) == usual[::2]).all()


def test_matrices_and_several_leading_axes():
    k = kernel(sparse(72), shape=(8, 9))
    x = states(6 * 270).reshape(6, 270, 3)
    flows = k.ufunc_for(BIG)
    assert (flows(x) == k.ufunc(x)).all()
    out = np.empty((6, 540, 8, 9))
    flows(x, out=out[:, ::2])
    assert (out[:, ::2] == k.ufunc(x)).all()


def test_neighbours_that_share_a_line_leave_each_other_alone():
    """Each of two threads writes rows whose ends lie in lines of the other's."""
    k = kernel(sparse(97))
    x = states(MIN_STREAMING_ROWS * 12 + 13)
    usual, flows = k.ufunc(x), k.ufunc_for(BIG)
    out, around, first = framed(len(x), (97,), "float64", 3)
    cuts = [0, *range(277, len(x) - 280, 267), len(x)]
    spans = list(itertools.pairwise(cuts))

    def work(mine):
        for _ in range(5):
            for start, stop in mine:
                flows(x[start:stop], out=out[start:stop])

    others = [threading.Thread(target=work, args=(spans[n::2],)) for n in (0, 1)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert (bytes_of(out) == bytes_of(usual)).all()
    assert (around[:first] == 7.5).all() and (around[first + out.size :] == 7.5).all()


def test_public_functions_give_the_same_bits_for_any_number_of_threads():
    model = sf.load("puma560")
    rows = BIG // (model.nv**2 * 8) + 77
    q, _ = sf.random_state(model, rows, seed=3)
    parts = np.concatenate([sf.mass_matrix(model, q[n : n + 999]) for n in range(0, rows, 999)])
    try:
        for threads in (1, 2, 3):
            sf.set_threads(threads)
            assert (bytes_of(sf.mass_matrix(model, q)) == bytes_of(parts)).all()
    finally:
        sf.set_threads(None)
