"""What keeps constraints from drifting apart in time."""

from __future__ import annotations

from typing import NamedTuple


class Stabilization(NamedTuple):
    """What keeps constraints from drifting apart."""

    rate: float | None = None
    """Gaps are pulled shut like exp(-rate t) by the constraint forces (Baumgarte 1972)."""
    projects: bool = False
    """States are projected after each step."""


NO_STABILIZATION = Stabilization()
"""For models without constraints, and for those that may drift."""
