"""Derivatives of motions, moves on the manifold, momenta and energies.

All derivatives with respect to q are along the motion subspaces (the tangent space), nv columns:
column t is the rate when q moves with unit velocity v_t, also for spherical and free joints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import MotionFrame
from sixfold.dynamics.kinematics import transforms
from sixfold.dynamics.passive import passive_forces
from sixfold.model import Model
from sixfold.model.tree import Table
from sixfold.quantities.dynamics import gravity_force
from sixfold.quantities.kinematics import at_point, body_and_placement, express, six, transform_to
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import FRAMES, InertiaOptions, Numbers, Options, refuse_idle_point
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column, Force, Motion, Transform

algorithms = LazyModule("sixfold.dynamics.derivatives.kinematics")
joints = LazyModule("sixfold.dynamics.derivatives.joints")
momenta = LazyModule("sixfold.dynamics.derivatives.kinematics")

Matrix = list[list[Scalar]]
_Two = tuple[Array, Array]


@quantity("6 nv nv", refuses=refuse_idle_point)
def jacobian_derivatives(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: MotionFrame | str = "aligned",
    **options: Unpack[Options[Array]],
) -> Array:
    """Return the derivatives of `jacobian` by q (the kinematic Hessian), shape (..., 6, nv, nv).

    H[:, j, k] is d J[:, j] / dq_k, along the motion subspaces (the tangent space).  So dJ/dt is
    H v, summed over k.

    Args:
        frame: "aligned" (world axes, the point), "body" (axes of the frame, the point), "world"
            (axes and origin of the world), or the name of another body or frame, as in `jacobian`.

    Returns:
        H, shape (..., 6, nv, nv), rows in the axes and at the point of `jacobian`: angular, then
        linear.

    Raises:
        NotApplicableError: for a point with frame="world" or the name of a body or frame.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> H = sf.derivatives.jacobian_derivatives(arm, q, "link6")
        >>> np.allclose(H @ v @ v, sf.jacobian_bias(arm, q, v, "link6"))
        True
    """
    body, placement = body_and_placement(model, name)
    placement, x = at_point(point, placement), model.positions(q)
    # H[j, k] is the derivative of column j along dof k
    _, H, express_here = _jacobian_and_rates(model, x, body, placement, frame)
    shown = {at: six(express_here(m)) for at, m in H.items()}
    # row by row: d J[r, j] / dq_k, reduced by couplings
    dofs = range(model.tree.nv)
    rows = []
    for r in range(6):
        full = [[shown[j, k][r] if (j, k) in shown else ZERO for k in dofs] for j in dofs]
        if model.couplings:
            full = model.coordinates.reduce(full, model.tree.velocity_slices)
        rows.append(full)
    return rows


@quantity("6 nv", "6 nv")
def frame_velocity_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    *,
    frame: MotionFrame | str = "aligned",
    **options: Unpack[Options[_Two]],
) -> _Two:
    """Return the derivatives (dq, dv) of `frame_velocity`, each of shape (..., 6, nv).

    dq is along the motion subspaces (the tangent space); dv is the Jacobian.

    Args:
        frame: "aligned", "body", "world" or a name, as in `frame_velocity`.

    Returns:
        Two arrays of shape (..., 6, nv): rows are (omega; v) in the axes chosen, column j is d/dq_j
        and d/dv_j.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> dq, dv = sf.derivatives.frame_velocity_derivatives(arm, q, v, "link6")
        >>> np.allclose(dv, sf.jacobian(arm, q, "link6"))
        True
        >>> np.allclose(dq @ v, sf.jacobian_bias(arm, q, v, "link6"))
        True
    """
    tree = model.tree
    body, placement = body_and_placement(model, name)
    x, xd = model.positions(q), model.velocities(v)
    J, H, express_here = _jacobian_and_rates(model, x, body, placement, frame)
    # d(J v)/dq_k = sum over j of dJ_j/dq_k v_j
    rates = [n for i in tree.bodies for n in xd[i]]
    by_q: dict[int, Motion] = {}
    for k in dict.fromkeys(along for _, along in H):
        total = Motion.zero()
        for j in J:
            total = total + H[j, k] * rates[j]
        by_q[k] = total
    # row by row; d(J v)/dv is J itself
    result: list[Scalar] = []
    for columns in (by_q, J):
        shown = {k: six(express_here(m)) for k, m in columns.items()}
        for r in range(6):
            result += _gather(model, [shown[k][r] if k in shown else ZERO for k in range(tree.nv)])
    return result


@quantity("nv nv", "nv nv")
def integrate_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    dt: ArrayLike | None = None,
    **options: Unpack[Options[_Two]],
) -> _Two:
    """Return the derivatives (dq, dv) of `integrate`, each of shape (..., nv, nv).

    Positions are measured in the tangent space: dq takes an increment at q to one at the position
    reached, dv a change of the velocity.  Both are unit matrices (times dt) but for the blocks of
    spherical and free joints.

    Returns:
        Two arrays of shape (..., nv, nv): rows are increments at the position reached, columns
        those of q and of v.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> q, v = sf.random_state(ship, seed=1)
        >>> dq, dv = sf.derivatives.integrate_derivatives(ship, q, v, 0.01)
        >>> dv.shape, np.allclose(dv @ v, 0.01 * v)  # more speed along v leads further along v
        ((7, 7), True)
    """
    scale: Any = 1.0 if dt is None else dt

    def move(joint: Any, x: Numbers, xd: Numbers) -> Any:
        return joint.step(x, [speed * scale for speed in xd])

    # each joint alone: the blocks of different joints are zero
    def rows(joint: Any, x: Numbers, xd: Numbers) -> tuple[Matrix, Matrix]:
        end = move(joint, x, xd)
        # unit velocities as rates of the coordinates
        along = [joint.rate(x, unit) for unit in joints.units(joint.nv)]
        by_q = [_rate(lambda y: joint.difference(end, move(joint, y, xd)), x, d) for d in along]
        by_v = [
            _rate(lambda y: joint.difference(end, move(joint, x, y)), xd, unit)
            for unit in joints.units(joint.nv)
        ]
        return by_q, by_v

    return _blocks(model, [rows(f.joint, q[f.q], v[f.v]) for f in model.coordinates.free])


@quantity("nv nv", "nv nv")
def difference_derivatives(
    model: Model, q0: ArrayLike, q1: ArrayLike, **options: Unpack[Options[_Two]]
) -> _Two:
    """Return the derivatives (dq0, dq1) of `difference`, each of shape (..., nv, nv).

    Increments of q0 and q1 are along the motion subspaces (the tangent space).  The derivative
    does not exist half a turn apart, where the difference of two rotations jumps.

    Returns:
        Two arrays of shape (..., nv, nv): rows are those of the difference, columns increments of
        q0 and of q1.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> (q0, q1), _ = sf.random_state(ship, 2, seed=1)
        >>> dq0, dq1 = sf.derivatives.difference_derivatives(ship, q0, q1)
        >>> _, dv = sf.derivatives.integrate_derivatives(ship, q0, sf.difference(ship, q0, q1))
        >>> np.allclose(dq1 @ dv, np.eye(7))
        True
    """

    # dual numbers along q0, then along q1
    def rows(joint: Any, x: Numbers, y: Numbers) -> tuple[Matrix, Matrix]:
        ones = joints.units(joint.nv)
        return (
            [_rate(lambda z: joint.difference(z, y), x, joint.rate(x, unit)) for unit in ones],
            [_rate(lambda z: joint.difference(x, z), y, joint.rate(y, unit)) for unit in ones],
        )

    return _blocks(model, [rows(f.joint, q0[f.q], q1[f.q]) for f in model.coordinates.free])


@quantity("3 nv", needs_mass=True)
def center_of_mass_jacobian(
    model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return the derivative of `center_of_mass` with respect to q, shape (..., 3, nv).

    It is along the motion subspaces (the tangent space).  Times v it is the velocity of the centre
    of mass in world axes.

    Returns:
        Array of shape (..., 3, nv), world axes [m per rad, or no unit].

    Example:
        >>> import numpy as np, sixfold as sf
        >>> cart = sf.load("cart_pendulum")  # 2 kg and 0.5 kg
        >>> q, v = sf.random_state(cart, seed=1)
        >>> J = sf.center_of_mass_jacobian(cart, q)
        >>> np.allclose(2.5 * J @ v, sf.momentum(cart, q, v)[3:])
        True
    """
    columns = _momenta(model, q, None).center
    return [_gather(model, [c[r] for c in columns]) for r in range(3)]


