"""Contact forces, accelerations, points and gaps against MuJoCo's converged solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation.contact.scene import scene_of
from tests.contact.scenes import Twin, ball, feet, humanoid, quadruped, soles, standing

pytest.importorskip("mujoco")


def _errors(
    model: sf.Model,
    ground: sf.contact.Ground,
    twin: Twin,
    count: int,
    backend: str | None = None,
    **where: Any,
) -> list[float]:
    """Return the errors of all forces over their norm, state by state; check the rest."""
    rng = np.random.default_rng(3)
    states = [standing(model, rng, **where) for _ in range(count)]
    q, v, tau = (np.array(x) for x in zip(*states, strict=True))
    found = sf.contact.contact_forces(model, q, v, tau, contacts=ground, backend=backend)
    errors = []
    for k in range(count):
        twin.put(q[k], v[k], tau[k])
        twin.forward()
        forces, points, gaps = twin.contacts()
        closed = ~np.isnan(gaps)
        assert ((found.gaps[k] < 0) == closed).all()
        assert np.allclose(found.gaps[k][closed], gaps[closed], rtol=0, atol=1e-12)
        assert np.allclose(found.points[k][closed], points[closed], rtol=0, atol=1e-12)
        assert not found.forces[k][~closed].any()
        if not closed.any():
            continue
        size = np.linalg.norm(forces)
        errors.append(float(np.linalg.norm(found.forces[k] - forces) / max(size, 1e-6)))
        scale = np.abs(twin.d.qacc[6:]).max()
        slack = (100.0 * errors[-1] + 1e-9) * scale
        assert np.allclose(found.a[k][6:], twin.d.qacc[6:], rtol=0, atol=slack)
    return errors


def test_quadruped_forces_equal_mujocos() -> None:
    ground = feet()
    errors = _errors(quadruped(), ground, Twin(quadruped(), ground), 1000, height=0.29, spread=0.02)
    assert len(errors) > 900
    assert max(errors) < 1e-10, sorted(errors)[-8:]


def test_folded_legs() -> None:
    # feet below the hips: ten times the range of responses
    model, count, rng = quadruped(), 200, np.random.default_rng(7)
    states = [standing(model, rng, height=0.0, spread=0.0) for _ in range(count)]
    q, v, tau = (np.array(x) for x in zip(*states, strict=True))
    fold = rng.uniform(-2.7, -2.2, (count, 4))
    q[:, 9::3], q[:, 8::3] = fold, -0.5 * fold
    q[:, 2] -= sf.contact.contact_forces(model, q, v, tau, contacts=feet()).gaps.mean(axis=1) + 0.01
    twin, wanted = Twin(model, feet()), []
    for state in zip(q, v, tau, strict=True):
        twin.put(*state)
        twin.forward()
        wanted.append(twin.contacts()[0])
    size = np.linalg.norm(wanted, axis=(1, 2))
    assert (size > 1.0).sum() > 0.9 * count
    found = sf.contact.contact_forces(model, q, v, tau, contacts=feet())
    errors = np.linalg.norm(found.forces - wanted, axis=(1, 2)) / np.maximum(size, 1.0)
    assert errors.max() < 1e-10
    assert found.residual.max() < 1e-9


def test_too_few_rounds_show_in_the_residual() -> None:
    model, rng = humanoid(), np.random.default_rng(3)
    states = [standing(model, rng, height=0.775, spread=0.01) for _ in range(50)]
    q, v, tau = (np.array(x) for x in zip(*states, strict=True))
    few = sf.contact.contact_forces(model, q, v, tau, contacts=soles(iterations=1))
    right = sf.contact.contact_forces(model, q, v, tau, contacts=soles())
    scale = np.abs(right.a).max(axis=1)
    wrong = np.abs(few.a - right.a).max(axis=1) / scale
    assert right.residual.max() < 1e-9
    assert few.residual[wrong > 1e-3].min() > 1e-5
    assert (wrong > 1e-3).any()


def test_humanoid_with_flat_feet() -> None:
    for bound, backend in ((1e-10, None), (1e-10, "numpy")):
        ground = soles()
        twin = Twin(humanoid(), ground)
        errors = _errors(humanoid(), ground, twin, 700, backend, height=0.775, spread=0.01)
        assert len(errors) > 500
        assert max(errors) < bound, sorted(errors)[-20:]


@pytest.mark.parametrize(
    "options",
    [
        {"margin": 0.01},
        {"impratio": 4.0},
        {"friction": 0.0},
        {"solref": (0.05, 0.3)},
        {"solref": (-2000.0, -50.0)},
        {"solimp": (0.3, 0.8, 0.02, 0.3, 1.0)},
        {"solimp": (0.3, 0.8, 0.02, 0.7, 3.5)},
        {"solimp": (0.5, 0.5, 0.02, 0.7, 3.0)},
        {"solimp": (0.0, 0.8, 0.01)},
        {"solimp": (0.015, 1.0, 0.031)},
        {"solimp": (1.45, 0.975)},
        {"normal": (0.1, -0.2, 1.0), "height": 0.01},
    ],
    ids=str,
)
def test_parameters_mean_what_they_mean_in_mujoco(options: dict[str, Any]) -> None:
    model, ground = quadruped(), feet(**options)
    twin = Twin(model, ground)
    rng = np.random.default_rng(5)
    closed = 0
    for _ in range(20):
        q, v, tau = standing(model, rng, height=0.28, spread=0.02)
        found = sf.contact.contact_forces(model, q, v, tau, contacts=ground)
        twin.put(q, v, tau)
        twin.forward()
        forces, _, gaps = twin.contacts()
        closed += int((~np.isnan(gaps)).sum())
        assert np.abs(found.forces - forces).max() < 1e-8 * max(1.0, np.abs(forces).max())
    assert closed > 20


def test_softness_and_reference_are_mujocos() -> None:
    model, ground = quadruped(), feet()
    twin = Twin(model, ground)
    weights = [touch.weight for touch in scene_of("test", model, ground).touches]
    bodies = [twin.m.geom(f"touch{k}").bodyid[0] for k in range(4)]
    assert np.allclose(weights, twin.m.body_invweight0[bodies, 0], rtol=1e-12)


def test_pairs_of_spheres_and_capsules() -> None:
    builder = sf.ModelBuilder("two", gravity=(0.0, 0.0, 0.0))
    from sixfold.model import Revolute
    from sixfold.spatial import solids

    rod = solids.box(0.05, 0.05, 0.4, mass=1.0)
    model = (
        builder.add_body("arm", joint=Revolute((1, 0, 0)), inertia=rod)
        .add_body(
            "hand", parent="arm", joint=Revolute((0, 1, 0)), placement=(0, 0, 0.3), inertia=rod
        )
        .add_body("cart", joint=Revolute((1, 0, 0)), placement=(0, 0.1, 0.3), inertia=rod)
        .build()
    )
    hand = sf.contact.ContactPoint("hand", (0.0, 0.0, 0.1), 0.06)
    pairs = [
        sf.contact.ContactPair(
            hand, sf.contact.ContactPoint("cart", (0.0, 0.0, 0.05), 0.07), friction=0.5
        ),
        sf.contact.ContactPair(
            hand, sf.contact.ContactCapsule("cart", (0, 0, -0.2), (0, 0.05, 0.2), 0.05)
        ),
        sf.contact.ContactPair(
            hand, sf.contact.ContactPoint(model.base_name, (0.0, -0.1, 0.4), 0.06)
        ),
    ]
    ground = sf.contact.Ground(points=[], pairs=pairs, friction=0.9)
    twin = Twin(model, ground)
    rng = np.random.default_rng(0)
    closed = 0
    for _ in range(40):
        q, v, tau = (0.2 * rng.standard_normal(3) for _ in range(3))
        found = sf.contact.contact_forces(model, q, v, tau, contacts=ground)
        twin.put(q, v, tau)
        twin.forward()
        forces, points, gaps = twin.contacts()
        there = ~np.isnan(gaps)
        closed += int(there.sum())
        assert np.allclose(found.gaps[there], gaps[there], atol=1e-12)
        assert np.allclose(found.points[there], points[there], atol=1e-9)
        assert np.abs(found.forces - forces).max() < 1e-7 * max(1.0, np.abs(forces).max())
    assert closed > 40


def test_limits_and_dry_friction_are_rows_of_the_same_problem() -> None:
    from sixfold.model import Revolute
    from sixfold.spatial import solids

    builder = sf.ModelBuilder("arm")
    parent = None
    for k in range(3):
        name = f"link{k}"
        builder.add_body(
            name,
            parent=parent,
            joint=Revolute((0, 1, 0)),
            placement=(0, 0, 0.3 if k else 0.0),
            inertia=solids.box(0.05, 0.05, 0.3, mass=1.0),
            lower=-0.5,
            upper=0.4,
            friction=0.3 if k != 1 else 0.0,
        )
        parent = name
    model = builder.build()
    ground = sf.contact.Ground(points=[], limits=True, dry_friction=True)
    twin = Twin(model, ground)
    rng = np.random.default_rng(1)
    beyond = 0
    for _ in range(40):
        q, v, tau = 0.4 * rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(3)
        v[rng.integers(3)] = 0.0
        found = sf.contact.contact_forces(model, q, v, tau, contacts=ground)
        twin.put(q, v, tau)
        twin.forward()
        beyond += int(((q < -0.5) | (q > 0.4)).sum())
        assert np.allclose(found.a, twin.d.qacc, rtol=1e-8, atol=1e-7)
        assert np.allclose(found.joint_forces, twin.d.qfrc_constraint, rtol=1e-8, atol=1e-8)
    assert beyond > 10


def test_a_ball_that_slides_follows_mujoco_for_a_second() -> None:
    model = ball()
    ground = sf.contact.Ground(friction=0.3, points=[sf.contact.ContactPoint("body", radius=0.1)])
    twin = Twin(model, ground, dt=1e-3)
    q, v = sf.neutral(model), np.array([0.0, 3.0, 1.0, 2.0, 0.5, 0.0])
    q[2] = 0.15
    found = sf.simulate(model, q, v, 1.0, dt=1e-3, contacts=ground)
    twin.put(q, v, np.zeros(6))
    for _ in range(1000):
        twin.step()
    there, _ = twin.state()
    assert np.linalg.norm(found.q[-1][:3] - there[:3]) < 1e-3


def test_a_quadruped_follows_mujoco_for_a_second() -> None:
    model, ground = quadruped(), feet()
    twin = Twin(model, ground, dt=5e-4)
    rng = np.random.default_rng(2)
    q, v, _ = standing(model, rng, height=0.31, spread=0.0)
    v *= 0.3
    goal = np.tile((0.0, 0.8, -1.6), 4)

    def law(t: Any, q: Any, v: Any) -> Any:
        return np.concatenate([np.zeros(6), 60.0 * (goal - q[7:]) - 2.0 * v[6:]])

    found = sf.simulate(model, q, v, 1.0, dt=5e-4, contacts=ground, control=law, every=100)
    twin.put(q, v, np.zeros(18))
    there = []
    for k in range(2001):
        at, fast = twin.state()
        if k % 100 == 0:
            there.append(at)
        twin.d.qfrc_applied[6:] = law(0.0, at, fast)[6:]
        twin.step()
    assert np.abs(found.q[:, :3] - np.array(there)[:, :3]).max() < 1e-3
