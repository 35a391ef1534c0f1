"""Models with constraints in addition to the joints of their tree: loops, rods, gears, rolling.

Derivatives of constrained forward dynamics take one solve of the saddle-point system a column.
Along x, with a and lam constant where a formula is differentiated,

    M da - J^T dlam = -d ID/dx + (dJ/dx)^T lam,     J da = -(dJ/dx a + dgamma/dx),

where ID is the inverse dynamics of the tree at a.  Its derivatives are those of the tree; rows of
constraints are differentiated as numbers with a rate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame
from sixfold.dynamics.kinematics import no_forces
from sixfold.dynamics.passive import passive_forces
from sixfold.errors import NotApplicableError
from sixfold.model import Model
from sixfold.quantities.configurations import integrate, position_rate
from sixfold.quantities.dynamics import bias_force, external_forces, factor_mass_matrix
from sixfold.quantities.kinematics import six
from sixfold.runtime.lazy_import import LazyModule
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import InertiaOptions, Numbers, Options
from sixfold.scalar import ZERO, Scalar, differentiate, dot
from sixfold.spatial import Column, Force

constrained = LazyModule("sixfold.dynamics.constrained.rows")
delassus = LazyModule("sixfold.dynamics.constrained.solve")
sweep = LazyModule("sixfold.dynamics.fast.inverse_dynamics")
trunk = LazyModule("sixfold.dynamics.fast.factor")

PROJECTION_STEPS = 2  #: Gauss-Newton steps that close gaps; each about squares a small one.
Matrix = list[list[Scalar]]


def _refuse_trees(function: str, model: Model, _: Mapping[str, Any]) -> None:
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints but its joints"
        fix = "close loops with ModelBuilder.close, or take the function for trees"
        raise NotApplicableError(function, where, fix)


@quantity("nv", "nc", joint_space=True, solves=True, refuses=_refuse_trees)
def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    **options: Unpack[InertiaOptions[tuple[Array, Array]]],
) -> tuple[Array, Array]:
    """Return accelerations and constraint forces (a, forces) of a model with constraints.

    M a + C = tau + J^T forces with J a + gamma = 0.  `forward_dynamics` returns the same
    accelerations.

    Args:
        model: a robot with loops, rods, gears or rolling wheels (`model.constraints`).
        q: configuration [rad or m], shape (..., nq); gaps that it leaves open are not closed
            (see `assemble` and `project`).

    Returns:
        Accelerations [rad/s^2 or m/s^2], shape (..., nv), and the force of each row, shape
        (..., nc), in the order of `model.constraint_rows`: forces and moments [N or N m] that act
        on body B of a constraint, along its rows.  Redundant rows share their
        force: it is the one of least norm.

    Raises:
        NotApplicableError: if the model has no constraints.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: Delassus matrix of the sparse factor (Featherstone, RBDA, chapter 8) with proximal
    steps (Carpentier, Budhiraja, Mansard, RSS 2021).

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> a, forces = sf.loops.constrained_dynamics(model, [0.6, 0.8], [0, 0], [0, 0])
        >>> print(a.round(3), forces.round(3))  # the rod is pressed
        [ 4.709 -3.532] [7.848]
    """
    found = solve(model, q, v, tau, f_ext, f_ext_frame)
    return found.a, found.lam


@quantity("nc", refuses=_refuse_trees)
def constraint_gaps(model: Model, q: ArrayLike, **options: Unpack[Options[Array]]) -> Array:
    """Return the gap of each constraint row [m or rad], shape (..., nc); zero where it holds.

    Rows are named by `model.constraint_rows`.  Those of a loop are along the constraint forces of
    its joint, in the closing frame on body B; of turns it is 2 tan(angle / 2).

    Args:
        model: a robot with constraints.

    Returns:
        Gaps [m or rad], shape (..., nc), in the order of `model.constraint_rows`.

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> print(sf.loops.constraint_gaps(model, [[0.6, 0.8], [0.6, 0.9]]).round(3))
        [[0.   ]
         [0.082]]
    """
    return [row.gap for row in rows_of(model, q, None)]


@quantity("nc nv", refuses=_refuse_trees)
def constraint_jacobian(model: Model, q: ArrayLike, **options: Unpack[Options[Array]]) -> Array:
    """Return J, shape (..., nc, nv): constraints hold J v = 0.

    Args:
        model: a robot with constraints.

    Returns:
        J, shape (..., nc, nv): row k times v is how fast row k opens or slips
        [m/s or rad/s].

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> print(sf.loops.constraint_jacobian(model, [0.6, 0.8]).round(3))
        [[0.6 0.8]]
    """
    return [row.J for row in rows_of(model, q, None)]


@quantity("nc", refuses=_refuse_trees)
def constraint_bias(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[Options[Array]]
) -> Array:
    """Return gamma, shape (..., nc): constraints hold J a + gamma = 0, gamma = (dJ/dt) v.

    Args:
        model: a robot with constraints.

    Returns:
        Gamma [m/s^2 or rad/s^2], shape (..., nc).

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> q, v = [0.6, 0.8], [0.8, -0.6]  # J v = 0
        >>> print(sf.loops.constraint_bias(model, q, v).round(3))  # the rod turns with 1 rad/s
        [1.]
    """
    return [row.gamma for row in rows_of(model, q, v)]


@quantity("nb 6", refuses=_refuse_trees)
def constraint_wrenches(
    model: Model, q: ArrayLike, forces: ArrayLike, **options: Unpack[Options[Array]]
) -> Array:
    """Return what constraint forces do to each body (n; f), shape (..., nb, 6).

    They are in world axes about the world origin, as `f_ext` is: with them as external forces the
    tree moves as the constrained model does, and `joint_reaction_forces` gives the reactions in all
    of its joints.  A gear works on joints, by its row of `constraint_jacobian`, and does nothing
    here.

    Args:
        model: a robot with constraints.
        forces: of each row [N or N m], shape (..., nc), as `constrained_dynamics` returns them.

    Returns:
        Wrenches (n; f) [N m; N], shape (..., nb, 6), in world axes about the world origin.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> q, v, tau = [0.6, 0.8], [0, 0], [0, 0]
        >>> a, forces = sf.loops.constrained_dynamics(model, q, v, tau)
        >>> f_ext = sf.loops.constraint_wrenches(model, q, forces)
        >>> tree = model.without(constraints=True)
        >>> np.allclose(sf.forward_dynamics(tree, q, v, tau, f_ext), a)
        True
    """
    tree = model.tree
    table = constrained.wrenches(tree, model.constraints, model.positions(q), forces)
    return tree.rows(lambda i: six(table[i]))


@quantity("nq", "nv", joint_space=True, solves=True, refuses=_refuse_trees)
def project(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[InertiaOptions[tuple[Array, Array]]]
) -> tuple[Array, Array]:
    """Return the nearest state (q, v) that satisfies the constraints.

    For states that are nearly right: two Gauss-Newton steps close the gaps, and velocities lose
    what would open them, both by the metric of the mass matrix.  Use `assemble` from afar.

    Args:
        model: a robot with constraints.

    Returns:
        Configurations [rad or m], shape (..., nq), and velocities [rad/s or m/s], shape (..., nv).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> q, v = sf.loops.project(model, [0.6, 0.81], [1.0, 0.0])
        >>> J = sf.loops.constraint_jacobian(model, q)
        >>> np.allclose(sf.loops.constraint_gaps(model, q), 0), np.allclose(J @ v, 0)
        (True, True)
    """
    # Gauss-Newton steps close the gaps
    x = list(q)
    for _ in range(PROJECTION_STEPS):
        rows = rows_of(model, x, None)
        dq = _least_motion(model, x, [row.J for row in rows], [-row.gap for row in rows])
        x = integrate(model, x, dq)
    # v - M^-1 J^T G^-1 J v
    J = [row.J for row in rows_of(model, x, None)]
    dv = _least_motion(model, x, J, [-dot(row, v) for row in J])
    return x, [a + b for a, b in zip(v, dv, strict=True)]


# -- rows, and forward dynamics with them


def rows_of(model: Any, q: Numbers, v: Numbers | None) -> list[Any]:
    """Return all rows over the model's own coordinates."""
    # rows over the joints of the tree, before couplings
    x, xd = model.positions(q), None if v is None else model.velocities(v)
    found: list[Any] = constrained.rows(model.tree, model.constraints, x, xd)
    if not model.couplings:
        return found
    # J T in the coordinates of the leading joints
    tree = model.tree
    at = tree.velocity_slices
    return [row._replace(J=model.gather({i: row.J[at[i]] for i in tree.bodies})) for row in found]


