"""Joint limits that a motion exceeded."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.model import Model
from sixfold.model.validate import beyond_turns


def degree_notes(model: Model, q0: Array) -> tuple[str, ...]:
    """Return a note for starts many turns beyond the limits of a joint.

    Args:
        model: the robot.
        q0: configurations, shape (..., nq).
    """
    found = []
    for free in model.coordinates.free:
        body, start = model.bodies[free.body], q0[..., free.q].reshape(-1, free.joint.nq)
        if not len(start):
            continue
        farthest = start[np.abs(start).argmax(axis=0), range(start.shape[1])]
        for k, angle in beyond_turns(body, farthest.tolist()):
            low, high = body.lower[k], body.upper[k]
            limits = f"its limits {low:.4g} to {high:.4g} rad"
            found.append(f"'{free.q_names[k]}' at {angle:.4g} rad, {limits}")
    if not found:
        return ()
    listed = "; ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
    return (f"many turns beyond the limits: {listed} (numpy.deg2rad converts degrees)",)


def limit_notes(model: Model, t: Array, q: Array, stopped: bool) -> tuple[str, ...]:
    """Return a note for the joints that exceeded a limit without a stop."""
    if stopped or not q.size:
        return ()
    outside = (q < model.lower_position) | (q > model.upper_position)
    over = np.asarray(outside.reshape(-1, len(t), model.nq).any(axis=0))
    joints = np.flatnonzero(over.any(axis=0))
    if not len(joints):
        return ()
    names = model.coordinates.q_names
    first = [f"'{names[k]}' at t = {t[int(np.argmax(over[:, k]))]:.4g} s" for k in joints[:4]]
    more = f" and {len(joints) - 4} more" if len(joints) > 4 else ""
    what = f"beyond their limits: {', '.join(first)}{more}"
    return (f"joints went {what} (limits=True makes them stop)",)
