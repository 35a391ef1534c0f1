"""Optimal control: motions that cost least, and regulators along them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import sixfold as sf
from sixfold.control import trajectory_optimization as solve

CART = sf.load("cart_pendulum")
ARM = sf.load("double_pendulum")


def cheap(t, q, v, tau):
    return 1e-3 * tau @ tau + 0.01 * v @ v


def upright(q, v):
    return 200 * (2 + 2 * np.cos(q[1]) + 0.1 * v @ v + q[0] ** 2)


def reach(q, v, goal):
    return 50 * (q - goal) @ (q - goal) + v @ v


def effort(t, q, v, tau, goal):
    return 0.01 * tau @ tau


def limited(model, **limits):
    """Return a model with limits on every joint."""
    bodies = tuple(
        replace(body, **{name: (x,) * body.joint.nv for name, x in limits.items()})
        for body in model.bodies
    )
    return replace(model, bodies=bodies)


def swing_up(method="ddp", count=8, **options):
    guess = np.zeros((count, 80, 2))
    guess[..., 0] = np.random.default_rng(0).normal(size=(count, 80)) * 3
    given = {"dt": 0.025, "steps": 80, "cost": cheap, "final_cost": upright, "joints": ["slide"]}
    return sf.control.optimal_control(CART, None, None, guess, method=method, **given, **options)


def test_a_cart_pole_swings_up_from_random_guesses():
    found = swing_up()
    assert found.converged.all()
    assert np.abs(np.cos(found.q[:, -1, 1]) + 1).max() < 1e-2
    assert (found.tau[..., 1] == 0).all()
    assert found.q.shape == (8, 81, 2)
    assert found.tau.shape == (8, 80, 2)
    assert found.gains.shape == (8, 80, 2, 4)


def test_the_motion_is_a_rollout_and_the_cost_that_of_rollout_gradient():
    found = swing_up(count=2)
    start = np.zeros(2)
    q, v = sf.rollout(CART, start, start, found.tau, dt=0.025, steps=80)
    assert found.q[:, 1:] == pytest.approx(q, abs=1e-9)
    assert found.v[:, 1:] == pytest.approx(v, abs=1e-9)
    again = sf.rollout_gradient(
        CART, start, start, found.tau, dt=0.025, steps=80, cost=cheap, final_cost=upright
    )
    assert found.cost == pytest.approx(again.cost, rel=1e-9)
    assert np.abs(again.tau[..., 0]).max() < 1e-4 * np.abs(found.cost).max()  # nothing to gain


def test_ddp_converges_quadratically_and_ilqr_linearly():
    goal = np.array([1.5, -0.8])
    options = {"dt": 0.02, "steps": 50, "cost": effort, "final_cost": reach}
    options |= {"cost_parameters": goal, "tolerance": 1e-15}
    left = {}
    for method in ("ddp", "ilqr"):
        found = sf.control.optimal_control(ARM, [0.3, 0.2], None, method=method, **options)
        left[method] = found.history - found.history.min()
    # a squared error is squared again in each step, down to rounding
    small = [(a, b) for a, b in pairwise(left["ddp"]) if 1e-7 < a < 1e-2]
    assert small
    assert all(b <= 100 * a**2 + 1e-13 for a, b in small)
    assert len(left["ddp"]) < len(left["ilqr"])


def test_a_linear_problem_takes_one_step_and_has_the_gains_of_lqr():
    builder = sf.ModelBuilder("cart", gravity=(0.0, 0.0, 0.0))
    builder.add_body(
        "cart", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(2.0, (0, 0, 0), (1, 1, 1))
    )
    model = builder.build()

    def cost(t, q, v, tau):
        return q @ q + 0.1 * v @ v + 0.01 * tau @ tau

    found = sf.control.optimal_control(model, [1.0], [0.0], dt=0.05, steps=300, cost=cost)
    assert found.iterations == 2  # one that solves it, one that finds nothing more
    line = sf.control.linearize(model, [0.0], [0.0], [0.0], dt=0.05)
    steady = sf.control.lqr(line, np.diag([1.0, 0.1]) * 0.05, 0.01 * 0.05)
    assert -found.gains[0] == pytest.approx(steady.K, rel=1e-6)


def test_effort_limits_hold():
    weak = limited(ARM, effort_limit=6.0)
    options = {"dt": 0.02, "steps": 60, "cost": effort, "final_cost": reach}
    goal = np.array([0.6, 0.4])
    free = sf.control.optimal_control(
        weak, None, None, limits=False, cost_parameters=goal, **options
    )
    held = sf.control.optimal_control(weak, None, None, cost_parameters=goal, **options)
    assert np.abs(free.tau).max() > 6.0
    assert np.abs(held.tau).max() <= 6.0
    assert held.converged
    assert held.cost > free.cost


@pytest.mark.parametrize("method", ["ddp", "ilqr"])
def test_state_limits_hold(method):
    slow = limited(ARM, velocity_limit=1.2)
    options = {"dt": 0.02, "steps": 60, "cost": effort, "final_cost": reach, "method": method}
    goal = np.array([1.0, 0.4])
    free = sf.control.optimal_control(slow, None, None, cost_parameters=goal, **options)
    held = sf.control.optimal_control(
        slow, None, None, cost_parameters=goal, state_limits=True, tolerance=1e-8, **options
    )
    assert np.abs(free.v).max() > 1.3
    assert held.converged
    assert np.abs(held.v).max() <= 1.2 + 1e-4
    assert held.violation <= 1e-4
    assert held.cost > free.cost


def test_rows_have_costs_of_their_own_and_do_not_meet():
    goals = np.array([[0.5, 0.1], [0.2, -0.4], [-0.3, 0.3]])
    options = {"dt": 0.02, "steps": 40, "cost": effort, "final_cost": reach}
    found = sf.control.optimal_control(ARM, None, None, cost_parameters=goals, **options)
    assert found.converged.all()
    for k, goal in enumerate(goals):
        alone = sf.control.optimal_control(ARM, None, None, cost_parameters=goal, **options)
        assert alone.cost == pytest.approx(found.cost[k], rel=1e-7)
        assert found.q[k, -1] == pytest.approx(goal, abs=0.2)


def test_no_rows_give_no_motions():
    found = sf.control.optimal_control(ARM, np.zeros((0, 2)), None, dt=0.01, steps=3, cost=cheap)
    assert found.q.shape == (0, 4, 2)
    assert "0 of 0" in repr(found)


def test_one_row_is_a_trajectory():
    found = swing_up(count=2)
    motion = found.trajectory(1)
    assert motion.q.shape == (81, 2)
    assert motion.duration == pytest.approx(2.0)
    assert "2 of 2 converged" in repr(found)
    with pytest.raises(sf.errors.OptionError):
        found.trajectory()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"cost": None}, sf.errors.ArgumentError),
        ({"method": "sqp"}, sf.errors.OptionError),
        ({"steps": 0}, sf.errors.OptionError),
        ({"dt": -1.0}, sf.errors.OptionError),
        ({"tolerance": 0.0}, sf.errors.OptionError),
        ({"iterations": 0}, sf.errors.OptionError),
        ({"joints": "shoulder"}, sf.errors.ArgumentError),
        ({"joints": ["nowhere"]}, sf.errors.UnknownNameError),
        ({"state_limits": True}, sf.errors.NotApplicableError),
        ({"cost": lambda t, q: 0.0}, sf.errors.CallbackError),
        ({"cost": lambda t, q, v, tau: q}, sf.errors.ShapeError),
        ({"tau": np.zeros((3, 2))}, sf.errors.ShapeError),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, error):
    given = {"dt": 0.01, "steps": 5, "cost": cheap} | options
    with pytest.raises(error):
        sf.control.optimal_control(ARM, None, None, **given)


def test_models_with_quaternions_are_refused():
    with pytest.raises(sf.errors.NotApplicableError, match="rate of a coordinate"):
        sf.control.optimal_control(
            sf.load("floating_link"), None, None, dt=0.01, steps=5, cost=cheap
        )


def test_a_regulator_along_a_motion_costs_what_it_says():
    rng = np.random.default_rng(0)
    A, B = np.eye(3) + 0.1 * rng.normal(size=(20, 3, 3)), rng.normal(size=(20, 3, 1))
    found = sf.control.tvlqr(A, B, Q=1.0, R=[0.3], final=5.0)
    x = x0 = rng.normal(size=3)
    spent = 0.0
    for a, b, K in zip(A, B, found.K, strict=True):
        u = -K @ x
        spent += x @ x + 0.3 * u @ u
        x = a @ x + b @ u
    assert spent + 5 * x @ x == pytest.approx(x0 @ found.S[0] @ x0)
    two = sf.control.tvlqr(np.stack([A, A]), B, Q=1.0, R=[0.3], final=5.0)
    assert two.K[1] == pytest.approx(found.K)


def test_a_regulator_along_a_motion_keeps_it():
    plan = swing_up(count=1)
    q, v, tau = plan.q[0], plan.v[0], plan.tau[0]
    line = sf.control.linearize(CART, q[:-1], v[:-1], tau, dt=0.025)
    gains = sf.control.tvlqr(line.A, line.B[..., :1], [10.0, 10.0, 1.0, 1.0], 0.1).K
    ends = []
    for use in (0.0, 1.0):
        x, xd = q[0] + [0.05, 0.05], v[0]
        for k in range(len(tau)):
            off = np.concatenate([x - q[k], xd - v[k]])
            push = tau[k] - use * np.array([(gains[k] @ off)[0], 0.0])
            x, xd = (y[-1] for y in sf.rollout(CART, x, xd, push, dt=0.025, steps=1))
        ends.append(np.abs(x - q[-1]).max())
    assert ends[1] < 0.1 * ends[0]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((np.eye(2), np.ones((2, 1)), 1.0, 1.0), sf.errors.ShapeError),
        ((np.ones((3, 2, 2)), np.ones((4, 2, 1)), 1.0, 1.0), sf.errors.ShapeError),
        ((np.ones((3, 2, 2)), np.ones((3, 2, 1)), -1.0, 1.0), sf.errors.NumberError),
        ((np.ones((3, 2, 2)), np.ones((3, 2, 1)), 1.0, 0.0), sf.errors.NumberError),
        ((np.full((3, 2, 2), np.nan), np.ones((3, 2, 1)), 1.0, 1.0), sf.errors.NumberError),
    ],
)
def test_regulators_refuse_what_makes_no_sense(arguments, error):
    with pytest.raises(error):
        sf.control.tvlqr(*arguments)


def test_a_regulator_takes_a_linearisation_in_discrete_time():
    line = sf.control.linearize(ARM, np.zeros((4, 2)), np.zeros(2), np.zeros(2), dt=0.01)
    assert sf.control.tvlqr(line, 1.0, 1.0).K.shape == (4, 2, 4)
    with pytest.raises(sf.errors.NotApplicableError, match="continuous"):
        sf.control.tvlqr(
            sf.control.linearize(ARM, np.zeros((4, 2)), np.zeros(2), np.zeros(2)), 1.0, 1.0
        )
    with pytest.raises(sf.errors.ArgumentError):
        sf.control.tvlqr(line, 1.0)


@pytest.mark.parametrize("method", ["ilqr", "ddp"])
@pytest.mark.parametrize("mu", [0.0, 1e-3])
def test_both_backward_sweeps_find_the_same_gains(monkeypatch, method, mu):
    model = sf.load("double_pendulum")
    begun = []
    monkeypatch.setattr(solve, "_minimise", lambda sweeps, state, *_: begun.append((sweeps, state)))
    sf.control.optimal_control(
        model,
        [[0.3, -0.2], [0.5, 0.1], [-0.4, 0.2]],
        None,
        dt=0.02,
        steps=20,
        cost=lambda t, q, v, tau: 1e-2 * tau @ tau + 0.1 * q @ tau + q @ q + 0.1 * v @ v,
        final_cost=lambda q, v: 10.0 * q @ q + v @ v,
        method=method,
    )
    ((sweeps, state),) = begun
    rows = np.arange(3)
    state.mu[:] = mu
    near = sweeps._nodes(state, rows)
    near = sweeps._add_curvature(state, rows, near) if method == "ddp" else near
    found, kept = [], []
    ways = [lambda: sweeps._sweep_forces(state, rows, near)]
    ways.append(lambda: sweeps._sweep_rows(state, rows, near))
    if method == "ilqr":  # nodes by inverse dynamics, not by F and G
        ways.append(lambda: sweeps._backward(state, rows)[0])
    for sweep in ways:
        state.k[:] = state.K[:] = state.expected[:] = np.nan
        kept.append(sweep())
        good = kept[0]
        found.append([x[good].copy() for x in (state.k, state.K, state.expected)])
    # with second derivatives not every start is convex
    assert kept[0].any()
    for other, numbers in zip(kept[1:], found[1:], strict=True):
        assert np.array_equal(kept[0], other)
        for a, b in zip(found[0], numbers, strict=True):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-9 * np.abs(b).max())


def test_one_start_is_solved_as_in_a_batch():
    model = sf.load("double_pendulum")
    q0 = np.array([[0.5, 0.2], [1.0, -0.5], [-0.7, 0.3], [0.2, 0.2]])
    options = {
        "dt": 0.02,
        "steps": 30,
        "cost": lambda t, q, v, tau: 1e-2 * tau @ tau,
        "final_cost": lambda q, v: 100.0 * q @ q + v @ v,
    }
    many = sf.control.optimal_control(model, q0, None, **options)
    assert many.converged.all()
    for k in range(4):
        one = sf.control.optimal_control(model, q0[k], None, **options)
        assert one.cost == pytest.approx(many.cost[k], rel=1e-8)


def hanging(q, v):
    """Cost of not standing upright; the pendulum hangs at 0."""
    return 100 * ((1 + np.cos(q[0])) ** 2 + np.sin(q[0]) ** 2 + v[0] ** 2)


def slight(t, q, v, tau):
    return 0.01 * tau[0] ** 2


def test_the_zero_guess_of_a_swing_up_is_pushed_off_its_saddle_point():
    options = {"dt": 0.02, "steps": 100, "cost": slight, "final_cost": hanging}
    found = sf.control.optimal_control(sf.load("pendulum"), [0.0], [0.0], **options)
    assert found.history[0] > 399.0  # it hangs, and no force changes the cost to first order
    assert found.converged and found.pushed and found.cost < 0.1
    assert "1 pushed off a saddle point" in repr(found)


def test_a_cart_that_balances_is_not_taken_for_the_best_way_to_fall():
    def down(q, v):
        return 200 * (2 - 2 * np.cos(q[1]) + v @ v + q[0] ** 2)

    options = {"dt": 0.02, "steps": 150, "cost": slight, "final_cost": down, "joints": ["slide"]}
    found = sf.control.optimal_control(CART, [0.0, np.pi], None, **options)
    assert found.converged and found.pushed and found.cost < 10.0


def test_each_row_says_why_it_stopped():
    guess = np.zeros((3, 100, 1))
    guess[1] = 1e200
    guess[2] = np.linspace(0.0, 5.0, 100)[:, None]
    options = {"dt": 0.02, "steps": 100, "cost": slight, "final_cost": hanging}
    found = sf.control.optimal_control(
        sf.load("pendulum"), [0.0], [0.0], guess, iterations=3, **options
    )
    assert found.status.tolist() == ["iterations", "not finite", "iterations"]
    assert "0 of 3 converged, 2 used up their iterations, 1 began with a cost" in repr(found)
    whole = sf.control.optimal_control(sf.load("pendulum"), [0.0], [0.0], guess, **options)
    assert whole.status.tolist() == ["converged", "not finite", "converged"]
    assert (whole.converged == (whole.status == "converged")).all()
    assert whole.pushed.tolist() == [True, False, False]
    alone = sf.control.optimal_control(sf.load("pendulum"), [0.0], [0.0], **options)
    assert np.allclose(alone.cost, whole.cost[0], rtol=1e-6)


def test_a_row_that_no_state_within_the_limits_can_serve_says_so():
    model = limited(sf.load("pendulum"), lower=0.5, upper=1.0)
    options = {"dt": 0.02, "steps": 20, "cost": slight, "final_cost": hanging}
    found = sf.control.optimal_control(model, [0.0], [0.0], state_limits=True, **options)
    assert not found.converged and found.violation > 0.4
    assert found.status in ("state limits", "iterations", "stalled")
    assert "0 of 1 converged, 1 " in repr(found)
