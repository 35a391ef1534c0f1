"""Constraints in files: JSON keeps them bit for bit, a file beside a URDF brings them in."""

import json

import numpy as np
import pytest

import sixfold as sf

BALL = sf.Inertia.from_mass(1.0, (0.2, 0.0, 0.0), (0.01, 0.03, 0.03))
TURN = sf.Transform.turn((1.0, 2.0, 3.0), 0.7)


def fourbar():
    b = sf.ModelBuilder("fourbar", gravity=(0, -9.81, 0))
    b.add_body("crank", joint=sf.Revolute("z"), inertia=BALL)
    b.add_body("coupler", parent="crank", joint=sf.Revolute("z"), placement=(0.5, 0, 0))
    b.add_body("rocker", joint=sf.Revolute("z"), placement=(1.0, 0, 0), inertia=BALL)
    return b.close("coupler", "rocker", sf.Revolute("z"), (1.2, 0, 0), (0.9, 0, 0), name="pin")


def every_kind():
    b = fourbar().add_body("ball", joint=sf.Free(), inertia=BALL).add_frame("tip", "crank", TURN)
    b.close("world", "crank", sf.Revolute((0, 0.6, 0.8)), TURN, name="hinge")
    b.close("ball", "tip", sf.Fixed(), None, TURN, name="weld")
    b.close("ball", "crank", sf.Helical("x", pitch=0.1), name="screw")
    b.add_rod("tip", "ball", 1.3, (0.1, 0.2, 0.3), name="rod")
    b.add_gear("crank_joint", ("rocker_joint", (1.0, 0.5, 0.1)), offset=0.2)
    b.add_gear("coupler_joint", offset=0.3, name="held")
    b.add_rolling("ball", 0.3, axis=(1, 2, 3), center=(0, 0, 0.1), placement=TURN, name="wheel")
    return b.add_rolling("ball", 0.3, shape="ball", plane="tip", name="ball on tip").build()


def test_json_keeps_every_kind_of_constraint(tmp_path):
    model = every_kind()
    sf.save(model, tmp_path / "m.json")
    again = sf.load(tmp_path / "m.json")
    assert again.digest == model.digest
    assert repr(again.constraints) == repr(model.constraints)
    assert json.loads((tmp_path / "m.json").read_text())["version"] == 2


def test_edited_constraints_come_back(tmp_path):
    arm = sf.attach(sf.load("puma560"), every_kind(), to="link6", placement=TURN, prefix="b_")
    held = sf.lock_joints(arm, {"b_rocker_joint": 0.4, "joint2": 0.3})
    for model in (arm, held):
        sf.save(model, tmp_path / "m.json")
        assert sf.load(tmp_path / "m.json") == model


