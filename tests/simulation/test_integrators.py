"""The steps: their order, what they keep, and that they are the same on every kind of number."""

import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation import INTEGRATORS
from sixfold.simulation.equations import Equations
from tests.simulation.support import flyer, free_body, heavy_top

each = pytest.mark.parametrize("integrator", INTEGRATORS)


def end_of(model, integrator, count, duration=1.0):
    q0, v0 = sf.random_state(model, seed=3)
    dt = duration / count
    run = sf.simulate(model, q0, 2 * v0, duration, dt=dt, integrator=integrator, every=count)
    return np.concatenate([run.q[-1], run.v[-1]])


@pytest.mark.parametrize("model", [heavy_top(), free_body()], ids=lambda model: model.name)
@pytest.mark.parametrize("integrator", ["rk4", "lie_rk4", "midpoint"])
def test_the_observed_order_on_rotations_is_the_nominal_one(model, integrator):
    exact = end_of(model, "lie_rk4", 6400)
    coarse, fine = (np.abs(end_of(model, integrator, n) - exact).max() for n in (160, 320))
    assert abs(math.log2(coarse / fine) - INTEGRATORS[integrator].order) < 0.1


@pytest.mark.parametrize("model", [heavy_top(), free_body()], ids=lambda model: model.name)
def test_the_observed_order_of_semi_implicit_euler_is_one(model):
    exact = end_of(model, "lie_rk4", 6400)
    ends = (end_of(model, "semi_implicit_euler", n) for n in (4000, 8000))
    coarse, fine = (np.abs(end - exact).max() for end in ends)
    assert abs(math.log2(coarse / fine) - 1) < 0.1


@each
def test_a_step_on_lists_is_the_step_of_a_simulation(integrator):
    model = flyer()
    q, v = sf.random_state(model, seed=5)
    moved, faster = INTEGRATORS[integrator](Equations(model), 0.0, list(q), list(v), 1e-2)
    run = sf.simulate(model, q, v, 1e-2, dt=1e-2, integrator=integrator)
    np.testing.assert_allclose(np.array(moved, float), run.q[-1], rtol=0, atol=2e-14)
    np.testing.assert_allclose(np.array(faster, float), run.v[-1], rtol=0, atol=2e-13)


@each
def test_machine_code_and_numpy_take_the_same_steps(integrator):
    model = flyer()
    q, v = sf.random_state(model, 3, seed=6)
    native = sf.simulate(model, q, v, 0.01, integrator=integrator)
    plain = sf.simulate(model, q, v, 0.01, integrator=integrator, backend="numpy")
    np.testing.assert_allclose(native.q, plain.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(native.v, plain.v, rtol=0, atol=1e-12)


@each
def test_quaternions_stay_of_unit_length(integrator):
    run = sf.simulate(heavy_top(), None, [1.0, -2.0, 3.0], 20.0, integrator=integrator, every=10)
    assert np.abs(np.linalg.norm(run.q, axis=-1) - 1).max() <= 1e-15


@each
def test_every_joint_type_can_be_simulated(integrator):
    model = sf.random_tree(9, seed=4).without(friction=True)
    q, v = sf.random_state(model, seed=1)
    run = sf.simulate(model, q, 0.1 * v, 0.005, integrator=integrator, backend="numpy")
    step = sf.integrate(model, run.q[:-1], 0.5 * (run.v[:-1] + run.v[1:]), 1e-3)
    np.testing.assert_allclose(run.q[1:], step, atol=2e-3)


def test_free_motion_without_forces_is_exact():
    builder = sf.ModelBuilder("slider", gravity=(0, 0, 0))
    builder.add_body("box", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(2.0))
    run = sf.simulate(builder.build(), [1.0], [3.0], 2.0, dt=0.1)
    np.testing.assert_allclose(run.q[:, 0], 1 + 3 * run.t, rtol=1e-15)


def test_lost_digits_are_carried_along():
    # a tenth has no exact double: ten million additions of dt/10 would drift without the carry
    builder = sf.ModelBuilder("slider", gravity=(0, 0, 0))
    builder.add_body("box", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(2.0))
    run = sf.simulate(builder.build(), [1e6], [0.1], 100.0, every=100_000)
    assert run.q[-1, 0] == 1e6 + 10.0


def test_a_flying_tree_keeps_its_momentum_with_lie_rk4():
    model = flyer().with_gravity((0, 0, 0))
    q, v = sf.random_state(model, seed=2)
    run = sf.simulate(model, q, v, 10.0, integrator="lie_rk4", every=50)
    h = sf.momentum(model, run.q, run.v)
    assert np.abs(h - h[0]).max() <= 1e-12 * np.abs(h[0]).max()
    assert run.energy_drift < 1e-9


def test_a_falling_tree_follows_its_parabola_with_lie_rk4():
    model = flyer()
    q, v = sf.random_state(model, seed=2)
    run = sf.simulate(model, q, v, 2.0, integrator="lie_rk4", every=50)
    mass = sum(body.inertia.m for body in model.bodies)
    flight = np.outer(run.t, sf.momentum(model, q, v)[3:] / mass)
    flight -= np.outer(run.t**2, [0, 0, 9.81 / 2])
    center = sf.center_of_mass(model, run.q)
    np.testing.assert_allclose(center - center[0], flight, atol=1e-12)
    spin = sf.centroidal_momentum(model, run.q, run.v)[:, :3]
    assert np.abs(spin - spin[0]).max() < 1e-12


def test_momentum_is_not_kept_where_a_force_acts_on_the_base():
    model = flyer()
    lift = np.zeros((model.nb, 6))
    lift[0, 5] = 9.81 * sum(body.inertia.m for body in model.bodies)
    run = sf.simulate(model, None, None, 1.0, integrator="lie_rk4", f_ext=lift, every=1000)
    assert np.abs(sf.momentum(model, run.q, run.v)[-1, 5]) < 1e-8

    def thrust(t, q, v):
        return np.array([0.0] * 5 + [lift[0, 5]] + [0.0] * (model.nv - 6))

    ends = [
        sf.simulate(model, None, None, 0.02, integrator=name, control=thrust, backend=backend).v[-1]
        for name in ("rk4", "lie_rk4")
        for backend in (None, "numpy")
    ]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-8)


