"""A model that is saved and loaded again is the same, bit for bit."""

import dataclasses
import json
import math
import os

import numpy as np
import pytest

import sixfold as sf
from sixfold.formats import bundled, xml
from sixfold.formats.bundled import SAMPLES
from sixfold.model import STANDARD_JOINTS, Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Sphere
from tests.formats.small_robots import SMALL, one_joint

OF_URDF = (sf.Revolute, sf.Prismatic, sf.Planar, sf.Free)
WITH_CODE = ("rolling_ball", "random_tree")


def there_and_back(model, folder, suffix):
    path = folder / f"saved{suffix}"
    more = {"constraints": folder / "loops.json"} if model.constraints and suffix == ".urdf" else {}
    sf.save(model, path, **more)
    return sf.load(path, **more)


@pytest.mark.parametrize("suffix", [".urdf", ".json"])
@pytest.mark.parametrize("name", SMALL)
def test_small_files_come_back_the_same(write, tmp_path, name, suffix):
    for floating in (False, True):
        model = sf.load(write(SMALL[name]), floating_base=floating)
        assert there_and_back(model, tmp_path, suffix) == model


@pytest.mark.parametrize("suffix", [".urdf", ".json"])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in WITH_CODE])
def test_samples_come_back_the_same(tmp_path, name, suffix):
    model = sf.load(name)
    if suffix == ".urdf" and not all(isinstance(body.joint, OF_URDF) for body in model.bodies):
        with pytest.raises(sf.errors.NotApplicableError, match="universal"):
            there_and_back(model, tmp_path, suffix)
        return
    again = there_and_back(model, tmp_path, suffix)
    assert again == model
    q, v = sf.random_state(model, seed=3)
    here, there = (sf.bias_force(m, q, v, backend="numpy") for m in (model, again))
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_come_back_the_same(tmp_path, seed):
    every = sf.random_tree(15, seed, joints=STANDARD_JOINTS, properties=True)
    assert there_and_back(every, tmp_path, ".json") == every
    some = sf.random_tree(15, seed, joints=OF_URDF, properties=True)
    assert there_and_back(some, tmp_path, ".urdf") == some


