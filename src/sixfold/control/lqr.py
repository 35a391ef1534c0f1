"""The linear-quadratic regulator of a system, and along a motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.control.linearize import Linearization
from sixfold.errors import ArgumentError, NotApplicableError, NumberError, ShapeError
from sixfold.lazy import optional
from sixfold.runtime import Argument, checked_array, enough_memory, finite_floats
from sixfold.show import fields_line
from sixfold.simulation.arguments import step_length

ASYMMETRY = 1e-9  # how far a weight may be from its transpose, relative to its largest element
ROUNDING = 100 * float(np.finfo(float).eps)


class LQR(NamedTuple):
    """A linear-quadratic regulator: u = -K x."""

    K: Array  #: Gains, shape (..., inputs, states): units of inputs by those of states.
    S: Array  #: x^T S x is the cost from x on, shape (..., states, states).
    #: Of A - B K, shape (..., states): [1/s] in continuous time, for one step otherwise.
    eigenvalues: Array

    def __repr__(self) -> str:
        """Print small arrays, and the shapes of large ones."""
        return fields_line(self)


def lqr(
    A: ArrayLike | Linearization,
    B: ArrayLike | None = None,
    Q: ArrayLike | None = None,
    R: ArrayLike | None = None,
    *,
    dt: float | None = None,
) -> LQR:
    """Return the gains K with which u = -K x costs least, as `lqr(A, B, Q, R)`.

    In continuous time the cost is the integral of x^T Q x + u^T R u; in discrete time, which is
    that of dt or of the linearisation, the sum of it over all steps.

    Args:
        A: shape (..., n, n); or a `Linearization`, which has A, B and dt: `lqr(linearization, Q,
            R)`.
        B: shape (..., n, m).  To use some of the joints only, pass their columns.
        Q: cost of states: a matrix (n, n), its diagonal (n,), or a number for all of it.
        R: cost of inputs: a matrix (m, m), its diagonal (m,), or a number for all of it.
        dt: length of a step [s] of A and B; by default continuous time.

    Returns:
        K (..., m, n), S (..., n, n) and the eigenvalues of A - B K (..., n), as an `LQR`.  K has
        the units of inputs by those of states: [N m/rad] and [N m s/rad] for a hinge.

    Raises:
        ShapeError, NumberError, OptionError: if an argument makes no sense: not finite, Q or R not
            symmetric, Q with a negative direction, R not positive definite.
        NotApplicableError: if no gains make the system stable, or SciPy is not installed.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> upright = sf.control.linearize(sf.load("pendulum"), [np.pi], [0.0], [0.0])
        >>> gains = sf.control.lqr(upright, 1.0, 1.0)
        >>> gains.K.round(3)
        array([[9.911, 2.52 ]])
        >>> np.sort(gains.eigenvalues.real).round(3)  # per second: it stays up
        array([-6.468, -2.867])
    """
    names: Sequence[str] | None = None
    if isinstance(A, Linearization):
        weights = [x for x in (B, Q, R) if x is not None]
        if len(weights) != 2:
            fix = "write lqr(linearization, Q, R), or lqr(A, B, Q, R)"
            raise ArgumentError("lqr of a linearisation", "Q and R", f"{len(weights)} of them", fix)
        if dt is not None:
            where, fix = "a linearisation, which has its own", "leave it out"
            raise NotApplicableError("lqr: option 'dt'", where, fix)
        names, dt, (Q, R) = A.state_names, A.dt, weights
        A, B = A
    else:
        _refuse_missing("lqr", B, Q, R)
        dt = None if dt is None else step_length("lqr", dt)
    with enough_memory("lqr", "a batch of systems"):
        return _gains(A, B, Q, R, dt, names)


def _refuse_missing(function: str, B: Any, Q: Any, R: Any) -> None:
    """Refuse matrices without all the others; only a linearisation brings B along."""
    missing = [name for name, x in (("B", B), ("Q", Q), ("R", R)) if x is None]
    if missing:
        fix = f"write {function}(A, B, Q, R), or {function}(linearization, Q, R)"
        where = f"{function} of a matrix A, without {' and '.join(missing)}"
        raise ArgumentError(where, "A, B, Q and R", None, fix)


def _gains(A: Any, B: Any, Q: Any, R: Any, dt: float | None, names: Sequence[str] | None) -> LQR:
    """Return the regulators of all systems, each checked first."""
    # shapes, then weights, then each system by itself: SciPy takes one at a time
    a, b, lead = _systems("lqr", A, B, 2)
    n, m = b.shape[-2:]
    q, r = weight("lqr", "Q", Q, n), weight("lqr", "R", R, m)
    check_definite("lqr", q, r)
    linalg = optional("scipy.linalg", "lqr")
    a, b = np.broadcast_to(a, (*lead, n, n)), np.broadcast_to(b, (*lead, n, m))
    K, S = np.empty((*lead, m, n)), np.empty((*lead, n, n))
    eigenvalues = np.empty((*lead, n), complex)
    for row in np.ndindex(*lead):
        _check_stabilisable(a[row], b[row], dt, names, row)
        K[row], S[row], eigenvalues[row] = _solve(linalg, a[row], b[row], q, r, dt, row)
    return LQR(K, S, eigenvalues)


def _solve(
    linalg: Any, A: Array, B: Array, Q: Array, R: Array, dt: float | None, row: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """Return K, S and the eigenvalues of one system."""
    try:
        if dt is None:
            # A^T S + S A - S B R^-1 B^T S + Q = 0, and K = R^-1 B^T S
            S: Any = linalg.solve_continuous_are(A, B, Q, R)
            K = np.linalg.solve(R, B.T @ S)
        else:
            # S = Q + A^T S (A - B K), and K = (R + B^T S B)^-1 B^T S A
            S = linalg.solve_discrete_are(A, B, Q, R)
            K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
        eigenvalues = np.linalg.eigvals(A - B @ K)
    except np.linalg.LinAlgError:  # SciPy's is the same
        K, S, eigenvalues = A, A, np.full(len(A), np.inf)
    if not (_growth(eigenvalues, dt) < 0).all():
        where = f"the system{_at(row)}: the Riccati equation has no solution that makes it stable"
        fix = "give Q a positive weight on modes that neither grow nor decay; scale Q and R alike"
        raise NotApplicableError("lqr", where, fix)
    return K, (S + S.T) / 2, eigenvalues


def _growth(eigenvalues: Array, dt: float | None) -> Array:
    """Return numbers that are positive for modes that grow and negative for those that decay."""
    return np.asarray(eigenvalues.real if dt is None else np.abs(eigenvalues) - 1.0)


def _check_stabilisable(
    A: Array, B: Array, dt: float | None, names: Sequence[str] | None, row: tuple[int, ...]
) -> None:
    """Refuse a mode that does not decay by itself and that no input reaches (Hautus test)."""
    n = len(A)
    size = max(float(np.abs(A).max(initial=0.0)), float(np.abs(B).max(initial=0.0)))
    small = ROUNDING * n * (size or 1.0)
    # Hautus: [A - mode 1, B] has full rank for each mode that does not decay
    for mode in np.linalg.eigvals(A):
        if _growth(mode, dt) < -small:
            continue
        left, sizes, _ = np.linalg.svd(np.hstack([A - mode * np.eye(n), B]))
        if sizes[-1] > small:
            continue
        # the left null vector of [A - mode 1, B] shows the states that stay out of reach
        k = int(np.argmax(np.abs(left[:, -1])))
        state = f"'{names[k]}'" if names else f"number {k}"
        value = f"{mode.real:.6g}" if abs(mode.imag) <= small else f"{mode:.6g}"
        where = f"the system{_at(row)}: no input reaches its mode {value}, seen in state {state}"
        fix = "add the inputs of more joints (columns of B), or leave such states out"
        raise NotApplicableError("lqr", f"{where}; it is not stabilisable", fix)


def _at(row: tuple[int, ...]) -> str:
    return f" at {list(row)}" if row else ""


def _systems(function: str, A: Any, B: Any, axes: int) -> tuple[Array, Array, Shape]:
    """Return A and B of systems (two axes) or of motions (three), and their leading shape."""
    a, b = finite(function, "A", A), finite(function, "B", B)
    steps = "steps, " if axes == 3 else ""
    if a.ndim < axes or a.shape[-1] != a.shape[-2] or not a.shape[-1]:
        fix = "give square matrices, one for each step" if steps else "give a square matrix"
        raise ShapeError(function, "A", f"(..., {steps}n, n) with n >= 1", a.shape, fix)
    n = a.shape[-1]
    count = a.shape[-axes:-2]
    if b.ndim < axes or b.shape[-2] != n or not b.shape[-1] or b.shape[-axes:-2] != count:
        fix = "give a row for each state and a column for each input"
        sizes = "".join(f"{k}, " for k in count)
        raise ShapeError(function, "B", f"(..., {sizes}{n}, m) with m >= 1", b.shape, fix)
    try:
        lead = np.broadcast_shapes(a.shape[:-axes], b.shape[:-axes])
    except ValueError:
        got, fix = (a.shape, b.shape), "give both the same number of systems"
        raise ShapeError(function, "A/B", "leading axes that fit", got, fix) from None
    return a, b, lead


def finite(function: str, name: str, value: Any) -> Array:
    """Return finite numbers."""
    array = checked_array(function, name, Argument(value, (), "numbers"))
    return finite_floats(f"{function}: argument '{name}'", array)


def weight(function: str, name: str, value: Any, n: int) -> Array:
    """Return a symmetric matrix from a matrix, its diagonal, or a number."""
    array = finite(function, name, value)
    if array.ndim == 0:
        return np.eye(n) * array
    if array.shape == (n,):
        return np.diag(array)
    if array.shape != (n, n):
        fix = f"pass the matrix, its diagonal, or one number; there are {n}"
        raise ShapeError(function, name, f"({n}, {n}), ({n},) or ()", array.shape, fix)
    apart = np.abs(array - array.T).max()
    if apart > ASYMMETRY * np.abs(array).max():
        where = f"{function}: argument '{name}' is not symmetric"
        fix = f"pass ({name} + {name}.T) / 2"
        raise NumberError(where, f"{name} = {name}^T", f"a difference of {apart:.3g}", fix)
    return np.asarray((array + array.T) / 2)


def check_definite(function: str, Q: Array, R: Array) -> None:
    """Refuse Q with a negative direction, and R with one that is not positive."""
    # Q may be singular: rounding of its size is no negative direction
    least = np.linalg.eigvalsh(Q)[0]
    if least < -ROUNDING * len(Q) * np.abs(Q).max():
        where = f"{function}: argument 'Q' rewards a direction instead of punishing it"
        fix = "make all eigenvalues of Q zero or positive"
        raise NumberError(where, "eigenvalues >= 0", f"{least:.6g}", fix)
    least = np.linalg.eigvalsh(R)[0]
    if not least > ROUNDING * len(R) * np.abs(R).max():
        where = f"{function}: argument 'R' is not positive definite"
        fix = "give every input a positive cost"
        raise NumberError(where, "eigenvalues > 0", f"{least:.6g}", fix)


class TVLQR(NamedTuple):
    """Gains along a motion: u_k = -K_k x_k."""

    K: Array  #: Gains, shape (..., steps, inputs, states): units of inputs by those of states.
    S: Array  #: x^T S_k x is the cost from step k on, shape (..., steps + 1, states, states).

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
        final: cost of the last state, as Q; by default Q.

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
        >>> motion = sf.control.linearize(model, up, 0.0 * up, 0.0 * up, dt=0.01)
        >>> gains = sf.control.tvlqr(motion, 1.0, 1.0)
        >>> gains.K.shape, gains.S.shape
        ((1000, 1, 2), (1001, 2, 2))
        >>> still = sf.control.linearize(model, [np.pi], [0.0], [0.0], dt=0.01)
        >>> np.allclose(gains.K[0], sf.control.lqr(still, 1.0, 1.0).K)  # far from the end
        True
    """
    if isinstance(A, Linearization):
        if A.dt is None:
            where = "a linearisation in continuous time"
            raise NotApplicableError("tvlqr", where, "linearize with dt=...")
        weights = [x for x in (B, Q, R, final) if x is not None]
        if not 2 <= len(weights) <= 3:
            fix = "write tvlqr(linearization, Q, R), or tvlqr(A, B, Q, R)"
            got = f"{len(weights)} of them"
            raise ArgumentError("tvlqr of a linearisation", "Q and R", got, fix)
        Q, R, final = (*weights, None)[:3]
        A, B = A
    else:
        _refuse_missing("tvlqr", B, Q, R)
    with enough_memory("tvlqr", "gains along a motion"):
        return _gains_along(A, B, Q, R, final)


def _gains_along(A: Any, B: Any, Q: Any, R: Any, final: Any) -> TVLQR:
    a, b, lead = _systems("tvlqr", A, B, 3)
    steps, n, m = b.shape[-3:]
    q, r = weight("tvlqr", "Q", Q, n), weight("tvlqr", "R", R, m)
    end = q if final is None else weight("tvlqr", "final", final, n)
    check_definite("tvlqr", q, r)
    check_definite("tvlqr", end, r)
    K, S = np.empty((*lead, steps, m, n)), np.empty((*lead, steps + 1, n, n))
    S[..., steps, :, :] = end
    for k in reversed(range(steps)):
        # Riccati recursion from the end
        A_k, B_k, after = a[..., k, :, :], b[..., k, :, :], S[..., k + 1, :, :]
        back = np.swapaxes(B_k, -1, -2) @ after
        K[..., k, :, :] = np.linalg.solve(r + back @ B_k, back @ A_k)
        left = A_k - B_k @ K[..., k, :, :]
        value = q + np.swapaxes(A_k, -1, -2) @ after @ left
        S[..., k, :, :] = (value + np.swapaxes(value, -1, -2)) / 2
    return TVLQR(K, S)
