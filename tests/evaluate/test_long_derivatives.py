"""Derivatives of a robot with many limbs: solves are called, and everything stays machine code."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime.kernels.kernels import watch_kernels


def walker(limbs=5, length=5):
    """Return a floating base with several serial limbs."""
    builder = sf.ModelBuilder("walker")
    hull = sf.Inertia.from_mass(9.0, (0.01, 0.02, -0.03), (0.3, 0.5, 0.6))
    link = sf.Inertia.from_mass(1.5, (0.02, -0.01, -0.15), (0.02, 0.03, 0.01))
    builder.add_body("hull", joint=sf.Free(), inertia=hull)
    for k in range(limbs):
        parent = "hull"
        for n in range(length):
            name = f"limb{k}_{n}"
            place = sf.Transform.from_rpy((0.3 * n, 0.2, 0.7 * k), (0.1, 0.05 * k, -0.3))
            axis = "xyz"[(k + n) % 3]
            builder.add_body(
                name, parent=parent, joint=sf.Revolute(axis), placement=place, inertia=link
            )
            parent = name
    return builder.build()


@pytest.mark.long
def test_repeated_solves_are_called():
    model = walker()
    assert model.nv == 31
    q, v = sf.random_state(model, 37, seed=1)
    tau = np.random.default_rng(2).normal(size=v.shape) * 10
    with watch_kernels() as kernels:
        found = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau)
    kernel = kernels["forward_dynamics_derivatives"]
    program = kernel.graph
    assert len(program.bodies()) == 5  # the columns of each limb do the same
    assert program.length < 0.85 * sum(kernel.operations.values())
    M = sf.mass_matrix(model, q)
    a = sf.forward_dynamics(model, q, v, tau)
    Q, V, _ = sf.derivatives.inverse_dynamics_derivatives(model, q, v, a)
    want = (-np.linalg.solve(M, Q), -np.linalg.solve(M, V), np.linalg.inv(M))
    bar = 512 * 2.2e-16 * np.linalg.cond(M).max()
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=bar * np.abs(y).max())
    one = sf.derivatives.forward_dynamics_derivatives(model, q[5], v[5], tau[5])
    for x, y in zip(one, found, strict=True):
        np.testing.assert_array_equal(x, y[5])
