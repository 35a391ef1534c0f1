"""What a robot looks like, as triangles."""

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.display.scene.figure import (
    box_sides,
    ellipsoid_radii,
    figure,
    pose_of,
    principal,
    quaternions,
    stage,
    stick_figure,
    turn_between,
)
from sixfold.display.scene.surfaces import (
    Part,
    box,
    capsule,
    cylinder,
    ellipsoid,
    face_normals,
    frustum,
    join_surfaces,
    limit_triangles,
    merge_cells,
    rod,
    sphere,
    split_creases,
    tidy,
)
from sixfold.model import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, SourceInfo, Sphere
from sixfold.spatial import solids

AT_REST = sf.Transform.identity()


def volume(surface):
    """Return the volume inside, by the divergence theorem: positive when faces look outward."""
    a, b, c = np.moveaxis(surface.corners, 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        (box((1.0, 2.0, 3.0)), 6.0),
        (cylinder(0.5, 2.0), np.pi * 0.25 * 2),
        (frustum(1.0, 0.5, 3.0), np.pi * (1 + 0.5 + 0.25)),
        (sphere(0.7), 4 / 3 * np.pi * 0.343),
        (capsule(0.5, 2.0), np.pi * 0.25 * 2 + 4 / 3 * np.pi * 0.125),
        (ellipsoid((1.0, 0.5, 0.2)), 4 / 3 * np.pi * 0.1),
        (rod(np.array([1.0, 0, 0]), np.array([1.0, 0, 2.0]), 0.1), np.pi * 0.01 * 2),
    ],
)
def test_solids_are_closed_and_look_outward(surface, expected):
    assert volume(surface) == pytest.approx(expected, rel=0.04)
    edges = np.sort(tidy(surface).faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    assert np.all(counts == 2)


def test_a_mirror_turns_faces_around():
    assert volume(box((1, 1, 1)).transform(np.diag([1.0, -2.0, 1.0, 1.0]))) == pytest.approx(2.0)


def test_sharp_edges_part_and_soft_ones_do_not():
    solid = tidy(box((1, 1, 1)))
    assert len(solid.vertices) == 8
    assert len(split_creases(solid).vertices) == 24
    ball = tidy(sphere(1.0))
    assert len(split_creases(ball).vertices) == len(ball.vertices)
    assert face_normals(split_creases(solid)) == pytest.approx(face_normals(solid))


def test_thinning_keeps_the_shape_within_a_cell():
    ball = join_surfaces([sphere(1.0)])
    coarse = merge_cells(ball, 0.3)
    assert len(coarse.faces) < len(ball.faces) / 2
    assert np.abs(np.linalg.norm(coarse.vertices, axis=1) - 1.0).max() < 0.3


def test_parts_are_thinned_to_a_budget():
    parts = [Part(k, sphere(0.3), (1, 2, 3)) for k in range(4)]
    assert sum(len(p.surface.faces) for p in limit_triangles(parts, 1.0, 10**6)) == 4 * 784
    assert sum(len(p.surface.faces) for p in limit_triangles(parts, 1.0, 800)) <= 800


@pytest.mark.parametrize("kind", sf.model.STANDARD_JOINTS, ids=lambda kind: kind.__name__)
def test_every_kind_of_joint_has_a_stick_figure(kind):
    model = sf.random_tree(4, 1, joints=[kind])
    parts = stick_figure(model)
    assert {part.body for part in parts} >= set(range(model.nb))
    for part in parts:
        assert np.isfinite(part.surface.vertices).all()
        assert len(part.surface.faces)
        assert part.surface.faces.max() < len(part.surface.vertices)


def test_sticks_are_proportioned_to_the_robot():
    def thickness(length):
        builder = sf.ModelBuilder("arm")
        inertia = sf.Inertia.from_mass(1.0, (0, 0, length), (0.1, 0.1, 0.1))
        builder.add_body("a", joint=sf.Revolute("y"), inertia=inertia)
        return max(np.ptp(part.surface.vertices[:, 1]) for part in stick_figure(builder.build()))

    assert thickness(100.0) == pytest.approx(1000 * thickness(0.1), rel=1e-9)


def with_shapes(*shapes, origin=None):
    model = sf.load("double_pendulum")
    geometries = tuple(Geometry(k % 2, AT_REST, shape) for k, shape in enumerate(shapes))
    return replace(model, geometries=geometries, origin=origin)


def test_shapes_of_a_model_are_drawn_and_sticks_are_not():
    shapes = (Box((1, 1, 1)), Sphere(1), Cylinder(1, 1), Capsule(1, 1), Ellipsoid((1, 2, 3)))
    picture = figure(with_shapes(*shapes))
    assert not picture.is_sticks
    assert not picture.notes
    assert {part.body for part in picture.parts} == {0, 1}


def test_collision_shapes_serve_when_there_is_nothing_else():
    model = sf.load("double_pendulum")
    model = replace(model, geometries=(Geometry(0, AT_REST, Sphere(1.0), collides=True),))
    assert not figure(model).is_sticks
    both = replace(model, geometries=(*model.geometries, Geometry(1, AT_REST, Sphere(1.0))))
    assert [part.body for part in figure(both).parts] == [1]
    assert [part.body for part in figure(both, collision=True).parts] == [0]


STL = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid t
"""


def test_meshes_are_read_scaled_and_placed(tmp_path):
    pytest.importorskip("trimesh", reason="trimesh is not installed")
    (tmp_path / "part.stl").write_text(STL)
    origin = SourceInfo(str(tmp_path / "robot.urdf"))
    picture = figure(with_shapes(Mesh("part.stl", (2.0, 3.0, 1.0)), origin=origin))
    (part,) = picture.parts
    assert np.ptp(part.surface.vertices, axis=0) == pytest.approx([2.0, 3.0, 0.0])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("missing.stl", None, "not found"),
        ("part.stl", "solid nothing\nendsolid", "part.stl"),
        ("part.dae", "<COLLADA><broken", "cannot be read"),
        ("part.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "part.obj"),
        ("part.exe", "MZ", "not known"),
        ("../../etc/passwd.stl", None, "not found"),
    ],
)
def test_a_mesh_that_cannot_be_read_is_noted_and_sticks_are_drawn(tmp_path, name, text, words):
    pytest.importorskip("trimesh", reason="trimesh is not installed")
    pytest.importorskip("collada", reason="pycollada is not installed")
    if text is not None:
        (tmp_path / name).write_text(text)
    picture = figure(with_shapes(Mesh(name), origin=SourceInfo(str(tmp_path / "robot.urdf"))))
    assert picture.is_sticks
    (note,) = picture.notes
    assert words in note


def test_a_box_of_the_same_inertia_is_the_box():
    builder = sf.ModelBuilder("b")
    inertia = solids.box(0.3, 0.2, 0.1, mass=2.0)
    builder.add_body("b", joint=sf.Free(), inertia=inertia)
    pose, squares = principal(builder.build().bodies[0])
    assert sorted(box_sides(squares)) == pytest.approx([0.1, 0.2, 0.3])
    assert sorted(ellipsoid_radii(squares)) == pytest.approx(np.sqrt(5 / 12) * np.r_[0.1, 0.2, 0.3])
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1.0)


def test_quaternions_turn_as_their_matrices_do():
    model = sf.load("random_tree:8:4")
    R = sf.body_poses(model, sf.random_state(model, 30, seed=3)[0])[..., :3, :3]
    x, y, z, w = np.moveaxis(quaternions(R), -1, 0)
    first = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=-1)
    assert first == pytest.approx(R[..., 0])
    assert np.all(w >= 0)


@pytest.mark.parametrize("to", [(0, 0, 1), (0, 0, -1), (0, -1, 0), (0.6, 0.8, 0)])
def test_a_turn_takes_one_direction_to_the_other(to):
    turn = turn_between(np.array([0.0, 0.0, 1.0]), np.array(to, float))
    assert turn @ [0, 0, 1] == pytest.approx(np.array(to, float))
    assert turn @ turn.T == pytest.approx(np.eye(3))
    assert np.linalg.det(turn) == pytest.approx(1.0)


@pytest.mark.parametrize("robot", ["puma560", "pendulum", "random_tree:9:1", "floating_link"])
def test_the_stage_holds_all_of_the_robot(robot):
    model = sf.load(robot)
    q, _ = sf.random_state(model, 20, seed=1)
    parts = stick_figure(model)
    place = stage(model, parts, q)
    poses = np.concatenate([sf.body_poses(model, q), np.tile(np.eye(4), (20, 1, 1, 1))], axis=1)
    for part in parts:
        pose = poses[:, part.body]
        points = np.einsum("nij,vj->nvi", pose[:, :3, :3], part.surface.vertices)
        points = points + pose[:, None, :3, 3]
        assert np.linalg.norm(points - place.center, axis=-1).max() <= place.radius * (1 + 1e-9)
    assert np.linalg.norm(place.eye - place.center) > place.radius


@pytest.mark.parametrize("robot", ["puma560", "double_pendulum", "pendulum"])
def test_the_ground_does_not_depend_on_the_motion(robot):
    model = sf.load(robot)
    parts = stick_figure(model)
    low = [stage(model, parts, sf.random_state(model, 5, seed=s)[0]).ground for s in range(4)]
    assert len(set(low)) == 1


def test_the_ground_is_at_zero_or_below_a_robot_that_hangs():
    arm = sf.load("puma560")
    assert stage(arm, stick_figure(arm), np.full(6, 2.0)).ground == 0.0
    swing = sf.load("double_pendulum")
    parts = stick_figure(swing)
    poses = [np.eye(4), *sf.body_poses(swing, sf.neutral(swing))]
    low = min(part.surface.transform(poses[part.body + 1]).vertices[:, 2].min() for part in parts)
    assert stage(swing, parts, np.full(2, 3.0)).ground == pytest.approx(low, abs=0.1)
    assert low < -1.5


def test_the_ground_of_a_free_robot_is_under_its_first_pose_only_if_it_starts_below_zero():
    model = sf.load("quadruped")
    q = np.stack([sf.neutral(model)] * 2)
    q[0, 2], q[1, 2] = 0.5, -3.0
    assert stage(model, stick_figure(model), q).ground == 0.0


def test_the_ground_is_at_the_lowest_contact():
    model = sf.load("quadruped")
    q = sf.neutral(model)[None]
    touched = np.array([[0.0, 0.0, -0.7], [1.0, 0.0, -0.4]])
    place = stage(model, stick_figure(model), q, contacts=touched)
    assert place.ground == pytest.approx(-0.7)


def test_a_planar_robot_is_seen_from_its_side():
    model = sf.load("double_pendulum")
    place = stage(model, stick_figure(model), np.zeros(2))
    gaze = place.eye - place.center
    assert abs(gaze[1]) > 0.9 * np.linalg.norm(gaze)


def test_poses_of_transforms_are_inverse_to_coordinates():
    X = sf.Transform.from_rpy((0.3, -0.2, 0.5), (1.0, 2.0, 3.0))
    pose = pose_of(X)
    assert pose[:3, 3] == pytest.approx([1.0, 2.0, 3.0])
    assert pose[:3, :3] @ pose[:3, :3].T == pytest.approx(np.eye(3))
    assert pose[:3, 0] == pytest.approx(
        [float(x) for x in X.E.T @ sf.spatial.Vector3(1.0, 0.0, 0.0)]
    )