def test_energy_of_the_midpoint_rule_has_no_trend():
    model = sf.load("double_pendulum")
    run = sf.simulate(model, [1.0, 0.5], None, 100.0, integrator="midpoint", every=10)
    assert abs(np.polyfit(run.t, run.total, 1)[0]) < 1e-8
    assert run.energy_drift < 2e-4


def test_energy_of_rk4_drifts_by_little():
    model = sf.load("double_pendulum")
    assert sf.simulate(model, [1.0, 0.5], None, 100.0, every=10).energy_drift <= 1e-8
    assert sf.simulate(model, [1.0, 0.5], None, 10.0, dt=1e-4, every=100).energy_drift <= 1e-12


def test_joints_of_a_coupled_model_skip_the_followers():
    builder = sf.ModelBuilder("hand")
    inertia = sf.Inertia.from_mass(1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    builder.add_body("palm", joint=sf.Revolute("z"), inertia=inertia)
    builder.add_body("tip", parent="palm", joint=sf.Revolute("y"), inertia=inertia)
    builder.couple("tip_joint", ("palm_joint", 0.5))
    model = builder.build()
    assert [joint.v for joint in model.coordinates.free] == [slice(0, 1)]
    run = sf.simulate(model, [0.3], [1.0], 1.0)
    assert run.q.shape == (1001, 1) and run.energy_drift < 1e-10


def top(inertias=(1.0, 2.0, 3.0), center=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0)):
    """Return a body that spins freely."""
    builder = sf.ModelBuilder("top", gravity=gravity)
    inertia = sf.Inertia.from_mass(1.0, center, inertias)
    builder.add_body("top", joint=sf.Free(), inertia=inertia)
    return builder.build()


def errors_on_the_top(model, push, integrator, steps):
    """Return errors of pose and velocity 12 s after a spin about the middle axis, by steps."""
    v = [push, 5.0, 0.0, 0.1, 0.2, 0.3]
    end = {"every": 10**6}
    exact = sf.simulate(model, None, v, 12.0, dt=2e-4, integrator="rk4", **end)
    found = []
    for dt in steps:
        run = sf.simulate(model, None, v, 12.0, dt=dt, integrator=integrator, **end)
        off = sf.difference(model, run.q[-1], exact.q[-1])
        found.append((np.linalg.norm(off), np.linalg.norm(run.v[-1] - exact.v[-1])))
    return np.array(found)


@pytest.mark.parametrize("push", [0.1, 0.01, 1e-4])
@pytest.mark.parametrize("inertias", [(1.0, 2.0, 3.0), (0.2, 0.5, 0.6)])
def test_lie_rk4_is_no_less_accurate_than_rk4_on_the_dzhanibekov_top(inertias, push):
    model, steps = top(inertias), (0.02, 0.01)
    lie, plain = (errors_on_the_top(model, push, name, steps) for name in ("lie_rk4", "rk4"))
    assert (lie[:, 0] < plain[:, 0]).all()
    assert (lie[:, 1] < 4 * plain[:, 1]).all()


@pytest.mark.parametrize("integrator", ["rk4", "lie_rk4"])
def test_the_order_on_the_dzhanibekov_top_is_four(integrator):
    errors = errors_on_the_top(top(), 0.01, integrator, (0.04, 0.02, 0.01))
    orders = np.log2(errors[:-1] / errors[1:])
    np.testing.assert_allclose(orders[:, 0], 4.0, atol=0.25)


def test_lie_rk4_keeps_momentum_and_energy_of_a_tumbling_body():
    model = top((0.1, 0.2, 0.25), center=(0.1, -0.2, 0.05), gravity=(0.0, 0.0, -9.81))
    v = [1e-3, 5.0, 0.0, 1.0, 0.0, 3.0]
    run = sf.simulate(model, None, v, 20.0, dt=5e-3, integrator="lie_rk4", every=10)
    L = sf.centroidal_momentum(model, run.q, run.v)[:, :3]
    assert np.abs(L - L[0]).max() < 1e-12 * np.abs(L[0]).max()
    assert run.energy_drift < 1e-6 * run.kinetic[0]


def test_lie_rk4_leaves_a_body_at_rest_alone():
    run = sf.simulate(top(), None, None, 0.1, integrator="lie_rk4")
    assert not run.v.any() and np.isfinite(run.q).all()
    options = {"dt": 1e-2, "steps": 5, "integrator": "lie_rk4", "dtype": "float32"}
    q, v = sf.rollout(top(), None, np.zeros((3, 6)), **options)
    assert not v.any() and np.isfinite(q).all()
