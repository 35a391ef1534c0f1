"""Newton's impact: impulses at points from the Delassus matrix, with restitution and friction.

With G = J M^-1 J^T and b = J v, the normal part of b times 1 + e, the impulses p obey

    G p + b = 0                                     at points that are held,
    p >= 0,  G p + b >= 0,  p (G p + b) = 0         along normals (Moreau's form of Newton's law),
    |p_t| <= mu p_n, and p_t opposes (G p + b)_t    with Coulomb friction.

Points of one body share rows: two ends of a rod have 6 rows of rank 5.  A solve with G is therefore
a few proximal steps, (G + R) p_new = -b + R p with R a small part of G's diagonal.  The impulses
that come out belong exactly to a right-hand side that is off by R (p_new - p): the velocities after
the impact are off by that much and no more, however many impulses would do.  Demands that no
impulse can meet, along directions in which G has no rank, are taken out of b first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sixfold.dynamics.constrained.central_path import Contacts, follow
from sixfold.dynamics.constrained.one_contact import one_contact
from sixfold.scalar import ZERO, Scalar, Zero, dot, positive, repeat
from sixfold.spatial import ldl, ldl_solve

Matrix = list[list[Scalar]]
Vector = list[Scalar]

PROXIMAL_SHARE = 1e-6
"""R as a share of G's diagonal and scale: far above rounding, far below pivots that matter."""

PROXIMAL_STEPS = 5
"""Each leaves R / (R + lambda) of the error along an eigenvector: 1e-15 where lambda = 1e-3 G."""

ALONE_ROUNDS = 4
"""Of proximal steps at one contact by itself, each of which solves it."""


@dataclass(frozen=True)
class Contact:
    """The rows of one point: its normal one first, then its tangential ones, if it has friction."""

    rows: tuple[int, ...]
    friction: float
    held: bool


def impulses(
    Y: Matrix,
    over: Sequence[Scalar],
    b: Sequence[Scalar],
    contacts: Sequence[Contact],
    scale: Scalar,
) -> tuple[Vector, Scalar]:
    """Return the impulse along each row, and how far contacts are from the law [m/s].

    Args:
        Y: of G = Y D^-1 Y^T, by row and freedom.
        over: D^-1.
        b: velocities of the rows before the impact, normal ones times 1 + e.
        contacts: which rows belong together; rows that are exactly zero get no impulse.
        scale: what G's diagonal would be at points that can move every way: beside it a row shows
            that nothing can move it in this state but for rounding.
    """
    # rows that nothing can move
    moving = {r for r in range(len(b)) if not all(isinstance(x, Zero) for x in Y[r])}
    held = [r for c in contacts if c.held for r in c.rows if r in moving]
    free = [c for c in contacts if not c.held and c.rows[0] in moving]
    p: Vector = [ZERO] * len(b)
    # eliminate what is held: Y' = Y - G_rh G_hh^-1 Y_h, so that G' = G - G_rh G_hh^-1 G_hr
    floor = PROXIMAL_SHARE * scale
    pushed = {h: [x * d for x, d in zip(Y[h], over, strict=True)] for h in held}
    hold = _proximal([[dot(Y[r], pushed[s]) for s in held] for r in held], floor)
    rest = sorted(r for c in free for r in c.rows)
    columns = {r: hold([dot(Y[r], pushed[h]) for h in held]) for r in rest}
    start = hold([b[h] for h in held])
    Y_rest = [
        [x - dot(columns[r], [Y[h][k] for h in held]) for k, x in enumerate(Y[r])] for r in rest
    ]
    b_rest = [b[r] - dot([dot(Y[r], pushed[h]) for h in held], start) for r in rest]
    places = {r: k for k, r in enumerate(rest)}
    local = [(tuple(places[r] for r in c.rows), c.friction) for c in free]
    found, error = _unilateral(Y_rest, over, b_rest, local, floor)
    for r, value in zip(rest, found, strict=True):
        p[r] = value
    for k, h in enumerate(held):
        p[h] = -(start[k] + dot([columns[r][k] for r in rest], [p[r] for r in rest]))
    return p, error


def _unilateral(
    Y: Matrix,
    over: Sequence[Scalar],
    b: Vector,
    contacts: Sequence[tuple[tuple[int, ...], float]],
    floor: Scalar,
) -> tuple[Vector, Scalar]:
    """Return impulses of contacts that may open or slide, and how far they are from the law."""
    if not contacts:
        return [], 0.0 * floor
    problem = Contacts(Y, over, b, contacts, floor)
    if len(contacts) > 1:
        return follow(problem)
    p = _alone(Y, over, b, contacts[0][1], floor)
    return p, problem.error(problem.scaled(p))


def _alone(Y: Matrix, over: Sequence[Scalar], b: Vector, mu: float, floor: Scalar) -> Vector:
    """Return the impulse of one contact.

    Steps are proximal: the floor is added to G's diagonal and its part of p to the right side, so
    that what does not change from round to round is exact.
    """
    pushed = [[x * d for x, d in zip(y, over, strict=True)] for y in Y]
    G = [[dot(y, x) for x in pushed] for y in Y]
    start = [0.0 * x for x in b]
    if len(b) == 1:
        pivot = 1.0 / (G[0][0] + floor)
        return repeat(
            ALONE_ROUNDS, lambda p: [positive(p[0] - pivot * (G[0][0] * p[0] + b[0]))], start
        )
    for r in range(len(b)):
        G[r][r] = G[r][r] + floor
    solve = one_contact(G, mu)
    return repeat(
        ALONE_ROUNDS, lambda p: solve([x - floor * y for x, y in zip(b, p, strict=True)]), start
    )


def _proximal(G: Matrix, floor: Scalar) -> Callable[[Sequence[Scalar]], Vector]:
    """Return the solve x of G x = b by proximal steps with one factor."""
    n = len(G)
    if not n:
        return lambda _: []
    R = [PROXIMAL_SHARE * G[r][r] + floor for r in range(n)]
    factor = ldl([[G[r][c] + (R[r] if r == c else ZERO) for c in range(n)] for r in range(n)])

    def left(b: Sequence[Scalar]) -> Vector:
        """Return R (G + R)^-1 b: all of b that G has no rank for, and hardly any of the rest."""
        return [r * x for r, x in zip(R, ldl_solve(*factor, b), strict=True)]

    def solve(b: Sequence[Scalar]) -> Vector:
        # demands that contradict each other would make p grow from step to step
        vain = list(b)
        for _ in range(PROXIMAL_STEPS):
            vain = left(vain)
        wanted = [x - y for x, y in zip(b, vain, strict=True)]
        x: Vector = [ZERO] * n
        for _ in range(PROXIMAL_STEPS):
            x = list(ldl_solve(*factor, [y + r * z for y, r, z in zip(wanted, R, x, strict=True)]))
        return x

    return solve
