"""Models, costs and other ways to their derivatives, for the tests of gradients of rollouts."""

from dataclasses import dataclass
from functools import cache

import numpy as np

import sixfold as sf
from sixfold.compiler.graph import trace, traced_array
from sixfold.scalar import RULES, Op
from sixfold.simulation.step import Setup
from sixfold.spatial import rotation
from tests.simulation.support import flyer, heavy_top

ROD = sf.Inertia.from_mass(1.0, (0.0, 0.0, -0.4), (0.02, 0.03, 0.01))


def rubbing_pendulum():
    """A double pendulum with damping, a spring and dry friction, one smooth and one not."""
    builder = sf.ModelBuilder("rubbing")
    passive = {"damping": 0.4, "friction": 0.3, "stiffness": 0.7, "armature": 0.05}
    builder.add_body("a", joint=sf.Revolute("y"), inertia=ROD, **passive)
    builder.add_body(
        "b", parent="a", joint=sf.Revolute("x"), placement=(0, 0, -0.8), inertia=ROD, **passive
    )
    return builder.build()


def coupled_arm():
    """Four links, the third of which follows the first two."""
    builder, before = sf.ModelBuilder("coupled"), None
    for name, axis in zip("abcd", "yxyz", strict=True):
        builder.add_body(
            name, parent=before, joint=sf.Revolute(axis), placement=(0.1, 0, -0.3), inertia=ROD
        )
        before = name
    joints = [body.joint_name for body in builder.build().bodies]
    builder.couple(joints[2], (joints[0], 0.7), (joints[1], -0.5), offset=0.2)
    return builder.build()


def other_joints():
    """Joints whose velocities are no rates, and one with two freedoms."""
    builder = sf.ModelBuilder("others")
    builder.add_body("cart", joint=sf.Planar(), inertia=ROD)
    builder.add_body("fork", parent="cart", joint=sf.Universal(), inertia=ROD)
    builder.add_body(
        "ball", parent="fork", joint=sf.Spherical(), placement=(0, 0, -0.5), inertia=ROD
    )
    return builder.build()


def screw(q):
    """A joint of the user's own: it turns about z and climbs as it turns."""
    turn = rotation(sf.spatial.Vector3(0.0, 0.0, 1.0), sf.math.cos(q[0]), sf.math.sin(q[0]))
    return sf.Transform(turn, sf.spatial.Vector3(0.0, 0.1 * sf.math.sin(q[0]), 0.2 * q[0]))


def every_other_joint():
    """Joints of one and more freedoms that the other models lack, on two branches."""
    builder = sf.ModelBuilder("every")
    joints = {
        "base": (None, sf.Translational()),
        "left": ("base", sf.Helical("y", pitch=0.1)),
        "tip": ("left", sf.CustomJoint(screw)),
        "right": ("base", sf.Cylindrical("x")),
        "end": ("right", sf.Prismatic("z")),
    }
    for name, (parent, joint) in joints.items():
        builder.add_body(name, parent=parent, joint=joint, placement=(0.1, 0, -0.2), inertia=ROD)
    return builder.build()


MODELS = {
    "panda": lambda: sf.load("panda"),
    "rubbing": rubbing_pendulum,
    "floating": flyer,
    "spherical": heavy_top,
    "coupled": coupled_arm,
    "others": other_joints,
    "every": every_other_joint,
}


@cache
def model_of(name):
    return MODELS[name]()


def running(t, q, v, tau):
    return (
        (1.0 + t) * (q @ q) + 0.3 * sf.math.sin(v[0]) + 0.02 * (v @ v) + 0.05 * (tau @ tau) * q[0]
    )


def ending(q, v):
    return 3.0 * (q @ q) + sf.math.cos(q[0]) * v[0] + 0.1 * (v @ v)


