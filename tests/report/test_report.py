"""The report: one file that holds everything and asks for nothing."""

import base64
import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import sixfold as sf
from sixfold.display.report.html import groups, names
from sixfold.display.scene.record import record
from sixfold.show import keep_extremes


def decoded(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560")


@pytest.fixture(scope="module")
def motion(arm):
    t = np.linspace(0.0, 4.0, 2001)
    q = np.sin(t[:, None] * np.linspace(1, 3, arm.nq))
    v = np.cos(t[:, None] * np.linspace(1, 3, arm.nq)) * np.linspace(1, 3, arm.nq)
    return SimpleNamespace(t=t, q=q, v=v, tau=np.cos(q), notes={"controller": "hand"})


@pytest.fixture(scope="module")
def written(arm, motion, tmp_path_factory):
    return sf.write_report(tmp_path_factory.mktemp("report") / "run.html", arm, motion)


def test_a_report_is_small_and_names_nothing_outside_itself(written):
    text = written.read_text(encoding="utf-8")
    assert written.stat().st_size < 1_000_000
    addresses = set(re.findall(r"(?:https?|wss?|ftp)://[^\s\"'<]+", text))
    # a name of a language, not an address that is asked
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", text)
    assert "{{" not in text.replace('data="{{', "")


def test_a_report_tells_what_ran(written):
    text = written.read_text(encoding="utf-8")
    for words in ("puma560", "23.45 kg", "4 s from t = 0 s", "2\u202f000 of 0.002 s", "hand"):
        assert words in text
    assert f"Sixfold {sf.__version__}" in text


def test_the_poses_on_the_page_are_the_poses_of_the_motion(arm, motion, written):
    scene = data_of(written)["scene"]
    times = decoded(scene["times"], "<f4")
    numbers = decoded(scene["poses"], "<u2").reshape(len(times), arm.nb, 7)
    rows = np.searchsorted(motion.t, times.astype(float) - 1e-4)
    poses = sf.body_poses(arm, motion.q[rows])
    positions = np.array(scene["low"]) + numbers[..., :3] * np.array(scene["step"])
    assert np.abs(positions - poses[..., :3, 3]).max() < 1e-4 * scene["radius"]
    x, y, z, w = np.moveaxis(numbers[..., 3:] / 32767.5 - 1, -1, 0)
    third = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    assert np.abs(third - poses[..., :3, 2]).max() < 2e-4


def test_surfaces_on_the_page_are_triangles_of_the_robot(arm, written):
    for part in data_of(written)["scene"]["parts"]:
        vertices = decoded(part["vertices"], "<u2").reshape(-1, 3)
        faces = decoded(part["faces"], "<u4" if part["wide"] else "<u2").reshape(-1, 3)
        assert -1 <= part["body"] < arm.nb
        assert faces.max() < len(vertices)


def test_plots_on_the_page_carry_the_numbers(arm, motion, written):
    plots = {plot["title"]: plot for plot in data_of(written)["plots"]}
    assert list(plots) == [
        "Positions",
        "Velocities",
        "Joint forces",
        "Energy",
        "Change of total energy",
    ]
    forces = plots["Joint forces"]
    t = decoded(forces["t"], "<f4")
    values = decoded(forces["values"], "<f4").reshape(arm.nv, -1)
    assert forces["names"] == list(arm.joint_names)
    assert (t[0], t[-1]) == (0.0, 4.0)
    assert values[:, 0] == pytest.approx(motion.tau[0])
    assert values[:, -1] == pytest.approx(motion.tau[-1])


def test_long_lines_keep_their_peaks():
    t = np.linspace(0, 1, 100_001)
    values = np.stack([np.sin(9 * t), np.zeros_like(t)], axis=1)
    values[44_444, 1], values[80_000, 1] = 7.0, -3.0
    times, rows = keep_extremes(t, values, 500)
    assert len(times) == len(rows) <= 500
    assert np.all(np.diff(times) >= 0)
    assert (rows[:, 1].max(), rows[:, 1].min()) == (7.0, -3.0)
    assert rows[:, 0].max() == pytest.approx(values[:, 0].max())


def test_names_cannot_break_out_of_the_page(tmp_path):
    hostile = "</script><script>alert(1)</script>"
    model = sf.rename(sf.load("pendulum"), {"hinge": hostile, "bob": "<b>"})
    model = replace(model, name=hostile)
    path = sf.write_report(tmp_path / "a.html", model, np.zeros((2, 1)), title="<img src=x>")
    text = path.read_text(encoding="utf-8")
    assert hostile not in text
    assert "<img src=x>" not in text
    assert data_of(path)["plots"][0]["names"] == [hostile]


@pytest.mark.parametrize("robot", ["rolling_ball", "floating_link", "random_tree:12:5", "pendulum"])
def test_any_robot_and_a_single_state_make_a_report(robot, tmp_path):
    model = sf.load(robot)
    q, _ = sf.random_state(model, 1, seed=1)
    path = sf.write_report(tmp_path / "one.html", model, q)
    assert data_of(path)["start"] == data_of(path)["end"] == 0.0


def test_a_simulated_motion_reports_how_it_was_made(tmp_path):
    model = sf.load("double_pendulum")
    trajectory = sf.simulate(model, [1.0, 0.5], None, 0.2)
    text = sf.write_report(tmp_path / "s.html", model, trajectory).read_text(encoding="utf-8")
    assert "<th>Energy drift</th>" in text
    assert "<th>Integrator</th><td>rk4</td>" in text
    assert "200 of 0.001 s" in text


def test_meshes_that_are_missing_are_noted(tmp_path):
    geometry = sf.model.Geometry(0, sf.Transform.identity(), sf.model.Mesh("gone.stl"))
    origin = sf.model.SourceInfo(str(tmp_path / "robot.urdf"))
    model = replace(sf.load("pendulum"), geometries=(geometry,), origin=origin)
    path = sf.write_report(tmp_path / "m.html", model, np.zeros((1, 1)))
    assert "Not drawn" in path.read_text(encoding="utf-8")


def test_every_coordinate_has_a_name_of_its_own():
    model = sf.load("random_tree:20:6")
    assert len(set(names(model, "nq"))) == model.nq
    assert len(set(names(model, "nv"))) == model.nv


def test_energies_are_worked_out_when_velocities_are_known(arm, motion):
    lines = {group.title: group for group in groups(record("test", arm, motion))}
    kinetic, potential, total = lines["Energy"].values.T
    assert kinetic == pytest.approx(sf.kinetic_energy(arm, motion.q, motion.v))
    assert total == pytest.approx(kinetic + potential)
    bare = groups(record("test", arm, {"q": motion.q, "t": motion.t}))
    assert [group.title for group in bare] == ["Positions", "Velocities"]
    assert np.abs(bare[1].values - motion.v).max() < 0.02


def test_contact_forces_are_plotted_and_drawn_where_they_act(tmp_path):
    builder = sf.ModelBuilder("ball")
    builder.add_body("ball", joint=sf.Free(), inertia=sf.spatial.solids.sphere(0.1, mass=2.0))
    model = builder.build()
    ground = sf.contact.Ground(
        normal=(0.0, 0.6, 0.8), points=[sf.contact.ContactPoint("ball", radius=0.1)]
    )
    q = sf.neutral(model)
    q[:3] = [0.0, 0.06, 0.08]
    run = sf.simulate(model, q, None, 0.2, dt=1e-3, contacts=ground)
    lines = {group.title: group for group in groups(record("test", model, run))}
    normal = lines["Contact forces, normal"]
    assert normal.names == ("contact 0",)
    assert normal.unit == "N"
    # across the slope the ball does not move in the end
    assert normal.values[-1] == pytest.approx([0.8 * 2.0 * 9.81], rel=1e-2)
    assert normal.values[:, 0] == pytest.approx(run.contact_forces[:, 0] @ [0.0, 0.6, 0.8])
    bare = {"t": run.t, "q": run.q, "contact_forces": run.contact_forces}
    sizes = next(g for g in groups(record("test", model, bare)) if g.title == "Contact forces")
    assert sizes.values[:, 0] == pytest.approx(np.linalg.norm(run.contact_forces[:, 0], axis=1))

    scene = data_of(sf.write_report(tmp_path / "c.html", model, run))["scene"]
    drawn = scene["contacts"]
    frames = len(decoded(scene["times"], "<f4"))
    numbers = decoded(drawn["arrows"], "<u2").reshape(frames, 1, 2, 3)
    ends = np.array(drawn["low"]) + numbers * np.array(drawn["step"])
    assert ends[-1, 0, 0] == pytest.approx(run.contact_points[-1, 0], abs=1e-4)
    along = ends[-1, 0, 1] - ends[-1, 0, 0]
    force = run.contact_forces[-1, 0]
    assert along / np.linalg.norm(along) == pytest.approx(force / np.linalg.norm(force), abs=1e-2)
    assert len(drawn["parts"]) == 3
    assert data_of(sf.write_report(tmp_path / "n.html", model, run.q))["scene"]["contacts"] is None


def test_forces_of_constraints_are_plotted_by_row():
    builder = sf.ModelBuilder("hanging")
    builder.add_body("ball", joint=sf.Free(), inertia=sf.spatial.solids.sphere(0.1, mass=2.0))
    builder.add_rod("world", "ball", 1.0, (0, 0, 1), name="rod")
    builder.close("world", "ball", sf.Spherical(), (0, 0, 0), name="pin")
    model = builder.build()
    q = np.tile(sf.neutral(model), (3, 1))
    still = {"t": [0.0, 0.1, 0.2], "q": q, "v": np.zeros((3, 6)), "tau": np.zeros((3, 6))}
    found = next(g for g in groups(record("test", model, still)) if g.title == "Constraint forces")
    assert found.names == model.constraint_rows == ("rod", "pin.0", "pin.1", "pin.2")
    _, forces = sf.loops.constrained_dynamics(model, q, still["v"], still["tau"])
    assert np.array_equal(found.values, forces)
    assert np.abs(forces).sum(axis=1) == pytest.approx(np.full(3, 2.0 * 9.81))
    del still["tau"]
    assert "Constraint forces" not in [g.title for g in groups(record("test", model, still))]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ({"q": np.zeros((3, 5))}, sf.errors.ShapeError),
        ({"q": np.full((3, 6), np.nan)}, sf.errors.StateError),
        ({"q": np.zeros((3, 6)), "t": [0, 0, 1]}, sf.errors.StateError),
        ("words", sf.errors.NumberError),
    ],
)
def test_bad_motions_are_named_and_nothing_is_written(arm, source, error, tmp_path):
    with pytest.raises(error, match="write_report"):
        sf.write_report(tmp_path / "bad.html", arm, source)
    assert not (tmp_path / "bad.html").exists()


def test_a_file_that_cannot_be_written_is_named(arm, motion, tmp_path):
    with pytest.raises(sf.errors.OutputFileError, match="cannot be written"):
        sf.write_report(tmp_path / "no" / "folder.html", arm, motion)


def test_a_figure_has_a_panel_for_each_quantity(arm, motion, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / "figure.svg"
    figure = sf.plot(motion, path, model=arm)
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert titles == ["Positions [rad]", "Velocities [rad/s]", "Joint forces [N m]", "Energy [J]"]
    assert len(figure.axes[0].lines) == arm.nq
    assert "<svg" in path.read_text(encoding="utf-8")
    assert len(sf.plot(motion).axes) == 3


def test_a_figure_of_nothing_or_to_nowhere_is_refused(motion, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with pytest.raises(sf.errors.NumberError, match="no arrays to plot"):
        sf.plot(object())
    for path in (tmp_path / "no" / "figure.svg", tmp_path / "figure.exe"):
        with pytest.raises(sf.errors.OutputFileError, match="cannot be written"):
            sf.plot(motion, path)


def test_without_matplotlib_the_way_to_install_it_is_told(motion, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sf.errors.NotApplicableError, match=r"pip install 'sixfold\[report\]'"):
        sf.plot(motion)
