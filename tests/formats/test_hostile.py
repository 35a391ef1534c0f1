"""Bad files end in a message of their own, with file, line and a way out."""

import os
import pickle

import pytest

import sixfold as sf
from sixfold.errors import visible
from sixfold.formats import files, xml
from tests.formats.small_robots import ARM, one_joint

LINK = '<link name="a"/>'


def refused(path, **options):
    with pytest.raises(sf.errors.RobotFileError) as caught:
        sf.load(path, **options)
    error = caught.value
    assert error.file == str(path)
    assert "\n  fix: " in str(error)
    file = visible(error.file)
    place = f"{file}:{error.line}: " if error.line else f"{file}: "
    assert str(error).startswith(place[:600])  # messages cut names that are longer
    return error


# -- files


def test_a_missing_file_is_named_with_its_neighbours(tmp_path, write):
    write(ARM, "panda.urdf")
    error = refused(tmp_path / "pandda.urdf")
    assert "there is no such file" in str(error)
    assert "panda.urdf" in str(error)
    assert "no folder" in str(refused(tmp_path / "nowhere" / "x.urdf"))


def test_a_folder_is_not_a_file(tmp_path, write):
    write(ARM, "inside.urdf")
    error = refused(tmp_path)
    assert "is a folder" in str(error)
    assert "inside.urdf" in str(error)


def test_an_empty_file_is_said_to_be_empty(write):
    for content in ("", " \n\t "):
        error = refused(write(content))
        assert "the file is empty" in str(error)
        assert error.line == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_said_to_be_unreadable(write):
    path = write(ARM)
    path.chmod(0)
    assert "may not be read" in str(refused(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    assert "is not a regular file" in str(refused(tmp_path / "pipe.urdf"))


def test_a_huge_file_is_refused(write, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    assert "is larger than 1 MiB" in str(refused(write(b"<" + b" " * 2**20)))


def test_a_path_that_no_system_takes_is_refused(tmp_path):
    for name in ("a\0b.urdf", "x" * 5000 + ".urdf"):
        assert "cannot be read" in str(refused(tmp_path / name))


# -- XML


def test_an_xml_bomb_is_refused(write):
    lines = ['<!DOCTYPE lolz [<!ENTITY a0 "ha">']
    lines += [f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12)]
    error = refused(write("\n".join([*lines, "]><robot name='&a11;'/>"])))
    assert "a document type (<!DOCTYPE ...>) is not accepted" in str(error)
    assert error.line == 1


def test_external_entities_are_refused(write, tmp_path):
    write("secret", "secret.txt")
    text = '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY x SYSTEM "secret.txt">]><robot>&x;</robot>'
    error = refused(write(text))
    assert "document type" in str(error)
    assert "secret" not in str(error).replace(str(tmp_path), "")
    assert error.line == 2


def test_an_undefined_entity_is_refused(write):
    assert "undefined entity" in str(refused(write('<robot name="&x;"/>')))


def test_deep_nesting_is_refused(write):
    text = "<robot>\n" + "<a>\n" * 100_000 + "</a>" * 100_000 + "</robot>"
    error = refused(write(text))
    assert f"nested more than {xml.MAX_DEPTH} deep" in str(error)
    assert error.line == xml.MAX_DEPTH + 1


def test_too_many_elements_are_refused(write, monkeypatch):
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 1000)
    assert "more than 1,000 elements" in str(refused(write(f"<robot>{'<x/>' * 1001}</robot>")))


def test_a_very_long_attribute_is_refused(write):
    error = refused(write(f'<robot name="{"x" * 9_000_000}"/>'))
    assert "attributes of more than 8,388,608 characters" in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\0\0", "looks like a binary file"),
        (bytes(range(256)), "not well-formed XML"),
        (b"PK\x03\x04" + bytes(100), "looks like a binary file"),
        (b"<robot name='a\0b'/>", "looks like a binary file"),
        (b"solid mesh\nfacet normal 0 0 1", "not well-formed XML"),
        (ARM.encode()[:-30], "the file looks cut off"),
        (ARM.encode()[: ARM.index("rpy") + 6], "the file looks cut off"),
        (b'<robot a="1" a="2"/>', "duplicate attribute"),
        (b"<robot><link></robot></link>", "mismatched tag"),
        (b"<robot/><robot/>", "junk after document element"),
        ('<robot name="ä"'.encode("latin-1"), "not well-formed XML"),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', "encoding that the XML declaration"),
        (b'<?xml version="1.0" encoding="shift_jis"?><robot/>', "encoding that the XML"),
        ('<?xml version="1.0" encoding="utf-8"?><robot/>'.encode("utf-16"), "encoding"),
        (ARM.encode("utf-16")[:-7], "not well-formed XML"),
    ],
)
def test_what_is_not_xml_is_explained(write, content, what):
    error = refused(write(content))
    assert what in str(error)
    assert error.line >= 1


