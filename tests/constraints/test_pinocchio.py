"""Points and welds against Pinocchio's constraint dynamics."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.interop.pinocchio import to_pinocchio
from tests.constraints.mechanisms import four_bar
from tests.constraints.support import branching, closed, tree_of

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")


def placed(X):
    """Return a placement as Pinocchio's: axes in columns, origin."""
    E = np.array([[float(x) for x in row] for row in X.E])
    return pin.SE3(E.T, np.array([float(x) for x in X.r]))


def by_pinocchio(model, q, v, tau):
    """Return accelerations and J^T f of the loops, in Sixfold's coordinates."""
    tree = tree_of(model)
    other = to_pinocchio(tree)
    c = sf.interop.convert(tree, other)
    kinds = {3: pin.ContactType.CONTACT_3D, 6: pin.ContactType.CONTACT_6D}
    loops = pin.StdVec_RigidConstraintModel()
    for loop in model.constraints:
        # joint 0 is the universe; Pinocchio keeps the order of the bodies by name
        ids = [other.getJointId(model.bodies[k].joint_name) for k in (loop.body_a, loop.body_b)]
        places = (placed(loop.placement_a), placed(loop.placement_b))
        frame = pin.ReferenceFrame.LOCAL
        loops.append(
            pin.RigidConstraintModel(
                kinds[loop.rows], other, ids[0], places[0], ids[1], places[1], frame
            )
        )
    data = other.createData()
    held = pin.StdVec_RigidConstraintData()
    for loop in loops:
        held.append(loop.createData())
    pin.initConstraintDynamics(other, data, loops, held)
    there, speed = c.q_to(q), c.v_to(q, v)
    settings = pin.ProximalSettings(1e-14, 1e-10, 50)
    push = c.tau_to(q, tau)
    a = pin.constraintDynamics(other, data, there, speed, push, loops, held, settings)
    free = pin.rnea(other, data, there, speed, a)
    return c.a_from(there, speed, a), c.tau_from(there, free - push)


@pytest.mark.parametrize("joint", [sf.Spherical(), sf.Fixed()], ids=["point", "weld"])
def test_a_loop_on_a_floating_tree_moves_as_pinocchio_says(joint):
    model = branching(joint).without(damping=True, springs=True)
    for seed in range(3):
        q, v = closed(model, seed)
        tau = np.random.default_rng(seed).normal(size=model.nv)
        a, forces = sf.loops.constrained_dynamics(model, q, v, tau, backend="numpy")
        theirs, push = by_pinocchio(model, q, v, tau)
        np.testing.assert_allclose(a, theirs, rtol=0, atol=1e-9 * np.abs(a).max())
        mine = sf.loops.constraint_jacobian(model, q, backend="numpy").T @ forces
        np.testing.assert_allclose(mine, push, rtol=0, atol=1e-9 * max(1.0, np.abs(mine).max()))


def test_a_four_bar_of_point_constraints_moves_as_pinocchio_says():
    """A hinge and a point say the same in a plane."""
    hinged = four_bar(1.0, 0.5, 1.2, 0.9, (0.5, 1.2, 0.9))
    loop = hinged.constraints[0]
    builder = sf.ModelBuilder("pinned", gravity=hinged.gravity)
    for body in hinged.bodies:
        parent = None if body.parent < 0 else hinged.body_names[body.parent]
        more = {"placement": body.placement, "inertia": body.inertia}
        builder.add_body(body.name, parent=parent, joint=body.joint, **more)
    builder.close("coupler", "rocker", sf.Spherical(), loop.placement_a, loop.placement_b)
    pinned = builder.build()
    q, v = closed(pinned, 1)
    tau = np.array([0.3, -0.2, 0.5])
    a, _ = sf.loops.constrained_dynamics(hinged, q, v, tau, backend="numpy")
    theirs, _ = by_pinocchio(pinned, q, v, tau)
    np.testing.assert_allclose(a, theirs, rtol=0, atol=1e-9 * np.abs(a).max())
