"""One of each object that public functions return, of a model with hostile names."""

from functools import cache

import numpy as np

import sixfold as sf
from sixfold.checks.verify.report import Finding, Report

EVIL = "<script>alert(1)</script>"
NAMES = ("a<b", "\"&'<img src=x onerror=alert(1)>")


@cache
def evil_model():
    """Return a cart with a pole whose names are markup."""
    builder = sf.ModelBuilder(EVIL, base_name="</svg><b>")
    cart = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.1, 0.1))
    pole = sf.Inertia.from_mass(0.3, (0, 0, 0.4), (0.02, 0.02, 0.001))
    builder.add_body(NAMES[0], joint=sf.Prismatic("x"), inertia=cart, joint_name=EVIL + "1")
    builder.add_body(
        NAMES[1], parent=NAMES[0], joint=sf.Revolute("y"), inertia=pole, joint_name=EVIL + "2"
    )
    builder.add_frame(EVIL, NAMES[1], (0.0, 0.0, 0.8))
    return builder.build()


def quiet_cost(t, q, v, tau):
    return tau @ tau + q @ q


def comparison():
    from sixfold.interop.compare import Comparison, Difference

    rows = (Difference(EVIL, 1e-3, 1e-12, 4), Difference("mass matrix", 1e-16, 1e-12, 1))
    return Comparison(EVIL, "pinocchio", "4", 10, 0, rows, (EVIL,))


def diagnosis():
    from sixfold.checks.doctor.finding import Diagnosis
    from sixfold.checks.doctor.finding import Finding as Remark

    remark = Remark("error", "mass-negative", EVIL, EVIL, 3, EVIL, EVIL, EVIL)
    figures = {"bodies": 2, "freedoms": 2, "mass": 1.3}
    return Diagnosis(EVIL, EVIL, 10, (remark,), figures)


def identification():
    model = evil_model()
    motion = sf.simulate(model, [0.1, 0.4], [0.2, 0.0], 2.0, dt=1e-2)
    return sf.identification.identify(model, motion)


def loop():
    return sf.load("four_bar_leg")


STEPS = 30


@cache
def linear():
    return sf.control.linearize(evil_model(), [0, 0], [0, 0], [0, 0])


@cache
def linear_steps():
    zero = np.zeros((STEPS, 2))
    return sf.control.linearize(evil_model(), zero, zero, zero, 0.01)


@cache
def ground():
    pole = NAMES[1]
    return sf.contact.Ground(
        points=tuple(sf.contact.ContactPoint(pole, (0, 0, 0.1 * k)) for k in range(9))
    )


def reach():
    return sf.inverse_kinematics(evil_model(), [sf.targets.Position(EVIL, (0.1, 0.0, 0.8))])


def gradient():
    return sf.rollout_gradient(
        evil_model(), None, None, np.zeros((STEPS, 2)), dt=0.01, steps=STEPS, cost=quiet_cost
    )


def optimum():
    return sf.control.optimal_control(
        evil_model(), None, None, np.ones((2, STEPS, 2)), dt=0.01, steps=STEPS, cost=quiet_cost
    )


def sweep():
    return sf.sweeps.sweep(lambda a: {EVIL: a * a}, rows={"a": np.arange(8.0)}, reduce=["mean"])


def touches():
    zero = np.zeros((3, 2))
    return sf.contact.contact_forces(evil_model(), zero, zero, zero, contacts=ground())


def falling(contacts=None):
    return sf.simulate(evil_model(), [0.0, 0.3], None, 0.6, contacts=contacts)


def contributions():
    model = evil_model()
    return sf.explain(model, "gravity_force", [0.1, 0.3], joint=model.joint_names[0])


OBJECTS = {
    "Model": evil_model,
    "Model with a loop": loop,
    "Trajectory": falling,
    "batch of Trajectories": lambda: sf.simulate(evil_model(), np.zeros((3, 2)), None, 0.1),
    "Trajectory with contacts": lambda: falling(ground()),
    "Equations": lambda: sf.equations(evil_model(), samples=3),
    "Report": lambda: sf.check(evil_model(), samples=3),
    "Report that disagrees": lambda: Report(EVIL, 3, (Finding(EVIL, EVIL, 1.0, 2, 1e-14, EVIL),)),
    "Diagnosis": diagnosis,
    "Diagnosis of a good model": lambda: sf.diagnose(sf.load("double_pendulum")),
    "Comparison": comparison,
    "Identification": identification,
    "BaseParameters": lambda: sf.identification.base_parameters(evil_model()),
    "Mobility": lambda: sf.loops.mobility(loop()),
    "InverseKinematics": reach,
    "Linearization": linear,
    "Linearizations": linear_steps,
    "OptimalControl": optimum,
    "Sweep": sweep,
    "Contributions": lambda: sf.explain(evil_model(), "bias_force", [0.1, 0.3], [1.0, 2.0]),
    "Contributions of a joint": contributions,
    "SourceEquations": lambda: sf.explain("Khatib Joint Space Dynamics", evil_model(), [0.1, 0.3]),
    "Code": lambda: sf.export(evil_model(), "inverse_dynamics"),
}
"""What has something to see."""
PLAIN = {
    "Tree": lambda: sf.load("random_tree:40:1").tree,
    "Coordinates": lambda: sf.load("random_tree:40:1").coordinates,
    "ModelBuilder": lambda: sf.ModelBuilder(EVIL),
    "Converter": lambda: sf.interop.Converter(evil_model(), "pinocchio", 2, 2, (), ()),
    "LQR": lambda: sf.control.lqr(linear(), 1.0, 1.0),
    "TVLQR": lambda: sf.control.tvlqr(linear_steps(), 1.0, 1.0),
    "RolloutGradient": gradient,
    "Kernel": lambda: sf.compile(sf.inverse_dynamics, evil_model()),
    "Program": lambda: sf.compile(sf.inverse_dynamics, evil_model()).graph,
    "ContactForces": touches,
    "Ground": ground,
    "Task": lambda: sf.learn.tasks.quadruped_stand(),
    "Stepper": lambda: sf.Stepper(evil_model(), dt=1e-3),
    "PlanarChain": lambda: sf.planar.PlanarChain((1.0, 2.0), (0.1, 0.2), (1.0, 1.0)),
}
"""What is text alone."""


@cache
def made(name):
    """Return the object of a name."""
    return (OBJECTS | PLAIN)[name]()
