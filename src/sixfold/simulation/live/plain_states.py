"""States of a stepper's rows for callers within the library that have checked them already."""

from __future__ import annotations

from sixfold.arrays import Array, Shape
from sixfold.simulation.live.checks import are_plain
from sixfold.simulation.live.stepper import Stepper


class PlainStates:
    """Puts rows into states, and looks at states, without the checks of `Stepper.put`."""

    def __init__(self, stepper: Stepper) -> None:
        """Take the stepper."""
        self._stepper = stepper

    @property
    def observed(self) -> Shape | None:
        """Shape of what `observe` says of one row; None without it."""
        look = self._stepper._look
        return None if look is None else tuple(look.layout.outputs[0])

    def fit(self, rows: Array, q: Array, v: Array) -> bool:
        """Return whether states need no check: one for each of some rows by number."""
        return are_plain(self._stepper.model, rows, q, v)

    def put(self, rows: Array, q: Array, v: Array) -> None:
        """Put rows into states, at time zero."""
        self._stepper._write(rows, q, v)

    def observation(self, time: Array, q: Array, v: Array, *parameters: Array) -> Array:
        """Return what `observe` says of states that no row need be in, time as (n, 1)."""
        found: Array = self._stepper._look(time, q, v, *parameters)
        return found
