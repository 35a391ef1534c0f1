"""The mouse drags frames and pulls bodies: by callbacks, and by a real mouse in Chromium."""

import asyncio
import time
from types import SimpleNamespace

import numpy as np
import pytest

import sixfold as sf
from sixfold.display.scene.figure import wxyz
from sixfold.display.viewer.interaction import (
    RATE,
    LivePlayer,
    grab,
    live_stepper,
    movable_frames,
    pose_from,
)
from tests.viewer.support import page, until

pytest.importorskip("viser", reason="viser is not installed")
TOOL = "link6"
POSE = np.array([0.2, 0.4, -0.3, 0.1, 0.6, 0.2])


@pytest.fixture(scope="module")
def arm():
    # dry friction would keep soft motors from coming all the way back
    return sf.load("puma560").without(friction=True)


def pulled(viewer, pose, phase="update"):
    """Do what viser does when the mouse has moved the handle."""
    node = viewer._frame.node
    if not viewer._frame.held:
        asyncio.run(viewer._frame.on_move(SimpleNamespace(target=node, phase="start")))
        # a picture that is being drawn may still put the handle back
        time.sleep(0.2)
    # as the server does it, without telling the page
    node._impl.position, node._impl.wxyz = pose[:3, 3], wxyz(pose[:3, :3])
    asyncio.run(viewer._frame.on_move(SimpleNamespace(target=node, phase=phase)))


# -- the handle on a frame


def test_the_robot_follows_the_handle_of_a_frame(arm):
    with sf.view(arm, q=POSE, block=False, drag=TOOL) as viewer:
        pose = sf.frame_pose(arm, POSE, TOOL)
        assert viewer._frame.node.position == pytest.approx(pose[:3, 3])
        for _ in range(5):
            pose[:3, 3] += [0.01, -0.02, 0.01]
            pulled(viewer, pose)
            until(lambda: viewer._frame._wanted is None, "the drag is taken note of")
        until(lambda: np.allclose(sf.frame_pose(arm, viewer.q, TOOL), pose, atol=1e-5), "arrives")
        assert viewer._frame.converged
        # the nearest solution, not another branch
        assert np.abs(viewer.q - POSE).max() < 0.5


def test_a_handle_out_of_reach_comes_back_to_its_frame_when_let_go(arm):
    with sf.view(arm, q=POSE, block=False, drag=TOOL) as viewer:
        far = sf.frame_pose(arm, POSE, TOOL)
        far[:3, 3] *= 20.0
        pulled(viewer, far)
        until(lambda: not viewer._frame.converged, "it is out of reach")
        assert viewer._frame.node.position == pytest.approx(far[:3, 3])
        pulled(viewer, far, "end")
        until(
            lambda: np.allclose(
                viewer._frame.node.position, sf.frame_pose(arm, viewer.q, TOOL)[:3, 3]
            ),
            "the handle is back",
        )
        # stretched out towards the goal
        reached = sf.frame_pose(arm, viewer.q, TOOL)[:3, 3]
        assert reached @ far[:3, 3] > 0.5 * np.linalg.norm(reached) * np.linalg.norm(far[:3, 3])


def test_a_frame_with_few_joints_is_moved_without_being_turned():
    model = sf.load("double_pendulum")
    name = model.body_names[-1]
    with sf.view(model, q=[0.3, 0.4], block=False, drag=name) as viewer:
        assert viewer._frame.node.disable_rotations
        pose = sf.frame_pose(model, [0.5, 0.1], name)
        pulled(viewer, pose)
        until(
            lambda: np.allclose(
                sf.frame_pose(model, viewer.q, name)[:3, 3], pose[:3, 3], atol=1e-5
            ),
            "it arrives",
        )


def test_handles_are_chosen_and_taken_away(arm):
    with sf.view(arm, q=POSE, block=False) as viewer:
        assert viewer._frame.node is None
        choice = viewer._panel.frames
        assert choice.value == "none"
        viewer._on_frame_choice(SimpleNamespace(client_id=1, target=SimpleNamespace(value=TOOL)))
        assert viewer._frame.frame == TOOL
        viewer.drag("link3")
        assert (viewer._frame.frame, choice.value) == ("link3", "link3")
        viewer.drag(None)
        assert viewer._frame.node is None
        assert choice.value == "none"
        with pytest.raises(sf.errors.UnknownNameError, match="flange"):
            viewer.drag("flange")


