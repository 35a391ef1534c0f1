"""A forked child can do all that its parent could, whatever other threads were at."""

import os
import threading
import time
import warnings

import numpy as np
import pytest

import sixfold as sf
from sixfold import forks
from sixfold.runtime.kernels import kernels
from tests.long.forks import cart, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_child(work, limit=60.0):
    """Fork, do some work in the child, and return whether it ended well in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False


@pytest.fixture
def held():
    """Return a function that lets another thread hold a lock, for a while or to the end."""
    threads, end = [], threading.Event()

    def hold(lock, seconds):
        taken = threading.Event()

        def work():
            with lock:
                taken.set()
                end.wait(seconds)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        taken.wait()

    yield hold
    end.set()
    for thread in threads:
        thread.join()


def everything(mass):
    """Meet every lock: compile, keep the kernel, use threads and memory of results."""
    sf.set_threads(2)
    assert sf.mass_matrix(cart(mass), np.zeros(1)) == mass
    batch = sf.mass_matrix(sf.load("planar_chain:2"), np.zeros((1 << 20, 2)))
    assert batch.nbytes >= 1 << 24


@pytest.fixture(autouse=True, scope="module")
def warm():
    before = sf.get_threads()
    everything(17.0)
    yield
    sf.set_threads(before)


@pytest.mark.parametrize("rank", list(forks.Rank), ids=lambda rank: rank.name.lower())
def test_a_fork_waits_for_a_lock_that_another_thread_holds(rank, held):
    held(forks._locks[rank], 0.2)
    start = time.monotonic()
    assert in_child(lambda: everything(18.0 + rank))
    assert time.monotonic() - start > 0.1
    everything(30.0 + rank)  # the parent's locks are free again


@pytest.mark.parametrize("rank", list(forks.Rank), ids=lambda rank: rank.name.lower())
def test_a_lock_that_is_never_released_is_new_in_the_child(rank, held, monkeypatch):
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    held(forks._locks[rank], None)
    assert in_child(lambda: everything(40.0 + rank))


def test_a_fork_does_not_wait_for_a_kernel_that_is_being_made(held):
    held(kernels._making, None)
    assert in_child(lambda: everything(50.0))


def test_a_thread_may_fork_while_it_holds_locks():
    for rank in forks.Rank:
        with forks._locks[rank]:
            assert in_child(lambda rank=rank: forks._locks[rank].release() or everything(60.0))


def test_forks_beside_threads_do_not_hang(tmp_path, monkeypatch):
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(tmp_path))
    assert run(10, limit=60.0)[0] == 10
