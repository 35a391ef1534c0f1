"""Constraints: loops that do not close, that contradict each other, that forbid nothing."""

import json

import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.cli.inspect import describe
from tests.doctor.support import codes, only

BAR = sf.Inertia.from_mass(1.0, (0.25, 0.0, 0.0), (0.001, 0.02, 0.02))


def fourbar(reach=0.9):
    b = sf.ModelBuilder("fourbar", gravity=(0, -9.81, 0))
    b.add_body("crank", joint=sf.Revolute("z"), inertia=BAR)
    b.add_body("coupler", parent="crank", joint=sf.Revolute("z"), placement=(0.5, 0, 0))
    b.add_body("rocker", joint=sf.Revolute("z"), placement=(1.0, 0, 0), inertia=BAR)
    return b.close("coupler", "rocker", sf.Revolute("z"), (1.2, 0, 0), (reach, 0, 0), name="pin")


def of_loops(model):
    known = ("loop", "constraint", "mechanism")
    return [(code, severity) for code, severity in codes(model) if code.startswith(known)]


def test_a_planar_linkage_has_redundant_rows():
    model = fourbar().build()
    assert of_loops(model) == [("constraint-redundant", "note")]
    found = only(model, "constraint-redundant")
    assert found.values == {"freedoms": 3, "rows": 5, "rank": 2}
    assert "3 of 5" in found.what
    assert sf.diagnose(model).figures["mobility"] == 1
    assert "body-idle" not in dict(codes(model))


def test_a_loop_of_just_enough_rows_is_sound():
    b = fourbar()
    b._constraints.clear()
    model = b.add_rod("coupler", "rocker", 0.9, (1.2, 0, 0)).build()
    assert of_loops(model) == []


def test_a_loop_that_does_not_reach_is_an_error():
    found = only(fourbar(9.0).build(), "loop-open")
    assert found.severity == "error"
    assert found.where == "constraint 'pin'"
    assert found.values["left"] == pytest.approx(9.0 - 2.7)  # all stretched out


def test_constraints_that_close_only_alone_contradict():
    b = fourbar().add_gear("crank_joint", offset=1.0, name="one")
    model = b.add_gear("crank_joint", offset=1.5, name="two").build()
    found = only(model, "constraints-contradict")
    assert found.severity == "error"
    assert "'one', 'two'" in found.what
    assert "pin" not in found.what
    assert found.values["rank_with_gaps"] == found.values["rank"] + 1
    assert found.values["left"] == pytest.approx(0.25)
    assert "loop-open" not in dict(codes(model))


def test_a_constraint_that_repeats_a_joint_forbids_nothing():
    model = fourbar().close("world", "crank", sf.Revolute("z"), name="twice").build()
    found = only(model, "constraint-idle")
    assert (found.severity, found.where) == ("warning", "constraint 'twice'")


def test_a_held_linkage_cannot_move():
    model = fourbar().add_gear("crank_joint", offset=1.0).build()
    assert only(model, "mechanism-rigid").severity == "warning"
    assert sf.diagnose(model).figures["mobility"] == 0


def test_trees_are_left_alone():
    assert of_loops(fourbar().build().without(constraints=True)) == []


# -- the commands


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_inspect_shows_constraints_and_mobility(tmp_path):
    b = fourbar().add_rod("world", "rocker", 1.2, name="rod")
    b.add_gear("rocker_joint", ("crank_joint", (2.0, 0, 0.5)), offset=0.1, name="gear")
    model = b.add_rolling("crank", 0.3, axis="x", name="wheel").build()
    text = " ".join(" ".join(describe(model)).split())
    for line in (
        "constraint pin: revolute, coupler to rocker, 5 rows",
        "constraint rod: distance of 1.2 m, world to rocker, 1 row",
        "constraint gear: gear, rocker_joint = 2 x crank_joint + 0.5 x crank_joint^3 + 0.1, 1 row",
        "constraint wheel: rolling, world to crank, 3 rows",
    ):
        assert line in text
    sf.save(fourbar().build(), tmp_path / "m.json")
    text = run("inspect", str(tmp_path / "m.json")).output
    assert "3 degrees of freedom, 5 rows, 3 of them redundant: mobility 1" in text


def test_a_disc_that_always_lies_flat_is_refused_by_name():
    builder = fourbar().add_rolling("crank", 0.3, name="wheel")
    with pytest.raises(sf.errors.ModelError, match=r"'wheel'.*lies flat"):
        builder.build()


def test_inspect_says_that_a_loop_does_not_close():
    last = " ".join(" ".join(describe(fourbar(9.0).build())).split()).partition("mobility")[2]
    assert last.startswith(" not known: the loops do not close near neutral (")
    assert "'pin." in last
    assert last.endswith("6.3 m or rad is left)")


def test_check_fails_for_an_open_loop_and_sets_constraints_aside(tmp_path):
    sf.save(fourbar(9.0).build(), tmp_path / "m.json")
    result = run("check", str(tmp_path / "m.json"), "--samples", "2")
    assert result.exit_code == 1
    assert "loop-open" in result.output
    sf.save(fourbar().build(), tmp_path / "m.json")
    result = run("check", str(tmp_path / "m.json"), "--samples", "2", "--json")
    rows = json.loads(result.output)["formulations"]
    assert rows["agree"]
    assert rows["findings"][-1]["note"].startswith("set aside")


def test_commands_take_a_file_of_constraints(tmp_path):
    model = fourbar().build()
    loops = str(tmp_path / "loops.json")
    sf.save(model, tmp_path / "m.urdf", constraints=loops)
    text = run("inspect", str(tmp_path / "m.urdf"), "--constraints", loops).output
    assert "constraint pin: revolute, coupler to rocker, 5 rows" in text
    result = run(
        "check", str(tmp_path / "m.urdf"), "--constraints", loops, "--no-formulations", "--json"
    )
    found = [f["code"] for f in json.loads(result.output)["diagnosis"]["findings"]]
    assert "constraint-redundant" in found
    assert "constraint" not in run("inspect", str(tmp_path / "m.urdf")).output
