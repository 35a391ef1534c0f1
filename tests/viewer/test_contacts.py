"""Contacts and forces of loops over a robot: what is drawn is what acts."""

from types import SimpleNamespace

import numpy as np
import pytest

import sixfold as sf
from sixfold.display.scene.figure import LONGEST, force_arrows, usual_force
from sixfold.display.scene.record import Contacts, record
from sixfold.display.viewer.drawing import (
    HIDDEN,
    ContactLayer,
    ScrewLayer,
    State,
    cone_scales,
    loop_screws,
)
from sixfold.display.viewer.panel import contact_rows
from sixfold.spatial import solids
from tests.viewer.support import colored, page, picture, until

MASS, G = 2.0, 9.81
SIZE = (0.3, 0.2, 0.1)


class Scene:
    """Keeps what is added to it."""

    def add_batched_meshes_simple(self, name, vertices, faces, turns, positions, **options):
        options.setdefault("batched_scales", None)
        return SimpleNamespace(
            name=name,
            vertices=vertices,
            batched_wxyzs=turns,
            batched_positions=positions,
            **options,
        )

    def add_arrows(self, name, points, colors, **options):
        return SimpleNamespace(name=name, points=points, **options)


@pytest.fixture(scope="module")
def box():
    """Return a box that slides over the ground on four of its eight corners, and its motion."""
    builder = sf.ModelBuilder("box")
    builder.add_body("body", joint=sf.Free(), inertia=solids.box(*SIZE, mass=MASS))
    model = builder.build()
    signs = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    points = [sf.contact.ContactPoint("body", tuple(np.multiply(s, SIZE))) for s in signs]
    q = sf.neutral(model)
    q[2] = SIZE[2] / 2
    ground = sf.contact.Ground(points=points, friction=0.4)
    return model, sf.simulate(model, q, [0, 0, 0, 2.0, 0, 0], 0.3, dt=1e-3, contacts=ground)


def test_a_record_holds_the_contacts_between_rows(box):
    model, run = box
    motion = record("test", model, run)
    half = motion.contacts(0.0105)
    for name in ("forces", "points", "normals", "gaps"):
        rows = getattr(run, f"contact_{name}")
        assert getattr(half, name) == pytest.approx((rows[10] + rows[11]) / 2, abs=1e-9)
    assert half.friction == pytest.approx(np.full(8, 0.4))
    assert record("test", model, {"q": run.q, "t": run.t}).contacts(0.1) is None


def test_of_a_batch_the_first_motion_touches(box):
    model, run = box
    both = {"t": run.t, "q": np.stack([run.q, run.q])}
    for name in ("contact_forces", "contact_points", "contact_gaps"):
        one = getattr(run, name)
        both[name] = np.stack([one, one + 1.0])
    found = record("test", model, both).contacts(0.0)
    assert found.forces == pytest.approx(run.contact_forces[0])
    assert found.normals is None
    assert found.use is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"contact_points": np.zeros((301, 7, 3))}, "contact_points"),
        ({"contact_gaps": np.zeros((300, 8))}, "contact_gaps"),
        ({"contact_forces": np.zeros(3)}, "contact_forces"),
        ({"contact_friction": np.zeros(3)}, "contact_friction"),
    ],
)
def test_arrays_of_contacts_that_do_not_fit_are_named(box, change, words):
    model, run = box
    names = ("forces", "points", "gaps", "normals", "friction")
    given = {f"contact_{name}": getattr(run, f"contact_{name}") for name in names}
    with pytest.raises(sf.errors.ShapeError, match=words):
        record("test", model, {"t": run.t, "q": run.q, **given, **change})


def test_a_sliding_box_uses_all_of_its_cones(box):
    model, run = box
    # it slides until 2 / (0.4 g) = 0.51 s
    now = record("test", model, run).contacts(0.25)
    closed = [0, 2, 4, 6]
    assert np.flatnonzero(now.touches).tolist() == closed
    assert now.use[closed] == pytest.approx(np.ones(4), abs=1e-3)
    assert now.use[[1, 3, 5, 7]] == pytest.approx(np.zeros(4))
    # a soft contact that slides hops a little: only in the mean it bears the weight
    assert run.contact_forces.sum(axis=1)[:, 2].mean() == pytest.approx(MASS * G, rel=0.02)
    table = contact_rows(now)
    assert table.count("100 %") == 4
    assert f"{now.sizes[2]:.4g}" in table


