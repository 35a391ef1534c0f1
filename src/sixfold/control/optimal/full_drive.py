"""The backward sweep of a robot with a motor at every joint, in steps of a quarter of the work.

Where G = h M^-1 is square, the next velocity w = F x + G u is as good a control as u = T (w - F x),
T = G^-1 = M / h: the motion is then x' = P (q, w), and only the cost depends on the robot.  With
B = T F = [-tau_q, M / h - tau_v], where tau(q, v, a) is the inverse dynamics,

    l_w  = T^T l_u                l_ww = T^T R T             R = l_uu + mu 1
    l_x' = l_x - B^T l_u          l_wx = T^T (l_ux - R B)
    l_xx' = l_xx - B^T l_ux - l_ux^T B + B^T R B

are found for all nodes at once (`absorbed`), and a step of the sweep has no product with F or G:

    Q_ww = l_ww + W_vv            Q_w = l_w + y_v            W = P^T V_xx P
    Q_wx = l_wx + [W_vq, 0]       Q_x = l_x' + [V_q; 0]      y = P^T V_x
    Q_xx = l_xx' + [V_qq, 0; 0, 0]

With Q_ww = L D L^T a step keeps L and D^-1 L^-1 [Q_wx, Q_w].  The gains of u follow for all nodes
at once (`force_gains`), and are those of `riccati`.  Limits of u are not looked at: a motion that
meets one is swept again by `riccati.backward_step`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.dynamics.contact.matrices import Dense, Matrix, symmetric, times
from sixfold.scalar import ZERO, Scalar, dot, if_positive, total

Numbers = Sequence[Scalar]


def inverted(F: Matrix, G: Matrix) -> tuple[Matrix, Matrix]:
    """Return T = G^-1 and the columns of B = T F."""
    n, factor = len(G), Dense(G)
    T = [factor.solve([1.0 if i == j else ZERO for i in range(n)]) for j in range(n)]
    return T, [factor.solve(column) for column in zip(*F, strict=True)]


def absorbed(
    T: Matrix,
    B: Matrix,
    l_x: Numbers,
    l_u: Numbers,
    l_xx: Matrix,
    l_ux: Matrix,
    l_uu: Matrix,
    mu: Scalar,
) -> tuple[list[Scalar], list[Scalar], Matrix, Matrix, Matrix]:
    """Return the derivatives of the cost by x and w at a node: l_x, l_w, l_xx, l_wx, l_ww.

    B is given by its columns.
    """
    n = len(T)
    R = [[x + mu if i == j else x for j, x in enumerate(row)] for i, row in enumerate(l_uu)]
    C = [times(R, column) for column in B]  # columns of R B
    ux = list(zip(*l_ux, strict=True))
    E = [[a - b for a, b in zip(x, c, strict=True)] for x, c in zip(ux, C, strict=True)]
    xx = symmetric(2 * n, lambda i, j: l_xx[i][j] - dot(B[i], ux[j]) - dot(E[i], B[j]))
    wx = [list(row) for row in zip(*(times(T, e) for e in E), strict=True)]
    RT = [times(R, row) for row in T]  # columns of R T
    ww = symmetric(n, lambda i, j: dot(T[i], RT[j]))
    x = [a - dot(column, l_u) for a, column in zip(l_x, B, strict=True)]
    return x, times(T, l_u), xx, wx, ww


def velocity_step(
    V_x: Numbers,
    V_xx: Matrix,
    l_x: Numbers,
    l_w: Numbers,
    l_xx: Matrix,
    l_wx: Matrix,
    l_ww: Matrix,
    h: Scalar,
) -> tuple[list[Scalar], Matrix, Matrix, Matrix, Scalar, Scalar]:
    """Return V_x and V_xx at a node, what the gains are made of, the gain, the smallest pivot.

    What the gains are made of: L, and D^-1 L^-1 [Q_wx, Q_w] column by column.
    """
    n = len(l_w)
    W_vq = [[h * V_xx[i][j] + V_xx[n + i][j] for j in range(n)] for i in range(n)]
    factor = Dense(
        symmetric(
            n,
            lambda i, j: l_ww[i][j] + (h * W_vq[i][j] + (h * V_xx[n + j][i] + V_xx[n + i][n + j])),
        )
    )
    Q_w = [l_w[i] + (h * V_x[i] + V_x[n + i]) for i in range(n)]
    columns = [
        [l_wx[i][j] + W_vq[i][j] if j < n else l_wx[i][j] for i in range(n)] for j in range(2 * n)
    ]
    # z = L^-1 b, s = D^-1 z: what is left is Q_xx - z^T s
    z = [_halved(factor, column) for column in (*columns, Q_w)]
    s = [[a * b for a, b in zip(each, factor.over, strict=True)] for each in z]
    left = [l_x[i] + (V_x[i] if i < n else ZERO) - dot(z[i], s[2 * n]) for i in range(2 * n)]
    rest = symmetric(
        2 * n, lambda i, j: l_xx[i][j] + (V_xx[i][j] if i < n else ZERO) - dot(z[i], s[j])
    )
    least = factor.over[0]
    for x in factor.over[1:]:
        least = if_positive(least - x, x, least)
    return left, rest, factor.L, s, dot(z[2 * n], s[2 * n]), least


def force_gains(T: Matrix, B: Matrix, L: Matrix, s: Matrix) -> tuple[list[Scalar], Matrix]:
    """Return k and K of the joint forces, T k and T K - B, of what `velocity_step` keeps."""
    *columns, k = [times(T, _back(L, [-x for x in each])) for each in s]
    rows = zip(*columns, strict=True)
    return k, [
        [x - y for x, y in zip(row, b, strict=True)]
        for row, b in zip(rows, zip(*B, strict=True), strict=True)
    ]


def _halved(factor: Dense, b: Numbers) -> list[Scalar]:
    """Return L^-1 b."""
    x, L = list(b), factor.L
    for k in range(len(x)):
        x[k] = x[k] - total([L[k][i] * x[i] for i in range(k)]) if k else x[k]
    return x


def _back(L: Matrix, b: Numbers) -> list[Scalar]:
    """Return L^-T b."""
    x, n = list(b), len(b)
    for k in reversed(range(n - 1)):
        x[k] = x[k] - total([L[i][k] * x[i] for i in range(k + 1, n)])
    return x
