"""Constraints in time: a start that satisfies them, and what keeps them from drifting apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, OptionError, StateError, visible
from sixfold.evaluate import constraint_gaps, constraint_jacobian, project
from sixfold.model import Model
from sixfold.simulation.stabilization import NO_STABILIZATION, Stabilization

MAX_START_GAP = 1e-4
"""Largest gap [m or rad] at the start that is closed without a word."""
MAX_START_RATE = 1e-3
"""Largest rate of a gap at the start, of the largest velocity, that is taken away in silence."""
ONE_STEP = ("DOP853", "RK45", "RK23")
"""Solvers of "solve_ivp" that begin each step anew, so that a state may be projected between."""
DEFAULT_RATE = 20.0
"""Baumgarte's rate [1/s] for solvers that keep a history."""


def stabilization_of(
    function: str, model: Model, stabilize: Any, solver: str | None = None
) -> Stabilization:
    """Return what keeps the constraints of a model, or say what is wrong with the option."""
    if not model.constraints:
        if stabilize is not None:
            where = f"model '{model.name}', which has no constraints"
            raise NotApplicableError(f"{function}: option 'stabilize'", where, "leave it out")
        return NO_STABILIZATION
    history = solver is not None and solver not in ONE_STEP
    if stabilize is None:
        return Stabilization(DEFAULT_RATE) if history else Stabilization(projects=True)
    if isinstance(stabilize, str) and stabilize == "project":
        if history:
            where, fix = f"solver '{solver}', which keeps a history", f"choose {ONE_STEP[0]}"
            raise NotApplicableError(f"{function}: stabilize='project'", where, fix)
        return Stabilization(projects=True)
    number = isinstance(stabilize, (int, float)) and not isinstance(stabilize, bool)
    if not number or not 0 <= stabilize < 1e9:
        words = '"project", or a rate >= 0 [1/s]'
        raise OptionError(function, "stabilize", words, stabilize)
    return Stabilization(float(stabilize) if stabilize else None)


def closed_start(function: str, model: Model, arrays: dict[str, Array]) -> None:
    """Let q0 and v0 satisfy the constraints; refuse those that are far from it."""
    if not model.constraints:
        return
    q, v = arrays["q0"], arrays["v0"]
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    gaps = np.abs(constraint_gaps(model, q))
    _refuse(function, model, "q0", gaps, MAX_START_GAP, "gapes by {:.3g} m or rad", "assemble")
    wide = np.broadcast_to(v, (*lead, model.nv))
    rates = np.abs((constraint_jacobian(model, q) @ wide[..., None])[..., 0])
    limit = MAX_START_RATE * np.abs(v).max(initial=0.0)
    _refuse(function, model, "v0", rates, limit, "opens at {:.3g} m/s or rad/s", "project")
    arrays["q0"], arrays["v0"] = project(model, np.broadcast_to(q, (*lead, model.nq)), wide)


def _refuse(
    function: str, model: Model, name: str, found: Array, limit: float, words: str, use: str
) -> None:
    bad = found > limit
    if not bad.any():
        return
    row = int(np.unravel_index(int(np.argmax(found)), found.shape)[-1])
    call = {"assemble": "q0 = sixfold.assemble(model, q0)"}.get(
        use, "q0, v0 = sixfold.project(model, q0, v0)"
    )
    raise StateError(
        f"{function}: argument '{name}', constraint '{visible(model.constraint_rows[row])}'",
        "a start that satisfies the constraints",
        words.format(float(found.max())),
        call,
    )
