"""Checks of sizes: masses, lengths and moments that do not fit each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sixfold.doctor.case import Case, Part
from sixfold.doctor.codes import Severity
from sixfold.doctor.extent import Extent
from sixfold.doctor.finding import Finding

TINY = 1e-6
"""Fraction of the robot's mass below which a moving body is suspicious."""
HUGE = 1e3
"""Times the mass of all other parts above which a part is suspicious."""
LONG = 30.0
"""Usual distance between joints [m] above which lengths look like millimetres."""
THOUSANDFOLD = 100.0
"""Times the expected length above which a unit, rather than a mistake, explains it."""
DENSE = 3e5
"""Median of mass / length^3 of links [kg/m^3] above which masses look like grams."""
METAL = 22_600.0
"""Density of osmium [kg/m^3], the densest metal (CRC Handbook)."""
MEASURABLE = 0.02
"""Size of a link [m] above which its density is judged."""
STAND_IN = 1e-3
"""Fraction of the robot's mass below which the moments of a part are a stand-in's."""


def masses(case: Case) -> Iterator[Finding]:
    """Find bodies far lighter, and parts far heavier, than the rest of the robot."""
    total = case.mass
    for k, body in enumerate(case.model.bodies):
        m = float(body.inertia.m)
        if 0 < m < TINY * total:
            what = f"moving body of {m:.3g} kg on a robot of {total:.4g} kg"
            values = {"mass": m, "robot_mass": total}
            yield case.about_part("mass-tiny", case.part_of(k), what, values)
    heavy = sorted((part for part in case.parts if part.mass > 0), key=lambda part: part.mass)
    rest = sum(part.mass for part in heavy[:-1])
    if len(heavy) > 2 and heavy[-1].mass > HUGE * rest:
        part = heavy[-1]
        what = f"{part.mass:.4g} kg, and {rest:.3g} kg for all other links"
        yield case.about_part("mass-huge", part, what, {"mass": part.mass, "others": rest})


def units(case: Case) -> Iterator[Finding]:
    """Find lengths that look like millimetres and masses that look like grams, robot-wide."""
    if case.length > LONG:
        what = f"joints are {case.length:.4g} m apart (median)"
        yield case.about_model("units-millimetres", what, {"median_length": case.length})
    densities = [
        part.mass / extent.size**3
        for part in case.parts
        for extent in [case.extents[part.name]]
        if part.mass > 0 and 1e-3 < extent.size < 1e100
    ]
    dense = float(np.median(densities)) if densities else 0.0
    if dense > DENSE and np.isfinite(dense):
        what = f"links weigh {dense:.3g} kg for each cube of their length [m^3] (median)"
        yield case.about_model("units-grams", what, {"median_density": dense})


def sizes(case: Case) -> Iterator[Finding]:
    """Find centres of mass outside their link, and moments too large for it."""
    for part in case.parts:
        if part.mass > 0 and np.isfinite(part.center).all() and np.isfinite(part.moments).all():
            extent = case.extents[part.name]
            yield from _center(case, part, extent)
            yield from _gyration(case, part, extent)
            yield from _density(case, part, extent)


def _center(case: Case, part: Part, extent: Extent) -> Iterator[Finding]:
    away = extent.outside(part.center)
    size = extent.size if extent.complete else max(extent.size, case.length)
    if size == 0 or not away > (0.5 if extent.complete else 2.0) * size:
        return
    at = ", ".join(f"{x:.4g}" for x in part.center)
    values = {
        "center": [float(x) for x in part.center],
        "outside": away,
        "link_size": size,
    }
    what = f"centre of mass ({at}) m lies {away:.3g} m outside a link of {size:.3g} m"
    code = "units-millimetres" if away > THOUSANDFOLD * size else "center-outside"
    yield case.about_part(code, part, what, values)


def _gyration(case: Case, part: Part, extent: Extent) -> Iterator[Finding]:
    k = part.gyration
    reach = extent.reach(part.center)
    size = reach if extent.complete else max(reach, case.length)
    if size == 0 or not k > (1.5 if extent.complete else 3.0) * size:
        return
    values = {
        "mass": part.mass,
        "principal_moments": [float(x) for x in part.moments],
        "radius_of_gyration": k,
        "link_size": size,
    }
    what = (
        f"moments up to {part.moments[2]:.3g} kg m^2 with {part.mass:.3g} kg: radius of gyration "
        f"{k:.3g} m, link {size:.3g} m"
    )
    light = part.mass < STAND_IN * case.mass
    if k > THOUSANDFOLD * size and not light:
        yield case.about_part("units-inertia", part, what, values)
        return
    severity: Severity = "note" if light else "warning"
    yield case.about_part("gyration-large", part, what, values, severity=severity)


def _density(case: Case, part: Part, extent: Extent) -> Iterator[Finding]:
    volume = float(np.prod(extent.high - extent.low))
    if extent.complete and volume > 1e-6 and part.mass > 10 * METAL * volume:
        density = part.mass / volume
        what = f"{part.mass:.4g} kg in shapes of {volume:.3g} m^3: {density:.3g} kg/m^3"
        values = {"mass": part.mass, "volume": volume, "density": density}
        yield case.about_part("units-grams", part, what, values)
        return
    # a solid of this radius of gyration is at most about 3.5 times as long
    far = float(np.hypot.reduce(part.center))
    size = max(extent.size, case.length, 3.5 * part.gyration, 2 * far)
    if MEASURABLE < size < 1e100 and part.mass > METAL * size**3:
        density = part.mass / size**3
        what = f"{part.mass:.4g} kg on a link of {size:.3g} m: more than {density:.3g} kg/m^3"
        values = {"mass": part.mass, "link_size": size, "density": density}
        yield case.about_part("density-high", part, what, values)