class Solution(NamedTuple):
    """Constrained forward dynamics, with what its derivatives use again."""

    M: Any  #: Factor of the mass matrix.
    G: Any  #: Delassus matrix.
    a: list[Scalar]
    lam: list[Scalar]  #: Force of each row.


def solve(
    model: Any,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None,
    frame: str,
    stabilization: Scalar | None = None,
    whole: bool = False,
) -> Solution:
    """Return accelerations and forces: M a + C = tau + J^T lam with J a + gamma = 0.

    With `whole` the factor is that of all degrees of freedom; else that of the bodies which the
    constraints load.  With `stabilization` = alpha, rows obey g'' + 2 alpha g' + alpha^2 g = 0
    (Baumgarte).
    """
    # the trunk keeps the bodies that constraint forces act on
    loaded = model.tree.bodies if whole else constrained.loaded_bodies(model.constraints)
    # the motion without constraint forces
    motion = free_motion(model, q, v, tau, f_ext, frame, loaded)
    M, z = motion.factor, motion.z
    # G lam = -(gamma + J a_free) with G = J M^-1 J^T
    rows = rows_of(model, q, v)
    G = delassus.Delassus(M, [row.J for row in rows])
    b = [-(row.gamma + x) for row, x in zip(rows, G.along(z), strict=True)]
    # Baumgarte: gap'' + 2 alpha gap' + alpha^2 gap = 0
    if stabilization is not None:
        alpha = stabilization
        for k, row in enumerate(rows):
            b[k] = b[k] - alpha * (2.0 * dot(row.J, v) + alpha * row.gap)
    # a = M^-1 (tau - C + J^T lam)
    lam = G.solve(b)
    return Solution(M, G, motion.outward(G.with_forces(z, lam)), lam)


