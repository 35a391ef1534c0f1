"""Fork again and again beside threads that compile, write the cache and compute big results.

    python -m tests.long.forks --forks 500

Each child compiles a kernel of its own, computes a big batch and a rollout, and must end in time.
"""

import argparse
import faulthandler
import itertools
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np

import sixfold as sf

_masses = itertools.count(1)


def cart(mass: float) -> sf.Model:
    builder = sf.ModelBuilder("cart")
    builder.add_body("cart", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(mass))
    return builder.build()


def compile_one(mass: float) -> None:
    """Make a kernel that nobody has made before."""
    assert sf.mass_matrix(cart(mass), np.zeros(1)) == mass


def big_batch(chain: sf.Model, q: np.ndarray) -> None:
    """Fill memory of results, on several threads."""
    M = sf.mass_matrix(chain, q)
    assert M.nbytes >= 1 << 24 and np.isfinite(M[-1]).all()


def roll(chain: sf.Model, q: np.ndarray) -> None:
    out, _ = sf.rollout(chain, q[:50], q[:50], dt=1e-3, steps=20)
    assert np.isfinite(out[:, -1]).all()


def child(chain: sf.Model, q: np.ndarray, mass: float) -> None:
    compile_one(mass)
    big_batch(chain, q)
    roll(chain, q)
    thread = threading.Thread(target=big_batch, args=(chain, q))
    thread.start()
    big_batch(chain, q)
    thread.join()


def busy(stop: threading.Event, work: Callable[[], None], failed: list[BaseException]) -> None:
    try:
        while not stop.is_set():
            work()
    except BaseException as error:
        failed.append(error)


def one_fork(chain: sf.Model, q: np.ndarray, mass: float, limit: float) -> float:
    """Fork once; return how long the child took [s]."""
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # to fork beside threads is the point
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            faulthandler.enable()
            faulthandler.register(signal.SIGUSR1, all_threads=True)
            child(chain, q, mass)
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, f"child ended with {status}"
            return time.monotonic() - start
        if time.monotonic() - start > limit:
            os.kill(pid, signal.SIGUSR1)  # where it hangs
            time.sleep(1.0)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"a child did not end in {limit} s")
        time.sleep(0.002)


def run(forks: int, limit: float, minutes: float = 60.0) -> tuple[int, float, float]:
    """Fork beside busy threads; return how many forks, the slowest child [s], and seconds."""
    chain = sf.load("planar_chain:6")
    q = np.random.default_rng(1).standard_normal((1 << 16, 6))
    big_batch(chain, q)
    roll(chain, q)
    stop, failed = threading.Event(), []
    work = [
        lambda: compile_one(1.0 + 1e-6 * next(_masses)),
        lambda: big_batch(chain, q),
        lambda: big_batch(chain, q),
        lambda: roll(chain, q),
    ]
    threads = [threading.Thread(target=busy, args=(stop, each, failed)) for each in work]
    for thread in threads:
        thread.start()
    start, slowest, done = time.monotonic(), 0.0, 0
    try:
        while done < forks and time.monotonic() - start < 60 * minutes:
            slowest = max(slowest, one_fork(chain, q, 2.0 + 1e-6 * next(_masses), limit))
            done += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed
    return done, slowest, time.monotonic() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forks", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=30.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SIXFOLD_CACHE_DIR"] = folder
        sf.set_threads(2)
        done, slowest, seconds = run(arguments.forks, 120.0, arguments.minutes)
    print(f"forks: {done} in {seconds:.0f} s, none hung; the slowest child took {slowest:.1f} s")
    return 0 if done == arguments.forks else 1


if __name__ == "__main__":
    sys.exit(main())
