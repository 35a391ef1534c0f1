"""Accelerations of the soft contact model by Newton's method in joint space.

With z = (asked - J a) / R for each constraint, they minimise the convex function

    1/2 (a - a0) . M (a - a0) + sum of R s(z),        grad s(z) = f = project(z),

whose gradient is g = M (a - a0) - J^T f and whose second derivative is H = M + J^T (slope / R) J.
Forces belong to cones: the slope of a projection on a convex set is symmetric with eigenvalues from
0 to 1.  Where loops have to stay closed, the forces that keep them so are added to M (a - a0).
A step goes along d = -H^-1 g.  Its length is 1 unless the slope along d says that the minimum lies
before that: on the edges of the cones, where the second derivative jumps, full steps may cycle.

Forces on bodies go through `JointSpace`, so that a round costs little more with many points on one
body than with one; rows of joints and of pairs of bodies are used as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sixfold.dynamics.constrained.solve import Delassus
from sixfold.dynamics.contact.rows import JointSpace, Matrix
from sixfold.dynamics.fast.factor import Factor
from sixfold.model.tree import Table
from sixfold.scalar import (
    ZERO,
    Scalar,
    Zero,
    dot,
    exact,
    if_positive,
    positive,
    repeat,
    sqrt,
    total,
)
from sixfold.spatial import ArticulatedInertia, Force, Matrix3, Motion, Symmetric3, Vector3, skew

Numbers = Sequence[Scalar]
# takes alpha; returns u . project(z + alpha u), and its derivative with respect to alpha.
Line = Callable[[Scalar], tuple[Scalar, Scalar]]
# added to a squared length [N^2], so that the direction of no force is a number; single precision
# has it too
TINY = 1e-36


class Cone(NamedTuple):
    """Forces (n, t, s) with |(t, s)| <= mu n: Coulomb's law."""

    mu: Scalar

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest force of the cone."""
        n, t, s = z
        r = sqrt(t * t + s * s + TINY)
        # outside of the cone: n' (1, mu), the point of its edge nearest to (n, r)
        slide = positive((n + r * self.mu) * (1.0 / (1.0 + self.mu * self.mu)))
        sticks = n * self.mu - r
        k = if_positive(sticks, 1.0, slide * self.mu / r)
        return [if_positive(sticks, n, slide), k * t, k * s]

    def slope(self, z: Numbers) -> list[list[Scalar]]:
        """Return the matrix: 1 inside; on the edge, along it whole and across it by k."""
        n, t, s = z
        r = sqrt(t * t + s * s + TINY)
        over = 1.0 / r
        t, s = t * over, s * over
        # a projects n on n, b couples n with the direction of sliding, c what sticking adds along
        # it
        scale = 1.0 / (1.0 + self.mu * self.mu)
        slide = positive((n + r * self.mu) * scale)
        sticks, touches = n * self.mu - r, if_positive(slide, scale, 0.0)
        k = if_positive(sticks, 1.0, slide * self.mu * over)
        a = if_positive(sticks, 1.0, touches)
        b = if_positive(sticks, 0.0, touches * self.mu)
        c = if_positive(sticks, 0.0, touches * (self.mu * self.mu) - k)
        bt, bs, ct = b * t, b * s, c * t
        return [[a, bt, bs], [bt, ct * t + k, ct * s], [bs, ct * s, c * s * s + k]]

    def along(self, z: Numbers, u: Numbers) -> Line:
        """Return the force along a line, by the products of tangential parts alone."""
        n0, *t = z
        n1, *w = u
        tt, tw, ww = dot(t, t), dot(t, w), dot(w, w)
        mu, scale = self.mu, 1.0 / (1.0 + self.mu * self.mu)

        def at(alpha: Scalar) -> tuple[Scalar, Scalar]:
            # half the slope of |t + alpha w|^2; r and its rate follow from it
            inner = tw + alpha * ww
            r = sqrt(positive(tt + alpha * (tw + inner)) + TINY)
            n = n0 + alpha * n1
            slide = positive((n + mu * r) * scale)
            rate, k = inner / r, slide * mu / r
            sticks = mu * n - r
            outward = n1 + mu * rate
            # second derivative: along the edge of the cone, and across it by k
            curved = if_positive(slide, outward * outward * scale, 0.0) + k * (ww - rate * rate)
            return (
                if_positive(sticks, n * n1 + inner, slide * n1 + k * inner),
                if_positive(sticks, n1 * n1 + ww, curved),
            )

        return at


class NonNegative(NamedTuple):
    """One force that can only push."""

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest force that is not negative."""
        return [positive(z[0])]

    def slope(self, z: Numbers) -> list[list[Scalar]]:
        """Return one number."""
        return [[if_positive(z[0], 1.0, 0.0)]]

    def along(self, z: Numbers, u: Numbers) -> Line:
        """Return the force along a line."""
        return _along(self, z, u)


