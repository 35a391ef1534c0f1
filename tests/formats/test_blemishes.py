"""A blemish does not stop a file: it is read, with a warning and its line, unless strict."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.model import Box
from tests.formats.blemishes import CONTRADICTIONS, IN_MJCF, IN_URDF, MJCF, URDF
from tests.formats.small_robots import one_joint


def named(blemish):
    return blemish.name


def loaded(path, **options):
    """Return the model and the texts of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = sf.load(path, **options)
    assert all(issubclass(warning.category, sf.errors.RobotFileWarning) for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return model, [str(warning.message) for warning in caught]


def motion(model):
    """Return what the dynamics of a model is made of, and forces at one state."""
    q, v = sf.random_state(model, seed=3)
    a = np.linspace(1.0, 2.0, model.nv)
    bodies = [replace(body, effort_limit=(), velocity_limit=()) for body in model.bodies]
    bodies = [replace(body, inertia=body.inertia.parameters()) for body in bodies]
    return repr(bodies), sf.inverse_dynamics(model, q, v, a, backend="numpy").tolist()


def pair(blemish, clean, write, suffix):
    assert clean.count(blemish.old) == 1 or blemish.old not in blemish.new
    damaged = clean.replace(blemish.old, blemish.new, 1)
    means = clean.replace(blemish.old, blemish.means or blemish.old, 1)
    return (
        write(damaged.encode(blemish.encoding), f"robot{suffix}"),
        write(means, f"clean{suffix}"),
    )


@pytest.mark.parametrize("blemish", IN_URDF, ids=named)
def test_a_blemish_in_urdf_is_read_with_a_warning_and_its_line(blemish, write):
    path, clean = pair(blemish, URDF, write, ".urdf")
    model, said = loaded(path)
    assert said == [f"{path}:{blemish.warning}"]
    assert model.origin.blemishes == (f"line {blemish.warning}",)
    means, nothing = loaded(clean, strict=True)
    assert not nothing
    assert motion(model) == motion(means)


@pytest.mark.parametrize("blemish", IN_URDF, ids=named)
def test_strict_refuses_a_blemish_in_urdf_with_its_line_and_fix(blemish, write):
    path, _ = pair(blemish, URDF, write, ".urdf")
    refused(path, blemish)


@pytest.mark.parametrize("blemish", IN_MJCF, ids=named)
def test_a_blemish_in_mjcf_is_read_with_a_warning_and_its_line(blemish, write):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    path, clean = pair(blemish, MJCF, write, ".xml")
    model, said = loaded(path)
    assert said == [f"{path}:{blemish.warning}"]
    means, nothing = loaded(clean, strict=True)
    assert not nothing
    assert motion(model) == motion(means)
    refused(path, blemish)


def refused(path, blemish):
    with pytest.raises(sf.errors.RobotFileError) as caught:
        sf.load(path, strict=True)
    error = caught.value
    line, _, rest = blemish.warning.partition(": ")
    assert (error.file, error.line) == (str(path), int(line))
    what, _, fix = str(error).partition("\n  fix: ")
    assert what.partition("\n")[0] == f"{path}:{line}: {rest.rpartition('; ')[0]}"
    assert blemish.fix in fix


def test_the_clean_files_have_no_blemish(write):
    for text, name in ((URDF, "robot.urdf"), (MJCF, "robot.xml")):
        if name.endswith("xml"):
            pytest.importorskip("mujoco", reason="mujoco is not installed")
        model, said = loaded(write(text, name), strict=True)
        assert not said
        assert not model.origin.blemishes


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_motion_that_is_not_known_stays_an_error(name, write):
    old, new = CONTRADICTIONS[name]
    with pytest.raises(sf.errors.RobotFileError) as caught:
        sf.load(write(URDF.replace(old, new, 1)))
    assert caught.value.line > 1
    assert "\n  fix: " in str(caught.value)


def test_what_pinocchio_reads_is_refused_only_for_contradictions(write):
    pin = pytest.importorskip("pinocchio", reason="pin is not installed")

    def there(data):
        try:
            return pin.buildModelFromUrdf(str(write(data, "there.urdf")))
        except Exception:
            return None

    reads = 0
    for blemish in IN_URDF:
        path, clean = pair(blemish, URDF, write, ".urdf")
        model = there(path.read_bytes())
        if model is None:
            continue
        reads += 1
        here, _ = loaded(path)
        assert model.nv == here.nv, blemish.name
        if blemish.name == "attribute in capitals":
            # Pinocchio overlooks the mass altogether
            continue
        mass = sum(inertia.mass for inertia in model.inertias)
        assert mass == sum(float(body.inertia.m) for body in here.bodies), blemish.name
        assert clean.exists()
    assert reads >= 25


def test_what_mujoco_reads_is_read_here(write):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    reads = 0
    for blemish in IN_MJCF:
        path, _ = pair(blemish, MJCF, write, ".xml")
        try:
            mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue
        reads += 1
        assert loaded(path)[0].nv == 1
    assert reads >= 5


# -- many at once


def test_one_blemish_in_many_places_is_one_warning(write):
    link = '<link name="{}"><visual/><visual/></link>\n'
    fixed = '<joint name="{1}" type="fixed"><parent link="{0}"/><child link="{1}"/></joint>\n'
    text = '<robot name="x">\n' + "".join(link.format(name) for name in "abc")
    path = write(text + fixed.format("a", "b") + fixed.format("b", "c") + "</robot>")
    _, said = loaded(path)
    assert said == [
        f"{path}:2: link 'a': <visual>: has no <geometry>; the shape is left out (and 5 more)"
    ]


def test_blemishes_of_all_kinds_come_together_in_the_order_of_their_lines(write):
    text = URDF
    for blemish in IN_URDF:
        if blemish.name in ("no velocity", "commas", "no product of inertia", "empty colour"):
            text = text.replace(blemish.old, blemish.new, 1)
    path = write(text)
    model, said = loaded(path)
    lines = [int(warning.removeprefix(f"{path}:").partition(":")[0]) for warning in said]
    assert lines == [8, 13, 19, 21]
    assert pickle.loads(pickle.dumps(model)).origin.blemishes == model.origin.blemishes


def test_a_blemish_in_an_included_file_names_that_file(write):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    part = '<mujoco>\n<body name="b">\n<joint/>\n<geom size="0.1" rgba=""/></body></mujoco>'
    inside = write(part, "part.xml")
    main_file = '<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>'
    _, said = loaded(write(main_file, "robot.xml"))
    assert said == [f"{inside}:4: <geom>: attribute 'rgba' is empty; the colour is left out"]


def test_a_ball_joint_of_urdf_has_three_freedoms(write):
    for kind in ("ball", "spherical", "Ball"):
        model, said = loaded(write(one_joint(kind=kind, limit="")))
        assert isinstance(model.bodies[0].joint, sf.Spherical)
        assert said[0].endswith(f"type '{kind}' is not one of URDF; it is read as 'spherical'")


def test_limits_are_those_that_the_warning_says(write):
    text = URDF.replace('lower="-1" upper="2"', 'lower="2" upper="-1"')
    body = loaded(write(text))[0].bodies[0]
    assert (body.lower, body.upper) == ((-1.0,), (2.0,))
    body = loaded(write(URDF.replace('effort="3"', 'effort="-3"')))[0].bodies[0]
    assert body.effort_limit == (np.inf,)


def test_pictures_are_those_that_the_warning_says(write):
    by_name = {blemish.name: blemish for blemish in IN_URDF}

    def shapes(name):
        return loaded(pair(by_name[name], URDF, write, ".urdf")[0])[0].geometries

    assert shapes("scale of one number")[0].shape.scale == (0.001,) * 3
    assert shapes("two shapes")[0].shape == Box((1.0, 1.0, 1.0))
    assert shapes("colour of three numbers")[0].color == (1.0, 0.0, 0.0, 1.0)
    assert shapes("empty colour")[0].color is None
    assert shapes("material twice")[0].color == (1.0, 0.0, 0.0, 1.0)
    for name in ("no geometry", "geometry that is none", "place of two numbers"):
        assert shapes(name) == ()


# -- the doctor and the command


def test_check_lists_blemishes_as_warnings_with_their_lines(write):
    path = write(URDF.replace(' velocity="4"', ""))
    with pytest.warns(sf.errors.RobotFileWarning, match=":21: "):
        found = sf.diagnose(sf.load(path)).warnings
    assert [(f.code, f.line) for f in found] == [("blemish", 21)]
    for options, code in (((), 0), (("--strict",), 1)):
        result = CliRunner().invoke(main, ["check", str(path), "--no-formulations", *options])
        assert result.exit_code == code, result.output
        assert "has no attribute 'velocity'; no limit is read" in result.output


def test_strict_takes_nothing_but_true_and_false(write):
    with pytest.raises(sf.errors.OptionError, match="strict"):
        sf.load(write(URDF), strict="yes")


# -- negative masses


def test_a_negative_mass_is_refused_in_every_format(write, tmp_path):
    def line_of(path):
        with pytest.raises(sf.errors.RobotFileError, match="negative") as caught:
            sf.load(path)
        return caught.value.line

    text = URDF.replace('mass value="2"', 'mass value="-2"')
    assert line_of(write(text)) == 7
    # the base has a mass too, which no motion depends on
    base = text.replace('child link="b"', 'child link="c"').replace('<link name="a"/>', "")
    base = base.replace('parent link="a"', 'parent link="b"').replace(
        "</robot>", '<link name="c"/></robot>'
    )
    assert line_of(write(base)) == 7

    sf.save(sf.load("double_pendulum"), tmp_path / "good.json")
    json = (tmp_path / "good.json").read_text()
    start = json.index('"inertia": [') + len('"inertia": [')
    path = write(json[:start] + "-" + json[start:].lstrip(), "bad.json")
    assert line_of(path) == json[:start].count("\n") + 1

    pytest.importorskip("mujoco", reason="mujoco is not installed")
    for text in (MJCF, MJCF.replace('<joint name="j" axis="0 1 0" damping="0.5"/>', "")):
        line = text[: text.index('mass="2"')].count("\n") + 1
        assert line_of(write(text.replace('mass="2"', 'mass="-2"'), "bad.xml")) == line


def test_a_negative_mass_is_refused_by_the_builder():
    builder = sf.ModelBuilder()
    with pytest.raises(sf.errors.ModelError, match=r"body 'a': the mass -1\.0 is negative"):
        builder.add_body("a", joint=sf.Revolute("z"), inertia=sf.Inertia.from_mass(-1.0))


# -- what MuJoCo has and a model has not


def test_left_out_forces_are_told_with_their_lines(write):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = """<mujoco>
<option viscosity="1"/>
<worldbody>
<body name="a" gravcomp="1">
<joint name="j" springdamper="0.1 1"/>
<geom size="0.1" pos="0 0 1"/>
<site name="s"/>
</body>
<site name="t" pos="1 0 0"/>
</worldbody>
<tendon>
<spatial armature="1"><site site="s"/><site site="t"/></spatial>
</tendon>
</mujoco>
"""
    path = write(text, "robot.xml")
    _, said = loaded(path)
    assert said == [
        f"{path}: left out: 1 x tendon (line 12); fluid forces (line 2); gravcomp of 1 bodies "
        "(line 4); armature of tendons (line 12); armature of tendons in springdamper (line 5) "
        "(see model.origin.notes)"
    ]
    with pytest.raises(sf.errors.RobotFileError, match="no counterpart for: 1 x tendon") as caught:
        sf.load(path, strict=True)
    assert caught.value.line == 12


def test_an_inertial_frame_that_mujoco_takes_for_the_bodys_is_taken_so_here(write):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = MJCF.replace('pos="0.1 0.2 0.3" mass', 'pos="3e-7 0 -2e-7" quat="1 5e-7 0 0" mass')
    text = text.replace('<joint name="j" axis="0 1 0" damping="0.5"/>', "<freejoint/>")
    path = write(text, "robot.xml")
    model, said = loaded(path)
    assert said == [
        f"{path}: left out: offset of 1 inertial frame (line 3) (see model.origin.notes)"
    ]
    with pytest.warns(sf.errors.RobotFileWarning):
        found = sf.interop.compare_with("mujoco", path, samples=5, backend="numpy")
    assert found.agrees, str(found)
    m = mujoco.MjModel.from_xml_path(str(path))
    assert np.any(m.body_ipos[1])
    assert not any(map(float, model.bodies[0].inertia.h))
