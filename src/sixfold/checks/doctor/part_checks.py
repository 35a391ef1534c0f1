"""Checks of the parts of a robot: inertias, sizes, and left against right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sixfold.checks.doctor.case import POINT, Array, Case, Extent, Part
from sixfold.checks.doctor.finding import Finding
from sixfold.quantities.configurations import neutral
from sixfold.quantities.kinematics import body_poses
from sixfold.show import Severity
from sixfold.spatial import Inertia

ROUNDING = 1e-9  #: Fraction of the largest moment that counts as rounding.
MEASURED = 0.1  #: Fraction of the largest moment that measuring and printing may explain.


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
    # bodies that no part of the list stands for
    yield from _absent(case)


def _massless(case: Case, part: Part) -> Iterator[Finding]:
    if part.moments.any():
        what = f"mass 0 kg but moments up to {part.moments[2]:.3g} kg m^2"
        yield case.about_part("inertia-massless", part, what, _values(part))
        if part.kind == "body":
            return
    if part.kind == "body" and case.model.origin is not None and not part.line:
        return  # a body that the file has no name for: it stands between two joints of one link
    # a massless link is harmless while something fixed to it has mass
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
    # allow for the rounding of the file and of moving the tensor to the centre
    rounding = ROUNDING * scale + part.rounding
    point = POINT**2 * abs(part.mass)
    excess = high - low - middle
    # a negative moment is reported alone; it violates the triangle inequality as well
    if low < -(rounding + point):
        what = f"{shown}: the first is negative"
        values = {**_values(part), "negative": -low / scale}
        yield case.about_part("inertia-not-positive", part, what, values)
    elif part.mass and excess > rounding:
        what = (
            f"{shown}: the last exceeds the sum of the others by {excess:.3g} kg m^2 "
            f"({excess / scale:.2g} of it)"
        )
        # large violations cannot be measured; those of a point mass are rounding
        severity: Severity = "error" if excess > MEASURED * scale else "warning"
        severity = "note" if scale <= point else severity
        values = {**_values(part), "excess": excess, "relative_excess": excess / scale}
        yield case.about_part("inertia-triangle", part, what, values, severity=severity)


def _weighs_nothing(inertia: Inertia) -> bool:
    return not inertia.array().any()


def _values(part: Part) -> dict[str, Any]:
    return {"mass": part.mass, "principal_moments": [float(x) for x in part.moments]}


TINY = 1e-6  #: Fraction of the robot's mass below which a moving body is suspicious.
HUGE = 1e3  #: Times the mass of all other parts above which a part is suspicious.
LONG = 30.0  #: Usual distance between joints [m] above which lengths look like millimetres.
#: Times the expected length above which a unit, rather than a mistake, explains it.
THOUSANDFOLD = 100.0
DENSE = 3e5  #: Median of mass / length^3 of links [kg/m^3] above which masses look like grams.
METAL = 22_600.0  #: Density of osmium [kg/m^3], the densest metal (CRC Handbook).
MEASURABLE = 0.02  #: Size of a link [m] above which its density is judged.
LIGHT_PART = 1e-3  #: Fraction of the robot's mass below which a part is taken for a stand-in.


def masses(case: Case) -> Iterator[Finding]:
    """Find bodies far lighter, and parts far heavier, than the rest of the robot."""
    total = case.mass
    for k, body in enumerate(case.model.bodies):
        # a moving body by itself, whatever is fixed to it included
        m = float(body.inertia.m)
        if 0 < m < TINY * total:
            what = f"moving body of {m:.3g} kg on a robot of {total:.4g} kg"
            values = {"mass": m, "robot_mass": total}
            yield case.about_part("mass-tiny", case.part_of(k), what, values)
    # one part heavier than a thousand times all others
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
    # mass over cubed length, as few links have shapes of known volume
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
    # twice the size where only joints and frames are known, half where shapes are
    away = extent.outside(part.center)
    size = extent.size if extent.complete else max(extent.size, case.length)
    if size == 0 or not away > (0.5 if extent.complete else 2.0) * size:
        return
    at = ", ".join(f"{x:.4g}" for x in part.center)
    values = {"center": [float(x) for x in part.center], "outside": away, "link_size": size}
    what = f"centre of mass ({at}) m lies {away:.3g} m outside a link of {size:.3g} m"
    code = "units-millimetres" if away > THOUSANDFOLD * size else "center-outside"
    yield case.about_part(code, part, what, values)


def _gyration(case: Case, part: Part, extent: Extent) -> Iterator[Finding]:
    k = part.gyration
    # no mass lies farther from the centre than the farthest corner of the link
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
    # stand-ins of simulators have round numbers for inertia
    light = part.mass < LIGHT_PART * case.mass
    if k > THOUSANDFOLD * size and not light:
        yield case.about_part("units-inertia", part, what, values)
        return
    severity: Severity = "note" if light else "warning"
    yield case.about_part("gyration-large", part, what, values, severity=severity)


def _density(case: Case, part: Part, extent: Extent) -> Iterator[Finding]:
    # the box of all shapes holds at least their volume
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


MASS = 0.02  #: Difference of masses that counts, as a fraction.
SHAPE = 0.1  #: Difference of moments or centres that counts, as a fraction of the size of either.
WORDS = {"left": "right", "Left": "Right", "LEFT": "RIGHT"}
LETTERS = {"l": "r", "L": "R"}
PLANES = (1, 0, 2)  #: Axes across which robots are mirrored, the usual one first.


def symmetry(case: Case) -> Iterator[Finding]:
    """Find pairs of links, left and right, that differ."""
    parts = {part.name: part for part in case.parts}
    pairs = [
        (part, parts[name])
        for part in case.parts
        for name in mirror_names(part.name)
        if name in parts
    ]
    if not pairs:
        return
    # where parts lie at the neutral position, and the plane between left and right
    seats = _world(case)
    plane = _plane(pairs, seats)
    for left, right in pairs:
        if max(left.mass, right.mass) <= LIGHT_PART * case.mass or min(left.mass, right.mass) < 0:
            continue
        yield from _compare_sides(case, left, right, seats, plane)


def mirror_names(name: str) -> list[str]:
    """Return the names that the right twin of a left part may have; none for other parts."""
    # names such as left_arm
    words = [name.replace(left, right) for left, right in WORDS.items() if left in name]
    # names such as l_arm, arm.L
    letters = [
        re.sub(rf"(^|[_.\-/]){left}(?=$|[_.\-/])", rf"\g<1>{right}", name)
        for left, right in LETTERS.items()
    ]
    # camel case: LShoulder, and its like with two letters such as LF_HAA or lf_foot
    letters += [
        re.sub(rf"(^|[_.\-/]){left}(?={more})", rf"\g<1>{right}", name)
        for left, right, more in (("L", "R", "[A-Z]"), ("l", "r", "[fhm]_"))
    ]
    return [other for other in dict.fromkeys([*words, *letters]) if other != name]


def _compare_sides(
    case: Case, left: Part, right: Part, seats: Mapping[str, Array], plane: int | None
) -> Iterator[Finding]:
    differences, values = [], {"left_mass": left.mass, "right_mass": right.mass}
    severity: Severity = "note"
    heavier = max(left.mass, right.mass)
    if abs(left.mass - right.mass) > MASS * heavier:
        differences.append(f"masses {left.mass:.4g} and {right.mass:.4g} kg")
        severity = "warning"
    scale = float(max(left.moments[2], right.moments[2]))
    if np.abs(left.moments - right.moments).max() > SHAPE * scale and left.gyration > 1e-6:
        a, b = (" ".join(f"{x:.3g}" for x in part.moments) for part in (left, right))
        differences.append(f"principal moments {a} and {b} kg m^2")
    away = _off_mirror(left, right, seats, plane)
    if away > 0.005 + SHAPE * max(np.hypot.reduce(left.center), np.hypot.reduce(right.center)):
        values["off_mirror"] = away
        differences.append(f"centres of mass {away:.3g} m from each other's mirror image")
    if differences:
        what = f"differs from {right.where}: " + "; ".join(differences)
        yield case.about_part("asymmetric", left, what, values, severity=severity)


def _world(case: Case) -> dict[str, Array]:
    """Return the pose of each part at the neutral configuration, 4x4."""
    poses = body_poses(case.model, neutral(case.model), backend="numpy")
    found = {}
    for part in case.parts:
        local = np.array(part.placement.pose(), float)
        found[part.name] = (poses[part.body] if part.body >= 0 else np.eye(4)) @ local
    return found


def _plane(pairs: list[tuple[Part, Part]], seats: Mapping[str, Array]) -> int | None:
    """Return the axis across which most pairs of origins are mirrored, if most are."""
    for axis in PLANES:
        good = sum(_mirrors(seats[a.name][:3, 3], seats[b.name][:3, 3], axis) for a, b in pairs)
        if good > 0.5 * len(pairs):
            return axis
    return None


def _mirrors(a: Array, b: Array, axis: int, tolerance: float = 1e-3) -> bool:
    return bool(abs(a[axis]) > tolerance and np.abs(_reflect(a, axis) - b).max() < tolerance)


def _reflect(a: Array, axis: int) -> Array:
    return a * np.where(np.arange(3) == axis, -1.0, 1.0)


def _off_mirror(left: Part, right: Part, seats: Mapping[str, Array], plane: int | None) -> float:
    """Return how far the centres are from mirror images, 0 where the links themselves are not."""
    A, B = seats[left.name], seats[right.name]
    if plane is None or not _mirrors(A[:3, 3], B[:3, 3], plane):
        return 0.0
    a, b = (X[:3, :3] @ part.center + X[:3, 3] for X, part in ((A, left), (B, right)))
    return float(np.hypot.reduce(_reflect(a, plane) - b))
