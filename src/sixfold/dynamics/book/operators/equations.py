"""The equations of motion with influence operators: Concurrent Dynamics eqs. (6) to (20).

A `System` holds the blocks D, G, M and the stacks A, B, Y^T Fbar in the paper's letters.  Two
readings make one: `inertial` (the paper's own, in inertial axes about joint points) and
`body_frame` below (body coordinates, every joint type).  The equations are the same for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sixfold.dynamics.book.operators.operators import Influence, Propagation, Stack
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import (
    ArticulatedInertia,
    Column,
    Force,
    ForceSubspace,
    Motion,
    Subspace,
    ldl,
    ldl_solve,
)


@dataclass(frozen=True)
class System:
    """A tree at a state, as block diagonals and stacks."""

    tree: Tree
    D: Stack  # shift from the parent's joint to this one
    G: Stack  # joint map: 6 x n_i
    M: Stack  # joint-centred mass matrix (16)
    A: Stack  # acceleration that does not come from qdd (5a)
    B: Stack  # nonlinear force (17)
    YF: Stack  # Y^T Fbar: external forces, moved to the joint

    @property
    def Psi(self) -> Propagation:
        """Psi_D."""
        return Propagation(self.tree, self.D, "D")

    @property
    def Phi(self) -> Influence:
        """Phi_D."""
        return Influence(self.tree, self.D, "D")


def body_frame(tree: Tree, q: Table, qd: Table, f_ext: Table | None = None) -> System:
    """Return the system in body coordinates; gravity accelerates the base, so it enters A.

    f_ext[i] is the external force on body i in body coordinates; none by default.
    """
    D, G, A, B = (tree.table() for _ in range(4))
    v, lift = tree.table(Motion.zero()), tree.table(-tree.gravity)
    for i in tree.bodies:
        p, I = tree.parent[i], tree.inertia[i]
        XJ, G[i], vJ, cJ = tree.joint[i].calc(q[i], qd[i])
        D[i], lift[i] = XJ @ tree.Xtree[i], Motion.zero()
        v[i] = D[i] @ v[p] + vJ
        A[i] = cJ + v[i].cross(vJ) + D[i] @ lift[p]
        B[i] = v[i].cross(I @ v[i])
    M = {i: tree.inertia[i] for i in tree.bodies}
    return System(tree, D, G, M, A, B, f_ext or no_forces(tree))


def accelerations(s: System, qdd: Table) -> dict[int, Motion]:
    """Return vdot = Psi_D (G qdd + A) (7)."""
    return s.Psi @ {i: s.G[i] @ qdd[i] + s.A[i] for i in s.tree.bodies}


def interbody_forces(s: System, qdd: Table) -> dict[int, Force]:
    """Return F = Psi_D^T (M Psi_D (G qdd + A) + B - Y^T Fbar) (15)."""
    vdot = accelerations(s, qdd)
    return s.Psi.T @ {i: s.M[i] @ vdot[i] + s.B[i] - s.YF[i] for i in s.tree.bodies}


def joint_forces(s: System, qdd: Table) -> Table:
    """Return f = G^T F (18a), and what the rotors take: inverse dynamics."""
    F = interbody_forces(s, qdd)
    return {i: s.G[i].T @ F[i] + s.tree.armature[i] * qdd[i] for i in s.tree.bodies}


def bias(s: System) -> Table:
    """Return C = G^T Psi_D^T (M Psi_D A + B - Y^T Fbar) (18b)."""
    rest = {i: Column.zero(s.tree.joint[i].nv) for i in s.tree.bodies}
    F = interbody_forces(s, rest)
    return {i: s.G[i].T @ F[i] for i in s.tree.bodies}


def columns_of(s: System) -> list[tuple[int, int]]:
    """Return (body, freedom) of each column of the mass matrix."""
    return [(i, k) for i in s.tree.bodies for k in range(s.tree.joint[i].nv)]


def jacobian_columns(s: System) -> list[dict[int, Motion]]:
    """Return J = Psi_D G, column by column (step 1 of the mass-matrix procedure)."""
    still = {i: Motion.zero() for i in s.tree.bodies}
    return [s.Psi @ {**still, i: s.G[i].columns[k]} for i, k in columns_of(s)]


def mass_matrix(s: System) -> list[list[Scalar]]:
    """Return G^T Psi_D^T M Psi_D G (18c) as G^T (Psi_D^T Q), Q = M Psi_D G: O(N^2)."""
    rows = []
    for J in jacobian_columns(s):
        F = s.Psi.T @ {i: s.M[i] @ J[i] for i in s.tree.bodies}
        rows.append([x for i in s.tree.bodies for x in s.G[i].T @ F[i]])
    return _with_rotors(s.tree, rows)


def mass_matrix_as_printed(s: System) -> list[list[Scalar]]:
    """Return J^T Q, the procedure as printed; its last step is O(N^3), not O(N^2) as stated."""
    J = jacobian_columns(s)
    Q = [{i: s.M[i] @ column[i] for i in s.tree.bodies} for column in J]
    return _with_rotors(s.tree, [[_work(s, a, b) for b in Q] for a in J])


class DenseSteps(NamedTuple):
    """Everything that (19a) computes on its way, in this order."""

    C: Table  # bias (18b)
    x: Table  # f - C
    M: list[list[Scalar]]  # system mass matrix (18c)
    L: list[list[Scalar]]  # M = L diag(d) L^T
    d: list[Scalar]
    qdd: Table


def dense_steps(s: System, f: Table) -> DenseSteps:
    """Return qdd = M^-1 (f - C) by assembling and factorising M, and all steps: O(N^3) (19a)."""
    C = bias(s)
    x = {i: Column(f[i]) - C[i] for i in s.tree.bodies}
    M = mass_matrix(s)
    L, d = ldl(M)
    flat = ldl_solve(L, d, [each for i in s.tree.bodies for each in x[i]])
    qdd = {i: Column(flat[s.tree.velocity_slices[i]]) for i in s.tree.bodies}
    return DenseSteps(C, x, M, L, d, qdd)


def solve_dense(s: System, f: Table) -> Table:
    """Return qdd = M^-1 (f - C) by assembling and factorising M: O(N^3) (19a)."""
    return dense_steps(s, f).qdd


class Branches(NamedTuple):
    """Branch inertias J and the gains made from them."""

    J: Table
    R: Table
    K: Table


def branch_inertias(s: System) -> Branches:
    """Return J_i, R_i = G^T J G and K_i = J G R^-1, tips to base."""
    J, R, K = s.tree.table(ArticulatedInertia.zero()), s.tree.table(), s.tree.table()
    for i in s.tree.bodies:
        J[i] = ArticulatedInertia.zero() + s.M[i]
    for i in reversed(s.tree.bodies):
        p = s.tree.parent[i]
        U = J[i] @ s.G[i]
        R[i] = s.G[i].T @ U + s.tree.armature[i]
        K[i] = U / R[i]
        J[p] += s.D[i].T @ (J[i] - K[i] @ U.T) @ s.D[i]
    return Branches({i: J[i] for i in s.tree.bodies}, R, K)


def yielding_inertias(s: System) -> Table:
    """Return J-hat_i = J_i - J_i G_i R_i^-1 G_i^T J_i, what a branch with a free joint resists.

    J-hat_i G_i = 0 where a joint has no rotor.
    """
    J, _, K = branch_inertias(s)
    return {i: J[i] - K[i] @ (J[i] @ s.G[i]).T for i in s.tree.bodies}


class Beta(NamedTuple):
    """beta_i = (1 - G_i K_i^T) D_i: a shift that the joint yields to."""

    D: Any
    G: Subspace
    K: ForceSubspace

    def __matmul__(self, x: Motion) -> Motion:
        """Apply to a motion."""
        y = self.D @ x
        return y - self.G @ (self.K.T @ y)

    @property
    def T(self) -> BetaBack:
        """The transpose, which acts on forces."""
        return BetaBack(self)


class BetaBack(NamedTuple):
    """beta_i^T = D_i^T (1 - K_i G_i^T)."""

    beta: Beta

    def __matmul__(self, F: Force) -> Force:
        """Apply to a force."""
        D, G, K = self.beta
        return D.T @ (F - K @ (G.T @ F))


class FactorSteps(NamedTuple):
    """What the three factors of (19b) do to x = f - C, in this order."""

    Kx: Table  # K x
    Phi_Kx: Table  # Phi_D^T K x
    z: Table  # Psi_b^T Phi_D^T K x: forces, tips to base
    y: Table  # x - G^T z
    w: Table  # R^-1 y
    Gw: Table  # G w
    Psi_Gw: Table  # Psi_b G w: motions, base to tips
    u: Table  # Phi_D Psi_b G w
    qdd: Table  # w - K^T u


def yielding_shifts(s: System, K: Table) -> dict[int, Beta]:
    """Return beta_i = (1 - G_i K_i^T) D_i."""
    return {i: Beta(s.D[i], s.G[i], K[i]) for i in s.tree.bodies}


def factor_steps(s: System, branches: Branches, x: Table) -> FactorSteps:
    """Return M^-1 x by the three factors of (19b), and all steps."""
    bodies, (_, R, K) = s.tree.bodies, branches
    Psi_b = Propagation(s.tree, yielding_shifts(s, K), "b")

    # [1 - G^T Psi_b^T Phi_D^T K], tips to base
    Kx = {i: K[i] @ x[i] for i in bodies}
    Phi_Kx = s.Phi.T @ Kx
    z = Psi_b.T @ Phi_Kx
    y = {i: x[i] - s.G[i].T @ z[i] for i in bodies}
    w = {i: y[i] / R[i] for i in bodies}

    # [1 - K^T Phi_D Psi_b G], base to tips
    Gw = {i: s.G[i] @ w[i] for i in bodies}
    Psi_Gw = Psi_b @ Gw
    u = s.Phi @ Psi_Gw
    qdd = {i: w[i] - K[i].T @ u[i] for i in bodies}
    return FactorSteps(Kx, Phi_Kx, z, y, w, Gw, Psi_Gw, u, qdd)


def solve_factorised(s: System, f: Table) -> Table:
    """Return qdd = [1 - K^T Phi_D Psi_b G] R^-1 [1 - G^T Psi_b^T Phi_D^T K] (f - C): O(N) (19b)."""
    C = bias(s)
    x = {i: Column(f[i]) - C[i] for i in s.tree.bodies}
    return factor_steps(s, branch_inertias(s), x).qdd


def inverse_mass_matrix(s: System) -> list[list[Scalar]]:
    """Return [1 - K^T Phi_D Psi_b G] R^-1 [1 - G^T Psi_b^T Phi_D^T K] (19b), column by column."""
    still = {i: Column.zero(s.tree.joint[i].nv) for i in s.tree.bodies}
    branches = branch_inertias(s)
    columns = []
    for i, k in columns_of(s):
        unit = Column(1.0 if m == k else ZERO for m in range(s.tree.joint[i].nv))
        qdd = factor_steps(s, branches, {**still, i: unit}).qdd
        columns.append([x for j in s.tree.bodies for x in qdd[j]])
    return [list(row) for row in zip(*columns, strict=True)]


def _with_rotors(tree: Tree, rows: list[list[Scalar]]) -> list[list[Scalar]]:
    rotors = [x for i in tree.bodies for x in tree.armature[i]]
    return [
        [x + rotors[r] if r == c else x for c, x in enumerate(row)] for r, row in enumerate(rows)
    ]


def _work(s: System, a: dict[int, Motion], b: dict[int, Force]) -> Scalar:
    total: Scalar = ZERO
    for i in s.tree.bodies:
        total = total + a[i].dot(b[i])
    return total
