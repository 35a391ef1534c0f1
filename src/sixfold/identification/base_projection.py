"""Which columns of the regressor are independent, in numbers: base parameters of large models.

What a joint neither works on nor turns moves to the parent exactly (`model.grouping`).  Which of
the columns that are left depend on others for every motion is found from the regressor at random
states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sixfold.arrays import Array
from sixfold.choices import Backend
from sixfold.errors import NotApplicableError
from sixfold.evaluate import (
    model_checked,
    per_model,
    quantity,
    random_state,
    regressor,
    scalar_functions,
)
from sixfold.evaluate.scalar_functions import page
from sixfold.model import Model
from sixfold.model.grouping import PARAMETERS, grouped_inertias
from sixfold.scalar import Scalar, Zero

MAX_BODIES = 100
"""The regressor of so many has 1,000 columns."""
MIN_RELATIVE_COLUMN = 1e-9
"""Relative size below which a column of the regressor is zero, or depends on the others."""
WHOLE = 1e-8
"""Weights that are so near to a whole number are that number."""


@dataclass(frozen=True, eq=False)
class BaseProjection:
    """The base parameters of a kinematics for any masses and inertias: tau = Y[:, columns] beta.

    `beta = matrix @ pi` with pi the ten parameters of each body, as in `regressor`.
    """

    columns: NDArray[np.intp]
    """Columns of the regressor that are independent: whole numbers, shape (n,)."""
    matrix: NDArray[np.float64]
    """Base parameters from all parameters, beta = matrix @ pi, shape (n, 10 nb), with pi in kg, kg
    m and kg m^2."""
    names: tuple[str, ...]
    """A name for each: that of the column which stays, as in 'Izz link3'."""

    def __len__(self) -> int:
        """Return how many there are: the rank of the regressor."""
        return len(self.columns)

    def __repr__(self) -> str:
        """Return the numbers of both kinds of parameters."""
        return f"BaseProjection({len(self)} of {self.matrix.shape[1]} inertial parameters)"


def base_projection(model: Model) -> BaseProjection:
    """Return which combinations of inertial parameters joint forces depend on, in numbers.

    For each model up to 100 bodies, without formulas: `base_parameters` has those for small ones.
    The result holds for the kinematics of the model, whatever its masses and inertias are.

    Args:
        model: the robot.

    Returns:
        A `BaseProjection` with n columns and matrix (n, 10 nb): Y pi = Y[..., columns] (matrix pi)
        for every state, in the units of the ten parameters: kg, kg m and kg m^2.

    Raises:
        NotApplicableError: if the model has too many bodies.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> base = sf.base_projection(arm)
        >>> base
        BaseProjection(6 of 20 inertial parameters)
        >>> base.names
        ('hx upper', 'hz upper', 'Iyy upper', 'hx lower', 'hz lower', 'Iyy lower')
        >>> pi = np.concatenate([np.array(body.inertia.parameters(), float) for body in arm.bodies])
        >>> (base.matrix @ pi).round(3) + 0.0
        array([ 0.   , -1.5  ,  1.333,  0.   , -1.   ,  1.33 ])

    Reference: Gautier, Numerical Calculation of the Base Inertial Parameters of Robots, 1991.
    """
    model_checked("base_projection", model)
    refuse_many_bodies("base_projection", model)
    return _projection(model)


def refuse_many_bodies(function: str, model: Model) -> None:
    """Refuse a model whose regressor would be too large."""
    if model.nb > MAX_BODIES:
        where = f"model '{model.name}' of {model.nb} bodies"
        fix = f"lock joints until at most {MAX_BODIES} move, or use sixfold.grouped for its form"
        raise NotApplicableError(function, where, fix)


@per_model()
def _projection(model: Model) -> BaseProjection:
    n = 10 * model.nb
    # what moves to the parent, for each parameter in turn
    probe = model.tree.with_inertias(list(np.eye(n)))
    moved = [x for inertia in grouped_inertias(probe)[1:] for x in inertia.parameters()]
    left = [k for k, x in enumerate(moved) if not isinstance(x, Zero) and np.any(x)]
    G = np.array([np.broadcast_to(moved[k], n) for k in left], float).reshape(len(left), n)
    keep, weights, _ = independent(stacked_regressor(model)[:, left])
    columns = np.array([left[k] for k in keep], np.intp)
    names = tuple(f"{PARAMETERS[k % 10]} {model.body_names[k // 10]}" for k in columns)
    return BaseProjection(columns, weights @ G, names)


def stacked_regressor(model: Model) -> Array:
    """Return the regressor at random states, one row after the other, shape (rows, 10 nb)."""
    count = 60 if model.nb <= 20 else 24  # a joint alone has ten columns, and a row in each state
    q, v = random_state(model, count, seed=0)
    a = np.random.default_rng(1).standard_normal((count, model.nv))
    # by NumPy: compiling takes longer than the few states
    return regressor(model, q, v, a, backend="numpy").reshape(-1, 10 * model.nb)


def independent(Y: Array) -> tuple[list[int], Array, list[int]]:
    """Return columns that are independent, how they stand for all, and which ones are zero.

    A column that depends on columns before it acts through those: the first come, first kept.

    Returns:
        Numbers of the columns kept; weights W, shape (kept, columns), with Y = Y[:, kept] W;
        numbers of the zero columns.
    """
    n = Y.shape[1]
    sizes = np.linalg.norm(Y, axis=0)
    none = np.flatnonzero(sizes <= MIN_RELATIVE_COLUMN * sizes.max(initial=0.0)).tolist()
    there = [k for k in range(n) if k not in set(none)]
    scaled = Y[:, there] / sizes[there]
    R = np.asarray(np.linalg.qr(scaled, mode="r"))
    diagonal = np.zeros(len(there))
    diagonal[: min(R.shape)] = np.abs(np.diagonal(R))
    kept = [m for m in range(len(there)) if diagonal[m] > MIN_RELATIVE_COLUMN]
    others = [m for m in range(len(there)) if diagonal[m] <= MIN_RELATIVE_COLUMN]
    keep = [there[m] for m in kept]
    W = np.zeros((len(keep), n))
    W[np.arange(len(keep)), keep] = 1.0
    if others:
        Q, r = np.linalg.qr(R[:, kept])
        found = np.linalg.solve(r, Q.T @ R[:, others])
        found *= sizes[[there[m] for m in others]] / sizes[keep][:, None]
        found[np.abs(found) <= WHOLE] = 0.0
        whole = np.round(found)
        W[:, [there[m] for m in others]] = np.where(np.abs(found - whole) < WHOLE, whole, found)
    return keep, W, none


def base_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return the columns of `regressor` that are independent: tau = Y beta, full rank.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
        out: array for the result, of its shape and dtype; a new one if left out.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Array of shape (..., nv, n), with n and beta = matrix pi of `base_projection`.

    Raises:
        NotApplicableError: if the model has too many bodies.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, 5, seed=0)
        >>> Y = sf.base_regressor(arm, q, v, np.ones((5, 2)))
        >>> Y.shape, int(np.linalg.matrix_rank(Y.reshape(10, 6)))
        ((5, 2, 6), 6)
        >>> pi = np.concatenate([np.array(body.inertia.parameters(), float) for body in arm.bodies])
        >>> beta = sf.base_projection(arm).matrix @ pi
        >>> np.allclose(Y @ beta, sf.inverse_dynamics(arm, q, v, np.ones((5, 2))))
        True
    """
    model_checked("base_regressor", model)
    refuse_many_bodies("base_regressor", model)
    return _base_call(model)(model, q, v, a, out=out, backend=backend)


@per_model()
def _base_call(model: Model) -> Callable[..., Array]:
    """Return the call that computes and stores base columns alone."""
    columns = _projection(model).columns.tolist()
    places = [r * 10 * model.nb + c for r in range(model.nv) for c in columns]

    @page()
    def base_page(*arguments: Any) -> list[Scalar]:
        found = scalar_functions.regressor(*arguments)
        return [found[k] for k in places]

    @quantity(f"nv {len(columns)}", reading=base_page, part_of="base_regressor")
    def call(
        model: Model,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        out: Array | None = None,
        backend: Backend | None = None,
    ) -> Array:
        """Return the columns."""
        raise NotImplementedError

    return call
