"""Checks of masses and moments, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sixfold.doctor.case import POINT, Case, Part
from sixfold.doctor.codes import Severity
from sixfold.doctor.finding import Finding
from sixfold.spatial import Inertia

ROUNDING = 1e-9
"""Fraction of the largest moment that counts as rounding."""
MEASURED = 0.1
"""Fraction of the largest moment that measuring and printing may explain."""


def inertias(case: Case) -> Iterator[Finding]:
    """Find inertias that no body can have, and masses that are zero or negative."""
    for part in case.parts:
        if part.inertia is None:
            continue
        if part.mass < 0:
            what = f"mass {part.mass:g} kg"
            yield case.about_part("mass-negative", part, what, {"mass": part.mass})
        elif part.mass == 0:
            yield from _massless(case, part)
        elif not part.moments.any():
            what = f"mass {part.mass:.4g} kg and no moments of inertia"
            yield case.about_part("inertia-point", part, what, {"mass": part.mass})
        yield from _impossible(case, part)
    yield from _absent(case)


def _massless(case: Case, part: Part) -> Iterator[Finding]:
    if part.moments.any():
        what = f"mass 0 kg but moments up to {part.moments[2]:.3g} kg m^2"
        yield case.about_part("inertia-massless", part, what, _values(part))
        if part.kind == "body":
            return
    if part.kind == "body" and case.model.origin is not None and not part.line:
        return  # a body that the file has no name for: it stands between two joints of one link
    alone = part.body >= 0 and _weighs_nothing(case.model.bodies[part.body].inertia)
    what = "mass 0 kg" + (", and nothing else on this moving body" if alone else "")
    severity: Severity = "warning" if alone else "note"
    yield case.about_part("mass-zero", part, what, {"mass": 0.0}, severity=severity)


def _absent(case: Case) -> Iterator[Finding]:
    """Find moving bodies for which no file line gives an inertia, not even a zero one."""
    given = {part.body for part in case.parts if part.kind == "body" or part.inertia is not None}
    for k, body in enumerate(case.model.bodies):
        if k not in given:
            what = f"moves by joint '{body.joint_name}' and has no inertia"
            yield case.about_part("inertia-absent", case.part_of(k), what, {})


def _impossible(case: Case, part: Part) -> Iterator[Finding]:
    """Find negative moments, else a moment above the sum of the others: one finding at most."""
    low, middle, high = (float(x) for x in part.moments)
    scale = max(abs(low), abs(high))
    if not np.isfinite(scale) or scale == 0:
        return
    shown = f"principal moments {low:.4g}, {middle:.4g}, {high:.4g} kg m^2"
    rounding = ROUNDING * scale + part.rounding
    point = POINT**2 * abs(part.mass)
    excess = high - low - middle
    if low < -(rounding + point):
        what = f"{shown}: the first is negative"
        values = {**_values(part), "negative": -low / scale}
        yield case.about_part("inertia-not-positive", part, what, values)
    elif part.mass and excess > rounding:
        what = (
            f"{shown}: the last exceeds the sum of the others by {excess:.3g} kg m^2 "
            f"({excess / scale:.2g} of it)"
        )
        severity: Severity = "error" if excess > MEASURED * scale else "warning"
        severity = "note" if scale <= point else severity
        values = {**_values(part), "excess": excess, "relative_excess": excess / scale}
        yield case.about_part("inertia-triangle", part, what, values, severity=severity)


def _weighs_nothing(inertia: Inertia) -> bool:
    return not inertia.array().any()


def _values(part: Part) -> dict[str, Any]:
    return {"mass": part.mass, "principal_moments": [float(x) for x in part.moments]}
