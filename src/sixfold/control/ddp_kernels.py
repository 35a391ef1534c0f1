"""The kernels of differential dynamic programming: nodes, backward sweep, forward sweep.

Each is traced once from the model and the user's cost functions and kept; an iteration is a few
calls of them on all nodes, or on all steps, of all rows.  A backward sweep takes one of two steps:
`backward_step` for any controls and limits, `velocity_step` for a robot with a motor at each joint.

One step of the backward sweep: the best change of the controls at a node, and what is left.

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

The backward sweep of a robot with a motor at every joint, in steps of a quarter of the work.

Where G = h M^-1 is square, the next velocity w = F x + G u is as good a control as u = T (w - F x),
T = G^-1 = M / h: the motion is then x' = P (q, w), and only the cost depends on the robot.  With
B = T F = [-tau_q, M / h - tau_v], where tau(q, v, a) is the inverse dynamics,

    l_w  = T^T l_u                l_ww = T^T R T             R = l_uu + mu 1
    l_x' = l_x - B^T l_u          l_wx = T^T (l_ux - R B)
    l_xx' = l_xx - B^T l_ux - l_ux^T B + B^T R B

are found for all nodes at once (`absorb_controls`), and a step of the sweep has no product with F
or G:

    Q_ww = l_ww + W_vv            Q_w = l_w + y_v            W = P^T V_xx P
    Q_wx = l_wx + [W_vq, 0]       Q_x = l_x' + [V_q; 0]      y = P^T V_x
    Q_xx = l_xx' + [V_qq, 0; 0, 0]

With Q_ww = L D L^T a step keeps L and D^-1 L^-1 [Q_wx, Q_w].  The gains of u follow for all nodes
at once (`force_gains`), and are those of `backward_step`, which also sweeps a motion that meets a
limit of u: limits are not checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from sixfold.control.matrices import Dense, Matrix, symmetric, times, transposed_times
from sixfold.model import Model
from sixfold.quantities import readings
from sixfold.runtime import (
    KERNELS,
    kernel_tree,
    numbers_array,
    scan_kernel,
    second_order,
    user_kernel,
)
from sixfold.scalar import ZERO, Scalar, dot, if_positive, total
from sixfold.simulation.callbacks import Cost

Numbers = Sequence[Scalar]
ROUNDS = 3  # times that the controls at their limits are looked for


@dataclass(frozen=True)
class DDPNode:
    """The motion and the cost near one node."""

    F: Matrix  # by the state, n x 2 n
    G: Matrix  # by the controls, n x m
    l_x: Numbers
    l_u: Numbers
    l_xx: Matrix
    l_ux: Matrix
    l_uu: Matrix
    low: Numbers | None  # how far the controls may go down; None without limits
    high: Numbers | None


def backward_step(
    V_x: Numbers, V_xx: Matrix, node: DDPNode, h: Scalar, mu: Scalar
) -> tuple[list[Scalar], Matrix, list[Scalar], Matrix, list[Scalar], Scalar]:
    """Return V_x and V_xx at a node, k, K, the two terms of the gain, and the smallest pivot."""
    F, G, n, m = node.F, node.G, len(node.F), len(node.G[0])
    # W = P^T V_xx P and y = P^T V_x: the cost to go over (q, v+)
    W_qv = [[h * V_xx[i][j] + V_xx[i][n + j] for j in range(n)] for i in range(n)]
    W_vv = symmetric(n, lambda i, j: h * W_qv[i][j] + (h * V_xx[n + i][j] + V_xx[n + i][n + j]))
    y = [h * V_x[i] + V_x[n + i] for i in range(n)]
    # Q, the quadratic cost over (x, u)
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
    # the best change of the controls, k + K x
    k, factor, free = _minimise_in_box(Q_uu, Q_u, node.low, node.high)
    K_columns = []
    for j in range(2 * n):
        asked = [-Q_ux[r][j] * free[r] for r in range(m)]
        K_columns.append([x * f for x, f in zip(factor.solve(asked), free, strict=True)])
    K = [list(row) for row in zip(*K_columns, strict=True)]
    # the value that this change leaves
    back = transposed_times(Q_ux, k)
    left = [a + b for a, b in zip(Q_x, back, strict=True)]
    Q_ux_columns = list(zip(*Q_ux, strict=True))
    rest = symmetric(2 * n, lambda i, j: Q_xx[i][j] + dot(Q_ux_columns[i], K_columns[j]))
    half = dot(k, [dot(row, k) for row in Q_uu])
    least = factor.over[0]
    for x in factor.over[1:]:
        least = if_positive(least - x, x, least)
    return left, rest, k, K, [dot(Q_u, k), half], least


def _minimise_in_box(
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
    # projected Newton: controls that push against their limit stay there
    for _ in range(ROUNDS):
        slope = [a + dot(row, k) for a, row in zip(Q_u, Q_uu, strict=True)]
        free = [
            if_positive(if_positive(g, k[r] - low[r], high[r] - k[r]), 1.0, 0.0)
            for r, g in enumerate(slope)
        ]
        factor = Dense(_mask(Q_uu, free))
        step = factor.solve([-x * f for x, f in zip(slope, free, strict=True)])
        k = [
            _clip(a + b * f, low[r], high[r])
            for r, (a, b, f) in enumerate(zip(k, step, free, strict=True))
        ]
    return k, factor, free


def _mask(A: Matrix, free: Numbers) -> Matrix:
    """Return A with rows and columns of the unit matrix where `free` is zero."""
    n = len(A)
    return symmetric(
        n,
        lambda i, j: (
            A[i][j] * (free[i] * free[j]) if i != j else if_positive(free[i], A[i][i], 1.0)
        ),
    )


def _clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return if_positive(x - high, high, if_positive(low - x, low, x))


def invert_drive(F: Matrix, G: Matrix) -> tuple[Matrix, Matrix]:
    """Return T = G^-1 and the columns of B = T F."""
    # w = F x + G u is the next velocity: u = T w - B x
    n, factor = len(G), Dense(G)
    T = [factor.solve([1.0 if i == j else ZERO for i in range(n)]) for j in range(n)]
    return T, [factor.solve(column) for column in zip(*F, strict=True)]


def absorb_controls(
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
    # l_xx' = l_xx - B^T l_ux - l_ux^T B + B^T R B
    C = [times(R, column) for column in B]  # columns of R B
    ux = list(zip(*l_ux, strict=True))
    E = [[a - b for a, b in zip(x, c, strict=True)] for x, c in zip(ux, C, strict=True)]
    xx = symmetric(2 * n, lambda i, j: l_xx[i][j] - dot(B[i], ux[j]) - dot(E[i], B[j]))
    wx = [list(row) for row in zip(*(times(T, e) for e in E), strict=True)]
    # l_ww = T^T R T
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
    # Q_ww, Q_wx and Q_w
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
    z = [_forward_substitute(factor, column) for column in (*columns, Q_w)]
    s = [[a * b for a, b in zip(each, factor.over, strict=True)] for each in z]
    # V_x and V_xx: what minimising over w leaves
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
    *columns, k = [times(T, _back_substitute(L, [-x for x in each])) for each in s]
    rows = zip(*columns, strict=True)
    return k, [
        [x - y for x, y in zip(row, b, strict=True)]
        for row, b in zip(rows, zip(*B, strict=True), strict=True)
    ]


def _forward_substitute(factor: Dense, b: Numbers) -> list[Scalar]:
    """Return L^-1 b."""
    x, L = list(b), factor.L
    for k in range(len(x)):
        x[k] = x[k] - total([L[k][i] * x[i] for i in range(k)]) if k else x[k]
    return x


def _back_substitute(L: Matrix, b: Numbers) -> list[Scalar]:
    """Return L^-T b."""
    x, n = list(b), len(b)
    for k in reversed(range(n - 1)):
        x[k] = x[k] - total([L[i][k] * x[i] for i in range(k + 1, n)])
    return x


FEW_ROWS = 2  # problems up to which each is swept alone, one number in a register


@dataclass(frozen=True)
class DDPProblem:
    """A model, the joints that are driven, and what motions cost."""

    model: Model
    driven: tuple[int, ...]  # places of the controls in tau
    cost: Cost | None
    final: Cost | None
    parameters: int  # how many numbers the cost functions get
    known: tuple[Any, ...]  # what tells the cost functions from others
    # kernels that this problem has asked for: an iteration is short compared to a search for them
    in_use: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> tuple[Any, ...]:
        """What the kernels depend on."""
        return ("optimal_control", self.model.digest, self.driven, self.known, self.parameters)

    def _batch(self, name: str, sizes: Sequence[int], run: Callable[..., Any]) -> Any:
        """Return the kernel of a function on all nodes, kept for problems like this one."""
        known = KERNELS.find((*self.key, name))
        if known is not None:
            return known[0].ufunc
        kernel = user_kernel(run, "optimal_control", [(k,) for k in sizes], "float64")
        KERNELS.keep((*self.key, name), kernel)
        return kernel.ufunc

    def _scan(self, key: Any, *sizes: Sequence[int], step: Any, lanes: int | None = None) -> Any:
        """Return the kernel of a step through all nodes."""
        found = self.in_use.get((key, lanes))
        if found is None:
            name = f"optimal_control of '{self.model.name}'"
            found = scan_kernel(step, *sizes, name=name, key=key, lanes=lanes)
            self.in_use[key, lanes] = found
        return found

    # -- costs

    def _running(self, t: Scalar, q: Numbers, v: Numbers, u: Numbers, p: Numbers) -> Any:
        """Return the running cost per second."""
        if self.cost is None:
            return 0.0 * u[0]
        more = [numbers_array(list(p))] if self.parameters else []
        return self.cost.of(t, *map(numbers_array, (list(q), list(v), self._forces(u))), *more)

    def _running_derivatives(self, at: Sequence[Numbers], h: Scalar) -> tuple[Numbers, Matrix]:
        """Return the gradient and the Hessian of a step's cost with respect to q, v and u."""
        cost = second_order(lambda t, *rest: self._running(t[0], *rest), self._sizes, [1, 2, 3])
        _, slope, bend = cost(*map(list, at))
        return [h * x for x in slope], [[h * x for x in row] for row in bend]

    def _last(self, q: Numbers, v: Numbers, p: Numbers) -> Any:
        """Return the final cost."""
        if self.final is None:
            return 0.0 * q[0]
        more = [numbers_array(list(p))] if self.parameters else []
        return self.final.of(numbers_array(list(q)), numbers_array(list(v)), *more)

    @property
    def _sizes(self) -> list[int]:
        n = self.model.nv
        return [1, n, n, len(self.driven), max(self.parameters, 1)]

    # -- kernels on all nodes

    @cached_property
    def nodes(self) -> Any:
        """The kernel of (t, q, v, u, p, h): F, G and the derivatives of the running cost."""
        n = self.model.nv
        derivatives = readings.forward_dynamics_derivatives
        tree = kernel_tree(derivatives, self.model)

        def run(t: Any, q: Any, v: Any, u: Any, p: Any, h: Any) -> Any:
            # v+ = v + h a(q, v, u): F = [h da/dq, 1 + h da/dv], G = h da/du
            found = derivatives(self.model, tree, list(q), list(v), self._forces(list(u)))
            by_q, by_v, by_tau = (
                split_rows(found[k * n * n : (k + 1) * n * n], n) for k in range(3)
            )
            F = [
                [h[0] * x for x in by_q[i]]
                + [h[0] * x + (1.0 if i == j else 0.0) for j, x in enumerate(by_v[i])]
                for i in range(n)
            ]
            G = [[h[0] * by_tau[i][k] for k in self.driven] for i in range(n)]
            slope, bend = self._running_derivatives((t, q, v, u, p), h[0])
            parts = (
                *(_flat(F), _flat(G), slope[: 2 * n], slope[2 * n :]),
                [x for row in bend[: 2 * n] for x in row[: 2 * n]],
                [x for row in bend[2 * n :] for x in row[: 2 * n]],
                [x for row in bend[2 * n :] for x in row[2 * n :]],
            )
            return tuple(numbers_array(list(part)) for part in parts)

        return self._batch("nodes", (*self._sizes, 1), run)

    @cached_property
    def curvature(self) -> Any:
        """The kernel of (q, v, u, w): second derivatives of w . accelerations, xx and ux."""
        n = self.model.nv
        second = readings.forward_dynamics_second_derivatives
        tree = kernel_tree(second, self.model)

        def run(q: Any, v: Any, u: Any, w: Any) -> Any:
            # derivatives of w . a by (q, v) twice, and by u once: a is affine in u
            found = second(self.model, tree, list(q), list(v), self._forces(list(u)), list(w))
            qq, qv, vv, qu = (split_rows(found[k * n * n : (k + 1) * n * n], n) for k in range(4))
            xx = [[*qq[i], *qv[i]] for i in range(n)]
            xx += [[*(qv[j][i] for j in range(n)), *vv[i]] for i in range(n)]
            ux = [[*(qu[j][k] for j in range(n)), *[0.0] * n] for k in self.driven]
            return numbers_array(_flat(xx)), numbers_array(_flat(ux))

        return self._batch("curvature", (n, n, len(self.driven), n), run)

    @cached_property
    def last(self) -> Any:
        """The kernel of (q, v, p): the final cost, its gradient, half of its Hessian."""
        n = self.model.nv
        sizes = n, n, max(self.parameters, 1)

        def run(q: Any, v: Any, p: Any) -> Any:
            cost = second_order(self._last, sizes, [0, 1])
            value, slope, bend = cost(list(q), list(v), list(p))
            return value, numbers_array(slope), numbers_array(_lower_half(bend))

        return self._batch("last", sizes, run)

    # -- kernels through all steps

    def backward(self, bounded: bool, rows: int) -> Any:
        """Return the kernel of the backward sweep by `backward_step`."""
        n, m = self.model.nv, len(self.driven)
        triangle = n * (2 * n + 1)

        def step(*lists: Numbers) -> list[Scalar]:
            V_x, V_xx, _, _, gain, pivot, (h, mu), F, G, l_x, l_u, l_xx, l_ux, l_uu, *ends = lists
            node = DDPNode(
                *(
                    split_rows(F, 2 * n),
                    split_rows(G, m),
                    l_x,
                    l_u,
                    split_rows(l_xx, 2 * n),
                    split_rows(l_ux, 2 * n),
                ),
                split_rows(l_uu, m),
                *(ends if bounded else (None, None)),
            )
            x, xx, k, K, more, over = backward_step(V_x, _full(V_xx, 2 * n), node, h, mu)
            worst = if_positive(pivot[0] - over, over, pivot[0])
            gains = [a + b for a, b in zip(gain, more, strict=True)]
            return [*x, *_lower_half(xx), *k, *_flat(K), *gains, worst]

        carried = [2 * n, triangle, m, 2 * n * m, 2, 1]
        each = [2 * n * n, n * m, 2 * n, m, 4 * n * n, 2 * n * m, m * m]
        each += [m, m] if bounded else []
        key = ("optimal_control", n, m, bounded)
        return self._scan(key, carried, [2], each, step=step, lanes=lanes_for(rows))

    @property
    def fully_driven(self) -> bool:
        """Whether every joint has a motor; then `velocity_step` sweeps."""
        return len(self.driven) == self.model.nv

    @cached_property
    def driven_nodes(self) -> Any:
        """The kernel of (t, q, v, u, p, h, mu, slope, bend): T, B and the cost by x and w.

        Slope and bend are added to l_x and to the diagonal of l_xx.
        """
        n = self.model.nv
        dynamics = readings.forward_dynamics
        derivatives = readings.inverse_dynamics_derivatives
        trees = [kernel_tree(each, self.model) for each in (dynamics, derivatives)]

        def run(t: Any, q: Any, v: Any, u: Any, p: Any, *rest: Any) -> Any:
            (h,), (mu,), more_slope, more_bend = rest
            at = list(q), list(v)
            a = dynamics(self.model, trees[0], *at, self._forces(list(u)))
            found = derivatives(self.model, trees[1], *at, a)
            by_q, by_v, M = (split_rows(found[k * n * n : (k + 1) * n * n], n) for k in range(3))
            # by inverse dynamics, no matrix is inverted: T = M / h, B = -dID/dq and T - dID/dv
            T = [[x / h for x in row] for row in M]
            B = [[-x for x in column] for column in zip(*by_q, strict=True)]
            B += [
                [x - y for x, y in zip(row, column, strict=True)]
                for row, column in zip(T, zip(*by_v, strict=True), strict=True)
            ]
            slope, bend = self._running_derivatives((t, q, v, u, p), h)
            l_x = [x + more_slope[k] for k, x in enumerate(slope[: 2 * n])]
            for k in range(2 * n):
                bend[k][k] = bend[k][k] + more_bend[k]
            by_x, by_u = [row[: 2 * n] for row in bend[: 2 * n]], bend[2 * n :]
            parts = absorb_controls(
                *(T, B, l_x, slope[2 * n :], by_x),
                *([row[: 2 * n] for row in by_u], [row[2 * n :] for row in by_u], mu),
            )
            return _node_arrays(T, B, *parts)

        return self._batch("driven nodes", (*self._sizes, 1, 1, 2 * n, 2 * n), run)

    @cached_property
    def absorbed_nodes(self) -> Any:
        """The kernel of (F, G, l_x, ..., l_uu, mu): T, B and the cost by x and w."""
        n = self.model.nv

        def run(*arrays: Any) -> Any:
            F, G, l_x, l_u, l_xx, l_ux, l_uu, mu = map(list, arrays)
            T, B = invert_drive(split_rows(F, 2 * n), split_rows(G, n))
            parts = absorb_controls(
                *(
                    T,
                    B,
                    l_x,
                    l_u,
                    split_rows(l_xx, 2 * n),
                    split_rows(l_ux, 2 * n),
                    split_rows(l_uu, n),
                    mu[0],
                )
            )
            return _node_arrays(T, B, *parts)

        sizes = (2 * n * n, n * n, 2 * n, n, 4 * n * n, 2 * n * n, n * n, 1)
        return self._batch("absorbed", sizes, run)

    def velocity_sweep(self, rows: int) -> Any:
        """Return the kernel of the backward sweep in next velocities."""
        n = self.model.nv

        def step(*lists: Numbers) -> list[Scalar]:
            V_x, V_xx, _, _, (gain, pivot), (h,), l_x, l_w, l_xx, l_wx, l_ww = lists
            x, xx, L, s, more, over = velocity_step(
                *(V_x, _full(V_xx, 2 * n), l_x, l_w),
                *(_full(l_xx, 2 * n), split_rows(l_wx, 2 * n), _full(l_ww, n), h),
            )
            worst = if_positive(pivot - over, over, pivot)
            below = [x for i, row in enumerate(L) for x in row[:i]]
            return [*x, *_lower_half(xx), *below, *_flat(s), gain + more, worst]

        triangle = n * (2 * n + 1)
        carried = [2 * n, triangle, *self.kept_sizes, 2]
        each = [2 * n, n, triangle, 2 * n * n, n * (n + 1) // 2]
        key = ("optimal_control", n, "velocities")
        return self._scan(key, carried, [1], each, step=step, lanes=lanes_for(rows))

    @property
    def kept_sizes(self) -> tuple[int, int]:
        """How many numbers each step of `velocity_sweep` keeps: of L, and of the solved columns."""
        n = self.model.nv
        return n * (n - 1) // 2, (2 * n + 1) * n

    @cached_property
    def force_gains(self) -> Any:
        """The kernel of (T, B, L, s, u, low, high): k, K of u, how far u + k is inside."""
        n = self.model.nv

        def run(T: Any, B: Any, L: Any, s: Any, u: Any, low: Any, high: Any) -> Any:
            # k = -L^-T s for each solved column
            below = [[*L[i * (i - 1) // 2 : i * (i + 1) // 2], 1.0] for i in range(n)]
            k, K = force_gains(
                split_rows(list(T), n), split_rows(list(B), n), below, split_rows(list(s), n)
            )
            # smallest slack of u + k within the limits
            inside = u[0] + k[0] - low[0]
            for x, y, a, b in zip(u, k, low, high, strict=True):
                for slack in (x + y - a, b - (x + y)):
                    inside = if_positive(inside - slack, slack, inside)
            return numbers_array(k), numbers_array(_flat(K)), inside

        sizes = (n * n, 2 * n * n, *self.kept_sizes, n, n, n)
        return self._batch("force gains", sizes, run)

    def adjoint(self) -> Any:
        """Return the kernel of the costate: p <- l_x + [p_q; 0] + F^T (h p_q + p_v)."""
        n = self.model.nv

        def step(p: Numbers, h: Numbers, F: Numbers, l_x: Numbers) -> list[Scalar]:
            y = [h[0] * p[i] + p[n + i] for i in range(n)]
            columns = zip(*split_rows(F, 2 * n), strict=True)
            found = [a + dot(column, y) for a, column in zip(l_x, columns, strict=True)]
            return [x + p[i] if i < n else x for i, x in enumerate(found)]

        return self._scan(("costate", n), [2 * n], [1], [2 * n * n, 2 * n], step=step)

    def forward(self, bounded: bool) -> Any:
        """Return the kernel of the motion under u = u_0 + alpha k + K (x - x_0), with its cost."""
        n, m = self.model.nv, len(self.driven)
        dynamics = readings.forward_dynamics
        tree = kernel_tree(dynamics, self.model)

        def step(*lists: Numbers) -> list[Scalar]:
            q, v, _, spent, (h, alpha), p, t, q0, v0, u0, k, K, *ends = lists
            # u = u_0 + alpha k + K (x - x_0), within its limits
            apart = [a - b for a, b in zip([*q, *v], [*q0, *v0], strict=True)]
            rows = zip(u0, k, split_rows(K, 2 * n), strict=True)
            u = [a + (alpha * b + dot(row, apart)) for a, b, row in rows]
            if bounded:
                low, high = ends
                u = [
                    if_positive(x - b, b, if_positive(a - x, a, x))
                    for x, a, b in zip(u, low, high, strict=True)
                ]
            # a step of semi-implicit Euler
            a = dynamics(self.model, tree, q, v, self._forces(u))
            faster = [x + h * y for x, y in zip(v, a, strict=True)]
            further = [x + h * y for x, y in zip(q, faster, strict=True)]
            return [*further, *faster, *u, spent[0] + h * self._running(t[0], q, v, u, p)]

        fixed = [2, max(self.parameters, 1)]
        each = [1, n, n, m, m, 2 * n * m] + ([m, m] if bounded else [])
        return self._scan((*self.key, "forward", bounded), [n, n, m, 1], fixed, each, step=step)

    def _forces(self, u: Numbers) -> list[Any]:
        """Return joint forces of controls."""
        tau: list[Any] = [0.0] * self.model.nv
        for k, x in zip(self.driven, u, strict=True):
            tau[k] = x
        return tau


def split_rows(flat: Numbers, n: int) -> Matrix:
    """Return rows of n numbers."""
    return [list(flat[a:b]) for a, b in pairwise(range(0, len(flat) + n, n))]


def lanes_for(rows: int) -> int | None:
    """Return the lanes of a long sequential sweep: its tile stays in a cache with one of them."""
    return 1 if rows <= FEW_ROWS else None


def _flat(A: Matrix) -> list[Scalar]:
    return [x for row in A for x in row]


def _lower_half(A: Matrix) -> list[Scalar]:
    return [A[i][j] for i in range(len(A)) for j in range(i + 1)]


def _full(lower: Numbers, n: int) -> Matrix:
    return symmetric(n, lambda i, j: lower[i * (i + 1) // 2 + j])


def _node_arrays(
    T: Matrix, B: Matrix, x: Numbers, w: Numbers, xx: Matrix, wx: Matrix, ww: Matrix
) -> tuple[Any, ...]:
    """Return T, B by columns, and the cost by x and w, as kernels give them."""
    parts = (_flat(T), _flat(B), x, w, _lower_half(xx), _flat(wx), _lower_half(ww))
    return tuple(numbers_array(list(part)) for part in parts)
