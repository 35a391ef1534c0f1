"""The table of kernels stays within its limits, and what it lets go of stays valid while held."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.llvm.runtime import code_pages
from sixfold.compiler.llvm.runtime.limits import maps
from sixfold.runtime.kernels import kernel_cache
from sixfold.runtime.kernels.kernel_cache import KERNELS, KernelCache, per_model
from tests.long.forks import cart


class Fake:
    def __init__(self, nbytes=10):
        self.nbytes = nbytes


def keys(cache):
    return list(cache._slots)


def test_the_kernel_not_used_for_longest_goes_first():
    cache = KernelCache(3, 1000)
    for key in "abc":
        cache.keep(key, Fake())
    assert cache.find("a") is not None
    cache.keep("d", Fake())
    assert keys(cache) == ["c", "a", "d"] and cache.find("b") is None


def test_bytes_are_limited_too_but_the_newest_stays():
    cache = KernelCache(100, 50)
    for key in range(9):
        cache.keep(key, Fake(20))
    assert keys(cache) == [7, 8] and cache.size == 40
    cache.keep("large", Fake(500))
    assert keys(cache) == ["large"] and cache.size == 500
    cache.keep("small", Fake(1))
    assert keys(cache) == ["small"] and cache.size == 1


def test_a_key_kept_again_counts_once():
    cache = KernelCache(100, 1000)
    for size in (10, 20, 30):
        cache.keep("a", Fake(size))
    assert cache.size == 30 and len(cache) == 1
    cache.clear()
    assert cache.size == 0 and len(cache) == 0 and not cache._keys


def test_that_there_is_no_kernel_is_remembered_too():
    cache = KernelCache(2, 10_000)
    cache.keep("a", None)
    assert cache.find("a") == (None,)
    for key in "bc":
        cache.keep(key, None)
    assert cache.find("a") is None


def test_short_cuts_go_with_their_kernel_after_a_second_chance():
    cache, table = KernelCache(2, 1000), {}
    first = Fake()
    cache.keep("a", first)
    cache.short_cut(first, table, "there", "entry")
    cache.keep("b", Fake())
    cache.keep("c", Fake())  # the turn of a: it loses its short cut, and b goes
    assert table == {} and keys(cache) == ["c", "a"]
    cache.short_cut(first, table, "there", "entry")
    cache.keep("d", Fake())
    cache.keep("e", Fake())
    assert keys(cache) == ["e", "a"] and table == {}
    for key in "fg":
        cache.keep(key, Fake())
    assert keys(cache) == ["f", "g"]
    cache.short_cut(first, table, "there", "entry")  # it is gone: there is nothing to shorten
    assert table == {}


@pytest.fixture
def few(monkeypatch):
    """Let the table of the library keep three kernels."""
    KERNELS.clear()
    monkeypatch.setattr(KERNELS, "most", 3)
    yield KERNELS
    KERNELS.clear()


def test_models_come_and_go_while_memory_and_maps_stay(few):
    for k in range(4):
        assert sf.mass_matrix(cart(1.0 + k), np.zeros(1)) == 1.0 + k
    before = maps(), sum(home.count for home in code_pages._maps)
    gone = []
    gc.disable()  # freeing must not wait for the collector
    try:
        for k in range(10):
            model = cart(100.0 + k)
            gone.append(weakref.ref(model))
            assert sf.mass_matrix(model, np.zeros(1)) == 100.0 + k
            if k == 0:
                (kernel,) = (KERNELS._slots[keys(KERNELS)[-1]].kernel,)
                gone.append(weakref.ref(kernel))
                gone.append(weakref.ref(kernel._loaded))
                del kernel
        del model
        assert all(ref() is None for ref in gone)
    finally:
        gc.enable()
    assert len(few) <= 3
    assert (maps(), sum(home.count for home in code_pages._maps)) <= (before[0] + 4, before[1])


def test_a_kernel_that_was_let_go_of_is_found_again(few):
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, seed=1)
    want = sf.inverse_dynamics(arm, q, v, v)
    for k in range(8):
        sf.mass_matrix(cart(7.0 + k), np.zeros(1))
        np.testing.assert_array_equal(sf.inverse_dynamics(arm, q, v, v), want)


def test_ufuncs_and_short_ways_outlive_the_table(few):
    model = cart(3.0)
    sf.mass_matrix(model, np.zeros(1))
    (kernel,) = KERNELS.find(keys(KERNELS)[-1])
    ufunc, quick = kernel.ufunc, kernel.quick
    del kernel
    KERNELS.clear()
    gc.collect()
    for k in range(5):  # others take the free pages
        sf.mass_matrix(cart(20.0 + k), np.zeros(1))
    assert ufunc(np.zeros((4, 1))).ravel().tolist() == [3.0] * 4
    assert quick(np.zeros(1)) == 3.0
    pages = ufunc.__dict__["kept by sixfold"][-1] if hasattr(ufunc, "__dict__") else None
    gone = None if pages is None else weakref.ref(pages)
    del ufunc, quick, pages
    assert gone is None or gone() is None


def test_a_kernel_in_use_by_another_thread_stays_valid(few):
    arm = sf.load("puma560")
    q = np.random.default_rng(1).standard_normal((20_000, 6))
    want = sf.mass_matrix(arm, q)
    stop, wrong, calls = threading.Event(), [], []

    def work():
        while not stop.is_set():
            calls.append(1)
            if not np.array_equal(sf.mass_matrix(arm, q), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 1.0
    while time.monotonic() < end or len(calls) < 6:
        KERNELS.clear()
        sf.mass_matrix(cart(5.0), np.zeros(1))
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_values_of_a_model_go_with_it_and_are_few():
    calls = []

    @per_model(3)
    def length(model, extra=0):
        calls.append(model.name)
        return model.nb + extra

    models = [cart(1.0 + k) for k in range(5)]
    assert [length(model) for model in models] == [1] * 5 and len(calls) == 5
    assert length(models[4]) == 1 and len(calls) == 5
    assert length(models[4], 2) == 3 and len(calls) == 6
    assert length(models[0]) == 1 and len(calls) == 7
    assert len(length._known) == 3
    del models
    assert not length._known


def test_limits_may_be_set(monkeypatch):
    monkeypatch.setenv("SIXFOLD_KERNELS", "12")
    assert kernel_cache._setting("SIXFOLD_KERNELS", 1024) == 12
    for text in ("", "many", "-3", "²"):
        monkeypatch.setenv("SIXFOLD_KERNELS", text)
        assert kernel_cache._setting("SIXFOLD_KERNELS", 1024) == 1024
