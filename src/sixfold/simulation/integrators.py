"""Steps in time: each method is a table and a few lines, over any kind of number.

A method works on flat lists of numbers: floats, NumPy arrays that hold a batch, or nodes of a
graph.  It asks a system for accelerations and for moves on the configuration manifold, and never
branches on a value, so that a step can be traced and compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Protocol

from sixfold.scalar import Scalar

Numbers = Sequence[Scalar]
Pair = tuple[list[Scalar], list[Scalar]]


class Steppable(Protocol):
    """What a method asks of the system it integrates."""

    @property
    def additive(self) -> Sequence[tuple[int, int]]:
        """Coordinates whose rate is a velocity: index in q, index in v."""

    def acceleration(self, t: Scalar, q: Numbers, v: Numbers) -> list[Scalar]:
        """Return dv/dt."""

    def rate(self, q: Numbers, v: Numbers) -> list[Scalar]:
        """Return dq/dt."""

    def move(self, q: Numbers, dq: Numbers) -> list[Scalar]:
        """Return the configuration reached from q by a velocity-space increment."""

    def add(self, q: Numbers, dq: Numbers) -> list[Scalar]:
        """Return q + dq in the coordinates of q, with quaternions scaled to unit length."""

    def bracket(self, a: Numbers, b: Numbers) -> list[Scalar]:
        """Return the Lie bracket of two velocities; zero where they are rates of coordinates."""

    def conserve_momentum(
        self, t: Scalar, q: Numbers, v: Numbers, dq: Numbers, dv: Numbers, h: Scalar
    ) -> Pair:
        """Return a step's increments, corrected so that free flight conserves momentum."""


Increment = Callable[[Steppable, Scalar, Numbers, Numbers, Scalar], Pair]


@dataclass(frozen=True)
class Method:
    """An integration method; call it as `method(system, t, q, v, h)`."""

    increment: Increment  #: Returns the increments of q and v over one step.
    order: int
    ambient: bool = False  #: The increment of q is in the coordinates of q, not in those of v.

    def __call__(self, system: Steppable, t: Scalar, q: Numbers, v: Numbers, h: Scalar) -> Pair:
        """Return q and v after a step of length h."""
        dq, dv = self.increment(system, t, q, v, h)
        moved = system.add(q, dq) if self.ambient else system.move(q, dq)
        return moved, _plus(v, dv)

    def compensated_step(
        self, system: Steppable, t: Scalar, q: Numbers, v: Numbers, h: Scalar, carry: Numbers
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Take a step and carry along what rounding takes from its sums (Kahan 1965).

        `carry` has one number for each additive coordinate of q, then one for each of v.
        """
        dq, dv = self.increment(system, t, q, v, h)
        n = len(system.additive)
        where = [i if self.ambient else j for i, j in system.additive]
        for place, rest in zip(where, carry[:n], strict=True):
            dq[place] = dq[place] + rest
        dv = _plus(dv, carry[n:])
        moved = system.add(q, dq) if self.ambient else system.move(q, dq)
        faster = _plus(v, dv)
        left = [
            dq[place] - (moved[i] - q[i])
            for place, (i, _) in zip(where, system.additive, strict=True)
        ]
        left += [d - (after - before) for d, after, before in zip(dv, faster, v, strict=True)]
        return moved, faster, left


def _semi_implicit_euler(system: Steppable, t: Scalar, q: Numbers, v: Numbers, h: Scalar) -> Pair:
    """First v += h a(q, v), then q += h v with the new v."""
    dv = _scale(h, system.acceleration(t, q, v))
    return _scale(h, _plus(v, dv)), dv


#: Kutta's method: how far each stage reaches along the stage before, and its weight times 6.
CLASSICAL = ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0))


def _rk4(system: Steppable, t: Scalar, q: Numbers, v: Numbers, h: Scalar) -> Pair:
    """Kutta's method on (q, v) in the coordinates of q."""
    rates: list[Numbers] = []
    pulls: list[Numbers] = []
    for reach, _ in CLASSICAL:
        x = _plus(q, _scale(reach * h, rates[-1])) if reach else q
        u = _plus(v, _scale(reach * h, pulls[-1])) if reach else v
        rates.append(system.rate(x, u))
        pulls.append(system.acceleration(t + reach * h, x, u))
    return _weighted_sum(h, rates), _weighted_sum(h, pulls)


def _lie_rk4(system: Steppable, t: Scalar, q: Numbers, v: Numbers, h: Scalar) -> Pair:
    """Kutta's method on the group: q exp(u), with du/dt = v + [u, v] / 2 + ... (Munthe-Kaas).

    The two brackets that order 4 needs stand in the third stage and in the sum.  A tree that
    floats freely keeps its momentum to rounding.
    """
    speeds: list[Numbers] = []
    pulls: list[Numbers] = []
    for stage, (reach, _) in enumerate(CLASSICAL):
        u = _plus(v, _scale(reach * h, pulls[-1])) if reach else v
        turn = _scale(reach * h, speeds[-1]) if reach else None
        if turn is not None and stage == 2:
            turn = _plus(turn, _scale(h * h * 0.125, system.bracket(speeds[0], speeds[1])))
        x = q if turn is None else system.move(q, turn)
        speeds.append(u)
        pulls.append(system.acceleration(t + reach * h, x, u))
    twist = _scale(h * h / 12.0, system.bracket(speeds[0], speeds[3]))
    dq, dv = _plus(_weighted_sum(h, speeds), twist), _weighted_sum(h, pulls)
    return system.conserve_momentum(t, q, v, dq, dv, h)


ITERATIONS = 6  #: Fixed-point iterations of the implicit midpoint rule, the same for every state.


def _midpoint(
    system: Steppable, t: Scalar, q: Numbers, v: Numbers, h: Scalar, iterations: int = ITERATIONS
) -> Pair:
    """Solve dv = h a(middle), the middle half a step along the mean velocity v + dv / 2.

    Symmetric in time, hence without a trend in the energy of reversible systems.
    """
    dv = _scale(h, system.acceleration(t, q, v))
    for _ in range(iterations):
        mean = _plus(v, _scale(0.5, dv))
        middle = system.move(q, _scale(0.5 * h, mean))
        dv = _scale(h, system.acceleration(t + 0.5 * h, middle, mean))
    return _scale(h, _plus(v, _scale(0.5, dv))), dv


def midpoint(iterations: int) -> Method:
    """Return the implicit midpoint rule with another number of iterations."""

    def increment(system: Steppable, t: Scalar, q: Numbers, v: Numbers, h: Scalar) -> Pair:
        return _midpoint(system, t, q, v, h, iterations)

    return Method(increment, 2)


#: Fixed-step methods by name.
INTEGRATORS: dict[str, Method] = {
    "semi_implicit_euler": Method(_semi_implicit_euler, 1),
    "rk4": Method(_rk4, 4, ambient=True),
    "lie_rk4": Method(_lie_rk4, 4),
    "midpoint": Method(_midpoint, 2),
}


def _plus(x: Numbers, y: Numbers) -> list[Scalar]:
    return [a + b for a, b in zip(x, y, strict=True)]


def _scale(factor: Scalar, x: Numbers) -> list[Scalar]:
    return [a * factor for a in x]


def _weighted_sum(h: Scalar, stages: Sequence[Numbers]) -> list[Scalar]:
    """(h / 6) (k1 + 2 k2 + 2 k3 + k4), element by element."""
    sixth = h / 6.0
    weights = [weight for _, weight in CLASSICAL]
    return [reduce(add, map(mul, weights, ks)) * sixth for ks in zip(*stages, strict=True)]
