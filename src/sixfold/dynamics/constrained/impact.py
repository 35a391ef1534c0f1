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

from sixfold.dynamics.constrained.one_contact import one_contact
from sixfold.scalar import ZERO, Scalar, Zero, dot, if_positive, positive, repeat, sqrt
from sixfold.spatial import ldl, ldl_solve

Matrix = list[list[Scalar]]
Vector = list[Scalar]

PROXIMAL_SHARE = 1e-6
"""R as a share of G's diagonal and scale: far above rounding, far below pivots that matter."""

PROXIMAL_STEPS = 5
"""Each leaves R / (R + lambda) of the error along an eigenvector: 1e-15 where lambda = 1e-3 G."""

ROUNDS, RELAXED_ROUNDS = 40, 100
"""Of Gauss-Seidel over contacts with friction, with full steps and then with half ones.

Feet on different bodies need some 30 rounds; points of one body may go round in circles until their
steps are shortened.  The loops are nodes of a program, whatever their length.
"""

FRICTIONLESS_ROUNDS, ALONE_ROUNDS = 400, 4
"""Without friction, and for one contact by itself, which each round solves."""


@dataclass(frozen=True)
class Contact:
    """The rows of one point: its normal one first, then its tangential ones, if it has friction."""

    rows: tuple[int, ...]
    friction: float
    held: bool


def impulses(G: Matrix, b: Sequence[Scalar], contacts: Sequence[Contact], scale: Scalar) -> Vector:
    """Return the impulse along each row.

    Args:
        G: Delassus matrix.
        b: velocities of the rows before the impact, normal ones times 1 + e.
        contacts: which rows belong together; rows that are exactly zero get no impulse.
        scale: what G's diagonal would be at points that can move every way: beside it a row shows
            that nothing can move it in this state but for rounding.
    """
    # rows that nothing can move
    moving = {r for r in range(len(b)) if not isinstance(G[r][r], Zero)}
    held = [r for c in contacts if c.held for r in c.rows if r in moving]
    free = [c for c in contacts if not c.held and c.rows[0] in moving]
    p: Vector = [ZERO] * len(b)
    # eliminate what is held: G' = G - G_rh G_hh^-1 G_hr
    floor = PROXIMAL_SHARE * scale
    hold = _proximal([[G[r][s] for s in held] for r in held], floor)
    columns = {r: hold([G[h][r] for h in held]) for c in free for r in c.rows}
    start = hold([b[h] for h in held])
    rest = sorted(columns)
    G_rest = [[G[r][s] - dot([G[r][h] for h in held], columns[s]) for s in rest] for r in rest]
    b_rest = [b[r] - dot([G[r][h] for h in held], start) for r in rest]
    places = {r: k for k, r in enumerate(rest)}
    local = [Contact(tuple(places[r] for r in c.rows), c.friction, False) for c in free]
    for r, value in zip(rest, _unilateral(G_rest, b_rest, local, floor), strict=True):
        p[r] = value
    for k, h in enumerate(held):
        p[h] = -(start[k] + dot([columns[r][k] for r in rest], [p[r] for r in rest]))
    return p


def _unilateral(G: Matrix, b: Vector, contacts: Sequence[Contact], floor: Scalar) -> Vector:
    """Return impulses of contacts that may open or slide: Gauss-Seidel from all of them held."""
    if not contacts:
        return []
    steps = [_step(G, b, contact, floor) for contact in contacts]

    def sweep(p: Vector) -> Vector:
        for step in steps:
            p = step(p)
        return p

    def half_sweep(p: Vector) -> Vector:
        # between two points of a cone is a point of the cone
        return [0.5 * (x + y) for x, y in zip(p, sweep(p), strict=True)]

    p: Vector = [-x for x in _proximal(G, floor)(b)]
    for contact in contacts:
        p = _projected(p, contact)
    if len(contacts) == 1 or len(b) == len(contacts):
        return repeat(ALONE_ROUNDS if len(contacts) == 1 else FRICTIONLESS_ROUNDS, sweep, p)
    return repeat(RELAXED_ROUNDS, half_sweep, repeat(ROUNDS, sweep, p))


def _step(G: Matrix, b: Vector, contact: Contact, floor: Scalar) -> Callable[[Vector], Vector]:
    """Return the step that solves one contact while the others stay.

    It is proximal too: the floor is added to G's diagonal and its part of p to the right side, so
    that what does not change from round to round is exact.
    """
    n, *tangents = contact.rows
    if not tangents:
        pivot = 1.0 / (G[n][n] + floor)

        def push(p: Vector) -> Vector:
            value = positive(p[n] - pivot * (dot(G[n], p) + b[n]))
            return [value if r == n else x for r, x in enumerate(p)]

        return push
    own = [[G[r][s] for s in contact.rows] for r in contact.rows]
    solve = one_contact(
        [[x + (floor if r == s else ZERO) for s, x in enumerate(row)] for r, row in enumerate(own)],
        contact.friction,
    )

    def step(p: Vector) -> Vector:
        mine = [p[r] for r in contact.rows]
        others = [
            dot(G[r], p) + b[r] - dot(row, mine) - floor * p[r]
            for r, row in zip(contact.rows, own, strict=True)
        ]
        moved = dict(zip(contact.rows, solve(others), strict=True))
        return [moved.get(r, x) for r, x in enumerate(p)]

    return step


def _projected(p: Vector, contact: Contact) -> Vector:
    """Return impulses with those of one contact moved into its cone: p_n >= 0, |p_t| <= mu p_n."""
    n, *tangents = contact.rows
    found = list(p)
    found[n] = positive(p[n])
    if tangents:
        reach = found[n] * contact.friction
        length = sqrt(dot([p[r] for r in tangents], [p[r] for r in tangents]))
        scale = if_positive(length - reach, reach / if_positive(length, length, 1.0), 1.0)
        for r in tangents:
            found[r] = p[r] * scale
    return found


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
