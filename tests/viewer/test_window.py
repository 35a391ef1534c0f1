"""The window in a real browser: it shows the robot, obeys hands, and stays on this machine."""

import socket
import sys
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest

import sixfold as sf
from tests.viewer.support import changed, colored, page, picture, until

pytest.importorskip("viser", reason="viser is not installed")
PICTURE = (0, 0, 560, 520)
"""The part of the page that the panel does not cover."""


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560")


@pytest.fixture(scope="module")
def motion(arm):
    t = np.linspace(0.0, 3.0, 151)
    return {"t": t, "q": 0.8 * np.sin(t)[:, None] * np.ones(arm.nq)}


def test_a_browser_shows_the_robot_and_hands_move_it(arm, motion, browser):
    with (
        sf.view(arm, motion, block=False, play=False) as viewer,
        page(browser, viewer.url, size=(900, 520)) as (shown, asked),
    ):
        shown.get_by_text("joint1 [rad]", exact=True).first.wait_for(timeout=30_000)
        until(lambda: colored(picture(shown, PICTURE)) > 0.002, "the robot appears")
        resting = picture(shown, PICTURE)

        # the sliders of time, joint1 and joint2 come first
        slider = shown.get_by_role("slider").nth(2)
        slider.focus()
        slider.press("End")
        until(lambda: viewer.q[1] > 3.0, "the slider moves the joint")
        assert viewer.q[[0, 2, 3, 4, 5]] == pytest.approx(0.0)
        until(lambda: changed(resting, picture(shown, PICTURE)) > 0.002, "the picture follows")

        # playback
        posed = picture(shown, PICTURE)
        shown.get_by_role("button", name="Play").click()
        first = until(lambda: viewer.time, "time passes")
        until(lambda: viewer.time > first + 0.2, "time goes on")
        until(lambda: changed(posed, picture(shown, PICTURE)) > 0.002, "the robot moves")

        hosts = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
        assert hosts == {"127.0.0.1"}


def test_only_loopback_answers(arm):
    with sf.view(arm, block=False) as viewer:
        socket.create_connection(("127.0.0.1", viewer.port), timeout=5).close()
        for address in other_addresses():
            with pytest.raises(OSError):
                socket.create_connection((address, viewer.port), timeout=1).close()


def other_addresses():
    """Return addresses of this machine at which a server on every interface would answer."""
    found = {"127.0.0.2"}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # nothing is sent: this only asks which address would be used
            probe.connect(("192.0.2.1", 9))
            found.add(probe.getsockname()[0])
        except OSError:
            pass
    return found - {"127.0.0.1", "0.0.0.0"}


def test_closing_frees_the_port_and_ends_the_thread(arm):
    viewer = sf.view(arm, block=False)
    port = viewer.port
    viewer.close()
    viewer.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    assert not [t for t in threading.enumerate() if t.name == "sixfold-view"]
    sf.view(arm, block=False, port=port).close()


def test_a_page_cannot_open_a_tunnel(arm):
    with sf.view(arm, block=False) as viewer:
        assert viewer._server.request_share_url() is None
        assert viewer._server._share_tunnel is None


def test_a_program_plays_seeks_and_poses(arm, motion):
    with sf.view(arm, motion, block=False, play=False) as viewer:
        viewer.seek(1.0)
        until(lambda: abs(viewer.q[0] - 0.8 * np.sin(1.0)) < 1e-12, "the moment is shown")
        viewer.seek(99.0)
        until(lambda: abs(viewer.q[0] - 0.8 * np.sin(3.0)) < 1e-12, "the end is shown")
        viewer.pose(np.full(6, 0.25))
        assert viewer.q == pytest.approx(np.full(6, 0.25))
        viewer.play()
        until(lambda: viewer.time < 3.0, "time passes")
        viewer.pause()


def test_a_motion_between_two_rows_is_interpolated(arm):
    with sf.view(arm, np.array([np.zeros(6), np.ones(6)]), t=[0.0, 2.0], block=False) as viewer:
        viewer.pause()
        viewer.seek(0.5)
        until(lambda: abs(viewer.q[3] - 0.25) < 1e-12, "a quarter of the way")


@pytest.mark.parametrize(
    "robot", ["random_tree:5:5", "rolling_ball", "floating_link", "cart_pendulum", "planar_chain"]
)
def test_every_overlay_can_be_drawn(robot):
    model = sf.load(robot)
    q, v = sf.random_state(model, seed=1)
    with sf.view(model, q=q, block=False) as viewer:
        viewer._player.v = v
        screws = viewer._screws.values()
        for on in (True, False):
            for switch in viewer._panel.switches.values():
                switch.value = on
            until(lambda on=on: all(bool(layer.nodes) == on for layer in screws), f"screws: {on}")
            until(lambda on=on: viewer._was.get("dark", False) == on, f"switches: {on}")
        assert viewer._thread.is_alive()


