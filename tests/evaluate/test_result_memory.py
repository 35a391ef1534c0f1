"""Memory of big results is used again, and never while anything refers to it."""

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.llvm import result_memory
from sixfold.compiler.llvm.runtime.result_memory import MAX_BUFFERS, PAGE, PooledMemory

BIG = (1 << 22, 1)  # 32 MiB of doubles


@pytest.fixture(autouse=True, scope="module")
def fast_collections():
    """Keep what other tests left out of the collections of these, which take seconds else."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def kept(monkeypatch, fast_collections):
    gc.collect()
    found = result_memory.pool()
    found.idle.clear()
    monkeypatch.setattr(found, "limit", 1 << 30)
    yield found
    found.idle.clear()


def sizes(kept):
    return [buffer.nbytes for buffer in kept.idle]


def is_kept(array):
    return isinstance(array.base, PooledMemory)


def empty(shape, dtype):
    (found,) = result_memory.empty([shape], dtype)
    return found


def where(array):
    return array.__array_interface__["data"][0]


def test_memory_that_nobody_holds_is_used_again():
    first = empty(BIG, np.float64)
    place = where(first)
    del first
    again = empty(BIG, np.float64)
    assert where(again) == place
    assert again.flags.c_contiguous and again.flags.writeable and again.flags.aligned


class Holder:
    """Holds a result in a cycle that only the collector finds."""

    def __init__(self, result):
        self.itself, self.result = self, result


def pointer_with_its_array(x):
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def pickled(x):
    buffers = []
    pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    return buffers


HOLDS = {
    "itself": lambda x: x,
    "slice": lambda x: x[5:7],
    "transpose": lambda x: x.T,
    "steps": lambda x: x.reshape(-1)[::3],
    "bits": lambda x: x.view(np.int64),
    "buffer": memoryview,
    "buffer of a view": lambda x: memoryview(x[3:])[1:].cast("B"),
    "strided": lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
    "row": lambda x: x[0].data,
    "iterator": lambda x: [iter(x.reshape(-1))],
    "flat": lambda x: x.flat,
    "frombuffer": lambda x: np.frombuffer(x, np.float64),
    "frombuffer of a buffer": lambda x: np.frombuffer(memoryview(x)[2:], np.uint8),
    "DLPack": lambda x: x.__dlpack__(),
    "DLPack array": np.from_dlpack,
    "ctypes": pointer_with_its_array,
    "ctypes object": lambda x: x.ctypes,
    "ctypes array": lambda x: (ctypes.c_char * 8).from_buffer(x),
    "interface": lambda x: np.asarray(
        SimpleNamespace(__array_interface__=x.__array_interface__, x=x)
    ),
    "struct": lambda x: x.__array_struct__,
    "pickle": pickled,
    "subclass": lambda x: x.view(np.recarray),
    "masked": lambda x: np.ma.masked_array(x),
    "broadcast": lambda x: np.broadcast_to(x[:3], (4, 3, 1)),
    "nditer": lambda x: np.nditer(x),
    "cycle": Holder,
    "base of a view": lambda x: x[4:].base,
    "bound method": lambda x: x.sum,
    "object array": lambda x: np.array([x, None], object),
}


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
def test_memory_that_is_held_in_any_way_is_not_used_again(hold):
    result = empty(BIG, np.float64)
    result[:] = 7.0
    held, place = hold(result), where(result)
    del result
    other = empty(BIG, np.float64)
    assert where(other) != place
    del held
    gc.collect()
    del other
    both = [empty(BIG, np.float64) for _ in range(2)]
    assert place in {where(x) for x in both}


def test_what_holds_nothing_frees_the_memory():
    result = empty(BIG, np.float64)
    place, ref = where(result), weakref.ref(result)
    finalizer = weakref.finalize(result, lambda: None)
    del result
    assert ref() is None and not finalizer.alive
    assert where(empty(BIG, np.float64)) == place


def test_a_cycle_keeps_its_result_until_the_collector_comes():
    gc.disable()
    try:
        holder = Holder(empty(BIG, np.float64))
        holder.result[:] = 5.0
        ref, place = weakref.ref(holder), where(holder.result)
        del holder
        assert where(empty(BIG, np.float64)) != place
        assert (ref().result == 5.0).all()
    finally:
        gc.enable()
    gc.collect()
    results = [empty(BIG, np.float64) for _ in range(2)]
    assert place in {where(x) for x in results}


def test_a_result_that_is_brought_back_to_life_stays_what_it_was():
    saved = []

    class Phoenix(Holder):
        def __del__(self):
            saved.append(self.result)

    holder = Phoenix(empty(BIG, np.float64))
    holder.result[:] = 3.0
    del holder
    gc.collect()
    others = [empty(BIG, np.float64) for _ in range(2)]
    for other in others:
        other[:] = 4.0
    assert (saved[0] == 3.0).all()


TRACED = """
import sys, numpy as np
calls = []
def record(frame, event, argument):
    calls.append((frame, event, argument))  # holds all that it sees
    del calls[:-50]
    return record
{tool}
import sixfold as sf
arm = sf.load("puma560")
rng = np.random.default_rng(1)
q = rng.standard_normal((60_000, 6))
held = []
for k in range(5):
    M = sf.mass_matrix(arm, q + k)
    held.append((M, M[::1000].copy(), M[7], M[7].copy()))
    calls.clear()
    if k % 2:
        del M, held[0]
