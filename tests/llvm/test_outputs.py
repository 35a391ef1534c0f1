"""Kernels with several outputs: the bits of one-output kernels, whichever way the rows go."""

import itertools
import pickle
import sys

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout.signature import MAX_ARRAYS
from sixfold.compiler.llvm.modules import single_state
from sixfold.compiler.llvm.modules.straight import MIN_STREAMING_BYTES, MIN_STREAMING_ROWS
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.quantities import readings as cores
from sixfold.runtime.kernels.rolled_tree import trace_loops
from sixfold.runtime.kernels.threads import spread
from tests.cases import some

BIG = MIN_STREAMING_BYTES
SHAPES = [(), (1,), (3,), (5,), (2, 3), (0,), (2, 2, 2), (66,), (9, 9), (7, 0)]


def random_program(seed, count):
    """Return a program of two inputs and so many outputs of different shapes, and its layout.

    Results are values, inputs, constants, zeros, and values of other outputs.
    """
    rng = np.random.default_rng(seed)
    picked = [0]
    while not any(np.prod(SHAPES[k]) > 1 for k in picked):
        picked = rng.choice(len(SHAPES), count, replace=False)
    shapes = tuple(SHAPES[k] for k in picked)
    total = sum(int(np.prod(shape)) for shape in shapes)

    def function(x, y):
        made = [*x, *y]
        for _ in range(rng.integers(5, 300)):
            a, b = (made[k] for k in rng.integers(len(made), size=2))
            made.append(
                [a + b, a - b, a * b * 0.25, sf.math.sin(a), a / (b * b + 1.0)][rng.integers(5)]
            )
        made += [0.0, 0.0, 0.0, 1.5, -2.0]
        return [made[k] for k in rng.integers(len(made), size=total)]

    return trace(function, (3, 2)), Layout(((3,), (2,)), shapes)


def joined(program, layout):
    """Return a function that cuts the one output of a kernel into the outputs of a layout.

    Programs of single outputs would not do: which products are fused depends on all their uses.
    """
    sizes = layout.output_sizes
    one, _ = build("one", program, Layout(layout.inputs, ((sum(sizes),),), layout.dtype))
    ends = np.cumsum(sizes)[:-1]

    def call(*arrays):
        parts = np.split(one(*arrays), ends, axis=-1)
        return tuple(
            np.ascontiguousarray(part).reshape(*part.shape[:-1], *shape)
            for part, shape in zip(parts, layout.outputs, strict=True)
        )

    return call


def states(rows, dtype="float64"):
    rng = np.random.default_rng(rows)
    return [rng.uniform(-2, 2, (rows, n)).astype(dtype) for n in (3, 2)]


def assert_same(found, wanted):
    assert isinstance(found, tuple) and len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b) and a.dtype == b.dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("dtype", some(["float64", "float32"], 1))
@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_outputs_have_the_bits_of_kernels_of_their_own(count, lanes, dtype, monkeypatch):
    monkeypatch.setenv("SIXFOLD_LANES", str(lanes))
    for seed in range(3):
        program, layout = random_program(100 * count + seed, count)
        layout = Layout(layout.inputs, layout.outputs, dtype)
        kernel, _ = build("several", program, layout)
        assert kernel.lanes == lanes
        one = joined(program, layout)
        for rows in (0, 1, 2, 3, 7, 8, 37):
            x = states(rows, dtype)
            assert_same(kernel(*x), one(*x))
        x = states(517, dtype)
        right = one(*x)
        assert_same(kernel(*x), right)
        assert_same(kernel.ufunc_for(BIG)(*x), right)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", WIDTHS[1:])
@pytest.mark.parametrize("seed", range(6))
def test_streamed_rows_are_right_wherever_results_lie(seed, lanes, dtype):
    program, layout = random_program(seed, 3)
    layout = Layout(layout.inputs, layout.outputs, dtype)
    kernel, _ = build("several", program, layout, lanes=lanes)
    rng = np.random.default_rng(seed)
    for rows in (MIN_STREAMING_ROWS, 259, 777):
        x = states(rows, dtype)
        right = kernel.ufunc(*x)
        around, out = [], []
        for shape in layout.outputs:
            size, first = rows * int(np.prod(shape)), int(rng.integers(1, 20))
            around.append(np.full(size + 40, 7.5, dtype))
            out.append(around[-1][first : first + size].reshape(rows, *shape))
        kernel.ufunc_for(BIG)(*x, out=tuple(out))
        assert_same(tuple(out), right)
        for whole, part in zip(around, out, strict=True):
            assert np.count_nonzero(whole != 7.5) <= part.size
            first = (part.ctypes.data - whole.ctypes.data) // whole.itemsize
            assert (whole[:first] == 7.5).all() and (whole[first + part.size :] == 7.5).all()


