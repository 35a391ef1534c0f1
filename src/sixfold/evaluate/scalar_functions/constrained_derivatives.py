"""Derivatives of constrained forward dynamics: one solve of the saddle-point system a column.

Along x, with a and lam held where a formula is differentiated,

    M da - J^T dlam = -d ID/dx + (dJ/dx)^T lam,     J da = -(dJ/dx a + dgamma/dx),

where ID is the inverse dynamics of the tree at a.  Its derivatives are those of the tree; rows of
constraints are differentiated as numbers with a rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.dynamics.derivatives.inverse_dynamics import Matrix
from sixfold.evaluate.scalar_functions.constraints import Solved, rows_of
from sixfold.evaluate.scalar_functions.kinematics import position_rate
from sixfold.evaluate.scalar_functions.page import Numbers
from sixfold.model import Model, Tree
from sixfold.scalar import ZERO, Scalar, differentiate, dot


def constrained_derivatives(
    model: Model, tree: Tree, q: Numbers, v: Numbers, at: Solved, Q: Matrix, V: Matrix
) -> list[Scalar]:
    """da/dq, da/dv and da/dtau, row by row.

    Args:
        model: the model.
        tree: its tree, or the reduced one.
        q: positions.
        v: velocities.
        at: the dynamics there.
        Q: derivative of the tree's inverse dynamics at those accelerations, by q.
        V: by v.
    """
    n = model.nv
    M, G, a, lam = at

    def pulls(q: Numbers, v: Numbers) -> list[Scalar]:
        """Return J^T lam and J a + gamma."""
        rows = rows_of(model, tree, q, v)
        forces = [dot([row.J[k] for row in rows], lam) for k in range(n)]
        return [*forces, *(dot(row.J, a) + row.gamma for row in rows)]

    def column(b: Sequence[Scalar], c: Sequence[Scalar]) -> list[Scalar]:
        """Return da of M da - J^T dlam = b, J da = -c."""
        z = M.half(b)
        dlam = G.solve([-(x + y) for x, y in zip(c, G.along(z), strict=True)])
        return M.outward(G.with_forces(z, dlam))

    by_q, by_v, by_tau = [], [], []
    for t in range(n):
        e: list[Scalar] = [1.0 if k == t else ZERO for k in range(n)]
        _, rates = differentiate(lambda x: pulls(x, v), q, position_rate(model, tree, q, e))
        by_q.append(column([x - row[t] for x, row in zip(rates, Q, strict=False)], rates[n:]))
        _, rates = differentiate(lambda x: pulls(q, x), v, e)
        by_v.append(column([-row[t] for row in V], rates[n:]))
        by_tau.append(column(e, [ZERO] * model.nc))
    return [x for each in (by_q, by_v, by_tau) for row in zip(*each, strict=True) for x in row]