@pytest.mark.parametrize("lead", [(5,), (3, 4)])
def test_a_batch_appears_as_ghosts(arm, lead):
    q, _ = sf.random_state(arm, lead, seed=2)
    with sf.view(arm, q=q, block=False, play=False) as viewer:
        node = viewer._ghosts.nodes[0]
        assert len(node.batched_positions) == lead[0] - 1
        if len(lead) == 2:
            before = node.batched_wxyzs.copy()
            viewer.seek(3 / 60)
            until(lambda: not np.array_equal(before, node.batched_wxyzs), "the ghosts move")


BAD = [
    ({"q": np.zeros(5)}, sf.errors.ShapeError, "q"),
    ({"q": np.full(6, np.nan)}, sf.errors.StateError, "not finite"),
    ({"q": "elbow"}, sf.errors.NumberError, "q"),
    ({"trajectory": np.zeros((4, 7))}, sf.errors.ShapeError, r"\(T, 6\)"),
    ({"trajectory": np.zeros((0, 6))}, sf.errors.ShapeError, "q"),
    ({"trajectory": np.zeros((3, 6)), "t": [0.0, 1.0]}, sf.errors.ShapeError, "t"),
    ({"trajectory": np.zeros((3, 6)), "t": [0.0, 2.0, 1.0]}, sf.errors.StateError, "row 2"),
    ({"trajectory": {"q": np.zeros((3, 6)), "v": np.zeros((2, 6))}}, sf.errors.ShapeError, "v"),
    ({"trajectory": np.zeros((2, 3, 6)), "q": np.zeros(6)}, sf.errors.ShapeError, "batch"),
    ({"port": -1}, sf.errors.OptionError, "port"),
    ({"port": "http"}, sf.errors.OptionError, "port"),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD)
def test_bad_input_is_named_at_once(arm, options, error, words):
    with pytest.raises(error, match=words):
        sf.view(arm, block=False, **options)
    assert not [t for t in threading.enumerate() if t.name == "sixfold-view"]


def test_a_quaternion_of_length_zero_is_refused():
    model = sf.load("floating_link")
    with pytest.raises(sf.errors.StateError, match="joint 'free'"):
        sf.view(model, q=np.zeros(model.nq), block=False)


def test_a_port_in_use_is_named(arm):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(sf.errors.NotApplicableError, match=f"port {port}"):
            sf.view(arm, block=False, port=port)


def test_without_viser_the_way_to_install_it_is_told(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(sf.errors.NotApplicableError, match=r"pip install 'sixfold\[view\]'"):
        sf.view(arm, block=False)


def test_something_else_than_a_model_is_refused():
    with pytest.raises(sf.errors.ArgumentError, match="Model"):
        sf.view("puma560", block=False)


def test_a_robot_opens_within_its_limits():
    builder = sf.ModelBuilder("elbow")
    solid = sf.Inertia.from_mass(1.0, (0.0, 0.0, 0.3), (0.1, 0.1, 0.1))
    builder.add_body("arm", joint=sf.Revolute("y"), inertia=solid, lower=-3.0, upper=-1.0)
    with sf.view(builder.build(), block=False) as viewer:
        assert viewer.q == pytest.approx([-2.0])


def test_degrees_names_and_ellipsoids_are_shown_on_request(arm):
    with sf.view(arm, q=np.full(arm.nq, 0.5), block=False) as viewer:
        panel = viewer._panel
        assert panel.sliders[0].label.endswith("[rad]")
        panel.degrees.value = True
        until(lambda: panel.sliders[0].label.endswith("[°]"), "the sliders show degrees")
        assert panel.sliders[0].value == pytest.approx(28.65, abs=0.2)
        assert panel.sliders[0].max > 100.0
        panel.degrees.value = False
        until(lambda: panel.sliders[0].label.endswith("[rad]"), "the sliders show radians")
        assert panel.sliders[0].value == pytest.approx(0.5, abs=0.01)
        panel.switches["names"].value = True
        viewer._wake.set()
        until(lambda: len(viewer._robot.names) == arm.nb, "names appear")
        parts = viewer._robot.inertia_parts()
        assert len({part.color for part in parts}) == len(parts) > 1
        assert all(0.0 < part.opacity < 0.5 for part in parts)
