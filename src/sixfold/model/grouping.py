"""Grouped inertial parameters: what acts the same on the parent moves there and leaves zeros.

An inertia J that the joint neither works on (J S = 0) nor turns (X_J^T J X_J = J for every q)
belongs to the parent as well as to the body: moving it changes no joint force.  For a hinge about z
these are the mass, the first moment along z and equal inertias about x and y; for a slide the six
moments and products of inertia.  (Gautier and Khalil's regrouping rules.)  Each joint knows its own
(`Joint.transferable_inertia`), exactly; those of the user's code are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.model.joint import Joint, TransferableInertia
from sixfold.model.model import Model, require_model
from sixfold.model.tree import Tree
from sixfold.scalar import ZERO, Scalar, exact
from sixfold.spatial import Inertia, Symmetric3, Vector3

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
#: Which parameter becomes zero where there is a choice: m, hz, hx, hy, Iyy, Ixx, Izz, ...
_PREFERRED = (0, 3, 1, 2, 5, 4, 6, 7, 8, 9)

_BY_SECOND_MOMENTS = (0, 3, 1, 2, 6, 5, 4, 7, 8, 9)  #: The same by second moments.


@dataclass(frozen=True)
class Movable:
    """The inertias that a joint lets move to the parent: one column for each that becomes zero."""

    zeroed: tuple[int, ...]  #: Numbers of the parameters that become zero.
    #: What moves for one unit of each of them, as ten parameters.
    columns: tuple[tuple[float, ...], ...]


def group_inertias(model: Model) -> Model:
    """Return the model with the fewest inertial parameters that has the same dynamics.

    Masses and inertias of its bodies are no longer physical one by one, but every joint force, the
    mass matrix, kinetic energy and potential differences are those of the original.  Momenta,
    centres of mass and forces through the joints are not.

    Args:
        model: the robot.

    Returns:
        A new Model of the same bodies and joints, with other inertias.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> fewer = sf.group_inertias(arm)
        >>> fewer.bodies[5].inertia.m  # the last link's mass has moved to those before it
        0
        >>> q, v = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.bias_force(fewer, q, v), sf.bias_force(arm, q, v))
        True
    """
    require_model("group_inertias", model)
    inertias = grouped_inertias(model.tree)
    bodies = tuple(
        replace(body, inertia=inertia)
        for body, inertia in zip(model.bodies, inertias[1:], strict=True)
    )
    return replace(model, bodies=bodies)


def grouped_inertias(tree: Tree) -> tuple[Inertia, ...]:
    """Return the grouped inertia of every body, the base first, over any kind of number."""
    inertia = dict(enumerate(tree.inertia))
    # from tips to base: what a joint does not feel moves to the parent
    for i in reversed(tree.bodies):
        own, moved = split(inertia[i], movable(tree.joint[i]))
        X, p = tree.Xtree[i], tree.parent[i]
        inertia[i] = own
        inertia[p] = inertia[p] + (X.T @ moved @ X)
    return tuple(inertia[i].map(exact) for i in range(len(tree.parent)))


def reduce_inertias(tree: Tree) -> Tree:
    """Return the tree with zeros where they cost no digit: the joint forces are the same.

    As `grouped_inertias`, but by second moments (the integrals of r r^T) instead of moments of
    inertia.  What a hinge about z passes on is then the mass, its first moment along z and its
    second moment along z: nothing grows by moving, and nothing that stays is a difference.  About
    an axis in general direction, what stays is a difference of numbers with weights of at most one:
    its errors are those of a change of axes.  A tree of symbols comes back as it is.
    """
    if not tree.is_numeric():
        return tree
    inertia = dict(enumerate(tree.inertia))
    for i in reversed(tree.bodies):
        passed = tree.joint[i].transferable_inertia()
        if passed is None:
            inertia[i] = inertia[i].map(exact)
            continue  # for joints of user code nothing is moved: a trial is not exact
        m, h, I = inertia[i]
        # second moments of mass pass one by one, moments of inertia in sums
        second = inertia[i].second_moments
        stays, moves = _divide((m, *h, *second), _rule(passed, _BY_SECOND_MOMENTS, second=True))
        moved = Inertia.from_second_moments(*_moments(moves))
        own = Inertia.from_second_moments(*_moments(stays))
        # moments of inertia that nothing was taken from are as they were given
        kept = (x if y == 0 else z for x, y, z in zip(I, moved.I, own.I, strict=True))
        X, p = tree.Xtree[i], tree.parent[i]
        inertia[i] = own.with_moments(Symmetric3(*map(exact, kept)))
        inertia[p] = inertia[p].with_second_moments() + (X.T @ moved @ X)
    return replace(tree, inertia=tuple(inertia[i] for i in range(len(tree.parent))))


def _moments(values: Sequence[Scalar]) -> tuple[Scalar, Vector3, Symmetric3]:
    """Return mass, first and second moments from a list of ten."""
    return values[0], Vector3(*values[1:4]), Symmetric3(*values[4:])


def split(inertia: Inertia, rule: Movable) -> tuple[Inertia, Inertia]:
    """Return what stays with the body and what moves to the parent."""
    stays, moved = _divide(inertia.parameters(), rule)
    return Inertia.from_parameters(stays), Inertia.from_parameters(moved)


def _divide(values: Sequence[Scalar], rule: Movable) -> tuple[list[Scalar], list[Scalar]]:
    """Return which parts of ten parameters stay and which move."""
    moved: list[Scalar] = [ZERO] * 10
    # each zeroed parameter takes its column along
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


@lru_cache(maxsize=1024)
def movable(joint: Joint) -> Movable:
    """Return which inertias of a joint's body can move to the parent."""
    passed = joint.transferable_inertia()
    return _find_by_trial(joint) if passed is None else _rule(passed, _PREFERRED)


