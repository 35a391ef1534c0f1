"""The derivatives of motion: of dq/dt and dv/dt, and of one step of an integrator.

A step is differentiated by taking it on numbers with slopes.

The integrators only add and scale what a system gives them.  So each number carries its derivatives
by the state and the joint forces before the step, and the system says how accelerations and moves
on the configuration manifold pass them on: accelerations by the derivatives of forward dynamics,
moves by the Jacobian of each joint's own rule.  One mechanism for every integrator, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.choices import ForceFrame
from sixfold.evaluate import forward_dynamics, forward_dynamics_derivatives, scalar_functions
from sixfold.evaluate.scalar_functions import page
from sixfold.model import Model, Tree
from sixfold.scalar import ZERO, Scalar, Zero, differentiate, plain
from sixfold.simulation.integrators import INTEGRATORS, Pair

Numbers = Sequence[Scalar]
Slopes = Any
"""One derivative for each input of the step: a list of numbers of any kind, or, where numbers are
arrays that hold a batch, one array with the inputs along its last axis."""
Rule = Callable[[Numbers], Sequence[Scalar]]


class Jet:
    """A number and its derivatives by the inputs of the step: sums and multiples of such."""

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # arrays leave the operation to us

    def __init__(self, value: Scalar, slopes: Slopes) -> None:
        """Hold a value and one derivative for each input."""
        self.value, self.slopes = value, slopes

    def __add__(self, other: Any) -> Jet:
        """Add; numbers of any other kind are constants."""
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.slopes)
        return Jet(self.value + other.value, _sum(self.slopes, other.slopes))

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Jet:
        """Multiply by a constant."""
        return Jet(self.value * factor, _scaled(self.slopes, factor))

    __rmul__ = __mul__


@page(joint_space=True)
def rate_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None = None,
    *,
    frame: ForceFrame = "world",
) -> list[Scalar]:
    """Return A, row by row, then B, of the motion in time.

    With q = q0 exp(e), both moving, de/dt = dv + [e, v]: the axes of e turn with the body.
    """
    n = model.nv
    if not n:
        return []
    given = () if f_ext is None else (f_ext,)
    found = scalar_functions.forward_dynamics_derivatives(
        model, tree, q, v, tau, *given, frame=frame
    )
    rows = [found[k : k + n] for k in range(0, 3 * n * n, n)]
    upper = [[*row, *_unit(k, n)] for k, row in enumerate(_turning(model, v))]
    lower = [[*rows[k], *rows[n + k]] for k in range(n)]
    A = [x for row in (*upper, *lower) for x in row]
    return [*A, *[ZERO] * (n * n), *found[2 * n * n :]]


def _turning(model: Model, v: Numbers) -> list[list[Scalar]]:
    """Return the matrix of e -> [e, v]."""
    n = model.nv
    matrix: list[list[Scalar]] = [[ZERO] * n for _ in range(n)]
    for free in model.coordinates.free:
        for k in range(free.joint.nv):
            column = free.joint.bracket(_unit(k, free.joint.nv), v[free.v])
            for row, x in enumerate(column):
                matrix[free.v.start + row][free.v.start + k] = x
    return matrix


@page(joint_space=True)
def step_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    dt: Numbers,
    f_ext: Numbers | None = None,
    *,
    integrator: str,
    frame: ForceFrame = "world",
) -> list[Scalar]:
    """Return A, row by row, then B, of one step with constant joint forces.

    Rows and columns are (dq, dv): dq along the motion subspaces.  Columns of B are joint forces.
    """
    n = model.nv
    if not n:
        return []
    arrays = any(isinstance(x, np.ndarray) for x in tau)
    unit: Any = np.eye(3 * n) if arrays else [_unit(k, 3 * n) for k in range(3 * n)]
    q_slopes = _rates(model, q, unit[:n])
    before = [Jet(x, slopes) for x, slopes in zip(q, q_slopes, strict=True)]
    speed = [Jet(x, slopes) for x, slopes in zip(v, unit[n : 2 * n], strict=True)]
    push = [Jet(x, slopes) for x, slopes in zip(tau, unit[2 * n :], strict=True)]
    system = _Slopes(model, tree, push, f_ext, frame)
    after, faster = INTEGRATORS[integrator](system, ZERO, before, speed, dt[0])
    rows = [*tangents(model, after), *(x.slopes for x in faster)]
    if arrays:
        rows = [[row[..., k] for k in range(3 * n)] for row in rows]
    return [x for part in (slice(2 * n), slice(2 * n, None)) for row in rows for x in row[part]]


@dataclass(frozen=True)
class _Slopes:
    """The equations of motion on jets, with constant joint forces; see `integrators.Steppable`."""

    model: Model
    tree: Tree
    tau: Sequence[Jet]
    f_ext: Numbers | None
    frame: ForceFrame

    @property
    def additive(self) -> Sequence[tuple[int, int]]:
        """Coordinates whose rate is a velocity."""
        return self.model.coordinates.additive

    def acceleration(self, t: Scalar, q: Sequence[Jet], v: Sequence[Jet]) -> list[Scalar]:
        """Return dv/dt; its slopes are da/dq dq + da/dv dv + da/dtau dtau."""
        n = self.model.nv
        at = [[x.value for x in numbers] for numbers in (q, v, self.tau)]
        inner = [*tangents(self.model, q), *(x.slopes for x in (*v, *self.tau))]
        if any(isinstance(x, np.ndarray) for x in at[2]):
            return self._on_arrays(at, inner)
        given = () if self.f_ext is None else (self.f_ext,)
        a = scalar_functions.forward_dynamics(
            self.model, self.tree, *at, *given, frame=self.frame, method="aba"
        )
        found = scalar_functions.forward_dynamics_derivatives(
            self.model, self.tree, *at, *given, frame=self.frame
        )
        outer = [
            [found[(part * n + row) * n + k] for part in range(3) for k in range(n)]
            for row in range(n)
        ]
        return [Jet(x, row) for x, row in zip(a, _product(outer, inner), strict=True)]

    def _on_arrays(self, at: Sequence[Numbers], inner: Sequence[Slopes]) -> list[Scalar]:
        """Return accelerations of a batch: steps too large for one kernel use those of a stage."""
        q, v, tau = map(_stacked, at)
        f_ext = None
        if self.f_ext is not None:
            f_ext = _stacked(self.f_ext)
            f_ext = f_ext.reshape(*f_ext.shape[:-1], -1, 6)
        a = forward_dynamics(self.model, q, v, tau, f_ext, f_ext_frame=self.frame)
        found = forward_dynamics_derivatives(self.model, q, v, tau, f_ext, f_ext_frame=self.frame)
        slopes = np.concatenate(found, -1) @ np.stack(np.broadcast_arrays(*inner), -2)
        return [Jet(a[..., k], slopes[..., k, :]) for k in range(self.model.nv)]

    def rate(self, q: Sequence[Jet], v: Sequence[Jet]) -> list[Scalar]:
        """Return dq/dt."""
        return self._by_joint(lambda joint, x, u: joint.rate(x, u), q, v)

    def move(self, q: Sequence[Jet], dq: Sequence[Any]) -> list[Scalar]:
        """Return the configuration reached from q by a velocity-space increment."""
        return self._by_joint(lambda joint, x, dx: joint.step(x, dx), q, dq)

    def add(self, q: Sequence[Jet], dq: Sequence[Jet]) -> list[Scalar]:
        """Return q + dq, with quaternions scaled to unit length."""
        total = [a + b for a, b in zip(q, dq, strict=True)]
        return self.move(total, [ZERO] * self.model.nv)

    def bracket(self, a: Sequence[Jet], b: Sequence[Jet]) -> list[Scalar]:
        """Return the Lie bracket of two velocities."""
        result: list[Scalar] = []
        for free in self.model.coordinates.free:
            m = free.joint.nv

            def rule(x: Numbers, joint: Any = free.joint, m: int = m) -> Sequence[Scalar]:
                return joint.bracket(x[:m], x[m:])

            rates = free.joint.velocity_is_rate
            result += [ZERO] * m if rates else chained(rule, [*a[free.v], *b[free.v]])
        return result

    def conserve_momentum(
        self, t: Scalar, q: Numbers, v: Numbers, dq: Numbers, dv: Numbers, h: Scalar
    ) -> Pair:
        """Return the increments as they are: the joint forces on the base are not known to be 0."""
        return list(dq), list(dv)

    def _by_joint(self, rule: Any, q: Sequence[Jet], other: Sequence[Any]) -> list[Scalar]:
        """Return a rule of each joint on its coordinates."""
        result: list[Scalar] = []
        for free in self.model.coordinates.free:
            joint, x, y = free.joint, q[free.q], other[free.v]
            if joint.velocity_is_rate:  # sums
                result += rule(joint, x, y)
                continue

            def both(z: Numbers, joint: Any = joint) -> Sequence[Scalar]:
                return rule(joint, z[: joint.nq], z[joint.nq :])

            result += chained(both, [*x, *y])
        return result


def chained(rule: Rule, numbers: Sequence[Any]) -> list[Scalar]:
    """Return a rule on jets: its values, and its Jacobian times their slopes."""
    at = [x.value if isinstance(x, Jet) else x for x in numbers]
    moving = [k for k, x in enumerate(numbers) if isinstance(x, Jet)]
    values, columns = _jacobian(rule, at, moving)
    rows = _product(list(zip(*columns, strict=True)), [numbers[k].slopes for k in moving])
    return [Jet(x, row) for x, row in zip(values, rows, strict=True)]


def tangents(model: Model, q: Sequence[Jet]) -> list[Slopes]:
    """Return the slopes of a configuration along the motion subspaces, one row for each velocity.

    The length of a quaternion does not matter, nor does the rate of its length.
    """
    result: list[Slopes] = []
    for free in model.coordinates.free:
        joint, numbers = free.joint, q[free.q]
        if joint.velocity_is_rate:
            result += [x.slopes for x in numbers]
            continue
        at = [x.value for x in numbers]

        def apart(y: Numbers, joint: Any = joint, at: Numbers = at) -> Sequence[Scalar]:
            return joint.difference(at, y)

        _, columns = _jacobian(apart, at, range(joint.nq))
        result += _product(list(zip(*columns, strict=True)), [x.slopes for x in numbers])
    return result


def _rates(model: Model, q: Numbers, slopes: Sequence[Slopes]) -> list[Slopes]:
    """Return the slopes of the coordinates from slopes along the motion subspaces."""
    result: list[Slopes] = []
    for free in model.coordinates.free:
        joint, own = free.joint, slopes[free.v]
        if joint.velocity_is_rate:
            result.extend(own)
            continue
        columns = [joint.rate(q[free.q], _unit(k, joint.nv)) for k in range(joint.nv)]
        result += _product(list(zip(*columns, strict=True)), own)
    return result


def _stacked(numbers: Numbers) -> Array:
    """Return numbers that each hold a batch as one array."""
    return np.stack(np.broadcast_arrays(*map(plain, numbers)), -1)


def _unit(k: int, n: int) -> list[Scalar]:
    return [1.0 if m == k else ZERO for m in range(n)]


def _jacobian(
    rule: Rule, at: Numbers, moving: Sequence[int]
) -> tuple[Sequence[Scalar], list[Sequence[Scalar]]]:
    """Return the values of a rule of a few numbers, and its derivative by each that moves."""
    values: Sequence[Scalar] = ()
    columns: list[Sequence[Scalar]] = []
    for k in moving:
        values, rates = differentiate(rule, at, _unit(k, len(at)))
        columns.append(rates)
    return values, columns


def _product(outer: Sequence[Numbers], inner: Sequence[Slopes]) -> list[Slopes]:
    """Return a matrix product; what is exactly zero costs nothing."""
    rows: list[Slopes] = []
    for row in outer:
        total = _scaled(inner[0], ZERO)
        for factor, slopes in zip(row, inner, strict=True):
            if not isinstance(factor, Zero):
                total = _sum(total, _scaled(slopes, factor))
        rows.append(total)
    return rows


def _sum(a: Slopes, b: Slopes) -> Slopes:
    if isinstance(a, np.ndarray):
        return a + b
    return [x + y for x, y in zip(a, b, strict=True)]


def _scaled(slopes: Slopes, factor: Scalar) -> Slopes:
    if isinstance(slopes, np.ndarray):
        return slopes * np.asarray(plain(factor))[..., None]
    return [slope * factor for slope in slopes]
