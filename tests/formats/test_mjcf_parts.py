"""MJCF files that consist of several files: nested includes and attached models."""

import numpy as np
import pytest

import sixfold as sf

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::sixfold.errors.RobotFileWarning")

ARM = """<mujoco><default><joint damping="3"/></default><worldbody>
  <body name="arm"><joint name="j" axis="0 1 0"/><geom size=".05 .2" type="capsule"/>
    <body name="hand" pos="0 0 .4"><joint name="w" axis="1 0 0"/><geom size=".04"/></body>
  </body></worldbody></mujoco>"""


def _same_mass_matrix(path):
    model, other = sf.load(path), mujoco.MjModel.from_xml_path(str(path))
    q, _ = sf.random_state(model, seed=1)
    between = sf.interop.convert(model, other)
    data = mujoco.MjData(other)
    data.qpos[:] = between.q_to(q)
    mujoco.mj_forward(other, data)
    M = np.zeros((other.nv, other.nv))
    mujoco.mj_fullM(other, data, M)
    ours = sf.mass_matrix(model, q)
    return np.allclose(between.mass_matrix_from(data.qpos, M), ours, rtol=0, atol=1e-12)


def test_an_include_is_relative_to_the_file_that_names_it(tmp_path):
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    body = '<body name="{}"><freejoint/><geom size=".1"/></body>'
    inner = f"<mujoco><worldbody>{body.format('c')}</worldbody></mujoco>"
    (tmp_path / "sub" / "deep" / "c.xml").write_text(inner)
    middle = f'<include file="deep/c.xml"/><worldbody>{body.format("b")}</worldbody>'
    (tmp_path / "sub" / "b.xml").write_text(f"<mujoco>{middle}</mujoco>")
    path = tmp_path / "main.xml"
    path.write_text('<mujoco><include file="sub/b.xml"/></mujoco>')
    assert sf.load(path).body_names == ("c", "b")
    assert _same_mass_matrix(path)


@pytest.mark.parametrize("part", ['body="arm"', ""])
def test_parts_of_other_files_are_attached_as_mujoco_does(tmp_path, part):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(ARM)
    path = tmp_path / "robot.xml"
    path.write_text(
        f"""<mujoco><asset><model name="arm" file="parts/arm.xml"/></asset><worldbody>
        <body name="base" pos="0 0 1"><freejoint/><geom size=".1"/>
          <frame pos="0 0 .3"><attach model="arm" {part} prefix="left_"/></frame>
          <frame pos="0 0 -.3" euler="90 0 0"><attach model="arm" {part} prefix="right_"/></frame>
        </body></worldbody></mujoco>"""
    )
    model = sf.load(path)
    assert {"left_hand", "right_arm"} <= set(model.body_names)
    assert model.bodies[-1].damping == (3.0,)
    assert _same_mass_matrix(path)


def test_an_attached_body_that_is_not_there_is_named_with_its_line(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    path = tmp_path / "robot.xml"
    path.write_text(
        """<mujoco><asset><model name="arm" file="arm.xml"/></asset><worldbody>
        <attach model="arm" body="leg" prefix="left_"/></worldbody></mujoco>"""
    )
    with pytest.raises(sf.errors.RobotFileError, match=r"robot\.xml:2.*has no body 'leg'"):
        sf.load(path)


def test_meshes_may_be_written_as_long_attributes(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((4000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    text = " ".join(f"{x:.6f}" for x in points.ravel())
    assert len(text) > 65_536
    path = tmp_path / "ball.xml"
    path.write_text(
        f"""<mujoco><asset><mesh name="ball" vertex="{text}"/></asset><worldbody>
        <body><freejoint/><geom type="mesh" mesh="ball"/></body></worldbody></mujoco>"""
    )
    mass = sum(body.inertia.m for body in sf.load(path).bodies)
    assert mass == pytest.approx(1000 * 4 / 3 * np.pi, rel=0.01)
