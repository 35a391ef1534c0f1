"""Things that roll: the bicycle's eigenvalues, a disc that does not fall, a ball on a slope."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf

BICYCLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "bicycle.py"))
GRAVITY, RADIUS = 9.81, 0.3


@pytest.fixture(scope="module")
def bicycle():
    return BICYCLE["bicycle"]()


def eigenvalues(model, *speeds):
    return BICYCLE["sorted_eigenvalues"](BICYCLE["linearised"](model, speeds))


def test_the_whipple_bicycle_has_the_published_eigenvalues(bicycle):
    """Meijaard, Papadopoulos, Ruina and Schwab (2007)."""
    standing, riding = eigenvalues(bicycle, 0.0, 5.0)
    known = np.array([-5.530943717654, -3.131643247907, 3.131643247907, 5.530943717654])
    np.testing.assert_allclose(standing, known, rtol=0, atol=1e-10)
    weave = -0.775341882195 + 4.464867713788j
    known = np.array([-14.0783896927981, np.conj(weave), weave, -0.322866429004])
    np.testing.assert_allclose(riding, known, rtol=0, atol=1e-10)


@pytest.mark.parametrize("speed", [4.29238253634111, 6.02426201538837])
def test_the_bicycle_begins_and_ends_to_balance_itself_at_the_published_speeds(bicycle, speed):
    before, there, after = eigenvalues(bicycle, speed - 0.01, speed, speed + 0.01).real.max(axis=1)
    assert abs(there) < 1e-9
    assert before * after < 0


def test_a_bicycle_that_is_pushed_comes_upright_again_and_keeps_its_energy(bicycle):
    """At 5 m/s; the lean dies out by the weave mode without any control or loss."""
    q, v = BICYCLE["state"](bicycle, 0.0, 0.0, 0.3, 0.0, 5.0)
    run = sf.simulate(bicycle, q, v, 4.0, dt=1e-3, every=20, stabilize=20.0)
    assert np.abs(leans(run)[:20]).max() > 0.02
    assert np.abs(run.v[-1, 0]) < 0.02 * 0.3
    assert run.energy_drift < 1e-6
    assert np.abs(sf.loops.constraint_gaps(bicycle, run.q, backend="numpy")).max() < 1e-9


# -- an upright disc: I = m r^2 / 4 about a diameter, m r^2 / 2 about the axis


@pytest.fixture(scope="module")
def disc():
    I = RADIUS**2 / 4
    solid = sf.Inertia.from_mass(1.0, rotational=(I, 2 * I, I))
    builder = sf.ModelBuilder("disc").add_body("disc", joint=sf.Free(), inertia=solid)
    return builder.add_rolling("disc", RADIUS, axis="y").build()


def rolling_along_x(lean, spin):
    """Return a disc that leans about x and turns about its axis y at a spin [rad/s]."""
    s, c = np.sin(lean / 2), np.cos(lean / 2)
    q = np.array([0.0, -RADIUS * np.sin(lean), RADIUS * np.cos(lean), s, 0.0, 0.0, c])
    return q, np.array([0.0, spin, 0.0, RADIUS * spin, 0.0, 0.0])


def leans(run):
    """Return the lean: how far the axis y of the disc is from the horizontal [rad]."""
    x, y, z, w = run.q[..., 3:7].T
    return np.arcsin(2 * (y * z + x * w))


def test_a_disc_nods_at_the_known_rate_when_it_rolls_fast(disc):
    """(5/4) lean'' + (3 spin^2 - g/r) lean = 0, so that it stands for spin^2 > g / (3 r)."""
    spin = 2.0 * np.sqrt(GRAVITY / (3 * RADIUS))
    rate = np.sqrt(0.8 * (3 * spin**2 - GRAVITY / RADIUS))
    lean = 1e-4
    run = sf.simulate(disc, *rolling_along_x(lean, spin), 2 * np.pi / rate, dt=2e-4, every=10)
    np.testing.assert_allclose(leans(run)[-1], lean, rtol=1e-6)
    # let go with a lean and no yaw rate it nods about another lean, that of a circle
    mean = 3 * spin**2 / (3 * spin**2 - GRAVITY / RADIUS)
    expected = lean * (mean + (1 - mean) * np.cos(rate * run.t))
    np.testing.assert_allclose(leans(run), expected, rtol=0, atol=1e-6 * lean)


@pytest.mark.parametrize(("factor", "falls"), [(0.97, True), (1.03, False)])
def test_a_disc_stands_above_the_critical_spin_and_falls_below(disc, factor, falls):
    spin = factor * np.sqrt(GRAVITY / (3 * RADIUS))
    run = sf.simulate(disc, *rolling_along_x(1e-5, spin), 4.0, dt=1e-3, every=10)
    assert (np.abs(leans(run)).max() > 1e-3) == falls
    assert run.energy_drift < 1e-9


def test_a_leaning_disc_rolls_in_a_circle_for_ever(disc):
    """Steady motion: with lean t and precession p, the spin about the axis w3 obeys

    (I3 + m r^2) w3 p cos t + I1 p^2 sin t cos t = m g r sin t, the centre on a circle.
    """
    lean, precession = 0.4, 2.5
    I1, I3 = RADIUS**2 / 4, RADIUS**2 / 2
    s, c = np.sin(lean), np.cos(lean)
    w3 = (GRAVITY * RADIUS * s - I1 * precession**2 * s * c) / ((I3 + RADIUS**2) * precession * c)
    found = []
    for sign in (1.0, -1.0):
        q, v = rolling_along_x(lean, w3)
        v[:3] = 0.0, w3, sign * precession * c
        J = sf.loops.constraint_jacobian(disc, q, backend="numpy")
        v[3:] = -np.linalg.solve(J[:, 3:], J[:, :3] @ v[:3])
        found.append(np.ptp(leans(sf.simulate(disc, q, v, 3.0, dt=5e-4, every=100))))
    assert min(found) < 1e-9 < 0.1 < max(found)  # the other way round it falls into the curve


def test_a_ball_rolls_down_a_slope_at_five_sevenths():
    slope, radius = 0.3, 0.1
    solid = sf.Inertia.from_mass(2.0, rotational=(0.4 * 2.0 * radius**2,) * 3)
    builder = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free(), inertia=solid)
    plane = sf.Transform.from_rpy((0.0, slope, 0.0))
    model = builder.add_rolling("ball", radius, shape="ball", placement=plane).build()
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    q = np.concatenate([radius * normal, [0, 0, 0, 1]])
    a, forces = sf.loops.constrained_dynamics(model, q, np.zeros(6), np.zeros(6), backend="numpy")
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    g = GRAVITY * np.sin(slope)
    np.testing.assert_allclose(a[3:], 5 / 7 * g * down, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a[:3], [0, 5 / 7 * g / radius, 0], rtol=0, atol=1e-11)
    # friction up the slope, and the plane's push
    push = [-2 / 7 * 2.0 * g, 0.0, 2.0 * GRAVITY * np.cos(slope)]
    np.testing.assert_allclose(forces, push, rtol=0, atol=1e-11)
