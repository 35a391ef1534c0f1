"""Derivatives of motions, momenta, energies and moves as functions of flat lists of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sixfold.dynamics.derivatives import kinematics as page_of
from sixfold.dynamics.derivatives.joints import units
from sixfold.dynamics.derivatives.kinematics import (
    Momenta,
    centroidal_bias,
    energy_derivatives,
    momentum_derivatives,
)
from sixfold.dynamics.kinematics import transforms
from sixfold.dynamics.passive import passive_forces
from sixfold.evaluate.scalar_functions.dynamics import gravity_force
from sixfold.evaluate.scalar_functions.kinematics import (
    FixedFrame,
    at_point,
    express,
    seen_from,
    six,
)
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column, Force, Motion, Transform

Matrix = list[list[Scalar]]


def jacobian_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    point: Numbers | None = None,
    *,
    body: int,
    placement: Transform,
    frame: str | FixedFrame,
) -> list[Scalar]:
    """6 x nv x nv: d J[:, j] / dq_k, reduced by couplings."""
    placement, x = at_point(point, placement), model.positions(q)
    _, H, show = _jacobian_and_rates(tree, x, body, placement, frame)
    shown = {at: six(show(m)) for at, m in H.items()}
    result: list[Scalar] = []
    for r in range(6):
        full = [
            [shown[j, k][r] if (j, k) in shown else ZERO for k in range(tree.nv)]
            for j in range(tree.nv)
        ]
        result += [n for row in _reduced(model, tree, full) for n in row]
    return result


def frame_velocity_derivatives(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    *,
    body: int,
    placement: Transform,
    frame: str | FixedFrame,
) -> list[Scalar]:
    """6 x nv by q and 6 x nv by v, the Jacobian, reduced by couplings."""
    x, xd = model.positions(q), model.velocities(v)
    J, H, show = _jacobian_and_rates(tree, x, body, placement, frame)
    rates = [n for i in tree.bodies for n in xd[i]]
    by_q: dict[int, Motion] = {}
    for k in dict.fromkeys(along for _, along in H):
        total = Motion.zero()
        for j in J:
            total = total + H[j, k] * rates[j]
        by_q[k] = total
    result: list[Scalar] = []
    for columns in (by_q, J):
        shown = {k: six(show(m)) for k, m in columns.items()}
        for r in range(6):
            row = [shown[k][r] if k in shown else ZERO for k in range(tree.nv)]
            result += model.gather({i: row[tree.velocity_slices[i]] for i in tree.bodies})
    return result


def _jacobian_and_rates(
    tree: Tree, q: Table, body: int, placement: Transform, frame: str | FixedFrame
) -> tuple[dict[int, Motion], page_of.Hessian, Callable[[Motion], Motion]]:
    """Return the columns of a Jacobian, their derivatives, and how to express both."""
    if isinstance(frame, FixedFrame):
        found = page_of.columns(tree, q, body, Transform.identity())
        own = page_of.columns(tree, q, frame.body, frame.placement).J
        X = seen_from(tree, q, frame)(body)
        J, H = page_of.in_moving_frame(found, own, X)
        return J, H, lambda m: m
    found = page_of.columns(tree, q, body, placement)
    X0 = placement @ transforms(tree, q)[1][body] if body else placement
    H = page_of.jacobian_derivatives(found, _TURNED[frame])
    return found.J, H, (lambda m: m) if frame == "body" else (lambda m: express(m, X0, frame))


_TURNED: dict[str, Callable[[Motion, Motion], Motion] | None] = {
    "body": None,
    "aligned": lambda along, m: Motion(along.ang.cross(m.ang), along.ang.cross(m.lin)),
    "world": lambda along, m: along.cross(m),
}
"""What moving along a column of the Jacobian does to the axes and the point of a frame."""


def _reduced(model: Model, tree: Tree, full: Matrix) -> Matrix:
    if not model.couplings:
        return full
    return model.coordinates.reduce(full, tree.velocity_slices)


def _momenta(model: Model, tree: Tree, q: Numbers, v: Numbers | None) -> Momenta:
    still = [ZERO] * model.nv
    rates = model.velocities(still if v is None else v)
    return momentum_derivatives(tree, model.positions(q), rates)


def _gathered(model: Model, tree: Tree, row: list[Scalar]) -> list[Scalar]:
    """Return a row over all joints, reduced by couplings."""
    return model.gather({i: row[tree.velocity_slices[i]] for i in tree.bodies})


def _matrix(model: Model, tree: Tree, columns: list[Force]) -> list[Scalar]:
    """Return forces as the columns of a matrix, row by row."""
    flat = [six(f) for f in columns]
    return [x for r in range(6) for x in _gathered(model, tree, [c[r] for c in flat])]


def center_of_mass_jacobian(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """3 x nv."""
    columns = _momenta(model, tree, q, None).center
    return [x for r in range(3) for x in _gathered(model, tree, [c[r] for c in columns])]


def centroidal_momentum_matrix(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """A, 6 x nv."""
    return _matrix(model, tree, _momenta(model, tree, q, None).by_v)


def centroidal_momentum_bias(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """dA/dt v."""
    return six(centroidal_bias(tree, model.positions(q), model.velocities(v)))


def centroidal_momentum_derivatives(
    model: Model, tree: Tree, q: Numbers, v: Numbers
) -> list[Scalar]:
    """6 x nv by q and A."""
    found = _momenta(model, tree, q, v)
    return [*_matrix(model, tree, found.by_q), *_matrix(model, tree, found.by_v)]


@page(joint_space=True)
def kinetic_energy_derivatives(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """Derivatives of the kinetic energy by q and by v."""
    rows = energy_derivatives(tree, model.positions(q), model.velocities(v))
    return [x for row in rows for x in _gathered(model, tree, row)]


@page(joint_space=True)
def potential_energy_derivatives(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Gravity and springs."""
    still = tree.zero_velocities()
    springs = model.gather(passive_forces(tree, model.positions(q), still))
    return list(Column(gravity_force(model, tree, q)) + springs)