def test_the_layer_shows_closed_contacts_with_cones_along_normals(box):
    model, run = box
    motion = record("test", model, run)
    layer = ContactLayer(Scene(), 0.4, motion)
    assert not layer.balls.visible
    now = motion.contacts(0.25)
    layer.show(True)
    layer.draw(now)
    assert layer.balls.visible
    assert layer.arrows.visible
    assert len(layer.arrows.points) == 4
    assert layer.arrows.points[:, 0] == pytest.approx(now.points[now.touches], abs=1e-6)
    along = layer.arrows.points[:, 1] - layer.arrows.points[:, 0]
    assert np.cross(along, now.forces[now.touches]) == pytest.approx(np.zeros((4, 3)), abs=1e-5)
    assert (along[:, 2] > 0).all()
    scales = layer.cones.batched_scales
    assert scales[now.touches][:, 0] / scales[now.touches][:, 2] == pytest.approx(np.full(4, 0.4))
    assert scales[~now.touches] == pytest.approx(np.full((4, 3), HIDDEN))
    layer.show(False)
    assert not (layer.balls.visible or layer.cones.visible or layer.arrows.visible)


def test_cones_open_about_the_normal():
    n = np.array([0.6, 0.0, 0.8])
    forces = np.array([[0.6, 0.0, 0.8]])
    now = Contacts(forces, np.ones((1, 3)), np.zeros(1), n[None], np.array([0.5]))
    given = {"contact_forces": forces[None]}
    motion = SimpleNamespace(given=given, t=[0.0], contacts=lambda _: now)
    layer = ContactLayer(Scene(), 1.0, motion)
    layer.draw(now)
    w, x, y, z = layer.cones.batched_wxyzs[0]
    axis = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    assert axis == pytest.approx(n, abs=1e-6)
    # on the surface of the cone that is sent, the angle to the axis is that of friction
    rim = layer.cones.vertices[-1] * layer.cones.batched_scales[0]
    assert np.arctan2(np.hypot(*rim[:2]), rim[2]) == pytest.approx(np.arctan(0.5))
    assert np.linalg.norm(rim) == pytest.approx(0.16)


def test_cones_have_one_length_whatever_the_friction():
    scales = cone_scales(np.array([0.1, 1.0, 3.0]), 2.0)
    assert np.hypot(scales[:, 0], scales[:, 2]) == pytest.approx(np.full(3, 2.0))


def test_arrows_are_as_long_as_forces_but_for_impacts():
    forces = np.array([[0.0, 0.0, 3.0], [0.0, 4.0, 0.0], [0.0, 0.0, 5e3], [0.0, 0.0, 0.0]])
    usual = usual_force(forces)
    assert usual == 4.0
    ends = force_arrows(np.ones((4, 3)), forces, usual, 0.5)
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    assert lengths == pytest.approx([0.375, 0.5, 0.5 * LONGEST, 0.0])
    assert usual_force(np.zeros((3, 3))) == 1.0


# -- loops


def hanging(above=True):
    """Return a ball on a rod from a hook at (0, 0, 1), its second end the ball or the base."""
    builder = sf.ModelBuilder("hanging")
    inertia = sf.Inertia.from_mass(MASS, (0, 0, 0), (0.1, 0.1, 0.1))
    builder.add_body("ball", joint=sf.Free(), inertia=inertia)
    if above:
        builder.add_rod("world", "ball", 1.0, (0, 0, 1), name="rod")
    else:
        builder.add_rod("ball", "world", 1.0, (0, 0, 0), (0, 0, 1), name="rod")
    return builder.build()


def test_a_rod_bears_the_weight_that_hangs_on_it():
    for above, sign, height in ((True, 1.0, 0.0), (False, -1.0, 1.0)):
        model = hanging(above)
        (s,) = loop_screws(model, State(sf.neutral(model), np.zeros(6), np.zeros(6)))
        assert s.size == pytest.approx(MASS * G)
        assert s.direction == pytest.approx([0.0, 0.0, sign], abs=1e-9)
        assert s.point == pytest.approx([0.0, 0.0, height], abs=1e-9)
        assert s.pitch == pytest.approx(0.0, abs=1e-9)


def test_forces_of_loops_follow_joint_forces():
    model = hanging()
    push = np.array([0, 0, 0, 0, 0, -5.0])
    (s,) = loop_screws(model, State(sf.neutral(model), np.zeros(6), np.zeros(6), push))
    assert s.size == pytest.approx(MASS * G + 5.0)


@pytest.mark.parametrize("shape", ["ball", "disc"])
def test_what_rolls_is_held_where_it_touches(shape):
    builder = sf.ModelBuilder("wheel")
    inertia = sf.Inertia.from_mass(MASS, (0, 0, 0), (0.1, 0.1, 0.1))
    builder.add_body("wheel", joint=sf.Free(), inertia=inertia)
    options = {} if shape == "ball" else {"axis": "y"}
    builder.add_rolling("wheel", 0.3, shape=shape, **options)
    model = builder.build()
    q = sf.neutral(model)
    q[:3] = [0.7, -0.2, 0.3]
    (s,) = loop_screws(model, State(q, np.zeros(6), np.zeros(6)))
    assert s.size == pytest.approx(MASS * G)
    assert s.direction == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)
    assert s.point == pytest.approx([0.7, -0.2, 0.0], abs=1e-9)