def test_poses_of_a_page_are_looked_at():
    pose = sf.frame_pose(sf.load("puma560"), POSE, TOOL)
    assert pose_from(pose[:3, 3], 1.5 * wxyz(pose[:3, :3])) == pytest.approx(pose)
    assert pose_from([0.0, 0.0, 1e9], [1.0, 0.0, 0.0, 0.0]) is None
    assert pose_from([0.0, 0.0, 1.0], np.zeros(4)) is None


def test_loops_have_no_handles():
    builder = sf.ModelBuilder("hanging")
    ball = sf.Inertia.from_mass(1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    builder.add_body("ball", joint=sf.Free(), inertia=ball)
    builder.add_rod("world", "ball", 1.0, (0, 0, 1), name="rod")
    model = builder.build()
    assert movable_frames(model) == []
    with pytest.raises(sf.errors.NotApplicableError, match="inverse kinematics"):
        sf.view(model, block=False, drag="ball")
    with sf.view(model, block=False) as viewer:
        assert viewer._panel.frames is None


# -- a live simulation


@pytest.fixture
def patient(monkeypatch):
    """Let simulations take the time that they need, compiling included."""
    monkeypatch.setattr("sixfold.display.viewer.interaction.BUDGET", 60.0)


def live(model, q, how=True):
    return LivePlayer(model, np.array(q, float), *live_stepper(model, how, np.array(q, float)))


def test_time_passes_as_in_a_simulation(patient):
    model = sf.load("double_pendulum")
    player = live(model, [0.5, 0.2])
    player.advance(0.05)
    assert player.time == 0.0
    player.playing = True
    for _ in range(10):
        player.advance(0.05)
    assert player.time == pytest.approx(0.5)
    q, v = sf.rollout(model, [0.5, 0.2], [0.0, 0.0], dt=1e-3, steps=500)
    assert player.q == pytest.approx(q[-1], abs=1e-9)
    assert player.state().v == pytest.approx(v[-1], abs=1e-9)
    a = sf.forward_dynamics(model, player.q, player.v, np.zeros(2))
    assert player.state().a == pytest.approx(a, abs=0.1)


def test_the_spring_is_critically_damped_on_a_free_body(patient):
    builder = sf.ModelBuilder("ball", gravity=(0, 0, 0))
    builder.add_body(
        "ball", joint=sf.Free(), inertia=sf.Inertia.from_mass(2.0, (0, 0, 0), (1, 1, 1))
    )
    model = builder.build()
    player = live(model, sf.neutral(model))
    player.playing = True
    pull = grab(model, player.q, 0, np.zeros(3), 10.0)
    assert pull.mass == pytest.approx(2.0)
    pull.pointer = np.array([0.0, 0.0, 1.0])
    player.set_pull(pull)
    for _ in range(6):
        player.advance(0.05)
    # x = 1 - (1 + w t) exp(-w t)
    wt = RATE * 0.3
    assert player.q[2] == pytest.approx(1 - (1 + wt) * np.exp(-wt), abs=0.02)
    player.set_pull(None)
    player.advance(0.002)
    assert not player.stepper.f_ext.any()


def test_a_pull_is_the_same_about_the_body_and_about_the_world(arm):
    v = np.linspace(-0.5, 0.5, 6)
    at = sf.frame_pose(arm, POSE, "link4") @ [0.1, 0.05, -0.02, 1.0]
    pull = grab(arm, POSE, 3, at[:3], 0.5)
    pull.pointer = at[:3] + np.array([0.1, 0.2, -0.3])
    found = []
    for frame in ("world", "body"):
        f_ext = np.zeros((6, 6))
        f_ext[3] = pull.wrench(POSE, v, frame)
        found.append(sf.inverse_dynamics(arm, POSE, v, v, f_ext=f_ext, f_ext_frame=frame))
    assert found[0] == pytest.approx(found[1])
    # a stretch beyond the longest pulls no harder
    pull.longest = 0.1
    force, _ = pull.force(POSE, np.zeros(6))
    assert np.linalg.norm(force) == pytest.approx(pull.mass * RATE**2 * 0.1)


def test_motors_hold_the_pose_give_way_and_come_back(arm, patient):
    player = live(arm, POSE, "hold")
    player.playing = True
    for _ in range(10):
        player.advance(0.05)
    assert player.q == pytest.approx(POSE, abs=1e-3)
    at = sf.frame_pose(arm, POSE, TOOL)[:3, 3]
    pull = grab(arm, POSE, 5, at, 1.0)
    pull.pointer = at + np.array([0.0, 0.0, 0.3])
    player.set_pull(pull)
    for _ in range(10):
        player.advance(0.05)
    assert sf.frame_pose(arm, player.q, TOOL)[2, 3] > at[2] + 0.02
    player.set_pull(None)
    for _ in range(40):
        player.advance(0.05)
    assert player.q == pytest.approx(POSE, abs=0.02)
    player.pose(POSE + 0.1)
    assert np.abs(player.q - POSE).max() < 0.02
    for _ in range(40):
        player.advance(0.05)
    assert player.q == pytest.approx(POSE + 0.1, abs=0.02)
    player.hold(False)
    for _ in range(20):
        player.advance(0.05)
    assert np.abs(player.q - POSE - 0.1).max() > 0.2


def test_a_simulation_that_leaves_the_finite_numbers_begins_again():
    model = sf.load("double_pendulum")
    player = live(model, [0.5, 0.2])
    player.playing = True
    player.pose(np.array([0.5, 0.2]), np.array([1e200, 1e200]))
    player.advance(0.05)
    assert player.restarts == 1
    assert np.abs(player.q - [0.5, 0.2]).max() < 0.1
    player.restart()
    assert player.q == pytest.approx([0.5, 0.2])
    assert player.time == 0.0


def test_a_simulation_that_is_too_slow_says_so(monkeypatch):
    monkeypatch.setattr("sixfold.display.viewer.interaction.BUDGET", 0.0)
    player = live(sf.load("double_pendulum"), [0.5, 0.2])
    player.playing = True
    for _ in range(20):
        player.advance(0.05)
    assert player.share < 0.1


def test_the_panel_rules_the_simulation():
    model = sf.load("double_pendulum")
    with sf.view(model, q=[0.5, 0.2], block=False, live=True) as viewer:
        panel, player = viewer._panel, viewer._player
        until(lambda: player.time > 0.1, "time passes")
        until(lambda: "time" in panel.clock.content, "the clock is shown")
        viewer.pause()
        until(lambda: panel.play.label == "Run", "it rests")
        panel._on_restart(player)
        assert viewer.q == pytest.approx([0.5, 0.2])
        panel._on_motors(player, SimpleNamespace(client_id=1, target=SimpleNamespace(value=True)))
        assert player.holds
        viewer.play()
        until(lambda: player.time > 0.1, "time passes")
        assert viewer.q == pytest.approx([0.5, 0.2], abs=0.05)
    with sf.view(model, block=False, live=True, play=False) as viewer:
        assert not viewer._player.playing


def test_the_mouse_takes_hold_of_bodies_and_lets_them_go(arm):
    with sf.view(arm, q=POSE, block=False, live=True, play=False) as viewer:
        grip, player = viewer._grip, viewer._player
        at = sf.frame_pose(arm, POSE, "link3")[:3, 3]
        grip.drag(2, "start", at, at)
        assert player.pull.body == 2
        grip.drag(2, "update", at, at + 0.1)
        assert player.pull.pointer == pytest.approx(at + 0.1)
        viewer._wake.set()
        until(lambda: grip.arrow.visible, "an arrow shows the pull")
        grip.drag(2, "update", at, [0.0, 0.0, 1e9])
        assert player.pull is None
        grip.drag(2, "start", [1e9, 0.0, 0.0], at)
        assert player.pull is None
        viewer._wake.set()
        until(lambda: not grip.arrow.visible, "the arrow is gone")


def test_a_stepper_of_ones_own_runs_in_the_window():
    model = sf.load("cart_pendulum")
    options = {"dt": 1e-3, "f_ext": np.zeros((model.nb, 6)), "f_ext_frame": "body"}
    stepper = sf.Stepper(model, **options)
    stepper.put([0.1, 0.3], [0.0, 0.0])
    with sf.view(model, block=False, live=stepper, play=False) as viewer:
        assert viewer.q == pytest.approx([0.1, 0.3])
        assert viewer._panel.motors is None
        with pytest.raises(sf.errors.NotApplicableError, match="controller"):
            viewer._player.hold(True)
        viewer.play()
        until(lambda: viewer.time > 0.2, "time passes")
    with sf.view(model, q=[0.0, 0.1], block=False, live=stepper, play=False) as viewer:
        assert viewer.q == pytest.approx([0.0, 0.1])


def bad_live():
    pendulum = sf.load("double_pendulum")
    f_ext = np.zeros((2, 6))
    yield {"live": "run"}, sf.errors.OptionError, "live"
    yield {"live": 1.5}, sf.errors.OptionError, "live"
    yield {"live": sf.Stepper(pendulum, dt=1e-3)}, sf.errors.OptionError, "f_ext"
    yield (
        {"live": sf.Stepper(pendulum, 2, dt=1e-3, f_ext=f_ext)},
        sf.errors.OptionError,
        "rows=None",
    )
    other = sf.Stepper(sf.load("cart_pendulum"), dt=1e-3, f_ext=f_ext)
    yield {"live": other}, sf.errors.OptionError, "this model"
    moving = np.zeros((3, 2))
    yield {"live": True, "trajectory": moving}, sf.errors.NotApplicableError, "recorded"
    yield {"drag": "elbow"}, sf.errors.UnknownNameError, "elbow"


def test_what_cannot_be_live_or_dragged_is_named():
    model = sf.load("double_pendulum")
    for options, error, words in bad_live():
        with pytest.raises(error, match=words):
            sf.view(model, block=False, **options)


# -- a real mouse


def pixel(viewer, point, size):
    """Return where a point of the world is in the picture."""
    stage, eye = viewer._stage, viewer._eye()
    ahead = stage.center - eye
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, stage.up)
    right = right / np.linalg.norm(right)
    to = np.asarray(point) - eye
    k = size[1] / 2 / np.tan(0.72 / 2) / (to @ ahead)
    return size[0] / 2 + k * (to @ right), size[1] / 2 - k * (to @ np.cross(right, ahead))


