"""Rollouts of Dask arrays, which are computed later, and of xarray's arrays, with labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sixfold.evaluate import Call
from sixfold.evaluate import call_on_dask_or_xarray as contained
from sixfold.model import Model

ARRAYS = ("q0", "v0", "tau", "parameters", "x0", "f_ext", "inertias")


def in_containers(
    rollout: Callable[..., Any],
    model: Model,
    values: Sequence[Any],
    options: Mapping[str, Any],
    out: Any,
) -> Any:
    """Return a rollout some of whose arrays are Dask's or xarray's, in arrays of that kind.

    Args:
        rollout: the public function.
        model: the robot.
        values: those of ARRAYS.
        options: all others but `out`.
        out: refused.
    """
    tau = values[ARRAYS.index("tau")]
    cores = {
        "q0": ("nq",),
        "v0": ("nv",),
        "tau": ("nv",) if getattr(tau, "ndim", 1) == 1 else ("time", "nv"),
        "parameters": ("parameter",),
        "x0": ("x_coordinate",),
        "f_ext": ("nb", "6"),
        "inertias": ("nb", "10"),
    }
    results = [("q", ("time", "nq")), ("v", ("time", "nv"))]
    stateful = values[ARRAYS.index("x0")] is not None
    if stateful or getattr(options["control"], "x0", None) is not None:
        results.append(("x", ("time", "x_coordinate")))
    run = partial(_on_arrays, rollout, model, dict(options))
    return contained(Call("rollout", run, cores, model, results, _times(options)), values, out)


def _on_arrays(
    rollout: Callable[..., Any], model: Model, options: dict[str, Any], *values: Any
) -> Any:
    """Take the steps of a chunk of states."""
    return rollout(model, **dict(zip(ARRAYS, values, strict=True)), **options)


def _times(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return when the states of the result are reached; nothing where the options are wrong."""
    dt, steps, every = (options[name] for name in ("dt", "steps", "every"))
    if not all(isinstance(n, (int, np.integer)) and n > 0 for n in (steps, every)):
        return {}
    if not isinstance(dt, (int, float)):
        return {}
    return {"time": np.arange(1, steps // every + 1) * every * dt}