def integrate_derivatives(
    model: Model, tree: Tree, q: Numbers, v: Numbers, dt: Numbers | None = None
) -> list[Scalar]:
    """Derivatives of `integrate` by q and by v."""
    scale: Scalar = 1.0 if dt is None else dt[0]

    def moved(joint: Any, x: Numbers, xd: Numbers) -> Any:
        return joint.step(x, [speed * scale for speed in xd])

    def rows(joint: Any, x: Numbers, xd: Numbers) -> tuple[Matrix, Matrix]:
        end = moved(joint, x, xd)
        along = [joint.rate(x, unit) for unit in units(joint.nv)]
        by_q = [_rate(lambda y: joint.difference(end, moved(joint, y, xd)), x, d) for d in along]
        by_v = [
            _rate(lambda y: joint.difference(end, moved(joint, x, y)), xd, unit)
            for unit in units(joint.nv)
        ]
        return by_q, by_v

    return _blocks(model, [rows(f.joint, q[f.q], v[f.v]) for f in model.coordinates.free])


def difference_derivatives(model: Model, tree: Tree, q0: Numbers, q1: Numbers) -> list[Scalar]:
    """Derivatives of `difference` by q0 and by q1."""

    def rows(joint: Any, x: Numbers, y: Numbers) -> tuple[Matrix, Matrix]:
        ones = units(joint.nv)
        return (
            [_rate(lambda z: joint.difference(z, y), x, joint.rate(x, unit)) for unit in ones],
            [_rate(lambda z: joint.difference(x, z), y, joint.rate(y, unit)) for unit in ones],
        )

    return _blocks(model, [rows(f.joint, q0[f.q], q1[f.q]) for f in model.coordinates.free])


def _rate(function: Callable[..., Any], at: Numbers, along: Numbers) -> list[Scalar]:
    return list(differentiate(function, at, along)[1])


def _blocks(model: Model, found: list[tuple[Matrix, Matrix]]) -> list[Scalar]:
    """Return two block-diagonal matrices, row by row, from the columns of each joint's blocks."""
    result: list[Scalar] = []
    for which in (0, 1):
        full = [[ZERO] * model.nv for _ in range(model.nv)]
        for free, blocks in zip(model.coordinates.free, found, strict=True):
            for c, column in enumerate(blocks[which], free.v.start):
                for r, x in enumerate(column, free.v.start):
                    full[r][c] = x
        result += [x for row in full for x in row]
    return result
