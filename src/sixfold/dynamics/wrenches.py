"""What joints bear: the force through each joint, and the part of it that does no work."""

from __future__ import annotations

from sixfold.dynamics.fast.inverse_dynamics import joint_forces
from sixfold.model.tree import Table, Tree
from sixfold.spatial import Force, JointMatrix, Motion, Subspace


def joint_wrenches(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> Table:
    """Return the force of each parent on its body in body coordinates (f_J of Carius eq. 37)."""
    _, f = joint_forces(tree, q, qd, qdd, f_ext)
    return {i: f[i] for i in tree.bodies}


def constraint_forces(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> Table:
    """Return the joint wrenches without their working part: f - S (S^T S)^-1 S^T f.

    In body axes at the body origin the working part lies along S; the rest, T T^T f with T the
    orthonormal constraint basis, bears load without working (Concurrent Dynamics eq. 20).
    """
    wrench = joint_wrenches(tree, q, qd, qdd, f_ext)
    return {
        i: wrench[i] - working_part(tree.joint[i].calc(q[i], qd[i]).S, wrench[i])
        for i in tree.bodies
    }


def working_part(S: Subspace, f: Force) -> Force:
    """Return S (S^T S)^-1 S^T f, reading the columns of S as forces."""
    along = [Force(*column) for column in S.columns]
    gram = JointMatrix([[as_motion(a).dot(b) for b in along] for a in along])
    rates = (S.T @ f) / gram
    total = Force.zero()
    for column, rate in zip(along, rates, strict=True):
        total = total + column * rate
    return total


def as_motion(f: Force) -> Motion:
    """Read the coordinates of a force as those of a motion."""
    return Motion(f.ang, f.lin)