def pressed(shown, start, way, steps=8):
    """Press the left button at a pixel and move; the button stays down."""
    shown.mouse.move(*start)
    time.sleep(0.2)
    shown.mouse.down()
    time.sleep(0.2)
    for k in range(1, steps + 1):
        shown.mouse.move(start[0] + way[0] * k / steps, start[1] + way[1] * k / steps)
        time.sleep(0.05)


def test_a_mouse_drags_the_tool_of_an_arm(arm, browser):
    size = (1000, 640)
    with (
        sf.view(arm, q=POSE, block=False, drag=TOOL) as viewer,
        page(browser, viewer.url, size=size) as (shown, _),
    ):
        shown.get_by_text("joint1 [rad]", exact=True).first.wait_for(timeout=30_000)
        shown.wait_for_timeout(1500)
        before = sf.frame_pose(arm, POSE, TOOL)
        length = 0.22 * viewer._size
        # the arrow that the eye sees best from the side
        tips = [
            pixel(viewer, before[:3, 3] + 0.85 * length * before[:3, k], size) for k in range(3)
        ]
        middle = np.array(pixel(viewer, before[:3, 3], size))
        k = int(np.argmax([np.linalg.norm(tip - middle) for tip in tips]))
        way = 1.2 * (tips[k] - middle)
        pressed(shown, tips[k], way)
        until(lambda: np.abs(viewer.q - POSE).max() > 0.02, "the joints follow")
        shown.mouse.up()
        until(lambda: not viewer._frame.held, "the handle is let go")
        after = sf.frame_pose(arm, viewer.q, TOOL)
        moved = before[:3, :3].T @ (after[:3, 3] - before[:3, 3])
        assert moved[k] > 0.03
        assert np.delete(moved, k) == pytest.approx(0.0, abs=1e-4)
        assert after[:3, :3] == pytest.approx(before[:3, :3], abs=1e-4)


def test_a_mouse_pulls_a_body_of_a_live_robot(arm, browser):
    size = (1000, 640)
    with (
        sf.view(arm, q=POSE, block=False, live="hold") as viewer,
        page(browser, viewer.url, size=size) as (shown, _),
    ):
        shown.get_by_text("joint1 [rad]", exact=True).first.wait_for(timeout=30_000)
        shown.wait_for_timeout(1500)
        start = pixel(viewer, sf.frame_pose(arm, viewer.q, "link4")[:3, 3], size)
        pressed(shown, start, (-120.0, -60.0))
        until(lambda: viewer._player.pull is not None, "the mouse has hold of a body")
        until(lambda: np.abs(viewer.q - POSE).max() > 0.05, "the robot gives way")
        shown.mouse.up()
        until(lambda: viewer._player.pull is None, "the mouse lets go")
        until(lambda: np.abs(viewer.q - POSE).max() < 0.02, "the motors bring it back")