for M, few, row, kept in held:
    assert np.array_equal(M[::1000], few) and np.array_equal(row, kept)
print("untouched")
"""
TOOLS = {
    "profile": "sys.setprofile(record)",
    "trace": "sys.settrace(record)",
    "monitoring": (
        "m = sys.monitoring; m.use_tool_id(3, 'x'); m.set_events(3, m.events.CALL |"
        " m.events.PY_START); m.register_callback(3, m.events.CALL, lambda *a: calls.append(a))"
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_results_stay_what_they_were_under_a_tool_that_records_calls(tool):
    if tool == "monitoring" and not hasattr(sys, "monitoring"):
        pytest.skip("this Python has no monitoring")
    done = subprocess.run(
        [sys.executable, "-c", TRACED.format(tool=TOOLS[tool])], capture_output=True, text=True
    )
    assert done.stdout == "untouched\n", done.stderr


def test_results_start_with_a_page(kept):
    for size in (1 << 21, (1 << 21) + 7, 3 << 20):
        for dtype in (np.float64, np.float32):
            result = empty((size, 2), dtype)
            assert where(result) % PAGE == 0 and result.shape == (size, 2)
            result[:] = 1.0
            nbytes = result.nbytes
            del result
            assert nbytes <= sizes(kept)[-1] <= 2 * nbytes


def test_small_results_are_numpys_own_and_huge_ones_are_not_kept(kept):
    small = empty((1000,), np.float64)
    assert not is_kept(small)
    kept.limit = 32 << 20
    huge, large = empty((BIG[0] + 1,), np.float64), empty(BIG, np.float64)
    assert is_kept(huge) and is_kept(large)
    del small, huge
    assert not kept.idle
    del large
    assert len(kept.idle) == 1


def test_several_results_of_a_call_are_kept_together():
    shapes = [(1 << 17, 1), (1 << 18,), (0, 3), (1 << 18, 1)]  # 1, 2, 0 and 2 MiB
    first = result_memory.empty(shapes, np.float64)
    assert [x.shape for x in first] == shapes
    places = {where(x) for x in first if x.size}
    del first
    assert {where(x) for x in result_memory.empty(shapes, np.float64) if x.size} == places


def test_few_buffers_are_kept_however_many_come_back(kept):
    held = [empty(((1 << 18) + k,), np.float64) for k in range(MAX_BUFFERS + 10)]
    while held:
        del held[0]
    assert sizes(kept) == [8 * ((1 << 18) + k) for k in range(10, MAX_BUFFERS + 10)]


def test_no_more_is_kept_than_said(kept):
    kept.limit = 100 << 20
    held = [empty(((1 << 22) + k,), np.float64) for k in range(6)]
    assert len({where(x) for x in held}) == 6 and not kept.idle
    while held:
        del held[0]
    # of 32 MiB each, those that came back last
    assert sizes(kept) == [8 * ((1 << 22) + k) for k in (3, 4, 5)]


def test_a_buffer_between_others_is_taken_out_alone(kept):
    held = [empty((size,), np.float64) for size in (1 << 18, 1 << 20, 1 << 22)]
    place = where(held[1])
    while held:
        del held[0]
    middle = empty((1 << 20,), np.float64)
    assert where(middle) == place
    assert sizes(kept) == [8 << 18, 8 << 22]


def test_without_memory_nothing_is_kept(kept):
    with pytest.raises(MemoryError):
        empty((1 << 58,), np.float64)
    assert not kept.idle


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [100, 4096, 20_000])
def test_calls_keep_the_memory_of_their_large_results(kept, rows, threads):
    model, before = sf.load("puma560"), sf.get_threads()
    q, v = sf.random_state(model, rows, seed=1)
    sf.set_threads(threads)
    try:
        sf.derivatives.inverse_dynamics_derivatives(model, q[:2], v[:2], v[:2])
        results = sf.derivatives.inverse_dynamics_derivatives(model, q, v, v)
        assert [is_kept(x) for x in results] == [rows > 100] * 3
        del results
        assert len(kept.idle) == (3 if rows > 100 else 0)
        places = {buffer.start for buffer in kept.idle}
        results = sf.derivatives.inverse_dynamics_derivatives(model, q, v, v)
        assert not kept.idle
        few = sf.derivatives.inverse_dynamics_derivatives(model, q[:50], v[:50], v[:50])
        for large, small in zip(results, few, strict=True):
            np.testing.assert_array_equal(large[:50], small)
        del results, large
        assert {buffer.start for buffer in kept.idle} == places
    finally:
        sf.set_threads(before)


@pytest.mark.parametrize("there", [0, 2])
def test_a_call_without_memory_says_so_and_leaves_nothing_behind(kept, monkeypatch, there):
    model, take = sf.load("puma560"), type(kept).take
    q, v = sf.random_state(model, 20_000, seed=1)
    kernel = sf.compile(sf.derivatives.inverse_dynamics_derivatives, model)
    sf.derivatives.inverse_dynamics_derivatives(model, q, v, v)
    kept.idle.clear()
    given = []

    def scarce(self, nbytes):
        given.append(nbytes)
        if len(given) > there:
            raise MemoryError
        return take(self, nbytes)

    with monkeypatch.context() as patch:
        patch.setattr(type(kept), "take", scarce)
        with pytest.raises(MemoryError):
            kernel(q[:4096], v[:4096], v[:4096])
        gc.collect()
        assert len(given) == there + 1 and len(kept.idle) == there
        with pytest.raises(sf.errors.TooLargeError):
            sf.derivatives.inverse_dynamics_derivatives(model, q, v, v)
    assert len(sf.derivatives.inverse_dynamics_derivatives(model, q, v, v)) == 3


def test_a_kernel_of_the_users_own_keeps_the_memory_of_its_results():
    kernel = sf.compile(sf.gravity_force, sf.load("puma560"))
    assert is_kept(kernel(np.zeros((1 << 16, 6))))
    assert not is_kept(kernel(np.zeros((1 << 10, 6))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_memory_of_its_own():
    result, gone = empty(BIG, np.float64), empty(BIG, np.float64)
    result[:] = 3.0
    del gone
    child = os.fork()
    if child == 0:
        place = where(result)
        same = bool((result == 3.0).all())
        del result
        other = empty(BIG, np.float64)
        other[:] = 4.0
        os._exit(0 if same and where(other) == place else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (result == 3.0).all()


AT_THE_END = """
import sys, numpy as np
import sixfold as sf
arm = sf.load("puma560")
q = np.zeros((60_000, 6))
class Late:
    def __init__(self, result): self.itself, self.result = self, result
    def __del__(self): sys.stdout.write(str(float(self.result.sum()) > 0))
