"""Mechanisms against values known to many digits: four-bars, slider-crank, Bricard, Andrews."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sixfold as sf
from tests.constraints import andrews, mechanisms
from tests.constraints.mechanisms import bricard, four_bar


def crank_motion(model, q):
    """Return the velocities of the closed loop at a crank speed of one."""
    _, _, Vt = np.linalg.svd(sf.loops.constraint_jacobian(model, q, backend="numpy"))
    return Vt[-1] / Vt[-1][0]


def reduced_inertia(model, q):
    n = crank_motion(model, q)
    return n @ sf.mass_matrix(model, q, backend="numpy") @ n


@pytest.mark.parametrize(("degrees", "period"), [(30.0, 1.8631603368827), (60.0, 1.9652966975531)])
def test_a_parallelogram_swings_as_a_pendulum(degrees, period):
    model = four_bar(1.0, 1.0, 1.0, 1.0, (1.0, 1.0, 1.0))
    angle = np.radians(degrees) - np.pi / 2
    lowest = sf.Event(lambda t, q, v: q[0] + np.pi / 2, direction=-1, stop=True)
    run = sf.simulate(model, [angle, -angle, angle], None, 1.0, dt=5e-4, events=lowest)
    assert 4 * run.events[0].t == pytest.approx(period, rel=1e-11)
    assert np.abs(sf.loops.constraint_gaps(model, run.q, backend="numpy")).max() < 1e-14


def test_a_general_four_bar_turns_in_the_known_time():
    model = four_bar(1.0, 0.5, 1.2, 0.9, (0.5, 1.2, 0.9))
    q = sf.loops.assemble(model, [np.pi / 3, -0.7, 1.1], hold=["crank_joint"])
    assert q[0] + q[1] == pytest.approx(0.3211050148306, abs=1e-12)
    assert q[2] == pytest.approx(1.1242538202174, abs=1e-12)
    assert reduced_inertia(model, q) == pytest.approx(0.3826696472926, abs=1e-12)
    end = q[0] - 2 * np.pi
    turned = sf.Event(lambda t, q, v: q[0] - end, stop=True)
    start = -8 * crank_motion(model, q)
    run = sf.simulate(model, q, start, 0.8, dt=1e-4, events=turned, every=100)
    assert run.events[0].t == pytest.approx(0.6619935258795, rel=2e-11)


def test_a_slider_crank_speeds_up_and_slows_down():
    model = mechanisms.slider_crank()
    q = np.array([0.0, 0.0, 0.7])
    assert reduced_inertia(model, q) == pytest.approx(0.04, abs=1e-14)
    quarters = [
        sf.Event(lambda t, q, v: q[0] - np.pi / 2),
        sf.Event(lambda t, q, v: q[0] - np.pi),
        sf.Event(lambda t, q, v: q[0] - 2 * np.pi, stop=True),
    ]
    start = 10 * crank_motion(model, q)
    run = sf.simulate(model, q, start, 1.0, dt=2e-4, events=quarters, every=100)
    upright, far, whole = run.events
    assert upright.v[0] == pytest.approx(np.sqrt(30.0), rel=1e-11)
    assert far.v[0] == pytest.approx(10.0, rel=1e-11)
    assert whole.t == pytest.approx(0.9108137798403, rel=1e-11)


def test_the_bricard_mechanism_keeps_its_energy_although_a_row_is_redundant():
    model, q = bricard(), np.full(5, np.pi / 2)
    found = sf.loops.mobility(model, q)
    assert (found.freedoms, found.rows, found.redundant, found.mobility) == (5, 5, 1, 1)
    assert not found.singular
    run = sf.simulate(model, q, None, 10.0, dt=2.5e-4, every=400)
    assert np.abs(run.v).max() > 5  # it does move
    assert run.energy_drift < 1e-10
    assert np.abs(sf.loops.constraint_gaps(model, run.q, backend="numpy")).max() < 1e-13


def test_single_precision_keeps_accelerations_of_redundant_rows():
    """How redundant rows share a force is lost in rounding; what they do together is not."""
    model, q = bricard(), np.full(5, np.pi / 2)
    v = crank_motion(model, q) * np.linspace(-3.0, 3.0, 20)[:, None]
    tau = np.random.default_rng(1).normal(size=(20, 5))
    exact, _ = sf.loops.constrained_dynamics(model, q, v, tau)
    rough, _ = sf.loops.constrained_dynamics(model, *(x.astype(np.float32) for x in (q, v, tau)))
    assert rough.dtype == np.float32
    np.testing.assert_allclose(rough, exact, rtol=0, atol=1e-3 * np.abs(exact).max())


def test_a_flat_parallelogram_is_singular_and_stays_finite():
    """All rods in line: a second motion appears, and G loses rank on the way."""
    model = four_bar(1.0, 0.5, 1.0, 0.5, (0.5, 1.0, 0.5))
    flat = np.zeros(3)
    found = sf.loops.mobility(model, flat)
    assert found.singular and found.mobility == 1
    rank = np.linalg.matrix_rank(sf.loops.constraint_jacobian(model, flat), tol=1e-9)
    assert model.nv - rank == 2
    for v in (np.zeros(3), np.array([3.0, -3.0, 3.0])):
        for tau in (np.zeros(3), np.array([1.0, 0.5, -0.3])):
            a, forces = sf.loops.constrained_dynamics(model, flat, v, tau)
            assert np.isfinite(a).all() and np.abs(a).max() < 1e3
            assert np.isfinite(forces).all()
    run = sf.simulate(model, flat, [8.0, -8.0, 8.0], 2.0, dt=1e-3)
    assert np.isfinite(run.q).all() and np.ptp(run.q[:, 0]) > 2 * np.pi  # through both flat places
    np.testing.assert_allclose(run.q[:, 0], run.q[:, 2], rtol=0, atol=1e-6)
    assert run.energy_drift < 1e-6


# -- Andrews' squeezing mechanism


@pytest.fixture(scope="module")
def squeezer():
    """The model, the places of the angles, the law of motor and spring, and the start."""
    model = andrews.mechanism()
    order = andrews.order(model)
    q = np.empty(7)
    q[order] = andrews.START
    return model, order, andrews.forces(model), q


def test_andrews_mechanism_starts_with_the_known_accelerations(squeezer):
    model, order, law, q = squeezer
    assert np.abs(sf.loops.constraint_gaps(model, q, backend="numpy")).max() < 1e-16
    rest = np.zeros(7)
    a, _ = sf.loops.constrained_dynamics(
        model, q, rest, np.array(law(0.0, q, rest)), backend="numpy"
    )
    known = [14222.4439199541, -10666.8329399655, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(a[order], known, rtol=1e-12, atol=1e-8)


def test_andrews_mechanism_obeys_the_printed_equations_everywhere(squeezer):
    model, order, law, start = squeezer
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = start + 0.02 * rng.normal(size=7), 100 * rng.normal(size=7)
        for _ in range(6):
            J = sf.loops.constraint_jacobian(model, q, backend="numpy")
            q = q - np.linalg.pinv(J) @ sf.loops.constraint_gaps(model, q, backend="numpy")
        v = v - np.linalg.pinv(J) @ (J @ v)
        tau = np.array(law(0.0, q, v))
        a, _ = sf.loops.constrained_dynamics(model, q, v, tau, backend="numpy")
        by_hand = andrews.printed_accelerations(q[order], v[order])
        np.testing.assert_allclose(a[order], by_hand, rtol=0, atol=1e-11 * np.abs(a).max())


def test_andrews_mechanism_ends_where_the_test_set_says(squeezer):
    """Ten digits of the printed end; it is 1.4e-9 off what its own equations give."""
    model, order, law, q = squeezer
    run = sf.simulate(model, q, None, 0.03, control=law, dt=5e-6, every=600)
    assert not run.notes
    end, rates = run.q[-1][order], run.v[-1][order]
    np.testing.assert_allclose(end, andrews.END, rtol=0, atol=1e-10 * np.abs(andrews.END).max())
    np.testing.assert_allclose(
        rates, andrews.END_RATES, rtol=0, atol=1e-9 * np.abs(andrews.END_RATES).max()
    )
    start = np.concatenate([q[order], np.zeros(7)])
    by_hand = solve_ivp(
        lambda t, y: np.concatenate([y[7:], andrews.printed_accelerations(y[:7], y[7:])]),
        (0.0, 0.03),
        start,
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    ).y[:, -1]
    np.testing.assert_allclose(end, by_hand[:7], rtol=0, atol=1e-10)
    np.testing.assert_allclose(rates, by_hand[7:], rtol=0, atol=2e-8)
    assert np.abs(sf.loops.constraint_gaps(model, run.q, backend="numpy")).max() < 1e-15
