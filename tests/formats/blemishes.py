"""Robot files with one blemish each, as published files have them, and how each is read.

A row has what is replaced in a clean file, the warning with its line, words of the fix, and, where
it is not the clean file itself, the clean file that says the same.
"""

from typing import NamedTuple

URDF = """<robot name="two">
<material name="blue"><color rgba="0 0 1 1"/></material>
<link name="a"/>
<link name="b">
<inertial>
<origin xyz="0.1 0.2 0.3"/>
<mass value="2"/>
<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/>
</inertial>
<visual>
<origin xyz="0 0 1"/>
<geometry><mesh filename="b.stl" scale="1 1 1"/></geometry>
<material name="red"><color rgba="1 0 0 1"/></material>
</visual>
</link>
<joint name="j" type="revolute">
<parent link="a"/>
<child link="b"/>
<origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
<axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/>
<dynamics damping="0.5"/>
</joint>
</robot>
"""

MJCF = """<mujoco>
<worldbody>
<body name="b" pos="0 0 1">
<joint name="j" axis="0 1 0" damping="0.5"/>
<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="1 2 2.5"/>
<geom size="0.1" rgba="1 0 0 1"/>
</body>
</worldbody>
</mujoco>
"""


class Blemish(NamedTuple):
    """One fault in a clean file."""

    name: str
    old: str
    new: str
    warning: str
    """Behind the file's name: line, element, what is wrong; how it is read."""
    fix: str
    """Words of the fix that the strict reader gives."""
    means: str = ""
    """What stands in place of `old` in the clean file that says the same; `old` if empty."""
    encoding: str = "utf-8"


LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
MASS = '<mass value="2"/>'
TENSOR = '<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/>'
ORIGIN = '<origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>'
AXIS = '<axis xyz="0 1 0"/>'
COLOR = '<material name="red"><color rgba="1 0 0 1"/></material>'
SHAPE = '<geometry><mesh filename="b.stl" scale="1 1 1"/></geometry>'
PLACE = '<origin xyz="0 0 1"/>'
INERTIAL = URDF[URDF.index("<inertial>") : URDF.index("</inertial>") + len("</inertial>")]
VISUAL = "link 'b': <visual>: "
PAINT = f"{VISUAL}<material>: "
WEIGHT = "link 'b': <inertial>: "
DYNAMICS = '<dynamics damping="0.5"/>'
LEFT = "the shape is left out"
NO_COLOR = "the colour is left out"