@pytest.mark.parametrize("suffix", [".urdf", ".json"])
@pytest.mark.skipif(not bundled.folder(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("name", ["panda", "talos_full", "anymal_c", "pr2", "iris_simple", "romeo"])
def test_real_robots_come_back_the_same(tmp_path, name, suffix):
    for floating in (False, True):
        model = sf.load(name, floating_base=floating)
        assert there_and_back(model, tmp_path, suffix) == model


def dressed():
    """Return a model with everything that a file may have to hold."""
    builder = sf.ModelBuilder(
        'odd "name" <&>\n\t\'', gravity=(1e-300, -0.0, 3.7), friction_speed=0.3
    )
    turn = sf.Transform.from_rpy((0.1, math.pi / 2, -2.0), (1e-17, 1 / 3, -5e-324))
    inertia = sf.Inertia.from_parameters((0.7, 0.1, 0.2, 1e-9, 1 / 3, 2 / 3, 0.4, 1e-17, 0, -0.1))
    builder.add_body("a", joint=sf.Revolute((1, 2, 3)), placement=turn, inertia=inertia, lower=-1)
    builder.add_body(
        "ä b",
        parent="a",
        joint=sf.Prismatic("-y"),
        upper=0.25,
        effort_limit=3,
        damping=0.1,
        friction=0.2,
        friction_negative=0.3,
        friction_speed=0.07,
        stiffness=7,
        rest=0.01,
        armature=1e-3,
    )
    builder.add_body(
        "c", parent="tip", joint=sf.Planar(), damping=(1, 2, 3), upper=(1, 2, math.inf)
    )
    builder.add_body("d", joint=sf.Free(), armature=0.5, velocity_limit=(1, 2, 3, 4, 5, 6))
    builder.add_body("e", parent="d", joint=sf.Revolute("x"), lower=-1, upper=1)
    builder.add_body("f", parent="d", joint=sf.Revolute("x"), lower=-1, upper=1)
    builder.add_frame("tip", "ä b", turn)
    builder.add_frame("anchor", "world", (0.1, 0.2, 0.3))
    builder.couple("e_joint", ("a_joint", 0.1), ("ä b_joint", -2 / 3), offset=1e-3)
    builder.couple("f_joint", offset=0.5)
    model = builder.build()
    shapes = (
        Mesh("m.stl", (1, -1, 1)),
        Box((1, 2, 3)),
        Sphere(0.1),
        Cylinder(0.1, 2),
        Capsule(1, 2),
    )
    geometries = tuple(
        Geometry(
            body=(3, -1, 0, 2)[k % 4],
            placement=turn,
            shape=shape,
            color=(0.1, 0.2, 0.3, 1.0) if k % 2 else None,
            material=("", "steel", "steel")[k % 3],
            name="<n>" if k else "",
            link=("", "a", "tip")[k % 3],
            collides=k > 2,
        )
        for k, shape in enumerate((*shapes, Ellipsoid((1.0, 2.0, 0.5))))
    )
    return dataclasses.replace(model, geometries=geometries)


@pytest.mark.parametrize("suffix", [".urdf", ".json"])
def test_every_field_comes_back(tmp_path, suffix):
    model = dressed()
    again = there_and_back(model, tmp_path, suffix)
    assert again == model
    assert again.geometries == model.geometries
    assert again.couplings == model.couplings
    for here, there in zip(model.bodies, again.bodies, strict=True):
        assert repr(here) == repr(there)


def test_a_urdf_of_ours_has_no_surprise_for_other_readers(tmp_path):
    model = sf.load("double_pendulum")
    sf.save(model, tmp_path / "x.urdf")
    root = xml.parse((tmp_path / "x.urdf").read_bytes(), "x.urdf")
    assert {child.tag for child in root.children} == {"link", "joint"}
    assert "sixfold" not in (tmp_path / "x.urdf").read_text()


def test_pinocchio_reads_what_we_write(tmp_path):
    pin = pytest.importorskip("pinocchio")
    model = dataclasses.replace(dressed(), couplings=())
    path = tmp_path / "x.urdf"
    sf.save(model, path)
    theirs = pin.buildModelFromUrdf(str(path))
    assert set(theirs.names) == {"universe", *model.joint_names}
    mass = sum(float(body.inertia.m) for body in model.bodies)
    assert sum(inertia.mass for inertia in theirs.inertias) == pytest.approx(mass)


@pytest.mark.parametrize("joint", [sf.Helical(), sf.Universal(), sf.Spherical(), sf.Cylindrical()])
def test_joints_without_counterpart_are_refused_by_name(tmp_path, joint):
    model = sf.ModelBuilder().add_body("odd", joint=joint).build()
    with pytest.raises(
        sf.errors.NotApplicableError, match=f"joint 'odd_joint', which is {joint.kind}"
    ):
        sf.save(model, tmp_path / "x.urdf")
    assert not list(tmp_path.iterdir())
    assert there_and_back(model, tmp_path, ".json") == model


def test_joints_that_are_code_are_refused(tmp_path):
    for suffix in (".urdf", ".json"):
        with pytest.raises(sf.errors.NotApplicableError, match="joint 'contact'"):
            sf.save(sf.load("rolling_ball"), tmp_path / f"x{suffix}")


def test_names_that_xml_cannot_hold_are_refused(tmp_path):
    model = sf.ModelBuilder().add_body("bell\x07", joint=sf.Revolute()).build()
    with pytest.raises(sf.errors.NotApplicableError, match=r"save it as JSON"):
        sf.save(model, tmp_path / "x.urdf")
    assert there_and_back(model, tmp_path, ".json") == model


def test_a_name_with_half_a_character_is_refused(tmp_path):
    model = sf.ModelBuilder().add_body("\ud800", joint=sf.Revolute()).build()
    with pytest.raises(sf.errors.NotApplicableError, match="UTF-8"):
        sf.save(model, tmp_path / "x.urdf")


def test_the_old_file_stays_when_saving_fails(tmp_path):
    path = tmp_path / "x.urdf"
    path.write_text("old")
    with pytest.raises(sf.errors.NotApplicableError):
        sf.save(sf.load("rolling_ball"), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["x.urdf"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(sf.errors.OutputFileError, match="cannot be written"):
        sf.save(sf.load("pendulum"), tmp_path / "nowhere" / "x.urdf")


@pytest.mark.skipif(os.name != "posix", reason="rights as on POSIX")
def test_the_rights_of_a_file_are_kept(tmp_path):
    path = tmp_path / "x.json"
    sf.save(sf.load("pendulum"), path)
    path.chmod(0o640)
    sf.save(sf.load("puma560"), path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert sf.load(path).name == "puma560"


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(sf.errors.OptionError, match=r"\*\.urdf"):
        sf.save(sf.load("pendulum"), tmp_path / "x.obj")
    with pytest.raises(sf.errors.ArgumentError, match="a Model"):
        sf.save("pendulum", tmp_path / "x.urdf")
    with pytest.raises(sf.errors.ArgumentError, match="a path"):
        sf.save(sf.load("pendulum"), 3)


# -- JSON is read strictly


def plain(tmp_path, name="double_pendulum"):
    sf.save(sf.load(name), tmp_path / "x.json")
    return json.loads((tmp_path / "x.json").read_text())


def refused(path):
    with pytest.raises(sf.errors.RobotFileError) as caught:
        sf.load(path)
    assert caught.value.line >= 1
    assert str(caught.value).startswith(f"{path}:{caught.value.line}: ")
    return str(caught.value)


def changed(data, path, value):
    *keys, last = path
    for key in keys:
        data = data[key]
    if value is KeyError:
        del data[last]
    else:
        data[last] = value


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("format",), "other", "is not a sixfold model"),
        (("version",), 99, "version: the version is not known"),
        (("name",), 3, "name: has the wrong type"),
        (("gravity",), [0, 0], "gravity: the list has the wrong length"),
        (("gravity",), [0, 0, "x"], "gravity[2]: has the wrong type"),
        (("gravity",), [0, 0, None], "gravity[2]: has the wrong type"),
        (("gravity",), [0, 0, True], "gravity[2]: has the wrong type"),
        (("gravity",), [0, 0, 1e99], "gravity[2]: the number is too large"),
        (("bodies", 1, "friction_speed"), [-1], "negative"),
        (("bodies",), {}, "bodies: has the wrong type"),
        (("bodies", 1), 5, "bodies[1]: has the wrong type"),
        (("bodies", 1, "mass"), 5, "bodies[1].mass: the key is not known"),
        (("bodies", 1, "inertia"), KeyError, "bodies[1]: has no 'inertia'"),
        (("bodies", 1, "name"), "upper", "the name is already taken"),
        (("bodies", 1, "joint_name"), "shoulder", "the name is already taken"),
        (("bodies", 1, "parent"), "nobody", "bodies[1].parent: there is no body 'nobody'"),
        (("bodies", 0, "parent"), "lower", "there is no body 'lower' before this place"),
        (("bodies", 1, "joint", "type"), "ball", "bodies[1].joint: the joint type is not known"),
        (("bodies", 1, "joint"), 7, "bodies[1].joint: the joint type is not known"),
        (("bodies", 1, "joint", "axis"), [0, 0, 0], "has no direction"),
        (("bodies", 1, "joint", "pitch"), 1, "bodies[1].joint.pitch: the key is not known"),
        (("bodies", 1, "damping"), [1, 2], "bodies[1].damping: the list has the wrong length"),
        (("bodies", 1, "damping"), [-1], "negative"),
        (("bodies", 1, "placement", "rotation", 0), [2, 0, 0], "does not turn axes rigidly"),
        (("frames", 0, "name"), "upper", "the name is already taken"),
        (("frames", 0, "body"), "x", "frames[0].body: there is no body"),
        (("couplings",), [{"follower": "x", "terms": [], "offset": 0}], "no joint named 'x'"),
        (("geometries",), [{}], "geometries[0]: has no 'body'"),
    ],
)
def test_json_is_refused_with_the_place_inside_it(tmp_path, path, value, what):
    data = plain(tmp_path)
    changed(data, path, value)
    file = tmp_path / "y.json"
    file.write_text(json.dumps(data, indent=1))
    assert what in refused(file)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not well-formed JSON"),
        ('{"a": 1,\n "a": 2}', ":2: the key 'a' stands twice"),
        ('{"a":\n NaN}', ":2: NaN is not a number of JSON"),
        ('{"a": -Infinity}', "-Infinity is not a number of JSON"),
        ("[" * 100_000, "nested too deep"),
        ("[1, 2]", "has the wrong type"),
        ("{}", "is not a sixfold model"),
        ('{"format": ' + "9" * 10_000 + "}", "is not a sixfold model"),
        (b'{"format": "\xff"}', "is not UTF-8 text"),
    ],
)
def test_what_is_not_our_json_is_explained(write, text, what):
    assert what in refused(write(text, "x.json"))


def test_the_line_of_a_mistake_in_json_is_right(tmp_path):
    data = plain(tmp_path)
    lines = (tmp_path / "x.json").read_text().splitlines()
    number = next(k for k, line in enumerate(lines) if '"inertia"' in line and k > 30)
    lines[number] = '    "inertia": [1, 2, 3],'
    (tmp_path / "x.json").write_text("\n".join(lines))
    with pytest.raises(sf.errors.RobotFileError, match=r"bodies\[1\]\.inertia") as caught:
        sf.load(tmp_path / "x.json")
    assert caught.value.line == number + 1
    assert len(data["bodies"]) == 2


def test_json_has_no_floating_base_to_add(tmp_path):
    plain(tmp_path)
    with pytest.raises(sf.errors.NotApplicableError, match="a JSON file"):
        sf.load(tmp_path / "x.json", floating_base=True)


def test_one_sided_limits_come_back(write, tmp_path):
    limit = '<limit lower="-inf" upper="1" effort="inf" velocity="2"/>'
    model = sf.load(write(one_joint(limit=limit)))
    assert there_and_back(model, tmp_path, ".urdf").bodies[0].lower == (-math.inf,)
