"""Motion constraints on one body: freedoms S, constraint forces T, apparent inverse inertia."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np

from sixfold.errors import ModelError, NumberError
from sixfold.scalar import ZERO, several_numbers, together
from sixfold.spatial.arguments import takes
from sixfold.spatial.inertia import ArticulatedInertia, Inertia
from sixfold.spatial.subspace import Column, ForceSubspace, Subspace
from sixfold.spatial.vectors import Force, Motion, Rows


@overload
def constraint_basis(S: Subspace) -> ForceSubspace: ...
@overload
def constraint_basis(S: ForceSubspace) -> Subspace: ...
@takes(S=(Subspace, ForceSubspace))
def constraint_basis(S: Subspace | ForceSubspace) -> ForceSubspace | Subspace:
    """Return T with S^T T = 0 and T^T T = 1: the forces that do no work on any motion in S.

    Of a force subspace T it returns the motions S that T does no work on, with T^T S = 0.

    Args:
        S: a Subspace (or ForceSubspace) of n independent columns that hold floats.

    Returns:
        A ForceSubspace (or Subspace) of 6 - n columns.

    Raises:
        ModelError: if the columns are not independent.

    Example:
        >>> import sixfold as sf
        >>> hinge = sf.Subspace(sf.Motion.of([0, 0, 1, 0, 0, 0]))
        >>> T = sf.spatial.constraint_basis(hinge)
        >>> len(T.columns)
        5
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


@takes(inertia=(Inertia, ArticulatedInertia), S=Subspace)
def apparent_inverse_inertia(inertia: Inertia | ArticulatedInertia, S: Subspace) -> Rows:
    """Return S (S^T I S)^-1 S^T: the inverse inertia that a constrained body seems to have.

    Times a force it is the acceleration of the body at rest.  Its rank is the number of freedoms,
    and it maps every constraint force to zero.

    Args:
        inertia: inertia of the body.
        S: motions that the constraint allows.

    Returns:
        Six rows of six numbers; `to_array` makes an array of them.

    Example:
        >>> import sixfold as sf
        >>> bar = sf.spatial.rod(1.0, axis="x", mass=12.0)
        >>> hinge = sf.Subspace(sf.Motion.of([0, 0, 1, 0, 0, 0]))
        >>> sf.spatial.to_array(sf.spatial.apparent_inverse_inertia(bar, hinge))[2, 2].item()
        1.0
    """
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
    """Rates of the velocity coordinates."""
    a: Motion
    """Acceleration."""
    f_c: Force
    """Constraint force."""


_NONE = type(None)


@takes(inertia=(Inertia, ArticulatedInertia), S=Subspace, f=Force, S_rate=(Subspace, _NONE))
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

    Returns:
        Rates of alpha, the acceleration and the constraint force.

    Example:
        >>> import sixfold as sf
        >>> ball, slide = sf.spatial.sphere(0.5, mass=2.0), sf.Motion.of([0, 0, 0, 1, 0, 0])
        >>> push = sf.Force.of([0, 0, 0, 6, 0, -8])
        >>> found = sf.spatial.constrained_motion(ball, sf.Subspace(slide), push)
        >>> print(found.a, found.f_c)
        Motion(w=(0, 0, 0), v=(3, 0, 0)) Force(n=(0, 0, 0), f=(0, 0, 8))
    """
    if alpha is None:
        rates: Any = Column.zero(len(S.columns))
    else:
        fix = "give one number for each column of S"
        rates = several_numbers("constrained_motion", "alpha", alpha, len(S.columns), fix)
    v = S @ rates
    drift = S_rate @ rates if S_rate is not None else Motion.zero()
    bias = inertia @ drift + v.cross(inertia @ v)
    alpha_rate = (S.T @ (f - bias)) / (S.T @ (inertia @ S))
    a = S @ alpha_rate + drift
    return Constrained(alpha_rate, a, inertia @ a + v.cross(inertia @ v) - f)
