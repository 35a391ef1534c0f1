"""How shapes touch, from MJCF: read as MuJoCo compiles it, kept by JSON and URDF."""

import json
import warnings

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import ContactOptions

mujoco = pytest.importorskip("mujoco")

ROBOT = """<mujoco><default><geom friction="0.7" condim="4"/></default><worldbody>
 <geom name="floor" type="plane" size="1 1 1"/>
 <body name="a"><joint name="j"/><joint name="k" type="slide" axis="1 0 0"/>
  <geom name="foot" size="0.1" solref="0.01 0.9" solimp="0.8 0.9 0.002" margin="0.01" gap="0.002"
    priority="2" solmix="0.5" contype="5" conaffinity="2"/>
  <geom name="shin" type="capsule" size="0.1 0.2" friction="0.3 0.01 0.002" group="3"/>
  <geom name="looks" size="0.1" contype="0" conaffinity="0"/>
 </body></worldbody></mujoco>"""


def loaded(tmp_path, text=ROBOT):
    (tmp_path / "m.xml").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.errors.RobotFileWarning)
        return sf.load(tmp_path / "m.xml")


def test_options_are_those_that_mujoco_compiles(tmp_path):
    model = loaded(tmp_path)
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    foot, shin, looks = model.geometries
    assert looks.contact is None
    assert (foot.collides, shin.collides) == (False, True)
    for shape in (foot, shin):
        g = m.geom(shape.name)
        for key in ContactOptions.__dataclass_fields__:
            got = np.ravel(getattr(shape.contact, key))
            np.testing.assert_array_equal(got, np.ravel(getattr(g, key)), key)
    assert foot.contact.friction == (0.7, 0.005, 0.0001)
    assert (foot.contact.condim, foot.contact.contype, foot.contact.priority) == (4, 5, 2)


def test_files_keep_them(tmp_path):
    model = loaded(tmp_path)
    for name in ("m.json", "m.urdf"):
        sf.save(model, tmp_path / name)
        again = sf.load(tmp_path / name)
        assert again == model
        assert [g.contact for g in again.geometries] == [g.contact for g in model.geometries]
    assert json.loads((tmp_path / "m.json").read_text())["version"] == 2


def test_they_are_part_of_the_content(tmp_path):
    model, other = loaded(tmp_path), loaded(tmp_path, ROBOT.replace('margin="0.01"', ""))
    assert model.digest != other.digest


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ('condim="2"', "is not 1, 3, 4 or 6"),
        ('condim="3.5"', "is not a whole number"),
        ('friction="1 2 3 4"', "has too many numbers"),
        ('priority="1e3"', "is not a whole number"),
        ('solimp="1 2 3 4 5 6"', "has too many numbers"),
    ],
)
def test_wrong_numbers_of_contact_do_not_stop_a_file(tmp_path, given, what):
    text = ROBOT.replace('name="shin"', f'name="shin" {given}')
    text = text.replace(' friction="0.3 0.01 0.002"', "")
    model = loaded(tmp_path, text)
    (blemish,) = model.origin.blemishes
    assert f"{what}; the default is used" in blemish
    assert model.geometries[1].contact.friction == (0.7, 0.005, 0.0001)
    with pytest.raises(sf.errors.RobotFileError, match=what):
        sf.load(tmp_path / "m.xml", strict=True)


def test_json_is_strict_about_them(tmp_path):
    sf.save(loaded(tmp_path), tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    for key, value, what in (
        ("condim", 3.5, r"geometries\[0\]\.contact\.condim: has the wrong type"),
        ("friction", [1.0], r"contact\.friction: the list has the wrong length"),
        ("stiff", 1, r"contact\.stiff: the key is not known"),
    ):
        changed = json.loads(json.dumps(data))
        changed["geometries"][0]["contact"][key] = value
        (tmp_path / "x.json").write_text(json.dumps(changed))
        with pytest.raises(sf.errors.RobotFileError, match=what):
            sf.load(tmp_path / "x.json")
