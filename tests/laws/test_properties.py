"""Damping, friction, springs and rotors enter inverse dynamics, forward dynamics and M alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.spatial import Inertia
from tests.cases import some
from tests.dynamics.support import EPS
from tests.laws.support import MODELS, states

FULL = {
    "one": sf.random_tree(1, 5, joints=(sf.Revolute,), properties=True),
    "four": MODELS["tree 4 bodies, damped and sprung"],
    "seven": MODELS["tree 7 bodies, damped and sprung"],
    "puma560": MODELS["puma560"],
}
each = pytest.mark.parametrize("model", FULL.values(), ids=FULL)
EFFECTS = ("damping", "friction", "springs", "armature")


def column(model, name):
    return np.array([x for body in model.bodies for x in getattr(body, name)])


def bare(model):
    return model.without(damping=True, friction=True, springs=True, armature=True)


def difference_made(fn, model, effect, q, v, a):
    """What one effect adds to inverse dynamics."""
    return fn.inverse_dynamics(model, q, v, a) - fn.inverse_dynamics(
        model.without(**{effect: True}), q, v, a
    )


def scale_of(fn, model, q, v, a):
    return 128 * fn.eps * (np.abs(fn.joint_wrenches(model, q, v, a)).max() + 100)


@each
def test_damping_adds_its_coefficient_times_velocity(fn, model):
    q, v, a = states(fn, model, 3)
    found = difference_made(fn, model, "damping", q, v, a)
    expected = column(model, "damping") * v
    np.testing.assert_allclose(found, expected, rtol=0, atol=scale_of(fn, model, q, v, a))


@each
def test_dry_friction_opposes_the_direction_of_motion(fn, model):
    q, v, a = states(fn, model, 3)
    found = difference_made(fn, model, "friction", q, v, a)
    level = np.where(v > 0, column(model, "friction"), column(model, "friction_negative"))
    np.testing.assert_allclose(found, level * np.sign(v), rtol=0, atol=scale_of(fn, model, q, v, a))


@each
def test_springs_pull_towards_their_rest_position(fn, model):
    q, v, a = states(fn, model, 3)
    found = difference_made(fn, model, "springs", q, v, a)
    rest = column(model, "rest")
    stretch = fn.difference(model, rest, q)
    expected = column(model, "stiffness") * stretch
    bar = scale_of(fn, model, q, v, a)
    free = {k for k, body in enumerate(model.bodies) if isinstance(body.joint, sf.Free)}
    for k, body in enumerate(model.bodies):
        if k not in free:  # a free joint's spring is the gradient of its energy: another test
            own = model.v_slice(body.joint_name)
            np.testing.assert_allclose(found[:, own], expected[:, own], rtol=0, atol=bar)
    energy = fn.potential_energy(model, q) - fn.potential_energy(model.without(springs=True), q)
    stored = 0.5 * (column(model, "stiffness") * stretch**2).sum(axis=-1)
    np.testing.assert_allclose(energy, stored, rtol=0, atol=bar)


@each
def test_springs_are_relaxed_at_their_rest_position(fn, model):
    rest = column(model, "rest")
    zero = np.zeros(model.nv)
    found = difference_made(fn, model, "springs", rest, zero, zero)
    np.testing.assert_allclose(found, zero, rtol=0, atol=scale_of(fn, model, rest, zero, zero))


@each
def test_armature_adds_to_the_diagonal_of_the_mass_matrix_and_to_inverse_dynamics(fn, model):
    q, v, a = states(fn, model, 3)
    rotors = column(model, "armature")
    found = difference_made(fn, model, "armature", q, v, a)
    np.testing.assert_allclose(found, rotors * a, rtol=0, atol=scale_of(fn, model, q, v, a))
    M, without = fn.mass_matrix(model, q), fn.mass_matrix(model.without(armature=True), q)
    expected = np.broadcast_to(np.diag(rotors), M.shape)
    np.testing.assert_allclose(M - without, expected, rtol=0, atol=16 * fn.eps * np.abs(M).max())
    energy = fn.kinetic_energy(model, q, v) - fn.kinetic_energy(model.without(armature=True), q, v)
    spin = 0.5 * (rotors * v * v).sum(axis=-1)
    scale = np.abs(fn.kinetic_energy(model, q, v)).max()
    np.testing.assert_allclose(energy, spin, rtol=0, atol=64 * fn.eps * scale)


@each
@pytest.mark.parametrize("method", some(["aba", "crba", "operators", "operators_dense"], 2))
@pytest.mark.parametrize("effect", EFFECTS)
def test_each_effect_enters_forward_dynamics_as_it_enters_inverse_dynamics(
    fn, model, effect, method
):
    only = {name: True for name in EFFECTS if name != effect}
    single = model.without(**only)
    q, v, a = states(fn, single, 2)
    tau = fn.inverse_dynamics(single, q, v, a)
    found = fn.forward_dynamics(single, q, v, tau, method=method)
    condition = np.linalg.cond(fn.mass_matrix(single, q)).max()
    load = np.abs(fn.joint_wrenches(single, q, v, a)).max() + np.abs(tau).max()
    smallest = np.linalg.eigvalsh(fn.mass_matrix(single, q)).min()
    bar = 64 * fn.eps * (condition * np.abs(a).max() + load / smallest)
    np.testing.assert_allclose(found, a, rtol=0, atol=bar)


@each
def test_a_model_without_its_effects_is_the_bare_mechanism(fn, model):
    q, v, a = states(fn, model, 2)
    stripped = bare(model)
    for name in ("damping", "friction", "friction_negative", "stiffness", "armature"):
        assert not column(stripped, name).any()
    rebuilt = sf.ModelBuilder(model.name, gravity=model.gravity)
    for body in model.bodies:
        rebuilt.add_body(
            body.name,
            parent=model.body_names[body.parent] if body.parent >= 0 else None,
            joint=body.joint,
            joint_name=body.joint_name,
            placement=body.placement,
            inertia=body.inertia,
        )
    plain = rebuilt.build()
    np.testing.assert_array_equal(
        fn.inverse_dynamics(stripped, q, v, a), fn.inverse_dynamics(plain, q, v, a)
    )
    np.testing.assert_array_equal(fn.mass_matrix(stripped, q), fn.mass_matrix(plain, q))
    np.testing.assert_array_equal(
        fn.forward_dynamics(stripped, q, v, a), fn.forward_dynamics(plain, q, v, a)
    )


@each
def test_gravity_force_is_the_weight_alone(fn, model):
    q, v, _ = states(fn, model, 3)
    expected = fn.bias_force(bare(model), q, 0 * v)
    bar = 16 * fn.eps * np.abs(fn.joint_wrenches(model, q, 0 * v, 0 * v)).max()
    np.testing.assert_allclose(fn.gravity_force(model, q), expected, rtol=0, atol=bar)


@each
def test_removing_gravity_removes_the_weight(fn, model):
    q, _, _ = states(fn, model, 2)
    np.testing.assert_array_equal(
        fn.gravity_force(model.without(gravity=True), q), np.zeros((2, model.nv))
    )


def test_gravity_may_point_anywhere(fn):
    model = MODELS["tree6"]
    q, _, _ = states(fn, model, 2)
    total = sum(fn.gravity_force(model.with_gravity(g), q) for g in (9.81 * np.eye(3)).tolist())
    whole = fn.gravity_force(model.with_gravity((9.81, 9.81, 9.81)), q)
    np.testing.assert_allclose(total, whole, rtol=0, atol=64 * fn.eps * np.abs(whole).max())
    with pytest.raises(sf.errors.ModelError, match="gravity"):
        model.with_gravity((0.0, math.inf, 0.0))


# -- the friction law


def slider(**properties):
    builder = sf.ModelBuilder("slider", friction_speed=properties.pop("friction_speed", 0.0))
    solid = Inertia.from_mass(2.0)
    builder.add_body("block", joint=sf.Prismatic("x"), inertia=solid, **properties)
    return builder.build()


@pytest.mark.parametrize("backend", ["numpy", None])
def test_friction_may_differ_by_direction(backend):
    model = slider(friction=3.0, friction_negative=5.0)
    v = np.array([[2.0], [0.1], [0.0], [-0.1], [-2.0]])
    tau = sf.inverse_dynamics(model, 0 * v, v, 0 * v, backend=backend)
    np.testing.assert_array_equal(tau[:, 0], [3.0, 3.0, 0.0, -5.0, -5.0])
    acc = sf.forward_dynamics(model, 0 * v, v, 0 * v, backend=backend)
    np.testing.assert_array_equal(acc[:, 0], [-1.5, -1.5, 0.0, 2.5, 2.5])


@pytest.mark.parametrize("backend", ["numpy", None])
def test_friction_with_a_speed_follows_the_hyperbolic_tangent(backend):
    model = slider(friction=3.0, friction_negative=5.0, friction_speed=0.2)
    v = np.linspace(-1, 1, 21)[:, None]
    tau = sf.inverse_dynamics(model, 0 * v, v, 0 * v, backend=backend)
    expected = np.where(v > 0, 3.0, 5.0) * np.tanh(v / 0.2)
    np.testing.assert_allclose(tau, expected, rtol=8 * EPS, atol=0)


def test_friction_of_a_slow_joint_is_its_slope_times_speed(fn):
    model = slider(friction=3.0, friction_speed=0.2)
    tau = fn.inverse_dynamics(model, np.zeros(1), np.array([1e-6]), np.zeros(1))
    assert tau[0] == pytest.approx(3.0 / 0.2 * 1e-6, rel=1e-9)


def test_puma_friction_differs_by_direction(fn):
    model = MODELS["puma560"]
    q = np.zeros(6)
    speeds = np.full((2, 6), 1e-9) * [[1], [-1]]
    dry = fn.bias_force(model, q, speeds) - fn.bias_force(model.without(friction=True), q, speeds)
    expected = [
        [0.395 * 62.6111, 0.126 * 107.815, 0.132 * 53.7063, 11.2e-3 * 76.0364],
        [-0.435 * 62.6111, -0.071 * 107.815, -0.105 * 53.7063, -16.9e-3 * 76.0364],
    ]
    np.testing.assert_allclose(dry[:, :4], expected, rtol=4096 * fn.eps)
