"""Hybrid dynamics: some joints follow given accelerations, the others given forces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame
from sixfold.dynamics.fast import aba
from sixfold.dynamics.passive import passive_forces
from sixfold.errors import OptionError, UnknownNameError
from sixfold.model import Model
from sixfold.quantities.dynamics import external_forces, inverse_dynamics, mass_matrix
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import InertiaOptions, refuse_constraints
from sixfold.scalar import ZERO, Scalar, dot

derivatives = LazyModule("sixfold.quantities.derivatives")
factors = LazyModule("sixfold.dynamics.fast.factor")

Matrix = list[list[Scalar]]
_Two = tuple[Array, Array]
_Three = tuple[Array, Array, Array]


def _joint_names(function: str, model: Model, given: Any) -> tuple[str, ...]:
    """Return the names of joints whose acceleration is given, or say what is wrong with them."""
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        raise OptionError(function, "given", "names of joints in a list", given)
    # the first name that is no joint, or that follows another
    for name in given:
        if name not in model.joint_names:
            where = f"{function}: option 'given' for model '{model.name}'"
            raise UnknownNameError("joint", name, model.joint_names, where=where)
        model.v_slice(name)  # refuses a joint that follows others
    return tuple(given)


def _refuse_constraints(function: str, model: Model, _: Mapping[str, Any]) -> None:
    refuse_constraints(function, model, "motions of a loop depend on each other")


_PROPERTIES: dict[str, Any] = {
    "joint_space": True,
    "options": {"given": _joint_names},
    "refuses": _refuse_constraints,
    "solves": True,
}


@quantity("nv", "nv", **_PROPERTIES)
def hybrid_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    given: Sequence[str] | None = None,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[InertiaOptions[_Two]],
) -> _Two:
    """Return all accelerations and joint forces, from the accelerations of some joints.

    The joints in `given` follow their accelerations in a; the others feel their forces in tau.
    With `given=[]` that is forward dynamics, with all joints inverse dynamics, and by default, on a
    floating base, floating-base inverse dynamics: motors follow a, and the base moves as it must.

    Args:
        tau: joint forces [N m or N], shape (..., nv); those of joints in `given` are not read.
        a: joint accelerations, shape (..., nv); only those of joints in `given` are read.

    Returns:
        Accelerations [rad/s^2 or m/s^2] and joint forces [N m or N] of all joints, both of shape
        (..., nv).  The forces include damping, friction, springs and armature.  States where a
        joint has no inertia behind it give NaN and one SingularPivotWarning.

    Raises:
        UnknownNameError, ModelError: if `given` names no joint, or one that follows others.
        NotApplicableError: for a model with constraints.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: Featherstone, RBDA, sections 9.1 to 9.5, in the sweeps of table 7.1.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> state = q, v, np.zeros(2), np.ones(2)
        >>> a, tau = sf.hybrid_dynamics(arm, *state, given=["shoulder"])  # no motor at the elbow
        >>> a[0], tau[1], np.allclose(sf.inverse_dynamics(arm, q, v, a), tau)
        (np.float64(1.0), np.float64(0.0), True)
        >>> ship = sf.load("floating_link")  # a base in free flight and one joint
        >>> q, v = sf.random_state(ship, seed=1)
        >>> a, tau = sf.hybrid_dynamics(ship, q, v, np.zeros(7), np.zeros(7))
        >>> np.allclose(tau[:6], 0), np.allclose(sf.forward_dynamics(ship, q, v, tau), a)
        (True, True)
    """
    if model.couplings:
        return _by_mass_matrix(model, q, v, tau, a, f_ext, f_ext_frame, _rows(model, given))
    tree = model.tree
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = external_forces(model, x, f_ext, f_ext_frame)
    # motors work against damping, friction and springs
    passive = passive_forces(tree, x, xd)
    net = {i: t - passive[i] for i, t in model.velocities(tau).items()}
    rows = _rows(model, given)
    # bodies whose joints are given, by number in the tree
    bodies = {free.body + 1 for free in model.coordinates.free if free.v.start in rows}
    known = {i: xdd[i] if i in bodies else tree.zero_velocity(i) for i in tree.bodies}
    qdd, found = aba.hybrid_dynamics(tree, x, xd, net, known, forces, bodies)
    # joint forces of the given joints; the others keep theirs
    applied = model.gather({i: found[i] + passive[i] for i in tree.bodies})
    return model.gather(qdd), [applied[k] if k in rows else t for k, t in enumerate(tau)]


@quantity("nv nv", "nv nv", "nv nv", **_PROPERTIES)
def hybrid_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    given: Sequence[str] | None = None,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[InertiaOptions[_Three]],
) -> _Three:
    """Return the derivatives (dq, dv, dx) of what `hybrid_dynamics` finds out.

    Each joint has one unknown, its force where its acceleration is given and its acceleration where
    its force is, and one given number x, the other of the two.  d/dq is along the motion
    subspaces (the tangent space), as in `inverse_dynamics_derivatives`.

    Args:
        tau: joint forces [N m or N], shape (..., nv); those of joints in `given` are not read.
        a: joint accelerations, shape (..., nv); only those of joints in `given` are read.

    Returns:
        Three arrays of shape (..., nv, nv): row i is the unknown of joint i, column j is d/dq_j,
        d/dv_j and d/dx_j.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> state = q, v, np.zeros(2), np.ones(2)
        >>> shoulder = ["shoulder"]
        >>> dq, dv, dx = sf.derivatives.hybrid_dynamics_derivatives(arm, *state, given=shoulder)
        >>> M = sf.mass_matrix(arm, q)
        >>> np.allclose(dx[1], [-M[1, 0] / M[1, 1], 1 / M[1, 1]])  # the acceleration of the elbow
        True
    """
    rows, n = _rows(model, given), range(model.nv)
    qdd, _ = hybrid_dynamics(model, q, v, tau, a, f_ext, given=given, f_ext_frame=f_ext_frame)
    rates = derivatives.inverse_dynamics_derivatives
    Q, V, M = rates(model, q, v, qdd, f_ext, f_ext_frame=f_ext_frame)
    unknowns = _solver(model, M, rows)
    # M da - dtau = -(Q dq + V dv), with what is given on the right-hand side
    X = [[M[r][c] if c in rows else -1.0 if r == c else ZERO for c in n] for r in n]
    found = []
    for slopes in (Q, V, X):
        columns = [unknowns(column) for column in zip(*slopes, strict=True)]
        found.append([list(row) for row in zip(*columns, strict=True)])
    return found[0], found[1], found[2]


def _rows(model: Any, given: Sequence[str] | None) -> frozenset[int]:
    """Return the rows of v whose acceleration is given."""
    if given is None:
        return frozenset(model.coordinates.actuated_indices)
    slices = [model.v_slice(name) for name in given]
    return frozenset(k for rows in slices for k in range(rows.start, rows.stop))


def _solver(model: Any, M: Matrix, rows: frozenset[int]) -> Callable[..., list[Scalar]]:
    """Return a function of b that solves M a + b = tau for what is not given.

    The given accelerations and forces are part of b; it returns a for the free rows and tau for
    the others.
    """
    free = [k for k in range(model.nv) if k not in rows]
    # the sparsity of a tree without the given joints: each row hangs from the nearest free one
    parent = range(-1, model.nv - 1) if model.couplings else model.tree.dof_parent
    nearest = []
    for k in free:
        p = parent[k]
        while p in rows:
            p = parent[p]
        nearest.append(free.index(p) if p >= 0 else -1)
    factor = factors.Factor.of([[M[r][c] for c in free] for r in free], nearest).opposite

    def unknowns(b: Sequence[Scalar]) -> list[Scalar]:
        a = dict(zip(free, factor.solve([b[k] for k in free]), strict=True))
        return [
            b[k] + dot((M[k][f] for f in free), a.values()) if k in rows else a[k]
            for k in range(model.nv)
        ]

    return unknowns


def _by_mass_matrix(
    model: Any, q: Any, v: Any, tau: Any, a: Any, f_ext: Any, frame: str, rows: frozenset[int]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return accelerations and forces under couplings, by the reduced mass matrix."""
    n = range(model.nv)
    # M a + C = tau with the known accelerations moved into C
    known = [a[k] if k in rows else ZERO for k in n]
    C = inverse_dynamics(model, q, v, known, f_ext, f_ext_frame=frame)
    b = [C[k] if k in rows else C[k] - tau[k] for k in n]
    # free rows give accelerations, the others forces
    found = _solver(model, mass_matrix(model, q), rows)(b)
    accelerations = [a[k] if k in rows else found[k] for k in n]
    return accelerations, [found[k] if k in rows else tau[k] for k in n]
