"""A kernel called by NumPy, inside jax.jit and by torch, in one run: nanoseconds a state.

    python -m benchmarks.array_libraries [ROBOT ...] [--batch N] [--rounds N] [--reading]

Needs jax or torch, or both.  Results have to have equal bits before anything is timed.  The last
column of a library is its time over that of the NumPy gufunc, best of all rounds.  With --reading,
`array_api_function` takes the place of kernels: each library carries out the operations itself, and
results agree to rounding.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import sixfold as sf
from benchmarks.bench.clock import interleaved

FUNCTIONS = (sf.inverse_dynamics, sf.forward_dynamics)


def in_jax(function: Any, model: sf.Model, arrays: list[Any]) -> tuple[Callable[[], Any], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    given = [jax.numpy.asarray(x) for x in arrays]
    call = jax.jit(sf.interop.jax_function(function, model))
    return lambda: call(*given).block_until_ready(), np.asarray(call(*given))


def in_torch(function: Any, model: sf.Model, arrays: list[Any]) -> tuple[Callable[[], Any], Any]:
    import torch

    given = [torch.from_numpy(x) for x in arrays]
    call = sf.interop.torch_function(function, model)
    return lambda: call(*given), call(*given).numpy()


def reading_in_jax(
    function: Any, model: sf.Model, arrays: list[Any]
) -> tuple[Callable[[], Any], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    given = [jax.numpy.asarray(x) for x in arrays]
    call = sf.interop.array_api_function(function, model)
    return lambda: call(*given).block_until_ready(), np.asarray(call(*given))


def reading_in_a_jit(
    function: Any, model: sf.Model, arrays: list[Any]
) -> tuple[Callable[[], Any], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    given = [jax.numpy.asarray(x) for x in arrays]
    call = jax.jit(sf.interop.array_api_function(function, model))
    return lambda: call(*given).block_until_ready(), np.asarray(call(*given))


def reading_in_torch(
    function: Any, model: sf.Model, arrays: list[Any]
) -> tuple[Callable[[], Any], Any]:
    import torch

    torch.set_num_threads(1)
    given = [torch.from_numpy(x) for x in arrays]
    call = sf.interop.array_api_function(function, model)
    return lambda: call(*given), call(*given).numpy()


def reading_in_numpy(
    function: Any, model: sf.Model, arrays: list[Any]
) -> tuple[Callable[[], Any], Any]:
    call = sf.interop.array_api_function(function, model)
    return lambda: call(*arrays), call(*arrays)


READINGS = {
    "numpy": reading_in_numpy,
    "jax": reading_in_jax,
    "jax.jit": reading_in_a_jit,
    "torch": reading_in_torch,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=["puma560", "panda"])
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--reading", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    libraries = READINGS if options.reading else {"jax": in_jax, "torch": in_torch}
    found = {name: make for name, make in libraries.items() if find_spec(name.partition(".")[0])}
    for name in libraries.keys() - found.keys():
        print(f"{name} is not installed")
    print(f"{'':32}{'NumPy':>8}" + "".join(f"{name:>8}{'':>7}" for name in found))
    for robot in options.robots:
        model = sf.load(robot)
        q, v = sf.random_state(model, options.batch, seed=0)
        third = np.random.default_rng(0).standard_normal(v.shape)
        for function in FUNCTIONS:
            arrays = [q, v, third]
            expected = function(model, *arrays)
            kernel = sf.compile(function, model)
            calls = [lambda kernel=kernel, arrays=arrays: kernel.ufunc(*arrays)]
            for name, make in found.items():
                call, result = make(function, model, arrays)
                near = 1e-13 * np.abs(expected).max() if options.reading else 0.0
                if not np.abs(result - expected).max() <= near:
                    raise SystemExit(f"{name}: {function.__name__} of {robot} has other bits")
                calls.append(call)
            best = [
                min(times) / options.batch * 1e9 for times in interleaved(calls, options.rounds)
            ]
            row = "".join(f"{x:8.1f}{x / best[0]:6.2f}x" for x in best[1:])
            print(f"{robot + ' ' + function.__name__:32}{best[0]:8.1f}{row}")


if __name__ == "__main__":
    main()
