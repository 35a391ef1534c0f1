"""Memory of big results is used again, and never while anything refers to it."""

import gc
import threading

import numpy as np
import pytest

import sixfold as sf
from sixfold.evaluate import result_memory as room

BIG = (1 << 22, 1)  # 32 MiB of doubles


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    room._idle.clear()
    yield
    room._idle.clear()


def where(array):
    return array.__array_interface__["data"][0]


def test_memory_that_nobody_holds_is_used_again():
    first = room.empty(BIG, np.float64)
    place = where(first)
    del first
    again = room.empty(BIG, np.float64)
    assert where(again) == place
    assert again.flags.c_contiguous and again.flags.writeable and again.flags.aligned


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: x,
        lambda x: x[5:7],
        lambda x: x.T,
        lambda x: x.reshape(-1)[::3],
        lambda x: x.view(np.int64),
        memoryview,
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
        lambda x: x[0].data,
        lambda x: [iter(x.reshape(-1))],
    ],
    ids=["itself", "slice", "transpose", "steps", "bits", "buffer", "strided", "row", "iterator"],
)
def test_memory_that_is_held_in_any_way_is_not(hold):
    result = room.empty(BIG, np.float64)
    held, place = hold(result), where(result)
    del result
    other = room.empty(BIG, np.float64)
    assert where(other) != place
    del held, other
    both = [room.empty(BIG, np.float64) for _ in range(2)]
    assert place in {where(x) for x in both}


def test_results_start_with_a_line_of_the_caches():
    for size in (1 << 21, (1 << 21) + 7, 3 << 20):
        for dtype in (np.float64, np.float32):
            result = room.empty((size, 2), dtype)
            assert where(result) % 64 == 0 and result.shape == (size, 2)
            result[:] = 1.0
            assert result.base.block.nbytes <= result.nbytes * 2


def test_small_and_huge_results_are_numpys_own():
    small = room.empty((1000,), np.float64)
    assert small.base is None and not room._idle
    huge = room.empty((room.MAX_BYTES // 8 + 1,), np.float64)
    assert huge.base is None and not room._idle


def test_no_more_is_kept_than_said():
    held = [room.empty((1 << 23,), np.float64) for _ in range(8)]
    assert sum(x.nbytes for x in room._idle) <= room.MAX_BYTES
    assert len({where(x) for x in held}) == 8


def test_threads_never_share_a_result():
    found, start = [], threading.Barrier(6)

    def work():
        start.wait()
        found.append([room.empty((1 << 21,), np.float64) for _ in range(3)])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({where(x) for results in found for x in results}) == 18


def test_results_of_calls_stay_what_they_were():
    model = sf.load("puma560")
    rng = np.random.default_rng(1)
    q = rng.standard_normal((80_000, 6))
    first = sf.mass_matrix(model, q)
    row = first[7]
    kept = row.copy()
    del first
    second = sf.mass_matrix(model, q + 1.0)
    np.testing.assert_array_equal(row, kept)
    np.testing.assert_array_equal(second[:50], sf.mass_matrix(model, q[:50] + 1.0))
    del row, second
    third = sf.mass_matrix(model, q)
    np.testing.assert_array_equal(third[:50], sf.mass_matrix(model, q[:50]))


def test_how_much_is_kept_may_be_said():
    assert [room._megabytes(text) for text in ("0", "64", "5000")] == [0, 64, 5000]


@pytest.mark.parametrize("text", ["", "much", "-1", "²"])
@pytest.mark.parametrize(("pages", "kept"), [(1 << 19, 128), (1 << 21, 512), (1 << 30, 1024)])
def test_without_a_word_it_is_a_sixteenth_of_the_machines_memory(monkeypatch, text, pages, kept):
    words = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}
    monkeypatch.setattr(room.os, "sysconf", words.__getitem__, raising=False)
    assert room._megabytes(text) == kept


def test_where_the_machines_memory_is_unknown_it_is_a_fixed_number(monkeypatch):
    monkeypatch.setattr(room.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": -1}.get, False)
    assert room._megabytes("") == 256
    monkeypatch.delattr(room.os, "sysconf")
    assert room._megabytes("") == 256
