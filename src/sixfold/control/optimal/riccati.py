"""One step of the backward sweep: the best change of the controls at a node, and what is left.

A step of the semi-implicit Euler method is x' = P (q, v+), v+ = v + h a(q, v, u), with
P = [[1, h 1], [0, 1]].  To first order v+ = F x + G u, F = [h a_q, 1 + h a_v] and G = h a_u.  With
the cost to go V_x x' + x'^T V_xx x' / 2 and W = P^T V_xx P,

    Q_x  = l_x + [y_q; 0] + F^T y_v               y = P^T V_x
    Q_u  = l_u + G^T y_v
    Q_xx = l_xx + F^T U + [W_qq 1_q + W_qv F; 0]  U = W_vv F + W_vq 1_q
    Q_ux = l_ux + G^T U
    Q_uu = l_uu + G^T W_vv G + mu 1

and the change u + k + K x that is best within the limits of u leaves V_x = Q_x + Q_ux^T k and
V_xx = Q_xx + Q_ux^T K (Jacobson and Mayne, 1970; limits by Tassa, Mansard and Todorov, ICRA 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sixfold.dynamics.contact.matrices import Dense, Matrix, symmetric, transposed_times
from sixfold.scalar import ZERO, Scalar, dot, if_positive

Numbers = Sequence[Scalar]
ROUNDS = 3
"""Times that the controls at their limits are looked for."""


@dataclass(frozen=True)
class Node:
    """The motion and the cost near one node."""

    F: Matrix
    """By the state, n x 2 n."""
    G: Matrix
    """By the controls, n x m."""
    l_x: Numbers
    l_u: Numbers
    l_xx: Matrix
    l_ux: Matrix
    l_uu: Matrix
    low: Numbers | None
    """How far the controls may go down; None without limits."""
    high: Numbers | None


def backward_step(
    V_x: Numbers, V_xx: Matrix, node: Node, h: Scalar, mu: Scalar
) -> tuple[list[Scalar], Matrix, list[Scalar], Matrix, list[Scalar], Scalar]:
    """Return V_x and V_xx at a node, k, K, the two terms of the gain, and the smallest pivot."""
    F, G, n, m = node.F, node.G, len(node.F), len(node.G[0])
    W_qv = [[h * V_xx[i][j] + V_xx[i][n + j] for j in range(n)] for i in range(n)]
    W_vv = symmetric(n, lambda i, j: h * W_qv[i][j] + (h * V_xx[n + i][j] + V_xx[n + i][n + j]))
    y = [h * V_x[i] + V_x[n + i] for i in range(n)]
    columns = list(zip(*F, strict=True))  # of F
    U = [
        [dot(W_vv[i], columns[j]) + (W_qv[j][i] if j < n else ZERO) for j in range(2 * n)]
        for i in range(n)
    ]
    U_columns = list(zip(*U, strict=True))
    G_columns = list(zip(*G, strict=True))

    def element(i: int, j: int) -> Scalar:
        found = node.l_xx[i][j] + dot(columns[i], U_columns[j])
        return found + dot(W_qv[i], columns[j]) + V_xx[i][j] if i < n else found

    Q_xx = symmetric(2 * n, element)
    Q_x = [a + b for a, b in zip(node.l_x, [*V_x[:n], *[ZERO] * n], strict=True)]
    Q_x = [a + dot(column, y) for a, column in zip(Q_x, columns, strict=True)]
    Q_u = [a + dot(column, y) for a, column in zip(node.l_u, G_columns, strict=True)]
    Q_ux = [
        [node.l_ux[r][j] + dot(G_columns[r], U_columns[j]) for j in range(2 * n)] for r in range(m)
    ]
    WG = [[dot(W_vv[i], g) for g in G_columns] for i in range(n)]
    WG_columns = list(zip(*WG, strict=True))
    Q_uu = symmetric(
        m,
        lambda r, s: node.l_uu[r][s] + dot(G_columns[r], WG_columns[s]) + (mu if r == s else ZERO),
    )
    k, factor, free = _bounded(Q_uu, Q_u, node.low, node.high)
    K_columns = []
    for j in range(2 * n):
        asked = [-Q_ux[r][j] * free[r] for r in range(m)]
        K_columns.append([x * f for x, f in zip(factor.solve(asked), free, strict=True)])
    K = [list(row) for row in zip(*K_columns, strict=True)]
    back = transposed_times(Q_ux, k)
    left = [a + b for a, b in zip(Q_x, back, strict=True)]
    Q_ux_columns = list(zip(*Q_ux, strict=True))
    rest = symmetric(2 * n, lambda i, j: Q_xx[i][j] + dot(Q_ux_columns[i], K_columns[j]))
    half = dot(k, [dot(row, k) for row in Q_uu])
    least = factor.over[0]
    for x in factor.over[1:]:
        least = if_positive(least - x, x, least)
    return left, rest, k, K, [dot(Q_u, k), half], least


def _bounded(
    Q_uu: Matrix, Q_u: Numbers, low: Numbers | None, high: Numbers | None
) -> tuple[list[Scalar], Dense, list[Scalar]]:
    """Return the k within limits at which the quadratic is least, by projected Newton steps.

    With it come the factor of Q_uu, in which controls at a limit have a row of the unit matrix, and
    a zero for each of these controls.
    """
    m = len(Q_u)
    free: list[Scalar] = [1.0] * m
    if low is None or high is None:
        factor = Dense([list(row) for row in Q_uu])
        return factor.solve([-x for x in Q_u]), factor, free
    k: list[Scalar] = [ZERO] * m
    for _ in range(ROUNDS):
        slope = [a + dot(row, k) for a, row in zip(Q_u, Q_uu, strict=True)]
        free = [
            if_positive(if_positive(g, k[r] - low[r], high[r] - k[r]), 1.0, 0.0)
            for r, g in enumerate(slope)
        ]
        factor = Dense(_masked(Q_uu, free))
        step = factor.solve([-x * f for x, f in zip(slope, free, strict=True)])
        k = [
            _within(a + b * f, low[r], high[r])
            for r, (a, b, f) in enumerate(zip(k, step, free, strict=True))
        ]
    return k, factor, free


def _masked(A: Matrix, free: Numbers) -> Matrix:
    """Return A with rows and columns of the unit matrix where `free` is zero."""
    n = len(A)
    return symmetric(
        n,
        lambda i, j: (
            A[i][j] * (free[i] * free[j]) if i != j else if_positive(free[i], A[i][i], 1.0)
        ),
    )


def _within(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return if_positive(x - high, high, if_positive(low - x, low, x))
