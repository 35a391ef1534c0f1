"""The forces of a convex soft model: over-relaxed ADMM, then Newton on its optimality condition.

With z = (b - A f) / R the solution is f = project(z).  R is one number for each cone.  ADMM (Boyd
et al., 2011) always converges, by a constant factor in each round; where several points of one
body touch, A has no full rank and the factor is near one.  Newton's method on
R z + A project(z) = b (a piecewise smooth equation) then needs a few steps from there.
"""

from __future__ import annotations

from typing import NamedTuple

from sixfold.dynamics.contact.matrices import Numbers
from sixfold.dynamics.contact.problems import Problem
from sixfold.scalar import ZERO, Scalar, Zero, absolute, if_positive, repeat, total

MAX_UNROLLED_PRODUCTS = 2500
"""Up to here all rounds of ADMM are written out: they take an eighth less time then, as values stay
in registers from one to the next; beyond, the time to compile counts."""


class Forces(NamedTuple):
    """What the solver finds."""

    f: list[Scalar]
    memory: list[Scalar]
    """Forces before the projection: where the next step starts."""
    residual: Scalar
    """Largest change of a force in one more projected step, in the unit of the force."""


def solve(problem: Problem, warm: Numbers, iterations: int, newton: int) -> Forces:
    """Return the forces after a fixed number of iterations of ADMM and steps of Newton.

    Args:
        problem: the model.
        warm: the memory of a problem near this one, or zeros.
        iterations: of ADMM.
        newton: steps of Newton after them; of both results the better one is taken.
    """
    n = len(problem.b)
    if not n:
        return Forces([], [], ZERO)
    # open rows are zero, and do not count
    diagonal = problem.diagonal()
    count = total([if_positive(x, 1.0, 0.0) for x in diagonal])
    stiff = total(diagonal) / if_positive(count, count, 1.0) + total(problem.R) * (1.0 / n)
    rho, step = stiff * problem.penalty, 1.0 / stiff
    if not newton:
        w = _admm(problem, warm, rho, iterations)
        f = problem.project(w)
        return Forces(f, w, _largest(_residual(problem, f, step)))
    # the dual variable of ADMM is (z - f) R / rho
    rates = [r / rho for r in problem.R]
    f = problem.project(warm)
    w = [x + (z - x) * r for z, x, r in zip(warm, f, rates, strict=True)]
    w = _admm(problem, w, rho, iterations)
    f = problem.project(w)
    z = [x + (y - x) / r for x, y, r in zip(f, w, rates, strict=True)]
    left = _residual(problem, f, step)
    z2 = repeat(newton, problem.newton, z)
    f2 = problem.project(z2)
    left2 = _residual(problem, f2, step)
    better = total([x * x for x in left]) - total([x * x for x in left2])
    return Forces(
        [if_positive(better, y, x) for x, y in zip(f, f2, strict=True)],
        [if_positive(better, y, x) for x, y in zip(z, z2, strict=True)],
        if_positive(better, _largest(left2), _largest(left)),
    )


def _admm(problem: Problem, w: Numbers, rho: Scalar, iterations: int) -> list[Scalar]:
    """Return the force before its projection after so many rounds."""
    around, found = problem.round(rho), list(w)
    if len(found) ** 2 * iterations > MAX_UNROLLED_PRODUCTS:
        return repeat(iterations, around, found)
    for _ in range(iterations):
        found = around(found)
    return found


def _residual(problem: Problem, f: Numbers, step: Scalar) -> list[Scalar]:
    """Return what one projected step along the gradient changes."""
    pulls = zip(problem.b, problem.response(f), problem.R, f, strict=True)
    down = [c - x - r * y for c, x, r, y in pulls]
    after = problem.project([x + d * step for x, d in zip(f, down, strict=True)])
    return [y - x for x, y in zip(f, after, strict=True)]


def _largest(values: Numbers) -> Scalar:
    most: Scalar = ZERO
    for x in values:
        size = absolute(x)
        most = size if isinstance(most, Zero) else if_positive(size - most, size, most)
    return most
