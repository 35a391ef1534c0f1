"""What may be wrong with a motion in contact: forces that are not solved, bodies in the ground."""

from __future__ import annotations

import warnings

import numpy as np

from sixfold.arrays import Array
from sixfold.dynamics.contact.scene import Scene
from sixfold.errors import ContactResidualWarning, visible
from sixfold.evaluate import body_poses
from sixfold.model import Model
from sixfold.spatial import Vector3

MAX_RESIDUAL = 1e-4
"""Relative residual of the contact solver above which a motion is reported."""
MAX_DEPTH = 5e-3
"""Depth of a contact at the start above which it is reported [m]; soft contacts at rest sink in by
less than a millimetre."""
MAX_BODY_DEPTH = 0.01
"""Depth of a centre of mass below the ground above which it is reported [m]."""


def residual_text(residual: float) -> str:
    """Return what to do about contact forces that are not solved."""
    return (
        f"the contact solver left a relative residual of {residual:.1e} (bound {MAX_RESIDUAL:g}): "
        f"contact forces are not accurate; raise Ground(iterations=...) or make dt smaller"
    )


def warn_residual(caller: str, model: Model, residual: float, stacklevel: int = 3) -> None:
    """Warn if the contact solver did not converge in some step."""
    if residual > MAX_RESIDUAL:
        text = f"{caller} of '{visible(model.name)}': {residual_text(residual)}"
        warnings.warn(text, ContactResidualWarning, stacklevel=stacklevel)


def contact_notes(model: Model, scene: Scene, t: Array, q: Array, gaps: Array) -> tuple[str, ...]:
    """Return notes on starts inside the ground, and on bodies that sink below it.

    Args:
        model: the robot.
        scene: what may touch.
        t: times of the samples.
        q: configurations, shape (..., samples, nq).
        gaps: of the contacts, shape (..., samples, nc).
    """
    notes = []
    if q.size and gaps.size:
        first = gaps.reshape(-1, *gaps.shape[-2:])[:, 0]
        _, k = np.unravel_index(int(np.argmin(first)), first.shape)
        depth = -float(first.min())
        if depth > MAX_DEPTH:
            body = visible(model.bodies[scene.touches[k].ball.body - 1].name)
            notes.append(
                f"body '{body}' starts {1e3 * depth:.3g} mm inside what it touches and is pushed "
                f"out fast: start higher by {depth:.3g} m"
            )
    notes += _sunk_bodies(model, scene, t, q)
    return tuple(notes)


def _sunk_bodies(model: Model, scene: Scene, t: Array, q: Array) -> list[str]:
    """Return a note on bodies whose centres of mass went below the ground: nothing held them."""
    if not scene.grounded or not q.size:
        return []
    poses = body_poses(model, q)
    deepest: list[tuple[float, str, float]] = []
    for k, body in enumerate(model.bodies):
        if not body.inertia.m:
            continue
        center = np.array([float(x) for x in body.inertia.center])
        place = poses[..., k, :3, :3] @ center + poses[..., k, :3, 3]
        distance, _ = scene.surface.meet(Vector3(*np.moveaxis(place, -1, 0)))
        depth = -np.asarray(distance, float).reshape(-1, len(t)).min(axis=0)
        at = int(np.argmax(depth))
        if depth[at] > MAX_BODY_DEPTH:
            deepest.append((float(depth[at]), visible(body.name), float(t[at])))
    if not deepest:
        return []
    depth, name, time = max(deepest)
    others = f" (and {len(deepest) - 1} more bodies)" if len(deepest) > 1 else ""
    return [
        f"the centre of mass of '{name}'{others} went {depth:.3g} m below the ground at "
        f"t = {time:.4g} s: nothing of it can touch; add points to Ground(points=...)"
    ]