PICTURES = (
    Blemish(
        "material twice",
        COLOR,
        COLOR + '<material name="blue"/>',
        f"13: {VISUAL}has <material> twice; the first is read",
        "keep one of them: the first is on line 13",
    ),
    Blemish(
        "geometry that is none",
        SHAPE,
        '<geometry><plane normal="0 0 1"/></geometry>',
        f"12: {VISUAL}<geometry>: has no shape that is known; {LEFT}",
        "write one shape",
    ),
    Blemish(
        "empty geometry",
        SHAPE,
        "<geometry/>",
        f"12: {VISUAL}<geometry>: has no shape that is known; {LEFT}",
        "write one shape",
    ),
    Blemish(
        "no geometry",
        SHAPE,
        "",
        f"10: {VISUAL}has no <geometry>; {LEFT}",
        "write a <geometry> with a shape in it",
    ),
    Blemish(
        "two shapes",
        SHAPE,
        '<geometry><box size="1 1 1"/><sphere radius="1"/></geometry>',
        f"12: {VISUAL}<geometry>: has several shapes; the first is read",
        "write one shape",
    ),
    Blemish(
        "scale of one number",
        'scale="1 1 1"',
        'scale="0.001"',
        f"12: {VISUAL}<geometry>: <mesh>: attribute 'scale' has one number; "
        "it is read for all three axes",
        "write it three times",
    ),
    Blemish(
        "mesh without a file",
        'filename="b.stl"',
        "",
        f"12: {VISUAL}<geometry>: <mesh>: has no attribute 'filename'; {LEFT}",
        "write filename=",
    ),
    Blemish(
        "place of two numbers",
        PLACE,
        '<origin xyz="0 0"/>',
        f"11: {VISUAL}<origin>: attribute 'xyz' has the wrong number of numbers; {LEFT}",
        "write the numbers with blanks",
    ),
    Blemish(
        "place that is not a number",
        PLACE,
        '<origin xyz="nan 0 0"/>',
        f"11: {VISUAL}<origin>: attribute 'xyz' is not a number; {LEFT}",
        "write a finite number",
    ),
    Blemish(
        "empty colour",
        'rgba="1 0 0 1"',
        'rgba=""',
        f"13: {PAINT}<color>: attribute 'rgba' has the wrong number of numbers; {NO_COLOR}",
        "write the numbers",
    ),
    Blemish(
        "colour that is not a number",
        'rgba="1 0 0 1"',
        'rgba="nan 0 0 1"',
        f"13: {PAINT}<color>: attribute 'rgba' is not a number; {NO_COLOR}",
        "write a finite number",
    ),
    Blemish(
        "colour of three numbers",
        'rgba="1 0 0 1"',
        'rgba="1 0 0"',
        f"13: {PAINT}<color>: attribute 'rgba' has three numbers; the fourth is read as 1",
        "add a fourth",
    ),
    Blemish(
        "two colours of one name",
        '<link name="a"/>',
        '<material name="blue"><color rgba="0 1 1 1"/></material><link name="a"/>',
        "3: <robot>: <material>: material 'blue' has two colours; the first is read",
        "give each its own name",
    ),
)

XML = (
    Blemish(
        "text between elements",
        '<link name="a"/>',
        '<link name="a"/> oops',
        "3: <robot>: has text between its elements: 'oops'; the text is left out",
        "remove the text",
    ),
    Blemish(
        "text in a joint",
        AXIS,
        AXIS + ">",
        "20: joint 'j': has text between its elements: '>'; the text is left out",
        "remove the text",
    ),
    Blemish(
        "declaration behind a blank line",
        '<robot name="two">',
        '\n<?xml version="1.0"?><robot name="two">',
        "2: not well-formed XML: the declaration <?xml ...?> is not at the start; "
        "it is read as if it were",
        "move it to the start",
    ),
    Blemish(
        "declaration behind a comment",
        '<robot name="two">',
        '<!-- mine -->\n<?xml version="1.0"?>\n<robot name="two">',
        "2: not well-formed XML: the declaration <?xml ...?> is not at the start; "
        "it is read as if it were",
        "move it to the start",
    ),
    Blemish(
        "dashes in a comment",
        '<link name="a"/>',
        '<!-- ----\n arm ---- -->\n<link name="a"/>',
        "3: not well-formed XML: '--' in a comment; the comment is left out",
        "write '- -'",
    ),
    Blemish(
        "lone ampersand",
        'filename="b.stl"',
        'filename="a&b.stl"',
        "12: not well-formed XML: '&' alone; it is read as &amp;",
        "write &amp;",
    ),
    Blemish(
        "Latin-1",
        '<link name="a"/>',
        '<!-- für -->\n<link name="a"/>',
        "3: not well-formed XML: bytes that are no UTF-8; they are read as Latin-1",
        "save the file as UTF-8",
        encoding="latin-1",
    ),
    Blemish(
        "document type",
        '<robot name="two">',
        '<!DOCTYPE robot>\n<robot name="two">',
        "1: has a document type (<!DOCTYPE ...>); it is left out",
        "remove it",
    ),
    Blemish(
        "no name",
        '<robot name="two">',
        "<robot>",
        "1: <robot>: has no name; 'robot' is read",
        "write <robot name=",
    ),
    Blemish(
        "left over from xacro",
        '<link name="a"/>',
        '<xacro:property name="x" value="1"/><link name="a"/>',
        "3: <robot>: <xacro:property>: is left over from xacro; it is left out",
        "remove it",
    ),
    Blemish(
        "element in capitals",
        AXIS,
        '<Axis xyz="0 1 0"/>',
        "20: joint 'j': <Axis> is in capitals; it is read as <axis>",
        "write it in lower case",
    ),
    Blemish(
        "link in capitals",
        '<link name="a"/>',
        '<LINK name="a"/>',
        "3: <robot>: <LINK>: is in capitals; it is read as <link>",
        "write it in lower case",
    ),
    Blemish(
        "attribute in capitals",
        '<mass value="2"/>',
        '<mass Value="2"/>',
        f"7: {WEIGHT}<mass>: attribute 'Value' is in capitals; it is read as 'value'",
        "write it in lower case",
    ),
)