@lru_cache(maxsize=1024)
def _rule(passed: TransferableInertia, order: tuple[int, ...], second: bool = False) -> Movable:
    """Return a joint's own word as columns, by second moments or by moments of inertia.

    No column shares a parameter with another kind of moment, so that each may choose the largest of
    its own numbers as the one that becomes zero: the weights of the others are at most one.
    """
    zeroed: list[int] = []
    columns: list[tuple[float, ...]] = []
    # the largest entry is zeroed: it divides the others
    for column in _columns(passed, second):
        sizes = [abs(x) for x in column]
        k = next(k for k in order if sizes[k] == max(sizes))
        zeroed.append(k)
        columns.append(tuple(x / column[k] for x in column))
    return Movable(tuple(zeroed), tuple(columns))


def _columns(passed: TransferableInertia, second: bool) -> Iterator[tuple[float, ...]]:
    """Yield the ten parameters of each inertia that can move."""
    none = (0.0,) * 3
    # mass, first moments, second moments that the joint does not feel
    if passed.mass:
        yield (1.0, *none, *none, *none)
    for h in passed.first:
        yield (0.0, *map(float, h), *none, *none)
    every = len(passed.second) == 6  # then all six moments of inertia pass as well, one by one
    for moments in passed.second:
        xx, yy, zz, *rest = map(float, moments)
        if second or every:
            yield (0.0, *none, xx, yy, zz, *rest)
        else:
            yield (0.0, *none, yy + zz, zz + xx, xx + yy, *(-x for x in rest))


def _find_by_trial(joint: Joint) -> Movable:
    """Return what a joint of the user's own code lets pass, by trying some configurations.

    Inertias that it works on or turns by less than 1e-9 of their size count as passed: this rule
    serves `group_inertias` and base parameters, never the kernels.
    """
    # inertias J with J S = 0 and X^T J X = J at four random positions: a null space
    rng = np.random.default_rng(20)
    conditions = np.vstack([_conditions(joint, joint.random(rng)) for _ in range(4)])
    _, sizes, rows = np.linalg.svd(conditions)
    space = rows[int((sizes > 1e-9).sum()) :].T
    return _echelon(space, _PREFERRED)


def _conditions(joint: Joint, q: Sequence[float]) -> NDArray[np.float64]:
    """Return the rows that vanish on movable inertias: J S, and X^T J X - J, for each parameter."""
    X, S, _, _ = joint.calc(q, (0.0,) * joint.nv)
    columns: list[list[Any]] = []
    # forces on S, and the change under the joint's motion, of each parameter alone
    for k in range(10):
        J = Inertia.from_parameters([1.0 if n == k else 0.0 for n in range(10)])
        work = [x for force in (J @ S).columns for x in (*force.ang, *force.lin)]
        change = ((X.T @ J @ X) - J).parameters()
        columns.append([float(x) for x in (*work, *change)])
    return np.array(columns).T


def _echelon(space: NDArray[np.float64], order: tuple[int, ...]) -> Movable:
    """Return a basis in which each column alone holds one of the zeroed parameters."""
    zeroed: list[int] = []
    # parameters in order of preference, as long as they are independent
    for k in order:
        if np.linalg.matrix_rank(space[[*zeroed, k]], tol=1e-9) > len(zeroed):
            zeroed.append(k)
        if len(zeroed) == space.shape[1]:
            break
    # scale the basis so that each column holds one of the zeroed parameters alone
    columns = (space @ np.linalg.inv(space[zeroed])).T if zeroed else space.T
    snapped = np.where(abs(columns - np.round(columns)) < 1e-12, np.round(columns), columns)
    return Movable(tuple(zeroed), tuple(tuple(float(x) for x in column) for column in snapped))
