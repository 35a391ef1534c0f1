"""Coulomb's law at one contact, exact: a scalar equation for how far it is from sticking.

With p_n = -(b_n + G_nt p_t) / G_nn the tangential rows are S p_t + c = u_t, where
S = G_tt - G_tn G_nt / G_nn and c = b_t - G_tn b_n / G_nn.  Sliding means u_t = -l p_t with l > 0:

    p_t(l) = -(S + l)^-1 c,     |p_t(l)| = mu p_n(l).

If sticking (l = 0) needs more than the cone gives, the left side is larger at l = 0 and smaller at
l = infinity, where p_t = 0 and p_n = -b_n / G_nn > 0: there is a root between, for every mu
(Bonnefon and Daviet, Quartic Formulation of Coulomb 3D Frictional Contact, 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sixfold.scalar import Scalar, dot, if_positive, repeat, sqrt

ROOT_ROUNDS = 16
"""Of the Illinois method (regula falsi that halves an end that stays): rounding is reached."""

Vector = list[Scalar]


def one_contact(G: Sequence[Sequence[Scalar]], mu: float) -> Callable[[Vector], Vector]:
    """Return the function from b to the impulse (p_n, p_t) of a contact by itself.

    Args:
        G: the 3 x 3 Delassus matrix, normal first; positive definite.
        mu: coefficient of friction.
    """
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