def test_a_closed_hinge_carries_what_newton_asks_for():
    model, q = four_bar()
    v = sf.loops.project(model, q, [1.0, 0.0, 0.0])[1]
    a, _ = sf.loops.constrained_dynamics(model, q, v, np.zeros(3))
    state = State(q, v, a)
    (s,) = loop_screws(model, state)
    pose = sf.body_poses(model, q)[2]
    end = pose[:3, :3] @ [0.9, 0.0, 0.0] + pose[:3, 3]
    # about the pivot of the rocker: inertia times acceleration is the moment of weight and force
    arm, middle = end - pose[:3, 3], pose[:3, :3] @ [0.45, 0.0, 0.0]
    inertia = 1.0 * 0.45**2 + 0.9**2 / 12
    moment = np.cross(middle, [0.0, -G, 0.0]) + np.cross(arm, s.direction * s.size)
    assert inertia * a[2] == pytest.approx(moment[2])
    # the axis of the force passes through the hinge
    assert np.cross(end - s.point, s.direction) == pytest.approx(np.zeros(3), abs=1e-9)


def four_bar():
    def rod(length):
        turning = length**2 / 12
        return sf.Inertia.from_mass(1.0, (length / 2, 0, 0), (1e-3, turning, turning))

    builder = sf.ModelBuilder("fourbar", gravity=(0, -G, 0))
    builder.add_body("crank", joint=sf.Revolute("z"), inertia=rod(0.5))
    hinge = sf.Revolute("z")
    builder.add_body(
        "coupler", parent="crank", joint=hinge, placement=(0.5, 0, 0), inertia=rod(1.2)
    )
    builder.add_body("rocker", joint=sf.Revolute("z"), placement=(1.0, 0, 0), inertia=rod(0.9))
    builder.close("coupler", "rocker", sf.Revolute("z"), (1.2, 0, 0), (0.9, 0, 0), name="pin")
    model = builder.build()
    return model, sf.loops.assemble(model, [1.05, 0, 1.0], hold=["crank_joint"])


def test_screws_of_loops_are_named_by_their_constraints():
    model, _ = four_bar()
    assert ScrewLayer(None, "loop force", 1.0).names(model) == ("pin",)
    assert ScrewLayer(None, "force", 1.0).names(model) == ("crank", "coupler", "rocker")


# -- the window


def test_what_a_robot_has_not_cannot_be_switched_on(box):
    pytest.importorskip("viser", reason="viser is not installed")
    model, run = box
    geared = sf.ModelBuilder("gears")
    disc = solids.box(0.1, 0.1, 0.1, mass=1.0)
    for name in "ab":
        geared.add_body(name, joint=sf.Revolute("z"), inertia=disc)
    geared.add_gear("a_joint", ("b_joint", 2.0))
    bar, q = four_bar()
    for robot, motion, there in (
        (model, run, {"contacts"}),
        (model, {"t": run.t, "q": run.q}, set()),
        (bar, q[None], {"loop force"}),
        (geared.build(), None, set()),
    ):
        with sf.view(robot, motion, block=False, play=False) as viewer:
            names = ("contacts", "loop force")
            assert {name for name in names if viewer._panel.switches[name].visible} == there


def test_the_window_draws_forces_and_drops_them_when_hands_pose_the_robot(box):
    pytest.importorskip("viser", reason="viser is not installed")
    model, run = box
    with sf.view(model, run, block=False, play=False) as viewer:
        layer, panel = viewer._contacts, viewer._panel
        panel.switches["contacts"].value = True
        viewer.seek(0.25)
        until(lambda: layer.arrows.visible and len(layer.arrows.points) == 4, "arrows appear")
        until(lambda: "of cone" in panel.tables.content, "a table appears")
        viewer.pose(sf.neutral(model))
        until(lambda: not (layer.arrows.visible or layer.balls.visible), "nothing is known of it")
        assert viewer._thread.is_alive()
    bar, q = four_bar()
    with sf.view(bar, q=q, block=False) as viewer:
        viewer._panel.switches["loop force"].value = True
        until(lambda: viewer._screws["loop force"].nodes, "the force of the loop appears")
        until(lambda: "pin" in viewer._panel.tables.content, "it is named")


def test_a_browser_shows_contacts(box, browser):
    pytest.importorskip("viser", reason="viser is not installed")
    model, run = box
    area = (0, 200, 560, 320)
    with (
        sf.view(model, run, block=False, play=False) as viewer,
        page(browser, viewer.url, size=(900, 520)) as (shown, _),
    ):
        viewer.seek(0.25)
        shown.get_by_text("Show", exact=True).first.click(timeout=30_000)
        shown.wait_for_timeout(3000)
        # the box has no shapes and the ground is grey
        assert colored(picture(shown, area)) < 0.001
        shown.get_by_role("checkbox", name="contacts").check()
        until(lambda: colored(picture(shown, area)) > 0.005, "contacts appear")
        shown.get_by_role("checkbox", name="contacts").uncheck()
        until(lambda: colored(picture(shown, area)) < 0.001, "contacts go")
