"""Whether measured forces have the size that the loaded model makes: their units."""

from __future__ import annotations

import numpy as np

from sixfold.evaluate import inverse_dynamics
from sixfold.identification.findings import DataFinding, listed
from sixfold.identification.fit.columns import Problem
from sixfold.identification.fit.probe import Probe

STRANGE = 4.0
"""Factor between measured and loaded forces, either way, that is not the error of a drawing."""
EXPLAINED = 0.5
"""Share of the squares that the loaded model has to explain for its size to say something."""
LIGHT = 0.02
"""Force of a joint relative to the largest one below which it says nothing."""
UNITS = {1e3: "N mm", 10.197: "kgf cm", 8.8507: "lbf in", 141.61: "ozf in"}
"""Units in which 1 N m is that number."""


def strange_forces(problem: Problem, probe: Probe) -> list[DataFinding]:
    """Return a finding if forces are many times those of the loaded model, or a small part.

    Each joint's measured force is fitted by that of the loaded bodies, times a factor, and by
    friction and an offset.
    """
    q, v, a, tau, *rest = probe.chunk
    bare = problem.model.without(friction=True, damping=True, springs=True)
    made = inverse_dynamics(bare, q, v, a, rest[0] if rest else None)
    sizes = np.sqrt((made**2).mean(axis=0))
    gains = np.array(problem.choice.gains)
    factors = {}
    for j in problem.choice.joints:
        if np.isnan(gains[j]) or sizes[j] <= LIGHT * sizes.max():
            continue
        # what friction and an offset leave of both
        X = np.column_stack([v[:, j], np.sign(v[:, j]), np.ones(len(v))])
        pair = np.column_stack([made[:, j], tau[:, j] * gains[j]])
        pair -= X @ np.linalg.lstsq(X, pair, rcond=None)[0]
        (own, cross), (_, total) = pair.T @ pair
        if own > 0 and total > 0 and cross > 0 and cross**2 > EXPLAINED * own * total:
            factors[problem.model.coordinates.v_names[j]] = float(cross / own)
    if not factors:
        return []
    usual = float(np.median(list(factors.values())))
    odd = [name for name, x in factors.items() if max(x / usual, usual / x) > STRANGE]
    if max(usual, 1 / usual) > STRANGE:
        what = f"torques are about {usual:.3g} times those of the loaded model"
        unit = [word for size, word in UNITS.items() if abs(usual / size - 1) < 0.25]
        what += f": perhaps in {unit[0]}" if unit else ": perhaps currents, or other units"
    elif odd:
        what = f"the torque of {listed(odd)} is {factors[odd[0]]:.3g} times that of the loaded "
        what += f"model, those of other joints {usual:.3g} times"
    else:
        return []
    return [DataFinding("warning", "torque-scale", what, {"factors": factors})]
