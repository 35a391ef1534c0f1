"""What a file says that cannot be meant, each found at its line."""

import sixfold as sf

HEAVY = """<robot name="heavy">
 <link name="base"/>
 <link name="arm">
  <inertial>
   <origin xyz="0 0 0.15"/>
   <mass value="{mass}"/>
   <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/>
  </inertial>
  <visual><geometry>
   <mesh filename="package://heavy/arm.stl"/></geometry></visual>
  <collision><geometry>
   <box size="0.1 0.1 0.3"/></geometry></collision>
 </link>
 <link name="hand">
  <inertial><mass value="1"/>
   <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><mesh filename="hand.stl"/></geometry></collision>
 </link>
 <joint name="shoulder" type="revolute">
  <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  <limit lower="-{limit}" upper="{limit}" effort="10" velocity="1"/>
 </joint>
 <joint name="wrist" type="revolute">
  <parent link="arm"/><child link="hand"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-1.5" upper="1.5" effort="10" velocity="1"/>
 </joint>
</robot>
"""


def _findings(tmp_path, mass, i, limit):
    path = tmp_path / "heavy.urdf"
    path.write_text(HEAVY.format(mass=mass, i=i, limit=limit))
    return {(f.code, f.line): f for f in sf.diagnose(sf.load(path)).findings}


def test_a_heavy_link_limits_in_degrees_and_missing_meshes_are_found_at_their_lines(tmp_path):
    found = _findings(tmp_path, 2500, 20.0, 90)
    heavy = [f for (code, line), f in found.items() if code in ("density-high", "units-grams")]
    assert [f.line for f in heavy] == [4] and "2500 kg" in heavy[0].what
    assert ("limit-degrees", 19) in found
    assert found["mesh-missing", 10].severity == "note"
    assert found["mesh-missing", 17].severity == "warning"
    assert "hand.stl" in found["mesh-missing", 17].what


def test_a_sound_file_has_none_of_them(tmp_path):
    (tmp_path / "hand.stl").write_text("solid\nendsolid\n")
    (tmp_path / "heavy").mkdir()
    (tmp_path / "heavy" / "arm.stl").write_text("solid\nendsolid\n")
    found = {code for code, _ in _findings(tmp_path, 5, 0.04, 1.5)}
    assert not found & {"density-high", "units-grams", "limit-degrees", "mesh-missing"}
