"""Joint limits that a motion exceeded."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.model import Model


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
