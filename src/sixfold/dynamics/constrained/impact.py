"""Newton's impact: impulses at points from the Delassus matrix, with restitution and friction.

With G = J M^-1 J^T and b = J v, the normal part of b times 1 + e, the impulses p obey

    G p + b = 0                                     at points that are held,
    p >= 0,  G p + b >= 0,  p (G p + b) = 0         along normals (Moreau's form of Newton's law),
    |p_t| <= mu p_n, and p_t opposes (G p + b)_t    with Coulomb friction.

Points of one body share rows: two ends of a rod have 6 rows of rank 5.  A solve with G is therefore
a few proximal steps, (G + R) p_new = -b + R p with R a small part of G's diagonal.  The resulting
impulses belong exactly to a right-hand side that differs by R (p_new - p): the velocities after
the impact differ by that much and no more, however many impulses would do.  Demands that no
impulse can meet, along directions in which G has no rank, are removed from b first.

One contact of Coulomb's law with the cone |p_t| <= p_n: its projection, smooth and sharp.

A cone has two eigenvalues, x_n + |x_t| and x_n - |x_t|, along (1, e) and (1, -e) with e the
direction of x_t.  Its projection P takes the positive part of both; with
(x + sqrt(x^2 + 4 s^2)) / 2 in its place it is smooth (Fukushima, Luo and Tseng, Smoothing functions
for second-order-cone complementarity problems, SIAM Journal on Optimization 12(2), 2002).

Coulomb's law at several contacts at once: Newton's method along a path from smooth cones.

With p_n and u_n scaled by the coefficient of friction, impulses p of a contact lie in the cone
|p_t| <= p_n, which is its own dual, and Coulomb's law is (De Saxce and Feng, 1998)

    p in the cone,   w = u + |u_t| n in the cone,   p . w = 0,     u = A p + b.

It is p = P(p - w) with P the projection on the cone.  A cone has two eigenvalues, x_n + |x_t| and
x_n - |x_t|; P takes the positive part of both.  With (x + sqrt(x^2 + 4 s^2)) / 2 in its place the
equation is smooth, and its solutions are a path that leads to the law as s goes to zero (Chen,
Harker, Kanzow and Smale).  A Newton step is taken for each s of a falling sequence.

A has the rank of the DOFs, so that its null space, impulses that cancel each other, is kept out
by a proximal term, and the steps are solved in the space of the DOFs:

    (E + C Y D^-1 Y^T) dp = r,   dp = E^-1 (r - C Y z),   (D + Y^T E^-1 C Y) z = Y^T E^-1 r.

E and C have one block for each contact (`smooth_cone`).  Several points of one body
may have several solutions or paths that turn back: two paths are followed, and the end that is
nearer to the law is taken.

Coulomb's law at one contact, exact: a scalar equation for how far it is from sticking.

With p_n = -(b_n + G_nt p_t) / G_nn the tangential rows are S p_t + c = u_t, where
S = G_tt - G_tn G_nt / G_nn and c = b_t - G_tn b_n / G_nn.  Sliding means u_t = -l p_t with l > 0:

    p_t(l) = -(S + l)^-1 c,     |p_t(l)| = mu p_n(l).

If sticking (l = 0) needs more than the cone gives, the left side is larger at l = 0 and smaller at
l = infinity, where p_t = 0 and p_n = -b_n / G_nn > 0: there is a root between, for every mu
(Bonnefon and Daviet, Quartic Formulation of Coulomb 3D Frictional Contact, 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sixfold.scalar import (
    ZERO,
    Scalar,
    Zero,
    absolute,
    dot,
    if_positive,
    positive,
    repeat,
    sqrt,
    total,
)
from sixfold.spatial import ldl, ldl_solve

Vector = list[Scalar]
Matrix = list[list[Scalar]]
TINY = 1e-36  # added to a squared length, so that roots and the direction of nothing are numbers


class NewtonBlock(NamedTuple):
    """What one contact gives to a Newton step."""

    inverse: Matrix  # E^-1 C
    right: Vector  # E^-1 r


def newton_block(p: Vector, u: Vector, s: Scalar, blur: Scalar, proximal: float) -> NewtonBlock:
    """Linearise p = P(p - w): E = 1 - P' + proximal, C = P' dw/du, r = P - p."""
    if len(p) == 1:
        f, _, slope, rest = _positive(p[0] - u[0], s)
        over = 1.0 / (rest + proximal)
        return NewtonBlock([[slope * over]], [(f - p[0]) * over])
    speed = sqrt(u[1] * u[1] + u[2] * u[2] + blur * blur + TINY)
    x = [p[0] - u[0] - speed, p[1] - u[1], p[2] - u[2]]
    length = sqrt(x[1] * x[1] + x[2] * x[2] + TINY)
    e = [x[1] / length, x[2] / length]
    high, below_high, slope_high, rest_high = _positive(x[0] + length, s)
    low, below_low, slope_low, rest_low = _positive(x[0] - length, s)
    half = 0.5 / length
    slope_across = (high - low) * half
    rest_across = (below_low - below_high) * half
    f = [0.5 * (high + low), 0.5 * (high - low) * e[0], 0.5 * (high - low) * e[1]]
    over = [1.0 / (rest + proximal) for rest in (rest_high, rest_low, rest_across)]
    inverse = _symmetric(over[0], over[1], over[2], e)
    ratio = _symmetric(slope_high * over[0], slope_low * over[1], slope_across * over[2], e)
    d = [u[1] / speed, u[2] / speed]
    return NewtonBlock(
        [[row[0], row[0] * d[0] + row[1], row[0] * d[1] + row[2]] for row in ratio],
        [dot(row, [y - x for x, y in zip(p, f, strict=True)]) for row in inverse],
    )


def _positive(x: Scalar, s: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Return the smooth positive parts of x and -x and their slopes, without cancellation."""
    root = sqrt(x * x + 4.0 * s * s + TINY)
    large = 0.5 * (root + absolute(x))
    small = s * s / large
    value, other = if_positive(x, large, small), if_positive(x, small, large)
    return value, other, value / root, other / root


