"""Try the public calls on thousands of adversarial models and print the worst figures.

    python -m tests.adversarial --models 5000 --processes 2 --seed 0

Each model is tried with the default call of inverse and forward dynamics and of the mass matrix,
and with one other call in turn: rolled and unrolled code, single precision, other functions.  See
`tests.adversarial.measure` for the bounds.  Exits with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from multiprocessing import Pool

from tests.adversarial.measure import Measured, applies, calls, measure
from tests.adversarial.models import describe, draw


def tried(job: tuple[int, int]) -> list[Measured]:
    """Return all errors on one model."""
    k, seed = job
    sample = draw(k, seed)
    found: list[Measured] = []
    for call in calls(k):
        if applies(call, sample.model):
            found += [
                m._replace(model=describe(sample.model)) if m.missed else m
                for m in measure(sample, call)
            ]
    return found


def report(table: dict[tuple[str, str], list[Measured]]) -> str:
    """Return the worst figures of each call."""
    lines = [
        f"{'call':<36}{'':<16}{'models':>7}{'worst':>10}{'NumPy':>10}{'share':>10}{'missed':>8}"
    ]
    for (call, what), found in sorted(table.items()):
        m = max(found, key=lambda m: float("inf") if m.missed else m.share)
        missed = sum(m.missed for m in found)
        lines.append(
            f"{call:<36}{what:<16}{len(found):>7}{m.error:>10.1e}{m.numpy:>10.1e}{m.share:>10.1e}"
            f"{missed:>8}  {m.model}"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, print and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0, help="same seed, same models and states")
    options = parser.parse_args()
    start = time.perf_counter()
    jobs = [(k, options.seed) for k in range(options.first, options.first + options.models)]
    table: dict[tuple[str, str], list[Measured]] = {}
    bad: set[str] = set()
    # kernels of a model are of no use to the next: processes are replaced, nothing goes to disk
    os.environ["SIXFOLD_CACHE"] = "off"
    with Pool(options.processes, maxtasksperchild=100) as pool:
        for found in pool.imap_unordered(tried, jobs):
            for m in found:
                table.setdefault((str(m.call), m.what), []).append(m)
                if m.missed:
                    bad.add(m.model)
                    print(f"beyond the bound: {m}", flush=True)
    print(report(table))
    print(
        f"{options.models} models, seed {options.seed}, {len(bad)} beyond a bound,"
        f" {time.perf_counter() - start:.0f} s"
    )
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
