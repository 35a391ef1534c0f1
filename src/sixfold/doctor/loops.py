"""Checks of constraints: do the loops close, and what do they leave?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sixfold.constraints import mobility
from sixfold.constraints.loops import CLOSED, nearest, size_of
from sixfold.doctor.case import Array, Case
from sixfold.doctor.finding import Finding
from sixfold.errors import StateError
from sixfold.evaluate import constraint_jacobian
from sixfold.model import Model

STILL = 1e-12
"""Largest element of J, of the size of the model, in rows that forbid nothing."""
ALONE = 24
"""Constraints that are tried one by one, at most."""


def loops(case: Case, figures: dict[str, Any]) -> Iterator[Finding]:
    """Find loops that do not close, rows that say nothing new, and mechanisms that cannot move."""
    model = case.model
    if not model.constraints or not model.nv:
        return
    with np.errstate(all="ignore"):
        q, gaps = nearest(model)
    if not np.abs(gaps).max() <= CLOSED * size_of(model):
        yield from _open(case, q, gaps)
        return
    yield from _idle(case, constraint_jacobian(model, q))
    try:
        left = mobility(model, q)
    except StateError:
        return  # near this configuration the loops open
    figures["mobility"] = left.mobility
    values = {"freedoms": left.freedoms, "rows": left.rows, "rank": left.rank}
    if left.redundant:
        what = f"{left.redundant} of {left.rows} constraint rows follow from the others"
        yield case.about_model("constraint-redundant", what, values)
    if not left.mobility:
        what = f"{left.rank} independent rows for {left.freedoms} freedoms: nothing can move"
        yield case.about_model("mechanism-rigid", what, values)


def _open(case: Case, q: Array, gaps: Array) -> Iterator[Finding]:
    """Say which constraints do not close: one by itself, or several only together."""
    model = case.model
    closed = CLOSED * size_of(model)
    alone = {}
    for k, rows in enumerate(_rows(model)[:ALONE]):
        with np.errstate(all="ignore"):
            left = float(np.abs(nearest(model, rows)[1]).max())
        if not left <= closed:
            alone[k] = left
    for k, left in alone.items():
        what = f"{left:.3g} m or rad is left of it, at best"
        yield case.about_constraint("loop-open", k, what, {"left": left})
    if alone:
        return
    J = constraint_jacobian(model, q)
    rank, with_gaps = (int(np.linalg.matrix_rank(x)) for x in (J, np.c_[J, gaps]))
    size = np.abs(gaps)
    among = [k for k, rows in enumerate(_rows(model)) if (size * rows).max() > 0.01 * size.max()]
    names = ", ".join(f"'{model.constraints[k].name}'" for k in among)
    values = {"left": float(size.max()), "rank": rank, "rank_with_gaps": with_gaps}
    what = f"{names}: {size.max():.3g} m or rad is left of them together, at best"
    yield case.about_model("constraints-contradict", what, values)


def _idle(case: Case, J: Array) -> Iterator[Finding]:
    """Find constraints that forbid what the joints of the tree forbid already."""
    for k, rows in enumerate(_rows(case.model)):
        if np.abs(J * rows[:, None]).max() <= STILL * size_of(case.model):
            what = "none of its rows forbids a motion that the joints between its bodies allow"
            yield case.about_constraint("constraint-idle", k, what, {})


def _rows(model: Model) -> list[Array]:
    """Return a mask of its rows for each constraint."""
    ends = np.cumsum([0, *(each.rows for each in model.constraints)])
    numbers = np.arange(model.nc)
    return [((a <= numbers) & (numbers < b)).astype(float) for a, b in pairwise(ends)]