@pytest.mark.parametrize(
    ("root", "what"),
    [
        ("sdf", "convert SDF to URDF"),
        ("COLLADA", "this is a mesh"),
        ("html", "give a URDF or MJCF file"),
        ("mujocoinclude", "load the file that includes this one"),
    ],
)
def test_the_root_element_decides_and_not_the_suffix(write, root, what):
    error = refused(write(f"\n\n<{root}/>"))
    assert what in str(error)
    assert error.line == 3
    assert sf.load(write(ARM, "robot.txt")).name == "arm"
    assert sf.load(write(ARM, "robot.json")).name == "arm"


def test_unexpanded_xacro_is_recognised(write):
    head = '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
    macro = refused(write(head + '<xacro:macro name="leg"/></robot>', "x.urdf.xacro"))
    assert "macro of xacro, which has not been run" in str(macro)
    assert "xacro robot.urdf.xacro > robot.urdf" in str(macro)
    assert macro.line == 2
    for inside in ('<axis xyz="${axis}"/>', '<origin xyz="0 0 $(arg height)"/>'):
        assert "expression of xacro" in str(refused(write(one_joint(inside))))
    assert sf.load(write(head + LINK + "</robot>")).nb == 0


# -- numbers


@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("1,5", "decimals with a point"),
        ("1.5 kg", "number alone, in SI units"),
        ("1.5kg", "number alone, in SI units"),
        ("nan", "write a finite number"),
        ("inf", "write a finite number"),
        ("-Infinity", "write a finite number"),
        ("0x10", "number alone"),
        ("1_000", "is not a number"),
        ("\u0661", "is not a number"),
        ("1e", "is not a number"),
        ("--1", "is not a number"),
        ("", "wrong number of numbers"),
        ("1 2", "is not a number"),
        ("1e309", "is too large"),
        ("-1e51", "is too large"),
        ("9" * 400, "is too large"),
    ],
)
def test_numbers_are_read_strictly(write, number, what):
    text = ARM.replace('<mass value="2.5"/>', f'\n<mass value="{number}"/>')
    error = refused(write(text))
    assert what in str(error)
    assert "link 'upper': <inertial>: <mass>: attribute 'value'" in str(error)
    assert error.line == text[: text.index(f'value="{number}"')].count("\n") + 1


@pytest.mark.parametrize("number", [" 1.5 ", "+1.5", "15e-1", ".15e1", "\n1.5\t", "1.50"])
def test_the_same_number_may_be_written_in_many_ways(write, number):
    text = ARM.replace('<mass value="2.5"/>', f'<mass value="{number}"/>')
    assert float(sf.load(write(text)).bodies[0].inertia.m) == 1.5


def test_vectors_need_three_numbers(write):
    for value in ("0 0", "0 0 0 0", "0, 0", "1,5 2,5 3,5", "1;2;3"):
        error = refused(write(one_joint(f'<origin xyz="{value}"/>')))
        assert "joint 'j': <origin>" in str(error)
        assert error.line == 9


def test_limits_may_be_infinite_but_not_nan(write):
    limit = '<limit lower="-inf" upper="inf" effort="inf" velocity="1e300"/>'
    assert sf.load(write(one_joint(limit=limit))).bodies[0].velocity_limit == (1e300,)
    assert "is not a number" in str(refused(write(one_joint(limit=limit.replace("inf", "nan")))))


# -- structure


@pytest.mark.parametrize(
    ("inside", "what", "line"),
    [
        ("", "has no <link>", 1),
        ("<link/>", "has no attribute 'name'", 2),
        ('<link name=" "/>', "attribute 'name' is empty", 2),
        (f"{LINK}\n{LINK}", "the name is taken by the link on line 2", 3),
        (f'{LINK}\n<link name="b"/>\n<link name="c"/>', "is a second root, next to link 'a'", 3),
        (f'{LINK}\n<joint name="j"/>', "has no attribute 'type'", 3),
        (f'{LINK}\n<joint name="j" type="hinge"/>', "the joint type is not known", 3),
        (f'{LINK}\n<joint name="j" type="fixed"/>', "has no <parent>", 3),
        (f'{LINK}\n<joint name="j" type="fixed"><parent link="a"/></joint>', "has no <child>", 3),
        (
            f'{LINK}<link name="b"><inertial><inertia ixx="1" iyy="1" izz="1"/></inertial></link>',
            "has no <mass>",
            2,
        ),
        (
            f'{LINK}<link name="b"><inertial><mass value="1"/><inertia iyy="1"/></inertial></link>',
            "has no attribute 'ixx'",
            2,
        ),
        (
            '<link name="a"><inertial><mass value="1"/></inertial>\n'
            '<inertial><mass value="2"/></inertial></link>',
            "has <inertial> twice, first on line 2, and they differ",
            3,
        ),
        (
            '<link name="a"><inertial>\n<mass value="-1"/></inertial></link>',
            "the mass is negative",
            3,
        ),
        (f'{LINK}<sixfold gravity="0 0"/>', "attribute 'gravity'", 2),
        (f'{LINK}<sixfold friction_speed="-1"/>', "friction_speed is negative", 2),
        (f"{LINK}<sixfold/>\n<sixfold/>", "stands twice", 3),
    ],
)
def test_what_is_missing_or_double_is_named(write, inside, what, line):
    error = refused(write(f'<robot name="x">\n{inside}\n</robot>'))
    assert what in str(error)
    assert error.line == line


