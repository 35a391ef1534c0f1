"""The ground, the pairs and the law of contact from MJCF files."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation.contact.scene import scene_of

FILE = """<mujoco model="scene">
  <option timestep="0.001" impratio="2" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" pos="0 0 0.1" euler="10 0 0"
          friction="0.7 0.005 0.0001" solref="0.01 1.2"/>
    <body name="ball" pos="0 0 0.3">
      <joint name="bx" type="slide" axis="1 0 0"/>
      <joint name="by" type="slide" axis="0 1 0"/>
      <joint name="bz" type="slide" axis="0 0 1"/>
      <geom name="ball" type="sphere" size="0.1" mass="1" friction="0.4 0.005 0.0001"
            solref="0.03 0.8" solimp="0.8 0.9 0.002 0.5 2"/>
    </body>
    <body name="rod" pos="0.1 0 0.3">
      <joint name="rz" type="slide" axis="0 0 1"/>
      <joint name="ry" type="hinge" axis="0 1 0"/>
      <geom name="rod" type="capsule" size="0.05 0.1" pos="0 0.02 0.05" euler="20 0 0" mass="1"
            friction="0.9 0.005 0.0001" solref="0.03 0.8" solimp="0.8 0.9 0.002 0.5 2"/>
    </body>
    MORE
  </worldbody>
  <contact>
    <pair geom1="rod" geom2="ball" friction="0.3 0.3 0.005 0.0001 0.0001"
          solref="0.02 1" solimp="0.85 0.925 0.0015 0.5 2"/>
    PAIRS
  </contact>
</mujoco>
"""


@pytest.fixture
def scene(tmp_path):
    """Return a function from further bodies and pairs to a file."""

    def write(more="", pairs=""):
        path = tmp_path / "scene.xml"
        path.write_text(FILE.replace("MORE", more).replace("PAIRS", pairs))
        return path

    return write


@pytest.mark.filterwarnings("ignore::sixfold.errors.RobotFileWarning")
def test_accelerations_in_contact_are_those_that_mujoco_has_of_the_file(scene):
    mujoco = pytest.importorskip("mujoco")
    path = scene()
    model = sf.load(path)
    ground = sf.contact.Ground.from_mjcf(path, model)
    assert ground.height == pytest.approx(0.1 * np.cos(np.radians(10)))
    assert ground.impratio == 2.0
    rod = next(t for t in scene_of("test", model, ground).touches if t.ball.body == 3)
    assert rod.law.solref == pytest.approx((0.02, 1.0))  # the mean of floor and rod
    assert len(ground.pairs) == 1 and ground.pairs[0].friction == 0.3
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.iterations, m.opt.tolerance = 200, 0.0
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    touched = set()
    for _ in range(40):
        q = np.array([0.0, 0.0, -0.1, -0.1, 0.0]) + 0.05 * rng.standard_normal(5)
        v = 0.3 * rng.standard_normal(5)
        d.qpos[:], d.qvel[:] = q, v
        mujoco.mj_forward(m, d)
        touched |= {tuple(sorted(map(int, d.contact[c].geom))) for c in range(d.ncon)}
        found = sf.contact.contact_forces(model, q, v, np.zeros(5), contacts=ground)
        np.testing.assert_allclose(found.a, d.qacc, rtol=0, atol=1e-6 * np.abs(d.qacc).max())
    assert touched == {(0, 1), (0, 2), (1, 2)}


def test_what_has_no_counterpart_is_said_once_with_its_line(scene):
    pytest.importorskip("mujoco")
    more = """<geom name="wall" type="plane" size="5 5 0.1" euler="90 0 0" pos="0 3 0"/>
    <body name="brick"><freejoint/><geom name="brick" type="box" size="0.1 0.1 0.1" mass="1"
      condim="6"/></body>"""
    path = scene(more, """<pair geom1="brick" geom2="ball"/>
    <pair geom1="brick" geom2="rod"/>
    <pair geom1="floor" geom2="ball" margin="0.01"/>
    <exclude body1="rod" body2="brick"/>""")  # fmt: skip
    with pytest.warns(sf.errors.RobotFileWarning):
        model = sf.load(path)
    with pytest.warns(sf.errors.RobotFileWarning) as caught:
        ground = sf.contact.Ground.from_mjcf(path, model, friction=0.25)
    (text,) = {str(each.message) for each in caught}
    lines = path.read_text().splitlines()

    def line(words):
        return next(k for k, each in enumerate(lines, 1) if words in each)

    brick, floor = (line(f'{name}" geom2="ball') for name in ("brick", "floor"))
    for words in (
        f"a further plane (line {line('wall')})",
        f"'brick' and 'ball' (line {brick}): spheres touch spheres",
        f"'floor' and 'ball' (line {floor}): its plane meets all shapes",
        "torsional and rolling friction",
    ):
        assert words in text
    assert ground.friction == 0.25 and len(ground.pairs) == 1


def test_a_file_without_a_plane_has_pairs_only(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "two.xml"
    path.write_text(
        """<mujoco><worldbody>
    <body name="a"><freejoint/><geom name="a" size="0.1" mass="1"/></body>
    <body name="b" pos="0 0 1"><freejoint/><geom name="b" size="0.2" mass="1" condim="1"/></body>
    </worldbody><contact><pair geom1="a" geom2="b" condim="1"/></contact></mujoco>"""
    )
    with pytest.warns(sf.errors.RobotFileWarning):
        model = sf.load(path)
    ground = sf.contact.Ground.from_mjcf(path, model)
    assert ground.points == () and ground.pairs[0].friction == 0.0
    q, v = sf.neutral(model), np.zeros(12)
    q[9] = 0.299
    found = sf.contact.contact_forces(model, q, v, np.zeros(12), contacts=ground)
    assert found.forces.shape == (1, 3) and found.gaps[0] == pytest.approx(-0.001)


def test_wrong_arguments_are_named(tmp_path):
    model = sf.load("double_pendulum")
    with pytest.raises(sf.errors.ArgumentError, match="path"):
        sf.contact.Ground.from_mjcf(3, model)
    with pytest.raises(sf.errors.SixfoldError, match="model"):
        sf.contact.Ground.from_mjcf(tmp_path / "a.xml", "model")
    with pytest.raises(sf.errors.RobotFileError, match=r"a\.xml"):
        sf.contact.Ground.from_mjcf(tmp_path / "a.xml", model)