def _symmetric(high: Scalar, low: Scalar, across: Scalar, e: Vector) -> Matrix:
    """Return the matrix with eigenvalues high and low along (1, e) and (1, -e), and across e."""
    a, c = 0.5 * (high + low), 0.5 * (high - low)
    t, s = e
    return [
        [a, c * t, c * s],
        [c * t, a * t * t + across * s * s, (a - across) * t * s],
        [c * s, (a - across) * t * s, a * s * s + across * t * t],
    ]


def complementary_point(p: Vector, u: Vector) -> Vector:
    """Return p - w."""
    if len(p) == 1:
        return [p[0] - u[0]]
    speed = sqrt(u[1] * u[1] + u[2] * u[2] + TINY)
    return [p[0] - u[0] - speed, p[1] - u[1], p[2] - u[2]]


def project(x: Vector) -> Vector:
    """Return the nearest point of |x_t| <= x_n, or of x_n >= 0."""
    if len(x) == 1:
        return [if_positive(x[0], x[0], 0.0)]
    length = sqrt(x[1] * x[1] + x[2] * x[2] + TINY)
    edge = 0.5 * (x[0] + length)
    edge = if_positive(edge, edge, 0.0)
    inside = x[0] - length
    k = if_positive(inside, 1.0, edge / length)
    return [if_positive(inside, x[0], edge), k * x[1], k * x[2]]


SHARPEST = 1e-15  # of s at the end of a path, over its start
LONGEST = 1e8  # step, over the impulses, beyond which a pivot was zero: it is not taken


class Path(NamedTuple):
    """How a path is followed, as tried on boxes, plates and needles with four and eight points."""

    rounds: int
    ratio: float  # of s from one round to the next
    blur: float  # of |u_t|, over s
    proximal: float


# the second is for the one state of a box in 100 that the first leaves open
PATHS = (Path(150, 0.8, 0.1, 1e-7), Path(300, 0.9, 0.01, 1e-4))


class ConeProblem:
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
        return self.project(p)

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

    def project(self, p: Vector) -> Vector:
        """Return P(p - w): impulses of the cones, exactly zero at contacts that part."""
        u, found = self.speeds(p), list(p)
        for rows in self.spans:
            x = complementary_point([p[r] for r in rows], [u[r] for r in rows])
            for r, value in zip(rows, project(x), strict=True):
                found[r] = value
        return found

    def error(self, p: Vector) -> Scalar:
        """Return how far impulses are from the law, as a velocity [m/s]."""
        most: Scalar = ZERO
        for r, (x, y) in enumerate(zip(p, self.project(p), strict=True)):
            size = absolute(x - y) * self.scale * (1.0 / self.S[r])
            most = size if isinstance(most, Zero) else if_positive(size - most, size, most)
        return most

    def impulses(self, p: Vector) -> Vector:
        """Return impulses in their own units."""
        return [x * self.S[r] for r, x in enumerate(p)]

    def scaled(self, p: Sequence[Scalar]) -> Vector:
        """Return impulses in these coordinates."""
        return [x * (1.0 / self.S[r]) for r, x in enumerate(p)]


