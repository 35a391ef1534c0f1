"""Forces that depend on time: every integrator keeps its order, in every way it can run.

The reference is SciPy's solver at a tolerance of 1e-12, on the same equation of motion; a slider
under a sine has a closed form.  A wrong time in a single stage costs an order.
"""

import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation import INTEGRATORS
from sixfold.simulation.integrators import CLASSICAL

PENDULUM = sf.load("pendulum")
START, DURATION = ([0.4], [-0.3]), 2.0
STEPS = {"semi_implicit_euler": (400, 800), "rk4": (20, 40), "lie_rk4": (20, 40)}
STEPS["midpoint"] = (60, 120)

each = pytest.mark.parametrize("integrator", INTEGRATORS)


def drive(t, q, v):
    return np.array([2.0 * sf.math.sin(3.0 * t) + sf.math.cos(7.0 * t)])


def python_drive(t, q, v):
    return np.array([2.0 * math.sin(3.0 * t) + math.cos(7.0 * t)])


def push(t, q, v):
    """The same moment as an external force on the bob, about its axis z."""
    zero = 0.0 * t
    return np.array(
        [[zero, zero, 2.0 * sf.math.sin(3.0 * t) + sf.math.cos(7.0 * t), zero, zero, zero]]
    )


def python_push(t, q, v):
    return np.array([[0.0, 0.0, float(python_drive(t, q, v)[0]), 0.0, 0.0, 0.0]])


def simulated(integrator, n, **law):
    dt = DURATION / n
    run = sf.simulate(PENDULUM, *START, DURATION, dt=dt, every=n, integrator=integrator, **law)
    return np.concatenate([run.q[-1], run.v[-1]])


def rolled_out(integrator, n, **law):
    q, v = sf.rollout(
        PENDULUM, *START, dt=DURATION / n, steps=n, every=n, integrator=integrator, **law
    )
    return np.concatenate([q[-1], v[-1]])


@pytest.fixture(scope="module")
def exact():
    solution = pytest.importorskip("scipy.integrate").solve_ivp(
        lambda t, y: [
            y[1],
            float(sf.forward_dynamics(PENDULUM, y[:1], y[1:], python_drive(t, y[:1], y[1:]))[0]),
        ],
        (0.0, DURATION),
        [START[0][0], START[1][0]],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    return solution.y[:, -1]


WAYS = {
    "simulate, compiled": (simulated, {"control": drive}),
    "simulate, Python": (simulated, {"control": python_drive, "compiled": False}),
    "simulate, numpy": (simulated, {"control": drive, "backend": "numpy"}),
    "simulate, f_ext compiled": (simulated, {"f_ext": push}),
    "simulate, f_ext Python": (simulated, {"f_ext": python_push, "compiled": False}),
    "rollout, compiled": (rolled_out, {"control": drive}),
    "rollout, Python": (rolled_out, {"control": python_drive, "compiled": False}),
    "rollout, numpy": (rolled_out, {"control": drive, "backend": "numpy"}),
}


@each
@pytest.mark.parametrize("way", WAYS)
def test_a_driven_pendulum_shows_the_nominal_order(way, integrator, exact):
    run, law = WAYS[way]
    coarse, fine = (np.abs(run(integrator, n, **law) - exact).max() for n in STEPS[integrator])
    assert abs(math.log2(coarse / fine) - INTEGRATORS[integrator].order) < 0.25


@each
def test_all_ways_to_run_a_driven_pendulum_agree(integrator):
    ends = [run(integrator, 50, **law) for run, law in WAYS.values()]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", ["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("law", [{"control": drive}, {"control": python_drive, "compiled": False}])
def test_every_adaptive_solver_follows_the_drive_within_its_tolerance(solver, law, exact):
    options = {"integrator": solver, "dt": 0.5}
    errors = []
    for rtol in (1e-4, 1e-7):
        run = sf.simulate(
            PENDULUM, *START, DURATION, tolerances=(rtol, rtol * 1e-2), **options, **law
        )
        end = np.concatenate([run.q[-1], run.v[-1]])
        errors.append(np.abs(end - exact).max())
    assert errors[0] < 0.05 and errors[1] < 1e-4 and errors[1] < 0.1 * errors[0]


@each
@pytest.mark.parametrize("t0", [0.0, 1.7])
def test_the_time_of_each_stage_is_where_the_table_says(integrator, t0):
    times = []

    def law(t, q, v):
        times.append(float(t))
        return np.array([0.0])

    h = 0.125
    sf.simulate(PENDULUM, *START, h, dt=h, t0=t0, integrator=integrator, control=law)
    # a sample is looked at before the step and after it; the first look is also the first stage
    if integrator == "midpoint":  # iterations that change nothing are not seen
        assert set(times[1:-1]) == {t0 + 0.5 * h}
        times = [times[0], times[-1]]
    between = [0.5, 0.5, 1.0] if "rk4" in integrator else []
    assert times == [t0 + place * h for place in (0.0, *between, 1.0)]


def test_the_table_of_kuttas_method_satisfies_the_order_conditions():
    reach, weight = zip(*CLASSICAL, strict=True)
    b = np.array(weight) / 6
    c = np.array(reach)
    A = np.diag(c[1:], -1)
    conditions = {
        "1": (b.sum(), 1),
        "2": (b @ c, 1 / 2),
        "3a": (b @ c**2, 1 / 3),
        "3b": (b @ A @ c, 1 / 6),
        "4a": (b @ c**3, 1 / 4),
        "4b": ((b * c) @ A @ c, 1 / 8),
        "4c": (b @ A @ c**2, 1 / 12),
        "4d": (b @ A @ A @ c, 1 / 24),
    }
    for got, want in conditions.values():
        assert math.isclose(got, want, rel_tol=1e-15)


@pytest.mark.parametrize("integrator", ["rk4", "lie_rk4"])
@pytest.mark.parametrize("k", range(4))
def test_every_number_of_the_table_counts(integrator, k, monkeypatch):
    """No entry of the table is dead: another first, second... weight gives another motion."""
    from sixfold.simulation import integrators

    before = simulated(integrator, 20, control=drive, backend="numpy")
    changed = list(CLASSICAL)
    changed[k] = (changed[k][0], changed[k][1] + 0.5)
    monkeypatch.setattr(integrators, "CLASSICAL", tuple(changed))
    after = simulated(integrator, 20, control=drive, backend="numpy")
    assert np.abs(after - before).max() > 1e-3


def test_a_slider_under_a_sine_follows_its_closed_form():
    builder = sf.ModelBuilder("slider", gravity=(0, 0, 0))
    builder.add_body("box", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(2.0))
    model = builder.build()

    def law(t, q, v):
        return np.array([4.0 * sf.math.sin(5.0 * t)])

    def place(t):  # 2 x'' = 4 sin 5 t, at rest at 0
        return 0.4 * t - 2.0 / 25 * np.sin(5.0 * t)

    run = sf.simulate(model, [0.0], [0.0], 2.0, dt=1e-2, control=law)
    np.testing.assert_allclose(run.q[:, 0], place(run.t), atol=1e-8)
    q, _ = sf.rollout(model, [0.0], [0.0], dt=1e-2, steps=200, control=law, integrator="rk4")
    np.testing.assert_allclose(q[:, 0], place(run.t[1:]), atol=1e-8)
