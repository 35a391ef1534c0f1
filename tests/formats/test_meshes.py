"""Meshes are found under the folders that are allowed, and nowhere else."""

import os

import pytest

import sixfold as sf
from sixfold.formats import bundled, mesh_path
from sixfold.model import Mesh

ROBOT = '<robot name="x"><link name="a"/></robot>'


@pytest.fixture
def robot(tmp_path):
    """Return a function that loads a robot of a package, with other files around it."""
    for name in (
        "ws/arm/urdf/arm.urdf",
        "ws/arm/urdf/beside.stl",
        "ws/arm/meshes/hand.stl",
        "ws/arm/meshes/a b.stl",
        "ws/other/meshes/foot.stl",
        "ws/secret.txt",
        "dirs/far/meshes/tool.stl",
        "secret.txt",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROBOT)

    def load(**options):
        return sf.load(tmp_path / "ws/arm/urdf/arm.urdf", **options)

    return load


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("beside.stl", "ws/arm/urdf/beside.stl"),
        ("./beside.stl", "ws/arm/urdf/beside.stl"),
        ("../meshes/hand.stl", "ws/arm/meshes/hand.stl"),
        ("package://arm/meshes/hand.stl", "ws/arm/meshes/hand.stl"),
        ("package:///arm/meshes/hand.stl", "ws/arm/meshes/hand.stl"),
        ("package://arm/urdf/../meshes/hand.stl", "ws/arm/meshes/hand.stl"),
        ("package://other/meshes/foot.stl", "ws/other/meshes/foot.stl"),
        ("model://other/meshes/foot.stl", "ws/other/meshes/foot.stl"),
        ("file://../meshes/a%20b.stl", "ws/arm/meshes/a b.stl"),
    ],
)
def test_meshes_are_found_by_their_usual_names(robot, tmp_path, name, where):
    assert mesh_path(robot(), name) == (tmp_path / where).resolve()
    assert mesh_path(robot(), Mesh(name)) == (tmp_path / where).resolve()


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.txt",
        "../../../secret.txt",
        "../../other/meshes/foot.stl",
        "package://arm/../secret.txt",
        "package://arm/../../secret.txt",
        "package://../secret.txt",
        "package://./secret.txt",
        "package://..\\secret.txt",
        "file:///etc/passwd",
        "/etc/passwd",
        "http://example.org/mesh.stl",
        "",
        "\0",
        "package://",
        "package://arm",
        "package://nothing/meshes/hand.stl",
    ],
)
def test_nothing_outside_is_reached(robot, name):
    with pytest.raises(sf.errors.RobotFileError, match=r"outside the folders|is not found"):
        mesh_path(robot(), name)


def test_absolute_names_are_judged_by_where_they_lead(robot, tmp_path):
    inside = tmp_path / "ws/arm/meshes/hand.stl"
    assert mesh_path(robot(), str(inside)) == inside.resolve()
    assert mesh_path(robot(), f"file://{inside}") == inside.resolve()
    with pytest.raises(sf.errors.RobotFileError, match="outside"):
        mesh_path(robot(), str(tmp_path / "secret.txt"))


@pytest.mark.skipif(os.name != "posix", reason="needs links on disk")
def test_links_on_disk_do_not_lead_out(robot, tmp_path):
    (tmp_path / "ws/arm/meshes/link.stl").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "ws/evil").symlink_to(tmp_path / "dirs")
    model = robot()
    for name in (
        "../meshes/link.stl",
        "package://arm/meshes/link.stl",
        "package://evil/far/meshes/tool.stl",
    ):
        with pytest.raises(sf.errors.RobotFileError, match="outside"):
            mesh_path(model, name)


def test_package_dirs_widen_what_is_allowed(robot, tmp_path):
    tool = tmp_path / "dirs/far/meshes/tool.stl"
    with pytest.raises(sf.errors.RobotFileError, match="is not found"):
        mesh_path(robot(), "package://far/meshes/tool.stl")
    for folder in (tmp_path / "dirs", str(tmp_path / "dirs/far")):
        model = robot(package_dirs=folder)
        assert mesh_path(model, "package://far/meshes/tool.stl") == tool.resolve()
        assert mesh_path(model, str(tool)) == tool.resolve()


def test_a_model_without_file_has_no_meshes():
    with pytest.raises(sf.errors.NotApplicableError, match="has no file"):
        mesh_path(sf.load("puma560"), "x.stl")


@pytest.mark.skipif(not bundled.folder(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("name", ["panda", "talos_full", "anymal_c", "ur5"])
def test_the_meshes_of_real_robots_are_found(name):
    model = sf.load(name)
    meshes = [g.shape for g in model.geometries if isinstance(g.shape, Mesh)]
    assert meshes
    assert all(mesh_path(model, mesh).is_file() for mesh in meshes)
