"""Constrained accelerations and forces by Pinocchio and MuJoCo, on the same tree.

Points and welds have the same rows in Pinocchio, in the frame on body B.  A hinge about y becomes
two points on its axis there and in MuJoCo.
"""

import numpy as np

import sixfold as sf
from sixfold.interop.mujoco import robot_spec
from sixfold.interop.pinocchio import to_pinocchio

HINGE_POINTS = ((0.0, 0.1, 0.0), (0.0, -0.1, 0.0))
STIFFNESS, DAMPING = 1.0, 1.0
"""Of MuJoCo's constraints; what they do is zero in states that keep the loops closed."""


def ends(loop):
    """Yield (placement on A, placement on B) of each point or weld that stands for a loop."""
    if loop.rows in (3, 6):
        yield loop.placement_a, loop.placement_b
        return
    assert isinstance(loop.joint, sf.Revolute) and loop.joint == sf.Revolute("y")
    for p in HINGE_POINTS:
        X = sf.Transform.translation(p)
        yield X @ loop.placement_a, X @ loop.placement_b


class ByPinocchio:
    """constraintDynamics of the tree with rigid constraints, Baumgarte's gains zero."""

    def __init__(self, model, mu=1e-8):
        import pinocchio as pin

        tree = model.without(constraints=True)
        self.pin, self.robot = pin, to_pinocchio(tree)
        self.way = sf.interop.convert(tree, self.robot)
        self.models = pin.StdVec_RigidConstraintModel()
        for loop in model.constraints:
            weld = loop.rows == 6
            kind = pin.ContactType.CONTACT_6D if weld else pin.ContactType.CONTACT_3D
            a, b = (self._joint(model, k) for k in (loop.body_a, loop.body_b))
            for XA, XB in ends(loop):
                # the force on joint 1 is reported: body B plays it
                made = pin.RigidConstraintModel(
                    kind, self.robot, b, se3(pin, XB), a, se3(pin, XA), pin.ReferenceFrame.LOCAL
                )
                self.models.append(made)
        self.datas = pin.StdVec_RigidConstraintData()
        for each in self.models:
            self.datas.append(each.createData())
        self.data = self.robot.createData()
        self.settings = pin.ProximalSettings(1e-15, 1e-15, mu, 60)
        pin.initConstraintDynamics(self.robot, self.data, self.models, self.datas)

    def _joint(self, model, body):
        return self.robot.getJointId(model.bodies[body].joint_name) if body >= 0 else 0

    def __call__(self, q, v, tau):
        """Return accelerations in our coordinates, and forces (moments first)."""
        there = self.way.q_to(q), self.way.v_to(q, v)
        a = self.pin.constraintDynamics(
            *(self.robot, self.data, *there, self.way.tau_to(q, tau)),
            *(self.models, self.datas, self.settings),
        )
        forces = []
        for each, data in zip(self.models, self.datas, strict=True):
            if each.type == self.pin.ContactType.CONTACT_6D:
                forces.extend(data.contact_force.angular)
            forces.extend(data.contact_force.linear)
        return self.way.a_from(*there, a), np.array(forces)


def se3(pin, X):
    """Return a placement of Pinocchio."""
    return pin.SE3(np.array(X.E.T, float), np.array(X.r, float))


class ByMujoco:
    """mj_forward of the tree with equality constraints between sites."""

    def __init__(self, model):
        import mujoco

        tree = model.without(constraints=True)
        spec, _ = robot_spec(mujoco, tree)
        spec.option.solver, spec.option.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 50
        spec.option.tolerance = 0.0
        for k, loop in enumerate(model.constraints):
            for n, places in enumerate(ends(loop)):
                names = []
                for body, X in zip((loop.body_a, loop.body_b), places, strict=True):
                    names.append(f"loop {k}, end {n} on {body}")
                    at = spec.worldbody if body < 0 else spec.body(model.bodies[body].name)
                    at.add_site(name=names[-1], pos=np.array(X.r, float))
                spec.add_equality(
                    type=mujoco.mjtEq.mjEQ_CONNECT,
                    objtype=mujoco.mjtObj.mjOBJ_SITE,
                    name1=names[1],
                    name2=names[0],
                    solref=[-STIFFNESS, -DAMPING],
                )
        self.mujoco, self.robot = mujoco, spec.compile()
        self.way = sf.interop.convert(tree, self.robot)
        self.data = mujoco.MjData(self.robot)

    def __call__(self, q, v, tau, softness):
        """Return accelerations in our coordinates, with R = softness x the diagonal of J M^-1 J^T.

        MuJoCo takes no softness below 1e-4.
        """
        d = 1.0 / (1.0 + softness)
        self.robot.eq_solimp[:] = (d, d, 1.0, 0.5, 1.0)
        there = self.way.q_to(q), self.way.v_to(q, v)
        self.data.qpos[:], self.data.qvel[:] = there
        self.data.qfrc_applied[:] = self.way.tau_to(q, tau)
        self.mujoco.mj_forward(self.robot, self.data)
        return self.way.a_from(*there, self.data.qacc)
