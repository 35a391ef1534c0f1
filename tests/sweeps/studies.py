"""Studies that several tests run."""

from __future__ import annotations

import numpy as np

import sixfold as sf

ARM = sf.load("puma560")
ROWS = 3000
REDUCTIONS = ("mean", "deviation", "covariance", "extremes", "quantiles")


def draw():
    """Return configurations within limits, and velocities."""
    return {
        "q": sf.sweeps.draws.configuration(ARM),
        "v": sf.sweeps.draws.normal(np.zeros(6), 0.5),
        "load": sf.sweeps.draws.log_uniform(0.1, 10.0),
    }


def torques(q, v, load):
    """Return joint forces and the kinetic energy, two results by name."""
    tau = sf.inverse_dynamics(ARM, q, v, np.zeros_like(v)) * load[:, None]
    return {"tau": tau, "energy": sf.kinetic_energy(ARM, q, v)}


def reduced(engine="serial", rows=ROWS, **options):
    """Return the sweep of all that."""
    return sf.sweeps.sweep(
        torques, rows, seed=7, draw=draw(), reduce=list(REDUCTIONS), engine=engine, **options
    )


def same(one, other):
    """Return whether two results are equal to the last bit, whatever they are made of."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)


def same_sweeps(one, other):
    return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