def test_a_big_batch_streams_by_itself():
    kernel = sf.compile(lambda x: (np.outer(x, x), np.sin(x)), inputs={"x": 8})
    rows = BIG // (80 * 8) + 131
    x = np.random.default_rng(0).normal(size=(rows, 8))
    whole = kernel(x)
    parts = [kernel.ufunc(x[n : n + 5000]) for n in range(0, rows, 5000)]
    assert_same(whole, tuple(np.concatenate(piece) for piece in zip(*parts, strict=True)))


def test_out_takes_a_tuple_of_arrays_of_any_strides():
    program, layout = random_program(5, 4)
    kernel, _ = build("several", program, layout)
    x = states(41)
    right = kernel(*x)
    out = []
    for shape in layout.outputs:
        wide = np.full((82, *(2 * n + 1 for n in shape)), 7.5)
        out.append(wide[(slice(None, None, 2), *(slice(1, None, 2) for _ in shape))])
    found = kernel(*x, out=tuple(out))
    assert all(a is b for a, b in zip(found, out, strict=True))
    assert_same(tuple(map(np.ascontiguousarray, out)), right)
    backward = tuple(np.empty(a.shape)[::-1] for a in right)
    kernel(*x, out=backward)
    assert_same(tuple(map(np.ascontiguousarray, backward)), right)
    some = (np.empty(right[0].shape), *[None] * (len(right) - 1))
    assert_same(kernel(*x, out=some), right)
    with pytest.raises((TypeError, ValueError)):
        kernel(*x, out=out[0])


def test_results_may_lie_over_arguments_and_over_each_other():
    kernel = sf.compile(lambda x: (x[::-1] * 2.0, x + 1.0), inputs={"x": 4})
    x = np.random.default_rng(0).normal(size=(300, 4))
    right = kernel(x)
    for chosen in (0, 1):
        given = x.copy()
        out = [np.empty((300, 4)), np.empty((300, 4))]
        out[chosen] = given
        assert_same(kernel(given, *out), right)
    one, same = x[0].copy(), np.empty(4)
    assert kernel.quick(one, same, same) is None
    assert kernel.quick(one, one, same) is None


def test_constants_and_inputs_may_be_outputs():
    def function(x):
        return x, np.array([1.0, 0.0, -3.0]), x[:2], np.zeros((10, 10)), np.zeros(0)

    kernel = sf.compile(function, inputs={"x": 3})
    assert kernel.signature == "(3)->(3),(3),(2),(10,10),(0)"
    for rows in (1, 5, 300):
        x = np.random.default_rng(rows).normal(size=(rows, 3))
        one = np.ones((rows, 1))
        right = (x, one * [1.0, 0.0, -3.0], x[:, :2], np.zeros((rows, 10, 10)), np.zeros((rows, 0)))
        assert_same(kernel(x), tuple(map(np.ascontiguousarray, right)))
        assert_same(kernel.ufunc_for(BIG)(x), tuple(map(np.ascontiguousarray, right)))


short_way = pytest.mark.skipif(not single_state.symbols(), reason="this Python has no short way")


@short_way
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_the_single_state_call_returns_a_tuple(lanes, dtype):
    program = trace(lambda x: [x[0] * x[1], x[1] - 1.0, 2.0, sf.math.cos(x[0]), x[2]], (3,))
    layout = Layout(((3,),), ((2,), (1, 2), (1,)), dtype)
    kernel, _ = build("f", program, layout, lanes=lanes)
    for rows in ((), (1,), (2,), (9,), (200,)):
        x = np.random.default_rng(1).normal(size=(*rows, 3)).astype(dtype)
        right = kernel.ufunc(x)
        assert_same(kernel.quick(x), right)
        assert_same(kernel.quick(x, None, None, None), right)
        out = tuple(np.empty(a.shape, dtype) for a in right)
        found = kernel.quick(x, *out)
        assert all(a is b for a, b in zip(found, out, strict=True))
        assert_same(found, right)
    x = x[0].copy()
    out = [np.empty(shape, dtype) for shape in layout.outputs]
    for wrong in ([out[0], None, None], [out[1], out[0], out[2]], out[:1], out[:2]):
        assert kernel.quick(x, *wrong) is None
    assert kernel.quick(x, *out[:2], np.empty((2, 1), dtype)) is None
    assert_same(kernel(x, out[0], None, None), kernel.ufunc(x))


