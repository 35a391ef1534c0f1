"""Sliders, screws and readouts, without a browser."""

import base64
import io
import re

import numpy as np
import pytest

import sixfold as sf
from sixfold.display.scene.figure import angles_of, quaternion_of, within_limits
from sixfold.display.viewer.drawing import (
    Screw,
    State,
    arrow,
    coil,
    force_screws,
    screw,
    velocity_screws,
)
from sixfold.display.viewer.panel import (
    bars,
    controls,
    force_units,
    matrix,
    png,
    screw_rows,
    velocity_names,
)


def test_there_is_a_slider_for_each_freedom():
    for robot in ("puma560", "floating_link", "random_tree:15:2", "tree6"):
        model = sf.load(robot)
        assert len(controls(model, 1.0)) == model.nv
        assert len(velocity_names(model)) == len(force_units(model)) == model.nv


def test_sliders_write_what_they_read():
    model = sf.load("random_tree:15:2")
    q, _ = sf.random_state(model, seed=5)
    for control in controls(model, 1.0, q):
        value = control.read(q) * 0.5 + 0.1
        changed = control.write(q, value)
        assert control.read(changed) == pytest.approx(value)
        # the joint stays a rotation and no other joint moves
        where = model.q_slice(control.joint)
        assert np.array_equal(np.delete(changed, where), np.delete(q, where))
        sf.body_poses(model, changed)


def test_ranges_are_limits_or_hold_the_motion():
    builder = sf.ModelBuilder("arm")
    body = sf.Inertia.from_mass(1.0, (0, 0, 0.1), (0.1, 0.1, 0.1))
    builder.add_body("a", joint=sf.Revolute("z"), inertia=body, lower=-0.5, upper=1.5)
    builder.add_body("b", parent="a", joint=sf.Prismatic("x"), inertia=body)
    a, b = controls(builder.build(), 2.0, np.array([[0.0, 5.0], [0.0, -1.0]]))
    assert (a.lower, a.upper, a.unit) == (-0.5, 1.5, "rad")
    assert (b.lower, b.upper, b.unit) == (-2.0, 5.0, "m")


def test_angles_and_quaternions_are_inverse():
    rng = np.random.default_rng(0)
    for angles in rng.uniform(-1.5, 1.5, (20, 3)):
        assert angles_of(quaternion_of(angles)) == pytest.approx(angles)


def test_a_screw_has_the_axis_and_pitch_of_its_motion():
    rng = np.random.default_rng(1)
    for _ in range(20):
        omega, point, pitch = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal()
        s = screw(omega, np.cross(point, omega) + pitch * omega, point)
        assert s.size == pytest.approx(np.linalg.norm(omega))
        assert s.pitch == pytest.approx(pitch)
        assert s.point == pytest.approx(point)
        assert s.direction == pytest.approx(omega / np.linalg.norm(omega))


def test_a_translation_has_no_axis_and_nothing_is_no_screw():
    s = screw(np.zeros(3), np.array([0.0, 2.0, 0.0]), np.ones(3))
    assert np.isinf(s.pitch)
    assert s.size == 2.0
    assert s.point == pytest.approx(np.ones(3))
    assert coil(s, 1.0, 0.1).shape == (0, 2, 3)
    assert screw(np.zeros(3), np.zeros(3), np.ones(3)) is None


@pytest.mark.parametrize("pitch", [0.0, 1e-4, 0.05, -0.05, 0.3, 40.0])
def test_a_coil_climbs_by_its_pitch(pitch):
    s = Screw(np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]), 1.0, pitch)
    pieces = coil(s, 0.8, 0.1)
    flat = pieces.reshape(-1, 3) - s.point
    assert np.hypot(flat[:, 0], flat[:, 1]) == pytest.approx(np.full(len(flat), 0.1))
    assert np.abs(flat[:, 2]).max() <= 0.4 + 1e-12
    # rise over turn, where the coil is neither a plain ring nor cut short
    if 0.02 < abs(pitch) < 1.0:
        angle = np.unwrap(np.arctan2(flat[:, 1], flat[:, 0]))
        assert (flat[-1, 2] - flat[0, 2]) / (angle[-1] - angle[0]) == pytest.approx(pitch)


