"""Lagrange's explicit form M qdd + V + G = tau, from energies alone (Khatib).

M comes from the kinetic energy through body Jacobians, G from the potential energy, V from
Christoffel symbols, all derivatives by dual numbers.  Velocities of spherical and free joints are
quasi-velocities: derivatives then run along the joint's own directions and the symbols gain the
brackets of those directions (Koszul's formula); where qd = dq/dt they are Christoffel's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sixfold.dynamics.energy import potential_energy
from sixfold.dynamics.kinematics import jacobian
from sixfold.errors import NotApplicableError
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column

Matrix = list[list[Scalar]]


def mass_matrix(tree: Tree, q: Table) -> Matrix:
    """Return M = sum over bodies of J^T I J, and the rotors on the diagonal."""
    at = tree.velocity_slices
    M: Matrix = [[ZERO] * tree.nv for _ in range(tree.nv)]
    for i in tree.bodies:
        J = jacobian(tree, q, i)
        columns = [(at[j].start + k, column) for j in J for k, column in enumerate(J[j].columns)]
        for r, left in columns:
            momentum = tree.inertia[i] @ left
            for c, right in columns:
                if c <= r:
                    M[r][c] = M[r][c] + momentum.dot(right)
        for k, rotor in enumerate(tree.armature[i], at[i].start):
            M[k][k] = M[k][k] + rotor
    return [[M[max(r, c)][min(r, c)] for c in range(tree.nv)] for r in range(tree.nv)]


def along(
    tree: Tree, function: Callable[[Table], Sequence[Scalar]], q: Table, body: int, k: int
) -> tuple[Scalar, ...]:
    """Return the rate of a function of q as joint `body` moves with unit velocity k."""
    unit = Column(1.0 if m == k else ZERO for m in range(tree.joint[body].nv))
    dq = tree.joint[body].rate(q[body], unit)
    _, rates = differentiate(lambda at: function({**q, body: Column(at)}), q[body], dq)
    return rates


def gravity_force(tree: Tree, q: Table) -> list[Scalar]:
    """Return G, the gradient of the potential energy (gravity and springs)."""
    return [
        along(tree, lambda at: (potential_energy(tree, at),), q, i, k)[0]
        for i in tree.bodies
        for k in range(tree.joint[i].nv)
    ]


def mass_matrix_rates(tree: Tree, q: Table) -> list[Matrix]:
    """Return dM/dq_k for every freedom k."""

    def flat(at: Table) -> list[Scalar]:
        return [x for row in mass_matrix(tree, at) for x in row]

    n = tree.nv
    rates = [along(tree, flat, q, i, k) for i in tree.bodies for k in range(tree.joint[i].nv)]
    return [[list(rate[r * n : (r + 1) * n]) for r in range(n)] for rate in rates]


def brackets(tree: Tree) -> dict[tuple[int, int], dict[int, Scalar]]:
    """Return [X_i, X_j] of the velocity directions as combinations of directions; mostly empty."""
    table: dict[tuple[int, int], dict[int, Scalar]] = {}
    for b in tree.bodies:
        joint, start = tree.joint[b], tree.velocity_slices[b].start
        units = [tuple(1.0 if m == k else ZERO for m in range(joint.nv)) for k in range(joint.nv)]
        for i, left in enumerate(units):
            for j, right in enumerate(units):
                parts = joint.bracket(left, right)
                table[start + i, start + j] = {start + k: x for k, x in enumerate(parts) if x != 0}
    return table


def christoffel(tree: Tree, q: Table) -> list[Matrix]:
    """Return the symbols c[k][i][j] of the first kind, with V_k = sum c[k][i][j] qd_i qd_j.

    2 c_kij = d_i M_jk + d_j M_ik - d_k M_ij + <[i,j],k> - <[i,k],j> - <[j,k],i>, the products <,>
    without the rotors: their inertia resists qdd alone and makes no gyroscopic force, as in RNEA.
    """
    bare = replace(tree, armature=tuple(Column.zero(len(rotors)) for rotors in tree.armature))
    M, dM, bracket = mass_matrix(bare, q), mass_matrix_rates(tree, q), brackets(tree)
    n = range(tree.nv)

    def inner(a: int, b: int, c: int) -> Scalar:
        total: Scalar = ZERO
        for k, x in bracket.get((a, b), {}).items():
            total = total + M[k][c] * x
        return total

    def symbol(k: int, i: int, j: int) -> Scalar:
        holonomic = dM[i][j][k] + dM[j][i][k] - dM[k][i][j]
        return (holonomic + inner(i, j, k) - inner(i, k, j) - inner(j, k, i)) * 0.5

    return [[[symbol(k, i, j) for j in n] for i in n] for k in n]


def coriolis_matrix(tree: Tree, q: Table, qd: Table) -> Matrix:
    """Return C with V = C qd and dM/dt - 2 C skew."""
    v = [x for i in tree.bodies for x in qd[i]]
    symbols = christoffel(tree, q)
    return [
        [_sum(plane[i][j] * v[i] for i in range(tree.nv)) for j in range(tree.nv)]
        for plane in symbols
    ]


def velocity_force(tree: Tree, q: Table, qd: Table) -> list[Scalar]:
    """Return V, the centrifugal and Coriolis forces."""
    v = [x for i in tree.bodies for x in qd[i]]
    return [
        _sum(x * y for x, y in zip(row, v, strict=True)) for row in coriolis_matrix(tree, q, qd)
    ]


def craig_split(tree: Tree, q: Table) -> tuple[Matrix, Matrix]:
    """Return Craig's B(q) and C(q): V = B [qd_i qd_j, i < j] + C [qd_i^2].

    B has one column for each pair (0,1), (0,2), ..., (1,2), ....
    """
    for i in tree.bodies:
        if not tree.joint[i].velocity_is_rate:
            raise NotApplicableError(
                "the split of V into B(q)[qd qd] and C(q)[qd^2]",
                f"the {tree.joint[i].kind} joint of body {i}",
                "its velocities are not rates of coordinates; use coriolis_matrix",
            )
    symbols, n = christoffel(tree, q), range(tree.nv)
    B = [[plane[i][j] + plane[j][i] for i in n for j in n if i < j] for plane in symbols]
    return B, [[plane[i][i] for i in n] for plane in symbols]


def lagrange(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> list[Scalar]:
    """Joint forces M qdd + V + G - sum of J^T f_ext that produce qdd, springs included in G."""
    acc = [x for i in tree.bodies for x in qdd[i]]
    V, G, M = velocity_force(tree, q, qd), gravity_force(tree, q), mass_matrix(tree, q)
    tau = [
        _sum(m * a for m, a in zip(row, acc, strict=True)) + v + g
        for row, v, g in zip(M, V, G, strict=True)
    ]
    for i in tree.bodies:
        for j, columns in jacobian(tree, q, i).items():
            for k, work in enumerate(columns.T @ f_ext[i], tree.velocity_slices[j].start):
                tau[k] = tau[k] - work
    return tau


def _sum(terms: object) -> Scalar:
    total: Scalar = ZERO
    for term in terms:  # type: ignore[attr-defined]
        total = total + term
    return total
