"""Steps of panda drawn on workers and reduced: a Dask cluster of two processes, and two threads.

    python benchmarks/cluster_vs_threads.py [--steps 1e8] [--repeats 3]

Both run in turn in one call; the figure is the ratio of their best times.  Starting the cluster and
compiling are not timed.  Bits have to be equal.  The ratio of processor time, scheduler and client
included, stands beside it: it says more on a machine that others use too.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

import sixfold as sf

STEPS = 100
"""Steps of one trajectory."""


def study(robot):
    """Return what is drawn, and the function: trajectories, of which the end is kept."""

    def end(q0, v0):
        q, v = sf.rollout(robot, q0, v0, dt=1e-3, steps=STEPS, every=STEPS)
        return {"q": q[:, 0], "v": v[:, 0]}

    draw = {
        "q0": sf.sweeps.draws.configuration(robot),
        "v0": sf.sweeps.draws.uniform(-np.ones(robot.nv), np.ones(robot.nv)),
    }
    return end, draw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=float, default=1e8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--robot", default="panda")
    chosen = parser.parse_args()
    from distributed import LocalCluster

    os.environ["SIXFOLD_THREADS"] = "1"  # of each call; the engines have two workers each
    robot = sf.load(chosen.robot)
    end, draw = study(robot)
    rows = int(chosen.steps) // STEPS
    times: dict[str, list[float]] = {"threads": [], "cluster": []}
    spent: dict[str, list[float]] = {"threads": [], "cluster": []}
    found = {}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        cluster.get_client() as client,
    ):

        def processor_time() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        engines = {"threads": {"workers": 2}, "cluster": {"engine": client}}
        for warm in (True, *[False] * chosen.repeats):
            for name, options in engines.items():
                used = processor_time()
                begun = time.perf_counter()
                count = 20_000 if warm else rows
                reduce = ["mean", "deviation"]
                found[name] = sf.sweeps.sweep(
                    end, count, seed=1, draw=draw, reduce=reduce, **options
                )
                if not warm:
                    times[name].append(time.perf_counter() - begun)
                    spent[name].append(processor_time() - used)
    same = all(
        np.array_equal(found["threads"][key][x], found["cluster"][key][x])
        for key in found["threads"]
        for x in ("q", "v")
    )
    best = {name: min(each) for name, each in times.items()}
    print(f"{rows * STEPS:.2g} steps of {robot.name}, {rows:,} rows; best of {chosen.repeats}")
    least = {name: min(each) for name, each in spent.items()}
    for name, each in best.items():
        print(f"  {name:<8} {each:7.2f} s, {least[name]:7.2f} s of processor time")
    ratios = (x["cluster"] / x["threads"] for x in (best, least))
    print("  ratio    {:7.2f}    {:7.2f}".format(*ratios), f"     bits equal: {same}")
    assert same


if __name__ == "__main__":
    main()
