"""Words of other formats in a URDF: read with a warning where one reading is possible."""

import pytest

import sixfold as sf

TEXT = """<robot name="x"><link name="base"/>
<link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="{kind}"><parent link="base"/><child link="a"/></joint></robot>
"""


@pytest.mark.parametrize("kind", ["ball", "spherical"])
def test_a_joint_type_that_urdf_lacks_is_a_warning_and_an_error_if_strict(tmp_path, kind):
    path = tmp_path / "x.urdf"
    path.write_text(TEXT.format(kind=kind))
    with pytest.warns(
        sf.errors.RobotFileWarning, match=rf":4: joint 'j'.*'{kind}' is not one of URDF"
    ):
        assert sf.load(path).bodies[0].joint == sf.Spherical()
    with pytest.raises(sf.errors.RobotFileError, match=rf":4: .*'{kind}'"):
        sf.load(path, strict=True)