class ForceBox(NamedTuple):
    """One force between bounds."""

    lower: Scalar
    upper: Scalar

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest force within the bounds."""
        below = if_positive(z[0] - self.lower, z[0], self.lower)
        return [if_positive(self.upper - below, below, self.upper)]

    def slope(self, z: Numbers) -> list[list[Scalar]]:
        """Return one number."""
        return [[if_positive(z[0] - self.lower, if_positive(self.upper - z[0], 1.0, 0.0), 0.0)]]

    def along(self, z: Numbers, u: Numbers) -> Line:
        """Return the force along a line."""
        return _along(self, z, u)


def _along(cone: NonNegative | ForceBox, z: Numbers, u: Numbers) -> Line:
    def at(alpha: Scalar) -> tuple[Scalar, Scalar]:
        (x,) = z
        moved = [x + alpha * u[0]]
        return cone.project(moved)[0] * u[0], cone.slope(moved)[0][0] * (u[0] * u[0])

    return at


TOLERANCE = 1e-12  # relative residual at which a row is solved
# relative residual below which a round that gains nothing ends the search: what is left is
# rounding, of single precision for one
STALLED = 1e-5
SLOPE_LEFT = 0.1  # part of the slope along a step that may be left at its end
SEARCH_ROUNDS = 8
MIN_SQUARE = 1e-30  # added to squares that may be zero; single precision has it too


class PointRows(NamedTuple):
    """Rows of a contact of one body with the ground."""

    body: int
    arm: Vector3  # the contact point, relative to the origin of the root
    directions: tuple[Vector3, ...]

    def rates(self, twists: Mapping[int, Motion], _: Numbers) -> list[Scalar]:
        """Return J d along each direction."""
        twist = twists[self.body]
        moving = twist.lin + twist.ang.cross(self.arm)
        return [direction.dot(moving) for direction in self.directions]


class JointRows(NamedTuple):
    """Rows over the coordinates of the model: of joint limits, dry friction and pairs of bodies."""

    rows: list[list[Scalar]]

    def rates(self, _: Mapping[int, Motion], d: Numbers) -> list[Scalar]:
        """Return J d, row by row."""
        return [dot(row, d) for row in self.rows]


class Constraint(NamedTuple):
    """A constraint that may be active: its rows share a cone and a softness."""

    rows: PointRows | JointRows
    cone: Cone | NonNegative | ForceBox
    asked: list[Scalar]  # the accelerations J a that it asks for
    active: Scalar  # one, or zero while the constraint is open
    R: Scalar
    weight: float  # inverse of the mass that it feels, about the diagonal of J M^-1 J^T


class Solution(NamedTuple):
    """What Newton's method finds."""

    a: list[Scalar]
    forces: list[list[Scalar]]  # of each constraint, along its rows
    # length of the gradient over that of the free acceleration, in the metric of M: about the
    # relative error of the accelerations
    residual: Scalar


class NewtonStep(NamedTuple):
    """A step of Newton's method."""

    d: list[Scalar]
    size: Scalar  #: d . H d.
    pull: list[Scalar]  #: K^T lam: what keeps loops closed, with their rows K.


class CoordinateMap(NamedTuple):
    """How coordinates of the model and joint velocities of its tree belong together."""

    expand: Callable[[Numbers], Table]  # joint velocities by body, of velocities of the model
    # forces on the coordinates of the model, of those on all joints of the tree
    reduce: Callable[[Numbers], list[Scalar]]
    parents: Sequence[int]  # order of elimination: as `Tree.dof_parent`, or dense


