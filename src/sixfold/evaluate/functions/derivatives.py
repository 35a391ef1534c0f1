"""Derivatives of the dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, ForceFrame
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import FORCE_FRAMES, PagesLater, refuse_constraints
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.scalar_functions import derivatives as pages
else:
    pages = PagesLater("derivatives")

_FORCES = {"f_ext_frame": FORCE_FRAMES}
_AS_FRAME = {"f_ext_frame": "frame"}
_Three = tuple[Array, Array, Array]
_Four = tuple[Array, Array, Array, Array]
_MATRICES = ("nv nv",) * 4


def _refuse_constraints(function: str, model: Model, _: Mapping[str, Any]) -> None:
    refuse_constraints(function, model)


@quantity(
    pages.inverse_dynamics_derivatives,
    "nv nv",
    "nv nv",
    "nv nv",
    options=_FORCES,
    keywords=_AS_FRAME,
)
def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    inertias: ArrayLike | None = None,
    sparse: bool = False,
    out: _Three | None = None,
    backend: Backend | None = None,
) -> _Three:
    """Return the derivatives (dq, dv, da) of `inverse_dynamics`.

    d/dq is along the motion subspaces (the tangent space): column t of dq is the rate of tau when q
    moves with unit velocity v_t, dq/dt = `position_rate(model, q, e_t)`.  A spherical or free joint
    has nv columns, not nq.  Where v = dq/dt these are the ordinary partial derivatives.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6); it stays the same.
        f_ext_frame: "world" (world axes about the world origin: the force stays in the world while
            q changes) or "body" (body axes and origin: it turns with the body).
        sparse: leave out numbers that are zero for every state: each result is then a tuple
            (values, rows, columns), with values of shape (..., n) and fixed rows and columns.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: three arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Three arrays of shape (..., nv, nv): row i is joint force i, column j is d/dq_j, d/dv_j and
        d/da_j.  The last is the mass matrix.  Damping, friction, springs and armature are included;
        dry friction with friction_speed = 0 has no slope.

    Raises:
        ShapeError: if a last axis is not nq or nv; the message names the argument.

    Reference: Singh, Russell, Wensing, Efficient Analytical Derivatives of Rigid-Body Dynamics
    using Spatial Vector Algebra, RA-L 7(2), 2022; worked out about the joint points.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # tau = 0.27 a + 4.905 sin(q)
        >>> dq, dv, da = sf.inverse_dynamics_derivatives(pendulum, [0.0], [1.0], [0.0])
        >>> print(dq.round(3), dv.round(3), da.round(3))
        [[4.905]] [[0.]] [[0.27]]
        >>> tree, x = sf.load("tree6"), np.zeros(6)
        >>> dq, dv, da = sf.inverse_dynamics_derivatives(tree, x, x, x, sparse=True)
        >>> da.values.shape  # of 36 numbers
        (22,)
    """
    raise NotImplementedError


@quantity(
    pages.forward_dynamics_derivatives,
    "nv nv",
    "nv nv",
    "nv nv",
    options=_FORCES,
    keywords=_AS_FRAME,
    solves=True,
)
def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    inertias: ArrayLike | None = None,
    sparse: bool = False,
    out: _Three | None = None,
    backend: Backend | None = None,
) -> _Three:
    """Return the derivatives (dq, dv, dtau) of `forward_dynamics`.

    d/dq is along the motion subspaces (the tangent space), nv columns, as in
    `inverse_dynamics_derivatives`.  Those of a model with constraints (loops) are the derivatives
    of its constrained accelerations, also along directions that would open a loop.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6); it stays the same.
        f_ext_frame: "world" (the force stays in the world while q changes) or "body" (it turns with
            the body).
        sparse: leave out numbers that are zero for every state: each result is then a tuple
            (values, rows, columns), with values of shape (..., n) and fixed rows and columns.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: three arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Three arrays of shape (..., nv, nv): row i is acceleration i, column j is d/dq_j, d/dv_j and
        d/dtau_j.  The last is the inverse mass matrix, of the closed mechanism where there are
        constraints.  States where a joint has no inertia behind it give NaN and one
        SingularPivotWarning.

    Raises:
        ShapeError: if a last axis is not nq or nv.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: d a/dq = -M^-1 d tau/dq at the accelerations of forward dynamics (Carpentier and
    Mansard, Analytical Derivatives of Rigid Body Dynamics Algorithms, RSS 2018), with M = L^T D L
    (Featherstone, RBDA, section 6.5).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> dq, dv, dtau = sf.forward_dynamics_derivatives(arm, q, v, np.zeros(2))
        >>> dq.shape, np.allclose(dtau, sf.inverse_mass_matrix(arm, q))
        ((2, 2), True)
    """
    raise NotImplementedError


@quantity(pages.second_derivatives, *_MATRICES)
def second_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    sparse: bool = False,
    out: _Four | None = None,
    backend: Backend | None = None,
) -> _Four:
    """Return the second derivatives (qq, qv, vv, qa) of weights . `inverse_dynamics`.

    They are along the motion subspaces (the tangent space), as in `inverse_dynamics_derivatives`.
    The matrices of one joint force k are those of the k-th unit vector as weights.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        a: joint acceleration [rad/s^2 or m/s^2], shape (..., nv).
        weights: a weight for each joint force, shape (..., nv).
        sparse: leave out numbers that are zero for every state, as in
            `inverse_dynamics_derivatives`.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: four arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Four arrays of shape (..., nv, nv).  The first letter is the row: qv[i, j] is d2/dq_i dv_j.
        qq[i, j] is the derivative along j of the derivative along i.  It is symmetric but for two
        directions of one spherical or free joint, which do not commute; the symmetric part is the
        Hessian in exponential coordinates.

    Reference: Nganga and Wensing, Accelerating Second-Order Differential Dynamic Programming for
    Rigid-Body Systems, 2021; closed form by the composites of `dynamics/derivatives/second`.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # tau = 0.27 a + 4.905 sin(q)
        >>> qq, qv, vv, qa = sf.second_derivatives(pendulum, [np.pi / 2], [0.0], [0.0], [1.0])
        >>> print(qq.round(3))
        [[-4.905]]
    """
    raise NotImplementedError


@quantity(
    pages.forward_second_derivatives,
    *_MATRICES,
    solves=True,
    refuses=_refuse_constraints,
)
def forward_second_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    weights: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    sparse: bool = False,
    out: _Four | None = None,
    backend: Backend | None = None,
) -> _Four:
    """Return the second derivatives (qq, qv, vv, qtau) of weights . `forward_dynamics`.

    They are along the motion subspaces (the tangent space), as in `second_derivatives`.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        weights: a weight for each acceleration, shape (..., nv).
        sparse: leave out numbers that are zero for every state, as in
            `inverse_dynamics_derivatives`.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: four arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Four arrays of shape (..., nv, nv); the first letter is the row.  States where a joint has
        no inertia behind it give NaN and one SingularPivotWarning.

    Raises:
        SingularModelError: if some joint has no inertia behind it at every configuration.
        NotApplicableError: for a model with constraints; `sixfold.compile` has their derivatives.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> pendulum = sf.load("pendulum")  # a = (tau - 4.905 sin(q)) / 0.27
        >>> second = sf.forward_second_derivatives(pendulum, [np.pi / 2], [0.0], [0.0], [1.0])
        >>> print(second[0].round(3))
        [[18.167]]
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "forward_dynamics_derivatives",
        "forward_second_derivatives",
        "inverse_dynamics_derivatives",
        "second_derivatives",
    ]