@pytest.mark.parametrize(
    ("joints", "what", "line"),
    [
        ("a>x", "its child link 'x' does not exist", 5),
        ("arm>a", "its parent link 'arm' does not exist", 5),
        ("a>a", "link 'a' is its parent and its child", 5),
        ("a>b b>c a>c", "link 'c' already has a parent, by joint 'j1' on line 6", 7),
        ("b>c c>b", "joints close a loop through links b, c", 6),
        ("a>b b>c c>a", "joints close a loop", 7),
    ],
)
def test_links_and_joints_must_make_one_tree(write, joints, what, line):
    lines = ['<robot name="x">', *(f'<link name="{name}"/>' for name in "abc")]
    for k, pair in enumerate(joints.split()):
        parent, child = pair.split(">")
        ends = f'<parent link="{parent}"/><child link="{child}"/>'
        lines.append(f'<joint name="j{k}" type="fixed">{ends}</joint>')
    error = refused(write("\n".join([*lines, "</robot>"])))
    assert what in str(error)
    assert error.line == line


def test_two_joints_may_not_share_a_name(write):
    error = refused(write(ARM.replace('"elbow"', '"shoulder"')))
    assert "the name is taken by the joint on line" in str(error)


@pytest.mark.parametrize(
    ("inside", "what", "line"),
    [
        ('<axis xyz="0 0 0"/>', "the axis has no direction", 9),
        ('<axis xyz="1e-60 0 0"/>', "the axis has no direction", 9),
        ('<axis xyz="0 0 1"/>\n<axis xyz="0 1 0"/>', "has <axis> twice, first on line 9, and", 10),
        ('<dynamics damping="-1"/>', "damping = -1.0 is negative", 5),
        ('<mimic joint="j"/>', "follows itself", 9),
        ('<mimic multiplier="2"/>', "has no attribute 'joint'", 9),
        ('<sixfold lower="0"/>', "'lower' and the number of URDF do not agree", 9),
        ('<sixfold stiffness="1 2"/>', "is not a number", 9),
        ('<sixfold armature="-1"/>', "armature = (-1.0,) is negative", 5),
        ('<origin rpy="0 0 0" sixfold_rotation="0 1 0 1 0 0 0 0 1"/>', "not the same rotation", 9),
    ],
)
def test_joints_say_what_is_wrong_with_them(write, inside, what, line):
    error = refused(write(one_joint(inside)))
    assert what in str(error)
    assert error.line == line


def test_revolute_and_prismatic_joints_need_limits(write):
    for kind in ("revolute", "prismatic"):
        error = refused(write(one_joint(kind=kind, limit="")))
        assert f"has no <limit>, which a '{kind}' joint needs" in str(error)
        assert error.line == 5
    assert sf.load(write(one_joint(kind="continuous", limit=""))).nv == 1


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('<mimic joint="grip"', '<mimic joint="grip_mirror"', "follows itself"),
        ('<limit lower="0"', '<mimic joint="grip_mirror"/><limit lower="0"', "by way of others"),
        ('multiplier="1.5"', 'multiplier="1e51"', "is too large"),
    ],
)
def test_mimic_joints_must_follow_real_ones(write, old, new, what):
    error = refused(write(ARM.replace(old, new, 1)))
    assert what in str(error)
    assert "joint 'grip" in str(error)


def test_a_chain_of_multipliers_may_not_overflow(write):
    text = ARM.replace('multiplier="1.5"', 'multiplier="1e40"').replace(
        '<limit effort="50" velocity="4"/>', '<mimic joint="grip_mirror" multiplier="1e40"/>'
    )
    assert "multiplies up to a number that is too large" in str(refused(write(text)))


def test_an_inertia_that_contradicts_its_exact_numbers_is_refused(write):
    text = ARM.replace("<inertial>", '<inertial sixfold_parameters="1 0 0 0 1 1 1 0 0 0">', 1)
    assert "are not the same inertia" in str(refused(write(text)))


def test_errors_cross_processes(write):
    error = refused(write("<robot/>"))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.file, again.line) == (str(error), error.file, 1)


def test_wrong_options_are_refused(write):
    path = write(ARM)
    with pytest.raises(sf.errors.OptionError, match="mimic"):
        sf.load(path, mimic="ignore")
    with pytest.raises(sf.errors.ArgumentError, match="a path or the name of a robot"):
        sf.load(42)
    for folders in (3, [3]):
        with pytest.raises(sf.errors.ArgumentError, match="package_dirs"):
            sf.load(path, package_dirs=folders)
    with pytest.raises(sf.errors.NotApplicableError, match="floating_base=True"):
        sf.load("puma560", floating_base=True)
    with pytest.raises(sf.errors.UnknownNameError, match="elbo"):
        sf.load(path, lock=["elbo"])
