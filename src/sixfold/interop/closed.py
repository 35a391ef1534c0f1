"""Constrained dynamics of two libraries, side by side, where both have the constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sixfold.choices import Backend
from sixfold.constraints import assemble
from sixfold.errors import NotApplicableError, StateError
from sixfold.evaluate import (
    constraint_jacobian,
    forward_dynamics,
    integrate,
    mass_matrix,
    project,
    random_state,
)
from sixfold.interop.converter import Converter
from sixfold.interop.differences import Array, Difference, strength
from sixfold.model import Model

TOLERANCE = 1e-9
"""Of accelerations, relative to the largest, weighed by the roots of M's diagonal."""
SPREADS = (0.5, 0.1, 0.0)
"""Sizes of steps from an assembled configuration [rad or m]; the first from which all close."""
QUANTITY = "constrained dynamics"


def constrained_difference(
    model: Model, engine: Any, c: Converter, samples: int, seed: int, backend: Backend | None
) -> tuple[Difference | None, str]:
    """Return the worst difference of constrained accelerations, or why there is none."""
    several = len(model.constraints) > 1
    count = f"{len(model.constraints)} constraint{'s' * several}"
    tree = f"the tree without {'them' if several else 'it'} is compared"
    if not hasattr(engine, "constrained"):
        return None, f"{count}: soft in {engine.name}, {tree}"
    if model.couplings:
        return None, f"{count}: coupled joints are free in {engine.name}, {tree}"
    try:
        solve = engine.constrained(model)
        q, v, tau = _states(model, samples, seed)
    except (NotApplicableError, StateError) as error:
        reason = str(error).partition("\n")[0]
        return None, f"{count}: {reason}; {tree}"
    at, speed, push = c.q_to(q), c.v_to(q, v), c.tau_to(q, tau)
    there = np.array([solve(*state) for state in zip(at, speed, push, strict=True)])
    theirs = c.a_from(at, speed, there)
    first, *others = (
        _difference(model, _ours(model, q, v, tau, each), theirs, q)
        for each in ((None, "numpy") if backend is None else (backend,))
    )
    if others:
        first = replace(first, numpy=others[0])
    return first, f"{count}: left out of all but {QUANTITY}, at states that satisfy them"


def _states(model: Model, samples: int, seed: int) -> tuple[Array, Array, Array]:
    """Return random states that satisfy the constraints, and joint forces."""
    rng = np.random.default_rng(seed)
    start = assemble(model)
    _, v = random_state(model, samples, seed=rng)
    step, push = rng.standard_normal((2, samples, model.nv))
    _, s, Vt = np.linalg.svd(constraint_jacobian(model, start))
    free = Vt[int((s > 1e-9 * s.max(initial=1e-300)).sum()) :]
    along = step @ free.T @ free
    for spread in SPREADS:
        try:
            q = assemble(model, integrate(model, start, spread * along))
            break
        except StateError:
            if not spread:
                raise
    q, v = project(model, q, v)
    return q, v, push * strength(_bare(model), q, v)


def _bare(model: Model) -> Model:
    return model.without(damping=True, friction=True, springs=True)


def _ours(model: Model, q: Array, v: Array, tau: Array, backend: Backend | None) -> Array:
    options: dict[str, Any] = {} if backend is None else {"backend": backend}
    return np.asarray(forward_dynamics(_bare(model), q, v, tau, **options))


def _difference(model: Model, ours: Array, theirs: Array, q: Array) -> Difference:
    weight = np.sqrt(np.einsum("...ii->...i", mass_matrix(model, q, backend="numpy")))
    error = np.abs((ours - theirs) * weight).max(-1)
    size = np.maximum(np.abs(ours * weight), np.abs(theirs * weight)).max(-1)
    with np.errstate(all="ignore"):
        relative = np.where(error == 0, 0.0, error / size)
    state = int(np.argmax(relative))
    return Difference(QUANTITY, float(relative[state]), TOLERANCE, state)