@short_way
def test_the_single_state_call_keeps_count_of_references():
    kernel = sf.compile(lambda x: (x * 2.0, x + 1.0), inputs={"x": 4})
    x, out = np.ones(4), (np.empty(4), np.empty(4))
    before = [sys.getrefcount(a) for a in (x, *out)]
    for _ in range(100):
        made = kernel.quick(x)
        given = kernel.quick(x, *out)
    fresh = (np.empty(4), np.empty(4))
    assert [sys.getrefcount(a) for a in made] == [sys.getrefcount(a) for a in fresh]
    del given
    assert [sys.getrefcount(a) for a in (x, *out)] == before


@short_way
def test_numbers_come_out_as_numbers():
    kernel = sf.compile(lambda x: (x * 2.0, x.sum()), inputs={"x": 4})
    assert kernel.quick(np.ones(4)) is None
    vector, number = kernel(np.ones(4))
    assert vector.shape == (4,) and isinstance(number, np.float64) and number == 4.0
    assert kernel.quick(np.ones((3, 4)))[1].shape == (3,)


def test_kernels_with_several_outputs_are_pickled_and_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("SIXFOLD_CACHE", raising=False)
    program, layout = random_program(11, 3)
    kernel, _ = build("several", program, layout)
    kept = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert kept
    x = states(21)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.signature == kernel.signature and again.layout == layout
    assert_same(again(*x), kernel(*x))
    other = Layout(layout.inputs, layout.outputs[::-1])
    build("several", program, other)
    now = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert len(now) > len(kept)  # other outputs, other code


def test_several_threads_fill_several_outputs():
    kernel = sf.compile(lambda x: (np.outer(x, x), np.sin(x)), inputs={"x": 6})
    x = np.random.default_rng(0).normal(size=(20_001, 6))
    right = kernel.ufunc(x)
    before = sf.get_threads()
    try:
        for count in (1, 3):
            sf.set_threads(count)
            out = tuple(np.empty(a.shape) for a in right)
            spread(kernel.ufunc, [x], [1], (20_001,), out)
            assert_same(out, right)
    finally:
        sf.set_threads(before)


def test_derivatives_have_a_jacobian_for_each_output():
    def function(x, y):
        return np.sin(x) * y[0], np.outer(x, y), x @ x

    sizes = {"x": 3, "y": 2}
    kernel = sf.compile(function, inputs=sizes, derivative="x")
    assert kernel.signature == "(3),(2)->(3,3),(3,2,3),(3)"
    x, y = states(17)
    for o, found in enumerate(kernel(x, y)):
        one = sf.compile(lambda x, y, o=o: function(x, y)[o], inputs=sizes, derivative="x")
        assert np.allclose(found, one(x, y), rtol=1e-15, atol=1e-15)
    d = kernel(x, y)[2]
    assert np.allclose(d, 2 * x)


def test_a_model_function_may_return_several_quantities():
    arm = sf.load("puma560")

    def both(q, v):
        return sf.mass_matrix(arm, q), sf.bias_force(arm, q, v)

    kernel = sf.compile(both, arm)
    q, v = sf.random_state(arm, 50, seed=0)
    M, h = kernel(q, v)
    assert np.allclose(M, sf.mass_matrix(arm, q)) and np.allclose(h, sf.bias_force(arm, q, v))


def test_a_tuple_of_numbers_is_one_array_and_one_array_in_a_tuple_is_one_output():
    assert sf.compile(lambda x: (x[0], 2.0), inputs={"x": 2}).signature == "(2)->(2)"
    assert sf.compile(lambda x: (x,), inputs={"x": 2}).signature == "(2)->(2)"
    assert sf.compile(lambda x: [x, x], inputs={"x": 2}).signature == "(2)->(2,2)"
    assert sf.compile(lambda x: ([x[0]], [x[1], 1.0]), inputs={"x": 2}).signature == "(2)->(1),(2)"


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda x: (x, (x, x)), "a tuple in it"),
        (lambda x: [[x[0]], [x[1], x[0]]], "one length"),
        (lambda x: [x, x[:1]], "one length"),
        (lambda x: [np.outer(x, x), np.outer(x, [x[0]])], "one length"),
        (lambda x: (x, "text"), "numbers"),
        (lambda x: (x, None), "numbers"),
        (lambda x: {"a": x}, "numbers"),
    ],
)
def test_other_results_are_refused(function, word):
    with pytest.raises(sf.errors.SixfoldError, match=word):
        sf.compile(function, inputs={"x": 2})