def test_files_without_constraints_are_what_they_were(tmp_path):
    sf.save(sf.load("puma560"), tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    assert data["version"] == 1
    assert "constraints" not in data


def test_a_file_of_version_1_has_no_constraints(tmp_path):
    sf.save(every_kind(), tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps({**data, "version": 1}))
    with pytest.raises(sf.errors.RobotFileError, match="constraints: the key is not known"):
        sf.load(tmp_path / "m.json")
    del data["constraints"]
    (tmp_path / "m.json").write_text(json.dumps(data))
    with pytest.raises(sf.errors.RobotFileError, match="has no 'constraints'"):
        sf.load(tmp_path / "m.json")


def test_a_loop_of_the_users_own_joint_is_refused(tmp_path):
    slot = sf.CustomJoint(lambda q: sf.Transform.translation((q[0], 0.0, 0.0)))
    model = fourbar().close("coupler", "world", slot, name="slot").build()
    with pytest.raises(sf.errors.NotApplicableError, match="'slot', which is of your own making"):
        sf.save(model, tmp_path / "m.json")


# -- the file beside a URDF


def side_file(tmp_path, *constraints, **top):
    """Write a file of constraints, one line for each."""
    listed = ",\n".join(json.dumps(each) for each in constraints)
    head = {"format": "sixfold constraints", "version": 1, **top}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    path = tmp_path / "loops.json"
    path.write_text("{\n" + ",\n".join([*lines, f'"constraints": [\n{listed}\n]']) + "\n}\n")
    return path


PIN = {
    "type": "loop",
    "name": "pin",
    "body_a": "coupler",
    "body_b": "rocker",
    "joint": {"type": "revolute", "axis": [0, 0, 1]},
    "placement_a": {"xyz": [1.2, 0, 0]},
    "placement_b": {"xyz": [0.9, 0, 0]},
}


@pytest.fixture
def urdf(tmp_path):
    sf.save(fourbar().build().without(constraints=True), tmp_path / "fourbar.urdf")
    return tmp_path / "fourbar.urdf"


def test_a_side_file_closes_the_loop(urdf, tmp_path):
    assert sf.load(urdf, constraints=side_file(tmp_path, PIN)) == fourbar().build()
    assert sf.load(urdf).constraints == ()


def test_what_may_be_left_out_is(urdf, tmp_path):
    kinds = (
        {"type": "loop", "body_a": "world", "body_b": "coupler", "joint": {"type": "fixed"}},
        {"type": "rod", "body_a": "world", "body_b": "rocker", "length": 2},
        {"type": "gear", "follower": "crank_joint", "terms": [], "offset": 0},
        {"type": "rolling", "body_a": "world", "body_b": "crank", "radius": 2, "shape": "ball"},
    )
    got = sf.load(urdf, constraints=side_file(tmp_path, *kinds))
    b = fourbar()
    b._constraints.clear()
    b.close("world", "coupler", sf.Fixed()).add_rod("world", "rocker", 2.0)
    b.add_gear("crank_joint", offset=0.0).add_rolling("crank", 2.0, shape="ball")
    assert got == b.build()


def test_rpy_turns_as_in_a_urdf(urdf, tmp_path):
    given = {**PIN, "placement_a": {"xyz": [1, 2, 3], "rpy": [0.1, 0.2, 0.3]}}
    model = sf.load(urdf, constraints=side_file(tmp_path, given))
    R = np.array(model.constraints[0].placement_a.pose(), float)[:3, :3]
    cx, cy, cz = np.cos([0.1, 0.2, 0.3])
    sx, sy, sz = np.sin([0.1, 0.2, 0.3])
    Rx = [[1, 0, 0], [0, cx, -sx], [0, sx, cx]]
    Ry = [[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]]
    Rz = [[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]]
    np.testing.assert_allclose(R, np.array(Rz) @ Ry @ Rx, atol=1e-15)


def test_constraints_of_any_model_are_added_to_its_own(tmp_path):
    sf.save(fourbar().build(), tmp_path / "m.json")
    rod = {"type": "rod", "body_a": "world", "body_b": "coupler", "length": 2}
    both = sf.load(tmp_path / "m.json", constraints=side_file(tmp_path, rod))
    assert [each.name for each in both.constraints] == ["pin", "world-coupler"]
    with pytest.raises(sf.errors.RobotFileError, match="there is a constraint 'pin' already"):
        sf.load(tmp_path / "m.json", constraints=side_file(tmp_path, PIN))


def test_urdf_and_side_file_together_keep_a_model(tmp_path):
    model = every_kind()
    sf.save(model, tmp_path / "m.urdf", constraints=tmp_path / "loops.json")
    again = sf.load(tmp_path / "m.urdf", constraints=tmp_path / "loops.json")
    assert again == model


def test_a_urdf_alone_is_refused(tmp_path):
    with pytest.raises(sf.errors.NotApplicableError, match=r"'pin' \(revolute\)") as caught:
        sf.save(fourbar().build(), tmp_path / "m.urdf")
    assert 'constraints="loops.json"' in str(caught.value)
    assert not (tmp_path / "m.urdf").exists()
    with pytest.raises(sf.errors.NotApplicableError, match="holds the constraints itself"):
        sf.save(fourbar().build(), tmp_path / "m.json", constraints=tmp_path / "loops.json")
    with pytest.raises(sf.errors.OptionError, match="constraints"):
        sf.save(fourbar().build(), tmp_path / "m.urdf", constraints=tmp_path / "loops.xml")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"type": "spring"}, "constraints[0]: the constraint type is not known"),
        ({"body_a": "elbow"}, "named 'elbow'"),
        ({"body_a": "rocker"}, "are on the same body"),
        ({"stiff": 1}, "constraints[0].stiff: the key is not known"),
        ({"joint": {"type": "free"}}, "constraints[0].joint: the joint type is not known"),
        ({"joint": {"type": "revolute"}}, "constraints[0].joint: has no 'axis'"),
        ({"placement_a": {"xyz": [1, 2]}}, "constraints[0].placement_a.xyz: the list has"),
        ({"placement_a": {"xyz": [0, 0, 0], "quat": 1}}, "placement_a.quat: the key is not"),
        ({"placement_a": [0, 0, 0]}, "constraints[0].placement_a: has the wrong type"),
        ({"name": 5}, "constraints[0].name: has the wrong type"),
        ({"body_b": None}, "constraints[0].body_b: has the wrong type"),
    ],
)
def test_loops_are_refused_with_path_and_line(urdf, tmp_path, change, what):
    with pytest.raises(sf.errors.RobotFileError) as caught:
        sf.load(urdf, constraints=side_file(tmp_path, {**PIN, **change}))
    assert what in str(caught.value)
    assert caught.value.line == 5
    assert caught.value.file.endswith("loops.json")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"type": "rod", "body_a": "world", "body_b": "crank"}, "has no 'length'"),
        ({"type": "rod", "body_a": "world", "body_b": "crank", "length": 0}, "length = 0"),
        ({"type": "gear", "follower": "x", "terms": [], "offset": 1}, "no joint named 'x'"),
        ({"type": "gear", "follower": "crank_joint", "terms": []}, "leaders ()"),
        (
            {"type": "gear", "follower": "crank_joint", "terms": [{"joint": "crank_joint"}]},
            "constraints[1].terms[0]: has no 'coefficients'",
        ),
        (
            {"type": "rolling", "body_a": "world", "body_b": "crank", "radius": -1}
            | {"shape": "ball"},
            "radius",
        ),
        (
            {"type": "rolling", "body_a": "world", "body_b": "crank", "radius": 1}
            | {"shape": "egg"},
            "constraints[1].shape: the shape is not known",
        ),
    ],
)
def test_other_kinds_are_refused_too(urdf, tmp_path, given, what):
    with pytest.raises(sf.errors.RobotFileError) as caught:
        sf.load(urdf, constraints=side_file(tmp_path, PIN, given))
    assert what in str(caught.value)
    assert caught.value.line == 6


def test_other_files_are_not_taken_for_constraints(urdf, tmp_path):
    with pytest.raises(sf.errors.RobotFileError, match="is not a file of constraints"):
        sf.load(urdf, constraints=side_file(tmp_path, PIN, format="sixfold model"))
    with pytest.raises(sf.errors.RobotFileError, match="version: the version is not known"):
        sf.load(urdf, constraints=side_file(tmp_path, PIN, version=2))
    with pytest.raises(sf.errors.RobotFileError, match="no such file"):
        sf.load(urdf, constraints=tmp_path / "none.json")
    with pytest.raises(sf.errors.ArgumentError, match="a path"):
        sf.load(urdf, constraints=5)
