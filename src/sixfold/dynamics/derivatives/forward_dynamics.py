"""First derivatives of forward dynamics: those of inverse dynamics, solved with the sparse factor.

With M = L^T D L (RBDA section 6.5), d qdd/dq = -M^-1 d tau/dq and d qdd/dqd = -M^-1 d tau/dqd at
the accelerations of forward dynamics, and d qdd/dtau = M^-1: one solve for each column, no inverse.
A column of freedom c is zero but for the freedoms that support c and those that c supports; what a
limb beside them does follows from its trunk by one small matrix (`Factor.hanging`).  Some columns
of a floating base need no solve (`base_columns`).
"""

from __future__ import annotations

from sixfold.model import Free
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Zero
from sixfold.spatial import IDENTITY3, Vector3


def base_columns(tree: Tree, q: Table, qd: Table) -> tuple[dict[int, Vector3], dict[int, Vector3]]:
    """Return columns of d qdd/dq and d qdd/dqd that a floating base gives by itself.

    They hold three numbers: the rates of the base's own linear acceleration, in its axes; all else
    is zero.  Turning the base by e_t turns gravity, g x e_t for its axes; the base's position
    changes nothing, and its linear velocity enters as w x v.  So it is where no force on the base
    depends on them: no armature, damping, friction or spring, and no force fixed in the world.
    """
    if not tree.bodies:
        return {}, {}
    passive = (tree.armature, tree.damping, tree.friction, tree.friction_negative, tree.stiffness)
    alone = all(isinstance(x, Zero) for each in passive for x in each[1])
    if not isinstance(tree.joint[1], Free) or tree.parent[1] or not alone:
        return {}, {}
    w = Vector3(*qd[1][:3])
    g = (tree.joint[1].calc(q[1], qd[1]).XJ @ tree.Xtree[1]).E @ tree.gravity.lin
    still = Vector3(ZERO, ZERO, ZERO)
    by_q = {t: g.cross(e) for t, e in enumerate(IDENTITY3)} | dict.fromkeys((3, 4, 5), still)
    return by_q, {3 + t: -w.cross(e) for t, e in enumerate(IDENTITY3)}
