"""URDF becomes the model that the file describes."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sixfold as sf
from sixfold.model import Box, Cylinder, Mesh, Sphere
from tests.formats.small_robots import ARM, OWN, PUCK, one_joint


@pytest.fixture
def arm(write):
    return sf.load(write(ARM))


def pose(model, q, name):
    return sf.frame_pose(model, np.asarray(q, float), name, backend="numpy")


def test_fixed_joints_merge_and_keep_their_links_as_frames(arm):
    assert arm.name == "arm"
    assert arm.base_name == "base"
    assert arm.body_names == ("upper", "fore", "left", "right")
    assert arm.joint_names == ("shoulder", "elbow", "grip", "grip_mirror")
    assert arm.frame_names == ("flange",)
    assert arm.locate("flange")[0] == arm.body_index("fore")
    assert float(arm.bodies[1].inertia.m) == 1.5 + 0.2


def test_merged_inertia_is_the_sum_of_its_links(arm):
    fore = np.array([1.5, 0, 0, 0.3, 0.07, 0.07, 0.002, 0, 0, 0])
    turn = Rotation.from_euler("xyz", [0.3, 0, 0]).as_matrix()
    c = np.array([0, 0, 0.4]) + turn @ [0.01, 0, 0]
    I = 1e-4 * np.eye(3) + 0.2 * (c @ c * np.eye(3) - np.outer(c, c))
    flange = [0.2, *(0.2 * c), I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    found = [float(x) for x in arm.bodies[1].inertia.parameters()]
    np.testing.assert_allclose(found, fore + flange, rtol=0, atol=1e-15)


def test_a_rotated_inertial_frame_turns_the_inertia(arm):
    R = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    given = np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.0005], [-0.002, 0.0005, 0.015]])
    found = arm.bodies[0].inertia.about_center.matrix()
    np.testing.assert_allclose(
        [[float(x) for x in row] for row in found], R @ given @ R.T, atol=1e-15
    )


def test_axes_are_normalised_and_default_to_x(arm):
    assert tuple(map(float, arm.bodies[0].joint.axis)) == (0, 1, 0)
    assert tuple(map(float, arm.bodies[1].joint.axis)) == (1, 0, 0)


def test_limits_and_passive_forces_are_read(arm):
    shoulder, elbow = arm.bodies[:2]
    assert (shoulder.lower, shoulder.upper) == ((-1.5,), (2.0,))
    assert (shoulder.effort_limit, shoulder.velocity_limit) == ((100.0,), (3.0,))
    assert (shoulder.damping, shoulder.friction) == ((0.4,), (0.1,))
    assert (elbow.lower, elbow.upper) == ((-math.inf,), (math.inf,))
    assert elbow.effort_limit == (50.0,)


def test_mimic_joints_follow_exactly_with_fewer_freedoms(arm, write):
    assert (arm.nb, arm.nv) == (4, 3)
    free = sf.load(write(ARM), mimic="free")
    assert free.nv == 4
    q = [0.1, 0.2, 0.03]
    here, there = pose(arm, q, "right"), pose(free, [*q, 1.5 * 0.03 + 0.001], "right")
    np.testing.assert_allclose(here, there, atol=1e-15)


def test_the_root_link_is_fixed_or_floats(write):
    path = write(ARM)
    fixed, floating = sf.load(path), sf.load(path, floating_base=True)
    assert fixed.locate("base")[0] == -1
    assert floating.base_name == "world"
    assert floating.body_names[0] == "base"
    assert floating.joint_names[0] == "floating_base"
    assert isinstance(floating.bodies[0].joint, sf.Free)
    assert (floating.nq, floating.nv) == (fixed.nq + 7, fixed.nv + 6)
    assert float(floating.bodies[0].inertia.m) == 5.0


def test_a_link_named_world_may_float(write):
    text = ARM.replace('"base"', '"world"')
    model = sf.load(write(text), floating_base=True)
    assert (model.base_name, model.body_names[0]) == ("universe", "world")


def test_the_files_own_floating_joint_serves_as_floating_base(write):
    model = sf.load(write(one_joint(kind="floating", limit="")), floating_base=True)
    assert model.nv == 6
    assert any("floating" in note for note in model.origin.notes)


def test_quarter_turns_have_exact_direction_cosines(write):
    joint = one_joint('<origin rpy="1.5707963267948966 -3.141592653589793 4.71238898038469"/>')
    E = sf.load(write(joint)).bodies[0].placement.E
    assert {abs(float(x)) for row in E for x in row} == {0.0, 1.0}


def test_a_truncated_quarter_turn_stays_as_the_file_gives_it(write):
    E = sf.load(write(one_joint('<origin rpy="1.5708 0 0"/>'))).bodies[0].placement.E
    assert float(E.b.y) == math.cos(1.5708)


@pytest.mark.parametrize("rpy", [(0.1, 0.2, 0.3), (-2, 1.5, 3), (0, math.pi / 2, 0.4)])
def test_roll_pitch_yaw_are_about_fixed_axes(write, rpy):
    model = sf.load(write(one_joint(f'<origin xyz="1 2 3" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/>')))
    found = pose(model, [0.0], "b")
    np.testing.assert_allclose(
        found[:3, :3], Rotation.from_euler("xyz", rpy).as_matrix(), atol=1e-15
    )
    np.testing.assert_allclose(found[:3, 3], (1, 2, 3), atol=1e-15)


@pytest.mark.parametrize("axis", ["0 0 1", "1 0 0", "0.3 -0.5 0.7", "0 0 -1", "0.001 0 -1"])
def test_a_planar_joint_moves_in_the_plane_across_its_axis(write, axis):
    model = sf.load(write(PUCK.replace("0.3 -0.5 0.7", axis)))
    normal = np.array([float(x) for x in axis.split()])
    normal /= np.linalg.norm(normal)
    q = sf.neutral(model)
    part = model.q_slice("slide")
    at_rest = pose(model, q, "puck")
    np.testing.assert_allclose(
        at_rest[:3, :3], Rotation.from_euler("xyz", (0.4, 0.5, 0.6)).as_matrix(), atol=1e-15
    )
    q[part] = 0.3, -0.2, 0.7
    moved = np.linalg.inv(at_rest) @ pose(model, q, "puck")
    assert abs(moved[:3, 3] @ normal) < 1e-15
    assert np.linalg.norm(moved[:3, 3]) == pytest.approx(math.hypot(0.3, 0.2))
    np.testing.assert_allclose(
        Rotation.from_matrix(moved[:3, :3]).as_rotvec(), 0.7 * normal, atol=1e-14
    )


def test_inertia_of_a_planar_link_does_not_depend_on_the_plane(write):
    energies = []
    for axis in ("0 0 1", "0.3 -0.5 0.7"):
        model = sf.load(write(PUCK.replace("0.3 -0.5 0.7", axis)))
        q = sf.neutral(model)
        energies.append(sf.potential_energy(model, q, backend="numpy"))
        assert sum(float(body.inertia.m) for body in model.bodies) == 4.0
    assert energies[0] == pytest.approx(energies[1], rel=1e-14)


def test_shapes_and_colours_are_kept_as_data(arm):
    box, tube, ball, mesh, plate = arm.geometries
    assert (box.body, box.shape, box.color, box.material) == (
        -1,
        Box((0.2, 0.2, 0.1)),
        (0, 0, 1, 1),
        "blue",
    )
    assert (tube.shape, tube.name, tube.color) == (Cylinder(0.05, 0.6), "tube", (1, 0, 0, 0.5))
    assert (ball.shape, ball.collides, ball.color) == (Sphere(0.1), True, None)
    assert mesh.shape == Mesh("package://arm/meshes/fore.stl", (0.001, 0.001, 0.001))
    # a colour by a name that another link defines
    assert mesh.color == (1, 0, 0, 0.5)
    # merged into its parent, at the place where its link was
    assert (plate.body, plate.link) == (1, "flange")
    np.testing.assert_allclose([float(x) for x in plate.placement.r][2], 0.4 + 0.01 * math.cos(0.3))


def test_the_origin_keeps_links_as_the_file_gives_them(arm):
    links = {link.name: link for link in arm.origin.links}
    assert list(links) == ["base", "upper", "fore", "flange", "left", "right"]
    assert (links["base"].body, links["base"].line, links["base"].inertia_line) == (-1, 4, 5)
    assert (links["flange"].body, float(links["flange"].inertia.m)) == (1, 0.2)
    assert float(links["flange"].placement.r.z) == 0.4
    assert arm.origin.joint_lines["shoulder"] == ARM[: ARM.index('"shoulder"')].count("\n") + 1
    assert arm.origin.file.endswith("robot.urdf")


def test_what_has_no_counterpart_is_noted_once(arm, write):
    assert [note.split(": ")[1].split(" has")[0] for note in arm.origin.notes] == [
        "<transmission> in <robot>",
        "<gazebo> in <robot>",
    ]
    twice = ARM.replace("</robot>", "<gazebo/></robot>")
    assert any("(2 times)" in note for note in sf.load(write(twice)).origin.notes)


def test_joints_may_stand_in_any_order(write):
    head, *joints = ARM.split('  <joint name="')
    joints[-1], tail = joints[-1].split("  <transmission")
    text = (
        head + "".join(f'  <joint name="{j}' for j in reversed(joints)) + "  <transmission" + tail
    )
    model, usual = sf.load(write(text)), sf.load(write(ARM))
    assert sorted(model.body_names) == sorted(usual.body_names)
    names = [name for name in usual.joint_names if name != "grip_mirror"]
    q, v = sf.random_state(usual, seed=1)
    order = [model.q_slice(name).start for name in names]
    there_q, there_v = np.zeros(3), np.zeros(3)
    there_q[order], there_v[order] = q, v
    energy = sf.kinetic_energy(usual, q, v, backend="numpy")
    assert sf.kinetic_energy(model, there_q, there_v, backend="numpy") == pytest.approx(energy)


def test_impossible_inertias_load_unchanged(write):
    text = ARM.replace('ixx="0.02" iyy="0.03"', 'ixx="-5" iyy="900"')
    inertia = {link.name: link.inertia for link in sf.load(write(text)).origin.links}["upper"]
    assert min(float(x) for x in inertia.I) < -4


def test_a_lone_link_is_a_robot_without_freedoms(write):
    path = write('<robot name="rock"><link name="rock"/></robot>')
    model = sf.load(path)
    assert (model.nb, model.nv, model.base_name) == (0, 0, "rock")
    assert sf.load(path, floating_base=True).nv == 6


def test_limits_may_be_left_out_in_part(write):
    with pytest.warns(
        sf.errors.RobotFileWarning, match="has no attribute 'velocity'; no limit is read"
    ):
        model = sf.load(write(one_joint(limit='<limit lower="-1" effort="3"/>')))
    body = model.bodies[0]
    assert (body.lower, body.upper, body.velocity_limit) == ((-1.0,), (0.0,), (math.inf,))
    assert [note.split(": ")[1] for note in model.origin.notes] == ["<limit> without upper"]


def test_a_mimic_joint_without_master_stays_free_with_a_warning(write):
    for master, why in (("nothing", "does not exist"), ("flange_joint", "is fixed")):
        with pytest.warns(
            sf.errors.RobotFileWarning, match=f"'{master}', which {why}; it stays free"
        ):
            model = sf.load(write(ARM.replace('joint="grip"', f'joint="{master}"')))
        assert model.nv == 4


def test_followers_of_followers_follow_the_first(write):
    chain = ARM.replace(
        '<limit effort="50" velocity="4"/>', '<mimic joint="grip_mirror" multiplier="2"/>'
    )
    model = sf.load(write(chain))
    (elbow, grip_mirror) = model.couplings
    assert elbow.terms == ((2, 3.0),)
    assert elbow.offset == 0.002
    assert grip_mirror.terms == ((2, 1.5),)


def test_our_own_elements_say_what_the_format_cannot(write):
    model = sf.load(write(OWN))
    body = model.bodies[0]
    assert model.gravity == (0.0, -9.81, 0.0)
    assert body.friction_speed == (0.01,)
    assert (body.upper, body.stiffness, body.rest) == ((math.inf,), (3.0,), (0.1,))
    assert (body.armature, body.friction, body.friction_negative) == ((0.2,), (0.0,), (0.3,))
    assert model.couplings[0].terms == ((0, 2.0), (1, -1.0))
    assert [g.link for g in model.geometries] == ["a", "elsewhere"]
    assert [type(g.shape).__name__ for g in model.geometries] == ["Ellipsoid", "Capsule"]
    assert not model.origin.notes


def test_locked_joints_leave_the_model(write):
    model = sf.load(write(ARM), lock={"elbow": 0.3})
    assert "elbow" not in model.joint_names
    assert sf.load(write(ARM), lock="elbow").nv == 2
    assert sf.load(write(ARM), lock=["elbow", "shoulder"]).nv == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_files_are_read_in_the_encoding_they_declare(write, encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="Füße"><link name="ä"/></robot>'
    model = sf.load(write(text.encode(encoding)))
    assert (model.name, model.base_name) == ("Füße", "ä")


def test_a_chain_of_thousands_of_links_loads(write):
    n = 3000
    links = "".join(f'<link name="l{k}"/>' for k in range(n + 1))
    joints = "".join(
        f'<joint name="j{k}" type="continuous">'
        f'<parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(n)
    )
    model = sf.load(write(f'<robot name="chain">{links}{joints}</robot>'))
    assert model.nb == n
    assert model.parent[-1] == n - 2