def test_arrows_are_centred_on_the_axis_point():
    s = Screw(np.array([1.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0]), 1.0, 0.0)
    assert arrow(s, 0.5) == pytest.approx(np.array([[-0.25, 2.0, 0.0], [0.25, 2.0, 0.0]]))


def test_the_velocity_screw_of_a_hinge_is_the_hinge():
    model = sf.load("double_pendulum")
    state = State(np.array([0.3, -0.2]), np.array([2.0, 0.0]), np.zeros(2))
    upper, lower = velocity_screws(model, state)
    for s in (upper, lower):
        assert s.size == pytest.approx(2.0)
        assert s.pitch == pytest.approx(0.0)
        assert s.direction == pytest.approx([0.0, 1.0, 0.0])
        assert s.point[[0, 2]] == pytest.approx([0.0, 0.0])


def test_the_force_screw_of_a_hanging_robot_is_its_weight():
    model = sf.load("double_pendulum")
    state = State(np.zeros(2), np.zeros(2), np.zeros(2))
    upper, lower = force_screws(model, state)
    assert upper.size == pytest.approx(2 * 9.81)
    assert lower.size == pytest.approx(9.81)
    assert upper.direction == pytest.approx([0.0, 0.0, 1.0])
    assert upper.point[:2] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_readouts_escape_names_and_mark_overload():
    hostile = "<img src=x onerror=alert(1)>"
    text = bars([hostile, "b"], np.array([5.0, -2.0]), np.array([4.0, np.inf]), ["N m", "N"])
    assert hostile not in text
    assert "&lt;img" in text
    assert text.count("#d63c3c") == 1
    s = Screw(np.eye(3)[0], np.zeros(3), 1.5, np.inf)
    table = screw_rows("force", "N", [hostile], [s])
    assert "<img" not in table
    assert "∞" in table


def test_the_map_of_a_matrix_is_a_png_of_its_size():
    M = np.array([[4.0, -1.0, 0.0], [-1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
    data = base64.b64decode(re.search(r"base64,([^\"]+)", matrix(M)).group(1))
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    pixels = np.asarray(image.open(io.BytesIO(data)))
    assert pixels.shape == (3, 3, 3)
    assert np.array_equal(pixels, np.swapaxes(pixels, 0, 1))
    orange, blue = pixels[0, 0].astype(int), pixels[0, 1].astype(int)
    assert orange[0] > orange[2]
    assert blue[2] > blue[0]
    assert png(np.zeros((1, 2, 3), np.uint8)).startswith(b"\x89PNG")


def test_sliders_carry_units_and_show_degrees_on_request():
    turn, slide = controls(sf.load("tree6"), 1.0)[:2]
    assert turn.title().endswith(" [rad]") and turn.title(degrees=True).endswith(" [°]")
    assert slide.title().endswith(" [m]") and slide.title(degrees=True).endswith(" [m]")
    assert turn.degrees == pytest.approx(57.29577951) and slide.degrees == 1.0


def test_a_coordinate_outside_its_limits_stands_between_them():
    builder = sf.ModelBuilder("arm")
    for name, low, high in (("a", 0.5, 1.5), ("b", -1.0, 1.0), ("c", None, -2.0), ("d", 3.0, None)):
        limits = {"lower": low, "upper": high}
        limits = {key: value for key, value in limits.items() if value is not None}
        builder.add_body(name, joint=sf.Revolute("z"), **limits)
    model = builder.build()
    assert within_limits(model, np.zeros(4)) == pytest.approx([1.0, 0.0, -2.0, 3.0])
    free = sf.load("floating_link")
    assert np.array_equal(within_limits(free, sf.neutral(free)), sf.neutral(free))
