"""A trajectory as plots over time, for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.show import Panel, block, curves, plain


def shown_motion(motion: Any) -> str:
    """Return a `Trajectory` as HTML: its summary, q, v, tau, contact forces and energies."""
    lines = "".join(f"<p>{plain(line)}</p>" for line in motion.summary())
    if not len(motion) or 0 in motion.lead:
        return block(lines)
    one = motion.select(*(0 for _ in motion.lead))
    note = f"<p>shown: the first of {int(np.prod(motion.lead))} motions</p>" if motion.lead else ""
    return block(lines, note, curves(one.t, _panels(one)))


def _panels(motion: Any) -> list[Panel]:
    places = motion.model.coordinates
    found = [
        Panel("positions q", places.q_names, motion.q),
        Panel("velocities v", places.v_names, motion.v),
    ]
    if np.any(motion.tau):
        found.append(Panel("joint forces", places.v_names, motion.tau))
    if motion.contact_forces is not None and motion.contact_normals is not None:
        along = (motion.contact_forces * motion.contact_normals).sum(axis=-1)
        names = [f"contact {k}" for k in range(along.shape[1])]
        found.append(Panel("contact forces along the normals [N]", names, along))
    energies = np.stack([motion.kinetic, motion.potential, motion.total], axis=1)
    found.append(Panel("energy [J]", ("kinetic", "potential", "total"), energies))
    return [panel for panel in found if len(panel.names)]
