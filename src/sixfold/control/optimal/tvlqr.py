"""`tvlqr`: the linear-quadratic regulator along a motion, by the Riccati recursion."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.control.linearize import Linearization
from sixfold.control.lqr import check_definite, finite, weight
from sixfold.errors import ArgumentError, NotApplicableError, ShapeError
from sixfold.evaluate import enough_memory
from sixfold.show import fields_line

NAME = "tvlqr"


class TVLQR(NamedTuple):
    """Gains along a motion: u_k = -K_k x_k."""

    K: Array
    """Gains, shape (..., steps, inputs, states): units of inputs by those of states."""
    S: Array
    """x^T S_k x is the cost from step k on, shape (..., steps + 1, states, states)."""

    def __repr__(self) -> str:
        """Print small arrays, and the shapes of large ones."""
        return fields_line(self)


def tvlqr(
    A: ArrayLike | Linearization,
    B: ArrayLike | None = None,
    Q: ArrayLike | None = None,
    R: ArrayLike | None = None,
    final: ArrayLike | None = None,
) -> TVLQR:
    """Return the gains along a motion with which u_k = -K_k x_k costs least.

    The cost is the sum of x_k^T Q x_k + u_k^T R u_k over all steps, and x^T final x at the end,
    with x_(k+1) = A_k x_k + B_k u_k.

    Args:
        A: shape (..., steps, n, n); or a `Linearization` in discrete time of the states of a
            motion, which has A and B: `tvlqr(linearization, Q, R, final)`.
        B: shape (..., steps, n, m).
        Q: cost of states: a matrix (n, n), its diagonal (n,), or a number for all of it.
        R: cost of inputs: a matrix (m, m), its diagonal (m,), or a number for all of it.
        final: cost of the last state, as Q; Q if left out.

    Returns:
        K, shape (..., steps, m, n), and S, shape (..., steps + 1, n, n), as a `TVLQR`.  K has the
        units of inputs by those of states.

    Raises:
        ShapeError, NumberError, OptionError: if an argument makes no sense: not finite, Q or R not
            symmetric, Q with a negative direction, R not positive definite.
        NotApplicableError: if the linearisation is one in continuous time.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model, up = sf.load("pendulum"), np.full((1000, 1), np.pi)
        >>> motion = sf.linearize(model, up, 0.0 * up, 0.0 * up, dt=0.01)
        >>> gains = sf.tvlqr(motion, 1.0, 1.0)
        >>> gains.K.shape, gains.S.shape
        ((1000, 1, 2), (1001, 2, 2))
        >>> still = sf.linearize(model, [np.pi], [0.0], [0.0], dt=0.01)
        >>> np.allclose(gains.K[0], sf.lqr(still, 1.0, 1.0).K)  # far from the end
        True
    """
    if isinstance(A, Linearization):
        if A.dt is None:
            where = "a linearisation in continuous time"
            raise NotApplicableError(NAME, where, "linearize with dt=...")
        weights = [x for x in (B, Q, R, final) if x is not None]
        if not 2 <= len(weights) <= 3:
            fix = "write tvlqr(linearization, Q, R), or tvlqr(A, B, Q, R)"
            raise ArgumentError("tvlqr of a linearisation", "Q and R", weights, fix)
        Q, R, final = (*weights, None)[:3]
        A, B = A
    with enough_memory(NAME, "gains along a motion"):
        return _gains(A, B, Q, R, final)


def _gains(A: Any, B: Any, Q: Any, R: Any, final: Any) -> TVLQR:
    a, b = finite(NAME, "A", A), finite(NAME, "B", B)
    if a.ndim < 3 or a.shape[-1] != a.shape[-2] or not a.shape[-1]:
        fix = "give one matrix for each step"
        raise ShapeError(NAME, "A", "(..., steps, n, n)", a.shape, fix)
    n = a.shape[-1]
    if b.ndim < 3 or b.shape[-2] != n or not b.shape[-1] or b.shape[-3] != a.shape[-3]:
        fix = "give one matrix for each step, with a row for each state"
        raise ShapeError(NAME, "B", f"(..., {a.shape[-3]}, {n}, m)", b.shape, fix)
    m, steps = b.shape[-1], a.shape[-3]
    q, r = weight(NAME, "Q", Q, n), weight(NAME, "R", R, m)
    end = q if final is None else weight(NAME, "final", final, n)
    check_definite(NAME, q, r)
    check_definite(NAME, end, r)
    try:
        lead = np.broadcast_shapes(a.shape[:-3], b.shape[:-3])
    except ValueError:
        got, fix = (a.shape, b.shape), "give both the same number of motions"
        raise ShapeError(NAME, "A/B", "leading axes that fit", got, fix) from None
    K, S = np.empty((*lead, steps, m, n)), np.empty((*lead, steps + 1, n, n))
    S[..., steps, :, :] = end
    for k in reversed(range(steps)):
        A_k, B_k, after = a[..., k, :, :], b[..., k, :, :], S[..., k + 1, :, :]
        back = np.swapaxes(B_k, -1, -2) @ after
        K[..., k, :, :] = np.linalg.solve(r + back @ B_k, back @ A_k)
        left = A_k - B_k @ K[..., k, :, :]
        value = q + np.swapaxes(A_k, -1, -2) @ after @ left
        S[..., k, :, :] = (value + np.swapaxes(value, -1, -2)) / 2
    return TVLQR(K, S)
