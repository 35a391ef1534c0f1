"""The short way for one state gives what the gufunc gives, and leaves everything else to it."""

import gc
import sys

import numpy as np
import pytest

import sixfold as sf
from sixfold.native import Layout, build, entry, trace

pytestmark = pytest.mark.skipif(not entry.symbols(), reason="this Python has no short way")


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
        "batch": x[None],
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
    kernel, _ = build("f", program, Layout(((2,),), (2,)))
    quick, call = kernel.quick, kernel.__call__
    del kernel
    gc.collect()
    np.testing.assert_array_equal(quick(np.array([2.0, 3.0])), [5.0, 6.0])
    np.testing.assert_array_equal(call(np.array([2.0, 3.0])), [5.0, 6.0])


def test_numbers_without_axes_have_no_short_way(arm, state):
    kernel = sf.compile(sf.kinetic_energy, arm)
    assert kernel.quick is None
    assert isinstance(kernel(state[0], state[1]), float)


def test_a_non_finite_state_is_an_answer_without_a_warning(arm, state):
    q = state[0].copy()
    q[2] = np.inf
    assert np.isnan(sf.inverse_dynamics(arm, q, *state[1:])).any()


def test_no_short_way_where_arrays_lie_otherwise(monkeypatch):
    entry.symbols.cache_clear()
    monkeypatch.setattr(entry, "DATA", entry.DATA + 8)
    try:
        assert entry.symbols() == {}
        assert entry.text(Layout(((2,),), (2,))) == ""
    finally:
        monkeypatch.undo()
        entry.symbols.cache_clear()
    assert entry.symbols()
