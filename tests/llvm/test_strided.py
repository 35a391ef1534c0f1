"""Arrays of any order: the bits of C order, and not a byte beside them."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.modules.straight import MIN_STREAMING_BYTES
from sixfold.compiler.llvm.runtime.jit import WIDTHS

BIG = MIN_STREAMING_BYTES
INPUTS = ((3,), (2, 2), (1,))
OUTPUTS = ((9, 9), (5,), (2, 3, 2), ())
FILL = 7.5


def pieces(x, y, z):
    """Return results of several pieces; some are constants, arguments, or negative zeros."""
    made = [*x, *y[:3], *z]
    for k in range(300):
        made.append(made[-1] * made[k % 7] * 0.5 + sf.math.sin(made[k % 3]) - made[-2])
    made += [0.0, 0.0, 1.5, -0.0]
    return [made[k] for k in np.random.default_rng(1).integers(len(made), size=81 + 5 + 12 + 1)]


def serial(x, y, z):
    """Return a single matrix, by operations that wait for one another."""
    made = [x[0] + z[0]]
    for k in range(90):
        made.append(made[-1] * y[k % 4] + x[k % 3])
    return made[-36:]


def short(x, y, z):
    """Return few results of few operations: one piece, and arguments that nobody reads."""
    return [x[0] * y[1], x[2] + x[0], 2.0, y[1] - x[0]]


PROGRAMS = {pieces: OUTPUTS, serial: ((6, 6),), short: ((4,),)}


def kernel(function, dtype, lanes):
    program = trace(function, (3, 4, 1))
    layout = Layout(INPUTS, PROGRAMS[function], dtype)
    return build("test", program, layout, lanes=lanes)[0]


def c_order(rows, shape, dtype, offset):
    around = np.full(rows * int(np.prod(shape)) + 2 * offset, FILL, dtype)
    return around[offset : around.size - offset].reshape(rows, *shape), around


def batch_fastest(rows, shape, dtype, offset):
    """Return an array whose batch axis is contiguous, so many elements after a cache line."""
    numbers = int(np.prod(shape))
    around = np.full(numbers * (rows + offset) + 64, FILL, dtype)
    first = (-around.ctypes.data % 64) // around.itemsize + offset
    part = around[first : first + numbers * (rows + offset)]
    return np.moveaxis(part.reshape(*shape, rows + offset)[..., :rows], -1, 0), around


def backward(rows, shape, dtype, offset):
    """Return an array of strides that fit nothing, the axes of a state in reverse."""
    around = np.full((rows, *(2 * n + offset for n in reversed(shape))), FILL, dtype)
    cut = (slice(None, None, -1), *(slice(1, 2 * n + 1, 2) for n in reversed(shape)))
    view = around[cut] if offset else around[:, *(slice(0, 2 * n, 2) for n in reversed(shape))]
    return view.transpose(0, *range(len(shape), 0, -1)), around


ORDERS = (c_order, batch_fastest, backward)


def put(values, order, offset):
    """Return a copy of an array in an order."""
    array, _ = order(len(values), values.shape[1:], values.dtype, offset)
    array[...] = values
    return array


def states(rows, dtype):
    rng = np.random.default_rng(rows)
    return [rng.uniform(-1, 1, (rows, *shape)).astype(dtype) for shape in INPUTS]


def tuple_of(results):
    return results if isinstance(results, tuple) else (results,)


def assert_same(k, ufunc, arrays, wanted, orders, offset=1):
    """Run a kernel on results in some orders: the bits are right, all other bytes untouched."""
    rows = len(wanted[0])
    made = [
        order(rows, shape, k.layout.dtype, offset)
        for order, shape in zip(orders, k.layout.outputs, strict=True)
    ]
    ufunc(*arrays, out=tuple(array for array, _ in made))
    for (array, around), right in zip(made, wanted, strict=True):
        assert np.ascontiguousarray(array).tobytes() == right.tobytes(), [
            o.__name__ for o in orders
        ]
        array[...] = FILL
        assert (around == FILL).all(), "something else was written"


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_the_bits_are_those_of_c_order_for_every_order_and_number_of_states(function, dtype, lanes):
    k = kernel(function, dtype, lanes)
    outputs = len(k.layout.outputs)
    orders = list(itertools.product(ORDERS, repeat=len(INPUTS) + outputs))
    rng = np.random.default_rng(lanes)
    for rows in (*range(1, 71), 131, 4096):
        arrays = states(rows, dtype)
        wanted = tuple_of(k.ufunc(*arrays))
        uniform = [(order,) * (len(INPUTS) + outputs) for order in ORDERS]
        mixed = [orders[n] for n in rng.integers(len(orders), size=4)]
        for chosen in (*uniform, *mixed):
            given = [put(x, order, 1) for x, order in zip(arrays, chosen, strict=False)]
            assert_same(k, k.ufunc, given, wanted, chosen[len(INPUTS) :])


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_large_batches_are_streamed_from_any_address(function, dtype, lanes):
    k = kernel(function, dtype, lanes)
    outputs = len(k.layout.outputs)
    for rows, offset in itertools.product((256, 259, 1024), (0, 1, 5, 8, 16)):
        arrays = states(rows, dtype)
        wanted = tuple_of(k.ufunc(*arrays))
        for order in ORDERS:
            given = [put(x, order, offset) for x in arrays]
            for of_results in ((batch_fastest,) * outputs, (c_order, *[batch_fastest] * 3)):
                assert_same(k, k.ufunc_for(BIG), given, wanted, of_results[:outputs], offset)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_argument_for_all_states_may_have_any_order(dtype):
    k = kernel(pieces, dtype, None)
    x, y, z = states(70, dtype)
    for one in (y[3], np.asfortranarray(y[3]), y[3][::-1, ::-1]):
        wanted = k.ufunc(x, np.ascontiguousarray(one), z)
        for order in ORDERS:
            assert_same(k, k.ufunc, (put(x, order, 1), one, z), wanted, (order,) * 4)
            assert_same(k, k.ufunc, (put(x, order, 1), one, z), wanted, (c_order,) * 4)


def test_windows_that_overlap_are_no_columns():
    """A batch axis of one element's step, of rows that are contiguous: a sliding window."""
    k = kernel(short, "float64", None)
    _, y, z = states(50, "float64")
    x = np.lib.stride_tricks.sliding_window_view(np.random.default_rng(0).uniform(size=52), 3)
    assert x.strides == (8, 8)
    wanted = k.ufunc(np.ascontiguousarray(x), y, z)
    assert_same(k, k.ufunc, (x, y, z), (wanted,), (batch_fastest,))
    assert_same(k, k.ufunc, (x, y, z), (wanted,), (c_order,))


def test_several_leading_axes():
    k = kernel(serial, "float64", None)
    arrays = [x.reshape(6, 20, *x.shape[1:]) for x in states(120, "float64")]
    wanted = k.ufunc(*arrays)
    for axes in itertools.permutations(range(4)):
        out = np.empty([wanted.shape[a] for a in axes]).transpose(np.argsort(axes))
        assert k.ufunc(*arrays, out=out) is out
        assert (out == wanted).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [3, 300, 30_000])
def test_public_functions_write_to_batch_fastest_arrays_without_a_copy(rows, threads):
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, rows, seed=0)
    before = sf.get_threads()
    sf.set_threads(threads)
    try:
        for function, arrays in ((sf.mass_matrix, (q,)), (sf.inverse_dynamics, (q, v, v))):
            wanted = function(arm, *arrays)
            columns = [np.asfortranarray(x) for x in arrays]
            out = np.moveaxis(np.empty((*wanted.shape[1:], rows)), -1, 0)
            tracemalloc.start()
            try:
                assert function(arm, *columns, out=out) is out
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert peak < 30_000 + out.nbytes / 4
            assert out.tobytes() == wanted.tobytes()
    finally:
        sf.set_threads(before)