@quantity("6 nv", needs_mass=True)
def centroidal_momentum_matrix(
    model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return A with A v = `centroidal_momentum(model, q, v)`, shape (..., 6, nv).

    Returns:
        Array of shape (..., 6, nv), world axes: three rows of moments about the centre of mass,
        then three of linear momentum.

    Reference: Orin, Goswami, Lee, Centroidal dynamics of a humanoid robot, 2013.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> q, v = sf.random_state(ship, seed=1)
        >>> A = sf.centroidal_momentum_matrix(ship, q)
        >>> np.allclose(A @ v, sf.centroidal_momentum(ship, q, v))
        True
    """
    return _matrix(model, _momenta(model, q, None).by_v)


@quantity("6", needs_mass=True)
def centroidal_momentum_bias(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return (dA/dt) v, shape (..., 6): the rate of `centroidal_momentum` is A a + (dA/dt) v.

    Returns:
        Rates (n; f) [N m; N], shape (..., 6), world axes, about the centre of mass.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")  # 2.5 kg, nothing holds it
        >>> q, v = sf.random_state(ship, seed=1)
        >>> a = sf.forward_dynamics(ship, q, v, np.zeros(7))
        >>> A = sf.centroidal_momentum_matrix(ship, q)
        >>> rate = A @ a + sf.centroidal_momentum_bias(ship, q, v)
        >>> np.allclose(rate, (0, 0, 0, 0, 0, -2.5 * 9.81))  # gravity alone
        True
    """
    return momenta.centroidal_bias(model.tree, model.positions(q), model.velocities(v))


@quantity("6 nv", "6 nv", needs_mass=True)
def centroidal_momentum_derivatives(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[_Two]]
) -> _Two:
    """Return the derivatives (dq, dv) of `centroidal_momentum`, each of shape (..., 6, nv).

    dq is along the motion subspaces (the tangent space); dv is the centroidal momentum matrix.

    Returns:
        Two arrays of shape (..., 6, nv), world axes: rows as in `centroidal_momentum`, column j is
        d/dq_j and d/dv_j.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> q, v = sf.random_state(ship, seed=1)
        >>> dq, dv = sf.derivatives.centroidal_momentum_derivatives(ship, q, v)
        >>> np.allclose(dv, sf.centroidal_momentum_matrix(ship, q))
        True
        >>> np.allclose(dq @ v, sf.centroidal_momentum_bias(ship, q, v))
        True
    """
    found = _momenta(model, q, v)
    return _matrix(model, found.by_q), _matrix(model, found.by_v)


