"""Rollouts with all that a rollout takes, for the devices that have to give its bits."""

from __future__ import annotations

import numpy as np

import sixfold as sf


def swinging(t, q, v, p):
    """Return forces that depend on all that a controller is given."""
    return p[0] * (sf.math.sin(3.0 * t) - q) - p[1] * v


class Counting:
    """A controller that keeps something between calls."""

    calls = 0

    def __call__(self, t, q, v):
        self.calls += 1
        return 0.1 * self.calls * q


def _arm(count):
    model = sf.load("double_pendulum")
    return model, *sf.random_state(model, count, seed=2)


def own_gains(steps, **more):
    """Parameters of a controller that differ along one axis of the batch."""
    model, q0, v0 = _arm((2, 3))
    gains = np.random.default_rng(0).uniform(1.0, 5.0, (2, 1, 2))
    how = {"dt": 1e-2, "control": swinging, "parameters": gains, "every": max(1, steps // 8)}
    return model, q0, v0, None, {"steps": steps, **how, **more}


def one_law(steps, **more):
    """Forces and gains that all trajectories share, the controller held for a step."""
    model, q0, v0 = _arm((2, 3))
    tau = np.random.default_rng(1).standard_normal((steps, model.nv))
    how = {"dt": 1e-2, "control": swinging, "parameters": np.array([2.0, 3.0]), "hold": True}
    return model, q0, v0, tau, {"steps": steps, **how, **more}


def integral(steps):
    """A controller with states of its own, which come back too."""
    model, q0, v0 = _arm(5)

    def law(t, q, v, x):
        return -4.0 * q - v - 0.5 * x, q

    x0 = np.linspace(0, 1, 10).reshape(5, 2)
    how = {"dt": 1e-2, "every": 2, "control": law, "integrator": "rk4", "x0": x0}
    return model, q0, v0, None, {"steps": steps, **how}


def _limited():
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4))
    builder = sf.ModelBuilder("arm")
    builder.add_body("a", joint=sf.Revolute("x"), inertia=solid, lower=-0.1, upper=0.1)
    builder.add_body("b", parent="a", joint=sf.Prismatic("z"), inertia=solid)
    model = builder.build()
    q0, v0 = sf.random_state(model, 4, seed=3)
    q0[:, 0] = [0.0, 0.09, 0.1, -0.1]
    return model, q0, v0


def own_inertias(steps):
    """Forces from outside and inertias of each trajectory, and limits of joints."""
    model, q0, v0 = _limited()
    rng = np.random.default_rng(0)
    f_ext = rng.standard_normal((4, model.nb, 6))
    own = np.array([body.inertia.parameters() for body in model.bodies], float)
    inertias = own * rng.uniform(0.9, 1.1, (4, 1, 1))
    how = {"dt": 1e-3, "f_ext": f_ext, "inertias": inertias, "limits": True}
    return model, q0, v0, None, {"steps": steps, "every": max(1, steps // 3), **how}


def blown(steps):
    """Forces from outside as a function of the state."""
    model, q0, v0 = _limited()
    wind = np.full((model.nb, 6), 0.1)
    return model, q0, v0, None, {"dt": 1e-3, "steps": steps, "f_ext": lambda t, q, v: wind * v[0]}


def closed_loop(steps):
    """A leg whose links make a loop."""
    return sf.load("four_bar_leg"), None, None, None, {"dt": 1e-3, "steps": steps}


def contact(steps):
    """A ball that lies in the ground, touches it, and falls."""
    model = sf.load("floating_link")
    ground = sf.contact.Ground(points=(sf.contact.ContactPoint(model.body_names[0], radius=0.1),))
    q0 = np.tile(sf.neutral(model), (3, 1))
    q0[:, 2] = [0.05, 0.1, 0.3]
    return model, q0, None, None, {"dt": 1e-3, "steps": steps, "contacts": ground}


def newton(steps):
    """A controller that repeats: the root of y^3 = 1 + q^2, in forty rounds."""
    model, q0, v0 = _arm(4)

    def law(t, q, v):
        goal = 1.0 + q[0] * q[0]
        y = sf.math.repeat(40, lambda y: y - (y * y * y - goal) / (3.0 * y * y), goal)
        return np.array([-y * q[0], -v[1]])

    return model, q0, v0, None, {"dt": 1e-2, "steps": steps, "control": law, "compiled": True}


CASES = {
    "own_gains": own_gains,
    "own_gains_single": lambda steps: own_gains(steps, dtype="float32"),
    "one_law": one_law,
    "one_law_single": lambda steps: one_law(steps, dtype="float32"),
    "integral": integral,
    "own_inertias": own_inertias,
    "blown": blown,
    "closed_loop": closed_loop,
    "contact": contact,
    "newton": newton,
}
"""By name: functions of the number of steps that return model, q0, v0, tau and options."""


def same(rollout, model, q0, v0, tau, options):
    """Return whether a rollout gives the bits of `sf.rollout`, and some of them."""
    found = rollout(model, q0, v0, tau, **options)
    expected = sf.rollout(model, q0, v0, tau, **options)
    assert all(np.isfinite(x).all() and x.size for x in expected)
    shapes = [x.shape for x in found] == [x.shape for x in expected]
    return shapes and all(x.tobytes() == y.tobytes() for x, y in zip(found, expected, strict=True))