sys.late = Late(sf.mass_matrix(arm, q))
np.late = sf.mass_matrix(arm, q), sf.mass_matrix(arm, q[:100])
"""


def test_results_may_live_until_the_process_ends():
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_results_dropped_by_many_threads_all_come_back(kept, monkeypatch):
    monkeypatch.setattr(result_memory, "MIN_POOLED_BYTES", 1 << 10)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        held = []
        for _ in range(400):
            result = empty((int(rng.integers(200, 4000)),), np.float64)
            result[:] = seed
            held.append(result)
            if len(held) > 5:
                if not (held[0] == seed).all():
                    wrong.append(seed)
                del held[int(rng.integers(len(held)))], result

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 < len(kept.idle) <= MAX_BUFFERS
    assert sum(sizes(kept)) <= kept.limit


def test_threads_never_share_a_result():
    found, start = [], threading.Barrier(6)

    def work():
        start.wait()
        found.append([empty((1 << 21,), np.float64) for _ in range(3)])

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
    assert [result_memory._megabytes(text) for text in ("0", "64", "5000")] == [0, 64, 5000]


@pytest.mark.parametrize("text", ["", "much", "-1", "²"])
@pytest.mark.parametrize(("pages", "kept"), [(1 << 19, 128), (1 << 21, 512), (1 << 30, 1024)])
def test_without_a_word_it_is_a_sixteenth_of_the_machines_memory(monkeypatch, text, pages, kept):
    words = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}
    monkeypatch.setattr(result_memory.os, "sysconf", words.__getitem__, raising=False)
    assert result_memory._megabytes(text) == kept


def test_where_the_machines_memory_is_unknown_it_is_a_fixed_number(monkeypatch):
    monkeypatch.setattr(
        result_memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": -1}.get, False
    )
    assert result_memory._megabytes("") == 256
    monkeypatch.delattr(result_memory.os, "sysconf")
    assert result_memory._megabytes("") == 256
