"""`sf.compile` and first calls from many threads at once.

python -m tests.long.compile_threads --rounds 20
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import numpy as np

import sixfold as sf

THREADS = 16


def together(work: Callable[[int], None]) -> None:
    """Run a function on many threads that start at the same moment; raise what one raises."""
    start, failed = threading.Barrier(THREADS), []

    def run(k: int) -> None:
        try:
            start.wait()
            work(k)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive(), "a thread hangs"
    if failed:
        raise failed[0]


def same_first_call(seed: int) -> None:
    """All threads call the same function of the same new model."""
    model = sf.random_tree(4, seed=seed)
    q, v = sf.random_state(model, 5, seed=1)
    want = sf.inverse_dynamics(model, q, v, v, backend="numpy")
    found = []
    together(lambda k: found.append(sf.inverse_dynamics(model, q, v, v)))
    for tau in found:
        np.testing.assert_array_equal(tau, found[0])
        np.testing.assert_allclose(tau, want, rtol=0, atol=1e-10 * np.abs(want).max())


def different_first_calls(seed: int) -> None:
    """Each thread has a model and a function of its own."""
    models = [sf.random_tree(2, seed=1000 * seed + k) for k in range(THREADS)]

    def work(k: int) -> None:
        model = models[k]
        q, v = sf.random_state(model, 3, seed=k)
        call = (sf.inverse_dynamics, sf.bias_force, sf.mass_matrix, sf.kinetic_energy)[k % 4]
        arguments = ((q, v, v), (q, v), (q,), (q, v))[k % 4]
        want = call(model, *arguments, backend="numpy")
        got = call(model, *arguments)
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-10 * (1 + np.abs(want).max()))

    together(work)


def compile_together(seed: int) -> None:
    """Each thread compiles functions of its own and of the library, and drops them."""

    def work(k: int) -> None:
        def scaled(x):
            return (seed + k) * x + np.sin(x)

        x = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
        kernel = sf.compile(scaled, inputs={"x": 3})
        np.testing.assert_allclose(kernel(x), scaled(x), rtol=1e-14, atol=1e-14)

    together(work)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=10.0)
    arguments = parser.parse_args()
    start, done = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SIXFOLD_CACHE_DIR"] = folder
        while done < arguments.rounds and time.monotonic() - start < 60 * arguments.minutes:
            for race in (same_first_call, different_first_calls, compile_together):
                race(done)
            done += 1
    seconds = time.monotonic() - start
    print(f"compile on threads: {done} rounds of 3 races of {THREADS} threads in {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
