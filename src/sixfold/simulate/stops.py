"""Joint limits as a force law: a spring and a damper that push back beyond the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sixfold.errors import OptionError
from sixfold.evaluate import inverse_mass_matrix
from sixfold.evaluate.arrays import Array
from sixfold.model import Model
from sixfold.scalar import Scalar, if_positive


@dataclass(frozen=True)
class JointStops:
    """How joint limits push back.

    Beyond a limit by x, at outward speed s, the joint feels the force max(0, k x + d s) inward,
    and none within the limits.  With m = 1 / (M^-1)_ii, the inertia that the joint feels at the
    start, k = m / time_constant^2 and d = 2 damping_ratio m / time_constant.

    Args:
        time_constant: how fast the stop reacts [s]; keep it several steps long.
        damping_ratio: 1 stops without a rebound, 0 bounces without a loss.
    """

    time_constant: float = 0.02
    damping_ratio: float = 1.0

    def __post_init__(self) -> None:
        """Refuse numbers that describe no spring and damper."""
        if not _number(self.time_constant) or self.time_constant <= 0:
            raise OptionError("JointStops", "time_constant", "a time > 0", self.time_constant)
        if not _number(self.damping_ratio) or self.damping_ratio < 0:
            raise OptionError("JointStops", "damping_ratio", "a number >= 0", self.damping_ratio)


@dataclass(frozen=True)
class Stop:
    """The stops of one coordinate: its places in q and v, its limits, spring and damper."""

    q: int
    v: int
    lower: float
    upper: float
    stiffness: float
    damping: float

    def force(self, q: Scalar, v: Scalar) -> Scalar:
        """Return the force of both ends, zero within the limits."""
        total: Scalar = 0.0
        if math.isfinite(self.upper):
            total = total - self._push(q - self.upper, v)
        if math.isfinite(self.lower):
            total = total + self._push(self.lower - q, -v)
        return total

    def _push(self, beyond: Scalar, outward: Scalar) -> Scalar:
        pushed = beyond * self.stiffness + outward * self.damping
        return if_positive(beyond, if_positive(pushed, pushed, 0.0), 0.0)


def stops_of(
    model: Model, law: JointStops, q: Array, additive: tuple[tuple[int, int], ...]
) -> tuple[Stop, ...]:
    """Return the stops of all coordinates with finite limits, for a start at configuration q."""
    lower, upper = model.lower_position, model.upper_position
    limited = [(i, j) for i, j in additive if np.isfinite(lower[i]) or np.isfinite(upper[i])]
    if not limited:
        return ()
    felt = 1.0 / np.diagonal(inverse_mass_matrix(model, q))
    rate = 1.0 / law.time_constant
    return tuple(
        Stop(
            i,
            j,
            float(lower[i]),
            float(upper[i]),
            float(felt[j] * rate * rate),
            float(2.0 * law.damping_ratio * felt[j] * rate),
        )
        for i, j in limited
    )


def _number(x: object) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 1e300
