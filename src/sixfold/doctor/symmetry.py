"""Checks of left against right: links whose names make a pair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from sixfold.doctor.case import Array, Case, Part
from sixfold.doctor.codes import Severity
from sixfold.doctor.finding import Finding
from sixfold.evaluate import body_poses, neutral

MASS = 0.02
"""Difference of masses that counts, as a fraction."""
SHAPE = 0.1
"""Difference of moments or centres that counts, as a fraction of the size of either."""
STAND_IN = 1e-3
"""Fraction of the robot's mass below which a part is left alone."""
WORDS = {"left": "right", "Left": "Right", "LEFT": "RIGHT"}
LETTERS = {"l": "r", "L": "R"}
PLANES = (1, 0, 2)
"""Axes across which robots are mirrored, the usual one first."""


def symmetry(case: Case) -> Iterator[Finding]:
    """Find pairs of links, left and right, that differ."""
    parts = {part.name: part for part in case.parts}
    pairs = [
        (part, parts[name]) for part in case.parts for name in mirrored(part.name) if name in parts
    ]
    if not pairs:
        return
    seats = _world(case)
    plane = _plane(pairs, seats)
    for left, right in pairs:
        if max(left.mass, right.mass) <= STAND_IN * case.mass or min(left.mass, right.mass) < 0:
            continue
        yield from _compared(case, left, right, seats, plane)


def mirrored(name: str) -> list[str]:
    """Return the names that the right twin of a left part may have; none for other parts."""
    words = [name.replace(left, right) for left, right in WORDS.items() if left in name]
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


def _compared(
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
    return bool(abs(a[axis]) > tolerance and np.abs(_reflected(a, axis) - b).max() < tolerance)


def _reflected(a: Array, axis: int) -> Array:
    return a * np.where(np.arange(3) == axis, -1.0, 1.0)


def _off_mirror(left: Part, right: Part, seats: Mapping[str, Array], plane: int | None) -> float:
    """Return how far the centres are from mirror images, 0 where the links themselves are not."""
    A, B = seats[left.name], seats[right.name]
    if plane is None or not _mirrors(A[:3, 3], B[:3, 3], plane):
        return 0.0
    a, b = (X[:3, :3] @ part.center + X[:3, 3] for X, part in ((A, left), (B, right)))
    return float(np.hypot.reduce(_reflected(a, plane) - b))