@quantity("nv", "nv", joint_space=True)
def kinetic_energy_derivatives(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[_Two]]
) -> _Two:
    """Return the derivatives (dq, dv) of `kinetic_energy`, each of shape (..., nv).

    dq is along the motion subspaces (the tangent space); dv is M v.

    Returns:
        Two arrays of shape (..., nv): dq [J/rad or J/m] and dv [J s/rad or J s/m].

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> dq, dv = sf.derivatives.kinetic_energy_derivatives(arm, q, v)
        >>> np.allclose(dv, sf.mass_matrix(arm, q) @ v)
        True
    """
    x, xd = model.positions(q), model.velocities(v)
    by_q, by_v = momenta.energy_derivatives(model.tree, x, xd)
    return _gather(model, by_q), _gather(model, by_v)


@quantity("nv", joint_space=True)
def potential_energy_derivatives(
    model: Model, q: ArrayLike, **options: Unpack[InertiaOptions[Array]]
) -> Array:
    """Return the derivative of `potential_energy` with respect to q, shape (..., nv).

    It is along the motion subspaces (the tangent space): the joint force that holds the model
    still against gravity and springs.

    Returns:
        Joint forces [N m or N], shape (..., nv).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")  # without springs
        >>> q, _ = sf.random_state(arm, seed=1)
        >>> slope = sf.derivatives.potential_energy_derivatives(arm, q)
        >>> np.allclose(slope, sf.gravity_force(arm, q))
        True
    """
    tree = model.tree
    springs = model.gather(passive_forces(tree, model.positions(q), tree.zero_velocities()))
    return Column(gravity_force(model, q)) + springs


