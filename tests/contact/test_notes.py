"""Reports on motions in contact: residuals, depth at the start, bodies below the ground."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from tests.contact.scenes import ball, box, corners, feet, quadruped, standing


def _quadruped_start() -> tuple[np.ndarray, np.ndarray]:
    q, v, _ = standing(quadruped(), np.random.default_rng(2), height=0.29, spread=0.0)
    return q, v


def test_forces_that_are_not_solved_are_reported_by_all_that_step() -> None:
    model, ground = quadruped(), feet(iterations=1)
    q, v = _quadruped_start()
    v = v + 0.5
    with pytest.warns(sf.errors.ContactResidualWarning, match=r"iterations"):
        run = sf.simulate(model, q, v, 0.3, dt=1e-3, contacts=ground)
    assert run.contact_residual > 1e-4
    assert any("residual" in note for note in run.notes)
    with pytest.warns(sf.errors.ContactResidualWarning, match="rollout"):
        sf.rollout(model, q, v, dt=1e-3, steps=300, contacts=ground)
    stepper = sf.Stepper(model, dt=1e-3, contacts=ground)
    stepper.reset(q, v)
    with pytest.warns(sf.errors.ContactResidualWarning, match="Stepper"):
        for _ in range(300):
            stepper.step(np.zeros(18))
    assert stepper.contact_residual > 1e-4


def test_the_default_rounds_solve_the_same_motion() -> None:
    q, v = _quadruped_start()
    run = sf.simulate(quadruped(), q, v + 0.5, 0.3, dt=1e-3, contacts=feet())
    assert run.contact_residual < 1e-9


def test_a_start_inside_the_ground_is_noted_with_body_depth_and_fix() -> None:
    model = ball()
    ground = sf.contact.Ground(points=[sf.contact.ContactPoint("body", radius=0.1)])
    run = sf.simulate(model, [0, 0, 0.06, 0, 0, 0, 1], None, 0.1, dt=1e-3, contacts=ground)
    (note,) = [note for note in run.notes if "inside" in note]
    assert "'body'" in note and "40 mm" in note and "0.04 m" in note
    run = sf.simulate(model, [0, 0, 0.0999, 0, 0, 0, 1], None, 0.1, dt=1e-3, contacts=ground)
    assert not [note for note in run.notes if "inside" in note]


def test_a_body_that_sinks_below_the_ground_is_noted() -> None:
    model = box(0.4, 0.2, 0.1)
    ground = sf.contact.Ground(points=corners(0.4, 0.2, 0.1)[:1])
    run = sf.simulate(model, [0, 0, 0.06, 0, 0, 0, 1], None, 0.5, dt=1e-3, contacts=ground)
    assert any("'body' went" in note and "below the ground" in note for note in run.notes)
    whole = sf.contact.Ground(points=corners(0.4, 0.2, 0.1))
    run = sf.simulate(model, [0, 0, 0.06, 0, 0, 0, 1], None, 0.5, dt=1e-3, contacts=whole)
    assert not run.notes and run.q[:, 2].min() > 0.04


def test_a_body_without_mass_is_refused_by_all_that_compute_contact() -> None:
    model = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free()).build()
    ground = sf.contact.Ground(points=[sf.contact.ContactPoint("ball", radius=0.1)])
    q, zero = sf.neutral(model), np.zeros(6)
    calls = (
        lambda: sf.rollout(model, q, None, dt=1e-3, steps=3, contacts=ground),
        lambda: sf.contact.contact_forces(model, q, zero, zero, contacts=ground),
        lambda: sf.Stepper(model, dt=1e-3, contacts=ground),
        lambda: sf.simulate(model, q, None, 0.1, contacts=ground),
    )
    for call in calls:
        with pytest.raises(sf.errors.SingularModelError, match="ball"):
            call()


def test_a_point_that_cannot_move_is_refused() -> None:
    solid = sf.Inertia.from_mass(1.0, rotational=(0.01, 0.01, 0.01))
    model = sf.ModelBuilder("wheel").add_body("rim", joint=sf.Revolute("y"), inertia=solid).build()
    ground = sf.contact.Ground(points=[sf.contact.ContactPoint("rim", radius=0.1)])
    with pytest.raises(sf.errors.NotApplicableError, match="cannot move"):
        sf.contact.contact_forces(model, [0.0], [0.0], [0.0], contacts=ground)


def test_rigid_boxes_that_tumble_are_solved_in_the_default_rounds() -> None:
    model, rows, rng = box(0.3, 0.2, 0.1), 256, np.random.default_rng(0)
    q, v = np.zeros((rows, 7)), np.zeros((rows, 6))
    turn = rng.standard_normal((rows, 4))
    q[:, 2], q[:, 3:] = 0.25, turn / np.linalg.norm(turn, axis=1, keepdims=True)
    v[:, :3], v[:, 5] = 3.0 * rng.standard_normal((rows, 3)), -1.0
    ground = sf.contact.Ground(points=corners(0.3, 0.2, 0.1), rigid=True, friction=0.6)
    stepper = sf.Stepper(model, rows=rows, dt=1e-3, contacts=ground)
    stepper.reset(q, v)
    for _ in range(500):
        stepper.step(np.zeros(6))
    assert stepper.contact_residual.max() < 1e-4
    assert stepper.q[:, 2].min() > 0.045
