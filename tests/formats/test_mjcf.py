"""MJCF files become models that mean what MuJoCo means."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf
from sixfold.formats import mjcf
from sixfold.formats.mjcf import load_mjcf
from sixfold.model import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere
from tests.formats.mjcf_mutations import CHAIN

mujoco = pytest.importorskip("mujoco", reason="MJCF needs the mujoco package")

INERTIA = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.02 0.025"/>'


def write(folder: Path, body: str, top: str = "") -> Path:
    path = folder / "robot.xml"
    path.write_text(f"<mujoco>\n{top}\n<worldbody>\n{body}\n</worldbody>\n</mujoco>\n")
    return path


def load(path: Path, **options) -> sf.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.errors.RobotFileWarning)
        return load_mjcf(path, **options)


def poses(path: Path, qpos) -> dict[str, np.ndarray]:
    """Return MuJoCo's pose of each body and site."""
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qpos[:] = qpos
    mujoco.mj_kinematics(m, d)
    found = {}
    for kind, count in (("body", m.nbody), ("site", m.nsite)):
        for k in range(count):
            item = getattr(d, kind)(k)
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = item.xmat.reshape(3, 3), item.xpos
            found[item.name] = T
    return found


def test_q_is_qpos_for_several_joints_a_body_with_offsets_and_ref(tmp_path):
    path = write(
        tmp_path,
        f"""<body name="arm" pos="0.1 0.2 0.3" euler="20 30 40">
          <joint name="a" axis="0 1 0.2" pos="0.1 0 0.05" ref="25"/>
          <joint name="b" type="slide" axis="1 1 0" pos="9 9 9" ref="0.3"/>
          <joint name="c" axis="0 0 1" pos="0 0.2 0" ref="-70"/>
          {INERTIA}
          <body name="hand" pos="0 0 0.5" quat="0.5 0.5 0.5 0.5">
            <joint name="d" axis="1 0 0" ref="200"/>{INERTIA}<site name="tip" pos="0 0 0.1"/>
          </body></body>""",
    )
    model = load(path)
    assert model.joint_names == ("a", "b", "c", "d")
    assert model.body_names == ("arm/a", "arm/b", "arm/c", "hand")
    rng = np.random.default_rng(1)
    for q in rng.uniform(-3, 3, (5, 4)):
        for name, pose in poses(path, q).items():
            assert np.allclose(sf.frame_pose(model, q, name), pose, rtol=0, atol=1e-14), name


def test_a_joint_off_the_body_origin_keeps_the_name_of_the_body_for_mujocos_frame(tmp_path):
    path = write(tmp_path, f'<body name="b"><joint name="j" pos="0 0.2 0"/>{INERTIA}</body>')
    model = load(path)
    assert model.body_names == ("b/j",)
    assert model.frame_names == ("b",)
    assert np.allclose(sf.frame_pose(model, [0.7], "b"), poses(path, [0.7])["b"], atol=1e-15)


def test_the_offset_of_a_slide_joint_does_not_matter(tmp_path):
    body = f'<body name="b"><joint type="slide" pos="1 2 3"/>{INERTIA}</body>'
    assert load(write(tmp_path, body)).body_names == ("b",)


def test_ball_and_free_joints_have_the_quaternion_last(tmp_path):
    path = write(
        tmp_path,
        f"""<body name="ship" pos="1 2 3"><freejoint name="root"/>{INERTIA}
          <body name="ball" pos="0 0 1"><joint name="s" type="ball" pos="0 0.1 0"/>{INERTIA}</body>
        </body>""",
    )
    model = load(path)
    assert [type(body.joint) for body in model.bodies] == [sf.Free, sf.Spherical]
    q, _ = sf.random_state(model, seed=3)
    qpos = sf.interop.convert(model, mujoco.MjModel.from_xml_path(str(path))).q_to(q)
    assert np.allclose(qpos[3:7], np.roll(q[3:7], 1))
    for name, pose in poses(path, qpos).items():
        assert np.allclose(sf.frame_pose(model, q, name), pose, atol=1e-14), name


def test_joint_properties_are_read(tmp_path):
    path = write(
        tmp_path,
        f"""<body name="b"><joint name="j" damping="0.5" frictionloss="0.25" stiffness="4"
          springref="30" armature="0.125" range="-90 45" actuatorfrcrange="-7 7"/>
          {INERTIA}</body>""",
    )
    body = load(path).bodies[0]
    assert (body.damping, body.friction, body.stiffness) == ((0.5,), (0.25,), (4.0,))
    assert np.allclose(body.rest, np.pi / 6)
    assert (body.armature, body.effort_limit) == ((0.125,), (7.0,))
    assert np.allclose((*body.lower, *body.upper), (-np.pi / 2, np.pi / 4))