# -- Jacobians and their rates

#: What moving along a column of the Jacobian does to the axes and the point of a frame.
_RATES: dict[str, Callable[[Motion, Motion], Motion] | None] = {
    "body": None,
    "aligned": lambda along, m: Motion(along.ang.cross(m.ang), along.ang.cross(m.lin)),
    "world": lambda along, m: along.cross(m),
}


def _jacobian_and_rates(
    model: Model, q: Table, body: int, placement: Transform, frame: str
) -> tuple[dict[int, Motion], Any, Callable[[Motion], Motion]]:
    """Return the columns of a Jacobian, their derivatives, and how to express both."""
    tree = model.tree
    if frame not in FRAMES:
        # the axes of a named frame move themselves: their motion is subtracted
        found = algorithms.columns(tree, q, body, Transform.identity())
        other, its_placement = body_and_placement(model, frame)
        own = algorithms.columns(tree, q, other, its_placement).J
        J, H = algorithms.in_moving_frame(found, own, transform_to(model, q, frame)(body))
        return J, H, lambda m: m
    found = algorithms.columns(tree, q, body, placement)
    # how columns change depends on the axes they are written in
    H = algorithms.jacobian_derivatives(found, _RATES[frame])
    if frame == "body":
        return found.J, H, lambda m: m
    # columns in body coordinates are expressed in the world at the end
    X0 = placement @ transforms(tree, q)[1][body] if body else placement
    return found.J, H, lambda m: express(m, X0, frame)


# -- matrices over all joints


def _momenta(model: Model, q: Any, v: Any) -> Any:
    rates = model.velocities([ZERO] * model.nv if v is None else v)
    return momenta.momentum_derivatives(model.tree, model.positions(q), rates)


def _gather(model: Model, row: list[Scalar]) -> list[Scalar]:
    """Return a row over all joints, reduced by couplings."""
    tree = model.tree
    return model.gather({i: row[tree.velocity_slices[i]] for i in tree.bodies})


def _matrix(model: Model, columns: list[Force]) -> Matrix:
    """Return forces as the columns of a matrix, reduced by couplings."""
    flat = [six(f) for f in columns]
    return [_gather(model, [c[r] for c in flat]) for r in range(6)]


def _rate(function: Callable[..., Any], at: Numbers, along: Numbers) -> list[Scalar]:
    return list(differentiate(function, at, along)[1])


def _blocks(model: Model, found: list[tuple[Matrix, Matrix]]) -> tuple[Matrix, ...]:
    """Return two block-diagonal matrices from the columns of each joint's blocks."""
    result: tuple[Matrix, ...] = tuple([[ZERO] * model.nv for _ in range(model.nv)] for _ in "qv")
    # joint by joint on the diagonal
    for full, which in zip(result, (0, 1), strict=True):
        for free, blocks in zip(model.coordinates.free, found, strict=True):
            for c, column in enumerate(blocks[which], free.v.start):
                for r, x in enumerate(column, free.v.start):
                    full[r][c] = x
    return result