NUMBERS = (
    Blemish(
        "the same limit twice",
        LIMIT,
        f"{LIMIT}\n{LIMIT.replace('4', '4.0')}",
        "22: joint 'j': has the same <limit> twice; one is read",
        "keep one of them: the first is on line 21",
    ),
    Blemish(
        "another limit",
        LIMIT,
        f"{LIMIT}\n{LIMIT.replace('-1', '-2')}",
        "22: joint 'j': has <limit> twice; the first is read",
        "keep one of them: the first is on line 21",
    ),
    Blemish(
        "the same inertial twice",
        INERTIAL,
        f"{INERTIAL}\n{INERTIAL}",
        "10: link 'b': has the same <inertial> twice; one is read",
        "keep one of them: the first is on line 5",
    ),
    Blemish(
        "the same mass twice",
        MASS,
        MASS + '<mass value="2.0"/>',
        f"7: {WEIGHT}has the same <mass> twice; one is read",
        "keep one of them",
    ),
    Blemish(
        "no product of inertia",
        ' ixy="0"',
        "",
        f"8: {WEIGHT}<inertia>: has no attribute 'ixy'; 0 is read",
        'write ixy="0"',
    ),
    Blemish(
        "no inertia",
        TENSOR,
        "",
        f"5: {WEIGHT}has no <inertia>; the link is a point mass",
        "write <mass",
        means='<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>',
    ),
    Blemish(
        "no moments",
        TENSOR,
        "<inertia/>",
        f"8: {WEIGHT}<inertia>: has no moments; the link is a point mass",
        "write <mass",
        means='<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>',
    ),
    Blemish(
        "empty inertial",
        INERTIAL,
        "<inertial/>",
        f"5: {WEIGHT}has neither <mass> nor <inertia>; the link has no inertia",
        "write <mass",
        means="<!-- none -->",
    ),
    Blemish(
        "limits swapped",
        LIMIT,
        '<limit lower="2" upper="-1" effort="3" velocity="4"/>',
        "21: joint 'j': <limit>: the lower limit is above the upper one; they are swapped",
        "swap lower and upper",
    ),
    Blemish(
        "negative effort",
        'effort="3"',
        'effort="-3"',
        "21: joint 'j': <limit>: attribute 'effort' is negative; no limit is read",
        "write a number >= 0",
    ),
    Blemish(
        "no effort",
        ' effort="3"',
        "",
        "21: joint 'j': <limit>: has no attribute 'effort'; no limit is read",
        "write effort",
    ),
    Blemish(
        "no velocity",
        ' velocity="4"',
        "",
        "21: joint 'j': <limit>: has no attribute 'velocity'; no limit is read",
        "write velocity",
    ),
    Blemish(
        "empty origin",
        ORIGIN,
        '<origin xyz="0 0 1" rpy=""/>',
        "19: joint 'j': <origin>: attribute 'rpy' is empty; the default is used",
        "write the numbers or remove it",
        means='<origin xyz="0 0 1"/>',
    ),
    Blemish(
        "empty damping",
        DYNAMICS,
        '<dynamics damping=""/>',
        "22: joint 'j': <dynamics>: attribute 'damping' is empty; the default is used",
        "write the numbers or remove it",
        means="<dynamics/>",
    ),
    Blemish(
        "commas",
        ORIGIN,
        '<origin xyz="0, 0, 1" rpy="0.1 0.2 0.3"/>',
        "19: joint 'j': <origin>: attribute 'xyz' has commas; they are read as blanks",
        "write blanks between the numbers",
    ),
    Blemish(
        "type in capitals",
        'type="revolute"',
        'type="Revolute"',
        "16: joint 'j': the joint type 'Revolute' is not one of URDF; it is read as 'revolute'",
        "did you mean 'revolute'",
    ),
    Blemish(
        "master that is not there",
        AXIS,
        AXIS + '<mimic joint="k"/>',
        "20: joint 'j': follows joint 'k', which does not exist; it stays free",
        "name a joint that moves",
    ),
    Blemish(
        "limits of a fixed joint",
        '<link name="a"/>',
        '<link name="a"/><link name="c"/>\n<joint name="k" type="fixed"><parent link="a"/>'
        '<child link="c"/><limit effort="none"/></joint>',
        "4: joint 'k': <limit>: attribute 'effort' is not a number; a fixed joint does not need it",
        "write a number",
    ),
)

