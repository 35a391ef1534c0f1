"""Couplings of joints that follow others, brought down to joints that are free."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from sixfold.errors import ModelError
from sixfold.model.body import Body


def resolved(
    law: dict[int, tuple[dict[int, float], float]], bodies: list[Body]
) -> dict[int, tuple[dict[int, float], float]]:
    """Replace followers of followers by their own masters.

    Args:
        law: for each follower {number of a master: ratio} and the offset.
        bodies: of the model; their joints name those that follow each other in a loop.
    """
    graph = {k: [m for m in terms if m in law] for k, (terms, _) in law.items()}
    try:
        masters_first = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        names = [bodies[k].joint_name for k in error.args[1][1:]]
        what = "follow each other in a loop"
        raise ModelError(f"joints {names}", what, "name one master") from None
    free: dict[int, tuple[dict[int, float], float]] = {}
    for k in masters_first:
        terms, offset = law[k]
        total: dict[int, float] = {}
        for m, ratio in terms.items():
            inner, shift = free.get(m, ({m: 1.0}, 0.0))
            for other, r in inner.items():
                total[other] = total.get(other, 0.0) + ratio * r
            offset += ratio * shift
        free[k] = (total, offset)
    return free
