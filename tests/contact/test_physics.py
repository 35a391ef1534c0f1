"""Balls, blocks and boxes on the ground: numbers of the textbooks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import Free
from tests.contact.scenes import ball, box, corners

G = 9.81


def test_a_ball_at_rest_is_carried_by_its_weight() -> None:
    model = ball(mass=2.0)
    ground = sf.contact.Ground(points=[sf.contact.ContactPoint("body", radius=0.1)])
    q = sf.neutral(model)
    q[2] = 0.1
    found = sf.simulate(model, q, None, 2.0, dt=2e-3, contacts=ground)
    assert found.contact_forces is not None and found.contact_gaps is not None
    assert np.allclose(found.contact_forces[-1], [[0.0, 0.0, 2.0 * G]], atol=1e-6)
    assert np.abs(found.v[-1]).max() < 1e-8
    assert -1e-3 < found.contact_gaps[-1, 0] < 0
    assert np.allclose(found.contact_points[-1, 0, 2], 0.5 * found.contact_gaps[-1, 0])


def test_a_sliding_sphere_rolls_after_two_sevenths_of_its_speed() -> None:
    model = ball(radius=0.1)
    ground = sf.contact.Ground(
        friction=0.3, points=[sf.contact.ContactPoint("body", radius=0.1)], rigid=True
    )
    q, v = sf.neutral(model), np.zeros(6)
    q[2], v[3] = 0.1, 2.0
    dt = 1e-4
    found = sf.simulate(model, q, v, 0.4, dt=dt, contacts=ground)
    turn = found.v[:, 1]
    speed = np.hypot(found.v[:, 3], found.v[:, 5])
    slip = speed - 0.1 * turn
    first = found.t[np.argmax(slip < 1e-6)]
    assert abs(first - 0.1941653317800) < 2 * dt
    assert abs(speed[-1] - 10.0 / 7.0) < 1e-4
    at = found.at([0.1941653317800]).q[0, 0]
    assert abs(at - 0.3328548544800) < 1e-4


@pytest.mark.parametrize("friction", [0.4, 0.8])
def test_a_block_on_an_incline(friction: float) -> None:
    slope = math.atan(0.6)
    normal = (math.sin(slope), 0.0, math.cos(slope))
    size = (0.2, 0.2, 0.1)
    model = box(*size)
    points = [p for p in corners(*size) if p.position[2] < 0]
    ground = sf.contact.Ground(normal=normal, friction=friction, points=points, solref=(0.004, 1.0))
    q = sf.neutral(model)
    q[:3] = 0.05 * np.array(normal)
    q[3:7] = [0.0, math.sin(slope / 2), 0.0, math.cos(slope / 2)]
    found = sf.simulate(model, q, None, 0.5, dt=1e-3, contacts=ground, every=500)
    along = float(found.q[-1, :3] @ [math.cos(slope), 0.0, -math.sin(slope)])
    if friction > 0.6:
        assert abs(along) < 0.01  # soft friction creeps
    else:
        a = G * (math.sin(slope) - friction * math.cos(slope))
        assert abs(along - 0.5 * a * 0.25) < 0.01 * 0.5 * a * 0.25 + 1e-3


def test_a_ball_bounces_with_its_restitution() -> None:
    model = ball(radius=0.1)
    point = [sf.contact.ContactPoint("body", radius=0.1)]
    ground = sf.contact.Ground(points=point, rigid=True, restitution=0.8)
    q = sf.neutral(model)
    q[2] = 1.1
    dt = 1e-4
    found = sf.simulate(model, q, None, 2.0, dt=dt, contacts=ground)
    v = np.sign(found.q[:, 2] * 0 + 1) * found.v[:, 5]
    impacts = found.t[1:][(v[:-1] < -1.0) & (v[1:] > 0)]
    assert abs(impacts[0] - 0.4515236409857) < 2 * dt
    assert abs(impacts[1] - impacts[0] - 2 * 0.8 * 0.4515236409857) < 5 * dt
    assert found.q[:, 2].min() > 0.1 - 1e-3


def test_a_dropped_box_ends_on_a_face() -> None:
    size = (0.3, 0.2, 0.1)
    model, count = box(*size), 100
    ground = sf.contact.Ground(friction=0.6, points=corners(*size), solref=(0.002, 1.0))
    rng = np.random.default_rng(0)
    q = np.tile(sf.neutral(model), (count, 1))
    turns = rng.standard_normal((count, 4))
    q[:, 3:7] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    q[:, 2] = 0.3
    v = rng.standard_normal((count, 6))
    steps = 5000
    after, speed = sf.rollout(model, q, v, dt=5e-4, steps=steps, contacts=ground, every=10)
    heights = np.array([_lowest(model, after[:, k], size) for k in range(0, steps // 10, 2)])
    assert heights.min() > -0.01 * max(size)
    assert np.abs(speed[:, -1]).max() < 1e-9
    up = sf.body_poses(model, after[:, -1])[:, 0, 2, :3]
    assert np.abs(np.abs(up).max(axis=1) - 1.0).max() < 1e-9


def _lowest(model: sf.Model, q: Any, size: tuple[float, ...]) -> float:
    pose = sf.body_poses(model, q)[:, 0]
    places = np.array([p.position for p in corners(*size)])
    return float((pose[:, None, 2, :3] @ places.T + pose[:, 2, 3][:, None, None]).min())


def test_surfaces_of_one_shape_give_one_motion() -> None:
    model, point = ball(), [sf.contact.ContactPoint("body", radius=0.1)]
    slope = 0.2
    length = math.hypot(1.0, slope)
    plane = sf.contact.Ground(normal=(-slope / length, 0.0, 1.0 / length), points=point)

    def height(x: Any, y: Any) -> Any:
        return slope * x

    lines = np.linspace(-2.0, 2.0, 9)
    grid = sf.contact.Ground(
        grid=[[slope * x for _ in lines] for x in lines],
        grid_corner=(-2.0, -2.0),
        grid_spacing=(0.5, 0.5),
        points=point,
    )
    q, v = sf.neutral(model), np.array([0.3, 0.1, 0.2, 0.4, 0.2, 0.0])
    q[2] = 0.12
    ends = [
        sf.simulate(model, q, v, 1.0, dt=1e-3, contacts=ground, every=1000).q[-1]
        for ground in (plane, sf.contact.Ground(height=height, points=point), grid)
    ]
    assert np.allclose(ends[1], ends[0], atol=1e-9)
    assert np.allclose(ends[2], ends[0], atol=1e-9)


def test_a_curved_ground_carries_a_ball_in_its_valley() -> None:
    model = ball()
    ground = sf.contact.Ground(
        height=lambda x, y: 0.2 * (x * x + y * y),
        points=[sf.contact.ContactPoint("body", radius=0.1)],
    )
    q, v = sf.neutral(model), np.zeros(6)
    q[:3], v[3] = [0.3, 0.0, 0.13], -0.1
    found = sf.simulate(model, q, v, 20.0, dt=2e-3, contacts=ground, every=100)
    assert np.hypot(*found.q[-1, :2]) < 0.31
    assert np.abs(found.contact_gaps).max() < 0.02


def test_two_balls_that_meet_keep_their_momentum() -> None:
    from sixfold.spatial import solids

    inertia = solids.sphere(0.1, mass=1.0)
    model = (
        sf.ModelBuilder("two", gravity=(0.0, 0.0, 0.0))
        .add_body("a", joint=Free(), inertia=inertia)
        .add_body("b", joint=Free(), inertia=inertia)
        .build()
    )
    a, b = (sf.contact.ContactPoint(name, radius=0.1) for name in "ab")
    ground = sf.contact.Ground(points=[], pairs=[sf.contact.ContactPair(a, b)], friction=0.0)
    q, v = sf.neutral(model), np.zeros(12)
    q[7], v[3], v[10] = 0.3, 1.0, 0.1
    found = sf.simulate(model, q, v, 0.5, dt=1e-4, contacts=ground, every=10)
    total = sf.momentum(model, found.q, found.v)[:, 3:]
    assert np.abs(total - total[0]).max() < 1e-9
    assert found.v[-1, 9] > found.v[-1, 3]
    assert found.contact_forces[:, 0, 0].min() < -1.0  # on the first ball, backwards


def test_friction_of_a_files_shapes_follows_mujocos_rule(tmp_path):
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="puck"><freejoint/>
      <geom name="ball" type="sphere" size="0.1" mass="1" friction="{} 0 0" priority="{}"/>
    </body></worldbody></mujoco>"""
    q = np.array([0, 0, 0.0999, 0, 0, 0, 1.0])
    v = np.array([0, 0, 0, 3.0, 0, 0])
    for own, priority, ground, expected in (
        (0.2, 0, 0.5, 0.5),
        (0.7, 0, 0.5, 0.7),
        (0.2, 1, 0.5, 0.2),
    ):
        file = tmp_path / "puck.xml"
        file.write_text(text.format(own, priority))
        model = sf.load(file)
        found = sf.contact.contact_forces(
            model, q, v, np.zeros(6), contacts=sf.contact.Ground(friction=ground)
        )
        (force,) = found.forces
        assert np.hypot(*force[:2]) == pytest.approx(expected * force[2], rel=1e-6)


def test_spheres_with_one_centre_do_not_push() -> None:
    builder = sf.ModelBuilder("two")
    for name in "ab":
        inertia = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.1, 0.1))
        builder.add_body(name, joint=sf.Free(), inertia=inertia)
    model = builder.build()
    pair = sf.contact.ContactPair(
        sf.contact.ContactPoint("a", radius=0.1), sf.contact.ContactPoint("b", radius=0.1)
    )
    ground = sf.contact.Ground(points=[], pairs=[pair])
    q, zero = sf.neutral(model), np.zeros(12)
    found = sf.contact.contact_forces(model, q, zero, zero, contacts=ground, backend="numpy")
    assert np.isfinite(found.a).all() and np.abs(found.forces).max() == 0