IN_URDF = (*PICTURES, *XML, *NUMBERS)

IN_MJCF = (
    Blemish(
        "empty colour",
        'rgba="1 0 0 1"',
        'rgba=""',
        "6: <geom>: attribute 'rgba' is empty; the colour is left out",
        "correct the number",
    ),
    Blemish(
        "colour that is not a number",
        'rgba="1 0 0 1"',
        'rgba="nan 0 0 1"',
        "6: <geom>: attribute 'rgba' is not a finite number; the colour is left out",
        "correct the number",
    ),
    Blemish(
        "colour of three numbers",
        'rgba="1 0 0 1"',
        'rgba="1 0 0"',
        "6: <geom>: attribute 'rgba' has the wrong number of numbers; the colour is left out",
        "correct the number",
    ),
    Blemish(
        "contact that is not a number",
        "<geom ",
        '<geom solref="soft" ',
        "6: <geom>: attribute 'solref' is not a finite number; the default is used",
        "correct the number",
    ),
    Blemish(
        "empty margin",
        "<geom ",
        '<geom margin="" ',
        "6: <geom>: attribute 'margin' is empty; the default is used",
        "correct the number",
    ),
    Blemish(
        "empty position",
        'pos="0 0 1"',
        'pos=""',
        "3: <body>: attribute 'pos' is empty; the default is used",
        "correct the number",
        means='pos="0 0 0"',
    ),
    Blemish(
        "dashes in a comment",
        "<worldbody>",
        "<worldbody><!-- -- a -- -->",
        "2: not well-formed XML: '--' in a comment; the comment is left out",
        "write '- -'",
    ),
    Blemish(
        "declaration behind a blank line",
        "<mujoco>",
        '\n<?xml version="1.0"?>\n<mujoco>',
        "2: not well-formed XML: the declaration <?xml ...?> is not at the start; "
        "it is read as if it were",
        "move it to the start",
    ),
)

CONTRADICTIONS = {
    "two inertias": (INERTIAL, INERTIAL + INERTIAL.replace('mass value="2"', 'mass value="3"')),
    "two axes": (AXIS, AXIS + '<axis xyz="1 0 0"/>'),
    "two masses": (MASS, MASS + '<mass value="3"/>'),
    "no axis": (AXIS, '<axis xyz="0 0 0"/>'),
    "follows itself": (AXIS, AXIS + '<mimic joint="j"/>'),
    "inertia without mass": (MASS, ""),
    "two moments of three": (' iyy="2"', ""),
    "negative mass": ('mass value="2"', 'mass value="-2"'),
    "negative damping": ('damping="0.5"', 'damping="-0.5"'),
    "mass with a unit": ('mass value="2"', 'mass value="2 kg"'),
    "mass that is not a number": ('mass value="2"', 'mass value="nan"'),
    "decimal comma": ('mass value="2"', 'mass value="2,5"'),
}
"""What Pinocchio reads one way or another, though the motion that is meant is not known."""
