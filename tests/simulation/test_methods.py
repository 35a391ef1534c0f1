"""Equations (19a) and (19b), articulated and composite bodies move a model alike."""

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main

METHODS = ("aba", "crba", "operators", "operators_dense")
MODELS = {
    "cart_pendulum": (lambda: sf.load("cart_pendulum"), None),
    "tree6": (lambda: sf.load("tree6"), "numpy"),
    "mixed": (lambda: sf.random_tree(5, 3, properties=True), "numpy"),
    "floating": (lambda: sf.load("floating_link"), "numpy"),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_method_gives_the_same_motion(name):
    make, backend = MODELS[name]
    model, options = make(), {"dt": 1e-3, "backend": backend}
    q, v = sf.random_state(model, seed=3)
    push = np.linspace(-1, 1, 6 * model.nb).reshape(model.nb, 6)
    found = {
        method: sf.simulate(model, q, 0.1 * v, 0.006, f_ext=push, method=method, **options)
        for method in METHODS
    }
    left_out = sf.simulate(model, q, 0.1 * v, 0.006, f_ext=push, **options)
    assert np.array_equal(left_out.q, found["aba"].q)
    for method in METHODS:
        assert np.allclose(found[method].q, left_out.q, rtol=1e-9, atol=1e-10), method
        assert np.allclose(found[method].v, left_out.v, rtol=1e-8, atol=1e-8), method


def test_methods_take_batches_controllers_and_rollouts():
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 3, seed=1)

    def damped(t, q, v):
        return -0.3 * v

    for method in METHODS:
        motion = sf.simulate(model, q, v, 0.02, dt=1e-3, control=damped, method=method)
        default = sf.simulate(model, q, v, 0.02, dt=1e-3, control=damped)
        assert np.allclose(motion.q, default.q, rtol=1e-9, atol=1e-10)
        ends = sf.rollout(model, q, v, dt=1e-3, steps=20, method=method)[0]
        assert np.allclose(ends, sf.rollout(model, q, v, dt=1e-3, steps=20)[0], atol=1e-9)
        tau = np.ones((2, 3, model.nv))
        states = np.stack([q, q]), np.stack([v, -v])
        acc = sf.forward_dynamics(model, *states, tau, method=method)
        assert np.allclose(acc, sf.forward_dynamics(model, *states, tau), rtol=1e-8, atol=1e-8)
        steps = sf.operators.influence_operators(model, *states).equation_19b(tau).qdd
        assert np.allclose(acc, steps, rtol=1e-8, atol=1e-8)


def test_the_command_line_takes_the_method():
    run = CliRunner().invoke
    common = ["simulate", "pendulum", "--duration", "0.02", "--method"]
    assert run(main, [*common, "operators_dense"]).exit_code == 0
    refused = run(main, [*common, "19a"])
    assert refused.exit_code == 2 and "operators_dense" in refused.output
