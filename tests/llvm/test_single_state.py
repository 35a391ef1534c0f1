"""The built-in call for plain arrays gives what the gufunc gives, and leaves the rest to it."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.modules import array_fields, single_state
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from tests.public_names import find

pytestmark = pytest.mark.skipif(not single_state.symbols(), reason="this Python has no short way")


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560")


@pytest.fixture(scope="module")
def state(arm):
    q, v = sf.random_state(arm, seed=1)
    return q, v, v[::-1].copy()


def test_one_state_takes_the_short_way_with_the_same_bits(arm, state):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    short = kernel.quick(*state)
    assert type(short) is np.ndarray and short.dtype == np.float64 and short.shape == (6,)
    assert short.flags.owndata and short.flags.writeable
    np.testing.assert_array_equal(short, kernel.ufunc(*state))
    np.testing.assert_array_equal(kernel(*state), short)
    np.testing.assert_array_equal(sf.inverse_dynamics(arm, *state), short)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_kernels_of_every_number_of_lanes_have_the_same_short_way(lanes, dtype):
    program = trace(lambda x: [sf.math.sin(x[0]) * x[1], x[2] / x[0], 2.0, x[1] + x[2]], (3,))
    kernel = build("f", program, Layout(((3,),), ((2, 2),), dtype), lanes=lanes)[0]
    rows = np.random.default_rng(1).normal(size=(11, 3)).astype(dtype)
    whole = kernel.ufunc(rows)
    one = build("f", program, Layout(((3,),), ((2, 2),), dtype), lanes=1)[0]
    np.testing.assert_array_equal(whole, one.ufunc(rows))
    for row, right in zip(rows, whole, strict=True):
        np.testing.assert_array_equal(kernel.quick(row), right)
    for count in (1, 2, 3, 5, 9):
        np.testing.assert_array_equal(kernel.ufunc(rows[:count]), whole[:count])


def test_matrices_come_out_in_their_shape(arm, state):
    kernel = sf.compile(sf.mass_matrix, arm)
    np.testing.assert_array_equal(kernel.quick(state[0]), kernel.ufunc(state[0]))
    assert kernel.quick(state[0]).shape == (6, 6)


class Strange(np.ndarray):
    """An array of a class of its own."""


def variants(x):
    """Return arrays with the same numbers that are not plain."""
    wide = np.zeros(12)
    wide[::2] = x
    odd = np.zeros(49, np.uint8)[1:].view(np.float64)
    odd[:] = x
    return {
        "list": list(x),
        "two axes": x[None, None],
        "stride": wide[::2],
        "backward": x[::-1].copy()[::-1],
        "unaligned": odd,
        "swapped": x.astype(">f8"),
        "subclass": x.view(Strange),
        "longdouble": x.astype(np.longdouble),
    }


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("variant", list(variants(np.zeros(6))))
def test_arrays_that_are_not_plain_take_the_long_way(arm, state, variant, place):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    arguments = list(state)
    arguments[place] = variants(arguments[place])[variant]
    assert kernel.quick(*arguments) is None
    got = sf.inverse_dynamics(arm, *arguments)
    np.testing.assert_allclose(
        np.asarray(got, float).reshape(-1), kernel(*state), rtol=1e-12, atol=1e-12
    )
    if variant != "longdouble":
        np.testing.assert_array_equal(np.asarray(kernel(*arguments)).reshape(-1), kernel(*state))


@pytest.mark.parametrize(
    "arguments",
    [(), (np.zeros(6),), (np.zeros(6),) * 5, (np.zeros(5),) * 3, (None, None, None), (1, 2, 3)],
    ids=["none", "one", "five", "short", "nothing", "numbers"],
)
def test_wrong_arguments_are_refused_by_the_gufunc(arm, arguments):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    assert kernel.quick(*arguments) is None
    with pytest.raises((TypeError, ValueError)):
        kernel(*arguments)
    with pytest.raises((TypeError, ValueError)):
        sf.inverse_dynamics(arm, *arguments)


def test_keywords_go_to_the_gufunc(arm, state):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    out = np.empty(6)
    assert kernel(*state, out=out) is out
    np.testing.assert_array_equal(out, kernel(*state))
    assert kernel.quick(*state, out=out) is None
    with pytest.raises(TypeError):
        kernel(*state, nonsense=1)


def test_single_precision_has_its_own_short_way(arm, state):
    kernel = sf.compile(sf.inverse_dynamics, arm, dtype=np.float32)
    few = [x.astype(np.float32) for x in state]
    assert kernel.quick(*state) is None
    np.testing.assert_array_equal(kernel.quick(*few), kernel.ufunc(*few))
    for _ in range(2):
        got = sf.inverse_dynamics(arm, *few)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, kernel(*few))


def test_nothing_leaks_in_many_calls(arm, state):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    counts = [sys.getrefcount(x) for x in (*state, None, np.dtype(float), np.ndarray)]
    results = [kernel(*state) for _ in range(1000)]
    del results
    for _ in range(20_000):
        kernel.quick(*state)
        kernel.quick(None, None, None)
    gc.collect()
    after = [sys.getrefcount(x) for x in (*state, None, np.dtype(float), np.ndarray)]
    assert all(b - a < 1000 for a, b in zip(counts, after, strict=True))


def test_the_short_way_outlives_its_kernel(arm, state):
    program = trace(lambda x: [x[0] + x[1], x[0] * x[1]], [2])
    kernel, _ = build("f", program, Layout(((2,),), ((2,),)))
    quick, call = kernel.quick, kernel.__call__
    del kernel
    gc.collect()
    np.testing.assert_array_equal(quick(np.array([2.0, 3.0])), [5.0, 6.0])
    np.testing.assert_array_equal(call(np.array([2.0, 3.0])), [5.0, 6.0])


def test_one_number_is_left_to_the_gufunc(arm, state):
    kernel = sf.compile(sf.kinetic_energy, arm)
    assert kernel.quick(*state[:2]) is None
    assert isinstance(kernel(state[0], state[1]), float)
    q, v = sf.random_state(arm, 5, seed=3)
    np.testing.assert_array_equal(kernel.quick(q, v), kernel.ufunc(q, v))


@pytest.fixture(scope="module")
def batch(arm):
    q, v = sf.random_state(arm, 100, seed=2)
    return q, v, v[::-1].copy()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8, 9, 64, 100])
def test_batches_take_the_short_way_with_the_same_bits(arm, batch, rows, dtype):
    kernel = sf.compile(sf.inverse_dynamics, arm, dtype=dtype)
    some = [x[:rows].astype(dtype) for x in batch]
    found = kernel.quick(*some)
    assert found.shape == (rows, 6) and found.dtype == dtype
    np.testing.assert_array_equal(found, kernel.ufunc(*some))
    out = np.empty_like(found)
    assert kernel.quick(*some, out) is out
    np.testing.assert_array_equal(out, found)
    assert kernel.quick(*some, None).shape == (rows, 6)


@pytest.mark.parametrize("single", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)])
def test_one_state_goes_with_many(arm, batch, single):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    mixed = [x[4] if k in single else x for k, x in enumerate(batch)]
    np.testing.assert_array_equal(kernel.quick(*mixed), kernel.ufunc(*mixed))


def test_matrices_of_batches_come_out_in_their_shape(arm, batch):
    kernel = sf.compile(sf.mass_matrix, arm)
    assert kernel.quick(batch[0]).shape == (100, 6, 6)
    np.testing.assert_array_equal(kernel.quick(batch[0]), kernel.ufunc(batch[0]))


def test_batches_that_do_not_fit_are_left_to_the_gufunc(arm, batch):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    q, v, a = batch
    read_only = np.empty((100, 6))
    read_only.flags.writeable = False
    for arguments in (
        (q[:5], v[:4], a[:5]),
        (q[:1], v[:4], a[:4]),
        (q[:0], v[:0], a[:0]),
        (q, v, a, np.empty((99, 6))),
        (q, v, a, np.empty((100, 5))),
        (q, v, a, np.empty(6)),
        (q, v, a, np.empty((100, 6), np.float32)),
        (q, v, a, np.empty((6, 100)).T),
        (q, v, a, read_only),
        (q[0], v[0], a[0], np.empty((1, 6))),
        (q, v, a, [1.0]),
    ):
        assert kernel.quick(*arguments) is None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_result_that_shares_memory_with_an_argument_is_left_to_the_gufunc(arm, batch, place):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    right = kernel.ufunc(*batch)
    for shift in (0, 1, 6):
        memory = np.zeros(606 + shift)
        arguments = list(batch)
        arguments[place] = memory[:600].reshape(100, 6)
        arguments[place][:] = batch[place]
        out = memory[shift : shift + 600].reshape(100, 6)
        assert kernel.quick(*arguments, out) is None
        np.testing.assert_array_equal(kernel(*arguments, out), right)


def test_arrays_side_by_side_share_no_memory(arm, batch):
    kernel = sf.compile(sf.gravity_force, arm)
    memory = np.zeros((3, 10, 6))
    memory[1] = batch[0][:10]
    for out in (memory[0], memory[2]):
        assert kernel.quick(memory[1], out) is out
        np.testing.assert_array_equal(out, kernel.ufunc(memory[1]))


def test_big_batches_are_left_to_the_threads(arm):
    kernel = sf.compile(sf.gravity_force, arm)
    most = single_state.most_rows(kernel.layout)
    q = np.zeros((most + 1, 6))
    assert kernel.quick(q) is None
    assert kernel.quick(q[:most]).shape == (most, 6)


def test_threads_share_the_short_way(arm, batch):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    big = [np.tile(x, (100, 1)) for x in batch]
    right = kernel.ufunc(*big)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: kernel.quick(*big), range(20)))
    assert all((x == right).all() for x in found)


def test_a_non_finite_state_is_an_answer_without_a_warning(arm, state):
    q = state[0].copy()
    q[2] = np.inf
    assert np.isnan(sf.inverse_dynamics(arm, q, *state[1:])).any()


def test_no_short_way_where_arrays_lie_otherwise(monkeypatch):
    single_state.symbols.cache_clear()
    monkeypatch.setattr(array_fields, "DATA", array_fields.DATA + 8)
    try:
        assert single_state.symbols() == {}
        assert single_state.text(Layout(((2,),), ((2,),))) == ""
    finally:
        monkeypatch.undo()
        single_state.symbols.cache_clear()
    assert single_state.symbols()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_states_with_a_zero_where_the_layout_forbids_one_are_not_taken(lanes, dtype):
    program = trace(lambda x, y: [x[0] + y[1], x[1] * y[0]], [2, 2])
    layout = Layout(((2,), (2,)), ((2,),), dtype, ((0, 1), (1, 0)))
    kernel = build("f", program, layout, lanes=lanes)[0]
    for rows in (None, 1, 2, 5, 33):
        shape = (2,) if rows is None else (rows, 2)
        x, y = np.ones(shape, dtype), np.full(shape, 2, dtype)
        x[..., 0] = y[..., 1] = 0  # these may be zero
        assert (kernel.quick(x, y) == [0, 2]).all()
        x[..., 1] = np.nan  # and what is no number is none
        assert kernel.quick(x, y) is not None
        x[..., 1] = 1
        for array, place in layout.nonzero:
            for row in range(rows or 1):
                given = [x.copy(), y.copy()]
                given[array].reshape(-1, 2)[row, place] = -0.0
                out = np.full(shape, 7, dtype)
                assert kernel.quick(*given) is None
                assert kernel.quick(*given, out) is None and (out == 7).all()
                assert kernel(*given).shape == shape  # the gufunc takes all
    one = np.zeros(2, dtype)
    assert kernel.quick(one, y) is None  # one state beside many


def test_on_one_thread_any_number_of_states_is_taken(arm):
    kernel = sf.compile(sf.inverse_dynamics, arm)
    rows = single_state.most_rows(kernel.layout) + 1
    q, v = sf.random_state(arm, rows, seed=4)
    assert kernel.quick(q, v, v) is None
    found = kernel.on_one_thread(q, v, v)
    np.testing.assert_array_equal(found, kernel.ufunc(q, v, v))
    out = np.empty_like(found)
    assert kernel.on_one_thread(q, v, v, out) is out
    np.testing.assert_array_equal(out, found)
    for wrong in ((q[:0], v[:0], v[:0]), (q, v), (q[::2], v[::2], v[::2]), (q, v, None)):
        assert kernel.on_one_thread(*wrong) is None
    assert kernel.on_one_thread(q, v, v, out=out) is None


@pytest.mark.parametrize("name", ["inverse_dynamics", "inverse_dynamics_derivatives"])
def test_large_batches_on_one_thread_equal_those_on_two(arm, name):
    rows = 20_000
    q, v = sf.random_state(arm, rows, seed=5)
    found = []
    for threads in (1, 2):
        sf.set_threads(threads)
        try:
            found += [np.asarray(find(name)(arm, q, v, v)) for _ in range(2)]
        finally:
            sf.set_threads(None)
    for result in found[:3]:
        np.testing.assert_array_equal(result, found[3])
