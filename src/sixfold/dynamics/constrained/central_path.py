"""Coulomb's law at several contacts at once: Newton's method along a path from smooth cones.

With p_n and u_n scaled by the coefficient of friction, impulses p of a contact lie in the cone
|p_t| <= p_n, which is its own dual, and Coulomb's law is (De Saxce and Feng, 1998)

    p in the cone,   w = u + |u_t| n in the cone,   p . w = 0,     u = A p + b.

It is p = P(p - w) with P the projection on the cone.  A cone has two eigenvalues, x_n + |x_t| and
x_n - |x_t|; P takes the positive part of both.  With (x + sqrt(x^2 + 4 s^2)) / 2 in its place the
equation is smooth, and its solutions are a path that leads to the law as s goes to zero (Chen,
Harker, Kanzow and Smale).  A Newton step is taken for each s of a falling sequence.

A has the rank of the freedoms, so that its null space, impulses that cancel each other, is kept out
by a proximal term, and the steps are solved in the space of the freedoms:

    (E + C Y D^-1 Y^T) dp = r,   dp = E^-1 (r - C Y z),   (D + Y^T E^-1 C Y) z = Y^T E^-1 r.

E and C have one block for each contact (`smooth_cone`).  Several points of one body
may have several solutions or paths that turn back: two paths are followed, and the end that is
nearer to the law is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics.constrained.smooth_cone import (
    TINY,
    Matrix,
    Vector,
    newton_block,
    project,
    shifted,
)
from sixfold.scalar import ZERO, Scalar, Zero, absolute, dot, if_positive, repeat, sqrt, total

SHARPEST = 1e-15
"""Of s at the end of a path, over its start."""
LONGEST = 1e8
"""Step, over the impulses, beyond which a pivot was zero: it is not taken."""


class Path(NamedTuple):
    """How a path is followed, as tried on boxes, plates and needles with four and eight points."""

    rounds: int
    ratio: float
    """Of s from one round to the next."""
    blur: float
    """Of |u_t|, over s."""
    proximal: float


PATHS = (Path(150, 0.8, 0.1, 1e-7), Path(300, 0.9, 0.01, 1e-4))
"""The second is for the one state of a box in 100 that the first leaves open."""


class Contacts:
    """Contacts in coordinates in which each has the cone |p_t| <= p_n, or p_n >= 0."""

    def __init__(
        self,
        Y: Matrix,
        over: Sequence[Scalar],
        b: Sequence[Scalar],
        contacts: Sequence[tuple[Sequence[int], float]],
        floor: Scalar,
    ) -> None:
        """Take Y and D^-1 of A = Y D^-1 Y^T, b, the rows and the friction of each contact.

        The floor is what a row of A is taken to be at least where nothing can move it.
        """
        self.spans = [tuple(rows) for rows, _ in contacts]
        self.S = {r: 1.0 for rows, _ in contacts for r in rows}
        for rows, mu in contacts:
            self.S[rows[0]] = 1.0 / mu if len(rows) > 1 else 1.0
        n = len(b)
        Y = [[x * self.S[r] for x in Y[r]] for r in range(n)]
        size = total(dot(y, [x * d for x, d in zip(y, over, strict=True)]) for y in Y)
        self.scale = size * (1.0 / n) + floor
        self.over = [d / self.scale for d in over]
        self.D = [1.0 / d for d in self.over]
        self.Y, self.b = Y, [x * self.S[r] / self.scale for r, x in enumerate(b)]
        self.reach = sqrt(dot(self.b, self.b) + TINY)

    def speeds(self, p: Sequence[Scalar]) -> Vector:
        """Return u = A p + b."""
        pushed = [
            dot(column, p) * d
            for column, d in zip(zip(*self.Y, strict=True), self.over, strict=True)
        ]
        return [dot(y, pushed) + x for y, x in zip(self.Y, self.b, strict=True)]

    def path(self, path: Path) -> Vector:
        """Return the impulses at the end of a path."""

        def onward(carried: Vector) -> Vector:
            *p, s = carried
            dp = self.step(p, s, path)
            length = dot(dp, dp)
            # a comparison with NaN is false too
            fits = if_positive((self.reach * LONGEST) * (self.reach * LONGEST) - length, 1.0, 0.0)
            p = [x + if_positive(fits, d, 0.0) for x, d in zip(p, dp, strict=True)]
            least = self.reach * SHARPEST
            return [*p, if_positive(s * path.ratio - least, s * path.ratio, least)]

        nothing = self.reach * 0.0
        p: Vector = [nothing] * len(self.b)
        for n, *_ in self.spans:
            p[n] = self.reach
        *p, _ = repeat(path.rounds, onward, [*p, self.reach])
        return self.projected(p)

    def step(self, p: Vector, s: Scalar, path: Path) -> Vector:
        """Return the Newton step at smoothness s."""
        u = self.speeds(p)
        n = len(self.D)
        H: Matrix = [[self.D[i] if i == j else ZERO for j in range(n)] for i in range(n)]
        given: Vector = [ZERO] * n
        softened: dict[int, Scalar] = {}
        moved: dict[int, Vector] = {}
        for rows in self.spans:
            at = [p[r] for r in rows], [u[r] for r in rows]
            block = newton_block(*at, s, s * path.blur, path.proximal)
            Y = [self.Y[r] for r in rows]
            columns = list(zip(*Y, strict=True))
            for k, r in enumerate(rows):
                softened[r] = block.right[k]
                moved[r] = [dot(block.inverse[k], column) for column in columns]
            for i in range(n):
                given[i] = given[i] + dot(columns[i], block.right)
                for j in range(n):
                    H[i][j] = H[i][j] + dot(columns[i], [moved[r][j] for r in rows])
        z = _eliminate(H, given)
        return [softened[r] - dot(moved[r], z) for r in range(len(p))]

    def projected(self, p: Vector) -> Vector:
        """Return P(p - w): impulses of the cones, exactly zero at contacts that part."""
        u, found = self.speeds(p), list(p)
        for rows in self.spans:
            x = shifted([p[r] for r in rows], [u[r] for r in rows])
            for r, value in zip(rows, project(x), strict=True):
                found[r] = value
        return found

    def error(self, p: Vector) -> Scalar:
        """Return how far impulses are from the law, as a velocity [m/s]."""
        most: Scalar = ZERO
        for r, (x, y) in enumerate(zip(p, self.projected(p), strict=True)):
            size = absolute(x - y) * self.scale * (1.0 / self.S[r])
            most = size if isinstance(most, Zero) else if_positive(size - most, size, most)
        return most

    def impulses(self, p: Vector) -> Vector:
        """Return impulses in their own units."""
        return [x * self.S[r] for r, x in enumerate(p)]

    def scaled(self, p: Sequence[Scalar]) -> Vector:
        """Return impulses in these coordinates."""
        return [x * (1.0 / self.S[r]) for r, x in enumerate(p)]


def follow(contacts: Contacts) -> tuple[Vector, Scalar]:
    """Return the impulses, and how far they are from the law [m/s]."""
    p: Vector = []
    error: Scalar = ZERO
    for path in PATHS:
        other = contacts.path(path)
        wrong = contacts.error(other)
        if not p:
            p, error = other, wrong
            continue
        p = [if_positive(error - wrong, y, x) for x, y in zip(p, other, strict=True)]
        error = if_positive(error - wrong, wrong, error)
    return contacts.impulses(p), error


def _eliminate(H: Matrix, b: Vector) -> Vector:
    """Solve H z = b from the last freedom to the first: what tips do not share stays zero."""
    n, H, z = len(b), [list(row) for row in H], list(b)
    over: Vector = [ZERO] * n
    for k in reversed(range(n)):
        over[k] = 1.0 / H[k][k]
        for i in range(k):
            if isinstance(H[i][k], Zero):
                continue
            factor = H[i][k] * over[k]
            z[i] = z[i] - factor * z[k]
            for j in range(k):
                if not isinstance(H[k][j], Zero):
                    H[i][j] = H[i][j] - factor * H[k][j]
    for k in range(n):
        z[k] = (z[k] - dot(H[k][:k], z[:k])) * over[k]
    return z
