"""Concurrent Dynamics: notations, external forces and the steps of the solution, in numbers."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics import stacked
from sixfold.dynamics.inertial import geometry, inertial
from sixfold.dynamics.kinematics import forces_from_world, no_forces
from sixfold.dynamics.operators import BlockMatrix
from sixfold.dynamics.passive import passive_forces
from sixfold.scalar import plain
from sixfold.spatial import Column, Force, Vector3

MODELS = ["tree10", "tree6", "star:5", "puma560"]


def vector(x):
    return np.array([float(plain(c)) for c in x])


def six(x):
    return vector((*x.ang, *x.lin))


def state_of(model, seed=1):
    q, v = sf.random_state(model, seed=seed)
    return q, v, model.positions(q), model.velocities(v)


@pytest.fixture(params=MODELS)
def model(request):
    return sf.load(request.param)


def test_coordinates_split_into_one_column_for_each_joint(model):
    q, v, columns, rates = state_of(model)
    assert [columns[i] for i in model.tree.bodies] == [(x,) for x in q]
    assert [rates[i] for i in model.tree.bodies] == [(x,) for x in v]


def test_stacked_vectors_have_parts_of_different_sizes():
    builder = sf.ModelBuilder("sizes 1, 2, 3")
    for k, joint in enumerate((sf.Revolute("z"), sf.Universal(), sf.Spherical())):
        builder.add_body(f"body{k}", joint=joint, inertia=sf.Inertia.from_mass(1.0))
    model = builder.build()
    parts = {1: Column((1.0,)), 2: Column((2.0, 3.0)), 3: Column((4.0, 5.0, 6.0))}
    assert model.gather(parts) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    q = sf.neutral(model)
    G = {
        i: model.tree.joint[i].calc(x, (0.0,) * model.tree.joint[i].nv).S
        for i, x in model.positions(q).items()
    }
    stack = BlockMatrix.diagonal(G)
    assert list(stack.columns.values()) == [1, 2, 3]
    assert np.array(stack.dense(), float).shape == (18, 6)


def test_positions_are_sums_of_joint_offsets_from_the_ground(model):
    q, _, columns, rates = state_of(model)
    x = geometry(model.tree, columns, rates)
    poses = sf.body_poses(model, q)
    for i in model.tree.bodies:
        chain = sum((vector(x.d[j]) for j in model.tree.support(i)), np.zeros(3))
        assert np.allclose(vector(x.eta[i]), chain)
        assert np.allclose(vector(x.eta[i]), poses[i - 1, :3, 3])
        assert np.allclose([vector(row) for row in x.R[i]], poses[i - 1, :3, :3])
        centre = poses[i - 1, :3, :3] @ vector(model.tree.inertia[i].center)
        assert np.allclose(vector(x.s[i]), centre)


def test_external_forces_at_a_point_enter_with_their_moment_about_the_joint(model):
    q, _, columns, rates = state_of(model)
    tree, rng = model.tree, np.random.default_rng(2)
    for k, body in enumerate(model.bodies, 1):
        force, point = rng.standard_normal(3), rng.standard_normal(3)
        pushed = sf.point_force(model, q, body.name, force, point)
        world = {i: Force.of(list(pushed[i - 1])) for i in tree.bodies}
        push = inertial(tree, columns, rates, forces_from_world(tree, columns, world)).YF
        free = inertial(tree, columns, rates, no_forces(tree)).YF
        y = sf.body_poses(model, q)[k - 1, :3, :3] @ point  # from the joint, in inertial axes
        for i in tree.bodies:
            expected = [*np.cross(y, force), *force] if i == k else np.zeros(6)
            assert np.allclose(six(push[i]) - six(free[i]), expected, atol=1e-12)
        assert np.allclose(
            six(Force.at_point(Vector3(*force), Vector3(*y))), six(push[k] - free[k])
        )


def test_shifts_of_forces_take_them_from_child_to_parent(model):
    _, _, columns, rates = state_of(model)
    x = geometry(model.tree, columns, rates)
    D = inertial(model.tree, columns, rates, no_forces(model.tree)).D
    F = np.random.default_rng(3).standard_normal(6)
    for i in model.tree.bodies:
        d = vector(x.d[i])
        expected = [*(F[:3] + np.cross(d, F[3:])), *F[3:]]
        assert np.allclose(six(D[i].T @ Force.of(list(F))), expected)


def test_springs_and_dampers_are_part_of_the_force_along_the_axis():
    model = sf.random_tree(8, 3, joints=(sf.Revolute, sf.Prismatic), properties=True)
    q, v = sf.random_state(model, seed=4)
    tau = np.random.default_rng(5).standard_normal(model.nv)
    bare = model.without(damping=True, friction=True, springs=True)
    bodies = model.bodies
    spring = [b.stiffness[0] * (x - b.rest[0]) for b, x in zip(bodies, q, strict=True)]
    damper = [b.damping[0] * rate for b, rate in zip(bodies, v, strict=True)]
    dry = [b.friction[0] * np.sign(rate) for b, rate in zip(bodies, v, strict=True)]
    net = tau - np.array(spring) - np.array(damper) - np.array(dry)
    passive = passive_forces(model.tree, model.positions(q), model.velocities(v))
    assert np.allclose(tau - vector(model.gather(passive)), net, rtol=1e-14)
    a = sf.forward_dynamics(model, q, v, tau)
    assert np.allclose(a, sf.forward_dynamics(bare, q, v, net), rtol=1e-10)


@pytest.mark.parametrize("method", ["operators", "operators_dense"])
def test_the_steps_of_the_solution_give_the_accelerations_and_the_next_configuration(model, method):
    model = model.without(damping=True, friction=True)
    q, v, columns, rates = state_of(model)
    tau = np.random.default_rng(6).standard_normal(model.nv)
    # step 1: geometry, D, G, M, A, B and external forces, then (19a) or (19b)
    system = inertial(model.tree, columns, rates, no_forces(model.tree))
    solve = stacked.solve_factorised if method == "operators" else stacked.solve_dense
    qdd = vector(model.gather(solve(system, model.velocities(tau))))
    a = sf.forward_dynamics(model, q, v, tau, method=method)
    assert np.abs(a - qdd).max() < 1e-9 * np.abs(a).max()
    # step 2: to the next time, here by the semi-implicit rule
    step = 1e-3
    after = sf.integrate(model, q, v + step * a, step)
    assert np.allclose(after, q + step * (v + step * a), rtol=0, atol=1e-14)


def hand_derived(equation, q, v, dt, steps):
    """Return q and v after RK4 steps of an equation of motion a = equation(q, v)."""
    y = np.array([q, v], dtype=float)

    def rate(y):
        return np.array([y[1], equation(*y)])

    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(y + dt / 2 * k1)
        k3 = rate(y + dt / 2 * k2)
        k4 = rate(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def swing(q, v):
    """Equation (M4) of the sample `pendulum`, unforced."""
    return -1.0 * 9.81 * 0.5 * np.sin(q) / (0.02 + 1.0 * 0.5**2)


def cart(q, v):
    """Equation (N4) of the sample `cart_pendulum`, with no push on the cart."""
    (m1, m2, L, Izz, g), theta = (2.0, 0.5, 0.4, 0.01, 9.81), q[1]
    c, s = np.cos(theta), np.sin(theta)
    M = [[m1 + m2, m2 * L * c], [m2 * L * c, Izz + m2 * L**2]]
    return np.linalg.solve(M, [m2 * L * s * v[1] ** 2, -m2 * g * L * s])


@pytest.mark.parametrize(
    ("name", "equation", "q", "v"),
    [("pendulum", swing, [1.2], [-0.5]), ("cart_pendulum", cart, [0.3, 1.2], [0.4, -2.0])],
)
def test_the_generic_program_moves_as_the_hand_derived_equations_do(name, equation, q, v):
    dt, steps = 2e-3, 500
    motion = sf.simulate(sf.load(name), q, v, steps * dt, dt=dt, integrator="rk4")
    end = hand_derived(equation, q, v, dt, steps)
    # the same rule with the same steps: a second of rounding lie between them
    assert np.abs(motion.q[-1] - end[0]).max() < 1e-12
    assert np.abs(motion.v[-1] - end[1]).max() < 1e-11
    assert np.abs(motion.q[-1] - q).max() > 0.1


def test_parameters_of_the_cart_and_its_pendulum_are_those_of_example_2():
    model = sf.load("cart_pendulum")
    x, theta, rates = 0.3, 0.8, (0.5, -1.2)
    at = geometry(model.tree, model.positions([x, theta]), model.velocities(rates))
    assert vector(at.eta[1]).tolist() == [x, 0, 0] and vector(at.d[2]).tolist() == [0, 0, 0]
    assert vector(at.omega[1]).tolist() == [0, 0, 0]
    assert vector(at.omega[2]).tolist() == [0, 0, rates[1]]
    assert vector(at.s[1]).tolist() == [0, 0, 0]
    assert np.allclose(vector(at.s[2]), (0.4 * np.sin(theta), -0.4 * np.cos(theta), 0))


def test_swept_bias_of_the_pendulum_is_that_of_example_1():
    model, theta, rate = sf.load("pendulum"), 0.8, -1.3
    m, L, g = 1.0, 0.5, 9.81
    system = inertial(model.tree, {1: (theta,)}, {1: (rate,)}, no_forces(model.tree))
    (F,) = (system.Psi.T @ {1: system.B[1] - system.YF[1]}).values()
    # the acceleration A is zero here, so that (15) at q-ddot = 0 is the same
    assert six(stacked.interbody_forces(system, {1: Column([0.0])})[1]).tolist() == six(F).tolist()
    s = L * np.array([np.sin(theta), -np.cos(theta), 0])
    up = np.array([0, m * g, 0])
    assert np.allclose(six(F), [*np.cross(s, up), *(-m * rate**2 * s + up)])


def test_swept_bias_of_the_cart_and_its_pendulum_is_that_of_example_2():
    model, theta, rate, push = sf.load("cart_pendulum"), 0.8, -1.3, 2.5
    m1, m2, L, g = 2.0, 0.5, 0.4, 9.81
    pushed = {1: Force.of((0, 0, 0, push, 0, 0)), 2: Force.zero()}
    q, qd = model.positions([0.3, theta]), model.velocities([0.7, rate])
    system = inertial(model.tree, q, qd, pushed)
    F = system.Psi.T @ {i: system.B[i] - system.YF[i] for i in (1, 2)}
    still = stacked.interbody_forces(system, {i: Column([0.0]) for i in (1, 2)})
    assert all(np.allclose(six(still[i]), six(F[i]), rtol=0, atol=1e-14) for i in (1, 2))
    s = L * np.array([np.sin(theta), -np.cos(theta), 0])
    up, along = np.array([0, g, 0]), np.array([push, 0, 0])
    swing = -m2 * rate**2 * s
    moment = np.cross(s, m2 * up)
    assert np.allclose(six(F[1]), [*moment, *(-along + m1 * up + swing + m2 * up)])
    assert np.allclose(six(F[2]), [*moment, *(m2 * up + swing)])
