"""Regressors: dynamics is linear in the ten inertial parameters of each body.

tau = Y(q, qd, qdd) pi (Atkeson, An and Hollerbach, Estimation of Inertial Parameters of Manipulator
Loads and Links, 1986), with pi = (m, h, Ixx, Iyy, Izz, Ixy, Ixz, Iyz) of each body, h = m c and I
about its origin.  Equals `book.regressor.regressor`.  Instead of passing ten wrenches of each body
to the base, the columns of the joints are carried out to the bodies, and the motion is that of the
joint points as in `fast.inverse_dynamics`: panda takes 1520 operations.
"""

from __future__ import annotations

from sixfold.dynamics.fast.inverse_dynamics import body_forces
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import Matrix3, Motion, Transform, Vector3

Matrix = list[list[Scalar]]


def regressor(tree: Tree, q: Table, qd: Table, qdd: Table) -> Matrix:
    """Return Y, a row for each DOF and ten columns for each body, gravity included.

    The power of a body's forces in a motion (s; u) of its frame, parameter by parameter.
    """
    Xup, S, _, _, w, wd, vd, W = body_forces(tree.massless(), q, qd, qdd, no_forces(tree))
    Y: Matrix = [[ZERO] * (10 * len(tree.bodies)) for _ in range(tree.nv)]
    at, J = tree.velocity_slices, tree.table({})

    for i in tree.bodies:
        J[i] = {k: Xup[i] @ column for k, column in J[tree.parent[i]].items()}
        J[i] |= dict(enumerate(S[i].columns, at[i].start))
        by_I = euler_columns(w[i], wd[i], W[i])
        for k, (s, u) in J[i].items():
            by_h = W[i].T @ u + vd[i].cross(s)
            ten = u.dot(vd[i]), *by_h, *(s.dot(x) for x in by_I)
            Y[k][10 * (i - 1) : 10 * i] = ten

    return Y


def euler_columns(w: Vector3, wd: Vector3, W: Matrix3) -> tuple[Vector3, ...]:
    """Return the moment I wd + w x I w for a unit of Ixx, Iyy, Izz, Ixy, Ixz and Iyz."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    a, b, c = W
    return (
        Vector3(wd.x, xz, -xy),
        Vector3(-yz, wd.y, xy),
        Vector3(yz, -xz, wd.z),
        Vector3(-c.x, c.y, xx - yy),
        Vector3(b.x, zz - xx, -b.z),
        Vector3(yy - zz, -a.y, a.z),
    )


def energy_regressor(tree: Tree, q: Table, qd: Table) -> tuple[list[Scalar], list[Scalar]]:
    """Return the rows of T and V: kinetic and potential energy of unit parameters.

    V is zero with all mass at the world's origin, as in `energy.potential_energy`.
    """
    X0, v = tree.table(Transform.identity()), tree.table(Motion.zero())
    T: list[Scalar] = []
    V: list[Scalar] = []

    for i in tree.bodies:
        p = tree.parent[i]
        XJ, _, vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup = XJ @ tree.Xtree[i]
        X0[i] = E, r = Xup @ X0[p]
        v[i] = w, lin = Xup @ v[p] + vJ
        (x, y, z), g = w, tree.gravity.lin
        squares = x * x * 0.5, y * y * 0.5, z * z * 0.5, x * y, x * z, y * z
        T += [lin.dot(lin) * 0.5, *lin.cross(w), *squares]
        V += [-g.dot(r), *(-(E @ g)), *[ZERO] * 6]

    return T, V
