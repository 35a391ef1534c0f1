"""What one public call costs beside the bare gufunc of its kernel, for every quantity.

`python -m benchmarks.calls [ROBOT ...] [--rounds N] [--sizes 1 8 64 512 ...] [--quantities ...]`,
on one thread.  Each quantity is called with positional arrays, by keyword, and as
`kernel.ufunc(..., out=)`, in turns on the same states; the best of the rounds counts.  The bars:
at most 1.15 times the gufunc from 512 states on, at most 1.5 us more below.  With `--processor` the
time of the processor counts: beside other processes, calls of several milliseconds never run
without a pause.
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import numpy as np

import sixfold as sf
from benchmarks.bench.clock import interleaved
from benchmarks.names import find_public
from sixfold.errors import SixfoldError
from sixfold.runtime import all_quantities
from sixfold.runtime.quantity import ARRAYS, shape_of

SIZES = (1, 8, 64, 512, 4096, 32768, 65536)
SMALL = 64
RATIO, MICROSECONDS = 1.15, 1.5


def drawn(row, model, count, seed=0):
    """Return random arrays for the arguments that a quantity needs."""
    random = np.random.default_rng(seed)
    q, v = sf.random_state(model, count, seed=seed)
    arrays = {}
    for name in row.arrays:
        if name in row.optional:
            continue
        if name in ("q", "q0", "q1"):
            arrays[name] = sf.random_state(model, count, seed=len(arrays))[0] if arrays else q
        else:
            shape = shape_of(ARRAYS[name].sizes, model)
            arrays[name] = v if name == "v" else random.normal(size=(count, *shape))
    return arrays


def measured(name, row, model, count, rounds, clock):
    """Return seconds of the gufunc, the positional and the keyword call; None without a kernel."""
    arrays = drawn(row, model, count)
    place = [model.body_names[-1]] if row.place else []
    function = find_public(name)
    known = set(row.prepared)
    try:
        result = function(model, *arrays.values(), *place)
    except SixfoldError:
        return None
    kept = [entry for key, entry in row.prepared.items() if key not in known] or [
        entry for key, entry in row.prepared.items() if key[0] == id(model)
    ]
    if not kept:
        return None
    kernel = kept[-1][3]
    out = result if isinstance(result, tuple) else (result,)
    out = tuple(np.empty_like(x) for x in out)
    calls = [
        partial(kernel.ufunc, *arrays.values(), out=out),
        partial(function, model, *arrays.values(), *place),
        partial(function, model, *place, **arrays)
        if not place
        else partial(function, model, **arrays, **{row.place: place[0]}),
    ]
    return [min(times) for times in interleaved(calls, rounds, clock)]


def main():
    """Print a line for each quantity and size beyond a bar, and the ranges."""
    parser = argparse.ArgumentParser()
    parser.add_argument("robots", nargs="*", default=["puma560", "panda"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--quantities", nargs="*")
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
    sf.set_threads(1)
    missed = 0
    for robot in find_public(options.robots)[0]:
        for count in options.sizes:
            ratios, more, without = [], [], []
            for name, row in all_quantities().items():
                if options.quantities and name not in options.quantities:
                    continue
                found = measured(name, row, robot.model, count, options.rounds, clock)
                if found is None:
                    without.append(name)
                    continue
                bare, positional, keyword = found
                for kind, seconds in (("positional", positional), ("keyword", keyword)):
                    ratio, extra = seconds / bare, (seconds - bare) * 1e6
                    ratios.append(ratio)
                    more.append(extra)
                    late = extra > MICROSECONDS if count <= SMALL else ratio > RATIO
                    if late:
                        missed += 1
                        print(
                            f"  {robot.name} {name} {kind}, {count} states: gufunc "
                            f"{bare * 1e6:.2f} us, {ratio:.3f} of it, {extra:+.2f} us",
                            flush=True,
                        )
            print(
                f"{robot.name}, {count} states, {len(ratios) // 2} quantities: "
                f"{min(ratios):.2f} to {max(ratios):.2f} of the gufunc, "
                f"{min(more):+.2f} to {max(more):+.2f} us",
                flush=True,
            )
        print(f"{robot.name}: without a kernel of their own: {', '.join(without) or 'none'}")
    print(f"{missed} beyond a bar")


if __name__ == "__main__":
    main()