class ContactProblem:
    """The soft contact model at one state."""

    def __init__(
        self,
        constraints: Sequence[Constraint],
        space: JointSpace,
        coordinates: CoordinateMap,
        M: Matrix,
        loops: Sequence[list[Scalar]],
    ) -> None:
        """Take the mass matrix and the rows of loops, which are kept exactly."""
        self.constraints, self.space, self.coordinates = constraints, space, coordinates
        self.M, self.loops = M, loops
        # entries of the mass matrix that may differ from zero: most couple nothing in large scenes
        self.entries = [[(k, x) for k, x in enumerate(row) if not isinstance(x, Zero)] for row in M]
        # softness of open constraints is taken as infinite: z = 0
        self.over = [each.active / each.R for each in constraints]

    def rates(self, d: Numbers) -> list[list[Scalar]]:
        """Return J d of each constraint."""
        # J d by the motions of the bodies: no row of J is formed for contacts with the ground
        twists = self.space.twists(self.coordinates.expand(d))
        return [each.rows.rates(twists, d) for each in self.constraints]

    def divide_by_softness(self, x: Sequence[Numbers]) -> list[list[Scalar]]:
        """Return -x / R, or zero for open constraints."""
        return [[-(y * over) for y in part] for part, over in zip(x, self.over, strict=True)]

    def project(self, z: Sequence[Numbers]) -> list[list[Scalar]]:
        """Return the forces of closed constraints."""
        return [
            [x * each.active for x in each.cone.project(part)]
            for each, part in zip(self.constraints, z, strict=True)
        ]

    def slopes(self, z: Sequence[Numbers]) -> list[Matrix]:
        """Return the slope of each projection over R."""
        return [
            [[x * over for x in row] for row in each.cone.slope(part)]
            for each, part, over in zip(self.constraints, z, self.over, strict=True)
        ]

    def joint_forces(self, forces: Sequence[Numbers]) -> list[Scalar]:
        """Return J^T f."""
        # contacts with the ground: sum their forces body by body, then one sweep to the base
        wrenches: dict[int, Force] = {}
        rest: list[Scalar] = [ZERO] * len(self.M)
        for each, f in zip(self.constraints, forces, strict=True):
            if isinstance(each.rows, PointRows):
                body, arm, directions = each.rows
                push = _sum(direction * x for direction, x in zip(directions, f, strict=True))
                wrench = Force(arm.cross(push), push)
                wrenches[body] = wrenches[body] + wrench if body in wrenches else wrench
            else:
                for row, x in zip(each.rows.rows, f, strict=True):
                    rest = [y + j * x for y, j in zip(rest, row, strict=True)]
        reduced = self.coordinates.reduce(self.space.forces(wrenches))
        return [x + y for x, y in zip(reduced, rest, strict=True)]

    def hessian(self, slopes: Sequence[Matrix]) -> Matrix:
        """Return M + J^T (slope / R) J."""
        # contacts with the ground: a stiffness of their bodies, as if it were an inertia
        own: dict[int, ArticulatedInertia] = {}
        for each, W in zip(self.constraints, slopes, strict=True):
            if isinstance(each.rows, PointRows):
                body, K = each.rows.body, _stiffness(each.rows, W)
                own[body] = own[body] + K if body in own else K
        reduce = self.coordinates.reduce
        rows = [reduce(row) for row in self.space.stiffness(own)]
        # couplings between joints act on both sides: rows were reduced above, now columns
        columns = [reduce(column) for column in zip(*rows, strict=True)]
        both = zip(self.M, columns, strict=True)
        H = [[x + y for x, y in zip(*pair, strict=True)] for pair in both]
        for each, W in zip(self.constraints, slopes, strict=True):
            if isinstance(each.rows, JointRows):
                _add_rows(H, each.rows.rows, W)
        return H

    def direction(self, slopes: Sequence[Matrix], g: Numbers) -> NewtonStep:
        """Return the step with H d = -g + K^T lam and K d = 0."""
        # H d = -g by L^T D L in the order of the elimination tree
        factor = Factor.of(self.hessian(slopes), self.coordinates.parents)
        z, pull = factor.half([-x for x in g]), [ZERO] * len(g)
        if self.loops:
            # loops stay closed: K d = 0 gives lam from K H^-1 K^T lam = K H^-1 g
            closed = Delassus(factor, self.loops)
            lam = closed.solve([-x for x in closed.along(z)])
            z = closed.add_forces(z, lam)
            pull = [dot(column, lam) for column in zip(*self.loops, strict=True)]
        y = factor.scaled(z)
        return NewtonStep(factor.outward(y), dot(z, y), pull)

    def soften(self, factor: float) -> ContactProblem:
        """Return the problem with constraints that are softer by a factor."""
        constraints = [each._replace(R=each.R * factor) for each in self.constraints]
        return ContactProblem(constraints, self.space, self.coordinates, self.M, self.loops)

    def solve(
        self, a0: Numbers, power: Scalar, rounds: int, factors: Sequence[float] = ()
    ) -> Solution:
        """Return the minimum, from the free acceleration a0 on.

        Args:
            a0: accelerations without these constraints.
            power: a0 . M a0.
            rounds: of Newton's method at the most; each state takes as many as it needs.
            factors: by which constraints are softer in problems that are solved before.
        """
        n = len(a0)
        # start at the free acceleration, where a - a0 and its momentum vanish: x = J a0 - asked
        sizes = [len(each.asked) for each in self.constraints]
        x0 = [
            [x - asked for x, asked in zip(part, each.asked, strict=True)]
            for each, part in zip(self.constraints, self.rates(a0), strict=True)
        ]
        some = total([each.active for each in self.constraints]) + 0.0
        numbers = [*[0.0] * (2 * n), *(number for part in x0 for number in part)]
        # from soft to stiff, each problem begun where the one before has ended
        for problem in (*map(self.soften, factors), self):
            step = problem.newton_step(n, power, sizes)
            _, left, *numbers = repeat(rounds, step, [some, 0.0, *numbers], while_positive=0)
        a = [p + q for p, q in zip(a0, numbers[:n], strict=True)]
        forces = self.project(self.divide_by_softness(_split(numbers[2 * n :], sizes)))
        return Solution(a, forces, sqrt(left))

    def newton_step(
        self, n: int, power: Scalar, sizes: Sequence[int]
    ) -> Callable[[list[Scalar]], list[Scalar]]:
        """Return a round over: continue or not, residual^2, a - a0, M (a - a0), J a - asked."""

        def advance(carried: list[Scalar]) -> list[Scalar]:
            _, before, *numbers = carried
            e, Me, x = numbers[:n], numbers[n : 2 * n], _split(numbers[2 * n :], sizes)
            z = self.divide_by_softness(x)
            # gradient g = M (a - a0) - J^T f, and the step that Newton's method takes from it
            f, slopes = self.project(z), self.slopes(z)
            g = [p - q for p, q in zip(Me, self.joint_forces(f), strict=True)]
            d, error, pull = self.direction(slopes, g)
            Md = [
                total([x * d[k] for k, x in row]) - p
                for row, p in zip(self.entries, pull, strict=True)
            ]
            y = self.rates(d)
            alpha = self._step_length(z, self.divide_by_softness(y), dot(d, Me), dot(d, Md))

            # all that is carried is linear in a: update it instead of computing it anew
            e = [p + alpha * q for p, q in zip(e, d, strict=True)]
            Me = [p + alpha * q for p, q in zip(Me, Md, strict=True)]
            x = [
                [p + alpha * q for p, q in zip(*both, strict=True)]
                for both in zip(x, y, strict=True)
            ]
            # after a full step g is J^T of what the forces differ by from their linear prediction;
            # steps that keep loops closed are less accurate, and are repeated until they vanish
            if not self.loops:
                predicted = self._prediction_error(z, self.divide_by_softness(x), f, slopes)
                error = if_positive(1.0 - alpha, error, predicted)
            # relative residual, squared; stop at the tolerance, or where rounding hides any gain
            left = error / (power + dot(e, Me) + MIN_SQUARE)
            no_gain = if_positive(before, if_positive(before - left, 0.0, 1.0), 0.0)
            stalled = if_positive(STALLED**2 - left, no_gain, 0.0)
            going = if_positive(left - TOLERANCE**2, 1.0 - stalled, 0.0)
            return [going, left, *e, *Me, *(number for part in x for number in part)]

        return advance

    def _prediction_error(
        self,
        z: Sequence[Numbers],
        moved: Sequence[Numbers],
        f: Sequence[Numbers],
        slopes: Sequence[Matrix],
    ) -> Scalar:
        """Return the sum of weight |f(moved) - f - slope (moved - z)|^2."""
        found: Scalar = ZERO
        parts = zip(self.constraints, z, moved, f, self.project(moved), slopes, strict=True)
        for each, old, new, before, after, W in parts:
            shift = [(q - p) * each.R for p, q in zip(old, new, strict=True)]
            gaps = [q - (p + dot(row, shift)) for p, q, row in zip(before, after, W, strict=True)]
            found = found + dot(gaps, gaps) * each.weight
        return found

    def _step_length(
        self, z: Sequence[Numbers], u: Sequence[Numbers], slope: Scalar, curvature: Scalar
    ) -> Scalar:
        """Return how far to go along a direction: 1, or near where the function is least."""
        lines: list[tuple[Constraint, Line]] = [
            (each, each.cone.along(p, q)) for each, p, q in zip(self.constraints, z, u, strict=True)
        ]

        def at(alpha: Scalar) -> tuple[Scalar, Scalar]:
            first, second = slope + alpha * curvature, curvature
            for each, line in lines:
                p, q = line(alpha)
                scale = each.R * each.active
                first, second = first + p * scale, second + q * scale
            return first, second

        # the slope at the start is negative; accept the full step where little of it is left at its
        # end
        start, _ = at(0.0)
        enough = start * -SLOPE_LEFT
        end, bend = at(1.0)

        def closer(carried: list[Scalar]) -> list[Scalar]:
            """Take Newton's point on the slope, or the secant's where it leaves the bracket."""
            _, alpha, first, second, low, below, high, above, best, least = carried
            point = alpha - first / (second + MIN_SQUARE)
            share = below / (below - above - MIN_SQUARE)
            share = if_positive(share - 0.1, if_positive(0.9 - share, share, 0.9), 0.1)
            secant = low + (high - low) * share
            inside = if_positive(point - low, if_positive(high - point, 1.0, 0.0), 0.0)
            point = if_positive(inside, point, secant)
            first, second = at(point)
            size = if_positive(first, first, -first)
            better = least - size
            return [
                size - enough,
                point,
                first,
                second,
                if_positive(first, low, point),
                if_positive(first, below, first),
                if_positive(first, point, high),
                if_positive(first, first, above),
                if_positive(better, point, best),
                if_positive(better, size, least),
            ]

        first_guess = [end - enough, 1.0, end, bend, 0.0, start, 1.0, end, 1.0, end]
        found = repeat(SEARCH_ROUNDS, closer, first_guess, while_positive=0)
        return found[8]


