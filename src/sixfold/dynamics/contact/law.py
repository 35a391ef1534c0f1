"""How constraints give way: MuJoCo's impedance and reference acceleration, and a rigid limit."""

from __future__ import annotations

from sixfold.dynamics.contact.scene import Law
from sixfold.scalar import Scalar, absolute, exp, if_positive, log

MIN_IMPEDANCE, MAX_IMPEDANCE = 1e-4, 0.9999
RIGID_IMPEDANCE = 1.0 - 1e-6
"""Impedance of the rigid limit: forces give way by this little."""
CORRECTION = 0.1
"""Share of a penetration that a rigid contact removes in a step."""


def impedance(law: Law, depth: Scalar) -> Scalar:
    """Return d of a constraint that is violated by `depth`, from d0 to dwidth by a sigmoid."""
    first, last, width, midpoint, power = law.solimp
    first, last, midpoint = (
        min(max(x, MIN_IMPEDANCE), MAX_IMPEDANCE) for x in (first, last, midpoint)
    )
    width, power = max(width, 0.0), max(power, 1.0)
    if first == last or width <= 1e-15:
        return 0.5 * (first + last)
    x = absolute(depth) * (1.0 / width)
    x = if_positive(1.0 - x, x, 1.0)
    if power == 1.0:
        way = x
    else:
        low = _power(x, power) * (1.0 / midpoint ** (power - 1.0))
        high = 1.0 - _power(1.0 - x, power) * (1.0 / (1.0 - midpoint) ** (power - 1.0))
        way = if_positive(midpoint - x, low, high)
    return first + way * (last - first)


def _power(x: Scalar, power: float) -> Scalar:
    """Return x^power for x >= 0."""
    if power == int(power) and power <= 8:
        product = x
        for _ in range(int(power) - 1):
            product = product * x
        return product
    return if_positive(x, exp(log(if_positive(x, x, 1.0)) * power), 0.0)


def softness(d: Scalar, weight: float) -> Scalar:
    """Return R = (1 - d) / d times the inverse mass felt."""
    return (1.0 - d) / d * weight


def gains(law: Law) -> tuple[float, float]:
    """Return stiffness k [1/s^2] and damping b [1/s] of a reference acceleration.

    Negative numbers in solref are the stiffness and the damping themselves.
    """
    last = min(max(law.solimp[1], MIN_IMPEDANCE), MAX_IMPEDANCE)
    time, ratio = law.solref
    if time <= 0:
        return -time / (last * last), -ratio / last
    return 1.0 / (last * time * ratio) ** 2, 2.0 / (last * time)


def reference(law: Law, d: Scalar, gap: Scalar, speed: Scalar) -> Scalar:
    """Return the acceleration that a constraint asks for: a spring and a damper."""
    k, b = gains(law)
    return -(speed * b) - gap * d * k


def damping(law: Law, speed: Scalar) -> Scalar:
    """Return the acceleration that a row of friction asks for."""
    return -(speed * gains(law)[1])


def rebound(gap: Scalar, speed: Scalar, h: Scalar, restitution: float, slow: Scalar) -> Scalar:
    """Return the normal acceleration of a rigid contact over a step of length h.

    The speed after the step is -e times that before it, or what just closes the gap; e = 0 below
    the speed `slow`, where bounces are those of the steps themselves.
    """
    rate = gap / h
    after = if_positive(gap, -rate, rate * -CORRECTION)
    if restitution:
        bounce = if_positive(-speed - slow, speed * -restitution, after)
        after = if_positive(bounce - after, bounce, after)
    return (after - speed) / h
