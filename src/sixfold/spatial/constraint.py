"""Motion constraints on one body: freedoms S, constraint forces T, apparent inverse inertia."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np

from sixfold.errors import ModelError, NumberError
from sixfold.scalar import ZERO, together
from sixfold.spatial.inertia import ArticulatedInertia, Inertia
from sixfold.spatial.subspace import Column, ForceSubspace, Subspace
from sixfold.spatial.vectors import Force, Motion, Rows


@overload
def constraint_basis(S: Subspace) -> ForceSubspace: ...
@overload
def constraint_basis(S: ForceSubspace) -> Subspace: ...
def constraint_basis(S: Subspace | ForceSubspace) -> ForceSubspace | Subspace:
    """Return T with S^T T = 0 and T^T T = 1: the forces that do no work on any motion in S.

    Of a force subspace T it returns the motions S that T does no work on, with T^T S = 0.
    The columns hold floats and must be independent.
    """
    forces = isinstance(S, ForceSubspace)
    n = len(S.columns)
    with together("constraint_basis"):
        columns = np.array([[float(x) for x in (*c.ang, *c.lin)] for c in S.columns]).reshape(n, 6)
    if not np.isfinite(columns).all():
        fix = "look at the state of the joint"
        raise NumberError("constraint_basis", "finite columns of S", "others", fix)
    if n and np.linalg.matrix_rank(columns) < n:
        name = "T" if forces else "S"
        raise ModelError(
            "constraint_basis", f"columns of {name} are not independent", "drop a column"
        )
    q, _ = np.linalg.qr(columns.T, mode="complete")
    rest = [[float(x) for x in column] for column in q[:, n:].T]
    if forces:
        return Subspace(*map(Motion.of, rest))
    return ForceSubspace(*map(Force.of, rest))


def apparent_inverse_inertia(inertia: Inertia | ArticulatedInertia, S: Subspace) -> Rows:
    """Return S (S^T I S)^-1 S^T: the inverse inertia that a constrained body seems to have."""
    D = S.T @ (inertia @ S)
    flat = [(*column.ang, *column.lin) for column in S.columns]
    rows = tuple(zip(*flat, strict=True)) or ((),) * 6  # of S, also when it has no columns
    solved = [D.solve(row) for row in rows]  # rows of S D^-1
    return tuple(
        tuple(sum((x * c[j] for x, c in zip(row, flat, strict=True)), ZERO) for j in range(6))
        for row in solved
    )


class Constrained(NamedTuple):
    """The answer to a force on a constrained body."""

    alpha_rate: Column
    a: Motion
    f_c: Force


def constrained_motion(
    inertia: Inertia, S: Subspace, f: Force, alpha: Any = None, S_rate: Subspace | None = None
) -> Constrained:
    """Return acceleration and constraint force of a body with velocity v = S alpha.

    Solves S^T f_c = 0 and f + f_c = I a + v x* I v with a = S alpha_rate + S_rate alpha, where
    S_rate is dS/dt as a vector (its columns' derivatives, not their components').

    Args:
        inertia: inertia of the body.
        S: motion subspace.
        f: applied force.
        alpha: velocity coordinates; at rest when left out.
        S_rate: derivative of the subspace; zero when left out.
    """
    rates = Column.zero(len(S.columns)) if alpha is None else tuple(alpha)
    v = S @ rates
    drift = S_rate @ rates if S_rate is not None else Motion.zero()
    bias = inertia @ drift + v.cross(inertia @ v)
    alpha_rate = (S.T @ (f - bias)) / (S.T @ (inertia @ S))
    a = S @ alpha_rate + drift
    return Constrained(alpha_rate, a, inertia @ a + v.cross(inertia @ v) - f)
