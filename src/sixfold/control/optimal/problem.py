"""The kernels of an optimal control problem: nodes, backward sweep, forward sweep.

Each is traced once from the model and the user's cost functions and kept; an iteration is a few
calls of them on all nodes, or on all steps, of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sixfold.control.optimal.full_drive import absorbed, force_gains, inverted, velocity_step
from sixfold.control.optimal.riccati import Node, backward_step
from sixfold.dynamics.contact.matrices import Matrix, symmetric
from sixfold.evaluate import (
    KERNELS,
    kernel_tree,
    numbers_array,
    scalar_functions,
    scan_kernel,
    second_order,
    user_kernel,
)
from sixfold.model import Model
from sixfold.scalar import Scalar, dot, if_positive
from sixfold.simulation.callbacks import Cost

Numbers = Sequence[Scalar]
FEW_ROWS = 2
"""Problems up to which each is swept alone, one number in a register."""


@dataclass(frozen=True)
class Problem:
    """A model, the joints that are driven, and what motions cost."""

    model: Model
    driven: tuple[int, ...]
    """Places of the controls in tau."""
    cost: Cost | None
    final: Cost | None
    parameters: int
    """How many numbers the cost functions get."""
    known: tuple[Any, ...]
    """What tells the cost functions from others."""
    in_use: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Kernels that this problem has asked for: an iteration is short beside a search for them."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What the kernels depend on."""
        return ("optimal_control", self.model.digest, self.driven, self.known, self.parameters)

    def _kept(self, name: str, make: Callable[[], Any]) -> Any:
        found = self.in_use.get(name)
        if found is None:
            known = KERNELS.find((*self.key, name))
            found = make() if known is None else known[0]
            if known is None:
                KERNELS.keep((*self.key, name), found)
            self.in_use[name] = found
        return found

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
        tau: list[Any] = [0.0] * self.model.nv
        for k, x in zip(self.driven, u, strict=True):
            tau[k] = x
        more = [numbers_array(list(p))] if self.parameters else []
        return self.cost.of(t, *map(numbers_array, (list(q), list(v), tau)), *more)

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

    def nodes(self) -> Any:
        """Return the kernel of (t, q, v, u, p, h): F, G and the derivatives of the running cost."""
        n, m = self.model.nv, len(self.driven)
        derivatives = scalar_functions.forward_dynamics_derivatives
        tree = kernel_tree(derivatives, self.model)

        def make() -> Any:
            cost = second_order(lambda t, *rest: self._running(t[0], *rest), self._sizes, [1, 2, 3])

            def run(t: Any, q: Any, v: Any, u: Any, p: Any, h: Any) -> Any:
                tau = self._forces(list(u))
                found = derivatives(self.model, tree, list(q), list(v), tau)
                by_q, by_v, by_tau = (cut(found[k * n * n : (k + 1) * n * n], n) for k in range(3))
                F = [
                    [h[0] * x for x in by_q[i]]
                    + [h[0] * x + (1.0 if i == j else 0.0) for j, x in enumerate(by_v[i])]
                    for i in range(n)
                ]
                G = [[h[0] * by_tau[i][k] for k in self.driven] for i in range(n)]
                _, slope, bend = cost(list(t), list(q), list(v), list(u), list(p))
                slope = [h[0] * x for x in slope]
                bend = [[h[0] * x for x in row] for row in bend]
                parts = (
                    [x for row in F for x in row],
                    [x for row in G for x in row],
                    slope[: 2 * n],
                    slope[2 * n :],
                    [x for row in bend[: 2 * n] for x in row[: 2 * n]],
                    [x for row in bend[2 * n :] for x in row[: 2 * n]],
                    [x for row in bend[2 * n :] for x in row[2 * n :]],
                )
                return tuple(numbers_array(part) for part in parts)

            shapes = [(k,) for k in (*self._sizes, 1)]
            return user_kernel(run, "optimal_control", shapes, "float64")

        assert m
        return self._kept("nodes", make).ufunc

    def curvature(self) -> Any:
        """Return the kernel of (q, v, u, w): second derivatives of w . accelerations, xx and ux."""
        n = self.model.nv
        second = scalar_functions.forward_second_derivatives
        tree = kernel_tree(second, self.model)

        def make() -> Any:
            def run(q: Any, v: Any, u: Any, w: Any) -> Any:
                tau = self._forces(list(u))
                found = second(self.model, tree, list(q), list(v), tau, list(w))
                qq, qv, vv, qu = (cut(found[k * n * n : (k + 1) * n * n], n) for k in range(4))
                xx = [[*qq[i], *qv[i]] for i in range(n)]
                xx += [[*(qv[j][i] for j in range(n)), *vv[i]] for i in range(n)]
                ux = [[*(qu[j][k] for j in range(n)), *[0.0] * n] for k in self.driven]
                return numbers_array([x for row in xx for x in row]), numbers_array(
                    [x for row in ux for x in row]
                )

            shapes = [(n,), (n,), (len(self.driven),), (n,)]
            return user_kernel(run, "optimal_control", shapes, "float64")

        return self._kept("curvature", make).ufunc

    def last(self) -> Any:
        """Return the kernel of (q, v, p): the final cost, its gradient, half of its Hessian."""
        n = self.model.nv

        def make() -> Any:
            sizes = [n, n, max(self.parameters, 1)]
            cost = second_order(self._last, sizes, [0, 1])

            def run(q: Any, v: Any, p: Any) -> Any:
                value, slope, bend = cost(list(q), list(v), list(p))
                return value, numbers_array(slope), numbers_array(_lower_half(bend))

            return user_kernel(run, "optimal_control", [(k,) for k in sizes], "float64")

        return self._kept("last", make).ufunc

    # -- kernels through all steps

    def backward(self, bounded: bool, rows: int) -> Any:
        """Return the kernel of the backward sweep of so many rows; see `riccati`."""
        n, m = self.model.nv, len(self.driven)
        triangle = n * (2 * n + 1)

        def step(*lists: Numbers) -> list[Scalar]:
            V_x, V_xx, _, _, gain, pivot, (h, mu), F, G, l_x, l_u, l_xx, l_ux, l_uu, *ends = lists
            node = Node(
                *(cut(F, 2 * n), cut(G, m), l_x, l_u, cut(l_xx, 2 * n), cut(l_ux, 2 * n)),
                cut(l_uu, m),
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
        """Whether every joint has a motor; then `full_drive` sweeps."""
        return len(self.driven) == self.model.nv

    def driven_nodes(self) -> Any:
        """Return the kernel of (t, q, v, u, p, h, mu, slope, bend): T, B and the cost by x and w.

        Slope and bend are added to l_x and to the diagonal of l_xx.
        """
        n = self.model.nv
        dynamics = scalar_functions.forward_dynamics
        derivatives = scalar_functions.inverse_dynamics_derivatives
        trees = [kernel_tree(each, self.model) for each in (dynamics, derivatives)]

        def make() -> Any:
            cost = second_order(lambda t, *rest: self._running(t[0], *rest), self._sizes, [1, 2, 3])

            def run(t: Any, q: Any, v: Any, u: Any, p: Any, *rest: Any) -> Any:
                (h,), (mu,), more_slope, more_bend = rest
                at = list(q), list(v)
                a = dynamics(self.model, trees[0], *at, self._forces(list(u)))
                found = derivatives(self.model, trees[1], *at, a)
                by_q, by_v, M = (cut(found[k * n * n : (k + 1) * n * n], n) for k in range(3))
                T = [[x / h for x in row] for row in M]
                B = [[-x for x in column] for column in zip(*by_q, strict=True)]
                B += [
                    [x - y for x, y in zip(row, column, strict=True)]
                    for row, column in zip(T, zip(*by_v, strict=True), strict=True)
                ]
                _, slope, bend = cost(list(t), *at, list(u), list(p))
                slope = [h * x for x in slope]
                bend = [[h * x for x in row] for row in bend]
                for k in range(2 * n):
                    slope[k] = slope[k] + more_slope[k]
                    bend[k][k] = bend[k][k] + more_bend[k]
                by_x, by_u = [row[: 2 * n] for row in bend[: 2 * n]], bend[2 * n :]
                parts = absorbed(
                    *(T, B, slope[: 2 * n], slope[2 * n :], by_x),
                    *([row[: 2 * n] for row in by_u], [row[2 * n :] for row in by_u], mu),
                )
                return _absorbed_arrays(T, B, *parts)

            shapes = [(k,) for k in (*self._sizes, 1, 1, 2 * n, 2 * n)]
            return user_kernel(run, "optimal_control", shapes, "float64")

        return self._kept("driven nodes", make).ufunc

    def absorbed(self) -> Any:
        """Return the kernel of (F, G, l_x, ..., l_uu, mu): T, B and the cost by x and w."""
        n = self.model.nv

        def make() -> Any:
            def run(*arrays: Any) -> Any:
                F, G, l_x, l_u, l_xx, l_ux, l_uu, mu = map(list, arrays)
                T, B = inverted(cut(F, 2 * n), cut(G, n))
                parts = absorbed(
                    *(T, B, l_x, l_u, cut(l_xx, 2 * n), cut(l_ux, 2 * n), cut(l_uu, n), mu[0])
                )
                return _absorbed_arrays(T, B, *parts)

            sizes = (2 * n * n, n * n, 2 * n, n, 4 * n * n, 2 * n * n, n * n, 1)
            return user_kernel(run, "optimal_control", [(k,) for k in sizes], "float64")

        return self._kept("absorbed", make).ufunc

    def velocity_sweep(self, rows: int) -> Any:
        """Return the kernel of the backward sweep in next velocities; see `full_drive`."""
        n = self.model.nv

        def step(*lists: Numbers) -> list[Scalar]:
            V_x, V_xx, _, _, (gain, pivot), (h,), l_x, l_w, l_xx, l_wx, l_ww = lists
            x, xx, L, s, more, over = velocity_step(
                *(V_x, _full(V_xx, 2 * n), l_x, l_w),
                *(_full(l_xx, 2 * n), cut(l_wx, 2 * n), _full(l_ww, n), h),
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

    def force_gains(self) -> Any:
        """Return the kernel of (T, B, L, s, u, low, high): k, K of u, how far u + k is inside."""
        n = self.model.nv

        def make() -> Any:
            def run(T: Any, B: Any, L: Any, s: Any, u: Any, low: Any, high: Any) -> Any:
                below = [[*L[i * (i - 1) // 2 : i * (i + 1) // 2], 1.0] for i in range(n)]
                one, all_ = force_gains(cut(list(T), n), cut(list(B), n), below, cut(list(s), n))
                inside = u[0] + one[0] - low[0]
                for x, y, a, b in zip(u, one, low, high, strict=True):
                    for slack in (x + y - a, b - (x + y)):
                        inside = if_positive(inside - slack, slack, inside)
                return numbers_array(one), numbers_array(_flat(all_)), inside

            sizes = (n * n, 2 * n * n, *self.kept_sizes, n, n, n)
            return user_kernel(run, "optimal_control", [(k,) for k in sizes], "float64")

        return self._kept("force gains", make).ufunc

    def adjoint(self) -> Any:
        """Return the kernel of the costate: p <- l_x + [p_q; 0] + F^T (h p_q + p_v)."""
        n = self.model.nv

        def step(p: Numbers, h: Numbers, F: Numbers, l_x: Numbers) -> list[Scalar]:
            y = [h[0] * p[i] + p[n + i] for i in range(n)]
            columns = zip(*cut(F, 2 * n), strict=True)
            found = [a + dot(column, y) for a, column in zip(l_x, columns, strict=True)]
            return [x + p[i] if i < n else x for i, x in enumerate(found)]

        return self._scan(("costate", n), [2 * n], [1], [2 * n * n, 2 * n], step=step)

    def forward(self, bounded: bool) -> Any:
        """Return the kernel of the motion under u = u_0 + alpha k + K (x - x_0), with its cost."""
        n, m = self.model.nv, len(self.driven)
        dynamics = scalar_functions.forward_dynamics
        tree = kernel_tree(dynamics, self.model)

        def step(*lists: Numbers) -> list[Scalar]:
            q, v, _, spent, (h, alpha), p, t, q0, v0, u0, k, K, *ends = lists
            apart = [a - b for a, b in zip([*q, *v], [*q0, *v0], strict=True)]
            rows = zip(u0, k, cut(K, 2 * n), strict=True)
            u = [a + (alpha * b + dot(row, apart)) for a, b, row in rows]
            if bounded:
                low, high = ends
                u = [
                    if_positive(x - b, b, if_positive(a - x, a, x))
                    for x, a, b in zip(u, low, high, strict=True)
                ]
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


def cut(flat: Numbers, n: int) -> Matrix:
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


def _absorbed_arrays(
    T: Matrix, B: Matrix, x: Numbers, w: Numbers, xx: Matrix, wx: Matrix, ww: Matrix
) -> tuple[Any, ...]:
    """Return T, B by columns, and the cost by x and w, as kernels give them."""
    parts = (_flat(T), _flat(B), x, w, _lower_half(xx), _flat(wx), _lower_half(ww))
    return tuple(numbers_array(list(part)) for part in parts)
