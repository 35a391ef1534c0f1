"""Motions that show the parameters of a robot."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.identification.excitation import information
from tests.identification.robots import arm


def limited():
    builder = sf.ModelBuilder("limited")
    lump = sf.Inertia.from_mass(2.0, (0.15, 0.02, 0.03), (0.02, 0.03, 0.025))
    stops = {"lower": -1.0, "upper": 0.5, "velocity_limit": 1.2, "effort_limit": 6.0}
    builder.add_body("a", joint=sf.Revolute("y"), inertia=lump, joint_name="ja", **stops)
    more = {"parent": "a", "placement": (0.4, 0.0, 0.0), "velocity_limit": 0.4}
    builder.add_body("b", joint=sf.Prismatic("x"), inertia=lump, joint_name="jb", **more)
    return builder.build()


def test_the_motion_keeps_to_limits_and_starts_and_ends_at_rest():
    model = limited()
    run = sf.identification.excitation(model, 10.0, dt=1e-3, rounds=5, margin=0.8)
    assert run.q[:, 0].min() >= -0.25 - 0.8 * 0.75 and run.q[:, 0].max() <= -0.25 + 0.8 * 0.75
    assert (np.abs(run.v).max(axis=0) <= 0.8 * np.array([1.2, 0.4])).all()
    for k in (0, -1):
        assert np.abs(run.v[k]).max() < 1e-9 and np.abs(run.a[k]).max() < 1e-9
    np.testing.assert_allclose(run.q[0], run.q[-1], atol=1e-9)


def test_velocities_and_accelerations_are_the_derivatives_of_positions():
    run = sf.identification.excitation(arm(), 4.0, dt=1e-4, rounds=0)
    dq = np.gradient(run.q, run.t, axis=0)
    dv = np.gradient(run.v, run.t, axis=0)
    np.testing.assert_allclose(dq[1:-1], run.v[1:-1], atol=1e-5)
    np.testing.assert_allclose(dv[1:-1], run.a[1:-1], atol=1e-4)
    np.testing.assert_allclose(run.tau, sf.inverse_dynamics(arm(), run.q, run.v, run.a))


def test_improvement_shows_more_and_the_same_seed_gives_the_same_motion():
    from sixfold.identification.identify import problem_for
    from sixfold.identification.problem import choice_of

    none = {"rotors": False, "offsets": False, "springs": False, "gains": None, "bodies": None}
    problem = problem_for(arm(), choice_of(arm(), friction=True, forces=False, **none))
    sigma = np.ones(3)
    first, better, again = (
        sf.identification.excitation(arm(), 5.0, dt=0.01, rounds=n) for n in (0, 30, 30)
    )
    scores = [
        information(problem, run.q[None], run.v[None], run.a[None], sigma)[0]
        for run in (first, better)
    ]
    assert scores[1] > scores[0] + 1
    np.testing.assert_array_equal(better.q, again.q)


def test_notes_say_how_well_parameters_will_be_seen(tmp_path):
    run = sf.identification.excitation(arm(), 10.0, dt=0.01, rounds=2, noise=0.05)
    assert any("base parameters" in note and " good" in note for note in run.notes)
    run.save(tmp_path / "run.npz")
    assert sf.Trajectory.load(tmp_path / "run.npz").notes == run.notes


def test_expected_errors_are_those_that_a_fit_then_finds():
    run = sf.identification.excitation(arm(), 20.0, dt=1e-3, rounds=2, noise=0.05)
    rng = np.random.default_rng(0)
    tau = run.tau + 0.05 * rng.standard_normal(run.tau.shape)
    found = sf.identification.identify(arm(), run.q, run.v, run.a, tau)
    from sixfold.identification import expected_errors

    expected = expected_errors(found.problem, run, np.full(3, 0.05))
    for p, q in zip(expected, found.parameters, strict=True):
        assert 0.9 < q.error / p.error < 1.6  # a fifth of the samples is held out


def test_what_cannot_be_excited_is_refused():
    for call in (
        lambda: sf.identification.excitation(sf.load("floating_link")),
        lambda: sf.identification.excitation(arm(), -1.0),
        lambda: sf.identification.excitation(arm(), harmonics=1),
        lambda: sf.identification.excitation(arm(), margin=2.0),
        lambda: sf.identification.excitation(arm(), lower=[1.0, 0, 0], upper=[0.0, 1, 1]),
        lambda: sf.identification.excitation(arm(), noise=-1.0),
        lambda: sf.identification.excitation(arm(), speed=[1.0, 2.0]),
        lambda: sf.identification.excitation(arm(), seed="x"),
        lambda: sf.identification.excitation(arm(), bodies="hand"),
    ):
        with pytest.raises(sf.errors.SixfoldError):
            call()