def test_a_free_joint_with_armature_becomes_a_translation_and_a_rotation(tmp_path):
    path = write(
        tmp_path,
        f'<body name="b" pos="1 0 0"><joint name="j" type="free" armature="2"/>{INERTIA}</body>',
    )
    model = load(path)
    assert model.joint_names == ("j.translation", "j.rotation")
    assert model.body_names == ("b/j", "b")
    assert [body.armature for body in model.bodies] == [(2.0,) * 3, (2.0,) * 3]


def test_options_that_switch_effects_off_are_followed(tmp_path):
    body = f'<body><joint damping="1" stiffness="1" frictionloss="1"/>{INERTIA}</body>'
    flags = '<option gravity="1 2 3"><flag gravity="disable" frictionloss="disable"/></option>'
    model = load(write(tmp_path, body, flags))
    assert model.gravity == (0.0, 0.0, 0.0)
    assert model.bodies[0].friction == (0.0,)
    assert model.bodies[0].damping == (1.0,)
    model = load(write(tmp_path, body, '<option gravity="1 2 3"/>'))
    assert model.gravity == (1.0, 2.0, 3.0)


def test_an_inertia_turned_and_off_the_origin_is_read(tmp_path):
    given = '<inertial pos="0.1 0.2 0.3" euler="10 20 30" mass="2" diaginertia="0.3 0.2 0.4"/>'
    path = write(tmp_path, f'<body name="b"><joint pos="0 0 0.5"/>{given}</body>')
    inertia = load(path).origin.links[0].inertia
    assert float(inertia.m) == 2.0
    assert np.allclose([float(x) for x in inertia.center], (0.1, 0.2, 0.3))
    xx, yy, zz, xy, xz, yz = (float(x) for x in inertia.about_center)
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert np.allclose(moments, (0.2, 0.3, 0.4))


def test_static_bodies_and_sites_are_frames_with_stable_names(tmp_path):
    body = f"""<body pos="0 0 1"><joint/>{INERTIA}<site/><body name="tool"/>
      <site name="tool"/></body><body name="table"/>"""
    model = load(write(tmp_path, body))
    assert model.body_names == ("body1",)
    assert model.joint_names == ("body1_joint",)
    assert set(model.frame_names) == {"tool", "table", "site0", "tool_site"}
    assert model == load(write(tmp_path, body))


def test_shapes_are_kept_as_data(tmp_path):
    (tmp_path / "meshes").mkdir()
    path = write(
        tmp_path,
        f"""<geom name="floor" type="plane" size="1 1 1"/><geom type="box" size="1 2 3"/>
        <body name="b"><joint/>{INERTIA}
          <geom type="sphere" size="0.1" rgba="1 0 0 1" name="ball"/>
          <geom type="capsule" size="0.1 0.2" material="blue"/>
          <geom type="cylinder" size="0.1 0.2" group="3"/>
          <geom type="ellipsoid" size="0.1 0.2 0.3"/>
          <geom type="mesh" mesh="hand" pos="0 0 1"/></body>""",
        """<compiler meshdir="meshes"/><asset><material name="blue" rgba="0 0 1 1" texture="t"/>
        <texture name="t" type="2d" file="none.png"/>
        <mesh file="hand.stl" scale="2 2 2"/></asset>""",
    )
    shapes = load(path).geometries
    assert [type(g.shape) for g in shapes] == [Box, Sphere, Capsule, Cylinder, Ellipsoid, Mesh]
    box, ball, capsule, cylinder, _, mesh = shapes
    assert (box.body, box.shape.size) == (-1, (2.0, 4.0, 6.0))
    assert (ball.color, ball.name, ball.link) == ((1.0, 0.0, 0.0, 1.0), "ball", "b")
    assert (capsule.color, capsule.material, capsule.shape.length) == ((0, 0, 1, 1), "blue", 0.4)
    assert cylinder.collides and not ball.collides
    assert (mesh.shape.file, mesh.shape.scale) == ("meshes/hand.stl", (2.0, 2.0, 2.0))
    assert [float(x) for x in mesh.placement.r] == [0.0, 0.0, 1.0]


TETRAHEDRON = "v 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 0\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n"


def test_a_mesh_is_opened_only_where_an_inertia_needs_it(tmp_path):
    asset = '<asset><mesh name="m" file="part.obj"/></asset>'
    given = f'<body><joint/>{INERTIA}<geom type="mesh" mesh="m"/></body>'
    inferred = '<body name="b"><joint/><geom type="mesh" mesh="m" pos="1 0 0" mass="3"/></body>'
    load(write(tmp_path, given, asset))  # there is no such file
    with pytest.raises(
        sf.errors.RobotFileError, match=r"robot.xml:2: <mesh>: .*part.obj.*inertia of body"
    ):
        load(write(tmp_path, inferred, asset))
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    model = load(write(tmp_path, inferred, asset))
    assert float(model.bodies[0].inertia.m) == 3.0
    assert np.allclose([float(x) for x in model.bodies[0].inertia.center], (1.25, 0.25, 0.25))
    # the shape lies where its file says, though MuJoCo moves meshes to their centres
    assert np.allclose([float(x) for x in model.geometries[0].placement.r], (1, 0, 0))


