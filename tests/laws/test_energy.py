"""Energy and momentum: rates along the motion equal powers and forces."""

from __future__ import annotations

import numpy as np
import pytest

from sixfold.quantities import readings
from tests.laws.support import MODELS, State, force_scale, pushes, rates, states

# rates are exact but for rounding: eps times the forces and speeds at play
TIGHT = 512


def energy_core(model, tree, q, v):
    kinetic, potential = readings.kinetic_energy, readings.potential_energy
    return [kinetic(model, tree, q, v)[0] + potential(model, tree, q)[0]]


def momentum_core(model, tree, q, v):
    return readings.momentum(model, tree, q, v)


def power_scale(fn, model, state, f_ext=None):
    """Forces times speeds."""
    speed = np.abs(fn.body_velocities(model, state.q, state.v)).max() + np.abs(state.v).max()
    return force_scale(fn, model, state, f_ext) * speed * model.nv


def losses(model, v):
    """Power lost in damping and dry friction, by their definitions."""
    damping = np.array([x for body in model.bodies for x in body.damping])
    forward = np.array([x for body in model.bodies for x in body.friction])
    backward = np.array([x for body in model.bodies for x in body.friction_negative])
    dry = np.where(v > 0, forward, backward) * np.abs(v)
    return (damping * v * v + dry).sum(axis=-1)


def test_rate_of_energy_is_the_power_of_joint_forces_less_losses(fn, model, state):
    """Springs and rotors are in the energy; damping and friction are losses."""
    q, v, tau = state
    a = fn.forward_dynamics(model, q, v, tau)
    (measured,) = rates(energy_core, model, q, v, a).T
    power = (tau * v).sum(axis=-1) - losses(model, v)
    bar = TIGHT * fn.eps * (power_scale(fn, model, State(q, v, a)) + np.abs(power).max())
    np.testing.assert_allclose(measured, power, rtol=0, atol=bar)


def test_rate_of_energy_is_the_power_of_external_forces(fn, model, state):
    q, v, _ = state
    f_ext = pushes(model, 4)
    a = fn.forward_dynamics(model, q, v, 0 * v, f_ext)
    (measured,) = rates(energy_core, model, q, v, a).T
    velocity = fn.body_velocities(model, q, v, frame="world")
    power = (f_ext * velocity).sum(axis=(-2, -1)) - losses(model, v)
    bar = TIGHT * fn.eps * (power_scale(fn, model, State(q, v, a), f_ext) + np.abs(power).max())
    np.testing.assert_allclose(measured, power, rtol=0, atol=bar)


def test_kinetic_energy_is_half_the_quadratic_form_of_the_mass_matrix(fn, model, state):
    q, v, _ = state
    M = fn.mass_matrix(model, q)
    expected = 0.5 * np.einsum("...i,...ij,...j->...", v, M, v)
    np.testing.assert_allclose(fn.kinetic_energy(model, q, v), expected, rtol=512 * fn.eps)


def test_holding_force_is_the_gradient_of_the_potential_energy(fn, model, state):
    """Springs included: their force is the gradient of their energy on every joint."""
    q, v, _ = state
    bare = model.without(friction=True, damping=True)
    held = fn.bias_force(bare, q, 0 * v)

    def potential(model, tree, x, v):
        return readings.potential_energy(model, tree, x)

    columns = [rates(potential, model, q, e + 0 * v, 0 * v)[:, 0] for e in np.eye(model.nv)]
    scale = force_scale(fn, bare, State(q, 0 * v, 0 * v)) + np.abs(held).max()
    np.testing.assert_allclose(
        held, np.stack(columns, axis=-1), rtol=0, atol=TIGHT * fn.eps * scale
    )


# -- momentum


def weight(fn, model, q):
    """Gravity on the whole robot as a force about the world origin."""
    mass = sum(float(body.inertia.m) for body in model.bodies)
    force = mass * np.array(model.gravity)
    return np.concatenate(
        [np.cross(fn.center_of_mass(model, q), force), np.broadcast_to(force, (*q.shape[:-1], 3))],
        axis=-1,
    )


