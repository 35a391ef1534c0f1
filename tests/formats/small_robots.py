"""Small URDF files that together use every element the reader knows."""

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base">
    <inertial><mass value="5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.2 0.2 0.1"/></geometry><material name="blue"/></visual>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0 0.1 0.3" rpy="0.1 0.2 0.3"/>
      <mass value="2.5"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.015" ixy="0.001" ixz="-0.002" iyz="0.0005"/>
    </inertial>
    <visual name="tube">
      <origin xyz="0 0 0.3" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.05" length="0.6"/></geometry>
      <material name="red"><color rgba="1 0 0 0.5"/></material>
    </visual>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <link name="fore">
    <inertial>
      <origin xyz="0 0 0.2"/><mass value="1.5"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual>
      <geometry>
        <mesh filename="package://arm/meshes/fore.stl" scale="0.001 0.001 0.001"/>
      </geometry>
      <material name="red"/>
    </visual>
  </link>
  <link name="flange">
    <inertial>
      <origin xyz="0.01 0 0"/><mass value="0.2"/>
      <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision><origin xyz="0 0 0.01"/><geometry><box size="0.1 0.1 0.02"/></geometry></collision>
  </link>
  <link name="left"><inertial><mass value="0.1"/>
    <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/>
    <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.1" rpy="0 0 0.5"/>
    <axis xyz="0 2 0"/>
    <limit lower="-1.5" upper="2" effort="100" velocity="3"/>
    <dynamics damping="0.4" friction="0.1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/>
    <origin xyz="0 0 0.6"/>
    <limit effort="50" velocity="4"/>
  </joint>
  <joint name="flange_joint" type="fixed">
    <parent link="fore"/><child link="flange"/><origin xyz="0 0 0.4" rpy="0.3 0 0"/>
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="flange"/><child link="left"/>
    <origin xyz="0 0.02 0"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.2"/>
  </joint>
  <joint name="grip_mirror" type="prismatic">
    <parent link="flange"/><child link="right"/>
    <origin xyz="0 -0.02 0"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.2"/>
    <mimic joint="grip" multiplier="1.5" offset="0.001"/>
  </joint>
  <transmission name="t"><type>simple</type></transmission>
  <gazebo reference="base"><material>Gazebo/Blue</material></gazebo>
</robot>
"""

PUCK = """<robot name="puck">
  <link name="table"/>
  <link name="puck">
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/>
      <mass value="2"/><inertia ixx="1" iyy="2" izz="1.5" ixy="0.1" ixz="0.2" iyz="0.3"/>
    </inertial>
    <collision><geometry><cylinder radius="0.1" length="0.02"/></geometry></collision>
  </link>
  <link name="flag">
    <inertial>
      <mass value="1"/><inertia ixx="1" iyy="2" izz="1.5" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="drone">
    <inertial>
      <mass value="1"/><inertia ixx="1" iyy="2" izz="1.5" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="slide" type="planar">
    <parent link="table"/><child link="puck"/>
    <origin xyz="1 2 3" rpy="0.4 0.5 0.6"/><axis xyz="0.3 -0.5 0.7"/>
  </joint>
  <joint name="pole" type="continuous">
    <parent link="puck"/><child link="flag"/><origin xyz="0 0 1" rpy="0.4 0.5 0.6"/>
  </joint>
  <joint name="flight" type="floating">
    <parent link="table"/><child link="drone"/><origin xyz="0 0 2"/>
  </joint>
</robot>
"""

OWN = """<robot name="own">
  <sixfold gravity="0 -9.81 0" friction_speed="0.01"/>
  <link name="base"/>
  <link name="a">
    <inertial sixfold_parameters="2 0 0 0.6 0.28 0.29 0.1 0 0 0">
      <origin xyz="0 0 0.3"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.11" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual>
      <sixfold link="elsewhere" index="2"/>
      <geometry><cylinder radius="0.1" length="1"/><sixfold shape="capsule"/></geometry>
      <material name="grey"><sixfold color="none"/></material>
    </visual>
    <visual>
      <sixfold index="1"/>
      <geometry><sphere radius="3"/><sixfold radii="1 2 3"/></geometry>
    </visual>
  </link>
  <link name="b"/><link name="c"/>
  <joint name="j" type="prismatic">
    <parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1.7976931348623157e+308" effort="1" velocity="1"/>
    <sixfold upper="inf" stiffness="3" rest="0.1" armature="0.2" friction_negative="0.3"/>
  </joint>
  <joint name="k" type="continuous"><parent link="a"/><child link="b"/></joint>
  <joint name="l" type="continuous">
    <parent link="b"/><child link="c"/>
    <sixfold offset="0.5"><term joint="j" ratio="2"/><term joint="k" ratio="-1"/></sixfold>
  </joint>
</robot>
"""

SMALL = {"arm": ARM, "puck": PUCK, "own": OWN}


def one_joint(
    inside="", kind="revolute", limit='<limit lower="-1" upper="1" effort="1" velocity="1"/>'
):
    """Return a robot of two links, with one joint that has something more in it."""
    return f"""<robot name="two">
<link name="a"/>
<link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="{kind}">
<parent link="a"/>
<child link="b"/>
{limit}
{inside}
</joint>
</robot>
"""
