"""Joint limits as a force law: a spring and a damper that push back beyond the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, OptionError, real_number
from sixfold.model import Model
from sixfold.quantities.dynamics import inverse_mass_matrix
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

    Example:
        >>> import sixfold as sf
        >>> mass, builder = sf.Inertia.from_mass(1.0), sf.ModelBuilder("drop")
        >>> slide = {"joint": sf.Prismatic("z"), "lower": -0.5, "upper": 1.0}
        >>> model = builder.add_body("block", inertia=mass, **slide).build()
        >>> run = sf.simulate(model, None, None, 2.0, limits=sf.JointStops(time_constant=0.02))
        >>> run.q[-1].round(3)  # rests m g / k = 9.81 (0.02)^2 m beyond the limit
        array([-0.504])
    """

    time_constant: float = 0.02
    damping_ratio: float = 1.0

    def __post_init__(self) -> None:
        """Refuse parameters that describe no spring and damper."""
        time, ratio = self.time_constant, self.damping_ratio
        real_number("JointStops", "time_constant", time, "a time > 0 [s]", lambda x: x > 0)
        real_number("JointStops", "damping_ratio", ratio, "a number >= 0", lambda x: x >= 0)


@dataclass(frozen=True)
class Stop:
    """The stops of one coordinate: its places in q and v, and its limits."""

    q: int
    v: int
    lower: float
    upper: float

    def force(self, q: Scalar, v: Scalar, stiffness: Scalar, damping: Scalar) -> Scalar:
        """Return the force of both ends, zero within the limits."""

        def push(beyond: Scalar, outward: Scalar) -> Scalar:
            pushed = beyond * stiffness + outward * damping
            return if_positive(beyond, if_positive(pushed, pushed, 0.0), 0.0)

        total: Scalar = 0.0
        if math.isfinite(self.upper):
            total = total - push(q - self.upper, v)
        if math.isfinite(self.lower):
            total = total + push(self.lower - q, -v)
        return total


def stops_of(
    function: str, model: Model, limits: Any, q: Array, inertias: Array | None = None
) -> tuple[tuple[Stop, ...], Array | None]:
    """Return the stops of all coordinates with finite limits, and their gains.

    Args:
        function: the caller, for messages.
        model: the robot.
        limits: the option: True, None or JointStops.
        q: configurations at the start, shape (..., nq).
        inertias: inertial parameters instead of the model's own, shape (..., nb, 10).

    Returns:
        The stops, and stiffness and damping of each, one after the other, for each start.
    """
    if limits is None or limits is False:
        return (), None
    law = JointStops() if limits is True else limits
    if not isinstance(law, JointStops):
        raise OptionError(function, "limits", (True, None, "sixfold.JointStops(...)"), limits)
    lower, upper = model.lower_position, model.upper_position
    stops = tuple(
        Stop(i, j, float(lower[i]), float(upper[i]))
        for i, j in model.coordinates.additive
        if np.isfinite(lower[i]) or np.isfinite(upper[i])
    )
    if not stops:
        where = f"model '{model.name}', no joint of which has a limit to stop at"
        raise NotApplicableError(f"{function}: option 'limits'", where, "leave it out")
    # gains by the inertia felt at the start: k = m w^2 and d = 2 zeta m w, w = 1 / time constant
    inverse = np.diagonal(inverse_mass_matrix(model, q, inertias=inertias), axis1=-2, axis2=-1)
    felt = 1.0 / inverse[..., [stop.v for stop in stops]]
    rate = 1.0 / law.time_constant
    gains = np.stack([felt * rate * rate, 2.0 * law.damping_ratio * felt * rate], -1)
    return stops, gains.reshape((*gains.shape[:-2], -1))
