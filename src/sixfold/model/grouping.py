"""Grouped inertial parameters: what acts the same on the parent moves there and leaves zeros.

An inertia J that the joint neither works on (J S = 0) nor turns (X_J^T J X_J = J for every q)
belongs to the parent as well as to the body: moving it changes no joint force.  For a hinge about z
these are the mass, the first moment along z and equal inertias about x and y; for a slide the six
moments and products of inertia.  (Gautier and Khalil's regrouping rules, found here for any joint
from its own transform and subspace.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.model.custom import CustomJoint
from sixfold.model.joint import Joint
from sixfold.model.model import Model
from sixfold.model.rename import checked
from sixfold.model.tree import Tree
from sixfold.scalar import ZERO, Scalar, exact
from sixfold.spatial import Inertia, Symmetric3, Vector3

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
_PREFERRED = (0, 3, 1, 2, 5, 4, 6, 7, 8, 9)
"""Which parameter becomes zero where there is a choice: m, hz, hx, hy, Iyy, Ixx, Izz, ..."""


_SECOND = np.diag([1.0] * 4 + [0.0] * 3 + [-1.0] * 3)
_SECOND[4:7, 4:7] = 1.0 - np.eye(3)
"""Takes mass, first and second moments to the ten parameters: I = tr(S) 1 - S."""


@dataclass(frozen=True)
class Movable:
    """The inertias that a joint lets pass to the parent: one column for each that becomes zero."""

    zeroed: tuple[int, ...]
    """Numbers of the parameters that become zero."""
    columns: tuple[tuple[float, ...], ...]
    """What moves for one unit of each of them, as ten parameters."""


def grouped(model: Model) -> Model:
    """Return the model with the fewest inertial parameters that has the same dynamics.

    Masses and inertias of its bodies are no longer physical one by one, but every joint force, the
    mass matrix, kinetic energy and potential differences are those of the original.  Momenta,
    centres of mass and forces through the joints are not.
    """
    checked("grouped", model)
    inertias = grouped_inertias(model.tree)
    bodies = tuple(
        replace(body, inertia=inertia)
        for body, inertia in zip(model.bodies, inertias[1:], strict=True)
    )
    return replace(model, bodies=bodies)


def grouped_inertias(tree: Tree) -> tuple[Inertia, ...]:
    """Return the grouped inertia of every body, the base first, over any kind of number."""
    inertia = dict(enumerate(tree.inertia))
    for i in reversed(tree.bodies):
        own, moved = split(inertia[i], movable(tree.joint[i]))
        X, p = tree.Xtree[i], tree.parent[i]
        inertia[i] = own
        inertia[p] = inertia[p] + (X.T @ moved @ X)
    return tuple(inertia[i].over(exact) for i in range(len(tree.parent)))


def lean(tree: Tree) -> Tree:
    """Return the tree with zeros where they cost no digit: the joint forces are the same.

    As `grouped_inertias`, but by second moments (the integrals of r r^T) in place of moments of
    inertia, and a joint passes on only what moves with weights of at most one.  What a hinge about
    z passes on is then the mass, its first moment along z and its second moment along z: nothing
    grows by moving, and nothing that stays is a difference.  A tree of symbols comes back as it is.
    """
    if not tree.of_plain_numbers():
        return tree
    inertia = dict(enumerate(tree.inertia))
    for i in reversed(tree.bodies):
        if isinstance(tree.joint[i], CustomJoint):
            inertia[i] = inertia[i].over(exact)
            continue  # what the user's own code lets pass is not found by trying
        m, h, _ = inertia[i]
        parts = _divided((m, *h, *inertia[i].second_moments), _light(tree.joint[i]))
        own, moved = (
            Inertia.from_second_moments(x[0], Vector3(*x[1:4]), Symmetric3(*x[4:])) for x in parts
        )
        X, p = tree.Xtree[i], tree.parent[i]
        inertia[i] = own
        inertia[p] = inertia[p] + (X.T @ moved @ X)
    return replace(tree, inertia=tuple(inertia[i] for i in range(len(tree.parent))))


@lru_cache(maxsize=1024)
def _light(joint: Joint) -> Movable:
    """Return what moves with weights of at most one, by mass, first and second moments."""
    rule = _movable(joint, (0, 3, 1, 2, 6, 5, 4, 7, 8, 9), second=True)
    pairs = zip(rule.zeroed, rule.columns, strict=True)
    kept = [(k, column) for k, column in pairs if max(map(abs, column)) <= 1]
    return Movable(tuple(k for k, _ in kept), tuple(column for _, column in kept))


def split(inertia: Inertia, rule: Movable) -> tuple[Inertia, Inertia]:
    """Return what stays with the body and what moves to the parent."""
    stays, moved = _divided(inertia.parameters(), rule)
    return Inertia.from_parameters(stays), Inertia.from_parameters(moved)


def _divided(values: Sequence[Scalar], rule: Movable) -> tuple[list[Scalar], list[Scalar]]:
    """Return which parts of ten parameters stay and which move."""
    moved: list[Scalar] = [ZERO] * 10
    for k, column in zip(rule.zeroed, rule.columns, strict=True):
        amount = values[k]
        for n, weight in enumerate(column):
            if weight:
                moved[n] = moved[n] + (amount if weight == 1 else amount * weight)
    stays = [
        ZERO if k in rule.zeroed else x - y
        for k, (x, y) in enumerate(zip(values, moved, strict=True))
    ]
    return [exact(x) for x in stays], [exact(x) for x in moved]


def movable(joint: Joint) -> Movable:
    """Return which inertias a joint lets pass to the parent."""
    return _movable(joint, _PREFERRED)


@lru_cache(maxsize=1024)
def _movable(joint: Joint, order: tuple[int, ...], second: bool = False) -> Movable:
    rng = np.random.default_rng(20)
    conditions = np.vstack([_conditions(joint, joint.random(rng)) for _ in range(4)])
    _, sizes, rows = np.linalg.svd(conditions @ _SECOND if second else conditions)
    space = rows[int((sizes > 1e-9).sum()) :].T
    return _echelon(space, order)


def _conditions(joint: Joint, q: Sequence[float]) -> NDArray[np.float64]:
    """Return the rows that vanish on movable inertias: J S, and X^T J X - J, for each parameter."""
    X, S, _, _ = joint.calc(q, (0.0,) * joint.nv)
    columns: list[list[Any]] = []
    for k in range(10):
        J = Inertia.from_parameters([1.0 if n == k else 0.0 for n in range(10)])
        work = [x for force in (J @ S).columns for x in (*force.ang, *force.lin)]
        change = ((X.T @ J @ X) - J).parameters()
        columns.append([float(x) for x in (*work, *change)])
    return np.array(columns).T


def _echelon(space: NDArray[np.float64], order: tuple[int, ...]) -> Movable:
    """Return a basis in which each column alone holds one of the zeroed parameters."""
    zeroed: list[int] = []
    for k in order:
        if np.linalg.matrix_rank(space[[*zeroed, k]], tol=1e-9) > len(zeroed):
            zeroed.append(k)
        if len(zeroed) == space.shape[1]:
            break
    columns = (space @ np.linalg.inv(space[zeroed])).T if zeroed else space.T
    snapped = np.where(abs(columns - np.round(columns)) < 1e-12, np.round(columns), columns)
    return Movable(tuple(zeroed), tuple(tuple(float(x) for x in column) for column in snapped))
