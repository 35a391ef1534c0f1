"""Every closed form is compared with the recursive kernels before anybody sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold import evaluate
from sixfold.arrays import Array
from sixfold.errors import DisagreementError, visible
from sixfold.model import Model
from sixfold.symbolic.forms import Forms
from sixfold.symbolic.polynomial import Polynomial
from sixfold.symbolic.ring import ACCELERATION, COSINE, POSITION, RATE, SINE, Ring, Variable

TOLERANCE = 1e-12


def values_at(ring: Ring, q: Array, v: Array, a: Array | None = None) -> dict[Variable, Any]:
    """Return the value of every variable at states (rows of q, v, a)."""
    given = {POSITION: iter(q.T), RATE: iter(v.T), ACCELERATION: iter((v if a is None else a).T)}
    values: dict[Variable, Any] = {}
    for variable in ring.variables:
        if variable.kind in given:
            values[variable] = next(given[variable.kind])
        elif variable.value is not None:
            values[variable] = variable.value
    for variable in ring.variables:
        if variable.kind in (COSINE, SINE):
            angle = ring.angles[variable.angle]
            total = angle.value + sum(n * q[:, j] for j, n in angle.combination)
            values[variable] = np.cos(total) if variable.kind == COSINE else np.sin(total)
    return values


def evaluated(forms: Any, values: dict[Variable, Any], rows: int) -> Array:
    """Return nested lists of polynomials as an array with one row for each state."""
    if isinstance(forms, Polynomial):
        return np.broadcast_to(np.asarray(forms.evaluate(values.__getitem__), float), (rows,))
    return np.stack([evaluated(x, values, rows) for x in forms], axis=1)


def verify(forms: Forms, model: Model, samples: int = 100, seed: int = 0) -> dict[str, float]:
    """Compare M, V, G and both energies with the kernels; return the relative errors.

    Raises:
        DisagreementError: where one differs by more than rounding.
    """
    bare = model.without(damping=True, friction=True, springs=True)
    still = bare.without(gravity=True)
    q, v = evaluate.random_state(bare, samples, seed=seed)
    pairs = {
        "M": (forms.M, evaluate.mass_matrix(bare, q)),
        "V": (forms.V, evaluate.bias_force(still, q, v)),
        "G": (forms.G, evaluate.gravity_force(bare, q)),
        "T": (forms.kinetic_energy, evaluate.kinetic_energy(bare, q, v)),
        "U": (forms.potential_energy, evaluate.potential_energy(bare, q)),
    }
    values = values_at(forms.symbolic.ring, q, v)  # after the forms: they may make new angles
    # forces may be what is left of larger ones: judge them by the sizes that meet in a state
    weight = sum(float(body.inertia.m) for body in bare.bodies) * np.linalg.norm(bare.gravity)
    force = weight + np.abs(pairs["M"][1]).max() * np.square(v).sum(axis=1).max()
    errors: dict[str, float] = {}
    for name, (form, expected) in pairs.items():
        found = evaluated(form, values, samples)
        scale = force if name in "VG" else np.abs(expected).max()
        errors[name] = float(np.abs(found - expected).max() / (scale or 1.0))
        if not errors[name] <= TOLERANCE:
            raise DisagreementError(
                f"equations of model '{visible(model.name)}': "
                f"{name} differs from the recursive kernels\n"
                f"  expected: a relative difference below {TOLERANCE:g} on {samples} states\n"
                f"  got: {errors[name]:.2g}\n"
                f"  fix: a larger angle_tolerance than the model bears changes its geometry; "
                f"otherwise please report the model"
            )
    return errors
