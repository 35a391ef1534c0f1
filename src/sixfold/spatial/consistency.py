"""Can a real body have this inertia?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixfold.errors import ArgumentError, NumberError, OptionError, shown
from sixfold.scalar import is_number, together
from sixfold.spatial.inertia import Inertia


class Consistency(NamedTuple):
    """What a physical-consistency test found; amounts are relative to the largest moment."""

    principal_moments: tuple[float, float, float]
    negative_mass: bool
    not_positive: float
    triangle_excess: float

    @property
    def physical(self) -> bool:
        """True when some distribution of positive mass has this inertia."""
        return not (self.negative_mass or self.not_positive > 0 or self.triangle_excess > 0)


def physical_consistency(inertia: Inertia, tolerance: float = 1e-9) -> Consistency:
    """Test mass >= 0, moments >= 0 and the triangle inequality about the centre of mass.

    A body of positive mass density has principal moments with A + B >= C; a body of zero mass has
    no rotational inertia of its own, which is reported through `not_positive` only when negative.

    Args:
        inertia: ten float parameters.
        tolerance: amounts up to this fraction of the largest moment count as rounding.

    Returns:
        What was found; `.physical` is the verdict.

    Example:
        >>> import sixfold as sf
        >>> sf.physical_consistency(sf.Inertia.from_mass(1.0, rotational=(1, 1, 3))).physical
        False
    """
    where = "physical_consistency"
    if not isinstance(inertia, Inertia):
        fix = "make one with Inertia.from_mass(...)"
        raise ArgumentError(f"{where}: argument 'inertia'", "an Inertia", inertia, fix)
    if not is_number(tolerance) or np.ndim(tolerance) or not tolerance >= 0:
        raise OptionError(where, "tolerance", "a number >= 0", tolerance)
    with together(where):
        matrix = np.array(inertia.about_center.matrix(), float)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        fix = "give one inertia in finite floats"
        raise NumberError(where, "ten finite numbers", shown(inertia), fix)
    moments = np.linalg.eigvalsh(matrix)
    scale = max(float(np.abs(moments).max()), np.finfo(float).tiny)
    a, b, c = (float(x) for x in moments)
    negative = max(0.0, -a / scale)
    excess = max(0.0, (c - a - b) / scale)
    return Consistency(
        (a, b, c),
        not float(inertia.m) >= 0,
        negative if negative > tolerance else 0.0,
        excess if excess > tolerance else 0.0,
    )