@dataclass
class Case:
    """A rollout with open-loop forces and a controller, and its costs by NumPy."""

    model: sf.Model
    integrator: str = "semi_implicit_euler"
    steps: int = 12
    dt: float = 0.01
    control: object = None
    parameters: object = None
    hold: bool = False
    inertias: object = None
    x0: object = None

    @property
    def options(self):
        return {"dt": self.dt, "steps": self.steps, "integrator": self.integrator} | {
            name: value
            for name in ("control", "parameters", "inertias", "x0")
            if (value := getattr(self, name)) is not None
        }

    def start(self, lead=(), seed=0):
        """Return states and joint forces; friction has no derivative at rest."""
        rng = np.random.default_rng(seed)
        q, _ = sf.random_state(self.model, max(1, int(np.prod(lead))), seed=seed)
        v = rng.uniform(0.5, 1.0, (*lead, self.model.nv))
        tau = 0.5 * rng.standard_normal((*lead, self.steps, self.model.nv))
        return np.resize(q, (*lead, self.model.nq)), v, tau

    def gradient(self, q0, v0, tau, **more):
        hold = {"hold": True} if self.hold else {}
        return sf.rollout_gradient(
            self.model,
            q0,
            v0,
            tau,
            **({"cost": running, "final_cost": ending} | self.options | hold | more),
        )

    def cost(self, q0, v0, tau, **more):
        """Return the cost of each row of a batch, by `rollout` and plain arithmetic."""
        hold = {"hold": True} if self.hold else {}
        options = self.options | hold | more
        q, v, *x = sf.rollout(self.model, q0, v0, tau, **options)
        rows = len(q)
        q = np.concatenate([np.broadcast_to(q0, (rows, self.model.nq))[:, None], q], 1)
        v = np.concatenate([np.broadcast_to(v0, (rows, self.model.nv))[:, None], v], 1)
        if tau is None:
            tau = np.zeros(self.model.nv)
        tau = np.broadcast_to(tau, (rows, self.steps, self.model.nv))
        if x:
            start = np.broadcast_to(options["x0"], (rows, x[0].shape[-1]))
            x = np.concatenate([start[:, None], x[0]], 1)
        total = np.zeros(rows)
        for row in range(rows):
            for k in range(self.steps):
                t, push = k * self.dt, tau[row, k]
                if self.control is not None:
                    given = [t, q[row, k], v[row, k]]
                    given += [x[row, k]] if len(x) else []
                    p = options.get("parameters")
                    given += [] if p is None else [np.broadcast_to(p, (rows, np.shape(p)[-1]))[row]]
                    found = self.control(*given)
                    push = push + (found[0] if len(x) else found)
                total[row] += self.dt * running(t, q[row, k], v[row, k], push)
            total[row] += ending(q[row, -1], v[row, -1])
        return total


def differences(function, moves, size):
    """Return derivatives of a function of a batch along some moves, by differences of order 4.

    Args:
        function: takes the batch that `moves` returns, returns one number for each row.
        moves: takes steps (rows, n), returns arguments displaced by them.
        size: n.
    """
    h = 1e-3
    units = np.eye(size)
    steps = np.concatenate([s * h * units for s in (1, -1, 2, -2)])
    up, down, far, low = function(moves(steps)).reshape(4, size)
    return (8 * (up - down) - (far - low)) / (12 * h)


def pushed_forward(program, x):
    """Return the results of a program on floats, and their derivatives by all inputs.

    Each node carries its derivatives along, by the rule of its operation.
    """
    units = np.eye(len(x))
    value, slope = [], []
    for op, *arguments in program.nodes:
        if op == "input":
            value.append(float(x[arguments[0]]))
            slope.append(units[arguments[0]])
        elif op == "const":
            value.append(arguments[0])
            slope.append(np.zeros(len(x)))
        else:
            rule, given = RULES[Op(op)], [value[a] for a in arguments]
            value.append(rule.value(*given))
            partials = zip(rule.partials(*given), arguments, strict=True)
            slope.append(sum(float(p) * slope[a] for p, a in partials))
    outputs = program.outputs
    return np.array([value[k] for k in outputs]), np.array([slope[k] for k in outputs])


def chained(case, q0, v0, tau):
    """Return the cost and its derivatives by q0, v0 and tau by the chain of single steps."""
    model, n = case.model, case.model.nq + case.model.nv
    nq = model.nq
    setup = Setup("rollout", sf.System(model), case.integrator, given={"tau": tau}, tau_each=True)

    def step(state, push, t):
        def array(x):
            return traced_array(list(x), (len(x),))

        after = setup.step(state[:nq], state[nq:], [case.dt], t, push)
        return [*after, running(t[0], array(state[:nq]), array(state[nq:]), array(push)) * case.dt]

    def last(state):
        return [ending(*(traced_array(list(x), (len(x),)) for x in (state[:nq], state[nq:])))]

    program, end = trace(step, [n, model.nv, 1]), trace(last, [n])
    state, jacobians, total = np.concatenate([q0, v0]), [], 0.0
    for k in range(case.steps):
        after, slopes = pushed_forward(program, [*state, *tau[k], k * case.dt])
        state, total = after[:n], total + after[n]
        jacobians.append(slopes)
    (cost,), (adjoint,) = pushed_forward(end, list(state))
    by_tau = np.zeros_like(tau)
    for k in reversed(range(case.steps)):
        both = np.append(adjoint, 1.0) @ jacobians[k]
        adjoint, by_tau[k] = both[:n], both[n:-1]
    units = np.eye(model.nv)
    along = np.array([adjoint[:nq] @ sf.position_rate(model, q0, unit) for unit in units])
    return total + cost, along, adjoint[nq:], by_tau