def test_empty_arguments_and_results_are_taken_along():
    kernel = sf.compile(lambda x, y: (y * 2.0, np.zeros((0, 3)), y[0]), inputs={"x": 0, "y": 2})
    assert kernel.signature == "(0),(2)->(2),(0,3),()"
    found = kernel(np.zeros((5, 1, 0)), np.ones((4, 2)))
    assert [a.shape for a in found] == [(5, 4, 2), (5, 4, 0, 3), (5, 4)]
    assert (found[0] == 2.0).all() and (found[2] == 1.0).all()
    out = tuple(np.empty(a.shape) for a in found)
    again = kernel(np.zeros(0), np.ones((5, 4, 2)), *out)
    assert all(a is b for a, b in zip(again, out, strict=True))
    one = sf.compile(lambda x, y: y, inputs={"x": 0, "y": 2})
    assert np.array_equal(one(np.zeros(0), np.ones(2)), np.ones(2))
    for wrong in ((np.zeros(1), np.ones(2)), (np.zeros(0), np.ones(3)), (np.zeros(0), 1.0)):
        with pytest.raises(sf.errors.ShapeError, match="signature"):
            kernel(*wrong)
    with pytest.raises(sf.errors.ShapeError, match="'out'"):
        kernel(np.zeros(0), np.ones(2), None, np.empty((0, 4)), None)
    with pytest.raises(TypeError, match="takes 2 arrays"):
        kernel(np.zeros(0))
    with pytest.raises(sf.errors.ShapeError, match="nothing to compute"):
        sf.compile(lambda x: np.zeros(0), inputs={"x": 2})
    with pytest.raises(sf.errors.ShapeError, match="nothing to compute"):
        sf.compile(lambda x: np.ones(2), inputs={"x": 0})


def test_a_layout_has_at_least_one_output_and_not_too_many_arrays():
    with pytest.raises(sf.errors.ShapeError, match="at least one result"):
        Layout(((2,),), ())
    with pytest.raises(sf.errors.ShapeError, match="together"):
        Layout(((2,),), ((1,),) * MAX_ARRAYS)
    count = MAX_ARRAYS - 1
    kernel = sf.compile(lambda x: tuple(x + float(k) for k in range(count)), inputs={"x": 2})
    assert np.array_equal(kernel(np.ones((3, 2)))[count - 1], np.full((3, 2), float(count)))


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rolled_kernels_have_several_outputs(lanes, dtype):
    """Results for each body and results of the whole tree, in one kernel."""
    model = sf.load("random_tree:9:2")

    def both(model, tree, q, v):
        return cores.bias_force(model, tree, q, v), cores.kinetic_energy(model, tree, q, v)

    arrays = ((model.nq,), (model.nv,))
    energy, force = (
        build("f", program, Layout(arrays, (shape,), dtype), data=data, lanes=lanes)[0]
        for (program, data), shape in (
            (trace_loops(cores.kinetic_energy, model, ["q", "v"]), (1,)),
            (trace_loops(cores.bias_force, model, ["q", "v"]), (model.nv,)),
        )
    )
    program, data = trace_loops(both, model, ["q", "v"], outputs=2)
    layout = Layout(arrays, ((model.nv,), (1,)), dtype)
    kernel, _ = build("f", program, layout, data=data, lanes=lanes)
    scalar, _ = build("f", program, layout, data=data, lanes=1)
    assert kernel.graph == program and kernel.form == "rolled"
    for rows in (1, 3, 19):
        q, v = (x.astype(dtype) for x in sf.random_state(model, rows, seed=rows))
        assert_same(kernel(q, v), scalar(q, v))
        for found, wanted in zip(kernel(q, v), (force(q, v), energy(q, v)), strict=True):
            close = 100 * np.finfo(dtype).eps * abs(wanted).max()
            assert found.shape == wanted.shape and abs(found - wanted).max() <= close
    again = pickle.loads(pickle.dumps(kernel))
    assert_same(again(q, v), kernel(q, v))


def test_every_leading_shape_broadcasts():
    kernel = sf.compile(lambda x, y: (x * y[0], y), inputs={"x": 3, "y": 2})
    x, y = np.ones((4, 1, 3)), np.ones((5, 2))
    a, b = kernel(x, y)
    assert a.shape == (4, 5, 3) and b.shape == (4, 5, 2)
    for lead in itertools.product((0, 1, 2), repeat=2):
        a, b = kernel(np.ones((*lead, 3)), np.ones(2))
        assert a.shape == (*lead, 3) and b.shape == (*lead, 2)