def _split(numbers: Numbers, sizes: Sequence[int]) -> list[list[Scalar]]:
    """Return consecutive parts of a list."""
    found, start = [], 0
    for size in sizes:
        found.append(list(numbers[start : start + size]))
        start += size
    return found


def _sum(vectors: Iterable[Vector3]) -> Vector3:
    first, *rest = vectors
    for vector in rest:
        first = first + vector
    return first


def _stiffness(rows: PointRows, W: Matrix) -> ArticulatedInertia:
    """Return [[P^T C P, P C], [-C P, C]] with C = D^T W D and P = arm x; D has the directions."""
    # C = D^T W D: stiffness along world axes
    axes = range(3)
    D = [[exact(x) for x in direction] for direction in rows.directions]
    WD = [[dot(row, [d[m] for d in D]) for m in axes] for row in W]
    C = [[dot([d[k] for d in D], [w[m] for w in WD]) for m in axes] for k in axes]
    linear = Symmetric3(C[0][0], C[1][1], C[2][2], C[0][1], C[0][2], C[1][2])
    P = skew(rows.arm)
    coupling: Matrix3 = P @ linear.matrix()
    turning = -(coupling @ P)
    return ArticulatedInertia(
        Symmetric3(turning.a.x, turning.b.y, turning.c.z, turning.a.y, turning.a.z, turning.b.z),
        coupling,
        linear,
    )


def _add_rows(H: Matrix, rows: Sequence[Numbers], W: Matrix) -> None:
    """Add J^T W J, at the coordinates that the rows move."""
    moved = [k for k, column in enumerate(zip(*rows, strict=True)) if not _is_zero(column)]
    WJ = [{k: dot(w, [row[k] for row in rows]) for k in moved} for w in W]
    for i in moved:
        left = [row[i] for row in rows]
        for j in moved:
            H[i][j] = H[i][j] + dot(left, [w[j] for w in WJ])


def _is_zero(numbers: Numbers) -> bool:
    """Return whether all numbers are exact zeros."""
    return all(isinstance(x, Zero) for x in numbers)
