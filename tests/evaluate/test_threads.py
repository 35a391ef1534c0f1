"""How batches are cut for threads: by the numbers they read and write, in ever smaller parts."""

import itertools
import os
import threading

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime.kernels import threads


@pytest.fixture(autouse=True)
def two_threads():
    before = sf.get_threads()
    sf.set_threads(2)
    yield
    sf.set_threads(before)


@pytest.fixture
def parts(monkeypatch):
    """Return the list that the parts of all batches are added to."""
    seen = []
    original = threads.cuts

    def cuts(*arguments):
        found = original(*arguments)
        seen.extend(found)
        return found

    monkeypatch.setattr(threads, "cuts", cuts)
    return seen


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 1000, 40_001, 1 << 20])
@pytest.mark.parametrize("least", [1, 16, 2048])
def test_parts_hold_every_row_once_and_end_small(rows, least):
    found = threads.cuts(rows, least)
    assert found[0][0] == 0 and found[-1][1] == rows
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
    sizes = [stop - start for start, stop in found]
    assert all(size % threads.LANES == 0 for size in sizes[:-1])
    assert all(size >= least for size in sizes[:-1])
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= max(threads.LANES, -(-least // threads.LANES) * threads.LANES)
    if rows > 100 * least:
        assert sizes[0] <= rows // 8 + threads.LANES  # one thread held up is no disaster
        assert len(sizes) < 150


def test_a_long_chain_needs_few_states_for_threads(parts):
    chain = sf.load("planar_chain:300")
    q, v = sf.random_state(chain, 600, seed=1)
    shared = sf.inverse_dynamics(chain, q, v, v)
    assert len(parts) > 2 and parts[-1][1] == 600
    sf.set_threads(1)
    np.testing.assert_array_equal(sf.inverse_dynamics(chain, q, v, v), shared)


def test_small_batches_stay_on_one_thread(parts):
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, 10_000, seed=1)
    sf.inverse_dynamics(arm, q, v, v)
    assert not parts
    q, v = sf.random_state(arm, 30_000, seed=1)
    sf.inverse_dynamics(arm, q, v, v)
    assert parts[-1][1] == 30_000


def test_rows_that_broadcast_count_for_all_states(parts):
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, 30_000, seed=1)
    still = np.zeros(6)
    found = sf.inverse_dynamics(arm, q, still, still)
    assert parts[-1][1] == 30_000
    np.testing.assert_array_equal(found[:9], sf.inverse_dynamics(arm, q[:9], still, still))
    del parts[:]
    pairs = sf.inverse_dynamics(arm, q[:300, None], v[:100], still)
    assert pairs.shape == (300, 100, 6) and parts[-1][1] == 300
    np.testing.assert_array_equal(pairs[7, 5], sf.inverse_dynamics(arm, q[7], v[5], still))


def test_a_short_first_axis_is_shared_too(parts):
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, 4 * 10_000, seed=1)
    q, v = q.reshape(4, -1, 6), v.reshape(4, -1, 6)
    found = sf.inverse_dynamics(arm, q, v, v)
    assert parts == [(0, 1), (1, 2), (2, 3), (3, 4)]
    np.testing.assert_array_equal(
        found[2, :9], sf.inverse_dynamics(arm, q[2, :9], v[2, :9], v[2, :9])
    )


def test_few_big_matrices_are_shared_too(parts):
    chain = sf.load("planar_chain:70")
    q, _ = sf.random_state(chain, 100, seed=1)
    shorter = sf.mass_matrix(chain, q)
    assert not parts
    q, _ = sf.random_state(chain, 117, seed=1)
    found = sf.mass_matrix(chain, q)
    assert parts[-1][1] == 117
    np.testing.assert_array_equal(found[:100], shorter)


def test_an_error_in_a_part_is_raised_when_all_have_ended():
    done, lock = [], threading.Lock()

    def part(start, stop):
        if start == 3:
            raise ValueError("this part")
        with lock:
            done.append(start)

    with pytest.raises(ValueError, match="this part"):
        threads.share(part, [(n, n + 1) for n in range(20)])
    assert len(done) == len(set(done)) and 3 not in done


@pytest.fixture
def cores(monkeypatch):
    """Let the process run on six cores, with nothing said about threads."""
    sf.set_threads(None)
    for variable in ("SIXFOLD_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(threads, "_cores", lambda: 6)


@pytest.mark.parametrize(
    ("omp", "count"), [("1", 1), ("3", 3), ("4,2", 4), ("64", 6), ("", 6), ("0", 6), ("many", 6)]
)
def test_threads_are_those_of_the_process_and_at_most_those_of_openmp(
    cores, monkeypatch, omp, count
):
    assert sf.get_threads() == 6
    monkeypatch.setenv("OMP_NUM_THREADS", omp)
    assert sf.get_threads() == count


def test_a_number_of_threads_that_was_asked_for_wins(cores, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("SIXFOLD_THREADS", "5")
    assert sf.get_threads() == 5
    sf.set_threads(3)
    assert sf.get_threads() == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity here")
def test_threads_respect_the_cpu_affinity(monkeypatch):
    sf.set_threads(None)
    for variable in ("SIXFOLD_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert sf.get_threads() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert sf.get_threads() == len(before)
