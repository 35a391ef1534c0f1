"""`sixfold bench`: how fast, against Pinocchio in the same run."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from sixfold.errors import NotApplicableError
from sixfold.evaluate import (
    compile,
    forward_dynamics,
    get_threads,
    inverse_dynamics,
    mass_matrix,
    random_state,
    set_threads,
)
from sixfold.evaluate.toolbox import host, lanes
from sixfold.formats import load
from sixfold.interop.examples import FILES, pinocchio_example
from sixfold.interop.pinocchio import from_pinocchio
from sixfold.scalar import Scalar


@click.command()
@click.argument("robots", nargs=-1)
@click.option("--batch", default=4096, show_default=True, help="States in a batch.")
@click.option("--rounds", default=30, show_default=True, help="Interleaved repeats; best counts.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Write every figure.")
def bench(robots: tuple[str, ...], batch: int, rounds: int, json_file: str | None) -> None:
    """Time kernels on one core, in one run with Pinocchio where it is installed.

    ROBOTS are sample names, or ur5, panda and g1_29dof of example-robot-data.
    """
    before = get_threads()
    set_threads(1)
    try:
        peak = fma_peak()
        about = machine_text()
        click.echo(f"{about}; {lanes()} lanes; measured FMA peak {peak:.1f} GFLOP/s")
        click.echo(f"one core, float64, row-major, batch {batch}, best of {rounds} rounds\n")
        head = ("robot", "function", "ns/state", "pinocchio", "ratio", "flops", "of peak")
        click.echo("{:<12} {:<18} {:>9} {:>10} {:>7} {:>7} {:>8}".format(*head))
        records = []
        for name in robots or _available():
            for record in measure(name, batch, rounds, peak):
                records.append(record)
                click.echo(_line(record))
    finally:
        set_threads(before)
    if json_file:
        data = {"machine": about, "lanes": lanes(), "fma_peak_gflops": peak, "results": records}
        Path(json_file).write_text(json.dumps(data, indent=1))
        click.echo(f"\nwritten to {json_file}")


def _available() -> tuple[str, ...]:
    try:
        pinocchio_example("ur5")
    except NotApplicableError:
        click.echo("Pinocchio or example-robot-data is not installed: sample robots only\n")
        return ("double_pendulum", "puma560", "tree10")
    return ("puma560", *FILES)


def _line(r: dict[str, Any]) -> str:
    other = f"{r['pinocchio_ns']:.0f}" if r["pinocchio_ns"] else "-"
    ratio = f"{r['ratio']:.1f}x" if r["ratio"] else "-"
    return (
        f"{r['robot']:<12} {r['function']:<18} {r['ns']:>9.1f} {other:>10} {ratio:>7} "
        f"{r['flops']:>7} {r['of_peak']:>8.0%}"
    )


def measure(name: str, batch: int, rounds: int, peak: float) -> list[dict[str, Any]]:
    """Return times of the three main functions for a robot."""
    pin = peer = None
    if name in FILES:
        pin, peer = pinocchio_example(name)
        model = from_pinocchio(peer, name)
    else:
        model = load(name)
    rng = np.random.default_rng(0)
    q, v = random_state(model, batch, seed=rng)
    a = rng.standard_normal((batch, model.nv))
    records = []
    for function, arrays in (
        (inverse_dynamics, (q, v, a)),
        (forward_dynamics, (q, v, a)),
        (mass_matrix, (q,)),
    ):
        kernel = compile(function, model)
        out = kernel(*arrays)
        ours = partial(kernel.ufunc, *arrays, out=out)
        theirs = _pinocchio_call(pin, peer, function.__name__, arrays) if pin else None
        mine, other = _best(ours, theirs, rounds, batch)
        records.append(
            {
                "robot": name,
                "function": function.__name__,
                "ns": mine[0],
                "rounds_ns": mine[1],
                "pinocchio_ns": other[0],
                "pinocchio_rounds_ns": other[1],
                "ratio": other[0] / mine[0] if other[0] else None,
                "flops": kernel.flops,
                "of_peak": kernel.flops / mine[0] / peak,
            }
        )
    return records


def _best(
    ours: Callable[[], Any], theirs: tuple[Callable[[], Any], int] | None, rounds: int, batch: int
) -> tuple[tuple[float, list[float]], tuple[float, list[float]]]:
    """Return the best time for one state of each, interleaved, and every round."""
    mine: list[float] = []
    other: list[float] = []
    for _ in range(rounds):
        mine.append(min(_time(ours) for _ in range(4)) / batch * 1e9)
        if theirs:
            other.append(_time(theirs[0]) / theirs[1] * 1e9)
    return (min(mine), mine), (min(other) if other else 0.0, other)


def _time(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _pinocchio_call(
    pin: Any, peer: Any, function: str, arrays: tuple[Any, ...]
) -> tuple[Callable[[], Any], int]:
    """Return Pinocchio's own way to do the batch and how many states it does."""
    if function == "mass_matrix":
        data, rows = peer.createData(), arrays[0][:512]

        def matrices() -> None:
            for row in rows:
                pin.crba(peer, data, row)

        return matrices, len(rows)
    pool = pin.ModelPool(peer, 1)
    columns = [np.asfortranarray(x.T) for x in arrays]
    result = np.zeros_like(columns[1], order="F")
    batch = {"inverse_dynamics": pin.rneaInParallel, "forward_dynamics": pin.abaInParallel}
    return lambda: batch[function](1, pool, *columns, result), len(arrays[0])


def fma_peak() -> float:
    """Return the fused multiply-adds this core reaches, in GFLOP/s, by a kernel of nothing else."""

    def chains(x: Any, c: Any) -> list[Scalar]:
        values = list(x)
        for _ in range(100):
            values = [value * c[0] + c[1] for value in values]
        return values

    kernel = compile(chains, inputs={"x": 10, "c": 2})
    x, c = np.ones((4096, 10)), np.array([0.5, 0.25])
    out = kernel(x, c)
    best = min(_time(lambda: kernel.ufunc(x, c, out=out)) for _ in range(50))
    return kernel.flops * len(x) / best / 1e9


def machine_text() -> str:
    """Return processor, Python and NumPy."""
    return f"{host()[1]}, Python {platform.python_version()}, NumPy {np.__version__}"