def follow(contacts: ConeProblem) -> tuple[Vector, Scalar]:
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
    """Solve H z = b from the last DOF to the first: what tips do not share stays zero."""
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


# of the Illinois method (regula falsi that halves an end that stays): rounding is reached
ROOT_ROUNDS = 16


def one_contact(G: Sequence[Sequence[Scalar]], mu: float) -> Callable[[Vector], Vector]:
    """Return the function from b to the impulse (p_n, p_t) of a contact by itself."""
    pivot = 1.0 / G[0][0]
    g = [G[1][0] * pivot, G[2][0] * pivot]
    S = [[G[1 + r][1 + s] - g[r] * G[1 + s][0] for s in range(2)] for r in range(2)]
    scale = 0.5 * (S[0][0] + S[1][1])

    def solve(b: Vector) -> Vector:
        c = [b[1] - g[0] * b[0], b[2] - g[1] * b[0]]

        def at(t: Scalar) -> tuple[Vector, Scalar]:
            """Return the impulse at l = scale t / (1 - t), and how far it is out of the cone."""
            s = 1.0 - t
            x, y, z = S[0][0] * s + scale * t, S[0][1] * s, S[1][1] * s + scale * t
            over = s / (x * z - y * y)
            p_t = [(y * c[1] - z * c[0]) * over, (y * c[0] - x * c[1]) * over]
            p_n = -(b[0] * pivot + dot(g, p_t))
            return [p_n, *p_t], sqrt(dot(p_t, p_t)) - mu * p_n

        def halve(carried: Vector) -> Vector:
            low, high, f_low, f_high, same, _ = carried
            width = f_low - f_high
            t = low + (high - low) * if_positive(width, f_low / width, 0.5)
            _, f = at(t)
            # an end that stays for a second time counts half
            less = if_positive(-same, 0.5 * f_high, f_high)
            more = if_positive(same, 0.5 * f_low, f_low)
            return [
                if_positive(f, t, low),
                if_positive(f, high, t),
                if_positive(f, f, more),
                if_positive(f, less, f),
                if_positive(f, -1.0, 1.0),
                t,
            ]

        stuck, outside = at(0.0 * b[0])
        _, inside = at(1.0 + 0.0 * b[0])
        zero = 0.0 * b[0]
        start = [zero, 1.0 + zero, outside, inside, zero, zero]
        slid, _ = at(repeat(ROOT_ROUNDS, halve, start)[-1])
        # a contact that opens by itself; one that slides; one that sticks
        return [
            if_positive(-b[0], if_positive(outside, s, t), 0.0)
            for s, t in zip(slid, stuck, strict=True)
        ]

    return solve


# R as a share of G's diagonal and scale: far above rounding, far below pivots that matter
PROXIMAL_SHARE = 1e-6

# each leaves R / (R + lambda) of the error along an eigenvector: 1e-15 where lambda = 1e-3 G
PROXIMAL_STEPS = 5

ALONE_ROUNDS = 4  # of proximal steps at one contact by itself, each of which solves it


@dataclass(frozen=True)
class ImpactContact:
    """The rows of one point: its normal one first, then its tangential ones, if it has friction."""

    rows: tuple[int, ...]
    friction: float
    held: bool


def impulses(
    Y: Matrix,
    over: Sequence[Scalar],
    b: Sequence[Scalar],
    contacts: Sequence[ImpactContact],
    scale: Scalar,
) -> tuple[Vector, Scalar]:
    """Return the impulse along each row, and how far contacts are from the law [m/s].

    Args:
        Y: of G = Y D^-1 Y^T, by row and DOF.
        over: D^-1.
        b: velocities of the rows before the impact, normal ones times 1 + e.
        contacts: which rows belong together; rows that are exactly zero get no impulse.
        scale: what G's diagonal would be at points that can move every way; compared to it a row
            shows that nothing but rounding moves it in this state.
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
    problem = ConeProblem(Y, over, b, contacts, floor)
    if len(contacts) > 1:
        return follow(problem)
    p = _single_contact(Y, over, b, contacts[0][1], floor)
    return p, problem.error(problem.scaled(p))


def _single_contact(
    Y: Matrix, over: Sequence[Scalar], b: Vector, mu: float, floor: Scalar
) -> Vector:
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
