"""What the other engines have in common: a robot beside ours, and loops over its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.bench.engines.engines import LOOPED, States, Way
from sixfold.arrays import Array
from sixfold.errors import NotApplicableError
from sixfold.model import Model, Prismatic, Revolute

Single = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of one state, and what it takes before the state."""
ALONE = "name another robot to see this column"


@dataclass(frozen=True)
class Peer:
    """A robot in another engine beside the same robot here."""

    library: Any
    robot: Any
    order: tuple[int, ...]
    """Which of our coordinates each of theirs is."""

    def theirs(self, rows: Array) -> Array:
        """Return rows of coordinates in the other order."""
        return np.ascontiguousarray(rows[:, self.order])

    def ours(self, values: Array) -> Array:
        """Return their vectors or matrices in our order."""
        back = np.argsort(self.order)
        return values[:, back] if values.ndim == 2 else values[:, back[:, None], back]


def refuse_others(model: Model, engine: str) -> None:
    """Raise for a model with couplings, or with joints that are not revolute or prismatic."""
    what = f"the comparison with {engine}"
    if model.couplings:
        raise NotApplicableError(what, f"'{model.name}', which has couplings", ALONE)
    for body in model.bodies:
        if not isinstance(body.joint, (Revolute, Prismatic)):
            where = f"'{model.name}': joint '{body.joint_name}' is {body.joint.kind}"
            raise NotApplicableError(what, where, ALONE)


def looped(peer: Peer, engine: str, how: str, one: Single, function: str, states: States) -> Way:
    """Return the way that calls a function of one state for each of the first states."""
    call, fixed = one
    rows = [
        (*fixed, *row)
        for row in zip(*(peer.theirs(x[:LOOPED]) for x in states.of(function)), strict=True)
    ]

    def values(n: int) -> Array:
        return peer.ours(np.array([np.array(call(*row)) for row in rows[:n]]))

    return Way(engine, f"{how} in a Python loop", len(rows), loop(call, rows), values)


def loop(call: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> Callable[[], None]:
    """Return a loop over calls whose arguments lie ready, so that little but the calls is timed."""

    def run() -> None:
        for row in rows:
            call(*row)

    return run