def test_rate_of_momentum_is_the_sum_of_external_forces(fn, floating_model):
    model = floating_model
    q, v, tau = states(fn, model, 4)
    tau[:, :6] = 0  # nothing holds the base
    f_ext = pushes(model, 4)
    a = fn.forward_dynamics(model, q, v, tau, f_ext)
    measured = rates(momentum_core, model, q, v, a)
    expected = f_ext.sum(axis=-2) + weight(fn, model, q)
    bar = TIGHT * fn.eps * (force_scale(fn, model, State(q, v, a), f_ext) + np.abs(expected).max())
    np.testing.assert_allclose(measured, expected, rtol=0, atol=bar)


def test_momentum_of_a_free_tree_without_external_forces_does_not_change(fn, floating_model):
    """Whatever the joints do: motors, springs, damping and friction are inner forces."""
    model = floating_model.without(gravity=True)
    q, v, tau = states(fn, model, 4)
    tau[:, :6] = 0
    a = fn.forward_dynamics(model, q, v, tau)
    bar = TIGHT * fn.eps * force_scale(fn, model, State(q, v, a))
    measured = rates(momentum_core, model, q, v, a)
    np.testing.assert_allclose(measured, np.zeros((4, 6)), rtol=0, atol=bar)
    # and the base bears nothing
    wrench = fn.joint_wrenches(model, q, v, a)
    np.testing.assert_allclose(wrench[:, 0], np.zeros((4, 6)), rtol=0, atol=bar)
    # though the bodies do move against each other
    assert np.abs(wrench[:, 1:]).max() > 0.1


def test_rate_of_momentum_of_a_fixed_robot_is_what_its_base_bears(fn, model, state):
    q, v, tau = state
    a = fn.forward_dynamics(model, q, v, tau)
    measured = rates(momentum_core, model, q, v, a)
    wrench = fn.joint_wrenches(model, q, v, a)
    poses = fn.body_poses(model, q)
    base = np.zeros((4, 6))
    for k, body in enumerate(model.bodies):
        if body.parent < 0:
            R, p = poses[:, k, :3, :3], poses[:, k, :3, 3]
            moment = np.einsum("...ij,...j->...i", R, wrench[:, k, :3])
            force = np.einsum("...ij,...j->...i", R, wrench[:, k, 3:])
            base += np.concatenate([moment + np.cross(p, force), force], axis=-1)
    expected = base + weight(fn, model, q)
    bar = TIGHT * fn.eps * (force_scale(fn, model, State(q, v, a)) + np.abs(expected).max())
    np.testing.assert_allclose(measured, expected, rtol=0, atol=bar)


def test_free_falling_bodies_all_fall_alike(fn, floating_model):
    """With no motion and no joint forces the whole tree falls as one."""
    model = floating_model.without(springs=True)
    q, v, _ = states(fn, model, 3)
    a = fn.forward_dynamics(model, q, 0 * v, 0 * v)
    fall = fn.body_accelerations(model, q, 0 * v, a, frame="world")
    expected = np.broadcast_to([0, 0, 0, *model.gravity], fall.shape)
    condition = np.linalg.cond(fn.mass_matrix(model, q)).max()
    np.testing.assert_allclose(fall, expected, rtol=0, atol=64 * fn.eps * condition * 10)


@pytest.mark.parametrize("name", ["double_pendulum", "tree6"])
def test_energy_is_kept_along_a_simulated_swing(fn, name):
    """RK4 with steps of 1 ms over 0.1 s: drift of order dt^4, far below 1e-9."""
    model = MODELS[name]
    q, v, _ = states(fn, model, ())
    start = fn.kinetic_energy(model, q, v) + fn.potential_energy(model, q)
    dt, zero = 1e-3, np.zeros(model.nv)

    def slope(y):
        x, speed = y[: model.nv], y[model.nv :]
        return np.concatenate([speed, fn.forward_dynamics(model, x, speed, zero)])

    y = np.concatenate([q, v])
    for _ in range(100):
        k1 = slope(y)
        k2 = slope(y + k1 * dt / 2)
        k3 = slope(y + k2 * dt / 2)
        k4 = slope(y + k3 * dt)
        y = y + (k1 + 2 * k2 + 2 * k3 + k4) * dt / 6
    q1, v1 = y[: model.nv], y[model.nv :]
    end = fn.kinetic_energy(model, q1, v1) + fn.potential_energy(model, q1)
    scale = abs(float(fn.kinetic_energy(model, q, v))) + abs(float(start)) + 1
    assert abs(float(end - start)) <= 1e-9 * scale