def _least_motion(
    model: Any, q: Numbers, J: Sequence[list[Scalar]], b: Sequence[Scalar]
) -> list[Scalar]:
    """Return M^-1 J^T G^-1 b: the least motion with J x = b, by the metric of the mass matrix."""
    motion = motion_at_rest(model, q, constrained.loaded_bodies(model.constraints))
    G = delassus.Delassus(motion.factor, J)
    found: list[Scalar] = motion.outward(G.with_forces(motion.z, G.solve(b)))
    return found


# -- motion without constraints and contacts, as solves with their rows take it


def free_motion(
    model: Any,
    q: Numbers,
    v: Numbers,
    tau: Numbers,
    f_ext: Numbers | None,
    frame: str,
    loaded: Collection[int],
) -> Any:
    """Return how a model moves by itself, for rows that act on the bodies `loaded`.

    Under couplings the whole matrix is factorised.
    """
    if model.couplings:
        # couplings make the matrix dense: factor it as a whole
        M = factor_mass_matrix(model, q)
        C = bias_force(model, q, v, f_ext, f_ext_frame=frame)
        return trunk.FreeMotion(M, M.half(Column(tau) - Column(C)))
    # in the coordinates of the tree, without couplings
    tree = model.tree
    x, xd = model.positions(q), model.velocities(v)
    # bias forces at zero acceleration, by one sweep over the bodies
    forces = external_forces(model, x, f_ext, frame)
    # motors work against damping, friction and springs
    passive = passive_forces(tree, x, xd)
    net = {i: t - passive[i] for i, t in model.velocities(tau).items()}
    Xup, S, pA, *_ = sweep.body_forces(tree, x, xd, tree.zero_velocities(), forces)
    # articulated bodies up to the loaded ones
    return trunk.eliminate(tree, Xup, S, pA, net, loaded).motion()


def motion_at_rest(model: Any, q: Numbers, loaded: Collection[int]) -> Any:
    """Return the motion of a model without velocity, gravity and forces."""
    if model.couplings:
        return trunk.FreeMotion(factor_mass_matrix(model, q), [ZERO] * model.nv)
    tree = model.tree
    x, none = model.positions(q), tree.zero_velocities()
    # placements and motion subspaces alone: nothing moves and no force acts
    Xup, S = tree.table(), tree.table()
    for i in tree.bodies:
        XJ, S[i], _, _ = tree.joint[i].calc(x[i], none[i])
        Xup[i] = XJ @ tree.Xtree[i]
    nothing = {0: Force.zero(), **no_forces(tree)}
    return trunk.eliminate(tree, Xup, S, nothing, none, loaded).motion()


def constrained_derivatives(
    model: Any, q: Numbers, v: Numbers, at: Solution, Q: Matrix, V: Matrix
) -> list[Scalar]:
    """Return da/dq, da/dv and da/dtau, row by row.

    Args:
        model: the model.
        q: positions.
        v: velocities.
        at: the dynamics there.
        Q: derivative of the tree's inverse dynamics at those accelerations with respect to q.
        V: with respect to v.
    """
    n = model.nv
    M, G, a, lam = at

    # J^T lam with lam fixed, and J a + gamma with a fixed
    def pulls(q: Numbers, v: Numbers) -> list[Scalar]:
        """Return J^T lam and J a + gamma."""
        rows = rows_of(model, q, v)
        forces = [dot([row.J[k] for row in rows], lam) for k in range(n)]
        return [*forces, *(dot(row.J, a) + row.gamma for row in rows)]

    # M da - J^T dlam = b with J da = -c
    def column(b: Sequence[Scalar], c: Sequence[Scalar]) -> list[Scalar]:
        """Return da of M da - J^T dlam = b, J da = -c."""
        z = M.half(b)
        dlam = G.solve([-(x + y) for x, y in zip(c, G.along(z), strict=True)])
        return M.outward(G.with_forces(z, dlam))

    # one column for each direction of the tangent space
    by_q, by_v, by_tau = [], [], []
    for t in range(n):
        e: list[Scalar] = [1.0 if k == t else ZERO for k in range(n)]
        _, rates = differentiate(lambda x: pulls(x, v), q, position_rate(model, q, e))
        by_q.append(column([x - row[t] for x, row in zip(rates, Q, strict=False)], rates[n:]))
        _, rates = differentiate(lambda x: pulls(q, x), v, e)
        by_v.append(column([-row[t] for row in V], rates[n:]))
        by_tau.append(column(e, [ZERO] * model.nc))
    return [x for each in (by_q, by_v, by_tau) for row in zip(*each, strict=True) for x in row]