def test_files_outside_the_allowed_folders_are_refused(tmp_path):
    inside = tmp_path / "a" / "b" / "c"
    inside.mkdir(parents=True)
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    asset = '<asset><mesh name="m" file="../../../part.obj"/></asset>'
    path = write(inside, '<body><joint/><geom type="mesh" mesh="m"/></body>', asset)
    with pytest.raises(sf.errors.RobotFileError, match="outside the folders"):
        load(path)
    assert load(path, package_dirs=[tmp_path]).nv == 1


def test_included_files_are_read_and_their_errors_name_them(tmp_path):
    (tmp_path / "part.xml").write_text(
        f'<mujocoinclude>\n<body name="part"><joint name="j" axis="0 1 0"/>{INERTIA}</body>\n'
        "</mujocoinclude>"
    )
    path = write(tmp_path, '<include file="part.xml"/>')
    model = load(path)
    assert model.joint_names == ("j",)
    assert model.origin.joint_lines == {"j": 4}  # the line of the include
    (tmp_path / "part.xml").write_text('<x>\n\n<body name="p"><wheels/></body></x>')
    with pytest.raises(sf.errors.RobotFileError, match=r"part.xml:3: .*wheels"):
        load(path)


def test_what_has_no_counterpart_is_reported_once(tmp_path):
    path = tmp_path / "chain.xml"
    path.write_text(CHAIN)
    with pytest.warns(sf.errors.RobotFileWarning) as caught:
        model = sf.load(path)
    assert len(caught) == 1
    text = str(caught[0].message)
    for word in ("1 x actuator", "contacts of 5 geoms", "1 joint limits", "fluid forces"):
        assert word in text
    assert "sensor" not in text  # it changes no motion, but there is a note
    notes = "\n".join(model.origin.notes)
    assert "option timestep = 0.002 s" in notes
    assert f"1 x sensor: sensors (first at {path}:32)" in notes


def test_a_file_without_leftovers_gives_no_warning(tmp_path):
    path = write(tmp_path, f'<body><joint/>{INERTIA}<geom size="1"/></body>')
    assert sf.load(path).nv == 1


def test_lines_of_bodies_inertias_and_joints_are_kept(tmp_path):
    path = tmp_path / "chain.xml"
    path.write_text(CHAIN)
    origin = load(path).origin
    lines = {link.name: (link.line, link.inertia_line) for link in origin.links}
    assert lines == {"upper": (12, 12), "lower": (18, 19), "ship": (25, 25), "mast": (28, 28)}
    assert origin.joint_lines == {"a": 13, "b": 14, "c": 20, "float": 26}


def test_floating_base_frees_the_only_root(tmp_path):
    arm = f'<body name="base">{INERTIA}<body><joint/>{INERTIA}</body></body>'
    path = write(tmp_path, arm)
    assert load(path).nv == 1
    model = sf.load(path, floating_base=True)
    assert (model.nv, model.joint_names[0]) == (7, "floating_base")
    assert isinstance(model.bodies[0].joint, sf.Free)
    with pytest.raises(sf.errors.RobotFileError, match="2 bodies lie in the world"):
        load(write(tmp_path, arm + "<body/>"), floating_base=True)
    with pytest.raises(sf.errors.RobotFileError, match="its base has joints already"):
        load(write(tmp_path, f"<body><joint/>{INERTIA}</body>"), floating_base=True)


def test_joints_can_be_locked(tmp_path):
    path = tmp_path / "chain.xml"
    path.write_text(CHAIN)
    assert load(path, lock=["b", "c"]).joint_names == ("a", "float")
    with pytest.raises(sf.errors.UnknownNameError, match="nothing"):
        load(path, lock=["nothing"])


def test_the_name_is_the_models_or_the_files(tmp_path):
    assert load(write(tmp_path, "")).name == "robot"
    path = tmp_path / "chain.xml"
    path.write_text(CHAIN)
    assert load(path).name == "chain"
    assert load(path, name="other").name == "other"


def test_reading_leaves_no_log_file_and_prints_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, f"<body><joint/>{INERTIA}</body>", '<compiler settotalmass="3"/>')
    model = load(path)
    assert float(model.bodies[0].inertia.m) == 3.0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["robot.xml"]
    assert capfd.readouterr() == ("", "")


def test_a_missing_package_is_explained(tmp_path, monkeypatch):
    path = write(tmp_path, "")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(sf.errors.NotApplicableError, match="pip install mujoco"):
        load(path)


def test_an_old_package_is_refused(monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "3.2.7")
    with pytest.raises(sf.errors.NotApplicableError, match=r"mujoco 3.2.7(.|\n)*upgrade"):
        mjcf.mujoco_package()
